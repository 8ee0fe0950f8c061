"""Large batches over several threads: slices of one batch axis, each through the same ufunc.

Machine code runs without the GIL, so Python's threads do. The threads live as long as the process.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

__all__ = ["get_num_threads", "run", "set_num_threads"]

_lock = threading.Lock()
_number: int | None = None
_pool: ThreadPoolExecutor | None = None


def _default() -> int:
    text = os.environ.get("MOZZI_NUM_THREADS", "").strip()
    if text:
        if not text.isdigit() or int(text) < 1:
            raise ValueError(f"MOZZI_NUM_THREADS={text!r}; give a whole number from 1")
        return int(text)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def get_num_threads() -> int:
    """How many threads large batches run on: MOZZI_NUM_THREADS, or all cores."""
    global _number
    if _number is None:
        _number = _default()
    return _number


def set_num_threads(number: int | None) -> None:
    """Run large batches on so many threads; None for MOZZI_NUM_THREADS, or all cores."""
    global _number, _pool
    if number is not None and (not isinstance(number, int) or number < 1):
        raise ValueError(f"{number!r} threads; give a whole number from 1, or None")
    with _lock:
        _number = number
        pool, _pool = _pool, None
    if pool is not None:
        pool.shutdown(wait=False)


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(1, get_num_threads() - 1), "mozzi")
        return _pool


def _forget() -> None:
    """A forked child has no threads."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def run(
    ufunc: np.ufunc,
    args: Sequence[np.ndarray],
    outs: Sequence[np.ndarray],
    cores: Sequence[int],
    batch: tuple[int, ...],
    parts: int,
    lanes: int,
) -> None:
    """ufunc(*args, out=outs) in `parts` slices of the longest batch axis.

    cores: how many axes of each operand, arguments first, are no batch axes.
    """
    axis = max(range(len(batch)), key=lambda k: batch[k])
    n = batch[axis]
    size = -(-n // parts)
    size = -(-size // lanes) * lanes  # whole vectors
    behind = len(batch) - axis  # batch axes from this one on

    def cut(x: np.ndarray, core: int, part: slice) -> np.ndarray:
        at = x.ndim - core - behind
        if at < 0 or x.shape[at] == 1 != n:
            return x  # the same for all slices
        return x[(slice(None),) * at + (part,)]

    def some(slices: Iterator[slice]) -> None:
        for part in slices:
            arrays = [cut(x, core, part) for x, core in zip((*args, *outs), cores, strict=True)]
            ufunc(*arrays[: len(args)], out=tuple(arrays[len(args) :]))

    slices = [slice(k, min(k + size, n)) for k in range(0, n, size)]
    shared = iter(slices)  # next() of a list's iterator is atomic
    helpers: list[Any] = []
    try:
        for _ in range(min(get_num_threads(), len(slices)) - 1):
            helpers.append(_threads().submit(contextvars.copy_context().run, some, shared))
    except RuntimeError:
        pass  # the threads are going away: this one does what is left
    try:
        some(shared)
    finally:
        wait(helpers)
    for helper in helpers:
        helper.result()
