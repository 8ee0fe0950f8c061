"""At a singular configuration dynamics tells, with both ranks, and stays finite; elsewhere not."""

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from support.loop_models import (
    bennett,
    bricard,
    closed_tree,
    five_bar,
    rod,
    slider_crank,
    state,
    stewart,
)  # fmt: skip
from support.mechanics import agree

import mozzi as mz
from mozzi.algorithms.calls.guard import unchecked
from mozzi.lie import SE3
from mozzi.model.generate import delta_robot, four_bar, leaning, n_four_bar

LEGS = [f"leg_{k}" for k in range(6)]


def bars(*lengths: float, end: float) -> mz.Model:
    """A chain of rods in a plane whose tip is pinned to (end, 0, 0); zero length: a small disk."""
    b, parent, at = mz.Builder("bars"), None, 0.0
    for k, length in enumerate(lengths):
        body = rod(length) if length else mz.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3))
        b.add(f"bar_{k}", parent, mz.Revolute("y"), body, placement=(at, 0, 0))
        parent, at = f"bar_{k}", length
    return b.loop("end", parent, None, mz.Revolute("y"), (at, 0, 0), (end, 0, 0)).build()


def arm(q: np.ndarray) -> mz.Model:
    """Seven hinges as in an arm (roll, pitch, roll, …), the tip pinned where it is at q."""
    b, parent = mz.Builder("arm"), None
    for k in range(7):
        axis, x = ("x", 0.0) if k % 2 == 0 else ("y", 0.15 if k else 0.0)
        body = mz.Inertia(1.0 + k, (0.1, 0.01 * k, 0.02), 0.02 * np.eye(3))
        placed = (x if k % 2 else 0.15, 0, 0)
        b.add(f"link_{k}", parent, mz.Revolute(axis), body, placement=placed)
        parent = f"link_{k}"
    tree = b.build()
    tip = mz.forward_kinematics(tree, q)[6] @ SE3.translation(0.2, 0.0, 0.0).matrix()
    return tree.with_loop(
        "pin", parent, None, mz.Spherical(), SE3.translation(0.2, 0.0, 0.0),
        SE3.translation(*tip[:3, 3]),
    )  # fmt: skip


def in_line() -> mz.Model:
    """A five-bar linkage that can lie in one line."""
    tree = five_bar()._replace(loops=())
    return tree.with_loop(
        "tip", "left_rod", "right_rod", mz.Revolute("y"), SE3.translation(0.8, 0.0, 0.0),
        SE3.translation(0.2, 0.0, 0.0),
    )  # fmt: skip


def twice(model: mz.Model) -> mz.Model:
    """The same, with its first loop given twice."""
    loop = model.loops[0]
    return model.with_loop(
        "again", loop.body_a, loop.body_b, loop.joint, loop.placement_a, loop.placement_b
    )


def flat_delta(redundant: bool) -> mz.Model:
    """A Delta robot whose rods lie in the plane of its platform at q = 0, to 3e-8 m."""
    return delta_robot(rod=0.2 + 0.3 - 0.06 + 1e-15, redundant=redundant)


STRETCHED = np.array([0.3, 0.0, 0.2, 0.0, 0.4, 0.0, 0.1])

# model, a singular configuration, the rank there, and that nearby (the same: none is higher)
SINGULAR: dict[str, Callable[[], tuple[mz.Model, np.ndarray, int, int]]] = {
    "windows": lambda: (n_four_bar(3), leaning(n_four_bar(3), math.pi / 2), 3, 6),
    "slider": lambda: (slider_crank(1.0, 1.0), np.array([math.pi / 2, math.pi, 0.0]), 1, 2),
    "five bars": lambda: (in_line(), np.zeros(4), 1, 2),
    "isolated": lambda: (bars(1.0, 1.0, 1.0, end=3.0), np.zeros(3), 1, 1),
    "disk": lambda: (bars(1.0, 0.0, 1.0, end=2.0), np.zeros(3), 1, 1),
    "arm": lambda: (arm(np.zeros(7)), np.zeros(7), 1, 2),
    "rolled arm": lambda: (arm(STRETCHED), STRETCHED, 2, 2),
    "delta": lambda: (flat_delta(False), flat_delta(False).neutral(), 15, 18),
    "redundant delta": lambda: (flat_delta(True), flat_delta(True).neutral(), 17, 18),
    "twice": lambda: (twice(four_bar(1.0, 2.0, 1.0, 2.0)), np.zeros(3), 1, 2),
}


def assembled(model: mz.Model, seed: int = 0) -> tuple[mz.Model, np.ndarray]:
    return model, mz.assemble(model, model.random_configuration(seed))


def moved(model: mz.Model) -> tuple[mz.Model, np.ndarray]:
    """Closed, a little away from q = 0."""
    aside = 0.2 * np.random.default_rng(0).normal(size=model.nv)
    return model, mz.assemble(model, mz.integrate(model, model.neutral(), aside))


