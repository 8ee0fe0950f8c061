"""The CUDA, PyTorch and JAX targets on a GPU, against the CPU target. Run: pytest -m gpu."""

from functools import partial

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain, tree

pytestmark = pytest.mark.gpu
FUNCTIONS = (
    mz.inverse_dynamics, mz.forward_dynamics, mz.mass_matrix, mz.forward_kinematics,
    mz.forward_dynamics_derivatives, mz.kinetic_energy,
)  # fmt: skip
TOLERANCE = {"float64": 1e-11, "float32": 2e-3}


@pytest.fixture(scope="module")
def cupy():
    found = pytest.importorskip("cupy")
    if not found.cuda.is_available():
        pytest.skip("no NVIDIA GPU here")
    return found


def arguments(model, names, batch=(300,), dtype="float64"):
    from mozzi.algorithms.calls.arguments import shape_of

    rng = np.random.default_rng(0)
    return [
        (
            model.random_configuration(rng, batch=batch)
            if name == "q"
            else rng.normal(size=(*batch, *shape_of(name, model)))
        ).astype(dtype)
        for name in names
    ]


def parts(x):
    return x if isinstance(x, tuple) else (x,)


def same(found, exact, tolerance):
    for y, x in zip(parts(found), parts(exact), strict=True):
        y = y.get() if hasattr(y, "get") else np.asarray(y.cpu() if hasattr(y, "cpu") else y)
        assert y.shape == x.shape
        assert np.max(np.abs(y - x)) <= tolerance * max(1.0, np.max(np.abs(x)))


@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_cuda_computes_what_the_cpu_does(cupy, function, dtype, rolled):
    model = tree(8, seed=3)
    kernel = mz.compile(function, model, target="cuda", dtype=dtype, rolled=rolled)
    inputs = arguments(model, function.required, dtype=dtype)
    exact = mz.compile(function, model)(*(x.astype(float) for x in inputs))
    same(kernel(*map(cupy.asarray, inputs)), exact, TOLERANCE[dtype])


def test_layouts_broadcasting_and_out(cupy):
    """(N, n), (n, N), strided, shared arguments, more batch axes, given results: one meaning."""
    model = chain(5, seed=1)
    kernel = mz.compile(mz.inverse_dynamics, model, target="cuda")
    q, v, a = arguments(model, ("q", "v", "a"))
    exact = mz.inverse_dynamics(model, q, v, a)
    on = partial(cupy.asarray)
    same(kernel(on(q), on(v), on(a)), exact, 1e-12)
    columns = [cupy.ascontiguousarray(on(x).T).T for x in (q, v, a)]
    found = kernel(*columns)
    same(found, exact, 1e-12)
    assert found.strides[0] == 8
    same(kernel(on(q)[::2], on(v)[::2], on(a)[::2]), exact[::2], 1e-12)
    same(kernel(on(q), on(v[0]), on(a)), mz.inverse_dynamics(model, q, v[0], a), 1e-12)
    same(kernel(on(q[0]), on(v[0]), on(a[0])), exact[0], 1e-12)
    cube = [on(x).reshape(3, 100, -1) for x in (q, v, a)]
    same(kernel(*cube), exact.reshape(3, 100, -1), 1e-12)
    out = cupy.full(exact.shape, np.nan)
    assert kernel(on(q), on(v), on(a), out=out) is out
    same(out, exact, 1e-12)
    assert kernel(*(on(x[:0]) for x in (q, v, a))).shape == (0, 5)
    with pytest.raises(TypeError, match="float32"):
        kernel(on(q).astype(np.float32), on(v), on(a))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        found = kernel(on(q), on(v), on(a))
        stream.synchronize()
        same(found, exact, 1e-12)


def test_many_steps_in_one_launch(cupy):
    model = chain(4, seed=2)
    law = lambda t, q, v: -3.0 * q - v
    q, v = arguments(model, ("q", "v"))
    motion = mz.simulate(model, q, v, 0.05, 1e-3, torque=law, record_every=10)
    found = mz.stepper(model, torque=law, target="cuda")(*map(cupy.asarray, (q, v)), 0.0, 1e-3, 50)
    same(found, (motion.q[:, -1], motion.v[:, -1]), 1e-12)
    recorded = mz.stepper(model, torque=law, records=5, target="cuda")
    found = recorded(*map(cupy.asarray, (q, v)), 0.0, 1e-3, 10)
    same(found, (motion.q[:, 1:], motion.v[:, 1:]), 1e-12)


