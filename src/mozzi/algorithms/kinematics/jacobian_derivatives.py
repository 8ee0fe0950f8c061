"""Derivatives of Jacobians: along a motion, and with respect to q to any order."""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import TypeAlias, cast

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.kinematics.accelerations import stages
from mozzi.algorithms.kinematics.jacobian import columns, frame_screws, rows
from mozzi.algorithms.kinematics.poses import locate
from mozzi.algorithms.recursion.containers import BlockArray, joint_array, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.representations import check, shifting, turning
from mozzi.algorithms.recursion.views import BodyView, JointVector
from mozzi.errors import ConfigurationError
from mozzi.lie import SE3, Screws, Twist, Vec3
from mozzi.model import Model
from mozzi.types import Rep

__all__ = ["jacobian_partials", "jacobian_rate"]

Picked: TypeAlias = tuple[tuple[BodyView, tuple[int, ...]], ...]
"""Bodies from the frame to the base, each with its slots."""


@algorithm
def jacobian_rate(
    model: Mechanism, q: JointVector, v: JointVector, frame: str, rep: Rep = "body"
) -> BlockArray:
    """J̇ along the velocity v, so that V̇ = J a + J̇ v.

    O(depth).  Müller, Dynamics (5), (16), (27), (33).

    Returns:
        (B, 6, nv): rows are (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.jacobian_rate(arm, q, v, "tool").shape
        (6, 3)
    """
    dJ = joint_array(model, 6, "v", letter="dJ")
    _RATES[check(rep)](model, q, v, dJ, *locate(model, frame))
    return dJ


def _body_rate(
    model: Mechanism, q: JointVector, v: JointVector, dJ: BlockArray, k: int, F: SE3
) -> None:
    # T: the frame in each body; U: its twist relative to it
    T, U = per_body(model, "T U", SE3, Twist)
    T[model.at(k)], U[model.at(k)] = F, Twist.zero()
    for i in model.path(k):
        J = T[i].pull(i.joint.screws(q[i]))
        moved = Screws(c.cross(U[i]) for c in J)  # Σ_k [J_j, J_k] v_k: MD5
        dJ[i] = rows(moved + T[i].pull(i.joint.screws_rate(q[i], v[i])))
        U[i.parent] = U[i] + J @ v[i]
        T[i.parent] = i.pose(q[i]) @ T[i]


def _spatial_rate(
    model: Mechanism, q: JointVector, v: JointVector, dJ: BlockArray, k: int, F: SE3
) -> None:
    C, V = per_body(model, "C V", SE3, Twist)
    for i in model.toward(k):
        C[i] = C[i.parent] @ i.pose(q[i])
        J = C[i].push(i.joint.screws(q[i]))
        V[i] = V[i.parent] + J @ v[i]
        dJ[i] = rows(V[i].cross(J) + C[i].push(i.joint.screws_rate(q[i], v[i])))  # MD16


def _hybrid_rate(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    dJ: BlockArray,
    k: int,
    F: SE3,
    mixed: bool = False,
) -> None:
    C, w, U = per_body(model, "C w U", SE3, Vec3, Vec3)
    for i in model.toward(k):
        C[i] = C[i.parent] @ i.pose(q[i])
        w[i] = w[i.parent] + C[i].R.rotate((i.joint.screws(q[i]) @ v[i]).ang)
    D, w_f = C[model.at(k)] @ F, w[model.at(k)]
    U[model.at(k)] = Vec3.zero()  # the velocity of the frame relative to each body
    for i in model.path(k):
        to, R = shifting(D.p - C[i].p), turning(C[i].R)
        J = to.pull(R.push(i.joint.screws(q[i])))
        dS = to.pull(R.push(i.joint.screws_rate(q[i], v[i])))
        U_i, w_i = U[i], w[i]
        lin = [w_i.cross(c.lin) + c.ang.cross(U_i) + s.lin for c, s in zip(J, dS)]  # MD27
        if mixed:  # d(RᵀJ)/dt = Rᵀ(J̇ − ω × J): the second term is missing in MD33
            ang = [D.R.unrotate((w_i - w_f).cross(c.ang) + s.ang) for c, s in zip(J, dS)]
        else:
            ang = [w_i.cross(c.ang) + s.ang for c, s in zip(J, dS)]
        dJ[i] = rows(Screws(map(Twist, ang, lin)))
        U[i.parent] = U_i + (J @ v[i]).lin


def _mixed_rate(
    model: Mechanism, q: JointVector, v: JointVector, dJ: BlockArray, k: int, F: SE3
) -> None:
    _hybrid_rate(model, q, v, dJ, k, F, mixed=True)


Rate: TypeAlias = Callable[[Mechanism, JointVector, JointVector, BlockArray, int, SE3], None]

_RATES: dict[Rep, Rate] = {
    "body": _body_rate,
    "spatial": _spatial_rate,
    "hybrid": _hybrid_rate,
    "mixed": _mixed_rate,
}


# -- partial derivatives of any order --------------------------------------------------------------


