"""The CPU target: a program becomes a NumPy generalised ufunc of vector machine code."""

from __future__ import annotations

import ctypes
import hashlib
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Generic, cast

import numpy as np

from mozzi.errors import ConfigurationError
from mozzi.program.node import Node, Region
from mozzi.program.program import Input, Loop, Output, Program
from mozzi.program.schedule import schedule
from mozzi.targets import disk_cache as cache
from mozzi.targets.arguments import check_arrays
from mozzi.targets.cpu import jit as llvm_jit
from mozzi.targets.cpu import single_call as gufunc_call
from mozzi.targets.cpu import threads
from mozzi.targets.cpu import ufunc as gufunc
from mozzi.targets.cpu.batch_loop import TABLE, Operand, driver
from mozzi.targets.cpu.ir import Body
from mozzi.targets.cpu.threads import get_num_threads, set_num_threads
from mozzi.targets.disk_cache import Entry
from mozzi.types import ArrayLike, Result

__all__ = ["CpuKernel", "build", "compile_cpu", "get_num_threads", "set_num_threads"]

ENOUGH, PART = 400_000.0, 100_000.0  # ns of work that are worth threads, and a slice of it
PER_OPERATION = 0.04  # ns that an operation takes, one thread
LAST = 1 << 60
SMALL = 500  # numbers of one evaluation; NumPy holds the GIL for fewer, too


Arrays = tuple[tuple[str, tuple[int, ...]], ...]


