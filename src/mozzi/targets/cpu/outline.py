"""Long runs of statements as functions of their own, so that compile time stays linear.

In a program that is much longer than `OUTLINED_STATEMENTS` the runs between loops are cut, and all
but short ones are outlined: functions of their own. Values that another function uses have a place
in scratch memory: a region gives its places again to later values when the last user, which may be
a loop, is through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from mozzi.program.node import Node
from mozzi.program.program import Loop, Program, Statement, Store

__all__ = ["Outline", "Run"]

OUTLINED_STATEMENTS = 2500  # of an outlined function
LONG_PROGRAM = 3.0  # times as many in a program that is cut
SHORT_RUN = 0.1  # times as many in a run that stays where it stands
LAZY = ("const", "input")  # no statements of their own: emitted where they are used

Users: TypeAlias = dict[int, set[str]]  # value → the functions that use it


@dataclass(frozen=True, eq=False)
class Run:
    """Statements without loops; outlined: in a function of their own."""

    statements: list[Node | Store]
    outlined: bool


def _length(statements: list[Statement]) -> int:
    return sum(
        sum(_length(b.statements) for b in s.branches) if isinstance(s, Loop) else 1
        for s in statements
    )


class Outline:
    """names: the outlined functions, by first statement; places: where values that cross
    functions are; size: how many places there are, the first ones given away before.
    """

    def __init__(self, program: Program, first: int):
        self.long = _length(program.region.statements) > LONG_PROGRAM * OUTLINED_STATEMENTS
        self.names: dict[int, str] = {}
        self.places: dict[int, int] = {}
        self.size = first
        self._region(program.region.statements, "body")

    def parts(self, statements: list[Statement]) -> Iterator[Run | Loop]:
        """A region as its loops and what stands between them, cut where the program is long."""
        run: list[Node | Store] = []
        for s in [*statements, None]:
            if s is not None and not isinstance(s, Loop):
                if isinstance(s, Store) or s.op not in LAZY:
                    run.append(s)
                continue
            outlined = self.long and len(run) > SHORT_RUN * OUTLINED_STATEMENTS
            size = -(-len(run) // -(-len(run) // OUTLINED_STATEMENTS)) if outlined else len(run)
            for k in range(0, len(run), size or 1):
                yield Run(run[k : k + size], outlined)
            run = []
            if s is not None:
                yield s

    def _region(self, statements: list[Statement], own: str) -> Users:
        """The users of values from outside; own: the function in which the region stands."""
        home: dict[int, str] = {}
        users: Users = {}
        last: dict[int, int] = {}
        parts = list(self.parts(statements))
        for n, part in enumerate(parts):
            for x, names in self._used(part, own, home):
                users.setdefault(x, set()).update(names)
                last[x] = n
        self._give(parts, home, users, last)
        return {x: names for x, names in users.items() if x not in home}

    def _used(
        self, part: Run | Loop, own: str, home: dict[int, str]
    ) -> Iterator[tuple[int, set[str]]]:
        """Values with the functions that use them in this part, but for what an outlined function
        makes itself; notes where the part's own are made.
        """
        if isinstance(part, Loop):
            if isinstance(part.stop, Node):
                yield id(part.stop), {own}
            for branch in part.branches:
                yield from self._region(branch.statements, own).items()
            return
        if part.outlined:
            own = self.names[id(part.statements[0])] = f"outlined{len(self.names)}"
        users = {own}
        for s in part.statements:
            home[id(s)] = own
            for x in (s.value,) if isinstance(s, Store) else s.args:
                if x.op not in LAZY and not (part.outlined and home.get(id(x)) == own):
                    yield id(x), users

    def _give(
        self, parts: list[Run | Loop], home: dict[int, str], users: Users, last: dict[int, int]
    ) -> None:
        """Places for the values of a region that cross."""
        free: list[int] = []
        ending: dict[int, list[int]] = {}
        for n, part in enumerate(parts):
            for s in part.statements if isinstance(part, Run) else ():
                if users.get(id(s), set()) - {home[id(s)]}:
                    if not free:
                        free.append(self.size)
                        self.size += 1
                    self.places[id(s)] = free.pop()
                    ending.setdefault(last[id(s)], []).append(self.places[id(s)])
            free += ending.pop(n, ())
