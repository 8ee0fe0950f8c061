"""Functions for laws: of numbers, of arrays and of traced scalars alike."""

from __future__ import annotations

from typing import cast

import numpy as np

from mozzi.checked import checked
from mozzi.errors import ConfigurationError, SingularError
from mozzi.program.arrays import chosen, is_traced, solved, traced_array
from mozzi.types import Array, ArrayLike

__all__ = ["array", "clip", "maximum", "minimum", "sign", "solve", "where"]


@checked
def array(values: ArrayLike) -> Array:
    """An array of numbers; of traced scalars, or a mixture, one that NumPy's functions work on.

    Inside a law `np.array([q[0], 1.0])` holds a traced scalar beside a plain number, which np.sin
    refuses; of this array it takes both.

    Cost: none at run time.

    Args:
        values: a list of numbers, nested for more axes.

    Returns:
        An array.

    Example:
        >>> np.sin(mz.array([0.0, 1.0])).shape
        (2,)
    """
    if is_traced(values):
        return cast(Array, traced_array(values))
    return np.asarray(values, dtype=float)


@checked
def where(condition: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """a where the condition holds, else b, number by number.

    What an `if` in a law becomes: both sides are evaluated, and the derivative is that of the side
    that is taken.

    Cost: both sides, and one comparison a number.

    Args:
        condition: a comparison, such as q > 0; several go together by &, | and ~.
        a: what is taken where it holds.
        b: what is taken elsewhere.

    Returns:
        The numbers chosen, broadcast like np.where.

    Example:
        >>> mz.where(np.array([1.0, -2.0]) > 0.0, 1.0, -1.0)
        array([ 1., -1.])
    """
    if any(map(is_traced, (condition, a, b))):
        return cast(Array, chosen(condition, a, b))
    return np.where(condition, a, b)


@checked
def minimum(a: ArrayLike, b: ArrayLike) -> Array:
    """The smaller of two numbers, number by number.

    Cost: one comparison a number.

    Args:
        a: numbers.
        b: numbers.

    Returns:
        The smaller ones, broadcast; where they are equal, the derivative is that of a.

    Example:
        >>> mz.minimum(np.array([1.0, 3.0]), 2.0)
        array([1., 2.])
    """
    return np.minimum(*_numbers(a, b))


@checked
def maximum(a: ArrayLike, b: ArrayLike) -> Array:
    """The larger of two numbers, number by number.

    Cost: one comparison a number.

    Args:
        a: numbers.
        b: numbers.

    Returns:
        The larger ones, broadcast; where they are equal, the derivative is that of a.

    Example:
        >>> mz.maximum(np.array([1.0, 3.0]), 2.0)
        array([2., 3.])
    """
    return np.maximum(*_numbers(a, b))


@checked
def clip(x: ArrayLike, low: ArrayLike, high: ArrayLike) -> Array:
    """x, but not below low nor above high, number by number.

    Cost: two comparisons a number.

    Args:
        x: numbers.
        low: the least ones; may be −∞.
        high: the largest ones; may be ∞.

    Returns:
        The numbers between them, broadcast.

    Example:
        >>> mz.clip(np.array([-3.0, 0.5, 7.0]), -1.0, 1.0)
        array([-1. ,  0.5,  1. ])
    """
    return minimum(maximum(x, low), high)


@checked
def sign(x: ArrayLike) -> Array:
    """1, 0 or −1, number by number; its derivative is zero.

    Cost: two comparisons a number.

    Args:
        x: numbers.

    Returns:
        Their signs.

    Example:
        >>> mz.sign(np.array([-3.0, 0.0, 2.0]))
        array([-1.,  0.,  1.])
    """
    return np.sign(_numbers(x)[0])


@checked
def solve(A: ArrayLike, b: ArrayLike) -> Array:
    """x with A x = b, for a small matrix of numbers or of traced scalars.

    Elimination with the largest pivot of each column, n³/3 products and as many choices: meant for
    a handful of unknowns. A mass matrix needs none of it: `forward_dynamics` solves with it.

    Cost: O(n³), straight-line code where it is traced.

    Args:
        A: (n, n), of full rank.
        b: (n,), or (n, k) for several right-hand sides.

    Returns:
        x, shaped like b.

    Example:
        >>> mz.solve([[0.0, 2.0], [1.0, 0.0]], [2.0, 3.0])
        array([3., 1.])
    """
    if is_traced(A) or is_traced(b):
        return cast(Array, solved(A, b))
    M, right = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
    if M.ndim != 2 or len(M) != M.shape[-1] or right.ndim not in (1, 2) or len(right) != len(M):
        raise ConfigurationError(
            f"solve: A has shape {M.shape}, b {right.shape}; give (n, n) and (n,) or (n, k)"
        )
    try:
        return np.linalg.solve(M, right)
    except np.linalg.LinAlgError:
        raise SingularError("solve: A has no inverse; give a matrix of full rank") from None


def _numbers(*values: ArrayLike) -> list[Array]:
    """As arrays that NumPy's functions work on."""
    if any(map(is_traced, values)):
        return [cast(Array, traced_array(x)) for x in values]
    return [np.asarray(x) for x in values]
