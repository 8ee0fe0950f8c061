"""Andrews' squeezing mechanism: seven bodies, three loops that meet in a point, a stiff spring.

W. Schiehlen (ed.), Multibody Systems Handbook, 1990; data, consistent start and solution at
t = 0.03 s as in F. Mazzia, C. Magherini, Test Set for Initial Value Problem Solvers, 2008.
"""

import numpy as np
import pytest

import mozzi as mz

# mass, moment of inertia about z, centre of mass in the body's own frame
BODIES = {
    "K1": (0.04325, 2.194e-6, (92e-5, 0.0)),
    "K2": (0.00365, 4.410e-7, (-115e-4, 0.0)),
    "K3": (0.02373, 5.255e-6, (1043e-5, -1874e-5)),
    "K5": (0.07050, 1.169e-5, (2308e-5, 916e-5)),
    "K4": (0.00706, 5.667e-7, (0.0, 1421e-5 - 2e-2)),
    "K7": (0.05498, 1.912e-5, (-449e-5, -1228e-5)),
    "K6": (0.00706, 5.667e-7, (2e-2 - 1421e-5, 0.0)),
}
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072, 0.0)
# parent and the place of the hinge there
TREE = {
    "K1": (None, (0.0, 0.0)), "K2": ("K1", (7e-3, 0.0)), "K3": (None, B), "K5": (None, A),
    "K4": ("K5", (4e-2, 0.0)), "K7": (None, A), "K6": ("K7", (0.0, -4e-2)),
}  # fmt: skip
# where bodies meet the end of K2
MEET = {"K3": (0.0, -35e-3), "K4": (0.0, -2e-2), "K6": (2e-2, 0.0)}
START = {
    "K1": -0.0617138900142764496, "K2": 0.0, "K3": 0.455279819163070380,
    "K4": 0.222668390165885885, "K5": 0.487364979543842550,
    "K6": -0.222668390165885885, "K7": 1.23054744454982119,
}  # fmt: skip
END = {
    "K1": 15.81077119629904, "K2": -15.75637105984298, "K3": 0.04082224013073101,
    "K4": -0.5347301163226948, "K5": 0.5244099658805304, "K6": 0.5347301163226948,
    "K7": 1.048080741042263,
}  # fmt: skip


def squeezer() -> mz.Model:
    """In the x–y plane, weightless."""
    b = mz.Builder("squeezer", gravity=(0.0, 0.0, 0.0))
    for name, (mass, moment, com) in BODIES.items():
        parent, place = TREE[name]
        inertia = mz.Inertia(mass, (*com, 0.0), np.diag([moment / 2, moment / 2, moment]))
        b.add(name, parent, mz.Revolute("z"), inertia, placement=(*place, 0.0))
    for name, place in MEET.items():
        b.loop(f"P of {name}", "K2", name, mz.Revolute("z"), (-28e-3, 0.0, 0.0), (*place, 0.0))
    b.spring("spring", None, "K3", C, (2e-2, -18e-3, 0.0), stiffness=4530.0, length=7785e-5)
    return b.build()


def by_name(model: mz.Model, numbers: dict[str, float]) -> np.ndarray:
    return np.array([numbers[name] for name in model.bodies])


def test_start():
    """Closed, 15 rows of rank 6, and the accelerations of the start: K3 to K7 stand."""
    model = squeezer()
    q, tau = by_name(model, START), by_name(model, dict.fromkeys(START, 0.0) | {"K1": 0.033})
    found = mz.assemble(model, q, report=True)
    assert found.closed and found.rank == 6 and found.mobility == 1 and not found.singular
    assert np.abs(mz.loop_residual(model, q)).max() < 1e-17
    a = mz.forward_dynamics(model, q, np.zeros(7), tau, resistance=True)
    known = {"K1": 14222.4439199541138706, "K2": -10666.8329399655854}
    expected = by_name(model, dict.fromkeys(START, 0.0) | known)
    assert np.abs(a - expected).max() < 1e-9 * 14222.0


@pytest.mark.parametrize(
    "method", [{"dt": 1e-5}, {"dt": 1e-3, "method": "dopri5", "rtol": 1e-11, "atol": 1e-13}]
)
def test_motion(method):
    """K1 turns two and a half times in 0.03 s."""
    model = squeezer()
    tau = by_name(model, dict.fromkeys(START, 0.0) | {"K1": 0.033})
    motion = mz.simulate(
        model, by_name(model, START), np.zeros(7), 0.03, torque=tau, resistance=True,
        record_every=1 if "method" in method else 100, **method,
    )  # fmt: skip
    assert np.abs(motion.q[-1] - by_name(model, END)).max() < 2e-9
    assert np.abs(mz.loop_residual(model, motion.q)).max() < 1e-15
