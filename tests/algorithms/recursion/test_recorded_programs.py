"""What every algorithm computes is recorded: moving and renaming code changes no program.

``recorded_programs.json`` has, for each algorithm on each of a few mechanisms, rolled and not, the
digest of its program (the operations behind its outputs, in any order), how many operations it
has, and what it gives at one state. Where a rewrite means to change programs,

    python -m pytest tests/algorithms/recursion/test_recorded_programs.py --record

writes them anew, and refuses to where results differ from what is recorded.
"""

from __future__ import annotations

import inspect
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mozzi as mz
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.compiler import program_of
from mozzi.model import Model
from mozzi.program.digest import digest
from mozzi.program.meaning import interpret
from mozzi.program.program import Program

RECORD = Path(__file__).with_name("recorded_programs.json")
DIGITS = 10  # of constants: another machine's sine may differ in the last
ALGORITHMS = sorted(n for n in mz.__all__ if isinstance(getattr(mz, n), Algorithm))
#: Rolled, these grow with the number of kinds of joints, squared or cubed.
LARGE = {
    "christoffel", "forward_dynamics_hessian", "inverse_dynamics_hessian", "jacobian_partials",
    "mass_matrix_inverse_partials", "mass_matrix_partials",
}  # fmt: skip
MODELS = ("arm", "arm rolled", "tree", "tree rolled", "closed")


def inertia(m: float) -> mz.Inertia:
    return mz.Inertia(m, (0.125, -0.25, 0.5), np.diag([0.5, 0.75, 0.625]) * m)


@cache
def mechanism(name: str) -> Model:
    """Mechanisms of round numbers, so that they are the same everywhere."""
    at, turn = mz.SE3.translation, mz.SE3.from_matrix(np.eye(4)[[1, 2, 0, 3]])
    if name == "arm":
        b = mz.Builder("arm").add("1", None, mz.Revolute("z"), inertia(4.0))
        b.add("2", "1", mz.Revolute("x").between(at(0.5, 0.25, 0.0) @ turn), inertia(2.0))
        b.add("3", "2", mz.Revolute((0.6, 0.0, 0.8)).between(at(0.0, 0.5, 1.0)), inertia(1.0))
        b.add("4", "3", mz.Prismatic("y").between(at(0.5, 0.0, 0.0), turn), inertia(0.5))
        return b.frame("tip", "4", at(0.0, 0.25, 0.5)).build()
    if name == "tree":
        b = mz.Builder("tree").add("base", None, mz.Free(), inertia(4.0))
        elbow = mz.Revolute("y").between(at(0.5, 0.0, 0.25) @ turn, at(0.0, 0.125, 0.0))
        b.add("arm", "base", mz.Spherical().between(at(0.0, 0.5, 0.0)), inertia(1.0))
        b.add("wrist", "arm", mz.Composite(mz.Universal(), elbow), inertia(0.5))
        b.add("leg", "base", mz.Screw("z", pitch=0.25).between(turn), inertia(2.0))
        model = b.frame("tip", "wrist", at(0.0, 0.25, 0.5)).build()
        model = model.with_dynamics("leg", armature=0.5, damping=0.25, friction=0.5, stiffness=2.0)
        return model.with_spring("spring", "leg", "arm", stiffness=8.0, damping=2.0)
    b = mz.Builder("closed").add("crank", None, mz.Revolute("y"), inertia(1.0))
    b.add("coupler", "crank", mz.Revolute("y").between(at(0.5, 0.0, 0.0)), inertia(2.0))
    b.add("rocker", None, mz.Revolute("y").between(at(1.5, 0.0, 0.0)), inertia(1.0))
    b.add("gear", "rocker", mz.Revolute("x"), inertia(0.5))
    closed = b.frame("tip", "coupler", at(0.5, 0.0, 0.5)).build()
    ends = at(1.0, 0.0, 0.0), at(0.0, 0.0, 0.75)
    closed = closed.with_loop("pin", "coupler", "rocker", mz.Revolute("y"), *ends)
    return closed.with_coupling("gear", {"gear": 1.0, "crank": -2.0})


def options(function: Algorithm, model: Model) -> dict[str, Any]:
    """What an algorithm must be told, the optional arrays, and directions."""
    known = {"frame": "tip", "frames": ("tip",), "source": "body", "target": "hybrid"}
    chosen = {n: known[n] for n, x in function.defaults.items() if x is inspect.Parameter.empty}
    if "prescribed" in function.defaults:
        chosen["prescribed"] = (model.joint_names[1],)
    arrays = ("wrenches", "dq", "dv", "da", "dtau", "weights")
    return chosen | {n: True for n in arrays if n in function.arrays}


def traced(name: str, where: str) -> Program | None:
    """The program of an algorithm on a mechanism, or None where it refuses loops or is large."""
    if where == "tree rolled" and name in LARGE:
        return None
    model, _, rolled = where.partition(" ")
    function, own = getattr(mz, name), mechanism(model)
    try:
        return program_of(function, own, rolled=bool(rolled), options=options(function, own))
    except mz.LoopError:
        return None


def outcome(program: Program, model: Model) -> list[float]:
    """What a program gives at one state: sums of each result, by weights."""
    given = {x.name: 0.3 + 0.2 * np.cos(1.7 * np.arange(x.size) + x.size) for x in program.inputs}
    if "q" in given:
        given["q"] = model.normalize(given["q"])  # where equations hold that rewrites may use
    arguments = list(given.values())
    results = [np.asarray(x, dtype=float).ravel() for x in interpret(program, arguments)]
    return [float(np.cos(np.arange(x.size)) @ x) for x in results]


def described(program: Program | None, where: str) -> dict[str, Any] | None:
    if program is None:
        return None
    count, model = program.length, mechanism(where.split()[0])
    found = {"digest": digest(program, DIGITS), "operations": count}
    return found | {"results": [float(f"{x:.12g}") for x in outcome(program, model)]}


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    return json.loads(RECORD.read_text(encoding="utf-8"))


def agree(one: list[float], other: list[float]) -> bool:
    return len(one) == len(other) and np.allclose(one, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "where", [pytest.param(x, marks=[pytest.mark.slow] * (x == "tree rolled")) for x in MODELS]
)
def test_programs_are_what_they_were(
    where: str, recorded: dict[str, Any], pytestconfig: pytest.Config
):
    """The operations behind every result are those that are recorded."""
    found = {name: described(traced(name, where), where) for name in ALGORITHMS}
    before = recorded.get(where, {})
    wrong = {
        name: f"{before[name]['results']} were recorded, now {now['results']}"
        for name, now in found.items()
        if now and before.get(name) and not agree(now["results"], before[name]["results"])
    }
    assert not wrong
    if pytestconfig.getoption("record"):
        kept = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
        kept[where] = found
        RECORD.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    changed = {
        name: f"{old['operations'] if old else None} → {now['operations']} operations"
        for name, now in found.items()
        if now and ((old := before.get(name)) is None or old["digest"] != now["digest"])
    }
    assert not changed, "programs have changed; results agree. To record them anew: --record"
