"""Distances, witness points and normals of pairs of shapes."""

import itertools
import re

import numpy as np
import pytest
from support.contact_models import box_inertia

import mozzi as mz
from mozzi.errors import ModelError
from mozzi.viz.drawing.shapes import drawing

HILLS = 0.1 * np.random.default_rng(0).normal(size=(6, 7))
GEOMETRIES = {
    "sphere": mz.Sphere(0.1),
    "capsule": mz.Capsule(0.08, 0.3),
    "box": mz.Box((0.2, 0.3, 0.1)),
    "cylinder": mz.Cylinder(0.1, 0.3),
    "ellipsoid": mz.Ellipsoid((0.1, 0.2, 0.3)),
    "plane": mz.Plane(),
    "field": mz.HeightField(HILLS, (2.0, 3.0)),
}
ROUND = ("sphere", "capsule")
FLAT = ("plane", "field")
PAIRS = [
    (a, b) for a, b in itertools.product(GEOMETRIES, GEOMETRIES)
    if (a in ROUND and b in ROUND) or ((a in FLAT) != (b in FLAT))
    or (b == "box" and a not in FLAT) or (a == "box" and b in ROUND)
]  # fmt: skip


def pair(a, b):
    """Two free bodies with these shapes, placed off their frames."""
    builder = mz.Builder("pair")
    place = mz.SE3.translation(0.1, -0.2, 0.05)
    for name, kind in (("a", a), ("b", b)):
        builder.add(name, None, mz.Free(), box_inertia(1.0))
        builder.shape(name, GEOMETRIES[kind], place, name=f"shape_{name}")
    return builder.build().with_contact("c", "shape_a", "shape_b")


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_rate_of_a_gap_is_the_velocity_along_its_normal(a, b):
    """d gap/dt = n · (v_a − v_b) at the point of contact, wherever the nearest features stay."""
    model = pair(a, b)
    rng = np.random.default_rng(1)
    q, v = model.random_configuration(rng, 30), rng.normal(size=(30, 12))
    if b == "box" and a not in ROUND:  # over a face: small on its middle
        q = mz.integrate(model, model.neutral(), 0.02 * rng.normal(size=(30, 12)))
        q[:, 2] += 0.2
        model = model.without_shape("shape_b").with_shape(
            "b", mz.Box((2.0, 3.0, 0.1)), mz.SE3.translation(0.1, -0.2, 0.05), "shape_b"
        ).with_contact("c", "shape_a", "shape_b")  # fmt: skip
    gaps, frames = mz.contact_gaps(model, q), mz.contact_frames(model, q)
    R, p = frames[..., :3, :3], frames[..., :3, 3]
    assert abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max() < 1e-12
    V = mz.twists(model, q, v, "spatial")[:, None]
    w = V[:, :, 0] - V[:, :, 1]
    speed = np.cross(w[..., :3], p) + w[..., 3:]
    exact = (R[..., 2] * speed).sum(-1)
    e = 1e-6
    ahead, back = (mz.contact_gaps(model, mz.integrate(model, q, s * e * v)) for s in (1, -1))
    difference = (ahead - back) / (2 * e)
    stays = abs(ahead + back - 2 * gaps) < 1e-9  # no kink within the difference
    if "field" in (a, b):  # measured along the slope below the point
        stays &= abs(gaps) < 1e-3
    if {a, b} == {"capsule", "box"}:  # the other point may be anywhere on the axis
        stays &= gaps == gaps.min(-1, keepdims=True)
    assert np.isfinite(difference).all()
    np.testing.assert_allclose(difference[stays], exact[stays], atol=1e-5)
    if "field" not in (a, b):
        assert stays.mean() > 0.4


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_swapped_pairs_have_the_same_gaps(a, b):
    """The normal turns around, distances stay."""
    if a == b or (b, a) not in PAIRS:
        return
    one, two = pair(a, b), pair(b, a)
    q = one.random_configuration(np.random.default_rng(2), 10)
    swapped = np.concatenate([q[:, 7:], q[:, :7]], axis=1)
    np.testing.assert_allclose(
        mz.contact_gaps(one, q), mz.contact_gaps(two, swapped), rtol=1e-9, atol=1e-12
    )
    N, M = (mz.contact_frames(*x)[..., :3, 2] for x in ((one, q), (two, swapped)))
    np.testing.assert_allclose(N, -M, atol=1e-9)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_degenerate_poses_are_finite(a, b):
    """Coincident centres, parallel edges, exact touch."""
    model = pair(a, b)
    for shift in ((0, 0, 0), (0.2, 0, 0), (0, 0, 0.1), (0.0, 0.3, 0.1)):
        q = model.neutral()
        q[:3] = shift
        assert np.isfinite(mz.contact_gaps(model, q)).all()
        frames = mz.contact_frames(model, q)
        np.testing.assert_allclose(np.linalg.det(frames[..., :3, :3]), 1.0, atol=1e-12)


