# pyright: reportConstantRedefinition=false
"""Mechanisms whose topology changes: arms that pick up, carry and put down.

A *primary* system (the arms) and *secondary* ones (tools, objects) are trees of their own, each
with its own programs. Constraints between frames of any of them come and go: they are small
matrices, and only the step in which they meet the trees is redone. Nothing is compiled when a
constraint is switched, a tool exchanged or an object released.

    (A) free accelerations β_f of each tree         (D) (A Λ Aᵀ) f = U − (A α_f + Ȧ V), of any rank
    (B) those of its closure frames, α_f            (E) β_δ = M⁻¹ Jᵀ Aᵀ f
    (C) admittances Λ = J M⁻¹ Jᵀ                    (F) β = β_f + β_δ

Rodriguez, Jain, Kreutz-Delgado, (0.19)–(0.24), steps (A)–(F): A, B, C and E are programs of one
tree, D is LAPACK, batched.
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
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix
from mozzi.algorithms.kinematics.accelerations import accelerations
from mozzi.algorithms.kinematics.jacobian import jacobian
from mozzi.algorithms.kinematics.poses import pose, twists
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.errors import ConfigurationError, LoopError, ModelError
from mozzi.lie import SE3, Twist
from mozzi.model import Fixed, Joint, Model
from mozzi.program.scalar import Real
from mozzi.types import Array, ArrayLike, Traced

__all__ = ["Attachment", "ClosedSystem", "closure_frames"]

State: TypeAlias = Mapping[str, ArrayLike]
"""The name of a system → its array."""

Frames: TypeAlias = tuple[Array, Array, Array, Array, Array, Array]
"""What `closure_frames` gives."""


@algorithm(regroup="moments")
def closure_frames(
    model: Mechanism, q: BlockArray, v: BlockArray, tau: BlockArray, frames: Sequence[str]
) -> tuple[Traced, ...]:
    """Steps A to C of one tree: (β_f, poses, twists, α_f, M⁻¹ Jᵀ, Λ) of its closure frames.

    (nv), (k, 4, 4), (k, 6), (k, 6), (nv, 6 k), (6 k, 6 k): free joint accelerations; poses,
    body-fixed twists and their rates in the free motion; responses to wrenches on the frames.
    """
    tree, at, u = model.model, q.array(), v.array()
    a = forward_dynamics.inline(tree, at, u, tau.array())  # (A)
    V = np.asarray(twists.inline(tree, at, u), dtype=object)
    dV = np.asarray(accelerations.inline(tree, at, u, a), dtype=object)
    weightless = tree.with_gravity((0.0, 0.0, 0.0))
    still = np.zeros(tree.nv)
    poses: list[Traced] = []
    own: list[Traced | Array] = []
    alpha: list[Traced | Array] = []
    each: list[Traced] = []
    for name in frames:
        body, placement = tree.frame(name)
        back = placement.inverse().Ad()
        poses.append(pose.inline(tree, at, name))
        own.append(back @ V[body] if body >= 0 else np.zeros(6))
        alpha.append(back @ dV[body] if body >= 0 else np.zeros(6))  # (B)
        each.append(np.asarray(jacobian.inline(tree, at, name), dtype=object))
    J = np.concatenate(each, axis=0)
    columns = [forward_dynamics.inline(weightless, at, still, row) for row in J]
    response = np.stack([np.asarray(c, dtype=object) for c in columns], axis=-1)
    stacked = (np.stack([np.asarray(e, dtype=object) for e in x]) for x in (poses, own, alpha))
    return (a, *stacked, response, J @ response)  # (C)


@dataclass(frozen=True)
class Attachment:
    """A joint between two frames, of systems by name: ("arms", "left_hand"), or "world"."""

    name: str
    a: tuple[str, str]
    b: tuple[str, str]
    joint: Joint
    placement_a: SE3
    placement_b: SE3


class ClosedSystem:
    """Trees that are coupled by joints which come and go.

    >>> both = ClosedSystem({"arms": (arms, ["left_hand", "right_hand"]), "bar": (bar, ["bar"])})
    >>> held = both.attach("left", ("arms", "left_hand"), ("bar", "bar"), placement_b=end)
    >>> a = held.accelerations({"arms": q, "bar": p}, {"arms": v, "bar": w}, {"arms": tau})

    A tree is given with the frames at which it can be grasped. `attach`, `detach`, `with_system`
    and `without_system` return changed systems; the trees keep their programs.
    """

    def __init__(
        self,
        systems: Mapping[str, tuple[Model, Sequence[str]]],
        attachments: Sequence[Attachment] = (),
    ):
        if not isinstance(cast("object", systems), Mapping):
            raise TypeError("ClosedSystem: give the systems as {name: (model, frames)}")
        self.systems = {name: (model, tuple(frames)) for name, (model, frames) in systems.items()}
        self.attachments = tuple(attachments)
        for name, (model, frames) in self.systems.items():
            refuse_loops(model, f"ClosedSystem of {name!r}")
            for frame in frames:
                model.frame(frame)
        for part in self.attachments:
            for system, frame in (part.a, part.b):
                self._place(system, frame, part.name)

    def _place(self, system: str, frame: str, what: str) -> int:
        if system == "world":
            return -1
        if system not in self.systems or frame not in self.systems[system][1]:
            known = [f"({s!r}, {f!r})" for s, (_, frames) in self.systems.items() for f in frames]
            raise ModelError(
                f"attachment {what!r}: no closure frame ({system!r}, {frame!r}); there are "
                f"{', '.join(known)}, and ('world', '')"
            )
        return self.systems[system][1].index(frame)

    # -- changed copies --

    def attach(
        self,
        name: str,
        a: tuple[str, str],
        b: tuple[str, str],
        joint: Joint | None = None,
        placement_a: SE3 | ArrayLike | None = None,
        placement_b: SE3 | ArrayLike | None = None,
    ) -> ClosedSystem:
        """With one more joint (rigid without one) from a frame a to a frame b.

        Args:
            name: its name.
            a: (system, frame).
            b: (system, frame).
            joint: the joint; None: rigid.
            placement_a: pose of the joint's frame on body a; None: the body's own.
            placement_b: pose of the joint's frame on body b, likewise.
        """
        if any(part.name == name for part in self.attachments):
            raise ModelError(f"attachment {name!r} is there; detach it, or give another name")
        placements = (_pose(T) for T in (placement_a, placement_b))
        part = Attachment(name, tuple(a), tuple(b), joint or Fixed(), *placements)  # type: ignore
        return ClosedSystem(self.systems, (*self.attachments, part))

    def detach(self, name: str) -> ClosedSystem:
        """Without a joint.

        Args:
            name: its name.
        """
        left = tuple(part for part in self.attachments if part.name != name)
        if len(left) == len(self.attachments):
            known = ", ".join(repr(part.name) for part in self.attachments) or "none"
            raise ModelError(f"no attachment {name!r} to detach; there are {known}")
        return ClosedSystem(self.systems, left)

    def with_system(self, name: str, model: Model, frames: Sequence[str]) -> ClosedSystem:
        """With one more tree, or another in its place.

        Args:
            name: its name.
            model: the mechanism.
            frames: names of the frames that others may be attached to.
        """
        return ClosedSystem({**self.systems, name: (model, frames)}, self.attachments)

    def without_system(self, name: str) -> ClosedSystem:
        """Without a tree, and what was attached to it.

        Args:
            name: its name.
        """
        if name not in self.systems:
            known = ", ".join(map(repr, self.systems))
            raise ModelError(f"no system {name!r} to take away; there are {known}")
        left = [p for p in self.attachments if name not in (p.a[0], p.b[0])]
        return ClosedSystem({n: x for n, x in self.systems.items() if n != name}, left)

    # -- dynamics --

    def residual(self, q: State) -> dict[str, np.ndarray]:
        """How far each attachment is open: rotation vector and displacement (B, 6) to the nearest
        pose of its joint, in its frame on b.

        Args:
            q: configurations (B, nq), by system.
        """
        self._check(q)
        out: dict[str, np.ndarray] = {}
        for part in self.attachments:
            C: list[Array] = []
            for (system, frame), T in zip((part.a, part.b), frames_of(part), strict=True):
                tree = None if system == "world" else self.systems[system][0]
                at = np.eye(4) if tree is None else pose(tree, q[system], frame)
                C.append(at @ T.matrix())
            G = SE3.from_matrix(np.linalg.inv(C[0]) @ C[1])
            error = meet(part.joint, G).error(G).flatten()
            batch = np.broadcast_shapes(*(np.asarray(x).shape for x in error))
            out[part.name] = _stack([error], batch)[..., 0, :]
        return out

    def check_closed(self, q: State, tolerance: float = 1e-4) -> None:
        """Raise a `LoopError` where an attachment is open by more than a tolerance.

        Args:
            q: configurations (B, nq), by system.
            tolerance: metres, or radians.
        """
        for name, error in self.residual(q).items():
            turn, gap = (np.linalg.norm(error[..., s], axis=-1).max(initial=0.0)
                         for s in (slice(0, 3), slice(3, 6)))  # fmt: skip
            if max(turn, gap) > tolerance:
                raise LoopError(
                    f"attachment {name!r} is open by {gap:.2e} m and {turn:.2e} rad, more than "
                    f"{tolerance:g}; bring its frames together before it is attached"
                )

    def _check(self, q: State, v: State | None = None, tau: State | None = None) -> None:
        """Every system has a state (more may be given), and forces are for one that is given."""
        for what, state in (("q", q), *((("v", v),) if v is not None else ())):
            missing = ", ".join(repr(name) for name in self.systems if name not in state)
            if missing:
                raise ConfigurationError(f"{what}: nothing for {missing}; give each system its own")
        for name in tau or {}:
            if name not in self.systems and name not in q:
                known = ", ".join(map(repr, self.systems))
                raise ConfigurationError(f"tau: no system {name!r}; there are {known}")

    def accelerations(
        self, q: State, v: State, tau: State | None = None
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """(accelerations by system, multipliers f of all attachments, of least norm).

        Args:
            q: configurations (B, nq), by system.
            v: velocities (B, nv), by system.
            tau: joint forces (B, nv), by system.
        """
        tau = tau or {}
        self._check(q, v, tau)
        free: dict[str, Frames] = {}
        for name, (model, frames) in self.systems.items():
            force = np.zeros(model.nv) if name not in tau else np.asarray(tau[name], float)
            free[name] = closure_frames(model, q[name], v[name], force, frames=frames)
        batch = np.broadcast_shapes(*(x[0].shape[:-1] for x in free.values()))
        start: dict[str, int] = {}
        total = 0
        for name, (_, frames) in self.systems.items():
            start[name], total = total, total + 6 * len(frames)
        A, bias, sine = self._rows(free, start, total, batch)
        Lam = np.zeros((*batch, total, total))
        alpha = np.zeros((*batch, total))
        for name, x in free.items():
            n = x[5].shape[-1]
            s = slice(start[name], start[name] + n)
            Lam[..., s, s], alpha[..., s] = x[5], x[3].reshape(*x[3].shape[:-2], n)
        needed = -((A @ alpha[..., None])[..., 0] + bias)
        f = _multipliers(A @ Lam @ np.swapaxes(A, -1, -2), needed, sine)  # (D)
        wrench = (np.swapaxes(A, -1, -2) @ f[..., None])[..., 0]
        out: dict[str, Array] = {}
        for name, x in free.items():
            s = slice(start[name], start[name] + x[4].shape[-1])
            out[name] = x[0] + (x[4] @ wrench[..., s, None])[..., 0]  # (E), (F)
        return out, f

    def _rows(
        self, free: dict[str, Frames], start: dict[str, int], total: int, batch: tuple[int, ...]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A over the twists of all closure frames, Ȧ V, and the sine from which rows count: ten
        times what is open, as in programs (`constraints/rank.py`).
        """
        opening = np.zeros(batch)
        blocks, biases = [np.zeros((*batch, 0, total))], [np.zeros((*batch, 0))]
        for part in self.attachments:
            C: list[Array] = []
            V: list[Array] = []
            own: list[Array] = []
            at: list[int | None] = []
            for (system, frame), T in zip((part.a, part.b), frames_of(part), strict=True):
                k = self._place(system, frame, part.name)
                own.append(T.inverse().Ad())
                at.append(None if k < 0 else start[system] + 6 * k)
                C.append((free[system][1][..., k, :, :] if k >= 0 else np.eye(4)) @ T.matrix())
                twist = free[system][2][..., k, :] if k >= 0 else np.zeros(6)
                V.append((own[-1] @ twist[..., None])[..., 0])
            G = np.linalg.inv(C[0]) @ C[1]
            met = meet(part.joint, SE3.from_matrix(G))
            error = _stack([met.error(SE3.from_matrix(G)).flatten()], batch)[..., 0, :]
            opening = opening + np.square(error).sum(axis=-1)
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

    def consistent_velocities(self, q: State, v: State) -> dict[str, np.ndarray]:
        """The velocities nearest to v, in kinetic energy, that the attachments allow.

        Args:
            q: configurations (B, nq), by system.
            v: velocities (B, nv), by system.
        """
        self._check(q, v)
        still = {name: np.zeros(model.nv) for name, (model, _) in self.systems.items()}
        names = list(self.systems)
        free = {n: closure_frames(self.systems[n][0], q[n], v[n], still[n],
                                  frames=self.systems[n][1]) for n in names}  # fmt: skip
        batch = np.broadcast_shapes(*(x[0].shape[:-1] for x in free.values()))
        start: dict[str, int] = {}
        total = 0
        for name in names:
            start[name], total = total, total + free[name][5].shape[-1]
        A, _, sine = self._rows(free, start, total, batch)
        V, Lam = np.zeros((*batch, total)), np.zeros((*batch, total, total))
        for name, x in free.items():
            s = slice(start[name], start[name] + x[5].shape[-1])
            V[..., s], Lam[..., s, s] = x[2].reshape(*x[2].shape[:-2], -1), x[5]
        f = _multipliers(A @ Lam @ np.swapaxes(A, -1, -2), -(A @ V[..., None])[..., 0], sine)
        wrench = (np.swapaxes(A, -1, -2) @ f[..., None])[..., 0]
        out: dict[str, Array] = {}
        for name, x in free.items():
            s = slice(start[name], start[name] + x[4].shape[-1])
            out[name] = np.asarray(v[name]) + (x[4] @ wrench[..., s, None])[..., 0]
        return out

    def kinetic_energy(self, q: State, v: State) -> Array | float:
        """Of all systems together.

        Args:
            q: configurations (B, nq), by system.
            v: velocities (B, nv), by system.
        """
        total = 0.0
        for name, (model, _) in self.systems.items():
            M, u = mass_matrix(model, q[name]), np.asarray(v[name], float)
            total = total + 0.5 * np.einsum("...i,...ij,...j->...", u, M, u)
        return total


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


def _pose(T: SE3 | ArrayLike | None) -> SE3:
    if T is None:
        return SE3.identity()
    if isinstance(T, SE3):
        return T
    array = np.asarray(T, dtype=float)
    return SE3.translation(*array) if array.shape == (3,) else SE3.from_matrix(array)


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
