"""What the CUDA target asks of arrays on the device, those of CuPy have it, and how they lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Protocol

import numpy as np

__all__ = ["DeviceArray", "Out", "columnar", "rows", "rowwise"]


class Memory(Protocol):
    """Where an array lies."""

    @property
    def ptr(self) -> int: ...


class Flags(Protocol):
    """How its numbers lie."""

    @property
    def c_contiguous(self) -> bool: ...


class DeviceArray(Protocol):
    """An array on the GPU."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[np.generic]: ...
    @property
    def flags(self) -> Flags: ...
    @property
    def data(self) -> Memory: ...
    @property
    def T(self) -> DeviceArray: ...

    def reshape(self, *shape: int) -> DeviceArray: ...


Out = DeviceArray | Sequence[DeviceArray] | None
"""Where results go."""


def rows(cupy: ModuleType, x: DeviceArray, batch: tuple[int, ...], axes: int) -> DeviceArray:
    """The array as (N, n), N samples of n numbers; samples that share a row have stride 0."""
    n, size = math.prod(batch), math.prod(x.shape[x.ndim - axes :])
    if x.ndim == axes or all(k == 1 for k in x.shape[: x.ndim - axes]):
        flat = cupy.ascontiguousarray(x).reshape(1, size)
        return cupy.lib.stride_tricks.as_strided(flat, (n, size), (0, flat.strides[1]))
    if x.shape[: x.ndim - axes] != batch:
        x = cupy.ascontiguousarray(cupy.broadcast_to(x, (*batch, *x.shape[x.ndim - axes :])))
    return x if x.ndim == 2 else x.reshape(n, size)


def rowwise(x: DeviceArray) -> bool:
    """Whether rows lie one after the other."""
    size = x.dtype.itemsize
    return (x.shape[1] <= 1 and x.strides[0] == size * x.shape[1]) or (
        x.strides == (size * x.shape[1], size)
    )


def columnar(x: DeviceArray) -> bool:
    return x.strides[0] == x.dtype.itemsize and x.shape[1] > 1
