"""Rolling and skating mechanisms whose motion is known."""

from __future__ import annotations

from itertools import product

import mpmath as mp
import numpy as np
import pytest
from support.cases import first

import mozzi as mz
from mozzi.model.generate import bicycle, car

METHODS = {  # and what they reach in steps of 5 ms
    "rkmk4": 1e-10, "dopri5": 1e-7, "generalized_alpha": 1e-4, "momentum": 1e-4,
    "semi_implicit": 1e-2, "moreau": 1e-2,
}  # fmt: skip


@pytest.fixture(scope="module")
def sleigh() -> mz.Model:
    """Chaplygin's: an edge at the origin of the body, along x, and the mass ahead of it."""
    inertia = mz.Inertia(1.5, (0.4, 0.0, 0.0), np.diag([0.3, 0.3, 0.3]))
    build = mz.Builder("sleigh", gravity=(0.0, 0.0, 0.0))
    build.add("sled", None, mz.Planar(), inertia)

    def edge(model, q):
        return mz.jacobian(model, q, "sled", "body")[4]

    return build.build().with_velocity_rows("edge", edge)


@pytest.mark.parametrize("method", METHODS)
def test_sleigh(sleigh, method):
    """u̇ = l ω², J ω̇ = −m l ω u have hyperbolic functions as solution."""
    m, l, J = 1.5, 0.4, 0.3 + 1.5 * 0.4**2
    u, w = 0.5, 1.2
    assert mz.consistent_velocities(sleigh, sleigh.neutral(), [u, 0, w]) == pytest.approx([u, 0, w])
    motion = mz.simulate(sleigh, sleigh.neutral(), [u, 0.0, w], 2.0, 0.005, method=method)
    top = np.sqrt((m * u * u + J * w * w) / m)
    phase = l * m * top / J * motion.t + np.arctanh(u / top)
    truth = np.stack(
        [top * np.tanh(phase), 0.0 * phase, top * np.sqrt(m / J) / np.cosh(phase)], axis=-1
    )
    assert np.abs(motion.v - truth).max() < METHODS[method]
    lateral = mz.loop_forces(sleigh, motion.q, motion.v, np.zeros(3))[..., 0]
    assert lateral[0] == pytest.approx(m * (l * (-m * l * w * u / J) + u * w), rel=1e-9)


@pytest.mark.parametrize("shape", [mz.Sphere(0.3), mz.Ellipsoid((0.3, 0.3, 0.3))])
def test_sphere_down_an_incline(shape):
    """A homogeneous ball accelerates by 5/7 g sin θ, and the force across is 2/7 m g sin θ."""
    theta, r, m = 0.37, 0.3, 2.0
    tilt = mz.SE3.exp(mz.Twist.unflatten((0.0, theta, 0.0, 0.4, -0.2, 0.1)))
    build = mz.Builder("ball")
    build.add("ball", None, mz.Free(), mz.Inertia(m, (0, 0, 0), 0.4 * m * r * r * np.eye(3)))
    build.shape("ball", shape, name="ball").shape(None, mz.Plane(), tilt, "incline")
    model = build.build().with_rolling("contact", "ball", "incline")
    q = model.neutral()
    q[:3] = (tilt.matrix() @ [0.3, 0.1, r, 1.0])[:3]
    a = mz.forward_dynamics(model, q, np.zeros(6), np.zeros(6))
    assert np.linalg.norm(a[3:]) == pytest.approx(5 / 7 * 9.81 * np.sin(theta), rel=1e-13)
    force = mz.loop_forces(model, q, np.zeros(6), np.zeros(6))
    truth = m * 9.81 * np.array([np.cos(theta), -2 / 7 * np.sin(theta), 0.0])
    assert force == pytest.approx(truth, abs=1e-12)
    motion = mz.simulate(model, q, np.zeros(6), 1.0, 0.002)
    way = np.linalg.norm(motion.q[-1, :3] - q[:3])
    assert way == pytest.approx(0.5 * 5 / 7 * 9.81 * np.sin(theta), rel=2e-9)


