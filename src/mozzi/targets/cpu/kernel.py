"""The kernel: a compiled program as a NumPy generalised ufunc, on several threads where it pays."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil, prod
from typing import Generic, TypeAlias, cast

import numpy as np

from mozzi.errors import ConfigurationError, KindError
from mozzi.program.packing import Packing
from mozzi.program.program import Input, Output
from mozzi.targets.arguments import check_arrays, check_results
from mozzi.targets.cpu import jit
from mozzi.targets.cpu.batch_loop import TABLE, operands_of
from mozzi.targets.cpu.calls import memory, single_call, threads, ufunc
from mozzi.targets.cpu.calls.single_call_text import AXES_MAX, OPERANDS_MAX
from mozzi.targets.cpu.calls.threads import get_num_threads
from mozzi.targets.disk_cache import Entry
from mozzi.targets.lazy import is_lazy, laid_over
from mozzi.types import ArrayLike, Result

__all__ = ["CpuKernel", "Results"]

THREADED_NS = 400_000.0  # work from which on a call is worth several threads
SLICE_NS = 100_000.0  # work of one thread, at least
WAKE_NS = 60_000.0  # work that is done before another thread is awake
PATIENCE_NS = 20_000_000.0  # work of one slice, at most: Ctrl-C is looked for between slices
OPERATION_NS = 0.04  # what an operation takes, one thread
SHORT_NS = 20_000.0  # work that may hold the GIL, to do without NumPy's dispatch
UNCOUNTED = 1 << 60  # numbers of arguments that are not arrays of the kernel's type yet
SINGLE_CALL_NUMBERS = 500  # of one evaluation, at most; NumPy holds the GIL for fewer, too
ELSEWHERE = {"jax": "jax", "jaxlib": "jax", "torch": "torch", "cupy": "cuda"}  # library → target


Look: TypeAlias = Callable[[Sequence[ArrayLike], object], None]
"""Looks at arguments that are not as promised, and raises if they are not."""

#: What one call gives.
Results: TypeAlias = np.ndarray | tuple[np.ndarray, ...]

#: Where results go.
Out: TypeAlias = np.ndarray | tuple[np.ndarray | None, ...] | None


class CpuKernel(Generic[Result]):
    """A compiled program: call it with arrays; leading axes are batch axes and broadcast.

    It takes arguments as they are: quaternions that are not of length 1, NaN and infinity give
    results without meaning. Algorithms on arrays look at them (`watched`).

    ufunc: the NumPy generalised ufunc. operations, flops: what one evaluation takes. source: LLVM
    IR. cost: nanoseconds of one, about. loop, table: the machine code's address, and the functions
    that it takes. packings: where the elements of its results are, if it gives them packed.
    """

    packings: tuple[Packing, ...] = ()

    def __init__(self, entry: Entry, code: jit.Code | None = None, look: Look | None = None):
        self.entry, self._look = entry, look
        self.name, self.dtype = entry.name, np.dtype(entry.dtype)
        self.inputs = tuple(Input(name, shape) for name, shape in entry.inputs)
        self.outputs = tuple(Output(name, shape, ()) for name, shape in entry.outputs)
        self.operations, self.flops, self.single = entry.operations, entry.flops, entry.single
        self._shapes = [x.shape for x in self.inputs]
        self._cores = [len(x.shape) for x in (*self.inputs, *self.outputs)]
        self.cost = (
            OPERATION_NS * max(1.0, entry.work) * (1.0 if entry.dtype == "float64" else 0.5)
        )
        # fewer numbers are not worth threads, even where two batches meet as rows and columns
        samples = (4 * THREADED_NS / self.cost) ** 0.5
        self._threaded_numbers = sum(x.size for x in self.inputs) * samples
        # numbers of the smallest argument from which on a result may come from kept memory
        self._largest = max((y.size for y in self.outputs), default=0) * self.dtype.itemsize
        smallest = min((x.size for x in self.inputs), default=0)
        self._pooled_numbers = smallest * memory.POOLED_BYTES / max(1, self._largest)
        self._code = code = code or jit.Code(entry.code)
        table = (jit.watched_runtime if look else jit.runtime)(entry.dtype, entry.lanes)
        self.table, self.loop = table, code.address("kernel")
        loop, data = self.loop, ctypes.addressof(table)
        taken, given = operands_of(entry.inputs, entry.outputs)
        shapes = [x.shape for x in taken], [x.shape for x in given]
        name = re.sub(r"\W+", "_", entry.name).strip("_") or "kernel"
        self.ufunc = ufunc.make(
            loop, data, *shapes, entry.dtype, name, _describe(self), keep=(code, table)
        )
        self._whole = all(
            part and all(x.size for x in part) for part in (self.inputs, self.outputs)
        )
        operands = [*shapes[0], *shapes[1]]
        if (
            self._whole
            and (self.single or len(given) > 1)
            and single_call.possible()
            and len(operands) <= OPERANDS_MAX
            and sum(map(len, operands)) <= AXES_MAX
            and sum(map(prod, operands)) <= SINGLE_CALL_NUMBERS
        ):
            call = single_call.make(
                table[TABLE.index("call")], loop, data, *shapes, entry.dtype, name, self._general,
                jit.alarms_address(), keep=(code, table), most=self._short(),
            )  # fmt: skip
            # a class of its own: Python looks for __call__ there
            own = type("CpuKernel", (CpuKernel,), {"__call__": call})
            self.__class__ = own  # pyright: ignore[reportAttributeAccessIssue]

    def watched(self, look: Look) -> CpuKernel[Result]:
        """The same kernel; where arguments are not as promised, or results not finite, `look` is
        called with both, and may raise.
        """
        return CpuKernel(self.entry, self._code, look)

    def _short(self) -> int:
        """Samples of a call that is short, and whose results are small."""
        work = min(SHORT_NS, THREADED_NS)
        return int(min(work / self.cost, (memory.POOLED_BYTES - 1) / max(1, self._largest)))

    def __call__(self, *args: ArrayLike, out: Out = None, **options: object) -> Result:
        result = self._general(*args, out=out, **options)
        return cast(Result, result if self.single or isinstance(result, tuple) else (result,))

    @property
    def nin(self) -> int:
        """How many arrays it takes, as ufuncs tell it."""
        return self.ufunc.nin

    @property
    def nout(self) -> int:
        """How many arrays it gives."""
        return self.ufunc.nout

    @property
    def nargs(self) -> int:
        """How many arrays there are."""
        return self.ufunc.nargs

    @property
    def ntypes(self) -> int:
        """How many types of numbers it takes."""
        return self.ufunc.ntypes

    @property
    def types(self) -> Sequence[str]:
        """Which types of numbers it takes, in NumPy's letters."""
        return self.ufunc.types

    @property
    def signature(self) -> str:
        """The axes of one sample, in NumPy's words."""
        return self.ufunc.signature or ""

    def _general(self, *args: ArrayLike, out: Out = None, **options: object) -> Results:
        arrays = cast("tuple[np.ndarray, ...]", args)  # most are, and `_run` looks at them
        if self._look is None:
            return self._run(arrays, out, options)
        before = jit.alarms()
        result = self._run(arrays, out, options)
        if jit.alarms() != before:
            self._look(args[: len(self.inputs)], result)
        return result

    def _run(
        self, args: Sequence[np.ndarray], out: Out, options: dict[str, object]
    ) -> Results:
        if not self._whole:
            return self._with_empty_operands(args, out)
        if len(args) != len(self.inputs) or options:  # results by position, where=, axes=, errors
            try:
                return self.ufunc(*args, **(options if out is None else {"out": out} | options))
            except TypeError:
                if len(args) == len(self.inputs):
                    raise
                names = ", ".join(x.name for x in self.inputs)
                raise TypeError(
                    f"{self.name} takes the arrays ({names}) by position, and {len(args)} were "
                    "given; the model is none of them: a kernel has it"
                ) from None
        arrays, dtype, numbers = args, self.dtype, 0
        for x in args:
            if type(x) is not np.ndarray or x.dtype is not dtype:
                if any(map(is_lazy, args)) and out is None:
                    given = [y.shape for y in self.outputs]
                    found = laid_over(self, self._shapes, given, args, self.dtype.name)
                    return cast("Results", found)
                arrays = [self._array(x, y.name) for x, y in zip(args, self.inputs)]
                numbers = UNCOUNTED
                break
            numbers += x.size
        try:
            if numbers > self._threaded_numbers or numbers > self._pooled_numbers:
                batch = self._batch(arrays)
                work, parts = prod(batch) * self.cost, 1
                if work > THREADED_NS and max(batch, default=1) > self.entry.lanes:
                    several = min(get_num_threads(), int(work / SLICE_NS))
                    parts = max(several, ceil(work / PATIENCE_NS))
                large = out is None and prod(batch) * self._largest >= memory.POOLED_BYTES
                outs = self._outs(batch, out, arrays) if parts > 1 or large else None
                if outs is not None and parts > 1:
                    cores, lanes = self._cores, self.entry.lanes
                    ahead = WAKE_NS / self.cost
                    threads.run(self.ufunc, arrays, outs, cores, batch, parts, lanes, ahead)
                    return outs[0] if len(outs) == 1 else outs
                out = outs or out
            return self.ufunc(*arrays) if out is None else self.ufunc(*arrays, out=out)
        except (TypeError, ValueError):  # NumPy's; ours say which array, and what to give
            check_arrays(self.name, self.inputs, arrays)
            if out is not None:
                check_results(self.name, self.outputs, out, self._batch(arrays), self.dtype)
            raise

    def _array(self, x: ArrayLike, argument: str) -> np.ndarray:
        """As an array; a float32 kernel takes other real numbers, too."""
        try:
            array = np.asarray(x)
        except ValueError:  # rows of several lengths
            raise KindError(self.name, argument, x, "an array of real numbers") from None
        except (TypeError, RuntimeError):  # traced, with gradients, on a GPU: not for NumPy
            target = ELSEWHERE.get(type(x).__module__.partition(".")[0])
            if target is None:
                raise
            wanted = f"NumPy arrays, or compile it: mz.compile(…, model, target={target!r})"
            raise KindError(self.name, argument, x, wanted) from None
        return array.astype(self.dtype, copy=False) if array.dtype.kind in "biuf" else array

    def _batch(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        """The batch shape; () where something does not fit, and the ufunc says what."""
        batches: list[tuple[int, ...]] = []
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

    def _outs(
        self, batch: tuple[int, ...], out: Out, arrays: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, ...] | None:
        """Arrays for the results; None where those given need the ufunc's own care."""
        given = out if isinstance(out, tuple) else (out,) * len(self.outputs)
        if out is not None and len(given) != len(self.outputs):
            return None
        outs: list[np.ndarray] = []
        for x, own in zip(given, self.outputs):
            shape = batch + own.shape
            if x is None:
                x = memory.empty(shape, self.dtype)
            elif type(x) is not np.ndarray or x.shape != shape or _overlap(x, (*arrays, *outs)):
                return None
            outs.append(x)
        return tuple(outs)

    def _with_empty_operands(self, args: Sequence[ArrayLike], out: Out) -> Results:
        """With arguments or results that have no elements, or without arguments: NumPy has no such
        ufuncs.
        """
        if len(args) != len(self.inputs) or out is not None:
            names = ", ".join(x.name for x in self.inputs)
            raise TypeError(f"{self.name} takes the arrays ({names}) and no out")
        arrays = [self._array(x, y.name) for x, y in zip(args, self.inputs)]
        check_arrays(self.name, self.inputs, arrays)
        batch = self._batch(arrays)
        taken = [x for x, own in zip(arrays, self.inputs) if own.size]
        if not taken:
            taken = [np.zeros(batch, self.dtype)]
        shapes = [batch + x.shape for x in operands_of(self.entry.inputs, ())[0]]
        found = self.ufunc(*map(np.broadcast_to, taken, shapes))
        several = cast("tuple[np.ndarray, ...]", found)
        results = iter(several if isinstance(found, tuple) else (found,))
        filled = tuple(
            next(results) if x.size else np.empty(batch + x.shape, self.dtype) for x in self.outputs
        )
        return filled[0] if self.single else filled

    def __reduce__(self) -> tuple[object, ...]:
        again = _again, (self.entry.to_bytes(), jit.host())
        return (*again, {"packings": self.packings}) if self.packings else again

    @property
    def source(self) -> str:
        return self.entry.source

    @property
    def assembly(self) -> str:
        """The machine code, to read."""
        return jit.assembly(self.source)

    def __repr__(self) -> str:
        return f"<CpuKernel {self.name} {self.ufunc.signature} {self.dtype}>"


def _again(data: bytes, host: tuple[str, ...]) -> CpuKernel[Results]:
    """A kernel that was pickled, on this machine or another one."""
    entry = Entry.from_bytes(data)
    if host != jit.host():
        arch, here = host[0].partition("-")[0], jit.host()[0].partition("-")[0]
        if arch != here:
            raise ConfigurationError(
                f"kernel {entry.name!r} was compiled for {arch}, and this is {here}; pickle the "
                "model instead, and compile it here"
            )
        entry = replace(entry, code=jit.assemble(entry.source))
    return CpuKernel(entry)


def _overlap(x: np.ndarray, others: Sequence[np.ndarray]) -> bool:
    return any(np.may_share_memory(x, a) for a in others)


def _describe(kernel: CpuKernel[Result]) -> str:
    names = [", ".join(x.name for x in part) for part in (kernel.inputs, kernel.outputs)]
    return f"{kernel.name}({names[0]}) -> {names[1]}, compiled for this CPU."
