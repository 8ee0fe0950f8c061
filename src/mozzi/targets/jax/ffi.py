# pyright: basic, reportMissingImports=warning
# (CuPy and XLA's C interface are not typed)
"""CUDA kernels inside jit: a handler for XLA's foreign function interface, in machine code.

XLA calls a handler with a call frame (xla/ffi/api/c_api.h, whose layout is stable): arguments and
results as buffers, and the stream to work on. The handler made here, a few instructions through
llvmlite, launches the kernel of one program there. Python takes no part in it, nor its lock.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
from collections.abc import Sequence
from functools import cache
from typing import Any

from mozzi.locks import ForkLock
from mozzi.targets.derivatives import find

__all__ = ["call", "handler", "possible"]

# Where things are, in bytes: call frame, its arguments and results, a buffer, the interface.
_EXTENSION, _API, _CONTEXT, _ARGUMENTS, _RESULTS = 8, 16, 24, 72, 112
_DATA, _RANK, _DIMS = 24, 32, 40
_VERSION, _ERROR, _STREAM = 32, 48, 80
_METADATA, _METADATA_VERSION, _METADATA_TRAITS = 24, 24, 32
_INTERNAL = 13


def _field(name: str, base: str, offset: int, T: str = "ptr") -> str:
    return (
        f"  %{name}.at = getelementptr i8, ptr %{base}, i64 {offset}\n"
        f"  %{name} = load {T}, ptr %{name}.at\n"
    )


def handler_text(
    inputs: int, outputs: int, launch: int, function: int, block: int, shared: int
) -> str:
    """LLVM IR of the handler: launch(function, blocks, 1, 1, block, 1, 1, shared, stream, places,
    0), with shared bytes of memory for a block.

    The kernel takes the number of samples, then the arrays. The number of samples is the product
    of all axes but the last of the first argument.
    """
    size = 1 + inputs + outputs
    fills = []
    for k in range(inputs + outputs):
        base, n = ("arguments", k) if k < inputs else ("results", k - inputs)
        fills.append(
            _field(f"b{k}", base, 8 * n)
            + _field(f"d{k}", f"b{k}", _DATA)
            + f"  %v{k} = getelementptr i64, ptr %values, i64 {k + 1}\n"
            + f"  store ptr %d{k}, ptr %v{k}\n"
        )
    places = "".join(
        f"  %w{k} = getelementptr i64, ptr %values, i64 {k}\n"
        f"  %p{k} = getelementptr ptr, ptr %places, i64 {k}\n"
        f"  store ptr %w{k}, ptr %p{k}\n"
        for k in range(size)
    )
    text = b"mozzi: the launch of a CUDA kernel failed\0"
    message = "".join(f"\\{x:02x}" for x in text)
    return f"""@message = private constant [{len(text)} x i8] c"{message}"
