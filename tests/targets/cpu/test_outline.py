"""Kernels of the CPU target: long programs in pieces, and the memory that they work in."""

import numpy as np
import pytest
from program.rolled import ROLLED, powers
from targets.kernels import DTYPES, arguments, check, expected, random_program

from mozzi.program.program import Address, Buffer, Index, Input, load, loop, store, trace
from mozzi.program.scalar import select, sin
from mozzi.targets.cpu import outline
from mozzi.targets.cpu.build import compile_cpu
from mozzi.targets.cpu.zeroing import unwritten


@pytest.mark.parametrize("chunk", [7, 30])
def test_a_program_in_several_functions_is_the_same_program(chunk, monkeypatch):
    def with_conditions(x, m, s):
        condition = x[0] < x[1]
        y = s
        for k in range(30):
            y = sin(y * 0.9 + x[k % 5]) + m[k % 2, k % 3]
        return select(condition, y, -y), x[2], condition, 3.0

    inputs = [Input("x", (5,)), Input("m", (2, 3)), Input("s", ())]
    for program in (trace(with_conditions, inputs), random_program(11, 200)):
        whole = compile_cpu(program)
        monkeypatch.setattr(outline, "OUTLINED_STATEMENTS", chunk)
        parts = compile_cpu(program)
        monkeypatch.undo()
        assert "@outlined1" in parts.source and "@outlined1" not in whole.source
        args = arguments(program, (17,), "float64")
        for x, y in zip(parts(*args), whole(*args), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("chunk", [1, 3, 8])
@pytest.mark.parametrize("name", ROLLED)
def test_loops_in_several_functions_are_the_same_loops(name, chunk, monkeypatch):
    program = ROLLED[name]().program
    args = arguments(program, (19,), "float64")
    monkeypatch.setattr(outline, "OUTLINED_STATEMENTS", chunk)
    parts = compile_cpu(program)
    assert chunk > 1 or "@outlined1" in parts.source
    found = parts(*args)
    for x, y in zip((found,) if parts.single else found, expected(program, args), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_zeros_in_results_are_zeros():
    """Long runs of them are cleared, short ones stored."""

    def sparse(x):
        row = [0.0] * 40
        return np.array([[*row[:k], x * k, *row[k + 1 :]] for k in range(3)], object), x

    kernel = compile_cpu(trace(sparse, [Input("x", ())]))
    for batch in (1, 8, 11):
        x = np.linspace(1.0, 2.0, batch)
        matrix, same = kernel(x)
        sought = np.zeros((batch, 3, 40))
        sought[:, range(3), range(3)] = x[:, None] * np.arange(3)
        assert np.array_equal(matrix, sought) and np.array_equal(same, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_much_memory_comes_from_the_heap(dtype):
    n = 3000

    def function(x):
        squares = Buffer("squares", n, "scratch")
        for _, k in loop(0, n):
            y = load(Buffer("x", n, "input", position=0), k, 1, 0)
            store(squares, k, 1, 0, y * y)
        total = Buffer("total", 1, "scratch")
        for _, k in loop(n - 1, -1, -1):
            store(total, None, 0, 0, load(total, None, 0, 0) + load(squares, k, 1, 0))
        return load(total, None, 0, 0), np.array([load(squares, None, 0, k) for k in range(n)])

    kernel = compile_cpu(trace(function, [Input("x", (n,))]), dtype)
    x = np.random.default_rng(0).normal(size=(11, n)).astype(dtype)
    total, squares = kernel(x)
    np.testing.assert_allclose(total, (x * x).sum(-1), rtol=1e-3)
    np.testing.assert_array_equal(squares, x * x)
    np.testing.assert_array_equal(kernel(x[3])[1], x[3] * x[3])


def test_memory_reads_as_zero_in_every_evaluation():
    def function(x):
        a = Buffer("a", 4, "scratch")
        value = load(a, None, 0, 2) + x
        store(a, None, 0, 2, value)
        return value, np.array([load(a, None, 0, k) for k in range(4)])

    value, memory = compile_cpu(trace(function, [Input("x", ())]))(np.arange(40.0))
    np.testing.assert_array_equal(value, np.arange(40.0))
    np.testing.assert_array_equal(memory, np.arange(40.0)[:, None] * [0, 0, 1, 0])


def ranges(program):
    found = unwritten(program)
    return {b.name: found[id(b)] for b in program.buffers() if id(b) in found}


def test_only_memory_that_is_read_before_it_is_written_is_cleared():
    n, parent = 6, np.array([-1, 0, 1, 1, 3, 0])

    def function(x):
        a, b, c = (Buffer(name, size, "scratch") for name, size in (("a", 7), ("b", 6), ("c", 9)))
        for _, k in loop(0, n):  # reads the parent: written, but for the first, which has none
            before = load(a, Index(parent + 1, k), 1, 0)
            store(a, k, 1, 1, before + x)
        for _, k in loop(n - 1, -1, -1):
            store(b, k, 1, 0, load(a, k, 1, 1))
            for _, j in loop(k, 0, follow=parent):
                store(c, Index(terms=((k, 1), (j, 0))), 1, 2, load(b, j, 1, 0))
        return np.array([load(b, None, 0, k) for k in range(6)]), load(c, None, 0, 1)

    program = trace(function, [Input("x", ())])
    assert ranges(program) == {"a": [(0, 1)], "b": [(0, 2), (3, 4)], "c": [(1, 2)]}
    check(compile_cpu(program), program, [np.linspace(0, 1, 11)])
    for make in ROLLED.values():
        assert all(stop <= 26 for part in ranges(make().program).values() for _, stop in part)
    assert ranges(powers()) == {"total": [(0, 1)]}


def test_memory_that_a_loop_may_leave_unwritten_is_cleared():
    """What a loop stores that may be left early is written for that loop, not for what is behind
    it; in a loop around it, not for the next turn.
    """

    def function(x, outer):
        a, b, going = (
            Buffer(name, size, "scratch") for name, size in (("a", 3), ("b", 3), ("g", 1))
        )
        store(going, None, 0, 0, x)
        for _ in loop(0, 2) if outer else [0]:
            for _, k in loop(0, 3, going=Address(going, None, 0, 0)):
                store(b, k, 1, 0, load(going, None, 0, 0) * 2.0)
                store(a, k, 1, 0, load(b, k, 1, 0))
                store(going, None, 0, 0, 0.0)
        return np.array([load(a, None, 0, k) for k in range(3)], object)

    once, twice = (trace(lambda x, t=t: function(x, t), [Input("x", ())]) for t in (False, True))
    assert ranges(once) == {"a": [(0, 3)]}
    assert ranges(twice) == {"a": [(0, 3)], "b": [(0, 3)]}
    for program in (once, twice):
        kernel = compile_cpu(program)
        assert kernel(np.full(8, 3.0)).max() == 6.0
        assert (kernel(np.zeros(8)) == 0.0).all()


def test_followed_loops_and_entries_of_tables():
    parent = np.array([-1, 0, 0, 2, 1])

    def function(x):
        depth = Buffer("depth", 5, "scratch")
        for _, k in loop(0, 5):
            for _, j in loop(Index(parent, k), 0, follow=parent):
                own = load(depth, k, 1, 0) + load(Buffer("x", 5, "input", position=0), j, 1, 0)
                store(depth, k, 1, 0, own)
        return np.array([load(depth, None, 0, k) for k in range(5)])

    x = np.arange(1.0, 6.0)
    found = compile_cpu(trace(function, [Input("x", (5,))]))(x)
    np.testing.assert_array_equal(found, [0, x[0], x[0], x[2] + x[0], x[1] + x[0]])
