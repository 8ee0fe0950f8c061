"""PUMA 560 with the consensus parameters of Corke and Armstrong-Hélouvry (1994).

Figures printed by the Robotics Toolbox for Python and MATLAB (four decimals), and by Pinocchio.
Standard Denavit–Hartenberg frames; rotors are reflected through the gears, G² Jm.
"""

import numpy as np
import pytest
from support.mechanics import agree, value

import mozzi as mz

PI = np.pi
D = (26.45 * 0.0254, 0.0, 0.15005, 0.4318, 0.0, 0.0)
A = (0.0, 0.4318, 0.0203, 0.0, 0.0, 0.0)
ALPHA = (PI / 2, 0.0, -PI / 2, PI / 2, -PI / 2, 0.0)
MASS = (0.0, 17.4, 4.8, 0.82, 0.34, 0.09)
COM = (
    (0, 0, 0), (-0.3638, 0.006, 0.2275), (-0.0203, -0.0141, 0.07), (0, 0.019, 0), (0, 0, 0),
    (0, 0, 0.032),
)  # fmt: skip
INERTIA = (
    (0, 0.35, 0), (0.13, 0.524, 0.539), (0.066, 0.086, 0.0125), (0.0018, 0.0013, 0.0018),
    (0.0003, 0.0004, 0.0003), (0.00015, 0.00015, 4e-05),
)  # fmt: skip
ROTOR = (0.0002, 0.0002, 0.0002, 3.3e-05, 3.3e-05, 3.3e-05)
GEAR = (-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686)
VISCOUS = (0.00148, 0.000817, 0.00138, 7.12e-05, 8.26e-05, 3.67e-05)
COULOMB = (0.395, 0.126, 0.132, 0.0112, 0.00926, 0.00396)  # for positive velocities

QN = np.array([0, PI / 4, PI, 0, PI / 4, 0])
QD = np.array([1.0, 2, 3, 1, 2, 3])


@pytest.fixture(scope="module")
def puma():
    builder = mz.Builder("puma560")
    for k in range(6):
        c, s = np.cos(ALPHA[k]), np.sin(ALPHA[k])
        behind = np.array([[1, 0, 0, A[k]], [0, c, -s, 0], [0, s, c, D[k]], [0, 0, 0, 1.0]])
        # T = Rz(q) · behind: the joint is in the frame of the previous link
        builder.add(
            f"link{k + 1}", f"link{k}" if k else None,
            mz.Revolute("z").between(np.eye(4), np.linalg.inv(behind)),
            mz.Inertia(MASS[k], COM[k], np.diag(INERTIA[k]).astype(float)),
            armature=GEAR[k] ** 2 * ROTOR[k], damping=GEAR[k] ** 2 * VISCOUS[k],
        )  # fmt: skip
    return builder.build(physical=False)


def test_gravity(puma):
    g = value(mz.gravity_forces, puma, QN)
    expected = [0.0, 31.63988037835712, 6.035138023010511, 0.0, 0.028252799999999995, 0.0]
    agree(g, expected, 1e-12)
    q1, q2 = np.array([0, PI / 4, -PI, 1, PI / 4, 0]), np.array([0, PI / 2, -PI, 1, PI / 2, 0])
    assert np.round(value(mz.gravity_forces, puma, q1), 4) == pytest.approx(
        [0, 31.6334, 6.0286, -0.0119, 0.0218, 0], abs=1e-9
    )
    assert np.round(value(mz.gravity_forces, puma, q2), 4) == pytest.approx(
        [0, 7.7198, 8.7439, -0.0238, 0, 0], abs=1e-9
    )


def test_mass_matrix(puma):
    M = value(mz.mass_matrix, puma, QN)
    expected = np.array([
        [3.6594, -0.4044, 0.1006, -0.0025, 0, 0], [-0.4044, 4.4137, 0.3509, 0, 0.0024, 0],
        [0.1006, 0.3509, 0.9378, 0, 0.0015, 0], [-0.0025, 0, 0, 0.1925, 0, 0],
        [0, 0.0024, 0.0015, 0, 0.1713, 0], [0, 0, 0, 0, 0, 0.1941],
    ])  # fmt: skip
    assert np.abs(M - expected).max() < 5.1e-5
    full = [3.65937541215279, 4.41374193363579, 0.9378415752150396, 0.19253170612368,
            0.17134845165700002, 0.19410450566800005]  # fmt: skip
    agree(np.diag(M), full, 1e-12)
    q1, q2 = np.array([0, PI / 4, -PI, 1, PI / 4, 0]), np.array([0, PI / 2, -PI, 1, PI / 2, 0])
    for q, diagonal in ((q1, (3.6591, 4.4128, 0.9377)), (q2, (2.6621, 4.4114, 0.9359))):
        assert np.abs(np.diag(value(mz.mass_matrix, puma, q))[:3] - diagonal).max() < 5.1e-5


