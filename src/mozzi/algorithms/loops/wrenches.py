"""What closures and drives exert, in the words of the world: wrenches on bodies, at points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.guard import fitting
from mozzi.algorithms.constraints.rows.relative_motion import Moving, Rows
from mozzi.algorithms.constraints.rows.rows import closures, still
from mozzi.algorithms.recursion.mechanism import Body, Mechanism
from mozzi.algorithms.recursion.views import JointVector, Whole
from mozzi.checked import checked
from mozzi.lie import SE3, Twist, Vec3, Wrench, solve_spd
from mozzi.model import (
    Closure,
    Coupling,
    Distance,
    Drive,
    Guided,
    Loop,
    Model,
    Rolling,
    VelocityRows,
)
from mozzi.model.as_model import as_model
from mozzi.model.model import WORLD
from mozzi.program.node import active
from mozzi.program.scalar import Real
from mozzi.types import Array, ArrayLike, Traced

__all__ = ["LoopWrench", "drive_wrenches", "loop_wrenches"]


class LoopWrench(NamedTuple):
    """Wrenches (B, k, 6) of a closure on k bodies ("world" among them), moment and force in world
    axes, about points (B, k, 3) of the world. They are in balance where it is closed.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q, v = mz.assemble(bar, bar.neutral()), np.zeros(bar.nv)
        >>> f = mz.loop_wrenches(bar, q, mz.loop_forces(bar, q, v, v))["coupler_rocker"]
        >>> f.bodies, f.wrenches.shape, np.allclose(f.wrenches.sum(axis=0), 0)
        (('coupler', 'rocker'), (2, 6), True)
    """

    bodies: tuple[str, ...]
    points: Array
    wrenches: Array


@checked
def loop_wrenches(
    model: Model, q: ArrayLike, multipliers: ArrayLike
) -> Mapping[str, LoopWrench]:
    """What loops, rods, couplings, rolling contacts and velocity rows exert on the bodies, by name.

    Of a loop or a rod about the place of its joint on body b, of a rolling contact about the point
    where it touches; what acts in joints (couplings, velocity rows) as wrenches along the screws of
    each joint, on the body that it moves and back on its parent.

    Cost: O(n + m) for m rows, on arrays.

    Args:
        model: the mechanism.
        q (B, nq): configuration.
        multipliers (B, m): of all rows, as `loop_forces` and ``trajectory.loop_forces`` give them.

    Returns:
        By name, a `LoopWrench`: the names of k bodies, points (B, k, 3) and wrenches (B, k, 6).

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q, v = bar.neutral(), np.zeros(3)
        >>> force = mz.loop_forces(bar, q, v, np.zeros(3))
        >>> closing = mz.loop_wrenches(bar, q, force)[bar.loops[0].name]
        >>> np.allclose(closing.wrenches.sum(axis=-2), 0.0)
        True
    """
    as_model(model, "loop_wrenches")
    if active() is None:
        q, multipliers = fitting("loop_wrenches", model, q=q, multipliers=multipliers)
    found: Array = world_wrenches(model, q, multipliers)
    out: dict[str, LoopWrench] = {}
    start = 0
    for part in model.closures:
        bodies = tuple(_acted(model, part))
        own = found[..., start : start + len(bodies), :]
        names = tuple("world" if k == WORLD else model.bodies[k] for k in bodies)
        out[part.name] = LoopWrench(names, own[..., :3], own[..., 3:])
        start += len(bodies)
    return MappingProxyType(out)


def drive_wrenches(model: Model, q: ArrayLike, name: str, force: ArrayLike) -> LoopWrench:
    """Forces (B, m) of what drives a joint, one coordinate of it ("joint.1"), or a loop that
    follows a law, as a `LoopWrench`.
    """
    if name in model.joint_names:
        part = Drive(name, model.joint(name).nv)
    elif name in (loops := {x.name: x for x in model.loops}):
        part = Guided(loops[name])
    else:
        joint, _, k = name.rpartition(".")
        part = Drive(joint, 1, int(k))
    alone = model._replace(  # pyright: ignore[reportPrivateUsage]
        loops=(), distances=(), couplings=(), rollings=(), velocity_rows=(), drives=(part,)
    )
    return next(iter(loop_wrenches(alone, q, force).values()))


def _acted(model: Model, part: Closure) -> Iterator[int]:
    """The bodies that a closure acts on."""
    match part:
        case Coupling():
            joints = list(dict.fromkeys(part.joints))
        case Drive():
            joints = [part.joint]
        case VelocityRows():
            joints = [n for n in model.joint_names if model.joint(n).nv]
        case Rolling():
            yield from (model.shape(name).body for name in (part.shape_a, part.shape_b))
            return
        case Loop() | Distance():
            yield from (part.body_a, part.body_b)
            return
        case Guided():
            yield from (part.loop.body_a, part.loop.body_b)
            return
    for name in joints:
        k = model.joint_index(name)
        yield from (k, model.parents[k])


@algorithm(loops="honour")
def world_wrenches(
    model: Mechanism, q: JointVector, multipliers: Whole[Sequence[Real]]
) -> Traced:
    """(k, 9): a point and a wrench about it, in the world, for each body that a closure acts on."""
    move = still(model, q)
    C: dict[int, SE3] = {WORLD: SE3.identity()}
    for i in map(model.at, range(model.nb)):
        C[i.index] = C[i.parent.index] @ move.T[i]
    out: list[Sequence[Real]] = []
    start, every = 0, multipliers[()]
    for part, rows in zip(model.model.closures, closures(model, move), strict=True):
        own = every[start : start + len(rows)]
        start += len(rows)
        out += _between(model, part, rows, own, C) if rows.wrenches else (
            _in_joints(model, part, rows, own, C, move)
        )  # fmt: skip
    flat = [x for line in out for x in line]
    return np.array([*flat, None], dtype=object)[:-1].reshape(len(out), 9)


def _between(
    model: Mechanism, part: Closure, rows: Rows, own: Sequence[Real], C: Mapping[int, SE3]
) -> Iterator[Sequence[Real]]:
    """Of a closure between two bodies, about the point where it acts."""
    assert rows.point is not None
    k, x = rows.point
    p = C[k] @ x
    for body in _acted(model.model, part):
        total = Wrench.zero()
        for W, l in zip(rows.wrenches[body], own, strict=True):
            total = total + W * l
        yield _told(C[body], total, p)


def _in_joints(
    model: Mechanism, part: Closure, rows: Rows, own: Sequence[Real], C: Mapping[int, SE3],
    move: Moving,
) -> Iterator[Sequence[Real]]:  # fmt: skip
    """Of joint forces: the least wrenches along the screws that do them, about the joints."""
    bodies = list(_acted(model.model, part))
    for k in bodies[::2]:
        i: Body = model.at(k)
        force: list[Real] = [0.0] * i.joint.nv
        for line, l in zip(rows.forces.get(k, ()), own, strict=False):
            force = [f + l * x for f, x in zip(force, line, strict=True)]
        S = i.joint.screws(move.q[i])
        square = [[a.ang.dot(b.ang) + a.lin.dot(b.lin) for b in S] for a in S]
        amounts = solve_spd(square, [force])[0]
        V: Twist = S @ amounts
        W = Wrench(V.ang, V.lin)
        for sign in (1.0, -1.0):
            yield _told(C[k], W * sign, C[k].p)


def _told(C: SE3, W: Wrench, p: Vec3) -> Sequence[Real]:
    """A wrench in a frame as (point, moment about it, force), in the world."""
    force = C.R.rotate(W.lin)
    moment = C.R.rotate(W.ang) + (C.p - p).cross(force)
    return (*p, *moment, *force)
