"""Sensitivities of every algorithm: what differences of models say, or a refusal; never zeros."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numpy as np
import pytest

import mozzi as mz
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.algorithms.calls.arguments import shape_of
from mozzi.model import Model
from mozzi.model.generate import four_bar, random_tree

ALGORITHMS = sorted(n for n in mz.__all__ if isinstance(getattr(mz, n), Algorithm))
OWN = {"linearize"}  # of several programs, not of one


@cache
def mechanism(name: str) -> tuple[Model, str, np.ndarray]:
    """A model, a body of it, and a configuration in which it is closed."""
    if name == "tree":
        model = random_tree(3, seed=4, joints=[mz.Revolute, mz.Prismatic, mz.Spherical])
        return model, model.bodies[-1], model.random_configuration(np.random.default_rng(1))
    model = four_bar()
    return model, "coupler", mz.assemble(model, [0.3, 0.5, 1.5])


def arguments(function: Algorithm, model: Model, q: np.ndarray, options: dict[str, Any]) -> list:
    rng = np.random.default_rng(0)
    v = mz.consistent_velocities(model, q, rng.normal(size=model.nv))
    known = {"q": q, "q0": q, "q1": q, "v": v}
    sizes = {"order": function.defaults.get("order", 0)} | options
    return [
        known[n] if n in known else rng.normal(size=shape_of(n, model, sizes))
        for n in function.required
    ]


def parts(x: Any) -> list[np.ndarray]:
    return [np.asarray(e, dtype=float) for e in (x if isinstance(x, tuple) else (x,))]


@pytest.mark.parametrize("where", ["tree", "closed"])
@pytest.mark.parametrize("name", [n for n in ALGORITHMS if n not in OWN])
def test_differences_say_the_same_or_it_is_refused(name: str, where: str):
    function = getattr(mz, name)
    model, body, q = mechanism(where)
    frame = {"frame": body, "frames": (body,), "source": "body", "target": "spatial"}
    options = {n: frame[n] for n, x in function.defaults.items() if x is inspect.Parameter.empty}
    given = arguments(function, model, q, options)
    try:
        found = parts(mz.sensitivity(function, model, [f"{body}.mass"], **options)(*given))
    except mz.MozziError as error:
        assert "sensitivity" in str(error) or "loops" in str(error)
        return
    ten, h = [float(x) for x in model.body(body).inertia.parameters()], 1e-5

    def at(change: float) -> list[np.ndarray]:
        inertia = mz.Inertia.from_parameters([ten[0] + change, *ten[1:]])
        return parts(function.python(model.with_inertia(body, inertia), *given, **options))

    for new, old, derivative in zip(at(h), at(-h), found, strict=True):
        expected = (new - old) / (2 * h)
        scale = 1.0 + np.abs(expected).max(initial=0.0)
        assert np.abs(derivative[..., 0] - expected).max(initial=0.0) < 1e-6 * scale
