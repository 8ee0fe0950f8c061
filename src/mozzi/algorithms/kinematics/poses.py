"""Poses and twists of bodies, in the four representations.

The papers write chains of one-dof joints. Here body i hangs on its parent p where they write i −
1, and v[i] has as many entries as the joint has degrees of freedom: the joint's screws X_i are
columns, and X_i v_i a sum. Body frames sit on their joints while the recursions run
(docs/design.md); results are in the user's body frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.recursion.containers import BlockArray, body_array, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.representations import check, shifting, turning
from mozzi.algorithms.recursion.views import BodyView, JointVector, PerBody
from mozzi.errors import ConfigurationError, known
from mozzi.lie import SE3, Rotation, Twist, Vec3
from mozzi.lie.so3 import SO3
from mozzi.program.scalar import Real
from mozzi.types import Form, Rep, Traced, words

__all__ = ["forward_kinematics", "pose", "product_of_exponentials", "twists"]


def homogeneous(T: SE3) -> tuple[Real, ...]:
    """The sixteen entries of a pose's 4×4 matrix, row by row."""
    r, p = T.R.general().flatten(), T.p
    return (*r[0:3], p.x, *r[3:6], p.y, *r[6:9], p.z, 0.0, 0.0, 0.0, 1.0)


def locate(model: Mechanism, frame: str) -> tuple[int, SE3]:
    """The number of the body that carries a frame (−1: the world), and the frame in its joint's
    frame.
    """
    k, T = model.model.frame(frame)
    return (k, T) if k < 0 else (k, model.at(k).frame @ T)


@algorithm
def forward_kinematics(model: Mechanism, q: JointVector) -> BlockArray:
    """The poses C_i of all bodies, as 4×4 matrices:  C_i = C_p C_pi(q_i).

    By joint frames, O(n).  Müller, Kinematics (3).

    Returns:
        (B, nb, 4, 4): the pose of each body in the inertial frame.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.forward_kinematics(arm, q).shape
        (3, 4, 4)
    """
    C, out = per_body(model, "C", SE3), body_array(model, 4, 4, letter="pose")
    for i in model.outward():
        C[i] = C[i.parent] @ i.pose(q[i])  # MK3
        out[i] = homogeneous(C[i] @ i.frame)
    return out


@algorithm
def pose(model: Mechanism, q: JointVector, frame: str) -> Traced:
    """The pose of a frame or body, as a 4×4 matrix.

    From the base to the frame, O(depth).  Müller, Kinematics (3).

    Returns:
        (B, 4, 4): the pose of the frame in the inertial frame.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.pose(arm, q, "tool").shape
        (4, 4)
    """
    return frame_pose(model, q, frame).matrix()


def frame_pose(model: Mechanism, q: JointVector, frame: str) -> SE3:
    """The pose of a frame."""
    C = per_body(model, "C", SE3)
    k, F = locate(model, frame)
    for i in model.toward(k):
        C[i] = C[i.parent] @ i.pose(q[i])  # MK3
    return C[model.at(k)] @ F


FORMS = words(Form)


@algorithm
def product_of_exponentials(model: Mechanism, q: JointVector, form: Form = "spatial") -> BlockArray:
    """The poses C_i of all bodies, by one of the forms of the product of exponentials.

    "joint": C_i = C_p S_pi D_i(q_i) S_ii⁻¹, MK3; "body": C_p B_i exp(X_i q_i), MK8; "parent": C_p
    exp(X̄_i q_i) B_i, MK8; "spatial": exp(Y_1 q_1) … exp(Y_i q_i) A_i, MK10. An exponential of a
    screw that is not in the joint's own frame is that in the joint's frame, D_i, moved there by
    MK76: so the forms hold for joints of any kind.  Müller, Kinematics (MK).

    Returns:
        (B, nb, 4, 4): the pose of each body, as `forward_kinematics` gives it.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> np.allclose(mz.product_of_exponentials(arm, q), mz.forward_kinematics(arm, q))
        True
    """
    if form not in FORMS:
        raise ConfigurationError(f"no form {form!r}; there are {known(form, FORMS)}")
    if form == "joint":
        return forward_kinematics(model, q)
    (C, A), out = per_body(model, "C A", SE3, SE3), body_array(model, 4, 4, letter="pose")
    for i in model.outward():
        p, S, D = i.parent, i.frame.inverse(), i.joint.pose(q[i])  # S_ii: joint frame in body i
        S_p = parent_frame(i)  # S_pi: the joint frame in the parent's body frame
        B = S_p @ S.inverse()  # MK4
        if form == "body":
            C[i] = C[p] @ B @ (S @ D @ S.inverse())  # MK8, first form
            out[i] = homogeneous(C[i])
        elif form == "parent":
            C[i] = C[p] @ (S_p @ D @ S_p.inverse()) @ B  # MK8, second form
            out[i] = homogeneous(C[i])
        else:
            A[i] = A[p] @ B  # MK11
            Y = A[i] @ S  # the joint frame at q = 0, in the inertial frame: Y_i = Ad_Y Z_i, MK12
            C[i] = C[p] @ (Y @ D @ Y.inverse())
            out[i] = homogeneous(C[i] @ A[i])  # MK10
    return out