# closed configurations that lack rank, as all others near them do
REGULAR: dict[str, Callable[[], tuple[mz.Model, np.ndarray]]] = {
    "bricard": lambda: assembled(bricard(), 1),
    "bennett": lambda: assembled(bennett(), 1),
    "delta": lambda: moved(delta_robot()),
    "planar": lambda: closed_tree(mz.Planar(), seed=3),
    "composite": lambda: closed_tree(mz.Composite(mz.Revolute("x"), mz.Prismatic("y")), seed=3),
    "twice": lambda: (twice(stewart(0.3)[0]), stewart(0.3)[1]),
    "stewart": lambda: stewart(math.pi / 2),
    "folded": lambda: (bars(1.0, 0.0, 1.0, end=0.0), np.array([0.5, 1.0, math.pi - 1.0])),
    "windows": lambda: (n_four_bar(3), leaning(n_four_bar(3), 1.5)),
    "arm": lambda: (arm(STRETCHED + 0.3), STRETCHED + 0.3),
    "dead centre": lambda: (slider_crank(), np.array([0.0, 0.0, 1.5])),
}


def long(name: str, *names: str) -> object:
    """Ten seconds and more to compile: slow."""
    return pytest.param(name, marks=pytest.mark.slow) if name in names else name


def silent(function: Callable[..., object], *args: object, **options: object) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function(*args, **options)


@pytest.mark.parametrize("name", [long(x, "delta", "redundant delta") for x in SINGULAR])
def test_forward_dynamics_tells(name: str):
    """Both ranks and what the result is; finite; `loop_rank` agrees; said of the caller's line."""
    model, q, rank, nearby = SINGULAR[name]()
    assert np.abs(mz.loop_residual(model, q)).max() < 1e-15
    v, tau = state(model, q)
    words = f"and {nearby} in closed" if nearby > rank else "and its motions there are only"
    with pytest.warns(mz.SingularWarning, match=f"have rank {rank} there {words}") as told:
        a = mz.forward_dynamics(model, q, v, tau)
    assert told[0].filename == __file__
    assert "accelerations are finite" in str(told[0].message)
    assert np.isfinite(a).all()
    assert mz.loop_rank(model, q)[0] == rank
    with pytest.warns(mz.SingularWarning, match=f"loop_forces: .* have rank {rank} there"):
        assert np.isfinite(mz.loop_forces(model, q, v, tau)).all()
    kernel = mz.compile(mz.forward_dynamics, model)
    agree(silent(kernel, q, v, tau), a)


@pytest.mark.parametrize("name", [long(x, "delta", "twice", "stewart") for x in REGULAR])
def test_regular_configurations_are_silent(name: str):
    """Also those whose rows are redundant everywhere."""
    model, q = REGULAR[name]()
    v, tau = state(model, q)
    silent(mz.forward_dynamics, model, q, v, tau)
    silent(mz.forward_dynamics, model, q, v, tau, resistance=True)
    silent(mz.loop_forces, model, q, v, tau)
    silent(mz.hybrid_dynamics, model, q, v, tau, tau)
    assert not mz.assemble(model, q, report=True).singular


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_any_size(size: float):
    """A millimetre, a kilometre: two rods and a slider, flat and not."""
    b = mz.Builder("slider")
    b.add("crank", None, mz.Revolute("y"), rod(size))
    b.add("rod", "crank", mz.Revolute("y"), rod(size), placement=(size, 0, 0))
    block = mz.Inertia(0.7, (0.0, 0.0, 0.0), 0.01 * size**2 * np.eye(3))
    b.add("slider", None, mz.Prismatic("x"), block)
    model = b.loop("pin", "rod", "slider", mz.Cylindrical("y"), (size, 0, 0)).build()
    v, tau = np.zeros(3), np.ones(3)
    silent(mz.forward_dynamics, model, [0.3, -0.6, 2.0 * size * math.cos(0.3)], v, tau)
    with pytest.warns(mz.SingularWarning, match="rank 1 there and 2 in closed"):
        mz.forward_dynamics(model, [math.pi / 2, math.pi, 0.0], v, tau)


def test_a_stretched_arm_from_a_guess():
    """`assemble` closes it to rounding, which is 1e-8 in its angles, and calls it singular too."""
    model = bars(0.4, 0.4, end=0.8)
    found = mz.assemble(model, [0.3, -0.3], report=True)
    assert found.closed and found.singular and (found.rank, found.branch) == (1, 0)
    v, tau = np.zeros(2), np.ones(2)
    with pytest.warns(mz.SingularWarning, match="rank 1 there and its motions there are only"):
        mz.forward_dynamics(model, found.q, v, tau)


