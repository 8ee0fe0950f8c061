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
from mozzi.algorithms.dynamics.forward import Sweeps, forward, forward_dynamics
from mozzi.algorithms.dynamics.inverse_mass import InverseMass
from mozzi.algorithms.dynamics.mass_matrix import SHALLOW, mass_matrix, mass_matrix_inverse
from mozzi.algorithms.dynamics.momenta import AtRest
from mozzi.algorithms.recursion.containers import ZERO, BlockArray, joint_matrix
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import ByBody, JointVector
from mozzi.lie import Wrench
from mozzi.model import Model
from mozzi.program.passes import prune
from mozzi.program.program import Input, Program, trace
from mozzi.program.schedule import live_values
from mozzi.program.settings import settings, tracing
from mozzi.types import Traced

__all__ = [
    "Parts", "forward_factors", "forward_from_rest", "lean", "limbs_of", "mass_factors", "parts_of",
]  # fmt: skip

MANY_VALUES = 220  # live at once, of which registers hold no more
KEPT_VALUES = 440  # of which registers and shared memory hold no more


@algorithm(regroup=True)
def mass_factors(model: Mechanism, q: JointVector) -> tuple[BlockArray, BlockArray]:
    """(L, D⁻¹) of the mass matrix, L without its diagonal of ones.  Rodriguez et al. (0.30)."""
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


@algorithm(regroup="moments")
def forward_from_rest(
    model: Mechanism,
    q: JointVector,
    v: JointVector,
    tau: JointVector,
    wrenches: ByBody[Wrench] | None = None,
    resistance: bool = False,
) -> BlockArray:
    """`forward_dynamics` of a tree: what v, gravity and wrenches ask for is taken from τ first.

    Articulated bodies at rest without weight answer what is left, M a = τ − bias: their sweeps
    have no η, which would have to be remembered from the first to the third for every body. As many
    operations, three quarters of the live values.
    """
    x = unbalanced(model, q, v, tau, wrenches, resistance)
    return forward(Sweeps(AtRest(model), q, ZERO, x))[0]


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
    bodies. Of derivatives of forward dynamics: the factors and a, of the same arguments, in one
    program or in two; then ∂τ/∂q and ∂τ/∂v of inverse dynamics, of these and of a behind them. Of
    derivatives of inverse dynamics: these, and M, which one program would keep until the end. None
    of other functions, and of mechanisms with loops, whose derivatives are no such products.
    """
    names = [x.name for x in inputs]
    others = {n: x for n, x in options.items() if n not in names}

    def given(arrays: tuple[Traced, ...], *taken: str) -> dict[str, Traced]:
        return {n: x for n, x in zip((*names, "a"), arrays) if n in (*taken, "wrenches")}

    def factors(*arrays: Traced) -> object:
        return mass_factors(model, arrays[names.index("q")])

    def forward(*arrays: Traced) -> object:
        return forward_factors(model, **given(arrays, "q", "v", "tau"), **others)

    def accelerations(*arrays: Traced) -> object:
        return forward_from_rest(model, **given(arrays, "q", "v", "tau"), **others)

    def changes(*arrays: Traced) -> object:
        found = inverse_dynamics_derivatives(model, **given(arrays, "q", "v", "a"), **others)
        return found[:2]

    def mass(*arrays: Traced) -> object:
        return mass_matrix(model, arrays[names.index("q")])

    def program(part: Callable[..., object], *more: Input) -> Program:
        return prune(trace(part, (*inputs, *more), part.__name__))

    if function is mass_matrix_inverse and _depth(model) <= SHALLOW:
        return (program(factors),)
    if function is forward_dynamics_derivatives and not closed(model):
        first = (program(forward),)
        if not first[0].rolled and live_values(first[0]) > KEPT_VALUES:
            first = program(factors), program(accelerations)
        return (*first, program(changes, Input("a", (model.nv,))))
    known = {*names} <= {"q", "v", "a", "wrenches"} and others.get("actuated") is None
    if function is inverse_dynamics_derivatives and known and not closed(model):
        return program(changes), program(mass)
    return ()


def lean(
    program: Program, function: object, model: Model, options: Mapping[str, object]
) -> Program:
    """The program of this function, or another that computes the same and has clearly fewer live
    values, where these are many: forward dynamics of trees.
    """
    names = [x.name for x in program.inputs]
    if function is not forward_dynamics or closed(model) or program.rolled:
        return program
    live = live_values(program)
    if live <= MANY_VALUES or not {*names} <= {"q", "v", "tau", "wrenches"}:
        return program
    others = {n: x for n, x in options.items() if n not in names}

    def from_rest(*arrays: Traced) -> object:
        return forward_from_rest(model, **dict(zip(names, arrays, strict=True)), **others)

    other = prune(trace(from_rest, program.inputs, program.name))
    return other if live_values(other) < 0.9 * live else program


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
        return function in (
            mass_matrix_inverse, inverse_dynamics_derivatives, forward_dynamics_derivatives
        )  # fmt: skip


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
