"""On a GPU: programs of several launches, and with limbs, as XLA calls them."""

from itertools import pairwise

import numpy as np
import pytest
from targets.cuda.test_gpu import arguments, cupy, same

import mozzi as mz
from mozzi.model.generate import tree
from mozzi.targets.cuda import composed, launches, limb_source
from mozzi.targets.cuda.composed import ComposedKernel
from mozzi.targets.derivatives import find, register
from mozzi.targets.jax import ffi

pytestmark = pytest.mark.gpu
__all__ = ["cupy"]


def on_gpu(kernel, jax, inputs):
    """The results of a jitted call, which must be on the GPU."""
    found = jax.jit(kernel)(*map(jax.numpy.asarray, inputs))
    first = found[0] if isinstance(found, (tuple, list)) else found
    assert {x.platform for x in first.devices()} == {"gpu"}
    return found


@pytest.mark.parametrize("samples", [70, 20_000])
def test_forward_derivatives_in_parts(cupy, monkeypatch, samples):
    """The launches of the CUDA target, limbs where samples are few; XLA gives memory for tiles."""
    jax = pytest.importorskip("jax")
    monkeypatch.setattr(limb_source, "FEW_OPERATIONS", 0)
    model = tree(14, seed=2)
    kernel = mz.compile(mz.forward_dynamics_derivatives, model, target="jax", dtype="float32")
    inputs = arguments(model, ("q", "v", "tau"), (samples,), "float32")
    exact = mz.forward_dynamics_derivatives(model, *(x.astype(float) for x in inputs))
    same(on_gpu(kernel, jax, inputs), exact, 5e-3)
    key = register(kernel.program, "float32")
    assert isinstance(find(key).cuda, ComposedKernel)
    assert find(key).cuda.launches().differ_for_few
    name = ffi._target(key, "CUDA", (samples,))
    assert name in ffi._REGISTERED and name.endswith("_few") == (samples < 8192)


def test_portions_and_other_work_on_the_stream(cupy, monkeypatch):
    """Memory of one call serves the next ones, in the order of the stream."""
    jax = pytest.importorskip("jax")
    monkeypatch.setattr(composed, "COMPOSED_NUMBERS", 0)
    monkeypatch.setattr(composed, "LIVE_VALUES", 0)
    monkeypatch.setattr(launches, "PORTION_BYTES", 1)
    monkeypatch.setattr(launches, "PADDED", 64)
    model = tree(7, seed=8)
    kernel = mz.compile(mz.mass_matrix_inverse, model, target="jax", dtype="float32")
    q = jax.numpy.asarray(arguments(model, ("q",), (333,), "float32")[0])

    @jax.jit
    def several(q):
        found = [kernel(q * k) for k in range(1, 6)]
        return [x @ y for x, y in pairwise(found)]

    exact = [mz.mass_matrix_inverse(model, np.asarray(q, float) * k) for k in range(1, 6)]
    same(tuple(several(q)), tuple(x @ y for x, y in pairwise(exact)), 2e-3)


def test_gradients_and_vmap(cupy):
    """Gradients through derivatives, and vmap, which is a larger batch of the same launches."""
    jax = pytest.importorskip("jax")
    model = tree(12, seed=3)
    kernel = mz.compile(mz.forward_dynamics, model, target="jax", dtype="float32")
    inputs = arguments(model, ("q", "v", "tau"), (50,), "float32")
    exact = mz.forward_dynamics_derivatives(model, *(x.astype(float) for x in inputs))
    slopes = jax.grad(lambda *x: kernel(*x).sum(), argnums=(0, 1, 2))
    same(on_gpu(slopes, jax, inputs), tuple(x.sum(axis=1) for x in exact), 5e-3)
    many = mz.compile(mz.inverse_dynamics_derivatives, model, target="jax", dtype="float32")
    q, v, a = inputs
    table = jax.vmap(many, in_axes=(0, None, None))
    wanted = mz.inverse_dynamics_derivatives(
        model, q.astype(float)[:, None], v.astype(float), a.astype(float)
    )
    same(on_gpu(table, jax, inputs), wanted, 5e-3)
