"""Joint screws in and out: the RCM arm of Müller, Kinematics, 2.5; Denavit–Hartenberg."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mozzi as mz
from mozzi.errors import ModelError
from mozzi.lie import SE3, Rotation, Twist, Vec3
from mozzi.loaders.tables import from_dh, from_screws, joint_frames, joint_screws, reference_poses
from mozzi.model import Builder, Model, Revolute
from mozzi.model.generate import random_tree, rcm_arm, rcm_arm_data

D = d2, d3, d4, d5 = 0.51, 0.43, 0.92, 1.13
H4 = 0.31
X = x1, x2, x3, x4, x5 = 0.21, 0.12, 0.63, 0.84, 1.05
Z = z1, z2, z3, z4, z5 = 0.11, 0.22, 0.16, 0.42, 0.33
R2 = 1.0 / math.sqrt(2.0)


def poses(model: Model, q: np.ndarray) -> list[np.ndarray]:
    T: list[SE3] = []
    for body, x in zip(model, np.split(q, model.q_offsets[1:-1]), strict=True):
        own = body.joint.motion([float(e) for e in x])
        T.append(own if body.parent < 0 else T[body.parent] @ own)
    return [pose.matrix() for pose in T]


def arm_from_frames() -> Model:
    """The arm by joint frames (3): z along the joint axis, the origin on it."""
    points = [(0.0, 0.0, 0.0), (-d2, 0.0, 0.0), (d3, 0.0, 0.0), (d4, 0.0, H4), (d5, 0.0, 0.0)]
    turned = Rotation(R2, 0.0, -R2, 0.0, 1.0, 0.0, R2, 0.0, R2)
    A, _ = rcm_arm_data(D, H4, X, Z)
    builder = Builder()
    previous = SE3.identity()
    for i, p in enumerate(points):
        J = SE3(turned if i == 3 else Rotation.identity(), Vec3(*p))  # the joint frame at q = 0
        joint = Revolute().between(previous.inverse() @ J, A[i].inverse() @ J)
        builder.add(f"body_{i + 1}", f"body_{i}" if i else None, joint)
        previous = A[i]
    return builder.build()


def arms() -> dict[str, Model]:
    arm = rcm_arm(D, H4, X, Z)
    B = reference_poses(arm, "body")
    return {
        "frames": arm_from_frames(),
        "spatial": arm,
        "body": from_screws(joint_screws(arm, "body"), B, rep="body"),
        "parent": from_screws(joint_screws(arm, "parent"), B, rep="parent"),
    }


ARMS = arms()


@pytest.mark.parametrize("form", ARMS)
def test_rcm_arm_pose(form):
    """C₃(q) as printed."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = rng.uniform(-3, 3, 5)
        c1, s1 = math.cos(q[0]), math.sin(q[0])
        c12, s12 = math.cos(q[0] + q[1]), math.sin(q[0] + q[1])
        c123, s123 = math.cos(q[:3].sum()), math.sin(q[:3].sum())
        printed = [
            [c123, -s123, 0, -d2 * c1 + (d2 + d3) * c12 + (x3 - d3) * c123],
            [s123, c123, 0, -d2 * s1 + (d2 + d3) * s12 + (x3 - d3) * s123],
            [0, 0, 1, z3],
            [0, 0, 0, 1],
        ]
        np.testing.assert_allclose(poses(ARMS[form], q)[2], printed, atol=1e-14)
        np.testing.assert_allclose(poses(ARMS[form], q), poses(ARMS["spatial"], q), atol=1e-14)


@pytest.mark.parametrize("form", ARMS)
def test_rcm_arm_spatial_screws(form):
    """Yⱼ as printed."""
    printed = [
        (0, 0, 1, 0, 0, 0),
        (0, 0, 1, 0, d2, 0),
        (0, 0, 1, 0, -d3, 0),
        (-R2, 0, R2, 0, -d4 * R2 - H4 * R2, 0),
        (0, 0, 1, 0, -d5, 0),
    ]
    np.testing.assert_allclose(joint_screws(ARMS[form]), printed, atol=1e-15)


@pytest.mark.parametrize("form", ARMS)
def test_rcm_arm_body_fixed_screws(form):
    """ʲXⱼ as printed."""
    printed = [
        (0, 0, 1, 0, -x1, 0),
        (0, 0, 1, 0, d2 - x2, 0),
        (0, 0, 1, 0, -d3 + x3, 0),
        (0, 0, 1, 0, (-d4 - H4 + x4 + z4) * R2, 0),
        (0, 0, 1, 0, -d5 + x5, 0),
    ]
    np.testing.assert_allclose(joint_screws(ARMS[form], "body"), printed, atol=1e-15)


def test_rcm_arm_references():
    """Aᵢ as printed, and Bᵢ = Aᵢ₋₁⁻¹ Aᵢ (11)."""
    positions = [(-x1, 0, z1), (-x2, 0, -z2), (x3, 0, z3), (x4, 0, z4), (x5, 0, z5)]
    A, B = reference_poses(ARMS["frames"]), reference_poses(ARMS["frames"], "body")
    np.testing.assert_allclose(A[:, :3, 3], positions, atol=1e-15)
    np.testing.assert_allclose(A[3, :3, :3], [[R2, 0, -R2], [0, 1, 0], [R2, 0, R2]], atol=1e-15)
    for i in range(1, 5):
        np.testing.assert_allclose(A[i], A[i - 1] @ B[i], atol=1e-15)


