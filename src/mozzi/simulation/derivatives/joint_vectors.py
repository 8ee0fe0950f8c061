"""Joint vectors that loops of a program leave for one another: of stages, of steps of an iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mozzi.algorithms.recursion.containers import BlockArray, joint_configuration, joint_vector
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import BodyView, JointVector
from mozzi.program.program import Buffer, Index, load, loop, store
from mozzi.program.scalar import Node, Real
from mozzi.types import Traced

__all__ = ["JointVectors"]


class JointVectors:
    """Some joint vectors in memory, zero at first, read and written by number (or by a loop's
    variable) and body. what: "v", or "q" for configurations.
    """

    def __init__(self, model: Mechanism, letter: str, count: int, what: str = "v"):
        self.model, self.what, self.letter = model, what, letter
        self.size = model.nq if what == "q" else model.nv
        self.buffer = Buffer(letter, max(1, count * self.size), "scratch")
        for _, k in loop(0, count * self.size):
            store(self.buffer, k, 1, 0, 0.0)

    def _place(self, number: int | Index, body: BodyView) -> tuple[Index | None, int]:
        terms: list[tuple[Index, int]] = []
        first = 0
        for start, stride in ((number, self.size), (self.model.offset(body, self.what), 1)):
            if isinstance(start, Index):
                terms.append((start, stride))
            else:
                first += start * stride
        return (Index(terms=tuple(terms)) if terms else None), first

    def __getitem__(self, at: tuple[int | Index, BodyView]) -> list[Node]:
        (index, first), joint = self._place(*at), at[1].joint
        size = joint.nq if self.what == "q" else joint.nv
        return [load(self.buffer, index, 1, first + n) for n in range(size)]

    def __setitem__(self, at: tuple[int | Index, BodyView], block: Sequence[Real]) -> None:
        index, first = self._place(*at)
        for n, x in enumerate(block):
            store(self.buffer, index, 1, first + n, x)

    def get(self, number: int | Index) -> BlockArray:
        """One of them, as it is now."""
        make = joint_configuration if self.what == "q" else joint_vector
        out = make(self.model, self.letter)
        for b in self.model.outward():
            out[b] = self[number, b]
        return out

    def put(self, number: int | Index, x: JointVector) -> None:
        """Set one of them."""
        for b in self.model.outward():
            self[number, b] = x[b]

    def array(self) -> Traced:
        """The first of them."""
        return np.array([load(self.buffer, None, 0, n) for n in range(self.size)], dtype=object)