def test_coriolis_matrix(puma):
    C = value(mz.coriolis_matrix, puma, QN, QD)
    expected = np.array([
        [-0.17349759630475015, -2.04935977936311, -0.11781833218097637, -0.00021386733707395855,
         -0.00447787219874568, 0.000140000000000029],
        [0.6273764620595128, 1.157184241456412, 1.9286955228151625, -0.0015239511721362009,
         -0.0002893820359869649, -5.857864376323765e-06],
        [-0.36077137811986226, -0.7733526552992126, -0.0018413739404628175,
         -0.0009021591721362762, -0.006444808791612558, -5.857864376306049e-06],
    ])  # fmt: skip
    agree(C[:3], expected, 1e-12)
    toolbox = [[0.0011, 0.0005, -0.0001, 0.0002, 0.0002, -0.0001],
               [-0.0002, 0.0028, 0.0046, -0.0002, 0, 0], [0.0001, 0, 0, 0, 0, 0]]  # fmt: skip
    assert np.abs(C[3:] - toolbox).max() < 5.1e-5


def test_inverse_dynamics(puma):
    zero, one = np.zeros(6), np.ones(6)
    agree(
        value(mz.inverse_dynamics, puma, QN, zero, one),
        [3.353110858063033, 36.002511243975704, 7.42596407735027, 0.19004303456689686,
         0.2034409311134147, 0.1941327899392475], 1e-12,
    )  # fmt: skip
    agree(
        value(mz.inverse_dynamics, puma, QN, one, one),
        [1.9620364869799045, 37.7854298333113, 6.673937322392119, 0.19126611638255658,
         0.20582040960248654, 0.19428107421049498], 1e-12,
    )  # fmt: skip
    inertial = value(mz.mass_matrix, puma, QN) @ QD
    assert np.abs(inertial - [3.15, 9.4805, 3.6189, 0.1901, 0.3519, 0.5823]).max() < 5.1e-5


def test_friction(puma):
    """The toolbox always adds viscous friction G² B v and Coulomb friction |G| Tc sign(v)."""
    rough = puma
    for k, name in enumerate(puma.joint_names):
        rough = rough.with_dynamics(name, friction=abs(GEAR[k]) * COULOMB[k])
    one, zero = np.ones(6), np.zeros(6)
    tau = value(mz.inverse_dynamics, rough, QN, one, one, resistance=True)
    assert np.abs(tau - [32.4952, 60.867, 17.7436, 1.45452, 1.29911, 0.713781]).max() < 5.1e-4
    tau = value(mz.inverse_dynamics, rough, QN, one, zero, resistance=True)
    assert np.abs(tau - [29.1421, 56.5044, 16.3528, 1.26448, 1.12392, 0.519648]).max() < 5.1e-4
    weightless = rough.with_gravity((0, 0, 0))
    tau = value(mz.inverse_dynamics, weightless, QN, one, one, resistance=True)
    assert np.abs(tau - [32.4952, 29.2271, 11.7085, 1.45452, 1.27086, 0.713781]).max() < 5.1e-4


def test_accelerations(puma):
    qd, tau = np.array([0.1, 0.2, 0.8, 0.2, 0.5, 1.0]), np.array([1.0, 3.2, 1.8, 0.1, 0.7, 4.6])
    agree(
        value(mz.forward_dynamics, puma, QN, qd, tau),
        [-0.35404756862084313, -6.3989262832367535, -2.068494247467156, 0.5112435385571794,
         4.021223156468258, 23.698454065202604], 1e-12,
    )  # fmt: skip
    rough = puma
    for k, name in enumerate(puma.joint_names):
        rough = rough.with_dynamics(name, friction=abs(GEAR[k]) * COULOMB[k])
    a = value(mz.forward_dynamics, rough, QN, qd, tau, resistance=True)
    assert np.abs(a - [-7.4102, -9.8432, -10.9694, -4.4314, -0.9881, 21.0228]).max() < 5.1e-3


def test_force_at_the_tool(puma):
    """A force and a moment in the tool frame, which the tool exerts: its opposite acts on it."""
    zero, W = np.zeros(6), np.zeros((6, 6))
    W[5] = [-1, -2, -3, -1, -2, -3.0]
    tau = value(mz.inverse_dynamics, puma, QN, zero, zero, W)
    assert np.abs(tau - [0.642756, 29.0866, 4.70321, 2.82843, -1.97175, 3]).max() < 1e-4
