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
from mozzi.algorithms.contact.parts import APART, SLOW, Part
from mozzi.algorithms.recursion.containers import ZERO
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import ByBody, JointVector
from mozzi.lie import SE3, Screws, Twist, Vec3, Wrench
from mozzi.lie.vec import is_zero, number
from mozzi.model import Contact, Model
from mozzi.program.scalar import Real, divide, maximum, minimum, select, sqrt

__all__ = [
    "NO_LAWS", "SLOW", "JointLaws", "OneSided", "contact_rows", "joint_row_count", "one_sided",
    "velocities",
]  # fmt: skip

TOUCH = 1e-9
"""The gap (m) below which an impact happens."""

UNPUSHED = {"contact": 1e-8, "stop": 5e-10}
"""The depth (m, rad) of an overlap that stays: a jammed mechanism would push back without bound."""

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
    part: Part | None = None,
    bends: Sequence[Real] | None = None,
) -> list[OneSided]:
    """All rows at q: contacts, then joints. v and V: velocities and twists before the step, free
    and F: those after it without the rows. touching: of an impact, the points that take part.
    part: of a step that is cut at impacts; its length is found here. bends: how the velocities
    of contact rows change along the motion.
    """
    met = [Met.of(model, contact, x, C, V, F) for contact, x in touches(model, C)]
    if part is not None:
        if bends is not None:
            at = 0
            for m in met:
                m.bend, at = bends[at], at + len(m.rows)
        rigid = [m for m in met if m.contact.stiffness is None]
        times = [part.closing(m.touch.gap, m.before, m.after, m.bend) for m in rigid]
        part.cut(times + [part.closing(*x) for x in _stop_gaps(model, q, v, free, joints)])
    out: list[OneSided] = []
    for k, m in enumerate(met):
        meets = None if touching is None else touching[k]
        out.append(_contact(model, m, h, meets, part))
    return [*out, *_joints(model, q, v, free, h, joints, part)]


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


@dataclass
class Met:
    """A contact point: its rows and their axes; its normal velocity before, and after without;
    bend: how the former changes along the motion.
    """

    contact: Contact
    touch: Touch
    rows: Rows
    axes: list[Vec3]
    ends: Mapping[int, float]
    before: Real
    after: Real
    bend: Real = 0.0

    @staticmethod
    def of(
        model: Mechanism, contact: Contact, x: Touch, C: ByBody[SE3], V: ByBody[Twist],
        F: ByBody[Twist],
    ) -> Met:  # fmt: skip
        """The rows of a touch."""
        rows, axes = contact_rows(model, contact, x, C)
        before, after = (velocities(model, rows, U)[0] for U in (V, F))
        return Met(contact, x, rows, axes, ends(model, contact), before, after)


def _contact(
    model: Mechanism, m: Met, h: Real | None, meets: Real | None, part: Part | None
) -> OneSided:
    """(n, t₁, t₂) of a contact point, t scaled by friction; without friction n alone."""
    contact, gap = m.contact, m.touch.gap
    point = None if contact.kind == "cone" else m.touch.point
    kind: Set = Line(0.0, math.inf, 0.0) if is_zero(contact.friction[0]) else Cone()
    if h is None:
        back = -contact.restitution * m.before
        if meets is not None:  # 1: with restitution, 2: without
            back = select(meets > 1.5, 0.0, back)
        least = select(back > SLOW, back, 0.0)
        touch = gap <= TOUCH if meets is None else meets > 0.5
        shift = select(touch, least, APART)
        return OneSided(m.rows, kind, shift, 0.0, None, m.axes, point, m.ends)
    compliance: Real = 0.0
    if contact.stiffness is not None:
        if part is not None:
            gap, h = part.gap(gap, m.before, m.bend), part.length
        inverse = divide(1.0, h, nonzero=True)
        k, c = contact.stiffness, contact.damping or 0.0
        soft = divide(1.0, h * k + c, nonzero=True)
        shift, compliance = -gap * k * soft, soft * inverse
        shift = select(gap > 0.0, -gap * inverse, shift)
    else:
        e = contact.restitution
        shift = _least(model, gap, m.before, m.after, e, h, part, m.bend)
    return OneSided(m.rows, kind, shift, compliance, None, m.axes, point, m.ends)


