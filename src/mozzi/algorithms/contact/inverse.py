"""Inverse dynamics of what stands on its contacts: forces that are given, or the least over cones.

A free base has no motor. The contact forces f must carry what it needs, Jᵤᵀ f = rᵤ, with f in its
cones and never pulling; the motors give the rest, τ = r − Jᵀ f, r = M a + C v + g.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.constraints.one_sided.interior_point import interior_point
from mozzi.algorithms.constraints.one_sided.problem import ByRows
from mozzi.algorithms.constraints.one_sided.sets import Cone, Line, Set
from mozzi.algorithms.constraints.rows.relative_motion import Moving
from mozzi.algorithms.contact.gaps import contact_frames, contact_points, touches
from mozzi.algorithms.contact.response import jacobian
from mozzi.algorithms.contact.rows import OneSided, contact_rows
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.kinematics.poses import forward_kinematics
from mozzi.algorithms.recursion.containers import (
    BlockArray,
    Local,
    joint_vector,
    per_body,
)  # fmt: skip
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.rolled_or_not import ALWAYS_UNROLLED
from mozzi.algorithms.recursion.views import JointVector
from mozzi.checked import checked
from mozzi.errors import ConfigurationError, ShapeError
from mozzi.lie import SE3, Vec3
from mozzi.model import Free, Model
from mozzi.model.as_model import as_model
from mozzi.program.scalar import Real, select, sqrt
from mozzi.types import Array, ArrayLike, Traced

__all__ = ["contact_inverse_dynamics", "contact_wrenches"]

NEAR = 1e-4
"""The gap (m) below which a contact point can carry."""

STEPS = 25  # of the interior point
EASE = 1e-10  # weight of the forces themselves, where several carry alike


@checked
def contact_wrenches(model: Model, q: ArrayLike, forces: ArrayLike) -> Array:
    """What contact forces exert on all bodies, body-fixed: to be given to `inverse_dynamics` and
    `forward_dynamics` as ``wrenches``.

    Cost: O(k) for k contact points.

    Args:
        model: the mechanism, with ``model.contacts``.
        q (B, nq): configuration.
        forces (B, k, 3): on bodies a, in world axes, in the order of `contact_points`; moments
            where a contact is a cone.

    Returns:
        (B, nb, 6): moment and force on each body.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground()
        >>> mz.contact_wrenches(ball, ball.neutral(), np.zeros((1, 3))).shape
        (1, 6)
    """
    as_model(model, "contact_wrenches")
    try:
        F = np.asarray(forces, dtype=float)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"contact_wrenches: forces is {forces!r}; give (…, k, 3) numbers"
        ) from None
    points, T = contact_frames(model, q)[..., :3, 3], forward_kinematics(model, q)
    if F.shape[-2:] != points.shape[-2:]:
        wanted = points.shape[-2:]
        fact = f"{model.name} has {wanted[0]} contact points, 3 numbers each"
        raise ShapeError("contact_wrenches", "forces", F.shape, wanted, fact)
    batch = np.broadcast_shapes(F.shape[:-2], points.shape[:-2])
    out = np.zeros((*batch, model.nb, 6))
    for contact, part in zip(model.contacts, contact_points(model).values(), strict=True):
        for name, sign in ((contact.shape_a, 1.0), (contact.shape_b, -1.0)):
            body = model.shape(name).body
            if body < 0:
                continue
            R, p = T[..., body, :3, :3], T[..., body, :3, 3]
            for k in range(part.start, part.stop):
                force = np.einsum("...ij,...i->...j", R, sign * F[..., k, :])
                if contact.kind == "cone":
                    out[..., body, :3] += force
                    continue
                lever = np.einsum("...ij,...i->...j", R, points[..., k, :] - p)
                out[..., body, :3] += np.cross(lever, force)
                out[..., body, 3:] += force
    return out


@algorithm(regroup="moments", threshold=ALWAYS_UNROLLED, loops="refuse")
def contact_inverse_dynamics(
    model: Mechanism, q: JointVector, v: JointVector, a: JointVector,
    actuated: Sequence[str] | None = None,
) -> tuple[BlockArray, Traced, Traced]:  # fmt: skip
    """Joint forces and contact forces for accelerations a: τ + Jᵀ f = M a + C v + g, with f of all
    points that touch in their friction cones, and τ = 0 in joints without motors as nearly as such
    forces can: least squares over the cones, by an interior point. Of several such f the least. Of
    the rigid equations: without damping, friction and springs.

    Args:
        actuated: names of the joints with motors; by default all but free ones.

    Returns:
        tau (B, nv): what the motors give.
        forces (B, k, 3): on bodies a, in world axes.
        missing (B, 1): the norm of what joints without motors would need on top.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground()
        >>> rest = np.zeros((2, 6))
        >>> tau, forces, missing = mz.contact_inverse_dynamics(ball, ball.neutral(), *rest)
    """
    needed = inverse_dynamics(model, q, v, a)
    T, C = per_body(model, "T C", Local[RelativePose], SE3)
    for i in model.outward():
        T[i] = i.pose(q[i])
        C[i] = C[i.parent] @ T[i]
    idle: list[int] = []
    for k, body in enumerate(model.model):
        has = not isinstance(body.joint, Free) if actuated is None else body.joint_name in actuated
        if not has:
            idle += range(model.at(k).data.v, model.at(k).data.v + body.joint.nv)
    blocks: list[OneSided] = []
    sets: list[Set] = []
    carries: list[Real] = []
    for contact, at in touches(model, C):
        rows, axes = contact_rows(model, contact, at, C)
        sets.append(Cone(convex=True) if len(axes) == 3 else Line(0.0, math.inf, 0.0))
        blocks.append(OneSided(rows, sets[-1], axes=axes))
        carries += [select(at.gap <= NEAR, 1.0, 0.0)] * len(axes)
    every = jacobian(model, blocks, Moving(q, T))
    J = [[c * e for e in row] for c, row in zip(carries, every, strict=True)]
    r = list(needed.array())
    span = range(len(J))
    L = [[sum((J[i][n] * J[j][n] for n in idle), EASE if i == j else 0.0) for j in span]
         for i in span]  # fmt: skip
    g = [-sum((row[n] * r[n] for n in idle), 0.0) for row in J]
    x: list[Real] = []
    if J:
        problem = ByRows(L, g, sets)
        x = [e * s for e, s in zip(interior_point(problem, STEPS), problem.scale, strict=True)]
        x = [c * e for c, e in zip(carries, x, strict=True)]
    left = [e - sum((row[n] * f for row, f in zip(J, x, strict=True)), 0.0)
            for n, e in enumerate(r)]  # fmt: skip
    tau = joint_vector(model, "tau")
    for i in map(model.at, range(model.nb)):
        own = range(i.data.v, i.data.v + i.joint.nv)
        tau[i] = [0.0 if n in idle else left[n] for n in own]
    forces = np.full((len(blocks), 3), 0.0, dtype=object)
    n = 0
    for k, block in enumerate(blocks):
        total = Vec3.zero()
        for axis in block.axes:
            total, n = total + axis * x[n], n + 1
        forces[k] = list(total)
    square = sum((left[n] * left[n] for n in idle), 0.0)
    return tau, forces, np.array([sqrt(square), None], dtype=object)[:1]
