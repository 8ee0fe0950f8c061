# pyright: basic, reportMissingImports=warning
# (CuPy is not typed)
"""The CUDA target: one thread per sample, compiled at run time by NVRTC through CuPy.

Arrays come and go on the device without copies: CuPy arrays, PyTorch tensors, JAX arrays, and
everything with `__cuda_array_interface__` or DLPack. Results are JAX arrays or PyTorch tensors
where an argument is one, and CuPy arrays otherwise. Work is on the current stream of CuPy or
PyTorch; with JAX arrays XLA calls the kernel, on its own stream, and knows how long it uses their
memory.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, cast

import numpy as np

from mozzi.program.program import Input, Program
from mozzi.targets.cuda.arrays import DeviceArray, Out, check, columnar, jax_arrays, rowwise
from mozzi.targets.cuda.arrays import rows as rows_of
from mozzi.targets.cuda.functions import by_columns, by_rows
from mozzi.targets.cuda.here import any_of, cupy_here, is_jax, working_stream
from mozzi.targets.cuda.launches import Launch, Launches
from mozzi.targets.cuda.nvidia import Function
from mozzi.targets.cuda.quick import CupySide, Side, TorchSide, places
from mozzi.targets.cuda.source import CudaSource

if TYPE_CHECKING:
    import jax
    from torch import Tensor

    from mozzi.program.packing import Packing
    from mozzi.targets.jax.kernel import JaxKernel

__all__ = ["CudaKernel", "build"]


def build(make: Callable[[], Program], dtype: str, key: str | None = None) -> CudaKernel:
    """The kernel of a program, for CUDA. The source can be read without a GPU."""
    from mozzi.targets.cuda.composed import ComposedKernel, composes

    program = make()
    return (ComposedKernel if composes(program, dtype) else CudaKernel)(program, dtype)


class CudaKernel:
    """A compiled program on the GPU: call it with arrays on the device, (N, n) or any batch axes.

    Any strides are read in place, and arguments without batch axes serve all samples. Where all
    arguments have a contiguous batch axis, such as `x.T` of an (n, N) array, the results do too.
    operations, flops: what one evaluation takes; source: CUDA C; report(): registers and local
    memory of the compiled code. packings: where the elements of its results are, if it gives them
    packed; these are (N, size) with all samples of a number together, unless `out` says otherwise.
    """

    def __init__(self, program: Program, dtype: str):
        self.program, self.dtype = program, np.dtype(dtype)
        self.name, self.inputs, self.outputs = program.name, program.inputs, program.outputs
        self.operations, self.flops = program.operations, program.flops
        self.packings = cast("tuple[Packing, ...]", program.notes.get("packings", ()))
        self.single = program.single
        self._shapes = tuple(x.shape for x in self.inputs)
        self._results_shapes = tuple(x.shape for x in self.outputs)
        self._functions: dict[tuple[int, bool], Function] = {}
        self._sides: dict[type, Side | None] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return CudaKernel, (self.program, self.dtype.name)

    @property
    def source(self) -> str:
        """The CUDA C of the kernel, for arrays of any strides."""
        return CudaSource(self.program, self.dtype.name).text

    @cached_property
    def strided(self) -> Function:
        """The kernel for arrays of any strides."""
        return by_rows(self.program, self.dtype.name, packed=False)

    @cached_property
    def packed(self) -> Function:
        """The kernel for arrays whose rows lie one after the other."""
        return by_rows(self.program, self.dtype.name, packed=True)

    @cached_property
    def by_columns(self) -> bool:
        """Whether results without arrays for them are (N, n) with all samples of a number together:
        packed ones are, and nothing comes between a number and the memory.
        """
        return bool(self.packings) and not self.program.rolled

    def _with_numbers(self, mask: int, columns: bool = False) -> Function:
        """The kernel of rows one after the other, or of results by columns, of which some arguments
        are numbers, those whose bit is set.
        """
        if not mask and not columns:
            return self.packed
        if (mask, columns) not in self._functions:
            if columns:
                made = by_columns(self.program, self.dtype.name, mask)
            else:
                made = by_rows(self.program, self.dtype.name, True, mask)
            if mask:
                made.words = self._words(mask) + "q" * len(self.outputs)
            self._functions[mask, columns] = made
        return self._functions[mask, columns]

    def _words(self, mask: int) -> str:
        """The types of n and of the arguments, some of which are numbers."""
        number = "d" if self.dtype.itemsize == 8 else "f4x"
        return "q" + "".join(number if mask >> k & 1 else "q" for k in range(len(self.inputs)))

    def _run(
        self, numbers: int, n: int, stream: int, words: Sequence[float], columns: bool = False
    ) -> None:
        """Run n samples of arrays by rows and numbers; results by rows or columns."""
        self._with_numbers(numbers, columns).launch(n, stream, words)

    def launches(self) -> Launches:
        """What a call with rows one after the other is on the device."""
        specs = (*self.inputs, *self.outputs)
        one = Launch(self.packed, tuple(range(1 + len(specs))))
        return Launches((one,), tuple(x.size for x in specs), self.dtype.itemsize)

    def report(self) -> dict[str, float]:
        """What the compiler made of it, for packed rows: threads of a block, blocks that a
        multiprocessor holds, the share of its threads that these are (occupancy), registers and
        bytes of local memory of a thread, and of shared memory of a block.
        """
        return asdict(self.packed.report())

    def __call__(
        self, *args: DeviceArray, out: Out = None
    ) -> DeviceArray | Tensor | jax.Array | Sequence[DeviceArray | Tensor | jax.Array]:
        cupy = cupy_here()
        side = self._side(args[0]) if args else None
        if side is not None:
            quick = self._quick(side, args, out)
            if quick is not None:
                return quick
        if len(args) != len(self.inputs):
            raise TypeError(f"{self.name} takes {len(self.inputs)} arrays, not {len(args)}")
        given = [] if out is None else self._given(out)
        if is_jax((*args, *given)):
            if given:
                raise TypeError(
                    f"{self.name}: out= goes with CuPy arrays and PyTorch tensors; a JAX array"
                    " cannot be written to, so leave out= away and take the result"
                )
            return self._jax(*jax_arrays(self.name, args, self.inputs, self.dtype))
        torch = any_of(("torch",), (*args, *given))
        with working_stream(cupy, torch):
            arrays = [self._array(cupy, x, spec) for x, spec in zip(args, self.inputs, strict=True)]
            batch = np.broadcast_shapes(
                *(
                    x.shape[: x.ndim - len(s.shape)]
                    for x, s in zip(arrays, self.inputs, strict=True)
                )
            )
            rows = [
                rows_of(cupy, x, batch, len(s.shape))
                for x, s in zip(arrays, self.inputs, strict=True)
            ]
            results = self._results(cupy, batch, rows, out)
            self._launch(cupy, math.prod(batch), [*rows, *results])
        answers = tuple(
            y.reshape(*batch, *s.shape) for y, s in zip(results, self.outputs, strict=True)
        )
        if out is not None:
            return out
        if torch is not None:
            answers = tuple(torch.from_dlpack(y) for y in answers)
        return answers[0] if self.single else answers

    def _given(self, out: DeviceArray | Sequence[DeviceArray]) -> list[DeviceArray]:
        """The arrays for results, as a list."""
        if self.single:
            return [cast("DeviceArray", out)]
        return list(cast("Sequence[DeviceArray]", out))

    def _side(self, x: object) -> Side | None:
        """How to call quickly with arrays such as this; None where there is no such way."""
        kind = type(x)
        if kind not in self._sides:
            side, cupy = None, cupy_here()
            if kind is cupy.ndarray:
                side = CupySide(cupy, self.dtype)
            elif kind.__module__ == "torch" and kind.__name__ == "Tensor":
                side = self._torch_side
            self._sides[kind] = side
        return self._sides[kind]

    @cached_property
    def _torch_side(self) -> TorchSide:
        return TorchSide(importlib.import_module("torch"), self.dtype)

    def _quick(
        self, side: Side, args: Sequence[DeviceArray], out: Out
    ) -> DeviceArray | Sequence[DeviceArray] | None:
        """The call with row-major arrays (N, n) and numbers; None where it is another."""
        like = args[0]
        shape = like.shape
        if not shape:
            return None
        n = (shape[0],)
        given = places(side, args, n, self._shapes, numbers=True)
        if given is None or not side.here(like):
            return None
        words, columns = [n[0], *given[0]], self.by_columns
        if out is None:
            new = side.new_columns if columns else side.new
            made = [new(like, n + s) for s in self._results_shapes]
            results = [x for x, _ in made]
            words += [place for _, place in made]
        else:
            results = self._given(out)
            found = places(side, results, n, self._results_shapes, columns=columns)
            if found is None and columns:
                columns, found = False, places(side, results, n, self._results_shapes)
            if found is None:
                return None
            words += found[0]
        if n[0]:
            try:
                self._run(given[1], n[0], side.stream(like), words, columns)
            except OverflowError:  # a number that this type of numbers does not have
                return None
        return results[0] if self.single else tuple(results) if out is None else out

    @cached_property
    def _jax(self) -> JaxKernel:
        """This kernel as a function of JAX arrays."""
        from mozzi.targets.derivatives import find, register
        from mozzi.targets.jax.kernel import JaxKernel

        found = find(register(self.program, self.dtype.name))
        vars(found).setdefault("cuda", self)  # what XLA calls: not to be compiled again
        return JaxKernel(self.program, self.dtype.name)

    def on_tensors(self, tensors: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        """Run on PyTorch's memory and stream: tensors of one batch, contiguous results."""
        sides = zip((*results, *tensors), (*self.outputs, *self.inputs), strict=True)
        n = next((x.numel() // s.size for x, s in sides if s.size), 0)
        strides = None
        if not all(x.is_contiguous() for x in tensors):
            tensors = [x.reshape(n, s.size) for x, s in zip(tensors, self.inputs, strict=True)]
            given = [(x.stride(0), x.stride(1)) for x in tensors]
            strides = given + [(s.size, 1) for s in self.outputs]
        self.on_rows(tensors, results, n, strides)

    def on_rows(
        self, tensors: Sequence[Tensor], results: Sequence[Tensor], n: int,
        strides: Sequence[tuple[int, int]] | None = None,
    ) -> None:  # fmt: skip
        """The same with n rows that lie one after the other, or with strides."""
        side = self._torch_side
        if not side.here(results[0]):
            with importlib.import_module("torch").cuda.device(results[0].device):
                return self.on_rows(tensors, results, n, strides)
        stream = side.stream(results[0])
        self.start(n, [*map(side.address, tensors), *map(side.address, results)], stream, strides)

    def of_rows(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The results of n rows that lie one after the other, in new memory of PyTorch's."""
        first = tensors[0]
        n, new = first.shape[0], self._torch_side.empty_like
        results = [
            first.new_empty((n, *shape)) if k is None else new(tensors[k])
            for k, shape in self._alike
        ]
        self.on_rows(tensors, results, n)
        return results

    @cached_property
    def _alike(self) -> list[tuple[int | None, tuple[int, ...]]]:
        """For every result an argument of its shape, and the shape."""
        return [
            (self._shapes.index(s) if s in self._shapes else None, s) for s in self._results_shapes
        ]

    def _array(self, cupy: ModuleType, x: object, spec: Input) -> DeviceArray:
        if hasattr(x, "__cuda_array_interface__") or isinstance(x, cupy.ndarray):
            array = cupy.asarray(x)
        elif hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):
            array = cupy.from_dlpack(x)
        else:
            array = cupy.asarray(x, dtype=self.dtype)
        check(self.name, array, spec, self.dtype)
        return array

    def _results(
        self, cupy: ModuleType, batch: tuple[int, ...], rows: list[DeviceArray], out: Out
    ) -> list[DeviceArray]:
        """(N, n) arrays for the results: the given ones, or new ones laid out as the arguments."""
        n = math.prod(batch)
        if out is not None:
            given = self._given(out)
            found: list[DeviceArray] = []
            for y, spec in zip(given, self.outputs, strict=True):
                array: DeviceArray = cupy.asarray(y)
                if array.shape != (*batch, *spec.shape) or array.dtype != self.dtype:
                    raise ValueError(
                        f"{self.name}: out has shape {array.shape} and type {array.dtype};"
                        f" the result is {(*batch, *spec.shape)} {self.dtype}"
                    )
                view = array.reshape(n, spec.size)
                if n and spec.size and view.data.ptr != array.data.ptr:
                    raise ValueError(f"{self.name}: out must be contiguous")
                found.append(view)
            return found
        columns = self.by_columns or (
            any(columnar(x) for x in rows) and not any(rowwise(x) for x in rows)
        )
        if columns:
            return [cupy.empty((s.size, n), self.dtype).T for s in self.outputs]
        return [cupy.empty((n, s.size), self.dtype) for s in self.outputs]

    def _launch(self, cupy: ModuleType, n: int, arrays: list[DeviceArray]) -> None:
        size = self.dtype.itemsize
        packed = all(rowwise(x) for x in arrays)
        strides = None if packed else [(x.strides[0] // size, x.strides[1] // size) for x in arrays]
        stream = cupy.cuda.get_current_stream().ptr
        self.start(n, [x.data.ptr for x in arrays], stream, strides)

    def start(
        self, n: int, places: Sequence[int], stream: int,
        strides: Sequence[tuple[int, int]] | None = None,
    ) -> None:  # fmt: skip
        """Run n samples: arrays by their addresses, packed or with strides (row, step)."""
        if n == 0:
            return
        if strides is None:
            self.packed.launch(n, stream, [n, *places])
        else:
            words = [n]
            for place, (row, step) in zip(places, strides, strict=True):
                words += (place, row, step)
            self.strided.launch(n, stream, words)

    def __repr__(self) -> str:
        return f"<CudaKernel {self.name} {self.dtype}>"
