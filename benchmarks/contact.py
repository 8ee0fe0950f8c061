"""`python -m benchmarks.contact`: steps of robots that touch, beside `mujoco.rollout`.

One thread, float64, 4,096 samples, steps of 1 ms, the same model, controller and states: solo12
dropped on its four feet and talos on the eight corners of its soles, both under PD control, and a
panda that runs into its limits with dry friction in its joints. MuJoCo takes elliptic cones; its
default solver (Newton), CG and PGS, whose answers differ. "Steps above 1e-8": the share of steps
that miss a law by more (`benchmarks.contact_laws`), in m/s or rad/s. "times mujoco" is our default
solver against its default. On a GPU: `python -m benchmarks.gpu_contact`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save
from benchmarks.robots import mozzi_model
from mozzi.algorithms.contact.step import SolverName
from mozzi.lie.vec import Vec3
from mozzi.simulation import Moreau

BATCH, STEPS, DT = 4096, 50, 1e-3
BARS = {"solo12": 12.0, "talos": 7.0, "panda": 20.0}
LEGS = ("FL", "FR", "HL", "HR")
FOOT, FRICTION = 0.016, 0.7
GAINS = {"solo12": (8.0, 0.2), "talos": (2000.0, 40.0)}
SOLE = (0.2, 0.12, 0.02)
SOLES = ("left_sole_link", "right_sole_link")
ARMATURE = 0.1  # of talos


def best(run: Callable[[], Any], repeat: int) -> float:
    """Seconds of the fastest call."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def solo() -> tuple[mz.Model, np.ndarray]:
    """solo12 with spheres for feet on the ground, and how it stands."""
    model = mozzi_model("solo12")
    for leg in LEGS:
        model = model.with_shape(f"{leg}_FOOT", mz.Sphere(FOOT), None, f"foot_{leg}")
    model = model.with_ground([f"foot_{leg}" for leg in LEGS], friction=FRICTION)
    q = model.neutral()
    q[7:], q[2] = [0.0, 0.8, -1.6] * 2 + [0.0, -0.8, 1.6] * 2, 0.25
    return model, q


def talos() -> tuple[mz.Model, np.ndarray]:
    """talos with boxes for soles on the ground, and how it stands."""
    model = mozzi_model("talos")
    for joint in model.joint_names[1:]:
        model = model.with_dynamics(joint, armature=ARMATURE)
    for name in SOLES:
        place = mz.SE3.translation(0.0, 0.0, 0.5 * SOLE[2])
        model = model.with_shape(name, mz.Box(SOLE), place, f"box_{name}")
    model = model.with_ground([f"box_{name}" for name in SOLES], friction=FRICTION)
    q = model.neutral()
    for side in ("left", "right"):
        for number, angle in ((3, -0.4), (4, 0.8), (5, -0.4)):
            q[model.q_slices[f"leg_{side}_{number}_joint"]] = angle
    q[2] -= mz.contact_gaps(model, q).min()
    return model, q


def panda() -> tuple[mz.Model, np.ndarray]:
    """A panda whose joints rub by 1 N m, in the middle of its limits."""
    model = mozzi_model("panda")
    for joint in model.joint_names:
        model = model.with_dynamics(joint, friction=1.0, damping=0.0)
    limits = [(b.dynamics.lower[0], b.dynamics.upper[0]) for b in model]
    return model, np.mean(limits, axis=1)


Feet = dict[str, str]
"""Geoms by the frames they are on, as MJCF attributes."""

MODELS = {"solo12": solo, "talos": talos, "panda": panda}


def feet_of(name: str) -> Feet:
    """What touches the ground."""
    if name == "solo12":
        return {f"{leg}_FOOT": f'type="sphere" size="{FOOT}"' for leg in LEGS}
    half = " ".join(str(0.5 * x) for x in SOLE)
    return {x: f'type="box" size="{half}"' for x in SOLES} if name == "talos" else {}