def steady_disc(r: float, tube: float, theta: float, turn: float):
    """A wheel of unit mass that rolls in a circle, its axis at an angle theta to the vertical, and
    turns about the vertical at this rate: (model, q, v, the centre of its path). The spin follows
    from the balance of moments, which is linear in it.
    """
    A, C, g = 0.3 * r * r, 0.5 * r * r, 9.81
    k = np.array([0.0, 0.0, 1.0])
    e3 = np.array([np.sin(theta), 0.0, np.cos(theta)])
    e1 = np.array([np.cos(theta), 0.0, -np.sin(theta)])  # in the disc, steepest down
    lever = r * e1 - tube * k  # from the centre to the contact
    cross = np.cross

    def moment(spin):
        w = turn * k + spin * e3
        v = -cross(w, lever)
        H = A * (w - (w @ e3) * e3) + C * (w @ e3) * e3
        return (cross(turn * k, H) - cross(lever, cross(turn * k, v) + g * k))[1]

    spin = -moment(0.0) / (moment(1.0) - moment(0.0))
    w = turn * k + spin * e3
    v = -cross(w, lever)
    build = mz.Builder("disc")
    build.add("disc", None, mz.Free(), mz.Inertia(1.0, (0, 0, 0), np.diag([A, A, C])))
    build.shape("disc", mz.Torus(r, tube) if tube else mz.Disc(r), name="rim")
    build.shape(None, mz.Plane(), name="floor")
    model = build.build().with_rolling("contact", "rim", "floor")
    R = np.stack([e1, cross(e3, e1), e3], axis=1)
    half = 0.5 * theta  # R is the rotation about y by theta
    q = np.array([0.0, 0.0, r * np.sin(theta) + tube, 0.0, np.sin(half), 0.0, np.cos(half)])
    return model, q, np.concatenate([R.T @ w, R.T @ v]), -v[1] / turn


CIRCLING = ["rkmk4", "dopri5", "generalized_alpha", "momentum"]


@pytest.mark.parametrize(("tube", "method"), first(5, product([0.0, 0.04], CIRCLING)))
def test_disc_in_a_steady_circle(method, tube):
    """The centre moves in a circle at constant height and the disc keeps its lean."""
    turn = 1.7
    model, q, v, radius = steady_disc(0.25, tube, 1.22, turn)
    assert np.abs(mz.loop_jacobian(model, q) @ v).max() < 1e-14
    motion = mz.simulate(model, q, v, 1.0, 0.0025, method=method)
    angle = turn * motion.t
    path = np.stack([radius - radius * np.cos(angle), -radius * np.sin(angle)], axis=-1)
    limit = 1e-8 if method in ("rkmk4", "dopri5") else 1e-3
    assert np.abs(motion.q[:, :2] - path).max() < limit
    assert np.ptp(motion.q[:, 2]) < limit
    assert np.abs(mz.loop_residual(model, motion.q)).max() < 1e-14
    slip = np.einsum("tmv,tv->tm", mz.loop_jacobian(model, motion.q), motion.v)
    assert np.abs(slip).max() < 1e-12


def euler_disc(*joints: mz.Joint) -> tuple[mz.Model, float, float, float, float]:
    """A thin disc, its axis y, in angles: (model, radius, mass, its two moments of inertia)."""
    r, m = 0.3, 1.7
    A, C = 0.25 * m * r * r, 0.5 * m * r * r
    across = mz.SE3.exp(mz.Twist.unflatten((-np.pi / 2, 0, 0, 0, 0, 0)))
    build = mz.Builder("disc")
    build.add("disc", None, mz.Composite(*joints), mz.Inertia(m, (0, 0, 0), np.diag([A, C, A])))
    build.shape("disc", mz.Disc(r), across, name="rim").shape(None, mz.Plane(), name="floor")
    return build.build().with_rolling("contact", "rim", "floor"), r, m, A, C


