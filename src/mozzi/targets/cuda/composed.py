# pyright: basic
# (CuPy is not typed)
"""Derivatives of the forward dynamics of large robots, as several launches.

    ∂a/∂q = −M⁻¹ ∂τ/∂q    ∂a/∂v = −M⁻¹ ∂τ/∂v    ∂a/∂τ = M⁻¹

As one program these are, for a humanoid, 100,000 operations with thousands of live values. As
programs of their own, forward dynamics, M⁻¹ and the derivatives of inverse dynamics at that
acceleration suit the threads of a GPU, and the products are dense ones, done in place: a thread
takes a column, of which it keeps all entries in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from mozzi.program.program import Program
from mozzi.targets.c.words import TYPES
from mozzi.targets.cuda.arrays import DeviceArray, Out
from mozzi.targets.cuda.here import cupy_here, is_jax, stream_of
from mozzi.targets.cuda.kernel import CudaKernel
from mozzi.targets.cuda.nvidia import Function, machine_code
from mozzi.targets.cuda.slices import kept_by

if TYPE_CHECKING:
    import jax
    from torch import Tensor

__all__ = ["ComposedKernel", "composes"]

COMPOSED_BYTES = 6 * 1024  # that a thread would keep in memory, beyond which parts are taken
THREADS = 256  # of a block of the products, at most

_PRODUCTS = """// the columns of two matrices of every sample, times −M⁻¹, in place
typedef {T} T;
typedef long long Int;
extern "C" __global__ void __launch_bounds__({block}, 2)
kernel(Int n, T* y0, Int y0_row, Int y0_step, T* y1, Int y1_row, Int y1_step,
       const T* __restrict__ m, Int m_row, Int m_step) {{
  __shared__ __align__(16) T inverse[{samples}][{nv}][{width}];
  const Int first = (Int)blockIdx.x * {samples};
  #pragma unroll 8
  for (int i = threadIdx.x; i < {samples} * {nv} * {nv}; i += {block}) {{
    const int s = i / ({nv} * {nv}), j = i % ({nv} * {nv});
    if (first + s < n) inverse[s][j / {nv}][j % {nv}] = m[(first + s) * m_row + j * m_step];
  }}
  __syncthreads();
  const int s = threadIdx.x / (2 * {nv}), c = threadIdx.x % (2 * {nv});
  if (s >= {samples} || first + s >= n) return;
  const Int step = c < {nv} ? y0_step : y1_step;
  T* y = (c < {nv} ? y0 + (first + s) * y0_row : y1 + (first + s) * y1_row) + c % {nv} * step;
  T x[{nv}], sum[{nv}];
  #pragma unroll
  for (int k = 0; k < {nv}; ++k) {{ x[k] = y[k * {nv} * step]; sum[k] = 0; }}
  #pragma unroll
  for (int k = 0; k < {nv}; ++k) {{
    #pragma unroll
    for (int i = 0; i < {nv}; ++i) sum[i] -= inverse[s][k][i] * x[k];  // it is symmetric
  }}
  #pragma unroll
  for (int i = 0; i < {nv}; ++i) y[i * {nv} * step] = sum[i];
}}
"""


def products_source(nv: int, dtype: str) -> tuple[str, int, int]:
    """The kernel of the products, the threads of its blocks, and how many samples these take."""
    samples = max(1, THREADS // (2 * nv))
    block = -(-2 * nv * samples // 32) * 32
    width = -(-nv // 4) * 4
    text = _PRODUCTS.format(T=TYPES[dtype], nv=nv, samples=samples, block=block, width=width)
    return text, block, samples


def composes(program: Program, dtype: str) -> bool:
    """Whether a program that has parts (a note of it) is so large that these are better: it has
    loops over bodies, or keeps much in memory.
    """
    if not program.notes.get("parts"):
        return False
    return program.rolled or kept_by(program, dtype) > COMPOSED_BYTES


class ComposedKernel(CudaKernel):
    """Forward dynamics, M⁻¹, derivatives of inverse dynamics, and their products, one after the
    other on one stream. source, flops: of all of them.
    """

    def __init__(self, program: Program, dtype: str):
        super().__init__(program, dtype)
        parts = program.notes["parts"]
        assert isinstance(parts, tuple)
        self.parts = tuple(CudaKernel(part, dtype) for part in parts)
        self.nv = program.outputs[0].shape[-1]
        self.flops = sum(part.flops for part in self.parts) + 4 * self.nv**3

    def __reduce__(self) -> tuple[object, ...]:
        return ComposedKernel, (self.program, self.dtype.name)

    @property
    def source(self) -> str:
        sources = [part.source for part in self.parts]
        return "\n".join([*sources, products_source(self.nv, self.dtype.name)[0]])

    def report(self) -> dict[str, float]:
        """Of the part that keeps most in memory, as of any kernel."""
        reports = [part.report() for part in self.parts]
        return max(reports, key=lambda x: x["local_bytes"] + x["shared_bytes"])

    @cached_property
    def _products(self) -> Function:
        text, block, samples = products_source(self.nv, self.dtype.name)
        cupy = cupy_here()
        return Function(cupy, machine_code(cupy, text), 0, block, samples=samples)

    def __call__(
        self, *args: DeviceArray, out: Out = None
    ) -> DeviceArray | Tensor | jax.Array | Sequence[DeviceArray | Tensor | jax.Array]:
        given = [] if out is None else self._given(out)
        if len(args) != len(self.inputs) or is_jax((*args, *given)):
            return super().__call__(*args, out=out)
        forward, inverse, changes = self.parts
        a = cast("DeviceArray", forward(*args))
        if out is None:
            dtau = cast("DeviceArray", inverse(*args))
            dq, dv = cast("tuple[DeviceArray, DeviceArray]", changes(*args, a))
        else:
            dq, dv, dtau = given
            inverse(*args, out=dtau)
            changes(*args, a, out=(dq, dv))
        words: list[int] = []
        n = int(np.prod(dtau.shape[:-2], dtype=int))
        for y in (dq, dv, dtau):
            place, row, step = _laid_out(y, self.nv**2, n)
            words += [place, row, step]
        if n:
            self._products.launch(n, stream_of(dtau), [n, *words])
        return (dq, dv, dtau) if out is None else out


def _laid_out(y, size: int, n: int) -> tuple[int, int, int]:
    """Where a result of this library lies, and its steps from sample to sample and from number to
    number, in numbers: rows one after the other, or columns.
    """
    if hasattr(y, "data_ptr"):
        place, last, contiguous = y.data_ptr(), y.stride(-1), y.is_contiguous()
    else:
        place, contiguous = y.data.ptr, y.flags.c_contiguous
        last = y.strides[-1] // y.dtype.itemsize
    return (place, size, 1) if contiguous or n <= 1 else (place, 1, last)
