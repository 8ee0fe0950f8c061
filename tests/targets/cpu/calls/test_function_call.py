"""Public functions on one sample: the built-in function answers as the Python one does."""

import copy
import pickle
import threading
from typing import Any, cast

import numpy as np
import pytest

import mozzi as mz
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.model.generate import chain
from mozzi.targets.cpu.calls.single_call import possible

MODEL, OTHER = chain(4, seed=1), chain(4, seed=2)
rng = np.random.default_rng(0)
q, v, a = rng.normal(size=(3, 4)).copy()
fast = cast("Algorithm", mz.inverse_dynamics)
slow = lambda *args, **options: Algorithm.__call__(fast, *args, **options)


@pytest.fixture(autouse=True)
def called_before():
    mz.inverse_dynamics(MODEL, q.copy(), v.copy(), a.copy())


def test_the_same_numbers_for_every_model_and_form_of_argument():
    assert (type(mz.inverse_dynamics) is not Algorithm) == possible()  # not without the GIL
    assert isinstance(mz.inverse_dynamics, Algorithm)
    for model in (MODEL, OTHER, chain(4, seed=3)):
        for args in (
            (q, v, a), (list(q), v, a), (np.stack([q, q]), v, a), (q.astype("float32"), v, a),
            (q[::-1], v, np.asfortranarray(a)),
        ):  # fmt: skip
            np.testing.assert_array_equal(mz.inverse_dynamics(model, *args), slow(model, *args))
    by_name = mz.inverse_dynamics(MODEL, q, v=v, a=a)
    np.testing.assert_array_equal(by_name, slow(MODEL, q, v, a))
    wrenches = rng.normal(size=(4, 6))
    loaded = mz.inverse_dynamics(MODEL, q, v, a, wrenches=wrenches)
    np.testing.assert_array_equal(loaded, slow(MODEL, q, v, a, wrenches=wrenches))


def test_it_inlines_while_something_is_traced():
    """Arrays that are constants of a program are traced, too, whatever kernels there are."""
    function = lambda v: mz.inverse_dynamics(MODEL, q, v, a)
    kernel = mz.compile(function, MODEL)
    np.testing.assert_allclose(kernel(v), mz.inverse_dynamics(MODEL, q, v, a), rtol=1e-13)
    constant = mz.compile(lambda v: v * mz.inverse_dynamics(MODEL, q, q, a)[0], MODEL)
    np.testing.assert_allclose(constant(v), v * mz.inverse_dynamics(MODEL, q, q, a)[0], rtol=1e-13)


def test_other_threads_compute_while_one_traces():
    inside, go = threading.Event(), threading.Event()

    def function(v):
        inside.set()
        go.wait(10)
        return mz.inverse_dynamics(MODEL, q, v, a)

    found = []
    thread = threading.Thread(target=lambda: found.append(mz.compile(function, MODEL, "interpret")))
    thread.start()
    inside.wait(10)
    here = mz.inverse_dynamics(MODEL, q, v, a)
    go.set()
    thread.join()
    np.testing.assert_allclose(found[0](v), here, rtol=1e-12)


def test_errors_are_told_in_the_words_of_the_model():
    wrong: list[tuple[Any, ...]] = [
        (MODEL, q, v, a[:2]), (MODEL, q, v), (3.0, q, v, a), (MODEL, q, "v", a),
    ]  # fmt: skip
    for bad in wrong:
        kinds = []
        for call in (fast, slow):
            with pytest.raises(Exception) as error:
                call(*bad)
            kinds.append((error.type, str(error.value)))
        assert kinds[0] == kinds[1]
    with pytest.raises(mz.ShapeError, match="has nv = 4"):
        mz.inverse_dynamics(MODEL, q, v, a[:2])


def test_it_pickles_and_copies_as_before():
    function = mz.inverse_dynamics
    assert pickle.loads(pickle.dumps(function)) is copy.copy(function) is function
    model = pickle.loads(pickle.dumps(MODEL))
    np.testing.assert_array_equal(mz.inverse_dynamics(model, q, v, a), slow(MODEL, q, v, a))
    assert mz.inverse_dynamics.__doc__ and "inverse" in repr(mz.inverse_dynamics)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", [0, 1, 2, 7, 8, 9, 40, 257, 5000])
