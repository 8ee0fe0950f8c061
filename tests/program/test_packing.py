"""Packed results are the dense ones without what is known or said twice."""

from __future__ import annotations

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import tree

FUNCTIONS = (
    "mass_matrix", "mass_matrix_inverse", "body_jacobians", "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives", "coriolis_matrix",
)  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("rolled", [None, True])
def test_packed_results_are_the_dense_ones(name, rolled):
    """dense(packed) is the result bit by bit, on random trees, batched and not."""
    model = tree(9, seed=4)
    function = getattr(mz, name)
    rng = np.random.default_rng(0)
    arrays = [model.random_configuration(rng, batch=(13,))]
    arrays += [rng.normal(size=(13, model.nv)) for _ in function.required[1:]]
    dense = mz.compile(function, model, rolled=rolled)(*arrays)
    kernel = mz.compile(function, model, rolled=rolled, layout="packed")
    for case in (arrays, [x[5] for x in arrays]):
        packed = kernel(*case)
        results = packed if isinstance(packed, tuple) else (packed,)
        wanted = dense if isinstance(dense, tuple) else (dense,)
        for values, packing, want in zip(results, kernel.packings, wanted, strict=True):
            assert values.shape == (*case[0].shape[:-1], packing.size)
            here = want if case is arrays else want[5]
            assert np.array_equal(packing.dense(values), here)


def test_a_mass_matrix_is_packed_by_branches_and_halves():
    """Of M what is nonzero in its lower half: a value for every joint and one on its way."""
    model = tree(9, seed=4)
    kernel = mz.compile(mz.mass_matrix, model, layout="packed")
    (packing,) = kernel.packings
    ways = sum(len(list(_way(model, i))) for i in range(model.nb))
    known = np.count_nonzero(np.tril(packing.constants))  # moments about the joints of tips
    assert packing.size + known == ways < model.nv**2 / 2
    assert np.array_equal(packing.places, packing.places.T)
    with pytest.raises(ValueError, match=f"give \\(…, {packing.size}\\)"):
        packing.dense(np.zeros(packing.size + 1))


def _way(model, i):
    while i >= 0:
        yield i
        i = model.parents[i]


def test_layouts_that_are_none():
    model = tree(3)
    with pytest.raises(mz.ConfigurationError, match="no layout 'sparse'; there are"):
        mz.compile(mz.mass_matrix, model, layout="sparse")  # pyright: ignore[reportArgumentType]
    with pytest.raises(mz.ConfigurationError, match="is for target 'cpu', not 'interpret'"):
        mz.compile(mz.mass_matrix, model, "interpret", layout="packed")
