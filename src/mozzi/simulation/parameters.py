"""Numbers that differ from sample to sample of a simulation: of the model, and of the law of
torque.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.algorithms.recursion.varied import varied_model
from mozzi.compiler import compile
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.model.parameters.named import check_numbers, place_of, vary
from mozzi.program.node import Region, trace_into
from mozzi.program.program import read
from mozzi.program.scalar import Real
from mozzi.types import Array, ArrayLike, Traced

__all__ = [
    "Feedback", "Forces", "SampledLaw", "Varying", "check_arguments", "check_law", "names_of",
    "varying_of",
]  # fmt: skip

B = TypeVar("B")
Forces: TypeAlias = ArrayLike | Sequence[Real]
Feedback: TypeAlias = Callable[..., Forces]
"""Joint forces τ(t, q, v), of gains and of the model that moves where it takes them."""


@dataclass(frozen=True, eq=False)
class Varying:
    """What varies: names of numbers of the model, names of arguments of the law, and the numbers of
    both, (…, p) in this order.
    """

    model: Model
    names: tuple[str, ...] = ()
    gains: tuple[str, ...] = ()
    numbers: Array | None = None

    @property
    def count(self) -> int:
        """How many numbers a sample has."""
        return len(self.names) + len(self.gains)

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch axes of the numbers."""
        return () if self.numbers is None else self.numbers.shape[:-1]

    @property
    def values(self) -> dict[str, Array]:
        """The numbers of the model, by name."""
        if self.numbers is None:
            return {}
        return {name: self.numbers[..., k] for k, name in enumerate(self.names)}

    @cached_property
    def template(self) -> Model:
        """The model as programs see it, by which it is decided what they are made of."""
        if not self.names:
            return self.model
        with trace_into(Region()):
            return vary(self.model, self.names, [read(0, k) for k in range(len(self.names))])

    def traced(self, numbers: Traced | None) -> Model:
        """The model with these numbers, at the beginning of a trace."""
        if not self.names:
            return self.model
        assert numbers is not None
        return varied_model(self.model, self.names, numbers[: len(self.names)])

    def law(self, law: B, numbers: Array | Traced | None, model: Model | None) -> B:
        """The law with these numbers, and with the model that is simulated where it asks for
        that.
        """
        given: dict[str, object] = {}
        if numbers is not None:
            given = dict(zip(self.gains, numbers[len(self.names) :], strict=True))
        if "model" in _arguments(law)[0]:
            given["model"] = model
        if not given:
            return law
        if not hasattr(law, "function"):
            return cast("B", partial(_function(law), **given))
        sampled = copy(law)
        setattr(sampled, "function", partial(_function(law), **given))  # noqa: B010
        return sampled

    def arrays(self, law: Feedback) -> Feedback:
        """The law that is called from Python, with gains (…, 1)."""
        if "model" in _arguments(law)[0]:
            raise ConfigurationError(
                "torque: a law that is called from Python gets no model; write it on traced scalars"
            )
        if self.numbers is None:
            return law
        return self.law(law, np.moveaxis(self.numbers, -1, 0)[..., None], None)

    def of(self, function: Algorithm, *arrays: ArrayLike, **options: object) -> Any:
        """An algorithm on arrays of the batch, with the numbers of each sample."""
        if not self.names:
            return function(self.model, *arrays, **options)
        key = ("of parameters", function, self.names, tuple(sorted(options.items())))
        cache = self.model.cache
        if key not in cache:
            cache[key] = compile(function, self.model, options=options, parameters=self.names)
        assert self.numbers is not None
        own = self.numbers[..., : len(self.names)]
        more = max(np.ndim(x) - 1 for x in arrays) - (own.ndim - 1)
        own = own.reshape(*own.shape[:-1], *(1,) * max(0, more), own.shape[-1])
        return cache[key](*arrays, own)


class SampledLaw:
    """What is asked here of a `Law`: its function, and its state at the start by name."""

    function: Callable[..., object]
    state: dict[str, Array]


