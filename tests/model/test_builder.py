"""The builder: three ways to place a joint, fixed bodies, frames, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mozzi.errors import ModelError, UnphysicalWarning
from mozzi.lie import SE3, Inertia, Rotation, Twist, Vec3
from mozzi.model import (
    Body,
    Builder,
    Composite,
    Cylindrical,
    Fixed,
    Free,
    JointDynamics,
    Model,
    Planar,
    Prismatic,
    Revolute,
    Schoenflies,
    Screw,
    Spherical,
    Universal,
    example_joints,
)
from mozzi.model.generate import random_inertia, random_pose

I = Inertia(2.0, Vec3(0.1, 0.2, 0.3), 0.1 * np.eye(3))


def poses(model: Model, q: np.ndarray) -> np.ndarray:
    """The poses of all bodies, by (3)."""
    T: list[SE3] = []
    for body, x in zip(model, np.split(q, model.q_offsets[1:-1]), strict=True):
        own = body.joint.motion([float(e) for e in x])
        T.append(own if body.parent < 0 else T[body.parent] @ own)
    return np.array([pose.matrix() for pose in T])


def same_motion(a: Model, b: Model) -> None:
    for seed in range(3):
        q = a.random_configuration(seed)
        np.testing.assert_allclose(poses(a, q), poses(b, q), atol=1e-13)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x.inertia.parameters(), y.inertia.parameters(), atol=1e-15)


def ad(T: SE3, X: np.ndarray) -> np.ndarray:
    return T.push(Twist.unflatten(X)).array()


def test_the_three_forms_are_one_mechanism():
    """Joint frames (3), body-fixed screws (8) in both variants, and spatial screws (10) agree."""
    rng = np.random.default_rng(5)
    joints = [
        Revolute((1, 2, 3)),
        Prismatic("y"),
        Screw("x", pitch=0.3),
        Revolute("z"),
        Screw(pitch=-2.0),
    ]
    forms = {form: Builder("forms") for form in ("frames", "body", "parent", "spatial", "bare")}
    A = {None: SE3.identity()}
    for i, joint in enumerate(joints):
        name, parent = f"b{i}", (f"b{i - 1}" if i else None) if i != 3 else "b0"
        S_parent, S_child, inertia = random_pose(rng), random_pose(rng), random_inertia(rng)
        placed = joint.between(S_parent, S_child)
        B = placed.motion((0.0,))
        A[name] = A[parent] @ B
        X = ad(placed.frame_child, joint.screws((0.0,))[0].array())
        forms["frames"].add(name, parent, placed, inertia)
        bare = joint.with_frames(None, None)
        forms["body"].add(name, parent, bare, inertia, reference=B, screw=X)
        forms["parent"].add(name, parent, None, inertia, reference=B, screw=ad(B, X), rep="parent")
        forms["spatial"].add(
            name, parent, None, inertia, reference=A[name], screw=ad(A[name], X), rep="spatial"
        )
        forms["bare"].add(
            name, parent, None, inertia, reference=B.matrix(), screw=Twist.unflatten(X)
        )
    models = {form: builder.build() for form, builder in forms.items()}
    for form, model in models.items():
        kinds = [type(body.joint) for body in model]
        assert kinds == [type(joint) for joint in joints], form
        same_motion(models["frames"], model)
        assert models["frames"].close_to(model), form


def test_cad_mode_needs_one_frame_only():
    """With A = 1 all data are in the inertial frame: Y = X, and the inertia as well."""
    builder = Builder()
    builder.add("a", None, None, I, screw=(0, 0, 1, 0, -1.0, 0), rep="spatial")
    builder.add("b", "a", None, I, screw=(0, 1, 0, 0, 0, 2.0), rep="spatial")
    model = builder.build()
    q = np.array([0.3, -0.4])
    Y = [
        Twist.unflatten((0.0, 0.0, 1.0, 0.0, -1.0, 0.0)),
        Twist.unflatten((0.0, 1.0, 0.0, 0.0, 0.0, 2.0)),
    ]
    C = SE3.exp(Y[0], q[0]) @ SE3.exp(Y[1], q[1])
    np.testing.assert_allclose(poses(model, q)[1], C.matrix(), atol=1e-15)
    assert model.body("b").inertia == I


@pytest.mark.parametrize("name", [k for k, j in example_joints().items() if j.nv > 1])
def test_joints_of_several_degrees_of_freedom_are_placed_by_their_screws(name):
    """A joint in its canonical frame goes where its screws are, and is at B when q = 0: of a
    product too, whatever is between its factors.
    """
    joint = example_joints()[name]
    bare = joint.with_frames(None, None)
    rng = np.random.default_rng(1)
    F, B = random_pose(rng), random_pose(rng)
    screws = F.push(joint.screws(joint.neutral()))
    by_screws = Builder().add("a", None, bare, I, reference=B, screw=list(screws)).build()
    start = B @ F @ bare.pose(bare.neutral()).inverse()
    by_frames = Builder().add("a", None, bare.between(start, F), I).build()
    if type(joint) is Cylindrical:  # the frame is not unique: any along the axis will do
        x = [np.array([0.4, -0.3])] * 2
    else:
        x = [by_frames.random_configuration(3)] * 2
    np.testing.assert_allclose(poses(by_screws, x[0]), poses(by_frames, x[1]), atol=1e-13)


def test_several_screws_without_a_joint_are_a_product():
    """T = B exp(X₁ q₁) exp(X₂ q₂)."""
    X = [(0, 0, 1, 0.5, 0, 0), (0, 0, 0, 1, 0, 0)]
    model = Builder().add("a", None, None, I, reference=(1, 0, 0), screw=X).build()
    joint = model.body("a").joint
    assert isinstance(joint, Composite) and model.nv == 2
    q = (0.3, 0.8)
    T = SE3.translation(1.0, 0.0, 0.0)
    for x, angle in zip(X, q, strict=True):
        T = T @ SE3.exp(Twist.unflatten(map(float, x)), angle)
    np.testing.assert_allclose(poses(model, np.array(q))[0], T.matrix(), atol=1e-15)


def test_a_joint_may_be_given_in_the_frame_that_rep_names():
    """A reference without screw: the joint is given in the body's, parent's or inertial frame."""
    rng = np.random.default_rng(2)
    A1, A2, F = random_pose(rng), random_pose(rng), random_pose(rng)
    joint = Spherical().between(F, F)
    spatial = Builder().add("a", None, Revolute("x"), I, placement=A1)
    spatial.add("b", "a", joint, I, reference=A2, rep="spatial")
    B = A1.inverse() @ A2
    local = Spherical().between(A2.inverse() @ F, A2.inverse() @ F)
    body = Builder().add("a", None, Revolute("x"), I, placement=A1)
    body.add("b", "a", local, I, reference=B)
    parent = Builder().add("a", None, Revolute("x"), I, placement=A1)
    local = Spherical().between(A1.inverse() @ F, A1.inverse() @ F)
    parent.add("b", "a", local, I, reference=B, rep="parent")
    same_motion(spatial.build(), body.build())
    same_motion(spatial.build(), parent.build())


def test_fixed_bodies_become_part_of_their_parents():
    """A body behind a fixed joint is a frame; its inertia is its parent's."""
    T = SE3(Rotation.about(Vec3(0.0, 0.0, 1.0), 0.7), Vec3(1.0, 2.0, 3.0))
    builder = Builder().add("base", None, Fixed(), I, placement=(0, 0, 1))
    builder.add("arm", "base", Revolute("y"), I).add("tool", "arm", Fixed(), I, placement=T)
    builder.add("tip", "tool", Fixed(), None, placement=T).add("cup", "tip", Prismatic(), I)
    builder.frame("grip", "tip", (0, 0, 0.1)).frame("origin")
    model = builder.build()
    assert model.bodies == ("arm", "cup")
    assert model.frames == ("arm", "cup", "base", "tool", "tip", "grip", "origin")
    assert model.frame("base")[0] == -1 and model.frame("tool")[0] == 0
    np.testing.assert_allclose(model.frame("tip")[1].matrix(), (T @ T).matrix())
    np.testing.assert_allclose(
        model.frame("grip")[1].p.array(), (T @ T @ Vec3(0.0, 0.0, 0.1)).array()
    )
    np.testing.assert_allclose(model.body("cup").joint.frame_parent.matrix(), (T @ T).matrix())
    expected = I + T.push(I)
    np.testing.assert_allclose(model.body("arm").inertia.parameters(), expected.parameters())
    assert model.base_inertia.m == 2.0 and model.mass == 6.0
    assert model.frame("world") == (-1, SE3.identity())


