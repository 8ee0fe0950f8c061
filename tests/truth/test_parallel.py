"""Five-bar linkages: accelerations that Pinocchio's kinematics and a null-space solve give.

The two machines are parallel robots of a public collection, drawn in a CAD system (whence the
heavy parts), with the numbers of their drawings.
"""

import numpy as np
import pytest

import mozzi as mz

RIGHT = np.pi / 2


def at(xyz: tuple[float, ...], rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> mz.SE3:
    """A pose by position, and rotations about the fixed axes x, y and z."""
    R = np.eye(3)
    for axis, angle in zip(np.eye(3), rpy, strict=True):
        K = np.cross(np.eye(3), axis)
        R = (np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K) @ R
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, xyz
    return mz.SE3.from_matrix(T)


def part(mass: float, com: tuple[float, ...], xx: float, yy: float, zz: float, yz: float = 0.0):
    return mz.Inertia(mass, com, np.array([[xx, 0, 0], [0, yy, yz], [0, yz, zz]]))


def welded() -> mz.Model:
    """Two planar chains of three hinges whose last bodies are welded: six rows of rank three."""
    bar = (0.68085505004432478326, 0.037611570769567767569, 0.70812453921910079035)
    near = part(24.820995827500130559, (0.0, -0.23, 0.025), *bar)
    far = part(24.820995827500130559, (0.0, 0.23, 0.025), *bar)
    end = part(
        29.820293741250193165, (0.0, -0.26855892668729658412, -0.0166176246331963956),
        0.92256274106550961722, 0.056382861354550263544, 0.94571458962747512178,
        0.047853547920913584723,
    )  # fmt: skip
    ball = part(654498.46949787356425, (0.0, 0.0, 0.0), *[163.62461737446841425] * 3)
    z = 0.042018709005587850935
    b = mz.Builder("welded")
    for name, parent, inertia, pose in (
        ("mot1", None, near, at((0.1, 0.15, z), (RIGHT, 0.0, RIGHT))),
        ("free1", "mot1", near, at((0.0, -0.46, 0.05))),
        ("closed_a", "free1", ball, at((0.0, -0.46, 0.0), (0.0, 0.0, RIGHT))),
        ("mot2", None, far, at((0.1, -0.15, z), (-RIGHT, 0.0, -RIGHT))),
        ("free2", "mot2", end, at((0.0, 0.46, 0.0), (0.0, 0.0, np.pi))),
        ("closed_b", "free2", ball, at((0.0, -0.46, 0.05))),
    ):
        b.add(name, parent, mz.Revolute("z"), inertia, placement=pose)
    return b.loop("weld", "closed_a", "closed_b", mz.Fixed()).build()


def pinned() -> mz.Model:
    """Two chains that meet in a ball, of which one has a hinge across the plane: rank three."""
    upper = 0.46013766308738546229, 0.039690634569228097628, 0.49045685350474199637
    b = mz.Builder("pinned")
    b.add(
        "free2", None, mz.Revolute("z"),
        part(22.491465964491734297, (0.0, -0.16600739343989767693, -0.025), *upper),
        placement=at((0.15, -0.1, 0.0), (RIGHT, 0.44184666170691727638, np.pi)),
    )  # fmt: skip
    b.add(
        "mot2", "free2", mz.Revolute("z"),
        part(21.450732982245874325, (0.0, -0.14985851544842820893, -0.025),
             0.35978646332031638533, 0.036343400617947392572, 0.38719205852899474252),
        placement=at((0.0, -0.315, -0.05), (0.0, 0.0, 0.85688142715104098635)),
    )  # fmt: skip
    b.add(
        "mot1", None, mz.Revolute("z"),
        part(22.491465964491734297, (0.0, 0.16600739343989773245, -0.025), *upper),
        placement=at((-0.15, -0.1, 0.0), (-RIGHT, 0.4499682340871898889, 0.0)),
    )  # fmt: skip
    b.add(
        "free1", "mot1", mz.Revolute("z"),
        part(22.719584861050531543, (0.0, -0.16581003443622860383, -0.025),
             0.45310332180485130005, 0.038533637618477743769, 0.48189261280496564765),
        placement=at((0.0, 0.315, -0.05), (0.0, 0.0, 2.0318009336061488845)),
    )  # fmt: skip
    b.add(
        "freeortho", "free1", mz.Revolute("z"),
        part(11.473851878804650184, (0.0, -0.061147185566865942807, -0.065),
             0.078156743360060398906, 0.018688320333863688016, 0.064527047568624332219),
        placement=at((-0.065, -0.345, -0.025), (0.0, RIGHT, 0.0)),
    )  # fmt: skip
    ends = (-0.0025, -0.365, -0.025), (0.0, -0.18, -0.0625)
    return b.loop("ball", "mot2", "freeortho", mz.Spherical(), *ends).build()


CASES = {
    "welded": (
        welded, 6, 3,
        [-0.15813402261599477, -0.06422366404776882, -0.47426263074568203,
         0.004354587981330638, 0.2688449393293436, 0.6009764820747769],
        [-0.08562543135886744, 0.16093635293471512, 0.413108504859741,
         5.079349533134493e-05, -0.011631367059742851, 0.5],
        [0.8343355463857045, 0.0, 0.0, 0.2584525089820209, 0.0, 0.0],
        [-323.0933572854182, 650.2226674274722, -327.12931014204577,
         77.05023602998891, -157.0509358811386, 80.00069985115786],
    ),
    "pinned": (
        pinned, 3, 2,
        [-0.08738881017047408, 0.5375088507005333, 0.47560465706544763, -0.5119169422611519,
         -6.102567461205575e-16],
        [0.48556379969424773, -0.23090223269762603, 0.5, -0.1945473329211978, 0.0],
        [0.0, 0.22507920854606156, -0.9121159840772333, 0.0, 0.0],
        [20.405625596401674, -48.40885299730249, -24.516903189157194, 35.58170237197412, 0.0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_five_bar_linkages(name: str):
    """Closed to rounding; rank 3; accelerations unique although rows are redundant."""
    make, rows, mobility, *numbers = CASES[name]
    model = make()
    q, v, tau, expected = map(np.array, numbers)
    assert mz.loop_residual(model, q).shape == (rows,)
    found = mz.assemble(model, q, report=True)
    assert found.closed and found.rank == 3 and found.mobility == mobility
    assert np.abs(mz.loop_residual(model, q)).max() < 1e-14
    assert np.abs(mz.loop_jacobian(model, q) @ v).max() < 1e-14
    a = mz.forward_dynamics(model, q, v, tau)
    assert np.abs(a - expected).max() < 1e-9 * np.abs(expected).max()
