"""Shapes are part of a model: immutable data that travels with the body it is fixed to."""

import pickle

import numpy as np
import pytest

import mozzi as mz
from mozzi.errors import ModelError
from mozzi.model import Surface

INERTIA = mz.Inertia(1.0, (0.0, 0.0, 0.1), np.eye(3))
TURN = mz.SE3.exp(mz.Twist.from_array(np.array([0.3, -0.5, 0.2, 0.4, 0.1, -0.2])))
FIELD = mz.HeightField([[0.0, 0.1, 0.2], [0.3, 0.0, -0.1]], (2.0, 1.0))
GEOMETRIES = (
    mz.Sphere(0.1), mz.Box((0.1, 0.2, 0.3)), mz.Cylinder(0.1, 0.2), mz.Capsule(0.1, 0.2),
    mz.Plane(), mz.Ellipsoid((0.1, 0.2, 0.3)), mz.Mesh("part.stl", 0.001), FIELD,
)  # fmt: skip


def arm() -> mz.Model:
    builder = mz.Builder("arm")
    builder.add("upper", None, mz.Revolute((1, 2, 3)), INERTIA, placement=TURN)
    builder.add("fore", "upper", mz.Revolute("y"), INERTIA, placement=(0.0, 0.1, 0.5))
    builder.add("tool", "fore", mz.Fixed().between(TURN), INERTIA)
    builder.shape("upper", mz.Sphere(0.1), (0.0, 0.0, 0.1), color=(1.0, 0.0, 0.0))
    builder.shape("fore", mz.Box((0.1, 0.2, 0.3)), TURN, "block", "collision")
    builder.shape("tool", mz.Capsule(0.05, 0.2), TURN, role="visual", color=(0, 0, 1, 0.5))
    builder.shape(None, mz.Plane())
    return builder.build()


def places(model: mz.Model, q: np.ndarray) -> dict[str, np.ndarray]:
    """Where the shapes are in the inertial frame."""
    T = mz.forward_kinematics(model, q)
    poses = {-1: np.eye(4), **dict(enumerate(T))}
    return {x.name: poses[x.body] @ np.array(x.placement.matrix(), float) for x in model.shapes}


def test_shapes_are_data():
    model = arm()
    upper, block, tool, plane = model.shapes
    names = [x.name for x in model.shapes]
    assert names == ["upper_sphere", "block", "tool_capsule", "world_plane"]
    assert [x.body for x in model.shapes] == [0, 1, 1, -1]  # what is welded is on its body
    assert (upper.role, block.role, tool.role, plane.role) == (
        "both", "collision", "visual", "both",
    )  # fmt: skip
    assert upper.color == (1.0, 0.0, 0.0, 1.0) and tool.color == (0.0, 0.0, 1.0, 0.5)
    assert model.shape("block").geometry == mz.Box((0.1, 0.2, 0.3))
    copy = pickle.loads(pickle.dumps(model))
    assert copy == model and copy.digest == model.digest and copy.shapes == model.shapes
    with pytest.raises(AttributeError):
        upper.role = "visual"


def test_every_geometry_is_a_value():
    for geometry in GEOMETRIES:
        copy = pickle.loads(pickle.dumps(geometry))
        assert copy == geometry and hash(copy) == hash(geometry)
    assert len(set(GEOMETRIES)) == len(GEOMETRIES)
    with pytest.raises(ValueError):
        FIELD.heights[0, 0] = 1.0
    assert mz.HeightField(FIELD.heights + 1e-9, FIELD.extent) != FIELD


def test_any_difference_of_a_shape_shows():
    model = arm()
    others = [
        model.without_shape("block"),
        model.with_shape("upper", mz.Sphere(0.1)),
        *(model.without_shape("block").with_shape("fore", *x) for x in (
            (mz.Box((0.1, 0.2, 0.4)), TURN, "block", "collision"),
            (mz.Box((0.1, 0.2, 0.3)), None, "block", "collision"),
            (mz.Box((0.1, 0.2, 0.3)), TURN, "black", "collision"),
            (mz.Box((0.1, 0.2, 0.3)), TURN, "block", "both"),
            (mz.Box((0.1, 0.2, 0.3)), TURN, "block", "collision", (0, 0, 0)),
        )),
    ]  # fmt: skip
    assert len({model.digest, *(other.digest for other in others)}) == len(others) + 1