def test_bodies_may_come_in_any_order():
    """Parents are put before their children; otherwise the order stays."""
    builder = Builder().add("c", "b", Revolute(), I).add("d", None, Revolute(), I)
    model = builder.add("b", "a", Revolute(), I).add("a", "world", Revolute(), I).build()
    assert model.bodies == ("a", "b", "c", "d")
    assert model.parents == (-1, 0, 1, -1)


def test_world_may_be_the_name_of_a_body():
    model = Builder().add("world", None, Free(), I).add("a", "world", Revolute(), I).build()
    assert model.parents == (-1, 0) and model.frame("world")[0] == 0


def test_loops_distances_and_couplings_are_data():
    builder = (
        Builder().add("a", None, Revolute(), I).add("b", "a", Fixed(), None, placement=(1, 0, 0))
    )
    builder.add("c", None, Revolute("x"), I).add("d", None, Cylindrical(), I)
    builder.loop("close", "b", "c", Spherical(), (0, 1, 0), None)
    builder.loop("ground", None, "c", Fixed())
    builder.distance("rod", "b", "world", (0, 0, 1), (5, 0, 0), 2.5)
    builder.coupling("gear", {"a": 1.0, ("d", 1): -2.0, "c": 0.0}, 0.5)
    model = builder.build()
    close, ground = model.loops
    assert (close.body_a, close.body_b) == (0, 1) and close.placement_a.p == Vec3(1.0, 1.0, 0.0)
    assert (ground.body_a, ground.body_b) == (-1, 1)
    (rod,) = model.distances
    assert (rod.body_a, rod.body_b, rod.point_a, rod.length) == (0, -1, (1.0, 0.0, 1.0), 2.5)
    (gear,) = model.couplings
    assert gear.terms == (("a", 0, 1.0), ("d", 1, -2.0)) and gear.offset == 0.5
    assert model.with_loop("more", "a", None, Planar()).loops[:2] == model.loops
    assert model.with_coupling("more", {"a": 1, "c": 1}).couplings[0] == gear