@pytest.mark.slow
def test_modes_of_a_disc_that_rolls():
    """Upright it is stable beyond ω² = g/3r, with λ² = (m g r − C (C + m r²) ω²/A)/(A + m r²);
    in a circle, in coordinates that turn about its centre, the eigenvalues are those of the reduced
    equations of lean and of the two rates, which differences of accelerations give.
    """
    turn = [mz.Revolute(x) for x in "zxy"]
    model, r, m, A, C = euler_disc(mz.Translation3(), *turn)
    q, v = model.neutral(), np.zeros(6)
    q[2] = r
    for share in (0.5, 1.01, 2.0):
        w = share * np.sqrt(9.81 / (3.0 * r))
        v[0], v[5] = w * r, w
        values = mz.modes(model, q, v)[0]
        square = (m * 9.81 * r - C * (C + m * r * r) * w * w / A) / (A + m * r * r)
        own = values[np.argsort(-np.abs(values))[:2]]
        assert own**2 == pytest.approx(square, rel=1e-10)
        assert (values.real.max() > 1e-6) == (share < 1.0)
    model, *_ = euler_disc(turn[0], mz.Translation3(), *turn[1:])
    lean, rate, spin = 0.35, 1.3, -6.4927196918997545
    radius = 1.3954505866633078  # from the balance of moments, for this spin
    q, v = np.array([0, 0, radius, r * np.cos(lean), lean, 0]), np.array([rate, 0, 0, 0, 0, spin])
    values = mz.modes(model, q, v)[0]

    def reduced(x):  # (lean, its rate, rate of turn, spin) ↦ its rate
        at = mz.assemble(model, q + (x[0] - lean) * np.eye(6)[4], hold=[("disc", 4)])
        u = mz.consistent_velocities(
            model, at, [x[2], 0, 0, 0, x[1], x[3]], hold=[("disc", k) for k in (0, 4, 5)]
        )
        a = mz.forward_dynamics(model, at, u, np.zeros(6))
        return np.array([x[1], a[4], a[0], a[5]])

    x, h = np.array([lean, 0.0, rate, spin]), 1e-5
    slope = [(reduced(x + h * e) - reduced(x - h * e)) / (2.0 * h) for e in np.eye(4)]
    truth = np.linalg.eigvals(np.stack(slope, axis=-1))
    nodding = truth[np.abs(truth.imag) > 1.0]
    assert np.abs(nodding[:, None] - values).min(axis=1) == pytest.approx(0.0, abs=1e-6)
    assert values.real.max() < 1e-9 and len(nodding) == 2


def test_ball_in_a_pipe():
    """A ball that runs around in an upright pipe rises again: its height swings with √(2/7) of the
    rate at which it runs around, without end (Neimark and Fufaev).
    """
    R, r, rate = 1.0, 0.1, 6.0
    build = mz.Builder("pipe")
    build.add("ball", None, mz.Free(), mz.Inertia(0.5, (0, 0, 0), 0.2 * r * r * np.eye(3)))
    build.shape("ball", mz.Sphere(r), name="ball").shape(None, mz.Cylinder(R, 9.0), name="pipe")
    model = build.build().with_rolling("contact", "ball", "pipe", inside=True)
    q, v = model.neutral(), np.zeros(6)
    q[0] = R - r
    v[4] = rate * (R - r)
    v[2] = -v[4] / r  # no slip at the wall
    assert mz.consistent_velocities(model, q, v) == pytest.approx(v, abs=1e-12)
    motion = mz.simulate(model, q, v, 3.0, 0.02, method="dopri5", rtol=1e-10)
    w = rate * np.sqrt(2.0 / 7.0)
    depth = 5.0 / 7.0 * 9.81 / w**2
    assert motion.q[:, 2] == pytest.approx(-depth * (1.0 - np.cos(w * motion.t)), abs=1e-6)
    assert motion.energy_drift() < 1e-8


