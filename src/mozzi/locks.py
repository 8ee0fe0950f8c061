"""Locks that survive a fork, and work that Ctrl-C does not wait for.

A child that is forked while another thread compiles would inherit a lock that nobody releases, and
a compiler in the middle of its work. So a fork waits for these locks, and both processes go on
with them free. So it does for modules of the library that another thread is importing: Python keeps
a lock for each, which a child would wait for.

Python hears Ctrl-C between two of its own steps, in the main thread: a compiler that takes half a
minute in one step would be waited for. `aside` lets another thread take that step, and `Aside` a
step that is needed later.
"""

from __future__ import annotations

import _imp
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

__all__ = ["Aside", "ForkLock", "aside", "forks_wait_for"]

PATIENCE_S = 0.02  # how long a fork waits for one lock before it lets go of the others
IMPORTS_S = 20.0  # how long a fork waits for modules that other threads import
OURS = ("mozzi", "llvmlite")  # packages that the library imports when they are first needed
LISTEN_S = 0.2  # how often who waits looks for Ctrl-C, where signals do not end the wait (Windows)

T = TypeVar("T")


class _State(threading.local):
    """How many of the locks this thread holds."""

    depth = 0


_state = _State()
_every: weakref.WeakSet[ForkLock] = weakref.WeakSet()
_foreign: list[threading.RLock] = []
_held: list[tuple[ForkLock | None, threading.RLock]] = []
_gate = threading.Event()  # closed while a fork wants the locks: nobody starts anything new
_gate.set()


class ForkLock:
    """``with lock:`` one thread at a time, which may enter again; forks wait outside."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        _every.add(self)

    def __enter__(self) -> None:
        if _state.depth == 0:
            _gate.wait()
        while not self.lock.acquire(timeout=LISTEN_S):
            pass
        _state.depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _state.depth -= 1
        self.lock.release()


class Aside(Generic[T]):
    """Work that another thread begins at once; `result` waits for what it gives, or raises what it
    raised. After Ctrl-C the work goes on to its end, unseen, and a fork waits for the locks that it
    holds.
    """

    def __init__(self, work: Callable[[], T]):
        self._results, self._errors = list[T](), list[BaseException]()
        self._done = threading.Event()
        threading.Thread(
            target=self._run, args=(work, _state.depth), name="mozzi-aside", daemon=True
        ).start()

    def _run(self, work: Callable[[], T], depth: int) -> None:
        _state.depth = depth  # the locks of the thread that asked: a closed gate is not for us
        try:
            self._results.append(work())
        except BaseException as error:  # raised again in the thread that asked
            self._errors.append(error)
        finally:
            self._done.set()

    def result(self) -> T:
        while not self._done.wait(LISTEN_S):
            pass
        if self._errors:
            raise self._errors[0]
        return self._results[0]


def aside(work: Callable[[], T]) -> T:
    """What `work` gives; the main thread leaves it to another one and listens for Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        return work()  # signals are not for this thread
    return Aside(work).result()


def forks_wait_for(lock: threading.RLock) -> None:
    """Another library's lock, which threads may hold outside of ours (where kernels go away)."""
    _foreign.append(lock)


def _before() -> None:
    """Take all of them, in whatever order threads take theirs: who waits for one holds none. What
    was not to be had comes first the next time: while a fork waits for it, others are free.
    """
    _gate.clear()
    end = time.monotonic() + IMPORTS_S
    missing = None
    while True:
        ours = [(one, one.lock) for one in list(_every)]
        every = [*ours, *((None, lock) for lock in _foreign)]
        for one, lock in sorted(every, key=lambda pair: pair[1] is not missing):
            if not lock.acquire(timeout=PATIENCE_S):
                missing = lock
                break
            _held.append((one, lock))
        else:
            _imp.acquire_lock()  # nobody starts an import now
            if not _importing() or time.monotonic() > end:
                return
            _imp.release_lock()
        _let_go()
        time.sleep(0.001)


def _importing() -> bool:
    """Whether a module of ours is being imported."""
    specs = (getattr(x, "__spec__", None) for n, x in list(sys.modules.items()) if _is_ours(n))
    return any(getattr(spec, "_initializing", False) for spec in specs)


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in OURS


def _let_go() -> None:
    while _held:
        _held.pop()[1].release()


def _in_parent() -> None:
    _imp.release_lock()
    _let_go()
    _gate.set()


def _in_child() -> None:
    global _gate
    _imp.release_lock()
    while _held:
        one, lock = _held.pop()
        if one is None:
            lock.release()
        else:
            one.lock = threading.RLock()
    _gate = threading.Event()
    _gate.set()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