def test_joint_data():
    """One number for all degrees of freedom or one for each; limits are on q, the rest on v."""
    builder = Builder().add("a", None, Revolute(), I, limits=(-1, 2), damping=0.1, effort=5)
    builder.add("b", "a", Cylindrical(), I, lower=(-1, -math.inf), armature=(0.1, 0.2), stiffness=3)
    builder.add("c", "b", Free(), I, rest=(0, 0, 0, 0, 0, 0, 2))
    model = builder.build()
    a, b, c = (body.dynamics for body in model)
    assert (a.lower, a.upper, a.damping, a.effort) == ((-1.0,), (2.0,), (0.1,), (5.0,))
    assert (b.lower, b.upper[0], b.armature) == ((-1.0, -math.inf), math.inf, (0.1, 0.2))
    assert (b.stiffness, b.rest) == ((3.0, 3.0), (0.0, 0.0))
    assert c.rest == (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0) and c.velocity == (math.inf,) * 6
    given = JointDynamics.of(Revolute(), limits=(-1, 1))
    assert Builder().add("a", None, Revolute(), I, dynamics=given).build().body(0).dynamics == given
    changed = model.with_dynamics("a", damping=7.0, limits=(0, 1))
    assert changed.body("a").dynamics.damping == (7.0,)
    assert changed.body("a").dynamics.effort == (5.0,) and changed.body("a").dynamics.upper == (
        1.0,
    )


