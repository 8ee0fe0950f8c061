"""Inverse dynamics, momentum and energy as linear maps of the inertial parameters."""

from __future__ import annotations

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.dynamics.inverse import refuse_shares
from mozzi.algorithms.kinematics.motion import Motion
from mozzi.algorithms.recursion.containers import Columns, Local, joint_array, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import JointVector
from mozzi.lie import SE3, AccelerationField, Inertia, Momentum, Screws, Twist, Wrench
from mozzi.types import ArrayLike, JointChoice, Minimize, Traced

__all__ = [
    "inverse_dynamics_regressor", "kinetic_energy_regressor", "momentum_regressor",
    "potential_energy_regressor",
]  # fmt: skip

UNITS = [
    Inertia.from_parameters(tuple(1.0 if n == k else 0.0 for n in range(10))) for k in range(10)
]


@algorithm
def inverse_dynamics_regressor(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector,
    v_ref: JointVector | None = None, actuated: JointChoice | None = None,
    minimize: Minimize | None = None, weighting: ArrayLike | None = None,
) -> Traced:  # fmt: skip
    """Y (nv, 10 nb):  inverse_dynamics(q, v, a) = Y π + armature·a, with ten parameters per body.

    π = (m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz) of each body, at and in its own
    frame (`Inertia.parameters`). With ``v_ref``, of `passive_inverse_dynamics(q, v, v_ref, a)`.
    The wrenches of unit parameters, taken inward along the path of each body, O(n d). With loops
    and ``actuated`` joints, what these bear of every column, as in `inverse_dynamics`. Damping,
    friction and springs are not in it: `joint_resistance`, `spring_wrenches`.

    Returns:
        (B, nv, 10 nb): rows are the entries of v, ten columns for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.inverse_dynamics_regressor(arm, q, v, a).shape
        (3, 30)
    """
    refuse_shares(model.model, "inverse_dynamics_regressor", actuated, minimize)
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


@algorithm
def momentum_regressor(model: Mechanism, q: JointVector, v: JointVector) -> Traced:
    """Y (nv, 10 nb):  M(q) v = Y π + armature·v, the momenta of the joints; π as in
    `inverse_dynamics_regressor`.

    Identification by momenta needs no accelerations: d/dt (M v) = τ + Cᵀ v − g, integrated over a
    window. The momenta of unit parameters, taken inward along the path of each body, O(n d).

    Returns:
        (B, nv, 10 nb): rows are the entries of v, ten columns for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> mz.momentum_regressor(arm, arm.random_configuration(0), np.ones(arm.nv)).shape
        (3, 30)
    """
    T, V = per_body(model, "T V", Local[RelativePose], Twist)
    Y = joint_array(model, "v", "b", 10, letter="Y")
    for i in model.outward():
        T[i] = i.pose(q[i])
        V[i] = T[i].pull(V[i.parent]) + i.joint.screws(q[i]) @ v[i]
    for i in model.outward():
        P = per_body(model, "P", Columns(Wrench, 10))
        own = i.frame.pull(V[i])
        P[i] = Screws(i.frame.push(_impulse(unit @ own)) for unit in UNITS)
        for j in i.path():
            Y[j, i] = j.joint.screws(q[j]).T @ P[j]
            P[j.parent] = T[j].push(P[j])
    return Y.array().reshape(model.nv, -1)


def _impulse(h: Momentum) -> Wrench:
    """The wrench that makes a momentum in unit time."""
    return Wrench(h.ang, h.lin)


@algorithm
def kinetic_energy_regressor(model: Mechanism, q: JointVector, v: JointVector) -> Traced:
    """y (10 nb):  kinetic_energy(q, v) = yᵀ π + ½ Σ armature·v²; π as in
    `inverse_dynamics_regressor`.

    Returns:
        (B, 10 nb): ten numbers for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> mz.kinetic_energy_regressor(arm, arm.random_configuration(0), np.ones(arm.nv)).shape
        (30,)
    """
    T, V = per_body(model, "T V", Local[RelativePose], Twist)
    y = joint_array(model, "b", 10, letter="y")
    for i in model.outward():
        T[i] = i.pose(q[i])
        V[i] = T[i].pull(V[i.parent]) + i.joint.screws(q[i]) @ v[i]
        own = i.frame.pull(V[i])
        y[i] = [0.5 * (unit @ own).dot(own) for unit in UNITS]
    return y.array().reshape(-1)


@algorithm
def potential_energy_regressor(model: Mechanism, q: JointVector) -> Traced:
    """y (10 nb):  the potential energy of weight is yᵀ π; π as in `inverse_dynamics_regressor`.

    Of a mass −gᵀ p with the position p of its frame, of a first moment −Rᵀ g, of moments of inertia
    nothing.

    Returns:
        (B, 10 nb): ten numbers for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> mz.potential_energy_regressor(arm, arm.random_configuration(0)).shape
        (30,)
    """
    T, T0 = per_body(model, "T T0", Local[RelativePose], SE3)
    y = joint_array(model, "b", 10, letter="y")
    for i in model.outward():
        T[i] = i.pose(q[i])
        T0[i] = T0[i.parent] @ T[i]
        own = T0[i] @ i.frame
        down = own.R.unrotate(model.gravity)
        y[i] = [-model.gravity.dot(own.p), -down.x, -down.y, -down.z, *[0.0] * 6]
    return y.array().reshape(-1)
