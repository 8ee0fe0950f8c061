"""What M⁻¹ and derivatives of forward dynamics are made of, for targets to which one program of
everything is too large: the factors of  M = Lᵀ D L,  and what  M⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ  multiplies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import final

from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.derivatives.first import (
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    unbalanced,
)
from mozzi.algorithms.dynamics.inverse_mass import InverseMass
from mozzi.algorithms.dynamics.mass_matrix import SHALLOW, mass_matrix, mass_matrix_inverse
from mozzi.algorithms.recursion.articulated import check_inertias
from mozzi.algorithms.recursion.containers import BlockArray, joint_matrix
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import ByBody, JointVector
from mozzi.lie import Wrench
from mozzi.model import Model
from mozzi.program.passes import prune
from mozzi.program.program import Input, Program, trace
from mozzi.program.settings import settings, tracing
from mozzi.types import Traced

__all__ = ["Parts", "forward_factors", "limbs_of", "mass_factors", "parts_of"]


@algorithm(regroup=True)
def mass_factors(model: Mechanism, q: JointVector) -> tuple[BlockArray, BlockArray]:
    """(L, D⁻¹) of the mass matrix, L without its diagonal of ones.  Rodriguez et al. (0.30)."""
    check_inertias(model)
    return _factors(model, InverseMass(model, mass_matrix(model, q)))


@algorithm(regroup=True)
def forward_factors(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    tau: JointVector,
    wrenches: ByBody[Wrench] | None = None,
    resistance: bool = False,
) -> tuple[BlockArray, BlockArray, BlockArray]:
    """(L, D⁻¹) of the mass matrix, and the acceleration of forward dynamics."""
    inverse = InverseMass(model, mass_matrix(model, q))
    x = unbalanced(model, q, v, tau, wrenches, resistance)
    return *_factors(model, inverse), inverse.solution(x)


def _factors(model: Mechanism, inverse: InverseMass) -> tuple[BlockArray, BlockArray]:
    L, D = joint_matrix(model, "L"), joint_matrix(model, "D")
    for i in model.outward():
        D[i, i] = inverse.D[i]
        for j in i.parent.path():
            L[i, j] = inverse.L[i, j]
    return L, D


def parts_of(
    function: object, model: Model, inputs: Sequence[Input], options: Mapping[str, object]
) -> tuple[Program, ...]:
    """Of M⁻¹: its factors, unless the tree is deep, where these have fewer digits than articulated
    bodies. Of derivatives of forward dynamics: the factors and a, of the same
    arguments; then ∂τ/∂q and ∂τ/∂v of inverse dynamics, of these and of a behind them. None of
    other functions, and of mechanisms with loops, whose derivatives are no such products.
    """
    names = [x.name for x in inputs]
    others = {n: x for n, x in options.items() if n not in names}

    def given(arrays: tuple[Traced, ...], *taken: str) -> dict[str, Traced]:
        return {n: x for n, x in zip((*names, "a"), arrays) if n in (*taken, "wrenches")}

    def factors(*arrays: Traced) -> object:
        return mass_factors(model, arrays[names.index("q")])

    def forward(*arrays: Traced) -> object:
        return forward_factors(model, **given(arrays, "q", "v", "tau"), **others)

    def changes(*arrays: Traced) -> object:
        found = inverse_dynamics_derivatives(model, **given(arrays, "q", "v", "a"), **others)
        return found[:2]

    parts: tuple[tuple[Callable[..., object], Sequence[Input]], ...] = ()
    if function is mass_matrix_inverse and _depth(model) <= SHALLOW:
        parts = ((factors, inputs),)
    elif function is forward_dynamics_derivatives and not closed(model):
        parts = ((forward, inputs), (changes, (*inputs, Input("a", (model.nv,)))))
    return tuple(prune(trace(part, taken, part.__name__)) for part, taken in parts)


@final
class Parts:
    """What `parts_of` gives, made when it is first asked for, as the whole program was traced."""

    def __init__(
        self, function: object, model: Model, inputs: Sequence[Input],
        options: Mapping[str, object],
    ):  # fmt: skip
        self._of = function, model, inputs, options
        self._settings = settings()

    def __call__(self) -> tuple[Program, ...]:
        return self._made

    @cached_property
    def _made(self) -> tuple[Program, ...]:
        with tracing(self._settings):
            made = parts_of(*self._of)
        for part in made:
            part.notes["limbs"] = limbs_of(self._of[1])
        return made

    @staticmethod
    def are_there(function: object) -> bool:
        """Whether there may be parts of such a function."""
        return function is mass_matrix_inverse or function is forward_dynamics_derivatives


def limbs_of(model: Model) -> dict[str, tuple[int, ...]]:
    """To which limb the elements of q, v, a and tau belong, −1 for those of the trunk: a limb ends
    in a tip and has no branches.
    """
    children = [0] * (model.nb + 1)
    for parent in model.parents:
        children[parent] += 1
    plain = [n <= 1 for n in children[:-1]]
    for k in reversed(range(model.nb)):
        if model.parents[k] >= 0 and not plain[k]:
            plain[model.parents[k]] = False
    limb: list[int] = []
    for k, parent in enumerate(model.parents):
        above = limb[parent] if parent >= 0 else -1
        limb.append((above if above >= 0 else k) if plain[k] else -1)
    q, v = (
        tuple(limb[k] for k in range(model.nb) for _ in range(ends[k], ends[k + 1]))
        for ends in (model.q_offsets, model.v_offsets)
    )
    return {"q": q, "v": v, "a": v, "tau": v}


def _depth(model: Model) -> int:
    """Joints from a tip to the base, at most."""
    depth = [0]
    for k in range(model.nb):
        depth.append(depth[model.body(k).parent + 1] + 1)
    return max(depth)
