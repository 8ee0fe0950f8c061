"""What a program becomes on the device where it is one launch: by rows, or by columns."""

from __future__ import annotations

from functools import partial

import numpy as np

from mozzi.program.program import Program
from mozzi.targets.cuda.here import cupy_here
from mozzi.targets.cuda.launch import WARP, choose
from mozzi.targets.cuda.limb_source import LimbSource, few_of
from mozzi.targets.cuda.nvidia import Function, machine_code, most_shared
from mozzi.targets.cuda.slices import NUMBER_BYTES
from mozzi.targets.cuda.source import CudaSource
from mozzi.targets.cuda.tiles import TileSource

__all__ = ["by_columns", "by_rows"]

COMPILED_ONCE_OPERATIONS = 12_000  # of a program whose launch shape is not tried out


def by_rows(program: Program, dtype: str, packed: bool, numbers: int = 0) -> Function:
    """A thread writes a row; packed, numbers: as of `CudaSource`."""
    cupy = cupy_here()
    most = most_shared(cupy.cuda.Device().id)
    first = CudaSource(program, dtype, packed, numbers=numbers, most_shared=most)
    if first.plans:
        code = partial(machine_code, cupy, first.text)
        made = Function(cupy, code, first.shared, WARP, len(first.plans), fill=True)
        own = partial(
            LimbSource, first.program, dtype, packed, numbers, most_shared=most, rows=True
        )
        made.few = few_of(own, first.program, most, partial(getattr, made, "words"))
        return made

    def make(resident: int) -> Function:
        source = CudaSource(program, dtype, packed, resident, numbers=numbers)
        return Function(cupy, partial(machine_code, cupy, source.text), source.shared)

    function, function.block = choose(make, program.length > COMPILED_ONCE_OPERATIONS)
    return function


def by_columns(program: Program, dtype: str, numbers: int = 0) -> Function:
    """A thread writes a number as soon as it is there: beside it lie those of the other threads of
    its warp. Of straight-line programs, with arguments by rows.
    """
    cupy = cupy_here()
    most = most_shared(cupy.cuda.Device().id)
    source = TileSource(program, dtype, True, numbers, most_shared=most, columns=True)
    code = partial(machine_code, cupy, source.text)
    made = Function(cupy, code, source.shared, WARP, fill=source.near > 0)
    if np.dtype(dtype).itemsize == NUMBER_BYTES and source.near:
        own = partial(
            LimbSource, source.program, dtype, True, numbers, most_shared=most, columns=True
        )
        made.few = few_of(own, source.program, most, partial(getattr, made, "words"))
    return made