def test_shapes_stay_where_they_are_through_edits():
    """Whatever is done to the model, at the same pose of its bodies a shape is where it was."""
    model, q = arm(), np.array([0.4, -0.7])
    before = places(model, q)
    same = [
        model.with_gravity((0, 0, 1)),
        model.with_name("other"),
        model.with_inertia("fore", INERTIA),
        model.with_frame("tip", "fore", TURN),
        model.with_dynamics("fore", damping=0.1),
        model.with_spring("s", None, "fore", stiffness=1.0),
        model.with_body("more", "fore", mz.Prismatic("x"), INERTIA),
    ]
    for other in same:
        after = places(other, np.append(q, np.zeros(other.nq - 2)))
        assert after.keys() == before.keys()
        for name in before:
            np.testing.assert_allclose(after[name], before[name], atol=1e-15)
    locked = places(model.lock("fore", q), q[:1])
    for name in before:
        np.testing.assert_allclose(locked[name], before[name], atol=1e-14)
    fewer = model.without_body("fore")
    assert [x.name for x in fewer.shapes] == ["upper_sphere", "world_plane"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mz.Sphere(0.0), "Sphere: radius 0.0; give a positive length"),
        (lambda: mz.Sphere("big"), "Sphere: radius: 'big' is not a number"),
        (lambda: mz.Box((1, 2)), "Box: size: 2 numbers where 3 are needed"),
        (lambda: mz.Box((1, 2, -3)), "Box: size .* give a positive length"),
        (lambda: mz.Capsule(0.1, float("nan")), "Capsule: length: nan is not finite"),
        (lambda: mz.Mesh(""), "Mesh: path ''; give the path of a mesh file"),
        (lambda: mz.Mesh("a.stl", 0.0), "scale .* flattens it"),
        (lambda: mz.HeightField([1.0, 2.0], (1, 1)), "give a 2-D array"),
        (lambda: mz.HeightField([[0, 1], [0, np.inf]], (1, 1)), "heights are not finite"),
        (lambda: mz.HeightField([[0, 1], [0, 1]], (1, 0)), "extent .* positive lengths"),
        (lambda: mz.Builder().shape(None, "ball"), "'ball' is no geometry; give one such as"),
        (lambda: mz.Builder().shape(None, mz.Plane(), role="seen"), "role 'seen'; choose 'visual'"),
        (lambda: mz.Builder().shape(None, mz.Plane(), color=(1, 2, 3)), "color .* from 0 to 1"),
        (lambda: mz.Builder().shape("arm", mz.Plane()).build(), "body 'arm' is unknown"),
        (lambda: arm().with_shape(None, mz.Plane(), name="block"), "a shape has this name"),
        (lambda: arm().without_shape("brick"), "no shape 'brick'; it has 'block'"),
        (lambda: mz.Mesh("/nowhere/a.stl").file(), "mesh '/nowhere/a.stl': does not exist"),
    ],
)
def test_what_is_no_shape_is_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


@pytest.mark.parametrize(
    "wrong",
    [
        {"friction": 0.5}, {"friction": (0.5,)}, {"friction": (np.nan, 1.0)},
        {"friction": (-1.0, 1.0)}, {"restitution": "high"}, {"restitution": 1.5},
        {"stiffness": np.nan}, {"stiffness": -1.0}, {"damping": -3.0}, {"damping": np.inf},
    ],
)  # fmt: skip
def test_surfaces_that_cannot_be(wrong):
    """When they are made: a stiffness of NaN made a rigid contact."""
    with pytest.raises(ModelError, match=f"surface: {next(iter(wrong))}"):
        Surface(**wrong)
