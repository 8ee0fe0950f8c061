"""Runge–Kutta methods as data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mozzi.types import Array

__all__ = ["DOPRI5", "EULER", "MIDPOINT", "RK4", "Tableau"]


@dataclass(frozen=True, eq=False)
class Tableau:
    """An explicit method of s stages:  k_i = f(t + c_i h, y + h Σ a_ij k_j),  y′ = y + h Σ b_i k_i.

    ``error`` is b − b̂, so that h Σ error_i k_i estimates the local error. ``dense`` (s, p) gives
    y(t + θ h) = y + h Σ_i k_i Σ_m dense_im θ^(m+1).
    """

    name: str
    order: int
    A: Array
    b: Array
    error: Array | None = None
    dense: Array | None = None

    @property
    def c(self) -> Array:
        """The times of the stages, Σ_j a_ij."""
        return self.A.sum(axis=1)

    @property
    def stages(self) -> int:
        return len(self.b)

    @property
    def chained(self) -> bool:
        """Whether every stage uses the one before it alone."""
        return not (self.A - np.diag(np.diag(self.A, -1), -1)).any()


def _lower(*rows: tuple[float, ...]) -> Array:
    A = np.zeros((len(rows) + 1, len(rows) + 1))
    for i, row in enumerate(rows, 1):
        A[i, : len(row)] = row
    return A


EULER = Tableau("euler", 1, np.zeros((1, 1)), np.ones(1))
MIDPOINT = Tableau("midpoint", 2, _lower((0.5,)), np.array([0.0, 1.0]))
RK4 = Tableau("rk4", 4, _lower((0.5,), (0, 0.5), (0, 0, 1.0)), np.array([1, 2, 2, 1]) / 6)

_B5 = (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)
DOPRI5 = Tableau(
    "dopri5",
    5,
    _lower(
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        _B5,
    ),
    np.array([*_B5, 0]),
    error=np.array(
        [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]
    ),
    dense=np.array(
        [
            [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
            [0, 0, 0, 0],
            [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
            [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
            [0, 127303824393 / 49829197408, -318862633887 / 49829197408,
             701980252875 / 199316789632],
            [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
            [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
        ]
    ),
)  # fmt: skip
"""Dormand and Prince 5(4): the seventh stage is the first of the next step. The continuous
extension is of order 4 (Shampine 1986).
"""
