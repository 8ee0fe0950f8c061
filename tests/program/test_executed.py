"""Operations of one evaluation: those of loops as often as they run."""

from collections import Counter

import numpy as np
import pytest

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import chain, random_tree
from mozzi.program.executed import executed
from mozzi.program.meaning import MEANING, Run


class Counting(Run):
    """A run of the interpreter, which counts what it meets."""

    def __init__(self, arguments):
        super().__init__(arguments, MEANING)
        self.met = Counter()

    def value(self, s):
        self.met[s.op] += 1
        return super().value(s)

    def put(self, buffer, where, value):
        self.met["store"] += 1
        super().put(buffer, where, value)


@pytest.mark.parametrize(
    "name",
    [
        "forward_dynamics", "mass_matrix_inverse", "forward_dynamics_derivatives", "christoffel",
        "inverse_dynamics_gradient",
    ],
)  # fmt: skip
def test_statements_are_counted_as_a_run_meets_them(name):
    """Loops, walks to the base inside loops, and branches by kinds of bodies."""
    for model in (chain(7), random_tree(9, 3)):
        program = program_of(getattr(mz, name), model, rolled=True)
        run = Counting([np.full(x.size, 0.3) for x in program.inputs])
        run.region(program.region)
        assert +executed(program.region) == run.met


def test_a_count_does_not_depend_on_how_a_program_is_written():
    """Bodies that differ in nothing but place cost the same rolled, and n of them n times that."""
    counts = [
        sum(mz.compile(mz.inverse_dynamics, chain(n), rolled=True).operations.values())
        for n in (50, 100, 200)
    ]
    assert np.diff(counts)[1] == 2 * np.diff(counts)[0]
    straight = sum(mz.compile(mz.inverse_dynamics, chain(50), rolled=False).operations.values())
    assert straight < counts[0] < 1.5 * straight
