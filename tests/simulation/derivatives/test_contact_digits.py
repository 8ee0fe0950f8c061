"""Derivatives of contact steps against differences in 50 digits, in every mode and of every shape.

The step is solved again in 50 digits by the interpreter: Newton's steps from its impulses until
nothing changes. Its differences know nothing of how derivatives are taken.
"""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy.linalg import null_space
from simulation.derivatives.test_contact import closed_leg
from support.contact_models import ball, box_inertia, boxes, tilted

import mozzi as mz
from mozzi.lie import SE3
from mozzi.simulation import Moreau, RigidStops
from mozzi.simulation.derivatives.contact import solved_parts
from mozzi.simulation.forces.resistance import resistance_of, stops_of
from mozzi.simulation.methods.method import as_state, one_number
from mozzi.simulation.methods.moreau import honoured
from mozzi.simulation.place import named
from mozzi.simulation.projection import closed_again
from mozzi.simulation.system import System

H = 2e-3


def digits(model, rule, acting):
    """(q, v, τ, left, first, x) ↦ (q′, v′, rest, x′) of a part of a step, x a Newton step nearer to
    its solution; for numbers of any precision.
    """
    given = replace(rule, solver="given")

    def part(q, v, tau, left, first, impulses):
        x = as_state(("q", "v"), (q, v), 0.0)
        system = System(model, resistance=acting, tau=tau)
        new, rest = given.part(system, x, H, left, first, impulses)
        shut = closed_again(model, new, last=True)
        return shut["q"], shut["v"], one_number(rest), new["force"]

    shapes = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,), "left": (), "first": ()}
    shapes |= {"impulses": (rule.extra(model).get("force", 0),)}
    return named(part, shapes, model, "part", "interpret")


def along(model, q, v, tau, d, method, limits=False):
    """The derivative of a step along d = (δ, δv, δτ), by differences in 50 digits."""
    n, acting = model.nv, resistance_of(True, model)
    rule = honoured(model, method, stops_of(limits), acting)[1]
    parts = solved_parts(model, rule, acting, q, v, tau, H)
    kernel = digits(model, rule, acting)
    with mpmath.workdps(50):
        number = np.vectorize(mpmath.mpf, otypes=[object])
        e = mpmath.mpf(10) ** -14
        ends = []
        for s in (e, -e):
            at = mz.integrate.python(model, list(number(q)), [s * x for x in number(d[:n])])
            state = np.array(list(at), dtype=object), number(v) + s * number(d[n : 2 * n])
            force = number(tau) + s * number(d[2 * n :])
            left = mpmath.mpf(H)
            for part in parts:
                x = number(part.impulses)
                new = state[0]
                for _ in range(8):
                    before = new
                    new, speed, rest, x = kernel(*state, force, left, part.first, x)
                assert max(abs(new - before)) < 1e-30  # solved; forces need not be unique
                state, left = (new, speed), rest[0]
            ends.append(state)
        (a, u), (b, w) = ends
        away = mz.difference.python(model, list(b), list(a))
        out = np.concatenate([np.array(list(away), dtype=object), u - w]) / (2 * e)
        return out.astype(float)


RIGID = Moreau()


def check(model, q, v, tau, method=RIGID, limits=False, to=1e-9, seed=0):
    """Two random directions, against both derivatives: (A, B) and the gradient of a rollout."""
    q, v, tau = (np.asarray(x, dtype=float) for x in (q, v, tau))
    A, B = mz.linearize(model, q, v, tau, dt=H, method=method, limits=limits)
    rng, n = np.random.default_rng(seed), model.nv
    scale = abs(np.c_[A, B]).max()
    for _ in range(2):
        d = rng.normal(size=3 * n)
        if model.closures:  # deviations that keep loops closed, at rest
            N = null_space(mz.loop_jacobian(model, q))
            d[:n], d[n : 2 * n] = 0.0, N @ rng.normal(size=N.shape[1])
        exact = along(model, q, v, tau, d, method, limits)
        np.testing.assert_allclose(np.c_[A, B] @ d, exact, atol=to * scale)
        bar = rng.normal(size=(2, n))
        Q, V = mz.rollout(model, q, v, tau[None], H, method, limits=limits)
        zero = np.zeros(n)
        by = mz.rollout_gradient(
            model, Q, V, tau[None], H, np.array([zero, bar[0]]), np.array([zero, bar[1]]), method,
            limits=limits,
        )  # fmt: skip
        slope = by[0] @ d[:n] + by[1] @ d[n : 2 * n] + by[2][0] @ d[2 * n :]
        assert abs(slope - bar.ravel() @ exact) < 10 * to * scale
    assert np.isfinite(np.c_[A, B]).all()


METHODS = {
    "rigid": RIGID, "cut": Moreau(cut=True), "smooth": Moreau(smoothing=1e-4),
    "smooth and cut": Moreau(smoothing=1e-3, cut=True),
}  # fmt: skip
STATES = {  # gap, velocity
    "slides": (-1e-5, [0.2, 5.0, 0.1, 2.0, 1.0, -0.5]),
    "sticks": (-1e-5, [0.0, 0.01, 0.0, 0.0, 0.0, -0.01]),
    "lands": (1e-4, [0.3, 1.0, 0.2, 0.1, 0.05, -0.5]),
    "flies": (0.1, [0.2, 5.0, 0.1, 2.0, 1.0, -0.5]),
}


