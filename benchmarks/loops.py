"""Forward dynamics of closed loops against `pin.constraintDynamics`, and windows in a row.

    python -m benchmarks.loops

One thread, float64, batches of 4,096. Pinocchio is called from Python, one sample at a time.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.robots import mozzi_model, pin_model

BATCH = 4096


def pinned_panda() -> tuple[mz.Model, np.ndarray, Any]:
    """A panda whose hand is held at a point: three rows."""
    tree = mozzi_model("panda")
    q = np.array([0.3, -0.5, 0.2, -1.9, 0.4, 1.7, 0.6])
    tip = tree.frames[-1] if "panda_hand" not in tree.frames else "panda_hand"
    at = mz.pose(tree, q, tip)[:3, 3]
    return tree.with_loop("tip", None, tip, mz.Spherical(), tuple(at)), q, [tip]


def standing_solo() -> tuple[mz.Model, np.ndarray, Any]:
    """A solo12 on four feet that do not slip: twelve rows."""
    model = mozzi_model("solo12")
    q = model.neutral()
    for joint in model.joint_names[1:]:
        q[model.q_slices[joint]] = {"HAA": 0.0, "HFE": 0.8, "KFE": -1.6}[joint[-3:]]
    feet = [frame for frame in model.frames if frame.endswith("_FOOT")]
    tree = model
    for foot in feet:
        at = mz.pose(tree, q, foot)[:3, 3]
        model = model.with_loop(foot.lower(), None, foot, mz.Spherical(), tuple(at))
    return model, q, feet


def pin_time(name: str, q: np.ndarray, frames: list[str], repeat: int = 2000) -> float:
    """Seconds for one `pin.constraintDynamics` with these frames held, called from Python."""
    import pinocchio as pin

    model = pin_model(name)
    data = model.createData()
    contacts = pin.StdVec_RigidConstraintModel()
    for frame in frames:
        f = model.frames[model.getFrameId(frame)]
        contacts.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, model, f.parentJoint, f.placement,
                pin.ReferenceFrame.LOCAL,
            )
        )  # fmt: skip
    datas = pin.StdVec_RigidConstraintData()
    for contact in contacts:
        datas.append(contact.createData())
    pin.initConstraintDynamics(model, data, contacts, datas)
    v = tau = np.zeros(model.nv)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeat):
            pin.constraintDynamics(model, data, q, v, tau, contacts, datas, settings)
        best = min(best, (time.perf_counter() - start) / repeat)
    return best


def mozzi_time(model: mz.Model, q: np.ndarray, batch: int = BATCH) -> float:
    """Seconds for one forward dynamics in a batch."""
    rng = np.random.default_rng(0)
    q = mz.integrate(model, q, 1e-3 * rng.normal(size=(batch, model.nv)))
    v, tau = rng.normal(size=(2, batch, model.nv))
    kernel = mz.compile(mz.forward_dynamics, model)
    kernel(q, v, tau)
    best = np.inf
    for _ in range(7):
        start = time.perf_counter()
        kernel(q, v, tau)
        best = min(best, (time.perf_counter() - start) / batch)
    return best


def windows_model(n: int) -> tuple[mz.Model, np.ndarray]:
    """The n-four-bar of the tests."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from loop_models import leaning, windows

    model = windows(n)
    return model, leaning(model, 0.3)


def main() -> None:
    """Print the table."""
    mz.set_num_threads(1)
    for name, (model, q, frames) in {
        "panda": pinned_panda(), "solo12": standing_solo()
    }.items():  # fmt: skip
        own, other = mozzi_time(model, q), pin_time(name, q, frames)
        rows = len(mz.loop_residual(model, q))
        print(
            f"{name}, {rows} rows: mozzi {own * 1e9:.0f} ns, pin.constraintDynamics from Python "
            f"{other * 1e9:.0f} ns, {other / own:.1f} times"
        )
    for n in (10, 40, 160):
        model, q = windows_model(n)
        start = time.perf_counter()
        mz.compile(mz.forward_dynamics, model)
        made = time.perf_counter() - start
        t = mozzi_time(model, q, 512)
        each = t / n * 1e9
        print(f"windows {n}: {t * 1e6:.2f} µs, {each:.0f} ns a window (made in {made:.1f} s)")


if __name__ == "__main__":
    main()
