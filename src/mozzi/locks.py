"""Locks that survive a fork, and work that Ctrl-C does not wait for.

A child that is forked while another thread compiles would inherit a lock that nobody releases, and
a compiler in the middle of its work. So a fork waits for these locks, and both processes go on
with them free.

Python hears Ctrl-C between two of its own steps, in the main thread: a compiler that takes half a
minute in one step would be waited for. `aside` lets another thread take that step.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

__all__ = ["ForkLock", "aside"]

PATIENCE_S = 0.02  # how long a fork waits for one lock before it lets go of the others
LISTEN_S = 0.2  # how often who waits looks for Ctrl-C, where signals do not end the wait (Windows)

T = TypeVar("T")


class _State(threading.local):
    """How many of the locks this thread holds."""

    depth = 0


_state = _State()
_every: weakref.WeakSet[ForkLock] = weakref.WeakSet()
_held: list[ForkLock] = []
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


def aside(work: Callable[[], T]) -> T:
    """What `work` gives; the main thread leaves it to another one and listens for Ctrl-C. After
    Ctrl-C the work goes on to its end, unseen, and a fork waits for the locks that it holds.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()  # signals are not for this thread
    results, errors, done = list[T](), list[BaseException](), threading.Event()

    def run(depth: int) -> None:
        _state.depth = depth  # the locks of the thread that asked: a closed gate is not for us
        try:
            results.append(work())
        except BaseException as error:  # raised again in the thread that asked
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, args=(_state.depth,), name="mozzi-aside", daemon=True).start()
    while not done.wait(LISTEN_S):
        pass
    if errors:
        raise errors[0]
    return results[0]


def _before() -> None:
    """Take all of them, in whatever order threads take theirs: who waits for one holds none."""
    _gate.clear()
    while True:
        for one in list(_every):
            if not one.lock.acquire(timeout=PATIENCE_S):
                break
            _held.append(one)
        else:
            return
        _let_go()


def _let_go() -> None:
    while _held:
        _held.pop().lock.release()


def _in_parent() -> None:
    _let_go()
    _gate.set()


def _in_child() -> None:
    global _gate
    while _held:
        _held.pop().lock = threading.RLock()
    _gate = threading.Event()
    _gate.set()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
