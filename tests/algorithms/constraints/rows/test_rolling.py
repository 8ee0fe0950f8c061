"""Rows of rolling contacts and rows that users write: A, Ȧ v and the residual agree."""

from __future__ import annotations

import numpy as np
import pytest

import mozzi as mz

RNG = np.random.default_rng(5)


def body(mass: float = 1.3) -> mz.Inertia:
    return mz.Inertia(mass, (0.02, -0.01, 0.03), np.diag([0.03, 0.04, 0.05]))


def pose(*numbers: float) -> mz.SE3:
    return mz.SE3.exp(mz.Twist.unflatten(numbers))


def two_bodies(a, b, inside=False) -> mz.Model:
    """Shape a on a free body, shape b on a body that moves too, at oblique placements."""
    builder = mz.Builder("pair")
    builder.add("arm", None, mz.Revolute("x"), body(2.0), joint_name="shoulder")
    builder.add("ground", "arm", mz.Revolute("y").between((0.1, 0.2, 0.3), None), body(3.0))
    builder.add("wheel", None, mz.Free(), body(), joint_name="free")
    builder.shape("wheel", a, pose(0.3, -0.2, 0.1, 0.05, 0.02, -0.04), name="a")
    builder.shape("ground", b, pose(-0.1, 0.2, 0.4, 0.1, -0.1, 0.05), name="b")
    return builder.build().with_rolling("contact", "a", "b", inside=inside)


PAIRS = [
    (mz.Sphere(0.2), mz.Plane()), (mz.Disc(0.3), mz.Plane()), (mz.Torus(0.3, 0.05), mz.Plane()),
    (mz.Ellipsoid((0.2, 0.3, 0.1)), mz.Plane()), (mz.Plane(), mz.Disc(0.3)),
    (mz.Sphere(0.2), mz.Sphere(0.5)), (mz.Torus(0.3, 0.05), mz.Sphere(0.5)),
    (mz.Sphere(0.2), mz.Cylinder(0.4, 2.0)), (mz.Sphere(0.1), mz.Torus(0.5, 0.1)),
    (mz.Disc(0.3), mz.Cylinder(0.4, 2.0)), (mz.Torus(0.3, 0.05), mz.Torus(0.5, 0.1)),
    (mz.Torus(0.3, 0.05), mz.Disc(0.5)), (mz.Torus(0.3, 0.05), mz.Capsule(0.2, 0.1)),
    (mz.Sphere(0.2), mz.Capsule(0.2, 0.1)),
]  # fmt: skip


HOLLOW = [
    (mz.Sphere(0.2), mz.Sphere(3.0)), (mz.Torus(0.3, 0.05), mz.Sphere(3.0)),
    (mz.Sphere(0.2), mz.Cylinder(2.0, 5.0)), (mz.Torus(0.3, 0.05), mz.Cylinder(2.0, 5.0)),
]  # fmt: skip
CASES = [(a, b, False) for a, b in PAIRS] + [(a, b, True) for a, b in HOLLOW]


@pytest.mark.parametrize(("a", "b", "inside"), CASES, ids=lambda x: type(x).__name__)
def test_rows_are_rates(a, b, inside):
    """Row 0 is the rate of the distance, also where shapes are apart, and A a + Ȧ v is the rate of
    all rows of A v, whatever the state; contact forces come in opposite pairs.
    """
    model = two_bodies(a, b, inside)
    q = np.array([*RNG.normal(size=2) * 0.3, *RNG.normal(size=3), *RNG.normal(size=4)])
    q = model.normalize(q)
    v, acc = RNG.normal(size=(2, model.nv))

    def along(t):
        return mz.integrate(model, q, t * v + 0.5 * t * t * acc)

    def rows(t):  # the velocity of that curve at t is v + t a, up to t²
        return mz.loop_jacobian(model, along(t)) @ (v + t * acc)

    h = 1e-3
    slope = [mz.loop_residual(model, along(t))[0] for t in (-2 * h, -h, h, 2 * h)]
    slope = (8 * (slope[2] - slope[1]) - (slope[3] - slope[0])) / (12 * h)
    A = mz.loop_jacobian(model, q)
    assert A[0] @ v == pytest.approx(slope, abs=1e-8)
    rate = (8 * (rows(h) - rows(-h)) - (rows(2 * h) - rows(-2 * h))) / (12 * h)
    assert mz.loop_acceleration(model, q, v, acc) == pytest.approx(rate, abs=1e-6)
    assert mz.loop_residual(model, q)[1:] == pytest.approx(0.0)


