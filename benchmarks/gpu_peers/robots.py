"""Robots as peers read them: URDF and MJCF, written from the numbers of mozzi's model, so that
every peer has the same bodies.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine
from benchmarks.contact import mjcf
from benchmarks.gpu_peers.case import Robot
from mozzi.lie import SE3

HELD = "solo12 held"  # at its base
FIXED = ("panda", HELD)
FREE = ("panda", "solo12", "talos")  # where a peer has free bases


def numbers(x: Any) -> str:
    return " ".join(repr(float(e)) for e in np.ravel(x))


def origin(T: np.ndarray) -> str:
    """A pose as URDF writes it: x y z, and angles about fixed axes x, y, z."""
    R = T[:3, :3]
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    if np.cos(pitch) > 1e-9:
        angles = np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])
    else:
        angles = np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0
    return f'<origin xyz="{numbers(T[:3, 3])}" rpy="{numbers(angles)}"/>'


def link(name: str, inertia: Any) -> str:
    mass = float(inertia.m)
    com = np.array(inertia.h.flatten(), dtype=float) / mass
    J = np.asarray(inertia.J.array(), dtype=float)
    J = J - mass * (com @ com * np.eye(3) - np.outer(com, com))
    moments = " ".join(
        f'i{"xyz"[i]}{"xyz"[k]}="{float(J[i, k])!r}"' for i in range(3) for k in range(i, 3)
    )
    place = f'<origin xyz="{numbers(com)}" rpy="0 0 0"/>'
    inner = f'{place}<mass value="{mass!r}"/><inertia {moments}/>'
    return f"<link name={quoteattr(name)}><inertial>{inner}</inertial></link>\n"


def urdf(model: mz.Model) -> str:
    """Revolute joints on a free or a fixed base; axes are those of the model's own file."""
    text, at = "", {-1: SE3.identity()}
    free = isinstance(model.body(0).joint, mz.Free)
    if not free:
        text += link("world", mz.Inertia(1.0, (0.0, 0.0, 0.0), np.eye(3)))  # some ask for one
    for k in range(model.nb):
        body, joint = model.body(k), model.body(k).joint
        at[k] = SE3.translation(*joint.frame_child.p.flatten())
        text += link(body.name, at[k].pull(body.inertia))
        if k == 0 and free:
            continue
        parent = model.body(body.parent).name if body.parent >= 0 else "world"
        place = at[body.parent].inverse() @ joint.frame_parent @ joint.frame_child.inverse() @ at[k]
        axis = np.round(joint.frame_child.matrix()[:3, 2], 12) + 0.0
        text += (
            f'<joint name={quoteattr(body.joint_name)} type="revolute">{origin(place.matrix())}'
            f"<parent link={quoteattr(parent)}/><child link={quoteattr(body.name)}/>"
            f'<axis xyz="{numbers(axis)}"/>'
            '<limit lower="-3.0" upper="3.0" effort="100.0" velocity="10.0"/></joint>\n'
        )
    return f'<robot name="robot">\n{text}</robot>\n'


def robot(name: str, model: mz.Model) -> Robot:
    return Robot(name, model, urdf(model), mjcf(model, {}, 0.0, False))


def robots() -> dict[str, Robot]:
    """All of them, where example-robot-data is installed."""
    from benchmarks.robots import FILES, mozzi_model, robots_folder

    models = {name: mozzi_model(name) for name in ("panda", "solo12", "talos")}
    models[HELD] = mz.load(robots_folder() / FILES["solo12"][0])
    return {name: robot(name, model) for name, model in models.items()}


def pack(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps((machine()["commit"], robots())))


def unpack(path: Path | None) -> tuple[str, dict[str, Robot]]:
    """The commit that they are of, and the robots by name."""
    return pickle.loads(path.read_bytes()) if path else (machine()["commit"], robots())
