"""From LLVM IR text to a function pointer, through object code."""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any

from mozzi.errors import ExtraMissingError

__all__ = ["Code", "assemble", "host", "lanes"]

_lock = threading.Lock()


@cache
def binding() -> Any:
    """llvmlite.binding, initialised; imported when the first kernel is made."""
    try:
        import llvmlite.binding as llvm
    except ImportError as error:
        raise ExtraMissingError(
            "the CPU target needs llvmlite, which is not installed; pip install llvmlite, or use target='interpret'"
        ) from error
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in ("PyMem_RawMalloc", "PyMem_RawFree"):
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        llvm.add_symbol({"PyMem_RawMalloc": "mozzi_alloc", "PyMem_RawFree": "mozzi_free"}[name], address)
    return llvm


@cache
def host() -> tuple[str, str, str]:
    """(triple, CPU name, CPU features) of this machine."""
    llvm = binding()
    return (
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    )


@cache
def lanes(dtype: str) -> int:
    """How many samples one vector holds on this machine."""
    triple, _, features = host()
    has = set(features.split(","))
    if "+avx512f" in has:
        size = 64
    elif "+avx" in has:
        size = 32
    else:
        size = 16
    return size // (8 if dtype == "float64" else 4)


@cache
def _machine(level: int = 2) -> Any:
    llvm = binding()
    triple, cpu, features = host()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(
        cpu=cpu, features=features + ",-prefer-256-bit", opt=level, reloc="pic", codemodel="small", jit=True
    )


def assemble(text: str, level: int = 2) -> bytes:
    """Object code of an IR module."""
    llvm = binding()
    with _lock:
        module = llvm.parse_assembly(text)
        machine = _machine(level)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        return machine.emit_object(module)


def assembly(text: str, level: int = 2) -> str:
    """Machine code of an IR module, as assembly to read."""
    llvm = binding()
    with _lock:
        module = llvm.parse_assembly(text)
        machine = _machine(level)
        module.triple = machine.triple
        return machine.emit_assembly(module)


class Code:
    """Object code in memory: addresses of its functions while it lives."""

    def __init__(self, obj: bytes):
        llvm = binding()
        with _lock:
            empty = llvm.parse_assembly("")
            triple, cpu, features = host()
            machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, jit=True)
            self.engine = llvm.create_mcjit_compiler(empty, machine)
            self.engine.add_object_file(llvm.ObjectFileRef.from_data(obj))
            self.engine.finalize_object()

    def address(self, name: str) -> int:
        return self.engine.get_function_address(name)
