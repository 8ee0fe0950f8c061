"""Small rolled programs with every construct, each with the function it computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mozzi.program.program import Buffer, Index, Input, Program, load, loop, store, trace
from mozzi.program.scalar import cos, select, sin

N = 5
PARENT = np.array([-1, 0, 1, 1, 3])
KIND = np.array([0, 1, 0, 1, 1])
LENGTH = np.array([0.5, 1.25, -0.75, 2.0, 0.1])


@dataclass(frozen=True)
class Rolled:
    program: Program
    means: Callable[..., list[np.ndarray]]


def argument(name: str, size: int, position: int) -> Buffer:
    return Buffer(name, size, "input", position=position)


def chain() -> Rolled:
    """Outward and inward over bodies of two kinds, with their data in tables."""

    def function(q, v):
        lengths = Buffer("length", N, "table", LENGTH)
        angle, total = Buffer("angle", N + 1, "scratch"), Buffer("total", N, "scratch")
        inputs = argument("q", N, 0)
        scale = sin(v[0]) + 2.0
        for branch, k in loop(0, N, which=KIND, branches=2, name="i"):
            parent = Index(table=PARENT + 1, at=k, name="parent")
            before = load(angle, parent, 1, 0)
            length = load(lengths, k, 1, 0)
            x = load(inputs, k, 1, 0)
            after = before + length * sin(x) if branch == 0 else before * 0.5 + x * scale
            after.name, after.origin = "angle_after", "chain (1)"
            store(angle, k, 1, 1, after)
        for _, k in loop(N - 1, -1, -1, name="i"):
            x = load(angle, k, 1, 1)
            store(total, k, 1, 0, select(x < 1.0, x * x, cos(x)) + v[1])
        return np.array([load(total, None, 0, n) for n in range(N)], object), scale

    def means(q, v):
        angle, total, scale = [0.0] * (N + 1), [0.0] * N, np.sin(v[0]) + 2.0
        for i in range(N):
            before = angle[PARENT[i] + 1]
            straight, bent = before + LENGTH[i] * np.sin(q[i]), before * 0.5 + q[i] * scale
            angle[i + 1] = straight if KIND[i] == 0 else bent
        for i in range(N):
            x = angle[i + 1]
            total[i] = (x * x if x < 1.0 else np.cos(x)) + v[1]
        return [np.array(total), np.array(scale)]

    return Rolled(trace(function, [Input("q", (N,)), Input("v", (2,))], "chain"), means)


def ancestors() -> Rolled:
    """A walk to the root inside a loop over bodies, and a matrix addressed by a sum of indices."""

    def function(q):
        inputs = argument("q", N, 0)
        matrix = Buffer("M", N * N, "scratch")
        for _, i in loop(0, N, name="i"):
            x = load(inputs, i, 1, 0)
            for _, j in loop(i, 0, follow=PARENT, name="j"):
                value = x * load(inputs, j, 1, 0) + 1.0
                store(matrix, Index(terms=((i, N), (j, 1)), name="ij"), 1, 0, value)
                store(matrix, Index(terms=((j, N), (i, 1)), name="ji"), 1, 0, value)
        loads = [load(matrix, None, 0, n) for n in range(N * N)]
        return np.array(loads, object).reshape(N, N)

    def means(q):
        M = np.zeros((N, N))
        for i in range(N):
            j = i
            while j >= 0:
                M[i, j] = M[j, i] = q[i] * q[j] + 1.0
                j = PARENT[j]
        return [M]

    return Rolled(trace(function, [Input("q", (N,))], "ancestors"), means)


def accumulate() -> Rolled:
    """Read, add, write: loads see earlier stores of the same iteration; strides and offsets."""

    def function(x):
        inputs = argument("x", 2 * N, 0)
        sums = Buffer("sums", 2, "scratch")
        for _, k in loop(0, N, 2):
            for part in (0, 1):
                store(sums, None, 0, part, load(sums, None, 0, part) + load(inputs, k, 2, part))
            store(sums, None, 0, 0, load(sums, None, 0, 0) * 0.5 + load(sums, None, 0, 1))
        return load(sums, None, 0, 0), load(sums, None, 0, 1)

    def means(x):
        x = np.reshape(x, (N, 2))
        a = b = 0.0
        for k in range(0, N, 2):
            a, b = a + x[k, 0], b + x[k, 1]
            a = a * 0.5 + b
        return [np.array(a), np.array(b)]

    return Rolled(trace(function, [Input("x", (N, 2))], "accumulate"), means)


def powers() -> Program:
    """A number of steps given at run time: x to the power of count."""

    def function(x, count):
        total = Buffer("total", 1, "scratch")
        store(total, None, 0, 0, 1.0)
        for _ in loop(0, count):
            store(total, None, 0, 0, load(total, None, 0, 0) * x)
        return load(total, None, 0, 0)

    return trace(function, [Input("x", ()), Input("count", ())], "powers")


ROLLED: dict[str, Callable[[], Rolled]] = {
    "chain": chain, "ancestors": ancestors, "accumulate": accumulate,
}  # fmt: skip


def arguments(program: Program, seed: int = 0) -> list[Any]:
    """Random flat arguments."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(-2, 2, x.size) for x in program.inputs]
