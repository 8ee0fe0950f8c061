"""On a GPU: packed results by columns and by rows, of CuPy arrays and PyTorch tensors."""

import numpy as np
import pytest
from targets.cuda.test_gpu import arguments, cupy, parts, same

import mozzi as mz
from mozzi.model.generate import tree
from mozzi.targets.cuda import composed
from mozzi.targets.cuda.composed import ComposedKernel

pytestmark = pytest.mark.gpu
__all__ = ["cupy"]
FUNCTIONS = (
    mz.mass_matrix, mz.mass_matrix_inverse, mz.inverse_dynamics_derivatives,
    mz.forward_dynamics_derivatives,
)  # fmt: skip


def dense(kernel, found):
    return tuple(p.dense(y) for p, y in zip(kernel.packings, parts(found), strict=True))


def layouts(kernel, found, n):
    """Whether results lie by columns."""
    size = kernel.dtype.itemsize
    strides = (x.strides if hasattr(x, "strides") else [size * k for k in x.stride()]
               for x in parts(found))  # fmt: skip
    return {tuple(s) == (size, size * n) for s in strides}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_packed_results(cupy, monkeypatch, function, dtype, large):
    """In new memory, in given rows and columns, with arguments of other strides; of one program and
    of several launches.
    """
    if large:
        monkeypatch.setattr(composed, "COMPOSED_NUMBERS", 0)
        monkeypatch.setattr(composed, "LIVE_VALUES", 0)
        monkeypatch.setattr(composed, "NUMBER_BYTES", 8)
    model = tree(9, seed=3)
    kernel = mz.compile(function, model, target="cuda", dtype=dtype, layout="packed")
    assert isinstance(kernel, ComposedKernel) or not large
    inputs = arguments(model, function.required, (333,), dtype)
    exact = mz.compile(function, model)(*(x.astype(float) for x in inputs))
    exact, tolerance = parts(exact), 1e-10 if dtype == "float64" else 2e-3
    there = [cupy.asarray(x) for x in inputs]
    found = kernel(*there)
    several = isinstance(kernel, ComposedKernel) and kernel.parts[0] is not kernel.program
    assert layouts(kernel, found, 333) == {not several}
    same(dense(kernel, found), exact, tolerance)
    for y in parts(found):
        y.fill(np.nan)
    kernel(*there, out=found)
    same(dense(kernel, found), exact, tolerance)
    rows = tuple(cupy.full(y.shape, np.nan, dtype) for y in parts(found))
    kernel(*there, out=rows[0] if kernel.single else rows)
    same(dense(kernel, rows), exact, tolerance)
    same(dense(kernel, kernel(*(cupy.ascontiguousarray(x.T).T for x in there))), exact, tolerance)
    same(dense(kernel, kernel(*(x[::2] for x in there))), tuple(x[::2] for x in exact), tolerance)
    assert parts(kernel(*(x[:0] for x in there)))[0].shape == (0, kernel.packings[0].size)


@pytest.mark.parametrize("samples", [100, 20_000])
def test_packed_tensors(cupy, samples):
    """Few samples with limbs on warps, and many; captured in a graph; gradients through dense."""
    torch = pytest.importorskip("torch")
    model, function = tree(16, seed=2), mz.inverse_dynamics_derivatives
    kernel = mz.compile(function, model, target="cuda", dtype="float32", layout="packed")
    inputs = arguments(model, function.required, (samples,), "float32")
    exact = function(model, *(x.astype(float) for x in inputs))
    there = [torch.tensor(x, device="cuda") for x in inputs]
    found = kernel(*there)
    assert layouts(kernel, found, samples) == {True} and isinstance(found[0], torch.Tensor)
    same(dense(kernel, found), exact, 2e-3)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(*there, out=found)
    for y in found:
        y.zero_()
    graph.replay()
    same(dense(kernel, found), exact, 2e-3)
    recorded = mz.compile(mz.mass_matrix, model, target="torch", dtype="float32", layout="packed")
    q = there[0].clone().requires_grad_()
    (slope,) = torch.autograd.grad(recorded.packings[0].dense(recorded(q)).sum(), [q])
    plain = mz.compile(mz.mass_matrix, model, target="torch", dtype="float32")
    (wanted,) = torch.autograd.grad(plain(q).sum(), [q])
    assert torch.allclose(slope, wanted, rtol=1e-3, atol=1e-3)
