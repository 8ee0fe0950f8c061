"""Scheduling: the same program, calls first, fewer values live."""

import numpy as np
from program.rolled import ROLLED, arguments

from mozzi.program.meaning import interpret
from mozzi.program.node import Node
from mozzi.program.program import Input, trace
from mozzi.program.scalar import atan2, cos, sin
from mozzi.program.schedule import CALLS, live_values, schedule


def tree(x, y):
    """All products first, then their sum: as many values live as there are products."""
    products = [a * b for a in x for b in y]
    angles = [sin(p) for p in products[:3]] + [cos(products[4] + sin(x[0]))]
    total = products[0]
    for p in products[1:]:
        total = total + p
    return total, atan2(angles[0] + angles[3], angles[1])


def program():
    return trace(tree, [Input("x", (7,)), Input("y", (7,))])


def test_every_value_stands_behind_its_operands():
    seen = set()
    for s in schedule(program()).region.statements:
        assert all(id(x) in seen for x in s.args)
        seen.add(id(s))


def test_the_program_stays_the_same():
    before = program()
    after = schedule(before)
    x = [np.linspace(0.1, 2, 7), np.linspace(-1, 1, 7)]
    assert interpret(before, x) == interpret(after, x)
    assert sorted(map(id, before.region.statements)) == sorted(map(id, after.region.statements))
    assert before.operations == after.operations
    for make in ROLLED.values():
        rolled = make().program
        args = arguments(rolled)
        found = interpret(schedule(rolled), args)
        assert all(map(np.array_equal, found, interpret(rolled, args)))
        assert schedule(rolled).operations == rolled.operations


def test_fewer_values_are_live():
    assert live_values(schedule(program())) < live_values(program()) - 10


def test_calls_come_first_in_phases():
    ops = [s.op for s in schedule(program()).region.statements if isinstance(s, Node)]
    calls = [k for k, op in enumerate(ops) if op in CALLS]
    assert ops[calls[0]] in ("sin", "cos") and ops[calls[-1]] == "atan2"
    between = ops[calls[0] : calls[-1]]
    assert between.count("add") == 2  # only what the later calls need


def test_sweeps_that_carry_much_are_interleaved():
    """All cells first, then a walk over them: each cell is made when the walk comes to it."""

    def sweeps(x):
        cells = [[x[k] + n * sin(x[k - 1]) for n in range(5)] for k in range(400)]
        walk = x[0]
        for a, b, c, d, e in cells:
            walk = (a * walk + b) * c + d * walk + e
        return walk

    before = trace(sweeps, [Input("x", (400,))])
    after = schedule(before)
    assert live_values(before) > 1500 and live_values(after) < 600
    x = [np.cos(np.arange(400.0)) * 0.1]
    assert interpret(before, x) == interpret(after, x)
    seen = set()
    for s in after.region.statements:
        assert all(id(y) in seen for y in s.args)
        seen.add(id(s))
