"""Unpack a structure of arrays into NumPy's strided arrays: LLVM IR, once for each type.

`unpack` turns vectors of W samples into W rows of user memory, `scatter` does it for any strides.
With a map, element j of the rows is the vector at byte map[j]: a value that a result has in several
places, and its zeros, are in the structure of arrays once. Only valid lanes are written.

Long rows of float64 go by whole cache lines where the machine has vectors of that size (`lines`),
past the caches where there are many of them (stream); others by blocks of columns.
"""

from __future__ import annotations

from mozzi.targets.cpu.lines import FROM, LONG_ROW, lines
from mozzi.targets.cpu.pack import ANY, OFFSET, Shuffles, columns, mask

__all__ = ["unpacking"]


def unpacking(T: str, W: int, by_lines: bool) -> str:
    """The functions unpack and scatter; by_lines: whether vectors are cache lines."""
    item = 8 if T == "double" else 4
    B = 2 if (T, W) == ("double", 2) else 4
    widest = 8 if T == "float" and W >= 8 else B
    code = [_lanes(T, W, item), _scatter(T, W, item)]
    for mapped in (False, True):
        code += [_blocks(T, W, item, size, mapped) for size in dict.fromkeys((B, widest))]
    if by_lines:
        code += [lines(mapped, stream) for mapped in (False, True) for stream in (False, True)]
    return "\n".join([*code, _unpack(W, B, widest, by_lines)])


def _unpack(W: int, B: int, widest: int, by_lines: bool) -> str:
    """@unpack: which way the rows go."""
    code = [
        f"define void @unpack({ANY}, {FROM}, i1 %stream) {{",
        f"  %full = icmp eq i64 %valid, {W}",
        f"  %wide = icmp sge i64 %n, {B}",
        "  %fast = and i1 %full, %wide",
        "  %mapped = icmp ne ptr %map, null",
        "  br i1 %fast, label %whole, label %some",
        "some:",
        f"  tail call void @lanes({_passed(True)})\n  ret void",
        "whole:",
    ]

    def choose(condition: str, yes: str, no: str) -> None:
        code.append(f"  br i1 {condition}, label %{yes}, label %{no}")

    def call(label: str, name: str, valid: bool = False) -> None:
        code.append(f"{label}:\n  tail call void @{name}({_passed(valid)})\n  ret void")

    code.append(f"  %many = icmp sge i64 %n, {LONG_ROW if by_lines else widest}")
    code += ALIGNED if by_lines else ["  %lengthy = and i1 %many, true"]
    choose("%lengthy", "long", "short")
    code.append("short:")
    choose("%mapped", "short.mapped", "short.plain")
    for kind in ("plain", "mapped"):
        call(f"short.{kind}", f"blocks.{kind}.{B}")
    code.append("long:")
    choose("%mapped", "long.mapped", "long.plain")
    for kind in ("plain", "mapped"):
        if not by_lines:
            call(f"long.{kind}", f"blocks.{kind}.{widest}")
            continue
        code.append(f"long.{kind}:")
        choose("%stream", f"stream.{kind}", f"cached.{kind}")
        call(f"stream.{kind}", f"lines.{kind}.stream")
        call(f"cached.{kind}", f"lines.{kind}.cached")
    return "\n".join([*code, "}"])


# rows of whole numbers from whole numbers on
ALIGNED = [
    "  %address = ptrtoint ptr %base to i64",
    "  %both = or i64 %address, %outer",
    "  %odd = and i64 %both, 7",
    "  %even = icmp eq i64 %odd, 0",
    "  %lengthy = and i1 %many, %even",
]


def _kind(mapped: bool) -> str:
    return "mapped" if mapped else "plain"


def _passed(valid: bool) -> str:
    lanes = "i64 %valid, " if valid else ""
    return f"ptr %base, i64 %outer, i64 %n, {lanes}ptr %src, ptr %map"


