"""The CPU target: a program becomes a NumPy generalised ufunc of vector machine code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from mozzi.program.program import Input, Output, Program
from mozzi.targets import gufunc, llvm_jit, vector_math
from mozzi.targets.llvm_body import Body
from mozzi.targets.llvm_driver import Operand, driver, helpers

__all__ = ["CpuKernel", "build", "compile_cpu"]


class CpuKernel:
    """A compiled program: call it with arrays, leading axes are batch axes and broadcast.

    ufunc: the NumPy generalised ufunc; operations, flops: what one evaluation takes; source: its LLVM IR.
    """

    def __init__(self, program: Program, dtype: str, source: str, ufunc: np.ufunc):
        self.name = program.name
        self.dtype = np.dtype(dtype)
        self.source = source
        self.ufunc = ufunc
        self.inputs: tuple[Input, ...] = program.inputs
        self.outputs: tuple[Output, ...] = program.outputs
        self.operations = program.operations
        self.flops = program.flops

    def __call__(self, *args: Any, out: Any = None) -> Any:
        if out is None:
            return self.ufunc(*args)
        return self.ufunc(*args, out=out)

    def __repr__(self) -> str:
        return f"<CpuKernel {self.name} {self.ufunc.signature} {self.dtype}>"


def module_text(program: Program, dtype: str, W: int) -> str:
    T = {"float64": "double", "float32": "float"}[dtype]
    body = Body(program, T, W)
    operands = []
    for part in (program.inputs, program.outputs):
        slot, found = 0, []
        for x in part:
            found.append(Operand(x.shape, slot))
            slot += x.size
        operands.append(found)
    return "\n".join(
        [
            helpers(T, W),
            *(getattr(vector_math, name)(T, W) for name in sorted(body.uses)),
            body.text,
            driver("kernel", T, W, operands[0], operands[1], body.scratch),
            '!0 = !{!"branch_weights", i32 1, i32 100000}',
        ]
    )


def compile_cpu(
    program: Program, dtype: str = "float64", *, key: str | None = None, lanes: int | None = None
) -> CpuKernel:
    """The kernel of a program on this machine's CPU."""
    dtype = np.dtype(dtype).name
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype {dtype!r}: the CPU target computes in float64 or float32")
    W = lanes or llvm_jit.lanes(dtype)
    source = module_text(program, dtype, W)
    code = llvm_jit.Code(llvm_jit.assemble(source))
    name = re.sub(r"\W", "_", program.name) or "kernel"
    ufunc = gufunc.make(
        code.address("kernel"),
        [x.shape for x in program.inputs],
        [x.shape for x in program.outputs],
        dtype,
        name,
        keep=code,
    )
    return CpuKernel(program, dtype, source, ufunc)


def build(make: Callable[[], Program], dtype: str = "float64", key: str | None = None) -> CpuKernel:
    """The kernel of the program that `make` traces; `make` is not called where the disk cache has the key."""
    return compile_cpu(make(), dtype, key=key)
