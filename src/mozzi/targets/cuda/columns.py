"""CUDA C of columns of products with M⁻¹, in registers.

    x ← L⁻ᵀ x    x ← D⁻¹ x    x ← L⁻¹ x    with  M = Lᵀ D L

are as many multiplications as L and D⁻¹ have numbers that are not zero: few, in a tree. The first
column of a thread is one of the first third of all columns, and so on: where these all start with
zeros, as the columns of a leg do in the rows of an arm, nothing is multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mozzi.program.node import Node
from mozzi.targets.c.words import number

__all__ = ["Columns", "Factors", "Result"]


@dataclass(frozen=True)
class Factors:
    """L without its diagonal of ones and D⁻¹, (n, n) by rows, and the places of their numbers in
    the tiles of argument 0.
    """

    L: Sequence[Node]
    D: Sequence[Node]
    places: Mapping[int, int]
    n: int


@dataclass(frozen=True)
class Result:
    """A result of `size` numbers: those of `values` (the unit matrix where there are none), whose
    places in the tiles of an argument are given; multiplied by ±M⁻¹, or not. kept: which of the
    numbers are written, where not all are.
    """

    size: int
    values: Sequence[Node] = ()
    places: Mapping[int, int] | None = None
    tiles: int = 0
    times: float = 0.0  # ±1: by ±M⁻¹
    kept: Sequence[int] = ()


@dataclass(frozen=True)
class Columns:
    """The lines of a thread of sample s, whose matrix is in `rows`: columns c, c + groups, … up to
    `wide` of them. T: the type of numbers, of which `group` are taken at once.
    """

    factors: Factors
    results: Sequence[Result]
    T: str
    group: int
    wide: int

    @property
    def groups(self) -> int:
        """How many threads have all columns."""
        return -(-self.factors.n // self.wide)

    @property
    def alone(self) -> bool:
        """Whether M⁻¹ itself is all that is wanted: nothing is in `rows`."""
        return len(self.results) == 1 and not self.results[0].values

    def lines(self) -> Iterator[str]:
        """A thread's columns of a matrix, multiplied by M⁻¹. What is zero in the columns of all
        threads, of all results, is no variable.
        """
        f, n, W = self.factors, self.factors.n, range(self.wide)
        L, D = (
            [[(i, x) for i, x in enumerate(F[n * k : n * k + n]) if x.op != "const" or x.value]
             for k in range(n)]
            for F in (f.L, f.D)
        )  # fmt: skip
        here: set[int] = set()
        sweep = 0

        def taken(x: Node) -> Iterator[str]:
            """The line that takes a factor and its neighbours, unless they are here."""
            place = f.places[id(x)] // self.group if x.op != "const" else -1
            if place >= 0 and place not in here:
                here.add(place)
                yield f"const Group f{sweep}_{place} = take(f + {16 * place});"

        def spelled(x: Node) -> str:
            if x.op == "const":
                return f"({number(x.value, self.T)})"
            place, part = divmod(f.places[id(x)], self.group)
            return f"f{sweep}_{place}.{'xyzw'[part]}"

        own = [m * self.groups for m in W]  # columns c + m
        some = [self.rows(range(own[m], min(own[m] + self.groups, n))) for m in W]
        yield f"T* x = rows + s * {n * n} + c;"
        for m in W:  # a column beyond the last is computed, of another's numbers, and not written
            there = f"(c + {own[m]} < {n} ? {own[m]} : 0)"
            for i in sorted(some[m]):
                one = f"c + {own[m]} == {i} ? {number(self.results[0].times, self.T)} : 0"
                yield f"T x{i}_{m} = {one if self.alone else f'x[{n * i} + {there}]'};"

        def less(i: int, x: Node, k: int) -> Iterator[str]:
            """x_i ← x_i − X x_k, in the columns where x_k is not zero."""
            columns = [m for m in W if k in some[m]]
            if columns:
                yield from taken(x)
            for m in columns:
                start = f"x{i}_{m} -=" if i in some[m] else f"T x{i}_{m} = -"
                some[m].add(i)
                yield f"{start} {spelled(x)} * x{k}_{m};"

        for k in reversed(range(n)):  # L⁻ᵀ
            for i, x in L[k]:
                yield from less(i, x, k)
        sweep = 1
        here.clear()
        sums: list[tuple[int, int]] = []
        for k in range(n):  # D⁻¹
            for m in W:
                terms = [(i, x) for i, x in D[k] if i in some[m]]
                for _, x in terms:
                    yield from taken(x)
                if terms:
                    sums.append((k, m))
                    sum_ = " + ".join(f"{spelled(x)} * x{i}_{m}" for i, x in terms)
                    yield f"const T d{k}_{m} = {sum_};"
        for k, m in sums:
            yield f"{'' if k in some[m] else 'T '}x{k}_{m} = d{k}_{m};"
            some[m].add(k)
        sweep = 2
        here.clear()
        for k in range(n):  # L⁻¹
            for i, x in L[k]:
                yield from less(k, x, i)
        for m in W:
            yield f"if (c + {own[m]} < {n}) {{"
            for i in range(n):
                yield f"  x[{n * i} + {own[m]}] = {f'x{i}_{m}' if i in some[m] else '0'};"
            yield "}"

    def rows(self, columns: range) -> set[int]:
        """The rows in which some of these columns of what is multiplied are not zero."""
        n, found = self.factors.n, set[int]()
        for y in self.results:
            if not y.values:
                found |= {*columns}
            for j, x in enumerate(y.values):
                if j % n in columns and (x.op != "const" or x.value):
                    found.add(j // n)
        return found
