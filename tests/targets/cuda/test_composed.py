"""Derivatives of forward dynamics of large robots on a GPU: programs and their products."""

import ctypes

import numpy as np
import pytest
from targets.cuda.shim import COMPILER, build
from targets.cuda.test_source import inputs_of

import mozzi as mz
from mozzi.algorithms.derivatives.parts import forward_parts
from mozzi.compiler import program_of
from mozzi.model.generate import four_bar, tree
from mozzi.program.program import Input
from mozzi.targets.cpu.build import build as cpu
from mozzi.targets.cuda import composed
from mozzi.targets.cuda.composed import ComposedKernel, products_source
from mozzi.targets.cuda.kernel import CudaKernel

SHIM = """
#include <pthread.h>
#include <thread>
#include <vector>
#define __global__
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(n)
static thread_local struct { long long x; } blockIdx, threadIdx;
static pthread_barrier_t barrier;
static void __syncthreads() { pthread_barrier_wait(&barrier); }
"""
LOOP = """
extern "C" void all(long long n, T* a, long long ar, long long as, T* b, long long br,
                    long long bs, const T* m, long long mr, long long ms) {{
  for (long long block = 0; block * {samples} < n; ++block) {{
    pthread_barrier_init(&barrier, 0, {block});
    std::vector<std::thread> threads;
    for (int k = 0; k < {block}; ++k)
      threads.emplace_back([=] {{
        blockIdx.x = block; threadIdx.x = k; kernel(n, a, ar, as, b, br, bs, m, mr, ms);
      }});
    for (auto& t : threads) t.join();
    pthread_barrier_destroy(&barrier);
  }}
}}
"""


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")
@pytest.mark.parametrize("columns", [False, True])
def test_products_in_place(tmp_path, columns):
    """−M⁻¹ times both matrices, of rows one after the other, or of columns."""
    nv, n = 11, 27
    text, block, samples = products_source(nv, "float64")
    assert n % samples and block % 32 == 0
    library = build(tmp_path, SHIM + text + LOOP.format(block=block, samples=samples))
    rng = np.random.default_rng(0)
    inverse, dq, dv = rng.normal(size=(3, n, nv, nv))
    inverse += inverse.transpose(0, 2, 1)
    exact = -inverse @ dq, -inverse @ dv
    if columns:
        dq, dv, inverse = (np.ascontiguousarray(x.reshape(n, -1).T) for x in (dq, dv, inverse))
    words, steps = [], ((1, n) if columns else (nv * nv, 1))
    for x in (dq, dv, inverse):
        words += [ctypes.c_void_p(x.ctypes.data), *map(ctypes.c_longlong, steps)]
    library.all(ctypes.c_longlong(n), *words)
    for y, x in zip((dq, dv), exact, strict=True):
        y = y.T.reshape(n, nv, nv) if columns else y
        np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"wrenches": True}, {"resistance": True}], ids=str)
def test_the_parts_make_the_derivatives(options):
    """With external wrenches, damping and springs, too."""
    model = tree(7, seed=5)
    function = mz.forward_dynamics_derivatives
    names = (*function.required, *(["wrenches"] if "wrenches" in options else []))
    args = inputs_of(model, names, 5)
    program = program_of(function, model, options=options)
    assert [x.name for x in program.inputs] == list(names)
    parts = forward_parts(model, program.inputs, options)
    forward, inverse, changes = (cpu(lambda part=part: part, "float64") for part in parts)
    a, m = forward(*args), inverse(*args)
    others = dict(zip(names, args)) | {n: x for n, x in options.items() if n != "wrenches"}
    dq, dv, dtau = function(model, **others)
    for y, x in zip((*(-m @ y for y in changes(*args, a)), m), (dq, dv, dtau), strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-9, atol=1e-9 * np.max(np.abs(x)))


def test_only_large_robots_take_parts(monkeypatch):
    """Small ones are one program, mechanisms with loops have no parts, and loops that are asked for
    stay.
    """
    compiled = lambda model, **o: mz.compile(
        mz.forward_dynamics_derivatives, model, target="cuda", dtype="float32", **o
    )
    assert type(compiled(tree(5, seed=1))) is CudaKernel
    assert forward_parts(four_bar(), (Input("q", (3,)),), {}) == ()
    large = tree(21, seed=1)
    kernel = compiled(large)
    assert type(kernel) is ComposedKernel
    assert kernel.source.count('extern "C" __global__') == 4
    assert kernel.flops > 4 * large.nv**3
    assert type(compiled(large, rolled=True)) is CudaKernel
    monkeypatch.setattr(composed, "COMPOSED_BYTES", 0)
    assert type(compiled(tree(6, seed=2), rolled=False)) is ComposedKernel
