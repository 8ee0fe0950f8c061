"""Inverse dynamics of mechanisms with loops of which some joints have actuators.

Between programs, by LAPACK and batched: whether actuators suffice is a question of rank. Rows of A
belong to λ, columns to joints; a: actuated, p: passive, r: the tree with all joints actuated.

    τ_a + A_aᵀ λ = τ_ar,   τ_p + A_pᵀ λ = τ_pr .                                   Kim (56), (57)

τ_p, the forces of passive joints, are given; zero where they are not.
"""

from __future__ import annotations

import math
from types import NotImplementedType

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.algorithm import Arrays, Options
from mozzi.algorithms.constraints.rank import SHARE, length_of, lengths, pinv, sines, what_counts
from mozzi.algorithms.constraints.rows.rows import loop_acceleration, loop_jacobian, loop_residual
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.loops.assemble import held_mask
from mozzi.algorithms.loops.rank_warnings import warn_of_passive_joints
from mozzi.algorithms.loops.shown import least_share
from mozzi.errors import ConfigurationError, LoopError, ShapeError, known
from mozzi.lie.vec import number
from mozzi.model import Model
from mozzi.types import Array, ArrayLike, JointChoice, Minimize, words

__all__ = [
    "Shares", "actuated_forces", "actuated_mask", "check_accelerations", "shared", "shares",
    "sharing_of", "torque_of", "weights_of",
]  # fmt: skip

MINIMIZE = words(Minimize)
SHARING = ("actuated", "minimize", "weighting")  # the options that say how
OPEN = 1e-6  # relative: accelerations that disagree more with the loops are refused
MISSED = 1e-8  # relative: forces that are balanced worse are refused


class Shares:
    """What actuators and loops bear: the torques τ (…, nv) and the multipliers λ (…, m)."""

    def __init__(
        self, A: Array, tau_r: Array, actuated: NDArray[np.bool_], minimize: str,
        w: ArrayLike | None,
    ):  # fmt: skip
        self.A, self.actuated, self.minimize = A, actuated, minimize
        m, n_a = A.shape[-2], int(actuated.sum())
        self.w = weights_of(w, minimize, n_a, m)
        Apt, Aat = (np.swapaxes(A[..., k], -1, -2) for k in (~actuated, actuated))
        tau_pr, tau_ar = tau_r[..., ~actuated, None], tau_r[..., actuated, None]
        if minimize == "loop_force":
            s = 1.0 / np.sqrt(self.w)
            lam = s[:, None] * (pinv(Apt * s) @ tau_pr)
        else:
            inverse = pinv(Apt)
            lam = inverse @ tau_pr
            null = np.eye(m) - inverse @ Apt  # the projector N Nᵀ
            s = np.sqrt(self.w)[:, None]
            size = np.linalg.norm(s * Aat, axis=(-2, -1))
            inside = pinv(s * (Aat @ null), size)
            lam = lam + null @ (inside @ (s * (tau_ar - Aat @ lam)))  # K64
        self.unbalanced = (tau_pr - Apt @ lam)[..., 0]
        self.multipliers = lam[..., 0]
        self.tau = np.zeros(np.broadcast_shapes(tau_r.shape, (*lam.shape[:-2], tau_r.shape[-1])))
        self.tau[..., actuated] = (tau_ar - Aat @ lam)[..., 0]  # K60


def weights_of(
    weighting: ArrayLike | None, minimize: str, n_a: int, m: int
) -> NDArray[np.float64]:
    """The weights of what is minimized: of n_a torques, or of m multipliers."""
    size = n_a if minimize == "torque" else m
    w = np.ones(size) if weighting is None else np.asarray(weighting, dtype=float)
    if w.shape not in ((), (1,), (size,)) or not (w > 0.0).all():
        per = "actuated coordinate" if minimize == "torque" else "row of the loops"
        raise LoopError(f"weighting: give {size} positive weights, one for each {per}")
    return np.broadcast_to(w, (size,))


def sharing_of(minimize: Minimize | None) -> Minimize:
    """What is minimized: torques, where nothing is said."""
    if minimize is not None and minimize not in MINIMIZE:
        raise ConfigurationError(
            f"minimize {minimize!r}; choose one of {known(minimize, MINIMIZE)}"
        )
    return minimize or "torque"


def actuated_mask(model: Model, joints: JointChoice | None) -> NDArray[np.bool_]:
    """Which coordinates have actuators: all, where none are named."""
    return np.ones(model.nv, bool) if joints is None else held_mask(model, joints)


