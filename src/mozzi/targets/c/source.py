"""The C target: a program becomes self-contained C99 that one can read and ship.

One function for a kernel, no allocation, no library but <math.h>, `double` or `float`.
Straight-line programs become declarations in order, loops over bodies become for-loops over
constant tables.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mozzi.program.node import Node, Region
from mozzi.program.passes import prune
from mozzi.program.program import Buffer, Index, Loop, Program, Store
from mozzi.targets.c.check import main_program
from mozzi.targets.c.words import ATOM, BINDS, RESERVED, SPELL_C, TYPES, number
from mozzi.targets.unique_names import Names, integer

__all__ = ["CSource", "build"]

LONGEST = 44  # characters of an expression that may go into another one
TOLERANCES = {"float64": 1e-9, "float32": 2e-3}


@dataclass(frozen=True, eq=False)
class CSource:
    """A program in C: `header` declares the function `name`, `source` defines it.

    operations, flops: what one evaluation takes.
    """

    program: Program
    dtype: str = "float64"

    def __repr__(self) -> str:
        return f"<CSource {self.name} {self.dtype}, {self.flops} operations>"

    @property
    def operations(self) -> dict[str, int]:
        return self.program.operations

    @property
    def flops(self) -> int:
        return self.program.flops

    @cached_property
    def _function(self) -> _Function:
        return _Function(self.program, TYPES[self.dtype])

    @property
    def name(self) -> str:
        """The name of the function in C, and of its files."""
        return self._function.name

    @cached_property
    def source(self) -> str:
        return self._function.text()

    @cached_property
    def header(self) -> str:
        function = self._function
        guard = f"{function.name.upper()}_H"
        return "\n".join(
            [
                f"#ifndef {guard}", f"#define {guard}", "",
                "#ifdef __cplusplus", 'extern "C" {', "#endif", "",
                *function.comment(), f"{function.signature()};", "",
                "#ifdef __cplusplus", "}", "#endif", "",
                "#endif", "",
            ]
        )  # fmt: skip

    def test_program(
        self, samples: Sequence[Sequence[ArrayLike]], tolerance: float | None = None
    ) -> str:
        """A main program that compares the function with the interpreter at these arguments.

        Its exit code is 0 where all results agree, 1 where one does not.
        """
        tolerance = tolerance or TOLERANCES[self.dtype]
        return main_program(self.program, self.name, self.dtype, samples, tolerance)


def build(make: Callable[[], Program], dtype: str = "float64", key: str | None = None) -> CSource:
    """The C source of the program that `make` traces."""
    return CSource(prune(make()), np.dtype(dtype).name)


class _Function:
    """The C function of a program."""

    def __init__(self, program: Program, type_: str):
        self.program = program
        self.type = type_
        self.suffix = "f" if type_ == "float" else ""
        self.names = Names(RESERVED)
        self.name = self.names.new(program.name)
        self.inputs = {self.names.new(x.name): x for x in program.inputs}
        self.outputs = {self.names.new(x.name): x for x in program.outputs}
        self.counter = self.names.new("n")
        self.spelled: dict[int, tuple[str, int]] = {}  # value → (text, how tightly it binds)
        self.variables: dict[int, str] = {}  # loop variable → name
        self.arrays: dict[int, str] = {}  # buffer → name
        self.integers: dict[bytes, tuple[str, np.ndarray]] = {}  # tables, by contents
        self.numbers: dict[bytes, tuple[str, Buffer]] = {}
        self.origin = ""
        self.temporaries = 0
        self._name_variables(program.region, ())
        self._name_buffers()
        self._name_tables()
        self.once = _used_once_beside(program)

    # Names

    def _name_variables(self, region: Region, around: tuple[str, ...]) -> None:
        """Loop variables: inner ones differ from outer ones, and all from everything else."""
        for s in region.statements:
            if isinstance(s, Loop):
                names = Names({*RESERVED, *self.inputs, *self.outputs, *around})
                name = self.variables[id(s.variable)] = names.new(s.variable.name)
                self.names.taken.add(name)
                for branch in s.branches:
                    self._name_variables(branch, (*around, name))

    def _name_buffers(self) -> None:
        for name, x in self.outputs.items():
            if isinstance(x.values, Buffer):
                self.arrays.setdefault(id(x.values), name)  # computed in place
        for buffer in self.program.buffers():
            if buffer.kind == "input":
                self.arrays[id(buffer)] = list(self.inputs)[buffer.position]
            elif buffer.kind == "table":
                key = np.asarray(buffer.data, float).tobytes()
                if key not in self.numbers:
                    self.numbers[key] = self.names.new(buffer.name), buffer
                self.arrays[id(buffer)] = self.numbers[key][0]
            elif id(buffer) not in self.arrays:
                self.arrays[id(buffer)] = self.names.new(buffer.name)

    def _name_tables(self) -> None:
        for s, _ in self.program.walk():
            if isinstance(s, Loop):
                self._table(s.which, "kind")
                self._table(s.follow, "next")
                self._index_tables(s.start if isinstance(s.start, Index) else None)
            elif isinstance(s, Store):
                self._index_tables(s.index)
            elif s.op == "load":
                self._index_tables(s.address.at)

    def _index_tables(self, index: Index | None) -> None:
        if index is not None:
            self._table(index.table, index.name if index.name != "k" else "at")
            for inner in (index.at, *(term for term, _ in index.terms)):
                self._index_tables(inner)

    def _table(self, table: np.ndarray | None, wish: str = "") -> str:
        if table is None:
            return ""
        contents = np.asarray(table, dtype=np.int64).ravel()
        key = contents.tobytes()
        if key not in self.integers:
            self.integers[key] = self.names.new(wish), contents
        return self.integers[key][0]

    def _integer(self, index: Index | None, stride: int = 1, offset: int = 0) -> str:
        return integer(index, stride, offset, lambda k: self.variables[id(k)], self._table)

    # The whole

    def signature(self) -> str:
        arguments = [
            *(f"const {self.type} {_array(name, x.size)}" for name, x in self.inputs.items()),
            *(f"{self.type} {_array(name, x.size)}" for name, x in self.outputs.items()),
        ]
        line = f"void {self.name}({', '.join(arguments) or 'void'})"
        if len(line) <= 100:
            return line
        return f"void {self.name}(\n    " + ",\n    ".join(arguments) + ")"

    def comment(self) -> list[str]:
        """What a caller needs to know."""
        count = ", ".join(f"{n} {kind}" for kind, n in self.program.operations.items())
        scratch = [b for b in self.program.buffers() if b.kind == "scratch"]
        local = sum(b.size for b in scratch if self.arrays[id(b)] not in self.outputs)
        lines = [f"{self.program.name}, generated by mozzi."]
        lines += ["", *(f"  input  {name}: {_shape(x.shape)}" for name, x in self.inputs.items())]
        lines += [f"  output {name}: {_shape(x.shape)}" for name, x in self.outputs.items()]
        lines += ["", "Arrays are in C order; outputs must not overlap inputs."]
        if local:
            lines.append(f"Scratch arrays of {local} numbers are on the stack.")
        if count:
            each = " for one pass of every loop" if self.program.rolled else ""
            lines += textwrap.wrap(f"Operations{each}: {count}.", 94)
        return ["/*", *(f" * {_comment(line)}".rstrip() for line in lines), " */"]

    def text(self) -> str:
        body = list(self._region(self.program.region, "    "))
        results = list(self._results())
        return "\n".join(
            [
                "#include <math.h>", "",
                *self._constants(), *self.comment(), self.signature(),
                "{", *self._unused(), *self._scratch(), *body, *results, "}", "",
            ]
        )  # fmt: skip

    def _unused(self) -> Iterator[str]:
        read = {
            s.place[0]
            for s, _ in self.program.walk()
            if isinstance(s, Node) and s.op == "input"
        }
        read |= {b.position for b in self.program.buffers() if b.kind == "input"}
        unused = [name for position, name in enumerate(self.inputs) if position not in read]
        unused += [name for name, x in self.outputs.items() if not x.size]
        yield from (f"    (void){name};" for name in unused)

    def _constants(self) -> Iterator[str]:
        """The tables: integers that say which body, numbers that say how it is."""
        for name, contents in self.integers.values():
            yield from _initialised(f"static const int {name}", [str(x) for x in contents])
        for name, buffer in self.numbers.values():
            words = [self._number(float(x)) for x in np.ravel(np.asarray(buffer.data))]
            yield from _initialised(f"static const {self.type} {name}", words)
        if self.integers or self.numbers:
            yield ""

    def _scratch(self) -> Iterator[str]:
        zero = self._number(0.0)
        for buffer in self.program.buffers():
            name = self.arrays[id(buffer)]
            if buffer.kind == "scratch" and name in self.outputs:
                yield from self._fill(name, buffer.size, zero)
            elif buffer.kind == "scratch":
                yield f"    {self.type} {name}[{buffer.size}] = {{{zero}}};"

    def _fill(self, name: str, size: int, value: str) -> Iterator[str]:
        n = self.counter
        yield f"    for (int {n} = 0; {n} < {size}; ++{n}) {{"
        yield f"        {name}[{n}] = {value};"
        yield "    }"

    def _results(self) -> Iterator[str]:
        for name, x in self.outputs.items():
            if not isinstance(x.values, Buffer):
                for n, value in enumerate(x.values):
                    yield f"    {name}[{n}] = {self._operand(value, 0)};"
            elif self.arrays[id(x.values)] != name:
                source = f"{self.arrays[id(x.values)]}[{self.counter}]"
                yield from self._fill(name, x.size, source)

    # Statements

    def _region(self, region: Region, margin: str) -> Iterator[str]:
        for s in region.statements:
            if isinstance(s, Loop):
                yield from self._loop(s, margin)
            elif isinstance(s, Store):
                where = f"{self.arrays[id(s.buffer)]}[{self._integer(s.index, s.stride, s.offset)}]"
                yield f"{margin}{where} = {self._operand(s.value, 0)};"
            else:
                yield from self._value(s, margin)

    def _value(self, s: Node, margin: str) -> Iterator[str]:
        text, _ = self.spelled[id(s)] = self._spell(s)
        pure = s.op != "load" or s.address.buffer.kind != "scratch"
        if s.op in ("const", "input") or (
            pure and not s.name and id(s) in self.once and len(text) <= LONGEST
        ):
            return
        name = self.names.new(s.name or self._wish(s))
        self.spelled[id(s)] = name, ATOM
        type_ = "int" if _is_condition(s) else self.type
        line = f"{margin}const {type_} {name} = {text};"
        if s.origin and s.origin != self.origin:
            self.origin = s.origin
            comment = f"/* {_comment(s.origin)} */"
            if len(line) + len(comment) < 100:
                line += f" {comment}"
            else:
                yield margin + comment
        yield line

    def _wish(self, s: Node) -> str:
        if s.op == "load":
            return f"{s.address.buffer.name}_{s.address.offset}"
        self.temporaries += 1
        return f"t{self.temporaries}"

    def _loop(self, s: Loop, margin: str) -> Iterator[str]:
        k = self.variables[id(s.variable)]
        start = self._integer(s.start) if isinstance(s.start, Index) else str(s.start)
        if s.follow is not None:
            follow = self._table(s.follow)
            yield f"{margin}for (int {k} = {start}; {k} >= {s.stop}; {k} = {follow}[{k}]) {{"
        else:
            stop = f"(int){self._operand(s.stop, 9)}" if isinstance(s.stop, Node) else s.stop
            compare, step = ("<", f"{k} += {s.step}") if s.step > 0 else (">", f"{k} -= {-s.step}")
            step = {1: f"++{k}", -1: f"--{k}"}.get(s.step, step)
            test = f"{k} {compare} {stop}"
            if s.going is not None:
                buffer, at, stride, offset = s.going
                test += f" && {self.arrays[id(buffer)]}[{self._integer(at, stride, offset)}] != 0"
            yield f"{margin}for (int {k} = {start}; {test}; {step}) {{"
        inner = margin + "    "
        if s.which is None:
            yield from self._branch(s.branches[0], inner)
        else:
            which = self._table(s.which)
            yield f"{inner}switch ({which}[{k}]) {{"
            for number, branch in enumerate(s.branches):
                label = f"case {number}" if number < len(s.branches) - 1 else "default"
                yield f"{inner}{label}: {{"
                yield from self._branch(branch, inner + "    ")
                yield f"{inner}    break;"
                yield f"{inner}}}"
            yield f"{inner}}}"
        yield f"{margin}}}"

    def _branch(self, region: Region, margin: str) -> Iterator[str]:
        outside = set(self.names.taken)
        yield from self._region(region, margin)
        self.names = Names(outside)  # what is declared in a block ends with it

    # Expressions

    def _spell(self, s: Node) -> tuple[str, int]:
        if s.op == "const":
            text = self._number(s.value)
            return text, BINDS["neg"][0] if text.startswith("-") else ATOM
        if s.op == "input":
            position, offset = s.place
            return f"{list(self.inputs)[position]}[{offset}]", ATOM
        if s.op == "load":
            buffer, index, stride, offset = s.address
            return f"{self.arrays[id(buffer)]}[{self._integer(index, stride, offset)}]", ATOM
        op, args = _positive(s.op, s.args)
        binds, levels = BINDS.get(op, (ATOM, (0,) * len(args)))
        words = [
            self._condition(a, level) if op == "select" and n == 0 else self._operand(a, level)
            for n, (a, level) in enumerate(zip(args, levels, strict=True))
        ]
        return SPELL_C[op].format(*words, f=self.suffix), binds

    def _operand(self, x: Node | float, level: int) -> str:
        """A number in an expression: in parentheses where it binds less tightly than it must."""
        if not isinstance(x, Node):
            return self._number(x)
        text, binds = self.spelled[id(x)]
        if _is_condition(x):
            return f"({self._condition(x, 5)} ? {self._number(1.0)} : {self._number(0.0)})"
        return text if binds >= level else f"({text})"

    def _condition(self, x: Node | float, level: int) -> str:
        if not isinstance(x, Node) or not _is_condition(x):
            return f"{self._operand(x, 6)} != {self._number(0.0)}"
        text, binds = self.spelled[id(x)]
        return text if binds >= level else f"({text})"

    def _number(self, x: float) -> str:
        return number(x, self.type)


def _is_condition(s: Node) -> bool:
    return s.op in ("lt", "le")


def _positive(op: str, args: tuple[Node, ...]) -> tuple[str, tuple[Node | float, ...]]:
    """x + (-3) as x - 3, and x - (-3) as x + 3."""
    if op not in ("add", "sub"):
        return op, args
    a, b = args
    if op == "add" and a.op == "const":
        a, b = b, a
    if b.op == "const" and b.value < 0.0:
        return ("sub" if op == "add" else "add"), (a, -b.value)
    return op, (a, b)


def _used_once_beside(program: Program) -> set[int]:
    """Values with one use, in their own region: they may be written where they are used."""
    home: dict[int, Region] = {}
    uses: dict[int, list[Region]] = {}
    for s, region in program.walk():
        if isinstance(s, Node):
            home[id(s)] = region
            twice = 2 if s.op in ("min", "max") else 1
            for a in s.args:
                uses.setdefault(id(a), []).extend([region] * twice)
        elif isinstance(s, Store):
            uses.setdefault(id(s.value), []).append(region)
        elif isinstance(s.stop, Node):
            uses.setdefault(id(s.stop), []).append(region)
    for x in program.outputs:
        if not isinstance(x.values, Buffer):
            for value in x.values:
                uses.setdefault(id(value), []).append(program.region)
    return {key for key, regions in uses.items() if regions == [home.get(key)]}


def _comment(text: str) -> str:
    return text.encode("ascii", "replace").decode().replace("*/", "* /")


def _array(name: str, size: int) -> str:
    return f"{name}[{size}]" if size else f"*{name}"


def _shape(shape: tuple[int, ...]) -> str:
    return "1 number" if not shape else f"{' x '.join(map(str, shape))} numbers"


def _initialised(declaration: str, words: Sequence[str]) -> Iterator[str]:
    start, numbers = f"{declaration}[{max(len(words), 1)}] = {{", ", ".join(words) or "0"
    if len(start) + len(numbers) <= 96:
        yield f"{start}{numbers}}};"
    else:
        yield start
        yield from (f"    {line}" for line in textwrap.wrap(numbers, 92, break_long_words=False))
        yield "};"
