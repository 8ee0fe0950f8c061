"""Coordinates and velocities: (q̇, q̈) from (v, a) and back, joint by joint.

q̇ = N(q) v, so that q̈ = N a + Ṅ v; and v = N⁺(q) q̇, a = N⁺ q̈ + (N⁺)˙ q̇, where N⁺ is regular at
singular coordinates, too. Where q̇ is v nothing is computed. Müller, Kinematics, remark 4.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.recursion.containers import BlockArray, joint_configuration, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.model.joints.joint import Joint
from mozzi.program.differentiate import forward
from mozzi.program.inline import inline
from mozzi.program.passes import prune
from mozzi.program.program import Input, Program, trace
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = [
    "accelerations_of_coordinates", "coordinate_accelerations", "velocities_of_coordinates",
]  # fmt: skip

Map: TypeAlias = Literal["rates", "velocities"]
"""N or N⁺ of a joint."""


@algorithm
def coordinate_accelerations(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector
) -> BlockArray:
    """q̈ = N(q) a + Ṅ v: the second rates of the coordinates, of joint velocities and accelerations.

    O(n); `rates` gives q̇.

    Returns:
        (B, nq): q̈, a itself where q̇ is v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.arange(3.0)
        >>> np.allclose(mz.coordinate_accelerations(arm, q, v, a), a)
        True
    """
    out = joint_configuration(model, "q_ddot")
    for i in model.outward():
        q_dot = i.joint.rates(q[i], v[i])
        out[i] = _rate(i.joint, "rates", q[i], q_dot, v[i], a[i])
    return out


@algorithm
def velocities_of_coordinates(
    model: Mechanism, q: JointVector, q_dot: JointVector
) -> BlockArray:
    """v = N⁺(q) q̇: the joint velocities of rates of the coordinates, the inverse of `rates`.

    O(n). Of a quaternion the part of its rate that keeps its length counts.

    Returns:
        (B, nv): joint velocities.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.velocities_of_coordinates(arm, q, mz.rates(arm, q, v)), v)
        True
    """
    out = joint_vector(model, "v_out")
    for i in model.outward():
        out[i] = i.joint.velocities(q[i], q_dot[i])
    return out


@algorithm
def accelerations_of_coordinates(
    model: Mechanism, q: JointVector, q_dot: JointVector, q_ddot: JointVector
) -> BlockArray:
    """a, the rate of v, of first and second rates of the coordinates.

    O(n); the inverse of `coordinate_accelerations`.

    Returns:
        (B, nv): joint accelerations.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, a = arm.random_configuration(0), np.arange(3.0)
        >>> np.allclose(mz.accelerations_of_coordinates(arm, q, np.ones(3), a), a)
        True
    """
    out = joint_vector(model, "a_out")
    for i in model.outward():
        out[i] = _rate(i.joint, "velocities", q[i], q_dot[i], q_dot[i], q_ddot[i])
    return out


_PROGRAMS: dict[Hashable, Program] = {}


def _rate(
    joint: Joint, which: Map, q: Sequence[Real], q_dot: Sequence[Real], x: Sequence[Real],
    x_dot: Sequence[Real],
) -> Sequence[Real]:  # fmt: skip
    """d/dt of f(q, x), which is linear in x: by a small program, traced once for a kind."""
    if joint.flat:
        return list(x_dot)
    key = (joint.kind, joint.code, which)
    if key not in _PROGRAMS:
        sizes = {"q": len(q), "q_dot": len(q), "x": len(x), "x_dot": len(x)}
        sizes |= {"parameters": len(joint.parameters())}

        def make(q: Traced, q_dot: Traced, x: Traced, x_dot: Traced, parameters: Traced) -> Traced:
            own = joint.with_parameters(list(parameters))
            f = own.rates if which == "rates" else own.velocities
            at = list(q)
            along = forward(np.array(f(at, list(x)), dtype=object), q, q_dot)
            return np.array(f(at, list(x_dot)), dtype=object) + along

        _PROGRAMS[key] = prune(trace(make, [Input(n, (k,)) for n, k in sizes.items()], "rate"))
    given = (q, q_dot, x, x_dot, joint.parameters())
    return inline(_PROGRAMS[key], [list(y) for y in given])[0]
