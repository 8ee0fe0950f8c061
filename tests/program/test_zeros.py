"""Zeros in memory: rolled programs have no operations that straight-line ones do without."""

import numpy as np
import pytest
from algorithms.recursion.test_recorded_programs import ALGORITHMS, LARGE, options, traced
from support.cases import first
from support.kinematic_models import branched
from support.mechanics import agree, program_value, state

import mozzi as mz
from mozzi import compiler
from mozzi.compiler import program_of
from mozzi.model.generate import chain, n_four_bar, pendulum, random_tree
from mozzi.program.meaning import MEANING, Run, interpret
from mozzi.program.passes import prune
from mozzi.program.places import places_of
from mozzi.program.program import Buffer, Input, load, loop, store, trace
from mozzi.program.zeros import fold_zeros


class Touching(Run):
    """A run of the interpreter that looks where each statement reads and writes."""

    def __init__(self, arguments, places):
        super().__init__(arguments, MEANING)
        self.places, self.flags = places, {}
        self.met = 0

    def value(self, s):
        if s.op == "load":
            buffer, index, stride, offset = s.address
            self._within(s, buffer, self.index(index) * stride + offset)
        return super().value(s)

    def region(self, region):
        for s in region.statements:
            if type(s).__name__ == "Store":
                self._within(s, s.buffer, self.index(s.index) * s.stride + s.offset)
        super().region(region)

    def _within(self, s, buffer, where):
        if id(s) not in self.flags:
            self.flags[id(s)] = np.zeros(buffer.size, dtype=bool)
            self.flags[id(s)][self.places[id(s)]] = True
        assert self.flags[id(s)][where]
        self.met += 1


def programs(where):
    """Every algorithm on a mechanism, rolled; blocks of a matrix for each pair of many kinds."""
    if where == "branched":
        yield program_of(mz.system_jacobian, branched(), rolled=True)
        return
    for name in ALGORITHMS:
        program = traced(name, f"{where} rolled")
        if program is not None and program.rolled:
            yield program


@pytest.mark.parametrize("where", first(2, ["arm", "branched", "tree"]))
def test_statements_touch_the_places_that_are_told(where, monkeypatch):
    """As they are traced: bodies of several kinds, walks to the base inside loops, matrices."""
    monkeypatch.setattr(compiler, "fold_zeros", lambda program: program)
    monkeypatch.setattr(compiler, "prune", lambda program: program)
    met = 0
    for program in programs(where):
        run = Touching([np.full(x.size, 0.3) for x in program.inputs], places_of(program.region))
        with np.errstate(all="ignore"):
            run.region(program.region)
        met += run.met
    assert met > 1_000


def arms(n: int) -> mz.Model:
    """Two planar chains of n bodies, in planes that are turned and apart."""
    b = mz.Builder("arms")
    rod = mz.Inertia(1.0, (0.5, 0.0, 0.0), np.diag([0.01, 0.1, 0.1]))
    turned = mz.SE3.exp(mz.Twist.unflatten([0.3, 0.7, -0.2, 1.0, 2.0, 3.0]))
    for arm, start in (("a", mz.SE3.identity()), ("b", turned)):
        for k in range(n):
            at = start if k == 0 else mz.SE3.translation(1.0, 0.0, 0.0)
            parent = None if k == 0 else f"{arm}{k - 1}"
            b.add(f"{arm}{k}", parent, mz.Revolute("z").between(at), rod)
    return b.build()


@pytest.mark.parametrize("name", ["inverse_dynamics_gradient", "forward_dynamics_gradient"])
@pytest.mark.parametrize("make", [pendulum, arms], ids=["pendulum", "arms"])
def test_planar_mechanisms_are_planar_in_loops(make, name):
    """Rolled, they take as many operations as straight-line code, which has only those of the
    plane: a tenth of what the same number of bodies takes in space.
    """
    model = make(50)
    rolled, straight = (
        program_of(getattr(mz, name), model, rolled=rolled).flops for rolled in (True, False)
    )
    assert rolled < 1.2 * straight
    if make is pendulum:
        assert rolled < 0.25 * program_of(getattr(mz, name), chain(50), rolled=True).flops


