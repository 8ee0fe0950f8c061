"""CUDA C that makes rows of tiles: results as the caller wants them, and products with M⁻¹.

A block takes the eight samples of a tile. Matrix after matrix, it puts the numbers of the tile and
the constants between them in their places in shared memory, and writes these to memory as they lie
there, one sample after the other: whole lines, whatever the rows are. Where a matrix X is to be
multiplied by M⁻¹ (X may be 1), a thread takes a column of it before,

    x ← L⁻ᵀ x    x ← D⁻¹ x    x ← L⁻¹ x    with  M = Lᵀ D L,

in registers (`columns`): the same short code for all threads and all results. Reading L and D⁻¹
from shared memory is what takes the time. So a thread takes up to three columns, and what it reads
serves all of them; the threads of a sample are half a warp or a quarter, which read the same
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mozzi.targets.c.words import TYPES, number
from mozzi.targets.cuda.columns import Columns, Factors, Result
from mozzi.targets.cuda.launch import WARP
from mozzi.targets.cuda.tiles import SAMPLES

__all__ = ["Finishing"]

THREADS = 256  # of a block that multiplies nothing
REGISTERS = 26  # of a thread that has columns, beside those of the columns
WIDE = {4: 3, 8: 1}  # columns of a thread, by the bytes of a number

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
        self.alone = len(results) == 1 and not results[0].values  # M⁻¹ itself
        self.wide = max(WIDE[size], 2 if self.alone else 1)
        self.groups = -(-n // self.wide)  # of columns, one to a thread
        self.lanes = self.groups  # of a sample
        if self.wide > 2 and n:  # a part of a warp
            self.lanes = 1 << (self.groups - 1).bit_length()
        self.threads = -(-SAMPLES * self.lanes // WARP) * WARP if factors else THREADS
        self.pitch = 0
        if factors:  # no two samples of a tile in the same bank
            many = len(factors.places)
            self.pitch = many + (self.group - many) % (2 * self.group)
        words = SAMPLES * (self.largest + self.pitch)
        self.shared = -(-size * words // (16 * self.threads)) * 16
        self.lines: list[str] = []
        self.tables: list[str] = []
        self.indent = "  "
        if factors:
            self._products()
        else:
            for k, y in enumerate(results):
                self.say("{")
                self._fill(k, y)
                self.say("__syncthreads();")
                self._write(y, k)
                self.say("__syncthreads();")
                self.say("}")
        self.text = "\n".join([*self._head(tiles), *self.lines, "}", ""])

    def say(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def _head(self, tiles: int) -> list[str]:
        sides = ["Int n", *(f"const T* __restrict__ tiles{k}" for k in range(tiles))]
        for k in range(len(self.results)):
            sides += [f"T* __restrict__ y{k}", f"Int y{k}_row", f"Int y{k}_step"]
        resident = 2
        if self.factors:
            each = REGISTERS + self.wide * self.factors.n
            blocks = 65536 / (each * self.words * self.threads)
            resident = max(1, round(blocks) if self.alone else int(blocks))
        lines = [
            f"// rows of tiles of {SAMPLES} samples, with M⁻¹ in its factors",
            _HEAD[self.T] + _TAKE,
            *self.tables,
            "extern __shared__ __align__(16) T rows[];",
            f'extern "C" __global__ void __launch_bounds__({self.threads}, {resident})',
            f"kernel({', '.join(sides)}) {{",
            "  const Int tile = gridDim.x - 1 - blockIdx.x;  // the last ones may be in the cache",
            f"  const Int first = tile * {SAMPLES};",
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
            f"  const Group* given = (const Group*)(tiles0 + tile * {SAMPLES * count});",
            "  #pragma unroll 4",
            f"  for (int e = t; e < {each * count}; e += {self.threads}) {{",
            f"    const Group v = given[e]; T* p = factors + e % {each} * {G * P} + e / {each};",
            f"    {moves}",
            "  }",
            f"  const int {self._sample()}, c = t % {self.lanes};",
            f"  const Place f = place(factors + (s < {SAMPLES} ? s : 0) * {P});",
        ]

    def _sample(self) -> str:
        """The sample of a thread: those of a warp are not neighbours, whose rows would be in the
        same banks of shared memory.
        """
        if WARP % self.lanes:
            return f"s = t / {self.lanes}"
        return f"s = t % {WARP} / {self.lanes} * {self.threads // WARP} + t / {WARP}"

    def _products(self) -> None:
        """All results, one after the other: what is multiplied, columns of the product, rows."""
        f, results = self.factors, self.results
        assert f is not None
        size = f.n * f.n
        if len(results) > 1:
            self.say("#pragma unroll 1")
            self.say(f"for (int k = 0; k < {len(results)}; ++k) {{")
        else:
            self.say("{ const int k = 0;")
        if not self.alone:
            self.say(f"for (int e = t; e < {SAMPLES // self.group * size}; e += {self.threads})")
            self.say("  ((Group*)rows)[e] = Group{};")
            self.say("__syncthreads();")
        for k, y in enumerate(results):
            if not self.alone:
                self.say(f"{'else ' if k else ''}if (k == {k}) {{")
                if y.values:
                    self._numbers(k, y)
                else:
                    self.say(f"for (int e = t; e < {SAMPLES * f.n}; e += {self.threads})")
                    one = number(y.times, self.T)
                    self.say(f"  rows[e / {f.n} * {size} + e % {f.n} * {f.n + 1}] = {one};")
                self.say("}")
        self.say("__syncthreads();")
        guard = "s < 8" if self.lanes == self.groups else f"c < {self.groups}"
        self.say(f"if ({guard}) {{")
        for line in Columns(f, results, self.T, self.group, self.wide).lines():
            self.say("  " + line)
        self.say("}")
        self.say("__syncthreads();")
        if any(y.kept for y in results):
            for k, y in enumerate(results):
                self.say(f"{'else ' if k else ''}if (k == {k}) {{")
                self._write(y, k)
                self.say("}")
        else:
            for name, kind in (("y", "T*"), ("y_row", "const Int"), ("y_step", "const Int")):
                chosen = f"y{len(results) - 1}{name[1:]}"
                for k in reversed(range(len(results) - 1)):
                    chosen = f"k == {k} ? y{k}{name[1:]} : {chosen}"
                self.say(f"{kind} {name} = {chosen};")
            self._write(results[0])
        self.say("__syncthreads();")
        self.say("}")

    def _write(self, y: Result, k: int | None = None) -> None:
        """The rows of result k, or of the one that was chosen, as they lie in shared memory, or
        what is kept of them.
        """
        to = "y" if k is None else f"y{k}"
        size, step = len(y.kept) or y.size, self.threads
        self.say(f"T* at = {to} + first * {to}_row;")
        self.say(f"const bool whole = {to}_step == 1 && {to}_row == {size};")
        number = f"rows[r * {size} + j]"
        if y.kept:
            kept = self._table(f"kept{k}", "unsigned short", [str(j) for j in y.kept])
            number = f"rows[r * {y.size} + {kept}[j]]"
            self.say(f"if (whole && many == {SAMPLES}) {{")
            self.say("  #pragma unroll 4")
            self.say(f"  for (int e = t; e < {SAMPLES * size}; e += {step})")
            here = f"rows[e / {size} * {y.size} + {kept}[e % {size}]]"
            self.say(f"    __stcs(at + e, {here});")
        else:
            self.say(f"if (whole && many == {SAMPLES} && (size_t)at % 16 == 0) {{")
            self.say("  Group* to = (Group*)at; const Group* from = (const Group*)rows;")
            self.say("  #pragma unroll 4")
            last = SAMPLES // self.group * size
            self.say(f"  for (int e = t; e < {last}; e += {step}) __stcs(to + e, from[e]);")
        self.say(f"}} else for (int e = t; e < {SAMPLES * size}; e += {step}) {{")
        self.say(f"  const int r = whole ? e / {size} : e % {SAMPLES};")
        self.say(f"  const int j = whole ? e % {size} : e / {SAMPLES};")
        self.say(f"  if (r < many) at[r * {to}_row + j * {to}_step] = {number};")
        self.say("}")

    def _fill(self, k: int, y: Result) -> None:
        """Zeros, then what is not zero."""
        each = SAMPLES // self.group
        self.say(f"for (int e = t; e < {each * y.size}; e += {self.threads})")
        self.say("  ((Group*)rows)[e] = Group{};")
        self.say("__syncthreads();")
        self._numbers(k, y)

    def _numbers(self, k: int, y: Result) -> None:
        """Numbers of the tile, each to all places where it is, and constants that are not zero."""
        assert y.places is not None
        sign = "-" if y.times < 0 else ""
        moved: dict[int, list[int]] = {}
        for j, x in enumerate(y.values):
            if x.op != "const":
                moved.setdefault(y.places[id(x)], []).append(j)
        fixed = [(j, x.value) for j, x in enumerate(y.values) if x.op == "const" and x.value]
        G, each = self.group, SAMPLES // self.group
        if moved:
            places = sorted(moved)
            at = f"{each * places[0]} + e"  # where they are neighbours in the tile, too
            if places != list(range(places[0], places[0] + len(places))):
                of = self._table(f"of{k}", "unsigned short", [str(p) for p in places])
                at = f"{of}[e / {each}] * {each} + e % {each}"
            most = max(map(len, moved.values()))
            self.say(f"const Group* given = (const Group*)(tiles{y.tiles} +")
            self.say(f"    tile * {SAMPLES * len(y.places)});")
            self.say("#pragma unroll 4")
            self.say(f"for (int e = t; e < {each * len(places)}; e += {self.threads}) {{")
            self.say(f"  const Group v = given[{at}];")
            self.say(f"  T* r = rows + e % {each} * {G * y.size};")
            for m in range(most):
                there = [str(moved[p][min(m, len(moved[p]) - 1)]) for p in places]
                to = self._table(f"to{k}_{m}", "unsigned short", there)
                self.say(f"  const int j{m} = {to}[e / {each}];")
                moves = (f"r[{i * y.size} + j{m}] = {sign}v.{'xyzw'[i]};" for i in range(G))
                self.say("  " + " ".join(moves))
            self.say("}")
        if fixed:
            at = self._table(f"at{k}", "unsigned short", [str(j) for j, _ in fixed])
            is_ = self._table(f"is{k}", "T", [number(x, self.T) for _, x in fixed])
            self.say(f"for (int e = t; e < {SAMPLES * len(fixed)}; e += {self.threads})")
            r = f"rows[e % {SAMPLES} * {y.size} + {at}[e / {SAMPLES}]]"
            self.say(f"  {r} = {sign}{is_}[e / {SAMPLES}];")

    def _table(self, name: str, kind: str, items: Sequence[str]) -> str:
        text = ", ".join(items)
        self.tables.append(f"__device__ const {kind} {name}[{len(items)}] = {{{text}}};")
        return name