def test_ball_on_a_turntable():
    """On a table that is driven evenly it runs in circles at 2/7 of the rate of the table, wherever
    and however fast it starts.
    """
    r, rate = 0.1, 3.0
    build = mz.Builder("turntable")
    build.add("table", None, mz.Revolute("z"), mz.Inertia(5.0, (0, 0, 0), np.eye(3)))
    build.add("ball", None, mz.Free(), mz.Inertia(0.5, (0, 0, 0), 0.2 * r * r * np.eye(3)))
    build.shape("ball", mz.Sphere(r), name="ball").shape("table", mz.Plane(), name="top")
    model = build.build().with_rolling("contact", "ball", "top")
    q, v = model.neutral(), np.zeros(model.nv)
    q[1:4] = 0.4, 0.1, r
    v[4:6] = 0.2, -0.1
    motion = mz.simulate(
        model, q, v, 4.0, 0.01, method="dopri5", rtol=1e-11,
        prescribed={"table": lambda t: rate * t},
    )  # fmt: skip
    w = 2.0 / 7.0 * rate
    z = motion.q[:, 1] + 1j * motion.q[:, 2]
    u = mz.twists(model, motion.q[0], motion.v[0], "hybrid")[1, 3:]
    centre = z[0] - (u[0] + 1j * u[1]) / (1j * w)
    assert z == pytest.approx(centre + (z[0] - centre) * np.exp(1j * w * motion.t), abs=1e-7)


def test_rows_that_vanish():
    """A wheel that cannot leave its plane: of the three rows one counts, and it rolls."""
    r, hub = 0.2, mz.Inertia(1.0, (0, 0, 0), np.eye(3))
    build = mz.Builder("planar")
    build.add("hub", None, mz.Prismatic("x").between((0, 0, r), None), hub)
    spin = mz.Inertia(1.0, (0, 0, 0), np.diag([0.01, 0.02, 0.01]))
    build.add("wheel", "hub", mz.Revolute("y"), spin, joint_name="spin")
    across = mz.SE3.exp(mz.Twist.unflatten((-np.pi / 2, 0, 0, 0, 0, 0)))
    build.shape("wheel", mz.Disc(r), across, name="rim").shape(None, mz.Plane(), name="floor")
    model = build.build().with_rolling("contact", "rim", "floor")
    q, v = np.array([0.3, 0.1]), np.zeros(2)
    assert mz.loop_rank(model, q)[0] == 1
    a = mz.forward_dynamics(model, q, v, [0.0, 0.4])
    truth = 0.4 / r / (2.0 + 0.02 / r**2)
    assert a == pytest.approx([truth, truth / r], rel=1e-12)
    motion = mz.simulate(model, q, v, 1.0, 0.01, torque=[0.0, 0.4])
    assert motion.q[-1, 0] == pytest.approx(0.3 + 0.5 * truth, rel=1e-9)


# -- the bicycle of Meijaard, Papadopoulos, Ruina and Schwab, Proc. R. Soc. A 463 (2007) --

M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837


@pytest.fixture(scope="module")
def bike() -> mz.Model:
    return bicycle()


def riding(model: mz.Model, speed: float) -> np.ndarray:
    v = np.zeros(model.nv)
    v[3] = speed
    v[model.v_slices["rear"]], v[model.v_slices["front"]] = speed / 0.3, speed / 0.35
    return v


def modes(model: mz.Model, speed: float) -> np.ndarray:
    """The four eigenvalues of lean and steer; the fifth is that of the speed, zero."""
    q, v = model.neutral(), riding(model, speed)
    found, shapes = mz.modes(model, q, v)
    assert len(found) == 5 and shapes.shape == (18, 5)
    A, _ = mz.linearize(model, q, v, np.zeros(model.nv))
    every = np.linalg.eigvals(A)  # has them too, among zeros
    ahead = np.argmax(np.abs(shapes[12]) + (np.abs(found) > 1e-9) * -10.0)
    assert np.abs(found[ahead]) < 1e-12
    found = np.delete(found, ahead)
    clear = found[np.abs(found) > 1e-2]
    assert np.abs(clear[:, None] - every).min(axis=1).max(initial=0.0) < 1e-9
    return np.sort_complex(found)


@pytest.mark.parametrize("speed", [0.0, 1.0, 3.0, 5.0, 8.0])
def test_bicycle(bike, speed):
    """Eigenvalues of riding straight ahead, from the published matrices of the benchmark."""
    q, v = bike.neutral(), riding(bike, speed)
    assert np.abs(mz.loop_jacobian(bike, q) @ v).max() < 1e-14
    assert np.abs(mz.forward_dynamics(bike, q, v, np.zeros(bike.nv))).max() < 1e-11
    stiffness, damping = 9.81 * K0 + speed**2 * K2, speed * C1
    state = np.block(
        [[np.zeros((2, 2)), np.eye(2)],
         [-np.linalg.solve(M, stiffness), -np.linalg.solve(M, damping)]]
    )  # fmt: skip
    assert modes(bike, speed) == pytest.approx(np.sort_complex(np.linalg.eigvals(state)), rel=1e-11)


