"""Scheduling: the same program, calls first, fewer values live."""

import numpy as np
from program.rolled import ROLLED, arguments

from mozzi.program.interpret import interpret
from mozzi.program.node import Scalar
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
    ops = [s.op for s in schedule(program()).region.statements if isinstance(s, Scalar)]
    calls = [k for k, op in enumerate(ops) if op in CALLS]
    assert ops[calls[0]] in ("sin", "cos") and ops[calls[-1]] == "atan2"
    between = ops[calls[0] : calls[-1]]
    assert between.count("add") == 2  # only what the later calls need
