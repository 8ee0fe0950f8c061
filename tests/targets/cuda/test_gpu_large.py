"""On a GPU: large programs, calls with tensors and numbers, and capture in graphs."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from targets.cuda.test_gpu import arguments, cupy, same

import mozzi as mz
from mozzi.model.generate import chain, tree
from mozzi.targets.cuda import composed, launches, slices, tiles
from mozzi.targets.cuda.composed import ComposedKernel

pytestmark = pytest.mark.gpu
__all__ = ["cupy"]
MATRICES = (mz.mass_matrix_inverse, mz.inverse_dynamics_derivatives)


@pytest.fixture
def few_registers(monkeypatch):
    """Small programs are large ones for threads with few registers."""
    monkeypatch.setattr(slices, "REGISTERS", 40)
    monkeypatch.setattr(slices, "KEPT_BYTES", 0)
    monkeypatch.setattr(slices, "NUMBER_BYTES", 8)
    monkeypatch.setattr(slices, "WORK", 0)
    monkeypatch.setattr(slices, "SLICES", (1, 2, 3))
    monkeypatch.setattr(slices, "_time", lambda plans, size, shared: -len(plans))
    monkeypatch.setattr(composed, "COMPOSED_NUMBERS", 1 << 30)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", [mz.forward_dynamics, *MATRICES], ids=lambda f: f.__name__)
def test_divided_programs(cupy, few_registers, function, dtype):
    model = tree(6, seed=2)
    kernel = mz.compile(function, model, target="cuda", dtype=dtype)
    inputs = arguments(model, function.required, (333,), dtype)
    exact = mz.compile(function, model)(*(x.astype(float) for x in inputs))
    tolerance = 1e-11 if dtype == "float64" else 2e-3
    same(kernel(*map(cupy.asarray, inputs)), exact, tolerance)
    assert kernel.packed.slices == (1 if function is mz.forward_dynamics else 3)
    columns = [cupy.ascontiguousarray(cupy.asarray(x).T).T for x in inputs]
    same(kernel(*columns), exact, tolerance)


def test_a_humanoid_keeps_values_in_shared_memory(cupy, monkeypatch):
    """The blocks of a multiprocessor more than 48 kB together, nothing in local memory."""
    monkeypatch.setattr(slices, "KEPT_BYTES", 0)
    model = tree(30, seed=4)
    kernel = mz.compile(mz.forward_dynamics, model, target="cuda", dtype="float32")
    inputs = arguments(model, ("q", "v", "tau"), (100,), "float32")
    exact = mz.forward_dynamics(model, *(x.astype(float) for x in inputs))
    same(kernel(*map(cupy.asarray, inputs)), exact, 1e-3)
    report = kernel.report()
    assert report["blocks"] * report["shared_bytes"] > 48 * 1024 and report["local_bytes"] < 200
    same(kernel(*(cupy.asarray(np.tile(x, (300, 1))) for x in inputs))[-100:], exact, 1e-3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", MATRICES, ids=lambda f: f.__name__)
def test_results_by_tiles(cupy, monkeypatch, function, dtype):
    """Rows, columns, results that are not aligned, and a last tile that is not full."""
    monkeypatch.setattr(composed, "COMPOSED_NUMBERS", 0)
    monkeypatch.setattr(composed, "LIVE_VALUES", 0)
    monkeypatch.setattr(composed, "NUMBER_BYTES", 8)
    monkeypatch.setattr(tiles, "KEPT_BYTES", 0)
    model = tree(9, seed=3)
    kernel = mz.compile(function, model, target="cuda", dtype=dtype)
    assert isinstance(kernel, ComposedKernel)
    inputs = arguments(model, function.required, (333,), dtype)
    exact = mz.compile(function, model)(*(x.astype(float) for x in inputs))
    tolerance = 1e-10 if dtype == "float64" else 2e-3
    there = [cupy.asarray(x) for x in inputs]
    same(kernel(*there), exact, tolerance)
    same(kernel(*(cupy.ascontiguousarray(x.T).T for x in there)), exact, tolerance)
    sizes = [y.size for y in kernel.outputs]
    whole = cupy.full(333 * sum(sizes) + 3, np.nan, dtype)
    ends = np.cumsum([1, *(333 * size for size in sizes)])
    out = tuple(
        whole[a:b].reshape(333, *y.shape) for a, b, y in zip(ends, ends[1:], kernel.outputs)
    )
    kernel(*there, out=out[0] if kernel.single else out)
    same(out[0] if kernel.single else out, exact, tolerance)
    assert cupy.isnan(whole[0]) and cupy.isnan(whole[ends[-1] :]).all()


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_forward_derivatives_in_parts(cupy, library, monkeypatch):
    model = tree(7, seed=1)
    monkeypatch.setattr(composed, "COMPOSED_NUMBERS", 0)
    monkeypatch.setattr(composed, "LIVE_VALUES", 0)
    monkeypatch.setattr(launches, "PORTION_BYTES", 1)  # portions of 64
    monkeypatch.setattr(launches, "PADDED", 64)
    kernel = mz.compile(mz.forward_dynamics_derivatives, model, target="cuda")
    assert isinstance(kernel, ComposedKernel)
    q, v, tau = arguments(model, ("q", "v", "tau"), (70,))
    if library == "torch":
        torch = pytest.importorskip("torch")
        there = lambda x: torch.tensor(x, device="cuda")
        empty = lambda *shape: torch.empty(shape, dtype=torch.float64, device="cuda")
    else:
        there, empty = cupy.asarray, lambda *shape: cupy.empty(shape)
    exact = mz.forward_dynamics_derivatives(model, q, v, tau)
    same(kernel(*map(there, (q, v, tau))), exact, 1e-9)
    out = tuple(empty(70, model.nv, model.nv) for _ in range(3))
    assert kernel(*map(there, (q, v, tau)), out=out) is out
    same(out, exact, 1e-9)
    one = mz.forward_dynamics_derivatives(model, q[0], v, tau)
    same(kernel(there(q[0]), there(v), there(tau)), one, 1e-9)
    if library == "cupy":
        columns = [cupy.ascontiguousarray(cupy.asarray(x).T).T for x in (q, v, tau)]
        same(kernel(*columns), exact, 1e-9)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_are_arguments_of_the_launch(cupy, dtype):
    """t, dt and steps as Python's numbers, as NumPy's, as arrays: one meaning."""
    torch = pytest.importorskip("torch")
    model = chain(4, seed=2)
    step = mz.stepper(model, torque=lambda t, q, v: -3.0 * t * q - v, target="cuda", dtype=dtype)
    q, v = arguments(model, ("q", "v"), dtype=dtype)
    exact = mz.stepper(model, torque=lambda t, q, v: -3.0 * t * q - v)(q, v, 0.25, 1e-3, 30)
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    full = lambda x: cupy.full(len(q), x, dtype)
    for on in (cupy.asarray, lambda x: torch.tensor(x, device="cuda")):
        here = on(q), on(v)
        same(step(*here, 0.25, 1e-3, 30), exact, tolerance)
        same(step(*here, np.float64(0.25), np.float64(1e-3), np.int64(30)), exact, tolerance)
    same(step(cupy.asarray(q), cupy.asarray(v), full(0.25), full(1e-3), full(30)), exact, tolerance)


def test_tensors_of_all_kinds(cupy):
    """Tensors that take the short way and those that take the long one."""
    torch = pytest.importorskip("torch")
    model = chain(5, seed=1)
    inputs = arguments(model, ("q", "v", "a"))
    exact = mz.inverse_dynamics(model, *inputs)
    kernel = mz.compile(mz.inverse_dynamics, model, target="cuda")
    q, v, a = there = [torch.tensor(x, device="cuda") for x in inputs]
    found = kernel(*there)
    assert isinstance(found, torch.Tensor)
    same(found, exact, 1e-12)
    same(kernel(q[::2], v[::2], a[::2]), exact[::2], 1e-12)
    same(kernel(q, v[0], a), mz.inverse_dynamics(model, inputs[0], inputs[1][0], inputs[2]), 1e-12)
    same(kernel(q.reshape(3, 100, 5), v.reshape(3, 100, 5), a.reshape(3, 100, 5)),
         exact.reshape(3, 100, 5), 1e-12)  # fmt: skip
    assert kernel(q[:0], v[:0], a[:0]).shape == (0, 5)
    with torch.cuda.stream(torch.cuda.Stream()):
        same(kernel(*there), exact, 1e-12)
    with pytest.raises(TypeError, match="float32"):
        kernel(q.float(), v, a)
    with pytest.raises((TypeError, RuntimeError), match="grad"):
        kernel(q.clone().requires_grad_(), v, a)


def test_gradients_by_the_short_way(cupy):
    torch = pytest.importorskip("torch")
    model = chain(4, seed=2)
    kernel = mz.compile(mz.forward_dynamics, model, target="torch")
    inputs = arguments(model, ("q", "v", "tau"), (50,))
    q, v, tau = there = [torch.tensor(x, device="cuda", requires_grad=True) for x in inputs]
    exact = mz.forward_dynamics_derivatives(model, *inputs)
    slopes = torch.autograd.grad(kernel(*there).sum(), there)
    same(slopes, tuple(x.sum(axis=1) for x in exact), 1e-11)
    (only,) = torch.autograd.grad(kernel(q.detach(), v, tau.detach()).sum(), [v])
    same(only, exact[1].sum(axis=1), 1e-11)
    (again,) = torch.autograd.grad(
        torch.autograd.grad(kernel(*there).sum(), [v], create_graph=True)[0].sum(), [v]
    )
    step = 1e-6
    ahead, behind = (
        torch.autograd.grad(kernel(q, (v + s).detach().requires_grad_(), tau).sum(), [tau])[0]
        for s in (step, -step)
    )
    assert torch.isfinite(again).all() and torch.allclose(ahead, behind)  # M⁻¹ knows no v
    assert torch.autograd.gradgradcheck(kernel, [x.detach()[:2].requires_grad_() for x in there])


def test_capture_in_graphs(cupy):
    """A launch that is captured runs again with what its arrays hold then."""
    torch = pytest.importorskip("torch")
    model = chain(5, seed=1)
    inputs = arguments(model, ("q", "v", "a"))
    kernel = mz.compile(mz.inverse_dynamics, model, target="cuda")
    step = mz.stepper(model, target="cuda")
    compiled = mz.compile(mz.inverse_dynamics, model, target="torch")
    q, v, _ = there = [torch.tensor(x, device="cuda") for x in inputs]
    out = kernel(*there)
    moved = step(q, v, 0.0, 1e-3, 5)  # compiled before
    through = compiled(*there)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(*there, out=out)
        through = compiled(*there)
        moved = step(q, v, 0.0, 1e-3, 5)
    v.mul_(2.0)
    graph.replay()
    exact = mz.inverse_dynamics(model, inputs[0], 2.0 * inputs[1], inputs[2])
    same(out, exact, 1e-12)
    same(through, exact, 1e-12)
    same(moved, mz.stepper(model)(inputs[0], 2.0 * inputs[1], 0.0, 1e-3, 5), 1e-12)
    here = [cupy.asarray(x) for x in inputs]
    result = cupy.empty(exact.shape)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        kernel(*here, out=result)
        stream.begin_capture()
        kernel(*here, out=result)
        captured = stream.end_capture()
        here[1] *= 2.0
        captured.launch()
        stream.synchronize()
    same(result, exact, 1e-12)


def test_several_launches_in_a_graph_and_from_threads(cupy):
    """Memory between launches is part of a graph; threads that never saw the device have it."""
    torch = pytest.importorskip("torch")
    model = tree(14, seed=2)
    kernel = mz.compile(mz.forward_dynamics_derivatives, model, target="cuda")
    assert isinstance(kernel, ComposedKernel)
    inputs = arguments(model, ("q", "v", "tau"), (700,))
    there = [torch.tensor(x, device="cuda") for x in inputs]
    exact = mz.forward_dynamics_derivatives(model, *inputs)
    out = kernel(*there)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(*there, out=out)
    for y in out:
        y.zero_()
    graph.replay()
    kernel(*(x.flip(0).contiguous() for x in there))  # beside it, on a stream of its own
    torch.cuda.synchronize()
    same(out, exact, 1e-10)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: kernel(*map(cupy.asarray, inputs)), range(8)):
            same(found, exact, 1e-10)