def parent_frame(i: BodyView) -> SE3:
    """The joint frame of i in the user's frame of its parent, at rest."""
    return i.parent_frame.inverse() @ i.placement


# -- twists ----------------------------------------------------------------------------------------


@algorithm
def twists(model: Mechanism, q: JointVector, v: JointVector, rep: Rep = "body") -> BlockArray:
    """The twists of all bodies in a representation.

    O(n), each representation by its own recursion.  Müller, Kinematics (14), (30), (42), (52).

    Returns:
        (B, nb, 6): a row (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.twists(arm, q, v)[-1], mz.jacobian(arm, q, "link_3") @ v)
        True
    """
    return _TWISTS[check(rep)](model, q, v)


def _body_twists(model: Mechanism, q: JointVector, v: JointVector) -> BlockArray:
    V, out = per_body(model, "V", Twist), body_array(model, 6, letter="V")
    for i in model.outward():
        V[i] = i.pose(q[i]).pull(V[i.parent]) + i.joint.screws(q[i]) @ v[i]  # MK14
        out[i] = i.frame.pull(V[i])
    return out


def _spatial_twists(model: Mechanism, q: JointVector, v: JointVector) -> BlockArray:
    (C, V), out = per_body(model, "C V", SE3, Twist), body_array(model, 6, letter="V")
    for i in model.outward():
        C[i] = C[i.parent] @ i.pose(q[i])
        V[i] = V[i.parent] + C[i].push(i.joint.screws(q[i]) @ v[i])  # MK30
        out[i] = V[i]
    return out


def _hybrid_twists(model: Mechanism, q: JointVector, v: JointVector) -> BlockArray:
    R: PerBody[SO3] = per_body(model, "R", Rotation)
    V, out = per_body(model, "V", Twist), body_array(model, 6, letter="V")
    for i in model.outward():
        p = i.parent
        R[i], d = step(i, R[p], q[i])
        X = turning(R[i]).push(i.joint.screws(q[i]) @ v[i])  # MK38
        V[i] = shifting(d).pull(V[p]) + X  # MK42
        out[i] = shifting(R[i].rotate(i.frame.p)).pull(V[i])
    return out


def _mixed_twists(model: Mechanism, q: JointVector, v: JointVector) -> BlockArray:
    R: PerBody[SO3] = per_body(model, "R", Rotation)
    V, out = per_body(model, "V", Twist), body_array(model, 6, letter="V")
    for i in model.outward():
        p, T, X = i.parent, i.pose(q[i]), i.joint.screws(q[i]) @ v[i]
        R[i] = turn(i, R[p], q[i])
        w = T.unrotate(V[p].ang)
        r = R[p].rotate(V[p].ang.cross(T.p))  # ω_p × (r_i − r_p): R_p where MK52 prints R_i
        V[i] = Twist(w + X.ang, V[p].lin + r + R[i].rotate(X.lin))  # MK52
        S, w = i.frame, V[i].ang
        out[i] = Twist(S.R.unrotate(w), V[i].lin + R[i].rotate(w.cross(S.p)))
    return out


def turn(i: BodyView, R: SO3, q: Sequence[Real]) -> SO3:
    """The rotation of body i, from that of its parent."""
    return (R @ i.placement.R) @ i.joint.pose(q).R


def step(i: BodyView, R: SO3, q: Sequence[Real]) -> tuple[SO3, Vec3]:
    """The rotation of body i and r_i − r_p, resolved in the inertial frame, from its parent's."""
    return turn(i, R, q), R.rotate(i.pose(q).p)


_TWISTS: dict[Rep, Callable[[Mechanism, JointVector, JointVector], BlockArray]] = {
    "body": _body_twists,
    "spatial": _spatial_twists,
    "hybrid": _hybrid_twists,
    "mixed": _mixed_twists,
}