def _function(law: object) -> Callable[..., object]:
    """What is called of a law: itself, or the function of one that is sampled."""
    return law.function if isinstance(law, SampledLaw) else cast("Callable[..., object]", law)


def _arguments_of(law: object) -> str:
    """What a law is called with."""
    return "t, q, v, x, h" if isinstance(law, SampledLaw) and law.state else "t, q, v"


def check_arguments(law: Callable[..., object], words: str, what: str, more: bool = True) -> None:
    """Raise where a function does not take these arguments, such as "t, q, v", takes one of them
    in another place, or (unless more) wants others behind them.
    """
    try:
        own = inspect.signature(law)
    except ValueError:  # a function of C, which does not tell
        return
    wanted = words.split(", ")
    try:
        (own.bind_partial if more else own.bind)(*wanted)
        placed = [n for n, p in own.parameters.items() if p.kind <= p.POSITIONAL_OR_KEYWORD]
        fits = all(n == w or n not in wanted for n, w in zip(placed, wanted))
    except TypeError:
        fits = False
    if not fits:
        taken = f"({', '.join(own.parameters)})"
        raise ConfigurationError(f"{what} takes {taken}; give a function of ({words})")


def check_law(law: object) -> None:
    """Raise where a law does not take what laws are called with."""
    check_arguments(_function(law), _arguments_of(law), "torque: the law")


def _arguments(law: object) -> tuple[dict[str, bool], bool]:
    """The arguments of a law behind (t, q, v), or (t, q, v, x, h) of one with a state: whether they
    must be given; and whether it takes others.
    """
    first = len(_arguments_of(law).split(", "))
    try:
        own = list(inspect.signature(_function(law)).parameters.values())[first:]
    except (TypeError, ValueError):  # of what is built in
        return {}, False
    named = [p for p in own if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return {p.name: p.default is p.empty for p in named}, any(p.kind is p.VAR_KEYWORD for p in own)


def names_of(names: str | Iterable[str], model: Model, torque: object) -> Varying:
    """Which of these names are of the model, and which of arguments of the law."""
    given = (names,) if isinstance(names, str) else tuple(names)
    for name in given:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"parameters: {name!r} is no name; give words")
    taken, others = {}, False
    if callable(_function(torque)):
        check_law(torque)
        taken, others = _arguments(torque)
    gains = [n for n in given if n in taken and n != "model"]
    own: list[str] = []
    for name in given:
        if name in gains:
            continue
        if others and not _known(model, name):
            gains.append(name)
        else:
            place_of(model, name)
            own.append(name)
    missing = [n for n, must in taken.items() if must and n != "model" and n not in gains]
    if missing:
        raise ConfigurationError(
            f"torque: the law takes {missing[0]!r} behind (t, q, v); give it among the parameters"
        )
    return Varying(model, tuple(own), tuple(gains))


def varying_of(
    parameters: Mapping[str, ArrayLike] | None, model: Model, torque: object
) -> Varying:
    """What a caller means by parameters: numbers of the model, or of arguments of the law."""
    given = parameters or {}
    found = names_of(given, model, torque)
    if not given:
        return found
    names = (*found.names, *found.gains)
    columns = [_column(n, given[n]) for n in names]
    try:
        numbers = np.stack(np.broadcast_arrays(*columns), axis=-1)
    except ValueError:
        shapes = ", ".join(f"{n} {c.shape}" for n, c in zip(names, columns, strict=True))
        raise ConfigurationError(f"parameters: the shapes {shapes} do not broadcast") from None
    check_numbers(model, found.names, numbers[..., : len(found.names)])
    return replace(found, numbers=numbers)


def _known(model: Model, name: str) -> bool:
    try:
        place_of(model, name)
    except ValueError:
        return False
    return True


def _column(name: str, x: ArrayLike) -> Array:
    try:
        column = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise ConfigurationError(f"parameter {name!r} holds something that is no number") from None
    if not np.isfinite(column).all():
        at = tuple(map(int, np.argwhere(~np.isfinite(column))[0]))
        raise ConfigurationError(f"parameter {name!r}{list(at)} is not finite")
    return column
