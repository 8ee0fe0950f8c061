"""The interpreter: the meaning of programs, on every kind of number."""

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from program.recipes import (
    CHOOSING,
    SMOOTH,
    Recipe,
    Unclear,
    points,
    recipes,
    skipping,
    with_bounds,
)
from program.rolled import ROLLED, arguments

from mozzi.program.meaning import MEANING, interpret
from mozzi.program.node import OPERATIONS
from mozzi.program.program import Input, trace


def test_every_operation_has_a_meaning():
    assert MEANING.keys() == OPERATIONS.keys() | {"const"}


@pytest.mark.parametrize("name", ROLLED)
def test_loops(name: str):
    """A rolled program computes what the loop over numbers does."""
    rolled = ROLLED[name]()
    for seed in range(5):
        x = arguments(rolled.program, seed)
        for value, truth in zip(interpret(rolled.program, x), rolled.means(*x), strict=True):
            np.testing.assert_allclose(value, truth.ravel(), rtol=1e-14)


@pytest.mark.parametrize("name", ROLLED)
def test_loops_on_batches(name: str):
    """A NumPy array for every scalar is a batch: each sample has the result it has alone."""
    program = ROLLED[name]().program
    samples = [arguments(program, seed) for seed in range(7)]
    batch = [np.stack(x, axis=-1) for x in zip(*samples, strict=True)]
    together = interpret(program, batch)
    for n, x in enumerate(samples):
        for values, alone in zip(together, interpret(program, x), strict=True):
            assert [np.broadcast_to(v, 7)[n] for v in values] == alone


@skipping
@given(st.data())
def test_mpmath(data):
    """With 50 digits a program is as exact as the function it was traced from."""
    exact_kinds = ("add", "sub", "mul", "neg", *CHOOSING)
    recipe: Recipe = data.draw(recipes((*exact_kinds, "sin")))
    x = data.draw(points(recipe))
    try:
        truth, bounds = with_bounds(recipe, x)
    except Unclear:
        assume(False)
    with mpmath.workdps(50):
        values = interpret(recipe.program(), [[mpmath.mpf(v) for v in x]])[0]
    for value, exact, bound in zip(values, truth, bounds, strict=True):
        assert abs(value - exact) <= 4 * bound  # constants fold to doubles


@skipping
@given(st.data())
def test_complex_numbers_pass(data):
    """On the real axis complex numbers give the real result."""
    recipe: Recipe = data.draw(recipes(SMOOTH + CHOOSING))
    x = data.draw(points(recipe))
    try:
        truth, bounds = with_bounds(recipe, x)
    except Unclear:
        assume(False)
    values = interpret(recipe.program(), [[complex(v) for v in x]])[0]
    for value, exact, bound in zip(values, truth, bounds, strict=True):
        assert abs(value - exact) <= 8 * bound


@given(st.data())
def test_programs_inline_into_traces(data):
    """Run on traced scalars, a program becomes part of another one."""
    recipe: Recipe = data.draw(recipes(("add", "sub", "mul", "sin", "min", "select")))
    x = data.draw(points(recipe))
    program = recipe.program()

    def function(x):
        return np.array(interpret(program, [list(x)])[0], object)

    again = trace(function, [Input("x", (recipe.inputs,))])
    assert interpret(again, [x]) == interpret(program, [x])
    assert again.flops <= program.flops


def test_other_meanings():
    """A table of meanings runs a program on anything: here, on strings."""
    program = trace(lambda x: (x[0] + 2.0) * x[1], [Input("x", (2,))])
    words = {
        "const": str,
        "add": lambda a, b: f"({a} + {b})",
        "mul": lambda a, b: f"{a} {b}",
    }
    assert interpret(program, [["a", "b"]], words) == [["b (a + 2.0)"]]