@pytest.mark.parametrize("half", [0.1, 2.0])
@pytest.mark.parametrize("a", [mz.Sphere(0.2), mz.Torus(0.3, 0.05)], ids=["sphere", "torus"])
def test_ends_of_capsules(a, half):
    """Past its end a capsule is a ball, and within it a cylinder."""
    build = mz.Builder("capsule").add("wheel", None, mz.Free(), body())
    build.shape("wheel", a, name="a").shape(None, mz.Capsule(0.4, 2.0 * half), name="b")
    build.shape(None, mz.Sphere(0.4), mz.SE3.translation(0.0, 0.0, half), name="ball")
    build.shape(None, mz.Cylinder(0.4, 1.0), name="pipe")
    model, other = build.build(), "ball" if half < 1.0 else "pipe"
    q = model.normalize([0.6, 0.5, 1.2, 0.2, -0.3, 0.4, 0.8])
    rows = [model.with_rolling("c", "a", name) for name in ("b", other)]
    assert mz.loop_residual(rows[0], q) == pytest.approx(mz.loop_residual(rows[1], q), abs=1e-15)
    first, second = (mz.loop_jacobian(x, q) for x in rows)
    assert first[0] == pytest.approx(second[0], abs=1e-14)
    assert first.T @ first == pytest.approx(second.T @ second, abs=1e-13)  # tangents may differ


def everything() -> mz.Model:
    """Every kind of closure on one tree."""
    builder = mz.Builder("all")
    builder.add("a", None, mz.Free(), body(), joint_name="free")
    builder.add("b", "a", mz.Revolute("y").between((0.1, 0.2, 0.3), None), body(), joint_name="b")
    builder.add("c", "b", mz.Universal().between((0.2, 0.0, 0.3), None), body(), joint_name="c")
    builder.add("d", None, mz.Prismatic("x"), body(), joint_name="d")
    builder.shape("c", mz.Torus(0.3, 0.05), pose(0.3, -0.2, 0.1, 0.05, 0.02, -0.04), name="wheel")
    builder.shape("d", mz.Plane(), pose(-0.1, 0.2, 0.4, 0.1, -0.1, 0.05), name="plate")
    model = builder.build().with_coupling("gear", {"b": 2.0, ("c", 1): -1.0})
    model = model.with_distance("rod", "c", None, (0.1, 0.0, 0.2), (1.0, 0.5, 0.2), 1.0)
    model = model.with_loop("hinge", "d", "b", mz.Revolute("x"), (0.1, 0.2, 0.0))
    model = model.with_rolling("rolls", "wheel", "plate")
    return model.with_velocity_rows("edge", lambda m, q: mz.jacobian(m, q, "c", "body")[[4, 1]])


