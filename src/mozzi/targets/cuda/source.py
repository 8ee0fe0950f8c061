"""CUDA C of a program: one thread per sample.

A thread reads its own row. Rows of neighbouring threads are neighbours in memory, so that the first
level cache serves (N, n) arrays as fast as (n, N) ones; measured on an H200, copying rows through
shared memory first was slower by a third to a half (docs/gpu.md). It writes its own row, too, where
rows are short. Long rows, of which a warp's stores would touch as many sectors as there are
threads, go through shared memory: a warp gathers 32 columns of its 32 rows and writes them
together.
"""

from __future__ import annotations

import numpy as np

from mozzi.program.node import Node
from mozzi.program.program import Buffer, Loop, Output, Program
from mozzi.program.schedule import live_values, schedule
from mozzi.targets.cuda.launch import BLOCK_THREADS, WARP
from mozzi.targets.cuda.math import CALM, FRESH, PRELUDE, WRITE_COLUMNS, WRITE_PIECE
from mozzi.targets.cuda.slices import (
    BLOCK_BYTES,
    MOST_WARPS,
    PIECE,
    REGISTERS,
    SHARED_BYTES,
    divided,
    warps_of,
)
from mozzi.targets.cuda.spill import Piece
from mozzi.targets.cuda.statements import Statements

__all__ = ["CudaSource"]

MANY_VALUES = 100  # live at once, from which on their order is looked at
LEAST_WARPS = 6  # of a multiprocessor; what finds no place beside them is in local memory
STAGED_NUMBERS = 24  # in a row that is written through shared memory


