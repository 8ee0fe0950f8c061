# pyright: basic
# (JAX's arrays under a trace are typed in part)
"""A program as XLA operations, through the interpreter on JAX arrays.

Straight-line code becomes one operation each, rolled code loops over bodies (`lax.fori_loop`,
`lax.while_loop`, `lax.switch`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import DTypeLike

from mozzi.program.meaning import MEANING, Run
from mozzi.program.node import Node
from mozzi.program.program import Buffer, Loop, Output, Program, Store

if TYPE_CHECKING:
    from jax import Array

__all__ = ["operations"]


Memory: TypeAlias = "tuple[Array, ...]"
"""Buffers that a loop writes."""


def operations(program: Program, dtype: DTypeLike, arrays: Sequence[Array]) -> list[Array]:
    """The results of a program on JAX arrays that all have the same batch axes."""
    import jax.numpy as jnp

    batch = arrays[0].shape[: arrays[0].ndim - len(program.inputs[0].shape)] if arrays else ()
    columns = [
        jnp.moveaxis(x.reshape(*batch, spec.size), -1, 0)
        for x, spec in zip(arrays, program.inputs, strict=True)
    ]
    run = _XlaRun(columns, batch, np.dtype(dtype))
    run.region(program.region)
    return [run.array(x, batch) for x in program.outputs]


def _meaning() -> dict[str, Callable[..., Array]]:
    import jax.numpy as jnp

    return {
        **cast("dict[str, Callable[..., Array]]", MEANING),
        "sqrt": jnp.sqrt,
        "sin": jnp.sin,
        "cos": jnp.cos,
        "atan2": jnp.arctan2,
        "exp": jnp.exp,
        "log": jnp.log,
        "tanh": jnp.tanh,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "select": jnp.where,
        "min": lambda a, b: jnp.where(a <= b, a, b),
        "max": lambda a, b: jnp.where(a >= b, a, b),
    }


class _XlaRun(Run["Array"]):
    """The interpreter on JAX arrays: buffers are arrays (size, batch), loops are XLA loops."""

    arguments: Sequence[Array]
    memory: dict[int, Array]
    indices: dict[int, int | Array]

    def __init__(self, columns: Sequence[Array], batch: tuple[int, ...], dtype: np.dtype):
        super().__init__(columns, _meaning())
        self.batch, self.dtype = batch, dtype

    def memory_of(self, buffer: Buffer) -> Array:
        import jax.numpy as jnp

        if id(buffer) not in self.memory:
            if buffer.kind == "table":
                self.memory[id(buffer)] = jnp.asarray(
                    np.ravel(np.asarray(buffer.data)), dtype=self.dtype
                )
            elif buffer.kind == "input":
                self.memory[id(buffer)] = self.arguments[buffer.position]
            else:
                self.memory[id(buffer)] = jnp.zeros((buffer.size, *self.batch), self.dtype)
        return self.memory[id(buffer)]

    def put(self, buffer: Buffer, where: int | Array, value: Array) -> None:
        self.memory[id(buffer)] = self.memory_of(buffer).at[where].set(value)

    def entry(self, table: np.ndarray, at: int | Array) -> int | Array:
        import jax.numpy as jnp

        return int(table[at]) if isinstance(at, int) else jnp.asarray(table, np.int32)[at]

    def loop(self, loop: Loop) -> None:
        import jax.numpy as jnp
        from jax import lax

        scratch = _stored(loop)
        for buffer in scratch:
            self.memory_of(buffer)
        keys = [id(b) for b in scratch]

        def step(at: int | Array, memory: Memory) -> Memory:
            inner = self.fork(dict(zip(keys, memory, strict=True)))
            inner.indices[id(loop.variable)] = at

            def branch(n: int) -> Callable[[Memory], Memory]:
                def run(memory: Memory) -> Memory:
                    own = inner.fork(dict(zip(keys, memory, strict=True)))
                    own.region(loop.branches[n])
                    return tuple(own.memory[k] for k in keys)

                return run

            if loop.which is None:
                return branch(0)(memory)
            branches = [branch(n) for n in range(len(loop.branches))]
            return lax.switch(self.entry(loop.which, at), branches, memory)

        start = loop.start if isinstance(loop.start, int) else self.index(loop.start)
        memory = tuple(self.memory[k] for k in keys)
        follow = loop.follow
        if follow is not None:
            _, memory = lax.while_loop(
                lambda s: s[0] >= loop.stop,
                lambda s: (self.entry(follow, s[0]), step(s[0], s[1])),
                (jnp.asarray(start, np.int32), memory),
            )
        else:
            stop = loop.stop if isinstance(loop.stop, int) else self._count(loop.stop)
            count = (
                (stop - start + loop.step - (1 if loop.step > 0 else -1)) // loop.step
                if isinstance(stop, int)
                else stop - start
            )
            memory = lax.fori_loop(0, count, lambda n, m: step(start + n * loop.step, m), memory)
        self.memory.update(zip(keys, memory, strict=True))

    def _count(self, stop: Node) -> Array:
        """A number of steps: the same for all samples, so the first one's."""
        import jax.numpy as jnp

        return jnp.ravel(self.values[id(stop)])[0].astype(np.int32)

    def fork(self, memory: dict[int, Array]) -> _XlaRun:
        new = _XlaRun(self.arguments, self.batch, self.dtype)
        new.values, new.indices = dict(self.values), dict(self.indices)
        new.memory = self.memory | memory
        return new

    def array(self, output: Output, batch: tuple[int, ...]) -> Array:
        import jax.numpy as jnp

        if isinstance(output.values, Buffer):
            flat = jnp.moveaxis(self.memory_of(output.values), 0, -1)
        else:
            values = [jnp.asarray(self.values[id(x)], self.dtype) for x in output.values]
            rows = [jnp.broadcast_to(x, batch) for x in values]
            flat = jnp.stack(rows, axis=-1) if rows else jnp.zeros((*batch, 0), self.dtype)
        return flat.reshape(*batch, *output.shape)


def _stored(loop: Loop) -> list[Buffer]:
    """The buffers that a loop writes, inner loops included."""
    found: dict[int, Buffer] = {}
    stack = [s for b in loop.branches for s in b.statements]
    while stack:
        s = stack.pop()
        if isinstance(s, Store):
            found[id(s.buffer)] = s.buffer
        elif isinstance(s, Loop):
            stack.extend(x for b in s.branches for x in b.statements)
    return list(found.values())