def test_bicycle_is_stable_between_weave_and_capsize(bike):
    """The published speeds: a pair of eigenvalues, then a real one, cross the imaginary axis."""
    weave = modes(bike, WEAVE)
    pair = weave[np.abs(weave.imag) > 1.0]
    assert np.abs(pair.real).max() < 1e-11
    capsize = modes(bike, CAPSIZE)
    assert np.abs(capsize).min() < 1e-11
    assert modes(bike, 5.0).real.max() < -0.3
    assert modes(bike, CAPSIZE + 1e-3).real.max() > 0.0 > modes(bike, CAPSIZE - 1e-3).real.max()
    assert modes(bike, 5.0)[-1] == pytest.approx(-0.322866429004087, rel=1e-11)


def test_modes_of_what_is_not_steady_are_refused(bike):
    """Falling over has no eigenvalues; nor has a body that spins as it travels, in its own axes."""
    q = bike.neutral()
    q[3], q[6] = np.sin(0.05), np.cos(0.05)  # leaning
    with pytest.raises(mz.ConfigurationError, match=r"is not steady: .* accelerates by"):
        mz.modes(bike, mz.assemble(bike, q), np.zeros(bike.nv))
    model, q, v, _ = steady_disc(0.25, 0.0, 1.22, 1.7)
    with pytest.raises(mz.ConfigurationError, match="not steady"):
        mz.modes(model, q, v)


def test_bicycle_rides(bike):
    """Pushed aside at a stable speed it comes back upright, and keeps its energy."""
    v = riding(bike, 4.6)
    v[0] = 0.5  # lean, in rad/s
    v = mz.consistent_velocities(bike, bike.neutral(), v)
    motion = mz.simulate(bike, bike.neutral(), v, 5.0, 0.005)
    lean = np.abs(motion.v[:, 0])
    assert lean[-200:].max() < 0.2 * lean[:200].max()
    assert motion.energy_drift() < 1e-9
    assert np.abs(mz.loop_residual(bike, motion.q)).max() < 1e-13


