"""Arrays for large results: memory that was used a moment ago, not pages that the system has to
find and clear first.

A fresh page costs more than what most kernels write into it. So the memory of a result that nobody
looks at any more serves the next one of its size, and goes back to the system when it has not been
wanted for a second.
"""

from __future__ import annotations

import atexit
import mmap
import os
import threading
import time
from collections.abc import Callable
from math import prod

import numpy as np

__all__ = ["POOLED_BYTES", "empty", "held"]

POOLED_BYTES = 1 << 18  # of an array that is worth it; smaller ones come from malloc's own stock
HUGE_BYTES = 1 << 22  # of an array that is worth large pages, as NumPy has it
IDLE_S = 1.0  # how long memory that nobody uses is kept
KEPT_BYTES_MAX = 1 << 30  # bytes that are kept, at most

_free: dict[int, list[_Block]] = {}
_timer: threading.Timer | None = None
_keeping = True  # until the interpreter ends


class _Block:
    """Memory of one array; `since` it is free."""

    def __init__(self, size: int):
        self.size, self.since = size, 0.0
        if hasattr(mmap, "MAP_ANONYMOUS"):
            self.memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        else:
            self.memory = mmap.mmap(-1, size)
        if size >= HUGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
            self.memory.madvise(mmap.MADV_HUGEPAGE)
        self.start = np.frombuffer(self.memory, np.uint8).ctypes.data


def _returned(block: _Block) -> None:
    """The last array on a block has gone. This may run between any two instructions of any thread:
    so nothing here takes a lock, and every step is one that no other can divide.
    """
    if _keeping and held() + block.size <= KEPT_BYTES_MAX:
        block.since = time.monotonic()
        _free.setdefault(block.size, []).append(block)
        _watch()


class _Lease:
    """What an array on a block stands on: it goes with the last array that looks at the block."""

    __slots__ = ("__array_interface__", "block")

    def __init__(self, block: _Block, shape: tuple[int, ...], dtype: np.dtype):
        self.block = block
        self.__array_interface__ = {
            "version": 3, "data": (block.start, False), "shape": shape, "typestr": dtype.str,
        }  # fmt: skip

    def __del__(self, returned: Callable[[_Block], None] = _returned) -> None:
        returned(self.block)  # a module that ends has forgotten its names, and keeps nothing


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """np.empty(shape, dtype), for large arrays from memory that is there."""
    size = prod(shape) * dtype.itemsize
    if size < POOLED_BYTES:
        return np.empty(shape, dtype)
    size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    try:
        block = _free[size].pop()
    except (KeyError, IndexError):
        block = _Block(size)
    return np.asarray(_Lease(block, shape, dtype))


def held() -> int:
    """Bytes that are kept for the next array."""
    return sum(block.size for blocks in list(_free.values()) for block in list(blocks))


def _watch() -> None:
    """See to it that somebody looks after what is kept."""
    global _timer
    if _timer is None:
        _timer = threading.Timer(IDLE_S, _release)
        _timer.daemon = True
        _timer.start()


def _release() -> None:
    """Give back what nobody has wanted for a while; look again while there is something."""
    global _timer
    late = time.monotonic() - IDLE_S
    for blocks in list(_free.values()):
        while blocks and blocks[0].since <= late:  # the oldest is first, as the newest is taken
            try:
                blocks.pop(0)
            except IndexError:  # somebody took it
                break
    _timer = None
    if any(_free.values()):
        _watch()


def _forget() -> None:
    """A forked child has no timer; what is kept it has a copy of, and lets go of."""
    global _timer
    _timer = None
    _free.clear()


@atexit.register
def _end() -> None:
    """When the interpreter ends it starts no thread, and waits for one for ever."""
    global _keeping
    _keeping = False
    _free.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
