# pyright: basic, reportMissingImports=warning
# (CuPy is not typed)
"""CUDA kernels inside jit: the handler that runs the launches of one program on XLA's stream.

They are those of the CUDA target (`targets.cuda.launches`), portion after portion where there are
tiles between them. Memory for tiles is XLA's own, which it gives and takes back in the order of its
stream.
"""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache
from typing import TYPE_CHECKING

from mozzi.targets.cuda.launch import FEW_SAMPLES, WARP
from mozzi.targets.derivatives import Evaluation
from mozzi.targets.jax.frame import (
    ALLOCATE,
    ARGUMENTS,
    CONTEXT,
    DATA,
    FREE,
    RESULTS,
    SAMPLES,
    STREAM,
    asked,
    describe,
    failure,
    field,
    loaded,
)

if TYPE_CHECKING:
    from mozzi.targets.cuda.launches import Launch, Launches

__all__ = ["few", "handler", "handler_text", "possible"]

ALIGNED = 16  # bytes, the most that XLA promises


def handler_text(inputs: int, sequence: Launches, launch: int) -> str:
    """LLVM IR of the handler: for every portion and each of the launches it calls
    launch(function, blocks, 1, 1, threads, 1, 1, shared bytes, stream, places of values, 0).

    The values are those of `Launches`. The number of samples is the product of all axes but the
    last of the first argument.
    """
    from mozzi.targets.cuda.launches import PADDED

    rows, tiles = sequence.rows, sequence.tiles
    base = 1 + len(rows)  # of tiles, among the values
    values = base + len(tiles) + 2 * len(rows)
    strides = [x for row in rows for x in (row, 1)]
    buffers = "".join(
        field(f"b{k}", *(("arguments", 8 * k) if k < inputs else ("results", 8 * (k - inputs))))
        + field(f"d{k}", f"b{k}", DATA)
        for k in range(len(rows))
    )
    fixed = "".join(
        _word(f"s{k}", "values", base + len(tiles) + k) + f"  store i64 {x}, ptr %s{k}\n"
        for k, x in enumerate(strides)
    )
    places = "".join(
        f"  %at{m} = alloca [{len(x.takes)} x ptr]\n" for m, x in enumerate(sequence.launches)
    )
    pointers = "".join(
        _word(f"w{m}.{i}", "values", k)
        + _word(f"p{m}.{i}", f"at{m}", i)
        + f"  store ptr %w{m}.{i}, ptr %p{m}.{i}\n"
        for m, x in enumerate(sequence.launches)
        for i, k in enumerate(x.takes)
    )
    moved = "".join(
        f"  %o{k} = mul i64 %first, {row * sequence.size}\n"
        f"  %x{k} = getelementptr i8, ptr %d{k}, i64 %o{k}\n"
        + _word(f"v{k}", "values", 1 + k)
        + f"  store ptr %x{k}, ptr %v{k}\n"
        for k, row in enumerate(rows)
    )
    launches = "".join(_launch(m, x, launch) for m, x in enumerate(sequence.launches))
    last = len(sequence.launches)
    message, fail = failure("mozzi: the launch of a CUDA kernel failed")
    return f"""{message}declare i64 @llvm.smin.i64(i64, i64)
{SAMPLES}define ptr @handler(ptr %frame) {{
start:
  %values = alloca [{values} x i64]
{places}  %ask = alloca [6 x i64]
  %error = alloca [4 x i64]
{describe("count")}count:
{field("arguments", "frame", ARGUMENTS)}{field("results", "frame", RESULTS)}
{field("context", "frame", CONTEXT)}{buffers}  %n = call i64 @samples(ptr %b0)
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %done, label %ask.stream
ask.stream:
{asked("get", STREAM, "ptr %context", "i64 0")}  br i1 %get.ok, label %portions, label %get.refused
get.refused:
  ret ptr %get.error
portions:
  %stream = load ptr, ptr %get.word3
  %portion = call i64 @llvm.smin.i64(i64 %n, i64 {sequence.portion})
  %up = add i64 %portion, {PADDED - 1}
  %groups = udiv i64 %up, {PADDED}
  %padded = mul i64 %groups, {PADDED}
{_tiles(tiles, base)}{fixed}{pointers}  br label %next
next:
  %first = phi i64 [0, %fill], [%then, %launched{last - 1}]
  %more = icmp slt i64 %first, %n
  br i1 %more, label %run, label %finish
run:
  %left = sub i64 %n, %first
  %many = call i64 @llvm.smin.i64(i64 %left, i64 %portion)
  %then = add i64 %first, %portion
  store i64 %many, ptr %values
{moved}{launches}  br label %next
finish:
  %code = phi i32 [0, %next]{"".join(f", [%code{m}, %launch{m}]" for m in range(last))}
{_freed(tiles)}  %good = icmp eq i32 %code, 0
  br i1 %good, label %done, label %failed
failed:
{fail}done:
  ret ptr null
}}
"""


