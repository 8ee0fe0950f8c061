# pyright: reportConstantRedefinition=false
"""Implicit steps: Newton's method with the tangent that differentiation of the program gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from mozzi.algorithms.calls.inlining import loops_over_units, units
from mozzi.algorithms.dynamics.forward import forward_dynamics
from mozzi.algorithms.recursion.rolled_or_not import rolls
from mozzi.errors import SingularError
from mozzi.model import Model
from mozzi.program.differentiate import forward
from mozzi.program.program import Index, load, loop, store
from mozzi.program.scalar import Node, Real, divide, maximum
from mozzi.simulation.traced_state import Memory
from mozzi.types import Traced

__all__ = ["newton", "solve"]

Residual: TypeAlias = Callable[[Traced], Traced]


def newton(
    model: Model,
    residual: Residual,
    start: Traced,
    known: Sequence[Traced | Real],
    iterations: int,
    mass: tuple[Traced, Real],
) -> tuple[Traced, Real]:
    """(x, defect): residual(x) = 0 from a start, and the last correction relative to x.

    known: the loaded values that the residual depends on besides x. mass: (q, c) with ∂residual/∂x
    = c M(q) + O(h). Models that are traced rolled cannot be differentiated: they take that leading
    part as the tangent, M⁻¹ being an O(n) recursion.
    """
    x = Memory("x", len(np.asarray(start)), start)
    defect = Memory("defect", 1, 0.0)
    rolled = rolls(model)
    q, c = mass
    weightless = model.with_gravity((0.0, 0.0, 0.0)) if rolled else None
    for _ in loop(0, 3 * iterations if rolled else iterations, name="iteration"):
        now = x.get()
        r = residual(now)
        if weightless is not None:
            dx = forward_dynamics(weightless, q, np.zeros(model.nv), r) * divide(1.0, c)
        else:
            dx = _correction(model, r, now, known)
        x.set(now - dx)
        size = [abs(e) for e in dx]
        scale = [abs(e) for e in now]
        defect.set([_largest(size) / (1.0 + _largest(scale))])
    return x.get(), defect.get()[0]


def _correction(model: Model, r: Traced, x: Traced, known: Sequence[Traced | Real]) -> Traced:
    """(∂r/∂x)⁻¹ r, everything that is known held; in loops where ways to the base are long."""
    held = [e for part in known for e in np.ravel(np.asarray(part, dtype=object))]
    held = [e for e in dict.fromkeys(held) if isinstance(e, Node) and e.op == "load"]
    n, rest = len(x), [0.0] * len(held)
    if not loops_over_units(model):
        tangent = forward(r, [*x, *held], np.vstack([np.eye(n), np.zeros((len(held), n))]))
        try:
            return solve(tangent, r)
        except ZeroDivisionError:  # of numbers: at any state
            raise SingularError(
                f"model {model.name!r}: its mass matrix has no inverse, so forces determine no "
                "acceleration; give bodies mass, or joints armature"
            ) from None
    equations = Memory("equations", (n + 1, n))  # columns of the tangent, and r
    for k, unit in units(n):
        equations.set_row(k, forward(r, [*x, *held], np.array([*unit, *rest], dtype=object)))
    equations.set_row(n, r)
    return _solve_in_loops(equations, n)


def _solve_in_loops(equations: Memory, n: int) -> Traced:
    """A⁻¹ b, from the columns of A and b in memory: all other rows lose each unknown in turn."""
    memory = equations.buffer

    def entry(row: Index, k: Index) -> Index:
        return Index(terms=((k, n), (row, 1)))

    for _, k in loop(0, n, name="pivot"):
        pivot = divide(1.0, load(memory, entry(k, k), 1, 0), nonzero=True)
        own = [load(memory, k, 1, n * j) for j in range(n + 1)]
        later, sooner = (Index(table=np.arange(n) + d, at=k) for d in (1, -1))
        for rows in (loop(later, n, name="row"), loop(sooner, -1, -1, name="row")):
            for _, i in rows:
                factor = load(memory, entry(i, k), 1, 0) * pivot
                for j, e in enumerate(own):
                    store(memory, i, 1, n * j, load(memory, i, 1, n * j) - factor * e)
    diagonal = [load(memory, None, 0, n * k + k) for k in range(n)]
    right = [load(memory, None, 0, n * n + k) for k in range(n)]
    pairs = zip(right, diagonal, strict=True)
    return np.array([b * divide(1.0, d, nonzero=True) for b, d in pairs], dtype=object)


def solve(A: Traced, b: Traced) -> Traced:
    """A⁻¹ b by elimination without pivoting: A is close to a positive definite matrix."""
    A, b = np.array(A, dtype=object), np.array(b, dtype=object)
    n = len(b)
    pivots: list[Real] = []
    for k in range(n):
        pivot = divide(1.0, A[k, k], nonzero=True)
        pivots.append(pivot)
        for i in range(k + 1, n):
            factor = A[i, k] * pivot
            A[i, k + 1 :] = A[i, k + 1 :] - factor * A[k, k + 1 :]
            b[i] = b[i] - factor * b[k]
    for k in reversed(range(n)):
        b[k] = (b[k] - sum((A[k, j] * b[j] for j in range(k + 1, n)), 0.0)) * pivots[k]
    return b


def _largest(values: Sequence[Real]) -> Real:
    out = values[0]
    for x in values[1:]:
        out = maximum(out, x)
    return out
