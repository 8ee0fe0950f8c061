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


def two_bodies(a, b) -> mz.Model:
    """Shape a on a free body, shape b on a body that moves too, at oblique placements."""
    builder = mz.Builder("pair")
    builder.add("arm", None, mz.Revolute("x"), body(2.0), joint_name="shoulder")
    builder.add("ground", "arm", mz.Revolute("y").between((0.1, 0.2, 0.3), None), body(3.0))
    builder.add("wheel", None, mz.Free(), body(), joint_name="free")
    builder.shape("wheel", a, pose(0.3, -0.2, 0.1, 0.05, 0.02, -0.04), name="a")
    builder.shape("ground", b, pose(-0.1, 0.2, 0.4, 0.1, -0.1, 0.05), name="b")
    return builder.build().with_rolling("contact", "a", "b")


PAIRS = [
    (mz.Sphere(0.2), mz.Plane()), (mz.Disc(0.3), mz.Plane()), (mz.Torus(0.3, 0.05), mz.Plane()),
    (mz.Ellipsoid((0.2, 0.3, 0.1)), mz.Plane()), (mz.Plane(), mz.Disc(0.3)),
    (mz.Sphere(0.2), mz.Sphere(0.5)), (mz.Torus(0.3, 0.05), mz.Sphere(0.5)),
    (mz.Sphere(0.2), mz.Cylinder(0.4, 2.0)), (mz.Sphere(0.1), mz.Torus(0.5, 0.1)),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda x: type(x).__name__)
def test_rows_are_rates(a, b):
    """Row 0 is the rate of the distance, also where shapes are apart, and A a + Ȧ v is the rate of
    all rows of A v, whatever the state; contact forces come in opposite pairs.
    """
    model = two_bodies(a, b)
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
