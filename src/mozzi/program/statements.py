"""What rolled programs are made of besides values: memory, indices, stores and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from mozzi.program.node import Node, Region

__all__ = ["Address", "Buffer", "Index", "Loop", "Statement", "Store"]


@dataclass(eq=False)
class Buffer:
    """Memory of a program, addressed in scalars.

    kind: "input" (an argument), "scratch" (per evaluation), "table" (constants `data`, the same
    for all evaluations). held: what is loaded from it counts as a constant where derivatives are
    taken; who fills it adds what changes. entries: those of a table that are ever read, where that
    is known.
    """

    name: str
    size: int
    kind: str
    data: np.ndarray | None = None
    position: int = -1  # which input
    held: bool = False
    entries: Sequence[int] = ()
    _combined: dict[tuple[str, Buffer | float, bool], Buffer | float] = field(
        default_factory=dict["tuple[str, Buffer | float, bool]", "Buffer | float"], repr=False
    )

    def combined(self, op: str, other: Buffer | float, mirrored: bool) -> Buffer | float:
        """The table of an operation on the numbers of this one and of another (or a constant),
        entry by entry (mirrored: of the other and this one); a number where all entries agree.
        """
        key = op, other, mirrored
        if key not in self._combined:
            assert self.data is not None
            pair = self.data, other.data if isinstance(other, Buffer) else other
            data: np.ndarray = ENTRYWISE[op](*pair[:: -1 if mirrored else 1])
            read = data[list(self.entries)]
            same = bool((read == read[0]).all())
            made = Buffer(self.name, self.size, "table", data, entries=self.entries)
            self._combined[key] = float(read[0]) if same else made
        return self._combined[key]


#: Operations on tables that are tables again.
ENTRYWISE: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply,
}  # fmt: skip


@dataclass(eq=False)
class Index:
    """An integer known when the program runs.

    A loop's variable (neither table nor terms), an entry table[at], or a sum Σ factor · index over
    the terms.
    """

    table: np.ndarray | None = None
    at: Index | None = None
    terms: tuple[tuple[Index, int], ...] = ()
    name: str = "k"


class Address(NamedTuple):
    """buffer[at · stride + offset]."""

    buffer: Buffer
    at: Index | None
    stride: int
    offset: int


@dataclass(eq=False)
class Store:
    """buffer[index · stride + offset] = value."""

    buffer: Buffer
    index: Index | None
    stride: int
    offset: int
    value: Node


@dataclass(eq=False)
class Loop:
    """Run a branch for every value of the variable.

    Counted: from start to stop (exclusive) by step; a stop that is a value of the program is
    the same for all samples of a call (how many steps to take). Or with `follow`: from start, then
    follow[start] and so on, while it is ≥ stop. The branch is chosen by which[variable] where
    there are several. going: where it is zero, what is left of the iterations changes nothing that
    is read behind them: they may be left out where that is so of all samples that run together.
    """

    variable: Index
    start: int | Index
    stop: int | Node
    step: int
    follow: np.ndarray | None
    which: np.ndarray | None
    branches: list[Region]
    going: Address | None = None


#: What a region is made of.
Statement: TypeAlias = Node | Store | Loop
