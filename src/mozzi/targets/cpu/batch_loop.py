"""The loop around a kernel: pack W samples, run the body, unpack, until the batch is done.

It has the signature of NumPy's inner loops. Its data pointer is a table of functions (`TABLE`)
that all kernels share, so that a kernel's object code refers to nothing outside itself.

Where the table has a counter of alarms, the loop or the body looks at what callers promise of
their arguments (`Input.units`, `promises`, `watch`) and counts an alarm where one is not kept. It
computes all the same: who called looks at the counter, and at the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from mozzi.program.program import Input, Output
from mozzi.targets.cpu.vector_math import splat

if TYPE_CHECKING:
    from mozzi.targets.cpu.results import Results
    from mozzi.targets.cpu.watch import Watch

__all__ = ["TABLE", "Operand", "batch_loop", "named_shapes", "operands_of"]

#: The functions a kernel gets, in this order: a row from Python, a row from `jit.runtime`.
TABLE = (
    "alloc", "free", "ensure", "no_memory", "release", "clear_flags",
    "pack", "unpack", "gather", "scatter", "contiguous", "clear", "sincos", "atan2",
    "exp", "log", "tanh", "call", "alarms",
)  # fmt: skip
# Flags come from both sides of every select: they say nothing, and NumPy shall not see them.
SAVE_FLAGS = ("  %flags = alloca i32", "  call void @llvm.x86.sse.stmxcsr(ptr %flags)")
RESTORE_FLAGS = ("  call void @llvm.x86.sse.ldmxcsr(ptr %flags)",)
CLEAR_FLAGS = ("  %cleared = call i32 %f.clear_flags(i32 31)",)
STREAM_BYTES = 1 << 24  # of results of a call, that do not stay in the caches for who reads them
STACK_BYTES = 32768  # that a call may take from the stack; more comes from alloc, once per call


@dataclass(frozen=True)
class Operand:
    """An argument or a result: its core shape and its first slot in the structure of arrays, or of
    every element the slot.
    """

    shape: tuple[int, ...]
    slot: int
    slots: tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        return prod(self.shape)


#: Names and shapes of arguments or results.
NamedShapes: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]


def named_shapes(arrays: Sequence[Input | Output]) -> NamedShapes:
    """The names and shapes of the arguments or results of a program."""
    return tuple((x.name, x.shape) for x in arrays)


def operands_of(
    inputs: NamedShapes, outputs: NamedShapes
) -> tuple[list[Operand], list[Operand]]:
    """Where arguments and results with elements are in the structure of arrays; there is at least
    one of each.
    """
    found: list[list[Operand]] = []
    for part in (inputs, outputs):
        slot, operands = 0, list[Operand]()
        for _, shape in part:
            operand = Operand(tuple(shape), slot)
            if operand.size:
                operands.append(operand)
            slot += operand.size
        found.append(operands or [Operand((), 0)])
    return found[0], found[1]


class _BatchLoop:
    def __init__(self, T: str, W: int, inputs: Sequence[Operand], results: Results):
        self.T, self.V, self.item = T, f"<{W} x {T}>", 8 if T == "double" else 4
        self.W, self.vector, self.results = W, W * self.item, results
        self.inputs, self.operands = list(inputs), [*inputs, *results.operands]
        self.head: list[str] = []
        self.code: list[str] = []

    def function(self, name: str) -> str:
        """A pointer from the table."""
        self.code += [
            f"  %fp.{name} = getelementptr ptr, ptr %table, i64 {TABLE.index(name)}",
            f"  %f.{name} = load ptr, ptr %fp.{name}",
        ]
        return f"%f.{name}"

    def text(self, scratch: int, x86: bool, watch: Watch, looks: bool) -> str:
        slots_in = sum(x.size for x in self.inputs)
        slots = slots_in + self.results.size
        total = (slots + scratch + 1) * self.vector
        on_stack = total <= STACK_BYTES
        self.code += [
            "define void @kernel(ptr %args, ptr %dims, ptr %steps, ptr %table) {",
            "start:",
            *([f"  %memory = alloca [{total} x i8], align {self.vector}"] if on_stack else []),
            *(SAVE_FLAGS if x86 else ()),
            "  %n = load i64, ptr %dims",
            "  %some = icmp sgt i64 %n, 0",
            "  br i1 %some, label %prepare, label %done",
            "prepare:",
        ]
        if not on_stack:
            self._allocate(total)
        self.code += [
            "  br label %ready",
            "ready:",
            f"  %out = getelementptr i8, ptr %memory, i64 {slots_in * self.vector}",
            f"  %scratch = getelementptr i8, ptr %memory, i64 {slots * self.vector}",
            f"  %sum = getelementptr i8, ptr %memory, i64 {total - self.vector}",
            f"  store {self.V} zeroinitializer, ptr %sum",
        ]
        for name in ("pack", "unpack", "gather", "scatter", "contiguous", "clear_flags", "alarms"):
            self.function(name)
        self.head += watch.head
        alarms = "%f.alarms"
        looked = [] if looks else [*watch.units(alarms), *watch.finite(alarms)]
        for slot, value in self.results.constants.items():
            self.code += [
                f"  %constant{slot} = getelementptr {self.V}, ptr %out, i64 {slot}",
                f"  store {self.V} {splat(self.T, value)}, ptr %constant{slot}",
            ]
        self._operands()
        self._streams(x86)
        n = len(self.inputs)
        after = [f"move{k + 1}" for k in range(len(self.operands))]
        after[n - 1 : n] = ["run"]
        after[-1:] = ["next"]
        self.code += [
            "  br label %group",
            "group:",
            "  %g = phi i64 [0, %ready], [%g1, %next]",
            "  %later = icmp sgt i64 %g, 0",
            "  %todo = sub i64 %n, %g",
            f"  %valid = call i64 @llvm.smin.i64(i64 %todo, i64 {self.W})",
            "  br label %move0",
        ]
        for k, x in enumerate(self.operands[:n]):
            self._move(k, x, after[k])
        self.code += [
            "run:",
            "  call void @body(ptr %memory, ptr %out, ptr %scratch, ptr %table)",
            *looked,
            f"  br label %move{n}",
        ]
        for k, x in enumerate(self.operands[n:], n):
            self._move(k, x, after[k])
        self.code += [
            "next:",
            f"  %g1 = add i64 %g, {self.W}",
            "  %more = icmp slt i64 %g1, %n",
            "  br i1 %more, label %group, label %finish",
            "finish:",
            *watch.summed(alarms),
            *(["  br i1 %stream, label %fence, label %end", "fence:",
               "  call void @llvm.x86.sse.sfence()", "  br label %end", "end:"] if x86 else []),
            *([] if on_stack else ["  call void %f.free(ptr %raw)"]),
            *(RESTORE_FLAGS if x86 else CLEAR_FLAGS),
            "  br label %done",
            "done:",
            "  ret void",
            "}",
        ]
        return "\n".join([*self.head, *self.code])

    def _allocate(self, total: int) -> None:
        """Memory for this call; where there is none, a MemoryError and no results."""
        alloc, *fail = map(self.function, ("alloc", "ensure", "no_memory", "release"))
        self.function("free")
        self.code += [
            f"  %raw = call ptr {alloc}(i64 {total + self.vector})",
            "  %address = ptrtoint ptr %raw to i64",
            f"  %up = add i64 %address, {self.vector - 1}",
            f"  %aligned = and i64 %up, -{self.vector}",
            "  %memory = inttoptr i64 %aligned to ptr",
            "  %none = icmp eq ptr %raw, null",
            "  br i1 %none, label %fail, label %got",
            "fail:",
            f"  %gil = call i32 {fail[0]}()",
            f"  %error = call ptr {fail[1]}()",
            f"  call void {fail[2]}(i32 %gil)",
            "  br label %done",
            "got:",
        ]

    def _operands(self) -> None:
        """Pointer, outer and core strides of every operand, and whether its core is contiguous."""
        axis = len(self.operands)
        for k, x in enumerate(self.operands):
            self.code += [
                f"  %ap{k} = getelementptr ptr, ptr %args, i64 {k}",
                f"  %a{k} = load ptr, ptr %ap{k}",
                f"  %sp{k} = getelementptr i64, ptr %steps, i64 {k}",
                f"  %s{k} = load i64, ptr %sp{k}",
            ]
            if x.shape:
                dims = ", ".join(f"i64 {n}" for n in x.shape)
                self.head.append(f"@shape{k} = private constant [{len(x.shape)} x i64] [{dims}]")
                self.code += [
                    f"  %core{k} = getelementptr i64, ptr %steps, i64 {axis}",
                    f"  %easy{k} = call i1 %f.contiguous(ptr %core{k}, ptr @shape{k},"
                    f" i64 {len(x.shape)}, i64 {self.item})",
                ]
            axis += len(x.shape)

    def _map(self, name: str, slots: Sequence[int]) -> str:
        """Where the elements of a result are, in bytes; `unpack` may look at eight more."""
        places = [self.vector * slot for slot in [*slots, *[slots[-1]] * 8]]
        entries = ", ".join(f"i32 {x}" for x in places)
        return f"{name} = private constant [{len(places)} x i32] [{entries}]"

    def _streams(self, x86: bool) -> None:
        """%stream: whether the results are so many that they go past the caches."""
        bytes_out = self.item * sum(x.size for x in self.results.operands)
        most = -(-STREAM_BYTES // bytes_out) if x86 else 1 << 62
        self.code.append(f"  %stream = icmp sge i64 %n, {most}")

    def _move(self, k: int, x: Operand, then: str) -> None:
        """Between the user's array and its packed copy; an argument that is the same for all
        samples only once.
        """
        taken = k < len(self.inputs)
        fast, slow, packed = (
            ("pack", "gather", "%memory") if taken else ("unpack", "scatter", "%out")
        )
        common = f"ptr %w{k}, i64 %s{k}, i64 {x.size}, i64 %valid, ptr %packed{k}"
        slot, past = x.slot, ""
        if not taken:
            table, past = "null", ", i1 %stream"
            if x.slots is not None:
                slot, table = 0, f"@map{k}"
                self.head.append(self._map(table, x.slots))
            common += f", ptr {table}"
        self.code.append(f"move{k}:")
        if taken:
            self.code += [
                f"  %flat{k} = icmp eq i64 %s{k}, 0",
                f"  %skip{k} = and i1 %flat{k}, %later",
                f"  br i1 %skip{k}, label %{then}, label %take{k}",
                f"take{k}:",
            ]
        self.code += [
            f"  %o{k} = mul i64 %g, %s{k}",
            f"  %w{k} = getelementptr i8, ptr %a{k}, i64 %o{k}",
            f"  %packed{k} = getelementptr i8, ptr {packed}, i64 {slot * self.vector}",
        ]
        if not x.shape:
            self.code += [f"  call void %f.{fast}({common}{past})", f"  br label %{then}"]
            return
        self.code += [
            f"  br i1 %easy{k}, label %easy.{k}, label %any.{k}",
            f"easy.{k}:",
            f"  call void %f.{fast}({common}{past})",
            f"  br label %{then}",
            f"any.{k}:",
            f"  call void %f.{slow}({common}, ptr %core{k}, ptr @shape{k}, i64 {len(x.shape)})",
            f"  br label %{then}",
        ]


def batch_loop(
    T: str,
    W: int,
    inputs: Sequence[Operand],
    results: Results,
    scratch: int,
    x86: bool,
    watch: Watch,
    looks: bool,
) -> str:
    """The function @kernel, of at least one input and one output.

    scratch: how many vectors of memory the body needs; looks: whether it looks itself at what
    callers promise.
    """
    return _BatchLoop(T, W, inputs, results).text(scratch, x86, watch, looks)