def test_a_ball_inside_of_a_box_leaves_through_the_nearest_face():
    """Its gap is the signed distance of its centre from the surface less its radius, outside as
    well as inside, and grows along the normal.
    """
    model, rng = pair("sphere", "box"), np.random.default_rng(4)
    half = 0.5 * np.array(GEOMETRIES["box"].size)
    q = np.tile(model.neutral(), (60, 1))
    q[:, :3] = rng.uniform(-1.0, 1.0, (60, 3)) * half * np.repeat([0.9, 1.8], 30)[:, None]
    beyond = np.abs(q[:, :3]) - half
    outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
    signed = outside + np.minimum(beyond.max(axis=1), 0.0)
    assert (signed[:30] < 0.0).all() and (signed[30:] > 0.0).sum() > 10
    np.testing.assert_allclose(mz.contact_gaps(model, q)[:, 0], signed - 0.1, atol=1e-12)
    away = q.copy()
    away[:, :3] += 1e-5 * mz.contact_frames(model, q)[:, 0, :3, 2]
    grown = mz.contact_gaps(model, away) - mz.contact_gaps(model, q)
    np.testing.assert_allclose(grown[:, 0], 1e-5, rtol=1e-6)


def test_distances_are_euclidean():
    """Spheres and capsules, against a search over their axes."""
    rng = np.random.default_rng(3)
    for a, b in itertools.product(ROUND, ROUND):
        model = pair(a, b)
        q = model.random_configuration(rng, 20)
        ends = []
        for k, kind in enumerate((a, b)):
            T = mz.forward_kinematics(model, q)[:, k] @ mz.SE3.translation(0.1, -0.2, 0.05).matrix()
            s = np.linspace(-0.5, 0.5, 2001) * getattr(GEOMETRIES[kind], "length", 0.0)
            ends.append(T[:, None, :3, 3] + s[:, None] * T[:, None, :3, 2])
        for k in range(20):
            x, y = (p[k] for p in ends)
            x = x[:1] if a == "sphere" else x
            y = y[:1] if b == "sphere" else y
            d = min(np.linalg.norm(y - point, axis=1).min() for point in x[::10])
            radii = GEOMETRIES[a].radius + GEOMETRIES[b].radius
            assert abs(mz.contact_gaps(model, q[k])[0] - (d - radii)) < 2e-3


def test_capsules_meet_boxes_anywhere():
    """The nearest of all points of the axis, against a search; also where both ends are far."""
    rng = np.random.default_rng(4)
    model = pair("capsule", "box")
    q = model.random_configuration(rng, 200)
    q[:, 7:10] = q[:, :3] + 0.15 * rng.normal(size=(200, 3))
    place = mz.SE3.translation(0.1, -0.2, 0.05).matrix()
    A, B = (mz.forward_kinematics(model, q)[:, k] @ place for k in range(2))
    T = np.linalg.inv(B) @ A
    s = 0.3 * np.linspace(-0.5, 0.5, 2001)
    x = T[:, None, :3, 3] + s[:, None] * T[:, None, :3, 2]
    out = np.maximum(abs(x) - 0.5 * np.array(GEOMETRIES["box"].size), 0.0)
    d = np.linalg.norm(out, axis=-1).min(-1)
    gaps = mz.contact_gaps(model, q).min(-1)
    apart = d > 1e-3  # elsewhere the axis is inside
    assert apart.sum() > 100 and (gaps[apart] < 0.0).any()
    np.testing.assert_allclose(gaps[apart], d[apart] - 0.08, atol=2e-4)
    assert (gaps[~apart] < -0.07).all()


