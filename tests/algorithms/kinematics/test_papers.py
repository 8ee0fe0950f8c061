"""Printed formulas of the papers, as they are and as they should be; the RCM arm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.kinematic_models import REPS, apart
from support.mechanics import agree, state, value

import mozzi as mz
from mozzi.lie import Twist, Vec3
from mozzi.model.generate import chain, rcm_arm

N = 4
MODEL = chain(N, seed=5)
Q, V, A, J3 = state(MODEL, 8)
TIP = MODEL.bodies[-1]


def columns(rep, body=TIP):
    """The columns J_{i,j} of a body's Jacobian, as twists."""
    J = value(mz.jacobian, MODEL, Q, body, rep)
    return [Twist.unflatten(map(float, c)) for c in J.T]


def total(terms) -> np.ndarray:
    out = Twist.zero()
    for t in terms:
        out = out + t
    return np.array(out.flatten(), dtype=float)


def body_jerk(diagonal: float) -> np.ndarray:
    """(13), with this factor at the terms k = r."""
    J, n = columns("body"), range(N)
    terms = [J[j] * J3[j] for j in n]
    for j in n:
        for k in range(j + 1, N):
            b = J[j].cross(J[k])
            terms += [b * (2 * A[j] * V[k]), b * (V[j] * A[k])]
            for r in range(k, N):
                factor = diagonal if k == r else 2.0
                terms.append(b.cross(J[r]) * (factor * V[j] * V[k] * V[r]))
    return total(terms)


def test_factor_in_the_body_jerk():
    """Dynamics (13): the last sum has the factor 2 for k < r and 1 for k = r."""
    truth = value(mz.jerks, MODEL, Q, V, A, J3, "body")[-1]
    agree(body_jerk(1.0), truth, 1e-12)
    assert apart(body_jerk(2.0), truth) > 1e-3  # as printed


def test_spatial_jerk_as_printed():
    """Dynamics (21) and (22) are right."""
    J, n = columns("spatial"), range(N)
    W = [Twist.unflatten(map(float, x)) for x in value(mz.twists, MODEL, Q, V, "spatial")]
    before = [Twist.zero(), *W[:-1]]
    first, second = [], []
    for j in n:
        c = W[j].cross(J[j])
        accel = Twist.zero()
        for k in range(j + 1):
            accel = accel + J[k] * A[k]
        common = [J[j] * J3[j], c * (2 * A[j])]
        mixed = (before[j] + W[j] - W[-1]).cross(c) * V[j]
        first += [*common, accel.cross(J[j]) * V[j], mixed]
        turned = c.cross(W[-1] - W[j] * 2.0) * V[j]
        second += [*common, turned, (accel + c * V[j]).cross(J[j]) * V[j]]
    truth = value(mz.jerks, MODEL, Q, V, A, J3, "spatial")[-1]
    agree(total(first), truth, 1e-12)
    agree(total(second), truth, 1e-12)


def linear(X: Twist) -> Twist:
    return Twist(Vec3.zero(), X.lin)


def angular(X: Twist) -> Twist:
    return Twist(X.ang, Vec3.zero())


def test_hybrid_partials_before_the_column():
    """Dynamics (25) holds for j ≤ k; for k < j it is [ωJ_k, J_j], which (26) and (28) leave out."""
    J = columns("hybrid")
    P = value(mz.jacobian_partials, MODEL, Q, TIP, 1, "hybrid")
    for j in range(N):
        for k in range(N):
            right = J[j].cross(linear(J[k])) if k >= j else angular(J[k]).cross(J[j])
            agree(P[:, j, k], right.array(), 1e-12)
    printed = [J[j] * A[j] for j in range(N)]
    for j in range(N):
        printed += [J[j].cross(linear(J[k])) * (V[j] * V[k]) for k in range(j, N)]
    before = [angular(J[k]).cross(J[j]) * (V[j] * V[k]) for j in range(N) for k in range(j)]
    truth = value(mz.accelerations, MODEL, Q, V, A, "hybrid")[-1]
    assert apart(total(printed), truth) > 1e-3
    agree(total(printed + before), truth, 1e-12)


def hybrid_pieces():
    C = value(mz.forward_kinematics, MODEL, Q)
    W = value(mz.twists, MODEL, Q, V, "hybrid")
    B = value(mz.accelerations, MODEL, Q, V, A, "hybrid")
    X = value(mz.joint_screws, MODEL, Q, "hybrid")
    return C, W, B, [Twist.unflatten(map(float, c)) for c in X.T]


