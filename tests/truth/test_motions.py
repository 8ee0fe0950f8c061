"""Motions that are known to many digits: tops, free bodies, pendulums."""

import math

import numpy as np
import pytest

import mozzi as mz
from mozzi.simulation import DormandPrince

TIGHT = {"method": "dopri5", "rtol": 1e-13, "atol": 1e-14}


def turned(x: mz.Trajectory, quaternion_wxyz: tuple[float, ...]) -> float:
    """How far the last quaternion is from one given as (w, x, y, z)."""
    w, a, b, c = quaternion_wxyz
    q = np.array([a, b, c, w])
    return float(min(abs(x.q[-1] - q).max(), abs(x.q[-1] + q).max()))


# -- the heavy top of Brüls and Cardona, held at a point: m = 15 kg, J = diag(15.234375, 0.46875,
# 15.234375) there; reference by an extrapolation method of order 16 in extended precision --

FAST, SLOW = (0.0, 150.0, -4.61538), (0.0, 1.5, -0.0461538)
TOP = [
    (FAST, 0.2, (-0.7082791529743126, 0.4387810881265819, 0.5457283961454177, 0.0893997528240050),
     (-2.6915909121434088, 150.0, 4.9172609898939941)),
    (FAST, 1.0, (0.7329439806796637, -0.2782857193376126, 0.5318246113341627, -0.3201761427362492),
     (-0.8220781016827042, 150.0, -5.9232913481173360)),
    (FAST, 2.0, (0.1229471350415335, -0.4910798925500271, 0.3504300303436209, -0.7879868875504856),
     (0.1222332194973946, 150.0, -5.855624589205458)),
    (SLOW, 1.0, (0.0554561190876888, -0.7325720465167229, 0.0723379440258960, -0.6745591429757207),
     (-0.1966900954768403, 1.5, -1.8488840669362077)),
    (SLOW, 5.0, (-0.8221391567448305, 0.0580535222629667, -0.5491024502523758, 0.1385766741793125),
     (-0.8482427427023965, 1.5, -2.0165801418470439)),
]  # fmt: skip


@pytest.fixture(scope="module")
def top() -> mz.Model:
    body = mz.Inertia(15.0, (0.0, 1.0, 0.0), np.diag([0.234375, 0.46875, 0.234375]))
    return mz.Builder("heavy top").add("top", None, mz.Spherical(), body).build()


@pytest.mark.parametrize(("omega", "t", "quaternion", "omega_end"), TOP)
def test_heavy_top(top, omega, t, quaternion, omega_end):
    x = mz.simulate(top, top.neutral(), omega, t, t, **TIGHT)
    assert turned(x, quaternion) < 1e-10
    assert x.v[-1] == pytest.approx(omega_end, abs=2e-10)


def test_invariants_of_the_heavy_top(top):
    """Energy, the spin about the axis and the momentum about the vertical stay."""
    x = mz.simulate(top, top.neutral(), FAST, 2.0, 1e-2, **TIGHT)
    assert x.energy() == pytest.approx(5435.6967908655469, rel=1e-11)
    assert x.v[:, 1] == pytest.approx(150.0, rel=1e-13)
    assert x.momentum()[:, 2] == pytest.approx(-70.3124296875, rel=1e-10)


@pytest.mark.parametrize(
    ("steps", "published"),
    [(1000, -105.89196163228372), (2000, -106.16651966442134), (4000, -106.16459373617013),
     (8000, -106.16387282138162), (16000, -106.16380903826868)],
)  # fmt: skip
def test_munthe_kaas_steps_of_the_heavy_top(top, steps, published):
    """Angular velocity about the inertial y axis at t = 2: the numbers that Exudyn prints for its
    explicit Lie group method of order 4, which are far from converged and the same here.
    """
    x = mz.simulate(top, top.neutral(), FAST, 2.0, 2.0 / steps, record_every=steps)
    omega = mz.pose(top, x.q[-1], "top")[:3, :3] @ x.v[-1]
    assert omega[1] == pytest.approx(published, abs=1e-9)


# -- free bodies: Jacobi's elliptic functions --


def free_body(*moments: float) -> mz.Model:
    body = mz.Inertia(1.0, (0.0, 0.0, 0.0), np.diag(moments))
    builder = mz.Builder("free body", gravity=(0.0, 0.0, 0.0))
    return builder.add("body", None, mz.Spherical(), body).build(physical=False)


@pytest.mark.parametrize(
    ("omega", "t", "omega_end", "quaternion"),
    [
        ((1.0, 0.0, 0.7), 5.0, (-0.840532857456968479, 0.541760570303176927, 0.626230917065150042),
         (-0.6733133315973707, -0.1547701357237866, -0.1171877334351487, 0.7134160060677237)),
        ((1.0, 0.0, 0.7), 20.0,
         (-0.188277849409094614, -0.982115803468148195, 0.410466624131655682),
         (-0.8454680311633501, 0.4665815407908173, -0.2243385495237945, -0.1309873630225274)),
        ((0.5, 0.0, 1.0), 20.0, (0.371519405441436884, 0.334624164370179993, 0.981160311165570734),
         (-0.5359189838296914, -0.1803276491759610, -0.1037203951912684, -0.8182388779170724)),
    ],
)  # fmt: skip
def test_free_rigid_body(omega, t, omega_end, quaternion):
    x = mz.simulate(free_body(1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0), omega, t, t, **TIGHT)
    assert x.v[-1] == pytest.approx(omega_end, abs=1e-11)
    assert turned(x, quaternion) < 1e-11


