"""Published figures: the n-four-bar (IFToMM A02), Bricard's linkage (A04), the flyball governor
(A05).
"""

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import leaning, n_four_bar

# θ and θ̇ of the cranks after 1, 2, 4, 5 and 10 seconds, from the exact elliptic functions:
# θ″ = A sin θ with A = ((N + 1)/2 + N) g / (((N + 1)/3 + N) L), θ(0) = 0, θ′(0) = 1.
WINDOWS = {
    1: {
        1: (3.4053529879370579, 6.87559194859331502),
        2: (6.36034732633128852, 1.03443484579602122),
        4: (12.726003230252474, 1.13988786970367387),
        5: (16.9452772682150255, 5.67897760748800159),
        10: (31.9147412977380245, 1.96693471944031946),
    },
    2: {
        1: (3.33787080310509773, 6.80738524086944554),
        2: (6.34103336131233161, 1.01896459143853671),
        4: (12.6842595935139719, 1.07651118008554302),
        5: (16.6543534866534826, 6.10506755351962099),
        10: (31.7505971869861018, 1.50664218084182947),
    },
    40: {
        1: (3.25720692490981343, 6.71481488072356296),
        2: (6.31765844203611685, 1.00654920362623054),
        4: (12.6357683369214925, 1.026274688300625),
        5: (16.2786261969349783, 6.46000118075747129),
        10: (31.5974337439857377, 1.16762210875170683),
    },
}  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, pytest.param(40, marks=pytest.mark.slow)])
def test_windows_pass_their_singular_configuration(n: int):
    """Ten passes through the flat configuration, where n + 1 ways are open, on the right one.

    A step that ends 5e-5 rad beside it divides what its stages are off the loops by the distance:
    of forty windows that is seen.
    """
    model = n_four_bar(n)
    near = 1e-7 if n < 40 else 5e-6
    x = mz.simulate(model, leaning(model, 0.0), leaning(model, 1.0), 10.0, 1e-3, record_every=1000)
    for t, (angle, rate) in WINDOWS[n].items():
        assert x.q[t, 0] == pytest.approx(angle, abs=near)
        assert x.v[t, 0] == pytest.approx(rate, abs=near)
    assert np.abs(mz.loop_residual(model, x.q)).max() < 1e-12


def test_the_acceleration_of_windows_is_that_of_one_angle():
    """θ″ = A sin θ, for many windows at once and without integration."""
    for n in (1, 3, 6):
        model = n_four_bar(n)
        A = ((n + 1) / 2 + n) * 9.81 / ((n + 1) / 3 + n)
        for angle in (0.3, 1.2, 2.9):
            v = leaning(model, 0.8)
            a = mz.forward_dynamics(model, leaning(model, angle), v, np.zeros(model.nv))
            assert np.allclose(a, leaning(model, A * np.sin(angle)), atol=1e-10)


# Angles of the first two joints after 1, 2, 5 and 10 seconds, from Lagrange's equations of both
# with their closure as a constraint (Dormand and Prince's method of order 8, 1e-13).
BRICARD = {
    1: (-1.03716311305977, 0.480975574443301),
    2: (-2.89558329202588, 0.197115147941624),
    5: (-1.83898202146573e-4, 1.83864389805987e-4),
    10: (-7.35660376122890e-4, 7.35119577655142e-4),
}


@pytest.mark.parametrize("cut", [5, 3, 0])
def test_bricards_linkage(cut: int):
    """IFToMM A04: five rods along edges of a cube, six revolutes, five rows of rank four.

    The angles are θ and φ in turn, with sin θ + sin φ = sin θ sin φ; wherever it is cut.
    """
    edges = np.array([(1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, 0, 0), (0, 1, 0)], dtype=float)
    corners = np.concatenate([np.zeros((1, 3)), np.cumsum(edges, axis=0)])
    around = np.array([(0, 0, -1), *edges, (0, 0, -1)])
    axes = np.cross(around[:-1], around[1:])  # of joint k, at corner k
    builder = mz.Builder("Bricard", gravity=(0, -9.81, 0))

    def rod(k: int, near: int, parent: str | None, sign: float) -> None:
        """Rod k on the joint at its nearer end."""
        along = sign * edges[k]
        inertia = mz.Inertia(1.0, along / 2, (np.eye(3) - np.outer(along, along)) / 12)
        at = corners[near] - (0.0 if parent is None else corners[near - int(sign)])
        joint = mz.Revolute(sign * axes[near])
        builder.add(f"{k}", parent, joint, inertia, placement=tuple(at))

    for k in range(cut):
        rod(k, k, None if k == 0 else f"{k - 1}", 1.0)
    for k in range(4, cut - 1, -1):
        rod(k, k + 1, None if k == 4 else f"{k + 1}", -1.0)
    ends = [
        (f"{k}", tuple(s * edges[k])) if 0 <= k < 5 else (None, tuple(corners[cut]))
        for k, s in ((cut - 1, 1.0), (cut, -1.0))
    ]
    (a, at_a), (b, at_b) = ends
    model = builder.loop("cut", a, b, mz.Revolute(axes[cut]), at_a, at_b).build()
    x = mz.simulate(model, np.zeros(5), np.zeros(5), 10.0, 2e-3, record_every=500)
    assert np.ptp(x.energy()) < 1e-8
    # joints in the order of corners: those before the cut as they are, those behind it backward
    q = np.concatenate([x.q[:, :cut], x.q[:, cut:][:, ::-1]], axis=1)
    q = np.insert(q, cut, q[:, cut - 2] if cut > 1 else q[:, cut + 1], axis=1)
    theta, phi = q[:, ::2], q[:, 1::2]
    assert np.ptp(theta, axis=1).max() < 1e-9 and np.ptp(phi, axis=1).max() < 1e-9
    s, p = np.sin(theta[:, 0]), np.sin(phi[:, 0])
    np.testing.assert_allclose(s + p, s * p, atol=1e-10)
    for t, angles in BRICARD.items():
        np.testing.assert_allclose(q[t, :2], angles, atol=1e-9)

