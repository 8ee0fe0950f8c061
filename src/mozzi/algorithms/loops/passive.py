"""Adaptive and passivity-based control of mechanisms with loops: what some actuators bear.

On velocities s that keep the loops closed, A s = 0, loop forces do no work. For forces of the tree
M a_ref + C v_ref + g = Y π the torques of actuators with P τ = P Y π (`shares_in_programs`) have
sᵀ τ = sᵀ Y π, whatever the actuators are; so with s = v − v_ref and τ less K s at them

    d/dt (½ sᵀ M s) = sᵀ (τ − Y π) = −sᵀ K s ,

as on a tree: sᵀ (Ṁ − 2C) s = 0 holds for the restriction to the constraint manifold as it does for
the tree. References stay on it where A v_ref = 0 and A a_ref + Ȧ v_ref = 0.  Ploen (30)–(37).
"""

from __future__ import annotations

from typing import cast

import numpy as np

from mozzi.algorithms.calls.algorithm import Arrays, Options, algorithm
from mozzi.algorithms.calls.guard import fitting
from mozzi.algorithms.calls.inlining import inlined
from mozzi.algorithms.constraints.rank import lengths, sines
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual
from mozzi.algorithms.dynamics.inverse import passive_inverse_dynamics
from mozzi.algorithms.dynamics.regressor import inverse_dynamics_regressor
from mozzi.algorithms.kinematics.configuration import rates
from mozzi.algorithms.loops.actuation import actuated_mask, sharing_of
from mozzi.algorithms.loops.assemble import nearest_velocities
from mozzi.algorithms.loops.shares_in_programs import Sharing
from mozzi.algorithms.loops.shown import least_share
from mozzi.algorithms.recursion.containers import BlockArray, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.rolled_or_not import ALWAYS_UNROLLED
from mozzi.checked import checked
from mozzi.errors import LoopError
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.program.differentiate import forward
from mozzi.types import Array, ArrayLike, JointChoice, Minimize, Traced

__all__ = ["consistent_accelerations", "passive_forces", "shared_regressor"]

OPEN = 1e-6  # relative: references that disagree more with the loops are refused


@passive_inverse_dynamics.recursion_with_loops
def passive_forces(
    model: Mechanism, q: BlockArray, v: BlockArray, v_ref: BlockArray, a_ref: BlockArray,
    actuated: JointChoice | None = None, minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
) -> BlockArray:  # fmt: skip
    """`passive_inverse_dynamics` with loops: of the tree, or what some joints bear of it."""
    needed = passive_inverse_dynamics.function(model, q, v, v_ref, a_ref)
    assert isinstance(needed, BlockArray)
    if actuated is None and minimize is None:
        return needed
    mask = actuated_mask(model.model, actuated)
    x = Sharing(model.model, q.array(), mask, sharing_of(minimize), weighting)
    return joint_vector(model, "tau", x.checked(needed.array()))


@inverse_dynamics_regressor.recursion_with_loops
def shared_regressor(
    model: Mechanism, q: BlockArray, v: BlockArray, a: BlockArray,
    v_ref: BlockArray | None = None, actuated: JointChoice | None = None,
    minimize: Minimize | None = None, weighting: ArrayLike | None = None,
) -> Traced:  # fmt: skip
    """`inverse_dynamics_regressor` with loops: of the tree, or what some joints bear of it."""
    Y = cast("Traced", inverse_dynamics_regressor.function(model, q, v, a, v_ref))
    if actuated is None and minimize is None:
        return Y
    mask = actuated_mask(model.model, actuated)
    x = Sharing(model.model, q.array(), mask, sharing_of(minimize), weighting)
    return np.stack([x.checked(column) for column in Y.T], axis=-1)