def test_the_report_names_the_launch(cupy):
    kernel = mz.compile(mz.mass_matrix, tree(8, seed=3), target="cuda", dtype="float32")
    report = kernel.report()
    assert report["block"] in (64, 128) and report["blocks"] >= 1
    assert report["occupancy"] == report["block"] * report["blocks"] / 2048
    assert 16 <= report["registers"] <= 255 and report["local_bytes"] >= 0
    assert report["shared_bytes"] == report["block"] // 32 * 32 * 33 * 4


def test_machine_code_is_found_on_disk(cupy, tmp_path, monkeypatch):
    """A second process would find it there: NVRTC is not asked again."""
    from mozzi.targets.cuda.nvidia import machine_code

    monkeypatch.setenv("MOZZI_CACHE", "1")
    monkeypatch.setenv("MOZZI_CACHE_DIR", str(tmp_path))
    source = mz.compile(mz.kinetic_energy, chain(2, seed=7), target="cuda").source
    code = machine_code(cupy, source)
    monkeypatch.setattr(cupy.cuda.nvrtc, "compileProgram", None)
    assert machine_code(cupy, source) == code
    with pytest.raises(TypeError):
        machine_code(cupy, source + "\n// another")


class Exporter:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array, self.streams = array, []

    def __dlpack__(self, *, stream=None, **options):
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream, **options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_by_dlpack_alone(cupy):
    model = chain(5, seed=1)
    inputs = arguments(model, ("q", "v", "a"))
    exact = mz.inverse_dynamics(model, *inputs)
    kernel = mz.compile(mz.inverse_dynamics, model, target="cuda")
    given = [Exporter(cupy.asarray(x)) for x in inputs]
    same(kernel(*given), exact, 1e-12)
    columns = [Exporter(cupy.ascontiguousarray(cupy.asarray(x).T).T) for x in inputs]
    same(kernel(*columns), exact, 1e-12)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        found = kernel(*given)
        stream.synchronize()
    same(found, exact, 1e-12)
    assert all(x.streams[-1] == stream.ptr for x in given)  # handed over on the current stream


def test_results_into_given_tensors(cupy):
    torch = pytest.importorskip("torch")
    model = chain(5, seed=1)
    inputs = arguments(model, ("q", "v", "a"))
    exact = mz.inverse_dynamics(model, *inputs)
    kernel = mz.compile(mz.inverse_dynamics, model, target="cuda")
    out = torch.full(exact.shape, float("nan"), dtype=torch.float64, device="cuda")
    assert kernel(*(torch.tensor(x, device="cuda") for x in inputs), out=out) is out
    same(out, exact, 1e-12)
    out.fill_(float("nan"))
    with torch.cuda.stream(torch.cuda.Stream()):
        kernel(*map(cupy.asarray, inputs), out=out)
        same(out, exact, 1e-12)


def test_jax_arrays_in_and_out(cupy):
    """The kernel runs inside XLA: in its memory, on its stream, without copies."""
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU here")
    jax.config.update("jax_enable_x64", True)
    model = chain(5, seed=1)
    inputs = arguments(model, ("q", "v", "a"))
    exact = mz.inverse_dynamics(model, *inputs)
    kernel = mz.compile(mz.inverse_dynamics, model, target="cuda")
    there = [jax.device_put(x) for x in inputs]
    found = kernel(*there)
    assert isinstance(found, jax.Array)
    same(found, exact, 1e-12)
    same(kernel(there[0], inputs[1][0], cupy.asarray(inputs[2])),
         mz.inverse_dynamics(model, inputs[0], inputs[1][0], inputs[2]), 1e-12)  # fmt: skip
    text = jax.jit(kernel._jax.function).lower(*there).compile().as_text()
    assert "mozzi_" in text and "copy" not in text
    many = [jax.numpy.tile(x, (1000, 1)) for x in there]
    for _ in range(20):  # what one call made is what the next one reads
        many = [many[0], many[1], 1e-3 * kernel(*(x + 0.0 for x in many))]
    here = list(inputs)
    for _ in range(20):
        here = [here[0], here[1], 1e-3 * mz.inverse_dynamics(model, *here)]
    same(many[2][:300], here[2], 1e-12)
    with pytest.raises(TypeError, match="leave out= away"):
        kernel(*there, out=found)
    with pytest.raises(TypeError, match="leave out= away"):
        kernel(*map(cupy.asarray, inputs), out=found)
    with pytest.raises(TypeError, match="q is on the CPU"):
        kernel(jax.device_put(inputs[0], jax.devices("cpu")[0]), *there[1:])
    with pytest.raises(TypeError, match="q is float32"):
        kernel(there[0].astype("float32"), *there[1:])
    with pytest.raises(TypeError, match="target='jax'"):
        jax.jit(kernel)(*there)


