"""The CPU target: a program becomes a NumPy generalised ufunc of vector machine code."""

from __future__ import annotations

import hashlib
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from mozzi.program.node import Region, Scalar
from mozzi.program.program import Input, Loop, Output, Program
from mozzi.program.schedule import schedule
from mozzi.targets import cache, gufunc, gufunc_call, llvm_jit, threads
from mozzi.targets.cache import Entry
from mozzi.targets.llvm_body import Body
from mozzi.targets.llvm_driver import TABLE, Operand, driver
from mozzi.targets.threads import get_num_threads, set_num_threads

__all__ = ["CpuKernel", "build", "compile_cpu", "get_num_threads", "set_num_threads"]

ENOUGH = 100_000.0  # ns of work that are worth a thread
PER_OPERATION = 0.04  # ns that an operation takes, one thread
SMALL = 500  # numbers of one evaluation; NumPy holds the GIL for fewer, too


class CpuKernel:
    """A compiled program: call it with arrays; leading axes are batch axes and broadcast.

    ufunc: the NumPy generalised ufunc. operations, flops: what one evaluation takes. source: LLVM IR.
    """

    def __init__(self, entry: Entry):
        self.entry = entry
        self.name, self.dtype = entry.name, np.dtype(entry.dtype)
        self.inputs = tuple(Input(name, shape) for name, shape in entry.inputs)
        self.outputs = tuple(Output(name, shape, ()) for name, shape in entry.outputs)
        self.operations, self.flops, self.single = entry.operations, entry.flops, entry.single
        self._cores = [len(x.shape) for x in (*self.inputs, *self.outputs)]
        self._cost = PER_OPERATION * entry.work * (1.0 if entry.dtype == "float64" else 0.5)
        code = llvm_jit.Code(entry.code)
        table = llvm_jit.runtime(entry.dtype, entry.lanes)
        loop, data = code.address("kernel"), table_address(table)
        shapes = [x.shape for x in self.inputs], [x.shape for x in self.outputs]
        name = re.sub(r"\W+", "_", entry.name).strip("_") or "kernel"
        self.ufunc = gufunc.make(
            loop, data, *shapes, entry.dtype, name, _describe(self), keep=(code, table)
        )
        operands = [*shapes[0], *shapes[1]]
        if (
            gufunc_call.possible()
            and len(operands) <= gufunc_call.MOST_OPERANDS
            and sum(map(len, operands)) <= gufunc_call.MOST_AXES
            and sum(map(prod, operands)) <= SMALL
        ):
            call = gufunc_call.make(
                table[TABLE.index("call")], loop, data, *shapes, entry.dtype, name, self._general,
                keep=(code, table),
            )  # fmt: skip
            self.__class__ = type("CpuKernel", (CpuKernel,), {"__call__": call})

    def __call__(self, *args: Any, out: Any = None, **options: Any) -> Any:
        return self._general(*args, out=out, **options)

    def _general(self, *args: Any, out: Any = None, **options: Any) -> Any:
        if len(args) != len(self.inputs) or options:  # results by position, where=, axes=, errors
            return self.ufunc(*args, out=out, **options)
        arrays = [self._array(x) for x in args]
        number = get_num_threads()
        if number > 1 and sum(x.size for x in arrays) * self._cost > ENOUGH / 100:
            batch = self._batch(arrays)
            parts = min(4 * number, int(prod(batch) * self._cost / ENOUGH))
            if parts > 1 and max(batch) > self.entry.lanes:
                outs = self._outs(batch, out, arrays)
                if outs is not None:
                    threads.run(
                        self.ufunc, arrays, outs, self._cores, batch, parts, self.entry.lanes
                    )
                    return outs if len(outs) > 1 else outs[0]
        return self.ufunc(*arrays) if out is None else self.ufunc(*arrays, out=out)

    def _array(self, x: Any) -> np.ndarray:
        """As an array; a float32 kernel takes other real numbers, too."""
        array = x if type(x) is np.ndarray else np.asarray(x)
        if array.dtype != self.dtype and array.dtype.kind in "biuf":
            array = array.astype(self.dtype)
        return array

    def _batch(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        """The batch shape; () where something does not fit, and the ufunc says what."""
        shapes = [x.shape[: max(0, x.ndim - core)] for x, core in zip(arrays, self._cores)]
        fits = all(
            x.shape[len(batch) :] == own.shape
            for x, batch, own in zip(arrays, shapes, self.inputs)
        )
        try:
            return np.broadcast_shapes(*shapes) if fits else ()
        except ValueError:
            return ()

    def _outs(self, batch: tuple[int, ...], out: Any, arrays: Any) -> tuple[np.ndarray, ...] | None:
        """Arrays for the results; None where those given need the ufunc's own care."""
        given = out if isinstance(out, tuple) else (out,) * len(self.outputs)
        if out is not None and len(given) != len(self.outputs):
            return None
        outs = []
        for x, own in zip(given, self.outputs):
            shape = batch + own.shape
            if x is None:
                x = np.empty(shape, self.dtype)
            elif not isinstance(x, np.ndarray) or x.shape != shape:
                return None
            elif any(np.may_share_memory(x, a) for a in (*arrays, *outs)):
                return None
            outs.append(x)
        return tuple(outs)

    @property
    def source(self) -> str:
        return self.entry.source

    @property
    def assembly(self) -> str:
        """The machine code, to read."""
        return llvm_jit.assembly(self.source)

    def __repr__(self) -> str:
        return f"<CpuKernel {self.name} {self.ufunc.signature} {self.dtype}>"


def table_address(table: Any) -> int:
    import ctypes

    return ctypes.addressof(table)


def _describe(kernel: CpuKernel) -> str:
    names = [", ".join(x.name for x in part) for part in (kernel.inputs, kernel.outputs)]
    return f"{kernel.name}({names[0]}) -> {names[1]}, compiled for this CPU."


def module_text(program: Program, dtype: str, W: int) -> str:
    """The LLVM IR of a program."""
    T = "double" if dtype == "float64" else "float"
    body = Body(program, T, W)
    operands = []
    for part in (program.inputs, program.outputs):
        slot, found = 0, []
        for x in part:
            found.append(Operand(x.shape, slot))
            slot += x.size
        operands.append(found)
    return "\n".join([body.text, driver(T, W, *operands, body.scratch), ""])


def _work(region: Region) -> float:
    """Operations of one evaluation; a loop of unknown length counts as a quarter of what it may be."""
    total = 0.0
    for s in region.statements:
        if isinstance(s, Scalar):
            total += 20.0 if s.op in ("sin", "cos", "atan2") else 1.0
        elif isinstance(s, Loop):
            if isinstance(s.start, int) and isinstance(s.stop, int) and s.follow is None:
                steps = len(range(s.start, s.stop, s.step))
            else:
                steps = len(s.follow) / 4 if s.follow is not None else 10.0
            total += steps * max(_work(b) for b in s.branches)
        else:
            total += 1.0
    return total


def compile_cpu(
    program: Program, dtype: Any = "float64", *, key: str | None = None, lanes: int | None = None
) -> CpuKernel:
    """The kernel of a program on this machine's CPU.

    key: names the program in the disk cache; without one its LLVM IR does. lanes: samples in a vector.
    """
    return build(lambda: program, dtype, key, lanes)


def build(
    make: Callable[[], Program],
    dtype: Any = "float64",
    key: str | None = None,
    lanes: int | None = None,
) -> CpuKernel:
    """The kernel of the program that `make` traces; it is not called where the disk cache has the key."""
    dtype = np.dtype(dtype).name
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype {dtype!r}: the CPU target computes in float64 or float32")
    W = lanes or llvm_jit.lanes(dtype)
    here = (dtype, W, *llvm_jit.host(), sys.modules["mozzi"].__version__)
    found = None if key is None else cache.lookup(repr((key, here)))
    if found is not None:
        return CpuKernel(found)
    program = make()
    source = module_text(schedule(program), dtype, W)
    name = repr((key or hashlib.sha256(source.encode()).hexdigest(), here))
    code = None
    if key is None:
        found = cache.lookup(name)
        code = found.code if found is not None else None
    entry = Entry(
        program.name, dtype, W,
        tuple((x.name, x.shape) for x in program.inputs),
        tuple((x.name, x.shape) for x in program.outputs),
        program.single, program.operations, program.flops, _work(program.region),
        code or llvm_jit.assemble(source), zlib.compress(source.encode(), 1),
    )  # fmt: skip
    if code is None:
        cache.store(name, entry)
    return CpuKernel(entry)