def vec(x) -> Vec3:
    return Vec3(*map(float, x))


def shift(r: Vec3, X: Twist) -> Twist:
    """Ad_r X."""
    return Twist(X.ang, X.lin + r.cross(X.ang))


def test_hybrid_rate_and_jerk():
    """Dynamics (27): J̇ = (ad_ṙij + Ad_rij ad_ωj) X, with r_ij where r_{i,j−1} is printed; its last
    form needs the hybrid twist of body j. (30) and (31) are right."""
    C, W, B, X = hybrid_pieces()
    dJ = value(mz.jacobian_rate, MODEL, Q, V, TIP, "hybrid")
    zero, jerk = Vec3.zero(), []
    for j in range(N):
        r, dr, ddr = (vec(x[j] - x[-1]) for x in (C[:, :3, 3], W[:, 3:], B[:, 3:]))  # r_ij
        w, dw = (Twist(vec(x[j][:3]), zero) for x in (W, B))
        u, du = Twist(zero, dr), Twist(zero, ddr)
        rate = u.cross(X[j]) + shift(r, w.cross(X[j]))
        agree(dJ[:, j], rate.array(), 1e-12)
        twist_j = Twist.unflatten(map(float, W[j]))
        last = shift(r, twist_j.cross(X[j]) - linear(Twist(zero, vec(W[-1][3:]))).cross(X[j]))
        agree(dJ[:, j], last.array(), 1e-12)
        second = du.cross(X[j]) + u.cross(w.cross(X[j])) * 2.0  # (30)
        second = second + shift(r, dw.cross(X[j]) + w.cross(w.cross(X[j])))
        jerk += [shift(r, X[j]) * J3[j], rate * (2 * A[j]), second * V[j]]  # (31)
    agree(total(jerk), value(mz.jerks, MODEL, Q, V, A, J3, "hybrid")[-1], 1e-12)


def jerk_of_the_motion(h: float = 0.02) -> np.ndarray:
    """(ω̈, d³r/dt³) of the tip from nothing but its poses along q + v t + a t²/2 + j t³/6: the
    derivatives of polynomials through nine of them."""
    t = h * np.arange(-4, 5)
    poses = [
        value(mz.pose, MODEL, Q + x * V + x**2 / 2 * A + x**3 / 6 * J3, TIP)[:3].ravel() for x in t
    ]
    c = np.linalg.solve(np.vander(t / h, increasing=True), np.array(poses))
    R, dR, ddR, dddR = (
        (math.factorial(k) / h**k * c[k]).reshape(3, 4)[:, :3] for k in range(4)
    )
    spin = dddR @ R.T + 2.0 * ddR @ dR.T + dR @ ddR.T  # (Ṙ Rᵀ)¨
    third = (6.0 / h**3 * c[3]).reshape(3, 4)[:, 3]
    return np.r_[spin[2, 1], spin[0, 2], spin[1, 0], third]


def test_brackets_of_the_hybrid_jerk():
    """Dynamics (31), (32): q̇ belongs to ad_ω̇ + ad_ω ad_ω alone, inside the bracket behind Ad_r;
    outside, as printed, it multiplies 2 ad_ω q̈ as well. Against the motion itself."""
    C, W, B, X = hybrid_pieces()
    zero = Vec3.zero()
    inside, outside = [], []
    for j in range(N):
        r, dr, ddr = (vec(x[j] - x[-1]) for x in (C[:, :3, 3], W[:, 3:], B[:, 3:]))  # r_ij
        w, dw = (Twist(vec(x[j][:3]), zero) for x in (W, B))
        u, du = Twist(zero, dr), Twist(zero, ddr)
        wX = w.cross(X[j])
        first = shift(r, X[j]) * J3[j] + u.cross(X[j]) * (2 * A[j])
        first = first + (du.cross(X[j]) + u.cross(wX) * 2.0) * V[j]  # (31)
        turned = dw.cross(X[j]) + w.cross(wX)
        inside.append(first + shift(r, wX * (2 * A[j]) + turned * V[j]))
        outside.append(first + shift(r, wX * (2 * A[j]) + turned) * V[j])  # (32) as printed
    truth = jerk_of_the_motion()
    assert apart(total(inside), truth) < 1e-6
    assert apart(total(outside), truth) > 1e-2


