# pyright: basic
# (what NumPy hands over is not typed)
"""Arrays of traced scalars that NumPy's functions work on.

`TracedArray` is what laws and functions of callers get. NumPy hands its functions over to it, and
to a `Node`: np.tanh, np.maximum, np.where, np.linalg.norm and the like record operations, also
where plain numbers stand among traced ones. What has no meaning for a traced scalar is refused by
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np

from mozzi.errors import ConfigurationError
from mozzi.program import elementary as of
from mozzi.program import scalar
from mozzi.program.node import WHOLE, Node
from mozzi.program.scalar import Real

__all__ = ["TracedArray", "is_traced", "on_function", "on_ufunc", "solved", "traced_array"]

Elementwise: TypeAlias = Callable[..., object]


def _ufunc(function: Callable[..., object], count: int) -> Elementwise:
    return np.frompyfunc(function, count, 1)


# What NumPy's functions do with traced scalars, number by number.
ELEMENTWISE: dict[Elementwise, Elementwise] = {
    np.sin: _ufunc(scalar.sin, 1), np.cos: _ufunc(scalar.cos, 1), np.tan: _ufunc(of.tan, 1),
    np.arcsin: _ufunc(of.arcsin, 1), np.arccos: _ufunc(of.arccos, 1),
    np.arctan: _ufunc(of.arctan, 1), np.arctan2: _ufunc(scalar.atan2, 2),
    np.sinh: _ufunc(of.sinh, 1), np.cosh: _ufunc(of.cosh, 1), np.tanh: _ufunc(scalar.tanh, 1),
    np.exp: _ufunc(scalar.exp, 1), np.expm1: _ufunc(of.expm1, 1),
    np.log: _ufunc(scalar.log, 1), np.log1p: _ufunc(of.log1p, 1),
    np.log2: _ufunc(lambda x: scalar.log(x) * (1.0 / np.log(2.0)), 1),
    np.log10: _ufunc(lambda x: scalar.log(x) * (1.0 / np.log(10.0)), 1),
    np.exp2: _ufunc(lambda x: scalar.exp(x * np.log(2.0)), 1),
    np.sqrt: _ufunc(scalar.sqrt, 1), np.square: _ufunc(lambda x: x * x, 1),
    np.reciprocal: _ufunc(lambda x: 1.0 / x, 1), np.hypot: _ufunc(of.hypot, 2),
    np.power: _ufunc(of.power, 2), np.float_power: _ufunc(of.power, 2),
    np.absolute: _ufunc(abs, 1), np.fabs: _ufunc(abs, 1), np.sign: _ufunc(of.sign, 1),
    np.maximum: _ufunc(scalar.maximum, 2), np.minimum: _ufunc(scalar.minimum, 2),
    np.fmax: _ufunc(scalar.maximum, 2), np.fmin: _ufunc(scalar.minimum, 2),
    np.deg2rad: _ufunc(lambda x: x * (np.pi / 180.0), 1),
    np.rad2deg: _ufunc(lambda x: x * (180.0 / np.pi), 1),
    np.radians: _ufunc(lambda x: x * (np.pi / 180.0), 1),
    np.degrees: _ufunc(lambda x: x * (180.0 / np.pi), 1),
    np.less: _ufunc(lambda a, b: a < b, 2), np.less_equal: _ufunc(lambda a, b: a <= b, 2),
    np.greater: _ufunc(lambda a, b: a > b, 2), np.greater_equal: _ufunc(lambda a, b: a >= b, 2),
    np.equal: _ufunc(lambda a, b: a == b, 2), np.not_equal: _ufunc(lambda a, b: a != b, 2),
    np.logical_and: _ufunc(of.both, 2), np.bitwise_and: _ufunc(of.both, 2),
    np.logical_or: _ufunc(of.either, 2), np.bitwise_or: _ufunc(of.either, 2),
    np.logical_not: _ufunc(of.neither, 1), np.invert: _ufunc(of.neither, 1),
    np._core.umath.clip: _ufunc(of.clip, 3),  # what np.clip calls  # pyright: ignore
    **{f: f for f in (np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive,
                      np.matmul, np.conjugate)},
}  # fmt: skip


ROUNDING = (np.floor, np.ceil, np.rint, np.trunc, np.mod, np.fmod, np.remainder, np.floor_divide)


class TracedArray(np.ndarray):
    """An array of traced scalars, and of plain numbers among them."""

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **options: object
    ) -> object:
        return on_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self, func: Elementwise, types: Iterable[type], args: Iterable[object],
        kwargs: Mapping[str, object],
    ) -> object:  # fmt: skip
        known = FUNCTIONS.get(func)
        if known is not None:
            return known(*args, **kwargs)
        try:
            result: object = super().__array_function__(func, types, args, kwargs)
        except TypeError as error:
            if "Cannot cast ufunc" not in str(error):  # what LAPACK does
                raise
            raise TypeError(
                f"np.linalg.{func.__name__} of a traced array: norm, solve and inv are traced"
            ) from None
        return _kept(result)


def on_ufunc(
    ufunc: np.ufunc, method: str, inputs: Iterable[object], options: Mapping[str, object]
) -> object:
    """What a ufunc of NumPy does where traced scalars are among its operands."""
    known = ELEMENTWISE.get(ufunc)
    if ufunc in ROUNDING:
        raise TypeError(f"np.{ufunc.__name__}: {WHOLE}")
    if known is None:
        traced = ", ".join(sorted({getattr(f, "__name__", "") for f in ELEMENTWISE}))
        raise TypeError(f"np.{ufunc.__name__} of a traced scalar; traced are {traced}")
    given = [_plain(x) for x in inputs]
    wanted = any(isinstance(x, TracedArray) for x in inputs)
    kept = {k: x for k, x in options.items() if k not in ("out", "dtype", "casting", "where")}
    if options.get("where", True) is not True:
        raise TypeError(f"np.{ufunc.__name__}(where=…) is not traced; write mz.where(…)")
    try:
        result = (known if method == "__call__" else getattr(known, method))(*given, **kept)
    except (ValueError, OverflowError) as error:
        if not str(error).startswith("math "):  # of Python's numbers
            raise
        raise ValueError(
            f"np.{ufunc.__name__} of what does not depend on the traced arguments: {error}; such "
            "numbers are computed once, whichever branch of np.where they are for"
        ) from error
    out = cast("Sequence[np.ndarray | None] | None", options.get("out"))
    if out is None or out[0] is None:
        whole = wanted and isinstance(result, np.ndarray)
        return result.view(TracedArray) if whole and isinstance(result, np.ndarray) else result
    if out[0].dtype != object:
        raise TypeError(PLAIN)
    np.copyto(out[0].view(np.ndarray), cast("np.ndarray", result))
    return out[0]


PLAIN = (
    "an array of plain numbers cannot hold traced scalars; make it with np.zeros_like(q), or with "
    "dtype=object"
)


def _kept(x: object) -> object:
    """Results of NumPy, which made plain arrays of some of them, as traced arrays."""
    if type(x) is list or type(x) is tuple:
        return type(x)(map(_kept, cast("list[object]", x)))
    return x.view(TracedArray) if isinstance(x, np.ndarray) and x.dtype == object else x


def _plain(x: object) -> object:
    if isinstance(x, TracedArray):
        return x.view(np.ndarray)
    if type(x) is Node:
        held = np.empty((), dtype=object)
        held[()] = x
        return held
    return x


def on_function(
    func: Elementwise, types: Iterable[type], args: Iterable[object], kwargs: Mapping[str, object]
) -> object:
    """A function of NumPy that met a traced scalar, not an array."""
    known = FUNCTIONS.get(func)
    if known is not None:
        return known(*args, **kwargs)
    result: object = func(*map(_wrapped, args), **{k: _wrapped(x) for k, x in kwargs.items()})
    single = isinstance(result, np.ndarray) and result.ndim == 0 and result.dtype == object
    return result[()] if single and isinstance(result, np.ndarray) else result


def _wrapped(x: object) -> object:
    """Traced scalars as arrays of them."""
    if type(x) is Node:
        return cast("np.ndarray", _plain(x)).view(TracedArray)
    return type(x)(map(_wrapped, cast("list[object]", x))) if isinstance(x, (list, tuple)) else x


def _interpolated(
    x: object, xp: object, fp: object, left: Real | None = None, right: Real | None = None,
    period: float | None = None,
) -> object:  # fmt: skip
    """np.interp(x, xp, fp): a sum of ramps, each as high as x is beyond its beginning. Where two
    meet, the rate is that of the second.
    """
    at, values = np.asarray(xp, dtype=float), np.asarray(fp, dtype=float)
    if period is not None:
        raise TypeError(f"np.interp(period=…): {WHOLE}")
    if at.ndim != 1 or at.shape != values.shape or not (np.diff(at) > 0.0).all():
        raise TypeError("np.interp of a traced scalar: give points xp that rise, and as many fp")

    def one(x: Real) -> Real:
        y: Real = float(values[0])
        for a, b, rise in zip(at, at[1:], np.diff(values)):
            low, high = float(a), float(b)
            until = scalar.minimum(x, high) if b == at[-1] else scalar.minimum(high, x)
            y = y + (scalar.maximum(until, low) - low) * float(rise / (b - a))
        y = y if left is None else scalar.select(x < float(at[0]), left, y)
        return y if right is None else scalar.select(x > float(at[-1]), right, y)

    out = _ufunc(one, 1)(_plain(x))
    return out.view(TracedArray) if isinstance(out, np.ndarray) else out


def is_traced(x: object) -> bool:
    """Whether it is a traced scalar, or an array or list with some in it."""
    if isinstance(x, (Node, TracedArray)):
        return True
    if isinstance(x, (list, tuple)):
        return any(map(is_traced, cast("list[object]", x)))
    if isinstance(x, np.ndarray) and x.dtype == object:
        return any(isinstance(e, Node) for e in x.flat)
    return False


def traced_array(x: object) -> TracedArray:
    """An array for functions of callers."""
    return np.asarray(x, dtype=object).view(TracedArray)


_where: Elementwise = np.frompyfunc(scalar.select, 3, 1)


def chosen(condition: object, a: object, b: object) -> object:
    """np.where(condition, a, b)."""
    out = _where(*(_plain(x) for x in (condition, a, b)))
    return out.view(TracedArray) if isinstance(out, np.ndarray) else out


def _norm(x: object, ord: object = None, axis: int | None = None, keepdims: bool = False) -> object:
    matrix = axis is None and np.ndim(cast("np.ndarray", x)) > 1
    if ord not in (None, "fro" if matrix else 2):
        raise TypeError("np.linalg.norm of a traced array: the Euclidean norm is traced")
    values = traced_array(x)
    return np.sqrt(np.sum(values * values, axis=axis, keepdims=keepdims))


def solved(A: object, b: object) -> TracedArray:
    """x with A x = b, by elimination with the largest pivot of each column, chosen when it runs."""
    M = [list(row) for row in np.array(A, dtype=object)]
    right = np.array(b, dtype=object)
    n = len(M)
    if any(len(row) != n for row in M) or right.shape[:1] != (n,) or right.ndim > 2:
        shapes = np.shape(cast("np.ndarray", A)), right.shape
        raise ConfigurationError(
            f"solve: A has shape {shapes[0]}, b {shapes[1]}; give (n, n) and (n,) or (n, k)"
        )
    rows = [[*row, *np.atleast_1d(x)] for row, x in zip(M, right, strict=True)]
    for k in range(n):
        for i in range(k + 1, n):  # the larger of two pivots comes up
            larger = abs(rows[i][k]) > abs(rows[k][k])
            up, down = rows[i], rows[k]
            rows[k] = [scalar.select(larger, x, y) for x, y in zip(up, down, strict=True)]
            rows[i] = [scalar.select(larger, y, x) for x, y in zip(up, down, strict=True)]
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            for j in range(k + 1, len(rows[i])):
                rows[i][j] = rows[i][j] - factor * rows[k][j]
    x: list[list[Real]] = [[] for _ in range(n)]
    for k in reversed(range(n)):
        for c in range(len(rows[k]) - n):
            total = rows[k][n + c]
            for j in range(k + 1, n):
                total = total - rows[k][j] * x[j][c]
            x[k].append(total / rows[k][k])
    return traced_array(x).reshape(right.shape).view(TracedArray)


def _rounded(*args: object, **kwargs: object) -> object:
    raise TypeError(f"np.round: {WHOLE}")


FUNCTIONS: dict[object, Callable[..., object]] = {
    np.round: _rounded,
    np.around: _rounded,
    np.where: chosen,
    np.interp: _interpolated,
    np.linalg.norm: _norm,
    np.linalg.solve: solved,
    np.linalg.inv: lambda A: solved(A, np.eye(len(A))),
}
