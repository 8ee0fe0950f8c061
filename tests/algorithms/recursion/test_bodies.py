"""The frames that the recursions use: on the joints, and along common normals of the axes."""

import numpy as np
import pytest
from support.mechanics import agree, program_value, state, value

import mozzi as mz
from mozzi.algorithms.recursion.base_parameters import aligned, regrouped
from mozzi.algorithms.recursion.bodies import bodies_of
from mozzi.algorithms.reference.dynamics import ClosedForm
from mozzi.lie import SE3, Vec3
from mozzi.model.generate import chain, random_tree, tree

MODELS = [
    chain(6, seed=1), tree(9, seed=2), tree(9, branching=3, seed=3),
    random_tree(9, 4, joints=["Revolute", "Prismatic", "Spherical"]),
]  # fmt: skip


def poses(model, bodies, q):
    """The poses of the users' frames, from the data of the recursions."""
    C, out = {-1: SE3.identity()}, []
    for k, body in enumerate(bodies):
        own = tuple(q[body.q : body.q + body.joint.nq].tolist())
        if body.aligned:
            offset = SE3.translation(0.0, 0.0, body.joint_offset)
            T = body.link @ offset @ body.joint.pose((own[0] + body.joint_angle,))
        else:
            T = body.link @ body.joint.pose(own)
        C[k] = C[body.parent] @ T
        out.append((C[k] @ body.frame).matrix())
    return out


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_alignment_moves_no_body(model):
    q, *_ = state(model, 1)
    expected = ClosedForm(model, q, np.zeros(model.nv)).C
    for bodies in (bodies_of(model), aligned(bodies_of(model))):
        for a, b in zip(poses(model, bodies, q), expected, strict=True):
            agree(a, b, 1e-13)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_alignment_leaves_shifts_and_turns(model):
    """An aligned link is a shift along x and a turn about x, and its placement is the pose at 0."""
    found = [b for b in aligned(bodies_of(model)) if b.aligned]
    assert found
    for body in found:
        R = body.link.R.flatten()
        assert body.link.p.flatten()[1:] == (0.0, 0.0)
        assert (R[0], R[1], R[2], R[3], R[6]) == (1.0, 0.0, 0.0, 0.0, 0.0)
        offset = SE3.translation(0.0, 0.0, body.joint_offset)
        zero = body.link @ offset @ body.joint.pose((body.joint_angle,))
        agree(zero.matrix(), body.placement.matrix(), 1e-14)


def test_axes_along_coordinates_stay():
    builder = mz.Builder("plain")
    inertia = mz.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3))
    for k, axis in enumerate("zyx"):
        joint = mz.Revolute(axis).between((0.1, 0.2, 0.3), None)
        builder.add(f"b{k}", f"b{k - 1}" if k else None, joint, inertia)
    bodies = bodies_of(builder.build())
    assert aligned(bodies) == bodies


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
@pytest.mark.parametrize("rolled", [False, True])
def test_dynamics_in_aligned_frames(model, rolled):
    q, v, tau, _ = state(model, 2)
    W = np.random.default_rng(0).normal(size=(model.nb, 6))
    form = ClosedForm(model, q, v)
    expected = form.accelerations(tau + form.J.T @ W.ravel())
    agree(program_value(mz.forward_dynamics, model, q, v, tau, W, rolled=rolled)[0], expected, 1e-9)
    agree(program_value(mz.mass_matrix, model, q, rolled=rolled)[0], form.M)
    c = value(mz.center_of_mass, model, q)
    whole = sum(b.inertia.m * C[:3, 3] + C[:3, :3] @ b.inertia.h.array()
                for C, b in zip(form.C, model, strict=True))  # fmt: skip
    agree(c, whole / model.mass)


@pytest.mark.parametrize("moments", [False, True])
def test_base_parameters(moments):
    """What leaves a revolute body has no momentum of its own, and nothing is lost."""
    bodies = aligned(bodies_of(chain(5, seed=2)))
    fewer, fixed = regrouped(bodies, moments)
    assert sum(b.inertia.m for b in bodies) == pytest.approx(
        sum(b.inertia.m for b in fewer) + fixed.m
    )
    for body in fewer[1:]:
        J = body.inertia.J
        assert body.inertia.m == 0.0
        assert body.inertia.h.z == 0.0
        assert (J.xx + J.yy - J.zz if moments else J.yy) == 0.0
    assert isinstance(fixed.h, Vec3)