class CpuKernel(Generic[Result]):
    """A compiled program: call it with arrays; leading axes are batch axes and broadcast.

    ufunc: the NumPy generalised ufunc. operations, flops: what one evaluation takes. source: LLVM
    IR.
    """

    def __init__(self, entry: Entry):
        self.entry = entry
        self.name, self.dtype = entry.name, np.dtype(entry.dtype)
        self.inputs = tuple(Input(name, shape) for name, shape in entry.inputs)
        self.outputs = tuple(Output(name, shape, ()) for name, shape in entry.outputs)
        self.operations, self.flops, self.single = entry.operations, entry.flops, entry.single
        self._shapes = [x.shape for x in self.inputs]
        self._cores = [len(x.shape) for x in (*self.inputs, *self.outputs)]
        self._cost = (
            PER_OPERATION * max(1.0, entry.work) * (1.0 if entry.dtype == "float64" else 0.5)
        )
        # fewer numbers are not worth threads, even where two batches meet as rows and columns
        self._few = sum(x.size for x in self.inputs) * (4 * ENOUGH / self._cost) ** 0.5
        code = llvm_jit.Code(entry.code)
        table = llvm_jit.runtime(entry.dtype, entry.lanes)
        loop, data = code.address("kernel"), ctypes.addressof(table)
        taken, given = _operands(entry.inputs, entry.outputs)
        shapes = [x.shape for x in taken], [x.shape for x in given]
        name = re.sub(r"\W+", "_", entry.name).strip("_") or "kernel"
        self.ufunc = gufunc.make(
            loop, data, *shapes, entry.dtype, name, _describe(self), keep=(code, table)
        )
        self._whole = all(
            part and all(x.size for x in part) for part in (self.inputs, self.outputs)
        )
        operands = [*shapes[0], *shapes[1]]
        if (
            self._whole
            and (self.single or len(given) > 1)
            and gufunc_call.possible()
            and len(operands) <= gufunc_call.MOST_OPERANDS
            and sum(map(len, operands)) <= gufunc_call.MOST_AXES
            and sum(map(prod, operands)) <= SMALL
        ):
            call = gufunc_call.make(
                table[TABLE.index("call")], loop, data, *shapes, entry.dtype, name, self._general,
                keep=(code, table),
            )  # fmt: skip
            # a class of its own: Python looks for __call__ there
            own: Any = type("CpuKernel", (CpuKernel,), {"__call__": call})
            self.__class__ = own

    def __call__(self, *args: ArrayLike, out: Any = None, **options: Any) -> Result:
        if not self._whole:
            return cast(Result, self._hollow(args, out))
        result = self._general(*args, out=out, **options)
        return cast(Result, result if self.single or isinstance(result, tuple) else (result,))

    def __getattr__(self, name: str) -> Any:
        if name in ("nargs", "nin", "nout", "ntypes", "signature", "types"):  # as ufuncs tell them
            return getattr(self.ufunc, name)
        raise AttributeError(f"a CpuKernel has no {name!r}")

    def _general(self, *args: Any, out: Any = None, **options: Any) -> Any:
        if len(args) != len(self.inputs) or options:  # results by position, where=, axes=, errors
            return self.ufunc(*args, **(options if out is None else {"out": out} | options))
        arrays, dtype, numbers = args, self.dtype, 0
        for x in args:
            if type(x) is not np.ndarray or x.dtype is not dtype:
                arrays = [self._array(x) for x in args]
                numbers = LAST
                break
            numbers += x.size
        if numbers > self._few and get_num_threads() > 1:
            batch = self._batch(arrays)
            work = prod(batch) * self._cost
            if work > ENOUGH and max(batch, default=1) > self.entry.lanes:
                outs = self._outs(batch, out, arrays)
                if outs is not None:
                    parts = min(get_num_threads(), int(work / PART))
                    threads.run(
                        self.ufunc, arrays, outs, self._cores, batch, parts, self.entry.lanes
                    )
                    return outs[0] if len(outs) == 1 else outs
        try:
            return self.ufunc(*arrays) if out is None else self.ufunc(*arrays, out=out)
        except (TypeError, ValueError):
            check_arrays(self.name, self.inputs, arrays)
            raise

    def _array(self, x: Any) -> np.ndarray:
        """As an array; a float32 kernel takes other real numbers, too."""
        array = np.asarray(x)
        return array.astype(self.dtype, copy=False) if array.dtype.kind in "biuf" else array

    def _batch(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        """The batch shape; () where something does not fit, and the ufunc says what."""
        batches = []
        for x, own, core in zip(arrays, self._shapes, self._cores):
            shape = x.shape
            edge = len(shape) - core
            if edge < 0 or shape[edge:] != own:
                return ()
            batches.append(shape[:edge])
        try:
            if batches and batches.count(batches[0]) == len(batches):
                return batches[0]
            return np.broadcast_shapes(*batches)
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
            elif not isinstance(x, np.ndarray) or x.shape != shape or _overlap(x, (*arrays, *outs)):
                return None
            outs.append(x)
        return tuple(outs)

    def _hollow(self, args: Sequence[Any], out: Any) -> Any:
        """With arguments or results that have no elements, or without arguments: NumPy has no such
        ufuncs.
        """
        arrays = [self._array(x) for x in args]
        if len(arrays) != len(self.inputs) or out is not None:
            names = ", ".join(x.name for x in self.inputs)
            raise TypeError(f"{self.name} takes the arrays ({names}) and no out")
        check_arrays(self.name, self.inputs, arrays)
        batch = self._batch(arrays)
        taken = [x for x, own in zip(arrays, self.inputs) if own.size]
        if not taken:
            taken = [np.zeros(batch, self.dtype)]
        shapes = [batch + x.shape for x in _operands(self.entry.inputs, ())[0]]
        found = self.ufunc(*map(np.broadcast_to, taken, shapes))
        results = iter(found if isinstance(found, tuple) else (found,))
        filled = tuple(
            next(results) if x.size else np.empty(batch + x.shape, self.dtype) for x in self.outputs
        )
        return filled[0] if self.single else filled

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.entry.to_bytes(), llvm_jit.host())

    @property
    def source(self) -> str:
        return self.entry.source

    @property
    def assembly(self) -> str:
        """The machine code, to read."""
        return llvm_jit.assembly(self.source)

    def __repr__(self) -> str:
        return f"<CpuKernel {self.name} {self.ufunc.signature} {self.dtype}>"


