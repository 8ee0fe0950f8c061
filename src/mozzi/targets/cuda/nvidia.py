# pyright: basic
# (NVIDIA's C interface is not typed)
"""What the CUDA target takes from NVIDIA: NVRTC for machine code, the driver to load and launch it.

Code is loaded as a library of the driver, which is there on all devices of its kind; a launch runs
where its stream is. Arguments of a launch are 64 bits each, of which a float32 takes the first 32.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from types import ModuleType

from mozzi.targets import disk_cache as disk
from mozzi.targets.cuda.launch import BLOCK_THREADS, FEW_SAMPLES, WARP, Report, launch_shape

__all__ = ["Function", "machine_code", "most_shared", "pool"]

_REGISTERS, _LOCAL_BYTES = 4, 3  # CUfunction_attribute
_MOST_THREADS = 39  # CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR
_PROCESSORS = 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
_MOST_SHARED, _CARVE_OUT = 8, 9  # CUfunction_attribute
_SHARED_BYTES = 48 * 1024  # of a block, unless it is asked for more
_MOST_SHARED_OF_A_BLOCK = 97  # CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
_NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT
_RELEASE_THRESHOLD = 4  # CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
_HELD_BYTES = 1 << 29  # of memory between launches that is not given back at once


@cache
def driver() -> ctypes.CDLL:
    """libcuda."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def _check(code: int) -> None:
    if code:
        text = ctypes.c_char_p()
        driver().cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"CUDA: {(text.value or b'unknown error').decode()} ({code})")


def _attribute(which: int, device: int) -> int:
    value = ctypes.c_int()
    _check(driver().cuDeviceGetAttribute(ctypes.byref(value), which, device))
    return value.value


def most_shared(device: int) -> int:
    """Bytes of shared memory that a block may ask for."""
    return _attribute(_MOST_SHARED_OF_A_BLOCK, device)


class _PoolProperties(ctypes.Structure):
    """CUmemPoolProps: pinned memory of a device."""

    _fields_ = [
        ("kind", ctypes.c_int), ("handles", ctypes.c_int), ("place", ctypes.c_int),
        ("device", ctypes.c_int), ("security", ctypes.c_void_p), ("most", ctypes.c_size_t),
        ("reserved", ctypes.c_ubyte * 56),
    ]  # fmt: skip


@cache
def pool(device: int) -> int:
    """Memory that launches on a device share in the order of their streams; in graphs it is part of
    the graph.
    """
    cuda, made, held = driver(), ctypes.c_void_p(), ctypes.c_uint64(_HELD_BYTES)
    properties = _PoolProperties(kind=1, place=1, device=device)
    _check(cuda.cuMemPoolCreate(ctypes.byref(made), ctypes.byref(properties)))
    _check(cuda.cuMemPoolSetAttribute(made, _RELEASE_THRESHOLD, ctypes.byref(held)))
    return made.value or 0


def machine_code(cupy: ModuleType, source: str) -> bytes:
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
    """The function `kernel` of machine code, which is made and loaded when it is first asked for.

    block: threads of a block; shared: bytes of shared memory for each of them; slices: how many
    threads share a sample; samples: of a block, where these are not as many as threads; fill:
    whether as many warps as shared memory can hold are wanted, whatever that leaves to the cache;
    they are spread over all multiprocessors, as blocks of their own, where there are few;
    few: makes another function for few samples, where that is better;
    words: the types of the arguments, as `struct` writes them, where some are not addresses.
    """

    words = ""
    few: Callable[[], Function | None] | None = None

    def __init__(
        self, cupy: ModuleType, code: Callable[[], bytes], shared: int, block: int = BLOCK_THREADS,
        slices: int = 1, samples: int = 0, fill: bool = False,
    ):  # fmt: skip
        self.block, self.shared, self.slices = block, shared, slices
        self.samples, self.least, self.fill = samples, 0, fill
        self._code, self._shape = code, (-1, 0, ())
        self._wake = lambda: cupy.cuda.runtime.free(0)  # gives a thread the device's context
        self._launch = cupy.cuda.driver.launchKernel  # half of what a call through ctypes takes
        self._error = cupy.cuda.driver.CUDADriverError
        self._own = threading.local()  # memory for the arguments, of each thread
        self.device = cupy.cuda.Device().id
        if fill and not samples:  # of which there are enough for all multiprocessors
            self.least = block * _attribute(_PROCESSORS, self.device)

    @cached_property
    def handle(self) -> int:
        """The driver's name of it."""
        code = self._code()
        self._wake()
        cuda = driver()
        library, handle = ctypes.c_void_p(), ctypes.c_void_p()
        none = (None, None, 0)
        _check(cuda.cuLibraryLoadData(ctypes.byref(library), code, *none, *none))
        _check(cuda.cuLibraryGetKernel(ctypes.byref(handle), library, b"kernel"))
        bytes_ = self.block * self.shared
        wanted = {_MOST_SHARED: bytes_} if bytes_ > _SHARED_BYTES else {}
        if wanted or self.fill:
            for attribute, value in (wanted | {_CARVE_OUT: 100}).items():
                _check(cuda.cuKernelSetAttribute(attribute, value, handle, self.device))
        return handle.value or 0

    def _shape_of(self, n: int) -> tuple[int, ...]:
        """Of the launch for n samples, which most calls have again and again."""
        block = self.block if n >= self.least else WARP
        shape = launch_shape(n, block, self.shared, self.slices, self.samples)
        self._shape = n, self.block, shape
        return shape

    def suited(self, n: int) -> Function:
        """This function, or the one for few samples where n are few."""
        few = self.few() if self.few is not None and n <= FEW_SAMPLES else None
        return few or self

    def launch(self, n: int, stream: int, values: Sequence[float]) -> None:
        """Run n samples on a stream."""
        if self.few is not None and n <= FEW_SAMPLES:
            few = self.few()
            if few is not None:
                few.launch(n, stream, values)
                return
        own = self._own
        if not hasattr(own, "pack"):
            own.words = (ctypes.c_int64 * len(values))()
            first = ctypes.addressof(own.words)
            own.list = (ctypes.c_void_p * len(values))(*range(first, first + 8 * len(values), 8))
            own.places = ctypes.addressof(own.list)
            own.pack = struct.Struct("<" + (self.words or "q" * len(values))).pack_into
        own.pack(own.words, 0, *values)
        last, block, shape = self._shape
        if last != n or block != self.block:
            shape = self._shape_of(n)
        try:
            self._launch(self.handle, *shape, stream, own.places, 0)
        except self._error as error:
            if error.status != _NO_CONTEXT:
                raise RuntimeError(f"CUDA: {error}") from error
            self._wake()
            self._launch(self.handle, *shape, stream, own.places, 0)

    def report(self, block: int | None = None) -> Report:
        """What the compiler made of it, and how many blocks a multiprocessor holds."""
        block, device = block or self.block, self.device
        shared = block * self.shared
        cuda, kernel, value = driver(), ctypes.c_void_p(self.handle), ctypes.c_int()
        place = ctypes.byref(value)

        def attribute(which: int) -> int:
            _check(cuda.cuKernelGetAttribute(place, which, kernel, device))
            return value.value

        registers, local = map(attribute, (_REGISTERS, _LOCAL_BYTES))
        most = _attribute(_MOST_THREADS, device)
        memory = ctypes.c_size_t(shared)
        _check(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(place, kernel, block, memory))
        blocks = value.value
        return Report(block, blocks, block * blocks / most, registers, local, shared)
