"""The one-sided and bounded rows of a step: limits and dry friction of joints, contacts.

A row is a wrench on two bodies (or a force in one joint) that acts with an impulse x, and the
velocity w that it does work on. Moreau and Jean: at the end of a step of length h

    limit     (lower − q)/h ≤ q̇ ≤ (upper − q)/h, so that nothing is overshot;
    friction  between −h b and h b;
    contact   w_n ≥ −gap/h, and w_t across it, scaled by the coefficients of friction (`sets`).

Where a row closes within the step and had come with w⁻ < 0, restitution asks for w ≥ −e w⁻, unless
that is less than what the free motion takes back within the step: so bouncing ends, and rest is
rest.
What overlaps is pushed apart by a fifth in every step, and no faster than what gravity gives over
the depth: it is not thrown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mozzi.algorithms.constraints.one_sided.sets import Cone, Line, Set
from mozzi.algorithms.constraints.rows.relative_motion import Rows
from mozzi.algorithms.contact.distances import Touch
from mozzi.algorithms.contact.gaps import touches
from mozzi.algorithms.recursion.containers import ZERO
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import ByBody, JointVector
from mozzi.lie import SE3, Screws, Twist, Vec3, Wrench
from mozzi.lie.vec import is_zero, number
from mozzi.model import Contact, Model
from mozzi.program.scalar import Real, divide, maximum, minimum, select, sqrt

__all__ = [
    "NO_LAWS", "JointLaws", "OneSided", "contact_rows", "joint_row_count", "one_sided",
    "velocities",
]  # fmt: skip

TOUCH = 1e-9
"""The gap (m) below which an impact happens."""

APART = -1e9
"""The velocity of what does not touch, measured from its set, in an impact: it never closes."""

SLOW = 1e-6
"""The speed (m/s) below which nothing comes back from an impact: bouncing ends."""

PUSH = 0.2
"""The part of an overlap that a step takes back."""


@dataclass(frozen=True)
class JointLaws:
    """What acts in joints: stops of this restitution (None: no stops), rigid or with a stiffness
    and a damping in the units of the coordinate; dry friction.
    """

    stops: float | None = None
    friction: bool = False
    stiffness: float | None = None
    damping: float = 0.0


NO_LAWS = JointLaws()


@dataclass
class OneSided:
    """A block of rows: what it acts on, its set, and what its velocities are measured from.

    shift: taken off the velocity of the first row before it meets the set; compliance: added to the
    admittance of the first row; coordinate: the velocity that a row of a joint is, where it is one;
    axes: of a contact, the directions of its rows in the world, scaled as they are; point: where
    they act, None where they are moments; ends: its bodies, with the sign of what acts on them.
    """

    rows: Rows
    set: Set
    shift: Real = 0.0
    compliance: Real = 0.0
    coordinate: int | None = None
    axes: Sequence[Vec3] = ()
    point: Vec3 | None = None
    ends: Mapping[int, float] = field(default_factory=dict[int, float])


def one_sided(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    free: JointVector,
    C: ByBody[SE3],
    V: ByBody[Twist],
    F: ByBody[Twist],
    h: Real | None,
    joints: JointLaws,
    touching: Sequence[Real] | None = None,
) -> list[OneSided]:
    """All rows at q: contacts, then joints. v and V: velocities and twists before the step, free
    and F: those after it without the rows. touching: of an impact, the points that take part.
    """
    out: list[OneSided] = []
    for k, (contact, x) in enumerate(touches(model, C)):
        meets = None if touching is None else touching[k]
        out.append(_contact(model, contact, x, C, V, F, h, meets))
    return [*out, *_joints(model, q, v, free, h, joints)]


def velocities(
    model: Mechanism, rows: Rows, V: ByBody[Twist], v: JointVector = ZERO
) -> list[Real]:
    """J v of rows, of the twists V of the bodies and the velocities v of the joints."""
    out: list[Real] = [0.0] * len(rows)
    for k, W in rows.wrenches.items():
        out = [x + w.dot(V[model.at(k)]) for x, w in zip(out, W, strict=True)]
    for k, lines in rows.forces.items():
        u = v[model.at(k)]
        out = [
            x + sum((a * b for a, b in zip(line, u, strict=True)), 0.0)
            for x, line in zip(out, lines, strict=True)
        ]
    return out


def _rows(
    name: str, wrenches: dict[int, Screws[Wrench]], forces: dict[int, list[list[Real]]], n: int
) -> Rows:
    return Rows(name, wrenches, forces, lambda small: [0.0] * n, [0.0] * n)


def _contact(
    model: Mechanism,
    contact: Contact,
    x: Touch,
    C: ByBody[SE3],
    V: ByBody[Twist],
    F: ByBody[Twist],
    h: Real | None,
    meets: Real | None,
) -> OneSided:
    """(n, t₁, t₂) of a contact point, t scaled by friction; without friction n alone."""
    rows, axes = contact_rows(model, contact, x, C)
    point = None if contact.kind == "cone" else x.point
    before, after = (velocities(model, rows, U)[0] for U in (V, F))
    kind: Set = Line(0.0, math.inf, 0.0) if is_zero(contact.friction[0]) else Cone()
    if h is None:
        back = -contact.restitution * before
        if meets is not None:  # 1: with restitution, 2: without
            back = select(meets > 1.5, 0.0, back)
        least = select(back > SLOW, back, 0.0)
        touch = x.gap <= TOUCH if meets is None else meets > 0.5
        shift = select(touch, least, APART)
        return OneSided(rows, kind, shift, 0.0, None, axes, point, ends(model, contact))
    inverse = divide(1.0, h, nonzero=True)
    if contact.stiffness is not None:
        k, c = contact.stiffness, contact.damping or 0.0
        soft = divide(1.0, h * k + c, nonzero=True)
        shift, compliance = -x.gap * k * soft, soft * inverse
        shift = select(x.gap > 0.0, -x.gap * inverse, shift)
    else:
        shift, compliance = _approach(model, x.gap, inverse), 0.0
        shift = _bounce(shift, before, after, contact.restitution)
    return OneSided(rows, kind, shift, compliance, None, axes, point, ends(model, contact))


def contact_rows(
    model: Mechanism, contact: Contact, x: Touch, C: ByBody[SE3]
) -> tuple[Rows, list[Vec3]]:
    """The rows (n, t₁, t₂) of a contact point, and their directions on body a, in the world."""
    mu1, mu2 = contact.friction
    axes = [x.normal]
    rubs = not is_zero(mu1)
    if rubs:
        axes += [x.across * mu1, x.normal.cross(x.across) * mu2]
    on: dict[int, Screws[Wrench]] = {}
    for k, sign in ends(model, contact).items():
        i = model.at(k)
        p = C[i].R.unrotate(x.point - C[i].p)
        forces = [C[i].R.unrotate(axis * sign) for axis in axes]
        if contact.kind == "cone":
            on[i.index] = Screws([Wrench(f, Vec3.zero()) for f in forces])
            continue
        on[i.index] = Screws([Wrench(p.cross(f), f) for f in forces])
    return _rows(contact.name, on, {}, len(axes)), axes


def ends(model: Mechanism, contact: Contact) -> dict[int, float]:
    """The bodies of a contact, with the sign of what acts on them along the normal."""
    signs = ((contact.shape_a, 1.0), (contact.shape_b, -1.0))
    both = ((model.model.shape(name).body, sign) for name, sign in signs)
    return {model.at(k).index: sign for k, sign in both if k >= 0}


def _approach(model: Mechanism, gap: Real, inverse: Real) -> Real:
    """The least velocity of a gap: what closes it, or what opens an overlap."""
    depth = maximum(-gap, 0.0)
    g = math.hypot(*(number(x) or 0.0 for x in model.gravity)) or 9.81
    push = minimum(PUSH * depth * inverse, sqrt(2.0 * g * depth))
    return select(gap > 0.0, -gap * inverse, push)


def _bounce(least: Real, before: Real, after: Real, e: Real) -> Real:
    """The least velocity with restitution, where the row closes within the step."""
    if is_zero(e):
        return least
    back = -e * before
    lost = before - after  # in the step, to what pulls it closed
    return select(after < least, select(back > maximum(lost, 0.0), back, least), least)


def _joints(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    free: JointVector,
    h: Real | None,
    joints: JointLaws,
) -> Iterator[OneSided]:
    if joints == NO_LAWS:
        return
    assert h is not None  # in impacts joints have no laws
    inverse = divide(1.0, h, nonzero=True)
    for k, body in enumerate(model.model):
        i, own, joint = model.at(k), body.dynamics, body.joint
        friction = list(own.friction) if joints.friction else [0.0] * joint.nv
        bounded = any(map(math.isfinite, (*own.lower, *own.upper)))
        start = i.data.v
        if joints.stops is not None and bounded:
            units = [[float(n == m) for m in range(joint.nv)] for n in range(joint.nv)]
            columns = [joint.rates(q[i], unit) for unit in units]
            rate, new = joint.rates(q[i], list(v[i])), joint.rates(q[i], list(free[i]))
            for n, (low, high) in enumerate(zip(own.lower, own.upper, strict=True)):
                if not (math.isfinite(low) or math.isfinite(high)):
                    continue
                line: list[Real] = [columns[m][n] for m in range(joint.nv)]
                rows = _rows(body.joint_name, {}, {i.index: [line]}, 1)
                if joints.stiffness is not None:
                    yield from _soft_stops(rows, q[i][n], low, high, h, joints)
                    continue
                b = 0.0
                if joint.flat:
                    b, friction[n] = friction[n], 0.0
                lo, hi = _stops(model, q[i][n], low, high, rate[n], new[n], inverse, joints.stops)
                at = start + n if joint.flat else None
                yield OneSided(rows, Line(lo, hi, 0.0 if is_zero(b) else h * b), coordinate=at)
        for m, b in enumerate(friction):
            if not is_zero(b):
                line: list[Real] = [float(n == m) for n in range(joint.nv)]
                rows = _rows(body.joint_name, {}, {i.index: [line]}, 1)
                yield OneSided(rows, Line(-math.inf, math.inf, h * b), coordinate=start + m)


def _stops(
    model: Mechanism,
    q: Real,
    low: float,
    high: float,
    before: Real,
    after: Real,
    inverse: Real,
    e: float,
) -> tuple[Real, Real]:
    """The velocities between which a coordinate keeps its limits."""
    lo: Real = -math.inf
    hi: Real = math.inf
    if math.isfinite(low):
        lo = _bounce(_approach(model, q - low, inverse), before, after, e)
    if math.isfinite(high):
        hi = -_bounce(_approach(model, high - q, inverse), -before, -after, e)
    return lo, hi


def _soft_stops(
    rows: Rows, q: Real, low: float, high: float, h: Real, joints: JointLaws
) -> Iterator[OneSided]:
    """A row for every limit: a force k x + c ẋ for the excess x at the end of the step, which
    never pulls.
    """
    inverse = divide(1.0, h, nonzero=True)
    k, c = joints.stiffness or 0.0, joints.damping
    soft = divide(1.0, h * k + c, nonzero=True)
    for limit, sign in ((low, 1.0), (high, -1.0)):
        if math.isfinite(limit):
            gap = sign * (q - limit)
            shift = select(gap > 0.0, -gap * inverse, -gap * k * soft)
            own = Rows(rows.name, {}, {i: [[sign * x for x in line] for line in lines]
                                       for i, lines in rows.forces.items()},
                       rows.open_by, rows.bias)  # fmt: skip
            yield OneSided(own, Line(0.0, math.inf, 0.0), shift, soft * inverse)


def joint_row_count(model: Model, joints: JointLaws) -> int:
    """How many rows joints have."""
    n = 0
    for body in model:
        own, joint = body.dynamics, body.joint
        rubs = [not is_zero(b) and joints.friction for b in own.friction]
        stops = [math.isfinite(a) or math.isfinite(b) for a, b in zip(own.lower, own.upper)]
        if joints.stops is None:
            stops = [False] * joint.nq
        if joints.stiffness is not None and joints.stops is not None:
            n += sum(rubs) + sum(map(math.isfinite, (*own.lower, *own.upper)))
            continue
        if joint.flat:
            rubs = [a and not b for a, b in zip(rubs, stops, strict=True)]
        n += sum(rubs) + sum(stops)
    return n
