"""Laws of the spatial types, over floats, batches, 50-digit and complex numbers."""

import itertools

import numpy as np
import pytest
from lie.sampling import KINDS, Sampler, adjoint, hat, small_adjoint, times, transpose

from mozzi.lie import (
    SE3,
    ArticulatedInertia,
    Inertia,
    Mat3,
    Momentum,
    Quaternion,
    Rotation,
    RotationZ,
    Screws,
    Sym3,
    Twist,
    Vec3,
    Wrench,
    inverse_spd,
    solve_spd,
)  # fmt: skip

CLASSES = (
    Vec3, Sym3, Mat3, Rotation, RotationZ, Quaternion, SE3, Twist, Wrench, Momentum, Inertia,
    ArticulatedInertia,
)  # fmt: skip


@pytest.fixture(params=KINDS)
def s(request):
    return Sampler(request.param)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_flatten_and_array_are_inverted(s, cls):
    """unflatten ∘ flatten = 1, from_array ∘ array = 1."""
    x = s.rotation_z() if cls is RotationZ else s.of(cls)
    scalars = x.flatten()
    assert len(scalars) == cls.SIZE
    assert cls.unflatten(scalars).flatten() == scalars
    assert s.close(cls.from_array(x.array()), x)


def test_arrays_broadcast_structural_zeros():
    """A batch in one entry is a batch in all of them."""
    assert Vec3(0.0, np.ones(3), 2.0).array().shape == (3, 3)
    assert SE3(RotationZ.angle(np.zeros((2, 1))), Vec3(np.ones(4), 0.0, 0.0)).array().shape == (
        2, 4, 4, 4,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"\(5,\) does not end in \(3,\)"):
        Vec3.from_array(np.zeros(5))


def test_vectors_and_matrices(s):
    """Vec3, Sym3, Mat3 are what NumPy says they are."""
    a, b, S, A, B = s.vec(), s.vec(), s.sym(), s.mat(), s.mat()
    k = s.scalar()
    x, y, M, N, O = (q.array() for q in (a, b, S, A, B))
    assert s.close(a.dot(b), (x * y).sum(-1))
    assert s.close(a.cross(b), np.cross(x, y))
    assert s.close(a.outer(b), x[..., :, None] * y[..., None, :])
    assert s.close(a.squared(), x[..., :, None] * x[..., None, :])
    assert s.close(a.hat() @ b, np.cross(x, y))
    assert s.close(a.hat().vee(), a)
    for p, q in ((a, x), (S, M), (A, N)):
        unit = np.asarray(k)[..., None] if q is x else np.asarray(k)[..., None, None]
        assert s.close(p + p - p * 0.5, 1.5 * q)
        assert s.close(p * k, q * unit) and s.close(k * p, q * unit) and s.close(-p, -q)
    assert s.close(S @ a, times(M, x)) and s.close(A @ a, times(N, x))
    assert s.close(A @ B, N @ O) and s.close(A @ S, N @ M)
    assert s.close(A.T, transpose(N)) and s.close(A.sym(), (N + transpose(N)) / 2)
    assert s.close(Sym3.from_array(M), S)


def test_rotations(s):
    """RᵀR = 1, det R = 1, and the short form acts as the long one."""
    R, Z, v = s.rotation(), s.rotation_z(), s.vec()
    eye = np.eye(3)
    assert s.close(R.T @ R, eye) and s.close(Z.T @ Z, eye)
    x, y, z = R.mat().rows()
    assert s.close(x.cross(y), z)
    long = Z.general()
    assert s.close(Z @ v, long @ v) and s.close(Z.unrotate(v), long.T @ v)
    assert s.close(Z @ R, long @ R) and s.close(R @ Z, R @ long)
    assert s.close(Z @ Z, long @ long) and s.close(Rotation.identity() @ R, R)
    assert s.close(R.unrotate(v), R.T @ v)


def structured(s):
    """Signed permutations, and rotations about coordinate axes up to signed permutations."""
    turned = s.rotation_z()
    for i, j, e, z in itertools.product(
        range(3), range(3), (1.0, -1.0), (RotationZ(0.0, 1.0), turned)
    ):
        R = [0.0] * 9
        i0, i1, j0, j1 = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
        R[3 * i + j] = e
        R[3 * i0 + j0], R[3 * i1 + j0], R[3 * i0 + j1], R[3 * i1 + j1] = z.c, z.s, -e * z.s, e * z.c
        yield Rotation(*R)


