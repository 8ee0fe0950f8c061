"""A function of one sample as a call of a batch, by JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.gpu_peers.case import SAMPLES, Call, Case, results


def jax_call(one: Callable[..., Any], case: Case, batch: int) -> Call:
    """`jit` of `vmap`, compiled ahead, its products in float32."""
    import jax

    jax.config.update("jax_default_matmul_precision", "highest")
    arrays = case.arrays(batch)
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays]
    compiled = jax.jit(jax.vmap(one)).lower(*shapes).compile()
    there: list[Any] = []

    def run() -> Any:
        there.extend(jax.device_put(x) for x in (arrays if not there else ()))
        return jax.block_until_ready(compiled(*there))

    read = lambda found: [np.asarray(x[:SAMPLES]) for x in results(found, case.function)]
    return Call(run, read)
