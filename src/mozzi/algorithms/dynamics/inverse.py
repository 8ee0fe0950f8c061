# pyright: reportConstantRedefinition=false
"""Joint forces from accelerations: recursive Newton–Euler, Kim's Table 2."""

from __future__ import annotations

from collections.abc import Iterator

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.rows.rows import closures, still
from mozzi.algorithms.dynamics.inverse_representations import RECURSIONS
from mozzi.algorithms.dynamics.resistance import joint_force
from mozzi.algorithms.dynamics.springs import Applied, applied
from mozzi.algorithms.kinematics.motion import Motion
from mozzi.algorithms.recursion.containers import (
    ZERO,
    BlockArray,
    Local,
    body_array,
    joint_vector,
    per_body,
)
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.representations import check
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector, PerBody
from mozzi.errors import ConfigurationError, LoopError
from mozzi.lie import AccelerationField, Vec3, Wrench
from mozzi.model import Model
from mozzi.model.model import WORLD
from mozzi.types import ArrayLike, JointChoice, Minimize, Rep

__all__ = [
    "bias_forces", "gravity_forces", "inverse_dynamics", "joint_wrenches",
    "passive_inverse_dynamics", "refuse_shares",
]  # fmt: skip


def refuse_shares(
    model: Model, function: str, actuated: JointChoice | None, minimize: Minimize | None,
    tau: object = None,
) -> None:  # fmt: skip
    """Without loops every joint is actuated."""
    if actuated is not None or minimize is not None or tau is not None:
        named = "actuated= and minimize=" if function != "inverse_dynamics" else (
            "actuated=, minimize= and tau="
        )
        raise ConfigurationError(
            f"{function}: {named} are for models with loops, and {model.name!r} has none: every "
            "joint is actuated"
        )


def transmitted(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector, F_ext: ByBody[Wrench],
    v_ref: JointVector | None = None,
) -> Iterator[tuple[BodyView, Wrench]]:  # fmt: skip
    """Inward: every body with the wrench F that its joint transmits to it.  Kim Table 2.

    Accelerations are A = (ω̇, Rᵀr̈), see `kinematics/motion.py`. With v_ref: `Motion`.
    """
    x, F = Motion(model, v_ref), per_body(model, "F", Wrench)
    for i in x.outward(q, v, a):  # T, V, V̇: K37, K41
        field = AccelerationField(x.A[i].ang, x.w[i], x.u[i])
        F[i] = field.wrench(i.inertia, x.A[i].lin) - F_ext[i]  # K42: I V̇ − ad*_V I V − F_ext
    for i in model.inward():
        yield i, F[i]
        F[i.parent] += x.T[i].push(F[i])  # K42


@algorithm(regroup="moments")
def inverse_dynamics(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector,
    wrenches: ByBody[Wrench] | None = None, rep: Rep = "body", resistance: bool = False,
    actuated: JointChoice | None = None, minimize: Minimize | None = None,
    weighting: ArrayLike | None = None, tau: JointVector | None = None,
) -> BlockArray:  # fmt: skip
    """Joint forces that produce the accelerations a:  τ = M(q) a + C(q, v) v + g(q) − Σ Jᵢᵀ Wᵢ.

    Recursive Newton–Euler, O(n), in body-fixed, spatial, hybrid or mixed twists: the same forces.
    ``wrenches`` act on the bodies, body-fixed. Armature is part of M; damping, friction and
    springs of the joints, and springs between bodies, are added on request (``resistance``).
    Kim Table 2; Müller, Dynamics (66), (67); (70), (71); (75), (76).

    With loops every joint is taken as actuated, and the loops bear nothing. Where only the joints
    in ``actuated`` are, the others get τ = 0 and the loops bear the rest; of several answers that
    with the least ``minimize="torque"`` (the default then) or ``"loop_force"``, squares weighted
    by ``weighting``. Passive joints that have forces of their own (Kim's τ_p: springs, friction,
    loads) get them from ``tau``, which is read there. A motion that these actuators cannot make is
    a `LoopError`; a compiled kernel, which cannot raise, gives no numbers then.  Kim (56)–(66).

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> np.allclose(mz.inverse_dynamics(arm, q, v, a), mz.bias_forces(arm, q, v))
        True
    """
    refuse_shares(model.model, "inverse_dynamics", actuated, minimize, tau)
    F_ext, out = applied(model, q, v, wrenches, resistance), joint_vector(model)
    if check(rep) == "body":
        for i, F in transmitted(model, q, v, a, F_ext):
            force = i.joint.screws(q[i]).T @ F
            out[i] = joint_force(i, force, q, v, a, resistance)  # MD67b: τ = Sᵀ F
        return out
    for i, force in RECURSIONS[rep](model, q, v, a, F_ext):
        out[i] = joint_force(i, force, q, v, a, resistance)  # MD71c, MD76c
    return out


