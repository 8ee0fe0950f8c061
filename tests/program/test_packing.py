"""Packed results are the dense ones without what is known or said twice."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import tree
from mozzi.program.packing import Packing

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
    wanted = "is for targets cpu, cuda, jax, torch, not 'interpret'"
    with pytest.raises(mz.ConfigurationError, match=wanted):
        mz.compile(mz.mass_matrix, model, "interpret", layout="packed")


@pytest.mark.parametrize("name", ["mass_matrix", "inverse_dynamics_derivatives"])
@pytest.mark.parametrize("target", ["torch", "jax"])
def test_packed_tensors_and_their_gradients(name, target):
    """dense(packed) is the result there, too, and its gradient that of the result."""
    library = pytest.importorskip(target)
    model, function = tree(6, seed=4), getattr(mz, name)
    rng = np.random.default_rng(0)
    arrays = [model.random_configuration(rng, batch=(5,))]
    arrays += [rng.normal(size=(5, model.nv)) for _ in function.required[1:]]
    if target == "jax":
        library.config.update("jax_enable_x64", True)
    kernel, dense = (
        mz.compile(function, model, target=target, layout=layout) for layout in ("packed", "dense")
    )

    def packed(*x):
        found = kernel(*x)
        found = found if isinstance(found, (tuple, list)) else (found,)
        return [p.dense(y) for p, y in zip(kernel.packings, found, strict=True)]

    def plain(*x):
        found = dense(*x)
        return found if isinstance(found, (tuple, list)) else (found,)

    def slope(f):
        if target == "jax":
            return library.grad(lambda q: sum((x**2).sum() for x in f(q, *arrays[1:])))(arrays[0])
        q = library.tensor(arrays[0], requires_grad=True)
        sum((x**2).sum() for x in f(q, *map(library.tensor, arrays[1:]))).backward()
        return q.grad

    given = arrays if target == "jax" else [library.tensor(x) for x in arrays]
    for x, y in zip(packed(*given), plain(*given), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-13, atol=1e-13)
    found, exact = (np.asarray(slope(f)) for f in (packed, plain))
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-9 * np.max(np.abs(exact)))


def test_a_result_of_constants_is_packed_into_nothing():
    packing = Packing(np.full((2, 2), -1), np.eye(2), 0)
    assert np.array_equal(packing.dense(np.zeros((3, 0))), np.tile(np.eye(2), (3, 1, 1)))
    torch = pytest.importorskip("torch")
    assert np.array_equal(packing.dense(torch.zeros(3, 0)), np.tile(np.eye(2), (3, 1, 1)))


def test_packed_kernels_travel_with_their_map():
    model = tree(4, seed=1)
    kernel = mz.compile(mz.mass_matrix, model, layout="packed")
    again = pickle.loads(pickle.dumps(kernel))
    q = model.random_configuration(np.random.default_rng(0))
    assert np.array_equal(again.packings[0].dense(again(q)), mz.mass_matrix(model, q))
