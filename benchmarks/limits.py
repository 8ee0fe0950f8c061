"""`python -m benchmarks --limits`: what this machine can do at most, and each case's share of it.

Vector throughput: multiplications and additions on vectors, as many as one core retires, by a
kernel that does nothing else. Bandwidth: bytes that one core copies per second, at the size of
each case's arrays; and bytes that a kernel writes whose body does nothing. A case cannot take less
than the larger of its operations at that throughput and its arrays at that bandwidth; the share is
that time over the measured one.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np

import mozzi as mz
from mozzi.model.generate import chain

__all__ = ["bandwidth", "share", "vector_throughput", "writing"]

CHAINS, ROUNDS, SETS = 8, 12, 24  # many chains at once hide the latency of an operation


def _best(call: Any, rounds: int = 15) -> float:
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


@cache
def vector_throughput() -> float:
    """Additions and multiplications in float64 per second of one core."""

    def products(x: Any, a: Any, b: Any) -> Any:
        total = 0.0 * x
        for k in range(SETS):
            y = x
            for _ in range(ROUNDS):
                y = y * a + (1.0 + 0.01 * k)
            total = total + y * b
        return total

    shapes = {"x": (CHAINS,), "a": (), "b": ()}
    kernel = mz.compile(products, chain(1), inputs=shapes)
    batch = 1024
    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch, CHAINS))
    a, b = np.full(batch, 0.99), np.full(batch, 0.01)
    out = kernel(x, a, b)
    return kernel.entry.work * batch / _best(lambda: kernel(x, a, b, out=out))


@cache
def bandwidth(size: int) -> float:
    """Bytes per second that one core reads and writes, in arrays of so many bytes together."""
    source = np.ones(max(512, size // 16))
    target = np.empty_like(source)
    repeat = max(1, 2**22 // source.nbytes)

    def copies() -> None:
        for _ in range(repeat):
            np.copyto(target, source)

    return 2 * source.nbytes * repeat / _best(copies)


@cache
def writing(numbers: int = 1444, batch: int = 4096) -> float:
    """Bytes per second that a kernel writes whose body does nothing: one number in all places."""
    kernel = mz.compile(lambda x: np.array([x] * numbers, dtype=object), chain(1), inputs={"x": ()})
    x = np.ones(batch)
    out = kernel(x)
    return out.nbytes / _best(lambda: kernel(x, out=out))


def share(kernel: Any, batch: int, ns: float) -> dict[str, float]:
    """The least time of one evaluation by operations and by bytes, and the larger one's share of
    what was measured.
    """
    item = kernel.dtype.itemsize
    moved = item * sum(x.size for x in (*kernel.inputs, *kernel.outputs))
    computing = 1e9 * kernel.entry.work / vector_throughput()
    moving = 1e9 * moved / bandwidth(2 ** round(np.log2(moved * batch)))
    return {
        "limit_operations_ns": computing, "limit_bytes_ns": moving,
        "share": max(computing, moving) / ns,
    }  # fmt: skip
