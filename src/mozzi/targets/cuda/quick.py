# pyright: basic
# (neither CuPy nor PyTorch need be here)
"""Calls with what most calls have: row-major arrays (N, n) of CuPy or PyTorch, and Python numbers.

A call is then a few looks at attributes, memory for the results, and a launch. Numbers of shape ()
are arguments of the launch itself and take no memory on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CupySide", "Side", "TorchSide", "places"]


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

    def column_place(self, x, shape: tuple[int, ...]) -> int | None:
        """The same of an array of which all samples of a number lie together."""
        if x.dtype == self.dtype and x.shape == shape and x.flags.f_contiguous:
            return x.data.ptr
        return None

    def new_columns(self, like, shape: tuple[int, ...]):
        made = self._empty(shape, self.dtype, "F")
        return made, made.data.ptr

    def stream(self, like) -> int:
        return self._stream().ptr


class TorchSide:
    """How they are done with PyTorch's tensors, on its current device."""

    def __init__(self, torch: ModuleType, dtype: np.dtype):
        self.kind, self.dtype = torch.Tensor, getattr(torch, dtype.name)
        self.address, self.empty_like = torch.Tensor.data_ptr, torch.empty_like
        self._current = getattr(torch._C, "_cuda_getDevice", None) or torch.cuda.current_device
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
        made = self.empty_like(like) if like.shape == shape else like.new_empty(shape)
        return made, made.data_ptr()

    def column_place(self, x, shape: tuple[int, ...]) -> int | None:
        return self.place(x.mT, shape[::-1]) if x.ndim == 2 else None

    def new_columns(self, like, shape: tuple[int, ...]):
        made = like.new_empty(shape[::-1]).mT
        return made, made.data_ptr()

    def stream(self, like) -> int:
        return self._stream(like.get_device())


Side = CupySide | TorchSide


def places(
    side: Side, arrays: Sequence[object], n: tuple[int, ...], shapes: Sequence[tuple[int, ...]],
    numbers: bool = False, columns: bool = False,
) -> tuple[list[float], int] | None:  # fmt: skip
    """Addresses of the arrays, or numbers themselves where these may be, and which are numbers (a
    bit for each); None where one of them is something else. columns: of arrays by columns.
    """
    if len(arrays) != len(shapes):
        return None
    found: list[float] = []
    mask, kind, place = 0, side.kind, side.column_place if columns else side.place
    for k, (x, shape) in enumerate(zip(arrays, shapes)):
        if type(x) is kind:
            at = place(x, n + shape)
            if at is None:
                return None
            found.append(at)
        elif numbers and not shape and isinstance(x, (float, int)):
            found.append(x)
            mask |= 1 << k
        else:
            return None
    return found, mask
