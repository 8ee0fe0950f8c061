"""`python -m benchmarks.systems`: calls of a `ClosedSystem` beside those of the same mechanism as
one model, in turns: what tables of states cost.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, save
from benchmarks.experiments.calls import seconds
from mozzi.model.generate import chain

SYSTEMS = ((1, 2), (2, 6), (6, 6))  # arms that hold one bar, and joints of each


def arms_with_a_bar(arms: int, joints: int) -> tuple[mz.ClosedSystem, dict[str, Any]]:
    """Arms, each a system, that hold a bar: by balls where they have few joints, else rigidly."""
    inertia = mz.Inertia(0.7, (0.02, 0.0, 0.01), 0.02 * np.diag([0.2, 1.0, 1.0]))
    bar = mz.Builder("bar").add("bar", None, mz.Free(), inertia).build()
    arm = chain(joints, seed=2)
    arm = arm.with_frame("hand", arm.bodies[-1], (0.0, 0.0, 0.1))
    hands = [f"arm_{k}" for k in range(arms)]
    system = mz.ClosedSystem({"bar": (bar, ["bar"]), **{name: (arm, ["hand"]) for name in hands}})
    q = {"bar": bar.random_configuration(4)}
    q |= {name: arm.random_configuration(10 + k) for k, name in enumerate(hands)}
    joint = mz.Spherical() if joints < 6 else mz.Fixed()
    for name in hands:
        system = system.attach(f"grip_{name}", (name, "hand"), ("bar", "bar"), joint, at=q)
    return system, q


def beside_one_model(
    system: mz.ClosedSystem, q: dict[str, Any], batch: int | None
) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """What is asked of a system, and the same of its model: calls, side by side."""
    rng, model = np.random.default_rng(0), system.model
    lead = () if batch is None else (batch,)
    sizes = {name: x.nv for name, (x, _) in system.systems.items()}
    Q = {name: np.broadcast_to(x, (*lead, len(x))).copy() for name, x in q.items()}
    v, tau = ({n: rng.normal(size=(*lead, k)) for n, k in sizes.items()} for _ in range(2))
    v = {name: x.copy() for name, x in system.consistent_velocities(Q, v).items()}
    a = {name: x.copy() for name, x in system.forward_dynamics(Q, v, tau).items()}
    W = {n: rng.normal(size=(*lead, m.nb, 6)) for n, (m, _) in system.systems.items()}
    p, u, t, b = (np.concatenate([*x.values()], axis=-1) for x in (Q, v, tau, a))
    w = np.concatenate([*W.values()], axis=-2)
    held = [model.joint_names[-1]]
    name, last = held[0].split(".", 1)
    assert name in system.systems
    away = Q | {"bar": mz.integrate(system.systems["bar"][0], Q["bar"], np.full(6, 0.01))}
    start = np.concatenate([*away.values()], axis=-1)
    return {
        "`residual`": (lambda: system.residual(Q), lambda: mz.loop_residual(model, p)),
        "`energy`": (
            lambda: system.energy(Q, v),
            lambda: mz.kinetic_energy(model, p, u) + mz.potential_energy(model, p)),
        "`forward_dynamics`": (
            lambda: system.forward_dynamics(Q, v, tau),
            lambda: mz.forward_dynamics(model, p, u, t)),
        "the same with wrenches": (
            lambda: system.forward_dynamics(Q, v, tau, W),
            lambda: mz.forward_dynamics(model, p, u, t, w)),
        "`accelerations`": (
            lambda: system.accelerations(Q, v, tau),
            lambda: (mz.forward_dynamics(model, p, u, t), mz.loop_forces(model, p, u, t))),
        "`loop_forces`": (
            lambda: system.loop_forces(Q, v, tau),
            lambda: mz.loop_wrenches(model, p, mz.loop_forces(model, p, u, t))),
        "`hybrid_dynamics`": (
            lambda: system.hybrid_dynamics(Q, v, tau, a, [(name, last)]),
            lambda: mz.hybrid_dynamics(model, p, u, t, b, prescribed=held)),
        "`inverse_dynamics`, motors everywhere": (
            lambda: system.inverse_dynamics(Q, v, a), lambda: mz.inverse_dynamics(model, p, u, b)),
        "the same with wrenches, too": (
            lambda: system.inverse_dynamics(Q, v, a, None, W),
            lambda: mz.inverse_dynamics(model, p, u, b, w)),
        "`inverse_dynamics`, motors of all systems": (
            lambda: system.inverse_dynamics(Q, v, a, [*system.systems]),
            lambda: mz.inverse_dynamics(model, p, u, b, actuated=model.joint_names)),
        "`consistent_velocities`": (
            lambda: system.consistent_velocities(Q, v),
            lambda: mz.consistent_velocities(model, p, u)),
        "`assemble`": (lambda: system.assemble(away), lambda: mz.assemble(model, start)),
    }  # fmt: skip


def _measured() -> tuple[dict[str, Any], dict[str, float]]:
    """Times of a system's calls over those of the same mechanism as one model, one state and 1,000;
    and microseconds of two arms that hold a bar.
    """
    ratios: dict[str, list[float]] = {}
    found: dict[str, float] = {}
    for batch in (None, 1000):
        for arms, joints in SYSTEMS:
            system, q = arms_with_a_bar(arms, joints)
            for what, (ours, models) in beside_one_model(system, q, batch).items():
                long = batch is not None and what in ("`assemble`", "`consistent_velocities`")
                rounds = 3 if long else 60  # short ones: others use the machine as well
                best = seconds({"system": ours, "model": models}, 0.004, rounds)
                ratio = float(f"{best['system'] / best['model']:.2g}")
                ratios.setdefault(what, []).append(ratio)
                if what == "`forward_dynamics`" and (arms, joints) == (2, 6) and batch is None:
                    found |= {f"{key} us": 1e6 * x for key, x in best.items()}
            if batch is None and (arms, joints) == (2, 6):
                v = {name: np.zeros(m.nv) for name, (m, _) in system.systems.items()}
                best = seconds({"": lambda: system.distributed_accelerations(q, v, v)})  # noqa: B023
                found["distributed ms"] = 1e3 * best[""]
    sizes = [f"{arms} × {joints}" for arms, joints in SYSTEMS]
    head = ["times as long as of one model", *sizes, *(f"{x}, 1,000 states" for x in sizes)]
    found["system most"] = max(x for row in ratios.values() for x in row)
    table = {"head": head, "rows": [[what, *row] for what, row in ratios.items()]}
    return table, found


def main() -> int:
    mz.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table, calls = _measured()
    command = "python -m benchmarks.systems"
    result = {"machine": machine(), "command": command, "tables": {"systems": table}, "cpu": calls}
    print(result)
    print("saved", save("systems", result).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