def test_short_batches_give_what_the_ufunc_gives(batch, dtype):
    """Whatever the built-in function takes itself or hands on: strides, shared arguments, order."""
    kernel = mz.compile(mz.inverse_dynamics, MODEL, dtype=dtype)
    x = rng.normal(size=(3, batch, 4)).astype(dtype)
    wide = rng.normal(size=(batch, 8)).astype(dtype)[:, ::2]
    turned = np.asfortranarray(x[1])
    for args in ((*x,), (x[0], x[1, 0] if batch else x[1], x[2]), (wide, turned, x[2][::-1])):
        found = kernel(*args)
        assert found.shape == (batch, 4) and found.dtype == dtype and found.flags.c_contiguous
        np.testing.assert_array_equal(found, kernel.ufunc(*args))


def test_batches_that_do_not_fit_each_other():
    kernel = mz.compile(mz.inverse_dynamics, MODEL)
    x = rng.normal(size=(3, 6, 4))
    np.testing.assert_array_equal(kernel(x[0], x[1, :1], x[2]), kernel.ufunc(x[0], x[1, :1], x[2]))
    for bad in ((x[0], x[1, :3], x[2]), (x[0, :, :3], x[1], x[2]), (x[0, 0, 0], x[1], x[2])):
        with pytest.raises(ValueError):
            kernel(*bad)


def test_short_batches_of_matrices():
    several = mz.compile(mz.inverse_dynamics_derivatives, MODEL)
    for found, exact in zip(several(*np.stack([q, v, a])[:, None].repeat(5, 1)), several(q, v, a)):
        np.testing.assert_array_equal(found, np.stack([exact] * 5))


@pytest.mark.parametrize("batch", [(), (1,), (5,), (40,)])
def test_short_batches_into_arrays_that_are_given(batch):
    """The array that is given is what comes back; one that does not fit is treated as ever."""
    kernel = mz.compile(mz.inverse_dynamics, MODEL)
    x = rng.normal(size=(3, *batch, 4))
    exact = kernel(*x)
    out = np.full((*batch, 4), np.nan)
    assert kernel(*x, out=out) is out
    np.testing.assert_array_equal(out, exact)
    for other in (np.full((*batch, 8), np.nan)[..., ::2], np.asfortranarray(out * np.nan)):
        assert kernel(*x, out=other) is other
        np.testing.assert_array_equal(other, exact)
    for wrong in (np.zeros((*batch, 3)), np.zeros((7, *batch, 4))[0, ..., :2]):
        with pytest.raises((TypeError, ValueError)):
            kernel(*x, out=wrong)
    fixed = np.zeros((*batch, 4))
    fixed.flags.writeable = False
    with pytest.raises(ValueError):
        kernel(*x, out=fixed)
    assert not fixed.any()
    several = mz.compile(mz.inverse_dynamics_derivatives, MODEL)
    exact = several(*x)
    outs = tuple(np.full_like(y, np.nan) for y in exact)
    for found, given, y in zip(several(*x, out=outs), outs, exact, strict=True):
        assert found is given
        np.testing.assert_array_equal(found, y)
    with pytest.raises((TypeError, ValueError)):
        several(*x, out=outs[:1])


@pytest.mark.parametrize("shift", [-3, 0, 2, 9])
def test_results_over_their_own_arguments(shift):
    """Arrays that lie in each other are copied first, whatever way they run."""
    kernel = mz.compile(mz.inverse_dynamics, MODEL)
    memory = rng.normal(size=200)
    x = memory[40:160].reshape(30, 4)
    out = memory[40 + shift : 160 + shift].reshape(30, 4)
    for argument in (x, x[::-1]):
        memory[40:160] = rng.normal(size=120)
        exact = kernel(argument.copy(), v, a)
        np.testing.assert_array_equal(kernel(argument, v, a, out=out), exact)
    jacobians = mz.compile(mz.inverse_dynamics_derivatives, MODEL)
    want = jacobians(q, v, a)
    same = np.zeros((4, 4))
    found = jacobians(q, v, a, out=(same, same, np.zeros((4, 4))))
    assert any(np.array_equal(found[0], y) for y in want)


def test_a_model_that_has_gone_is_forgotten():
    """Another model at the same address is another model."""
    for seed in range(20):
        model = chain(4, seed=seed)
        np.testing.assert_array_equal(mz.inverse_dynamics(model, q, v, a), slow(model, q, v, a))
        np.testing.assert_array_equal(mz.inverse_dynamics(model, q, v, a), slow(model, q, v, a))
        del model
