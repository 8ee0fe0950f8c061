"""Iterations of a counted number: a loop of the program while tracing, plain Python otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mozzi.program.node import active
from mozzi.program.program import Address, Buffer, load, loop, store
from mozzi.program.scalar import Real

__all__ = ["repeat"]


def repeat(
    count: int, state: Sequence[Real], step: Callable[[list[Real]], Sequence[Real]], name: str,
    while_last: bool = False,
) -> list[Real]:  # fmt: skip
    """state ↦ step(state), this many times. while_last: where the last of the state is zero, steps
    change nothing that is read behind them, and may be left out.
    """
    now = list(state)
    if active() is None:
        for _ in range(count):
            if while_last and now[-1] == 0.0:
                break
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
    going = Address(memory, None, 0, len(now) - 1) if while_last else None
    for _ in loop(0, count, name=name, going=going):
        put(list(step(get())))
    return get()