def _rows_of(shuffle: Shuffles, cols: list[str], B: int) -> list[tuple[str, int]]:
    """From B columns to rows: for every row the vector it is in and where it starts."""
    n, W = shuffle.lanes, shuffle.W
    if B == 8:  # two blocks of four, side by side
        left, right = (columns(shuffle, cols[k : k + 4], 4) for k in (0, 4))
        found: dict[int, tuple[str, int]] = {}
        for r in range(4):
            for first in range(0, n, W // 8):
                some = range(first, first + W // 8)
                z = shuffle.whole(left[r], right[r], [x for k in some for x in (k, k + n)])
                found |= {4 * k + r: (z, 8 * (k - first)) for k in some}
        return [found[k] for k in range(W)]
    if shuffle.per_lane == 4 or B == 2:
        vectors = columns(shuffle, cols, B)
        return [(vectors[k % B], k // B * B) for k in range(W)]
    v0, v1, v2, v3 = cols
    place: dict[int, tuple[str, int]] = {}
    for odd, p in enumerate(([0, 2], [1, 3])):
        t, u = shuffle.within(v0, v1, p), shuffle.within(v2, v3, p)  # lane k: row 2k + odd
        for half in range(2):
            lanes = [x for k in range(half * n // 2, (half + 1) * n // 2) for x in (k, k + n)]
            z = shuffle.whole(t, u, lanes)
            for i in range(n // 2):
                place[2 * (half * n // 2 + i) + odd] = z, 4 * i
    return [place[k] for k in range(W)]


def _blocks(T: str, W: int, item: int, B: int, mapped: bool) -> str:
    """All lanes, B columns at a time; the last block ends at column n and may overlap the one
    before.
    """
    V, block, name = f"<{W} x {T}>", f"<{B} x {T}>", f"blocks.{_kind(mapped)}.{B}"
    code = [f"define internal void @{name}(ptr %base, i64 %outer, i64 %n, {FROM}) {{", "blocks:"]
    for k in range(W):
        code += [
            f"  %m{k} = mul i64 %outer, {k}",
            f"  %p{k} = getelementptr i8, ptr %base, i64 %m{k}",
        ]
    code += [
        f"  %end = sub i64 %n, {B}",
        "  br label %b.loop",
        "b.loop:",
        "  %bj = phi i64 [0, %blocks], [%bj2, %b.loop]",
    ]
    names: list[str] = []
    for i in range(B):
        code.append(f"  %bi{i} = add i64 %bj, {i}")
        if mapped:
            code += [
                f"  %bm{i} = getelementptr i32, ptr %map, i64 %bi{i}",
                f"  %bw{i} = load i32, ptr %bm{i}",
                f"  %bz{i} = zext i32 %bw{i} to i64",
                f"  %bs{i} = getelementptr i8, ptr %src, i64 %bz{i}",
            ]
        else:
            code.append(f"  %bs{i} = getelementptr {V}, ptr %src, i64 %bi{i}")
        code.append(f"  %v{i} = load {V}, ptr %bs{i}, align {W * item}")
        names.append(f"%v{i}")
    for k, (vector, first) in enumerate(_rows_of(Shuffles(code, T, W), names, B)):
        code += [
            f"  %r{k} = shufflevector {V} {vector}, {V} poison, {mask(range(first, first + B))}",
            f"  %bp{k} = getelementptr {T}, ptr %p{k}, i64 %bj",
            f"  store {block} %r{k}, ptr %bp{k}, align 1",
        ]
    code += [
        f"  %bj1 = add i64 %bj, {B}",
        "  %bj2 = call i64 @llvm.smin.i64(i64 %bj1, i64 %end)",
        "  %b.more = icmp slt i64 %bj, %end",
        "  br i1 %b.more, label %b.loop, label %done",
        "done:\n  ret void\n}",
    ]
    return "\n".join(code)


def _lanes(T: str, W: int, item: int) -> str:
    """@lanes: number by number, where some lanes are valid or rows are short."""
    return f"""define internal void @lanes({ANY}, {FROM}) {{
lanes:
  %mapped = icmp ne ptr %map, null
  %l.some = icmp sgt i64 %n, 0
  br i1 %l.some, label %l.lane, label %done
l.lane:
  %lk = phi i64 [0, %lanes], [%lk1, %l.next]
  %lm = mul i64 %lk, %outer
  %lp = getelementptr i8, ptr %base, i64 %lm
  %lq = getelementptr {T}, ptr %src, i64 %lk
  br label %l.loop
l.loop:
  %lj = phi i64 [0, %l.lane], [%lj1, %l.put]
{_slot("%lj", "l", W * item, "l.put")}
  %ls = getelementptr i8, ptr %lq, i64 %l.byte
  %lx = load {T}, ptr %ls, align {item}
  %ld = getelementptr {T}, ptr %lp, i64 %lj
  store {T} %lx, ptr %ld, align 1
  %lj1 = add i64 %lj, 1
  %l.more = icmp slt i64 %lj1, %n
  br i1 %l.more, label %l.loop, label %l.next
l.next:
  %lk1 = add i64 %lk, 1
  %l.again = icmp slt i64 %lk1, %valid
  br i1 %l.again, label %l.lane, label %done
done:
  ret void
}}"""


def _slot(j: str, tag: str, vector: int, then: str) -> str:
    """Where element j is: %tag.byte, in the block `then`."""
    return f"""  br i1 %mapped, label %{tag}.mapped, label %{tag}.plain
{tag}.mapped:
  %{tag}.at = getelementptr i32, ptr %map, i64 {j}
  %{tag}.word = load i32, ptr %{tag}.at
  %{tag}.there = zext i32 %{tag}.word to i64
  br label %{then}
{tag}.plain:
  %{tag}.own = mul i64 {j}, {vector}
  br label %{then}
{then}:
  %{tag}.byte = phi i64 [%{tag}.there, %{tag}.mapped], [%{tag}.own, %{tag}.plain]"""


def _scatter(T: str, W: int, item: int) -> str:
    return f"""define void @scatter({ANY}, {FROM}, ptr %strides, ptr %shape, i64 %ndim) {{
start:
  %mapped = icmp ne ptr %map, null
  br label %element
{OFFSET}
{_slot("%j", "s", W * item, "put")}
  %from = getelementptr i8, ptr %src, i64 %s.byte
  br label %lane
lane:
  %k = phi i64 [0, %put], [%k1, %lane]
  %m = mul i64 %k, %outer
  %p = getelementptr i8, ptr %at, i64 %m
  %s = getelementptr {T}, ptr %from, i64 %k
  %x = load {T}, ptr %s
  store {T} %x, ptr %p, align 1
  %k1 = add i64 %k, 1
  %more.lanes = icmp slt i64 %k1, %valid
  br i1 %more.lanes, label %lane, label %next
next:
  %j1 = add i64 %j, 1
  %more = icmp slt i64 %j1, %n
  br i1 %more, label %element, label %done
done:
  ret void
}}"""
