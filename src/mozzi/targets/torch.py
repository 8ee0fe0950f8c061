# pyright: basic
# (PyTorch may be missing, and is typed in part)
"""The PyTorch target: functions of tensors with gradients, on the CPU and on NVIDIA GPUs.

All programs and their derivatives are one function of (key, tensors…); `derived` says what a key
is. torch.compile meets the function as the operator `mozzi::evaluate`, whose shapes and derivative
are registered; torch.func, which does not differentiate custom operators, meets it as a
torch.autograd.Function.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from mozzi.errors import ExtraMissingError
from mozzi.program.packing import Packing
from mozzi.program.program import Program
from mozzi.targets.derivatives import Evaluation, derived, find, register
from mozzi.types import ArrayLike

if TYPE_CHECKING:
    from torch import Tensor
    from torch.autograd import Function

__all__ = ["TorchKernel", "build"]


class Context(Protocol):
    """What PyTorch keeps between an evaluation and its derivative."""

    key: str
    found: Evaluation
    needs_input_grad: tuple[bool, ...]

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]: ...
    def save_for_backward(self, *tensors: Tensor) -> None: ...
    def save_for_forward(self, *tensors: Tensor) -> None: ...


class OperatorContext(Protocol):
    """The same for an operator, whose tensors are one argument."""

    key: str
    needs_input_grad: tuple[bool, tuple[bool, ...]]

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]: ...
    def save_for_backward(self, *tensors: Tensor) -> None: ...


class VmapInfo(Protocol):
    """What torch.vmap tells of its batch."""

    @property
    def batch_size(self) -> int: ...


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
        if not program.inputs:
            raise ValueError(
                f"{program.name} takes no arrays; the PyTorch target needs one or more"
            )
        self.program, self.dtype, self.name = program, dtype, program.name
        self.inputs, self.outputs = program.inputs, program.outputs
        self.operations, self.flops = program.operations, program.flops
        self.packings = cast("tuple[Packing, ...]", program.notes.get("packings", ()))
        self.single = program.single
        self._key = register(program, dtype)
        self._shapes = tuple((x.name, x.shape) for x in self.inputs)
        self._tails = tuple(x.shape for x in self.inputs)
        self._evaluation = find(self._key)
        self._operator, self._function = _operator(), _function()
        self._recorded = _backward_function().apply
        self._torch = _torch()
        self._dtype = getattr(self._torch, dtype)

    def __reduce__(self) -> tuple[object, ...]:
        return TorchKernel, (self.program, self.dtype)

    @property
    def source(self) -> str:
        return self._evaluation.cpu.source

    def __call__(self, *args: Tensor | ArrayLike) -> Tensor | tuple[Tensor, ...]:
        torch = self._torch
        if len(args) != len(self._shapes):
            raise TypeError(f"{self.name} takes {len(self._shapes)} tensors, not {len(args)}")
        if not torch.compiler.is_compiling():
            quick = self._quick(cast("tuple[Tensor, ...]", args))
            if quick is not None:
                return quick[0] if self.single else tuple(quick)
        given = cast("tuple[Tensor, ...]", args)  # looked at below
        device = next((x.device for x in given if isinstance(x, torch.Tensor)), None)
        tensors: list[Tensor] = []
        batches: list[tuple[int, ...]] = []
        for x, (name, shape) in zip(given, self._shapes):
            if not isinstance(x, torch.Tensor):
                x = torch.as_tensor(x, dtype=self._dtype, device=device)
            if x.dtype != self._dtype or x.device != (device or x.device):
                raise TypeError(
                    f"{self.name}: {name} is {x.dtype} on {x.device}; this kernel computes in"
                    f" {self._dtype}, here on {device or x.device}: convert it with .to(...)"
                )
            size = tuple(x.shape)
            split = len(size) - len(shape)
            if split < 0 or size[split:] != shape:
                raise ValueError(f"{self.name}: {name} has shape {size}; its last axes are {shape}")
            tensors.append(x)
            batches.append(size[:split])
        if any(x != batches[0] for x in batches):
            batch = torch.broadcast_shapes(*batches)
            tensors = [x.expand(*batch, *s) for x, (_, s) in zip(tensors, self._shapes)]
        if torch.compiler.is_compiling():
            results = self._operator(self._key, tensors)
        elif _watched(tensors):
            results = self._function.apply(self._key, *tensors)
        else:
            results = _run(self._evaluation, tensors)
        return results[0] if self.single else tuple(results)

    def _quick(self, args: tuple[Tensor, ...]) -> Sequence[Tensor] | None:
        """The call with what most calls have, tensors of one batch on the CPU, or row-major ones
        (N, n) on one GPU; None where it is another.
        """
        first, kind, dtype = args[0], self._torch.Tensor, self._dtype
        if type(first) is not kind:
            return None
        axes = first.ndim - len(self._tails[0])
        on_gpu = first.is_cuda
        if axes < 0 or (on_gpu and axes != 1) or not (on_gpu or first.is_cpu):
            return None
        batch, device, asked = (*first.shape[:axes],), first.get_device(), False
        for x, shape in zip(args, self._tails):
            if type(x) is not kind or x.dtype is not dtype or x.shape != batch + shape:
                return None
            if x.get_device() != device or (on_gpu and not x.is_contiguous()):
                return None
            asked = asked or x.requires_grad
        if _transformed():
            return None
        if asked and self._torch.is_grad_enabled():
            return self._recorded(self._evaluation, *args)
        return _plain(self._evaluation, args)

    def __repr__(self) -> str:
        return f"<TorchKernel {self.name} {self.dtype}>"


@cache
def _torch() -> ModuleType:
    return importlib.import_module("torch")  # this module has its name


def _watched(tensors: Sequence[Tensor]) -> bool:
    """Whether somebody differentiates or vectorises."""
    torch = _torch()
    return (torch.is_grad_enabled() and any(x.requires_grad for x in tensors)) or _transformed()


def _transformed() -> bool:
    """Whether torch.func or derivatives forwards are at work."""
    active, forward = _transforms()
    return active() or getattr(forward, "_current_level", 0) >= 0


@cache
def _transforms() -> tuple[Callable[[], bool], object]:
    torch = _torch()
    active = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
    return active, torch.autograd.forward_ad


def _plain(found: Evaluation, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The results of tensors of one batch on the CPU, or of row-major ones (N, n) on one GPU."""
    return found.cuda.of_rows(tensors) if tensors[0].is_cuda else _run(found, tensors)


