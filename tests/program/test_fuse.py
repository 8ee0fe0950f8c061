"""Loops that go through the same iterations become one, where nobody can tell the difference."""

import numpy as np
import pytest
from program.rolled import PARENT, ROLLED, N, arguments

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import chain
from mozzi.program.fuse import fuse
from mozzi.program.meaning import interpret
from mozzi.program.program import Buffer, Index, Input, Loop, load, loop, store, trace
from mozzi.targets.cpu.build import compile_cpu

UP = PARENT + 1  # where the record of the parent is
KIND = np.array([0, 0, 1, 0, 1, 1])  # by place
MEMORIES = 6
PERMUTED = np.array([0, 3, 1, 5, 2, 4])


def loops(program):
    return [s for s in program.region.statements if isinstance(s, Loop)]


def sweeps(seed):
    """Loops outward and inward over records in a few arrays, of two kinds of bodies: each loads
    and stores at its own place, its parent's, a permuted one, or always the same one; sometimes in
    a loop of its own; sometimes inside a loop over stages.
    """
    rng = np.random.default_rng(seed)

    def function(x):
        given = Buffer("x", N + 1, "input", position=0)
        table = Buffer("t", N + 1, "table", np.linspace(0.5, 1.5, N + 1))
        arrays = [Buffer(f"m{n}", 2 * (N + 1), "scratch") for n in range(MEMORIES)]
        numbers = [x[0] + 1.0]

        def where(k, j):
            choices = [(k, 2), (Index(np.array([0, *UP]), k), 2), (Index(PERMUTED, k), 2)]
            choices += [(Index(terms=((k, 1), (k, 1))), 1), (None, 0)]
            choices += [(j, 2)] if j is not None else []
            index, stride = choices[rng.integers(len(choices))]
            return index, stride, int(rng.integers(2))

        def number(k, j):
            what = rng.integers(6)
            if what == 0:
                return load(given, k, 1, 0)
            if what == 1:
                return load(table, k, 1, 0)
            if what == 2:
                return numbers[rng.integers(len(numbers))]
            return load(arrays[rng.integers(MEMORIES)], *where(k, j))

        def scale():
            return float(rng.choice([0.5, 0.25, 0.375, 0.125, 0.75]))

        def body(k, j=None):
            for _ in range(rng.integers(1, 4)):
                value = number(k, j) * scale() + number(k, j)
                store(arrays[rng.integers(MEMORIES)], *where(k, j), value)

        def one():
            inward = rng.random() < 0.4
            span = (N, 0, -1) if inward else (1, N + 1, 1)
            kinds = {"which": KIND, "branches": 2} if rng.random() < 0.5 else {}
            for _, k in loop(*span, **kinds):
                body(k)
                if rng.random() < 0.3:
                    for _, j in loop(0, 3):
                        body(k, j)
                    body(k)

        def several():
            for _ in range(rng.integers(3, 7)):
                one()
                what = rng.random()
                if what < 0.4:
                    numbers.append(load(arrays[rng.integers(MEMORIES)], None, 0, 3) * scale())
                elif what < 0.5:
                    store(arrays[rng.integers(MEMORIES)], None, 0, 5, numbers[-1])

        several()
        before = list(numbers)
        if rng.random() < 0.5:
            for _, _stage in loop(0, 3):
                several()
            numbers[:] = before
        return np.array([load(b, None, 0, n) for b in arrays for n in range(2 * N + 2)], object)

    return lambda: trace(function, [Input("x", (N + 1,))], "sweeps")


def again(make, seed):
    """The same program twice: random choices are drawn again."""
    return make(seed)()


@pytest.mark.parametrize("first", range(0, 400, 40))
def test_results_stay(first):
    """Of random programs, to the last digit: what is loaded is what was stored."""
    fewer = 0
    for seed in range(first, first + 40):
        plain, one = again(sweeps, seed), fuse(again(sweeps, seed))
        x = np.random.default_rng(seed).uniform(-1, 1, N + 1).tolist()
        expected, found = interpret(plain, [x])[0], interpret(one, [x])[0]
        assert found == pytest.approx(expected, rel=1e-13, abs=1e-13), seed
        fewer += len(loops(plain)) - len(loops(one))
    assert fewer > 4  # and there are fewer loops


def test_compiled_results_stay():
    """Where buffers share places in memory, too."""
    for seed in range(12):
        plain, one = again(sweeps, seed), fuse(again(sweeps, seed))
        x = np.random.default_rng(seed).uniform(-1, 1, (5, N + 1))
        expected = [interpret(plain, [row.tolist()])[0] for row in x]
        assert compile_cpu(one)(x) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ROLLED)
def test_what_is_one_already_stays(name):
    """Programs in which no loop may join another."""
    program, means = ROLLED[name]().program, ROLLED[name]().means
    given = arguments(program)
    for found, expected in zip(interpret(fuse(program), given), means(*given), strict=True):
        assert found == pytest.approx(np.ravel(expected).tolist(), rel=1e-12)


def pair(write, read):
    """Two loops over k: m[write(k)] = x[k], then y[k] = m[read(k)]."""

    def function(x):
        given = Buffer("x", N, "input", position=0)
        m, y = Buffer("m", 2 * N + 2, "scratch"), Buffer("y", N, "scratch")
        for _, k in loop(0, N):
            store(m, k, 1, write, load(given, k, 1, 0))
        for _, k in loop(0, N):
            store(y, k, 1, 0, load(m, k, 1, read) * 2.0)
        return np.array([load(y, None, 0, n) for n in range(N)], object)

    return trace(function, [Input("x", (N,))], "pair")


def test_a_branch_is_looked_at_where_it_is_taken():
    """Loops in a branch of a loop are one, though in iterations that take the other branch their
    addresses would lie outside of memory.
    """

    def function(x):
        few, y = Buffer("few", 2, "scratch"), Buffer("y", 4, "scratch")
        for branch, k in loop(0, 4, which=np.array([0, 0, 1, 1]), branches=2):
            for _, j in loop(0, 1) if branch == 0 else ():
                store(few, Index(terms=((k, 1), (j, 1))), 1, 0, x + 2.0)
            for _, _j in loop(0, 1) if branch == 0 else ():
                store(y, k, 1, 0, load(few, k, 1, 0) * x)
            if branch == 1:
                store(y, k, 1, 0, load(few, k, 1, -2) + 1.0)
        return np.array([load(y, None, 0, n) for n in range(4)], object)

    one, other = (trace(function, [Input("x", ())]) for _ in range(2))
    assert interpret(fuse(one), [[2.0]]) == interpret(other, [[2.0]]) == [[8.0, 8.0, 5.0, 5.0]]
    inner = [s for s in loops(one)[0].branches[0].statements if isinstance(s, Loop)]
    assert len(inner) == 1


def test_what_comes_later_is_waited_for():
    """A second loop that reads what the first one stores in the same iteration or before joins it,
    and loads nothing where it is the same; one that reads ahead does not.
    """
    same, behind, ahead = (fuse(pair(2, read)) for read in (2, 1, 3))
    assert [len(loops(p)) for p in (same, behind, ahead)] == [1, 1, 2]
    inside = loops(same)[0].branches[0].statements
    scratch = [s for s in inside if getattr(s, "op", "") == "load" and s.address.buffer.name == "m"]
    assert not scratch


def test_sweeps_of_a_gradient_are_few():
    """Forward dynamics, M⁻¹λ and the power go through a chain twice outward and twice inward, after
    the poses; what fills vectors with zeros is one loop.
    """
    program = program_of(mz.forward_dynamics_gradient, chain(100))
    assert len(loops(program)) <= 6