def mjcf(model: mz.Model, feet: Feet, friction: float, limits: bool) -> str:
    """The same mechanism as MJCF, written from its numbers."""
    children: dict[int, list[int]] = {}
    for k in range(model.nb):
        children.setdefault(model.parents[k], []).append(k)

    def numbers(x: Any) -> str:
        return " ".join(repr(float(e)) for e in np.ravel(x))

    def pose(T: Any) -> str:
        q = T.R.general().quaternion().flatten()
        return f'pos="{numbers(T.p.flatten())}" quat="{numbers((q[3], *q[:3]))}"'

    def body(k: int) -> str:
        own = model.body(k)
        joint = own.joint
        inertia = own.inertia
        com = np.array(inertia.h.flatten()) / inertia.m
        J = np.asarray(inertia.J.array()) - inertia.m * (com @ com * np.eye(3) - np.outer(com, com))
        place = joint.frame_parent @ joint.frame_child.inverse()
        text = f'<body name="{own.name}" {pose(place)}>'
        if type(joint) is mz.Free:
            text += "<freejoint/>"
        else:
            axis = joint.frame_child.R.rotate(Vec3(0.0, 0.0, 1.0)).flatten()
            data = own.dynamics
            at = numbers(joint.frame_child.p.flatten())
            text += f'<joint type="hinge" axis="{numbers(axis)}" pos="{at}"'
            if limits:
                text += f' limited="true" range="{data.lower[0]} {data.upper[0]}"'
                text += f' frictionloss="{data.friction[0]}"'
            text += f' armature="{data.armature[0]}" damping="0"/>'
        diagonal = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
        text += f'<inertial pos="{numbers(com)}" mass="{inertia.m}"'
        text += f' fullinertia="{numbers(diagonal)}"/>'
        for name, shape in feet.items():
            i, T = model.frame(name)
            if i == k:
                lifted = T @ mz.SE3.translation(0.0, 0.0, 0.5 * SOLE[2]) if "box" in shape else T
                text += f"<geom {shape} {pose(lifted)}/>"
        return text + "".join(map(body, children.get(k, []))) + "</body>"

    floor = '<geom type="plane" size="0 0 1" pos="0 0 0"/>' if feet else ""
    default = f'<default><geom friction="{friction} 0 0" condim="3"/></default>'
    return (
        f'<mujoco><compiler angle="radian" balanceinertia="false" boundmass="0"/>{default}'
        f'<option timestep="{DT}" cone="elliptic"/><worldbody>{floor}'
        f"{''.join(map(body, children[-1]))}</worldbody></mujoco>"
    )


def states(
    name: str, model: mz.Model, q: np.ndarray, seed: int = 0, batch: int = BATCH
) -> tuple[np.ndarray, np.ndarray]:
    """Robots that are dropped, turned and thrown; arms that run into their limits."""
    rng = np.random.default_rng(seed)
    Q = np.tile(q, (batch, 1))
    if name != "panda":
        spread, speed = (0.2, 0.5) if name == "solo12" else (0.02, 0.1)
        Q[:, 7:] += spread * rng.normal(size=(batch, model.nq - 7))
        Q[:, 2] += 0.5 * spread * rng.random(batch)
        return Q, speed * rng.normal(size=(batch, model.nv))
    return model.random_configuration(rng, batch), 2.0 * rng.normal(size=(batch, model.nv))


def controller(name: str, model: mz.Model, q: np.ndarray) -> Any:
    """PD control about a configuration, of what stands."""
    if name not in GAINS:
        return None
    kp, kd = GAINS[name]

    def law(t: Any, x: Any, v: Any) -> Any:
        tau = np.full(model.nv, 0.0, dtype=object)
        tau[6:] = kp * (q[7:] - x[7:]) - kd * v[6:]
        return tau

    return law


def fastest(run: Callable[[], Any], least: float = 1.0) -> float:
    """Seconds of the fastest call, of as many as fit into this time."""
    begin, found = time.perf_counter(), best(run, 1)
    while time.perf_counter() - begin < least:
        found = min(found, best(run, 1))
    return found


def ours(name: str, model: mz.Model, q: np.ndarray, solver: SolverName) -> tuple[Any, float]:
    """The kernel, and the seconds of tracing and compiling it: the least of three."""
    arm, found, kernel = name == "panda", list[float](), None
    for _ in range(3):
        start = time.perf_counter()
        kernel = mz.stepper(
            model, Moreau(solver=solver), controller(name, model, q),
            limits="rigid" if arm else False, resistance=arm,
        )  # fmt: skip
        found.append(time.perf_counter() - start)
    return kernel, min(found)


def thousand(kernel: Any, q: np.ndarray, v: np.ndarray) -> None:
    """A thousand steps of one sample, from Python."""
    for _ in range(1000):
        kernel(q, v, 0.0, DT, 1.0)