@pytest.mark.parametrize("make", [pendulum, arms, n_four_bar], ids=["pendulum", "arms", "windows"])
@pytest.mark.parametrize("name", ["forward_dynamics", "forward_dynamics_gradient"])
def test_they_compute_the_same(make, name):
    """As straight-line code, in a plane and with one joint that leaves it."""
    model = make(4)
    loose = mz.Builder("more")
    for body in model:
        parent = None if body.parent < 0 else model.bodies[body.parent]
        loose.add(body.name, parent, body.joint, body.inertia)
    body = mz.Inertia(0.5, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    loose.add("tip", model.bodies[-1], mz.Revolute((0.6, 0.0, 0.8)), body)
    for m in (model, loose.build()):
        q, v, x, c = state(m, 1)
        given = (q, v, x, c)[: 4 if name.endswith("gradient") else 3]
        straight, rolled = (
            program_value(getattr(mz, name), m, *given, rolled=rolled) for rolled in (False, True)
        )
        for a, b in zip(np.atleast_2d(straight), np.atleast_2d(rolled), strict=True):
            agree(a, b, 1e-9)


def test_what_is_stored_late_is_not_taken_for_zero():
    """A number that a loop stores after it was read comes back in the next turn, and through
    another buffer one turn later.
    """

    def function(x):
        a, b = Buffer("a", 2, "scratch"), Buffer("b", 2, "scratch")
        out = Buffer("out", 1, "scratch")
        for _, _k in loop(0, 3):
            old = load(out, None, 0, 0)
            store(out, None, 0, 0, old + load(b, None, 0, 1) + load(a, None, 0, 0))
            store(b, None, 0, 1, load(a, None, 0, 1) * 2.0)
            store(a, None, 0, 1, x)
        return load(out, None, 0, 0)

    program = trace(function, [Input("x", ())])
    folded = prune(fold_zeros(program))
    assert interpret(folded, [[5.0]]) == interpret(program, [[5.0]]) == [[10.0]]
    loads = [s.address for s, _ in folded.walk() if getattr(s, "op", "") == "load"]
    assert ("a", 0) not in {(at.buffer.name, at.offset) for at in loads}  # nobody stores there


def test_what_sees_no_zeros_stays():
    """Values that no zero reaches are the same ones; those that are made anew find them, where they
    come before.
    """
    kept = []

    def function(x, y):
        a, out = Buffer("a", 1, "scratch"), Buffer("out", 3, "scratch")
        for _, _k in loop(0, 2):
            first = x * y
            kept.append(first)
            store(out, None, 0, 0, load(a, None, 0, 0) + first)  # the product itself
            store(out, None, 0, 1, (load(a, None, 0, 0) + x) * 3.0)  # comes later, not yet known
            store(out, None, 0, 2, x * 3.0 + load(out, None, 0, 2))
        return load(out, None, 0, 0), load(out, None, 0, 1), load(out, None, 0, 2)

    program = trace(function, [Input("x", ()), Input("y", ())])
    folded = fold_zeros(program)
    assert id(kept[0]) in {id(s) for s, _ in folded.walk()}
    assert prune(folded).length == 3  # two products and a sum
    assert interpret(folded, [[2.0], [5.0]]) == [[10.0], [6.0], [12.0]]


@pytest.mark.parametrize("where", first(1, ["arm", "tree"]))
def test_values_come_before_those_that_use_them(where):
    """In folded programs, in their own region or around it."""
    for program in programs(where):
        seen = set()
        for s, _ in program.walk():
            if hasattr(s, "args"):
                assert all(id(x) in seen for x in s.args)
                seen.add(id(s))


def test_infinite_numbers_times_zero_are_not_zero():
    """Only what is finite folds."""

    def function(x):
        a, out = Buffer("a", 1, "scratch"), Buffer("out", 1, "scratch")
        for _, _k in loop(0, 2):
            store(out, None, 0, 0, load(a, None, 0, 0) * (1.0 / x))
        return load(out, None, 0, 0)

    with np.errstate(all="ignore"):
        program = trace(function, [Input("x", ())])
        (value,) = interpret(fold_zeros(program), [[np.float64(0.0)]])
    assert np.isnan(value[0])


def wild(seed):
    """A tree with several roots, and children of joints of all kinds; axes of some are aligned."""
    model = random_tree(5 + seed % 4, seed)
    b = mz.Builder("wild")
    for k, body in enumerate(model):
        parent = None if body.parent < 0 else model.bodies[body.parent]
        joint = mz.Revolute("zyx"[k % 3]) if (k + seed) % 3 == 0 else body.joint
        b.add(body.name, parent, joint, body.inertia)
    b.frame("tip", model.bodies[-1], mz.SE3.translation(0.0, 0.25, 0.5))
    made = b.build()
    return made.with_dynamics(made.joint_names[0], armature=0.5, damping=0.25, stiffness=2.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_every_algorithm_gives_the_same_in_loops(seed):
    """Rolled and straight, on trees of several roots and kinds."""
    model, compared = wild(seed), 0
    for name in ALGORITHMS:
        function = getattr(mz, name)
        if name in LARGE:
            continue
        rolled, straight = (
            program_of(function, model, rolled=rolled, options=options(function, model))
            for rolled in (True, False)
        )
        sizes = {x.name: x.size for x in rolled.inputs}
        given = {x: 0.3 + 0.2 * np.cos(1.7 * np.arange(n) + n) for x, n in sizes.items()}
        for q in ("q", "q0", "q1"):
            if q in given:
                given[q] = model.normalize(given[q])
        with np.errstate(all="ignore"):
            pair = [interpret(p, list(given.values())) for p in (rolled, straight)]
        for a, b in zip(*pair, strict=True):
            agree(np.asarray(a, dtype=float), np.asarray(b, dtype=float), 1e-9)
            compared += len(a)
    assert compared > 1_000
