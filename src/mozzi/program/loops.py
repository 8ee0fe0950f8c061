"""Iterations of a counted number: a loop of the program while tracing, plain Python otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mozzi.program.node import active
from mozzi.program.program import Buffer, load, loop, store
from mozzi.program.scalar import Real

__all__ = ["repeat"]


def repeat(
    count: int, state: Sequence[Real], step: Callable[[list[Real]], Sequence[Real]], name: str
) -> list[Real]:
    """state ↦ step(state), this many times."""
    now = list(state)
    if active() is None:
        for _ in range(count):
            now = list(step(now))
        return now
    if count == 0:
        return now
    memory = Buffer(name, max(1, len(now)), "scratch")

    def put(values: Sequence[Real]) -> None:
        for k, x in enumerate(values):
            store(memory, None, 0, k, x)

    def get() -> list[Real]:
        return [load(memory, None, 0, k) for k in range(len(now))]

    put(now)
    for _ in loop(0, count, name=name):
        put(list(step(get())))
    return get()
