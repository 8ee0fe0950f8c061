"""Generated CUDA C without a GPU: compiled as C++ and run warp after warp."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from mozzi.program.program import Program
from mozzi.targets.cuda.source import CudaSource

COMPILER = shutil.which("g++") or shutil.which("clang++")
SHIM = """
#include <pthread.h>
#include <cmath>
#include <thread>
#include <vector>
#define __global__
#define __device__ static
#define __constant__ static const
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
struct float2 { float x, y; };
struct double2 { double x, y; };
#define __shared__
static thread_local struct { long long x; } blockIdx, threadIdx, blockDim, gridDim;
static pthread_barrier_t barrier;
static void __syncwarp() { pthread_barrier_wait(&barrier); }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
"""
LOOP = """
T shared[{shared}];
extern "C" void rows(long long n, long long const* words) {{
  pthread_barrier_init(&barrier, 0, 32);
  for (long long turn = 0; turn < (n + 31) / 32 * {slices}; ++turn) {{
    const long long first = turn / {slices} * 32, slice = turn % {slices};  // warp after warp
    std::vector<std::thread> lanes;
    for (int lane = 0; lane < 32; ++lane)
      lanes.emplace_back([=] {{
        const long long row = first + lane;
        blockIdx.x = row / {block} * {slices} + slice;
        threadIdx.x = row % {block}; blockDim.x = {block};
        kernel({arguments});
      }});
    for (auto& lane : lanes) lane.join();
  }}
  pthread_barrier_destroy(&barrier);
}}
"""


class Shim:
    """A program's CUDA kernel as a function of arrays (N, …)."""

    def __init__(
        self,
        folder: Path,
        program: Program,
        dtype: str,
        packed: bool = False,
        block: int = 128,
    ):
        self.program, self.dtype, self.packed = program, np.dtype(dtype), packed
        source = CudaSource(program, dtype, packed, 2)
        self.plans = source.plans
        words = ["n"]
        for k in range(len(program.inputs) + len(program.outputs)):
            first = k if packed else 3 * k
            words.append(f"(T*)words[{first}]")
            words += [] if packed else [f"words[{first + 1}]", f"words[{first + 2}]"]
        slices, shared = max(1, len(source.plans)), block * source.shared // self.dtype.itemsize
        loop = LOOP.format(
            block=block, arguments=", ".join(words), slices=slices, shared=max(1, shared)
        )
        self.library = build(folder, SHIM + source.text + loop)

    def __call__(self, *args: Any) -> list[np.ndarray]:
        n = len(args[0])
        arrays = [np.asarray(x, self.dtype) for x in args]
        results = [np.full((n, *y.shape), np.nan, self.dtype) for y in self.program.outputs]
        words: list[int] = []
        specs = (*self.program.inputs, *self.program.outputs)
        for x, spec in zip((*arrays, *results), specs, strict=True):
            if self.packed:
                assert x.flags.c_contiguous
            flat = x if x.ndim == 2 else x.reshape(n, spec.size)
            words.append(flat.ctypes.data)
            words += [] if self.packed else [s // self.dtype.itemsize for s in flat.strides]
        self.library.rows(ctypes.c_longlong(n), (ctypes.c_longlong * len(words))(*words))
        return results


def build(folder: Path, text: str) -> Any:
    """The library of a C++ source."""
    number = len(list(folder.iterdir()))
    source, library = folder / f"s{number}.cpp", folder / f"s{number}.so"
    source.write_text(text)
    words = [str(COMPILER), "-std=c++17", "-O1", "-ffp-contract=off", "-mfma", "-w", "-shared",
             "-fPIC", "-pthread", str(source), "-o", str(library)]  # fmt: skip
    run = subprocess.run(words, capture_output=True, text=True)
    if run.returncode and "-mfma" in run.stderr:
        run = subprocess.run([x for x in words if x != "-mfma"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[:2000]
    return ctypes.CDLL(str(library))