def test_height_fields_interpolate():
    """On a grid point the surface has its height; a plane of heights is a plane."""
    x = np.linspace(-1.0, 1.0, 5)
    field = mz.HeightField(np.tile(0.3 * x + 0.1, (4, 1)), (2.0, 1.5))
    builder = mz.Builder("ball")
    builder.add("ball", None, mz.Free(), box_inertia(1.0))
    builder.shape("ball", mz.Sphere(0.1), name="sphere")
    builder.shape(None, field, name="hill")
    model = builder.build().with_contact("c", "sphere", "hill")
    q = model.neutral()
    q[:3] = 0.37, -0.2, 0.9
    n = np.array([-0.3, 0.0, 1.0]) / np.hypot(0.3, 1.0)
    expected = n @ (q[:3] - [0.0, 0.0, 0.1]) - 0.1
    np.testing.assert_allclose(mz.contact_gaps(model, q), [expected], atol=1e-12)
    np.testing.assert_allclose(mz.contact_frames(model, q)[0, :3, 2], n, atol=1e-12)


def test_contacts_are_part_of_a_model():
    """Immutable, picklable, compared, named; bodies and shapes take theirs along."""
    import pickle

    model = pair("sphere", "box")
    assert model != model.without_contact("c") and not model.without_contact("c").contacts
    assert pickle.loads(pickle.dumps(model)) == model
    assert not model.without_body("a").contacts and not model.without_shape("shape_b").contacts
    assert model.with_gravity((0, 0, -1)).contacts == model.contacts
    grounded = model.with_ground(friction=(0.5, 0.7))
    assert [x.name for x in grounded.contacts] == ["c", "ground:shape_a", "ground:shape_b"]
    assert dict(mz.contact_points(grounded))["ground:shape_b"] == slice(2, 6)
    for call, words in [
        (lambda: model.with_contact("c", "shape_a", "shape_b"), "exists already"),
        (lambda: model.with_contact("d", "shape_a", "shape_x"), "no shape 'shape_x'"),
        (lambda: model.with_contact("d", "shape_a", "shape_b", friction=-1.0), "0 or more"),
        (lambda: model.with_contact("d", "shape_a", "shape_b", restitution=2.0), "from 0 to 1"),
        (lambda: model.with_contact("d", "shape_a", "shape_a"), "one body"),
        (lambda: model.without_contact("x"), "no contact 'x'"),
    ]:
        with pytest.raises(ModelError, match=words):
            call()


def two_boxes(place, turn):
    """A box of the world and a free one, at a place, turned by a rotation vector."""
    builder = mz.Builder("boxes")
    builder.add("box", None, mz.Free(), box_inertia(1.0))
    builder.shape("box", mz.Box((0.2, 0.3, 0.1)), name="a")
    builder.shape(None, mz.Box((0.4, 0.2, 0.2)), name="b")
    model = builder.build().with_contact("c", "a", "b")
    q = model.neutral()
    q = mz.integrate(model, q, np.r_[turn, 0.0, 0.0, 0.0])
    q[:3] = place
    return model, q


