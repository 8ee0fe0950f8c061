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


def test_traced_arrays_are_told_where_to_go():
    """An algorithm on arrays is NumPy's; inside `jit` it names the argument and the target."""
    for transform in (jax.jit, jax.vmap):
        with pytest.raises(mz.KindError, match=r"mass_matrix: q is .*target='jax'"):
            transform(lambda q: mz.mass_matrix(MODEL, q))(np.zeros((2, MODEL.nq)))


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


@pytest.mark.parametrize("rolled", [False, True])
def test_programs_as_xla_operations(rolled):
    """What has no kernel on a device is the program itself, in XLA's words."""
    from mozzi.targets.jax.xla import operations

    program = program_of(mz.gravity_forces, MODEL, rolled=rolled)
    (q,) = arguments(("q",))
    found = jax.jit(lambda q: operations(program, "float64", [q])[0])
    np.testing.assert_allclose(found(q), mz.gravity_forces(MODEL, q), rtol=1e-12)
    assert "sine" in found.lower(q).as_text()


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
    assert "mozzi_cpu_" in kernel.source


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


@pytest.mark.parametrize("own", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_derivatives_of_programs_with_loops(monkeypatch, own):
    """Short ones are unrolled; those of long ones are JAX's own, through XLA's loops."""
    from mozzi.targets.jax import kernel as jax_kernel

    monkeypatch.setattr(jax_kernel, "UNROLLED_OPERATIONS", 20_000 if own else 0)
    args = arguments(("q", "v", "a"))
    exact = mz.inverse_dynamics_derivatives(MODEL, args[0], 0 * args[1], 0 * args[2])
    kernel = mz.compile(mz.gravity_forces, MODEL, target="jax", rolled=True)
    for mode in (jax.jacfwd, jax.jacrev)[: 1 + own]:
        found = jax.vmap(mode(kernel))(args[0])
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


def test_shared_arguments_are_not_copied_and_get_the_sum_of_gradients():
    """vmap over rows and columns, with an argument that neither maps."""
    kernel = mz.compile(mz.inverse_dynamics, MODEL, target="jax")
    q, v, a = arguments(("q", "v", "a"), (4,))
    table = jax.vmap(jax.vmap(kernel, in_axes=(0, None, None)), in_axes=(None, 0, None))
    exact = mz.inverse_dynamics(MODEL, q[None], v[:, None], a[0])
    np.testing.assert_allclose(jax.jit(table)(q, v, a[0]), exact, rtol=1e-12)
    weights = np.random.default_rng(1).normal(size=exact.shape)
    gradient = jax.jit(jax.grad(lambda *x: jnp.sum(weights * table(*x)), argnums=(0, 1, 2)))
    partials = mz.inverse_dynamics_derivatives(MODEL, q[None], v[:, None], a[0])
    for found, partial, sum_over in zip(
        gradient(q, v, a[0]), partials, ("vqij,vqi->qj", "vqij,vqi->vj", "vqij,vqi->j")
    ):
        np.testing.assert_allclose(found, np.einsum(sum_over, partial, weights), rtol=1e-9)
    text = jax.jit(jax.vmap(kernel, in_axes=(0, None, None))).lower(q, v[0], a[0]).as_text()
    assert "mozzi_cpu_" in text and "tensor<1x3xf64>" in text


def test_gradients_take_the_pullback():
    """Backwards is one program of the primal arguments and weights, not a transposed derivative."""
    from mozzi.targets import derivatives

    kernel = mz.compile(mz.forward_dynamics, MODEL, target="jax")
    args = arguments(("q", "v", "tau"), ())
    jax.grad(lambda *x: jnp.sum(kernel(*x)), argnums=(0, 2))(*args)
    key = derivatives.register(kernel.program, "float64")
    assert f"{key} back 0,2" in derivatives._FOUND
    assert "cpu" not in vars(derivatives.find(f"{key} ahead 0,2"))  # never compiled


@pytest.mark.parametrize("threads", [1, 3])
def test_large_batches_on_threads_give_the_same_numbers(threads):
    """Pieces that XLA's threads take are the samples of the kernel, with an odd rest."""
    kernel = mz.compile(mz.inverse_dynamics, MODEL, target="jax", dtype="float32")
    args = arguments(("q", "v", "a"), (300_007,), dtype="float32")
    args[1] = args[1][:1]
    mz.set_num_threads(threads)
    try:
        found = [np.asarray(kernel(*args)) for _ in range(5)]
    finally:
        mz.set_num_threads(None)
    exact = mz.compile(mz.inverse_dynamics, MODEL, dtype="float32")(*args)
    for x in found:
        np.testing.assert_array_equal(x, exact)


def test_missing_memory_is_an_error():
    """A kernel that gets no memory for its values says so through XLA, and gives no results."""
    from mozzi.targets.cpu.batch_loop import TABLE
    from mozzi.targets.jax import ffi

    model = chain(36, seed=0)
    kernel = mz.compile(mz.mass_matrix, model, target="jax", rolled=False)
    q = model.random_configuration(np.random.default_rng(0), batch=(3,))
    np.testing.assert_allclose(kernel(q), mz.mass_matrix(model, q), rtol=1e-12)
    name = next(x for x in ffi._REGISTERED if x in kernel.source)
    table = ffi._REGISTERED[name][1]
    alloc = table[TABLE.index("alloc")]
    nothing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(lambda size: None)
    table[TABLE.index("alloc")] = ctypes.cast(nothing, ctypes.c_void_p).value
    try:
        with pytest.raises(Exception, match="no memory for the kernel's own values"):
            jax.block_until_ready(kernel(q))
    finally:
        table[TABLE.index("alloc")] = alloc
    np.testing.assert_allclose(kernel(q), mz.mass_matrix(model, q), rtol=1e-12)


def test_gradient_through_a_scan():
    """A rollout by lax.scan has the gradient of `rollout_gradient`."""
    steps, dt = 40, 0.01
    rng = np.random.default_rng(3)
    q0, v0 = rng.normal(size=(2, 5, 3))
    tau = rng.normal(size=(steps, 5, 3))
    kernel = mz.compile(mz.forward_dynamics, MODEL, target="jax")

    def step(state, force):
        q, v = state
        v = v + dt * kernel(q, v, force)
        return (q + dt * v, v), (q, v)

    def cost(q, v, tau):
        (q, v), _ = jax.lax.scan(step, (q, v), tau)
        return jnp.sum(jnp.sin(q)) + jnp.sum(v**2)

    found = jax.jit(jax.grad(cost, argnums=(0, 1, 2)))(q0, v0, tau)
    options = {"method": "semi_implicit", "resistance": False}
    q, v = mz.rollout(MODEL, q0, v0, tau, dt, **options)
    dq, dv = np.zeros_like(v), np.zeros_like(v)
    dq[-1], dv[-1] = np.cos(q[-1]), 2 * v[-1]
    exact = mz.rollout_gradient(MODEL, q, v, tau, dt, dq, dv, **options)
    for x, y in zip(found, exact, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-9)
