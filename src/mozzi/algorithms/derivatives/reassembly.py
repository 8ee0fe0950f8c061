# pyright: reportConstantRedefinition=false
"""How a closed mechanism follows its parameters π: re-assembly, differentiated.

The rows of the loops hold for every π: φ(q, π) = 0, A v = 0, A a + Ȧ v = 0. Some joints are held;
the others, f, move by the least that keeps the rows as they are,

    A_f δ_f = −∂φ/∂π,    A_f dv_f = −d(A v),    A_f da_f = −d(A a + Ȧ v),

d along what is known already: π and q for the second, π, q and v for the third. What is computed on
the configuration changes along (δ, dv, da, dπ), in one sweep. Rows may depend on one another as
long as they agree; where a parameter opens loops that no motion closes, the derivative is infinite.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import numpy as np

from mozzi.algorithms.constraints.overconstrained import overconstrained
from mozzi.algorithms.constraints.rank import lengths
from mozzi.algorithms.constraints.rows.rows import (
    loop_acceleration,
    loop_jacobian,
    loop_residual,
    position_rows,
)
from mozzi.algorithms.derivatives.second import tangent_basis
from mozzi.algorithms.loops.assemble import held_mask
from mozzi.algorithms.loops.shares_in_programs import Semidefinite
from mozzi.model import Model
from mozzi.program.differentiate import forward
from mozzi.program.scalar import Real, maximum, select
from mozzi.program.settings import settings
from mozzi.types import JointChoice, Traced

__all__ = ["Following"]

FOLLOWS = {"float64": 1e-7, "float32": 1e-3}
"""What is left of rows that shall follow a parameter, over what it changes them by."""


class Following:
    """How q, v and a follow the parameters of a model that is being traced with them."""

    def __init__(
        self, model: Model, numbers: Traced, given: Mapping[str, Traced], hold: JointChoice
    ):
        nominal, q = model.nominal or model, given["q"]
        self.moving = [numbers, q]
        self.along = [np.eye(len(numbers)).astype(object)]
        self.ok: list[Real] = [1.0] * len(numbers)
        self.n, self.free = nominal.nv, ~held_mask(nominal, hold)
        self.some = 0.0 if overconstrained(nominal) else None
        sizes, columns = lengths(nominal)
        over = (1.0 / sizes).astype(object)
        self.size = 1.0 / columns[self.free]
        rows: Traced = loop_jacobian(model, q)
        where = position_rows(nominal)  # others do not say where bodies are
        shift = forward(loop_residual(model, q), numbers, self.along[0]) * over[:, None]
        self._of(rows * over[:, None] * where[:, None])
        self.delta = self._least(shift * where[:, None])
        self.along.append(tangent_basis(model, q) @ self.delta)
        if "v" in given:
            self._of(rows * over[:, None])
            self._follow(given["v"], (rows @ given["v"]) * over)
        if "v" in given and "a" in given:
            left: Traced = loop_acceleration(model, q, given["v"], given["a"])
            self._follow(given["a"], left * over)

    def _of(self, A: Traced) -> None:
        """Take these rows."""
        self.A = A[:, self.free]
        self.inverse = Semidefinite(self.A, self.size, self.some)

    def _follow(self, x: Traced, kept: Traced) -> None:
        """x, which rows keep, moves with what moves already."""
        change = self._least(self.of(kept))
        self.moving.append(x)
        self.along.append(change)

    def _least(self, change: Traced) -> Traced:
        """The shortest x with A x = −change, twice for rounding, over all coordinates."""
        x = -(self.A.T @ self.inverse.solve(change))
        x = x - self.A.T @ self.inverse.solve(change + self.A @ x)
        for p, (left, size) in enumerate(zip((change + self.A @ x).T, change.T, strict=True)):
            allowed = FOLLOWS[settings().dtype] * (1e-3 + _largest(size))
            self.ok[p] = select(_largest(left) > allowed, inf, self.ok[p])
        out = np.zeros((self.n, x.shape[1])).astype(object)
        out[self.free] = x
        return out

    def of(self, y: Traced) -> Traced:
        """How y changes with the parameters: one more axis."""
        return forward(y, np.concatenate(self.moving), np.concatenate(self.along))

    def checked(self, change: Traced) -> Traced:
        """A change, or no numbers for parameters that nothing can follow."""
        return change * np.array([*self.ok, None], dtype=object)[:-1]


def _largest(x: Traced) -> Real:
    top: Real = 0.0
    for e in x:
        top = maximum(top, maximum(e, -e))
    return top
