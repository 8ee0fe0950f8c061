# pyright: basic
# (SymPy is not typed)
"""The SymPy target: closed-form expressions, for small mechanisms.

The program runs on symbols, with every operation spelled by SymPy. Constants that are fractions or
roots of fractions to the last places become exact ones, so that what cancels does cancel.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from mozzi.errors import ConfigurationError, ExtraMissingError
from mozzi.program.meaning import interpret
from mozzi.program.program import Program

if TYPE_CHECKING:
    from sympy import Basic, Expr, ImmutableMatrix, NDimArray

__all__ = ["SympyKernel", "build", "exact_number"]

NOISE_NUMBER = 1e-15  # constants below this are what rounding left of a zero, as in cos(π/2)


Shaped: TypeAlias = "Expr | ImmutableMatrix | NDimArray"
"""An expression, or several in the shape of a result."""


class SympyKernel:
    """A program as expressions in its inputs.

    symbols: by input, shaped like it; expressions: the results; operations, flops: of the program.
    A result is an expression where its shape is (), a matrix where it has one axis (a column) or
    two, else an array.
    """

    packings = ()

    def __init__(self, program: Program):
        self.sympy = _sympy()
        self.program = program
        self.name = program.name
        self.inputs, self.outputs = program.inputs, program.outputs
        self.operations, self.flops = program.operations, program.flops
        self.symbols: dict[str, np.ndarray] = {}
        for x in program.inputs:
            array = self.symbols[x.name] = np.empty(x.shape, dtype=object)
            for place in np.ndindex(x.shape):
                name = x.name + "_".join(map(str, place))
                array[place] = self.sympy.Symbol(name, real=True)

    def __call__(self, *args: object) -> Shaped | tuple[Shaped, ...]:
        """The results at these symbols, expressions or numbers."""
        if len(args) != len(self.inputs):
            names = ", ".join(x.name for x in self.inputs)
            raise ConfigurationError(f"{len(args)} arguments where {len(self.inputs)} go: {names}")
        scalars: list[list[Expr]] = []
        for x, a in zip(self.inputs, args, strict=True):
            scalars.append([self.sympy.sympify(v) for v in np.ravel(np.asarray(a, dtype=object))])
            if len(scalars[-1]) != x.size:
                raise ConfigurationError(
                    f"argument {x.name!r} has {len(scalars[-1])} numbers; it takes {x.size}"
                )
        return self._results(scalars, noise=0.0)

    @cached_property
    def expressions(self) -> Shaped | tuple[Shaped, ...]:
        """The results in the symbols, as the program computes them."""
        return self._results([list(s.ravel()) for s in self.symbols.values()], noise=0.0)

    def simplified(self) -> Shaped | tuple[Shaped, ...]:
        """The expressions in short form; constants that are rounding noise count as zero."""
        found = self._results([list(s.ravel()) for s in self.symbols.values()], noise=NOISE_NUMBER)
        short = [self._map(self._short, x) for x in _several(found)]
        return short[0] if self.program.single else tuple(short)

    def __reduce__(self) -> tuple[object, ...]:
        return SympyKernel, (self.program,)

    @property
    def source(self) -> str:
        found = _several(self.expressions)
        return "".join(f"{x.name} = {e}\n" for x, e in zip(self.outputs, found, strict=True))

    def _results(
        self, scalars: list[list[Expr]], noise: float
    ) -> Shaped | tuple[Shaped, ...]:
        meaning = _meaning(self.sympy, noise)
        results = [
            self._container([_number(self.sympy, e) for e in expressions], x.shape)
            for x, expressions in zip(
                self.outputs, interpret(self.program, scalars, meaning), strict=True
            )
        ]
        return results[0] if self.program.single else tuple(results)

    def _container(self, expressions: list[Expr], shape: tuple[int, ...]) -> Shaped:
        if not shape:
            return expressions[0]
        if len(shape) > 2:
            return self.sympy.ImmutableDenseNDimArray(expressions, shape)
        return self.sympy.ImmutableMatrix(*(*shape, 1)[:2], expressions)

    def _map(self, function: Callable[[Expr], Expr], result: Shaped) -> Shaped:
        if isinstance(result, self.sympy.Expr):
            return function(cast("Expr", result))
        return cast("ImmutableMatrix | NDimArray", result).applyfunc(function)

    def _short(self, expression: Expr) -> Expr:
        """A sum of terms, or what SymPy makes of it where that is much shorter."""
        terms = self.sympy.trigsimp(self.sympy.expand(expression))
        short = self.sympy.simplify(terms)
        return terms if terms.count_ops() <= 1.5 * short.count_ops() else short

    def __repr__(self) -> str:
        return f"<SympyKernel {self.name}({', '.join(x.name for x in self.inputs)})>"


def build(
    make: Callable[[], Program], dtype: str = "float64", key: str | None = None
) -> SympyKernel:
    """The expressions of the program that `make` traces; they have no dtype."""
    return SympyKernel(make())


def _sympy() -> ModuleType:
    try:
        return importlib.import_module("sympy")
    except ImportError as error:
        raise ExtraMissingError(
            "the target 'sympy' needs SymPy; install it: pip install 'mozzi[sympy]'"
        ) from error


def _several(found: Shaped | tuple[Shaped, ...]) -> tuple[Shaped, ...]:
    return found if isinstance(found, tuple) else (found,)


def _meaning(sympy: ModuleType, noise: float) -> dict[str, Callable[..., Expr]]:
    """How SymPy spells the operations."""

    def condition(c: Basic) -> Basic:
        return sympy.Ne(c, 0) if isinstance(c, sympy.Expr) else c

    def constant(x: float) -> Expr:
        return sympy.Integer(0) if abs(x) < noise else exact_number(x)

    numeric: dict[str, Callable[..., Expr]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "neg": lambda a: -a,
        "sqrt": sympy.sqrt,
        "sin": sympy.sin,
        "cos": sympy.cos,
        "atan2": sympy.atan2,
        "exp": sympy.exp,
        "log": sympy.log,
        "tanh": sympy.tanh,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "min": sympy.Min,
        "max": sympy.Max,
    }
    table: dict[str, Callable[..., Expr]] = {
        op: lambda *args, f=f: f(*(_number(sympy, a) for a in args)) for op, f in numeric.items()
    }
    table["select"] = lambda c, a, b: sympy.Piecewise(
        (_number(sympy, a), condition(c)), (_number(sympy, b), True)
    )
    table["const"] = constant
    return table


def _number(sympy: ModuleType, x: Basic) -> Expr:
    """A comparison where a number goes is 1 or 0."""
    return cast("Expr", x) if isinstance(x, sympy.Expr) else sympy.Piecewise((1, x), (0, True))


def exact_number(x: float) -> Expr:
    """The fraction, or the root of one, that a float stands for; else the float."""
    sympy = _sympy()
    if not math.isfinite(x):
        return sympy.oo if x > 0 else -sympy.oo
    near = 4 * math.ulp(x)
    short = [Fraction(x).limit_denominator(10_000), *(Fraction(f"{x:.{n}g}") for n in (6, 9, 12))]
    for fraction in short:
        if abs(float(fraction) - x) <= near:
            return sympy.Rational(fraction.numerator, fraction.denominator)
    square = Fraction(x * x).limit_denominator(1_000)
    if abs(math.sqrt(square) - abs(x)) <= near:
        root = sympy.sqrt(sympy.Rational(square.numerator, square.denominator))
        return root if x > 0 else -root
    return sympy.Float(x, 17)
