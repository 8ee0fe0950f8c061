"""Moving on the configuration space: ⊕, ⊖, and coordinates' rates."""

from __future__ import annotations

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.recursion.containers import BlockArray, joint_configuration, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector

__all__ = ["difference", "increment_rates", "integrate", "rates"]


@algorithm
def integrate(model: Mechanism, q: JointVector, dv: JointVector) -> BlockArray:
    """q ⊕ dv: the configuration that the constant velocity dv reaches from q in unit time.

    Joint by joint, exactly: C(q ⊕ dv) = C(q) exp(S dv) across every joint that moves in a
    subgroup.

    Returns:
        (B, nq): the configuration that is reached.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.difference(arm, q, mz.integrate(arm, q, v)), v)
        True
    """
    out = joint_configuration(model, "q_out")
    for i in model.outward():
        out[i] = i.joint.integrate(q[i], dv[i])
    return out


@algorithm
def difference(model: Mechanism, q0: JointVector, q1: JointVector) -> BlockArray:
    """q1 ⊖ q0: the constant velocity that reaches q1 from q0 in unit time; q0 ⊕ (q1 ⊖ q0) = q1.

    Returns:
        (B, nv): the velocity.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.difference(arm, q, mz.integrate(arm, q, v)), v)
        True
    """
    dv = joint_vector(model, "dv")
    for i in model.outward():
        dv[i] = i.joint.difference(q0[i], q1[i])
    return dv


@algorithm
def rates(model: Mechanism, q: JointVector, v: JointVector) -> BlockArray:
    """q̇ = N(q) v: the rates of the coordinates.

    Returns:
        (B, nq): q̇, v itself where joints have no quaternions.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.rates(arm, q, v), v)
        True
    """
    q_dot = joint_configuration(model, "q_dot")
    for i in model.outward():
        q_dot[i] = i.joint.rates(q[i], v[i])
    return q_dot


@algorithm
def increment_rates(model: Mechanism, dv: JointVector, v: JointVector) -> BlockArray:
    """δ̇ at δ = dv for which q ⊕ δ(t) moves with the velocity v.

    Joint by joint: dexp⁻¹ of −δ on every motion subgroup.  Müller, Dynamics (89).
    """
    rate = joint_vector(model, "rate")
    for i in model.outward():
        rate[i] = i.joint.increment_rates(dv[i], v[i])
    return rate
