"""The inverse dynamics as a linear map of the inertial parameters."""

from __future__ import annotations

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.motion import Motion
from mozzi.algorithms.recursion.containers import Columns, joint_array, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.lie import AccelerationField, Inertia, Screws, Wrench
from mozzi.types import Traced

__all__ = ["inverse_dynamics_regressor"]

UNITS = [
    Inertia.from_parameters(tuple(1.0 if n == k else 0.0 for n in range(10))) for k in range(10)
]


@algorithm
def inverse_dynamics_regressor(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector,
    v_ref: JointVector | None = None,
) -> Traced:  # fmt: skip
    """Y (nv, 10 nb):  inverse_dynamics(q, v, a) = Y π + armature·a, with ten parameters per body.

    π = (m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz) of each body, at and in its own
    frame (`Inertia.parameters`). With ``v_ref``, of `passive_inverse_dynamics(q, v, v_ref, a)`.
    The wrenches of unit parameters, taken inward along the path of each body, O(n d).

    Returns:
        (B, nv, 10 nb): rows are the entries of v, ten columns for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.inverse_dynamics_regressor(arm, q, v, a).shape
        (3, 30)
    """
    x = Motion(model, v_ref)
    Y = joint_array(model, "v", "b", 10, letter="Y")
    for _ in x.outward(q, v, a):
        pass
    T, w, u, A = x.T, x.w, x.u, x.A
    for i in model.outward():
        F = per_body(model, "F", Columns(Wrench, 10))
        R = i.frame.R  # the body's own frame, seen from the frame on its joint
        Q = AccelerationField(A[i].ang, w[i], u[i])
        own = AccelerationField(R.unrotate(A[i].ang), R.unrotate(w[i]), R.unrotate(u[i]))
        origin = R.unrotate(A[i].lin + Q @ i.frame.p)
        F[i] = Screws(i.frame.push(own.wrench(unit, origin)) for unit in UNITS)
        for j in i.path():
            Y[j, i] = j.joint.screws(q[j]).T @ F[j]
            F[j.parent] = T[j].push(F[j])
    return Y.array().reshape(model.nv, -1)
