"""Kernels go to other processes and are copied: what comes back computes the same."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain, pendulum
from mozzi.targets.cpu import jit, kernel

MODEL = chain(4)
ARRAYS = [np.linspace(-0.3, 0.4, MODEL.nv) + k for k in range(3)]


def again(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("copied", [again, copy.deepcopy, copy.copy])
@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_a_copy_computes_the_same(target: Any, rolled: bool, copied: Any):
    made = mz.compile(mz.inverse_dynamics, MODEL, target=target, rolled=rolled)
    found = copied(made)
    assert np.array_equal(found(*ARRAYS), made(*ARRAYS))
    assert found.operations == made.operations
    assert found.source == made.source


def test_several_results_stay_several():
    made = mz.compile(mz.hybrid_dynamics, MODEL, options={"prescribed": MODEL.joint_names[:1]})
    for x, y in zip(again(made)(*ARRAYS, ARRAYS[0]), made(*ARRAYS, ARRAYS[0]), strict=True):
        assert np.array_equal(x, y)


@pytest.mark.parametrize("copied", [again, copy.deepcopy])
def test_sources_and_expressions(copied: Any):
    code = mz.compile(mz.inverse_dynamics, MODEL, target="c")
    assert copied(code).source == code.source
    pytest.importorskip("sympy")
    expressions = mz.compile(mz.kinetic_energy, pendulum(), target="sympy")
    assert copied(expressions).source == expressions.source


@pytest.mark.parametrize("copied", [again, copy.deepcopy])
def test_jax(copied: Any):
    pytest.importorskip("jax")
    made = mz.compile(mz.inverse_dynamics, MODEL, target="jax", dtype="float32")
    assert np.array_equal(copied(made)(*ARRAYS), made(*ARRAYS))


def test_a_kernel_of_another_machine(monkeypatch: pytest.MonkeyPatch):
    """Of the same architecture it is compiled again from its source; of another one it is an
    error.
    """
    made = mz.compile(mz.inverse_dynamics, MODEL)
    _, (data, host) = made.__reduce__()
    found = kernel._again(data, (host[0], "another", "", host[3]))
    assert np.array_equal(found(*ARRAYS), made(*ARRAYS))
    with pytest.raises(mz.ConfigurationError, match="was compiled for riscv64"):
        kernel._again(data, ("riscv64-linux", *jit.host()[1:]))
