"""Programs inside others, or without their loops: those whose results are constants stay."""

from __future__ import annotations

import numpy as np
import pytest

from mozzi.program.counted_loops import repeat
from mozzi.program.inline import inline, traced_apart, unrolled_size
from mozzi.program.meaning import interpret
from mozzi.program.products import pullback, pushforward, unrolled
from mozzi.program.program import Input, Loop, Program, trace

STEPS, X = 30, 7.3


def root(x, held: bool = True):
    """√x by Newton's method; derivatives see its last step."""
    (y,) = repeat(STEPS, [1.0], lambda s: [0.5 * (s[0] + x / s[0])], "root", held=held)
    return 0.5 * (y + x / y)


def program(held: bool = True) -> Program:
    return trace(lambda x: np.array([root(x[0], held)]), [Input("x", (1,))], "root")


def loops(of: Program) -> int:
    return sum(isinstance(s, Loop) for s, _ in of.walk())


def test_loops_that_stay():
    """Only those whose results count as constants."""
    assert loops(unrolled(program())) == 1
    assert loops(unrolled(program(held=False))) == 0
    assert unrolled_size(program()) < STEPS < unrolled_size(program(held=False))
    for of in (program(), unrolled(program()), unrolled(program(held=False))):
        assert interpret(of, [[X]])[0][0] == pytest.approx(np.sqrt(X), abs=1e-15)


@pytest.mark.parametrize("way", [pushforward, pullback])
@pytest.mark.parametrize("held", [True, False])
def test_derivatives(way, held: bool):
    """Behind a loop that stays, and through one that does not; of what is derived, too."""
    first = way(program(held), [0])
    assert interpret(first, [[X], [1.0]])[0][0] == pytest.approx(0.5 * X**-0.5, abs=1e-15)
    if not held:
        second = way(first, [0])
        found = interpret(second, [[X], [1.0], [1.0]])[0][0]
        assert found == pytest.approx(-0.25 * X**-1.5, abs=1e-14)


def test_a_program_inside_another():
    """Twice, each with memory of its own."""
    inner = program()
    outer = trace(
        lambda x: np.array([inline(inner, [[x[0]]])[0][0] + inline(inner, [[2.0 * x[0]]])[0][0]]),
        [Input("x", (1,))],
    )
    assert loops(outer) == 2
    assert interpret(outer, [[X]])[0][0] == pytest.approx((1.0 + 2.0**0.5) * X**0.5, abs=1e-14)


def test_traced_apart():
    """What depends on values from outside, loops included."""
    outer = trace(
        lambda x: traced_apart(lambda y: (np.array([x[1] * root(y[0] + x[1])]),), [x[:1] * 2.0])[0],
        [Input("x", (2,))],
    )
    assert loops(outer) == 1
    assert interpret(outer, [[3.0, 0.5]])[0][0] == pytest.approx(0.5 * 6.5**0.5, abs=1e-15)
