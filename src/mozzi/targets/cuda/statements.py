"""The statements of a program as CUDA C."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mozzi.program.node import Node, Region
from mozzi.program.program import Buffer, Index, Loop, Program, Store
from mozzi.targets.c.words import SPELL_C, TYPES, number
from mozzi.targets.cuda.math import CALM
from mozzi.targets.cuda.spill import Compute, Fetch, Keep, Piece, Plan
from mozzi.targets.unique_names import integer

__all__ = ["Statements"]


class Statements:
    """The lines of a program's statements, on accessors: `in_k(j)` reads, `out_k(j, x)` writes.

    written: where stores to a buffer that is a result go; buffers: the names of others.
    """

    def __init__(self, program: Program, dtype: str):
        self.T = TYPES[dtype]
        self.suffix = "f" if self.T == "float" else ""
        self.lines: list[str] = []
        self.tables: dict[tuple[str, tuple[float, ...]], tuple[str, str]] = {}
        self.names: dict[int, str] = {}
        self.indices: dict[int, str] = {}
        self.buffers: dict[int, str] = {}
        self.written: dict[int, str] = {}
        self.indent = "  "
        self.count = 0
        self.pairs = _pairs(program)
        self.sincos = "fast_sincos"  # the name of the function for both
        self.indexed = _indexed(program)

    def number(self, x: float) -> str:
        text = number(x, self.T)
        return f"({text})" if text[0] == "-" else text

    def ref(self, x: Node) -> str:
        return self.number(x.value) if x.op == "const" else self.names[id(x)]

    def say(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def steps(self, plan: Plan) -> None:
        """A large program as its plan says: what leaves a register and comes back has another name
        then.
        """
        for step in plan.steps:
            if isinstance(step, Compute):
                self.value(step.value)
            elif isinstance(step, Keep):
                self.say(f"{self.slot(step.slot)} = {self.ref(step.value)};")
            elif isinstance(step, Fetch):
                self.names.pop(id(step.value), None)
                if step.slot < 0:
                    self.value(step.value)
                    continue
                self.count += 1
                self.names[id(step.value)] = f"v{self.count}"
                self.say(f"T v{self.count} = {self.slot(step.slot)};")
            elif isinstance(step, Piece):
                self.piece(step)
            else:
                self.say("meet();")

    def slot(self, k: int) -> str:
        """Where a plan's slot is."""
        raise NotImplementedError

    def piece(self, piece: Piece) -> None:
        """Write neighbouring numbers of a result."""
        raise NotImplementedError

    def region(self, region: Region) -> None:
        for s in region.statements:
            if isinstance(s, Node):
                self.value(s)
            elif isinstance(s, Store):
                if id(s.buffer) in self.written:
                    at = self.integer(s.index, s.stride, s.offset)
                    self.say(f"{self.written[id(s.buffer)]}({at}, {self.ref(s.value)});")
                    continue
                where = self.address(s.buffer, s.index, s.stride, s.offset)
                self.say(f"{where} = {self.ref(s.value)};")
            else:
                self.loop(s)

    def value(self, s: Node) -> None:
        if s.op == "const" or id(s) in self.names:
            return
        self.count += 1
        name = self.names[id(s)] = f"v{self.count}"
        kind = "bool" if s.op in ("lt", "le") else "T"
        if s.op == "input":
            position, offset = s.place
            text = f"in{position}({offset})"
        elif s.op == "load":
            text = self.address(*s.address)
        elif s.op in ("sin", "cos") and id(s) in self.pairs:
            sine, cosine = self.pairs[id(s)]
            names = [
                self.names.setdefault(id(x), f"v{self.count}{x.op[0]}") for x in (sine, cosine)
            ]
            angle, places = self.ref(s.args[0]), ", ".join(f"&{name}" for name in names)
            self.say(f"T {names[0]}, {names[1]}; {self.sincos}({angle}, {places});")
            return
        elif s.op == "div" and s.finite and s.args[0].op == "const" and s.args[0].value == 1.0:
            text = f"reciprocal({self.ref(s.args[1])})"
        elif s.op == "sqrt" and self.sincos == CALM:
            text = f"calm_sqrt({self.ref(s.args[0])})"
        else:
            text = SPELL_C[s.op].format(*map(self.ref, s.args), f=self.suffix)
        # not const: NVIDIA's C++ front end follows initialisers of constants, path by path
        self.say(f"{kind} {name} = {text};")

    def address(self, buffer: Buffer, index: Index | None, stride: int, offset: int) -> str:
        at = self.integer(index, stride, offset)
        if buffer.kind == "table":
            data = np.ravel(np.asarray(buffer.data, dtype=float))
            return f"{self.table('T', data.tolist(), self.number)}[{at}]"
        if buffer.kind == "input":
            return f"in{buffer.position}({at})"
        return f"{self.buffers[id(buffer)]}[{at}]"

    def integer(self, index: Index | None, stride: int = 1, offset: int = 0) -> str:
        return integer(index, stride, offset, lambda k: self.indices[id(k)], self.integers)

    def integers(self, table: np.ndarray) -> str:
        return self.table("int", np.ravel(table).tolist())

    def table(self, kind: str, numbers: list[float], spell: Callable[[float], str] = str) -> str:
        """The name of a table with these contents."""
        key = (kind, tuple(numbers))
        if key not in self.tables:
            items = ", ".join(spell(x) for x in numbers)
            name = f"t{len(self.tables)}"
            self.tables[key] = name, f"{kind} {name}[{len(numbers)}] = {{{items}}}"
        return self.tables[key][0]

    def loop(self, loop: Loop) -> None:
        self.count += 1
        k = self.indices[id(loop.variable)] = f"k{self.count}"
        start = str(loop.start) if isinstance(loop.start, int) else self.integer(loop.start)
        if loop.follow is not None:
            after = f"{k} = {self.integers(loop.follow)}[{k}]"
            self.say(f"for (int {k} = {start}; {k} >= {loop.stop}; {after}) {{")
        else:
            stop = str(loop.stop) if isinstance(loop.stop, int) else f"(int){self.ref(loop.stop)}"
            test = f"{k} {'<' if loop.step > 0 else '>'} {stop}"
            if loop.going is not None:  # a thread ends its own iterations
                test += f" && {self.address(*loop.going)} != 0"
            self.say("#pragma unroll 1")
            self.say(f"for (int {k} = {start}; {test}; {k} += {loop.step}) {{")
        outer = self.indent
        self.indent = outer + "  "
        if loop.which is None:
            self._branch(loop.branches[0])
        else:
            self.say(f"switch ({self.integers(loop.which)}[{k}]) {{")
            for n, branch in enumerate(loop.branches):
                self.say(f"case {n}: {{")
                self._branch(branch)
                self.say("} break;")
            self.say("}")
        self.indent = outer
        self.say("}")

    def _branch(self, branch: Region) -> None:
        kept = dict(self.names)
        self.region(branch)
        self.names = kept


def _indexed(program: Program) -> set[int]:
    """The buffers that are addressed through loop variables."""
    found: set[int] = set()
    for s, _ in program.walk():
        if isinstance(s, Store) and s.index is not None:
            found.add(id(s.buffer))
        elif isinstance(s, Node) and s.op == "load" and s.address.at is not None:
            found.add(id(s.address.buffer))
    return found


def _pairs(program: Program) -> dict[int, tuple[Node, Node]]:
    """Sine and cosine of one argument, in one region: computed together."""
    sines: dict[tuple[int, int], Node] = {}
    cosines: dict[tuple[int, int], Node] = {}
    for s, region in program.walk():
        if isinstance(s, Node) and s.op in ("sin", "cos"):
            (sines if s.op == "sin" else cosines)[id(region), id(s.args[0])] = s
    both = {key: (sines[key], cosines[key]) for key in sines.keys() & cosines.keys()}
    return {id(x): pair for pair in both.values() for x in pair}
