"""Closures on no common ring are independent of one another: ranks of groups add up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.loop_models import pose, rod

import mozzi as mz
from mozzi.algorithms.constraints.closure_groups import _blocks, closure_groups
from mozzi.algorithms.constraints.overconstrained import overconstrained, rows_in_all
from mozzi.model.generate import LINKAGES, chain, n_four_bar
from mozzi.model.join import joined


def groups(model: mz.Model, held: np.ndarray | None = None) -> list[mz.Model]:
    held = np.zeros(model.nv, dtype=bool) if held is None else held
    return [x.alone for x in closure_groups(model, held)]


def wild(seed: int) -> mz.Model:
    """A tree at random, a third of it on six freedoms, closures between any two bodies."""
    rng = np.random.default_rng(seed)
    six = mz.Composite(*(mz.Cylindrical(axis) for axis in "xyz"))
    kinds = [mz.Revolute, mz.Cylindrical, mz.Universal, mz.Spherical, mz.Free, lambda: six]
    b, names = mz.Builder("wild"), [None]
    for k in range(9):
        joint = kinds[rng.integers(len(kinds))]()
        b.add(f"{k}", names[rng.integers(len(names))], joint.between(pose(rng), pose(rng)), rod(1))
        names.append(f"{k}")
    for k in range(rng.integers(1, 5)):
        x, y = rng.choice(len(names), 2, replace=False)
        if rng.random() < 0.4:
            p, r = rng.normal(size=(2, 3))
            b.distance(f"rod_{k}", names[x], names[y], p, r, length=1.0)
        else:
            joint = kinds[rng.integers(4)]()
            b.loop(f"loop_{k}", names[x], names[y], joint, pose(rng), pose(rng))
    model = b.build()
    flat = [x.joint_name for x in model if x.joint.flat and x.joint.nv < 6]
    if len(flat) > 1 and rng.random() < 0.5:
        ends = rng.choice(flat, 2, replace=False)
        model = model.with_coupling("gear", {str(ends[0]): 1.0, str(ends[1]): -0.7})
    return model


def ranks(model: mz.Model, seed: int, held: np.ndarray | None = None) -> int:
    q = model.random_configuration(seed, closed=False)
    A = mz.loop_jacobian(model, q)
    A = A if held is None else A[:, ~held]
    return int(np.linalg.matrix_rank(A, tol=1e-8)) if A.size else 0


@pytest.mark.parametrize("seed", range(30))
def test_ranks_of_groups_add_up(seed: int):
    """In configurations at random, open ones, to the rank of the whole; with coordinates held."""
    model = wild(seed)
    assert sum(ranks(x, seed) for x in groups(model)) == ranks(model, seed)
    held = np.random.default_rng(seed).random(model.nv) < 0.3
    found = closure_groups(model, held)
    assert sum(ranks(x.alone, seed, x.held) for x in found) == ranks(model, seed, held)


def test_lines_on_a_common_ring_are_one_block():
    """By definition: two lines that some ring contains, found by trying."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        count = int(rng.integers(2, 6))
        lines = [tuple(map(int, rng.integers(-1, count, 2))) for _ in range(rng.integers(1, 8))]
        blocks = _blocks(count, lines)
        some = [itertools.combinations(range(len(lines)), n + 1) for n in range(len(lines))]
        rings = [set(x) for x in itertools.chain(*some) if _ring(lines, x)]
        for a, b in itertools.combinations(range(len(lines)), 2):
            assert (blocks[a] == blocks[b]) == any({a, b} <= ring for ring in rings)


def _ring(lines: list[tuple[int, ...]], some: tuple[int, ...]) -> bool:
    """Whether lines are one ring: each point has two of their ends, and one walk sees them all."""
    ends = [k for n in some for k in lines[n]]
    if any(ends.count(k) != 2 for k in ends):
        return False
    left, at = set(some[1:]), lines[some[0]][1]
    while left:
        n = next((n for n in left if at in lines[n]), None)
        if n is None:
            return False
        a, b = lines[n]
        left, at = left - {n}, b if a == at else a
    return True


def test_linkages_that_have_nothing_to_do_with_one_another():
    """Two of a kind beside a long arm: one model by itself, found as it is found alone."""
    part, arm = LINKAGES["bennett"](3).model(["joint_2"]), chain(20)
    one = joined("one", {"arm": arm, "a": part, "b": part})
    two = groups(one)
    assert len(two) == 2 and two[0] is two[1] and two[0].nv == part.nv
    assert overconstrained(one) and rows_in_all(one) == 2 * rows_in_all(part)
    assert groups(n_four_bar(3)) == [n_four_bar(3)]
