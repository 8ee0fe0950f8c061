"""CUDA C that makes rows of tiles: results as the caller wants them, and products with M⁻¹.

A block takes the eight samples of a tile. Matrix after matrix, it puts the numbers of the tile and
the constants between them in their places in shared memory, and writes these to memory as they lie
there, one sample after the other: whole lines, whatever the rows are. Where a matrix X is to be
multiplied by M⁻¹ (X may be 1), a thread takes a column of it before,

    x ← L⁻ᵀ x    x ← D⁻¹ x    x ← L⁻¹ x    with  M = Lᵀ D L,

which are as many multiplications as L and D⁻¹ have numbers that are not zero: few, in a tree. All
threads run the same code at once, of which there is little, with x in registers. Of M⁻¹ alone a
thread takes two columns, so that what it reads of L and D⁻¹ serves both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mozzi.program.node import Node
from mozzi.targets.c.words import TYPES, number
from mozzi.targets.cuda.launch import WARP
from mozzi.targets.cuda.tiles import SAMPLES

__all__ = ["Factors", "Finishing", "Result"]

THREADS = 320  # of a block that multiplies nothing
REGISTERS = 26  # of a thread that has a column, beside those of the column

_HEAD = {
    "float": """
typedef float T;
typedef float4 Group;
#define TAKE "ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
#define TAKEN(v) "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)""",
    "double": """
typedef double T;
typedef double2 Group;
#define TAKE "ld.volatile.shared.v2.f64 {%0, %1}, [%2];"
#define TAKEN(v) "=d"(v.x), "=d"(v.y)""",
}
_TAKE = """
typedef long long Int;
#ifdef __CUDACC__
typedef unsigned Place;  // in shared memory
__device__ __forceinline__ Place place(const T* p) {
  return (Place)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ Group take(Place p) {  // here, and not where it was taken before
  Group v;
  asm volatile(TAKE : TAKEN(v) : "r"(p) : "memory");
  return v;
}
#else
typedef const char* Place;
__device__ __forceinline__ Place place(const T* p) { return (Place)p; }
__device__ __forceinline__ Group take(Place p) { return *(const Group*)p; }
#endif"""


@dataclass(frozen=True)
class Factors:
    """L without its diagonal of ones and D⁻¹, (n, n) by rows, and the places of their numbers in
    the tiles of argument 0.
    """

    L: Sequence[Node]
    D: Sequence[Node]
    places: Mapping[int, int]
    n: int


@dataclass(frozen=True)
class Result:
    """A result of `size` numbers: those of `values` (the unit matrix where there are none), whose
    places in the tiles of an argument are given; multiplied by ±M⁻¹, or not. kept: which of the
    numbers are written, where not all are.
    """

    size: int
    values: Sequence[Node] = ()
    places: Mapping[int, int] | None = None
    tiles: int = 0
    times: float = 0.0  # ±1: by ±M⁻¹
    kept: Sequence[int] = ()


