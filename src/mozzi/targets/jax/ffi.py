# pyright: basic
# (JAX's interface to foreign functions is typed in part)
"""Kernels of the CPU and CUDA targets as functions that XLA calls: names, arrays, devices."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import TYPE_CHECKING, cast

from mozzi.locks import ForkLock
from mozzi.targets.derivatives import find
from mozzi.targets.jax import cpu_handler, cuda_handler

if TYPE_CHECKING:
    from jax import Array
    from jax.extend.core import Primitive

    from mozzi.targets.jax.kernel import Abstract

__all__ = ["call", "has_kernel"]

_REGISTERED: dict[str, object] = {}
_LOCK = ForkLock()


def has_kernel(key: str, platform: str) -> bool:
    """Whether XLA can call a kernel of this program on "cpu" or "CUDA"."""
    return cpu_handler.possible(find(key)) if platform == "cpu" else cuda_handler.possible()


def _target(key: str, platform: str, batch: Sequence[int]) -> str:
    """The name under which XLA knows the handler of a program for so many samples."""
    from jax import ffi

    found, few = find(key), False
    name = f"mozzi_{platform}_{hashlib.sha256(key.encode()).hexdigest()[:32]}"
    if platform == "CUDA" and all(isinstance(n, int) for n in batch):  # none is a symbol
        few = cuda_handler.few(found, prod(batch))
        name += "_few" if few else ""
    with _LOCK:
        if name not in _REGISTERED:
            on_gpu = platform == "CUDA"
            made = cuda_handler.handler(found, few) if on_gpu else cpu_handler.handler(found)
            capsule, _REGISTERED[name] = made
            ffi.register_ffi_target(name, capsule, platform=platform)
            ffi.register_ffi_target_as_batch_partitionable(name)
    return name


def call(
    key: str, arrays: Sequence[Array], platform: str, *, split: bool = False, target: str = ""
) -> list[Array]:
    """The results of a program by its kernel, on arrays whose batch axes broadcast.

    On the CPU an array that is the same for all samples stays as it is. split: whether there are
    several devices, and each computes its own samples.
    """
    import jax.numpy as jnp

    found = find(key)
    batch = found.batch(arrays)
    rows: list[Array] = []
    for x, spec in zip(arrays, found.inputs, strict=True):
        own = x.shape[: len(batch)]
        if own != batch and (split or platform != "cpu" or prod(own) != 1):
            x, own = jnp.broadcast_to(x, (*batch, *spec.shape)), batch
        rows.append(x.reshape(*own, spec.size))
    sizes = tuple(y.size for y in found.outputs)
    name = target or _target(key, platform, batch)
    results = _primitive().bind(*rows, target=name, batch=batch, sizes=sizes, split=split)
    return [y.reshape(*batch, *s.shape) for y, s in zip(results, found.outputs, strict=True)]


@cache
def _primitive() -> Primitive:
    """(rows…; target, batch, sizes, split) ↦ rows: the call as XLA gets it."""
    from jax import ffi
    from jax.extend.core import Primitive
    from jax.interpreters import mlir

    run = Primitive("mozzi_call")
    run.multiple_results = True

    @run.def_abstract_eval
    def _(
        *rows: Abstract, target: str, batch: tuple[int, ...], sizes: tuple[int, ...], split: bool
    ) -> list[Abstract]:
        return [rows[0].update(shape=(*batch, n)) for n in sizes]

    def lower(
        ctx: mlir.LoweringRuleContext, *rows: mlir.ir.Value, target: str, batch: tuple[int, ...],
        sizes: tuple[int, ...], split: bool,
    ) -> Sequence[mlir.ir.Value | Sequence[mlir.ir.Value]]:  # fmt: skip
        given = cast("Sequence[Abstract]", ctx.avals_in)
        attributes = _splitting(batch, [x.shape[-1] for x in given], sizes) if split else {}
        extra = {name: mlir.ir.Attribute.parse(text) for name, text in attributes.items()}
        return ffi.ffi_lowering(target, extra_attributes=extra)(ctx, *rows)

    mlir.register_lowering(run, lower)
    return run


def _splitting(batch: Sequence[int], inputs: Sequence[int], sizes: Sequence[int]) -> dict[str, str]:
    """What tells XLA's two partitioners that rows are split along batch axes, and no others."""
    lengths = [*batch, *inputs, *sizes]
    letter = [chr(ord("i") + k) if k < 18 else f"z_{k - 17}" for k in range(len(lengths))]
    row = lambda k: f"[{', '.join([*letter[: len(batch)], letter[k]])}]"
    first, last = len(batch), len(batch) + len(inputs)
    sides = [map(row, range(first, last)), map(row, range(last, len(lengths)))]
    rule = "->".join(f"({', '.join(side)})" for side in sides)
    factors = ", ".join(f"{name}={n}" for name, n in zip(letter, lengths, strict=True))
    return {
        "mhlo.frontend_attributes": f'{{num_batch_dims = "{len(batch)}"}}',
        "sdy.sharding_rule": f"#sdy.op_sharding_rule<{rule} {{{factors}}}, custom>",
    }
