# pyright: basic, reportMissingImports=warning
# (CuPy is not typed)
"""CUDA kernels inside jit: the handler that launches the kernel of one program on XLA's stream."""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache

from mozzi.targets.derivatives import Evaluation
from mozzi.targets.jax.frame import (
    ARGUMENTS,
    CONTEXT,
    DATA,
    RESULTS,
    SAMPLES,
    STREAM,
    describe,
    failure,
    field,
    loaded,
)

__all__ = ["handler", "handler_text", "possible"]


def handler_text(
    inputs: int, outputs: int, launch: int, function: int, block: int, shared: int, slices: int = 1
) -> str:
    """LLVM IR of the handler: launch(function, blocks, 1, 1, block, 1, 1, shared, stream, places,
    0), with shared bytes of memory for a block and so many slices of a sample.

    The kernel takes the number of samples, then the arrays. The number of samples is the product
    of all axes but the last of the first argument.
    """
    size = 1 + inputs + outputs
    fills = []
    for k in range(inputs + outputs):
        base, n = ("arguments", k) if k < inputs else ("results", k - inputs)
        fills.append(
            field(f"b{k}", base, 8 * n)
            + field(f"d{k}", f"b{k}", DATA)
            + f"  %v{k} = getelementptr i64, ptr %values, i64 {k + 1}\n"
            + f"  store ptr %d{k}, ptr %v{k}\n"
        )
    places = "".join(
        f"  %w{k} = getelementptr i64, ptr %values, i64 {k}\n"
        f"  %p{k} = getelementptr ptr, ptr %places, i64 {k}\n"
        f"  store ptr %w{k}, ptr %p{k}\n"
        for k in range(size)
    )
    message, fail = failure("mozzi: the launch of a CUDA kernel failed")
    return f"""{message}{SAMPLES}define ptr @handler(ptr %frame) {{
start:
  %values = alloca [{size} x i64]
  %places = alloca [{size} x ptr]
  %ask = alloca [4 x i64]
  %error = alloca [4 x i64]
{describe("count")}count:
{field("arguments", "frame", ARGUMENTS)}{field("results", "frame", RESULTS)}
{field("first", "arguments", 0)}  %n = call i64 @samples(ptr %first)
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %done, label %fill
fill:
  store i64 %n, ptr %values
{"".join(fills)}{places}{field("context", "frame", CONTEXT)}
  store i64 32, ptr %ask
  %ask.1 = getelementptr i64, ptr %ask, i64 1
  store i64 0, ptr %ask.1
  %ask.2 = getelementptr i64, ptr %ask, i64 2
  store ptr %context, ptr %ask.2
  %ask.3 = getelementptr i64, ptr %ask, i64 3
  store i64 0, ptr %ask.3
{field("get", "api", STREAM)}  %refused = call ptr %get(ptr %ask)
  %ok = icmp eq ptr %refused, null
  br i1 %ok, label %run, label %refuse
refuse:
  ret ptr %refused
run:
  %stream = load ptr, ptr %ask.3
  %up = add i64 %n, {block - 1}
  %tiles = udiv i64 %up, {block}
  %blocks = mul i64 %tiles, {slices}
  %blocks.32 = trunc i64 %blocks to i32
  %launch = inttoptr i64 {launch} to ptr
  %function = inttoptr i64 {function} to ptr
  %code = call i32 %launch(ptr %function, i32 %blocks.32, i32 1, i32 1,
    i32 {block}, i32 1, i32 1, i32 {shared}, ptr %stream, ptr %places, ptr null)
  %launched = icmp eq i32 %code, 0
  br i1 %launched, label %done, label %failed
failed:
{fail}done:
  ret ptr null
}}
"""


def handler(found: Evaluation) -> tuple[object, object]:
    """The handler of a program, and what it needs to live."""
    from mozzi.targets.cuda.nvidia import driver

    launch = ctypes.cast(driver().cuLaunchKernel, ctypes.c_void_p).value or 0
    kernel = found.cuda.packed
    sides = len(found.inputs), len(found.outputs)
    shape = kernel.block, kernel.block * kernel.shared, kernel.slices
    return loaded(handler_text(*sides, launch, kernel.handle or 0, *shape))


@cache
def possible() -> bool:
    """Whether CUDA kernels can be compiled here."""
    if importlib.util.find_spec("cupy") is None:
        return False
    import cupy

    return cupy.cuda.is_available()
