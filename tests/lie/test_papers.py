"""Appendix A of Müller, Kinematics, and section 1 of Kim, equation by equation."""

import numpy as np
import pytest
from lie.sampling import Sampler, adjoint, hat, small_adjoint, transpose

from mozzi.lie import SE3, Inertia, Mat3, Rotation, Twist, Vec3, Wrench

H = 1e-30  # the complex step


@pytest.fixture
def s():
    return Sampler("float", 11)


class Motion:
    """A pose T(t) with constant body-fixed twist; derivatives at t = 0 by a complex step."""

    def __init__(self, s: Sampler):
        self.T, self.V = s.pose(), s.twist()

    def at(self, t) -> SE3:
        return self.T @ SE3.exp(self.V, t)

    def rate(self, function) -> np.ndarray:
        """d/dt of an array-valued function of the pose."""
        return np.imag(function(self.at(1j * H))) / H


def twist_of(matrix) -> np.ndarray:
    """(ω, v) of a 4×4 matrix of se(3)."""
    return np.concatenate([Mat3.from_array(matrix[:3, :3]).vee().array(), matrix[:3, 3]])


def test_inverse_pose(s):
    """Müller (62): C⁻¹ = (Rᵀ, −Rᵀ r); the second matrix printed, (R, −R r), is another pose."""
    T = s.pose()
    inverse = np.linalg.inv(T.matrix())
    assert s.close(T.inverse(), inverse)
    assert s.close(SE3(T.R.T, -(T.R.T @ T.p)), inverse)
    assert not s.close(SE3(T.R, -(T.R @ T.p)), inverse)


def test_relative_poses(s):
    """Müller (63): C_ij = C_i⁻¹ C_j = (R_iᵀ R_j, R_iᵀ (r_j − r_i))."""
    A, B = s.pose(), s.pose()
    assert s.close(A.inverse() @ B, SE3(A.R.T @ B.R, A.R.T @ (B.p - A.p)))


def test_euler_rodrigues(s):
    """Müller (64), (65), (66) are one rotation."""
    w = s.vec()
    angle = np.sqrt(w.dot(w))
    W, e, E = hat(w.array()), w * (1 / angle), hat(w.array()) / angle
    R = Rotation.exp(w)
    assert s.close(
        R, np.eye(3) + np.sin(angle) / angle * W + (1 - np.cos(angle)) / angle**2 * W @ W
    )
    half = np.sin(angle / 2) / (angle / 2)
    assert s.close(R, np.eye(3) + np.sin(angle) / angle * W + half**2 / 2 * W @ W)
    assert s.close(R, np.eye(3) + np.sin(angle) * E + (1 - np.cos(angle)) * E @ E)
    assert s.close(R, Rotation.about(e, angle))


def test_rigid_motions_are_a_semidirect_product(s):
    """Müller, A.1: SE(3) is the semidirect product of SO(3) and ℝ³, not the direct one."""
    A, B = s.pose(), s.pose()
    assert s.close((A @ B).p, A.p + A.R @ B.p)
    assert not s.close((A @ B).p, A.p + B.p)


def test_splitting_the_adjoint(s):
    """Müller (75): Ad_C = Ad_r Ad_R changes the basis first, then the reference point."""
    T, X = s.pose(), s.twist()
    turn, shift = SE3(T.R, Vec3.zero()), SE3(Rotation.identity(), T.p)
    assert s.close(T.push(X), shift.push(turn.push(X)))
    assert not s.close(T.push(X), turn.push(shift.push(X)))


def test_derivative_of_exp(s):
    """Müller (77): d/dt exp(t X) = X exp(t X) = exp(t X) X."""
    X, t = s.twist(), 0.7
    T, rate = SE3.exp(X, t).matrix(), np.imag(SE3.exp(X, t + 1j * H).matrix()) / H
    W = np.zeros((4, 4))
    W[:3, :3], W[:3, 3] = hat(X.ang.array()), X.lin.array()
    assert s.close(rate, W @ T) and s.close(rate, T @ W)


def test_body_fixed_and_spatial_twists(s):
    """Müller (80), (82), Kim (9): V^b = C⁻¹ Ċ, V^s = Ċ C⁻¹ = Ad_C V^b, hybrid and mixed."""
    motion = Motion(s)
    T, V, C_dot = motion.T, motion.V, motion.rate(SE3.matrix)
    C = T.matrix()
    spatial, R, r = T.push(V), T.R, T.p
    assert s.close(twist_of(np.linalg.inv(C) @ C_dot), V)
    assert s.close(twist_of(C_dot @ np.linalg.inv(C)), spatial)
    r_dot = Vec3.from_array(C_dot[:3, 3])
    assert s.close(spatial.lin, r_dot + r.cross(spatial.ang))
    mixed = Twist(V.ang, r_dot)
    assert s.close(mixed, Twist(R.T @ spatial.ang, r_dot))
    assert s.close(mixed, Twist(V.ang, R @ V.lin))
    assert s.close(mixed, Twist(R.T @ spatial.ang, spatial.lin - r.cross(spatial.ang)))