@passive_inverse_dynamics.with_loops
def _passive_on_arrays(model: Model, arrays: Arrays, options: Options) -> Array:
    q, v, v_ref, a_ref = (np.asarray(arrays[n], float) for n in ("q", "v", "v_ref", "a_ref"))
    if options["actuated"] is not None or options["minimize"] is not None:
        A = loop_jacobian(model, q)
        opens = {"v_ref": (A @ v_ref[..., None])[..., 0]}
        opens["a_ref"] = (A @ a_ref[..., None])[..., 0] + rows_turning(model, q, v, v_ref)
        rows, columns = lengths(model)
        rate = np.abs(v / columns).max(initial=0.0)
        size = 1.0 + np.abs(a_ref / columns).max(initial=0.0) + rate**2
        allowed = (OPEN + sines(model, loop_residual(model, q))) * size
        for name, left in opens.items():
            if (np.abs(left / rows).max(-1, initial=0.0) > allowed).any():
                raise LoopError(
                    f"passive_inverse_dynamics: {name} opens the loops of {model.name!r} (rows move"
                    f" by {np.abs(left).max():.3g}); take it from consistent_velocities or "
                    "consistent_accelerations"
                )
    tau: Array = passive_inverse_dynamics.compiled(model, arrays, options)
    return _finite(model, "passive_inverse_dynamics", tau, options)


@inverse_dynamics_regressor.with_loops
def _regressor_on_arrays(model: Model, arrays: Arrays, options: Options) -> Array:
    Y: Array = inverse_dynamics_regressor.compiled(model, arrays, options)
    return _finite(model, "inverse_dynamics_regressor", Y, options)


def _finite(model: Model, function: str, x: Array, options: Options) -> Array:
    if not np.isfinite(x).all():
        by = ", ".join(map(str, options["actuated"] or ())) or "no joint"
        raise LoopError(
            f"{function}: model {model.name!r} is underactuated by {by}: its loops do not carry "
            "what these joints cannot; actuate more joints"
        )
    return x


@algorithm(threshold=ALWAYS_UNROLLED, loops="honour")
def rows_turning(model: Mechanism, q: BlockArray, v: BlockArray, v_ref: BlockArray) -> Traced:
    """Ȧ v_ref along the motion v: forward mode through the rows."""
    (out,) = inlined(model, _turning, q, v, v_ref)
    return out


def _turning(model: Model, q: Traced, v: Traced, v_ref: Traced) -> tuple[Traced]:
    return (forward(loop_jacobian(model, q) @ v_ref, q, rates(model, q, v)),)


@checked
def consistent_accelerations(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, hold: JointChoice = (), *,
    v_ref: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """The accelerations nearest to a that keep the loops closed, A a + Ȧ v = 0.

    With ``v_ref``, the rates of reference velocities along the motion v: A a + Ȧ v_ref = 0. Nearest
    in the metric of kinetic energy, as in `consistent_velocities`.

    Cost: O(n³), on arrays.

    Args:
        model: the mechanism.
        q (B, nq): a closed configuration.
        v (B, nv): joint velocities that keep it closed.
        a (B, nv): joint accelerations.
        hold: joints that keep their acceleration: names, or pairs (name, number of a coordinate).
        v_ref (B, nv), optional: velocities whose rates are asked for; v where not given.

    Returns:
        (B, nv): accelerations.

    Raises:
        LoopError: no accelerations with these held keep the loops closed.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q, v = bar.neutral(), mz.consistent_velocities(bar, bar.neutral(), [1.0, 0.0, 0.0])
        >>> a = mz.consistent_accelerations(bar, q, v, np.zeros(3), hold=bar.joint_names[:1])
        >>> np.allclose(mz.loop_acceleration(bar, q, v, a), 0.0)
        True
    """
    as_model(model, "consistent_accelerations")
    given = {"q": q, "v": v, "a": a} | ({} if v_ref is None else {"v_ref": v_ref})
    q, v, a, *other = fitting("consistent_accelerations", model, **given)
    turning = rows_turning(model, q, v, *(other or [v]))
    least = least_share(model, q)
    return nearest_velocities(model, q, a, hold, -turning, least, "accelerations")
