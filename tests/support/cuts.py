"""One linkage, cut at different joints: the same state in each, and what its motion must keep."""

from __future__ import annotations

import math

import numpy as np

import mozzi as mz
from mozzi.lie import SE3
from mozzi.model import Joint, Model, Prismatic, Revolute, Spherical, Universal


def coordinates(joint: Joint, G: np.ndarray) -> list[float]:
    """The coordinates of a joint whose child frame has the pose G in its parent frame."""
    R, p = G[:3, :3], G[:3, 3]
    if isinstance(joint, Revolute):
        return [math.atan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])]
    if isinstance(joint, Prismatic):
        return [p[2]]
    if isinstance(joint, Universal):
        a = math.atan2(R[1, 0], R[0, 0])
        return [a, math.atan2(R[2, 1], math.cos(a) * R[1, 1] - math.sin(a) * R[0, 1])]
    assert isinstance(joint, Spherical)
    return quaternion(R)


def quaternion(R: np.ndarray) -> list[float]:
    """(x, y, z, w) of a rotation."""
    K = np.array([
        [R[0, 0] - R[1, 1] - R[2, 2], 0, 0, 0],
        [R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], 0, 0],
        [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1], 0],
        [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], np.trace(R)],
    ])  # fmt: skip
    x = np.linalg.eigh(K / 3.0, UPLO="L")[1][:, -1]
    return (x * np.sign(x[3])).tolist()


def body_states(model: Model, q: np.ndarray, v: np.ndarray) -> dict[str, tuple[np.ndarray, ...]]:
    """Poses and body-fixed twists of all bodies by name."""
    C, V = mz.forward_kinematics(model, q), mz.twists(model, q, v)
    return {body.name: (C[..., k, :, :], V[..., k, :]) for k, body in enumerate(model)}


def same_state(
    model: Model, of: Model, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The state of another cut of the same linkage: its bodies are where they are, and move so."""
    states = body_states(of, q, v)
    world = np.eye(4), np.zeros(6)
    p, u = [], []
    for body in model:
        joint = body.joint
        C_a, V_a = states[list(model)[body.parent].name] if body.parent >= 0 else world
        C_b, V_b = states[body.name]
        F_a, F_b = joint.frame_parent.matrix(), joint.frame_child.matrix()
        G = np.linalg.inv(C_a @ F_a) @ C_b @ F_b
        own = coordinates(joint, G)
        relative = V_b - adjoint(np.linalg.inv(C_b) @ C_a) @ V_a
        S = np.array([s.flatten() for s in joint.screws(own)], dtype=float).T
        u += np.linalg.lstsq(S, adjoint(np.linalg.inv(F_b)) @ relative, rcond=None)[0].tolist()
        p += own
    return np.array(p), np.array(u)


def adjoint(T: np.ndarray) -> np.ndarray:
    """Of a pose as a matrix."""
    return np.asarray(SE3.from_matrix(T).Ad(), dtype=float)


def apart(a: Model, b: Model, x: tuple, y: tuple) -> float:
    """How far the bodies of two cuts are apart, in position, rotation and velocity."""
    A, B = body_states(a, *x), body_states(b, *y)
    return max(float(np.abs(A[n][k] - B[n][k]).max()) for n in A for k in (0, 1))
