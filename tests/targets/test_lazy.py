"""Dask arrays and xarray objects: algorithms take them and give them back, chunk by chunk."""

from __future__ import annotations

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain, four_bar

da = pytest.importorskip("dask.array")
xr = pytest.importorskip("xarray")
ARM = chain(3, seed=2)
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
