"""Published figures: the n-four-bar (IFToMM A02), the flyball governor (A05)."""

import numpy as np
import pytest
from loop_models import leaning, windows

import mozzi as mz

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
    """Ten passes through the flat configuration, where n + 1 ways are open, on the right one."""
    model = windows(n)
    x = mz.simulate(model, leaning(model, 0.0), leaning(model, 1.0), 10.0, 1e-3, record_every=1000)
    for t, (angle, rate) in WINDOWS[n].items():
        assert x.q[t, 0] == pytest.approx(angle, abs=1e-7)
        assert x.v[t, 0] == pytest.approx(rate, abs=1e-7)
    assert np.abs(mz.loop_residual(model, x.q)).max() < 1e-12


def test_the_acceleration_of_windows_is_that_of_one_angle():
    """θ″ = A sin θ, for many windows at once and without integration."""
    for n in (1, 3, 6):
        model = windows(n)
        A = ((n + 1) / 2 + n) * 9.81 / ((n + 1) / 3 + n)
        for angle in (0.3, 1.2, 2.9):
            v = leaning(model, 0.8)
            a = mz.forward_dynamics(model, leaning(model, angle), v, np.zeros(model.nv))
            assert np.allclose(a, leaning(model, A * np.sin(angle)), atol=1e-10)


def governor() -> mz.Model:
    """The flyball governor with its two stiff springs as rigid rods: distances of half a metre."""

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
        b.distance(f"rod_{name}", "slider", name, point, (0.5, 0.0, 0.0), 0.5)
    return b.build()


def test_flyball_governor():
    """Rods as stiff as the benchmark's springs are nearly rigid: height, angle, speed of the shaft.

    The angular momentum about the shaft is kept.
    """
    model = governor()
    names = [model.v_slices[n].start for n in model.joint_names]
    shaft, slider, right, left = names
    q = np.zeros(model.nq)
    q[slider], q[right], q[left] = 0.5, np.pi / 6, np.pi / 6
    assert np.abs(mz.loop_residual(model, q)).max() < 1e-12
    v = np.zeros(model.nv)
    v[shaft] = 2.0 * np.pi
    assert mz.momentum(model, q, v)[2] == pytest.approx(53.868998658418434, rel=1e-12)
    x = mz.simulate(model, q, v, 1.0, 1e-3, record_every=100)
    reference = {  # s, β, ω of the shaft; springs of 8e5 N/m and dampers of 4e4 N s/m
        1: (0.5238364755695768, 0.49617386907589817, 6.103717808830848),
        3: (0.6586323487803561, 0.34822347755206823, 5.38042481278991),
        5: (0.7432494247862983, 0.2594913815434368, 5.103415421971596),
        8: (0.6031812846891458, 0.40792010060278616, 5.627882191276813),
        10: (0.501420922379563, 0.521833301625552, 6.2711257418765936),
    }
    for k, (s, beta, w) in reference.items():
        assert x.q[k, slider] == pytest.approx(s, abs=2e-3)
        assert x.q[k, right] == pytest.approx(beta, abs=3e-3)
        assert x.v[k, shaft] == pytest.approx(w, abs=2e-2)
    spin = mz.momentum(model, x.q, x.v)[:, 2]
    assert np.abs(spin - spin[0]).max() < 1e-8
    assert np.abs(mz.loop_residual(model, x.q)).max() < 1e-12
