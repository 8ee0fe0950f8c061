"""What must be true of a file, whatever was done to it; peers say whether a model is right."""

from __future__ import annotations

import logging
import re
import warnings
from pathlib import Path

import numpy as np
from loaders.support import compare, mass_matrix

import mozzi as mz
from mozzi.errors import ModelError
from mozzi.model import Model

__all__ = ["Finding", "judge"]


SPACED = re.compile(r'\b(value|radius|length|i[xyz]{2}|lower|upper)="(\s[^"]*|[^"]*\s)"')
"""A number of a URDF with white space around it, as XML allows."""


class Finding(Exception):
    """Something is wrong with the library: what."""


def judge(path: Path, kind: str, right: bool) -> str:
    """"refused", "agrees" (with a peer), or "loads" (where no peer reads it); raises a Finding.

    A right file must load. A file that loads has finite dynamics, and is the mechanism that the
    peer reads; where the peer refuses it, it must not differ in silence from what it says.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = mz.load(path)
        except ModelError as error:
            if right:
                raise Finding(f"a right file is refused: {error}") from error
            if not re.search(r" line \d+\)", str(error)):
                raise Finding(f"an error without a line: {error}") from error
            return "refused"
        except Exception as error:
            raise Finding(f"{type(error).__name__}: {error}") from error
        _alive(model)
        return {"urdf": _pinocchio, "sdf": _drake, "mjcf": _mujoco}[kind](path, model)


def _alive(model: Model) -> None:
    """Finite numbers, and recursions that invert each other."""
    if not model.nv:
        return
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng, closed=False)
    M = mass_matrix(model, q)
    if not np.isfinite(M).all():
        raise Finding("a mass matrix that is not finite")
    if np.abs(M - mz.mass_matrix.python(model, q)).max() > 1e-9 * max(1.0, np.abs(M).max()):
        raise Finding("the mass matrix differs from Σ Jᵀ I J")


def _pinocchio(path: Path, model: Model) -> str:
    import pinocchio as pin

    try:
        peer = pin.buildModelFromUrdf(str(path))
    except Exception:
        return "loads"
    moving = [body.joint_name for body in model]
    if moving != list(peer.names)[1:] or model.nv != peer.nv:
        raise Finding(f"joints {moving}, of Pinocchio {list(peer.names)[1:]}")
    if any(type(body.joint).__name__ == "Planar" for body in model):
        return "loads"  # its planar joints have four coordinates
    if SPACED.search(path.read_text()):
        return "loads"  # it leaves out what such a number is in
    q = model.random_configuration(np.random.default_rng(1), closed=False)
    q = np.clip(q, -10.0, 10.0)  # limits may be 1e16
    for what, gap in compare(model, peer, q).items():
        if not gap < 1e-7 * max(1.0, model.mass):
            raise Finding(f"{what} differs from Pinocchio's by {gap:.3g}")
    return "agrees"


def _mujoco(path: Path, model: Model) -> str:
    import mujoco
    from loaders.mjcf.test_mjcf import peer_state

    try:
        peer = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        raise Finding("MuJoCo refuses this file, and it loads") from None
    if peer.nv != model.nv or peer.nq != model.nq:
        raise Finding(f"nq, nv = {model.nq}, {model.nv}; of MuJoCo {peer.nq}, {peer.nv}")
    if peer.nv == 0:
        return "agrees"
    data = mujoco.MjData(peer)
    q = model.random_configuration(np.random.default_rng(2), closed=False)
    data.qpos[:], P = peer_state(model, peer, q)
    mujoco.mj_forward(peer, data)
    M = np.zeros((peer.nv, peer.nv))
    try:
        mujoco.mj_fullM(peer, data, M)
    except TypeError:
        mujoco.mj_fullM(peer, M, data.qM)
    M = P.T @ M @ P
    own = mass_matrix(model, q)
    gap = float(np.abs(own - M).max())
    if not gap < 1e-6 * max(1.0, float(np.abs(M).max())):
        raise Finding(f"the mass matrix differs from MuJoCo's by {gap:.3g}")
    return "agrees"


def _drake(path: Path, model: Model) -> str:
    """Where Drake is installed, and reads the file: the same joints and the same mass matrix."""
    try:
        from pydrake.math import RotationMatrix
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant
    except ImportError:
        return "loads"
    logging.getLogger("drake").setLevel(logging.CRITICAL)
    plant = MultibodyPlant(0.0)
    try:
        Parser(plant).AddModels(str(path))
        joints = [plant.get_joint(i) for i in plant.GetJointIndices()]
        children = {joint.child_body().name() for joint in joints}
        for i in plant.GetBodyIndices(plant.GetModelInstanceByName("m")):
            body = plant.get_body(i)
            if body.name() not in children:  # as here, what hangs on nothing stands in the world
                at = plant.GetDefaultFreeBodyPose(body)
                plant.WeldFrames(plant.world_frame(), body.body_frame(), at)
        plant.Finalize()
    except RuntimeError:
        return "loads"
    if plant.num_velocities() != model.nv:
        raise Finding(f"nv = {model.nv}; of Drake {plant.num_velocities()}")
    if model.nv == 0:
        return "agrees"
    q = model.random_configuration(np.random.default_rng(3), closed=False)
    context = plant.CreateDefaultContext()
    P = np.zeros((model.nv, model.nv))  # velocities of Drake from ours
    starts = np.cumsum([0, *(body.joint.nv for body in model)])
    for body, start in zip(model, starts):
        name = body.joint_name
        joint = plant.GetJointByName(name)
        own, at = q[model.q_slices[name]], joint.velocity_start()
        if joint.type_name() == "ball_rpy":
            R = _rotation(own)
            joint.set_angles(context, RotationMatrix(R).ToRollPitchYaw().vector())
            P[at : at + 3, start : start + 3] = R
        elif joint.num_velocities() == 1:
            x = plant.GetPositions(context)
            x[joint.position_start()] = own[0]
            plant.SetPositions(context, x)
            P[at, start] = 1.0
        else:
            return "loads"
    M = P.T @ plant.CalcMassMatrix(context) @ P
    gap = float(np.abs(mass_matrix(model, q) - M).max())
    if not gap < 1e-7 * max(1.0, float(np.abs(M).max())):
        raise Finding(f"the mass matrix differs from Drake's by {gap:.3g}")
    return "agrees"


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    x, y, z, w = quaternion
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + 2.0 * w * K + 2.0 * K @ K
