"""Eight rows of float64 from eight-lane vectors, by whole cache lines: LLVM IR for AVX-512.

A row of user memory starts anywhere in a cache line. Eight columns at a time are turned into eight
rows (8 insertions, 16 shuffles); each row's eight numbers and those before them then make one line
of that row (one more shuffle), which is stored whole: a line that is written whole need not be read
before, and can go past the caches. Where results are many (`stream`: whoever has stored so fences
in the end) every other row does: the two ways to memory have buffers of their own, and together
take a quarter more bytes a second than either.
"""

from __future__ import annotations

from collections.abc import Callable

from mozzi.targets.cpu.pack import mask

__all__ = ["FROM", "LONG_ROW", "lines"]

LONG_ROW = 32  # numbers of a row from which on it goes by lines
V, H, WORDS = "<8 x double>", "<4 x double>", "<8 x i64>"
IOTA = "<" + ", ".join(f"i64 {k}" for k in range(8)) + ">"
PERMUTE = "@llvm.x86.avx512.vpermi2var.pd.512"
FROM = "ptr noalias %src, ptr %map"  # the vectors, and where the elements are among them
STORE_SOME = "@llvm.masked.store.v8f64.p0"


def lines(mapped: bool, stream: bool) -> str:
    """@lines.plain.cached and so on: n ≥ 8 columns of eight samples into eight rows."""
    name = f"lines.{'mapped' if mapped else 'plain'}.{'stream' if stream else 'cached'}"
    out = _Lines(mapped)
    code = out.code
    code += [
        f"define internal void @{name}(ptr %base, i64 %outer, i64 %n, {FROM}) {{",
        "start:",
    ]
    for k in range(8):
        code += [
            f"  %m{k} = mul i64 %outer, {k}",
            f"  %row{k} = getelementptr i8, ptr %base, i64 %m{k}",
            f"  %address{k} = ptrtoint ptr %row{k} to i64",
            f"  %phase8.{k} = and i64 %address{k}, 56",
            f"  %back{k} = sub i64 0, %phase8.{k}",
            f"  %line{k} = getelementptr i8, ptr %row{k}, i64 %back{k}",
            f"  %phase{k} = lshr i64 %phase8.{k}, 3",
            f"  %shift{k} = sub i64 8, %phase{k}",
        ]
        splat = out.splat(f"%shift{k}")
        code.append(f"  %pick{k} = add {WORDS} {splat}, {IOTA}")  # of the last eight and these
    first = out.rows("0")
    for k, row in enumerate(first):  # the line in which the row starts
        since = out.new(f"icmp uge {WORDS} {IOTA}, {out.splat(f'%phase{k}')}")
        out.store_some(out.line(k, row, row), f"%line{k}", since)
    code += [
        "  %rest = and i64 %n, 7",
        "  %full = sub i64 %n, %rest",
        "  %more.than.one = icmp sgt i64 %full, 8",
        "  br i1 %more.than.one, label %loop, label %tail",
        "loop:",
        "  %j = phi i64 [8, %start], [%j1, %loop]",
        *(f"  %last{k} = phi {V} [{first[k]}, %start], [%now{k}, %loop]" for k in range(8)),
    ]

    def put(k: int, row: str) -> None:
        code.append(f"  %now{k} = bitcast {V} {row} to {V}")
        at = out.new(f"getelementptr double, ptr %line{k}, i64 %j")
        past = ", !nontemporal !{i32 1}" if stream and k % 2 == 0 else ""
        code.append(f"  store {V} {out.line(k, f'%last{k}', row)}, ptr {at}, align 64{past}")

    out.rows("%j", put)
    code += [
        "  %j1 = add i64 %j, 8",
        "  %more = icmp slt i64 %j1, %full",
        "  br i1 %more, label %loop, label %tail",
        "tail:",
        *(f"  %end{k} = phi {V} [{first[k]}, %start], [%now{k}, %loop]" for k in range(8)),
    ]
    rest = out.rows("%full", last="%n")
    for k, row in enumerate(rest):  # what is left of the row: one line, or parts of two
        count = out.new(f"add i64 %phase{k}, %rest")
        at = out.new(f"getelementptr double, ptr %line{k}, i64 %full")
        some = out.new(f"icmp ult {WORDS} {IOTA}, {out.splat(count)}")
        out.store_some(out.line(k, f"%end{k}", row), at, some)
        beyond = out.new(f"sub i64 {count}, 8")
        after = out.new(f"getelementptr double, ptr {at}, i64 8")
        some = out.new(f"icmp slt {WORDS} {IOTA}, {out.splat(beyond)}")
        out.store_some(out.line(k, row, row), after, some)
    return "\n".join([*code, "  ret void", "}", *(DECLARED if not (mapped or stream) else ())])


