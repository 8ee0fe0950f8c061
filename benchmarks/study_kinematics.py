"""Operation counts of kinematics in the four representations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.robots import mozzi_model
from mozzi.compiler import program_of
from mozzi.lie import SE3, Rotation, Vec3
from mozzi.model import Builder, Revolute
from mozzi.model.generate import chain

REPS = ("body", "spatial", "hybrid", "mixed")


@cache
def industrial(n: int) -> Any:
    """A chain as arms are built: axes parallel or at right angles, with two offsets each."""
    builder = Builder(f"industrial{n}")
    rng = np.random.default_rng(0)
    for k in range(n):
        quarter = (0.0, 1.0) if k % 3 else (1.0, 0.0)  # cos, sin
        c, s = quarter
        R = Rotation(1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c)
        p = Vec3(float(rng.uniform(0.1, 0.5)), 0.0, float(rng.uniform(0.1, 0.5)))
        builder.add(f"b{k}", f"b{k - 1}" if k else None, Revolute(), placement=SE3(R, p))
    return builder.build(physical=False)


@cache
def general(n: int) -> Any:
    """A chain of revolute joints anywhere."""
    return chain(n, seed=1)


def counts(function: Callable[..., Any], model: Any, **options: Any) -> tuple[int, int]:
    """Multiplications, and additions with negations, of the unrolled program."""
    if options:
        program = program_of(function, model, rolled=False, options=options)
    else:
        program = program_of(function, model, rolled=False)
    ops = program.operations
    mul = ops.get("multiplications", 0) + ops.get("divisions", 0)
    return mul, ops.get("additions", 0) + ops.get("negations", 0)


def last_twist(model: Any, rep: str) -> Callable[..., Any]:
    """The twist of the last body alone."""
    return lambda q, v: mz.twists(model, q, v, rep)[-1]


def twists_and_poses(model: Any, rep: str) -> Callable[..., Any]:
    """The twists of all bodies where their poses are wanted too."""
    return lambda q, v: (mz.forward_kinematics(model, q), mz.twists(model, q, v, rep))


TASKS: dict[str, Callable[[Any, str], tuple[int, int]]] = {
    "twists of all bodies": lambda m, r: counts(mz.twists, m, rep=r),
    "twist of the last body": lambda m, r: counts(last_twist(m, r), m),
    "twists and poses of all bodies": lambda m, r: counts(twists_and_poses(m, r), m),
    "accelerations": lambda m, r: counts(mz.accelerations, m, rep=r),
    "jerks": lambda m, r: counts(mz.jerks, m, rep=r),
    "Jacobian of the last body": lambda m, r: counts(mz.jacobian, m, frame=m.bodies[-1], rep=r),
    "its rate": lambda m, r: counts(mz.jacobian_rate, m, frame=m.bodies[-1], rep=r),
    "its partial derivatives": lambda m, r: counts(
        mz.jacobian_partials, m, frame=m.bodies[-1], order=1, rep=r
    ),
    "Jacobians of all bodies": lambda m, r: counts(mz.system_jacobian, m, rep=r),
}
LINEAR = ("twists of all bodies", "twist of the last body", "twists and poses of all bodies",
          "accelerations", "jerks",
          "Jacobian of the last body", "its rate")  # fmt: skip


def table(title: str, cell: Callable[[str, str], str], tasks: Any = TASKS) -> str:
    head = f"| {title} | " + " | ".join(REPS) + " |\n|---|" + "---:|" * len(REPS) + "\n"
    return head + "".join(
        f"| {task} | " + " | ".join(cell(task, rep) for rep in REPS) + " |\n" for task in tasks
    )


def per_body(model: Callable[[int], Any], task: str, rep: str) -> str:
    """Operations that one more body in the middle of a chain takes."""
    few, many = (TASKS[task](model(n), rep) for n in (8, 12))
    mul, add = ((b - a) / 4 for a, b in zip(few, many))
    return f"{mul:g} + {add:g}"


def of(model: Any, task: str, rep: str) -> str:
    mul, add = TASKS[task](model, rep)
    return f"{mul} + {add} = {mul + add}"


INTRODUCTION = """# Which representation takes the fewest operations? Kinematics

*Regenerate this page with `python -m benchmarks.study kinematics`.*

Müller, Screw and Lie group theory in multibody kinematics, remark 16: "It is clear from (14),
(30), (42), and (52) that the number of numerical operations differ between the four different
representations of twists. […] A conclusive analysis of all four forms has not yet been reported."
This is one for kinematics.

