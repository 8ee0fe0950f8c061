"""The body of a kernel: one program, W samples at a time, as LLVM IR text.

Every value is a vector of W samples. Arguments and results are planes (one vector per element, see `llvm_driver`), scratch
buffers are planes too, tables are constants that all samples share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mozzi.program.node import Region, Scalar
from mozzi.program.program import Buffer, Index, Loop, Program, Store
from mozzi.targets.vector_math import splat

__all__ = ["Body"]

BINARY = {"add": "fadd contract", "sub": "fsub contract", "mul": "fmul contract", "div": "fdiv"}
COMPARE = {"lt": "olt", "le": "ole", "min": "ole", "max": "oge"}


class Body:
    """`text`: the function @body(ptr in, ptr out, ptr scratch); `scratch`: how many vectors it needs."""

    def __init__(self, program: Program, T: str, W: int):
        self.T, self.W = T, W
        self.V = f"<{W} x {T}>"
        self.align = W * (8 if T == "double" else 4)
        self.suffix = f"v{W}{'f64' if T == 'double' else 'f32'}"
        self.names: dict[int, str] = {}
        self.booleans: set[int] = set()
        self.pairs: dict[int, tuple[str, str]] = {}  # angle → its sine and cosine, where visible
        self.uses: set[str] = set()  # functions of vector_math
        self.indices: dict[int, str] = {}
        self.tables: dict[tuple[str, bytes], str] = {}
        self.head: list[str] = []
        self.code: list[str] = []
        self.count = 0
        self.label = "start"
        self.starts: list[int] = []
        slot = 0
        for x in program.inputs:
            self.starts.append(slot)
            slot += x.size
        self.places: dict[int, tuple[str, int]] = {}  # scratch buffer → base pointer and first slot
        self._place(program)
        self._emit(program)

    def _place(self, program: Program) -> None:
        """A buffer that is an output lives among the outputs, the others in scratch memory."""
        slot = 0
        for x in program.outputs:
            if isinstance(x.values, Buffer) and x.values.kind == "scratch":
                self.places.setdefault(id(x.values), ("%out", slot))
            slot += x.size
        self.scratch = 0
        for buffer in program.buffers():
            if buffer.kind == "scratch" and id(buffer) not in self.places:
                self.places[id(buffer)] = ("%scratch", self.scratch)
                self.scratch += buffer.size

    def _emit(self, program: Program) -> None:
        for buffer in program.buffers():  # unwritten memory reads as zero
            if buffer.kind == "scratch" and buffer.size:
                base, slot = self.places[id(buffer)]
                at = self.new("getelementptr {}, ptr {}, i64 {}", self.V, base, slot)
                self.code.append(
                    f"  call void @llvm.memset.p0.i64(ptr align {self.align} {at}, i8 0,"
                    f" i64 {buffer.size * self.align}, i1 false)"
                )
        self.region(program.region)
        slot = 0
        for x in program.outputs:
            if isinstance(x.values, Buffer):
                if self.places.get(id(x.values)) != ("%out", slot):
                    for j in range(x.size):
                        self._put("%out", slot + j, self._load(x.values, None, 0, j))
            else:
                for j, value in enumerate(x.values):
                    self._put("%out", slot + j, self.number(value))
            slot += x.size
        self.text = "\n".join(
            [
                *self.head,
                "define internal void @body(ptr noalias %in, ptr noalias %out, ptr noalias %scratch) noinline {",
                "start:",
                *self.code,
                "  ret void",
                "}",
            ]
        )

    # pieces of text

    def new(self, form: str, *args: Any) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.code.append(f"  {name} = {form.format(*args)}")
        return name

    def constant(self, value: float) -> str:
        return splat(self.T, value)

    def _put(self, base: str, slot: int, value: str) -> None:
        at = self.new("getelementptr {}, ptr {}, i64 {}", self.V, base, slot)
        self.code.append(f"  store {self.V} {value}, ptr {at}, align {self.align}")

    def number(self, x: Scalar) -> str:
        """The value as a vector of numbers; a condition is 1 or 0."""
        if x.op == "const":
            return self.constant(x.value)
        name = self.names[id(x)]
        if id(x) in self.booleans:
            return self.new(
                "select <{} x i1> {}, {} {}, {} {}",
                self.W, name, self.V, self.constant(1.0), self.V, self.constant(0.0),
            )  # fmt: skip
        return name

    def condition(self, x: Scalar) -> str:
        """The value as a vector of bits; a number is true where it is not zero."""
        if x.op == "const":
            return f"splat (i1 {'true' if x.value else 'false'})"
        if id(x) in self.booleans:
            return self.names[id(x)]
        return self.new("fcmp une {} {}, {}", self.V, self.names[id(x)], self.constant(0.0))

    # statements

    def region(self, region: Region) -> None:
        outside = dict(self.pairs)
        for s in region.statements:
            if isinstance(s, Scalar):
                if s.op != "const":
                    self.names[id(s)] = self.value(s)
            elif isinstance(s, Store):
                at = self._address(s.buffer, s.index, s.stride, s.offset)
                self.code.append(f"  store {self.V} {self.number(s.value)}, ptr {at}, align {self.align}")
            else:
                self.loop(s)
        self.pairs = outside

    def value(self, s: Scalar) -> str:
        op, V = s.op, self.V
        if op == "input":
            position, offset = s.value
            at = self.new("getelementptr {}, ptr %in, i64 {}", V, self.starts[position] + offset)
            return self.new("load {}, ptr {}, align {}", V, at, self.align)
        if op == "load":
            return self._load(*s.value)
        if op in BINARY:
            a, b = map(self.number, s.args)
            return self.new("{} {} {}, {}", BINARY[op], V, a, b)
        if op == "neg":
            return self.new("fneg contract {} {}", V, self.number(s.args[0]))
        if op == "sqrt":
            return self.new("call {} @llvm.sqrt.{}({} {})", V, self.suffix, V, self.number(s.args[0]))
        if op in ("sin", "cos"):
            return self._sincos(s.args[0])[op == "cos"]
        if op == "atan2":
            self.uses.add(op)
            a, b = map(self.number, s.args)
            return self.new("call {} @atan2({} {}, {} {})", V, V, a, V, b)
        if op in ("lt", "le"):
            self.booleans.add(id(s))
            a, b = map(self.number, s.args)
            return self.new("fcmp {} {} {}, {}", COMPARE[op], V, a, b)
        if op in ("min", "max"):
            a, b = map(self.number, s.args)
            c = self.new("fcmp {} {} {}, {}", COMPARE[op], V, a, b)
            return self.new("select <{} x i1> {}, {} {}, {} {}", self.W, c, V, a, V, b)
        if op == "select":
            c = self.condition(s.args[0])
            if any(id(x) in self.booleans for x in s.args[1:]):
                self.booleans.add(id(s))
                a, b = map(self.condition, s.args[1:])
                V = f"<{self.W} x i1>"
            else:
                a, b = map(self.number, s.args[1:])
            return self.new("select <{} x i1> {}, {} {}, {} {}", self.W, c, V, a, V, b)
        raise NotImplementedError(f"operation {op!r} on the CPU target")

    def _sincos(self, x: Scalar) -> tuple[str, str]:
        """Both of an angle: the range reduction is shared."""
        pair = self.pairs.get(id(x))
        if pair is None:
            self.uses.add("sincos")
            both = self.new("call {{ {0}, {0} }} @sincos({0} {1})", self.V, self.number(x))
            sin, cos = (
                self.new("extractvalue {{ {0}, {0} }} {1}, {2}", self.V, both, k) for k in (0, 1)
            )
            pair = self.pairs[id(x)] = sin, cos
        return pair

    def _load(self, buffer: Buffer, index: Index | None, stride: int, offset: int) -> str:
        at = self._address(buffer, index, stride, offset)
        if buffer.kind != "table":
            return self.new("load {}, ptr {}, align {}", self.V, at, self.align)
        x = self.new("load {}, ptr {}", self.T, at)
        first = self.new("insertelement {} poison, {} {}, i32 0", self.V, self.T, x)
        return self.new(
            "shufflevector {0} {1}, {0} poison, <{2} x i32> zeroinitializer", self.V, first, self.W
        )

    def _address(self, buffer: Buffer, index: Index | None, stride: int, offset: int) -> str:
        if buffer.kind == "table":
            data = np.ravel(np.asarray(buffer.data, dtype=float))
            if self.T == "float":
                data = data.astype(np.float32).astype(float)
            words = data.view(np.uint64)
            items = ", ".join(f"{self.T} 0x{int(x):016X}" for x in words)
            base, start, T = self._table(self.T, data.tobytes(), len(data), items), 0, self.T
        elif buffer.kind == "input":
            base, start, T = "%in", self.starts[buffer.position], self.V
        else:
            (base, start), T = self.places[id(buffer)], self.V
        if index is None:
            return self.new("getelementptr {}, ptr {}, i64 {}", T, base, start + offset)
        at = self.index(index)
        if stride != 1:
            at = self.new("mul nsw i64 {}, {}", at, stride)
        if start + offset:
            at = self.new("add nsw i64 {}, {}", at, start + offset)
        return self.new("getelementptr {}, ptr {}, i64 {}", T, base, at)

    def _table(self, T: str, key: bytes, n: int, items: str) -> str:
        name = self.tables.get((T, key))
        if name is None:
            name = self.tables[T, key] = f"@table{len(self.tables)}"
            self.head.append(f"{name} = private constant [{n} x {T}] [{items}]")
        return name

    def _entry(self, table: np.ndarray, at: str) -> str:
        """table[at] as an i64."""
        data = np.ravel(np.asarray(table, dtype=np.int32))
        items = ", ".join(f"i32 {x}" for x in data.tolist())
        name = self._table("i32", data.tobytes(), len(data), items)
        place = self.new("getelementptr i32, ptr {}, i64 {}", name, at)
        return self.new("sext i32 {} to i64", self.new("load i32, ptr {}", place))

    def index(self, index: Index) -> str:
        if index.table is not None:
            assert index.at is not None
            return self._entry(index.table, self.index(index.at))
        if index.terms:
            total = "0"
            for term, factor in index.terms:
                total = self.new("add nsw i64 {}, {}", total, self.new("mul nsw i64 {}, {}", self.index(term), factor))
            return total
        return self.indices[id(index)]

    # loops

    def _start(self, label: str) -> None:
        self.code.append(f"{label}:")
        self.label = label

    def loop(self, loop: Loop) -> None:
        self.count += 1
        tag = f"L{self.count}"
        first = str(loop.start) if isinstance(loop.start, int) else self.index(loop.start)
        stop = str(loop.stop)
        if isinstance(loop.stop, Scalar):  # the same for all samples: the first one's
            count = self.new("extractelement {} {}, i32 0", self.V, self.number(loop.stop))
            stop = self.new("fptosi {} {} to i64", self.T, count)
        outside = self.label
        self.code.append(f"  br label %{tag}.test")
        self._start(f"{tag}.test")
        place = len(self.code)  # the phi goes here when the body is known
        k = f"%{tag}.k"
        if loop.follow is not None or loop.step > 0:
            compare = "sge" if loop.follow is not None else "slt"
        else:
            compare = "sgt"
        go = self.new("icmp {} i64 {}, {}", compare, k, stop)
        self.code.append(f"  br i1 {go}, label %{tag}.body, label %{tag}.end")
        self._start(f"{tag}.body")
        self.indices[id(loop.variable)] = k
        if loop.which is not None:
            which = self._entry(loop.which, k)
            cases = " ".join(f"i64 {n}, label %{tag}.{n}" for n in range(1, len(loop.branches)))
            self.code.append(f"  switch i64 {which}, label %{tag}.0 [{cases}]")
            for n, branch in enumerate(loop.branches):
                self._start(f"{tag}.{n}")
                self.region(branch)
                self.code.append(f"  br label %{tag}.next")
            self._start(f"{tag}.next")
        else:
            self.region(loop.branches[0])
        if loop.follow is not None:
            after = self._entry(loop.follow, k)
        else:
            after = self.new("add nsw i64 {}, {}", k, loop.step)
        self.code.insert(place, f"  {k} = phi i64 [{first}, %{outside}], [{after}, %{self.label}]")
        self.code.append(f"  br label %{tag}.test")
        self._start(f"{tag}.end")
