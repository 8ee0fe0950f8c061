# pyright: reportConstantRedefinition=false
"""Trees that are coupled by joints which come and go, each solved by itself.

A *primary* system (the arms) and *secondary* ones (tools, objects) are trees of their own, each
with its own programs. Constraints between frames of any of them come and go: they are small
matrices, and only the step in which they meet the trees is redone. Nothing is compiled when a
constraint is switched, a tool exchanged or an object released; the rows of a joint are those of
loops, a small program for each kind of joint.

    (A) free accelerations β_f of each tree         (D) (A Λ Aᵀ) f = U − (A α_f + Ȧ V), of any rank
    (B) those of its closure frames, α_f            (E) β_δ = M⁻¹ Jᵀ Aᵀ f
    (C) admittances Λ = J M⁻¹ Jᵀ                    (F) β = β_f + β_δ

Rodriguez, Jain, Kreutz-Delgado, (0.19)–(0.24), steps (A)–(F): A, B and C are one program of a tree
(Λ by the recursion of Υ), E is one more, D is LAPACK, batched: of all rows, in its first form
(0.35); where what is held is smaller than the rows that hold it, and those are independent on the
side of the arms, in its second, with M_S.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias, cast

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.with_loops import refuse_loops
from mozzi.algorithms.constraints.rank import (
    INVERTIBLE,
    NO_ROW,
    OPENING,
    ROUNDING,
    WIDEST,
    cancelled,
    pinv,
    row_lengths,
    smallest_pivot,
)
from mozzi.algorithms.constraints.rows.joints import at_rest, frames_of
from mozzi.algorithms.constraints.rows.rows import loop_acceleration, loop_jacobian, loop_residual
from mozzi.algorithms.dynamics.forward import forward_dynamics
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix
from mozzi.algorithms.dynamics.operational_admittance import operational_admittance
from mozzi.algorithms.kinematics.accelerations import accelerations
from mozzi.algorithms.kinematics.jacobian import jacobian
from mozzi.algorithms.kinematics.poses import pose, twists
from mozzi.algorithms.loops.open_loops import MISSED, REST, tell_opening
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.errors import LoopError
from mozzi.lie import SE3, Inertia
from mozzi.model import Builder, Free, Guided, Joint, Model
from mozzi.program.scalar import Real
from mozzi.types import Array, ArrayLike, Traced

__all__ = ["Attachment", "State", "Systems", "closure_frames", "distributed_accelerations"]

NOWHERE = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
"""The pose of the world."""

WIDE = 1e-3
"""Metres or radians by which attachments may be open where the trees are coupled."""

State: TypeAlias = Mapping[str, ArrayLike]
"""The name of a system → its array."""

Systems: TypeAlias = Mapping[str, tuple[Model, tuple[str, ...]]]
"""The name of a system → its tree, and the frames at which it can be grasped."""

Frames: TypeAlias = tuple[Array, Array, Array, Array, Array]
"""What `closure_frames` gives."""


@algorithm(regroup="moments")
def closure_frames(
    model: Mechanism, q: BlockArray, v: BlockArray, tau: BlockArray, frames: Sequence[str]
) -> tuple[Traced, ...]:
    """Steps A to C of one tree: (β_f, poses, twists, α_f, Λ) of its closure frames.

    (nv), (k, 7), (k, 6), (k, 6), (6 k, 6 k): free joint accelerations; positions and quaternions,
    body-fixed twists and their rates in the free motion; admittances.
    """
    tree, at, u = model.model, q.array(), v.array()
    a = forward_dynamics.inline(tree, at, u, tau.array())  # (A)
    V = np.asarray(twists.inline(tree, at, u), dtype=object)
    dV = np.asarray(accelerations.inline(tree, at, u, a), dtype=object)
    poses: list[Traced] = []
    own: list[Traced | Array] = []
    alpha: list[Traced | Array] = []
    moves = [name for name in frames if tree.frame(name)[0] >= 0]
    for name in frames:
        body, placement = tree.frame(name)
        back = placement.inverse().Ad()
        C = SE3.from_matrix(pose.inline(tree, at, name))
        poses.append(np.array([*C.p, *C.R.quaternion().flatten()], dtype=object))
        own.append(back @ V[body] if body >= 0 else np.zeros(6))
        alpha.append(back @ dV[body] if body >= 0 else np.zeros(6))  # (B)
    Lam = np.full((6 * len(frames), 6 * len(frames)), 0.0, dtype=object)
    where = [6 * frames.index(name) + c for name in moves for c in range(6)]
    if moves:
        Lam[np.ix_(where, where)] = operational_admittance.inline(tree, at, frames=moves)  # (C)
    stacked = (np.stack([np.asarray(e, dtype=object) for e in x]) for x in (poses, own, alpha))
    return (a, *stacked, Lam)


def response(model: Model, frames: Sequence[str], q: ArrayLike, wrench: Array) -> Array:
    """Step E: β_δ = M⁻¹ Jᵀ w (B, nv) of wrenches w (B, 6 k) on the closure frames."""
    weightless = model.cache.setdefault("weightless", model.with_gravity((0.0, 0.0, 0.0)))
    W = np.zeros((*wrench.shape[:-1], model.nb, 6))
    for k, name in enumerate(frames):
        body, back = _back(model, name)
        if body >= 0:
            W[..., body, :] += wrench[..., 6 * k : 6 * k + 6] @ back
    still = np.zeros(model.nv)
    return forward_dynamics(weightless, q, still, still, wrenches=W)


def frame_accelerations(
    model: Model, frames: Sequence[str], q: ArrayLike, v: ArrayLike, a: Array
) -> Array:
    """α (B, 6 k) of the closure frames, where the joints accelerate by a."""
    dV: Array = accelerations(model, q, v, a)
    still = np.zeros((*dV.shape[:-2], 6))
    parts = [still[..., :0]]
    for body, back in (_back(model, name) for name in frames):
        parts.append(dV[..., body, :] @ back.T if body >= 0 else still)
    return np.concatenate(parts, axis=-1)


def _back(model: Model, frame: str) -> tuple[int, Array]:
    """The body of a frame, and what takes twists of the body to the frame; found once."""
    key = "closure frame", frame
    if key not in model.cache:
        body, placement = model.frame(frame)
        model.cache[key] = body, np.asarray(placement.inverse().Ad(), dtype=float)
    return model.cache[key]


@dataclass(frozen=True)
class Attachment:
    """A joint between two frames, of systems by name: ("arms", "left_hand"), or "world"."""

    name: str
    a: tuple[str, str]
    b: tuple[str, str]
    joint: Joint
    placement_a: SE3
    placement_b: SE3

    @property
    def rows(self) -> int:
        """How many equations it is."""
        return len(at_rest(self.joint).rows)

    @cached_property
    def places(self) -> tuple[Array, Array]:
        """The frames of its joint in the closure frames a and b: positions and quaternions."""
        ends = ((*T.p, *T.R.quaternion().flatten()) for T in frames_of(self))
        a, b = (np.array(x, dtype=float) for x in ends)
        return a, b


def distributed_accelerations(
    systems: Systems, attachments: Sequence[Attachment], q: State, v: State, tau: State,
    rates: Mapping[str, ArrayLike], size: float,
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """Accelerations (B, nv) by system, and the multipliers (B, m) of the attachments, of least
    norm; rates: φ̈ of the residuals of those that move; size: a length of the whole.
    """
    free: dict[str, Frames] = {}
    start: dict[str, int] = {}
    total = 0
    for name, (model, frames) in systems.items():
        refuse_loops(model, f"accelerations of {name!r} by itself")
        force = tau.get(name, np.zeros(model.nv))
        free[name] = closure_frames(model, q[name], v[name], force, frames=frames)
        start[name], total = total, total + 6 * len(frames)
    shapes = [x[0].shape[:-1] for x in free.values()]
    batch = np.broadcast_shapes(*shapes, *(np.shape(x)[:-1] for x in rates.values()))
    A, bias, sine = _rows(systems, attachments, free, start, total, batch, rates, size)
    Lam, (V, alpha) = np.zeros((*batch, total, total)), np.zeros((2, *batch, total))
    for name, x in free.items():
        n = x[4].shape[-1]
        s = slice(start[name], start[name] + n)
        Lam[..., s, s] = x[4]
        V[..., s], alpha[..., s] = (y.reshape(*y.shape[:-2], n) for y in (x[2], x[3]))
    scale = _scale(A, Lam, size)
    sizes = [part.rows for part in attachments]
    U = np.zeros((*batch, sum(sizes)))
    ends = np.cumsum([0, *sizes])
    for part, i, j in zip(attachments, ends[:-1], ends[1:], strict=True):
        U[..., i:j] = rates.get(part.name, 0.0)
    out = {name: x[0] for name, x in free.items()}
    f, null = np.zeros(U.shape), np.zeros((*U.shape, 0))
    for _ in range(2):  # once more, for what a small thing between large ones has lost of digits
        needed = U - ((A @ alpha[..., None])[..., 0] + bias)
        change = _by_secondary(systems, q, start, A, Lam, needed, scale)  # (D)
        if change is None:
            change, null = _multipliers(A @ Lam @ np.swapaxes(A, -1, -2), needed, sine, scale)
        wrench, f = (np.swapaxes(A, -1, -2) @ change[..., None])[..., 0], f + change
        for name, (model, frames) in systems.items():
            s = slice(start[name], start[name] + 6 * len(frames))
            out[name] = out[name] + response(model, frames, q[name], wrench[..., s])  # (E), (F)
            alpha[..., s] = frame_accelerations(model, frames, q[name], v[name], out[name])
    if not rates:  # else on a motion of their own
        _tell_opening(attachments, A, V, alpha, bias, sine, size)
    f = f - (null @ (pinv(null) @ f[..., None]))[..., 0]  # of least norm: open, it moves them a bit
    pairs = zip(attachments, ends[:-1], ends[1:], strict=True)
    return out, {part.name: f[..., i:j] for part, i, j in pairs}


def _tell_opening(
    attachments: Sequence[Attachment], A: Array, V: Array, alpha: Array, bias: Array, sine: Array,
    size: float,
) -> None:  # fmt: skip
    """Warn of the samples whose velocities V open attachments, so that rows that depend on one
    another contradict each other: some are missed, as in programs (`rank_warnings.py`).
    """
    owner = [part.name for part in attachments for _ in range(part.rows)]
    rows = np.array([x for part in attachments for x in row_lengths(part.joint, size)])
    units = np.tile([1.0] * 3 + [size] * 3, A.shape[-1] // 6)
    speeds = np.abs((A @ V[..., None])[..., 0])
    speed = np.abs(V / units).max(-1, initial=0.0)
    opens = (speeds / rows).max(-1, initial=0.0) > np.maximum(MISSED * speed, REST)
    left = np.linalg.norm(((A @ alpha[..., None])[..., 0] + bias) / rows, axis=-1)
    whole = np.linalg.norm(alpha / units, axis=-1) + np.square(V / units).sum(-1)
    opens &= left > (MISSED + sine) * whole
    if opens.any():
        fastest = speeds[opens].reshape(-1, len(rows)).max(0)
        k = int(fastest.argmax())
        count = f"in {opens.sum()} of {opens.size} samples"
        where = count if opens.ndim else "with these velocities"
        remedy = "consistent_velocities(q, v) of the system"
        function, loop = "distributed_accelerations", f"attachment {owner[k]!r}"
        tell_opening(function, loop, float(fastest[k]), where, remedy)


def _rows(
    systems: Systems, attachments: Sequence[Attachment], free: dict[str, Frames],
    start: dict[str, int], total: int, batch: tuple[int, ...], moving: Container[str], size: float,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """A over the twists of all closure frames, Ȧ V, and the sine from which rows count: ten
    times what is open, as in programs (`constraints/rank.py`).
    """
    opening = np.zeros(batch)
    blocks, biases = [np.zeros((*batch, 0, total))], [np.zeros((*batch, 0))]
    for part in attachments:
        q, v = np.zeros((*batch, 28)), np.zeros((*batch, 24))
        at: list[int | None] = []
        for n, ((system, frame), T) in enumerate(zip((part.a, part.b), part.places, strict=True)):
            k = -1 if system == "world" else systems[system][1].index(frame)
            at.append(None if k < 0 else start[system] + 6 * k)
            q[..., 14 * n : 14 * n + 7] = free[system][1][..., k, :] if k >= 0 else NOWHERE
            q[..., 14 * n + 7 : 14 * n + 14] = T
            v[..., 12 * n : 12 * n + 6] = free[system][2][..., k, :] if k >= 0 else 0.0
        rows = rows_between(part.joint.with_frames(None, None), part.name in moving)
        J, bias, left = attachment_rows(rows, q, v)
        R = J[..., 18:]  # along the twist of the joint's own frame on b
        error: Array = (left[..., None, :] @ R)[..., 0, :]
        refuse_open(part.name, error)
        opening = opening + np.square(error / ([1.0] * 3 + [size] * 3)).sum(axis=-1)
        counts = (R * R).sum(axis=-1) > NO_ROW  # not what rounding leaves of a projector
        A = np.zeros((*batch, R.shape[-2], total))
        for n, k in enumerate(at):
            if k is not None:
                A[..., k : k + 6] += np.where(counts[..., None], J[..., 12 * n : 12 * n + 6], 0.0)
        blocks.append(A)
        biases.append(np.where(counts, bias, 0.0))
    sine = np.minimum(OPENING * np.sqrt(opening), WIDEST)
    return np.concatenate(blocks, axis=-2), np.concatenate(biases, axis=-1), sine


@lru_cache(maxsize=64)
def rows_between(joint: Joint, moving: bool = False) -> Model:
    """A frame on another frame, two times, and this joint between them as a loop: its rows are
    those of an attachment, wherever it is; of its residual, where that moves. One for each kind of
    joint.
    """
    b, unit = Builder("attachment"), Inertia(1.0, (0.0, 0.0, 0.0), np.eye(3))
    for side in "ab":
        b.add(f"frame_{side}", None, Free(), unit)
        b.add(f"place_{side}", f"frame_{side}", Free(), unit)
    tied = b.loop("joint", "place_a", "place_b", joint).build()
    if not moving:
        return tied
    guided = [Guided(x) for x in tied.loops]
    return tied._replace(loops=[], drives=guided)  # pyright: ignore[reportPrivateUsage]


@algorithm(loops="honour")
def attachment_rows(
    model: Mechanism, q: BlockArray, v: BlockArray
) -> tuple[Traced, Traced, Traced]:
    """(A, Ȧ v, φ) of the rows of a model."""
    tree, at, u = model.model, q.array(), v.array()
    still = np.zeros(tree.nv)
    bias = loop_acceleration.inline(tree, at, u, still)
    return loop_jacobian.inline(tree, at), bias, loop_residual.inline(tree, at)


def refuse_open(name: str, error: Array, tolerance: float = WIDE) -> None:
    """Raise where an attachment is open, by a rotation vector and a displacement (…, 6)."""
    turn, gap = (
        float(np.linalg.norm(error[..., s], axis=-1).max(initial=0.0))
        for s in (slice(0, 3), slice(3, 6))
    )
    if not (turn <= tolerance and gap <= tolerance):  # nor NaN
        raise LoopError(
            f"attachment {name!r} is open by {gap:.2e} m and {turn:.2e} rad, more than "
            f"{tolerance:g}; call assemble(q) of the system, or attach it with at=q, where it is"
        )


def _by_secondary(
    systems: Systems, q: State, start: dict[str, int], A: Array, Lam: Array, needed: Array,
    scale: Array,
) -> Array | None:  # fmt: skip
    """f of step D in its second form, of the secondary systems, those of one body:

        X = A_P Λ_P A_Pᵀ,  R = A_S J_S:   (M_S + Rᵀ X⁻¹ R) z = Rᵀ X⁻¹ r,   f = X⁻¹ (r − R z)

    None where X is not invertible, or they have as many coordinates as there are rows: the first
    form is for those.  Rodriguez et al., below (0.35).
    """
    held = [name for name, (model, frames) in systems.items() if model.nb == 1 and frames]
    if not held or sum(systems[name][0].nv for name in held) >= A.shape[-2]:
        return None
    P = np.ones(A.shape[-1], dtype=bool)
    for name in held:
        P[start[name] : start[name] + 6 * len(systems[name][1])] = False
    X: Array = A[..., P] @ Lam[..., P, :][..., P] @ np.swapaxes(A[..., P], -1, -2)
    size: Array = np.einsum("...kk->...k", X)
    if (size <= ROUNDING * scale).any():
        return None
    d: Array = 1.0 / np.sqrt(size)
    try:
        L = np.linalg.cholesky(d[..., :, None] * X * d[..., None, :])
    except np.linalg.LinAlgError:
        return None
    if np.square(np.einsum("...kk->...k", L)).min(initial=1.0) < INVERTIBLE:
        return None
    M: list[Array] = [mass_matrix(systems[name][0], q[name]) for name in held]
    R: list[Array] = []
    for name in held:
        model, frames = systems[name]
        blocks: list[Array] = [jacobian(model, q[name], frame) for frame in frames]
        J = np.concatenate(blocks, axis=-2)
        R.append(A[..., start[name] : start[name] + J.shape[-2]] @ J)
    turned: Array = np.concatenate(R, axis=-1)
    both: Array = np.concatenate([turned, needed[..., None]], axis=-1)
    Y: Array = d[..., :, None] * np.linalg.solve(
        np.swapaxes(L, -1, -2), np.linalg.solve(L, d[..., :, None] * both)
    )
    S: Array = np.swapaxes(turned, -1, -2) @ Y
    at = 0
    for block in M:
        n = block.shape[-1]
        S[..., at : at + n, at : at + n] += block
        at += n
    z = np.linalg.solve(S[..., :-1], S[..., -1:])
    return (Y[..., -1:] - Y[..., :-1] @ z)[..., 0]


def _scale(A: Array, Lam: Array, size: float) -> Array:
    """The admittances that rows would have in any direction: of the turns and of the displacements
    of their frames. Where all of one kind vanish, what rounding leaves of the other counts.
    """
    own = np.einsum("...kk->...k", Lam)
    own = own.reshape(*own.shape[:-1], own.shape[-1] // 6, 2, 3).sum(axis=-1)
    turn, move = own[..., 0], own[..., 1]
    left = cancelled()
    own = np.stack([turn + left * move / size**2, move + left * size**2 * turn], axis=-1)
    parts = np.linalg.norm(A.reshape(*A.shape[:-1], A.shape[-1] // 6, 2, 3), axis=-1)
    return np.square((parts * np.sqrt(own)[..., None, :, :]).sum(axis=(-2, -1)))


def _multipliers(
    Lam: np.ndarray, needed: np.ndarray, sine: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """f with Λ f = needed, for a semidefinite Λ of any rank, and what spans its null space.

    Rows are first made alike, by their scales: a small thing has admittances that are large, and
    those of what holds it count as well. Then eigenvalues count from `smallest_pivot`, as pivots do
    in programs, and one step of refinement gives back what the smallest have cost.
    """
    d = 1.0 / np.sqrt(np.where(scale > 0.0, scale, 1.0))
    w, V = np.linalg.eigh(d[..., :, None] * Lam * d[..., None, :])
    size, sine2 = cast("tuple[Real, Real]", (np.clip(w, 0.0, 1.0), np.square(sine)[..., None]))
    keep = w > smallest_pivot(size, 1.0, sine2)
    inverse = np.where(keep, 1.0 / np.where(keep, w, 1.0), 0.0)
    dV = d[..., :, None] * V
    f = np.zeros(needed.shape)
    for _ in range(2):
        left = needed - np.einsum("...jk,...k->...j", Lam, f)
        f = f + np.einsum("...jr,...r,...kr,...k->...j", dV, inverse, dV, left, optimize=True)
    return f, dV * ~keep[..., None, :]