DECLARED = (
    f"declare {V} {PERMUTE}({V}, {WORDS}, {V})",
    f"declare void {STORE_SOME}({V}, ptr, i32, <8 x i1>)",
)


class _Lines:
    """The text of one function."""

    def __init__(self, mapped: bool):
        self.mapped, self.count = mapped, 0
        self.code: list[str] = []

    def new(self, text: str) -> str:
        self.count += 1
        self.code.append(f"  %x{self.count} = {text}")
        return f"%x{self.count}"

    def splat(self, x: str) -> str:
        one = self.new(f"insertelement {WORDS} poison, i64 {x}, i32 0")
        return self.new(f"shufflevector {WORDS} {one}, {WORDS} poison, <8 x i32> zeroinitializer")

    def line(self, k: int, before: str, row: str) -> str:
        """The line of row k that ends within these eight numbers."""
        return self.new(f"call {V} {PERMUTE}({V} {before}, {WORDS} %pick{k}, {V} {row})")

    def store_some(self, x: str, at: str, some: str) -> None:
        self.code.append(
            f"  call void {STORE_SOME}({V} {x}, ptr {at}, i32 64, <8 x i1> {some})"
        )

    def rows(
        self, j: str, done: Callable[[int, str], None] | None = None, last: str = ""
    ) -> list[str]:
        """Eight columns from j on as eight rows; columns from `last` on as the one before."""
        at = [self._column(j, i, last) for i in range(8)]
        rows: list[str] = []
        for half in (0, 32):  # samples 0 … 3, 4 … 7
            quarter = [
                self.new(f"load {H}, ptr {self.new(f'getelementptr i8, ptr {p}, i64 {half}')}")
                for p in at
            ]
            pairs = [self._shuffle(quarter[i], quarter[i + 2], range(8), H) for i in (0, 1, 4, 5)]
            even = [self._shuffle(a, b, _within(0)) for a, b in (pairs[:2], pairs[2:])]
            odd = [self._shuffle(a, b, _within(1)) for a, b in (pairs[:2], pairs[2:])]
            four = [
                self._shuffle(x[0], x[1], _lanes(lane)) for lane in (0, 1) for x in (even, odd)
            ]
            for row in four:
                if done is not None:
                    done(len(rows), row)
                rows.append(row)
        return rows

    def _column(self, j: str, i: int, last: str) -> str:
        column = self.new(f"add i64 {j}, {i}")
        if self.mapped:  # maps are padded
            at = self.new(f"getelementptr i32, ptr %map, i64 {column}")
            byte = self.new(f"zext i32 {self.new(f'load i32, ptr {at}')} to i64")
            return self.new(f"getelementptr i8, ptr %src, i64 {byte}")
        if last:
            end = self.new(f"sub i64 {last}, 1")
            column = self.new(f"call i64 @llvm.smin.i64(i64 {column}, i64 {end})")
        return self.new(f"getelementptr {V}, ptr %src, i64 {column}")

    def _shuffle(self, a: str, b: str, indices: range | list[int], kind: str = V) -> str:
        return self.new(f"shufflevector {kind} {a}, {kind} {b}, {mask(indices)}")


def _within(which: int) -> list[int]:
    """Of every 128 bits of two vectors, the lower (0) or upper (1) numbers side by side."""
    return [x for k in range(0, 8, 2) for x in (k + which, 8 + k + which)]


def _lanes(which: int) -> list[int]:
    """Of two vectors, the first (0) or second (1) 128 bits of every half."""
    return [base + 2 * which + 4 * half + i for base in (0, 8) for half in (0, 1) for i in (0, 1)]
