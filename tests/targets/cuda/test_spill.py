"""Large programs on a GPU: what leaves the registers, and slices of results by columns."""

import numpy as np
import pytest
from targets.cuda.shim import COMPILER, Shim
from targets.cuda.test_source import inputs_of

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import tree
from mozzi.program.node import Node
from mozzi.targets.cuda import slices, tiles
from mozzi.targets.cuda.source import CudaSource
from mozzi.targets.cuda.spill import Compute, Fetch, Keep, Piece, allocate
from mozzi.targets.cuda.tiles import TileSource

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")
FUNCTIONS = [
    mz.forward_dynamics, mz.mass_matrix_inverse, mz.inverse_dynamics_derivatives,
    pytest.param(mz.forward_dynamics_derivatives, marks=pytest.mark.slow),
]  # fmt: skip


@pytest.fixture
def small(monkeypatch):
    """Threads with few registers, so that small programs are large ones."""

    def set_to(registers=1, many=(1,), kept=0):
        monkeypatch.setattr(slices, "REGISTERS", registers)
        monkeypatch.setattr(slices, "KEPT_BYTES", kept)
        monkeypatch.setattr(slices, "SLICES", many)
        monkeypatch.setattr(slices, "NUMBER_BYTES", 8)
        monkeypatch.setattr(slices, "WORK", 0)
        monkeypatch.setattr(slices, "_time", lambda plans, size, shared: -len(plans))

    return set_to


@needs_compiler
@pytest.mark.parametrize(
    ("registers", "many", "packed", "dtype"),
    [
        (30, (1, 2, 3), True, "float32"),
        pytest.param(20, (1, 2), False, "float64", marks=pytest.mark.slow),
        pytest.param(8, (1,), True, "float64", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_divided_program_gives_the_same_bits(
    tmp_path, small, function, registers, many, packed, dtype
):
    """However few registers and however many slices: the operations are the same ones."""
    model = tree(6, seed=2)
    program = program_of(function, model, rolled=False)
    args = inputs_of(model, function.required)
    small(kept=1 << 30)
    whole = Shim(tmp_path, program, dtype, packed)
    small(registers, many)
    parts = Shim(tmp_path, program, dtype, packed, 32)
    assert not whole.plans and parts.plans
    assert len(parts.plans) == (1 if function is mz.forward_dynamics else many[-1])
    for y, x in zip(parts(*args), whole(*args), strict=True):
        np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("registers", [6, 20, 60])
def test_what_is_used_is_in_a_register(registers):
    """Every step finds its operands in registers, of which there are never too many, every slot
    holds the value that is fetched, and every number of the results is written once.
    """
    program = program_of(mz.inverse_dynamics_derivatives, tree(6, seed=2), rolled=False)
    order = [s for s in program.region.statements if s.op not in ("const", "input")]
    pieces = list(slices._pieces(program, range(1, 5), 3))
    plan = allocate(order, pieces, registers, {})
    held, slots, written = set(), {}, set()
    for k, step in enumerate(plan.steps):
        if isinstance(step, Fetch):
            assert step.value.op == "input" if step.slot < 0 else slots[step.slot] is step.value
            held.add(step.value)
        elif isinstance(step, Keep):
            assert step.value in held
            slots[step.slot] = step.value
            held.discard(step.value)
        else:
            needs = step.value.args if isinstance(step, Compute) else step.values
            assert all(x in held or x.op == "const" for x in needs)
            if isinstance(step, Compute):
                held.add(step.value)
            else:
                places = {(step.output, step.first + j) for j in range(len(step.values))}
                assert not places & written
                written |= places
        later = plan.steps[k + 1 :]
        if k % 40 == 0:
            assert len(_awaited(held, later)) <= registers + 3
    assert written == {(k, 6 * i + j) for k in range(3) for i in range(6) for j in range(1, 5)}
    assert plan.slots == len(slots)


def _awaited(held, steps):
    """Those of the values that are used before they are fetched again."""
    found, open_ = set(), set(held)
    for step in steps:
        if isinstance(step, Fetch):
            open_.discard(step.value)
        elif isinstance(step, (Compute, Piece)):
            used = step.value.args if isinstance(step, Compute) else step.values
            found |= open_ & {x for x in used if isinstance(x, Node)}
    return found


def test_programs_that_fit_are_left_alone():
    """What is fast in registers stays as it is: arms, and everything with loops."""
    model = tree(7, seed=3)
    for function in (mz.inverse_dynamics, mz.forward_dynamics, mz.mass_matrix):
        assert not CudaSource(program_of(function, model, rolled=False), "float32", True).plans
    program = program_of(mz.forward_dynamics_derivatives, model, rolled=False)
    assert not CudaSource(program, "float64", True).plans  # slower with doubles
    rolled = program_of(mz.forward_dynamics_derivatives, model, rolled=True)
    assert not CudaSource(rolled, "float32", True).plans


@pytest.mark.slow
def test_a_large_robot_is_divided(monkeypatch):
    """The derivatives of 15 bodies keep too much for one thread of 255 registers."""
    model = tree(15, seed=4)
    monkeypatch.setattr(slices, "WORK", 0)
    program = program_of(mz.inverse_dynamics_derivatives, model, rolled=False)
    source = CudaSource(program, "float32", True, 0, 32)
    assert len(source.plans) > 1 and source.shared == 4 * (9 + source.slots)
    each = 32 * source.shared + slices.BLOCK_BYTES
    assert source.warps > 1 and source.warps * each <= slices.SHARED_BYTES + slices.BLOCK_BYTES
    little = CudaSource(program, "float32", True, most_shared=8 * 1024)
    assert little.near == 0 < little.slots and little.shared == 4 * 9
    assert f"volatile T far[{little.slots}]" in little.text  # all of them in local memory
    written = sum(len(s.values) for p in source.plans for s in p.steps if isinstance(s, Piece))
    assert written == 3 * model.nv**2


@pytest.mark.parametrize("source", [CudaSource, TileSource])
def test_the_text_is_the_same_each_time(small, monkeypatch, source):
    """Machine code is kept on disk by its text, in which is nothing that memory decides."""
    small(30, (1, 2))
    monkeypatch.setattr(tiles, "KEPT_BYTES", 0)
    monkeypatch.setattr(tiles, "REGISTERS", 30)
    model = tree(9, seed=2)
    texts = {
        source(program_of(mz.inverse_dynamics_derivatives, model.with_name(name), rolled=False),
               "float32", True).text.partition("\n")[2]
        for name in "abc"
    }  # fmt: skip
    assert len(texts) == 1
