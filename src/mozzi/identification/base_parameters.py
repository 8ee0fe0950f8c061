# pyright: basic
# (SymPy is not typed)
"""`base_parameters`: the combinations of inertial parameters that the dynamics shows.

Columns of the regressor, stacked over random motions, depend on each other: joints do not let every
parameter act alone. With independent columns W₁ and the others W₂ = W₁ β, W π = W₁ (π₁ + β π₂): the
base parameters are π₁ + β π₂.  Gautier, Numerical calculation of the base inertial parameters of
robots (1991).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.dynamics.regressor import inverse_dynamics_regressor
from mozzi.checked import checked
from mozzi.errors import ConfigurationError, ShapeError
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.targets.sympy import exact_number
from mozzi.types import Array, ArrayLike, Seed

if TYPE_CHECKING:
    from sympy import Expr

__all__ = ["BaseParameters", "base_parameters"]

WORDS = ("mass", "hx", "hy", "hz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")
SHOWN = 1e-7  # of a column that is independent: files round angles to eight digits


@dataclass(frozen=True)
class BaseParameters:
    """The combinations of a model's 10 nb inertial parameters that matter.

    parameters: all of them by name, such as "link.hx". independent: the numbers of those that stand
    first in a combination. matrix (r, 10 nb): base parameters are ``matrix @ π``. unseen: those
    that are in none.

    Example:
        >>> base = mz.base_parameters(mz.load("arm.urdf"))
        >>> len(base), base.matrix.shape, base.unseen[:2]
        (14, (14, 30), ('link_1.mass', 'link_1.hz'))
    """

    parameters: tuple[str, ...]
    independent: tuple[int, ...]
    matrix: Array
    unseen: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.independent)

    def __repr__(self) -> str:
        count, unseen = len(self.parameters), len(self.unseen)
        return f"<BaseParameters: {len(self)} combinations of {count}; {unseen} are in none>"

    @property
    def names(self) -> tuple[str, ...]:
        """The first parameter of every combination."""
        return tuple(self.parameters[k] for k in self.independent)

    def values(self, model: Model) -> Array:
        """The base parameters of a model, (r,).

        Args:
            model: the mechanism, or one with other inertias.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> mz.base_parameters(arm).values(arm).shape
            (14,)
        """
        own = inertial_parameters(as_model(model, "BaseParameters.values"))
        if len(own) != len(self.parameters):
            raise ConfigurationError(
                f"BaseParameters.values: {model.name!r} has {len(own)} inertial parameters; give a "
                f"model with the {len(self.parameters)} of these combinations"
            )
        return self.matrix @ own

    def regressor(self, Y: ArrayLike) -> Array:
        """The columns of a regressor that belong to the base parameters, (…, r).

        Args:
            Y (B, nv, 10 nb): of inverse dynamics, momentum or energy.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> Y = mz.inverse_dynamics_regressor(arm, np.zeros(3), np.ones(3), np.ones(3))
            >>> mz.base_parameters(arm).regressor(Y).shape
            (3, 14)
        """
        columns = np.asarray(Y)
        if columns.shape[-1:] != (len(self.parameters),):
            wanted = (len(self.parameters),)
            raise ShapeError("BaseParameters.regressor", "Y", columns.shape, wanted)
        return columns[..., list(self.independent)]

    def expressions(self) -> list[str]:
        """Every combination in words: ``"a.Jxx - b.Jyy + 0.25*b.mass"``.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> len(mz.base_parameters(arm).expressions())
            14
        """
        return [_sum(self.parameters, row) for row in self.matrix]

    def symbolic(self) -> list[Expr]:
        """Every combination as an expression of SymPy; coefficients that are fractions, or roots of
        fractions, to the last places are exact.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> len(mz.base_parameters(arm).symbolic())  # of SymPy
            14
        """
        import sympy

        symbols = [sympy.Symbol(name, real=True) for name in self.parameters]
        return [
            sum((exact_number(c) * symbols[k] for k, c in enumerate(row) if c), sympy.Integer(0))
            for row in self.matrix.tolist()
        ]


def inertial_parameters(model: Model) -> Array:
    """π of all bodies, (10 nb,)."""
    return np.array([float(x) for body in model for x in body.inertia.parameters()])


@checked
def base_parameters(
    model: Model,
    states: tuple[ArrayLike, ...] | None = None,
    *,
    regressor: Callable[..., Array] | None = None,
    tolerance: float = SHOWN,
    seed: Seed = 0,
) -> BaseParameters:
    """The combinations of inertial parameters that joint forces show, and those that they do not.

    Parameters come in the order of bodies, from the base, each (m, h, J) at its own frame; one that
    depends on earlier ones is regrouped into them, exactly up to rounding.

    Cost: least squares of a regressor with 10 nb columns, O(nb³).

    Args:
        model: the mechanism.
        states: (q, v, a) with one leading axis, such as those of an experiment: which combinations
            these motions show. Random ones, unless told: which combinations any motion can show.
        regressor: that of inverse dynamics, unless told; of momentum, with states (q, v).
        tolerance: what is left of a column behind the earlier ones, as a share of it, that counts
            as nothing.
        seed: of the random states.

    Returns:
        `BaseParameters`.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> base, one = mz.base_parameters(arm), np.ones(3)
        >>> Y = base.regressor(mz.inverse_dynamics_regressor(arm, one, one, one))
        >>> tau = mz.inverse_dynamics(arm, one, one, one)
        >>> bool(np.allclose(Y @ base.values(arm), tau))
        True
    """
    as_model(model, "base_parameters")
    if states is None:
        rng = np.random.default_rng(seed)
        count = 20 + 40 * model.nb // max(1, model.nv)
        q = model.random_configuration(rng, batch=(count,))
        states = q, *rng.standard_normal((2, count, model.nv))
    Y = np.asarray((regressor or inverse_dynamics_regressor)(model, *states))
    W = Y.reshape(-1, Y.shape[-1])
    if W.shape[0] < W.shape[1]:
        raise ConfigurationError(
            f"base_parameters: {W.shape[0]} rows for {W.shape[1]} parameters; give more states"
        )
    names = tuple(f"{body.name}.{word}" for body in model for word in WORDS)
    independent = _independent(W, tolerance)
    beta = _coefficients(W, independent)
    matrix = np.where(np.abs(beta) > 1e-9 * np.abs(beta).max(initial=1.0), beta, 0.0)
    matrix = _snapped(matrix)
    unseen = tuple(name for name, column in zip(names, matrix.T) if not column.any())
    return BaseParameters(names, independent, matrix, unseen)


def _independent(W: Array, tolerance: float) -> tuple[int, ...]:
    """Columns that do not depend on earlier ones: Gram–Schmidt, twice for each."""
    norms = np.linalg.norm(W, axis=0)
    largest = norms.max(initial=0.0)
    chosen: list[int] = []
    Q = np.zeros((len(W), 0))
    for k in range(W.shape[1]):
        if norms[k] <= 1e-12 * largest:
            continue
        x = W[:, k] / norms[k]
        for _ in range(2):
            x = x - Q @ (Q.T @ x)
        size = np.linalg.norm(x)
        if size > tolerance:
            chosen.append(k)
            Q = np.column_stack([Q, x / size])
    return tuple(chosen)


def _coefficients(W: Array, independent: Sequence[int]) -> Array:
    """β with W = W₁ β, by least squares on columns of unit length."""
    first = W[:, list(independent)]
    scale = np.linalg.norm(first, axis=0)
    beta = np.linalg.lstsq(first / scale, W, rcond=None)[0] / scale[:, None]
    beta[:, list(independent)] = np.eye(len(independent))
    return beta


def _snapped(matrix: Array) -> Array:
    """Numbers within rounding of whole ones are whole."""
    whole: NDArray[np.float64] = np.round(matrix)
    return np.where(np.abs(matrix - whole) < 1e-9, whole, matrix)


def _sum(names: Sequence[str], row: Array) -> str:
    terms: list[str] = []
    for k, c in enumerate(row):
        if c:
            factor = "" if abs(c) == 1.0 else f"{abs(c):.9g}*"
            sign = ("-" if c < 0.0 else "") if not terms else (" - " if c < 0.0 else " + ")
            terms.append(f"{sign}{factor}{names[k]}")
    return "".join(terms)