class Finishing:
    """The text of the kernel: it takes (n, tiles…, results with their strides…). threads: of a
    block; shared: bytes of shared memory for each of them.
    """

    def __init__(self, results: Sequence[Result], factors: Factors | None, tiles: int, dtype: str):
        self.T, self.results, self.factors = TYPES[dtype], results, factors
        size = np.dtype(dtype).itemsize
        self.group = 16 // size  # numbers that are taken at once
        self.words = size // 4  # registers of a number
        self.largest = -(-max(y.size for y in results) // self.group) * self.group
        n = factors.n if factors else 0
        alone = len(results) == 1 and not results[0].values
        self.wide = 2 if alone else 1  # columns of a thread, of M⁻¹ and of products
        self.groups = -(-n // self.wide)  # of columns, one to a thread
        self.threads = -(-SAMPLES * self.groups // WARP) * WARP if factors else THREADS
        self.pitch = 0
        if factors:  # no two samples of a tile in the same bank
            many = len(factors.places)
            self.pitch = many + (self.group - many) % (2 * self.group)
        words = SAMPLES * (self.largest + self.pitch)
        self.shared = -(-size * words // (16 * self.threads)) * 16
        self.lines: list[str] = []
        self.tables: list[str] = []
        for k, y in enumerate(results):
            self._result(k, y)
        self.text = "\n".join([*self._head(tiles), *self.lines, "}", ""])

    def say(self, text: str) -> None:
        self.lines.append("  " + text)

    def _head(self, tiles: int) -> list[str]:
        sides = ["Int n", *(f"const T* __restrict__ tiles{k}" for k in range(tiles))]
        for k in range(len(self.results)):
            sides += [f"T* __restrict__ y{k}", f"Int y{k}_row", f"Int y{k}_step"]
        resident = 2
        if self.factors:
            each = REGISTERS + self.wide * self.factors.n
            resident = max(1, 65536 // (each * self.words * self.threads))
        lines = [
            f"// rows of tiles of {SAMPLES} samples, with M⁻¹ in its factors",
            _HEAD[self.T] + _TAKE,
            *self.tables,
            "extern __shared__ __align__(16) T rows[];",
            f'extern "C" __global__ void __launch_bounds__({self.threads}, {resident})',
            f"kernel({', '.join(sides)}) {{",
            f"  const Int first = (Int)blockIdx.x * {SAMPLES};",
            f"  const int many = n - first < {SAMPLES} ? n - first : {SAMPLES};",
            "  const int t = threadIdx.x;",
        ]
        if not self.factors:
            return lines
        G, P, count = self.group, self.pitch, len(self.factors.places)
        moves = " ".join(f"p[{i * P}] = v.{'xyzw'[i]};" for i in range(G))
        each = SAMPLES // G
        return [
            *lines,
            f"  T* factors = rows + {SAMPLES * self.largest};",
            f"  const Group* given = (const Group*)(tiles0 + (Int)blockIdx.x * {SAMPLES * count});",
            "  #pragma unroll 4",
            f"  for (int e = t; e < {each * count}; e += {self.threads}) {{",
            f"    const Group v = given[e]; T* p = factors + e % {each} * {G * P} + e / {each};",
            f"    {moves}",
            "  }",
            f"  const int s = t / {self.groups}, c = t % {self.groups};",
            f"  const Place f = place(factors + (s < {SAMPLES} ? s : 0) * {P});",
        ]

    def _result(self, k: int, y: Result) -> None:
        self.say("{")
        if y.values:
            self._fill(k, y)
        self.say("__syncthreads();")
        if y.times:
            self.say(f"if (s < {SAMPLES}) {{")
            for line in self._column(y):
                self.say("  " + line)
            self.say("}")
            self.say("__syncthreads();")
        self._write(k, y)
        self.say("__syncthreads();")
        self.say("}")

    def _write(self, k: int, y: Result) -> None:
        """The rows as they lie in shared memory, or what is kept of them."""
        size, step = len(y.kept) or y.size, self.threads
        self.say(f"T* y = y{k} + first * y{k}_row;")
        self.say(f"const bool whole = y{k}_step == 1 && y{k}_row == {size};")
        number = f"rows[r * {size} + j]"
        if y.kept:
            kept = self._table(f"kept{k}", "unsigned short", [str(j) for j in y.kept])
            number = f"rows[r * {y.size} + {kept}[j]]"
            self.say(f"if (whole && many == {SAMPLES}) {{")
            self.say("  #pragma unroll 4")
            self.say(f"  for (int e = t; e < {SAMPLES * size}; e += {step})")
            here = f"rows[e / {size} * {y.size} + {kept}[e % {size}]]"
            self.say(f"    __stcs(y + e, {here});")
        else:
            self.say(f"if (whole && many == {SAMPLES} && (size_t)y % 16 == 0) {{")
            self.say("  Group* to = (Group*)y; const Group* from = (const Group*)rows;")
            self.say("  #pragma unroll 4")
            last = SAMPLES // self.group * size
            self.say(f"  for (int e = t; e < {last}; e += {step}) __stcs(to + e, from[e]);")
        self.say("} else")
        self.say(f"for (int e = t; e < {SAMPLES * size}; e += {step}) {{")
        self.say(f"  const int r = whole ? e / {size} : e % {SAMPLES};")
        self.say(f"  const int j = whole ? e % {size} : e / {SAMPLES};")
        self.say(f"  if (r < many) y[r * y{k}_row + j * y{k}_step] = {number};")
        self.say("}")

    def _fill(self, k: int, y: Result) -> None:
        """Zeros, then what is not zero: numbers of the tile, and other constants."""
        assert y.places is not None
        sign = "-" if y.times < 0 else ""
        moved = [(j, y.places[id(x)]) for j, x in enumerate(y.values) if x.op != "const"]
        fixed = [(j, x.value) for j, x in enumerate(y.values) if x.op == "const" and x.value]
        each = SAMPLES // self.group
        self.say(f"for (int e = t; e < {each * y.size}; e += {self.threads})")
        self.say("  ((Group*)rows)[e] = Group{};")
        self.say("__syncthreads();")
        r = f"rows[e % {SAMPLES} * {y.size} + "
        if moved:
            to = self._table(f"to{k}", "unsigned short", [str(j) for j, _ in moved])
            of = self._table(f"of{k}", "unsigned short", [str(place) for _, place in moved])
            stride = SAMPLES * len(y.places)
            self.say(f"const T* given = tiles{y.tiles} + (Int)blockIdx.x * {stride};")
            self.say("#pragma unroll 4")
            self.say(f"for (int e = t; e < {SAMPLES * len(moved)}; e += {self.threads})")
            source = f"given[{of}[e / {SAMPLES}] * {SAMPLES} + e % {SAMPLES}]"
            self.say(f"  {r}{to}[e / {SAMPLES}]] = {sign}{source};")
        if fixed:
            at = self._table(f"at{k}", "unsigned short", [str(j) for j, _ in fixed])
            is_ = self._table(f"is{k}", "T", [number(x, self.T) for _, x in fixed])
            self.say(f"for (int e = t; e < {SAMPLES * len(fixed)}; e += {self.threads})")
            self.say(f"  {r}{at}[e / {SAMPLES}]] = {sign}{is_}[e / {SAMPLES}];")

    def _table(self, name: str, kind: str, items: Sequence[str]) -> str:
        text = ", ".join(items)
        self.tables.append(f"__device__ const {kind} {name}[{len(items)}] = {{{text}}};")
        return name

    def _column(self, y: Result) -> Iterator[str]:
        """Column c of a matrix, multiplied by M⁻¹ (of −X, where that is the sign)."""
        f = self.factors
        assert f is not None
        n = f.n
        L, D = (
            [[(i, x) for i, x in enumerate(F[n * k : n * k + n]) if x.op != "const" or x.value]
             for k in range(n)]
            for F in (f.L, f.D)
        )  # fmt: skip
        here: set[int] = set()
        sweep = 0

        def taken(x: Node) -> Iterator[str]:
            """The line that takes a factor and its neighbours, unless they are here."""
            place = f.places[id(x)] // self.group if x.op != "const" else -1
            if place >= 0 and place not in here:
                here.add(place)
                yield f"const Group f{sweep}_{place} = take(f + {16 * place});"

        def spelled(x: Node) -> str:
            if x.op == "const":
                return f"({number(x.value, self.T)})"
            place, part = divmod(f.places[id(x)], self.group)
            return f"f{sweep}_{place}.{'xyzw'[part]}"

        own = [m * self.groups for m in range(self.wide)]  # columns c + m
        W = range(self.wide)
        yield f"T* x = rows + s * {y.size} + c;"
        for m in W:  # a column beyond the last is computed, of another's numbers, and not written
            there = f"(c + {own[m]} < {n} ? {own[m]} : 0)"
            for i in range(n):
                given = f"x[{n * i} + {there}];" if y.values else f"c + {own[m]} == {i} ? 1 : 0;"
                yield f"T x{i}_{m} = {given}"
        for k in reversed(range(n)):  # L⁻ᵀ
            for i, x in L[k]:
                yield from taken(x)
                for m in W:
                    yield f"x{i}_{m} -= {spelled(x)} * x{k}_{m};"
        sweep = 1
        here.clear()
        for k in range(n):  # D⁻¹
            for _, x in D[k]:
                yield from taken(x)
            for m in W:
                sum_ = " + ".join(f"{spelled(x)} * x{i}_{m}" for i, x in D[k])
                yield f"const T d{k}_{m} = {sum_};"
        for k in range(n):
            for m in W:
                yield f"x{k}_{m} = d{k}_{m};"
        sweep = 2
        here.clear()
        for k in range(n):  # L⁻¹
            for i, x in L[k]:
                yield from taken(x)
                for m in W:
                    yield f"x{k}_{m} -= {spelled(x)} * x{i}_{m};"
        for m in W:
            yield f"if (c + {own[m]} < {n}) {{"
            for i in range(n):
                yield f"  x[{n * i} + {own[m]}] = x{i}_{m};"
            yield "}"
