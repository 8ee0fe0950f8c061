"""Energies, momentum, the centre of mass, and the centroidal momentum matrix."""

from __future__ import annotations

import numpy as np

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.dynamics.mass_matrix import composites
from mozzi.algorithms.dynamics.springs import stored
from mozzi.algorithms.recursion.containers import BlockArray, Local, Number, joint_array, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism, RelativePose
from mozzi.algorithms.recursion.views import JointVector
from mozzi.lie import SE3, Inertia, Momentum, Twist, Vec3
from mozzi.program.scalar import Real
from mozzi.types import Traced

__all__ = [
    "center_of_mass", "centroidal_momentum", "centroidal_momentum_matrix", "kinetic_energy",
    "momentum", "potential_energy",
]  # fmt: skip


@algorithm(regroup=True)
def kinetic_energy(model: Mechanism, q: JointVector, v: JointVector) -> Traced:
    """½ vᵀ M(q) v: of the bodies, and of the rotors (armature).

    Body-fixed twists, O(n).  Müller, Dynamics (80).

    Returns:
        (B): joules.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> bool(mz.kinetic_energy(arm, q, v) > 0.0)
        True
    """
    T, V, E = per_body(model, "T V E", Local[RelativePose], Twist, Number)
    for i in model.outward():
        T[i] = i.pose(q[i])
        V[i] = T[i].pull(V[i.parent]) + i.joint.screws(q[i]) @ v[i]
        rotors = sum((m * (x * x) for m, x in zip(i.armature, v[i], strict=True)), 0.0)
        E[i] = (i.inertia @ V[i]).dot(V[i]) + rotors
    for i in model.inward():
        E[i.parent] += E[i]
    return _scalar(E[model.world] * 0.5)


@algorithm(regroup=True)
def potential_energy(model: Mechanism, q: JointVector, springs: bool = True) -> Traced:
    """−m gᵀ c(q) + ½ Σ stiffness·(q ⊖ rest)² + `spring_energy`: of weight and of springs.

    That of weight is zero where the centre of mass is at the height of the inertial origin; first
    moments, summed inward, O(n). Springs are those of the joints and those between bodies;
    ``springs=False`` leaves them out.

    Returns:
        (B): joules.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.potential_energy(arm, np.zeros((5, arm.nq))).shape
        (5,)
    """
    h, _ = _first_moment(model, q)
    energy = -model.gravity.dot(h)
    if springs:
        E = per_body(model, "E", Number)
        for i in model.outward():
            stretch = zip(i.stiffness, i.joint.difference(i.rest, q[i]), strict=True)
            E[i] = sum((k * (s * s) for k, s in stretch), 0.0)
        for i in model.inward():
            E[i.parent] += E[i]
        energy = energy + 0.5 * E[model.world] + stored(model, q)
    return _scalar(energy)


@algorithm(regroup=True)
def center_of_mass(model: Mechanism, q: JointVector) -> Traced:
    """c(q) of all moving bodies, in the inertial frame.

    First moments, summed inward, O(n).

    Returns:
        (B, 3): metres.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.center_of_mass(arm, q).shape
        (3,)
    """
    h, m = _first_moment(model, q)
    return (h * (1.0 / m)).array()


@algorithm(regroup=True)
def momentum(model: Mechanism, q: JointVector, v: JointVector) -> Traced:
    """Angular and linear momentum (6,) of all bodies, about the inertial origin.

    Body-fixed momenta, summed inward, O(n); its rate is the wrench on the whole.  Müller, Dynamics
    (36).

    Returns:
        (B, 6): (angular, linear), in inertial axes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.momentum(arm, q, v).shape
        (6,)
    """
    h = _momentum(model, q, v)
    return h.array()


@algorithm(regroup=True)
def centroidal_momentum(model: Mechanism, q: JointVector, v: JointVector) -> Traced:
    """Angular and linear momentum (6,) of all bodies, about their centre of mass, in inertial axes.

    The momentum about the origin, moved to c(q), O(n).

    Returns:
        (B, 6): (angular, linear), in inertial axes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> h = mz.centroidal_momentum_matrix(arm, q) @ v
        >>> np.allclose(mz.centroidal_momentum(arm, q, v), h)
        True
    """
    h, m = _first_moment(model, q)
    return SE3.translation(*(h * (1.0 / m))).pull(_momentum(model, q, v)).array()


@algorithm(regroup=True)
def centroidal_momentum_matrix(model: Mechanism, q: JointVector) -> BlockArray:
    """A(q) (6, nv) with A v the centroidal momentum (angular, linear).

    Composite bodies: the momentum of what each joint moves, in inertial axes, O(n).

    Returns:
        (B, 6, nv): rows are (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.centroidal_momentum_matrix(arm, q).shape
        (6, 3)
    """
    T, I, C = per_body(model, "T I C", Local[RelativePose], Inertia, SE3)
    A = joint_array(model, 6, "v", letter="A")
    composites(model, q, T, I)
    whole = I[model.world] + model.fixed
    center = whole.h * (1.0 / whole.m)
    to_center = SE3.translation(*center)
    for i in model.outward():
        C[i] = C[i.parent] @ T[i]
        F = to_center.pull(C[i].push(I[i] @ i.joint.screws(q[i])))
        A[i] = tuple(zip(*(column.flatten() for column in F), strict=True))
    return A


def _first_moment(model: Mechanism, q: JointVector) -> tuple[Vec3, Real]:
    """∫ x dm about the inertial origin, and the mass."""
    h, m = per_body(model, "h m", Vec3, Number)
    for i in model.outward():
        h[i], m[i] = i.inertia.h, i.inertia.m
    for i in model.inward():
        T = i.pose(q[i])
        h[i.parent] += T.rotate(h[i]) + T.p * m[i]
        m[i.parent] += m[i]
    return h[model.world] + model.fixed.h, _mass(model)


def _mass(model: Mechanism) -> Real:
    return sum(body.inertia.m for body in model.bodies) + model.fixed.m


def _momentum(model: Mechanism, q: JointVector, v: JointVector) -> Momentum:
    T, V, H = per_body(model, "T V H", Local[RelativePose], Twist, Momentum)
    for i in model.outward():
        T[i] = i.pose(q[i])
        V[i] = T[i].pull(V[i.parent]) + i.joint.screws(q[i]) @ v[i]
        H[i] = i.inertia @ V[i]
    for i in model.inward():
        H[i.parent] += T[i].push(H[i])
    return H[model.world]


def _scalar(x: Real) -> Traced:
    out = np.empty((), dtype=object)
    out[()] = x
    return out