What is counted is what runs: each representation is traced from its own recursion, with the
constants of the mechanism folded and equal expressions computed once, so that no work is charged
to a representation that it does not need. Entries are multiplications + additions (negations
count as additions). Every joint also takes one sine and one cosine, in all representations; poses
are computed where a representation needs them and are charged to it. Results are expressed in the
body frames of the model.
"""


def page() -> str:
    parts = [INTRODUCTION]
    parts.append("\n## Chains: what one more body takes\n\n")
    parts.append(
        "Operations per body of a chain of n revolute joints, for tasks that are linear in n.\n\n"
        "Joint axes anywhere (general constant rotations and offsets between them):\n\n"
    )
    parts.append(table("general chain", lambda t, r: per_body(general, t, r), LINEAR))
    parts.append(
        "\nNeighbouring axes parallel or at right angles, two offsets each, as in most arms:\n\n"
    )
    parts.append(table("industrial chain", lambda t, r: per_body(industrial, t, r), LINEAR))
    for name, words in (
        ("panda", "7 revolute joints"),
        ("talos", 'a free base and 32 revolute joints; "last body" hangs on few of them'),
    ):
        parts.append(f"\n## {name.capitalize()} ({words})\n\n")
        model = mozzi_model(name)
        parts.append(table(name, lambda t, r, m=model: of(m, t, r)))
    fk = {n: sum(counts(mz.forward_kinematics, mozzi_model(n))) for n in ("panda", "talos")}
    both = {n: sum(counts(mz.body_jacobians, mozzi_model(n))) for n in ("panda", "talos")}
    parts.append(
        f"\nFor comparison: poses of all bodies take {fk['panda']} (panda) and {fk['talos']}"
        f" (talos) operations, poses\nand the shared columns of all spatial Jacobians together"
        f" {both['panda']} and {both['talos']}.\n"
    )
    parts.append(_findings())
    parts.append(_further_orders())
    return "".join(parts)


def _least(task: str, model: Any) -> str:
    return min(REPS, key=lambda rep: sum(TASKS[task](model, rep)))


def _findings() -> str:
    head = "| task | general chain of 12 | panda | talos |\n|---|---|---|---|\n"
    lines = ["\n## Fewest operations\n\n", head]
    models = general(12), mozzi_model("panda"), mozzi_model("talos")
    for task in TASKS:
        lines.append(f"| {task} | " + " | ".join(_least(task, m) for m in models) + " |\n")
    lines.append("""
- **Twists of all bodies: body-fixed.** Its recursion needs no absolute pose: the motion of a
  joint acts in two stages (a constant placement, then a rotation about z) on six numbers. The
  others carry rotation matrices along, which cost more than the twists themselves. Where the
  poses are wanted anyway, that argument is gone: hybrid is then the cheapest on both robots,
  spatial on a chain with axes anywhere, and all four are within some ten percent of each other on
  the robots.
- **Accelerations and jerks of all bodies: body-fixed** on robots, whose axes are parallel or at
  right angles, by a factor of 1.5 and more; on a chain with axes anywhere spatial and body-fixed
  are alike.
- **One Jacobian, and its rate: body-fixed or spatial.** They differ by a few percent on a chain.
  On a robot with a free base body-fixed wins: the base's configuration drops out (remark 5). The
  study that remark 16 cites found spatial form best for the twist of a terminal body; with the
  recursions here that holds for its Jacobian on a general chain only.
- **Jacobians of all bodies: spatial**, by a wide margin: all bodies share the columns (remark
  10), and the cost is O(n) where the other three take O(n d).
- **Partial derivatives of a Jacobian: hybrid**, whose brackets are cross products of vectors,
  unless the base is free.
- **Mixed is never the cheapest.**
""")
    return "".join(lines)


def _further_orders() -> str:
    """What the N-th derivatives cost, N = 1 to 6."""
    rows, last = [], []
    for first, function in ((1, mz.twist_derivatives), (2, mz.joint_force_derivatives)):
        found = [
            program_of(function, chain(7), rolled=False, options={"order": n}).flops
            for n in range(first, 7)
        ]
        last.append(found[-1] / found[-4])
        cells = [""] * (first - 1) + [f"{x:,}" for x in found]
        rows.append(f"| `{function.__name__}` | {' | '.join(cells)} |\n")
    return f"""
## What further orders cost

Operations of chains of seven revolute bodies in general position (`generate.chain(7)`,
body-fixed), by the highest derivative of q that counts: every order adds a sum over all below it;
from 3 to 6 the whole grows {min(last):.1f} to {max(last):.1f} times, a little faster than the
square of the order.

| function | 1 | 2 | 3 | 4 | 5 | 6 |
|---|---|---|---|---|---|---|
{"".join(rows)}"""
