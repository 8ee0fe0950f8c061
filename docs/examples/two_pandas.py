"""Two pandas pick up a bar, carry it and put it down: the topology changes, the programs stay.

The arms are the primary system, the bar is a secondary one, and the table a constraint: three trees
of which none knows the others. Grasping and releasing switches constraints between them; nothing is
compiled after the first step.  Rodriguez, Jain, Kreutz-Delgado, closed topology systems.

Run it: it prints where the bar is, and what the hands bear.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path

import numpy as np

import mozzi as mz

PANDA = Path(
    sysconfig.get_paths()["purelib"],
    "cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf",
)
SIDES = {"left": -0.75, "right": 0.75}
HALF = 0.25  # half the length of the bar
DT = 2e-3
HOME = [0.0, 0.1, 0.0, -2.1, 0.0, 2.2, 0.8]


def two_arms() -> mz.Model:
    """Two pandas that face each other, fingers locked."""
    panda = mz.load(PANDA)
    panda = panda.lock([joint for joint in panda.joint_names if "finger" in joint])
    body, placement = panda.frame("panda_hand")
    arms = mz.Builder("arms")
    for side, x in SIDES.items():
        turned = np.diag([-np.sign(x), -np.sign(x), 1.0, 1.0])
        turned[0, 3] = x
        for part in panda:
            parent = None if part.parent < 0 else f"{side}_{panda.bodies[part.parent]}"
            joint = part.joint if parent else part.joint.between(mz.SE3.from_matrix(turned))
            arms.add(f"{side}_{part.name}", parent, joint, part.inertia)
        arms.frame(f"{side}_hand", f"{side}_{panda.bodies[body]}", placement)
    return arms.build()


def bar() -> mz.Model:
    """Two kilograms, half a metre along x, free."""
    inertia = mz.Inertia(2.0, (0.0, 0.0, 0.0), np.diag([1e-3, 0.0417, 0.0417]))
    return mz.Builder("bar").add("bar", None, mz.Free(), inertia).build()


def reach(arms: mz.Model, grips: dict[str, np.ndarray], bar_at: np.ndarray, q: np.ndarray):
    """Joint angles with both hands on the bar."""
    targets = {f"{side}_hand": bar_at @ grip for side, grip in grips.items()}
    return mz.inverse_kinematics(arms, targets, q).check().q


def step(system, arms, q, v, goal, h):
    """One step of Runge and Kutta's method; the arms are driven to the goal by their motors."""

    def rates(q, v):
        wanted = 400.0 * (goal - q["arms"]) - 40.0 * v["arms"]
        tau = mz.inverse_dynamics(arms, q["arms"], v["arms"], wanted)
        return system.accelerations(q, v, {"arms": tau})

    models = {name: model for name, (model, _) in system.systems.items()}
    moved = lambda w, k: {n: mz.integrate(models[n], q[n], k * w[n]) for n in q}
    plus = lambda a, k: {n: v[n] + k * a[n] for n in v}
    a1, f = rates(q, v)
    v2 = plus(a1, h / 2)
    a2, _ = rates(moved(v, h / 2), v2)
    v3 = plus(a2, h / 2)
    a3, _ = rates(moved(v2, h / 2), v3)
    v4 = plus(a3, h)
    a4, _ = rates(moved(v3, h), v4)
    mean = lambda *x: {n: (x[0][n] + 2 * x[1][n] + 2 * x[2][n] + x[3][n]) / 6 for n in q}
    q = moved(mean(v, v2, v3, v4), h)
    return q, system.consistent_velocities(q, plus(mean(a1, a2, a3, a4), h)), f


def main() -> None:
    """Pick up, carry, put down."""
    arms, thing = two_arms(), bar()
    down = np.diag([1.0, -1.0, -1.0, 1.0])  # hands point downward
    grips = {}
    for side, x in (("left", -HALF), ("right", HALF)):
        grips[side] = down.copy()
        grips[side][0, 3] = x
    table, lifted = np.eye(4), np.eye(4)
    table[:3, 3], lifted[:3, 3] = (0.0, 0.1, 0.25), (0.0, -0.05, 0.5)
    q = {"arms": reach(arms, grips, table, np.array(HOME * 2)),
         "bar": np.array([*table[:3, 3], 0.0, 0.0, 0.0, 1.0])}  # fmt: skip
    v = {"arms": np.zeros(arms.nv), "bar": np.zeros(6)}
    up = reach(arms, grips, lifted, q["arms"])
    hands = [f"{side}_hand" for side in SIDES]
    resting = mz.ClosedSystem({"arms": (arms, hands), "bar": (thing, ["bar"])}).attach(
        "table", ("world", ""), ("bar", "bar"), placement_a=table
    )
    held = resting.detach("table")
    for side, grip in grips.items():
        held = held.attach(side, ("arms", f"{side}_hand"), ("bar", "bar"), placement_b=grip)
    start = q["arms"]
    for words, system, goal, seconds in (
        ("on the table", resting, start, 0.1),
        ("lifted", held, up, 1.0),
        ("brought back", held, start, 1.0),
        ("on the table again", resting, up, 0.3),
    ):
        v = system.consistent_velocities(q, v)  # what an impulse of the new constraints leaves
        f = np.zeros(0)
        for k in range(round(seconds / DT)):
            share = min(1.0, 1.25 * k * DT / seconds)
            smooth = share * share * (3.0 - 2.0 * share)
            aim = start + smooth * (goal - start) if goal is up else up + smooth * (goal - up)
            aim = goal if words.startswith("on") else aim
            q, v, f = step(system, arms, q, v, aim, DT)
        at = q["bar"][:3]
        force = np.abs(f.reshape(-1, 6)[:, 3:]).max(initial=0.0)
        print(f"{words}: the bar is at {at.round(4)}, forces up to {force:.1f} N")
        if system is held:
            gaps = [mz.pose(thing, q["bar"], "bar") @ g for g in grips.values()]
            seen = [mz.pose(arms, q["arms"], hand) for hand in hands]
            slip = max(np.abs(a - b).max() for a, b in zip(gaps, seen))
            assert slip < 1e-6, slip
        if words == "lifted":
            assert abs(at[2] - 0.5) < 0.03
    assert np.abs(at - table[:3, 3]).max() < 0.03


if __name__ == "__main__":
    main()
