"""Random programs, their arguments, and kernels held against the interpreter."""

from __future__ import annotations

import numpy as np

from mozzi.program.meaning import interpret
from mozzi.program.program import Input, Program, trace
from mozzi.program.scalar import (
    atan2,
    cos,
    exp,
    log,
    maximum,
    minimum,
    select,
    sin,
    sqrt,
    tanh,
)
from mozzi.targets.cpu.kernel import CpuKernel

DTYPES = ("float64", "float32")
WIDTHS = {"float64": (2, 4, 8), "float32": (4, 8, 16)}
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}


def expected(program: Program, args: list[np.ndarray]) -> list[np.ndarray]:
    """The interpreter, in double precision, on batches."""
    batch = np.broadcast_shapes(
        *(a.shape[: a.ndim - len(x.shape)] for a, x in zip(args, program.inputs, strict=True))
    )
    flat = [
        np.broadcast_to(a, batch + x.shape).astype(float).reshape(-1, x.size)
        for a, x in zip(args, program.inputs, strict=True)
    ]
    number = int(np.prod(batch, dtype=int))
    results = [np.empty((number, x.size)) for x in program.outputs]
    for k in range(number):
        for array, values in zip(
            results, interpret(program, [list(a[k]) for a in flat]), strict=True
        ):
            array[k] = [float(x) for x in values]
    return [r.reshape(batch + x.shape) for r, x in zip(results, program.outputs, strict=True)]


def check(kernel: CpuKernel, program: Program, args: list[np.ndarray]) -> None:
    found = kernel(*args)
    found = (found,) if program.single else found
    for x, y in zip(found, expected(program, args), strict=True):
        assert np.shape(x) == y.shape
        assert np.asarray(x).dtype == kernel.dtype
        np.testing.assert_allclose(
            x, y, rtol=TOLERANCE[kernel.dtype.name], atol=10 * TOLERANCE[kernel.dtype.name]
        )


MAKE = (
    lambda a, b, c: a + b, lambda a, b, c: a - b, lambda a, b, c: a * b,
    lambda a, b, c: a / (b * b + 1.5), lambda a, b, c: -a, lambda a, b, c: sqrt(a * a + 0.25),
    lambda a, b, c: sin(a), lambda a, b, c: cos(a), lambda a, b, c: atan2(a, b * b + 0.5),
    lambda a, b, c: select(a < b, b, c), lambda a, b, c: select(a <= 0.3, a, c * 0.5),
    lambda a, b, c: minimum(a, b), lambda a, b, c: maximum(b, c),
    lambda a, b, c: exp(-a * a), lambda a, b, c: log(a * a + 1.5), lambda a, b, c: tanh(b),
)  # fmt: skip


def random_program(seed: int, size: int = 60) -> Program:
    """Random operations on values that stay near 1, by tanh-like scalings."""
    rng = np.random.default_rng(seed)

    def function(x, m, s):
        values = [*x, *m.ravel(), s]

        def pick():
            return values[rng.integers(len(values))]

        for _ in range(size):
            a, b, c = pick(), pick(), pick()
            new = MAKE[rng.integers(len(MAKE))](a, b, c)
            values.append(new / (0.1 * new * new + 1.0))  # bounded
        last = values[-9:]
        return np.array(last[:4]).reshape(2, 2), np.array(last[4:7]), last[8]

    return trace(function, [Input("x", (5,)), Input("m", (2, 3)), Input("s", ())], f"random{seed}")


def arguments(program: Program, batch: tuple[int, ...], dtype: str, seed: int = 0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-2, 2, batch + x.shape).astype(dtype) for x in program.inputs]
