"""Coasting: what moves on freely goes straight, joint by joint (`Joint.coast`).

The velocity of a joint with turns and translations together (`Free`, `Planar`, `Schoenflies`) has
body-fixed components (ω, u): with nothing acting, u turns against the body, u̇ = −ω × u, and the
constant twist (ω, u) would be a screw motion, not a straight line. A step of first order keeps the
line straight and the speed as it is:

    p′ = p + h R u,   R′ = R exp(h ω),   u′ = exp(h ω)ᵀ u.
"""

from __future__ import annotations

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.recursion.containers import BlockArray, joint_configuration, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import JointVector
from mozzi.model import Model
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = ["carried", "coast", "turning"]


@algorithm
def coast(
    model: Mechanism, q: JointVector, v: JointVector, h: Real = 0.0
) -> tuple[BlockArray, BlockArray]:
    """(q′, v′) after coasting with the velocity v for a time h."""
    q_out, v_out = joint_configuration(model, "q_out"), joint_vector(model, "v_out")
    for i in model.outward():
        q_out[i], v_out[i] = i.joint.coast(q[i], v[i], h)
    return q_out, v_out


@algorithm
def carried(model: Mechanism, v: JointVector, dv: JointVector, h: Real = 0.0) -> BlockArray:
    """Velocities dv as bodies see them that have turned with the velocity v for a time h."""
    out = joint_vector(model, "dv_out")
    for i in model.outward():
        out[i] = i.joint.carried(v[i], dv[i], h)
    return out


def turning(model: Model, v: Traced) -> Traced:
    """`Joint.turning_rates` of all joints, while tracing."""
    out = np.full(len(v), 0.0, dtype=object)
    for body, part in zip(model, model.v_slices.values(), strict=True):
        out[part] = body.joint.turning_rates(list(v[part]))
    return out