def _again(data: bytes, host: tuple[str, ...]) -> CpuKernel[Any]:
    """A kernel that was pickled, on this machine or another one."""
    entry = Entry.from_bytes(data)
    if host != llvm_jit.host():
        arch, here = host[0].partition("-")[0], llvm_jit.host()[0].partition("-")[0]
        if arch != here:
            raise ConfigurationError(
                f"kernel {entry.name!r} was compiled for {arch}, and this is {here}; pickle the "
                "model instead, and compile it here"
            )
        entry = replace(entry, code=llvm_jit.assemble(entry.source))
    return CpuKernel(entry)


def _overlap(x: np.ndarray, others: Sequence[np.ndarray]) -> bool:
    return any(np.may_share_memory(x, a) for a in others)


def _describe(kernel: CpuKernel) -> str:
    names = [", ".join(x.name for x in part) for part in (kernel.inputs, kernel.outputs)]
    return f"{kernel.name}({names[0]}) -> {names[1]}, compiled for this CPU."


def _operands(inputs: Arrays, outputs: Arrays) -> tuple[list[Operand], list[Operand]]:
    """Where arguments and results with elements are among the planes; there is at least one of
    each.
    """
    found = []
    for part in (inputs, outputs):
        slot, operands = 0, []
        for _, shape in part:
            operand = Operand(tuple(shape), slot)
            if operand.size:
                operands.append(operand)
            slot += operand.size
        found.append(operands or [Operand((), 0)])
    return found[0], found[1]


def module_text(program: Program, dtype: str, W: int) -> str:
    """The LLVM IR of a program."""
    T = "double" if dtype == "float64" else "float"
    body = Body(program, T, W)
    operands = _operands(_arrays(program.inputs), _arrays(program.outputs))
    return "\n".join([body.text, driver(T, W, *operands, body.scratch, x86=llvm_jit.is_x86()), ""])


def _arrays(operands: Sequence[Input | Output]) -> Arrays:
    return tuple((x.name, x.shape) for x in operands)


def _work(region: Region) -> float:
    """Operations of one evaluation; a walk to the base is taken to pass a quarter of the bodies."""
    total = 0.0
    for s in region.statements:
        if isinstance(s, Node):
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


def place_of(key: str, dtype: str, W: int) -> str:
    """Where the disk cache has the kernel under this key, for this machine."""
    return repr((key, (dtype, W, *llvm_jit.host(), sys.modules["mozzi"].__version__)))


def entry_of(program: Program, dtype: str, W: int, source: str, code: bytes) -> Entry:
    """A compiled program, as it is kept."""
    return Entry(
        program.name, dtype, W,
        _arrays(program.inputs), _arrays(program.outputs),
        program.single, program.operations, program.flops, _work(program.region),
        code, zlib.compress(source.encode(), 1),
    )  # fmt: skip


def compile_cpu(
    program: Program, dtype: Any = "float64", *, key: str | None = None, lanes: int | None = None
) -> CpuKernel:
    """The kernel of a program on this machine's CPU.

    key: names the program in the disk cache; without one its LLVM IR does. lanes: samples in a
    vector.
    """
    return build(lambda: program, dtype, key, lanes)


def build(
    make: Callable[[], Program],
    dtype: Any = "float64",
    key: str | None = None,
    lanes: int | None = None,
) -> CpuKernel:
    """The kernel of the program that `make` traces; it is not called where the disk cache has the
    key.
    """
    dtype = np.dtype(dtype).name
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype {dtype!r}: the CPU target computes in float64 or float32")
    W = lanes or llvm_jit.lanes(dtype)
    widths = (2, 4, 8) if dtype == "float64" else (4, 8, 16)
    if W not in widths:
        raise ValueError(f"{W} lanes of {dtype}; vectors hold {', '.join(map(str, widths))}")
    found = None if key is None else cache.lookup(place_of(key, dtype, W))
    if found is not None:
        return CpuKernel(found)
    program = make()
    source = module_text(schedule(program), dtype, W)
    name = place_of(key or hashlib.sha256(source.encode()).hexdigest(), dtype, W)
    code = None
    if key is None:
        found = cache.lookup(name)
        code = found.code if found is not None else None
    entry = entry_of(program, dtype, W, source, code or llvm_jit.assemble(source))
    if code is None:
        cache.store(name, entry)
    return CpuKernel(entry)