def test_a_slider_far_away():
    """Lengths are measured by the mechanism, not by where it stands."""
    size, away = 1e-3, 1e4
    b = mz.Builder("slider")
    b.add("crank", None, mz.Revolute("y"), rod(size), placement=(away, 0, 0))
    b.add("rod", "crank", mz.Revolute("y"), rod(size), placement=(size, 0, 0))
    b.add("slider", None, mz.Prismatic("x"), rod(size), placement=(away, 0, 0))
    model = b.loop("pin", "rod", "slider", mz.Cylindrical("y"), (size, 0, 0)).build()
    v, tau = np.zeros(3), np.ones(3)
    q = mz.assemble(model, [0.3, -0.6, 2.0 * size * math.cos(0.3)])
    silent(mz.forward_dynamics, model, q, v, tau)
    with pytest.warns(mz.SingularWarning, match="rank 1 there and 2 in closed"):
        mz.forward_dynamics(model, [math.pi / 2, math.pi, 0.0], v, tau)


def test_how_many_of_a_batch():
    """Leading axes are samples; those that are singular are counted, and the others unharmed."""
    model = n_four_bar(2)
    angles = np.array([[0.3, math.pi / 2, 0.7], [-math.pi / 2, 0.1, -0.4]])
    q = np.stack([[leaning(model, x) for x in row] for row in angles])
    v, tau = np.zeros(q.shape), np.ones(q.shape)
    with pytest.warns(mz.SingularWarning, match="in 2 of 6 samples: .* rank 2 there and 4"):
        a = mz.forward_dynamics(model, q, v, tau)
    agree(a[0, 2], silent(mz.forward_dynamics, model, q[0, 2], v[0, 2], tau[0, 2]))
    with pytest.warns(mz.SingularWarning, match="in 2 of 6 samples"):
        mz.forward_dynamics(model, q, v[0, 0], tau[0, 0], resistance=True)
    none = silent(mz.forward_dynamics, model, q[:0], v[:0], tau[:0])
    assert none.shape == (0, 3, model.nv)
    q[0, 1] = np.nan
    with pytest.raises(mz.ConfigurationError, match=r"forward_dynamics: q: .* in sample \[0, 1\]"):
        mz.forward_dynamics(model, q, v, tau)
    with unchecked(), pytest.warns(mz.SingularWarning, match="in 1 of 6 samples"):
        mz.forward_dynamics(model, q, v, tau)


def test_a_platform_whose_legs_do_not_hold_it():
    """Turned by 90° a Stewart platform can twist although its legs are held: rank 17 of 18."""
    model, q = stewart(math.pi / 2)
    still = np.zeros(model.nv)
    with pytest.warns(mz.SingularWarning, match="rank 17 in the joints that are free there and 18"):
        tau, a = mz.hybrid_dynamics(model, q, still, still, still, prescribed=LEGS)
    assert np.isfinite(tau).all() and np.isfinite(a).all()
    silent(mz.forward_dynamics, model, q, still, still)
    beside, p = stewart(1.2)
    silent(mz.hybrid_dynamics, beside, p, still, still, still, prescribed=LEGS)