def test_mixed_rates():
    """Dynamics (33): V̇ᵐ is diag(Rᵀ, 1) V̇ʰ; J̇ᵐ and V̈ᵐ are not: the rotation has a rate."""
    R = value(mz.pose, MODEL, Q, TIP)[:3, :3]
    w = value(mz.twists, MODEL, Q, V, "hybrid")[-1][:3]
    A_h, A_m = (value(mz.accelerations, MODEL, Q, V, A, r)[-1] for r in ("hybrid", "mixed"))
    B_h, B_m = (value(mz.jerks, MODEL, Q, V, A, J3, r)[-1] for r in ("hybrid", "mixed"))
    agree(A_m, [*(R.T @ A_h[:3]), *A_h[3:]], 1e-12)
    agree(B_m, [*(R.T @ (B_h[:3] - np.cross(w, A_h[:3]))), *B_h[3:]], 1e-12)
    assert apart(B_m[:3], R.T @ B_h[:3]) > 1e-3
    J = value(mz.jacobian, MODEL, Q, TIP, "hybrid")
    dJ_h, dJ_m = (value(mz.jacobian_rate, MODEL, Q, V, TIP, r) for r in ("hybrid", "mixed"))
    agree(dJ_m[:3], R.T @ (dJ_h[:3] - np.cross(w, J[:3].T).T), 1e-12)
    assert apart(dJ_m[:3], R.T @ dJ_h[:3]) > 1e-3


def test_mixed_recursion():
    """Kinematics (51), (52): the coupling block is r̃ R_{i−1}, where R_i is printed, and acts on
    the mixed column."""
    C = value(mz.forward_kinematics, MODEL, Q)
    W = value(mz.twists, MODEL, Q, V, "mixed")
    X = value(mz.joint_screws, MODEL, Q, "mixed")
    for i in range(1, N):
        R, R_p = C[i, :3, :3], C[i - 1, :3, :3]
        d = C[i - 1, :3, 3] - C[i, :3, 3]  # r_{i,i−1}
        own = X[:, i] * V[i]
        right = [*(R.T @ R_p @ W[i - 1, :3]), *(np.cross(d, R_p @ W[i - 1, :3]) + W[i - 1, 3:])]
        agree(right + own, W[i], 1e-12)
        assert apart(np.cross(d, R @ W[i - 1, :3]), np.cross(d, R_p @ W[i - 1, :3])) > 1e-3


def adjoint(C: np.ndarray) -> np.ndarray:
    R, (x, y, z) = C[:3, :3], C[:3, 3]
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.block([[R, np.zeros((3, 3))], [skew @ R, R]])


def ad(X: np.ndarray) -> np.ndarray:
    t = Twist.unflatten(map(float, X))
    return np.stack([t.cross(Twist.unflatten(map(float, e))).array() for e in np.eye(6)], axis=1)


def block_diagonal(blocks) -> np.ndarray:
    out = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)))
    r = c = 0
    for b in blocks:
        out[r : r + b.shape[0], c : c + b.shape[1]] = b
        r, c = r + b.shape[0], c + b.shape[1]
    return out


def body_matrices():
    C = value(mz.forward_kinematics, MODEL, Q)
    X = value(mz.joint_screws, MODEL, Q, "body")
    D = np.zeros((6 * N, 6 * N))
    for i in range(1, N):
        D[6 * i : 6 * i + 6, 6 * i - 6 : 6 * i] = adjoint(np.linalg.inv(C[i]) @ C[i - 1])
    return C, D, block_diagonal([X[:, [i]] for i in range(N)]), X


def test_system_rate_and_acceleration():
    """Dynamics (8), (9), (10), (11): J̇ = −A a J, V̇ = J q̈ − A a V, and q̈ from it."""
    _, D, X, x = body_matrices()
    carry = np.linalg.inv(np.eye(6 * N) - D)
    a = block_diagonal([V[i] * ad(x[:, i]) for i in range(N)])
    J = carry @ X
    agree(J, value(mz.system_jacobian, MODEL, Q, "body"), 1e-12)
    rate = [value(mz.jacobian_rate, MODEL, Q, V, b, "body") for b in MODEL.bodies]
    agree(-carry @ a @ J, np.concatenate(rate), 1e-12)
    dV = J @ A - carry @ a @ J @ V
    agree(dV.reshape(N, 6), value(mz.accelerations, MODEL, Q, V, A, "body"), 1e-12)
    solved = np.linalg.solve(X.T @ X, X.T @ ((np.eye(6 * N) - D) @ dV + a @ J @ V))  # (11)
    agree(solved, A, 1e-10)
    given = dV.reshape(N, 6)
    agree(value(mz.joint_accelerations, MODEL, Q, V, given), A, 1e-10)


