"""The rows of all closures of a mechanism, one after the other, and what their multipliers do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mozzi.algorithms.constraints.admittance import Acting, PropagatedRows
from mozzi.algorithms.constraints.rows.relative_motion import Moving, Rows, met_rows, widest
from mozzi.algorithms.constraints.rows.rows import joint_columns
from mozzi.algorithms.recursion.blocks import dot
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import BodyView, ByBody, JointVector
from mozzi.lie import Twist, Wrench
from mozzi.model.model import WORLD
from mozzi.program.scalar import Real

__all__ = ["StraightRows"]

T = TypeVar("T")


class StraightRows:
    """The rows of all closures, one after the other."""

    def __init__(self, parts: Sequence[PropagatedRows]):
        self.parts = parts
        self.reaching: dict[int, list[tuple[int, PropagatedRows]]] = {}
        """By bodies: the closures that reach them, each with its first row."""
        start = 0
        for part in parts:
            for k in part.x:
                self.reaching.setdefault(k, []).append((start, part))
            start += len(part.rows)

    @property
    def rows(self) -> list[Rows]:
        """Closure by closure."""
        return [part.rows for part in self.parts]

    def acting(self, multipliers: Sequence[Real]) -> Acting:
        """What these exert."""
        return _StraightActing(self, multipliers)

    def moved(self, model: Mechanism, Du: ByBody[Sequence[Real]]) -> list[Real]:
        """What the free tree does to the rows at rest."""
        return [x for part in self.parts for x in part.moved(model, Du)]

    def met(
        self, model: Mechanism, A: ByBody[Twist], a: JointVector, moving: bool
    ) -> list[Real]:
        """A a + Ȧ v (without that, where nothing is ``moving``)."""
        return met_rows(model, self.rows, A, a, moving)

    def open_by(self) -> list[Real]:
        """φ, where it is small."""
        return [x for part in self.parts for x in part.rows.open_by(True)]

    def rates(self, model: Mechanism, move: Moving, v: JointVector) -> list[Real]:
        """A v."""
        out: list[Real] = []
        for part in self.parts:
            total: list[Real] = [0.0] * len(part.rows)
            for i, block in joint_columns(model, part.rows, move):
                total = [x + dot(line, v[i]) for x, line in zip(total, block, strict=True)]
            out += total
        return out

    def apart2(self, size: float) -> Real:
        """The square of how far the widest is open: see `Rows`."""
        return widest(self.rows, size)


@dataclass
class _StraightActing:
    own: StraightRows
    multipliers: Sequence[Real]

    def force(self, i: BodyView) -> list[Real]:
        return self._sum(i, lambda x: x.y, sum(1 for h in i.held if not h))

    def held(self, i: BodyView) -> list[Real]:
        return self._sum(i, lambda x: x.held, sum(1 for h in i.held if h))

    def _sum(
        self,
        i: BodyView,
        block: Callable[[PropagatedRows], Mapping[int, Sequence[Sequence[Real]]]],
        n: int,
    ) -> list[Real]:
        total: list[Real] = [0.0] * n
        for l, line in self._lines(i, block):
            total = [t + l * x for t, x in zip(total, line, strict=True)]
        return total

    def wrench(self, i: BodyView) -> Wrench:
        total = Wrench.zero()
        for l, x in self._lines(i, lambda x: x.x):
            total = total + x * l
        return total

    def _lines(
        self, i: BodyView, block: Callable[[PropagatedRows], Mapping[int, Sequence[T]]]
    ) -> Iterator[tuple[Real, T]]:
        """The multipliers of rows that reach a body, with what these have there."""
        assert isinstance(i.slot, int)
        k = i.slot + WORLD
        for start, part in self.own.reaching.get(k, ()):
            for r, line in enumerate(block(part).get(k, ())):
                yield self.multipliers[start + r], line
