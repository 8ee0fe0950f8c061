"""Screws as things: axis, pitch and magnitude, the reciprocal product, Mozzi's theorem."""

import math

import mpmath
import numpy as np
import pytest
from lie.sampling import Sampler

from mozzi.lie import SE3, Momentum, Screws, Twist, Vec3, Wrench


@pytest.mark.parametrize("kind", ["float", "batch", "mpmath"])
@pytest.mark.parametrize("cls", [Twist, Wrench, Momentum])
def test_a_screw_is_its_axis_pitch_and_magnitude(kind, cls):
    s = Sampler(kind)
    X = s.of(cls)
    e, p, h, w = X.axis()
    n, m = (X.ang, X.lin) if cls is Twist else (X.lin, X.ang)
    on_axis = m - p.cross(n)  # the other part at the point of the axis is along it
    for error in (
        e.dot(e) - 1.0, p.dot(e), *on_axis.cross(n).flatten(), *(on_axis - n * h).flatten(),
        *(n - e * w).flatten(), *(a - b for a, b in zip(cls.screw(*X.axis()).flatten(),
                                                       X.flatten(), strict=True)),
    ):  # fmt: skip
        assert np.max(np.abs(np.asarray(error, dtype=object))) < s.tolerance
    assert X.pitch() is not None and np.all(np.asarray(X.magnitude()) == np.asarray(w))


def test_the_axis_moves_with_the_frame_and_the_pitch_stays():
    s = Sampler("float", seed=1)
    for cls in (Twist, Wrench):
        X, T = s.of(cls), SE3.exp(s.twist())
        old, new = X.axis(), T.push(X).axis()
        assert new.pitch == pytest.approx(old.pitch) and new.magnitude == pytest.approx(
            old.magnitude
        )
        np.testing.assert_allclose(new.direction.array(), T.R.rotate(old.direction).array())
        carried = T @ old.point - new.point  # another point of the same line
        np.testing.assert_allclose(carried.cross(new.direction).array(), 0.0, atol=1e-12)


def test_infinite_pitch_small_screws_and_none():
    slide = Twist(Vec3.zero(), Vec3(0.0, 3.0, -4.0))
    assert slide.pitch() == math.inf and slide.magnitude() == 5.0
    assert Twist.screw(*slide.axis()).flatten() == pytest.approx(slide.flatten())
    couple = Wrench(Vec3(0.0, 3.0, -4.0), Vec3.zero())
    assert Wrench.screw(*couple.axis()).flatten() == pytest.approx(couple.flatten())
    assert Twist.zero().magnitude() == 0.0
    assert Twist.screw(*Twist.zero().axis()) == Twist.zero()
    rows = np.array([[1.0, 2.0, 2.0, 0.3, 0.1, 0.5], [0, 0, 0, 0, 2.0, 0], [0] * 6])
    batch = Twist.from_array(rows)  # finite, infinite and none, in one batch
    np.testing.assert_allclose(Twist.screw(*batch.axis()).array(), rows, atol=1e-15)
    tiny = Twist.from_array(rows[0] * 1e-200)
    assert tiny.pitch() == pytest.approx(Twist.from_array(rows[0]).pitch())


def test_mozzi():
    """Every displacement is a screw motion: points of the axis move along it by pitch · angle."""
    s = Sampler("float", seed=2)
    for _ in range(20):
        T = SE3.exp(s.twist())
        e, p, h, angle = T.axis()
        moved = T @ p - p - e * (h * angle)
        np.testing.assert_allclose(moved.array(), 0.0, atol=1e-12)
        np.testing.assert_allclose(T.R.rotate(e).array(), e.array(), atol=1e-12)
        trace = 1.0 + 2.0 * math.cos(angle)
        assert T.R.mat().array().trace() == pytest.approx(trace)
        again = SE3.exp(Twist.screw(*T.axis()))
        np.testing.assert_allclose(again.matrix(), T.matrix(), atol=1e-12)
    away = SE3.translation(0.0, 3.0, 4.0).axis()
    assert away.pitch == math.inf and away.magnitude == pytest.approx(5.0)


def test_reciprocal_screws_do_no_work():
    """Ball: h₁ + h₂ − d tan α = 0 for lines at the distance d and the angle α."""
    d, alpha, h1, h2 = 0.7, 0.4, 0.3, 0.2
    a = Twist.screw((1.0, 0.0, 0.0), pitch=h1)
    b = Twist.screw((math.cos(alpha), math.sin(alpha), 0.0), (0.0, 0.0, d), h2)
    expected = (h1 + h2) * math.cos(alpha) - d * math.sin(alpha)
    assert a.reciprocal(b) == pytest.approx(expected)
    W = Wrench(b.lin, b.ang)  # a wrench on the screw of b
    assert a.reciprocal(W) == W.reciprocal(a) == W.dot(a) == pytest.approx(expected)
    assert Twist.screw(*a.axis()).reciprocal(a) == pytest.approx(2.0 * h1)


def test_reciprocal_systems_do_no_work_and_come_back():
    s = Sampler("float", seed=3)
    for n in range(7):
        S = Screws(s.twist() for _ in range(n))
        R = S.reciprocal()
        assert len(R) == 6 - n and all(type(W) is Wrench for W in R)
        assert all(abs(W.dot(V)) < 1e-12 for W in R for V in S)
        if 0 < n < 6:
            back = np.array([V.floats() for V in R.reciprocal()])
            span = np.array([V.floats() for V in S])
            assert np.linalg.matrix_rank(np.vstack([back, span]), tol=1e-9) == n


def test_fifty_digits_of_a_nearly_pure_translation():
    """|ω| = 1e-12 beside |v| = 1: pitch and point are those of 50-digit arithmetic."""
    x = np.array([3e-13, -5e-13, 8e-13, 0.4, -0.7, 0.59])
    with mpmath.workdps(50):
        w, v = ([mpmath.mpf(float(e)) for e in part] for part in (x[:3], x[3:]))
        square = sum(e * e for e in w)
        pitch = sum(a * b for a, b in zip(w, v, strict=True)) / square
        point = [(w[(k + 1) % 3] * v[(k + 2) % 3] - w[(k + 2) % 3] * v[(k + 1) % 3]) / square
                 for k in range(3)]  # fmt: skip
    axis = Twist.from_array(x).axis()
    assert axis.pitch == pytest.approx(float(pitch), rel=1e-14)
    np.testing.assert_allclose(axis.point.array(), [float(e) for e in point], rtol=1e-14)