@algorithm
def jacobian_partials(
    model: Mechanism, q: JointVector, frame: str, order: int = 1, rep: Rep = "body"
) -> BlockArray:
    """∂ᵛJ: axes are 6, the column, and one differentiation index per order, the last taken last.

    Derivatives are taken along the group: in the direction δ_k, f(q ⊕ ε e_k). They are nested
    brackets of the columns of J, in the order the joints have on the way to the frame.
    Müller, Dynamics (14), (23), (25).

    Returns:
        (B, 6, nv, nv): rows, columns, and one more axis nv for each further order.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.jacobian_partials(arm, q, "tool", order=2).shape
        (6, 3, 3, 3)
    """
    if type(order) is not int or order < 1:
        raise ConfigurationError(f"order {order!r}; give 1, 2, …")
    P = joint_array(model, 6, *("v",) * (order + 1), letter="dJ")
    J = joint_array(model, 6, "v", letter="J")
    H = joint_array(model, 6, "v", letter="H")  # hybrid columns, for the linear part of mixed ones
    base = "hybrid" if check(rep) == "mixed" else rep
    for i, S in frame_screws(model, q, frame, base):
        J[i] = rows(S)
    if rep == "mixed":
        for i, S in frame_screws(model, q, frame, "body"):
            H[i] = rows(S)
    k, _ = locate(model, frame)
    for picked in _descending(tuple(range(order + 1)), model.path(k)):
        bodies: dict[int, BodyView] = {}
        rank = [0] * (order + 1)
        for depth, (body, slots) in enumerate(picked):
            for slot in slots:
                bodies[slot], rank[slot] = body, -depth
        by_slot = tuple(bodies[slot] for slot in range(order + 1))
        X = [columns(J[b]) for b in by_slot]
        W = [columns(H[b]) for b in by_slot] if rep == "mixed" else X
        stage = [stages(b.joint) for b in by_slot]
        entries: list[Twist] = []
        for dofs in product(*(range(b.joint.nv) for b in by_slot)):
            key = [(rank[s], stage[s][d]) for s, d in enumerate(dofs)]
            x = [X[s][d] for s, d in enumerate(dofs)]
            if rep == "mixed":
                w = [W[s][d] for s, d in enumerate(dofs)]
                entries.append(Twist(_body_partial(w, key).ang, _hybrid_partial(x, key).lin))
            else:
                entries.append(_PARTIALS[rep](x, key))
        P[by_slot] = tuple(zip(*(e.flatten() for e in entries)))
    return P


ENTRIES = 40_000  # of a result: straight-line code that stores more compiles for some seconds


@jacobian_partials.unrolled_by
def _bodies_unrolled(model: Model, options: Mapping[str, object]) -> int | None:
    """Rolled where there are many entries and few kinds of joints: the program of a rolled one has
    a branch for every sequence of kinds.
    """
    axes = cast("int", options["order"]) + 1
    kinds = len({type(body.joint) for body in model})
    return 0 if 6 * model.nv**axes > ENTRIES and kinds**axes <= 9 else None


def _descending(
    slots: tuple[int, ...], bodies: Iterator[BodyView], above: Picked = ()
) -> Iterator[Picked]:
    """All ways to give each slot a body on the way to the base: bodies from the frame to the base,
    each with its slots.
    """
    for body in bodies:
        for size in range(1, len(slots) + 1):
            for own in combinations(slots, size):
                picked = (*above, (body, own))
                rest = tuple(s for s in slots if s not in own)
                if rest:
                    yield from _descending(rest, body.parent.path(), picked)
                else:
                    yield picked


Key: TypeAlias = Sequence[tuple[int, int]]


def _order(key: Key, slots: Sequence[int], nearest: bool) -> list[int]:
    """Differentiation slots from the inside to the outside of the nested brackets.

    Joints nearest to the column's joint come first. Within one factor of a joint directions need
    not commute: there the later derivative is inside (body) or outside (spatial, hybrid).
    """
    if nearest:
        return sorted(slots, key=lambda s: (key[s], -s))
    return sorted(slots, key=lambda s: ((-key[s][0], -key[s][1]), s))


def _body_partial(x: Sequence[Twist], key: Key) -> Twist:
    """[… [[J_j, J_β1], J_β2] …, J_βν],  j < β1 ≤ β2 ≤ …: MD14."""
    slots = range(1, len(x))
    if any(key[s] <= key[0] for s in slots):
        return Twist.zero()
    total = x[0]
    for s in _order(key, slots, nearest=True):
        total = total.cross(x[s])
    return total


def _spatial_partial(x: Sequence[Twist], key: Key) -> Twist:
    """[J_βν, [… [J_β1, J_j] …]],  βν ≤ … ≤ β1 ≤ j: MD23."""
    slots = range(1, len(x))
    if any(key[s] > key[0] for s in slots):
        return Twist.zero()
    total = x[0]
    for s in _order(key, slots, nearest=False):
        total = x[s].cross(total)
    return total


def _hybrid_partial(x: Sequence[Twist], key: Key) -> Twist:
    """Joints behind j move the reference point: MD25. Those before turn all of it: ω_k × J_j."""
    later = [s for s in range(1, len(x)) if key[s] > key[0]]
    rest = [s for s in range(1, len(x)) if key[s] <= key[0]]
    total = x[0]
    if later:
        first, *others = _order(key, later, nearest=False)
        moved = x[first].lin
        for s in others:
            moved = x[s].ang.cross(moved)
        total = Twist(Vec3.zero(), x[0].ang.cross(moved))
    for s in _order(key, rest, nearest=False):
        total = Twist(x[s].ang.cross(total.ang), x[s].ang.cross(total.lin))
    return total


_PARTIALS: dict[Rep, Callable[[Sequence[Twist], Key], Twist]] = {
    "body": _body_partial,
    "spatial": _spatial_partial,
    "hybrid": _hybrid_partial,
}