def test_world_wrenches():
    """By name, at points of the world: in balance, and their power is that of the rows."""
    model = everything()
    q = mz.assemble(model, model.normalize(RNG.normal(size=model.nq)))
    lam = RNG.normal(size=model.row_count)
    found = mz.loop_wrenches(model, q, lam)
    A, C = mz.loop_jacobian(model, q), mz.forward_kinematics(model, q)
    assert set(found) == {"hinge", "rod", "gear", "rolls", "edge"}
    for name, (bodies, points, wrenches) in found.items():
        total = np.zeros(model.nv)
        lever, force = points, wrenches[:, 3:]
        about = wrenches[:, :3] + np.cross(lever, force)
        assert np.abs(np.concatenate([about.sum(0), force.sum(0)])).max() < 1e-8, name
        for other, p, W in zip(bodies, points, wrenches, strict=True):
            if other == "world":
                continue
            J = mz.jacobian(model, q, other, "hybrid")  # (ω, velocity of the origin)
            arm = p - C[model.index(other), :3, 3]
            total += J[:3].T @ (W[:3] + np.cross(arm, W[3:])) + J[3:].T @ W[3:]
        rows = mz.loop_rows(model)[name]
        assert total == pytest.approx(A[rows].T @ lam[rows], abs=1e-8), name
    contact = found["rolls"]
    assert contact.bodies == ("c", "d")
    assert contact.wrenches[:, :3] == pytest.approx(0.0, abs=1e-12)  # a force at the contact


# -- models that have such rows --


def test_models_are_data():
    """Equal rows make equal models, in any process; copies keep them, and parts take them along."""
    first, again = everything(), everything()
    assert first == again and first.digest == again.digest
    row = lambda m, q: mz.jacobian(m, q, "c", "body")[[4, 2]]
    other = everything().without_velocity_rows("edge").with_velocity_rows("edge", row)
    assert other != first
    assert first.with_gravity((0, 0, -1)).row_count == first.row_count == 5 + 1 + 1 + 3 + 2
    assert "rolls" not in mz.loop_rows(first.without_shape("wheel"))
    assert "rolls" not in mz.loop_rows(first.without_rolling("rolls"))
    assert "rollings=1, velocity_rows=1" in repr(first)


def test_refusals():
    builder = mz.Builder("cart").add("cart", None, mz.Free(), body())
    builder.shape("cart", mz.Box((1, 1, 1)), name="box").shape("cart", mz.Disc(0.2), name="wheel")
    builder.shape("cart", mz.Plane(), name="bed").shape(None, mz.Plane(), name="floor")
    builder.shape("cart", mz.Cylinder(0.2, 0.1), name="barrel")
    model = builder.build()
    rims = model.with_shape(None, mz.Disc(0.3), name="rim")
    with pytest.raises(mz.ModelError, match=r"'wheel' \(Disc\) and 'rim' \(Disc\) have no single"):
        rims.with_rolling("rolls", "wheel", "rim")
    for shape in ("box", "barrel"):
        with pytest.raises(mz.ModelError, match="no single point of contact that is known"):
            model.with_rolling("rolls", shape, "floor")
    with pytest.raises(mz.ModelError, match="both shapes are on one body"):
        model.with_rolling("rolls", "wheel", "bed")
    with pytest.raises(mz.ModelError, match="nothing rolls inside of 'floor'"):
        model.with_rolling("rolls", "wheel", "floor", inside=True)
    with pytest.raises(mz.ModelError, match="no shape 'wheeel'"):
        model.with_rolling("rolls", "wheeel", "floor")
    rolling = model.with_rolling("rolls", "wheel", "floor")
    with pytest.raises(mz.ModelError, match="has this name"):
        rolling.with_velocity_rows("rolls", lambda m, q: np.ones(6))
    with pytest.raises(mz.ModelError, match=r"returned shape \(2, 5\).* nv = 6"):
        model.with_velocity_rows("rows", lambda m, q: np.ones((2, 5)))
    with pytest.raises(mz.ModelError, match="cannot be traced"):
        model.with_velocity_rows("rows", lambda m, q: np.ones(6) * float(q[0]))
    with pytest.raises(mz.KindError, match=r"function is 3\.0; give a function"):
        model.with_velocity_rows("rows", 3.0)
    with pytest.raises(mz.ModelError, match="no rolling 'roll'"):
        rolling.without_rolling("roll")
    with pytest.raises(mz.ModelError, match="returned shape"):
        row = lambda m, q: np.ones(6)
        rows = model.with_velocity_rows("rows", row)
        mz.loop_jacobian(rows.with_body("more", "cart", mz.Revolute("x"), body()), np.ones(8))