def test_actuators_that_lose_their_hold():
    """At dead centre the slider of a slider-crank cannot turn it; the crank always can."""
    model, q = slider_crank(), np.array([0.0, 0.0, 1.5])
    v = mz.consistent_velocities(model, q, [1.0, 0.0, 0.0])
    a = silent(mz.forward_dynamics, model, q, v, np.zeros(3))
    with pytest.warns(mz.SingularWarning, match="inverse_dynamics: .* rank 1 in .* there and 2"):
        tau = mz.inverse_dynamics(model, q, v, a, actuated=["slider"])
    agree(tau, np.zeros(3), 1e-12)
    agree(silent(mz.inverse_dynamics, model, q, v, a, actuated=["crank"]), np.zeros(3), 1e-12)
    still = np.zeros(3)
    with (
        pytest.warns(mz.SingularWarning, match="rank 1 in the joints that are free"),
        pytest.raises(mz.LoopError, match="underactuated by slider"),
    ):
        mz.inverse_dynamics(model, q, still, still, actuated=["slider"])
    beside = mz.assemble(model, [0.4, 0.0, 1.4], hold=["crank"])
    silent(mz.inverse_dynamics, model, beside, still, still, actuated=["slider"])


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (0.3, -0.7, 1.1)])
@pytest.mark.parametrize("tolerance", [1e-8, 1e-10, 1e-12])
def test_adaptive_steps_pass_singular_configurations(axis: tuple[float, ...], tolerance: float):
    """A parallelogram that turns through its flat configurations moves as one pendulum does, and
    that it passes them, where it could become an antiparallelogram, is told. Errors that closing
    takes away, or that rounding hides, would cut its steps until they end there.
    """

    def bar(length: float, mass: float) -> mz.Inertia:
        turning = mass * length**2 / 9
        return mz.Inertia(mass, (length / 2, 0.1, 0.0), np.diag([0.01, turning, turning]))

    crank, coupler, rocker = bar(1.0, 1.0), bar(2.0, 1.5), bar(1.0, 0.7)
    stand = SE3.translation(0.2, 0.3, -0.4) @ mz.Revolute(axis).frame_parent
    hinge, beside = mz.Revolute("z"), stand @ SE3.translation(2.0, 0.0, 0.0)
    b = mz.Builder("parallelogram", gravity=(1.0, -3.0, 2.0))
    b.add("crank", None, hinge, crank, placement=stand)
    b.add("coupler", "crank", hinge, coupler, placement=(1.0, 0.0, 0.0))
    b.add("rocker", "coupler", hinge, rocker, placement=(2.0, 0.0, 0.0))
    model = b.loop("pin", "rocker", None, hinge, (1.0, 0.0, 0.0), beside).build()
    back = SE3.from_matrix(np.diag([-1.0, -1.0, 1.0, 1.0]) + np.eye(4, k=3))
    tip = mz.Inertia(coupler.mass, (1.0, 0.0, 0.0), np.zeros((3, 3)))
    one = mz.Builder("pendulum", gravity=(1.0, -3.0, 2.0))
    one.add("crank", None, hinge, crank + tip + back.push(rocker), placement=stand)
    q, v = [1.0, -1.0, 1.0 - math.pi], [3.0, -3.0, 3.0]
    with pytest.warns(mz.SingularWarning, match="passes a singular configuration"):
        x = mz.simulate(model, q, v, 7.0, 0.5, "dopri5", rtol=tolerance, atol=tolerance)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = mz.simulate(one.build(), q[:1], v[:1], 7.0, 0.5, "dopri5", rtol=1e-13, atol=1e-13)
    assert x.complete and np.ptp(x.q[:, 0]) > math.pi  # over flat ones
    off = np.abs(x.q[:, 0] - y.q[:, 0]).max(), np.abs(x.v[:, 0] - y.v[:, 0]).max()
    assert max(off) < 100.0 * tolerance + 1e-9, off


def vacuous(hinges: int) -> mz.Model:
    """Hinges with parallel axes, closed by a joint of that plane: its rows are rounding."""
    axis, far = (0.48, -0.6, 0.64), SE3.translation(0.3, -0.2, 0.5)
    b, parent = mz.Builder("vacuous"), None
    body = mz.Inertia(1.0, (0.3, 0.2, 0.1), 0.1 * np.eye(3))
    for k in range(hinges):
        b.add(f"bar_{k}", parent, mz.Revolute(axis), body, placement=(0.7, 0.4 * k, -0.3))
        parent = f"bar_{k}"
    # the plane is that of the last bar at neutral
    tip = SE3.translation(0.7 * hinges, 0.2 * hinges * (hinges - 1), -0.3 * hinges) @ far
    return b.loop("plane", parent, None, mz.Planar(axis), far, tip).build()


@pytest.mark.parametrize("hinges", [2, 3])
def test_a_loop_that_holds_nothing_is_not_singular(hinges: int):
    """All rows vanish wherever it is, and rounding of them grows by nothing."""
    model = vacuous(hinges)
    tree = model.without_loop("plane")
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for q, v in rng.normal(size=(4, 2, hinges)):
            assert mz.loop_rank(model, q)[0] == 0
            tau = np.ones(hinges)
            agree(mz.forward_dynamics(model, q, v, tau), mz.forward_dynamics(tree, q, v, tau), 1e-9)
        x = mz.simulate(model, q, v, 0.5, 1e-2)
        agree(x.q, mz.simulate(tree, q, v, 0.5, 1e-2).q, 1e-9)


def test_rounding_of_a_loop_that_holds_nothing_does_not_count():
    """Where rank is one of singular values: none is measured by rows that are all rounding."""
    model, hold = vacuous(3), ["bar_0"]
    tree = model.without_loop("plane")
    q, v, tau = np.random.default_rng(1).normal(size=(3, 3))
    a = mz.forward_dynamics(tree, q, v, tau)
    agree(mz.projected_forward_dynamics(model, q, v, tau), a, 1e-9)
    for held in ((), hold):
        agree(mz.consistent_velocities(model, q, v, hold=held), v, 1e-12)
        agree(mz.consistent_accelerations(model, q, v, a, hold=held), a, 1e-12)
    with pytest.raises(mz.LoopError, match="lack"):
        mz.inverse_dynamics(model, q, v, a, actuated=hold)
    there = mz.hybrid_dynamics_derivatives(model, q, v, tau, a, prescribed=hold)
    for x, y in zip(there, mz.hybrid_dynamics_derivatives(tree, q, v, tau, a, hold), strict=True):
        agree(x, y, 1e-9)