def test_congruence(s):
    """R.congruence(A) = R A Rᵀ, also where the entries of R are known."""
    S, A = s.sym(), s.mat()
    for R in (s.rotation(), s.rotation_z(), Rotation.identity(), *structured(s)):
        M = R.array()
        assert s.close(R.congruence(S), M @ S.array() @ transpose(M))
        assert s.close(R.congruence(A), M @ A.array() @ transpose(M))


def test_poses_are_a_group(s):
    """Associativity, identity, inverse; (T U) p = T (U p)."""
    T, U, W, p = s.pose(), s.pose_z(), s.pose(), s.vec()
    assert s.close((T @ U) @ W, T @ (U @ W))
    assert s.close(T @ SE3.identity(), T) and s.close(SE3.identity() @ T, T)
    assert s.close(T @ T.inverse(), np.eye(4)) and s.close(U.inverse() @ U, np.eye(4))
    assert s.close((T @ U) @ p, T @ (U @ p))
    assert s.close((T @ U).matrix(), T.matrix() @ U.matrix())
    assert s.close(SE3.from_matrix(T.R.array(), T.p.array()), T)


def test_adjoint_is_a_homomorphism(s):
    """Ad(T U) = Ad(T) Ad(U), Ad(T⁻¹) = Ad(T)⁻¹;  Kim (7), Müller, Kinematics (73), (74)."""
    T, U = s.pose(), s.pose_z()
    assert s.close(T.Ad(), adjoint(T)) and s.close(U.Ad(), adjoint(U))
    assert s.close((T @ U).Ad(), T.Ad() @ U.Ad())
    assert s.close(T.inverse().Ad() @ T.Ad(), np.eye(6))
    assert s.close(T.Ad_dual(), transpose(adjoint(T)))


def test_push_and_pull(s):
    """push is Ad on twists and Ad* of the inverse on wrenches; pull is the inverse of push."""
    for T in (s.pose(), s.pose_z(), SE3(s.rotation_z(), Vec3.zero())):
        X, Xi = adjoint(T), adjoint(T.inverse())
        V, W, P, S = s.twist(), s.wrench(), s.momentum(), s.screws(3)
        assert s.close(T.push(V), times(X, V.array())) and s.close(T.pull(V), times(Xi, V.array()))
        assert s.close(T.push(W), times(transpose(Xi), W.array()))
        assert s.close(T.pull(W), times(transpose(X), W.array()))
        assert s.close(T.pull(P), times(transpose(X), P.array()))
        assert s.close(T.push(S), X @ S.array()) and s.close(T.pull(S), Xi @ S.array())
        for x in (V, W, P, S, s.inertia(), s.articulated()):
            assert type(T.push(x)) is type(x)
            assert s.close(T.pull(T.push(x)), x)


def test_power_is_invariant(s):
    """⟨push W, push V⟩ = ⟨W, V⟩;  ⟨ad* W, V⟩ = ⟨W, ad V⟩."""
    T, V, U, W, P = s.pose(), s.twist(), s.twist(), s.wrench(), s.momentum()
    assert s.close(T.push(W).dot(T.push(V)), W.dot(V)) and s.close(V.dot(P), P.dot(V))
    assert s.close(U.cross(W).dot(V), -1.0 * W.dot(U.cross(V)))


def test_brackets(s):
    """ad as matrices (Kim (27), (29)), Jacobi, and that push is a homomorphism of them."""
    T, U, V, X, W, S = s.pose(), s.twist(), s.twist(), s.twist(), s.wrench(), s.screws(2)
    assert s.close(U.ad(), small_adjoint(U)) and s.close(U.ad_dual(), transpose(small_adjoint(U)))
    assert s.close(U.cross(V), times(U.ad(), V.array()))
    assert s.close(U.cross(W), times(-1 * U.ad_dual(), W.array()))
    assert s.close(U.cross(S), U.ad() @ S.array())
    assert type(U.cross(s.momentum())) is Wrench
    jacobi = U.cross(V.cross(X)) + V.cross(X.cross(U)) + X.cross(U.cross(V))
    assert s.close(jacobi, np.zeros(6))
    assert s.close(T.push(U.cross(V)), T.push(U).cross(T.push(V)))
    assert s.close(T.push(U.cross(W)), T.push(U).cross(T.push(W)))


