"""Laws of exp, log, dexp, Cayley and quaternions on SO(3) and SE(3)."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lie.sampling import DIGITS, KINDS, Sampler, hat, transpose

from mozzi.lie import (
    SE3,
    Quaternion,
    Rotation,
    RotationZ,
    Twist,
    Vec3,
    cayley,
    cayley_inverse,
    dcayley,
    dcayley_inverse,
    dexp,
    dexp_dual,
    dexp_inverse,
    dexp_inverse_dual,
    dexp_inverse_rate,
    dexp_rate,
)  # fmt: skip

H = 1e-30  # the complex step


@pytest.fixture(params=KINDS)
def s(request):
    return Sampler(request.param, 1)


@pytest.fixture(params=[1e-9, 1e-3, 0.3, 0.7, 1.9, 3.1], ids=lambda a: f"angle {a}")
def angle(request):
    """The size of rotations, on either side of every branch."""
    return request.param


numbers = st.floats(-3.0, 3.0).filter(lambda x: x == 0.0 or abs(x) > 1e-100)
vectors = st.builds(Vec3, numbers, numbers, numbers)
twists = st.builds(Twist, vectors, vectors)
magnitudes = st.floats(-12.0, 0.49).map(lambda e: 10.0**e)


def wedge(X) -> np.ndarray:
    """[w] of a vector, the 4×4 matrix X̂ of a twist."""
    if type(X) is Vec3:
        return hat(X.array())
    top = np.concatenate([hat(X.ang.array()), X.lin.array()[..., None]], -1)
    return np.concatenate([top, 0 * top[..., :1, :]], -2)


def exp(X):
    return Rotation.exp(X) if type(X) is Vec3 else SE3.exp(X)


def step(X, Y):
    """X + i h Y."""
    return X + Y * (1j * H)


def derivative(function, X, Y) -> np.ndarray:
    """The derivative of an array-valued function of X along Y, by a complex step."""
    return np.imag(function(step(X, Y)).array()) / H


def sized(s: Sampler, angle: float, kind=Vec3):
    """A rotation vector or a twist whose rotation has this angle."""
    w = s.vec()
    w = w * (angle / math.sqrt(w.dot(w)))
    return w if kind is Vec3 else Twist(w, s.vec())


def as_mp(x):
    return type(x).unflatten(mpmath.mpf(e) for e in x.flatten())


GROUPS = pytest.mark.parametrize("kind", [Vec3, Twist], ids=["SO3", "SE3"])


@GROUPS
def test_exp_is_the_matrix_exponential(kind, angle):
    """To 50 digits, at all sizes."""
    X = as_mp(sized(Sampler("float"), angle, kind))
    mpmath.mp.dps = DIGITS
    with mpmath.workdps(DIGITS + 15):
        reference = np.array(mpmath.expm(mpmath.matrix(wedge(X).tolist())).tolist())
    assert np.max(np.abs(exp(X).array() - reference)) < mpmath.mpf(10) ** (1 - DIGITS)


def test_exp_of_multiples(s):
    """exp((a + b) X) = exp(a X) exp(b X), with known and with unknown axes; exp(−X) = exp(X)⁻¹."""
    X, a, b = s.twist(), s.scalar(), s.scalar()
    for Y in (X, Twist(Vec3(0.3, -0.2, 0.9), X.lin), Twist(Vec3.zero(), X.lin)):
        assert s.close(SE3.exp(Y, a + b), SE3.exp(Y, a) @ SE3.exp(Y, b), 100.0)
        assert s.close(SE3.exp(Y, -a) @ SE3.exp(Y, a), np.eye(4), 100.0)


def test_exp_of_known_axes_is_exp(angle):
    """The form for known axes agrees with the general one."""
    X, t = sized(Sampler("float"), angle, Twist), 0.6
    general = SE3.exp(Twist(Vec3(*(np.array([e]) for e in X.ang)), X.lin), t)
    assert np.allclose(SE3.exp(X, t).array(), general.array()[0], rtol=1e-14, atol=1e-15)


def test_exp_commutes_with_adjoint(s):
    """T exp(X) T⁻¹ = exp(Ad_T X).  Müller, Kinematics (76)."""
    T, X = s.pose(), s.twist()
    assert s.close(T @ SE3.exp(X) @ T.inverse(), SE3.exp(T.push(X)), 100.0)


def test_screw_motions(s):
    """Müller, Kinematics (67), (69), (70): axis, point, pitch, and the translation at pitch ∞."""
    e, p, pitch, phi = (2 / 7, -3 / 7, 6 / 7), s.vec(), s.scalar(), s.scalar()
    T = SE3.exp(Twist.screw(e, p, pitch), phi)
    tolerance = Sampler("float")  # the axis is a unit vector in double precision only
    R = Rotation.exp(Vec3(*e) * phi)
    assert tolerance.close(T.R, R)
    assert tolerance.close(T.p, p - R @ p + Vec3(*e) * (phi * pitch), 10.0)
    assert tolerance.close(T @ (p + Vec3(*e) * 3.0), p + Vec3(*e) * (3.0 + phi * pitch), 10.0)
    slide = SE3.exp(Twist.screw(e, p, math.inf), phi)
    assert Rotation.identity() == slide.R and s.close(slide.p, Vec3(*e) * phi)
    assert tolerance.close(Rotation.about(Vec3(*e), phi), R)


def test_exp_of_log(s):
    """exp(log T) = T, and the logarithm of a rotation about z is one."""
    T = s.pose()
    assert s.close(SE3.exp(T.log()), T, 10.0)
    if "complex" not in s.kind:
        Z = SE3(s.rotation_z(), s.vec())
        assert Z.log().ang.x == Z.log().ang.y == 0.0
        assert s.close(SE3.exp(Z.log()), Z, 10.0)


@given(vectors, magnitudes, vectors, magnitudes)
def test_log_of_exp(w, angle, v, length):
    """log(exp X) = X below π, rotation and translation of any sizes."""
    size = math.hypot(*w)
    w = w * (angle / size) if size > 1e-30 else Vec3.zero()
    v = v * length
    X = SE3.exp(Twist(w, v)).log()
    conditioning = 1.0 / max(1e-3, math.pi - angle)
    assert np.allclose(X.ang.array(), w.array(), rtol=1e-13, atol=1e-15 * angle * conditioning)
    assert np.allclose(X.lin.array(), v.array(), rtol=1e-13, atol=1e-14 * math.hypot(*v))


def half_turns():
    for axis in np.vstack([np.eye(3), -np.eye(3), np.random.default_rng(0).normal(size=(40, 3))]):
        yield axis / np.linalg.norm(axis)
    yield from (
        np.array(a) / math.sqrt(2) for a in ((1, 1, 0), (1, -1, 0), (0, -1, 1), (-1, 0, -1))
    )


@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-12, 1e-9, 1e-6])
def test_log_near_half_turns(gap):
    """The axis is recovered next to π, and at π up to sign: its largest entry is positive."""
    for e in half_turns():
        with mpmath.workdps(DIGITS):
            w = as_mp(Vec3(*e)) * (mpmath.pi - mpmath.mpf(gap))
            R = Rotation.from_array(Rotation.exp(w).array().astype(float))
            found, expected = R.log().array(), w.array().astype(float)
        if gap < 1e-14:
            expected = expected * np.sign(expected @ found)
        assert np.allclose(found, expected, rtol=0, atol=4e-15)
    for k in range(3):
        diagonal = 2 * np.eye(3)[k] - 1  # exactly a half turn about a coordinate axis
        found = Rotation.from_array(np.diag(diagonal)).log().array()
        assert np.array_equal(found, math.pi * np.eye(3)[k])
    swap = Rotation(0.0, -1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, -1.0).log().array()
    assert np.allclose(swap, math.pi / math.sqrt(2) * np.array([1, -1, 0]))


@GROUPS
def test_dexp_is_the_differential(kind, angle):
    """Ṫ T⁻¹ = dexp(X, Ẋ) and T⁻¹ Ṫ = dexp(−X, Ẋ).  Müller, Dynamics (89)."""
    s = Sampler("float")
    X, Y = sized(s, angle, kind), s.of(kind)
    T, T_dot = exp(X).array(), derivative(exp, X, Y)
    inverse = np.linalg.inv(T)
    assert s.close(T_dot @ inverse, wedge(dexp(X, Y)))
    assert s.close(inverse @ T_dot, wedge(dexp(-X, Y)))


@GROUPS
def test_dexp_is_its_series(kind, angle):
    """dexp(X, Y) = Σ adᵏ Y / (k + 1)! to 50 digits."""
    s = Sampler("mpmath", 2)
    X, Y = as_mp(sized(Sampler("float"), angle, kind)), s.of(kind)
    term, total = Y, Y
    for k in range(2, 90):
        term = X.cross(term) * (mpmath.mpf(1) / k)
        total = total + term
    assert s.close(dexp(X, Y), total)
    assert s.close(dexp_inverse(X, total), Y)


@GROUPS
def test_dexp_inverse(kind, s):
    """dexp_inverse(X, dexp(X, Y)) = Y."""
    X, Y = s.of(kind), s.of(kind)
    assert s.close(dexp_inverse(X, dexp(X, Y)), Y, 100.0)


@GROUPS
@pytest.mark.parametrize("pair", [(dexp, dexp_rate), (dexp_inverse, dexp_inverse_rate)])
def test_rates(kind, pair, angle):
    """The rates are directional derivatives: by complex step, and to 25 digits."""
    function, rate = pair
    s = Sampler("float", 5)
    X, X_dot, Y = sized(s, angle, kind), s.of(kind), s.of(kind)
    found = rate(X, X_dot, Y)
    assert s.close(found, derivative(lambda X: function(X, Y), X, X_dot), 1.0)
    mpmath.mp.dps = DIGITS
    X, X_dot, Y, h = as_mp(X), as_mp(X_dot), as_mp(Y), mpmath.mpf(10) ** -15
    change = (function(X + X_dot * h, Y) - function(X - X_dot * h, Y)) * (1 / (2 * h))
    assert np.max(np.abs(rate(X, X_dot, Y).array() - change.array())) < 1e-25


def test_duals(s):
    """⟨dexpᵀ W, Y⟩ = ⟨W, dexp Y⟩, of wrenches and momenta."""
    X, Y = s.twist(), s.twist()
    for W in (s.wrench(), s.momentum()):
        for function, dual in ((dexp, dexp_dual), (dexp_inverse, dexp_inverse_dual)):
            assert type(dual(X, W)) is type(W)
            assert s.close(dual(X, W).dot(Y), W.dot(function(X, Y)), 100.0)


@GROUPS
def test_cayley(kind, s):
    """cay(X) = (1 − X̂/2)⁻¹ (1 + X̂/2), its inverse, its differential, and the inverse of that."""
    X, Y = s.of(kind), s.of(kind)
    T = cayley(X)
    n = 3 if kind is Vec3 else 4
    half = wedge(X) * 0.5
    assert s.close((np.eye(n) - half) @ T.array(), np.eye(n) + half, 10.0)
    assert s.close(cayley_inverse(T), X, 10.0)
    assert s.close(dcayley_inverse(X, dcayley(X, Y)), Y, 10.0)
    assert s.close((np.eye(n) - half) @ wedge(dcayley(X, Y)) @ (np.eye(n) + half), wedge(Y), 10.0)


@GROUPS
def test_dcayley_is_the_differential(kind):
    """Ṫ T⁻¹ = dcayley(X, Ẋ)."""
    s = Sampler("float")
    X, Y = s.of(kind), s.of(kind)
    T_dot = derivative(cayley, X, Y)
    assert s.close(T_dot @ np.linalg.inv(cayley(X).array()), wedge(dcayley(X, Y)))


def test_cayley_of_rotations_about_z(s):
    """The short form has the same parameters."""
    Z = s.rotation_z()
    assert s.close(cayley(cayley_inverse(Z)), Z, 100.0)


@given(twists)
def test_cayley_touches_exp(X):
    """cay(h X) − exp(h X) = O(h³)."""
    small = [np.abs(cayley(X * h).array() - SE3.exp(X * h).array()).max() for h in (1e-2, 5e-3)]
    assert small[1] <= small[0] / 7.5 + 1e-15


def test_quaternions(s):
    """The double cover: products, inverses, exp, log, action, rate."""
    v, w, u = s.vec(), s.vec(), s.vec()
    p, q = Quaternion.exp(v), Quaternion.exp(w)
    R = Rotation.from_quaternion
    assert s.close(R(p), Rotation.exp(v)) and s.close(R(-p), R(p))
    assert s.close(R(p @ q), R(p) @ R(q)) and s.close(q @ u, R(q) @ u, 10.0)
    assert s.close(q.conjugate() @ q, Quaternion.identity())
    assert s.close(R(R(q).quaternion()), R(q))
    assert s.close(Rotation.exp(q.log()), R(q), 10.0)
    assert s.close(Quaternion(*(q.array()[..., i] * 3.0 for i in range(4))).normalized(), q)
    assert s.close(q.slerp(p, 0.0), q)
    assert s.close(R(q.slerp(p, 1.0)), R(p), 10.0)


def test_quaternion_rate():
    """q̇ = q.rate(ω) for Ṙ = R [ω]."""
    s = Sampler("float")
    w, omega = s.vec(), s.vec()
    path = lambda t: Quaternion.exp(w) @ Quaternion.exp(omega * t)
    rate = np.imag(path(1j * H).array()) / H
    assert s.close(rate, Quaternion.exp(w).rate(omega))


@given(vectors.filter(lambda w: math.hypot(*w) < 3.1))
def test_quaternion_of_rotation(w):
    """R ↦ q is robust everywhere, with w ≥ 0."""
    R = Rotation.exp(w)
    q = R.quaternion()
    assert q.w >= 0.0 and abs(np.linalg.norm(q.array()) - 1.0) < 1e-15
    assert np.allclose(q.array(), Quaternion.exp(w).array(), rtol=0, atol=2e-15)
    assert RotationZ.angle(w.x).quaternion() == RotationZ.angle(w.x).general().quaternion()


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-12, 1e-4, 0.4, 0.6, 1.8, 3.1, 3.14159265])
def test_complex_steps_through_everything(angle):
    """Derivatives of exp, log and dexp along tiny complex steps are those of the laws."""
    s = Sampler("float", 3)
    e, Y = Vec3(0.6, 0.0, -0.8), s.twist()
    X = Twist(e * angle, s.vec())
    spatial = derivative(SE3.exp, X, Y) @ np.linalg.inv(SE3.exp(X).array())
    assert s.close(spatial, wedge(dexp(X, Y)))
    if angle < 3.1:
        back = derivative(lambda X: SE3.exp(X).log(), X, Y)
        assert s.close(back, Y, 10.0)
        q = derivative(lambda X: Quaternion.exp(X.ang).log(), X, Y)
        assert s.close(q, Y.ang)
    rate = derivative(lambda X: dexp_inverse(X, Y), X, Y)
    assert s.close(rate, dexp_inverse_rate(X, Y, Y))


def test_identity_is_regular():
    """exp(0) = 1, log(1) = 0, dexp(0) = 1, exactly."""
    zero = Twist.zero()
    batch = Twist(Vec3(*(np.zeros(2),) * 3), Vec3(*(np.zeros(2),) * 3))
    Y = Sampler("float").twist()
    for X in (zero, batch):
        assert np.all(SE3.exp(X).array() == np.eye(4))
        assert np.all(SE3.exp(X).log().array() == 0.0)
        assert np.all(dexp(X, Y).array() == Y.array())
        assert np.all(dexp_inverse(X, Y).array() == Y.array())
    assert np.all(transpose(SE3.identity().Ad()) == np.eye(6))
