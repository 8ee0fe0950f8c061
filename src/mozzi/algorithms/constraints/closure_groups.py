"""Closures that have nothing to do with one another: groups of them, each by itself.

Take bodies for points, and joints and closures for lines between them; a joint of six freedoms
transmits nothing and is no line. Rows of a closure ask something of the lines on the rings through
it alone, so that those of two closures which are on no common ring (lie in different *blocks* of
the graph) are independent of one another in every configuration, and the ranks of all groups add up
to that of the whole. Couplings tie the blocks of their joints.

A group by itself has the joints of its blocks. What these leave apart only joints of six freedoms
connect: one part stands on the ground, others are free. Platforms on platforms are one platform, N
times, whatever stands on what.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.single_loops import rounded
from mozzi.lie import SE3, Inertia
from mozzi.model import Body, Coupling, Distance, Free, JointDynamics, Loop, Model
from mozzi.model.joints.joint import Joint
from mozzi.model.model import WORLD

__all__ = ["ClosureGroup", "closure_groups"]

Mask = NDArray[np.bool_]
Line = tuple[int, int]

FREE = np.zeros(6, dtype=bool)  # what is held of a part that is free
ALL_FREEDOMS = 1e-6  # the least singular value of screws that span all motions, over the largest


@dataclass(frozen=True)
class ClosureGroup:
    """Closures by themselves; held: which coordinates of `alone` are."""

    alone: Model
    held: Mask


def closure_groups(model: Model, held: Mask) -> list[ClosureGroup]:
    """The groups of a model; held: coordinates that rows cannot move. Groups that are alike are one
    and the same model. A model that rolls, is driven or has velocity rows is one group, and so is
    one of which all is on rings that meet.
    """
    if not all(isinstance(x, Loop | Distance | Coupling) for x in model.closures):
        return [ClosureGroup(model, held)]
    joints = [held[model.v_slices[name]] for name in model.joint_names]
    graph = _Graph(model, joints)
    groups = graph.groups()
    if len(groups) == 1 and len(groups[0].joints) == graph.joints:
        return [ClosureGroup(model, held)]
    kinds: dict[object, Model] = {}
    found: list[ClosureGroup] = []
    for group in groups:
        alone, of = graph.alone(group)
        own = [FREE if k is None else joints[k] for k in of]
        alone = kinds.setdefault(rounded(alone.key), alone)
        found.append(ClosureGroup(alone, np.concatenate([FREE[:0], *own])))
    return found


@dataclass
class _Members:
    """Of a group: the bodies whose joints are in it, and its closures."""

    joints: list[int] = field(default_factory=list[int])
    ties: list[Loop | Distance] = field(default_factory=list[Loop | Distance])
    couplings: list[Coupling] = field(default_factory=list[Coupling])


class _Graph:
    """Bodies, and the lines between them: joints first, then closures."""

    def __init__(self, model: Model, held: Sequence[Mask]):
        self.model, self.poses = model, _neutral_poses(model)
        coupled = {name for x in model.couplings for name in x.joints}
        self.lines = [
            k
            for k, (body, own) in enumerate(zip(model, held, strict=True))
            if own.any() or body.joint_name in coupled or not _leaves_all_free(body.joint)
        ]
        self.joints = len(self.lines)
        self.ties = [x for x in (*model.loops, *model.distances) if x.rows]
        ends = [(model.parents[k], k) for k in self.lines]
        self.blocks = _blocks(model.nb, ends + [(x.body_a, x.body_b) for x in self.ties])

    def groups(self) -> list[_Members]:
        """Those of blocks that couplings tie together, where there are closures."""
        at = {self.model.joint_names[k]: b for k, b in zip(self.lines, self.blocks, strict=False)}
        sets, found = _Sets(), dict[int, _Members]()
        for coupling in self.model.couplings:
            for joint in coupling.joints[1:]:
                sets.join(at[coupling.joints[0]], at[joint])
        for tie, block in zip(self.ties, self.blocks[self.joints :], strict=True):
            found.setdefault(sets.of(block), _Members()).ties.append(tie)
        for coupling in self.model.couplings:
            own = found.setdefault(sets.of(at[coupling.joints[0]]), _Members())
            own.couplings.append(coupling)
        for k, block in zip(self.lines, self.blocks, strict=False):
            if sets.of(block) in found:
                found[sets.of(block)].joints.append(k)
        return list(found.values())

    def alone(self, group: _Members) -> tuple[Model, list[int | None]]:
        """A group by itself, and of its bodies which ones they are; None of a part that is free.

        What closures connect has one ground, whose frame is that of the first joint on it.
        """
        model, inside = self.model, set(group.joints)

        def base(k: int) -> int:
            while k in inside:
                k = model.parents[k]
            return k

        bases, together = {base(k) for k in group.joints}, _Sets()
        for x in group.ties:
            a, b = base(x.body_a), base(x.body_b)
            bases |= {a, b}
            together.join(a, b)
        grounds = {together.of(k): k for k in sorted(bases, reverse=True)}
        back: dict[int, SE3] = dict.fromkeys(grounds.values(), SE3.identity())
        for k in reversed(group.joints):
            if model.parents[k] in back:
                back[model.parents[k]] = model.body(k).joint.frame_parent.inverse()
        order: list[int | None] = []
        bodies: list[Body] = []
        place: dict[int, int] = {}

        def add(k: int | None, parent: int, joint: Joint) -> int:
            n = len(bodies)
            order.append(k)
            plain = Inertia.zero(), JointDynamics.of(joint)  # of which rows see nothing
            bodies.append(Body(f"{n}", parent, joint, *plain, f"{n}"))
            return n

        def end(body: int, at: SE3) -> tuple[int, SE3]:
            return place[body], back.get(body, SE3.identity()) @ at

        for k in sorted(bases):
            ground = grounds[together.of(k)]
            apart = back[ground] @ self.poses[ground].inverse() @ self.poses[k]
            place[k] = WORLD if k == ground else add(None, WORLD, Free().between(apart))
        for k in group.joints:
            joint = model.body(k).joint
            parent, at = end(model.parents[k], joint.frame_parent)
            place[k] = add(k, parent, joint.with_frames(at, joint.frame_child))
        loops: list[Loop] = []
        distances: list[Distance] = []
        for n, x in enumerate(group.ties):
            if isinstance(x, Loop):
                (a, P_a), (b, P_b) = end(x.body_a, x.placement_a), end(x.body_b, x.placement_b)
                loops.append(Loop(f"{n}", a, b, x.joint, P_a, P_b))
            else:
                ends = ((x.body_a, x.point_a), (x.body_b, x.point_b))
                (a, P_a), (b, P_b) = (end(body, SE3.translation(*p)) for body, p in ends)
                p_a, p_b = _point(P_a), _point(P_b)
                distances.append(Distance(f"{n}", a, b, p_a, p_b, x.length))
        couplings: list[Coupling] = []
        for n, x in enumerate(group.couplings, len(group.ties)):
            terms = [(f"{place[model.joint_index(joint)]}", k, c) for joint, k, c in x.terms]
            couplings.append(Coupling(f"{n}", tuple(terms), x.offset))
        parts = tuple(loops), tuple(couplings), tuple(distances)
        return Model("group", tuple(bodies), (), *parts), order


def _point(P: SE3) -> tuple[float, float, float]:
    x, y, z = map(float, P.p)
    return x, y, z


def _leaves_all_free(joint: Joint) -> bool:
    """Whether the motions of a joint are all there are, in configurations at random."""
    if joint.nv < 6:
        return False
    (q,) = np.array(joint.random(np.random.default_rng(0), (1,)), dtype=float).T.tolist()
    s = np.linalg.svd(joint.screws(tuple(q)).array(), compute_uv=False)
    return bool(len(s) == 6 and s[-1] > ALL_FREEDOMS * s[0])


def _neutral_poses(model: Model) -> dict[int, SE3]:
    """Poses of the bodies in the neutral configuration."""
    poses = {WORLD: SE3.identity()}
    for k, body in enumerate(model):
        joint = body.joint
        own = joint.frame_parent @ joint.pose(joint.neutral()) @ joint.frame_child.inverse()
        poses[k] = poses[body.parent] @ own
    return poses


class _Sets:
    """Sets of numbers that grow together, by one of each."""

    def __init__(self) -> None:
        self.up: dict[int, int] = {}

    def of(self, k: int) -> int:
        while (up := self.up.get(k, k)) != k:
            k = up
        return k

    def join(self, a: int, b: int) -> None:
        self.up[self.of(a)] = self.of(b)


def _blocks(count: int, lines: Sequence[Line]) -> list[int]:
    """A number for every line of a graph of points −1 … count − 1: the same for two that are on a
    common ring. Tarjan's search in depth, O(lines).
    """
    around: list[list[tuple[int, int]]] = [[] for _ in range(count + 1)]
    for n, (a, b) in enumerate(lines):
        around[a].append((b, n))
        if a != b:
            around[b].append((a, n))
    block = [-1] * len(lines)
    depth = [-1] * (count + 1)  # in the order of the search; the world is the last
    low = [0] * (count + 1)
    number = seen = 0
    for root in range(-1, count):
        if depth[root] >= 0:
            continue
        path: list[tuple[int, int, Iterator[tuple[int, int]]]] = [(root, -1, iter(around[root]))]
        depth[root] = low[root] = seen
        seen += 1
        waiting: list[int] = []
        while path:
            k, came, rest = path[-1]
            for to, n in rest:
                if n == came or block[n] >= 0:
                    continue
                if to == k:
                    block[n], number = number, number + 1
                elif depth[to] < 0:
                    waiting.append(n)
                    path.append((to, n, iter(around[to])))
                    depth[to] = low[to] = seen
                    seen += 1
                    break
                elif depth[to] < depth[k]:
                    waiting.append(n)
                    low[k] = min(low[k], depth[to])
            else:
                path.pop()
                if path:
                    up = path[-1][0]
                    low[up] = min(low[up], low[k])
                    if low[k] >= depth[up]:
                        while block[came] < 0:
                            block[waiting.pop()] = number
                        number += 1
    return block
