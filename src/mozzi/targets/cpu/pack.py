"""Pack NumPy's strided arrays into a structure of arrays: LLVM IR, once for each type.

A kernel reads a *structure of arrays*: element j is one vector of W samples at slot j. `pack` turns
W rows of user memory into it by blocks of four columns, `gather` does it for any strides; `unpack`
has the way back. Lanes without a sample repeat the last valid one, so that nothing outside is
touched and every sample goes through the same code.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ANY", "OFFSET", "Shuffles", "columns", "mask", "packing"]


# The user's array at its first sample, the distance of samples, elements of each, how many samples.
ANY = "ptr %base, i64 %outer, i64 %n, i64 %valid"


def mask(indices: Sequence[int]) -> str:
    return f"<{len(indices)} x i32> <{', '.join(f'i32 {i}' for i in indices)}>"


class Shuffles:
    """Shuffles of two vectors of W numbers whose patterns repeat in every 128-bit lane, or move
    whole lanes.
    """

    def __init__(self, code: list[str], T: str, W: int):
        self.code, self.V, self.W = code, f"<{W} x {T}>", W
        self.per_lane = 16 // (8 if T == "double" else 4)
        self.lanes = W // self.per_lane
        self.count = 0

    def __call__(self, a: str, b: str, indices: Sequence[int]) -> str:
        self.count += 1
        name = f"%sh{self.count}"
        self.code.append(f"  {name} = shufflevector {self.V} {a}, {self.V} {b}, {mask(indices)}")
        return name

    def within(self, a: str, b: str, pattern: Sequence[int]) -> str:
        """In every lane: numbers 0 … n−1 are the lane of a, n … 2n−1 that of b."""
        n, W = self.per_lane, self.W
        return self(
            a, b, [k * n + (i if i < n else i - n + W) for k in range(self.lanes) for i in pattern]
        )

    def whole(self, a: str, b: str, lanes: Sequence[int]) -> str:
        """Whole lanes: 0 … n−1 are those of a, n … 2n−1 those of b."""
        n = self.per_lane
        return self(a, b, [k * n + i for k in lanes for i in range(n)])


def columns(shuffle: Shuffles, rows: list[str], B: int) -> list[str]:
    """From vectors of rows (`_row_order`) to B columns."""
    n = shuffle.lanes
    if shuffle.per_lane == 4:  # a 4×4 transpose in every lane
        a, b, c, d = rows
        t = [
            shuffle.within(x, y, p)
            for x, y in ((a, b), (c, d))
            for p in ([0, 4, 1, 5], [2, 6, 3, 7])
        ]
        pairs = ((t[0], t[2]), (t[1], t[3]))
        return [shuffle.within(x, y, p) for x, y in pairs for p in ([0, 1, 4, 5], [2, 3, 6, 7])]
    if B == 2:
        return [shuffle.within(rows[0], rows[1], p) for p in ([0, 2], [1, 3])]
    a, b, c, d = rows
    even, odd = list(range(0, 2 * n, 2)), list(range(1, 2 * n, 2))
    low = [shuffle.within(x, y, [0, 2]) for x, y in ((a, b), (c, d))]
    high = [shuffle.within(x, y, [1, 3]) for x, y in ((a, b), (c, d))]
    return [shuffle.whole(a, b, lanes) for lanes in (even, odd) for a, b in (low, high)]


def _row_order(W: int, T: str, B: int) -> list[list[int]]:
    """Which rows sit side by side in the vectors that `columns` takes."""
    if T == "double" and B == 4:
        return [[r, r + 2] if W == 8 else [r] for r in ([0, 1, 4, 5] if W == 8 else range(4))]
    return [list(range(i, W, B)) for i in range(B)]


def packing(T: str, W: int) -> str:
    """The functions pack, gather, contiguous and clear."""
    item = 8 if T == "double" else 4
    B = 2 if (T, W) == ("double", 2) else 4
    return "\n".join([_pack(T, W, item, B), _gather(T, W, item), _CONTIGUOUS, _clear(T, W, item)])


def _rows(W: int, last: str) -> list[str]:
    """%p0 … %p{W−1}: the row of every lane, the last valid one where there is none."""
    code: list[str] = []
    for k in range(W):
        code.append(f"  %k{k} = call i64 @llvm.smin.i64(i64 {k}, i64 {last})")
        code.append(f"  %m{k} = mul i64 %k{k}, %outer")
        code.append(f"  %p{k} = getelementptr i8, ptr %base, i64 %m{k}")
    return code


def _pack(T: str, W: int, item: int, B: int) -> str:
    V = f"<{W} x {T}>"
    block = f"<{B} x {T}>"
    code = [
        f"define void @pack({ANY}, ptr noalias %dst) {{",
        "  %flat = icmp eq i64 %outer, 0",
        "  %one = icmp eq i64 %valid, 1",
        "  %same = or i1 %flat, %one",
        "  br i1 %same, label %splat, label %rows",
        # one row for all lanes
        "splat:",
        "  %s.some = icmp sgt i64 %n, 0",
        "  br i1 %s.some, label %s.loop, label %done",
        "s.loop:",
        "  %sj = phi i64 [0, %splat], [%sj1, %s.loop]",
        f"  %sp = getelementptr {T}, ptr %base, i64 %sj",
        f"  %s0 = load {T}, ptr %sp, align 1",
        f"  %s1 = insertelement {V} poison, {T} %s0, i32 0",
        f"  %s2 = shufflevector {V} %s1, {V} poison, <{W} x i32> zeroinitializer",
        f"  %sd = getelementptr {V}, ptr %dst, i64 %sj",
        f"  store {V} %s2, ptr %sd, align {W * item}",
        "  %sj1 = add i64 %sj, 1",
        "  %s.more = icmp slt i64 %sj1, %n",
        "  br i1 %s.more, label %s.loop, label %done",
        "rows:",
        "  %last = sub i64 %valid, 1",
        *_rows(W, "%last"),
        f"  %narrow = icmp slt i64 %n, {B}",
        "  br i1 %narrow, label %columns, label %blocks",
        # fewer columns than a block has: lane by lane
        "columns:",
        "  %c.some = icmp sgt i64 %n, 0",
        "  br i1 %c.some, label %c.loop, label %done",
        "c.loop:",
        "  %cj = phi i64 [0, %columns], [%cj1, %c.loop]",
    ]
    v = "poison"
    for k in range(W):
        code += [
            f"  %cp{k} = getelementptr {T}, ptr %p{k}, i64 %cj",
            f"  %cx{k} = load {T}, ptr %cp{k}, align 1",
            f"  %cv{k} = insertelement {V} {v}, {T} %cx{k}, i32 {k}",
        ]
        v = f"%cv{k}"
    code += [
        f"  %cd = getelementptr {V}, ptr %dst, i64 %cj",
        f"  store {V} {v}, ptr %cd, align {W * item}",
        "  %cj1 = add i64 %cj, 1",
        "  %c.more = icmp slt i64 %cj1, %n",
        "  br i1 %c.more, label %c.loop, label %done",
        # blocks of B columns; the last one ends at column n and may overlap the one before
        "blocks:",
        f"  %end = sub i64 %n, {B}",
        "  br label %b.loop",
        "b.loop:",
        "  %bj = phi i64 [0, %blocks], [%bj2, %b.loop]",
    ]
    for k in range(W):
        code += [
            f"  %bp{k} = getelementptr {T}, ptr %p{k}, i64 %bj",
            f"  %r{k} = load {block}, ptr %bp{k}, align 1",
        ]
    names: list[str] = []
    for i, rows in enumerate(_row_order(W, T, B)):
        parts = [f"%r{k}" for k in rows]
        size, level = B, 0
        while len(parts) > 1:
            joined: list[str] = []
            for n in range(0, len(parts), 2):
                name = f"%j{i}.{level}.{n}"
                half = f"<{size} x {T}>"
                code.append(
                    f"  {name} = shufflevector {half} {parts[n]}, {half} {parts[n + 1]}, "
                    + mask(range(2 * size))
                )
                joined.append(name)
            parts, size, level = joined, 2 * size, level + 1
        names.append(parts[0])
    outs = columns(Shuffles(code, T, W), names, B)
    for i, name in enumerate(outs):
        code += [
            f"  %bi{i} = add i64 %bj, {i}",
            f"  %bd{i} = getelementptr {V}, ptr %dst, i64 %bi{i}",
            f"  store {V} {name}, ptr %bd{i}, align {W * item}",
        ]
    code += [
        f"  %bj1 = add i64 %bj, {B}",
        "  %bj2 = call i64 @llvm.smin.i64(i64 %bj1, i64 %end)",
        "  %b.more = icmp slt i64 %bj, %end",
        "  br i1 %b.more, label %b.loop, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(code)


# The byte offset of element j of a core shape: its digits, last axis first, times the strides.
OFFSET = """
element:
  %j = phi i64 [0, %start], [%j1, %next]
  br label %axis
