"""What acts in joints besides the wrenches of bodies: rotors, damping, friction and springs."""

from __future__ import annotations

from collections.abc import Sequence

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.recursion.blocks import plus
from mozzi.algorithms.recursion.containers import BlockArray, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import BodyView, JointVector
from mozzi.program.scalar import Real, select

__all__ = ["joint_force", "joint_resistance", "resisting"]


@algorithm
def joint_resistance(model: Mechanism, q: JointVector, v: JointVector) -> BlockArray:
    """What the joints resist with:  damping·v + friction·sign(v) + ∂/∂q ½ Σ stiffness·(q ⊖ rest)².

    The last is stiffness·(q ⊖ rest) where coordinates add up, as those of hinges and slides do.
    From the model's joint data, joint by joint. `inverse_dynamics`, `forward_dynamics` and
    `hybrid_dynamics` leave it out unless they are called with ``resistance=True``, which adds
    `spring_wrenches` as well.

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.joint_resistance(arm, q, v).shape
        (3,)
    """
    r = joint_vector(model, "r")
    for i in model.outward():
        r[i] = resisting(i, q[i], v[i])
    return r


def resisting(i: BodyView, q: Sequence[Real], v: Sequence[Real]) -> list[Real]:
    """The resistance of one joint."""
    springs = i.joint.spring_forces(i.stiffness, i.rest, q)
    return [
        d * x + select(x > 0.0, f, select(x < 0.0, -f, 0.0)) + s
        for d, f, x, s in zip(i.damping, i.friction, v, springs, strict=True)
    ]


def joint_force(
    i: BodyView, force: Sequence[Real], q: JointVector, v: JointVector, a: JointVector,
    resistance: bool,
) -> Sequence[Real]:  # fmt: skip
    """The force of a joint: for the bodies, for the rotor, and against the resistance."""
    forces = [x + m * y for x, m, y in zip(force, i.armature, a[i], strict=True)]
    return plus(forces, resisting(i, q[i], v[i])) if resistance else forces
