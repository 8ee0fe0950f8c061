"""Operations of programs that are made another way: what it is worth to make them as they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.robots import mozzi_model
from mozzi.algorithms.constraints import row_choice
from mozzi.algorithms.derivatives.second import tangent_basis
from mozzi.algorithms.recursion import mechanism
from mozzi.compiler import program_of
from mozzi.model.generate import LINKAGES, chain, delta_robot
from mozzi.program.differentiate import differentiate_program, forward, reverse


def count(function: Any, model: Any, **options: Any) -> int:
    """Operations of a straight-line program."""
    return program_of(function, model, rolled=False, **options).flops


@contextmanager
def instead(module: Any, name: str, other: Any) -> Any:
    """One name of a module replaced."""
    before = getattr(module, name)
    setattr(module, name, other)
    try:
        yield
    finally:
        setattr(module, name, before)


def common_normals() -> dict[str, float]:
    """Percent of the operations that frames on common normals save, of a chain of seven."""
    saved = {}
    for key, name in (
        ("inverse", "inverse_dynamics"), ("forward", "forward_dynamics"), ("mass", "mass_matrix")
    ):  # fmt: skip
        usual = count(getattr(mz, name), chain(7, seed=1))
        with instead(mechanism, "aligned", tuple):
            plain = count(getattr(mz, name), chain(7, seed=1))  # a model of its own: it caches
        saved[f"common normals {key}"] = 100 * (1 - usual / plain)
    return saved


def modes() -> dict[str, int]:
    """Derivatives of a panda with its fingers, by forward and by reverse mode."""
    model = mz.load("panda", couplings=False)
    inverse = program_of(mz.inverse_dynamics, model, rolled=False)
    mass = program_of(mz.mass_matrix, model, rolled=False)
    jobs = {"id": (inverse, ["q", "v", "a"]), "mass": (mass, ["q"])}
    return {
        f"{mode} {key}": differentiate_program(program, wrt, mode=mode).flops
        for key, (program, wrt) in jobs.items()
        for mode in ("forward", "reverse")
    }


def choosing() -> dict[str, float]:
    """Percent of the operations of forward dynamics that choosing among rows adds."""
    made: dict[str, Callable[[], Any]] = {
        "bennett": lambda: LINKAGES["bennett"](1).model(), "delta": delta_robot
    }  # fmt: skip
    added = {}
    for name, make in made.items():
        chosen = count(mz.forward_dynamics, make())
        with instead(row_choice, "overconstrained", lambda *_: False):
            plain = count(mz.forward_dynamics, make())
        added[f"{name} choosing"] = 100 * (chosen / plain - 1)
    return added


def ways_first() -> dict[str, Any]:
    """∂τ/∂q, ∂τ/∂v and M of a panda."""
    model = mozzi_model("panda")
    program = program_of(mz.inverse_dynamics, model, rolled=False)
    mass = count(mz.mass_matrix, model)
    through = {
        mode: differentiate_program(program, ["q", "v"], mode=mode).flops + mass
        for mode in ("forward", "reverse")
    }
    rows = [
        ["forward mode through the program of τ, and the mass matrix", through["forward"]],
        ["reverse mode through it, and the mass matrix", through["reverse"]],
        ["the recursion above, base parameters", count(mz.inverse_dynamics_derivatives, model)],
    ]
    return {"head": ["∂τ/∂q, ∂τ/∂v, M", "operations"], "rows": rows}


def ways_second() -> dict[str, Any]:
    """Second derivatives of λᵀτ of a panda by q, v and a."""
    model, n = mozzi_model("panda"), mozzi_model("panda").nv
    inputs = dict.fromkeys(("q", "v", "a", "covector"), (n,))
    Gradient = tuple[np.ndarray, np.ndarray]

    def by_reverse(q: Any, v: Any, a: Any, w: Any) -> Gradient:
        x = np.concatenate([q, v, a])
        return reverse(np.dot(mz.inverse_dynamics(model, q, v, a), w), x, 1.0), x

    def by_forward(q: Any, v: Any, a: Any, w: Any) -> Gradient:
        x = np.concatenate([q, v, a])
        return forward(np.dot(mz.inverse_dynamics(model, q, v, a), w), x, np.eye(3 * n)), x

    def recursion(q: Any, v: Any, a: Any, w: Any) -> Gradient:
        changes = mz.inverse_dynamics_derivatives(model, q, v, a)
        return np.concatenate([w @ J for J in changes]), np.concatenate([q, v, a])

    def second(first: Any, over: Any) -> int:
        def function(q: Any, v: Any, a: Any, covector: Any) -> Any:
            y, x = first(q, v, a, covector)
            rows = over(y, x, np.eye(3 * n))
            return rows[: 2 * n] if over is forward else rows[:, : 2 * n]

        return count(function, model, inputs=inputs)

    assert tangent_basis(model, model.neutral()).shape == (n, n)  # all joints turn: q and v alike
    rows = [
        ["forward mode through the contracted recursion above", second(recursion, forward)],
        ["reverse over forward mode", second(by_forward, reverse)],
        ["reverse over reverse mode", second(by_reverse, reverse)],
        ["forward over reverse mode", second(by_reverse, forward)],
        [
            "the same, from the gradient by v where there is a choice, and one half of symmetric "
            "blocks",
            count(mz.inverse_dynamics_hessian, model),
        ],
    ]
    return {"head": ["way", "operations"], "rows": rows}


def run() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = {"ways_first": ways_first(), "ways_second": ways_second()}
        derived = {**common_normals(), **modes(), **choosing()}
    return {"tables": tables, "derived": derived}
