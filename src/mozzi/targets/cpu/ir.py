# pyright: reportConstantRedefinition=false
"""The body of a kernel: one program, W samples at a time, as LLVM IR text.

Every value is a vector of W samples. Arguments, results and scratch buffers are structures of
arrays (one vector per element, see `pack`), tables are constants that all samples share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from mozzi.program.node import Node
from mozzi.program.program import Buffer, Index, Loop, Program, Statement, Store
from mozzi.targets.cpu.batch_loop import TABLE
from mozzi.targets.cpu.outline import Outline
from mozzi.targets.cpu.promises import promises
from mozzi.targets.cpu.results import Results
from mozzi.targets.cpu.shared_memory import shared_memory
from mozzi.targets.cpu.vector_math import splat
from mozzi.targets.cpu.watch import Watch
from mozzi.targets.cpu.zeroing import unwritten

__all__ = ["Body"]

BINARY = {"add": "fadd contract", "sub": "fsub contract", "mul": "fmul contract", "div": "fdiv"}
POINTERS = ("%in", "%out", "%scratch", "%table")
RELOAD = 24  # statements after which a value that crosses functions is loaded again
MODULE_STATEMENTS = 1000  # of outlined functions that are a module, at least
SHORT = 400  # statements of a body whose values are still in registers at its end
BARRIER = 'call void asm sideeffect "", "~{memory}"()'
#: Bytes as LLVM spells them in strings.
BYTES = tuple(
    chr(k) if 32 <= k < 127 and chr(k) not in '"\\' else f"\\{k:02X}" for k in range(256)
)
COMPARE = {"lt": "olt", "le": "ole", "min": "ole", "max": "oge"}


class _Module:
    """Functions, the tables of constants that they read, and how long their text is."""

    def __init__(self) -> None:
        self.tables: dict[bytes, str] = {}
        self.head: list[str] = []
        self.functions: list[str] = []
        self.length = 0

    @property
    def lines(self) -> list[str]:
        return [*self.head, *self.functions, ""]


class Body:
    """`lines`: the module with the function @body(in, out, scratch, table); `scratch`: how many
    vectors it needs; `results`: where its results are; `watch`: what callers promise, and `looks`:
    whether the body looks at it, or leaves that to who calls it.

    Long runs of statements are functions of their own (`outline`), which @body calls, in modules of
    their own: `done` is called with each when it is written.
    """

    def __init__(self, program: Program, T: str, W: int, done: Callable[[str], None]):
        self.T, self.W = T, W
        self.V = f"<{W} x {T}>"
        self.align = W * (8 if T == "double" else 4)
        self.suffix = f"v{W}{'f64' if T == 'double' else 'f32'}"
        self.indices: dict[int, str] = {}
        self.main, self.piece, self.done = _Module(), _Module(), done
        self.module = self.main  # where functions and tables go
        self.outlined: list[str] = []
        self.count = self.scratch = 0
        self.starts: list[int] = []
        slot = 0
        for x in program.inputs:
            self.starts.append(slot)
            slot += x.size
        self.places: dict[int, tuple[str, int]] = {}  # scratch buffer → base pointer and first slot
        self.results = Results.of(program)
        self.pending = dict(self.results.slots)  # results that are not stored yet
        self.unused = self.results.read - _used(program) if self.results.read else set[int]()
        self.unwritten = unwritten(program)
        self._place(program)
        self.outline = Outline(program, self.scratch)
        self.scratch = self.outline.size
        self._open()
        self.program = program
        statements = program.region.statements
        whole = not self.outline.names and not any(isinstance(s, Loop) for s in statements)
        self.looks = whole and len(statements) <= SHORT
        if self.looks:
            self._units(program)
        self._statements(statements)
        self._finish(program)
        if self.looks:
            self._finite(program)
        self._clear(program)
        self._close("body", "internal ")
        self._link()
        self.lines = self.main.lines

    def _place(self, program: Program) -> None:
        """A buffer that is an output lives among the outputs, the others in scratch memory."""
        self.places |= {x: ("%out", slot) for x, slot in self.results.buffers.items()}
        own = [b for b in program.buffers() if b.kind == "scratch" and id(b) not in self.places]
        slots, self.scratch = shared_memory(program, own, self.unwritten)
        self.places |= {key: ("%scratch", slot) for key, slot in slots.items()}

    # functions

    def _open(self) -> None:
        self.names: dict[int, str] = {}
        self.booleans: set[int] = set()
        self.pairs: dict[int, tuple[str, str]] = {}  # angle → its sine and cosine, where visible
        self.pointers: dict[tuple[object, ...], str] = {}  # what indices lead to, likewise
        self.crossing: set[int] = set()  # of the names, those that have a place in memory
        self.code: list[str] = []
        self.label = "start"

    def _close(self, name: str, kind: str = "") -> None:
        arguments = ", ".join([f"ptr noalias {x}" for x in POINTERS] + self._counters())
        self.module.functions += [
            f'define {kind}void @{name}({arguments}) noinline "stackrealign" {{',
            "start:",
            *self.code,
            "  ret void",
            "}",
        ]

    def _counters(self) -> list[str]:
        """The variables of the loops around, as arguments."""
        return [f"i64 {k}" for k in self.indices.values()]

    def _outlined(self, name: str, statements: Sequence[Node | Store]) -> None:
        """The statements as a function, and the call of it."""
        here = self.names, self.booleans, self.pairs, self.pointers, self.crossing
        around = self.code, self.label
        self._open()
        self.module = self.piece
        self._straight(statements, "volatile ")
        self._close(name)
        self.piece.length += len(statements)
        if self.piece.length >= MODULE_STATEMENTS:
            self._hand_over()
        self.module = self.main
        self.names, self.booleans, self.pairs, self.pointers, self.crossing = here
        self.code, self.label = around
        arguments = ", ".join([f"ptr {x}" for x in POINTERS] + self._counters())
        at = self.new(f"getelementptr ptr, ptr @outlined, i64 {len(self.outlined)}")
        self.code.append(f"  call void {self.new(f'load ptr, ptr {at}')}({arguments})")
        self.outlined.append(name)

    def _hand_over(self) -> None:
        self.done("\n".join(self.piece.lines))
        self.piece = _Module()

    def _link(self) -> None:
        """The addresses of functions in other modules, which may lie at any distance."""
        if self.piece.functions:
            self._hand_over()
        if self.outlined:
            entries = ", ".join(f"ptr @{name}" for name in self.outlined)
            self.main.head += [
                *(f"declare void @{name}()" for name in self.outlined),
                f"@outlined = internal global [{len(self.outlined)} x ptr] [{entries}]",
            ]

    def _clear(self, program: Program) -> None:
        """Memory reads as zero before it is written: the first that the body does, and looked for
        last, when the compiler is at work on all else.
        """
        behind, self.code = self.code, []
        for buffer, ranges in self.unwritten.items():
            base, slot = self.places[buffer]
            for start, stop in ranges:
                at, clear = self._at(base, slot + start), self._function("clear")
                self.code.append(f"  call void {clear}(ptr {at}, i64 {stop - start})")
        self.code += behind

    def _finish(self, program: Program) -> None:
        """Results that are not stored when they are computed: inputs."""
        for buffer, slot in self.results.copied:
            for j in range(buffer.size):
                self._put("%out", slot + j, self._load(buffer, None, 0, j))
        for x in program.outputs:
            for value in () if isinstance(x.values, Buffer) else x.values:
                if value.op == "input" and id(value) in self.pending:
                    self._put("%out", self.pending.pop(id(value)), self.number(value))

    # what callers promise

    @cached_property
    def watch(self) -> Watch:
        return Watch(self.T, self.W, promises(self.program, self.results))

    def _units(self, program: Program) -> None:
        """Look at quaternions when they are read."""
        self.code.append("  %memory = getelementptr i8, ptr %in, i64 0")
        alarms, wanted = self._function("alarms"), self.watch.promises.units
        names = {
            slot: self.number(x)
            for slot, x in self._taken(program)
            if any(unit <= slot < unit + 4 for unit in wanted)
        }
        self.code += self.watch.units(alarms, names.get)

    def _finite(self, program: Program) -> None:
        """Look at the other arguments, or results that show them, when all is computed; their sum
        is behind the scratch memory.
        """
        first, names = sum(x.size for x in program.inputs), self.names
        held = {slot: names[id(x)] for slot, x in self._taken(program) if id(x) in names}
        held |= {first + slot: names[x] for x, slot in self.results.slots.items()}
        at = f"  %sum = getelementptr {self.V}, ptr %scratch, i64 {self.scratch}"
        self.code += [at, *self.watch.finite(self._function("alarms"), held.get)]

    def _taken(self, program: Program) -> list[tuple[int, Node]]:
        """Arguments that are read, and their slots."""
        return [
            (self.starts[x.place[0]] + x.place[1], x)
            for x in program.region.statements
            if isinstance(x, Node) and x.op == "input"
        ]

    # parts of text

    def new(self, text: str) -> str:
        self.count += 1
        self.code.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def _at(self, base: str, slot: int) -> str:
        return self.new(f"getelementptr {self.V}, ptr {base}, i64 {slot}")

    def _get(self, base: str, slot: int) -> str:
        return self.new(f"load {self.V}, ptr {self._at(base, slot)}, align {self.align}")

    def _put(self, base: str, slot: int, value: str) -> None:
        """Store a result or a value that crosses functions."""
        self._store(self._at(base, slot), value, "volatile ")

    def _store(self, at: str, value: str, kind: str) -> None:
        """Volatile, where there are many: LLVM spends quadratic time on looking for stores that it
        could merge.
        """
        self.code.append(f"  store {kind}{self.V} {value}, ptr {at}, align {self.align}")

    def _name(self, x: Node) -> str:
        name = self.names.get(id(x))
        if name is None:
            if x.op == "input":
                position, offset = x.place
                name = self._get("%in", self.starts[position] + offset)
            else:
                name = self._get("%scratch", self.outline.places[id(x)])
                self.crossing.add(id(x))
            self.names[id(x)] = name
        return name

    def number(self, x: Node) -> str:
        """The value as a vector of numbers; a condition is 1 or 0."""
        if x.op == "const":
            return splat(self.T, x.value)
        name = self._name(x)
        if id(x) in self.booleans:
            return self._select(name, self.V, splat(self.T, 1.0), splat(self.T, 0.0))
        return name

    def condition(self, x: Node) -> str:
        """The value as a vector of bits; a number is true where it is not zero."""
        if x.op == "const":
            return f"splat (i1 {'true' if x.value else 'false'})"
        name = self._name(x)
        if id(x) in self.booleans:
            return name
        return self.new(f"fcmp une {self.V} {name}, {splat(self.T, 0.0)}")

    def _select(self, c: str, V: str, a: str, b: str) -> str:
        return self.new(f"select <{self.W} x i1> {c}, {V} {a}, {V} {b}")

    # statements

    def region(self, statements: list[Statement]) -> None:
        # what a loop loads is not visible behind it
        outside = dict(self.names), dict(self.pairs), dict(self.pointers), set(self.crossing)
        self._statements(statements)
        self.names, self.pairs, self.pointers, self.crossing = outside

    def _statements(self, statements: list[Statement]) -> None:
        for part in self.outline.parts(statements):
            if isinstance(part, Loop):
                self.loop(part)
            elif part.outlined:
                self._outlined(self.outline.names[id(part.statements[0])], part.statements)
            else:
                self._straight(part.statements)

    def _straight(self, statements: Sequence[Node | Store], kind: str = "") -> None:
        for n, s in enumerate(statements):
            if id(s) in self.unused:
                continue
            if kind and n and n % RELOAD == 0:
                self._forget()
            if isinstance(s, Store):
                at = self._address(s.buffer, s.index, s.stride, s.offset)
                self._store(at, self.number(s.value), kind)
                continue
            self.names[id(s)] = self.value(s)
            if id(s) in self.outline.places:
                self.crossing.add(id(s))
                self._put("%scratch", self.outline.places[id(s)], self.number(s))
            if id(s) in self.pending:
                self._put("%out", self.pending.pop(id(s)), self.number(s))

    def _forget(self) -> None:
        """Load again what has a place in memory: kept for long, it would be written to another one
        and read from there.
        """
        self.code.append(f"  {BARRIER}")
        for x in self.crossing - self.booleans:
            del self.names[x]
        self.crossing &= self.booleans

    def value(self, s: Node) -> str:
        op, V = s.op, self.V
        if op in BINARY:
            return self.new(f"{BINARY[op]} {V} {self.number(s.args[0])}, {self.number(s.args[1])}")
        if op == "neg":
            return self.new(f"fneg contract {V} {self.number(s.args[0])}")
        if op == "load":
            return self._load(*s.address)
        if op == "sqrt":
            return self.new(f"call {V} @llvm.sqrt.{self.suffix}({V} {self.number(s.args[0])})")
        if op in ("sin", "cos"):
            return self._sincos(s.args[0])[op == "cos"]
        if op in ("exp", "log", "tanh"):
            return self.new(f"call {V} {self._function(op)}({V} {self.number(s.args[0])})")
        if op == "select":
            c = self.condition(s.args[0])
            if any(id(x) in self.booleans for x in s.args[1:]):
                self.booleans.add(id(s))
                a, b = map(self.condition, s.args[1:])
                return self._select(c, f"<{self.W} x i1>", a, b)
            a, b = map(self.number, s.args[1:])
            return self._select(c, V, a, b)
        a, b = map(self.number, s.args)
        if op == "atan2":
            return self.new(f"call {V} {self._function(op)}({V} {a}, {V} {b})")
        if op in COMPARE:
            c = self.new(f"fcmp {COMPARE[op]} {V} {a}, {b}")
            if op in ("min", "max"):
                return self._select(c, V, a, b)
            self.booleans.add(id(s))
            return c
        raise NotImplementedError(f"operation {op!r} on the CPU target")

    def _function(self, name: str) -> str:
        """A pointer from the table of functions."""
        at = self.new(f"getelementptr ptr, ptr %table, i64 {TABLE.index(name)}")
        return self.new(f"load ptr, ptr {at}")

    def _sincos(self, x: Node) -> tuple[str, str]:
        """Both of an angle: the range reduction is shared."""
        pair = self.pairs.get(id(x))
        if pair is None:
            V = self.V
            angle = self.number(x)
            both = self.new(f"call {{ {V}, {V} }} {self._function('sincos')}({V} {angle})")
            sin = self.new(f"extractvalue {{ {V}, {V} }} {both}, 0")
            cos = self.new(f"extractvalue {{ {V}, {V} }} {both}, 1")
            pair = self.pairs[id(x)] = sin, cos
        return pair

    def _load(self, buffer: Buffer, index: Index | None, stride: int, offset: int) -> str:
        at, V = self._address(buffer, index, stride, offset), self.V
        if buffer.kind != "table":
            return self.new(f"load {V}, ptr {at}, align {self.align}")
        x = self.new(f"load {self.T}, ptr {at}")
        first = self.new(f"insertelement {V} poison, {self.T} {x}, i32 0")
        return self.new(f"shufflevector {V} {first}, {V} poison, <{self.W} x i32> zeroinitializer")

    def _address(self, buffer: Buffer, index: Index | None, stride: int, offset: int) -> str:
        if buffer.kind == "table":
            kind = np.float64 if self.T == "double" else np.float32
            base = self._table(np.asarray(buffer.data, dtype=float).astype(kind))
            start, T = 0, self.T
        elif buffer.kind == "input":
            base, start, T = "%in", self.starts[buffer.position], self.V
        else:
            (base, start), T = self.places[id(buffer)], self.V
        if index is not None:  # first there: LLVM looks at sums of both pair by pair
            at = self.index(index)
            base = self._once((base, T, at, stride), lambda: self._strides(base, T, at, stride))
        return self.new(f"getelementptr {T}, ptr {base}, i64 {start + offset}")

    def _strides(self, base: str, T: str, at: str, stride: int) -> str:
        if stride != 1:
            at = self.new(f"mul nsw i64 {at}, {stride}")
        return self.new(f"getelementptr {T}, ptr {base}, i64 {at}")

    def _once(self, key: tuple[object, ...], make: Callable[[], str]) -> str:
        """What an index leads to, computed where it is not visible yet."""
        name = self.pointers.get(key)
        if name is None:
            name = self.pointers[key] = make()
        return name

    def _table(self, data: np.ndarray) -> str:
        """Numbers that all samples share, by their bytes: LLVM makes an object of each it reads."""
        content = data.tobytes()
        here = self.module
        name = here.tables.get(content)
        if name is None:
            name = here.tables[content] = f"@table{len(here.tables)}"
            text = "".join(map(BYTES.__getitem__, content))
            here.head.append(f'{name} = private constant [{len(content)} x i8] c"{text}", align 8')
        return name

    def _entry(self, table: np.ndarray, at: str) -> str:
        """table[at] as an i64."""
        data = np.ravel(np.asarray(table, dtype=np.int32))
        start = self._table(data)

        def entry() -> str:
            place = self.new(f"getelementptr i32, ptr {start}, i64 {at}")
            return self.new(f"sext i32 {self.new(f'load i32, ptr {place}')} to i64")

        return self._once((start, at), entry)

    def index(self, index: Index) -> str:
        table, at = index.table, index.at
        if table is not None and at is not None:
            return self._once((id(index),), lambda: self._entry(table, self.index(at)))
        if index.terms:
            return self._once((id(index),), lambda: self._sum(index))
        return self.indices[id(index)]

    def _sum(self, index: Index) -> str:
        total = "0"
        for term, factor in index.terms:
            part = self.new(f"mul nsw i64 {self.index(term)}, {factor}")
            total = self.new(f"add nsw i64 {total}, {part}")
        return total

    # loops

    def _start(self, label: str) -> None:
        self.code.append(f"{label}:")
        self.label = label

    def loop(self, loop: Loop) -> None:
        self.count += 1
        tag = f"L{self.count}"
        k = f"%{tag}.k"
        first = str(loop.start) if isinstance(loop.start, int) else self.index(loop.start)
        stop = str(loop.stop)
        if isinstance(loop.stop, Node):  # the same for all samples
            lane = self.new(f"extractelement {self.V} {self.number(loop.stop)}, i32 0")
            stop = self.new(f"fptosi {self.T} {lane} to i64")
        outside = self.label
        self.code.append(f"  br label %{tag}.test")
        self._start(f"{tag}.test")
        place = len(self.code)  # the phi goes here when the body is known
        compare = "sge" if loop.follow is not None else "slt" if loop.step > 0 else "sgt"
        go = self.new(f"icmp {compare} i64 {k}, {stop}")
        if loop.going is not None:
            some = self.new(f"fcmp une {self.V} {self._load(*loop.going)}, {splat(self.T, 0.0)}")
            bits = self.new(f"bitcast <{self.W} x i1> {some} to i{self.W}")
            more = self.new(f"icmp ne i{self.W} {bits}, 0")
            go = self.new(f"and i1 {go}, {more}")
        self.code.append(f"  br i1 {go}, label %{tag}.body, label %{tag}.end")
        self._start(f"{tag}.body")
        self.indices[id(loop.variable)] = k
        if loop.which is not None:
            which = self._entry(loop.which, k)
            cases = " ".join(f"i64 {n}, label %{tag}.{n}" for n in range(1, len(loop.branches)))
            self.code.append(f"  switch i64 {which}, label %{tag}.0 [{cases}]")
            for n, branch in enumerate(loop.branches):
                self._start(f"{tag}.{n}")
                self.region(branch.statements)
                self.code.append(f"  br label %{tag}.next")
            self._start(f"{tag}.next")
        else:
            self.region(loop.branches[0].statements)
        if loop.follow is not None:
            after = self._entry(loop.follow, k)
        else:
            after = self.new(f"add nsw i64 {k}, {loop.step}")
        self.code.insert(place, f"  {k} = phi i64 [{first}, %{outside}], [{after}, %{self.label}]")
        self.code.append(f"  br label %{tag}.test")
        self._start(f"{tag}.end")
        del self.indices[id(loop.variable)]


def _used(program: Program) -> set[int]:
    """The values that statements use."""
    found: set[int] = set()
    for s, _ in program.walk():
        if isinstance(s, Loop):
            found |= {id(s.stop)}
        else:
            found.update(map(id, (s.value,) if isinstance(s, Store) else s.args))
    return found