def _word(name: str, base: str, k: int) -> str:
    """IR of %name, the place of a word behind %base."""
    return f"  %{name} = getelementptr i64, ptr %{base}, i64 {k}\n"


def _launch(m: int, x: Launch, launch: int) -> str:
    """IR of a launch: in blocks of one warp where samples are few, as `Function.launch` does."""
    f = x.function
    return f"""  br label %launch{m}
launch{m}:
  %enough{m} = icmp sge i64 %many, {f.least}
  %block{m} = select i1 %enough{m}, i64 {f.block}, i64 {WARP}
  %each{m} = select i1 {"true" if f.samples else "false"}, i64 {f.samples}, i64 %block{m}
  %all{m} = add i64 %many, %each{m}
  %up{m} = sub i64 %all{m}, 1
  %groups{m} = udiv i64 %up{m}, %each{m}
  %blocks{m} = mul i64 %groups{m}, {f.slices}
  %bytes{m} = mul i64 %block{m}, {f.shared}
  %grid{m} = trunc i64 %blocks{m} to i32
  %threads{m} = trunc i64 %block{m} to i32
  %shared{m} = trunc i64 %bytes{m} to i32
  %to{m} = inttoptr i64 {launch} to ptr
  %function{m} = inttoptr i64 {f.handle} to ptr
  %code{m} = call i32 %to{m}(ptr %function{m}, i32 %grid{m}, i32 1, i32 1,
    i32 %threads{m}, i32 1, i32 1, i32 %shared{m}, ptr %stream, ptr %at{m}, ptr null)
  %ok{m} = icmp eq i32 %code{m}, 0
  br i1 %ok{m}, label %launched{m}, label %finish
launched{m}:
"""


def _tiles(tiles: tuple[int, ...], base: int) -> str:
    """IR that asks XLA for memory and says where each of the tiles is."""
    if not tiles:
        return "  br label %fill\nfill:\n"
    text, before = "", 0
    for k, each in enumerate(tiles):
        text += f"  %before{k} = mul i64 %padded, {before}\n"
        text += f"  %tile{k} = getelementptr i8, ptr %memory, i64 %before{k}\n"
        text += _word(f"t{k}", "values", base + k) + f"  store ptr %tile{k}, ptr %t{k}\n"
        before += each
    return f"""  %bytes = mul i64 %padded, {before}
{asked("allocate", ALLOCATE, "ptr %context", "i64 %bytes", f"i64 {ALIGNED}", "i64 0")}
  br i1 %allocate.ok, label %fill, label %allocate.refused
allocate.refused:
  ret ptr %allocate.error
fill:
  %memory = load ptr, ptr %allocate.word5
{text}"""


def _freed(tiles: tuple[int, ...]) -> str:
    if not tiles:
        return ""
    return f"""{asked("free", FREE, "ptr %context", "i64 %bytes", "ptr %memory")}
  br i1 %free.ok, label %freed, label %free.refused
free.refused:
  ret ptr %free.error
freed:
"""


def handler(found: Evaluation, for_few: bool = False) -> tuple[object, object]:
    """The handler of a program, and what it needs to live; for_few: of samples that are few."""
    from mozzi.targets.cuda.nvidia import driver

    launch = ctypes.cast(driver().cuLaunchKernel, ctypes.c_void_p).value or 0
    sequence = found.cuda.launches()
    sequence = sequence.for_few() if for_few else sequence
    capsule, code = loaded(handler_text(len(found.inputs), sequence, launch))
    return capsule, (code, sequence)


def few(found: Evaluation, samples: int) -> bool:
    """Whether another handler serves so many samples better."""
    return samples <= FEW_SAMPLES and found.cuda.launches().differ_for_few


@cache
def possible() -> bool:
    """Whether CUDA kernels can be compiled here."""
    if importlib.util.find_spec("cupy") is None:
        return False
    import cupy

    return cupy.cuda.is_available()
