"""Dask arrays and xarray objects: algorithms take them and give them back, chunk by chunk."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import mozzi as mz
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.algorithms.calls.arguments import shape_of
from mozzi.model.generate import chain, four_bar

da = pytest.importorskip("dask.array")
xr = pytest.importorskip("xarray")
ARM = chain(3, seed=2)
ALGORITHMS = [n for n in sorted(mz.__all__) if isinstance(getattr(mz, n), Algorithm)]
RNG = np.random.default_rng(0)
Q, V, TAU = RNG.normal(size=(3, 20, 3))


def counting(calls):
    def block(x, block_info=None):
        calls.append(1)
        return x

    return block


def test_dask_arrays_stay_lazy():
    calls = []
    q = da.from_array(Q, chunks=(6, 3)).map_blocks(counting(calls), dtype=float)
    calls.clear()
    for _ in range(2):  # the second call finds the kernel
        a = mz.forward_dynamics(ARM, q, V[0], TAU[0])
        assert isinstance(a, da.Array) and a.shape == (20, 3) and a.chunks[0] == (6, 6, 6, 2)
    assert not calls
    np.testing.assert_array_equal(a.compute(), mz.forward_dynamics(ARM, Q, V[0], TAU[0]))
    assert len(calls) == 4


def test_several_results_options_and_core_axes_in_several_chunks():
    q = da.from_array(Q, chunks=(7, 2))
    found = mz.inverse_dynamics_derivatives(ARM, q, V, TAU)
    exact = mz.inverse_dynamics_derivatives(ARM, Q, V, TAU)
    for a, b in zip(found, exact, strict=True):
        np.testing.assert_allclose(a.compute(), b, atol=1e-13)
    pose = mz.pose(ARM, q, ARM.bodies[-1])
    assert isinstance(pose, da.Array) and pose.shape == (20, 4, 4)
    np.testing.assert_allclose(pose.compute(), mz.pose(ARM, Q, ARM.bodies[-1]), atol=1e-14)


def test_models_with_loops():
    model = four_bar()
    q = np.array([mz.assemble(model, [x, 0.5, 1.5]) for x in (0.2, 0.3, 0.4)])
    lazy = da.from_array(q, chunks=(2, 3))
    v, tau = np.zeros(3), np.ones(3)
    for _ in range(2):
        found = mz.forward_dynamics(model, lazy, v, tau)
        assert isinstance(found, da.Array)
        np.testing.assert_allclose(found, mz.forward_dynamics(model, q, v, tau), atol=1e-12)


def test_compiled_kernels_with_parameters():
    kernel = mz.compile(mz.mass_matrix, ARM, parameters=[f"{ARM.bodies[0]}.density"])
    p = da.from_array(np.linspace(0.5, 2.0, 20)[:, None], chunks=(8, 1))
    found = kernel(Q, p)
    assert isinstance(found, da.Array)
    np.testing.assert_allclose(found.compute(), kernel(Q, p.compute()), atol=1e-13)


@pytest.mark.parametrize("lazy", [False, True])
def test_xarray_keeps_names_and_coordinates(lazy):
    names = {"run": np.arange(20), "joint": list(ARM.v_names)}
    q = xr.DataArray(Q, dims=("run", "coordinate"), coords={"run": names["run"]})
    v = xr.DataArray(V, dims=("run", "joint"), coords=names)
    if lazy:
        q = q.chunk({"run": 6})
    a = mz.forward_dynamics(ARM, q, v, TAU[0])
    assert a.dims == ("run", "joint") and list(a.coords["joint"].values) == list(ARM.v_names)
    assert isinstance(a.data, da.Array) == lazy
    np.testing.assert_allclose(a.values, mz.forward_dynamics(ARM, Q, V, TAU[0]), atol=1e-13)
    T = mz.forward_kinematics(ARM, q)
    assert T.dims[0] == "run" and T.shape == (20, 3, 4, 4)
    with pytest.raises(ValueError, match="batch axes without names"):
        mz.forward_dynamics(ARM, q, V, TAU)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm(name):
    """Dask's chunk by chunk, xarray's by the names of axes."""
    function, tip = getattr(mz, name), ARM.bodies[-1]
    options = {"source": "body", "target": "spatial", "frames": (tip,)}
    needs = [k for k, d in function.defaults.items() if d is inspect.Parameter.empty]
    given = {k: options.get(k, tip) for k in needs}
    sizes = {"order": function.defaults.get("order", 0), "frames": (tip,)}
    arrays = {k: RNG.normal(size=(5, *shape_of(k, ARM, sizes))) for k in function.required}
    exact = function(ARM, **arrays, **given)
    chunks = {k: da.from_array(x, chunks=(2, *x.shape[1:])) for k, x in arrays.items()}
    named = {
        k: xr.DataArray(x, dims=("sample", *(f"{k}{i}" for i in range(x.ndim - 1))))
        for k, x in arrays.items()
    }
    for kind, lazy in ((da.Array, chunks), (xr.DataArray, named)):
        found = function(ARM, **lazy, **given)
        pairs = zip(found, exact, strict=True) if isinstance(exact, tuple) else [(found, exact)]
        for a, b in pairs:
            assert isinstance(a, kind) and a.shape == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(b).max(initial=1.0))
