"""CUDA C of a program: one thread per sample.

A thread reads its own row. Rows of neighbouring threads are neighbours in memory, so that the first
level cache serves (N, n) arrays as fast as (n, N) ones; measured on an H200, copying rows through
shared memory first was slower by a third to a half (docs/gpu.md). It writes its own row, too, where
rows are short. Long rows, of which a warp's stores would touch as many sectors as there are
threads, go through shared memory: a warp gathers 32 columns of its 32 rows and writes them
together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mozzi.program.node import Node, Region
from mozzi.program.program import Buffer, Index, Loop, Output, Program, Store
from mozzi.targets.c.words import SPELL_C, TYPES, number
from mozzi.targets.cuda.launch import BLOCK_THREADS
from mozzi.targets.cuda.math import PRELUDE, WRITE_COLUMNS
from mozzi.targets.unique_names import integer

__all__ = ["CudaSource"]

WARP = 32
STAGED_NUMBERS = 24  # in a row that is written through shared memory


class CudaSource:
    """The text of a program's kernel.

    packed: rows lie one after the other, and the kernel takes (n, x0, …, y0, …); else it takes
    (n, x0, row, step, …), strides from row to row and within a row, in elements. A block may have
    any number of warps, up to `block` threads; resident: how many of such blocks a multiprocessor
    must hold at once, which bounds registers (0 leaves them to the compiler). shared: bytes of
    shared memory that a launch gives each thread.
    """

    def __init__(
        self,
        program: Program,
        dtype: str,
        packed: bool = False,
        resident: int = 0,
        block: int = BLOCK_THREADS,
    ):
        self.program, self.packed = program, packed
        self.bounds = f"{block}, {resident}" if resident else f"{block}"
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
        sizes = [y.size for y in program.outputs]
        self.staged = [k for k, n in enumerate(sizes) if packed and n >= STAGED_NUMBERS]
        self.pairs = _pairs(program)
        self.indexed = _indexed(program)
        body = self._body()
        self.text = "\n".join([*self._head(), *body, *self._entry(), ""])
        self.shared = 33 * np.dtype(dtype).itemsize if self.staged else 0

    # -- text --

    def _head(self) -> list[str]:
        return [
            f"// {self.program.name}: one thread per sample",
            f"typedef {self.T} T;",
            "typedef long long Int;",
            PRELUDE[self.T],
            *(f"__constant__ {text};" for _, text in self.tables.values()),
        ]

    def number(self, x: float) -> str:
        text = number(x, self.T)
        return f"({text})" if text[0] == "-" else text

    def ref(self, x: Node) -> str:
        return self.number(x.value) if x.op == "const" else self.names[id(x)]

    def say(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def _body(self) -> list[str]:
        """The program as a device function on accessors: `in_k(j)` reads, `out_k(j, x)` writes.

        A buffer that is a result, and that nothing loads, is written where the result goes.
        """
        program = self.program
        loaded = {
            id(s.address.buffer)
            for s, _ in program.walk()
            if isinstance(s, Node) and s.op == "load"
        }
        for k, output in enumerate(program.outputs):
            buffer = output.values
            if isinstance(buffer, Buffer) and id(buffer) not in loaded | self.written.keys():
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
            place = self._place(row, f"x{k}", x.size)
            parameters.append(f"const T* __restrict__ x{k}")
            accessors.append(f"[=](int j) {{ return x{k}[{place}]; }}")
            parameters += [] if self.packed else [f"Int x{k}_row", f"Int x{k}_step"]
        for k, y in enumerate(self.program.outputs):
            place = self._place("row", f"y{k}", y.size)
            guard = "if (row < n) " if self.staged else ""
            parameters.append(f"T* __restrict__ y{k}")
            if k in self.staged:
                where = f"y{k} + row * {y.size} - lane * {y.size} + first"
                accessors.append(f"[=](int first, int many) {{ write_columns({where},")
                accessors[-1] += f" {y.size}, many, n - row + lane, stage, lane); }}"
            else:
                accessors.append(f"[=](int j, T x) {{ {guard}y{k}[{place}] = x; }}")
            parameters += [] if self.packed else [f"Int y{k}_row", f"Int y{k}_step"]
        arguments = ",\n    ".join([*accessors, *(["stage + 33 * lane"] if self.staged else [])])
        call = f"evaluate(\n    {arguments});"
        head = [
            f'extern "C" __global__ void __launch_bounds__({self.bounds})',
            f"kernel({', '.join(parameters)}) {{",
            "  const Int row = (Int)blockIdx.x * blockDim.x + threadIdx.x;",
        ]
        if not self.staged:
            return [*head, f"  if (row < n) {call}", "}"]
        return [
            WRITE_COLUMNS,
            "extern __shared__ T shared[];",
            *head,
            "  const int lane = threadIdx.x % 32;",
            "  T* stage = shared + threadIdx.x / 32 * (32 * 33);",
            "  const Int at = row < n ? row : n - 1;",
            f"  {call}",
            "}",
        ]

    def _place(self, row: str, name: str, size: int) -> str:
        return f"{row} * {size} + j" if self.packed else f"{row} * {name}_row + j * {name}_step"

    # -- statements --

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
            self.say(f"T {names[0]}, {names[1]}; fast_sincos({angle}, {places});")
            return
        elif s.op == "div" and s.finite and s.args[0].op == "const" and s.args[0].value == 1.0:
            text = f"reciprocal({self.ref(s.args[1])})"
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