@algorithm(regroup="moments")
def passive_inverse_dynamics(
    model: Mechanism, q: JointVector, v: JointVector, v_ref: JointVector, a_ref: JointVector,
    actuated: JointChoice | None = None, minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
) -> BlockArray:  # fmt: skip
    """M(q) a_ref + C(q, v) v_ref + g(q), with the C of `coriolis_matrix`, for which Ṁ − 2C is skew.

    One Newton–Euler recursion, O(n), without C: a second field of velocities, v_ref, is carried
    along with the motion v.  Ploen (30)–(37), with his skew C̄ᵢ chosen so that C is Christoffel's.
    Of the rigid equations: without damping, friction and springs.

    With loops and ``actuated`` joints, what these bear of it, as in `inverse_dynamics`: for
    references that keep the loops closed (`consistent_velocities`, `consistent_accelerations`)
    sᵀ τ is the same for all s that do, so that what is passive on the tree is passive on the
    constraint manifold.

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> tau = mz.inverse_dynamics(arm, q, v, a)
        >>> np.allclose(mz.passive_inverse_dynamics(arm, q, v, v, a), tau)
        True
    """
    refuse_shares(model.model, "passive_inverse_dynamics", actuated, minimize)
    tau = joint_vector(model)
    for i, F in transmitted(model, q, v, a_ref, Applied(None), v_ref):
        force = i.joint.screws(q[i]).T @ F
        tau[i] = joint_force(i, force, q, v, a_ref, resistance=False)  # P35
    return tau


@algorithm(regroup="moments")
def bias_forces(
    model: Mechanism, q: JointVector, v: JointVector, wrenches: ByBody[Wrench] | None = None,
    resistance: bool = False,
) -> BlockArray:  # fmt: skip
    """Joint forces at zero acceleration:  C(q, v) v + g(q) − Σ Jᵢᵀ Wᵢ.

    Inverse dynamics with a = 0, O(n).

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.bias_forces(arm, q, v).shape
        (3,)
    """
    F_ext, tau = applied(model, q, v, wrenches, resistance), joint_vector(model)
    for i, F in transmitted(model, q, v, ZERO, F_ext):
        force = i.joint.screws(q[i]).T @ F
        tau[i] = joint_force(i, force, q, v, ZERO, resistance)  # MD67b
    return tau


@algorithm(regroup=True)
def gravity_forces(model: Mechanism, q: JointVector) -> BlockArray:
    """Joint forces that hold the mechanism at rest:  g(q), the derivative of the potential energy.

    Of its weight: springs are not held (`potential_energy` with ``springs=False``). Inverse
    dynamics with v = a = 0, O(n).

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> np.allclose(mz.gravity_forces(arm, q), mz.bias_forces(arm, q, np.zeros(3)))
        True
    """
    A, F, T = per_body(model, "A F T", Vec3, Wrench, Local[RelativePose])
    g = joint_vector(model, "g")
    A[model.world] = model.upward.lin
    for i in model.outward():
        T[i] = i.pose(q[i])
        A[i] = T[i].unrotate(A[i.parent])  # K41 at rest: r̈ alone, that of the world
        F[i] = Wrench(i.inertia.h.cross(A[i]), A[i] * i.inertia.m)  # K42 at rest: I V̇
    for i in model.inward():
        g[i] = i.joint.screws(q[i]).T @ F[i]  # MD67b
        F[i.parent] += T[i].push(F[i])  # K42
    return g


@algorithm(loops="honour")
def joint_wrenches(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector,
    wrenches: ByBody[Wrench] | None = None, multipliers: BlockArray | None = None,
) -> BlockArray:  # fmt: skip
    """The wrench that each joint transmits to its body, body-fixed: reactions and joint forces.

    What inverse dynamics sums on its way, O(n); Sᵢᵀ Wᵢ is the joint force (less armature). With
    loops, ``multipliers`` are what they transmit (`loop_forces`, of the motion with these a): a
    model that has some is refused without them. Springs between bodies are no joints: give what
    they do among the wrenches (`spring_wrenches`).  Kim (42).

    Returns:
        (B, nb, 6): a row (torque, force) for each body, in its axes at its origin.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.joint_wrenches(arm, q, v, a).shape
        (3, 6)
    """
    out = body_array(model, 6, letter="W")
    loops = _of_loops(model, q, multipliers) if closed(model.model) else None
    for i, F in transmitted(model, q, v, a, Applied(wrenches, loops)):
        out[i] = i.frame.pull(F)  # K42
    return out


def _of_loops(
    model: Mechanism, q: JointVector, multipliers: BlockArray | None
) -> PerBody[Wrench]:
    """The wrenches that loops exert on the bodies, in the frames on their joints."""
    if multipliers is None:
        raise LoopError(
            f"joint_wrenches: what the joints of {model.model.name!r} transmit depends on what its "
            "loops do; give multipliers=, as loop_forces tells them"
        )
    F: PerBody[Wrench] = per_body(model, "F", Wrench)
    for i in model.outward():
        F[i] = Wrench.zero()
    start, every = 0, multipliers[()]
    for rows in closures(model, still(model, q)):
        own = every[start : start + len(rows)]
        for k, W in rows.wrenches.items():
            for x, factor in zip(W, own, strict=True) if k != WORLD else ():
                F[model.at(k)] += x * factor
        start += len(rows)
    return F
