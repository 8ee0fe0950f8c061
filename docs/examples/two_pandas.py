"""Two pandas pick up a bar, carry it and put it down: the topology changes.

The arms are the primary system, the bar is a secondary one, and the table a constraint: three trees
of which none knows the others. Grasping and releasing switches constraints between them, at times;
what was compiled for a set of them is there when it comes again.  Rodriguez, Jain, Kreutz-Delgado,
closed topology systems.

Run it: it prints how high the bar is lifted, and what the hands bear.
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
    start, up = q["arms"], reach(arms, grips, lifted, q["arms"])
    hands = [f"{side}_hand" for side in SIDES]

    def on_the_table(system: mz.ClosedSystem, q) -> mz.ClosedSystem:
        for part in system.attachments:
            system = system.detach(part.name)
        return system.attach("table", ("world", ""), ("bar", "bar"), at=q)

    def in_both_hands(system: mz.ClosedSystem, q) -> mz.ClosedSystem:
        system = system.detach("table")
        for side in grips:
            system = system.attach(side, ("arms", f"{side}_hand"), ("bar", "bar"), at=q)
        return system

    def motors(t, q, v):
        """Joint forces that take the arms along: up, and back."""
        share = np.interp(t, [0.1, 0.9, 1.1, 1.9, 2.1], [0.0, 1.0, 1.0, 0.0, 0.0])
        goal = start + share * share * (3.0 - 2.0 * share) * (up - start)
        wanted = 400.0 * (goal - q["arms"]) - 40.0 * v["arms"]
        return {"arms": mz.inverse_dynamics(arms, q["arms"], v["arms"], wanted)}

    free = mz.ClosedSystem({"arms": (arms, hands), "bar": (thing, ["bar"])})
    motion = on_the_table(free, q).simulate(
        q, v, 2.4, DT, motors, [(0.1, in_both_hands), (2.1, on_the_table)], trace=False
    )
    for words, phase in zip(("on the table", "carried", "on the table again"), motion):
        top = phase.q["bar"][:, 2].max()
        state = ({n: x[-1] for n, x in table.items()} for table in (phase.q, phase.v))
        forces = phase.system.loop_forces(*state)
        most = max(np.abs(x.wrenches[..., 3:]).max() for x in forces.values())
        print(f"{words}: up to {top:.3f} m, at the end {most:.1f} N in the hands or on the table")
    assert abs(motion[1].q["bar"][:, 2].max() - 0.5) < 0.03
    at, _ = motion.end
    assert np.abs(at["bar"][:3] - table[:3, 3]).max() < 0.03
    left = motion[1].system.residual({n: x[-1] for n, x in motion[1].q.items()})
    assert max(np.abs(x).max() for x in left.values()) < 1e-9


if __name__ == "__main__":
    main()
