"""The robots that benchmarks and studies run on, for mozzi and for Pinocchio, with the same
coordinates.
"""

from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

import mozzi as mz

FILES = {
    "panda": ("panda_description/urdf/panda.urdf", "fixed"),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "fixed"),
    "solo12": ("solo_description/robots/solo12.urdf", "free"),
    "talos": ("talos_data/robots/talos_reduced.urdf", "free"),
}


def robots_folder() -> Path:
    """Where the package example-robot-data keeps its robots."""
    return Path(sysconfig.get_paths()["purelib"], "cmeel.prefix/share/example-robot-data/robots")


@cache
def mozzi_model(name: str) -> Any:
    """A robot for mozzi; "chain300" is a chain of 300 revolute bodies."""
    if name.startswith("chain"):
        from mozzi.model.generate import chain

        return chain(int(name[5:]), seed=1)
    file, base = FILES[name]
    model = mz.load(robots_folder() / file, base=base)
    fingers = [joint for joint in model.joint_names if "finger" in joint] if name == "panda" else []
    return model.lock(fingers, model.neutral()) if fingers else model


@cache
def pin_model(name: str) -> Any:
    """The same robot for Pinocchio."""
    import numpy as np
    import pinocchio as pin

    if not name.startswith("chain"):
        file, base = FILES[name]
        path = str(robots_folder() / file)
        if base == "free":
            return pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
        model = pin.buildModelFromUrdf(path)
        fingers = [model.getJointId(n) for n in model.names if "finger" in n]
        return pin.buildReducedModel(model, fingers, pin.neutral(model)) if fingers else model
    ours = mozzi_model(name)
    model = pin.Model()
    for k in range(ours.nb):
        body = ours.body(k)
        placement = body.joint.frame_parent
        if body.parent >= 0:
            placement = ours.body(body.parent).joint.frame_child.inverse() @ placement
        inertia = body.joint.frame_child.pull(body.inertia)
        joint = model.addJoint(
            body.parent + 1, pin.JointModelRZ(), pin.SE3(placement.matrix()), body.joint_name
        )
        mass = float(inertia.m)
        lever = np.array(inertia.h.flatten()) / mass
        at_origin = np.array(inertia.J.array(), dtype=float)
        at_com = at_origin - mass * (lever @ lever * np.eye(3) - np.outer(lever, lever))
        model.appendBodyToJoint(joint, pin.Inertia(mass, lever, at_com), pin.SE3.Identity())
    return model