def test_torch_on_the_gpu_has_gradients(cupy):
    torch = pytest.importorskip("torch")
    model = chain(4, seed=2)
    kernel = mz.compile(mz.forward_dynamics, model, target="torch")
    inputs = arguments(model, ("q", "v", "tau"), (50,))
    there = [torch.tensor(x, device="cuda", requires_grad=True) for x in inputs]
    found = kernel(*there)
    same(found.detach(), mz.forward_dynamics(model, *inputs), 1e-12)
    found.sum().backward()
    exact = mz.forward_dynamics_derivatives(model, *inputs)
    same(tuple(x.grad for x in there), tuple(x.sum(axis=1) for x in exact), 1e-11)
    few = [x.detach()[:2].requires_grad_() for x in there]
    assert torch.autograd.gradcheck(kernel, few)
    assert torch.autograd.gradgradcheck(kernel, few)
    q, v, tau = (x.detach() for x in there)
    same(
        kernel(q.T.contiguous().T, v, tau[0]),
        mz.forward_dynamics(model, *inputs[:2], inputs[2][0]),
        1e-12,
    )
    compiled = torch.compile(
        lambda *x: (kernel(*x) ** 2).sum(), fullgraph=True, backend="aot_eager"
    )
    ours, theirs = ((f(*there)) for f in (compiled, lambda *x: (kernel(*x) ** 2).sum()))
    same(
        torch.autograd.grad(ours, there)[0],
        torch.autograd.grad(theirs, there)[0].cpu().numpy(),
        1e-12,
    )
    with torch.cuda.stream(torch.cuda.Stream()):
        same(kernel(q, v, tau), mz.forward_dynamics(model, *inputs), 1e-12)
    same(
        mz.compile(mz.forward_dynamics, model, target="cuda")(q, v, tau),
        mz.forward_dynamics(model, *inputs),
        1e-12,
    )


def test_jax_on_the_gpu_runs_the_kernel_inside_jit(cupy):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU here")
    jax.config.update("jax_enable_x64", True)
    model = chain(4, seed=2)
    kernel = mz.compile(mz.forward_dynamics, model, target="jax")
    inputs = arguments(model, ("q", "v", "tau"), (50,))
    exact = mz.forward_dynamics(model, *inputs)
    assert "mozzi_" in jax.jit(kernel).lower(*inputs).compile().as_text()
    same(kernel(*inputs), exact, 1e-12)
    same(jax.jit(lambda *x: 2.0 * kernel(*x))(*inputs), 2.0 * exact, 1e-12)
    same(jax.vmap(kernel, in_axes=(0, None, 0))(inputs[0], inputs[1][0], inputs[2]),
         mz.forward_dynamics(model, inputs[0], inputs[1][0], inputs[2]), 1e-12)  # fmt: skip
    slopes = mz.forward_dynamics_derivatives(model, *inputs)
    for mode in (jax.jacfwd, jax.jacrev):
        found = jax.jit(jax.vmap(mode(kernel, argnums=(0, 1, 2))))(*inputs)
        same(tuple(found), slopes, 1e-11)
    rolled = mz.compile(mz.forward_dynamics, model, target="jax", rolled=True)
    same(rolled(*inputs), exact, 1e-12)
    same(jax.vmap(jax.jacfwd(rolled))(*inputs), slopes[0], 1e-11)
