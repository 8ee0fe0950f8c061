"""CUDA C of a large straight-line program whose results go to tiles, one thread per sample.

A thread that writes a row of a thousand numbers itself, or gathers pieces of it in shared memory,
keeps numbers until their neighbours are there. Here it writes every number as soon as it is
computed, the distinct ones that are no constants, to memory in which those of eight samples lie
together: [samples / 8][numbers][8], 32 bytes of each in a sector. Another kernel
(`finishing`) makes rows of them. With that, statements may come in whatever order has fewest live
values; where these are still many, the program says what leaves the registers (`spill`): to shared
memory as far as eight warps of a multiprocessor find a place there, and to local memory.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mozzi.program.node import Node
from mozzi.program.program import Buffer, Program
from mozzi.program.schedule import depth_first, live_values, schedule
from mozzi.targets.cuda.launch import WARP
from mozzi.targets.cuda.math import CALM, FRESH, PRELUDE, PUT
from mozzi.targets.cuda.slices import (
    BLOCK_BYTES,
    MOST_WARPS,
    REGISTERS,
    SHARED_BYTES,
    plan_of,
)
from mozzi.targets.cuda.spill import Piece
from mozzi.targets.cuda.statements import Statements

__all__ = [
    "SAMPLES", "TileSource", "argument", "fewest_live", "places_of", "results_by_columns",
]  # fmt: skip

SAMPLES = 8  # of a tile
KEPT_BYTES = 512  # in memory, beyond which a program says itself what is kept there


def places_of(program: Program) -> dict[int, int]:
    """Where in a tile the distinct numbers of the results are, by their nodes; constants are not
    there.
    """
    found: dict[int, int] = {}
    for y in program.outputs:
        assert not isinstance(y.values, Buffer)
        for x in y.values:
            if x.op != "const":
                found.setdefault(id(x), len(found))
    return found


def reader(k: int, place: str, again: bool = True) -> str:
    """How a thread reads element j of argument k, which lies there: where it is used, again and
    again, or where the compiler likes.
    """
    read = f"fresh(x{k} + {place})" if again else f"x{k}[{place}]"
    return f"auto in{k} = [=](int j) {{ return {read}; }};"


def argument(
    k: int, numbers: int, taken: Mapping[int, tuple[tuple[Node, ...], Mapping[int, int]]],
    again: bool = True,
) -> tuple[str, str | None]:
    """The parameter of argument k, and how a thread reads it where it is a number of the launch or
    lies in tiles; numbers, taken: as of `TileSource`.
    """
    if numbers >> k & 1:
        return f"T x{k}", f"auto in{k} = [=](int j) {{ return x{k}; }};"
    pointer = f"const T* __restrict__ x{k}"
    if k not in taken:
        return pointer, None
    stride = SAMPLES * len(taken[k][1])
    return pointer, reader(k, f"row / {SAMPLES} * {stride} + row % {SAMPLES} + j", again)


def results_by_columns(program: Program) -> tuple[list[str], list[str]]:
    """Parameters for the results, and where those of a sample begin in each."""
    many = range(len(program.outputs))
    ends = ["const unsigned pitch = sizeof(T) * n;", *(f"T* to{k} = y{k} + row;" for k in many)]
    return [f"T* __restrict__ y{k}" for k in many], ends


class TileSource(Statements):
    """The text of a program's kernel: it takes (n, arguments…, tiles), or by columns (n,
    arguments…, results…), where a number of all n samples lies together.

    packed, numbers: of the arguments, as of `CudaSource`. taken: arguments that are results of
    another program, read from its tiles: for each its numbers, and the places of that program.
    A block is a warp; shared: bytes of shared memory for each of its threads.
    """

    def __init__(
        self,
        program: Program,
        dtype: str,
        packed: bool = True,
        numbers: int = 0,
        taken: Mapping[int, tuple[tuple[Node, ...], Mapping[int, int]]] | None = None,
        most_shared: int | None = None,
        columns: bool = False,
    ):
        program = fewest_live(program)
        super().__init__(program, dtype)
        self.program, self.packed, self.numbers, self.taken = program, packed, numbers, taken or {}
        self.places, self.columns = places_of(program), columns
        size = np.dtype(dtype).itemsize
        registers = REGISTERS * 4 // size
        plan = plan_of(program, registers, self.pairs)
        if plan.slots * size <= KEPT_BYTES:
            plan = plan_of(program, 1 << 30, self.pairs)
        share = ((most_shared or SHARED_BYTES) + BLOCK_BYTES) // MOST_WARPS - BLOCK_BYTES
        self.near = min(plan.slots, share // (size * WARP))  # slots in shared memory
        self.shared = size * self.near
        self.far = plan.slots - self.near
        self.again = plan.slots > 0  # whether arguments are read where they are used
        self.filled: set[int] = set()  # numbers that are in their tiles
        self.sincos = CALM
        self.steps(plan)
        self.text = "\n".join([*self._head(), *self._entry(), ""])

    def value(self, s: Node) -> None:
        if s.op == "input" and s.place[0] in self.taken and id(s) not in self.names:
            k, offset = s.place
            values, places = self.taken[k]
            x = values[offset]
            self.count += 1
            self.names[id(s)] = f"v{self.count}"
            constant = x.op == "const"
            text = self.number(x.value) if constant else f"in{k}({SAMPLES * places[id(x)]})"
            self.say(f"T v{self.count} = {text};")
            return
        super().value(s)

    def slot(self, k: int) -> str:
        return f"kept[{WARP * k}]" if k < self.near else f"far[{k - self.near}]"

    def piece(self, piece: Piece) -> None:
        for k, x in enumerate(piece.values):
            if self.columns:
                at = f"put<{piece.first + k}>(to{piece.output}, pitch"
                self.say(f"{at}, {self.ref(x)});")
            elif x.op != "const" and id(x) not in self.filled:
                self.filled.add(id(x))
                self.say(f"tile[{SAMPLES * self.places[id(x)]}] = {self.ref(x)};")

    def _head(self) -> list[str]:
        return [
            f"// {self.program.name}: one thread per sample, results in tiles of {SAMPLES}",
            f"typedef {self.T} T;",
            "typedef long long Int;",
            PRELUDE[self.T],
            FRESH[self.T] + (PUT[self.T] if self.columns else ""),
            *(f"__constant__ {text};" for _, text in self.tables.values()),
        ]

    def _entry(self) -> list[str]:
        """Threads beyond the last sample repeat it, and write to what tiles have beyond it; by
        columns there is nothing beyond it, and they leave.
        """
        parameters, accessors = ["Int n"], list[str]()
        for k, x in enumerate(self.program.inputs):
            parameter, read = argument(k, self.numbers, self.taken, self.again)
            parameters.append(parameter)
            if read is None and self.packed:
                read = reader(k, f"at * {x.size} + j", self.again)
            elif read is None:
                read = reader(k, f"at * x{k}_row + j * x{k}_step", self.again)
                parameters += [f"Int x{k}_row", f"Int x{k}_step"]
            accessors.append(read)
        where, ends = results_by_columns(self.program) if self.columns else ([], [])
        parameters += where or ["T* __restrict__ tiles"]
        stride = SAMPLES * len(self.places)
        tile = f"T* tile = tiles + row / {SAMPLES} * {stride} + row % {SAMPLES};"
        return [
            "extern __shared__ T shared[];",
            f'extern "C" __global__ void __launch_bounds__({WARP})',
            f"kernel({', '.join(parameters)}) {{",
            "  const Int row = (Int)blockIdx.x * blockDim.x + threadIdx.x;",
            "  const Int at = row < n ? row : n - 1;",
            *(["  volatile T* kept = shared + threadIdx.x;"] if self.near else []),
            *([f"  volatile T far[{self.far}];"] if self.far else []),
            *(["  if (row >= n) return;"] if self.columns else []),
            *(f"  {text}" for text in (ends or [tile])),
            *(f"  {text}" for text in accessors),
            *self.lines,
            "}",
        ]


def fewest_live(program: Program) -> Program:
    """The program in that of three orders in which fewest values live at once."""
    return min((program, schedule(program), depth_first(program)), key=live_values)
