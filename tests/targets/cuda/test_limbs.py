"""Large programs of robots with limbs, whose warps share the same samples."""

import numpy as np
import pytest
from targets.cuda.shim import COMPILER
from targets.cuda.test_composed import all_composed, launched, on_the_cpu  # noqa: F401
from targets.cuda.test_source import inputs_of

import mozzi as mz
from mozzi.algorithms.derivatives.parts import limbs_of
from mozzi.model.generate import chain, tree
from mozzi.program.node import Node
from mozzi.targets.cuda import limb_source
from mozzi.targets.cuda.limb_source import LimbSource
from mozzi.targets.cuda.limbs import divided, sides_of
from mozzi.targets.cuda.spill import Barrier
from mozzi.targets.cuda.statements import _pairs

MODEL = tree(9, seed=5)


def program_of(function, model=MODEL):
    return mz.compile(function, model, target="cuda", dtype="float64").program


def test_limbs_end_in_tips_and_have_no_branches():
    """The trunk is what several tips hang on; a chain is one limb, which nothing divides."""
    limbs = limbs_of(MODEL)
    assert len(limbs["q"]) == MODEL.nq and len(limbs["v"]) == len(limbs["tau"]) == MODEL.nv
    limb = [limbs["v"][MODEL.v_offsets[k]] for k in range(MODEL.nb)]
    children = [[j for j in range(MODEL.nb) if MODEL.parents[j] == k] for k in range(MODEL.nb)]
    for k in range(MODEL.nb):
        if limb[k] >= 0:
            assert len(children[k]) <= 1 and all(limb[j] == limb[k] for j in children[k])
        else:
            assert children[k]
    assert len(set(limb) - {-1}) == sum(not x for x in children)
    assert set(limbs_of(chain(5, seed=1))["v"]) == {0}
    assert sides_of(program_of(mz.forward_dynamics, chain(5, seed=1))) == (1, {})
    assert sides_of(program_of(mz.forward_dynamics))[0] >= 2


def test_sides_have_what_they_need():
    """Every value that a side uses it has computed before, or another side has, before a barrier
    that both passed; all sides meet the same barriers; every number of the results is written once.
    """
    program = program_of(mz.forward_dynamics)
    many, elements = sides_of(program)
    pairs = _pairs(program)
    sides = divided(program, elements, many, pairs)
    barriers = [sum(isinstance(s, Barrier) for s in side.order) for side in sides]
    assert len(set(barriers)) == 1 and barriers[0] >= 1
    sent = {}
    for side in sides:
        turn, made = 0, {}
        for s in side.order:
            if isinstance(s, Barrier):
                turn += 1
            else:
                made.update((id(x), turn) for x in pairs.get(id(s), (s,)))
        sent |= {p.first: made[id(p.values[0])] for p in side.sent}
    for side in sides:
        turn, made = 0, set()
        for s in side.order:
            if isinstance(s, Barrier):
                turn += 1
                continue
            assert isinstance(s, Node)
            for x in s.args:
                if x.op not in ("const", "input") and id(x) not in made:
                    assert sent[side.received[id(x)]] < turn
            made.update(id(x) for x in pairs.get(id(s), (s,)))
    numbers = [(p.output, p.first) for side in sides for p in side.pieces]
    assert sorted(numbers) == [(0, j) for j in range(MODEL.nv)]
    most = max(sum(isinstance(s, Node) for s in side.order) for side in sides)
    assert most < 0.8 * len(program.region.statements)


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")
@pytest.mark.parametrize("packed", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_rows_of_limbs(tmp_path, monkeypatch, packed):
    """Forward dynamics by warps that share samples, a block that is not full, few
    registers.
    """
    monkeypatch.setattr(limb_source, "REGISTERS", 24)
    monkeypatch.setattr(limb_source, "SHARED_BYTES", 60 * 1024)
    program = program_of(mz.forward_dynamics)
    source = LimbSource(program, "float64", packed, rows=True)
    assert source.many >= 2 and "far[" in source.text and "meet();" in source.text
    args = [x.reshape(len(x), -1) for x in inputs_of(MODEL, ("q", "v", "tau"), 40)]
    laid = args if packed else [np.asfortranarray(x) for x in args]
    found = np.full((40, MODEL.nv), np.nan)
    words = []
    for x in (*laid, found):
        words += [x.ctypes.data] if packed else [x.ctypes.data, *(s // 8 for s in x.strides)]
    kinds = ("p" if packed else "pii") * 4
    launched(tmp_path, source.text, source.threads, source.shared, 32, kinds, 40, words)
    exact = mz.forward_dynamics(MODEL, *args)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-9 * np.max(np.abs(exact)))


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")
def test_tiles_of_limbs(tmp_path, all_composed, monkeypatch):  # noqa: F811
    """Derivatives of forward dynamics of few samples: both parts by limbs, the second with the
    acceleration of the first.
    """
    kernel = mz.compile(mz.forward_dynamics_derivatives, MODEL, target="cuda", dtype="float64")
    plain = kernel._sources

    def by_limbs(packed):
        return [
            LimbSource(x.program, "float64", packed, taken=x.taken) for x in plain(packed=packed)
        ]

    monkeypatch.setattr(kernel, "_sources", by_limbs)
    assert all(x.many >= 2 for x in by_limbs(True))
    args = inputs_of(MODEL, ("q", "v", "tau"), 19)
    exact = mz.compile(mz.forward_dynamics_derivatives, MODEL)(*args)
    for y, x in zip(on_the_cpu(tmp_path, kernel, args), exact, strict=True):
        np.testing.assert_allclose(y, x, rtol=0, atol=1e-9 * np.max(np.abs(x)))
