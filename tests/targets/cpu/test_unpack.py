"""Results reach the caller's rows: any row length, alignment, map and batch, and nothing beside."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mozzi.program.program import Input, Program, trace
from mozzi.program.scalar import Real
from mozzi.targets.cpu import jit
from mozzi.targets.cpu.build import compile_cpu
from mozzi.targets.cpu.results import Results

UNTOUCHED = -7.0


def repeating(n: int) -> Program:
    """A result of n elements: zeros, constants, the argument itself, values in several places."""

    def function(x: np.ndarray) -> np.ndarray:
        out: list[Real] = [
            0.0 if k % 3 == 0 else 2.5 if k % 11 == 1 else x[k % 7] * (1.0 + k % 5)
            for k in range(n)
        ]
        return np.array(out, dtype=object)

    return trace(function, [Input("x", (7,))], "repeating")


def distinct(n: int) -> Program:
    def function(x: np.ndarray) -> np.ndarray:
        return np.array([x[k % 7] * (k + 2.0) for k in range(n)], dtype=object)

    return trace(function, [Input("x", (7,))], "distinct")


def expected(make: object, x: np.ndarray, n: int) -> np.ndarray:
    k = np.arange(n)
    if make is distinct:
        return x[:, k % 7] * (k + 2.0)
    values = x[:, k % 7] * (1.0 + k % 5)
    return np.where(k % 3 == 0, 0.0, np.where(k % 11 == 1, 2.5, values))


@pytest.mark.parametrize("make", [distinct, repeating])
@pytest.mark.parametrize(
    ("dtype", "lanes"), [("float64", 2), ("float64", 4), ("float64", 8), ("float32", 16)]
)
def test_rows_of_any_length_and_alignment(make, dtype, lanes):
    """Every element of every row is its own, and the gaps between the rows stay as they were: rows
    that start anywhere, and where lines and halves of lines do.
    """
    item, rng = np.dtype(dtype).itemsize, np.random.default_rng(0)
    for n in (5, 31, 32, 37, 64, 103):
        kernel = compile_cpu(make(n), dtype, lanes=lanes)
        for batch in (1, 8, 19):
            x = rng.normal(size=(batch, 7)).astype(dtype)
            want = expected(make, x, n).astype(dtype)
            for shift, gap in product(range(8), (3, -n % 8, -n % 8 + 4)):
                raw = np.full(batch * (n + gap) + 32, UNTOUCHED, dtype)
                first = -raw.ctypes.data % 64 // item + shift
                steps = (n + gap) * item, item
                out = np.lib.stride_tricks.as_strided(raw[first:], (batch, n), steps)
                kernel(x, out=out)
                assert np.array_equal(out, want)
                out[:] = UNTOUCHED
                assert np.all(raw == UNTOUCHED)
            columns = np.empty((n, batch), dtype).T
            assert np.array_equal(kernel(x, out=columns), want)


@pytest.mark.parametrize("n", [1000, 1003, 1004])
@pytest.mark.parametrize("make", [distinct, repeating])
def test_many_rows_go_past_the_caches(make, n):
    """A batch whose results are streamed is the same, bit by bit, as its parts."""
    kernel = compile_cpu(make(n), "float64")
    x = np.random.default_rng(1).normal(size=(2101, 7))  # 16.9 MB
    whole = kernel(x)
    parts = np.concatenate([kernel(part) for part in np.array_split(x, 5)])
    assert np.array_equal(whole, parts)
    assert np.array_equal(whole, expected(make, x, n))


def test_a_value_is_stored_once():
    """Zeros, constants and repeated values have one place each; what is in order needs no map."""
    results = Results.of(repeating(70))
    assert set(results.constants.values()) == {0.0, 2.5}
    assert results.size == len(results.slots) + 2 <= 7 * 5 + 2
    assert Results.of(distinct(70)).operands[0].slots is None


def test_rows_that_start_between_numbers():
    """Arrays whose numbers lie across words are written as well."""
    n, batch = 40, 16
    raw = np.zeros(8 * batch * n + 64, np.uint8)
    out = raw[3 : 3 + 8 * batch * n].view(np.dtype("float64")).reshape(batch, n)
    x = np.random.default_rng(2).normal(size=(batch, 7))
    kernel = compile_cpu(repeating(n), "float64", lanes=jit.lanes("float64"))
    kernel(x, out=out)
    assert np.array_equal(out, expected(repeating, x, n))


@pytest.mark.parametrize("n", [32, 33, 64, 71])
def test_a_map_holds_what_is_looked_at(n):
    """Behind the last whole block of eight columns another one is looked at, all of it."""
    source = compile_cpu(repeating(n), "float64").source
    entries = int(source.split("@map1 = private constant [")[1].split(" x i32]")[0])
    assert entries >= n // 8 * 8 + 8
