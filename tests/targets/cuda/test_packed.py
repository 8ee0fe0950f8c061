"""Packed results in CUDA C: every value once, by rows and by columns, as the CPU computes them."""

import numpy as np
import pytest
from targets.cuda.shim import COMPILER
from targets.cuda.test_composed import all_composed, launched, on_the_cpu  # noqa: F401
from targets.cuda.test_source import inputs_of

import mozzi as mz
from mozzi.model.generate import tree
from mozzi.program.packing import Packing
from mozzi.targets.cuda import tiles
from mozzi.targets.cuda.composed import ComposedKernel
from mozzi.targets.cuda.kernel import CudaKernel
from mozzi.targets.cuda.limb_source import LimbSource
from mozzi.targets.cuda.tiles import TileSource

MODEL = tree(9, seed=5)
N = 43
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")


def packed(function, dtype="float64", **options):
    return mz.compile(function, MODEL, target="cuda", dtype=dtype, layout="packed", **options)


def check(kernel, function, found, args, tolerance):
    """dense(packed) is the result."""
    exact = mz.compile(function, MODEL)(*args)
    exact = exact if isinstance(exact, tuple) else (exact,)
    for values, packing, x in zip(found, kernel.packings, exact, strict=True):
        assert values.shape == (len(args[0]), packing.size)
        y = packing.dense(np.ascontiguousarray(values, float))
        np.testing.assert_allclose(y, x, rtol=0, atol=tolerance * np.max(np.abs(x)))


@needs_compiler
@pytest.mark.parametrize(
    ("function", "dtype", "columns"),
    [
        (mz.mass_matrix_inverse, "float32", True),
        (mz.forward_dynamics_derivatives, "float64", False),
    ],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_rows_of_parts_keep_what_is_packed(tmp_path, all_composed, function, dtype, columns):  # noqa: F811
    """Products with M⁻¹, of which every number is written once; the last tile is not full."""
    kernel = packed(function, dtype)
    assert isinstance(kernel, ComposedKernel) and kernel.parts[0] is not kernel.program
    args = inputs_of(MODEL, function.required, 19)
    found = on_the_cpu(tmp_path, kernel, args, columns)
    check(kernel, function, found, args, 1e-9 if dtype == "float64" else 2e-3)


@needs_compiler
@pytest.mark.parametrize("limbs", [False, True])
@pytest.mark.parametrize(
    "function", [mz.mass_matrix, mz.inverse_dynamics_derivatives], ids=lambda f: f.__name__
)
def test_numbers_go_where_their_column_is(tmp_path, monkeypatch, function, limbs):
    """One launch, whatever leaves the registers; one warp, or one for every limb."""
    monkeypatch.setattr(tiles, "REGISTERS", 40)
    monkeypatch.setattr(tiles, "KEPT_BYTES", 0)
    kernel = packed(function)
    assert kernel.by_columns
    if limbs:
        source = LimbSource(kernel.program, "float64", columns=True)
        assert source.many > 1
    else:
        source = TileSource(kernel.program, "float64", columns=True)
    args = inputs_of(MODEL, function.required, N)
    arrays = [np.ascontiguousarray(x.reshape(N, -1)) for x in args]
    results = [np.full((y.size, N), np.nan) for y in kernel.outputs]
    words = [x.ctypes.data for x in (*arrays, *results)]
    threads = getattr(source, "threads", 32)
    kinds = "p" * len(words)
    launched(tmp_path, source.text, threads, source.shared, 32, kinds, N, words)
    check(kernel, function, [y.T for y in results], args, 1e-9)


def test_the_map_is_that_of_the_cpu():
    for function in (mz.mass_matrix, mz.inverse_dynamics_derivatives, mz.coriolis_matrix):
        here = mz.compile(function, MODEL, layout="packed").packings
        for x, y in zip(packed(function).packings, here, strict=True):
            assert np.array_equal(x.places, y.places) and np.array_equal(x.constants, y.constants)


def test_loops_stay_by_rows_and_derivatives_are_not_packed(all_composed):  # noqa: F811
    """Nothing is known of what loops leave in memory; what is differentiated has other results."""
    from mozzi.program.products import pullback

    kernel = packed(mz.mass_matrix, rolled=True)
    assert type(kernel) is CudaKernel and not kernel.by_columns
    whole = packed(mz.mass_matrix_inverse)
    assert {"parts", "packings"} <= set(whole.program.notes)
    assert not {"parts", "packings"} & set(pullback(whole.program, (0,)).notes)
    known = mz.compile(mz.mass_matrix_inverse, MODEL, target="cuda", parameters=["body_3.mass"])
    assert "parts" not in known.program.notes  # they would be of the model as it is


def test_which_element_a_value_is_first():
    packing = Packing(np.array([[0, 1, -1], [1, 2, 0]]), np.zeros((2, 3)), 3)
    assert packing.first.tolist() == [0, 1, 4]
