"""Helpers of the dynamics tests: evaluate algorithms as plain Python, unrolled and rolled."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model import Model
from mozzi.model.generate import random_tree
from mozzi.program.meaning import interpret


def value(algorithm: Any, model: Model, *arrays: Any, **options: Any) -> Any:
    """The algorithm as plain Python, as float arrays."""
    out = algorithm.python(model, *arrays, **options)
    if isinstance(out, tuple):
        return tuple(np.array(x, dtype=float) for x in out)
    return np.array(out, dtype=float)


def program_value(
    algorithm: Any, model: Model, *arrays: Any, rolled: bool, **options: Any
) -> tuple[np.ndarray, ...]:
    """The algorithm traced, then interpreted."""
    names = algorithm.arrays[: len(arrays)]
    given = {n: True for n in names if n not in algorithm.required}
    program = program_of(algorithm, model, rolled=rolled, options=options | given)
    out = interpret(program, [np.ravel(x) for x in arrays])
    shapes = [x.shape for x in program.outputs]
    return tuple(np.reshape(np.array(x, float), n) for x, n in zip(out, shapes, strict=True))


def agree(a: Any, b: Any, tolerance: float = 1e-10) -> None:
    """Equal, relative to the largest entry (or to 1)."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    scale = 1.0 + max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    assert a.shape == b.shape, (a.shape, b.shape)
    assert np.abs(a - b).max(initial=0.0) < tolerance * scale, np.abs(a - b).max()


def state(model: Model, seed: int) -> tuple[np.ndarray, ...]:
    """A configuration, and three joint vectors."""
    rng = np.random.default_rng(seed)
    return (model.random_configuration(rng), *rng.normal(size=(3, model.nv)))


def loaded_tree(n: int, seed: int, joints: Any = None) -> Model:
    """A random tree with armature, damping, friction and springs at some joints."""
    model = random_tree(n, seed, joints=joints)
    rng = np.random.default_rng(seed)
    for name in model.joint_names:
        if model.joint(name).nv and rng.random() < 0.5:
            model = model.with_dynamics(
                name, armature=rng.uniform(0, 0.3), damping=rng.uniform(), friction=rng.uniform(),
                stiffness=rng.uniform(),
            )  # fmt: skip
    return model


def along(function: Any, model: Model, q: np.ndarray, v: np.ndarray, step: float = 1e-5) -> Any:
    """The rate of a function of q along the velocity v, by differences of fourth order."""

    def at(h: float) -> Any:
        return function(value(mz.integrate, model, q, h * v))

    return (8.0 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12.0 * step)


@st.composite
def mechanisms(draw: st.DrawFn, bodies: int = 6) -> Model:
    """Random trees of all joint types, with armature and the like at some joints."""
    n = draw(st.integers(1, bodies))
    return loaded_tree(n, draw(st.integers(0, 10**6)))


seeds = st.integers(0, 10**6)