def _run(found: Evaluation, tensors: Sequence[Tensor]) -> list[Tensor]:
    torch = _torch()
    if tensors[0].is_cuda:
        batch = found.batch(tensors)
        results = [tensors[0].new_empty((*batch, *y.shape)) for y in found.outputs]
        found.cuda.on_tensors([x.detach() for x in tensors], results)
        return results
    numbers = found.cpu(*(x.detach().numpy() for x in tensors))
    numbers = numbers if isinstance(numbers, tuple) else (numbers,)
    return [torch.from_numpy(np.asarray(y)) for y in numbers]


@cache
def _operator() -> Callable[[str, Sequence[Tensor]], list[Tensor]]:
    """`mozzi::evaluate`, registered on first use."""
    torch = _torch()

    @torch.library.custom_op(
        "mozzi::evaluate", mutates_args=(), schema="(str key, Tensor[] tensors) -> Tensor[]"
    )
    def evaluate(key: str, tensors: Sequence[Tensor]) -> list[Tensor]:
        return _run(find(key), tensors)

    @evaluate.register_fake
    def _(key: str, tensors: Sequence[Tensor]) -> list[Tensor]:
        found = find(key)
        batch = found.batch(tensors)
        return [tensors[0].new_empty((*batch, *y.shape)) for y in found.outputs]

    def setup(
        ctx: OperatorContext, inputs: tuple[str, Sequence[Tensor]], output: Sequence[Tensor]
    ) -> None:
        ctx.key = inputs[0]
        ctx.save_for_backward(*inputs[1])

    def backward(
        ctx: OperatorContext, weights: Sequence[Tensor]
    ) -> tuple[None, list[Tensor | None]]:
        needed = ctx.needs_input_grad[1]
        found = evaluate(derived(ctx.key, "back", needed), [*ctx.saved_tensors, *weights])
        results = iter(found)
        return None, [next(results) if need else None for need in needed]

    evaluate.register_autograd(backward, setup_context=setup)
    return evaluate


@cache
def _backward_function() -> type[Function]:
    """The function with derivatives backwards only, of what `_plain` takes: what autograd asks for
    outside torch.func, at less cost a call.
    """
    torch = _torch()

    class EvaluateBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Context, found: Evaluation, *tensors: Tensor) -> tuple[Tensor, ...]:
            ctx.found = found
            ctx.save_for_backward(*tensors)
            return tuple(_plain(found, tensors))

        @staticmethod
        def backward(ctx: Context, *weights: Tensor) -> tuple[Tensor | None, ...]:
            needed = ctx.needs_input_grad[1:]
            back = ctx.found.back(needed)
            if weights[0].is_cuda and not all(w.is_contiguous() for w in weights):
                weights = tuple(w.contiguous() for w in weights)
            given = (*ctx.saved_tensors, *weights)
            if torch.is_grad_enabled():  # a derivative of the derivative may follow
                results = _function().apply(back.key, *given)
            else:
                results = _plain(back, given)
            if len(results) == len(needed):
                return None, *results
            found = iter(results)
            return None, *(next(found) if need else None for need in needed)

    return EvaluateBackward


@cache
def _function() -> type[Function]:
    """The same function with the derivatives and the vectorisation that torch.func asks for."""
    torch = _torch()

    class Evaluate(torch.autograd.Function):
        @staticmethod
        def forward(key: str, *tensors: Tensor) -> tuple[Tensor, ...]:
            return tuple(_run(find(key), tensors))

        @staticmethod
        def setup_context(
            ctx: Context, inputs: tuple[str, *tuple[Tensor, ...]], output: Sequence[Tensor]
        ) -> None:
            ctx.key, *tensors = inputs
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)

        @staticmethod
        def backward(ctx: Context, *weights: Tensor) -> tuple[Tensor | None, ...]:
            needed = ctx.needs_input_grad[1:]
            key = derived(ctx.key, "back", needed)
            found = iter(Evaluate.apply(key, *ctx.saved_tensors, *weights))
            return None, *(next(found) if need else None for need in needed)

        @staticmethod
        def jvp(ctx: Context, _: None, *tangents: Tensor | None) -> tuple[Tensor, ...]:
            moved = [x for x in tangents if x is not None]
            key = derived(ctx.key, "ahead", [x is not None for x in tangents])
            return Evaluate.apply(key, *ctx.saved_tensors, *moved)

        @staticmethod
        def vmap(
            info: VmapInfo, in_dims: Sequence[int | None], key: str, *tensors: Tensor
        ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
            moved = [
                x.expand(info.batch_size, *x.shape) if d is None else x.movedim(d, 0)
                for x, d in zip(tensors, in_dims[1:])
            ]
            results = Evaluate.apply(key, *moved)
            return results, (0,) * len(results)

    return Evaluate
