# pyright: basic
# (JAX's primitives are not typed)
"""The JAX target: a program as a function of JAX arrays that traces under jit, vmap and grad.

All programs are one JAX primitive, of arrays whose batch axes are equally many and broadcast. XLA
calls the kernel of the CPU target, and on NVIDIA GPUs the CUDA kernel where CuPy is installed to
compile it, through its foreign function interface (`ffi`); elsewhere the program is XLA operations
(`xla`). Its derivatives are programs: forwards the program of the Jacobian times tangents, and as
that is linear in the tangents, backwards its transpose. Long programs with loops over bodies leave
their derivative to JAX.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from mozzi.errors import ExtraMissingError
from mozzi.program.inline import unrolled_size
from mozzi.program.packing import Packing
from mozzi.program.program import Program
from mozzi.targets.derivatives import derived, find, register, transposed
from mozzi.targets.jax.xla import operations
from mozzi.types import ArrayLike

if TYPE_CHECKING:
    from jax import Array
    from jax.extend.core import Primitive

__all__ = ["JaxKernel", "build"]


class Abstract(Protocol):
    """The shape of an array that is not there yet."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def update(self, *, shape: tuple[int, ...]) -> Abstract: ...

#: Operations of an evaluation, up to which a program with loops is unrolled to be differentiated: a
#: chain of 1,000 bodies takes 52 s to compile then, and a hundredth of the time of JAX's loops.
UNROLLED_OPERATIONS = 500_000


def build(make: Callable[[], Program], dtype: str, key: str | None = None) -> JaxKernel:
    """The kernel of a program, for JAX."""
    if importlib.util.find_spec("jax") is None:
        raise ExtraMissingError("the JAX target needs jax; install it with: pip install mozzi[jax]")
    return JaxKernel(make(), dtype)


class JaxKernel:
    """A pure function of JAX arrays: call it, jit it, vmap it, differentiate it.

    operations, flops: what one evaluation takes; source: the XLA program's text (HLO).
    """

    def __init__(self, program: Program, dtype: str):
        import jax

        if dtype == "float64" and not jax.config.read("jax_enable_x64"):
            raise ValueError(
                "JAX computes in float32 here; call jax.config.update('jax_enable_x64', True)"
                " first, or compile with dtype='float32'"
            )
        self.program, self.dtype = program, np.dtype(dtype)
        self.name, self.inputs, self.outputs = program.name, program.inputs, program.outputs
        self.operations, self.flops = program.operations, program.flops
        self.packings = cast("tuple[Packing, ...]", program.notes.get("packings", ()))
        self.function = self._function()
        self._jitted = jax.jit(self.function)

    def __call__(self, *args: ArrayLike) -> Array | tuple[Array, ...]:
        return self._jitted(*args)

    def __reduce__(self) -> tuple[object, ...]:
        return JaxKernel, (self.program, self.dtype.name)

    @property
    def source(self) -> str:
        """What XLA is given for one evaluation."""
        import jax

        shapes = [jax.ShapeDtypeStruct(x.shape, self.dtype) for x in self.inputs]
        return self._jitted.lower(*shapes).as_text()

    def _function(self) -> Callable[..., Array | tuple[Array, ...]]:
        import jax.numpy as jnp

        program, dtype = self.program, self.dtype
        key, evaluate = register(program, dtype.name), _primitive()

        def function(*args: ArrayLike) -> Array | tuple[Array, ...]:
            if len(args) != len(program.inputs):
                raise TypeError(
                    f"{program.name} takes {len(program.inputs)} arrays, not {len(args)}"
                )
            arrays: list[Array] = []
            batches: list[tuple[int, ...]] = []
            for x, spec in zip(args, program.inputs, strict=True):
                array = jnp.asarray(x, dtype=dtype)
                split = array.ndim - len(spec.shape)
                if split < 0 or array.shape[split:] != spec.shape:
                    raise ValueError(
                        f"{program.name}: {spec.name} has shape {array.shape};"
                        f" its last axes are {spec.shape}"
                    )
                batches.append(array.shape[:split])
                arrays.append(array)
            if not arrays:
                results = operations(program, dtype, [])
            else:
                axes = max(map(len, batches))
                arrays = [
                    x.reshape((1,) * (axes - len(batch)) + x.shape)
                    for x, batch in zip(arrays, batches, strict=True)
                ]
                results = evaluate.bind(*arrays, key=key)
            return results[0] if program.single else tuple(results)

        function.__name__ = program.name
        return function

    def __repr__(self) -> str:
        return f"<JaxKernel {self.name} {self.dtype}>"