def test_inverse_of_the_spatial_factor():
    """Kinematics (34): (A^sb)⁻¹ = (1 − D) diag(Ad⁻¹), where diag(Ad) is printed."""
    C, D, *_ = body_matrices()
    A, _ = mz.system_jacobian_factors(MODEL, Q, "spatial", "body")
    Ad = block_diagonal([adjoint(c) for c in C])
    one = np.eye(6 * N)
    agree((one - D) @ np.linalg.inv(Ad) @ A.matrix(), one, 1e-10)
    assert apart((one - D) @ Ad @ A.matrix(), one) > 1e-3


def test_joint_rates_of_inconsistent_twists():
    """Kinematics (26) is exact for twists that fit. For others it is not the pseudoinverse of (23):
    it minimises what each joint cannot explain of its own relative twist, not the residual."""
    _, D, X, _ = body_matrices()
    rng = np.random.default_rng(0)
    J = value(mz.system_jacobian, MODEL, Q, "body")
    noisy = J @ V + 0.1 * rng.normal(size=6 * N)
    printed = np.linalg.solve(X.T @ X, X.T @ ((np.eye(6 * N) - D) @ noisy))
    least = np.linalg.lstsq(J, noisy, rcond=None)[0]
    assert np.linalg.norm(J @ least - noisy) < np.linalg.norm(J @ printed - noisy) - 1e-3
    twists = noisy.reshape(N, 6)
    agree(value(mz.joint_rates, MODEL, Q, twists), least, 1e-10)
    agree(value(mz.joint_rates, MODEL, Q, twists, residual="relative"), printed, 1e-10)


def test_joint_rates_that_twists_do_not_tell():
    """A rod between two balls turns about itself by either: refused, and the least velocities with
    some regularization. What came was no solution.
    """
    ball, body = mz.Spherical(), mz.Inertia(1.0, (0, 0, 0), np.eye(3))
    b = mz.Builder("rod").add("rod", None, mz.Composite(ball, ball.between((1.0, 0, 0))), body)
    model = b.add("tip", "rod", mz.Revolute("z").between((1.0, 0, 0)), body).build()
    rng = np.random.default_rng(0)
    q, (v, a) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    twists, rates = mz.twists(model, q, v), mz.accelerations(model, q, v, a)
    words = "'rod' has 6 coordinates that move its body in 5 ways only, so twists determine no"
    with pytest.raises(mz.SingularError, match=words):
        mz.joint_rates(model, q, twists)
    with pytest.raises(mz.SingularError, match=words):
        mz.joint_accelerations(model, q, v, rates, residual="relative")
    found = mz.joint_rates(model, q, twists, regularization=1e-7)
    agree(mz.twists(model, q, found), twists, 1e-5)


@pytest.mark.parametrize("rep", REPS)
def test_joint_rates_with_weights(rep):
    """Weighted least squares in the coordinates of the representation, on a tree."""
    from support.kinematic_models import every_joint

    model = every_joint()
    q, v, a, _ = state(model, 1)
    rng = np.random.default_rng(0)
    J = value(mz.system_jacobian, model, q, rep)
    noisy = J @ v + 0.1 * rng.normal(size=6 * model.nb)
    w = rng.uniform(0.5, 2.0, size=(model.nb, 6))
    root = np.sqrt(w).ravel()
    least = np.linalg.lstsq(root[:, None] * J, root * noisy, rcond=None)[0]
    twists = noisy.reshape(model.nb, 6)
    agree(value(mz.joint_rates, model, q, twists, rep, w), least, 1e-9)
    exact_twists = (J @ v).reshape(model.nb, 6)
    for residual in ("absolute", "relative"):
        agree(value(mz.joint_rates, model, q, exact_twists, rep, None, residual), v, 1e-9)
    rates = value(mz.accelerations, model, q, v, a, rep)
    agree(value(mz.joint_accelerations, model, q, v, rates, rep), a, 1e-9)


