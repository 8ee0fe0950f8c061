"""CUDA C of a large straight-line program of a robot with limbs: the warps of a block share the
same 32 samples (`limbs`), each with its own code.

Arguments come into shared memory first, whole lines of memory at once, and lie there for all warps;
so do the values that warps have from each other. Results go to tiles as those of `tiles` do, or,
where they are few, through shared memory to rows. What finds no place in registers is kept in
shared memory, as far as as many blocks as registers allow find a place there, and in local memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

import numpy as np

from mozzi.program.node import Node
from mozzi.program.program import Program
from mozzi.targets.cuda.here import cupy_here
from mozzi.targets.cuda.launch import WARP
from mozzi.targets.cuda.limbs import Side, divided, sides_of
from mozzi.targets.cuda.math import FRESH, PRELUDE, PUT
from mozzi.targets.cuda.nvidia import Function, machine_code
from mozzi.targets.cuda.slices import BLOCK_BYTES, MOST_WARPS, REGISTERS, SHARED_BYTES
from mozzi.targets.cuda.spill import Piece, Plan, allocate
from mozzi.targets.cuda.statements import Statements
from mozzi.targets.cuda.tiles import SAMPLES, argument, places_of, results_by_columns

__all__ = ["LimbSource", "few_of"]

FEW_OPERATIONS = 15_000  # of a program, below which warps wait for each other longer than they gain
PITCH = WARP + 1  # of a number of 32 samples that come and go by rows
BARRIER = """
__device__ __forceinline__ void meet() {{
#ifdef __CUDACC__
  asm volatile("bar.sync 1, {threads};" ::: "memory");
#else
  __syncthreads();
#endif
}}"""


class LimbSource(Statements):
    """The text of the kernel. It takes (n, arguments…, tiles) or, by rows or columns, (n,
    arguments…, results…). packed, numbers, taken: as of `TileSource`. threads: of a block, which
    takes 32 samples; shared: bytes of shared memory for each; many: sides, 1 where there are no
    limbs.
    """

    def __init__(
        self,
        program: Program,
        dtype: str,
        packed: bool = True,
        numbers: int = 0,
        taken: Mapping[int, tuple[tuple[Node, ...], Mapping[int, int]]] | None = None,
        most_shared: int | None = None,
        rows: bool = False,
        columns: bool = False,
    ):
        super().__init__(program, dtype)
        self.program, self.packed, self.numbers, self.taken = program, packed, numbers, taken or {}
        self.many, sides = sides_of(program)
        many, self.threads, self.rows = self.many, WARP * self.many, rows
        self.places, self.columns = places_of(program), columns
        size = np.dtype(dtype).itemsize
        self.offsets: dict[int, int] = {}  # of arguments, in words of shared memory
        words = 0
        for k, x in enumerate(program.inputs):
            if k not in self.taken and not numbers >> k & 1:
                self.offsets[k], words = words, words + PITCH * x.size
        self.turned: dict[int, int] = {}  # of sines and cosines of arguments
        self.angles: dict[int, dict[int, int]] = {}  # and of what angles they are
        for s in program.region.statements:
            if isinstance(s, Node) and s.op in ("sin", "cos") and s.args[0].op == "input":
                k, j = s.args[0].place
                if k in self.offsets:
                    angles = self.angles.setdefault(k, {})
                    if j not in angles:
                        angles[j], words = words, words + 2 * PITCH
                    self.turned[id(s)] = angles[j] + (PITCH if s.op == "cos" else 0)
        found = divided(program, sides, many, self.pairs, self.turned)
        registers = REGISTERS * 4 // size
        plans = [
            allocate(
                s.order, [*s.sent, *s.pieces], registers, self.pairs, {*s.received, *self.turned}
            )
            for s in found
        ]
        self.exchanged, words = words, words + WARP * sum(len(s.sent) for s in found)
        self.made: list[int] = []  # of results
        if rows:
            for y in program.outputs:
                self.made.append(words)
                words += PITCH * y.size
        self.kept = words
        blocks = MOST_WARPS // many
        room = ((most_shared or SHARED_BYTES) + BLOCK_BYTES) // blocks - BLOCK_BYTES
        self.near = min(
            max(p.slots for p in plans), max(0, room // size - words) // (WARP * many)
        )
        words += WARP * many * self.near
        self.shared = -(-size * words // (16 * self.threads)) * 16
        self.bodies: list[list[str]] = []
        self.indent = "    "
        for side, plan in zip(found, plans, strict=True):
            self._side(side, plan)
        self.integers_: list[str] = []
        entry = self._entry()
        self.text = "\n".join([*self._head(), *self.integers_, *entry, ""])

    def _side(self, side: Side, plan: Plan) -> None:
        self.lines = []
        self.names.clear()
        self.count = 0
        self.received, self.filled = side.received, set[int]()
        far = plan.slots - self.near
        if far > 0:
            self.say(f"volatile T far[{far}];")
        self.steps(plan)
        self.bodies.append(self.lines)

    def value(self, s: Node) -> None:
        if id(s) in self.names or s.op == "const":
            return
        text = ""
        if id(s) in self.received:
            text = f"passed[{WARP * self.received[id(s)]}]"
        elif id(s) in self.turned:
            text = f"given[{self.turned[id(s)]}]"
        elif s.op == "input" and s.place[0] in self.taken:
            k, offset = s.place
            values, places = self.taken[k]
            x = values[offset]
            constant = x.op == "const"
            text = self.number(x.value) if constant else f"in{k}({SAMPLES * places[id(x)]})"
        elif s.op == "input" and s.place[0] in self.offsets:
            text = f"given[{self.offsets[s.place[0]] + PITCH * s.place[1]}]"
        if not text:
            super().value(s)
            return
        self.count += 1
        self.names[id(s)] = f"v{self.count}"
        self.say(f"T v{self.count} = {text};")

    def slot(self, k: int) -> str:
        return f"kept[{WARP * self.many * k}]" if k < self.near else f"far[{k - self.near}]"

    def piece(self, piece: Piece) -> None:
        (x,) = piece.values
        if piece.output < 0:
            self.say(f"passed[{WARP * piece.first}] = {self.ref(x)};")
        elif self.columns:
            at = f"put<{piece.first}>(to{piece.output}, pitch"
            self.say(f"if (row < n) {at}, {self.ref(x)});")
        elif self.rows:
            at = self.made[piece.output] + PITCH * piece.first
            self.say(f"given[{at}] = {self.ref(x)};")
        elif x.op != "const" and id(x) not in self.filled:
            self.filled.add(id(x))
            self.say(f"tile[{SAMPLES * self.places[id(x)]}] = {self.ref(x)};")

    def _head(self) -> list[str]:
        return [
            f"// {self.program.name}: {self.many} warps share the same samples",
            f"typedef {self.T} T;",
            "typedef long long Int;",
            PRELUDE[self.T],
            FRESH[self.T] + (PUT[self.T] if self.columns else ""),
            BARRIER.format(threads=self.threads),
            *(f"__constant__ {text};" for _, text in self.tables.values()),
        ]

    def _entry(self) -> list[str]:
        """Rows beyond the last one are that one; tiles have a place for what comes of them."""
        parameters, lines = ["Int n"], list[str]()
        for k, x in enumerate(self.program.inputs):
            parameter, read = argument(k, self.numbers, self.taken)
            parameters.append(parameter)
            if read is not None:
                lines.append(read)
                continue
            at = f"r * {x.size} + j" if self.packed else f"r * x{k}_row + j * x{k}_step"
            parameters += [] if self.packed else [f"Int x{k}_row", f"Int x{k}_step"]
            lines += [
                "#pragma unroll 4",
                f"for (int e = threadIdx.x; e < {WARP * x.size}; e += {self.threads}) {{",
                f"  const int i = e / {x.size}, j = e % {x.size};",
                "  const Int r = first + i < n ? first + i : n - 1;",
                f"  shared[{self.offsets[k]} + {PITCH} * j + i] = x{k}[{at}];",
                "}",
            ]
        lines += ["__syncthreads();", *self._sines()]
        stride = SAMPLES * len(self.places)
        if self.columns:
            where, ends = results_by_columns(self.program)
            parameters += where
            lines += ends
        elif self.rows:
            for k in range(len(self.program.outputs)):
                parameters.append(f"T* __restrict__ y{k}")
                parameters += [] if self.packed else [f"Int y{k}_row", f"Int y{k}_step"]
        else:
            parameters.append("T* __restrict__ tiles")
            lines.append(f"T* tile = tiles + row / {SAMPLES} * {stride} + row % {SAMPLES};")
        sides: list[str] = []
        for k, body in enumerate(self.bodies):
            sides += [f"  {'else ' if k else ''}if (side == {k}) {{", *body, "  }"]
        return [
            "extern __shared__ T shared[];",
            f'extern "C" __global__ void __launch_bounds__({self.threads})',
            f"kernel({', '.join(parameters)}) {{",
            f"  const int lane = threadIdx.x % {WARP}, side = threadIdx.x / {WARP};",
            f"  const Int first = (Int)blockIdx.x * {WARP}, row = first + lane;",
            *(f"  {text}" for text in lines),
            "  volatile T* given = shared + lane;",
            f"  volatile T* passed = shared + {self.exchanged} + lane;",
            f"  volatile T* kept = shared + {self.kept} + threadIdx.x;",
            "  __syncthreads();",
            *sides,
            *(self._rows() if self.rows else []),
            "}",
        ]

    def _sines(self) -> Iterator[str]:
        """Sines and cosines of all angles that are arguments, by all threads."""
        for k, angles in self.angles.items():
            of = self._table(f"of{k}", [self.offsets[k] + PITCH * j for j in angles])
            to = self._table(f"to{k}", list(angles.values()))
            yield f"for (int e = threadIdx.x; e < {WARP * len(angles)}; e += {self.threads}) {{"
            yield f"  const int i = e % {WARP}, j = e / {WARP};"
            yield "  T s, c;"
            yield f"  fast_sincos(shared[{of}[j] + i], &s, &c);"
            yield f"  shared[{to}[j] + i] = s; shared[{to}[j] + {PITCH} + i] = c;"
            yield "}"

    def _table(self, name: str, numbers: Sequence[int]) -> str:
        items = ", ".join(map(str, numbers))
        self.integers_.append(f"__constant__ int {name}[{len(numbers)}] = {{{items}}};")
        return name

    def _rows(self) -> list[str]:
        lines = ["__syncthreads();"]
        for k, y in enumerate(self.program.outputs):
            at = f"r * {y.size} + j" if self.packed else f"r * y{k}_row + j * y{k}_step"
            lines += [
                "#pragma unroll 4",
                f"for (int e = threadIdx.x; e < {WARP * y.size}; e += {self.threads}) {{",
                f"  const int i = e / {y.size}, j = e % {y.size};",
                "  const Int r = first + i;",
                f"  if (r < n) y{k}[{at}] = shared[{self.made[k]} + {PITCH} * j + i];",
                "}",
            ]
        return [f"  {text}" for text in lines]


def few_of(
    make: Callable[[], LimbSource], program: Program, most: int, words: Callable[[], str]
) -> Callable[[], Function | None] | None:
    """What makes the function for few samples of a robot with limbs; none where the program is
    short, or its values find no place in `most` bytes of shared memory.
    """
    if program.flops < FEW_OPERATIONS or sides_of(program)[0] < 2:
        return None

    @cache
    def made() -> Function | None:
        cupy, source = cupy_here(), make()
        if source.shared * source.threads > most:
            return None
        code = partial(machine_code, cupy, source.text)
        function = Function(cupy, code, source.shared, source.threads, samples=WARP, fill=True)
        function.words = words()
        return function

    return made