define ptr @handler(ptr %frame) {{
start:
  %values = alloca [{size} x i64]
  %places = alloca [{size} x ptr]
  %ask = alloca [4 x i64]
  %error = alloca [4 x i64]
{_field("api", "frame", _API)}{_field("extension", "frame", _EXTENSION)}
  %asked = icmp ne ptr %extension, null
  br i1 %asked, label %describe, label %count
describe:
{_field("metadata", "extension", _METADATA)}{_field("version", "api", _VERSION, "i64")}
  %version.to = getelementptr i8, ptr %metadata, i64 {_METADATA_VERSION}
  store i64 %version, ptr %version.to
  %traits.to = getelementptr i8, ptr %metadata, i64 {_METADATA_TRAITS}
  store i32 0, ptr %traits.to
  ret ptr null
count:
{_field("arguments", "frame", _ARGUMENTS)}{_field("results", "frame", _RESULTS)}
{_field("first", "arguments", 0)}{_field("rank", "first", _RANK, "i64")}
{_field("dims", "first", _DIMS)}
  %axes = sub i64 %rank, 1
  br label %axis
axis:
  %k = phi i64 [0, %count], [%k1, %multiply]
  %n = phi i64 [1, %count], [%n1, %multiply]
  %more = icmp slt i64 %k, %axes
  br i1 %more, label %multiply, label %counted
multiply:
  %dim.at = getelementptr i64, ptr %dims, i64 %k
  %dim = load i64, ptr %dim.at
  %n1 = mul i64 %n, %dim
  %k1 = add i64 %k, 1
  br label %axis
counted:
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %done, label %fill
fill:
  store i64 %n, ptr %values
{"".join(fills)}{places}{_field("context", "frame", _CONTEXT)}
  store i64 32, ptr %ask
  %ask.1 = getelementptr i64, ptr %ask, i64 1
  store i64 0, ptr %ask.1
  %ask.2 = getelementptr i64, ptr %ask, i64 2
  store ptr %context, ptr %ask.2
  %ask.3 = getelementptr i64, ptr %ask, i64 3
  store i64 0, ptr %ask.3
{_field("get", "api", _STREAM)}  %refused = call ptr %get(ptr %ask)
  %ok = icmp eq ptr %refused, null
  br i1 %ok, label %run, label %refuse
refuse:
  ret ptr %refused
run:
  %stream = load ptr, ptr %ask.3
  %up = add i64 %n, {block - 1}
  %blocks = udiv i64 %up, {block}
  %blocks.32 = trunc i64 %blocks to i32
  %launch = inttoptr i64 {launch} to ptr
  %function = inttoptr i64 {function} to ptr
  %code = call i32 %launch(ptr %function, i32 %blocks.32, i32 1, i32 1,
    i32 {block}, i32 1, i32 1, i32 {shared}, ptr %stream, ptr %places, ptr null)
  %launched = icmp eq i32 %code, 0
  br i1 %launched, label %done, label %failed
failed:
  store i64 28, ptr %error
  %error.1 = getelementptr i64, ptr %error, i64 1
  store i64 0, ptr %error.1
  %error.2 = getelementptr i64, ptr %error, i64 2
  store ptr @message, ptr %error.2
  %error.3 = getelementptr i64, ptr %error, i64 3
  store i64 {_INTERNAL}, ptr %error.3
{_field("create", "api", _ERROR)}  %problem = call ptr %create(ptr %error)
  ret ptr %problem
done:
  ret ptr null
}}
"""


def handler(inputs: int, outputs: int, launch: int, function: int, block: int, shared: int) -> Any:
    """The handler as XLA takes it: a capsule with its address, and what keeps the code alive."""
    from mozzi.targets.cpu import jit as llvm_jit

    text = handler_text(inputs, outputs, launch, function, block, shared)
    code = llvm_jit.Code(llvm_jit.assemble(text))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    return make(code.address("handler"), None, None), code


@cache
def possible() -> bool:
    """Whether CUDA kernels can be compiled here."""
    if importlib.util.find_spec("cupy") is None:
        return False
    import cupy

    return cupy.cuda.is_available()


_REGISTERED: dict[str, object] = {}
_LOCK = ForkLock()


def _target(key: str) -> str:
    """The name under which XLA knows the handler of a program."""
    from jax import ffi

    from mozzi.targets.cuda.nvidia import driver

    name = f"mozzi_{hashlib.sha256(key.encode()).hexdigest()[:32]}"
    with _LOCK:
        if name not in _REGISTERED:
            found = find(key)
            launch = ctypes.cast(driver().cuLaunchKernel, ctypes.c_void_p).value or 0
            kernel = found.cuda.packed
            sides = len(found.inputs), len(found.outputs)
            shape = kernel.block, kernel.block * kernel.shared
            capsule, code = handler(*sides, launch, kernel.handle or 0, *shape)
            ffi.register_ffi_target(name, capsule, platform="CUDA")
            _REGISTERED[name] = code
    return name


def call(key: str, arrays: Sequence[Any], target: str | None = None) -> list[Any]:
    """The results of a program on arrays of one batch, by its CUDA kernel."""
    import jax
    from jax import ffi

    found = find(key)
    batch = found.batch(arrays)
    rows = [x.reshape(*batch, s.size) for x, s in zip(arrays, found.inputs, strict=True)]
    kinds = [jax.ShapeDtypeStruct((*batch, y.size), arrays[0].dtype) for y in found.outputs]
    results = ffi.ffi_call(target or _target(key), kinds)(*rows)
    return [y.reshape(*batch, *s.shape) for y, s in zip(results, found.outputs, strict=True)]
