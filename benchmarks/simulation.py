"""`python -m benchmarks.simulation`: steps of many simulations beside Pinocchio and MuJoCo, and the
drift of the integrators.

Speed: 4,096 pandas, order 4, no torque, one thread. A step costs Pinocchio four `aba` at the speed
of its C++ (and nothing for the rest of the step); MuJoCo runs `mujoco.rollout` with its RK4
integrator, contacts, limits and damping off. All are measured in turns in one run.

Drift: the change of energy and of spatial momentum of a free-floating tree over 100,000 steps.
"""

from __future__ import annotations

import argparse
import sys
import time
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save
from benchmarks.peers import peer
from benchmarks.robots import FILES, mozzi_model, pin_model, robots_folder
from mozzi.simulation import METHODS

BATCH, STEPS, DT = 4096, 50, 1e-3
BARS = {"pinocchio": 5.0, "mujoco": 10.0}


def states(model: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return model.random_configuration(rng, BATCH), 0.5 * rng.normal(size=(BATCH, model.nv))


def mujoco_model(name: str) -> Any:
    """The same robot for MuJoCo: no shapes, nothing that resists, RK4."""
    import mujoco

    root = ET.parse(robots_folder() / FILES[name][0]).getroot()
    for link in root.iter("link"):
        for kind in ("visual", "collision"):
            for shape in link.findall(kind):
                link.remove(shape)
    for joint in root.iter("joint"):
        if "finger" in joint.get("name", ""):
            joint.set("type", "fixed")
            for part in joint.findall("mimic") + joint.findall("limit"):
                joint.remove(part)
    model = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = DT
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_CONTACT) | int(off.mjDSBL_LIMIT)
    model.dof_damping[:] = 0.0
    model.dof_frictionloss[:] = 0.0
    model.jnt_limited[:] = 0
    return model


def speed(rounds: int) -> dict[str, Any]:
    """ns per step and sample."""
    import mujoco
    from mujoco import rollout

    model, other = mozzi_model("panda"), mujoco_model("panda")
    q, v = states(model)
    data = mujoco.MjData(other)
    data.qpos[:], data.qvel[:] = q[0], v[0]
    mujoco.mj_forward(other, data)
    a = mz.forward_dynamics(model, q[0], v[0], np.zeros(model.nv))
    apart = float(abs(a - data.qacc).max() / abs(a).max())
    start = np.concatenate([np.zeros((BATCH, 1)), q, v], axis=1)
    aba = peer("aba", pin_model("panda"), BATCH)[0]
    runner = rollout.Rollout(nthread=0)  # in the calling thread

    def ours() -> Any:
        return mz.simulate(model, q, v, STEPS * DT, DT, record_every=STEPS)

    def theirs() -> Any:
        return runner.rollout(other, data, start, nstep=STEPS)

    end = ours().q[:, -1]
    reached = theirs()[0][:, -1, 1 : 1 + model.nq]
    best = {"mozzi": np.inf, "pinocchio": np.inf, "mujoco": np.inf}
    for _ in range(rounds):
        best["pinocchio"] = min(best["pinocchio"], 4.0 * aba())
        for name, run in (("mozzi", ours), ("mujoco", theirs)):
            begin = time.perf_counter()
            run()
            spent = (time.perf_counter() - begin) / (BATCH * STEPS) * 1e9
            best[name] = min(best[name], spent)
    far = float(np.median(abs(end - reached).max(axis=1)))
    return {
        "robot": "panda", "batch": BATCH, "steps": STEPS, "ns": best,
        "ratio": {name: best[name] / best["mozzi"] for name in BARS}, "bars": BARS,
        "steps_per_second": 1e9 / best["mozzi"],
        "accelerations_apart": apart, "ends_apart": far,
    }  # fmt: skip


def floating_tree() -> Any:
    """A free body with hinges and a ball, far from gravity."""
    body = mz.Inertia(1.0, (0.1, 0.2, -0.3), np.diag([0.10, 0.20, 0.25]))
    return (
        mz.Builder("floating tree", gravity=(0.0, 0.0, 0.0))
        .add("base", None, mz.Free(), body)
        .add("arm", "base", mz.Revolute("y").between((0.2, 0.0, 0.0)), body)
        .add("hand", "arm", mz.Revolute("x").between((0.0, 0.0, 0.4)), body)
        .add("ball", "base", mz.Spherical().between((0.0, 0.3, 0.0)), body)
        .build()
    )


def drift(steps: int) -> list[dict[str, Any]]:
    """Largest change of energy and momentum, relative, per method."""
    model = floating_tree()
    rng = np.random.default_rng(1)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    rows = []
    for method in METHODS:
        begin = time.perf_counter()
        x = mz.simulate(model, q, v, steps * DT, DT, method, record_every=steps // 1000)
        spent = time.perf_counter() - begin
        E, p = x.energy(), x.momentum()
        rows.append(
            {
                "method": method, "steps": steps, "dt": DT, "seconds": spent,
                "energy": float(abs(E / E[0] - 1.0).max()),
                "momentum": float(abs(p - p[0]).max() / abs(p[0]).max()),
            }
        )  # fmt: skip
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulation", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100_000, help="steps of the drift")
    parser.add_argument("--only", choices=("speed", "drift"), default=None)
    parser.add_argument("--no-save", action="store_true", help="print only")
    options = parser.parse_args()
    mz.set_num_threads(1)
    result: dict[str, Any] = {"machine": machine()}
    if options.only != "drift":
        row = result["speed"] = speed(options.rounds)
        for name, ns in row["ns"].items():
            print(f"{name:10s} {ns:10.1f} ns per step and sample")
        for name, ratio in row["ratio"].items():
            print(f"{ratio:.1f} times {name} (bar {BARS[name]:g})")
        print(f"the three models agree to {row['accelerations_apart']:.1e} in accelerations")
    if options.only != "speed":
        result["drift"] = drift(options.steps)
        for row in result["drift"]:
            print(
                f"{row['method']:18s} energy {row['energy']:.1e}  momentum {row['momentum']:.1e}"
                f"  {row['seconds']:.1f} s"
            )
    if not options.no_save:
        print("saved", save("simulation", result).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