def test_bicycle_far_from_upright(bike):
    """The state of table 1 of Basu-Mandal, Chatterjee and Papadopoulos, Proc. R. Soc. A 463 (2007),
    leaning and steering, with its nine accelerations in 13 digits. Their x points backward, z up;
    angles: yaw θ, lean ψ from the ground, pitch φ, steer ψ_f, turns of the wheels.
    """
    angles = -0.0, np.pi / 2 - 0.9501292851472, np.pi - 3.1257073014894  # yaw, roll, pitch
    rates = np.array([-0.7830033527065, -0.6068425835418, 0.0119185528069])
    second = np.array([-0.8353281706379, 7.8555281128244, -0.1205543897884])
    flip = np.diag([1.0, -1.0, -1.0])  # z down to z up

    def turn(axis, x):
        i, k = (axis + 1) % 3, (axis + 2) % 3
        R = np.eye(3, dtype=complex)
        R[i, i] = R[k, k] = np.cos(x)
        R[k, i], R[i, k] = np.sin(x), -np.sin(x)
        return R

    def spin(angles, rates):
        """In the axes of the frame: about y, before that about x, before that about z."""
        _, roll, pitch = angles
        w = turn(0, roll).T @ [0.0, 0.0, rates[0]] + [rates[1], 0.0, 0.0]
        return flip @ (turn(1, pitch).T @ w + [0.0, rates[2], 0.0])

    R = (flip @ turn(2, angles[0]) @ turn(0, angles[1]) @ turn(1, angles[2]) @ flip).real
    hub, ahead = np.array([0.0, 0.0, 0.3]), np.diag([-1.0, -1.0, 1.0])
    q, v = bike.neutral(), np.zeros(bike.nv)
    half = np.array([angles[1], -angles[2]]) / 2  # no yaw: about x, then about y turned by flip
    (cx, cy), (sx, sy) = np.cos(half), np.sin(half)
    q[3:7] = sx * cy, cx * sy, sx * sy, cx * cy
    q[:3] = [0.0, 0.0, 0.2440472102925] - R @ hub
    q[bike.q_slices["steer"]] = -0.2311385135743
    assert mz.pose(bike, q, "frame")[:3, :3] == pytest.approx(R, abs=1e-15)
    assert np.abs(mz.loop_residual(bike, q)).max() < 1e-12  # both wheels touch
    w = v[:3] = spin(angles, rates).real
    centre = ahead @ [-2.8069345714545, -0.1480982396001, 0.1058778746261]
    v[3:6] = R.T @ centre - np.cross(w, hub)
    v[6:] = -0.4859824687093, 8.9129896614890, 8.0133620584155
    assert np.abs(mz.loop_jacobian(bike, q) @ v).max() < 1e-12  # and do not slip
    a = mz.forward_dynamics(bike, q, v, np.zeros(bike.nv))
    step = 1e-30j  # the rate of the spin, exactly
    truth = spin(np.array(angles) + step * rates, rates + step * second).imag / 1e-30
    assert a[:3] == pytest.approx(truth, abs=2e-12)
    assert a[6:] == pytest.approx([4.6198904039403, 1.8472554144217, 2.4548072904550], abs=2e-12)
    swing = a[3:6] + np.cross(w, v[3:6]) + np.cross(a[:3], hub) + np.cross(w, np.cross(w, hub))
    published = [-0.5041626315047, -0.3449706619454, -1.4604528332980]
    assert ahead @ R @ swing == pytest.approx(published, abs=2e-12)


# -- a snakeboard, with 30 digits --


def snakeboard() -> mz.Model:
    """A board with a rotor above it, and two axles that steer: their wheels do not slide."""
    flat = lambda m, J: mz.Inertia(m, (0.0, 0.0, 0.0), np.diag([J, J, J]))
    build = mz.Builder("snakeboard", gravity=(0.0, 0.0, 0.0))
    build.add("board", None, mz.Planar(), flat(3.0, 0.5))
    build.add("rotor", "board", mz.Revolute("z"), flat(1.0, 0.2), joint_name="twist")
    for name, x in (("back", -0.4), ("front", 0.4)):
        hinge = mz.Revolute("z").between((x, 0.0, 0.0), None)
        build.add(name, "board", hinge, flat(0.5, 0.05), joint_name=name)
    model = build.build()
    for name in ("back", "front"):
        model = model.with_velocity_rows(
            name, lambda model, q, name=name: mz.jacobian(model, q, name, "body")[4]
        )
    return model