def test_screws_of_random_trees():
    """Y = Ad_A X (12) and X̄ = Ad_B X (7), for joints of every kind."""
    model = random_tree(12, 4)
    A, B = reference_poses(model), reference_poses(model, "body")
    body, parent, spatial = (joint_screws(model, rep) for rep in ("body", "parent", "spatial"))
    for i, name in enumerate(model.joint_names):
        for k in range(*model.v_slices[name].indices(model.nv)):
            own = Twist.unflatten(body[k])
            for T, other in ((A[i], spatial[k]), (B[i], parent[k])):
                np.testing.assert_allclose(SE3.from_matrix(T).push(own).array(), other, atol=1e-13)
    S_parent, S_child = joint_frames(model)
    np.testing.assert_allclose(S_parent[0], model.body(0).joint.frame_parent.matrix())
    np.testing.assert_allclose(S_child[3], model.body(3).joint.frame_child.matrix())


def rx(a: float) -> np.ndarray:
    c, s = math.cos(a), math.sin(a)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def rz(a: float) -> np.ndarray:
    c, s = math.cos(a), math.sin(a)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def move(x: float = 0.0, z: float = 0.0) -> np.ndarray:
    T = np.eye(4)
    T[0, 3], T[2, 3] = x, z
    return T


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_denavit_hartenberg(convention):
    """The product of the table's matrices, with q added to θ or d."""
    table = [
        (0.3, math.pi / 2, 0.2, 0.1),
        (0.5, -0.4, 0.0, -0.7),
        (0.1, 0.8, 0.3, 0.0),
        (0, 0, 0.2, 1.0),
    ]
    kinds = "RRPR"
    model = from_dh(table, convention, joints=kinds)
    q = np.array([0.3, -0.9, 0.4, 2.0])
    T = np.eye(4)
    for (a, alpha, d, theta), kind, x, C in zip(table, kinds, q, poses(model, q), strict=True):
        theta, d = (theta + x, d) if kind == "R" else (theta, d + x)
        if convention == "standard":
            T = T @ rz(theta) @ move(z=d) @ move(x=a) @ rx(alpha)
        else:
            T = T @ rx(alpha) @ move(x=a) @ rz(theta) @ move(z=d)
        np.testing.assert_allclose(C, T, atol=1e-14)


@pytest.mark.parametrize("rep", ["spatial", "body", "parent"])
def test_a_mechanism_from_its_screws_moves_as_it_did(rep):
    """A tree from its screws, reference poses, parents and inertias: the same M and g."""
    tree = random_tree(6, seed=3, joints=[Revolute()])
    again = from_screws(
        joint_screws(tree, rep), reference_poses(tree, "spatial" if rep == "spatial" else "body"),
        rep=rep, parents=[body.parent for body in tree], names=tree.bodies, name=tree.name,
        inertias=[body.inertia for body in tree], gravity=(1.0, 2.0, -3.0),
    )  # fmt: skip
    assert again.bodies == tree.bodies and again.name == tree.name
    q, tree = tree.random_configuration(0), tree.with_gravity((1.0, 2.0, -3.0))
    np.testing.assert_allclose(mz.mass_matrix(again, q), mz.mass_matrix(tree, q), atol=1e-12)
    np.testing.assert_allclose(mz.gravity_forces(again, q), mz.gravity_forces(tree, q), atol=1e-12)


def test_right_angles_of_a_table_are_exact():
    """π/2 in a table makes zeros, so that traced programs stay short."""
    model = from_dh([(0, math.pi / 2, 0.1, 0), (0, -math.pi, 0.2, 0)])
    assert set(np.ravel(reference_poses(model)[:, :3, :3])) <= {-1.0, 0.0, 1.0}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: from_dh([(0, 0, 0)]), "row 1 of the table has 3 numbers"),
        (lambda: from_dh([(0, 0, 0, math.nan)]), "row 1 of the table: nan is not finite"),
        (lambda: from_dh([(0, 0, 0, 0)], "khalil"), "convention 'khalil'; choose"),
        (lambda: from_dh([(0, 0, 0, 0)], joints="RR"), "joints 'RR' for 1 rows"),
        (lambda: from_dh([(0, 0, 0, 0)], inertias=[]), "0 inertias for 1 rows"),
        (lambda: from_screws([(0, 0, 1, 0, 0, 0)], parents=[4]), "parent 4; give an index"),
        (lambda: from_screws([(0, 0, 1, 0, 0, 0)], names=["a", "b"]), "2 names for 1 screws"),
        (lambda: joint_screws(rcm_arm(), "hybrid"), "rep 'hybrid'; choose one of"),
    ],
)
def test_wrong_tables_are_named(wrong, message):
    with pytest.raises(ModelError, match=message):
        wrong()
