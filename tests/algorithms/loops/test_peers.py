"""Pinocchio's constrained dynamics, where rows are independent."""

import sysconfig
from pathlib import Path

import numpy as np
import pytest
from support.mechanics import agree

import mozzi as mz

pin = pytest.importorskip("pinocchio")
ROBOTS = Path(
    sysconfig.get_paths()["purelib"], "cmeel.prefix/share/example-robot-data/robots"
)
if not ROBOTS.exists():
    pytest.skip("example-robot-data is not installed", allow_module_level=True)


def pin_accelerations(model, frames: list[str], q, v, tau) -> np.ndarray:
    """The accelerations with the origins of frames held."""
    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for name in frames:
        frame = model.frames[model.getFrameId(name)]
        contacts.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, model, frame.parentJoint, frame.placement,
                pin.ReferenceFrame.LOCAL,
            )
        )  # fmt: skip
    for contact in contacts:
        datas.append(contact.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, contacts, datas)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    return pin.constraintDynamics(model, data, q, v, tau, contacts, datas, settings).copy()


def swapped(x: np.ndarray) -> np.ndarray:
    """Velocities with the linear part of the base first, as Pinocchio has them."""
    return np.concatenate([x[3:6], x[:3], x[6:]])


@pytest.mark.parametrize("seed", range(3))
def test_panda_held_at_its_hand(seed: int):
    path = ROBOTS / "panda_description/urdf/panda.urdf"
    model = mz.load(path)
    fingers = [n for n in model.joint_names if "finger" in n]
    model = model.lock(fingers, model.neutral())
    full = pin.buildModelFromUrdf(str(path))
    other = pin.buildReducedModel(full, [full.getJointId(n) for n in fingers], pin.neutral(full))
    rng = np.random.default_rng(seed)
    q = model.random_configuration(rng)
    held = model.with_loop(
        "pin", None, "panda_hand", mz.Spherical(), tuple(mz.pose(model, q, "panda_hand")[:3, 3])
    )
    v, tau = rng.normal(size=(2, 7))
    a = pin_accelerations(other, ["panda_hand"], q, v, tau)
    agree(mz.forward_dynamics(held, q, v, tau), a, 1e-10)
    v = mz.consistent_velocities(held, q, v)
    a = pin_accelerations(other, ["panda_hand"], q, v, tau)
    agree(mz.forward_dynamics(held, q, v, tau), a, 1e-10)


def test_solo12_on_four_feet():
    path = ROBOTS / "solo_description/robots/solo12.urdf"
    tree = mz.load(path, base="free")
    other = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    rng = np.random.default_rng(0)
    q = mz.integrate(tree, tree.neutral(), 0.4 * rng.normal(size=tree.nv))
    feet = [frame for frame in tree.frames if frame.endswith("_FOOT")]
    model = tree
    for foot in feet:
        at = tuple(mz.pose(tree, q, foot)[:3, 3])
        model = model.with_loop(foot.lower(), None, foot, mz.Spherical(), at)
    v, tau = rng.normal(size=(2, tree.nv))
    v = mz.consistent_velocities(model, q, v)
    a = swapped(pin_accelerations(other, feet, q, swapped(v), swapped(tau)))
    agree(mz.forward_dynamics(model, q, v, tau), a, 1e-9)
