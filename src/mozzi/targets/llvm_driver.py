"""The loop around a kernel: NumPy's strided arrays in, vectors of W samples out, and back.

A kernel reads and writes *planes*: element j of an argument is one vector of W samples at slot j. The functions here are
LLVM IR as text. `pack` turns W rows of user memory into planes by 128-bit blocks, `gather` does it for any strides;
`unpack` and `scatter` go back. Lanes without a sample repeat the last valid one, so that nothing outside is
touched and every sample goes through the same code.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Operand", "driver", "helpers"]


class Operand:
    """An argument or a result: its core shape and its first slot among the planes."""

    def __init__(self, shape: tuple[int, ...], slot: int):
        self.shape = shape
        self.slot = slot
        self.size = 1
        for n in shape:
            self.size *= n


def _mask(indices: Sequence[int]) -> str:
    return f"<{len(indices)} x i32> <{', '.join(f'i32 {i}' for i in indices)}>"


def _transpose(code: list[str], names: list[str], V: str, W: int, B: int, tag: str) -> list[str]:
    """Transpose the B×B blocks that sit in the 128-bit lanes of B vectors."""

    def shuffle(out: str, a: str, b: str, pattern: list[int]) -> str:
        # the pattern speaks of one lane: 0 … B−1 of a, B … 2B−1 of b
        full = [
            lane * B + (i if i < B else i - B + W) for lane in range(W // B) for i in pattern
        ]
        code.append(f"  {out} = shufflevector {V} {a}, {V} {b}, {_mask(full)}")
        return out

    if B == 2:
        a, b = names
        return [shuffle(f"%{tag}0", a, b, [0, 2]), shuffle(f"%{tag}1", a, b, [1, 3])]
    a, b, c, d = names
    t0 = shuffle(f"%{tag}t0", a, b, [0, 4, 1, 5])
    t1 = shuffle(f"%{tag}t1", a, b, [2, 6, 3, 7])
    t2 = shuffle(f"%{tag}t2", c, d, [0, 4, 1, 5])
    t3 = shuffle(f"%{tag}t3", c, d, [2, 6, 3, 7])
    return [
        shuffle(f"%{tag}0", t0, t2, [0, 1, 4, 5]),
        shuffle(f"%{tag}1", t0, t2, [2, 3, 6, 7]),
        shuffle(f"%{tag}2", t1, t3, [0, 1, 4, 5]),
        shuffle(f"%{tag}3", t1, t3, [2, 3, 6, 7]),
    ]


def helpers(T: str, W: int) -> str:
    """`pack`, `unpack`, `gather`, `scatter`, `contiguous`: shared by all operands of all kernels of a type."""
    item = 8 if T == "double" else 4
    B = 16 // item
    return "\n".join(
        [_pack(T, W, item, B), _unpack(T, W, item, B), _gather(T, W, item), _scatter(T, W), _CONTIGUOUS]
    )


def _rows(W: int, last: str) -> list[str]:
    """%p0 … %p{W−1}: the row of every lane, the last valid one where there is none."""
    code = []
    for k in range(W):
        code.append(f"  %k{k} = call i64 @llvm.smin.i64(i64 {k}, i64 {last})")
        code.append(f"  %m{k} = mul i64 %k{k}, %outer")
        code.append(f"  %p{k} = getelementptr i8, ptr %base, i64 %m{k}")
    return code


def _pack(T: str, W: int, item: int, B: int) -> str:
    V = f"<{W} x {T}>"
    block = f"<{B} x {T}>"
    code = [
        "define internal void @pack(ptr %base, i64 %outer, i64 %n, i64 %valid, ptr noalias %dst) noinline {",
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
    names = []
    for i in range(B):  # vector i holds the rows i, i + B, i + 2B … in its 128-bit lanes
        parts = [f"%r{k}" for k in range(i, W, B)]
        size, level = B, 0
        while len(parts) > 1:
            joined = []
            for n in range(0, len(parts), 2):
                name = f"%j{i}.{level}.{n}"
                code.append(
                    f"  {name} = shufflevector <{size} x {T}> {parts[n]}, <{size} x {T}> {parts[n + 1]}, "
                    + _mask(range(2 * size))
                )
                joined.append(name)
            parts, size, level = joined, 2 * size, level + 1
        names.append(parts[0])
    outs = _transpose(code, names, V, W, B, "o")
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


def _unpack(T: str, W: int, item: int, B: int) -> str:
    V = f"<{W} x {T}>"
    block = f"<{B} x {T}>"
    code = [
        "define internal void @unpack(ptr %base, i64 %outer, i64 %n, i64 %valid, ptr noalias %src) noinline {",
        f"  %full = icmp eq i64 %valid, {W}",
        f"  %wide = icmp sge i64 %n, {B}",
        "  %fast = and i1 %full, %wide",
        "  br i1 %fast, label %blocks, label %lanes",
        "blocks:",
    ]
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
    names = []
    for i in range(B):
        code += [
            f"  %bi{i} = add i64 %bj, {i}",
            f"  %bs{i} = getelementptr {V}, ptr %src, i64 %bi{i}",
            f"  %v{i} = load {V}, ptr %bs{i}, align {W * item}",
        ]
        names.append(f"%v{i}")
    outs = _transpose(code, names, V, W, B, "o")
    for k in range(W):
        lane, i = divmod(k, B)
        code += [
            f"  %r{k} = shufflevector {V} {outs[i]}, {V} poison, {_mask(range(lane * B, lane * B + B))}",
            f"  %bp{k} = getelementptr {T}, ptr %p{k}, i64 %bj",
            f"  store {block} %r{k}, ptr %bp{k}, align 1",
        ]
    code += [
        f"  %bj1 = add i64 %bj, {B}",
        "  %bj2 = call i64 @llvm.smin.i64(i64 %bj1, i64 %end)",
        "  %b.more = icmp slt i64 %bj, %end",
        "  br i1 %b.more, label %b.loop, label %done",
        # some lanes only
        "lanes:",
        "  %l.some = icmp sgt i64 %n, 0",
        "  br i1 %l.some, label %l.lane, label %done",
        "l.lane:",
        "  %lk = phi i64 [0, %lanes], [%lk1, %l.next]",
        "  %lm = mul i64 %lk, %outer",
        "  %lp = getelementptr i8, ptr %base, i64 %lm",
        f"  %lq = getelementptr {T}, ptr %src, i64 %lk",
        "  br label %l.loop",
        "l.loop:",
        "  %lj = phi i64 [0, %l.lane], [%lj1, %l.loop]",
        f"  %li = mul i64 %lj, {W}",
        f"  %ls = getelementptr {T}, ptr %lq, i64 %li",
        f"  %lx = load {T}, ptr %ls, align {item}",
        f"  %ld = getelementptr {T}, ptr %lp, i64 %lj",
        f"  store {T} %lx, ptr %ld, align 1",
        "  %lj1 = add i64 %lj, 1",
        "  %l.more = icmp slt i64 %lj1, %n",
        "  br i1 %l.more, label %l.loop, label %l.next",
        "l.next:",
        "  %lk1 = add i64 %lk, 1",
        "  %l.again = icmp slt i64 %lk1, %valid",
        "  br i1 %l.again, label %l.lane, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(code)


# The byte offset of element j of a core shape: its digits, last axis first, times the strides.
_OFFSET = """
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
        "define internal void @gather(ptr %base, i64 %outer, i64 %n, i64 %valid, ptr noalias %dst, ptr %strides,"
        " ptr %shape, i64 %ndim) noinline {",
        "start:",
        f"  %unit = icmp eq i64 %outer, {item}",
        f"  %full = icmp eq i64 %valid, {W}",
        "  %planes = and i1 %unit, %full",
        "  %last = sub i64 %valid, 1",
    ]
    for k in range(W):
        code += [
            f"  %k{k} = call i64 @llvm.smin.i64(i64 {k}, i64 %last)",
            f"  %m{k} = mul i64 %k{k}, %outer",
        ]
    code += [
        "  br label %element",
        _OFFSET,
        f"  %to = getelementptr {V}, ptr %dst, i64 %j",
        "  br i1 %planes, label %vector, label %scalars",
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


def _scatter(T: str, W: int) -> str:
    return f"""define internal void @scatter(ptr %base, i64 %outer, i64 %n, i64 %valid, ptr noalias %src, ptr %strides, \
ptr %shape, i64 %ndim) noinline {{
start:
  br label %element
{_OFFSET}
  %first = mul i64 %j, {W}
  %from = getelementptr {T}, ptr %src, i64 %first
  br label %lane
lane:
  %k = phi i64 [0, %lanes], [%k1, %lane]
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


_CONTIGUOUS = """define internal i1 @contiguous(ptr %strides, ptr %shape, i64 %ndim, i64 %item) noinline {
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


def driver(
    name: str,
    T: str,
    W: int,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    scratch: int,
    stack_limit: int = 32768,
) -> str:
    """The gufunc loop: pack W samples, run @body, unpack, until the batch is done.

    `scratch`: how many vectors of memory the body needs. What does not fit on the stack comes from `@mozzi_alloc`,
    once per call.
    """
    item = 8 if T == "double" else 4
    size = W * item
    n_in, n_out = sum(x.size for x in inputs), sum(x.size for x in outputs)
    total = (n_in + n_out + scratch) * size
    head: list[str] = []
    code: list[str] = []
    for number, x in enumerate([*inputs, *outputs]):
        dims = ", ".join(f"i64 {n}" for n in x.shape)
        if x.shape:
            head.append(f"@shape{number} = private constant [{len(x.shape)} x i64] [{dims}]")
    on_stack = total <= stack_limit
    code += [
        f"define void @{name}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{",
        "start:",
        *([f"  %memory = alloca [{max(total, size)} x i8], align {size}"] if on_stack else []),
        "  %n = load i64, ptr %dims",
        "  %some = icmp sgt i64 %n, 0",
        "  br i1 %some, label %prepare, label %done",
        "prepare:",
    ]
    if not on_stack:
        head += ["declare ptr @mozzi_alloc(i64)", "declare void @mozzi_free(ptr)"]
        code += [
            f"  %raw = call ptr @mozzi_alloc(i64 {total + size})",
            "  %address = ptrtoint ptr %raw to i64",
            f"  %up = add i64 %address, {size - 1}",
            f"  %aligned = and i64 %up, -{size}",
            "  %memory = inttoptr i64 %aligned to ptr",
        ]
    code += [
        f"  %out = getelementptr i8, ptr %memory, i64 {n_in * size}",
        f"  %scratch = getelementptr i8, ptr %memory, i64 {(n_in + n_out) * size}",
    ]
    operands = [*inputs, *outputs]
    axis = len(operands)
    for k, x in enumerate(operands):
        code += [
            f"  %ap{k} = getelementptr ptr, ptr %args, i64 {k}",
            f"  %a{k} = load ptr, ptr %ap{k}",
            f"  %sp{k} = getelementptr i64, ptr %steps, i64 {k}",
            f"  %s{k} = load i64, ptr %sp{k}",
            f"  %core{k} = getelementptr i64, ptr %steps, i64 {axis}",
        ]
        if x.shape:
            code.append(
                f"  %easy{k} = call i1 @contiguous(ptr %core{k}, ptr @shape{k}, i64 {len(x.shape)}, i64 {item})"
            )
        axis += len(x.shape)
    code += [
        "  br label %group",
        "group:",
        "  %g = phi i64 [0, %prepare], [%g1, %next]",
        "  %todo = sub i64 %n, %g",
        f"  %valid = call i64 @llvm.smin.i64(i64 %todo, i64 {W})",
        "  br label %in0",
    ]

    def move(k: int, x: Operand, fast: str, slow: str, planes: str, here: str, then: str) -> None:
        """Between the user's array and its planes."""
        code.append(f"{here}:")
        if x.size == 0:
            code.append(f"  br label %{then}")
            return
        shape = f"@shape{k}" if x.shape else "null"
        common = f"ptr %w{k}, i64 %s{k}, i64 {x.size}, i64 %valid, ptr %plane{k}"
        code.extend(
            [
                f"  %o{k} = mul i64 %g, %s{k}",
                f"  %w{k} = getelementptr i8, ptr %a{k}, i64 %o{k}",
                f"  %plane{k} = getelementptr i8, ptr {planes}, i64 {x.slot * size}",
            ]
        )
        if not x.shape:
            code.extend([f"  call void @{fast}({common})", f"  br label %{then}"])
            return
        code.extend(
            [
                f"  br i1 %easy{k}, label %{here}.easy, label %{here}.any",
                f"{here}.easy:",
                f"  call void @{fast}({common})",
                f"  br label %{then}",
                f"{here}.any:",
                f"  call void @{slow}({common}, ptr %core{k}, ptr {shape}, i64 {len(x.shape)})",
                f"  br label %{then}",
            ]
        )

    for k, x in enumerate(inputs):
        then = f"in{k + 1}" if k + 1 < len(inputs) else "run"
        move(k, x, "pack", "gather", "%memory", f"in{k}", then)
    if not inputs:
        code += ["in0:", "  br label %run"]
    code += [
        "run:",
        "  call void @body(ptr %memory, ptr %out, ptr %scratch)",
        f"  br label %out{len(inputs)}",
    ]
    for n, x in enumerate(outputs):
        k = len(inputs) + n
        then = f"out{k + 1}" if n + 1 < len(outputs) else "next"
        move(k, x, "unpack", "scatter", "%out", f"out{k}", then)
    if not outputs:
        code += [f"out{len(inputs)}:", "  br label %next"]
    code += [
        "next:",
        f"  %g1 = add i64 %g, {W}",
        "  %more = icmp slt i64 %g1, %n",
        "  br i1 %more, label %group, label %finish",
        "finish:",
    ]
    if not on_stack:
        code.append("  call void @mozzi_free(ptr %raw)")
    code += ["  br label %done", "done:", "  ret void", "}"]
    return "\n".join([*head, *code])
