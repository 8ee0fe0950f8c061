"""The JAX target on the CPU: values against the interpreter, transformations, the FFI's handler."""

import ctypes

import numpy as np
import pytest

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import chain, tree

jax = pytest.importorskip("jax", reason="JAX is not installed, so its target was not tested")
jnp = jax.numpy
MODEL = chain(3, seed=2)


@pytest.fixture(autouse=True)
def double():
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def arguments(names, batch=(3,), model=MODEL, dtype="float64"):
    rng = np.random.default_rng(0)
    return [
        (
            model.random_configuration(rng, batch=batch)
            if name == "q"
            else rng.normal(size=(*batch, model.nv))
        ).astype(dtype)
        for name in names
    ]


@pytest.mark.parametrize(
    ("dtype", "rolled"), [("float64", False), ("float32", False), ("float64", True)]
)
def test_values_are_those_of_the_interpreter(dtype, rolled):
    model = tree(4, seed=2)
    for function in (mz.mass_matrix,) if rolled else (mz.forward_dynamics, mz.mass_matrix):
        kernel = mz.compile(function, model, target="jax", dtype=dtype, rolled=rolled)
        args = arguments(function.required, model=model, dtype=dtype)
        exact = mz.compile(function, model, target="interpret")(*(x.astype(float) for x in args))
        found = kernel(*args)
        assert found.dtype == dtype and found.shape == exact.shape
        error = np.max(np.abs(found - exact)) / np.max(np.abs(exact))
        assert error < (1e-12 if dtype == "float64" else 1e-4)


def test_jit_vmap_and_broadcasting():
    kernel = mz.compile(mz.inverse_dynamics, MODEL, target="jax")
    q, v, a = arguments(("q", "v", "a"))
    exact = mz.inverse_dynamics(MODEL, q, v, a)
    np.testing.assert_allclose(jax.jit(lambda *x: 2 * kernel(*x))(q, v, a), 2 * exact, rtol=1e-12)
    np.testing.assert_allclose(jax.vmap(kernel)(q, v, a), exact, rtol=1e-12)
    mixed = jax.vmap(kernel, in_axes=(1, None, 0), out_axes=1)(q.T, v[0], a)
    shared = mz.inverse_dynamics(MODEL, q, v[0], a)
    np.testing.assert_allclose(mixed.T, shared, rtol=1e-12)
    np.testing.assert_allclose(kernel(q, v[0], a), shared, rtol=1e-12)
    assert "sine" in kernel.source


def test_derivatives_are_the_analytic_ones():
    kernel = mz.compile(mz.forward_dynamics, MODEL, target="jax")
    args = arguments(("q", "v", "tau"))
    exact = mz.forward_dynamics_derivatives(MODEL, *args)
    for mode in (jax.jacfwd, jax.jacrev):
        found = jax.jit(jax.vmap(mode(kernel, argnums=(0, 1, 2))))(*args)
        for x, y in zip(found, exact, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)
    loss = lambda q: jnp.sum(kernel(q, *args[1:]) ** 2)
    found = jax.jit(jax.grad(loss))(args[0])
    value = mz.forward_dynamics(MODEL, *args)
    np.testing.assert_allclose(found, 2 * np.einsum("bi,bij->bj", value, exact[0]), rtol=1e-9)


def test_derivatives_of_programs_with_loops():
    """They are JAX's own, through XLA's loops."""
    kernel = mz.compile(mz.gravity_forces, MODEL, target="jax", rolled=True)
    args = arguments(("q", "v", "a"))
    exact = mz.inverse_dynamics_derivatives(MODEL, args[0], 0 * args[1], 0 * args[2])
    found = jax.vmap(jax.jacfwd(kernel))(args[0])
    np.testing.assert_allclose(found, exact[0], rtol=1e-9, atol=1e-10)


def test_second_derivatives():
    """Forward over reverse and forward over forward agree, and with differences of gradients."""
    model = chain(2, seed=1)
    kernel = mz.compile(mz.potential_energy, model, target="jax")
    (q,) = arguments(("q",), (), model)
    hessian = jax.hessian(kernel)(q)
    np.testing.assert_allclose(hessian, jax.jacfwd(jax.jacfwd(kernel))(q), atol=1e-10)
    h = 1e-6 * np.eye(2)
    gradient = jax.grad(kernel)
    steps = [(gradient(q + d) - gradient(q - d)) / 2e-6 for d in h]
    np.testing.assert_allclose(hessian, np.stack(steps), atol=1e-6)


def test_double_precision_must_be_switched_on():
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(ValueError, match="jax_enable_x64"):
        mz.compile(mz.inverse_dynamics, MODEL, target="jax")
    kernel = mz.compile(mz.inverse_dynamics, MODEL, target="jax", dtype="float32")
    assert kernel(*arguments(("q", "v", "a"))).dtype == "float32"


@pytest.mark.parametrize("batch", [(300,), (2, 5), (), (0,)])
def test_the_handler_hands_arrays_to_the_launch(monkeypatch, batch):
    """XLA calls the machine code that launches CUDA kernels; here the launch is a Python one."""
    from mozzi.targets.derivatives import find, register
    from mozzi.targets.jax import ffi as jax_ffi

    key = register(program_of(mz.inverse_dynamics, MODEL), "float64")
    cpu, seen = find(key).cpu, []
    number, word = ctypes.c_uint, ctypes.c_void_p
    places = ctypes.POINTER(ctypes.POINTER(ctypes.c_int64))

    @ctypes.CFUNCTYPE(ctypes.c_int, word, *(number,) * 7, word, places, word)
    def launch(function, *rest):
        values = rest[8]
        n = values[0][0]
        seen.append((function, rest[:7], n))
        address = lambda k: ctypes.cast(values[k][0], ctypes.POINTER(ctypes.c_double))
        views = [np.ctypeslib.as_array(address(k), (n, 3)) for k in range(1, 5)]
        views[3][:] = cpu(*views[:3])
        return 0

    text = jax_ffi.handler_text  # without the question for a stream, of which the CPU has none
    none = lambda *x: text(*x).replace("call ptr %get(ptr %ask)", "inttoptr i64 0 to ptr")
    monkeypatch.setattr(jax_ffi, "handler_text", none)
    capsule, code = jax_ffi.handler(3, 1, ctypes.cast(launch, word).value, 1234, 128, 512)
    name = f"mozzi_test_{'_'.join(map(str, batch))}"
    jax.ffi.register_ffi_target(name, capsule, platform="cpu")
    args = arguments(("q", "v", "a"), batch)
    found = jax.jit(lambda *x: jax_ffi.call(key, x, name))(*args)[0]
    np.testing.assert_allclose(found, mz.inverse_dynamics(MODEL, *args), rtol=1e-12)
    n = int(np.prod(batch))
    expected = [(1234, ((n + 127) // 128, 1, 1, 128, 1, 1, 512), n)] if n else []
    assert seen == expected
    assert code is not None