@pytest.mark.filterwarnings("ignore::mozzi.errors.UnphysicalWarning")
def test_free_rigid_body_of_hairer_lubich_and_wanner():
    """Angular momentum in body axes at t = 100, from (cos 1.1, 0, sin 1.1); I = (2, 1, 2/3)."""
    moments = np.array([2.0, 1.0, 2.0 / 3.0])
    start = np.array([math.cos(1.1), 0.0, math.sin(1.1)]) / moments
    x = mz.simulate(free_body(*moments), (0.0, 0.0, 0.0, 1.0), start, 100.0, 100.0, **TIGHT)
    known = (-0.177348313874973959, -0.590418524333427169, 0.787371285791933099)
    assert moments * x.v[-1] == pytest.approx(known, abs=1e-11)


def test_flips_about_the_intermediate_axis():
    """Dzhanibekov: turned about its middle axis, a body flips every half period."""

    def sideways(t, q, v):
        return v[..., 1]

    method = DormandPrince(rtol=1e-13, atol=1e-14, events=(sideways,))
    model = free_body(1.0, 2.0, 3.0)
    x = mz.simulate(model, (0.0, 0.0, 0.0, 1.0), (0.001, 5.0, 0.0), 21.0, 1.0, method)
    times = [event.t for event in x.events]
    assert len(times) == 3
    assert np.diff(times) == pytest.approx(6.86133738356224, abs=1e-7)


def test_single_steps_of_exudyn():
    """One step of order 4, and one Euler step whose rotation takes the new velocity."""
    model = free_body(5.2988, 1.1775, 4.3568)
    q0 = mz.integrate(model, model.neutral(), [1.0, 2.0, 3.0])
    cases = [
        ("rkmk4", 1e-3, (1.002014565846977, 2.003988840119048, 3.00600076350742),
         (1.985608117600764, 3.990428541317109, 6.007531319827856)),
        ("semi_implicit", 1e-4, (1.000200290826077, 2.000399777080365, 3.000600015346463),
         (1.998559990941345, 3.99904, 6.00075675725303)),
    ]  # fmt: skip
    for method, h, turn, omega in cases:
        x = mz.simulate(model, q0, (2.0, 4.0, 6.0), h, h, method)
        known = mz.integrate(model, model.neutral(), turn)
        assert min(abs(x.q[-1] - known).max(), abs(x.q[-1] + known).max()) < 1e-13
        assert x.v[-1] == pytest.approx(omega, abs=1e-13)


# -- pendulums of point masses on massless rods, all horizontal and at rest --


def pendulum(n: int) -> mz.Model:
    point = mz.Inertia(1.0, (0.0, 0.0, -1.0), np.zeros((3, 3)))
    builder, parent = mz.Builder("pendulum"), None
    for k in range(n):
        joint = mz.Revolute("y").between(mz.SE3.translation(0.0, 0.0, -1.0 if k else 0.0))
        builder.add(f"rod{k}", parent, joint, point)
        parent = f"rod{k}"
    return builder.build()


@pytest.mark.parametrize(
    ("t", "theta"),
    [(0.5, -0.401770849808083342), (1.0, 1.40502731152479915), (2.0, -0.91664758966324498),
     (5.0, -1.22945181148538556), (10.0, -0.278680673569982948)],
)  # fmt: skip
def test_simple_pendulum(t, theta):
    """IFToMM A01: an elliptic function of the time."""
    x = mz.simulate(pendulum(1), [-math.pi / 2], [0.0], t, t, **TIGHT)
    assert x.q[-1, 0] == pytest.approx(theta, abs=1e-11)
    assert x.energy()[-1] == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize(
    ("t", "theta", "omega", "within"),
    [
        (1.0, (-0.625087699806391, -1.034585085680012), (-3.922279572887976, -1.303099248696331),
         1e-11),
        (5.0, (-0.627186705066531, -1.301315550209811), (2.125408673842910, 3.881888727265608),
         1e-10),
        (10.0, (-0.568474664015932, -0.526393727932426), (6.078384885761985, -9.681360681708915),
         1e-9),
        (1.0, (-0.142093105095420, -0.163982530773226, -0.86019245099752),
         (-1.855048160944659, -3.427746952307235, -4.142710426019407), 1e-11),
        (5.0, (-1.335878928210938, -0.99820202257202, -2.091066098846445),
         (-1.093413457436098, -2.384611297383722, -0.104849767279296), 1e-10),
        (10.0, (-0.095155066443885, 1.902969942015295, 1.273990918154185),
         (0.143951696882699, 6.284860572745394, -4.800598220501911), 1e-8),
    ],
)  # fmt: skip
def test_double_and_triple_pendulum(t, theta, omega, within):
    """Angles from the vertical; errors grow like the chaos does."""
    n = len(theta)
    x = mz.simulate(pendulum(n), [math.pi / 2] + [0.0] * (n - 1), [0.0] * n, t, t, **TIGHT)
    assert np.cumsum(x.q[-1]) == pytest.approx(theta, abs=within)
    assert np.cumsum(x.v[-1]) == pytest.approx(omega, abs=10 * within)
