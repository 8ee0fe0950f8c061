# pyright: basic
# (llvmlite is not typed)
"""From LLVM IR text to object code, on several threads.

A text may have several modules (`SEPARATOR` between them), and its object code has as many
objects. Each module is read and compiled in an LLVM context of its own, so several of them can be
at once. llvmlite takes one lock around every call; reading and compiling, which take long, are
called past it.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from queue import SimpleQueue
from types import ModuleType
from typing import TYPE_CHECKING

from mozzi.errors import ExtraMissingError
from mozzi.locks import Aside, ForkLock, aside, forks_wait_for
from mozzi.targets.cpu.calls.threads import get_num_threads

if TYPE_CHECKING:
    from llvmlite.binding.targets import TargetMachine

__all__ = [
    "LOCKS", "NEAR", "SEPARATOR", "Assembler", "assemble", "assembly", "binding", "host", "is_x86",
    "lanes", "machine", "objects_of", "packed",
]  # fmt: skip

SEPARATOR = "\n; ---- the next module\n"
# llvmlite's memory manager keeps code and its constants within 32-bit distances, for code that
# needs no symbols of others. On Windows large stack frames need one (__chkstk).
NEAR = sys.platform != "win32"
MODEL = "small" if NEAR else "jitdefault"
LEVEL = 2  # of code generation; docs/theory/cpu_target.md has the measurements

#: Held while LLVM is at work: one for what is done by itself, and one for each thread of an
#: assembler.
LOCKS = tuple(ForkLock() for _ in range(17))


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


def machine() -> TargetMachine:
    triple, cpu, features, _ = host()
    return (
        binding()
        .Target.from_triple(triple)
        .create_target_machine(
            cpu=cpu, features=features, opt=LEVEL, reloc="pic", codemodel=MODEL, jit=True
        )
    )


@cache
def _past_the_lock(name: str) -> Callable[..., object]:
    """A function of llvmlite's library, as llvmlite declares it, without llvmlite's lock."""
    lib = binding().ffi.lib
    function, declared = getattr(ctypes.CDLL(lib._name), name), getattr(lib, name)
    function.argtypes, function.restype = declared.argtypes, declared.restype
    return function


def _emit(text: str, kind: int, lock: ForkLock) -> bytes:
    """One module as an object (kind 1) or as assembly (kind 0)."""
    llvm = binding()
    ffi = llvm.ffi
    with lock:
        context, target = llvm.create_context(), machine()
        with ffi.OutputString() as wrong:
            read = _past_the_lock("LLVMPY_ParseAssembly")(context, text.encode(), wrong)
            module = llvm.ModuleRef(read, context)
            if wrong:
                module.close()
                raise RuntimeError(f"LLVM IR parsing error\n{wrong}")
        module.triple, module.data_layout = target.triple, str(target.target_data)
        with ffi.OutputString() as wrong:
            made = _past_the_lock("LLVMPY_TargetMachineEmitToMemory")(target, module, kind, wrong)
            if not made:
                raise RuntimeError(str(wrong))
        try:
            start, size = ffi.lib.LLVMPY_GetBufferStart(made), ffi.lib.LLVMPY_GetBufferSize(made)
            return ctypes.string_at(start, size)
        finally:
            ffi.lib.LLVMPY_DisposeMemoryBuffer(made)
            for one in (module, target, context):
                one.close()


class Assembler:
    """Objects of modules, on as many threads as batches run on, while more of them are written."""

    def __init__(self) -> None:
        self._texts: SimpleQueue[tuple[int, str] | None] = SimpleQueue()
        self._threads: list[Aside[None]] = []
        self._objects: dict[int, bytes] = {}
        self._count = 0

    def add(self, text: str) -> None:
        """Compile this module, too."""
        self._texts.put((self._count, text))
        self._count += 1
        if len(self._threads) < min(get_num_threads(), len(LOCKS) - 1):
            lock = LOCKS[1 + len(self._threads)]
            self._threads.append(Aside(partial(self._work, lock)))

    def _work(self, lock: ForkLock) -> None:
        while (job := self._texts.get()) is not None:
            number, text = job
            self._objects[number] = _emit(text, 1, lock)

    def code(self) -> bytes:
        """The objects of all modules, in the order in which they were added."""
        self._end()
        for thread in self._threads:
            thread.result()
        return packed([self._objects[k] for k in range(self._count)])

    def abandon(self) -> None:
        """Compile nothing more."""
        while not self._texts.empty():
            self._texts.get()
        self._end()

    def _end(self) -> None:
        for _ in self._threads:
            self._texts.put(None)


def assemble(text: str) -> bytes:
    """Object code of a text."""
    modules = text.split(SEPARATOR)
    if len(modules) == 1:
        return aside(lambda: packed([_emit(text, 1, LOCKS[0])]))
    assembler = Assembler()
    for module in modules:
        assembler.add(module)
    return aside(assembler.code)


def assembly(text: str) -> str:
    """Machine code of a text, as assembly to read."""
    modules = text.split(SEPARATOR)
    return aside(lambda: "\n".join(_emit(x, 0, LOCKS[0]).decode() for x in modules))


def packed(objects: Sequence[bytes]) -> bytes:
    """Objects one after the other, each behind its length."""
    return b"".join(part for x in objects for part in (len(x).to_bytes(8, "little"), x))


def objects_of(code: bytes) -> Iterator[bytes]:
    """The objects that are packed."""
    place = 0
    while place < len(code):
        start = place + 8
        place = start + int.from_bytes(code[place:start], "little")
        yield code[start:place]


def _at_exit() -> None:
    """LLVM must not be at work when C++ takes down what it works with: no thread begins, and where
    one is in the middle (Ctrl-C left it there) the process ends without that.
    """
    if all(one.lock.acquire(blocking=False) for one in LOCKS):
        return  # and keep them
    try:
        ctypes.CDLL(None).on_exit(ctypes.CDLL(None)._exit, None)  # _exit(status)
    except (AttributeError, OSError, TypeError):  # not on macOS and Windows
        if getattr(sys, "last_type", None) is KeyboardInterrupt:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(130)
        for one in LOCKS:
            one.lock.acquire()  # the status is not known here: wait for the compiler
