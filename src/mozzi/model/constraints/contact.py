# pyright: reportPrivateUsage=false, reportUnnecessaryIsInstance=false
"""Contacts: which shapes of a model may touch, and how. Data, checked here.

Pairs are chosen, not searched for: `Model.with_ground`, `Model.with_contact`. What their points,
distances and forces are belongs to the algorithms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from mozzi.errors import ModelError
from mozzi.model.frames import as_axis, as_number, as_vector, rotation_to
from mozzi.model.mesh_file import surfaces
from mozzi.model.shapes import Box, Capsule, HeightField, Mesh, Plane, Sphere
from mozzi.model.surfaces import FRICTION, mixed

if TYPE_CHECKING:
    from mozzi.lie import SE3
    from mozzi.model.frames import Axis, VectorLike
    from mozzi.model.model import Model
    from mozzi.model.shapes import Geometry, Shape

__all__ = [
    "Contact", "ContactKind", "contact_of", "with_cone", "with_contact", "with_ground", "with_rope",
    "without_contact",
]  # fmt: skip

Point = tuple[float, float, float]
ContactKind = Literal["surface", "rope", "cone"]

MARK = 1e-6
"""The radius (m) of the shapes that mark the ends of ropes and the axes of cones."""


@final
@dataclass(frozen=True)
class Contact:
    """Two shapes that may touch: unilateral contact with dry friction.

    ``friction`` are Coulomb's coefficients along the two directions across the normal (equal,
    unless told), ``restitution`` is Newton's (the ratio of the normal speeds after and before an
    impact). ``stiffness`` (N/m) and ``damping`` (N s/m) make the contact compliant; without a
    stiffness it is rigid. ``points`` are the extremal points that stand for a mesh, in its frame,
    in pairs of which the lower one touches.

    ``kind``: "surface"; or "rope", whose gap is what the distance of two points leaves of the
    length ``limit``; or "cone", whose gap is what the angle between the axes z of two shapes leaves
    of the angle ``limit``: both without friction, the latter with moments for forces.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground(friction=0.5)
        >>> ball.contacts[0].friction, ball.contacts[0].restitution
        ((0.5, 0.5), 0.0)
    """

    name: str
    shape_a: str
    shape_b: str
    friction: tuple[float, float] = (0.8, 0.8)
    restitution: float = 0.0
    stiffness: float | None = None
    damping: float | None = None
    points: tuple[Point, ...] = ()
    kind: ContactKind = "surface"
    limit: float = 0.0

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        law = self.friction, self.restitution, self.stiffness, self.damping
        law = (*law, self.kind, self.limit)
        return ("Contact", self.name, self.shape_a, self.shape_b, *law, self.points)


def contact_of(
    model: Model, name: str, shape_a: str, shape_b: str,
    friction: float | tuple[float, float] | None = None,
    restitution: float | None = None, stiffness: float | None = None, damping: float | None = None,
) -> Contact:  # fmt: skip
    """A contact of a model, checked; what is None, from the surfaces of the shapes."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"contact {name!r}: not a name; give a non-empty string")
    what = f"contact {name!r}"
    a, b = (model.shape(x) for x in (shape_a, shape_b))
    for shape in (a, b):
        if not shape.collision:
            raise ModelError(
                f"{what}: shape {shape.name!r} is only seen (role 'visual'); give a shape that "
                "touches (role 'collision' or 'both')"
            )
    if not meets(a.geometry, b.geometry):
        kinds = " and ".join(type(x.geometry).__name__ for x in (a, b))
        raise ModelError(
            f"{what}: {kinds} do not meet; planes, boxes and height fields meet all other shapes, "
            "spheres and capsules meet each other"
        )
    if a.body == b.body:
        raise ModelError(f"{what}: both shapes are on one body and never touch; give two bodies")
    own = mixed(a.surface, b.surface)
    if restitution is None and stiffness is None:
        stiffness, damping = own.stiffness, own.damping if damping is None else damping
        restitution = own.restitution
    restitution = 0.0 if restitution is None else restitution
    if friction is None:
        friction = FRICTION if own.friction is None else own.friction
    mu = friction if isinstance(friction, Iterable) else (friction, friction)
    mu = as_vector(mu, 2, f"{what}: friction")
    if min(mu) < 0.0:
        raise ModelError(f"{what}: friction {friction}; give 0 or more")
    if min(mu) == 0.0 < max(mu):
        raise ModelError(f"{what}: friction {friction}; give two positive numbers, or 0")
    e = as_number(restitution, f"{what}: restitution")
    if not 0.0 <= e <= 1.0:
        raise ModelError(f"{what}: restitution {restitution}; give a number from 0 to 1")
    k = None if stiffness is None else _positive(stiffness, f"{what}: stiffness")
    c = None if damping is None else as_number(damping, f"{what}: damping")
    if c is not None and (k is None or c < 0.0):
        raise ModelError(f"{what}: damping {damping} goes with a stiffness, and is 0 or more")
    if k is not None and e > 0.0:
        raise ModelError(f"{what}: restitution with a stiffness; give damping instead")
    points = [p for shape in (a, b) for p in extremal_points(shape)]
    return Contact(name, shape_a, shape_b, (mu[0], mu[1]), e, k, c, tuple(points))


