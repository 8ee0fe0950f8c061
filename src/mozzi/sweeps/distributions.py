"""What varies in a sweep, and how: numbers, or distributions that jobs draw from by themselves."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.checked import checked
from mozzi.errors import ConfigurationError, known

__all__ = ["Choice", "Distribution", "LogUniform", "Normal", "Numbers", "Uniform", "read"]

Numbers: TypeAlias = NDArray[np.float64] | NDArray[np.int64]
MOST = 10**8  # numbers of a linspace


def check_numbers(what: str, *values: object) -> None:
    """Refuse what is no number."""
    for x in values:
        if not isinstance(x, (int, float, np.integer, np.floating)):
            raise ConfigurationError(f"{what}: {x!r} is no number; give numbers")
        if not math.isfinite(cast("float", x)):
            raise ConfigurationError(f"{what}: {x!r} is not finite; give a finite number")


@dataclass(frozen=True)
class Uniform:
    """Between two numbers, all alike.

    Args:
        low: the least.
        high: the largest.

    Example:
        >>> x = mz.Uniform(0.8, 1.2).draw(np.random.default_rng(0), 1000)
        >>> bool(x.min() >= 0.8), bool(x.max() <= 1.2)
        (True, True)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        check_numbers("uniform", self.low, self.high)
        if not self.low <= self.high:
            raise ConfigurationError(f"uniform({self.low}, {self.high}): give low ≤ high")

    def draw(self, rng: np.random.Generator, n: int) -> Numbers:
        """n numbers.

        Args:
            rng: a generator.
            n: how many.

        Example:
            >>> mz.Uniform(0.0, 1.0).draw(np.random.default_rng(0), 4).shape
            (4,)
        """
        return rng.uniform(self.low, self.high, n)


@dataclass(frozen=True)
class LogUniform:
    """Between two positive numbers, all magnitudes alike.

    Args:
        low: the least.
        high: the largest.

    Example:
        >>> x = mz.LogUniform(0.01, 1.0).draw(np.random.default_rng(0), 1000)
        >>> bool((x > 0.01).all()), bool(0.4 < (x < 0.1).mean() < 0.6)
        (True, True)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        check_numbers("loguniform", self.low, self.high)
        if not 0.0 < self.low <= self.high:
            raise ConfigurationError(f"loguniform({self.low}, {self.high}): give 0 < low ≤ high")

    def draw(self, rng: np.random.Generator, n: int) -> Numbers:
        """n numbers.

        Args:
            rng: a generator.
            n: how many.

        Example:
            >>> mz.LogUniform(0.1, 1.0).draw(np.random.default_rng(0), 4).shape
            (4,)
        """
        return np.exp(rng.uniform(np.log(self.low), np.log(self.high), n))


@dataclass(frozen=True)
class Normal:
    """Gauss's.

    Args:
        mean: its middle.
        deviation: the standard deviation.

    Example:
        >>> x = mz.Normal(2.0, 0.1).draw(np.random.default_rng(0), 1000)
        >>> bool(abs(x.mean() - 2.0) < 0.02)
        True
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        check_numbers("normal", self.mean, self.deviation)
        if not self.deviation >= 0.0:
            raise ConfigurationError(f"normal({self.mean}, {self.deviation}): give deviation ≥ 0")

    def draw(self, rng: np.random.Generator, n: int) -> Numbers:
        """n numbers.

        Args:
            rng: a generator.
            n: how many.

        Example:
            >>> mz.Normal(0.0, 1.0).draw(np.random.default_rng(0), 4).shape
            (4,)
        """
        return rng.normal(self.mean, self.deviation, n)


@checked
@dataclass(frozen=True)
class Choice:
    """One of some numbers, all alike.

    Args:
        values: the numbers.

    Example:
        >>> mz.Choice((1.0, 2.0)).draw(np.random.default_rng(0), 3).shape
        (3,)
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        check_numbers("choice", *self.values)
        if not len(self.values):
            raise ConfigurationError("choice(): give some numbers")

    def draw(self, rng: np.random.Generator, n: int) -> Numbers:
        """n numbers.

        Args:
            rng: a generator.
            n: how many.

        Example:
            >>> mz.Choice((1.0, 2.0)).draw(np.random.default_rng(0), 4).shape
            (4,)
        """
        return rng.choice(np.array(self.values, dtype=float), n)


Distribution: TypeAlias = Uniform | LogUniform | Normal | Choice


def _linspace(low: float, high: float, n: float) -> Numbers:
    check_numbers("linspace", low, high)
    if not (1.0 <= n <= MOST and n == int(n)):
        raise ConfigurationError(
            f"linspace({low:g}, {high:g}, {n:g}): give a count of 1 or more, {MOST:g} at most"
        )
    return np.linspace(low, high, int(n))


WORDS: dict[str, Callable[..., Distribution | Numbers]] = {
    "uniform": Uniform,
    "loguniform": LogUniform,
    "normal": Normal,
    "choice": lambda *values: Choice(tuple(values)),
    "linspace": _linspace,
}


def read(text: str) -> Distribution | Numbers:
    """What a text says: ``uniform(0.8, 1.2)``, ``linspace(0, 1, 11)``, ``3.5``, ``[1, 2, 3]``."""
    call = re.fullmatch(r"\s*([a-z]+)\s*\((.*)\)\s*", text)
    try:
        if call is None:
            return np.atleast_1d(np.asarray(ast.literal_eval(text.strip()), dtype=float))
        numbers = ast.literal_eval(f"({call[2]},)") if call[2].strip() else ()
        values = [float(x) for x in numbers]
    except (ValueError, SyntaxError, TypeError, OverflowError, RecursionError, MemoryError):
        raise ConfigurationError(
            f"{text!r:.200} says no numbers; write uniform(low, high), normal(mean, deviation), "
            "loguniform(low, high), choice(…), linspace(low, high, n), or numbers"
        ) from None
    if call[1] not in WORDS:
        raise ConfigurationError(f"no distribution {call[1]!r}; there are {known(call[1], WORDS)}")
    try:
        return WORDS[call[1]](*values)
    except TypeError:
        raise ConfigurationError(f"{text!r}: {len(values)} numbers do not fit") from None
