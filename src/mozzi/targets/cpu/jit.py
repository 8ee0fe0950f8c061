# pyright: basic
# (llvmlite is not typed)
"""From LLVM IR text to object code to function pointers."""

from __future__ import annotations

import atexit
import ctypes
import gc
import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from mozzi.errors import ExtraMissingError
from mozzi.locks import ForkLock, aside, forks_wait_for
from mozzi.program.alarms import ALARMS
from mozzi.targets import disk_cache as disk
from mozzi.targets.cpu import exponential, vector_math
from mozzi.targets.cpu.batch_loop import TABLE
from mozzi.targets.cpu.calls.single_call_text import CALL
from mozzi.targets.cpu.pack import packing
from mozzi.targets.cpu.unpack import unpacking

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef
    from llvmlite.binding.targets import TargetMachine

__all__ = [
    "Code", "Table", "alarms", "alarms_address", "assemble", "assembly", "give_back", "host",
    "lanes", "runtime", "watch", "watched_runtime",
]  # fmt: skip

Form = TypeVar("Form", bytes, str)

_lock = ForkLock()


class Table(ctypes.Array[ctypes.c_void_p]):
    """Addresses of functions, and the code that they are in."""

    _type_ = ctypes.c_void_p  # pyright: ignore[reportAssignmentType]
    _length_ = len(TABLE)  # pyright: ignore[reportAssignmentType]
    code: Code


FROM_PYTHON = (
    "PyMem_RawMalloc", "PyMem_RawFree", "PyGILState_Ensure", "PyErr_NoMemory", "PyGILState_Release",
)  # fmt: skip
# llvmlite's memory manager keeps code and its constants within 32-bit distances, for code that
# needs no symbols of others. On Windows large stack frames need one (__chkstk).
NEAR = sys.platform != "win32"
MODEL = "small" if NEAR else "jitdefault"
LEVEL = 2  # of code generation; docs/theory/cpu_target.md has the measurements


@cache
def binding() -> ModuleType:
    """llvmlite.binding, initialised; imported when the first kernel is made."""
    try:
        import llvmlite.binding as llvm
    except ImportError as error:
        raise ExtraMissingError(
            "the CPU target needs llvmlite, which is not installed;"
            " run pip install llvmlite, or choose target='interpret'"
        ) from error
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    atexit.register(_at_exit)
    forks_wait_for(llvm.ffi.lib._lock._lock)  # held by whoever drops a kernel, too
    return llvm


@cache
def host() -> tuple[str, str, str, str]:
    """(triple, CPU name, CPU features, version of llvmlite) of this machine."""
    llvm = binding()
    import llvmlite

    return (
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        llvmlite.__version__,
    )


def is_x86() -> bool:
    return host()[0].startswith(("x86_64", "i386", "i686"))


@cache
def lanes(dtype: str) -> int:
    """How many samples one vector of this machine holds."""
    has = set(host()[2].split(","))
    size = 64 if "+avx512f" in has else 32 if "+avx" in has else 16
    return size // (8 if dtype == "float64" else 4)


def _machine() -> TargetMachine:
    triple, cpu, features, _ = host()
    return (
        binding()
        .Target.from_triple(triple)
        .create_target_machine(
            cpu=cpu, features=features, opt=LEVEL, reloc="pic", codemodel=MODEL, jit=True
        )
    )


def _module(text: str, machine: TargetMachine) -> ModuleRef:
    module = binding().parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def assemble(text: str) -> bytes:
    """Object code of an IR module."""
    return aside(lambda: _emit(text, lambda machine, module: machine.emit_object(module)))


def assembly(text: str) -> str:
    """Machine code of an IR module, as assembly to read."""
    return aside(lambda: _emit(text, lambda machine, module: machine.emit_assembly(module)))


def _emit(text: str, form: Callable[[TargetMachine, ModuleRef], Form]) -> Form:
    with _lock:
        machine = _machine()
        return form(machine, _module(text, machine))


def give_back() -> None:
    """Memory that tracing and compiling have left goes back to the system, where it can."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _at_exit() -> None:
    """LLVM must not be at work when C++ takes down what it works with: no thread begins, and where
    one is in the middle (Ctrl-C left it there) the process ends without that.
    """
    if _lock.lock.acquire(blocking=False):
        return  # and keep it
    try:
        ctypes.CDLL(None).on_exit(ctypes.CDLL(None)._exit, None)  # _exit(status)
    except (AttributeError, OSError, TypeError):  # not on macOS and Windows
        if getattr(sys, "last_type", None) is KeyboardInterrupt:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(130)
        _lock.lock.acquire()  # the status is not known here: wait for the compiler


class Code:
    """Object code in memory; the addresses of its functions hold while it lives."""

    def __init__(self, obj: bytes):
        llvm = binding()
        with _lock:
            self.engine = llvm.create_mcjit_compiler(
                llvm.parse_assembly(""), _machine(), use_lmm=NEAR
            )
            self.engine.add_object_file(llvm.ObjectFileRef.from_data(obj))
            self.engine.finalize_object()

    def address(self, name: str) -> int:
        with _lock:
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