def test_unlike_types_do_not_mix():
    """Errors name both types."""
    V, W, P, one = Twist.zero(), Wrench.zero(), Momentum.zero(), Inertia.zero()
    for action, words in (
        (lambda: V + W, "add a Twist and a Wrench"),
        (lambda: W - P, "subtract a Wrench and a Momentum"),
        (lambda: W.dot(P), "pair a Wrench and a Momentum"),
        (lambda: V.cross(one), "cross a Twist and a Inertia"),
        (lambda: one + V, "add an Inertia and a Twist"),
        (lambda: one @ W, "an Inertia acts on a Twist, not on a Wrench"),
        (lambda: one.articulated() @ P, "acts on a Twist, not on a Momentum"),
        (lambda: one.articulated() + W, "add an ArticulatedInertia and a Wrench"),
        (lambda: one - V, "subtract a Twist from an Inertia"),
        (lambda: one.articulated() - V, "subtract a Twist from an ArticulatedInertia"),
        (lambda: Screws([V]) + V, "add a Screws and a Twist"),
    ):
        with pytest.raises(TypeError, match=words):
            action()
    for a, b in ((Vec3.zero(), Sym3.zero()), (Mat3.zero(), Sym3.zero()), (V, V)):
        with pytest.raises(TypeError):
            a * b
    with pytest.raises(ValueError, match="2 screws do not go with 1 coefficients"):
        Screws([V, V]) @ [1.0]
    assert type(P.rate()) is Wrench


def test_inertia(s):
    """I V, the parallel-axis law, 6×6, ten parameters, pseudo-inertia: one inertia."""
    V, A, T = s.twist(), s.twist(), s.pose()
    m, c, C = s.scalar(), s.vec(), s.sym()
    inertia = Inertia(m, c, C)
    eye, mass = np.eye(3), np.asarray(m)[..., None, None]
    cc = hat(c.array())
    block = np.concatenate(
        [
            np.concatenate([C.array() - mass * (cc @ cc), mass * cc], -1),
            np.concatenate([-mass * cc, mass * eye + 0 * cc], -1),
        ],
        -2,
    )
    assert s.close(inertia.matrix(), block)
    assert s.close(inertia @ V, times(block, V.array()))
    assert s.close(inertia @ Screws([V, A]), block @ Screws([V, A]).array())
    assert s.close(Inertia.from_matrix(block), inertia)
    assert Inertia.from_parameters(inertia.parameters()) == inertia or s.kind.endswith("batch")
    assert s.close(inertia.com(), c, 10.0) and s.close(inertia.at_com(), C, 100.0)
    assert s.close(Inertia.from_pseudo(inertia.pseudo()), inertia)
    assert s.close(T.push(inertia).pseudo(), T.matrix() @ inertia.pseudo() @ transpose(T.matrix()))
    other = s.inertia()
    assert s.close(inertia + other - other, inertia) and s.close(inertia * 2.0 + -inertia, inertia)
    assert s.close((inertia @ A).rate() + V.cross(inertia @ V), inertia.wrench(V, A), 10.0)


def test_inertia_moves_by_congruence(s):
    """push(I) = Ad(T⁻¹)ᵀ I Ad(T⁻¹), Kim (21), of rigid and of articulated inertias."""
    for T in (s.pose(), s.pose_z(), SE3(s.rotation_z(), Vec3.zero())):
        X, Xi = adjoint(T), adjoint(T.inverse())
        for inertia in (s.inertia(), s.articulated()):
            M = inertia.matrix()
            assert s.close(T.push(inertia), transpose(Xi) @ M @ Xi, 10.0)
            assert s.close(T.pull(inertia), transpose(X) @ M @ X, 10.0)


def test_articulated_inertia(s):
    """It adds and acts as its 6×6 matrix."""
    IA, inertia, V = s.articulated(), s.inertia(), s.twist()
    M, N = IA.matrix(), inertia.matrix()
    assert s.close(IA @ V, times(M, V.array()))
    assert s.close(IA + inertia, M + N) and s.close(inertia + IA, M + N)
    assert s.close(IA - inertia, M - N) and s.close(IA + IA, 2 * M)
    assert s.close(inertia.articulated(), N) and s.close(-(IA * 2.0), -2 * M)
    assert s.close(ArticulatedInertia.from_matrix(M), IA)


@pytest.mark.parametrize("units", [(2,), (5,), (0, 1), (0, 1, 2), (2, 3, 4), tuple(range(6)), None])
def test_projection(s, units):
    """(I − U D⁻¹ Uᵀ) S = 0, with exact zeros where S is made of basis vectors."""
    IA = s.articulated()
    S = s.screws(2)
    if units:
        S = Screws(Twist.unflatten(float(i == k) for i in range(6)) for k in units)
    U = IA @ S
    D = S.T @ U
    P = IA.project(S, U, inverse_spd(D))
    M, N, B = IA.matrix(), S.array(), U.array()
    inverse = np.array(inverse_spd(D))
    inverse = np.moveaxis(inverse, (0, 1), (-2, -1)) if inverse.ndim > 2 else inverse
    assert s.close(P, M - B @ inverse @ transpose(B), 100.0)
    assert s.close(P @ S, 0 * N, 100.0)
    n = 6 - len(units or ())
    zeros = [e for e in P.flatten() if type(e) is float and e == 0.0]
    assert len(zeros) == 21 - n * (n + 1) // 2


