"""The PyTorch target on the CPU: values against the interpreter, gradients three ways."""

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain, tree

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed, so its target was not tested: pip install torch"
)
MODEL = tree(4, seed=2)


def tensors(names=("q", "v", "tau"), batch=(3,), dtype="float64", model=MODEL, grad=True):
    rng = np.random.default_rng(0)
    arrays = [
        model.random_configuration(rng, batch=batch)
        if name == "q"
        else rng.normal(size=(*batch, model.nv))
        for name in names
    ]
    kind = getattr(torch, dtype)
    return [torch.tensor(x, dtype=kind, requires_grad=grad) for x in arrays]


def numpy(args):
    return [x.detach().numpy() for x in args]


@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "function", [mz.forward_dynamics, mz.mass_matrix, mz.inverse_dynamics_derivatives],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_values_are_those_of_the_interpreter(function, dtype, rolled):
    kernel = mz.compile(function, MODEL, target="torch", dtype=dtype, rolled=rolled)
    args = tensors(function.required, dtype=dtype, grad=False)
    exact = mz.compile(function, MODEL, target="interpret")(*(x.astype(float) for x in numpy(args)))
    found = kernel(*args)
    pairs = zip(*(x if isinstance(x, tuple) else (x,) for x in (found, exact)), strict=True)
    for y, x in pairs:
        assert y.dtype == getattr(torch, dtype) and tuple(y.shape) == x.shape
        error = np.max(np.abs(y.numpy() - x)) / np.max(np.abs(x))
        assert error < (1e-12 if dtype == "float64" else 1e-4)


def test_gradients_are_the_analytic_derivatives():
    kernel = mz.compile(mz.forward_dynamics, MODEL, target="torch")
    args = tensors()
    weights = torch.randn(3, MODEL.nv, dtype=torch.float64)
    (kernel(*args) * weights).sum().backward()
    exact = mz.forward_dynamics_derivatives(MODEL, *numpy(args))
    for x, d in zip(args, exact, strict=True):
        np.testing.assert_allclose(
            x.grad, np.einsum("bi,bij->bj", weights, d), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("rolled", [False, True])
def test_gradients_by_finite_differences(rolled):
    """First and second order, with arguments that broadcast, and a result per configuration."""
    kernel = mz.compile(mz.forward_dynamics, MODEL, target="torch", rolled=rolled)
    q, v, tau = tensors(batch=(2,))
    args = (q, v.detach()[:1].requires_grad_(), tau.detach()[0].requires_grad_())
    assert torch.autograd.gradcheck(kernel, args)
    assert torch.autograd.gradgradcheck(kernel, args)


def test_several_results_and_only_the_gradients_that_are_asked_for():
    model = chain(3, seed=1)
    function = lambda q, v: (mz.mass_matrix(model, q), mz.bias_forces(model, q, v))
    kernel = mz.compile(function, model, target="torch")
    q, v = tensors(("q", "v"), model=model)
    v = v.detach()
    assert torch.autograd.gradcheck(lambda q: kernel(q, v), (q,))
    M, bias = kernel(q, v)
    (found,) = torch.autograd.grad(bias.sum(), q, retain_graph=True)
    (again,) = torch.autograd.grad(bias.sum() + 0.0 * M.sum(), q)
    np.testing.assert_allclose(found, again, rtol=1e-12)


def test_a_free_base_has_gradients_by_its_numbers():
    builder = mz.Builder("brick")
    builder.add("brick", None, mz.Free(), mz.Inertia(2.0, (0.1, 0.2, 0.3), np.diag((1, 2, 3))))
    model = builder.build()
    kernel = mz.compile(mz.forward_dynamics, model, target="torch")
    args = tensors(batch=(2,), model=model)
    assert kernel(*args).shape == (2, 6)
    assert torch.autograd.gradcheck(kernel, args)


def test_torch_compile_sees_one_operator():
    kernel = mz.compile(mz.inverse_dynamics, MODEL, target="torch")
    args = tensors(("q", "v", "a"))
    loss = lambda *x: (kernel(*x) ** 2).sum()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for x, y in zip(
        torch.autograd.grad(compiled(*args), args), torch.autograd.grad(loss(*args), args)
    ):
        np.testing.assert_allclose(x, y, rtol=1e-12)
    torch.library.opcheck(kernel._operator, (kernel._key, list(args)))


def test_torch_func():
    kernel = mz.compile(mz.inverse_dynamics, MODEL, target="torch")
    args = tensors(("q", "v", "a"), grad=False)
    q, v, a = args
    exact = mz.inverse_dynamics_derivatives(MODEL, *numpy(args))
    for mode in (torch.func.jacrev, torch.func.jacfwd):
        found = torch.func.vmap(mode(kernel, argnums=(0, 1, 2)))(*args)
        for x, y in zip(found, exact, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)
    found = torch.func.vmap(kernel, in_dims=(0, None, 1))(q, v[0], a.T)
    np.testing.assert_allclose(found, kernel(q, v[0], a))


def test_no_copies_and_any_strides():
    kernel = mz.compile(mz.inverse_dynamics, MODEL, target="torch")
    q, v, a = tensors(("q", "v", "a"), (6,), grad=False)
    exact = kernel(q, v, a)
    np.testing.assert_allclose(kernel(q.T.contiguous().T, v, a), exact)
    np.testing.assert_allclose(kernel(q[::2], v[::2], a[::2]), exact[::2])
    np.testing.assert_allclose(
        kernel(*(x.reshape(2, 3, -1) for x in (q, v, a))).reshape(6, -1), exact
    )
    assert kernel(q[:0], v[:0], a[:0]).shape == (0, MODEL.nv)


def test_what_does_not_fit_is_named():
    kernel = mz.compile(mz.inverse_dynamics, MODEL, target="torch")
    q, v, a = tensors(("q", "v", "a"), grad=False)
    with pytest.raises(TypeError, match=r"q is torch\.float32"):
        kernel(q.float(), v, a)
    with pytest.raises(ValueError, match="its last axes are"):
        kernel(q[:, :2], v, a)
    with pytest.raises(TypeError, match="takes 3 tensors"):
        kernel(q, v)