def test_poses_in_every_spelling():
    R = Rotation.about(Vec3(1.0, 0.0, 0.0), 0.3)
    T = SE3(R, Vec3(1.0, 2.0, 3.0))
    spellings = [
        T,
        T.matrix(),
        T.matrix().tolist(),
        (R, (1, 2, 3)),
        (R.array(), np.array([1, 2, 3])),
    ]
    models = [Builder().add("a", None, Revolute(), I, placement=x).build() for x in spellings]
    assert len(set(models)) == 1
    by_point = Builder().add("a", None, Revolute(), I, placement=Vec3(1.0, 2.0, 3.0)).build()
    assert by_point == Builder().add("a", None, Revolute(), I, placement=[1, 2, 3]).build()


def test_rounded_rotations_become_rotations():
    """A matrix printed with eight digits is brought back to SO(3)."""
    R = np.round(Rotation.about(Vec3(0.6, 0.0, 0.8), 1.1).array(), 8)
    T = Builder().frame("f", None, (R, (0, 0, 0))).build().frame("f")[1].R.array()
    np.testing.assert_allclose(T.T @ T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(T, R, atol=2e-8)


def test_inertias_in_every_spelling():
    J = np.diag([0.1, 0.2, 0.25])
    given = Inertia(2.0, Vec3(0.1, 0.2, 0.3), J)
    for x in (given, given.matrix(), given.parameters(), (2, (0.1, 0.2, 0.3), J)):
        model = Builder().add("a", None, Revolute(), x).build()
        parameters = model.body(0).inertia.parameters()
        assert all(type(e) is float for e in parameters)
        np.testing.assert_allclose(parameters, given.parameters(), atol=1e-15)


UNPHYSICAL = [
    (Inertia.from_parameters((-1.0, *(0.0,) * 9)), "mass -1 is negative"),
    (Inertia.from_parameters((0.0, 1.0, *(0.0,) * 8)), "no mass, but a first moment"),
    (Inertia(1.0, Vec3.zero(), np.diag([-0.1, 0.2, 0.2])), "principal moment -0.1 .* is negative"),
    (
        Inertia(1.0, Vec3(5.0, 1.0, 0.0), np.diag([0.1, 0.1, 0.3])),
        "violate the triangle inequality",
    ),
]


@pytest.mark.parametrize(("inertia", "message"), UNPHYSICAL)
def test_unphysical_inertias(inertia, message):
    builder = Builder().add("good", None, Revolute(), I).add("bad", "good", Revolute(), inertia)
    with pytest.raises(ModelError, match=f"body 'bad': .*{message}.*physical='warn'"):
        builder.build()
    with pytest.warns(UnphysicalWarning, match=f"body 'bad': .*{message}"):
        builder.build(physical="warn")
    assert builder.build(physical=False).nb == 2


def test_massless_bodies_are_allowed_and_found():
    """What nothing resists is named; armature or a child with mass cures it."""
    builder = Builder().add("a", None, Revolute("x"), I)
    builder.add("bare", "a", Revolute("y"), joint_name="idle")
    assert builder.build().singular_joints() == ("idle",)
    assert builder.add("c", "bare", Revolute("z"), I).build().singular_joints() == ()
    model = Builder().add("a", None, Revolute("x"), armature=0.1).build()
    assert model.singular_joints() == ()
    point = Inertia(1.0, Vec3(0.0, 0.0, 1.0), np.zeros((3, 3)))
    assert Builder().add(
        "a", None, Spherical(), point, joint_name="ball"
    ).build().singular_joints() == ("ball",)


REFUSED = [
    (lambda b: b.add("a", None, Revolute(), I), "body 'a': a body has this name"),
    (lambda b: b.frame("a", None), "frame 'a': a body has this name"),
    (lambda b: b.add("", None, Revolute()), "not a name"),
    (lambda b: b.add("b", "x", Revolute()).build(), "body 'b': parent 'x' is unknown"),
    (lambda b: b.add("b", "c", Revolute()).add("c", "b", Revolute()).build(), "carry each other"),
    (lambda b: b.add("b", "b", Revolute()).build(), "carry each other"),
    (lambda b: b.add("b", "a", Revolute(), joint_name="a"), "joint 'a' exists already"),
    (lambda b: b.add("b", "a", Revolute(), joint_name=""), "give a non-empty string"),
    (lambda b: b.add("b", "a", "revolute"), "'revolute' is no joint"),
    (lambda b: b.add("b", "a"), "neither joint nor screw"),
    (lambda b: b.add("b", "a", Revolute(), rep="hybrid"), "rep 'hybrid'; choose one of"),
    (lambda b: b.add("b", "a", Revolute(), placement=(0, 0, 1), reference=(0, 0, 1)), "give one"),
    (lambda b: b.add("b", "a", Revolute(), placement=np.diag([1, 1, -1, 1])), "mirrors"),
    (lambda b: b.add("b", "a", Revolute(), placement=2.0 * np.eye(4)), "last row"),
    (
        lambda b: b.add("b", "a", Revolute(), placement=(2.0 * np.eye(3), (0, 0, 0))),
        "rotation matrix",
    ),
    (lambda b: b.add("b", "a", Revolute(), placement=np.eye(3)), r"shape \(3, 3\) is no pose"),
    (lambda b: b.add("b", "a", Revolute(), placement="here"), "no pose"),
    (lambda b: b.add("b", "a", Revolute(), placement=(0, 0, math.nan)), "not finite"),
    (lambda b: b.add("b", "a", Revolute(), (1.0, (0, 0, math.inf), np.eye(3))), "not finite"),
    (lambda b: b.add("b", "a", Revolute(), np.eye(5)), r"inertia: shape \(5, 5\)"),
    (
        lambda b: b.add("b", "a", Revolute(), limits=(1, -1)),
        "joint 'b': limits reversed, lower 1.0",
    ),
    (lambda b: b.add("b", "a", Revolute(), limits=(1, 2, 3)), r"give \(lower, upper\)"),
    (lambda b: b.add("b", "a", Revolute(), limits=(0, math.nan)), "upper: nan is not finite"),
    (lambda b: b.add("b", "a", Revolute(), damping=-1), "damping -1.0 is negative"),
    (lambda b: b.add("b", "a", Revolute(), damping=math.inf), "damping: inf is not finite"),
    (lambda b: b.add("b", "a", Revolute(), armature=(1, 2)), "2 numbers where the joint has 1"),
    (lambda b: b.add("b", "a", Revolute(), colour=3), "no joint data 'colour'"),
    (lambda b: b.add("b", "a", Free(), upper=(1,) * 7), "limits on a quaternion"),
    (lambda b: b.add("b", "a", Free(), rest=(0,) * 7), "zero quaternion"),
    (lambda b: b.add("b", "a", screw=(0, 0, 0, 0, 0, 0)), "joint 'b': screw .* has no axis"),
    (lambda b: b.add("b", "a", screw=(0, 0, 2, 0, 0, 0)), "the angular part .* has length 2"),
    (lambda b: b.add("b", "a", screw=(0, 0, 0, 0, 3, 0)), "the linear part .* has length 3"),
    (lambda b: b.add("b", "a", screw=(0, 0, 1)), "screw: 3 numbers where 6 are needed"),
    (lambda b: b.add("b", "a", screw="zzz"), "is not 6 numbers"),
    (
        lambda b: b.add("b", "a", Prismatic(), screw=(0, 0, 1, 0, 0, 0)),
        "differ from the given ones",
    ),
    (lambda b: b.add("b", "a", Revolute("x"), screw=(0, 0, 1, 0, 0, 0)), "differ from the given"),
    (lambda b: b.add("b", "a", Screw(pitch=1), screw=(0, 0, 1, 0, 0, 2)), "differ from the given"),
    (
        lambda b: b.add("b", "a", Planar(), screw=(0, 0, 1, 0, 0, 0)),
        "1 screws for Planar, which has 3",
    ),
    (lambda b: b.loop("l", "a", "x", Fixed()).build(), "loop 'l': body 'x' is unknown"),
    (lambda b: b.loop("l", "a", None, "weld"), "'weld' is no joint"),
    (lambda b: b.loop("l", "a", None, Fixed()).loop("l", "a", None, Fixed()), "has this name"),
    (lambda b: b.loop("l", "a", "a", Fixed()), "both ends are on 'a'"),
    (lambda b: b.distance("d", "a", None, length=0), "length 0.0; give a positive one"),
    (lambda b: b.coupling("c", {"x": 1}).build(), "joint 'x' is unknown or fixed"),
    (lambda b: b.coupling("c", {"a": 0}), "no joint has a coefficient"),
    (lambda b: b.coupling("c", {("a", 4): 1}).build(), "has no coordinate 4"),
    (
        lambda b: b.add("s", "a", Spherical()).coupling("c", {"s": 1}).build(),
        "no linear coordinates",
    ),
    (lambda b: b.frame("f", "g").frame("g", "f").build(), "carry each other"),
    (lambda b: b.frame("f", "nowhere").build(), "frame 'f': parent 'nowhere' is unknown"),
    (lambda b: b.build(physical="maybe"), "choose True, False or 'warn'"),
    (lambda b: Builder("m", gravity=(0, 0)), "gravity: 2 numbers where 3"),
    (lambda b: Revolute((0, 0, 0)), "has no direction; give a non-zero axis"),
    (lambda b: Revolute("q"), "axis 'q' is unknown"),
    (lambda b: Revolute((1, 2)), "2 numbers where 3"),
    (lambda b: Revolute((1, 2, math.nan)), "not finite"),
    (lambda b: Screw(), "no pitch; give pitch="),
    (lambda b: Screw(pitch=math.inf), "pitch: inf is not finite"),
    (lambda b: Universal("x", (1, 1, 0)), "not perpendicular"),
    (lambda b: Composite(), "no joints"),
    (lambda b: Composite(Revolute), "is no joint"),
    (lambda b: Spherical("euler"), "coordinates 'euler'; choose one of 'quaternion', 'first'"),
    (lambda b: Schoenflies(coordinates="third"), "Schoenflies: coordinates 'third'"),
    (lambda b: Revolute().between(np.zeros((4, 4))), "Revolute: S_parent: last row"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED)
def test_wrong_input_is_named(wrong, message):
    """Every error names the thing, the fact and the remedy."""
    with pytest.raises(ModelError, match=message):
        wrong(Builder().add("a", None, Revolute(), I))


def test_long_chains_need_no_recursion():
    """Walks are iterative, also when the tip is added first."""
    builder = Builder("long")
    for k in reversed(range(5000)):
        builder.add(f"b{k}", f"b{k - 1}" if k else None, Revolute("y"), I, placement=(0, 0, 0.1))
    model = builder.build()
    assert model.nb == 5000 and model.parents == tuple(range(-1, 4999))
    assert isinstance(model.body(4999), Body) and len(model.digest) == 64
