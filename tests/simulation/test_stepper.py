"""Many steps as one kernel: what `simulate` computes, on every target."""

import importlib

import numpy as np
import pytest
from support.cases import first

import mozzi as mz
from mozzi.errors import ConfigurationError
from mozzi.model.generate import chain

MODEL = chain(3, seed=0)
LAW = lambda t, q, v: -2.0 * q - v + 0.1 * t


def state():
    return np.random.default_rng(0).normal(size=(2, 4, 3))


@pytest.mark.parametrize("target", ["cpu", "interpret", "jax", "torch"])
def test_it_takes_the_steps_of_simulate(target):
    if target in ("jax", "torch"):
        library = pytest.importorskip(target, reason=f"{target} is not installed")
        if target == "jax":
            library.config.update("jax_enable_x64", True)
    q, v = state()
    motion = mz.simulate(MODEL, q, v, 0.02, 1e-3, torque=LAW, record_every=5)
    as_array = importlib.import_module("torch").tensor if target == "torch" else np.asarray
    last = mz.stepper(MODEL, torque=LAW, target=target)
    for x, y in zip(last(as_array(q), as_array(v), 0.0, 1e-3, 20.0), (motion.q, motion.v)):
        np.testing.assert_allclose(np.asarray(x), y[:, -1], rtol=1e-12)
    several = mz.stepper(MODEL, torque=LAW, records=4, target=target)
    for x, y in zip(several(as_array(q), as_array(v), 0.0, 1e-3, 5.0), (motion.q, motion.v)):
        np.testing.assert_allclose(np.asarray(x), y[:, 1:], rtol=1e-12)


def test_forces_are_held_over_the_steps():
    q, v = state()
    tau, wrenches = np.ones(3), np.full((3, 6), 0.5)
    kernel = mz.stepper(MODEL, "semi_implicit", held=True, wrenches=True, resistance=True)
    found = kernel(q, v, 0.0, tau, wrenches, 1e-3, 10)
    motion = mz.simulate(
        MODEL, q, v, 0.01, 1e-3, "semi_implicit", tau, wrenches=wrenches, resistance=True
    )
    np.testing.assert_allclose(found[0], motion.q[:, -1], rtol=1e-12)


@pytest.mark.parametrize("count", first(1, [3, 1]))
def test_steps_whose_number_is_known_are_differentiable(count):
    """In JAX, as `linearize` does by itself, step after step."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    step = mz.stepper(MODEL, held=True, steps=count, target="jax")
    q, v, tau = np.random.default_rng(1).normal(size=(3, 3))
    found = jax.jacfwd(lambda *x: jax.numpy.concatenate(step(*x[:2], 0.0, x[2], 0.01)), (0, 1, 2))
    wanted = np.eye(6, 9)
    for _ in range(count):
        A, B = mz.linearize(MODEL, q, v, tau, dt=0.01)
        wanted = A @ wanted
        wanted[:, 6:] += B
        q, v = mz.stepper(MODEL, held=True, steps=1)(q, v, 0.0, tau, 0.01)
    start = np.random.default_rng(1).normal(size=(3, 3))
    np.testing.assert_allclose(np.concatenate(found(*start), axis=1), wanted, atol=1e-12)
    unknown = mz.stepper(MODEL, held=True, target="jax")
    with pytest.raises(TypeError, match="say how many when it is made"):
        jax.jacfwd(lambda q: unknown(q, v, 0.0, tau, 0.01, 1.0)[0])(q)


def test_what_a_kernel_cannot_do_is_named():
    with pytest.raises(ConfigurationError, match="steps 0; give 1 or more"):
        mz.stepper(MODEL, steps=0)
    with pytest.raises(ConfigurationError, match="constant step"):
        mz.stepper(MODEL, "dopri5")
    with pytest.raises(ConfigurationError, match="carries more than q and v"):
        mz.stepper(MODEL, "generalized_alpha")
    with pytest.raises(ConfigurationError, match="records 0"):
        mz.stepper(MODEL, records=0)
