"""The programs that derivatives of forward dynamics are products of, for targets to which one
program of everything is too large:  −M⁻¹ ∂τ/∂q, −M⁻¹ ∂τ/∂v, M⁻¹  at the acceleration a.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.derivatives.first import inverse_dynamics_derivatives
from mozzi.algorithms.dynamics.forward import forward_dynamics
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix_inverse
from mozzi.model import Model
from mozzi.program.passes import prune
from mozzi.program.program import Input, Program, trace
from mozzi.types import Traced

__all__ = ["forward_parts"]


def forward_parts(
    model: Model, inputs: Sequence[Input], options: Mapping[str, object]
) -> tuple[Program, ...]:
    """a, then M⁻¹, of the arguments of `forward_dynamics_derivatives`; then ∂τ/∂q and ∂τ/∂v, of
    these and of a behind them. None for mechanisms with loops, whose derivatives are no such
    products.
    """
    if closed(model):
        return ()
    names = [x.name for x in inputs]
    others = {n: x for n, x in options.items() if n not in names}

    def given(arrays: tuple[Traced, ...], *taken: str) -> dict[str, Traced]:
        return {n: x for n, x in zip((*names, "a"), arrays) if n in (*taken, "wrenches")}

    def forward(*arrays: Traced) -> object:
        return forward_dynamics(model, **given(arrays, "q", "v", "tau"), **others)

    def inverse(*arrays: Traced) -> object:
        return mass_matrix_inverse(model, arrays[names.index("q")])

    def changes(*arrays: Traced) -> object:
        found = inverse_dynamics_derivatives(model, **given(arrays, "q", "v", "a"), **others)
        return found[:2]

    acceleration = Input("a", (model.nv,))
    parts: tuple[tuple[Callable[..., object], Sequence[Input]], ...] = (
        (forward, inputs), (inverse, inputs), (changes, (*inputs, acceleration)),
    )  # fmt: skip
    return tuple(prune(trace(part, taken, part.__name__)) for part, taken in parts)