def test_resolving_a_twist_in_another_frame(s):
    """Müller, below (80): ³ω = R₃₂ ²ω (printed with R₃₂ᵀ), as ³v = R₃₂ ²v."""
    R32, V = s.rotation(), s.twist()
    resolved = SE3(R32, Vec3.zero()).push(V)  # Ad_R32, by definition (75)
    assert s.close(resolved.ang, R32 @ V.ang) and s.close(resolved.lin, R32 @ V.lin)
    assert not s.close(resolved.ang, R32.T @ V.ang)


def test_relative_twists(s):
    """Müller (81): Ċ_ji C_ji⁻¹ = Ad⁻¹(V_i^s − V_j^s) is the twist of body i relative to body j."""
    i, j = Motion(s), Motion(s)
    relative = i.T.inverse() @ j.T
    relative_rate = np.imag((j.at(1j * H).inverse() @ i.at(1j * H)).matrix()) / H
    found = twist_of(relative_rate @ relative.matrix())
    assert s.close(found, j.T.pull(i.T.push(i.V) - j.T.push(j.V)))
    assert s.close(found, j.T.pull(i.T.push(i.V)) - j.V)
    # if j rests, it is the twist of i: bodies are not to be exchanged as in the text
    assert s.close(j.T.pull(i.T.push(i.V)), relative.inverse().push(i.V))


def test_frames_on_one_body(s):
    """Kim (11), (13), (21), (24): V, F, L and I of two frames on one body."""
    T_ab, V, F, body = s.pose(), s.twist(), s.wrench(), s.inertia()
    T_ba = T_ab.inverse()
    assert s.close(T_ab.pull(V), adjoint(T_ba) @ V.array())
    assert s.close(T_ab.pull(F), transpose(adjoint(T_ab)) @ F.array())
    moved = transpose(adjoint(T_ab)) @ body.matrix() @ adjoint(T_ab)
    assert s.close(T_ab.pull(body), moved)
    assert s.close(T_ab.pull(body @ V), transpose(adjoint(T_ab)) @ (body @ V).array())


def points(s: Sampler, n: int):
    return s.rng.uniform(0.1, 1.0, n), s.rng.normal(size=(n, 3))


def test_generalized_inertia_of_points(s):
    """Kim (14), (20), (22): the energy of mass points is ½ Vᵀ I V."""
    masses, r = points(s, 7)
    V = s.twist()
    velocity = V.lin.array() + np.cross(V.ang.array(), r)
    matrix = np.zeros((6, 6))
    for m, x in zip(masses, r, strict=True):
        matrix += m * np.block([[hat(x).T @ hat(x), hat(x)], [hat(x).T, np.eye(3)]])
    body = Inertia.from_matrix(matrix)
    assert s.close(body.matrix(), matrix)
    assert s.close((body @ V).dot(V), (masses * (velocity**2).sum(1)).sum())
    com = masses @ r / masses.sum()
    central = sum(m * hat(x - com).T @ hat(x - com) for m, x in zip(masses, r, strict=True))
    assert s.close(Inertia(masses.sum(), com, central), matrix)


def test_generalized_inertia_may_be_singular(s):
    """Kim, below (20): positive definite only where the mass does not lie on one line."""
    masses, r = points(s, 3)
    solid = sum((Inertia(float(m), x, np.zeros((3, 3))) for m, x in zip(masses, r)), Inertia.zero())
    rod = sum((Inertia(float(m), x[0] * r[0], np.zeros((3, 3))) for m, x in zip(masses, r)),
              Inertia.zero())  # fmt: skip
    assert np.linalg.eigvalsh(solid.matrix())[0] > 1e-3
    assert abs(np.linalg.eigvalsh(rod.matrix())[0]) < 1e-12
    along = Twist(Vec3(*map(float, r[0])), Vec3.zero())  # it turns about itself without momentum
    assert s.close(rod @ along, np.zeros(6))


def test_derivatives_in_moving_frames(s):
    """Kim (26), (28): d/dt X = Ẋ + ad_V X and d/dt Y = Ẏ − ad*_V Y."""
    motion, X, Y = Motion(s), s.twist(), s.wrench()
    T, V = motion.T, motion.V
    X_rate = Twist.from_array(motion.rate(lambda T: T.push(X).array()))
    Y_rate = Wrench.from_array(motion.rate(lambda T: T.push(Y).array()))
    assert s.close(T.pull(X_rate), small_adjoint(V) @ X.array())
    assert s.close(T.pull(Y_rate), -transpose(small_adjoint(V)) @ Y.array())
    assert s.close(T.pull(Y_rate), V.cross(Y))


def test_equations_of_motion(s):
    """Kim (30), (31): F = d/dt L = I V̇ − ad*_V I V, the same in every frame of the body."""
    motion, A, body = Motion(s), s.twist(), s.inertia()
    T, V = motion.T, motion.V
    spatial = lambda t: (T @ SE3.exp(V, t)).push(body @ (V + A * t))
    L_dot = Wrench.from_array(np.imag(spatial(1j * H).array()) / H)
    assert s.close(T.pull(L_dot), body.wrench(V, A))
    assert s.close(body.wrench(V, A), body.matrix() @ A.array() + V.cross(body @ V).array())
    S = s.pose()
    assert s.close(S.pull(body).wrench(S.pull(V), S.pull(A)), S.pull(body.wrench(V, A)))