class CudaSource(Statements):
    """The text of a program's kernel.

    packed: rows lie one after the other, and the kernel takes (n, x0, …, y0, …); else it takes
    (n, x0, row, step, …), strides from row to row and within a row, in elements. A block may have
    any number of warps, up to `block` threads; resident: how many of such blocks a multiprocessor
    must hold at once, which bounds registers (0 leaves them to the compiler). numbers: which
    arguments are numbers of the launch (bit k for argument k), not arrays. shared: bytes of shared
    memory that a launch gives each thread.
    """

    def __init__(
        self,
        program: Program,
        dtype: str,
        packed: bool = False,
        resident: int = 0,
        block: int = BLOCK_THREADS,
        numbers: int = 0,
        most_shared: int = SHARED_BYTES,
    ):
        program = _in_order(program)
        super().__init__(program, dtype)
        self.program, self.packed, self.numbers = program, packed, numbers
        self.bounds = f"{block}, {resident}" if resident else f"{block}"
        sizes = [y.size for y in program.outputs]
        self.staged = [k for k, n in enumerate(sizes) if packed and n >= STAGED_NUMBERS]
        size, piece = np.dtype(dtype).itemsize, PIECE if self.staged else 1
        self.plans = divided(program, dtype, piece, self.pairs, most_shared)
        self.slots = max((p.slots for p in self.plans), default=0)
        stage = (PIECE + 1 if self.plans else WARP + 1) if self.staged else 0
        self.warps = warps_of(stage + self.slots, size, most_shared)  # of a multiprocessor
        self.near = self.slots  # slots in shared memory; others are in local memory
        if self.plans and self.warps < LEAST_WARPS:
            self.warps = LEAST_WARPS
            room = (most_shared + BLOCK_BYTES) // LEAST_WARPS - BLOCK_BYTES
            self.near = max(0, min(self.slots, room // (WARP * size) - stage))
        self.words = stage + self.near  # of shared memory, for a thread
        self.sincos = CALM if self.plans else self.sincos
        if self.plans:
            self.bounds = f"{WARP * MOST_WARPS}"
        body = self._slices() if self.plans else self._body()
        self.text = "\n".join([*self._head(), *body, *self._entry(), ""])
        self.shared = self.words * size

    # -- text --

    def _head(self) -> list[str]:
        return [
            f"// {self.program.name}: one thread per sample",
            f"typedef {self.T} T;",
            "typedef long long Int;",
            PRELUDE[self.T],
            *([FRESH[self.T]] if self.plans else []),
            *(f"__constant__ {text};" for _, text in self.tables.values()),
        ]

    def _body(self) -> list[str]:
        """The program as a device function on accessors: `in_k(j)` reads, `out_k(j, x)` writes.

        A buffer that is one result, and that nothing loads, is written where the result goes.
        """
        program = self.program
        loaded = {
            id(s.address.buffer)
            for s, _ in program.walk()
            if isinstance(s, Node) and s.op == "load"
        }
        loaded |= {id(s.going.buffer) for s, _ in program.walk() if isinstance(s, Loop) and s.going}
        results = [id(y.values) for y in program.outputs]
        for k, output in enumerate(program.outputs):
            buffer = output.values
            once = isinstance(buffer, Buffer) and results.count(id(buffer)) == 1
            if once and id(buffer) not in loaded:
                self.staged = [n for n in self.staged if n != k]
                self.written[id(buffer)] = f"out{k}"
                self.say(f"for (int i = 0; i < {output.size}; ++i) out{k}(i, 0);")
        scratch = (b for b in program.buffers() if b.kind == "scratch")
        for k, buffer in enumerate(b for b in scratch if id(b) not in self.written):
            self.buffers[id(buffer)] = f"m{k}"
            self.say(f"T m{k}[{max(1, buffer.size)}];  // {buffer.name}")
            self._each(buffer, f"m{k}[i] = 0;")
        self.region(program.region)
        for k, output in enumerate(program.outputs):
            if self.written.get(id(output.values)) != f"out{k}":
                self._result(k, output)
        sides = [f"In{k} in{k}" for k in range(len(program.inputs))]
        sides += [f"Out{k} out{k}" for k in range(len(program.outputs))]
        classes = [f"class {side.split()[0]}" for side in sides]
        sides += ["T* stage"] if self.staged else []
        return [
            f"template <{', '.join(classes)}>",
            f"__device__ __forceinline__ void evaluate({', '.join(sides)}) {{",
            *self.lines,
            "}",
        ]

    def _slices(self) -> list[str]:
        """A large program as its plans say: one slice of it, that of `slice`."""
        program = self.program
        if self.slots > self.near:
            self.say(f"volatile T far[{self.slots - self.near}];")
        for n, plan in enumerate(self.plans):
            self.say(f"{'if' if n == 0 else 'else if'} (slice == {n}) {{")
            self.names.clear()
            self.count = 0
            self.steps(plan)
            self.say("}")
        sides = [f"In{k} in{k}" for k in range(len(program.inputs))]
        sides += [f"Out{k} out{k}" for k in range(len(program.outputs))]
        classes = ", ".join(f"class {side.split()[0]}" for side in sides)
        sides += ["T* stage", "volatile T* kept", "int slice"]
        return [
            f"template <{classes}>",
            f"__device__ __forceinline__ void evaluate({', '.join(sides)}) {{",
            *self.lines,
            "}",
        ]

    def slot(self, k: int) -> str:
        return f"kept[{WARP * k}]" if k < self.near else f"far[{k - self.near}]"

    def piece(self, piece: Piece) -> None:
        staged = piece.output in self.staged
        for j, value in enumerate(piece.values):
            if staged:
                self.say(f"stage[{j}] = {self.ref(value)};")
            else:
                self.say(f"out{piece.output}({piece.first + j}, {self.ref(value)});")
        if staged:
            self.say(f"out{piece.output}({piece.first}, {len(piece.values)});")

    def _result(self, k: int, output: Output) -> None:
        """Write a result; where it is staged, by 32 columns and `out_k(first, how many)`."""
        buffer, values = None, ()
        if isinstance(output.values, Buffer):
            buffer = output.values
        else:
            values = output.values
        name = self.buffers[id(buffer)] if buffer else ""
        if k not in self.staged:
            if buffer:
                self._each(buffer, f"out{k}(i, {name}[i]);")
            else:
                for j, value in enumerate(values):
                    self.say(f"out{k}({j}, {self.ref(value)});")
            return
        for first in range(0, output.size, WARP):
            many = min(WARP, output.size - first)
            if buffer:
                self.say(f"for (int i = 0; i < {many}; ++i) stage[i] = {name}[{first} + i];")
            else:
                for j, value in enumerate(values[first : first + many]):
                    self.say(f"stage[{j}] = {self.ref(value)};")
            self.say(f"out{k}({first}, {many});")

    def _each(self, buffer: Buffer, text: str) -> None:
        """For all elements; unrolled where the buffer may stay in registers."""
        if id(buffer) not in self.indexed:
            self.say("#pragma unroll")
        self.say(f"for (int i = 0; i < {buffer.size}; ++i) {text}")

    def _entry(self) -> list[str]:
        """The kernel. Where results are staged, threads beyond the last row repeat it."""
        row = "at" if self.staged else "row"
        parameters, accessors = ["Int n"], list[str]()
        for k, x in enumerate(self.program.inputs):
            if self.numbers >> k & 1:
                parameters.append(f"T x{k}")
                accessors.append(f"[=](int j) {{ return x{k}; }}")
                continue
            place = self._place(row, f"x{k}", x.size)
            parameters.append(f"const T* __restrict__ x{k}")
            read = f"fresh(x{k} + {place})" if self.plans else f"x{k}[{place}]"
            accessors.append(f"[=](int j) {{ return {read}; }}")
            parameters += [] if self.packed else [f"Int x{k}_row", f"Int x{k}_step"]
        for k, y in enumerate(self.program.outputs):
            place = self._place("row", f"y{k}", y.size)
            guard = "if (row < n) " if self.staged else ""
            parameters.append(f"T* __restrict__ y{k}")
            if k in self.staged and self.plans:
                where = f"y{k} + (row - lane % 8) * {y.size} + lane % 8 + first"
                accessors.append(f"[=](int first, int many) {{ write_piece({where},")
                accessors[-1] += f" {y.size}, many, rows, stage + lane / 8 * 72 + lane % 8,"
                accessors[-1] += " lane); }"
            elif k in self.staged:
                where = f"y{k} + row * {y.size} - lane * {y.size} + first"
                accessors.append(f"[=](int first, int many) {{ write_columns({where},")
                accessors[-1] += f" {y.size}, many, n - row + lane, stage, lane); }}"
            else:
                accessors.append(f"[=](int j, T x) {{ {guard}y{k}[{place}] = x; }}")
            parameters += [] if self.packed else [f"Int y{k}_row", f"Int y{k}_step"]
        if self.staged or self.plans:
            accessors.append(f"stage + {PIECE + 1 if self.plans else WARP + 1} * lane")
        if self.plans:
            accessors.append("kept + lane")
            accessors.append(f"blockIdx.x % {len(self.plans)}")
        arguments = ",\n    ".join(accessors)
        call = f"evaluate(\n    {arguments});"
        tile = f"(blockIdx.x / {len(self.plans)})" if len(self.plans) > 1 else "blockIdx.x"
        kept = f"  T* kept = stage + {WARP * (PIECE + 1) if self.staged else 0};"
        rows = "  const int rows = n - row + lane < 32 ? n - row + lane : 32;"
        inside = call if self.staged else f"if (row < n) {call}"
        head = [
            f'extern "C" __global__ void __launch_bounds__({self.bounds})',
            f"kernel({', '.join(parameters)}) {{",
            f"  const Int row = (Int){tile} * blockDim.x + threadIdx.x;",
        ]
        if not self.staged and not self.plans:
            return [*head, f"  if (row < n) {call}", "}"]
        return [
            WRITE_PIECE if self.plans else WRITE_COLUMNS,
            "extern __shared__ T shared[];",
            *head,
            "  const int lane = threadIdx.x % 32;",
            f"  T* stage = shared + threadIdx.x / 32 * (32 * {self.words});",
            *([kept, rows] if self.plans else []),
            "  const Int at = row < n ? row : n - 1;",
            f"  {inside}",
            "}",
        ]

    def _place(self, row: str, name: str, size: int) -> str:
        return f"{row} * {size} + j" if self.packed else f"{row} * {name}_row + j * {name}_step"


def _in_order(program: Program) -> Program:
    """The statements as they were traced, or in the order of the CPU's kernels where these have
    clearly fewer live values, of more than fit beside many threads: rows of many loops. Where
    registers suffice, arguments are read first: no load passes the branch at a sine, and one after
    the other they are waited for (five four-bars: 15·10⁹/s instead of 12, in double 5.9 for 3.9).
    """
    if program.rolled or live_values(program) < MANY_VALUES:
        return program
    other = schedule(program)
    if live_values(other) >= 0.9 * live_values(program):
        return program
    read = [isinstance(s, Node) and s.op == "input" for s in other.region.statements]
    if live_values(other) + sum(read) < REGISTERS:
        other.region.statements.sort(key=lambda s: not (isinstance(s, Node) and s.op == "input"))
    return other
