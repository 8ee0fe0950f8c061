"""What the tests of loaders share: other readers as oracles, and plain matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SQUARE = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def link(name: str, inside: str = SQUARE) -> str:
    """A link of URDF."""
    return f'<link name="{name}">{inside}</link>'


def joint(
    name: str = "j",
    parent: str = "a",
    child: str = "b",
    kind: str = "revolute",
    inside: str = '<limit lower="-1" upper="1" effort="1" velocity="1"/>',
    axis: str = '<axis xyz="0 0 1"/>',
    origin: str = '<origin xyz="0 0 1" rpy="0 0 0"/>',
) -> str:
    """A joint of URDF."""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{origin}{axis}{inside}</joint>'


def robot(*parts: str) -> str:
    """A URDF file, one part per line: the first part is in line 3."""
    return "\n".join(['<?xml version="1.0"?>', '<robot name="r">', *parts, "</robot>\n"])


def write(folder: Path, text: str | bytes, name: str = "robot.urdf") -> Path:
    """A file with this text."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def poses(model, q) -> list[np.ndarray]:
    """The 4×4 pose of every body, by plain products."""
    found: list[np.ndarray] = []
    for i, body in enumerate(model):
        T = body.joint.motion([float(x) for x in q[model.q_offsets[i] : model.q_offsets[i + 1]]])
        up = np.eye(4) if body.parent < 0 else found[body.parent]
        found.append(up @ np.asarray(T.matrix(), dtype=float))
    return found


def mass_matrix(model, q) -> np.ndarray:
    """Σ Jᵀ I J over bodies, with all Jacobians at the inertial origin, plus armature."""
    where = poses(model, q)
    M = np.zeros((model.nv, model.nv))
    J_of: list[np.ndarray] = []
    for i, body in enumerate(model):
        x = [float(e) for e in q[model.q_offsets[i] : model.q_offsets[i + 1]]]
        S = [np.array(c.flatten(), dtype=float) for c in body.joint.screws(x).columns]
        T = where[i] @ np.asarray(body.joint.frame_child.matrix(), dtype=float)
        J = np.zeros((6, model.nv)) if body.parent < 0 else J_of[body.parent].copy()
        J[:, model.v_offsets[i] : model.v_offsets[i + 1]] = np.array(
            [push(T, s) for s in S]
        ).T.reshape(6, -1)
        J_of.append(J)
        local = np.array([pull(where[i], c) for c in J.T]).T
        M += local.T @ np.asarray(body.inertia.matrix(), dtype=float) @ local
        k = range(model.v_offsets[i], model.v_offsets[i + 1])
        M[k, k] += body.dynamics.armature
    return M


def push(T: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """A twist of the frame T, in the outer frame."""
    w = T[:3, :3] @ twist[:3]
    return np.concatenate([w, T[:3, :3] @ twist[3:] + np.cross(T[:3, 3], w)])


def pull(T: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """A twist of the outer frame, in the frame T."""
    w, v = twist[:3], twist[3:]
    return np.concatenate([T[:3, :3].T @ w, T[:3, :3].T @ (v - np.cross(T[:3, 3], w))])


# -- Pinocchio ---------------------------------------------------------------------------------


def to_pinocchio(model, q, peer) -> np.ndarray:
    """q in Pinocchio's coordinates: a continuous joint there is (cos, sin)."""
    x = []
    for name in peer.names[1:]:
        own = q[model.q_slices[name]]
        wide = peer.joints[peer.getJointId(name)].nq
        x += [np.cos(own[0]), np.sin(own[0])] if wide == 2 and own.size == 1 else list(own)
    return np.array(x)


def spread(model) -> np.ndarray:
    """The permutation of v from here to Pinocchio's: its free joints are (linear, angular)."""
    order = []
    for i in range(model.nb):
        k = list(range(model.v_offsets[i], model.v_offsets[i + 1]))
        order += k[3:] + k[:3] if len(k) == 6 else k
    return np.array(order, dtype=int)


def compare(model, peer, q) -> dict[str, float]:
    """The largest differences from Pinocchio at q: poses, inertias, mass matrix."""
    import pinocchio as pin

    assert list(model.joint_names) == list(peer.names)[1:]
    assert model.nv == peer.nv
    x = to_pinocchio(model, q, peer)
    data = peer.createData()
    pin.forwardKinematics(peer, data, x)
    where = poses(model, q)
    pose = max(
        (abs(where[i] - data.oMi[i + 1].homogeneous).max() for i in range(model.nb)), default=0.0
    )
    inertia = 0.0
    for i, body in enumerate(model):
        other = np.asarray(peer.inertias[i + 1].matrix())
        other = np.block([[other[3:, 3:], other[3:, :3]], [other[:3, 3:], other[:3, :3]]])
        inertia = max(inertia, abs(np.asarray(body.inertia.matrix()) - other).max())
    M = pin.crba(peer, data, x)
    M = np.triu(M) + np.triu(M, 1).T
    k = spread(model)
    own = mass_matrix(model, q)[np.ix_(k, k)] if model.nv else np.zeros((0, 0))
    return {"pose": pose, "inertia": inertia, "mass": abs(own - M).max(initial=0.0)}