def test_edges_on_edges():
    """Two crossed edges: the gap is theirs, along their common normal, at their point."""
    c = np.sqrt(0.5)
    turn = np.pi / 4 * np.array([0.0, 1.0, 0.0])  # its edge along y looks down
    builder = mz.Builder("edges")
    builder.add("box", None, mz.Free(), box_inertia(1.0))
    builder.shape("box", mz.Box((0.2, 0.6, 0.2)), name="a")
    up = mz.SE3.exp(mz.Twist.from_array(np.r_[np.pi / 4, 0.0, 0.0, 0.0, 0.0, 0.0]))
    builder.shape(None, mz.Box((0.6, 0.2, 0.2)), up, name="b")  # an edge along x looks up
    model = builder.build().with_contact("c", "a", "b")
    q = mz.integrate(model, model.neutral(), np.r_[turn, 0.0, 0.0, 0.0])
    q[:3] = 0.03, 0.02, 0.4 * c + 0.005
    gaps, frames = mz.contact_gaps(model, q), mz.contact_frames(model, q)
    k = int(np.argmin(gaps))
    np.testing.assert_allclose(gaps[k], 0.005, atol=1e-12)
    np.testing.assert_allclose(frames[k, :3, 2], [0.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(frames[k, :2, 3], [0.03, 0.0], atol=1e-12)


def test_boxes_are_the_same_in_both_orders():
    """The smallest gap of (a, b) is that of (b, a), for boxes anywhere, and no deeper than they
    overlap along any direction.
    """
    rng = np.random.default_rng(0)
    for _ in range(20):
        model, q = two_boxes(0.25 * rng.normal(size=3), rng.normal(size=3))
        other = model.without_contact("c").with_contact("c", "b", "a")
        one, two = mz.contact_gaps(model, q).min(), mz.contact_gaps(other, q).min()
        assert abs(one - two) < 2e-3 * 0.1 + 1e-9 or (one > 0.0 and two > 0.0)
        T = mz.forward_kinematics(model, q)[0]
        R, p = T[:3, :3], T[:3, 3]
        for n in rng.normal(size=(50, 3)):
            n /= np.linalg.norm(n)
            reach = abs(n @ R) @ [0.1, 0.15, 0.05] + abs(n) @ [0.2, 0.1, 0.1]
            assert one > abs(n @ p) - reach - 2e-4 or one > 0.0


def test_a_mesh_stands_on_the_lower_ends_of_its_diagonals(tmp_path):
    """A box as a mesh: its lowest corner is lowest in every pose, four points suffice, and on each
    of its faces it stands on the corners that a box has there.
    """
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box((0.2, 0.3, 0.1))
    box.export(tmp_path / "box.stl")
    two = []
    for geometry in (mz.Mesh(tmp_path / "box.stl"), mz.Box((0.2, 0.3, 0.1))):
        builder = mz.Builder("box")
        builder.add("box", None, mz.Free(), box_inertia(1.0))
        builder.shape("box", geometry, name="shape")
        two.append(builder.build().with_ground())
    mesh, _ = two
    assert mz.contact_points(mesh)["ground:shape"] == slice(0, 4)
    q = mesh.random_configuration(3, batch=200)
    lowest = (mz.forward_kinematics(mesh, q)[:, 0, 2, :3] @ box.vertices.T).min(axis=1) + q[:, 2]
    assert np.allclose(mz.contact_gaps(mesh, q).min(axis=1), lowest, atol=1e-7)
    half = np.sqrt(0.5)
    for turn in ([0, 0, 0, 1], [1, 0, 0, 0], [half, 0, 0, half], [0, half, 0, half]):
        q = np.array([0.1, 0.2, 1.0, *turn])
        a, b = (mz.contact_frames(model, q)[:, :3, 3] for model in two)
        assert np.allclose(sorted(a.round(6).tolist()), sorted(b.round(6).tolist()), atol=1e-6)


def test_a_mesh_in_millimetres_touches_where_it_is_drawn(tmp_path):
    """COLLADA says its unit: pictures kept to it, and what touched was a thousand times larger."""
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("collada")
    made = trimesh.exchange.dae.export_collada(trimesh.creation.box((200.0, 300.0, 100.0)))
    unit = b'<unit name="millimeter" meter="0.001"/>'
    text = re.sub(rb"<unit[^>]*/>", unit, made)
    text = text if unit in text else text.replace(b"</asset>", unit + b"</asset>", 1)
    (tmp_path / "box.dae").write_bytes(text)
    builder = mz.Builder().add("box", None, mz.Free(), box_inertia(1.0))
    model = builder.shape("box", mz.Mesh(tmp_path / "box.dae"), name="box").build().with_ground()
    assert mz.contact_gaps(model, [0, 0, 0.3, 0, 0, 0, 1]) == pytest.approx([0.25] * 4)
    drawn = drawing(model).parts[0].vertices
    assert np.abs(drawn).max(axis=0) == pytest.approx([0.1, 0.15, 0.05])


def test_a_broken_mesh_that_shall_touch_is_named(tmp_path):
    """Whatever its reader stumbles over."""
    pytest.importorskip("trimesh")
    (tmp_path / "box.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 999999999\n")
    builder = mz.Builder().add("box", None, mz.Free(), box_inertia(1.0))
    model = builder.shape("box", mz.Mesh(tmp_path / "box.obj"), name="box").build()
    with pytest.raises(mz.ModelError, match=r"box\.obj': cannot be read .*; check the file"):
        model.with_ground()
