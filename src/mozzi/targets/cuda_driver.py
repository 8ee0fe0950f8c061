"""What the CUDA target takes from NVIDIA: NVRTC for machine code, the driver to load and launch it.

Code is loaded as a library of the driver, which is there on all devices of its kind; a launch runs
where its stream is. Arguments of a launch are 64 bits each.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from mozzi.targets import cache as disk

__all__ = ["Function", "machine_code"]

_REGISTERS, _LOCAL_BYTES = 4, 3  # CUfunction_attribute
_NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT


@cache
def driver() -> Any:
    """libcuda, with the types of what is called often."""
    library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    word, number = ctypes.c_void_p, ctypes.c_uint
    library.cuLaunchKernel.argtypes = [word, *(number,) * 7, word, word, word]
    return library


def _check(code: int) -> None:
    if code:
        text = ctypes.c_char_p()
        driver().cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"CUDA: {(text.value or b'unknown error').decode()} ({code})")


def machine_code(cupy: Any, source: str) -> bytes:
    """The code of a source for the current device, from the cache on disk or through NVRTC."""
    nvrtc = cupy.cuda.nvrtc
    arch = f"--gpu-architecture=sm_{cupy.cuda.Device().compute_capability}"
    options = ("--std=c++17", arch)
    key = repr(("cuda", nvrtc.getVersion(), options, source))
    code = disk.read(key)
    if code is None:
        program = nvrtc.createProgram(source, "kernel.cu", (), ())
        try:
            nvrtc.compileProgram(program, options)
            code = nvrtc.getCUBIN(program)
        except nvrtc.NVRTCError as error:
            log = nvrtc.getProgramLog(program)
            raise RuntimeError(f"NVRTC refused the generated CUDA C: {log}") from error
        finally:
            nvrtc.destroyProgram(program)
        disk.write(key, code)
    return code


class Function:
    """The function `kernel` of machine code."""

    def __init__(self, cupy: Any, code: bytes):
        self._awake = lambda: cupy.cuda.runtime.free(0)  # gives a thread the device's context
        self._awake()
        cuda = driver()
        library, handle = ctypes.c_void_p(), ctypes.c_void_p()
        none = (None, None, 0)
        _check(cuda.cuLibraryLoadData(ctypes.byref(library), code, *none, *none))
        _check(cuda.cuLibraryGetKernel(ctypes.byref(handle), library, b"kernel"))
        self.handle = handle.value
        self._launch = cuda.cuLaunchKernel
        self._own = threading.local()  # memory for the arguments, of each thread

    def launch(self, blocks: int, threads: int, stream: int, values: Sequence[int]) -> None:
        """Run on a stream."""
        own = self._own
        if not hasattr(own, "words"):
            own.words = (ctypes.c_int64 * len(values))()
            first = ctypes.addressof(own.words)
            own.places = (ctypes.c_void_p * len(values))(*range(first, first + 8 * len(values), 8))
        own.words[:] = values
        shape = (blocks, 1, 1, threads, 1, 1, 0)
        code = self._launch(self.handle, *shape, stream, own.places, None)
        if code == _NO_CONTEXT:
            self._awake()
            code = self._launch(self.handle, *shape, stream, own.places, None)
        if code:
            _check(code)

    def report(self, device: int) -> dict[str, int]:
        """Registers and bytes of local memory per thread."""
        value, found = ctypes.c_int(), {}
        for name, which in (("registers", _REGISTERS), ("local_bytes", _LOCAL_BYTES)):
            place = ctypes.byref(value)
            _check(
                driver().cuKernelGetAttribute(place, which, ctypes.c_void_p(self.handle), device)
            )
            found[name] = value.value
        return found
