"""The PyTorch target: functions of tensors with gradients, on the CPU and on NVIDIA GPUs.

All programs are one function of (key, tensors…). A key names a program by its digest, and a
derivative by the key of its program and what is derived, so that derivatives of any order are
programs, made when they are first needed. torch.compile meets the function as the operator
`mozzi::evaluate`, whose shapes and derivative are registered; torch.func, which does not
differentiate custom operators, meets it as a torch.autograd.Function.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from mozzi.errors import ExtraMissingError
from mozzi.program.products import (
    pullback,
    pullback_arrays,
    pushforward,
    pushforward_arrays,
)
from mozzi.program.program import Program

__all__ = ["TorchKernel", "build"]


def build(make: Callable[[], Program], dtype: str, key: str | None = None) -> TorchKernel:
    """The kernel of a program, for PyTorch."""
    if importlib.util.find_spec("torch") is None:
        raise ExtraMissingError(
            "the PyTorch target needs torch; install it with: pip install mozzi[torch]"
        )
    return TorchKernel(make(), dtype)


class TorchKernel:
    """A function of tensors, all on one device; leading axes are batch axes and broadcast.

    Differentiable to any order with respect to all arguments, by their numbers: a gradient with
    respect to q has the shape of q, quaternions included. Works under torch.compile and
    torch.func. operations, flops: what one evaluation takes; source: LLVM IR.
    """

    def __init__(self, program: Program, dtype: str):
        self.program, self.dtype, self.name = program, dtype, program.name
        self.inputs, self.outputs = program.inputs, program.outputs
        self.operations, self.flops = program.operations, program.flops
        self.single = program.single
        self._key = f"{program.digest()[:24]} {dtype}"
        self._shapes = tuple((x.name, x.shape) for x in self.inputs)
        found = _FOUND.setdefault(self._key, _Evaluation(self.inputs, self.outputs, dtype))
        found.make = lambda: program
        self._operator, self._function = _operator(), _function()

    @property
    def source(self) -> str:
        return _find(self._key).cpu.source

    def __call__(self, *args: Any) -> Any:
        import torch

        if len(args) != len(self._shapes):
            raise TypeError(f"{self.name} takes {len(self._shapes)} tensors, not {len(args)}")
        dtype = torch.float64 if self.dtype == "float64" else torch.float32
        device = next((x.device for x in args if isinstance(x, torch.Tensor)), None)
        tensors, batches = [], []
        for x, (name, shape) in zip(args, self._shapes):
            if not isinstance(x, torch.Tensor):
                x = torch.as_tensor(x, dtype=dtype, device=device)
            if x.dtype != dtype or x.device != (device or x.device):
                raise TypeError(
                    f"{self.name}: {name} is {x.dtype} on {x.device}; this kernel computes in"
                    f" {dtype}, here on {device or x.device}: convert it with .to(...)"
                )
            split = x.dim() - len(shape)
            if split < 0 or x.shape[split:] != shape:
                raise ValueError(
                    f"{self.name}: {name} has shape {tuple(x.shape)}; its last axes are {shape}"
                )
            tensors.append(x)
            batches.append(x.shape[:split])
        batch = torch.broadcast_shapes(*batches) if batches else ()
        tensors = [x.expand(*batch, *s) for x, (_, s) in zip(tensors, self._shapes)]
        if torch.compiler.is_compiling():
            results = self._operator(self._key, tensors)
        else:
            results = self._function.apply(self._key, *tensors)
        return results[0] if self.single else tuple(results)

    def __repr__(self) -> str:
        return f"<TorchKernel {self.name} {self.dtype}>"


class _Evaluation:
    """A program by its arguments and results; made and compiled when it is first run."""

    make: Callable[[], Program]

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Any], dtype: str):
        self.inputs, self.outputs, self.dtype = inputs, outputs, dtype

    @cached_property
    def program(self) -> Program:
        return self.make()

    @cached_property
    def cpu(self) -> Any:
        from mozzi.targets import llvm

        return llvm.build(lambda: self.program, self.dtype)

    @cached_property
    def cuda(self) -> Any:
        from mozzi.targets import cuda

        return cuda.build(lambda: self.program, self.dtype)

    def derived(self, how: str, wrt: tuple[int, ...]) -> _Evaluation:
        arrays, make = _DERIVED[how]
        derived = _Evaluation(*arrays(self.inputs, self.outputs, wrt), self.dtype)
        derived.make = lambda: make(self.program, wrt)
        return derived

    def batch(self, tensors: Sequence[Any]) -> tuple[int, ...]:
        return tuple(tensors[0].shape[: tensors[0].dim() - len(self.inputs[0].shape)])

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        import torch

        with _LOCK:
            kernel = self.cuda if tensors[0].is_cuda else self.cpu
        if tensors[0].is_cuda:
            batch = self.batch(tensors)
            results = [tensors[0].new_empty((*batch, *y.shape)) for y in self.outputs]
            kernel.on_tensors([x.detach() for x in tensors], results)
            return results
        found = kernel(*(x.detach().numpy() for x in tensors))
        found = found if isinstance(found, tuple) else (found,)
        return [torch.from_numpy(np.asarray(y)) for y in found]


_DERIVED: dict[str, tuple[Callable[..., Any], Callable[..., Program]]] = {
    "back": (pullback_arrays, pullback),
    "ahead": (pushforward_arrays, pushforward),
}
_FOUND: dict[str, _Evaluation] = {}
_LOCK = threading.RLock()


def _find(key: str) -> _Evaluation:
    """What a key names: a program that was built, or a derivative of one."""
    if key not in _FOUND:
        base, how, numbers = key.rsplit(" ", 2)
        _FOUND[key] = _find(base).derived(how, tuple(map(int, numbers.split(","))))
    return _FOUND[key]


def _derived(key: str, how: str, chosen: Iterable[Any]) -> str:
    """The key of a derivative with respect to the chosen arguments."""
    return f"{key} {how} {','.join(str(k) for k, choice in enumerate(chosen) if choice)}"


@cache
def _operator() -> Any:
    """`mozzi::evaluate`, registered on first use."""
    import torch

    @torch.library.custom_op(
        "mozzi::evaluate", mutates_args=(), schema="(str key, Tensor[] tensors) -> Tensor[]"
    )
    def evaluate(key: str, tensors: Any) -> Any:
        return _find(key).run(tensors)

    @evaluate.register_fake
    def _(key: str, tensors: Any) -> Any:
        found = _find(key)
        batch = found.batch(tensors)
        return [tensors[0].new_empty((*batch, *y.shape)) for y in found.outputs]

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.key = inputs[0]
        ctx.save_for_backward(*inputs[1])

    def backward(ctx: Any, weights: Any) -> Any:
        needed = ctx.needs_input_grad[1]
        found = evaluate(_derived(ctx.key, "back", needed), [*ctx.saved_tensors, *weights])
        results = iter(found)
        return None, [next(results) if need else None for need in needed]

    evaluate.register_autograd(backward, setup_context=setup)
    return evaluate


@cache
def _function() -> Any:
    """The same function with the derivatives and the vectorisation that torch.func asks for."""
    import torch

    class Evaluate(torch.autograd.Function):
        @staticmethod
        def forward(key: str, *tensors: Any) -> Any:
            return tuple(_find(key).run(tensors))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.key = inputs[0]
            ctx.save_for_backward(*inputs[1:])
            ctx.save_for_forward(*inputs[1:])

        @staticmethod
        def backward(ctx: Any, *weights: Any) -> Any:
            needed = ctx.needs_input_grad[1:]
            key = _derived(ctx.key, "back", needed)
            found = iter(Evaluate.apply(key, *ctx.saved_tensors, *weights))
            return None, *(next(found) if need else None for need in needed)

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
            moved = [x for x in tangents if x is not None]
            key = _derived(ctx.key, "ahead", [x is not None for x in tangents])
            return Evaluate.apply(key, *ctx.saved_tensors, *moved)

        @staticmethod
        def vmap(info: Any, in_dims: Any, key: str, *tensors: Any) -> Any:
            moved = [
                x.expand(info.batch_size, *x.shape) if d is None else x.movedim(d, 0)
                for x, d in zip(tensors, in_dims[1:])
            ]
            results = Evaluate.apply(key, *moved)
            return results, (0,) * len(results)

    return Evaluate
