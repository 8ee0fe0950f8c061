"""What the CUDA target asks of arrays on the device: those of CuPy have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

__all__ = ["DeviceArray"]


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
