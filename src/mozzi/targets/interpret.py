"""The interpreter as a target: slow, on any numbers, and what every other target is tested against.

Arrays of floats and complex numbers run with a NumPy batch for every scalar of the program. Arrays
of objects (`mpmath` numbers, traced scalars) run sample by sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from mozzi.errors import ConfigurationError, ShapeError
from mozzi.program.meaning import interpret
from mozzi.program.node import Node
from mozzi.program.program import Input, Loop, Program, Statement
from mozzi.targets.listing import listing, signature

__all__ = ["InterpretedKernel", "build"]


class InterpretedKernel:
    """A program, callable: leading axes are batch axes and broadcast.

    operations, flops: what one evaluation takes; source: a listing of the program.
    """

    packings = ()

    def __init__(self, program: Program, dtype: str = "float64"):
        self.program = program
        self.dtype = np.dtype(dtype)
        self.name = program.name
        self.inputs, self.outputs = program.inputs, program.outputs
        self.operations, self.flops = program.operations, program.flops

    @property
    def source(self) -> str:
        return listing(self.program)

    def __call__(self, *args: ArrayLike) -> np.ndarray | tuple[np.ndarray, ...]:
        arrays = _arrays(self.name, self.inputs, args)
        batch = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
        kind = np.result_type(self.dtype, *(a.dtype for a in arrays))
        if kind.kind in "fc" and self.dtype == np.float32:
            kind = np.dtype(np.complex64 if kind.kind == "c" else np.float32)
        alone = kind.kind == "O" or any(_counts(s) for s, _ in self.program.walk())
        results = (self._one_by_one if alone else self._together)(arrays, batch, kind)
        return results[0] if self.program.single else tuple(results)

    def _together(
        self, arrays: list[np.ndarray], batch: tuple[int, ...], kind: np.dtype
    ) -> list[np.ndarray]:
        scalars = [list(np.moveaxis(a.astype(kind), -1, 0)) for a in arrays]
        with np.errstate(all="ignore"):  # as in machine code: a select may drop what is not finite
            values = interpret(self.program, scalars)
        results: list[np.ndarray] = []
        for x, numbers in zip(self.outputs, values, strict=True):
            array = np.empty((*batch, x.size), kind)
            for n, value in enumerate(numbers):
                array[..., n] = value
            results.append(array.reshape(batch + x.shape)[()])
        return results

    def _one_by_one(
        self, arrays: list[np.ndarray], batch: tuple[int, ...], kind: np.dtype
    ) -> list[np.ndarray]:
        arrays = [np.broadcast_to(a.astype(kind), batch + a.shape[-1:]) for a in arrays]
        results = [np.empty((*batch, x.size), kind) for x in self.outputs]
        for sample in np.ndindex(batch):
            for array, numbers in zip(
                results, interpret(self.program, [list(a[sample]) for a in arrays]), strict=True
            ):
                for n, value in enumerate(numbers):
                    array[(*sample, n)] = value
        return [a.reshape(batch + x.shape)[()] for a, x in zip(results, self.outputs, strict=True)]

    def __repr__(self) -> str:
        return f"<InterpretedKernel {signature(self.program)}>"


def build(
    make: Callable[[], Program], dtype: str = "float64", key: str | None = None
) -> InterpretedKernel:
    """The kernel of the program that `make` traces."""
    return InterpretedKernel(make(), dtype)


def _counts(statement: Statement) -> bool:
    """Whether this is a loop whose number of steps is a value of the program."""
    return isinstance(statement, Loop) and isinstance(statement.stop, Node)


def _arrays(name: str, inputs: Sequence[Input], args: Sequence[ArrayLike]) -> list[np.ndarray]:
    """The arguments as arrays of shape (batch, size), checked."""
    if len(args) != len(inputs):
        names = ", ".join(x.name for x in inputs)
        raise ConfigurationError(f"{len(args)} arguments where {len(inputs)} go: {names}")
    arrays: list[np.ndarray] = []
    for x, a in zip(inputs, args, strict=True):
        array = np.asarray(a)
        batch = array.shape[: max(0, array.ndim - len(x.shape))]
        if array.shape[len(batch) :] != x.shape:
            raise ShapeError(name, x.name, array.shape, x.shape)
        arrays.append(array.reshape((*batch, x.size)))
    return arrays
