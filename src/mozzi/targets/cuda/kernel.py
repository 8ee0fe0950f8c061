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
from functools import cached_property, partial
from types import ModuleType
from typing import TYPE_CHECKING, cast

import numpy as np

from mozzi.program.program import Input, Program
from mozzi.targets.cuda.arrays import DeviceArray, Out, columnar, rowwise
from mozzi.targets.cuda.arrays import rows as rows_of
from mozzi.targets.cuda.here import any_of, cupy_here, is_jax, working_stream
from mozzi.targets.cuda.launch import WARP, choose
from mozzi.targets.cuda.launches import Launch, Launches
from mozzi.targets.cuda.limb_source import LimbSource, few_of
from mozzi.targets.cuda.nvidia import Function, machine_code, most_shared
from mozzi.targets.cuda.quick import CupySide, Side, TorchSide, places
from mozzi.targets.cuda.source import CudaSource

if TYPE_CHECKING:
    import jax
    from torch import Tensor

    from mozzi.targets.jax.kernel import JaxKernel

__all__ = ["CudaKernel", "build"]

COMPILED_ONCE_OPERATIONS = 12_000  # of a program whose launch shape is not tried out


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
    memory of the compiled code.
    """

    def __init__(self, program: Program, dtype: str):
        self.program, self.dtype = program, np.dtype(dtype)
        self.name, self.inputs, self.outputs = program.name, program.inputs, program.outputs
        self.operations, self.flops = program.operations, program.flops
        self.single = program.single
        self._shapes = tuple(x.shape for x in self.inputs)
        self._results_shapes = tuple(x.shape for x in self.outputs)
        self._functions: dict[int, Function] = {}
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
        return self._function(packed=False)

    @cached_property
    def packed(self) -> Function:
        """The kernel for arrays whose rows lie one after the other."""
        return self._function(packed=True)

    def _with_numbers(self, mask: int) -> Function:
        """The packed kernel of which some arguments are numbers, those whose bit is set."""
        if not mask:
            return self.packed
        if mask not in self._functions:
            made = self._function(packed=True, numbers=mask)
            made.words = self._words(mask) + "q" * len(self.outputs)
            self._functions[mask] = made
        return self._functions[mask]

    def _words(self, mask: int) -> str:
        """The types of n and of the arguments, some of which are numbers."""
        number = "d" if self.dtype.itemsize == 8 else "f4x"
        return "q" + "".join(number if mask >> k & 1 else "q" for k in range(len(self.inputs)))

    def _run(self, numbers: int, n: int, stream: int, words: Sequence[float]) -> None:
        """Run n samples of packed arrays and numbers."""
        self._with_numbers(numbers).launch(n, stream, words)

    def _function(self, packed: bool, numbers: int = 0) -> Function:
        cupy = cupy_here()
        most = most_shared(cupy.cuda.Device().id)
        first = CudaSource(self.program, self.dtype.name, packed, numbers=numbers, most_shared=most)
        if first.plans:
            code, block = partial(machine_code, cupy, first.text), WARP * first.warps
            made = Function(cupy, code, first.shared, block, len(first.plans), fill=True)
            made.few = few_of(
                lambda: LimbSource(
                    first.program, self.dtype.name, packed, numbers, most_shared=most, rows=True
                ),
                first.program, most, lambda: made.words,
            )  # fmt: skip
            return made

        def make(resident: int) -> Function:
            source = CudaSource(self.program, self.dtype.name, packed, resident, numbers=numbers)
            return Function(cupy, partial(machine_code, cupy, source.text), source.shared)

        function, function.block = choose(make, self.flops > COMPILED_ONCE_OPERATIONS)
        return function

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
            return self._jax(*self._jax_arrays(args))
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
        n = tuple(like.shape[:1])
        given = places(side, args, n, self._shapes, numbers=True) if n else None
        if given is None or not side.here(like):
            return None
        words = [n[0], *given[0]]
        if out is None:
            made = [side.new(like, n + s) for s in self._results_shapes]
            results = [x for x, _ in made]
            words += [place for _, place in made]
        else:
            results = self._given(out)
            found = places(side, results, n, self._results_shapes)
            if found is None:
                return None
            words += found[0]
        if n[0]:
            try:
                self._run(given[1], n[0], side.stream(like), words)
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

    def _jax_arrays(self, args: Sequence[DeviceArray]) -> list[jax.Array]:
        """The arguments as JAX arrays on a GPU: those that are, others by DLPack, or copied."""
        jax = importlib.import_module("jax")
        arrays: list[jax.Array] = []
        for x, spec in zip(args, self.inputs, strict=True):
            if isinstance(x, jax.core.Tracer):
                raise TypeError(
                    f"{self.name}: {spec.name} is being traced by JAX; compile with target='jax'"
                )
            if not isinstance(x, jax.Array):
                there = hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray)
                x = jax.dlpack.from_dlpack(x) if there else jax.numpy.asarray(x, self.dtype)
            array = cast("jax.Array", x)
            if any(device.platform == "cpu" for device in array.devices()):
                raise TypeError(
                    f"{self.name}: {spec.name} is on the CPU; put it on the GPU with"
                    " jax.device_put, or compile with target='jax'"
                )
            self._check(array, spec)
            arrays.append(array)
        return arrays

    def on_tensors(self, tensors: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        """Run on PyTorch's memory and stream: tensors of one batch, contiguous results."""
        n = results[0].numel() // self.outputs[0].size if self.outputs[0].size else 0
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
        self.start(n, [x.data_ptr() for x in (*tensors, *results)], stream, strides)

    def _array(self, cupy: ModuleType, x: object, spec: Input) -> DeviceArray:
        if hasattr(x, "__cuda_array_interface__") or isinstance(x, cupy.ndarray):
            array = cupy.asarray(x)
        elif hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):
            array = cupy.from_dlpack(x)
        else:
            array = cupy.asarray(x, dtype=self.dtype)
        self._check(array, spec)
        return array

    def _check(self, array: DeviceArray | jax.Array, spec: Input) -> None:
        if array.dtype != self.dtype:
            raise TypeError(
                f"{self.name}: {spec.name} is {array.dtype}, this kernel computes in {self.dtype};"
                f" convert it, or compile with dtype={array.dtype.name!r}"
            )
        split = array.ndim - len(spec.shape)
        if split < 0 or array.shape[split:] != spec.shape:
            raise ValueError(
                f"{self.name}: {spec.name} has shape {array.shape}; its last axes are {spec.shape}"
            )

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
        columns = any(columnar(x) for x in rows) and not any(rowwise(x) for x in rows)
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
