# pyright: basic
# (llvmlite and ctypes' capsules are not typed)
"""Handlers of XLA's foreign function interface, in machine code: what all of them share.

XLA calls a handler with a call frame (xla/ffi/api/c_api.h, whose layout is stable): arguments and
results as buffers, and functions of its own. Handlers are a few instructions made through llvmlite:
nobody needs a C compiler, and Python takes no part in a call, nor its lock.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mozzi.targets.cpu.jit import Code

__all__ = [
    "ALLOCATE", "ARGUMENTS", "CONTEXT", "DATA", "DESTROY", "FREE", "RESULTS", "SAMPLES",
    "SCHEDULE", "STREAM", "THREADS", "asked", "describe", "failure", "field", "loaded",
]  # fmt: skip

# Where things are, in bytes: in a call frame, a buffer, the interface, an extension.
EXTENSION, API, CONTEXT, ARGUMENTS, RESULTS = 8, 16, 24, 72, 112
DATA, RANK, DIMS = 24, 32, 40
VERSION, ERROR, DESTROY, STREAM, SCHEDULE, THREADS = 32, 48, 64, 80, 136, 144
ALLOCATE, FREE = 120, 128
KIND, METADATA, METADATA_VERSION, METADATA_TRAITS = 8, 24, 24, 32
ASKS_METADATA = 1  # XLA_FFI_Extension_Metadata
INTERNAL = 13  # XLA_FFI_Error_Code_INTERNAL


def field(name: str, base: str, offset: int, T: str = "ptr") -> str:
    """IR that loads %name from so many bytes behind %base."""
    return (
        f"  %{name}.at = getelementptr i8, ptr %{base}, i64 {offset}\n"
        f"  %{name} = load {T}, ptr %{name}.at\n"
    )


def asked(name: str, function: int, *words: str) -> str:
    """IR that calls a function of XLA's interface, %name, with %ask: its size, no extension, and
    words of 64 bits ("ptr %x", "i64 0"). %name.error is the answer, %name.ok that there is none.
    """
    text = ""
    for k, word in enumerate((f"i64 {16 + 8 * len(words)}", "i64 0", *words)):
        text += f"  %{name}.word{k} = getelementptr i64, ptr %ask, i64 {k}\n"
        text += f"  store {word}, ptr %{name}.word{k}\n"
    return (
        f"{text}{field(name, 'api', function)}  %{name}.error = call ptr %{name}(ptr %ask)\n"
        f"  %{name}.ok = icmp eq ptr %{name}.error, null\n"
    )


def describe(then: str) -> str:
    """IR at the start of a handler: where XLA asks for its metadata, answer; else go on.

    The answer is the version of the interface that XLA itself speaks: only fields are used that
    all versions have.
    """
    return f"""{field("api", "frame", API)}{field("extension", "frame", EXTENSION)}
  %extended = icmp ne ptr %extension, null
  br i1 %extended, label %question, label %{then}
question:
{field("kind", "extension", KIND, "i32")}  %asked = icmp eq i32 %kind, {ASKS_METADATA}
  br i1 %asked, label %describe, label %{then}
describe:
{field("metadata", "extension", METADATA)}{field("version", "api", VERSION, "i64")}
  %version.to = getelementptr i8, ptr %metadata, i64 {METADATA_VERSION}
  store i64 %version, ptr %version.to
  %traits.to = getelementptr i8, ptr %metadata, i64 {METADATA_TRAITS}
  store i32 0, ptr %traits.to
  ret ptr null
"""


def failure(text: str) -> tuple[str, str]:
    """(IR of a constant, IR that returns an error of this text); %error is an array of 4 words."""
    data = text.encode() + b"\0"
    message = "".join(f"\\{x:02x}" for x in data)
    return (
        f'@message = private constant [{len(data)} x i8] c"{message}"\n',
        f"""  store i64 28, ptr %error
  %error.1 = getelementptr i64, ptr %error, i64 1
  store i64 0, ptr %error.1
  %error.2 = getelementptr i64, ptr %error, i64 2
  store ptr @message, ptr %error.2
  %error.3 = getelementptr i64, ptr %error, i64 3
  store i64 {INTERNAL}, ptr %error.3
{field("create", "api", ERROR)}  %problem = call ptr %create(ptr %error)
  ret ptr %problem
""",
    )


#: How many samples a buffer holds: the product of all its axes but the last.
SAMPLES = f"""define private i64 @samples(ptr %buffer) {{
start:
{field("rank", "buffer", RANK, "i64")}{field("dims", "buffer", DIMS)}  %axes = sub i64 %rank, 1
  br label %axis
axis:
  %k = phi i64 [0, %start], [%k1, %multiply]
  %n = phi i64 [1, %start], [%n1, %multiply]
  %more = icmp slt i64 %k, %axes
  br i1 %more, label %multiply, label %counted
multiply:
  %dim.at = getelementptr i64, ptr %dims, i64 %k
  %dim = load i64, ptr %dim.at
  %n1 = mul i64 %n, %dim
  %k1 = add i64 %k, 1
  br label %axis
counted:
  ret i64 %n
}}
"""


def loaded(text: str) -> tuple[object, Code]:
    """The handler as XLA takes it, a capsule with its address, and the code, to be kept alive."""
    from mozzi.targets.cpu import jit

    code = jit.Code(jit.assemble(text))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(code.address("handler"), None, None), code
