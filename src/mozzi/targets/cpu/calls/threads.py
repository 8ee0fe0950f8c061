"""Large batches over several threads: slices of one batch axis, each through the same ufunc.

Machine code runs without the GIL, so Python's threads do. The threads live as long as the process,
and wait at a queue: handing work over takes 15 µs, half of what an executor takes.
"""

from __future__ import annotations

import contextvars
import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from math import prod
from queue import SimpleQueue

import numpy as np

from mozzi.checked import checked
from mozzi.errors import ConfigurationError

__all__ = ["cell", "get_num_threads", "run", "set_num_threads"]

MAX_THREADS = 1024

_lock = threading.Lock()
_number: int | None = None
_pool: _Pool | None = None
_cell: ctypes.c_int64 | None = None


class _Job:
    """A call that another thread makes; `error` is what it raised."""

    def __init__(self, function: Callable[[], None]):
        self.function, self.context = function, contextvars.copy_context()
        self.error: BaseException | None = None
        self.busy = threading.Lock()
        self.busy.acquire()

    def run(self) -> None:
        try:
            self.context.run(self.function)
        except BaseException as error:  # raised again in the thread that asked
            self.error = error
        finally:
            self.busy.release()

    def wait(self) -> None:
        self.busy.acquire()


class _Pool:
    """Threads that take jobs from one queue."""

    def __init__(self, number: int):
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self.threads = [
            threading.Thread(target=self._work, name=f"mozzi-{k}", daemon=True)
            for k in range(number)
        ]
        for thread in self.threads:
            thread.start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            job.run()

    def close(self) -> None:
        """The threads end when they have done what is asked for now."""
        for _ in self.threads:
            self.jobs.put(None)


def _default() -> int:
    text = os.environ.get("MOZZI_NUM_THREADS", "").strip()
    if text:
        if not text.isdigit() or not 1 <= int(text) <= MAX_THREADS:
            fact = f"MOZZI_NUM_THREADS={text!r}"
            raise ConfigurationError(f"{fact}; give a whole number from 1 to {MAX_THREADS}")
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


def cell() -> ctypes.c_int64:
    """The number of threads, where machine code can read it."""
    global _cell
    if _cell is None:
        _cell = ctypes.c_int64(get_num_threads())
    return _cell


@checked
def set_num_threads(number: int | None) -> None:
    """Run large batches on so many threads.

    Cost: threads start where a batch takes more than a fraction of a millisecond.

    Args:
        number: of threads; None for MOZZI_NUM_THREADS, or all cores.

    Returns:
        None.

    Example:
        >>> mz.set_num_threads(1)
        >>> mz.set_num_threads(None)
    """
    global _number, _pool
    if number is not None and (type(number) is not int or not 1 <= number <= MAX_THREADS):
        raise ConfigurationError(f"{number!r} threads; give a whole number from 1 to {MAX_THREADS}")
    number = _default() if number is None else number
    with _lock:
        _number = number
        pool, _pool = _pool, None
        if _cell is not None:
            _cell.value = number
    if pool is not None:
        pool.close()


def _hand_over(functions: Sequence[Callable[[], None]]) -> list[_Job]:
    """Let other threads call these; before the threads of an older number end, they do, too."""
    global _pool
    with _lock:
        if _pool is None:
            _pool = _Pool(max(1, get_num_threads() - 1))
        jobs = [_Job(function) for function in functions]
        for job in jobs:
            _pool.jobs.put(job)
        return jobs


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
    ahead: float,
) -> None:
    """ufunc(*args, out=outs) in `parts` slices of the longest batch axis, on all threads.

    Every thread takes the next slice that is left. Between two slices Python looks for signals:
    after Ctrl-C no other slice is begun.

    cores: how many axes of each operand, arguments first, are no batch axes. ahead: samples that
    are done before another thread is awake; the first slice, that of the caller, has them too, so
    that it need not sleep until the others are through.
    """
    axis = max(range(len(batch)), key=lambda k: batch[k])
    n = batch[axis]
    size = int((n - ahead * n / prod(batch)) / parts)
    size = max(-(-size // lanes), 1) * lanes  # whole vectors
    first = max(n - (parts - 1) * size, size)
    behind = len(batch) - axis  # batch axes from this one on

    def cut(x: np.ndarray, core: int, part: slice) -> np.ndarray:
        at = x.ndim - core - behind
        if at < 0 or x.shape[at] == 1 != n:
            return x  # the same for all slices
        return x[(slice(None),) * at + (part,)]

    def work() -> None:
        try:
            while True:
                try:
                    part = left.pop()
                except IndexError:
                    return
                arrays = [cut(x, core, part) for x, core in zip((*args, *outs), cores)]
                ufunc(*arrays[: len(args)], out=tuple(arrays[len(args) :]))
        finally:
            left.clear()

    left = [slice(k, min(k + size, n)) for k in reversed(range(first, n, size))]
    left.append(slice(0, first))
    jobs = _hand_over([work] * (min(get_num_threads(), len(left)) - 1))
    try:
        work()
    finally:
        for job in jobs:
            job.wait()
    for job in jobs:
        if job.error is not None:
            raise job.error
