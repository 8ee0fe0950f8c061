"""From object code to function pointers, and the functions that all kernels share."""

from __future__ import annotations

import ctypes
import hashlib
import sys
from functools import cache

from mozzi.program.alarms import ALARMS
from mozzi.targets import disk_cache as disk
from mozzi.targets.cpu import exponential, vector_math
from mozzi.targets.cpu.assembler import (
    LOCKS,
    NEAR,
    assemble,
    assembly,
    binding,
    host,
    is_x86,
    lanes,
    machine,
    objects_of,
)
from mozzi.targets.cpu.batch_loop import TABLE
from mozzi.targets.cpu.calls.single_call_text import CALL
from mozzi.targets.cpu.pack import packing
from mozzi.targets.cpu.unpack import unpacking

__all__ = [
    "Code", "Table", "alarms", "alarms_address", "assemble", "assembly", "binding", "give_back",
    "host", "is_x86", "lanes", "runtime", "watch", "watched_runtime",
]  # fmt: skip


class Table(ctypes.Array[ctypes.c_void_p]):
    """Addresses of functions, and the code that they are in."""

    _type_ = ctypes.c_void_p  # pyright: ignore
    _length_ = len(TABLE)  # pyright: ignore
    code: Code


FROM_PYTHON = (
    "PyMem_RawMalloc", "PyMem_RawFree", "PyGILState_Ensure", "PyErr_NoMemory", "PyGILState_Release",
)  # fmt: skip


def give_back() -> None:
    """Memory that tracing and compiling have left goes back to the system, where it can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


class Code:
    """Object code in memory; the addresses of its functions hold while it lives."""

    def __init__(self, code: bytes):
        llvm = binding()
        with LOCKS[0]:
            self.engine = llvm.create_mcjit_compiler(
                llvm.parse_assembly(""), machine(), use_lmm=NEAR
            )
            for one in objects_of(code):
                self.engine.add_object_file(llvm.ObjectFileRef.from_data(one))
            self.engine.finalize_object()

    def address(self, name: str) -> int:
        with LOCKS[0]:
            return self.engine.get_function_address(name)


@cache
def runtime(dtype: str, W: int) -> Table:
    """The table of functions that all kernels of a type share, as an array of pointers."""
    T = "double" if dtype == "float64" else "float"
    fused = not is_x86() or "+fma" in host()[2].split(",")
    rounds, growths = vector_math, exponential
    makers = rounds.sincos, rounds.atan2, growths.exp, growths.log, growths.tanh
    math = [make(T, W, fused) for make in makers]
    by_lines = (dtype, W) == ("float64", 8) and "+avx512f" in host()[2].split(",")
    text = "\n".join([packing(T, W), unpacking(T, W, by_lines), *math, CALL])
    key = hashlib.sha256(repr((text, host())).encode()).hexdigest()
    obj = disk.read(key)
    if obj is None:
        obj = assemble(text)
        disk.write(key, obj)
    code = Code(obj)
    pointers = [*(_python(name) for name in FROM_PYTHON), _feclearexcept()]
    pointers += [code.address(name) for name in TABLE[len(pointers) : -1]] + [None]
    table = Table(*pointers)
    table.code = code
    return table


_watched: list[Table] = []
_on = True


@cache
def watched_runtime(dtype: str, W: int) -> Table:
    """The table of functions, and a counter that says when arguments are not as promised."""
    plain = runtime(dtype, W)
    table = Table(*plain)
    table.code = plain.code
    _watched.append(table)
    watch(_on)
    return table


def watch(on: bool) -> None:
    """Whether kernels that are watched look at their arguments."""
    global _on
    _on = on
    for table in _watched:
        table[TABLE.index("alarms")] = alarms_address() if on else None


def alarms_address() -> int:
    """Where the counter of alarms is."""
    return ctypes.addressof(ALARMS)


def alarms() -> int:
    """How often arguments were not as promised; it only grows."""
    return ALARMS.value


def _python(name: str) -> int | None:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value


def _feclearexcept() -> int | None:
    """C's function that clears floating-point flags; not used on x86."""
    if is_x86():
        return None
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    return ctypes.cast(library.feclearexcept, ctypes.c_void_p).value
