"""What rounding leaves of a one-sided problem, in the numbers that it is solved in.

Errors are squares, over the square of the largest velocity; found on quadrupeds and humanoids
(`python -m benchmarks.contact`) as what Newton's method reaches within a step of its last gain.
"""

from __future__ import annotations

from dataclasses import dataclass

from mozzi.program.settings import settings

__all__ = ["Rounding", "rounding"]


@dataclass(frozen=True)
class Rounding:
    """exact: an error that more iterations do not lower; done: one that needs no other start;
    warm: the proximal term to end with from a warm start; last: the least one from any start;
    least: a number that is nothing, yet not zero.
    """

    exact: float
    done: float
    warm: float
    last: float
    least: float


ROWS = {
    "float64": Rounding(1e-26, 1e-24, 1e-10, 1e-10, 1e-100),
    "float32": Rounding(1e-14, 1e-11, 1e-10, 1e-10, 1e-30),
}
VELOCITIES = {  # 1/warm multiplies rounding
    "float64": Rounding(1e-26, 1e-19, 1e-5, 1e-8, 1e-100),
    "float32": Rounding(1e-12, 3e-9, 3e-2, 3e-2, 1e-30),
}


def rounding(by_rows: bool) -> Rounding:
    """In the numbers of the present trace; by rows, or by velocities."""
    return (ROWS if by_rows else VELOCITIES)[settings().dtype]
