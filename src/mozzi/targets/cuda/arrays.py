"""What the CUDA target asks of arrays on the device, those of CuPy have it, and how they lie."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from mozzi.program.program import Input

if TYPE_CHECKING:
    import jax

__all__ = ["DeviceArray", "Out", "check", "columnar", "jax_arrays", "rows", "rowwise"]


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


def check(
    name: str, array: DeviceArray | jax.Array, spec: Input, dtype: np.dtype[np.generic]
) -> None:
    """Raise where an array is no argument of a kernel of this name and these numbers."""
    if array.dtype != dtype:
        raise TypeError(
            f"{name}: {spec.name} is {array.dtype}, this kernel computes in {dtype};"
            f" convert it, or compile with dtype={array.dtype.name!r}"
        )
    split = array.ndim - len(spec.shape)
    if split < 0 or array.shape[split:] != spec.shape:
        raise ValueError(
            f"{name}: {spec.name} has shape {array.shape}; its last axes are {spec.shape}"
        )


def jax_arrays(
    name: str, args: Sequence[object], inputs: Sequence[Input], dtype: np.dtype[np.generic]
) -> list[jax.Array]:
    """The arguments as JAX arrays on a GPU: those that are, others by DLPack, or copied."""
    jax = importlib.import_module("jax")
    arrays: list[jax.Array] = []
    for x, spec in zip(args, inputs, strict=True):
        if isinstance(x, jax.core.Tracer):
            raise TypeError(
                f"{name}: {spec.name} is being traced by JAX; compile with target='jax'"
            )
        if not isinstance(x, jax.Array):
            there = hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray)
            x = jax.dlpack.from_dlpack(x) if there else jax.numpy.asarray(x, dtype)
        array = cast("jax.Array", x)
        if any(device.platform == "cpu" for device in array.devices()):
            raise TypeError(
                f"{name}: {spec.name} is on the CPU; put it on the GPU with"
                " jax.device_put, or compile with target='jax'"
            )
        check(name, array, spec, dtype)
        arrays.append(array)
    return arrays
