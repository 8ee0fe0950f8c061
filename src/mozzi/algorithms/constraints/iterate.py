"""Iterations of a counted number: a loop of the program while tracing, plain Python otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mozzi.program.node import active
from mozzi.program.program import Buffer, load, loop, store

__all__ = ["repeat"]


def repeat(
    count: int, state: Sequence[Any], step: Callable[[list[Any]], Sequence[Any]], name: str
) -> list[Any]:
    """state ↦ step(state), this many times."""
    now = list(state)
    if active() is None:
        for _ in range(count):
            now = list(step(now))
        return now
    if count == 0:
        return now
    memory = Buffer(name, max(1, len(now)), "scratch")

    def put(values: Sequence[Any]) -> None:
        for k, x in enumerate(values):
            store(memory, None, 0, k, x)

    get = lambda: [load(memory, None, 0, k) for k in range(len(now))]
    put(now)
    for _ in loop(0, count, name=name):
        put(list(step(get())))
    return get()