# -- the RCM arm ----------------------------------------------------------------------------------

D2, D3, D4, D5, H4 = 0.51, 0.43, 0.92, 1.13, 0.31
X1, X2, X3, X4, X5 = 0.21, 0.12, 0.63, 0.84, 1.05
ARM = rcm_arm((D2, D3, D4, D5), H4, (X1, X2, X3, X4, X5), (0.11, 0.22, 0.16, 0.42, 0.33))
ANGLES = np.array([0.3, -0.7, 1.1, 0.4, -0.5])
Q1, Q2, Q3 = ANGLES[:3]


def c(*q: float) -> float:
    return math.cos(sum(q))


def s(*q: float) -> float:
    return math.sin(sum(q))


def test_rcm_pose():
    """C₃ of section 2.5 is right."""
    C = value(mz.pose, ARM, ANGLES, "body_3")
    x = -D2 * c(Q1) + (D2 + D3) * c(Q1, Q2) + (X3 - D3) * c(Q1, Q2, Q3)
    y = -D2 * s(Q1) + (D2 + D3) * s(Q1, Q2) + (X3 - D3) * s(Q1, Q2, Q3)
    agree(C[:3, 3], [x, y, 0.16], 1e-12)
    agree(C[0, :2], [c(Q1, Q2, Q3), -s(Q1, Q2, Q3)], 1e-12)


def test_rcm_spatial_screws():
    """J₁ˢ … J₄ˢ of section 3.6; J₃ˢ has s₂₃ where s₁₂ is meant."""
    J = value(mz.joint_screws, ARM, ANGLES, "spatial")
    agree(J[:, 0], [0, 0, 1, 0, 0, 0], 1e-12)
    agree(J[:, 1], [0, 0, 1, -D2 * s(Q1), D2 * c(Q1), 0], 1e-12)
    y = D2 * c(Q1) - (D2 + D3) * c(Q1, Q2)
    agree(J[:, 2], [0, 0, 1, (D2 + D3) * s(Q1, Q2) - D2 * s(Q1), y, 0], 1e-12)
    assert abs(J[3, 2] - ((D2 + D3) * s(Q2, Q3) - D2 * s(Q1))) > 1e-2
    a, b = s(Q1, Q2, Q3), c(Q1, Q2, Q3)
    x = (D2 + D3) * s(Q1, Q2) - D2 * s(Q1) + (D4 + H4 - D3) * a
    y = D2 * c(Q1) - (D2 + D3) * c(Q1, Q2) + (D3 - D4 - H4) * b
    z = D2 * s(Q2, Q3) - (D2 + D3) * s(Q3)
    agree(J[:, 3] * math.sqrt(2.0), [-b, -a, 1, x, y, z], 1e-12)


def test_rcm_body_jacobian():
    """J₃ᵇ of section 3.6: its first two columns, and its last two, are not what (16) gives."""
    J = value(mz.jacobian, ARM, ANGLES, "body_3", "body")
    first = [(D2 + D3) * s(Q3) - D2 * s(Q2, Q3),
             X3 - D3 + (D2 + D3) * c(Q3) - D2 * c(Q2, Q3)]  # fmt: skip
    agree(J[:, 0], [0, 0, 1, *first, 0], 1e-12)
    agree(J[:, 1], [0, 0, 1, (D2 + D3) * s(Q3), (D2 + D3) * c(Q3) + X3 - D3, 0], 1e-12)
    agree(J[:, 2], [0, 0, 1, 0, X3 - D3, 0], 1e-12)
    agree(J[:, 3:], np.zeros((6, 2)), 1e-12)
    printed_1 = [(D2 + D3) * s(Q2) + (X1 + X3 - D3) * s(Q2, Q3),
                 D2 - X1 - (D2 + D3) * c(Q2) + (D3 - X1 - X3) * c(Q2, Q3)]  # fmt: skip
    printed_2 = [s(Q3) * (X2 + X3 - D2 - D3), c(Q3) * (D2 + D3 - X2 - X3) - D3 - X2]
    assert np.abs(J[3:5, 0] - printed_1).min() > 1e-2
    assert np.abs(J[3:5, 1] - printed_2).min() > 1e-2
