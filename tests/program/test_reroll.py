"""Loops for what repeats itself in long programs: the same numbers to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import chain, leaning, n_four_bar
from mozzi.program import reroll
from mozzi.program.meaning import interpret
from mozzi.program.node import Node
from mozzi.program.program import Buffer, Input, Loop, Program, load, loop, store, trace
from mozzi.program.scalar import cos, select, sin


def random_inputs(program: Program) -> list[list[float]]:
    rng = np.random.default_rng(3)
    return [list(rng.normal(size=x.size)) for x in program.inputs]


def size(program: Program) -> int:
    """Statements that are compiled."""
    lazy = ("const", "input")
    return sum(1 for s, _ in program.walk() if not isinstance(s, Node) or s.op not in lazy)


@pytest.fixture
def from_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reroll, "LONG_RUN", 400)


@pytest.mark.parametrize("name", ["forward_dynamics", "forward_dynamics_gradient", "loop_rank"])
def test_windows_in_a_row_are_loops_and_compute_the_same(name, from_few):
    program = program_of(getattr(mz, name), n_four_bar(16))
    rolled = reroll.rerolled(program)
    assert size(rolled) < 0.7 * size(program)
    given = random_inputs(program)
    assert interpret(rolled, given) == interpret(program, given)


def test_a_program_hardly_grows_with_the_windows(from_few):
    """What further windows add to it is what does not repeat itself, such as their results."""
    straight = [program_of(mz.forward_dynamics, n_four_bar(n)) for n in (40, 80)]
    rolled = [reroll.rerolled(program) for program in straight]
    further, compiled = (size(many) - size(few) for few, many in (straight, rolled))
    assert compiled < 0.2 * further


def recursion(x, y):
    """A recurrence with conditions and numbers that differ, and results of every repetition."""
    out, before, last = [], x[0], y[0]
    for t in range(len(x)):
        new = sin(before) * (0.3 + 0.01 * t) + x[t] * y[-1 - t] + last
        low = new < 0.1 * t
        for k in range(8):
            new = new + cos(new) * (1.5 - k) * x[t]
        last = select(low, before - new, new * y[(7 * t) % len(y)])
        before = new
        out.append(last)
    return np.array([*out, before], dtype=object)


def test_conditions_tables_and_what_crosses_repetitions(from_few):
    program = trace(recursion, [Input("x", (40,)), Input("y", (40,))])
    rolled = reroll.rerolled(program)
    loops = [s for s, _ in rolled.walk() if isinstance(s, Loop)]
    assert loops and size(rolled) < 0.5 * size(program)
    given = random_inputs(program)
    assert interpret(rolled, given) == interpret(program, given)


def test_runs_inside_loops_of_the_program(from_few):
    """What a loop of steps repeats inside, such as a simulation's, is looked through as well."""
    def steps(x, y):
        memory = Buffer("state", len(x), "scratch")
        for k, e in enumerate(x):
            store(memory, None, 0, k, e)
        for _ in loop(0, 3, name="step"):
            state = np.array([load(memory, None, 0, k) for k in range(len(x))], dtype=object)
            for k, e in enumerate(recursion(state, y)[1:]):
                store(memory, None, 0, k, e * 0.1)
        return np.array([load(memory, None, 0, k) for k in range(len(x))], dtype=object)

    program = trace(steps, [Input("x", (40,)), Input("y", (40,))])
    rolled = reroll.rerolled(program)
    assert sum(isinstance(s, Loop) for s, _ in rolled.walk()) > 1
    given = random_inputs(program)
    assert interpret(rolled, given) == interpret(program, given)


def test_what_does_not_repeat_itself_stays(from_few):
    """A chain of oblique axes: signs of its numbers differ from body to body."""
    program = program_of(mz.forward_dynamics, chain(12), rolled=False)
    assert reroll.rerolled(program) is program


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 2e-3)])
def test_kernels_of_loops_that_were_found(dtype, tolerance, from_few):
    """Machine code beside that of straight-line code, which may be asked for."""
    model, rng = n_four_bar(16), np.random.default_rng(0)
    q, v, tau = model.neutral(), rng.normal(size=(5, model.nv)), rng.normal(size=model.nv)
    loops, straight = (
        mz.compile(mz.forward_dynamics, model, dtype=dtype, rolled=x) for x in (None, False)
    )
    assert len(loops.source) < len(straight.source)
    expected = straight(q, v, tau)
    assert np.abs(loops(q, v, tau) - expected).max() < tolerance * np.abs(expected).max()


@pytest.mark.slow
def test_a_hundred_windows_are_the_sum_of_their_equations():
    """The loops are met, and with one row of windows more nothing changes elsewhere: A a + Ȧ v = 0,
    with the kernel that a call takes.
    """
    model = n_four_bar(100)
    q = leaning(model, 0.4)
    v = mz.consistent_velocities(model, q, np.ones(model.nv))
    a = mz.forward_dynamics(model, q, v, np.zeros(model.nv))
    assert np.abs(mz.loop_acceleration(model, q, v, a)).max() < 1e-9 * (1 + np.abs(a).max())
    assert np.abs(a - mz.projected_forward_dynamics(model, q, v, np.zeros(model.nv))).max() < 1e-7