axis:
  %d = phi i64 [%ndim, %element], [%d1, %digit]
  %rest = phi i64 [%j, %element], [%rest1, %digit]
  %off = phi i64 [0, %element], [%off1, %digit]
  %left = icmp sgt i64 %d, 0
  br i1 %left, label %digit, label %lanes
digit:
  %d1 = sub i64 %d, 1
  %np = getelementptr i64, ptr %shape, i64 %d1
  %nd = load i64, ptr %np
  %tp = getelementptr i64, ptr %strides, i64 %d1
  %td = load i64, ptr %tp
  %rem = urem i64 %rest, %nd
  %rest1 = udiv i64 %rest, %nd
  %step = mul i64 %rem, %td
  %off1 = add i64 %off, %step
  br label %axis
lanes:
  %at = getelementptr i8, ptr %base, i64 %off"""


def _gather(T: str, W: int, item: int) -> str:
    V = f"<{W} x {T}>"
    code = [
        f"define void @gather({ANY}, ptr noalias %dst, ptr %strides, ptr %shape, i64 %ndim) {{",
        "start:",
        f"  %unit = icmp eq i64 %outer, {item}",
        f"  %full = icmp eq i64 %valid, {W}",
        "  %aligned_rows = and i1 %unit, %full",
        "  %last = sub i64 %valid, 1",
    ]
    for k in range(W):
        code += [
            f"  %k{k} = call i64 @llvm.smin.i64(i64 {k}, i64 %last)",
            f"  %m{k} = mul i64 %k{k}, %outer",
        ]
    code += [
        "  br label %element",
        OFFSET,
        f"  %to = getelementptr {V}, ptr %dst, i64 %j",
        "  br i1 %aligned_rows, label %vector, label %scalars",
        "vector:",  # the samples lie side by side
        f"  %whole = load {V}, ptr %at, align 1",
        f"  store {V} %whole, ptr %to, align {W * item}",
        "  br label %next",
        "scalars:",
    ]
    v = "poison"
    for k in range(W):
        code += [
            f"  %p{k} = getelementptr i8, ptr %at, i64 %m{k}",
            f"  %x{k} = load {T}, ptr %p{k}, align 1",
            f"  %v{k} = insertelement {V} {v}, {T} %x{k}, i32 {k}",
        ]
        v = f"%v{k}"
    code += [
        f"  store {V} {v}, ptr %to, align {W * item}",
        "  br label %next",
        "next:",
        "  %j1 = add i64 %j, 1",
        "  %more = icmp slt i64 %j1, %n",
        "  br i1 %more, label %element, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(code)


_CONTIGUOUS = """define i1 @contiguous(ptr %strides, ptr %shape, i64 %ndim, i64 %item) {
start:
  br label %axis
axis:
  %d = phi i64 [%ndim, %start], [%d1, %check]
  %want = phi i64 [%item, %start], [%want1, %check]
  %left = icmp sgt i64 %d, 0
  br i1 %left, label %check, label %yes
check:
  %d1 = sub i64 %d, 1
  %np = getelementptr i64, ptr %shape, i64 %d1
  %nd = load i64, ptr %np
  %tp = getelementptr i64, ptr %strides, i64 %d1
  %td = load i64, ptr %tp
  %want1 = mul i64 %want, %nd
  %unit = icmp eq i64 %nd, 1
  %fits = icmp eq i64 %td, %want
  %ok = or i1 %unit, %fits
  br i1 %ok, label %axis, label %no
yes:
  ret i1 true
no:
  ret i1 false
}"""


def _clear(T: str, W: int, item: int) -> str:
    V = f"<{W} x {T}>"
    return f"""define void @clear(ptr %memory, i64 %n) {{
start:
  br label %loop
loop:
  %j = phi i64 [0, %start], [%j1, %loop]
  %p = getelementptr {V}, ptr %memory, i64 %j
  store {V} zeroinitializer, ptr %p, align {W * item}
  %j1 = add i64 %j, 1
  %more = icmp slt i64 %j1, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""