@cache
def _primitive() -> Primitive:
    """(arrays…; key) ↦ results: what JAX's transformations know of programs."""
    import jax
    import jax.numpy as jnp
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    from mozzi.targets.jax import ffi

    evaluate = Primitive("mozzi_evaluate")
    evaluate.multiple_results = True

    @cache
    def compiled(key: str) -> Callable[..., Sequence[Array]]:
        return jax.jit(lambda *arrays: evaluate.bind(*arrays, key=key))

    def as_operations(*arrays: Array, key: str) -> list[Array]:
        found = find(key)
        batch = found.batch(arrays)
        whole = [
            jnp.broadcast_to(x, (*batch, *spec.shape))
            for x, spec in zip(arrays, found.inputs, strict=True)
        ]
        return operations(found.program, found.dtype, whole)

    def as_kernel(platform: str) -> mlir.LoweringRule:
        def lower(
            ctx: mlir.LoweringRuleContext, *values: mlir.ir.Value, key: str
        ) -> Sequence[mlir.ir.Value | Sequence[mlir.ir.Value]]:
            several = getattr(ctx.module_context.axis_context, "num_devices", 1) > 1
            function = as_operations
            if ffi.has_kernel(key, platform):
                function = lambda *arrays, key: ffi.call(key, arrays, platform, split=several)
            return mlir.lower_fun(function, multiple_results=True)(ctx, *values, key=key)

        return lower

    def abstract(*arrays: Abstract, key: str) -> list[Abstract]:
        found = find(key)
        batch = found.batch(arrays)
        return [arrays[0].update(shape=(*batch, *y.shape)) for y in found.outputs]

    def pushforward(
        primals: Sequence[Array], tangents: Sequence[Array | ad.Zero], *, key: str
    ) -> tuple[Sequence[Array], Sequence[Array]]:
        moving = [type(x) is not ad.Zero for x in tangents]
        program = find(key).program
        if program.rolled and unrolled_size(program) > UNROLLED_OPERATIONS:
            still = tuple(ad.instantiate_zeros(x) for x in tangents)
            return jax.jvp(lambda *x: as_operations(*x, key=key), tuple(primals), still)
        moved = [x for x, moves in zip(tangents, moving) if moves]
        results = evaluate.bind(*primals, key=key)
        return results, evaluate.bind(*primals, *moved, key=derived(key, "ahead", moving))

    def transpose(
        weights: Sequence[Array | ad.Zero], *arrays: Array | ad.UndefinedPrimal, key: str
    ) -> list[Array | None]:
        """Backwards through arguments in which the program is linear: their values play no part.

        An argument that was the same for several samples gets the sum of theirs.
        """
        open_ = [ad.is_undefined_primal(x) for x in arrays]
        weights = [ad.instantiate_zeros(x) for x in weights]
        back, taken = transposed(key, open_)
        values = [
            jnp.zeros(x.aval.shape, x.aval.dtype) if ad.is_undefined_primal(x) else x
            for x in (arrays[k] for k in taken)
        ]
        found = iter(evaluate.bind(*values, *weights, key=back))

        def own(x: Array, shape: tuple[int, ...]) -> Array:
            axes = [k for k, n in enumerate(shape) if n == 1 != x.shape[k]]
            return jnp.sum(x, axis=axes, keepdims=True) if axes else x

        return [
            own(next(found), x.aval.shape) if is_open else None
            for x, is_open in zip(arrays, open_)
        ]

    def vectorised(
        arrays: Sequence[Array], axes: Sequence[int | None], *, key: str
    ) -> tuple[Sequence[Array], list[int]]:
        moved = [
            jnp.expand_dims(x, 0) if a is None else jnp.moveaxis(x, a, 0)
            for x, a in zip(arrays, axes)
        ]
        results = evaluate.bind(*moved, key=key)
        return results, [0] * len(results)

    evaluate.def_impl(lambda *arrays, key: compiled(key)(*arrays))
    evaluate.def_abstract_eval(abstract)
    ad.primitive_jvps[evaluate] = pushforward
    ad.primitive_transposes[evaluate] = transpose
    batching.primitive_batchers[evaluate] = vectorised
    mlir.register_lowering(evaluate, mlir.lower_fun(as_operations, multiple_results=True))
    mlir.register_lowering(evaluate, as_kernel("cpu"), platform="cpu")
    mlir.register_lowering(evaluate, as_kernel("CUDA"), platform="cuda")
    return evaluate