def theirs(name: str, model: mz.Model, solver: str) -> Any:
    """A MuJoCo model with PD control where ours has it."""
    import mujoco

    text = mjcf(model, feet_of(name), FRICTION, name == "panda")
    other = mujoco.MjModel.from_xml_string(text)
    other.opt.solver = getattr(mujoco.mjtSolver, f"mjSOL_{solver.upper()}")
    if name in GAINS:  # the same springs and dampers, as passive forces of the joints
        other.jnt_stiffness[1:], other.dof_damping[6:] = GAINS[name]
        other.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        other.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    return other


def measure(name: str, repeat: int) -> dict[str, Any]:
    import mujoco
    from mujoco import rollout

    from benchmarks.contact_laws import residuals, their_residuals

    model, q = MODELS[name]()
    Q, V = states(name, model, q)
    row: dict[str, Any] = {"robot": name}
    mz.set_num_threads(1)
    runs: dict[str, Callable[[], Any]] = {}
    solvers: tuple[SolverName, ...] = ("fast", "robust")
    for solver in solvers:
        kernel, seconds = ours(name, model, q, solver)
        row[f"{solver} compile s"] = seconds
        runs[solver] = lambda kernel=kernel: kernel(Q, V, 0.0, DT, float(STEPS))
        shares = {}
        for scene, missed in residuals(name, model, q, solver).items():
            shares[f"{solver} {scene} steps above 1e-8"] = float(np.mean(missed > 1e-8))
            row[f"{solver} {scene} most"] = float(np.max(missed))
        row |= shares | {f"{solver} steps above 1e-8": max(shares.values())}
        row[f"{solver} one step µs"] = 1e3 * best(partial(thousand, kernel, Q[0], V[0]), 3)
    for solver in ("newton", "cg", "pgs"):
        other = theirs(name, model, solver)
        if name in GAINS:
            other.qpos_spring[7:] = q[7:]
        data = mujoco.MjData(other)
        full = np.zeros((BATCH, mujoco.mj_stateSize(other, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
        A, B = Q.copy(), V.copy()
        if name in GAINS:  # quaternions (w, x, y, z), velocities (linear in world, angular)
            A[:, 3:7] = Q[:, [6, 3, 4, 5]]
            R = mz.pose(model, Q, model.bodies[0])[:, :3, :3]
            B[:, :3], B[:, 3:6] = np.einsum("nij,nj->ni", R, V[:, 3:6]), V[:, :3]
        full[:, 1 : 1 + other.nq], full[:, 1 + other.nq : 1 + other.nq + other.nv] = A, B
        if name in GAINS and solver == "newton":
            missed = their_residuals(other, full[:16])
            row["mujoco steps above 1e-8"] = float(np.mean(missed > 1e-8))
            row["mujoco median of what is missed"] = float(np.median(missed))
        runs[f"mujoco {solver}"] = lambda other=other, data=data, full=full: rollout.rollout(
            other, data, full, nstep=STEPS, skip_checks=False
        )
    times = dict.fromkeys(runs, np.inf)
    for _ in range(repeat):
        for key, run in runs.items():
            times[key] = min(times[key], fastest(run))
    for key, seconds in times.items():
        row[f"{key} ns"] = 1e9 * seconds / (BATCH * STEPS)
    peers = [row[f"mujoco {s} ns"] for s in ("newton", "cg", "pgs")]
    row["times mujoco"] = row["mujoco newton ns"] / row["robust ns"]
    row["times its fastest"] = min(peers) / row["robust ns"]
    row["fast times mujoco"] = row["mujoco newton ns"] / row["fast ns"]
    return row


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contact", description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--robots", nargs="*", choices=BARS, default=list(BARS))
    parser.add_argument("--save", action="store_true", help="keep the run under benchmarks/results")
    options = parser.parse_args(argv)
    os.environ["MOZZI_CACHE"] = "0"  # what is compiled is compiled here
    rows = [measure(name, options.repeat) for name in options.robots]
    for row in rows:
        for key, x in row.items():
            print(f"{key:>28}: {x if isinstance(x, str) else f'{x:.4g}'}")
        print(f"{'bar':>28}: {BARS[row['robot']]:g} times\n")
    if options.save:
        save("contact", {"machine": machine(), "batch": BATCH, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
