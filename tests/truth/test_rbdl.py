"""Hard-coded accelerations of RBDL's test suite (Featherstone's spatial_v1 and by hand)."""

import numpy as np
import pytest
from support.mechanics import agree, value

import mozzi as mz

X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
ONE = (1.0, 1.0, 1.0)
DOWN = (0.0, -9.81, 0.0)


def build(bodies, gravity=DOWN):
    """Bodies (parent, axis, translation, mass, com, principal inertia at the com)."""
    builder = mz.Builder("rbdl", gravity=gravity)
    for k, (parent, axis, p, mass, com, inertia) in enumerate(bodies, 1):
        joint = axis if isinstance(axis, mz.Joint) else mz.Revolute(axis)
        builder.add(
            f"b{k}", f"b{parent}" if parent else None, joint.between(p, None),
            mz.Inertia(mass, com, np.diag(inertia)),
        )  # fmt: skip
    return builder.build(physical=False)


CASES = {
    "single": ([(0, Z, (0, 0, 0), 1, X, ONE)], [-4.905]),
    "spatial": ([(0, Z, (0, 0, 0), 1, (1.5, 1, 1), (1.0, 2.0, 3.0))], [-2.3544]),
    "double": ([(0, Z, (0, 0, 0), 1, X, ONE), (1, Z, X, 1, X, ONE)], [-5.886, 3.924]),
    "triple": (
        [(0, Z, (0, 0, 0), 1, X, ONE), (1, Z, X, 1, X, ONE), (2, Z, X, 1, X, ONE)],
        [-6.03692307692308, 3.77307692307692, 1.50923076923077],
    ),
    "double 3D": ([(0, Z, (0, 0, 0), 1, X, ONE), (1, Y, X, 1, Y, ONE)], [-3.924, 0.0]),
    "tree 3D": (
        [(0, Z, (0, 0, 0), 1, X, ONE), (1, Y, X, 1, Y, ONE), (2, X, Y, 1, Z, ONE),
         (1, Y, (-0.5, 0, 0), 1, Y, ONE), (4, X, (0, -0.5, 0), 1, Z, ONE)],
        [-1.6031906614786, -0.534396887159533, 4.1034046692607, 0.267198443579767,
         5.30579766536965],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_forward_dynamics(name):
    bodies, expected = CASES[name]
    model = build(bodies)
    zero = np.zeros(model.nv)
    agree(value(mz.forward_dynamics, model, zero, zero, zero), expected, 1e-13)


def test_three_axes_in_one_point():
    """Rotations about z, y, x of a body, as one joint of three without bodies between."""
    joint = mz.Composite(mz.Revolute("z"), mz.Revolute("y"), mz.Revolute("x"))
    model = build([(0, joint, (0, 0, 0), 1, (0, 0.5, 0), ONE)])
    a = value(mz.forward_dynamics, model, np.array([1.0, 0, 0]), np.zeros(3), np.zeros(3))
    agree(a, [3.301932144386186, 0, 0], 1e-13)


def test_floating_base():
    """Three translations and three rotations under a pendulum, driven by a unit torque."""
    base = mz.Composite(*(mz.Prismatic(e) for e in "xyz"), *(mz.Revolute(e) for e in "zyx"))
    model = build([(0, base, (0, 0, 0), 1, X, ONE), (1, Z, (2, 0, 0), 1, X, ONE)])
    tau = np.r_[np.zeros(6), 1.0]
    a = value(mz.forward_dynamics, model, np.zeros(7), np.zeros(7), tau)
    agree(a, [0, -8.81, 0, -1, 0, 0, 2], 1e-13)