QUICK = [("slides", "rigid"), ("lands", "cut"), ("sticks", "smooth")]
SLOW = [(s, m) for s in STATES for m in METHODS if (s, m) not in QUICK]


@pytest.mark.parametrize(
    ("state", "method"), [*QUICK, *(pytest.param(*x, marks=pytest.mark.slow) for x in SLOW)]
)
def test_a_ball(state, method):
    """One contact in each of its modes, with restitution, on an oblique plane."""
    model = ball(friction=0.3, restitution=0.5, slope=0.2)
    gap, v = STATES[state]
    q = model.neutral()
    q[:3] = (0.1 + gap) * tilted(0.2)[:3, 2]
    check(model, q, v, 0.1 * np.random.default_rng(1).normal(size=6), METHODS[method])


SHAPES = {
    "sphere": mz.Sphere(0.1), "box": mz.Box((0.2, 0.3, 0.1)), "capsule": mz.Capsule(0.05, 0.2),
    "cylinder": mz.Cylinder(0.1, 0.15), "ellipsoid": mz.Ellipsoid((0.1, 0.15, 0.2)),
}  # fmt: skip
GROUNDS = {
    "plane": mz.Plane(), "box": mz.Box((2.0, 3.0, 0.2)),
    "hills": mz.HeightField(0.1 * np.random.default_rng(0).normal(size=(6, 7)), (2.0, 3.0)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("speed", [0.0, 1.0])
def test_shapes(shape, ground, speed):
    """Bodies of all shapes, turned, on all grounds, sliding and sticking."""
    builder = mz.Builder("body")
    builder.add("body", None, mz.Free(), box_inertia(1.0))
    builder.shape("body", SHAPES[shape], SE3.translation(0.02, -0.03, 0.01), name="shape")
    builder.shape(None, GROUNDS[ground], SE3.translation(0.1, 0.05, 0.0), name="ground")
    model = builder.build().with_contact("c", "shape", "ground", (0.4, 0.3))
    rng = np.random.default_rng(3)
    q = mz.integrate(model, model.neutral(), [0.4, 0.3, -0.5, 0.13, 0.21, 0.5])
    for _ in range(30):
        q[2] -= 0.7 * (mz.contact_gaps(model, q).min() + 2e-5)
    v = speed * rng.normal(size=6)
    check(model, q, v, 0.1 * rng.normal(size=6), to=1e-8)
    check(model, q, v, 0.1 * rng.normal(size=6), Moreau(smoothing=1e-3), to=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.0, 1.0])
@pytest.mark.parametrize("method", ["rigid", "smooth"])
def test_a_box_on_four_corners(speed, method):
    """Twelve rows of rank six."""
    model, q = boxes()
    q[2] += -1e-5 if method == "rigid" else 1e-5
    v = [0.0, 0.0, 0.02 * speed, speed, 0.3 * speed, 0.0]
    check(model, q, v, np.zeros(6), METHODS[method], to=1e-5 if method == "rigid" else 1e-8)


def leg():
    """A leg with limits, springs, a damper and dry friction that drags its foot."""
    builder = mz.Builder("leg")
    rod = mz.Inertia(1.0, (0.0, 0.0, -0.2), 0.02 * np.eye(3))
    up = mz.Prismatic("z").between((0.0, 0.0, 0.6), None)
    builder.add("slide", None, up, rod, damping=0.5)
    thigh = mz.Revolute((0.0, 0.8, 0.6))
    builder.add("thigh", "slide", thigh, rod, friction=0.2, stiffness=3.0, limits=(-0.5, 0.49999))
    shin = mz.Revolute("y").between((0.0, 0.0, -0.4), None)
    builder.add("shin", "thigh", shin, rod, damping=0.1, friction=5.0, limits=(-1.5, 0.0))
    builder.shape("shin", mz.Sphere(0.05), mz.SE3.translation(0.0, 0.0, -0.4), name="foot")
    model = builder.build().with_ground(friction=0.2)
    q = np.array([0.0, 0.5, -0.9])
    q[0] -= mz.contact_gaps(model, q)[0] + 1e-5
    return model, q


STOPS = {"rigid": "rigid", "bouncing": RigidStops(0.5), "soft": RigidStops(stiffness=1e4)}


@pytest.mark.slow
@pytest.mark.parametrize("stops", STOPS)
@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_limits_and_dry_friction(stops, turn):
    """A joint at its stop or leaving it, another that sticks or slips, and a foot that drags."""
    model, q = leg()
    v = np.array([0.0, turn, 0.5 * (turn > 0)])
    check(model, q, v, [0.0, 0.1, 0.2], limits=STOPS[stops])
    if stops == "rigid":
        check(model, q - [0, 1e-3, 0], v, [0.0, 0.1, 0.2], Moreau(smoothing=1e-4), limits="rigid")


def test_a_loop_that_stands():
    """A closed mechanism with a foot on the ground, along velocities that keep it closed."""
    model, q = closed_leg("rod")
    check(model, q, np.zeros(3), [0.1, 0.0, -0.05], to=1e-6)