def _least(
    model: Mechanism, gap: Real, before: Real, after: Real, e: Real, h: Real, part: Part | None,
    bend: Real | None = None,
) -> Real:  # fmt: skip
    """The least velocity of a rigid row at the end of a step, or of a part of it; bend: of a
    contact, None of a stop.
    """
    inverse = divide(1.0, h, nonzero=True)
    stays = UNPUSHED["stop" if bend is None else "contact"]
    bend = 0.0 if bend is None else bend
    if part is None:
        least = _approach(model, gap, inverse, inverse, stays)
        return _bounce(least, before, after, after, e)
    now = part.gap(gap, before, bend)
    soon = divide(1.0, part.horizon(now, before, after, bend), nonzero=True)
    least = _approach(model, now, soon, inverse, stays)
    end, begin = part.reached(before, after), before - bend * part.ahead
    later = begin + (after - before) + bend * h * part.first
    back = _bounce(least, begin, later, end + bend * part.until_end, e, end - before)
    comes = select(part.fast(before, after, bend) > 0.5, part.first, 0.0) > 0.5  # later
    slack = maximum(before - after, after - before) + SLOW + part.play  # open until it meets
    free = select(part.at_once(gap, before, after, bend) > 0.5, APART, least - slack)
    return select(comes, free, back)


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


def _approach(model: Mechanism, gap: Real, soon: Real, inverse: Real, stays: float) -> Real:
    """The least velocity of a gap: what closes it within 1/soon, or what opens an overlap, up to
    what stays, in steps of 1/inverse.
    """
    depth = maximum(-gap - stays, 0.0)
    g = math.hypot(*(number(x) or 0.0 for x in model.gravity)) or 9.81
    push = minimum(PUSH * depth * inverse, sqrt(2.0 * g * depth + 1e-30))
    return select(gap > 0.0, -gap * soon, push)


def _bounce(
    least: Real, before: Real, after: Real, end: Real, e: Real, more: Real = 0.0
) -> Real:
    """The least velocity with restitution, where the row closes until the end; more: what the free
    motion adds then.
    """
    if is_zero(e):
        return least
    back = -e * before
    lost = before - after  # in the step, to what pulls it closed
    return select(end < least, select(back > maximum(lost, 0.0), back + more, least), least)


def _stop_gaps(
    model: Mechanism, q: JointVector, v: JointVector, free: JointVector, joints: JointLaws
) -> Iterator[tuple[Real, Real, Real]]:
    """Of rigid stops: how far they are, and velocities before and after."""
    if joints.stops is None or joints.stiffness is not None:
        return
    for k, body in enumerate(model.model):
        i, own, joint = model.at(k), body.dynamics, body.joint
        if not any(map(math.isfinite, (*own.lower, *own.upper))):
            continue
        rate, new = joint.rates(q[i], list(v[i])), joint.rates(q[i], list(free[i]))
        for n, (low, high) in enumerate(zip(own.lower, own.upper, strict=True)):
            if math.isfinite(low):
                yield q[i][n] - low, rate[n], new[n]
            if math.isfinite(high):
                yield high - q[i][n], -rate[n], -new[n]


def _joints(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    free: JointVector,
    h: Real | None,
    joints: JointLaws,
    part: Part | None,
) -> Iterator[OneSided]:
    if joints == NO_LAWS:
        return
    assert h is not None  # in impacts joints have no laws
    over = h if part is None else part.length
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
                    at = q[i][n] if part is None else part.gap(q[i][n], rate[n])
                    yield from _soft_stops(rows, at, low, high, over, joints)
                    continue
                b = 0.0
                if joint.flat:
                    b, friction[n] = friction[n], 0.0
                e = joints.stops
                lo, hi = -math.inf, math.inf  # velocities between which it keeps its limits
                if math.isfinite(low):
                    lo = _least(model, q[i][n] - low, rate[n], new[n], e, h, part)
                if math.isfinite(high):
                    hi = -_least(model, high - q[i][n], -rate[n], -new[n], e, h, part)
                at = start + n if joint.flat else None
                yield OneSided(rows, Line(lo, hi, 0.0 if is_zero(b) else over * b), coordinate=at)
        for m, b in enumerate(friction):
            if not is_zero(b):
                line: list[Real] = [float(n == m) for n in range(joint.nv)]
                rows = _rows(body.joint_name, {}, {i.index: [line]}, 1)
                yield OneSided(rows, Line(-math.inf, math.inf, over * b), coordinate=start + m)


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