def meets(a: Geometry, b: Geometry) -> bool:
    """Whether there are distances between two geometries."""
    if isinstance(a, (Sphere, Capsule)) and isinstance(b, (Sphere, Capsule)):
        return True
    if isinstance(a, (Plane, HeightField)) or isinstance(b, (Plane, HeightField)):
        return not (isinstance(a, (Plane, HeightField)) and isinstance(b, (Plane, HeightField)))
    return isinstance(a, Box) or isinstance(b, Box)


def with_rope(
    model: Model, name: str, ends: tuple[str | None, str | None],
    points: tuple[VectorLike, VectorLike], length: float, restitution: float,
    stiffness: float | None, damping: float | None,
) -> Model:  # fmt: skip
    """A copy in which two points are never farther apart than a length."""
    from mozzi.lie import SE3

    limit = _positive(length, f"rope {name!r}: length")
    places = [SE3.translation(*as_vector(p, 3, f"rope {name!r}: point")) for p in points]
    law = restitution, stiffness, damping
    return _marked(model, name, ends, places, "rope", limit, *law)


def with_cone(
    model: Model, name: str, ends: tuple[str | None, str | None],
    axes: tuple[Axis, Axis], angle: float, restitution: float,
) -> Model:  # fmt: skip
    """A copy in which the angle between two axes is never greater than an angle."""
    from mozzi.lie import SE3, Vec3

    limit = _positive(angle, f"cone {name!r}: angle")
    if limit >= np.pi:
        raise ModelError(f"cone {name!r}: angle {angle}; give less than pi")
    turns = [rotation_to(as_axis(e, f"cone {name!r}: axis")) for e in axes]
    places = [SE3(R, Vec3.zero()) for R in turns]
    return _marked(model, name, ends, places, "cone", limit, restitution, None, None)


def _marked(
    model: Model, name: str, ends: tuple[str | None, str | None], places: Sequence[SE3],
    kind: ContactKind, limit: float, *law: float | None,
) -> Model:  # fmt: skip
    """A copy with two marks and a contact of theirs."""
    if ends[0] == ends[1]:
        raise ModelError(f"{kind} {name!r}: both ends are on {ends[0]!r}; connect two bodies")
    marks = [f"{name}:a", f"{name}:b"]
    for mark, body, place in zip(marks, ends, places, strict=True):
        model = model.with_shape(body, Sphere(MARK), place, mark, "collision")
    e, k, c = law
    made = contact_of(model, name, marks[0], marks[1], 0.0, e or 0.0, k, c)
    return with_contact(model, replace(made, kind=kind, limit=limit))


def _positive(x: object, what: str) -> float:
    value = as_number(x, what)
    if value <= 0.0:
        raise ModelError(f"{what} {x}; give a positive number")
    return value


def extremal_points(shape: Shape) -> list[Point]:
    """Of a mesh, its points that reach farthest along the eight diagonals of its bounding box: in
    pairs of opposite ones, pairs that are alike once.
    """
    if not isinstance(shape.geometry, Mesh):
        return []
    found = [points[np.unique(faces)] for points, faces, _ in surfaces(shape.geometry.file())]
    p = np.concatenate(found) * np.asarray(shape.geometry.scale)
    middle, span = (p.max(0) + p.min(0)) / 2.0, np.maximum(np.ptp(p, axis=0), 1e-12)
    half = np.array([(1, y, z) for y in (1, -1) for z in (1, -1)])
    reach = ((p - middle) / span) @ half.T
    pairs = zip(reach.argmax(axis=0).tolist(), reach.argmin(axis=0).tolist(), strict=True)
    chosen = [k for pair in dict.fromkeys(pairs) for k in pair]
    return [(float(x), float(y), float(z)) for x, y, z in p[chosen]]


def with_contact(model: Model, contact: Contact) -> Model:
    """A copy with one more contact."""
    if any(x.name == contact.name for x in model.contacts):
        raise ModelError(f"contact {contact.name!r} exists already; give another name")
    return model._replace(contacts=(*model.contacts, contact))


def without_contact(model: Model, name: str) -> Model:
    """A copy without a contact."""
    if all(x.name != name for x in model.contacts):
        known = ", ".join(repr(x.name) for x in model.contacts[:8]) or "none"
        raise ModelError(f"model {model.name!r} has no contact {name!r}; it has {known}")
    return model._replace(contacts=tuple(x for x in model.contacts if x.name != name))


def with_ground(
    model: Model, shapes: str | Sequence[str] | None, height: float,
    friction: float | tuple[float, float] | None, restitution: float | None,
) -> Model:  # fmt: skip
    """A copy that stands on a horizontal plane of the world."""
    from mozzi.lie import SE3

    z = as_number(height, "with_ground: height")
    if shapes is None:
        marks = {
            n for x in model.contacts if x.kind != "surface" for n in (x.shape_a, x.shape_b)
        }
        shapes = [
            x.name for x in model.shapes
            if x.collision and x.body >= 0 and not isinstance(x.geometry, (Plane, HeightField))
            and x.name not in marks
        ]  # fmt: skip
        if not shapes:
            raise ModelError(
                f"model {model.name!r} has no collision shape that moves; add one with "
                "model.with_shape(body, Sphere(0.02), placement), or in the file"
            )
    taken = {x.name for x in model.shapes}
    ground = next(n for n in ("ground", *(f"ground_{k}" for k in range(2, 99))) if n not in taken)
    model = model.with_shape(None, Plane(), SE3.translation(0.0, 0.0, z), ground)
    for name in [shapes] if isinstance(shapes, str) else shapes:
        made = contact_of(model, f"{ground}:{name}", name, ground, friction, restitution)
        model = with_contact(model, made)
    return model