def governor(rigid: bool) -> mz.Model:
    """The flyball governor with its two stiff springs, or with rigid rods: half a metre long."""

    def box(mass: float, x: float, y: float, z: float, at: float = 0.0) -> mz.Inertia:
        J = np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) * mass / 12.0
        return mz.Inertia(mass, (at, 0.0, 0.0), J)

    b = mz.Builder("governor")
    b.add("shaft", None, mz.Revolute("z"), box(0.3, 0.01, 0.01, 1.0))
    b.add("slider", "shaft", mz.Prismatic("z"), box(3.0, 0.1, 0.1, 0.1))
    ball = mz.Inertia(5.0, (1.0, 0.0, 0.0), np.zeros((3, 3)))
    for name, side in (("right", 0.0), ("left", np.pi)):
        c, s = np.cos(side), np.sin(side)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        at = np.eye(4)
        at[:3, :3], at[:3, 3] = turn, turn @ [0.05, 0.0, 1.0]
        arm = box(0.3, 1.0, 0.01, 0.01, 0.5) + ball
        b.add(name, "shaft", mz.Revolute("y").between(mz.SE3.from_matrix(at)), arm)
        point = tuple(turn @ [0.05, 0.0, 0.0])
        ends = "slider", name, point, (0.5, 0.0, 0.0)
        if rigid:
            b.distance(f"rod_{name}", *ends, 0.5)
        else:
            b.spring(f"spring_{name}", *ends, stiffness=8e5, damping=4e4, length=0.5)
    return b.build()


# Height s of the slider, angle β of the rods and speed ω of the shaft, in steps of a tenth of a
# second, with springs of 8e5 N/m and dampers of 4e4 N s/m. From the Lagrangian of the motions that
# keep the symmetry, integrated to 12 digits.
GOVERNOR = {
    1: (0.5238364755695768, 0.49617386907589817, 6.103717808830848),
    3: (0.6586323487803561, 0.34822347755206823, 5.38042481278991),
    5: (0.7432494247862983, 0.2594913815434368, 5.103415421971596),
    8: (0.6031812846891458, 0.40792010060278616, 5.627882191276813),
    10: (0.501420922379563, 0.521833301625552, 6.2711257418765936),
    20: (0.5059092942966951, 0.5166637973646077, 6.236223614436031),
    50: (0.5355631037216007, 0.4828745765869864, 6.022496499758736),
    75: (0.677192963690831, 0.3285415750784289, 5.310176428202366),
    100: (0.6196229170613317, 0.39007370184468193, 5.548203622655085),
}
SPIN = 53.868998658418434


def spinning(model: mz.Model) -> tuple[np.ndarray, np.ndarray]:
    """The governor at the start: rods at 30°, the shaft turns once per second."""
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    for joint, x in (("slider", 0.5), ("right", np.pi / 6), ("left", np.pi / 6)):
        q[model.q_slices[joint]] = x
    v[model.v_slices["shaft"]] = 2.0 * np.pi
    assert mz.momentum(model, q, v)[2] == pytest.approx(SPIN, rel=1e-12)
    return q, v


def worst(x: mz.Trajectory) -> np.ndarray:
    """The largest errors of s, β and ω at the times of the reference."""
    times = [k for k in GOVERNOR if k < len(x)]
    q, v = x.model.q_slices, x.model.v_slices
    found = [x.q[times, q["slider"]], x.q[times, q["right"]], x.v[times, v["shaft"]]]
    return np.abs(np.hstack(found) - [GOVERNOR[k] for k in times]).max(axis=0)


@pytest.mark.parametrize(
    ("method", "dt", "error", "drift"),
    [
        ("rkmk4", 1e-4, 1e-11, 1e-10),
        ("dopri5", 0.1, 1e-10, 1e-10),
        ("generalized_alpha", 1e-3, 2e-4, 2e-5),  # longer than the springs relax
        ("generalized_alpha", 1e-4, 2e-6, 2e-7),
    ],
)
def test_flyball_governor(method: str, dt: float, error: float, drift: float):
    """IFToMM A05, ten seconds with its stiff springs; angular momentum about the shaft is kept."""
    model = governor(rigid=False)
    options = {"rtol": 1e-10, "atol": 1e-12} if method == "dopri5" else {}
    x = mz.simulate(
        model, *spinning(model), 10.0, dt, method, resistance=True, record_every=round(0.1 / dt),
        **options,
    )  # fmt: skip
    assert worst(x).max() < error
    assert np.abs(x.momentum()[:, 2] - SPIN).max() < drift
    assert np.abs(x.q[:, -1] - x.q[:, -2]).max() < 1e-9  # left and right stay alike


def test_flyball_governor_with_rigid_rods():
    """Rods as stiff as the benchmark's springs are nearly rigid, and keep loops closed."""
    model = governor(rigid=True)
    q, v = spinning(model)
    assert np.abs(mz.loop_residual(model, q)).max() < 1e-12
    x = mz.simulate(model, q, v, 1.0, 1e-3, record_every=100)
    assert (worst(x) < [2e-3, 3e-3, 2e-2]).all()
    assert np.abs(x.momentum()[:, 2] - SPIN).max() < 1e-8
    assert np.abs(mz.loop_residual(model, x.q)).max() < 1e-12
