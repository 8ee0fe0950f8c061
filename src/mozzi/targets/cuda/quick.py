# pyright: basic
# (neither CuPy nor PyTorch need be here)
"""Calls with what most calls have: row-major arrays (N, n) of CuPy or PyTorch, and Python numbers.

A call is then a few looks at attributes, memory for the results, and a launch. Numbers of shape ()
are arguments of the launch itself and take no memory on the device.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CupySide", "Side", "TorchSide", "bits", "places"]


def bits(x: float, size: int) -> int:
    """A number as the 64 bits of an argument, of which a float32 takes the first 32."""
    if size == 8:
        return struct.unpack("<q", struct.pack("<d", x))[0]
    return struct.unpack("<i", struct.pack("<f", x))[0]


class CupySide:
    """How the calls are done with CuPy's arrays."""

    def __init__(self, cupy: ModuleType, dtype: np.dtype):
        self.kind, self.dtype, self._empty = cupy.ndarray, dtype, cupy.empty
        self._stream = cupy.cuda.get_current_stream

    def here(self, x) -> bool:
        return True

    def place(self, x, shape: tuple[int, ...]) -> int | None:
        """The address of a row-major array of this shape and of the kernel's numbers, else None."""
        if x.dtype == self.dtype and x.shape == shape and x.flags.c_contiguous:
            return x.data.ptr
        return None

    def new(self, like, shape: tuple[int, ...]):
        """A new array, and its address."""
        made = self._empty(shape, self.dtype)
        return made, made.data.ptr

    def stream(self, like) -> int:
        return self._stream().ptr


class TorchSide:
    """How they are done with PyTorch's tensors, on its current device."""

    def __init__(self, torch: ModuleType, dtype: np.dtype):
        self.kind, self.dtype = torch.Tensor, getattr(torch, dtype.name)
        self._current = torch.cuda.current_device
        self._stream = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (
            lambda device: torch.cuda.current_stream(device).cuda_stream
        )

    def here(self, x) -> bool:
        """Whether it is on the current device: others take the long way."""
        return x.is_cuda and x.get_device() == self._current()

    def place(self, x, shape: tuple[int, ...]) -> int | None:
        if (
            x.dtype is self.dtype and x.shape == shape and x.is_contiguous()
            and x.is_cuda and not x.requires_grad
        ):  # fmt: skip
            return x.data_ptr()
        return None

    def new(self, like, shape: tuple[int, ...]):
        made = like.new_empty(shape)
        return made, made.data_ptr()

    def stream(self, like) -> int:
        return self._stream(like.get_device())


Side = CupySide | TorchSide


def places(
    side: Side, arrays: Sequence[object], n: tuple[int, ...], shapes: Sequence[tuple[int, ...]],
    size: int = 0,
) -> tuple[list[int], int] | None:  # fmt: skip
    """Addresses of the arrays, or the bits of numbers, and which are numbers (a bit for each, where
    size, of a number, is given); None where one of them is something else.
    """
    if len(arrays) != len(shapes):
        return None
    found: list[int] = []
    mask = 0
    for k, (x, shape) in enumerate(zip(arrays, shapes)):
        if type(x) is side.kind:
            place = side.place(x, n + shape)
            if place is None:
                return None
            found.append(place)
        elif size and not shape and isinstance(x, (float, int)):
            try:
                found.append(bits(x, size))
            except OverflowError:
                return None
            mask |= 1 << k
        else:
            return None
    return found, mask
