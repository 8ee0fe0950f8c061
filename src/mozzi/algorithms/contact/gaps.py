"""Gaps and frames of the contacts of a model: signed distances, witness points, normals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.contact.distances import Touch, cone, nearest, point_count, rope
from mozzi.algorithms.recursion.containers import per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import ByBody, JointVector, PerBody
from mozzi.checked import checked
from mozzi.lie import SE3, Rotation
from mozzi.model import Contact, Model, Shape
from mozzi.model.as_model import as_model
from mozzi.types import Traced

__all__ = ["contact_count", "contact_frames", "contact_gaps", "contact_points", "touches"]


@checked
def contact_points(model: Model) -> Mapping[str, slice]:
    """Which of the k contact points belong to which contact, by its name.

    Cost: none at run time; it looks into the model.

    Args:
        model: the mechanism, with ``model.contacts``.

    Returns:
        Slices of the k points, by the names of the contacts.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground()
        >>> len(mz.contact_points(ball))
        1
    """
    as_model(model, "contact_points")
    points: dict[str, slice] = {}
    start = 0
    for contact in model.contacts:
        a, b = (model.shape(x).geometry for x in (contact.shape_a, contact.shape_b))
        n = point_count(a, b, contact.points)
        points[contact.name] = slice(start, start + n)
        start += n
    return MappingProxyType(points)


def contact_count(model: Model) -> int:
    """k: how many contact points there are."""
    return sum(s.stop - s.start for s in contact_points(model).values())


@algorithm
def contact_gaps(model: Mechanism, q: JointVector) -> Traced:
    """The signed distances (k) of the contact points: negative where shapes overlap.

    One after the other, as `contact_points` tells. Differentiable where the nearest features stay
    the same; finite everywhere.

    Returns:
        (B, k): metres, in the order of `contact_points`.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground()
        >>> mz.contact_gaps(ball, ball.neutral()).shape
        (1,)
    """
    gaps = [x.gap for _, x in touches(model, poses(model, q))]
    return np.array([*gaps, None], dtype=object)[:-1]


@algorithm
def contact_frames(model: Mechanism, q: JointVector) -> Traced:
    """The frames (k, 4, 4) of the contact points: halfway between the witness points, z along the
    normal from shape b to shape a, x and y along the two directions of friction.

    Returns:
        (B, k, 4, 4): a pose for each point, in the inertial frame.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground()
        >>> mz.contact_frames(ball, ball.neutral()).shape
        (1, 4, 4)
    """
    out: Traced = np.full((len(list(touches(model, poses(model, q)))), 4, 4), 0.0, dtype=object)
    for k, (_, x) in enumerate(touches(model, poses(model, q))):
        out[k] = frame(x).matrix()
    return out


def frame(x: Touch) -> SE3:
    """The frame of a contact point."""
    n, t = x.normal, x.across
    s = n.cross(t)
    return SE3(Rotation(t.x, s.x, n.x, t.y, s.y, n.y, t.z, s.z, n.z), x.point)


def poses(model: Mechanism, q: JointVector) -> PerBody[SE3]:
    """The poses of all bodies, on their joints."""
    C: PerBody[SE3] = per_body(model, "C", SE3)
    for i in model.outward():
        C[i] = C[i.parent] @ i.pose(q[i])
    return C


def touches(model: Mechanism, C: ByBody[SE3]) -> Iterator[tuple[Contact, Touch]]:
    """Every contact point in the inertial frame, with its contact."""
    for contact in model.model.contacts:
        a, b = (model.model.shape(x) for x in (contact.shape_a, contact.shape_b))
        T_a, T_b = (_pose(model, C, x) for x in (a, b))
        if contact.kind != "surface":
            meet = rope if contact.kind == "rope" else cone
            yield contact, meet(T_a, T_b, contact.limit)
            continue
        for x in nearest(a.geometry, b.geometry, T_b.inverse() @ T_a, contact.points):
            turn = T_b.R.rotate
            yield contact, Touch(x.gap, T_b @ x.point, turn(x.normal), turn(x.across))


def _pose(model: Mechanism, C: ByBody[SE3], shape: Shape) -> SE3:
    i = model.at(shape.body)
    return shape.placement if shape.body < 0 else C[i] @ (i.frame @ shape.placement)