def test_screws(s):
    """S v = Σ Sₖ vₖ and Sᵀ W = (Sₖ · W)."""
    S, W = s.screws(3), s.wrench()
    v = [s.scalar() for _ in range(3)]
    A = S.array()
    assert s.close(S @ v, times(A, np.stack(v, -1)))
    assert s.close(np.stack(S.T @ W, -1), times(transpose(A), W.array()))
    pairs = S.T @ Screws([W, W])
    assert len(pairs) == 3 and len(pairs[0]) == 2 and s.close(pairs[1][0], S[1].dot(W))
    assert s.close(
        S @ [(x, 2.0 * x) for x in v], np.stack([(S @ v).array(), 2 * (S @ v).array()], -1)
    )
    assert s.close(S + S - S, S) and s.close(-S, -A)
    assert s.close(Screws.unflatten(S.flatten()), S) and s.close(Screws.from_array(A), S)
    assert len(S) == 3 and S.size == 18 and [c is d for c, d in zip(S, S.columns)] == [True] * 3
    assert Screws([]).array().shape == (6, 0) and (Screws([]) @ []) == Twist.zero()


@pytest.mark.parametrize("n", range(1, 7))
def test_small_positive_definite(s, n):
    """D D⁻¹ = 1 and D (D⁻¹ b) = b."""
    B = [[s.scalar() * 0.2 for _ in range(n)] for _ in range(n)]
    D = [[B[i][j] + B[j][i] + (3.0 if i == j else 0.0) for j in range(n)] for i in range(n)]
    inverse = inverse_spd(D)
    for i, j in itertools.product(range(n), range(n)):
        assert s.close(sum(D[i][k] * inverse[k][j] for k in range(n)), float(i == j), 10.0)
        assert inverse[i][j] is inverse[j][i]
    b = [s.scalar() for _ in range(n)]
    (x,) = solve_spd(D, [b])
    for i in range(n):
        assert s.close(sum(D[i][k] * x[k] for k in range(n)), b[i], 10.0)


def test_physical_consistency():
    """Principal moments satisfy the triangle inequality  ⇔  the pseudo-inertia is ≥ 0."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        a, b = rng.uniform(0.1, 1.0, 2)
        c = rng.uniform(0.0, 2.2) * (a + b) / 2
        R = Rotation.exp(Vec3(*rng.normal(size=3)))
        body = Inertia(
            rng.uniform(0.1, 3), rng.normal(size=3), R.congruence(Sym3.diagonal(a, b, c))
        )
        least = np.linalg.eigvalsh(body.pseudo())[0]
        if abs(least) > 1e-6:
            assert body.consistent() == (least > 0)
    rod = Inertia(1.0, (5.0, 0.0, 0.0), np.diag([0.0, 1.0, 1.0]))
    assert rod.consistent()
    negative = Inertia.from_parameters([-1.0, 0, 0, 0, 1, 0, 0, 1, 0, 1])
    assert "mass -1 is not positive" in negative.defects()[0]
    assert "5 ≤ 1 + 1" in Inertia(1.0, (0, 0, 0), np.diag([1.0, 5.0, 1.0])).defects()[0]
    assert "-1 is negative" in Inertia(1.0, (0, 0, 0), np.diag([1.0, -1.0, 1.0])).defects()[0]
    assert "not all finite" in Inertia(np.inf, (0, 0, 0), np.eye(3)).defects()[0]


def test_inertias_refuse_numbers_that_are_none():
    """A count that is wrong, or a 6×6 matrix that no rigid body has."""
    with pytest.raises(ValueError, match="an inertia has 10 numbers; 3 were given"):
        Inertia.from_parameters((1, 2, 3))
    with pytest.raises(ValueError, match="a centre of mass has 3 numbers; 2 were given"):
        Inertia(1.0, (0, 0), np.eye(3))
    for bad in (np.ones((6, 6)), np.diag([1.0, 1, 1, 2, 2, 3]), np.full((6, 6), np.nan)):
        with pytest.raises(ValueError, match="is not that of a rigid body"):
            Inertia.from_matrix(bad)
    linear_first = np.diag([2.0, 2.0, 2.0, 0.1, 0.2, 0.3])  # Featherstone's is angular first, too
    with pytest.raises(ValueError, match="angular part first"):
        Inertia.from_matrix(linear_first)
