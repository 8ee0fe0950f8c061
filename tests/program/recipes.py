"""Random straight-line functions, as data, and what their results may differ by.

A recipe is a list of steps (operation, operands); an operand is the number of an earlier value. The
values begin with the inputs and the constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from mozzi.program.meaning import MEANING
from mozzi.program.node import OPERATIONS
from mozzi.program.program import Input, Program, trace

CONSTANTS = (0.0, 1.0, -1.0, 2.0, 0.5, -3.25, 0.1, 1e-3)
SMOOTH = ("add", "sub", "mul", "neg", "sin", "cos", "div", "sqrt", "atan2", "exp", "log", "tanh")
CHOOSING = ("min", "max", "select")


@dataclass(frozen=True)
class Recipe:
    inputs: int
    steps: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: int  # the last values are the results

    def __call__(self, x: Sequence[Any]) -> list[Any]:
        """The results for any scalars."""
        values: list[Any] = [*x, *CONSTANTS]
        for op, operands in self.steps:
            a = [values[n] for n in operands]
            if op == "select":  # where two values are in order
                a = [MEANING["lt"](a[0], a[1]), a[2], a[3]]
            values.append(MEANING[op](*a))
        return values[-self.outputs :]

    def program(self) -> Program:
        return trace(lambda x: np.array(self(x), object), [Input("x", (self.inputs,))], "recipe")


@st.composite
def recipes(draw: Any, kinds: Sequence[str] = SMOOTH + CHOOSING, most: int = 30) -> Recipe:
    """Recipes of these kinds of operations."""
    inputs = draw(st.integers(1, 4))
    size = inputs + len(CONSTANTS)
    steps = []
    for _ in range(draw(st.integers(1, most))):
        op = draw(st.sampled_from(kinds))
        many = 4 if op == "select" else OPERATIONS[op]
        operands = tuple(draw(st.integers(0, size - 1)) for _ in range(many))
        steps.append((op, operands))
        size += 1
    return Recipe(inputs, tuple(steps), draw(st.integers(1, len(steps))))


def points(recipe: Recipe) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(-3, 3, width=32), min_size=recipe.inputs, max_size=recipe.inputs)


#: For tests that skip what is unclear: many recipes divide by zero somewhere.
skipping = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


class Unclear(Exception):
    """The result hangs on a rounding error, or is not a moderate number."""


def with_bounds(
    recipe: Recipe, x: Sequence[float], eps: float = 2.0**-52
) -> tuple[list[Any], list[float]]:
    """The results with 50 digits, and running bounds on the errors of a computation to eps.

    First order, Higham, Accuracy and Stability of Numerical Algorithms, 3.3.
    """
    with mpmath.workdps(50):
        values = [mpmath.mpf(c) for c in (*x, *CONSTANTS)]
        errors = [0.0 * abs(v) for v in values]
        for op, operands in recipe.steps:
            v, e = [values[n] for n in operands], [errors[n] for n in operands]
            y, error = _step(op, v, e)
            if abs(y) > 1e6:
                raise Unclear
            values.append(y)
            errors.append(error + 2 * eps * abs(y) + eps * 1e-6)
        last = slice(len(values) - recipe.outputs, None)
        return values[last], [float(error) for error in errors[last]]


def _step(op: str, v: list[Any], e: list[Any]) -> tuple[Any, Any]:
    if op == "div" and abs(v[1]) < 1e-3:
        raise Unclear
    if op in ("sqrt", "log") and v[0] < 1e-3:
        raise Unclear
    if op == "exp" and v[0] > 14.0:
        raise Unclear
    if op == "atan2" and (abs(v[0]) + abs(v[1]) < 1e-3 or (v[1] < 1e-3 and abs(v[0]) < 1e-3)):
        raise Unclear
    if op in CHOOSING and abs(v[0] - v[1]) < 1e-6:
        raise Unclear
    if op == "select":
        a = [v[0] < v[1], v[2], v[3]]
        return MEANING[op](*a), max(e[2], e[3])
    y = MEANING[op](*v)
    error = {
        "add": lambda: e[0] + e[1],
        "sub": lambda: e[0] + e[1],
        "mul": lambda: abs(v[0]) * e[1] + abs(v[1]) * e[0],
        "div": lambda: e[0] / abs(v[1]) + abs(y / v[1]) * e[1],
        "neg": lambda: e[0],
        "sqrt": lambda: e[0] / y,
        "sin": lambda: e[0],
        "cos": lambda: e[0],
        "atan2": lambda: (abs(v[1]) * e[0] + abs(v[0]) * e[1]) / (v[0] ** 2 + v[1] ** 2),
        "exp": lambda: y * e[0],
        "log": lambda: e[0] / v[0],
        "tanh": lambda: e[0],
        "min": lambda: max(e),
        "max": lambda: max(e),
    }[op]()
    return y, error