def test_snakeboard():
    """Accelerations from Lagrange's equations with multipliers in 30 digits, in coordinates
    (x, y, θ, ψ, φ_b, φ_f) of the plane: nothing of them is shared with the library.
    """
    model = snakeboard()
    q = np.array([0.3, -0.2, 0.7, 0.4, 0.5, -0.35])
    v = mz.consistent_velocities(model, q, [0.6, 0.1, 0.8, -1.1, 0.9, 0.4])
    tau = np.array([0.0, 0.0, 0.0, 0.7, -0.3, 0.2])
    a = mz.forward_dynamics(model, q, v, tau)
    lam = mz.loop_forces(model, q, v, tau)
    with mp.workdps(30):
        theta = mp.mpf(float(q[2]))
        turn = mp.matrix([[mp.cos(theta), -mp.sin(theta)], [mp.sin(theta), mp.cos(theta)]])
        x = [mp.mpf(float(e)) for e in q]
        u = [mp.mpf(float(e)) for e in v]
        xy = turn * mp.matrix(u[:2])
        rates = mp.matrix([xy[0], xy[1], *u[2:]])
        ends = {4: mp.mpf(-0.4), 5: mp.mpf(0.4)}

        def row(z, k):
            """Velocity of an axle across its wheels: its centre is at l along the board."""
            angle, l = z[2] + z[k], ends[k]
            out = mp.zeros(1, 6)
            out[0], out[1] = -mp.sin(angle), mp.cos(angle)
            out[2] = l * mp.cos(z[k])
            return out

        mass = mp.zeros(6, 6)
        mass[0, 0] = mass[1, 1] = mp.mpf(3) + 1 + mp.mpf(0.5) * 2  # all bodies
        rotors = {3: mp.mpf(0.2), 4: mp.mpf(0.05), 5: mp.mpf(0.05)}
        mass[2, 2] = mp.mpf(0.5) + mp.fsum(rotors.values())
        mass[2, 2] += mp.mpf(0.5) * (ends[4] ** 2 + ends[5] ** 2)
        for k, J in rotors.items():
            mass[k, k] = mass[2, k] = mass[k, 2] = J
        rows, drift = mp.zeros(2, 6), mp.zeros(2, 1)
        for n, k in enumerate((4, 5)):
            for c, e in enumerate(row(x, k)):
                rows[n, c] = e

            def speed(t, k=k):
                moved = [e + t * d for e, d in zip(x, rates, strict=True)]
                return (row(moved, k) * rates)[0]

            drift[n] = mp.diff(speed, 0)
        whole = mp.zeros(8, 8)
        whole[:6, :6], whole[6:, :6], whole[:6, 6:] = mass, rows, -rows.T
        force = mp.matrix([0, 0, 0, *(mp.mpf(float(e)) for e in tau[3:]), -drift[0], -drift[1]])
        solved = mp.lu_solve(whole, force)
        # body-fixed: v = Rᵀ ẋ, so that v̇ = Rᵀ ẍ − ω × v
        body = turn.T * solved[:2]
        truth = [body[0] + u[2] * u[1], body[1] - u[2] * u[0], *solved[2:6]]
        assert a == pytest.approx([float(e) for e in truth], rel=1e-13, abs=1e-13)
        assert lam == pytest.approx([float(solved[6]), float(solved[7])], rel=1e-12, abs=1e-13)
    assert mz.loop_rank(model, q)[0] == 2


# -- a car: twelve rows of rank nine --


@pytest.mark.slow
def test_car_turns_in_a_circle():
    """With the steering held it turns about the point where its axles meet, wheels without slip;
    rows depend on one another, and the energy still has the order of the method.
    """
    model, angle, speed = car(), 0.3, 5.0
    q = model.neutral()
    q[model.q_slices["steer"]] = angle
    assert [int(mz.loop_rank(model, x)[0]) for x in (q, model.neutral())] == [9, 9]
    v = np.zeros(model.nv)
    v[3] = speed
    v = mz.consistent_velocities(model, q, v)
    turn = v[3] * np.tan(angle) / 2.4
    rear = [(v[3] + side * 0.7 * turn) / 0.3 for side in (-1.0, 1.0)]
    assert v[[2, 9, 10]] == pytest.approx([turn, *rear])
    drifts = []
    for dt in (0.04, 0.02):
        motion = mz.simulate(model, q, v, 2.0, dt, prescribed={"steer": angle})
        drifts.append(motion.energy_drift())
        radius = 2.4 / np.tan(angle)
        path = motion.q[:, :2] - [0.0, radius]
        assert np.linalg.norm(path, axis=-1) == pytest.approx(radius, rel=1e-6)
        slip = np.einsum("tmv,tv->tm", mz.loop_jacobian(model, motion.q), motion.v)
        assert np.abs(slip).max() < 1e-12
    assert drifts[1] < 1e-9
    free = [mz.simulate(model, q, v + 0.0, 2.0, dt).energy_drift() for dt in (0.04, 0.02)]
    assert free[1] < 1e-8 and free[0] / free[1] > 8.0
    weight = model.mass * 9.81
    forces = mz.simulate(model, q, v, 0.1, 0.02).wrenches()
    lift = sum(forces[f"{x}_contact"].wrenches[:, 0, 5] for x in
               ("front_left", "front_right", "rear_left", "rear_right"))  # fmt: skip
    assert lift == pytest.approx(weight, rel=1e-9)