@inverse_dynamics.with_loops
def actuated_forces(
    model: Model, arrays: Arrays, options: Options
) -> Array | NotImplementedType:
    """The answer of `inverse_dynamics` where joints are actuated, or something is minimized."""
    if options.get("actuated") is None and options.get("minimize") is None:
        return NotImplemented
    return shares(model, arrays, options).tau


def shares(model: Model, arrays: Arrays, options: Options) -> Shares:
    """Torques and multipliers of a motion."""
    actuated_mask(model, options.get("actuated"))  # a name that is not there is told first
    check_accelerations(model, arrays["q"], arrays["v"], arrays["a"])
    given = {n: x for n, x in options.items() if n not in SHARING}
    tree = {n: x for n, x in arrays.items() if n != "tau"}
    tau_r = inverse_dynamics(model, **tree, **given)
    A = loop_jacobian(model, arrays["q"])
    return shared(model, arrays["q"], A, tau_r, options, arrays.get("tau"))


def shared(
    model: Model, q: ArrayLike, A: Array, tau_r: Array, options: Options,
    tau_p: ArrayLike | None = None,
) -> Shares:  # fmt: skip
    """The forces of the tree, borne by actuators, passive joints (τ_p, read there) and loops."""
    joints, weighting = options.get("actuated"), options.get("weighting")
    minimize = sharing_of(options.get("minimize"))
    actuated = actuated_mask(model, joints)
    if tau_p is not None and np.shape(tau_p)[-1:] != (model.nv,):
        has = f"{model.name} has nv = {model.nv}"
        raise ShapeError("inverse_dynamics", "tau", np.shape(tau_p), (model.nv,), has)
    own = np.zeros(model.nv) if tau_p is None else np.where(actuated, 0.0, tau_p)
    least, passive = least_share(model, q), ~actuated
    some = what_counts(model, A, least)
    if passive.any():
        part = what_counts(model, some[..., passive], least, passive)
        some = np.where(passive, part[..., np.cumsum(passive) - 1], some)
    result = Shares(some, tau_r - own, actuated, minimize, weighting)
    warn_of_passive_joints(model, q, A, ~actuated)
    _refuse(model, result, tau_r - own, joints)
    result.tau = result.tau + own
    return result


def check_accelerations(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, left: Array | None = None
) -> None:
    """Accelerations that keep the loops closed; left: `loop_acceleration`, if known."""
    rest: Array = loop_acceleration(model, q, v, a) if left is None else left
    if opens(model, q, v, a, rest):
        raise LoopError(
            f"model {model.name!r}: these accelerations open its loops (rows accelerate by up to "
            f"{np.abs(rest).max():.3g}); take them from forward_dynamics or hybrid_dynamics"
        )


def opens(model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, left: Array) -> bool:
    """Whether what is left of rows opens the loops of a sample that moves like this, by more than
    they are open already. Lengths are measured by the mechanism.
    """
    rows, columns = lengths(model)
    a, v = np.asarray(a) / columns, np.asarray(v) / columns
    scale = 1.0 + np.abs(a).max(-1, initial=0.0) + np.square(v).max(-1, initial=0.0)
    over = np.abs(left / rows).max(-1, initial=0.0) / scale
    return bool((over > OPEN).any() and (over > OPEN + sines(model, loop_residual(model, q))).any())


def torque_of(model: Model) -> float:
    """A torque of the mechanism, beside which others are rounding: all its mass at its length, in
    gravity, or at one radian per second squared where that is more.
    """
    of = model.nominal or model
    mass, size = sum(number(body.inertia.mass) or 0.0 for body in of), length_of(of)
    return mass * size * max(math.hypot(*(number(x) or 0.0 for x in of.gravity)), size)


def _refuse(model: Model, result: Shares, tau_r: Array, joints: JointChoice | None) -> None:
    """No torques of too few actuators make a motion; tell what is missing."""
    left, passive, columns = np.abs(result.unbalanced), ~result.actuated, lengths(model)[1]
    needed = torque_of(model) + np.abs(tau_r * columns).max(-1, initial=0.0)
    if ((left * columns[passive]).max(-1, initial=0.0) <= MISSED * needed).all():
        return
    rank = np.linalg.matrix_rank(result.A[..., passive], rtol=SHARE).min()
    names = [n for n, p in zip(model.v_names, passive) if p]
    worst = names[int(left.reshape(-1, len(names)).max(0).argmax())]
    by = ", ".join(map(str, joints or ())) or "no joint"
    raise LoopError(
        f"model {model.name!r} is underactuated by {by}: its loops hold {rank} of {len(names)} "
        f"passive coordinates, and {worst!r} lacks up to {left.max():.3g} N or N m for this "
        "motion; actuate more joints, or prescribe the motion of the actuated ones only: "
        "hybrid_dynamics(..., prescribed=[...])"
    )
