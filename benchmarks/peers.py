"""Pinocchio's counterparts: the fastest of what it offers from Python, in nanoseconds per
evaluation.

Where it has a batch call (`rneaInParallel`, `abaInParallel`, one thread) that counts; else one
Python call less the cost of an empty one, which is its C++ speed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["peer"]


def _best(run: Callable[[], Any], repeat: int, number: int = 1) -> float:
    best = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            run()
        best = min(best, (time.perf_counter() - start) / number)
    return best


def _states(model: Any, batch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    import pinocchio as pin

    rng = np.random.default_rng(0)
    q = np.stack([pin.randomConfiguration(_bounded(model)) for _ in range(batch)], axis=1)
    v, a = rng.normal(size=(2, model.nv, batch))
    return np.asfortranarray(q), np.asfortranarray(v), np.asfortranarray(a)


def _bounded(model: Any) -> Any:
    model.lowerPositionLimit = np.maximum(model.lowerPositionLimit, -3.0)
    model.upperPositionLimit = np.minimum(model.upperPositionLimit, 3.0)
    return model


SINGLE: dict[str, Callable[..., Any]] = {
    "rnea": lambda pin, m, d, q, v, a: pin.rnea(m, d, q, v, a),
    "aba": lambda pin, m, d, q, v, a: pin.aba(m, d, q, v, a),
    "crba": lambda pin, m, d, q, v, a: pin.crba(m, d, q),
    "minv": lambda pin, m, d, q, v, a: pin.computeMinverse(m, d, q),
    "coriolis": lambda pin, m, d, q, v, a: pin.computeCoriolisMatrix(m, d, q, v),
    "ccrba": lambda pin, m, d, q, v, a: pin.ccrba(m, d, q, v),
    "jacobians": lambda pin, m, d, q, v, a: pin.computeJointJacobians(m, d, q),
    "rnea_derivatives": lambda pin, m, d, q, v, a: pin.computeRNEADerivatives(m, d, q, v, a),
    "aba_derivatives": lambda pin, m, d, q, v, a: pin.computeABADerivatives(m, d, q, v, a),
}


def peer(name: str, model: Any, batch: int, repeat: int = 5) -> tuple[Callable[[], float], str]:
    """A function that measures once (ns per evaluation, best of `repeat`), and how it measures."""
    import pinocchio as pin

    q, v, a = _states(model, batch)
    data = model.createData()
    parallel = {"rnea": "rneaInParallel", "aba": "abaInParallel"}.get(name)
    columns = [(q[:, k].copy(), v[:, k].copy(), a[:, k].copy()) for k in range(min(batch, 64))]
    call = SINGLE[name]

    def singles() -> None:
        for x in columns:
            call(pin, model, data, *x)

    def empties() -> None:
        for _ in columns:
            _empty(model, data)

    def measure() -> float:
        single = (_best(singles, repeat, 20) - _best(empties, repeat, 20)) / len(columns) * 1e9
        if parallel is None:
            return single
        pool, out = pin.ModelPool(model, 1), np.zeros((model.nv, batch), order="F")
        run = getattr(pin, parallel)
        batched = _best(lambda: run(1, pool, q, v, a, out), repeat) / batch * 1e9
        return min(single, batched)

    return measure, "the faster of its batch call on one thread and a single call less an empty one"


def _empty(model: Any, data: Any) -> Any:
    return data
