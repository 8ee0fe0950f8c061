# pyright: reportConstantRedefinition=false
"""Trees that are coupled by joints which come and go, each solved by itself.

A *primary* system (the arms) and *secondary* ones (tools, objects) are trees of their own, each
with its own programs. Constraints between frames of any of them come and go: they are small
matrices, and only the step in which they meet the trees is redone. Nothing is compiled when a
constraint is switched, a tool exchanged or an object released.

    (A) free accelerations β_f of each tree         (D) (A Λ Aᵀ) f = U − (A α_f + Ȧ V), of any rank
    (B) those of its closure frames, α_f            (E) β_δ = M⁻¹ Jᵀ Aᵀ f
    (C) admittances Λ = J M⁻¹ Jᵀ                    (F) β = β_f + β_δ

Rodriguez, Jain, Kreutz-Delgado, (0.19)–(0.24), steps (A)–(F): A, B and C are one program of a tree
(Λ by the recursion of Υ), E is one more, D is LAPACK, batched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.with_loops import refuse_loops
from mozzi.algorithms.constraints.joints import frames_of, meet
from mozzi.algorithms.constraints.rank import NO_ROW, OPENING, WIDEST, pinv, smallest_pivot
from mozzi.algorithms.dynamics.forward import forward_dynamics
from mozzi.algorithms.dynamics.operational_admittance import operational_admittance
from mozzi.algorithms.kinematics.accelerations import accelerations
from mozzi.algorithms.kinematics.poses import pose, twists
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.errors import LoopError
from mozzi.lie import SE3, Twist
from mozzi.model import Joint, Model
from mozzi.program.scalar import Real
from mozzi.types import Array, ArrayLike, Traced

__all__ = ["Attachment", "State", "Systems", "closure_frames", "distributed_accelerations"]

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

    (nv), (k, 4, 4), (k, 6), (k, 6), (6 k, 6 k): free joint accelerations; poses, body-fixed twists
    and their rates in the free motion; admittances.
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
        poses.append(pose.inline(tree, at, name))
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
        body, placement = model.frame(name)
        if body >= 0:
            back = np.asarray(placement.inverse().Ad(), dtype=float)
            W[..., body, :] += wrench[..., 6 * k : 6 * k + 6] @ back
    still = np.zeros(model.nv)
    return forward_dynamics(weightless, q, still, still, wrenches=W)


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
        return len(meet(self.joint, SE3.identity()).rows)


def distributed_accelerations(
    systems: Systems, attachments: Sequence[Attachment], q: State, v: State, tau: State,
    rates: Mapping[str, ArrayLike],
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """Accelerations (B, nv) by system, and the multipliers (B, m) of the attachments, of least
    norm; rates: what their rows shall accelerate by, where not zero.
    """
    free: dict[str, Frames] = {}
    start: dict[str, int] = {}
    total = 0
    for name, (model, frames) in systems.items():
        refuse_loops(model, f"accelerations of {name!r} by itself")
        force = tau.get(name, np.zeros(model.nv))
        free[name] = closure_frames(model, q[name], v[name], force, frames=frames)
        start[name], total = total, total + 6 * len(frames)
    batch = np.broadcast_shapes(*(x[0].shape[:-1] for x in free.values()))
    A, bias, sine = _rows(systems, attachments, free, start, total, batch)
    Lam, alpha = np.zeros((*batch, total, total)), np.zeros((*batch, total))
    for name, x in free.items():
        n = x[4].shape[-1]
        s = slice(start[name], start[name] + n)
        Lam[..., s, s], alpha[..., s] = x[4], x[3].reshape(*x[3].shape[:-2], n)
    sizes = [part.rows for part in attachments]
    U = np.zeros((*batch, sum(sizes)))
    ends = np.cumsum([0, *sizes])
    for part, i, j in zip(attachments, ends[:-1], ends[1:], strict=True):
        U[..., i:j] = rates.get(part.name, 0.0)
    needed = U - ((A @ alpha[..., None])[..., 0] + bias)
    f = _multipliers(A @ Lam @ np.swapaxes(A, -1, -2), needed, sine)  # (D)
    wrench = (np.swapaxes(A, -1, -2) @ f[..., None])[..., 0]
    out: dict[str, Array] = {}
    for name, (model, frames) in systems.items():
        own = wrench[..., start[name] : start[name] + 6 * len(frames)]
        out[name] = free[name][0] + response(model, frames, q[name], own)  # (E), (F)
    pairs = zip(attachments, ends[:-1], ends[1:], strict=True)
    return out, {part.name: f[..., i:j] for part, i, j in pairs}


def _rows(
    systems: Systems, attachments: Sequence[Attachment], free: dict[str, Frames],
    start: dict[str, int], total: int, batch: tuple[int, ...],
) -> tuple[Array, Array, Array]:  # fmt: skip
    """A over the twists of all closure frames, Ȧ V, and the sine from which rows count: ten
    times what is open, as in programs (`constraints/rank.py`).
    """
    opening = np.zeros(batch)
    blocks, biases = [np.zeros((*batch, 0, total))], [np.zeros((*batch, 0))]
    for part in attachments:
        C: list[Array] = []
        V: list[Array] = []
        own: list[Array] = []
        at: list[int | None] = []
        for (system, frame), T in zip((part.a, part.b), frames_of(part), strict=True):
            k = -1 if system == "world" else systems[system][1].index(frame)
            own.append(T.inverse().Ad())
            at.append(None if k < 0 else start[system] + 6 * k)
            C.append((free[system][1][..., k, :, :] if k >= 0 else np.eye(4)) @ T.matrix())
            twist = free[system][2][..., k, :] if k >= 0 else np.zeros(6)
            V.append((own[-1] @ twist[..., None])[..., 0])
        G = np.linalg.inv(C[0]) @ C[1]
        met = meet(part.joint, SE3.from_matrix(G))
        error = _stack([met.error(SE3.from_matrix(G)).flatten()], batch)[..., 0, :]
        gap = np.square(error).sum(axis=-1)
        refuse_open(part.name, error)
        opening = opening + gap
        R = _stack([W.flatten() for W in met.rows], batch)  # (…, m, 6)
        if not met.exact:  # rows of a projector, some of which are nothing but rounding
            R = np.where((R * R).sum(axis=-1, keepdims=True) > NO_ROW, R, 0.0)
        over = _adjoint(np.linalg.inv(G))  # twists of A, seen in B
        A = np.zeros((*batch, R.shape[-2], total))
        if at[1] is not None:
            A[..., at[1] : at[1] + 6] += R @ own[1]
        if at[0] is not None:
            A[..., at[0] : at[0] + 6] -= R @ over @ own[0]
        V_a = (over @ V[0][..., None])[..., 0]
        V_rel = V[1] - V_a
        drift = np.broadcast_to(_bracket(V_rel, V_a), (*batch, 6))
        if not part.joint.subgroup:
            own_drift = met.drift(Twist.from_array(V_rel)).flatten()
            drift = drift - _stack([own_drift], batch)[..., 0, :]
        blocks.append(A)
        biases.append((R @ drift[..., None])[..., 0])
    sine = np.minimum(OPENING * np.sqrt(opening), WIDEST)
    return np.concatenate(blocks, axis=-2), np.concatenate(biases, axis=-1), sine


def refuse_open(name: str, error: Array, tolerance: float = WIDE) -> None:
    """Raise where an attachment is open, by a rotation vector and a displacement (…, 6)."""
    turn, gap = (
        float(np.linalg.norm(error[..., s], axis=-1).max(initial=0.0))
        for s in (slice(0, 3), slice(3, 6))
    )
    if max(turn, gap) > tolerance:
        raise LoopError(
            f"attachment {name!r} is open by {gap:.2e} m and {turn:.2e} rad, more than "
            f"{tolerance:g}; bring its frames together before it is attached"
        )


def _multipliers(Lam: np.ndarray, needed: np.ndarray, sine: np.ndarray) -> np.ndarray:
    """f with Λ f = needed, of least norm, for a semidefinite Λ of any rank.

    Rows are first made alike, Λ_kk = 1: a small thing has admittances that are large, and those of
    what holds it count as well. Then eigenvalues count from `smallest_pivot`, as pivots do in
    programs, and one step of refinement gives back what the smallest have cost.
    """
    diagonal = np.einsum("...kk->...k", Lam)
    d = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    w, V = np.linalg.eigh(d[..., :, None] * Lam * d[..., None, :])
    size, sine2 = cast("tuple[Real, Real]", (np.clip(w, 0.0, 1.0), np.square(sine)[..., None]))
    keep = w > smallest_pivot(size, 1.0, sine2)
    inverse = np.where(keep, 1.0 / np.where(keep, w, 1.0), 0.0)
    dV = d[..., :, None] * V
    f = np.zeros(needed.shape)
    for _ in range(2):
        left = needed - np.einsum("...jk,...k->...j", Lam, f)
        f = f + np.einsum("...jr,...r,...kr,...k->...j", dV, inverse, dV, left, optimize=True)
    Z = dV * ~keep[..., None, :]  # spans the null space of Λ
    return f - (Z @ (pinv(Z) @ f[..., None]))[..., 0]


def _stack(rows: Sequence[Sequence[Real]], batch: tuple[int, ...]) -> np.ndarray:
    if not rows:
        return np.zeros((*batch, 0, 6))
    whole = [[np.broadcast_to(np.asarray(e), batch) for e in row] for row in rows]
    parts = [np.stack(row, axis=-1) for row in whole]
    return np.stack(parts, axis=-2)


def _adjoint(T: np.ndarray) -> np.ndarray:
    R, p = T[..., :3, :3], T[..., :3, 3]
    out = np.zeros((*T.shape[:-2], 6, 6))
    out[..., :3, :3] = out[..., 3:, 3:] = R
    out[..., 3:, :3] = np.cross(p[..., :, None], R, axis=-2)
    return out


def _bracket(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """[X, Y] of twists."""
    w, u = X[..., :3], Y[..., :3]
    lin = np.cross(w, Y[..., 3:]) + np.cross(X[..., 3:], u)
    return np.concatenate([np.cross(w, u), lin], axis=-1)
