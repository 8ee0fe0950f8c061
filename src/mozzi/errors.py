"""Errors name the thing, the fact and the remedy.

Every error that mozzi raises on purpose is a `MozziError`. Each is also the built-in error that a
Python programmer would expect, so that ``except ValueError`` catches a bad model as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ConfigurationError",
    "ContactWarning",
    "DivergenceWarning",
    "EnergyWarning",
    "ExtraMissingError",
    "LeftOutWarning",
    "LoopError",
    "ModelError",
    "MozziError",
    "NotShownWarning",
    "OpenLoopWarning",
    "ShapeError",
    "SingularError",
    "SingularWarning",
    "StiffWarning",
    "UnknownNameError",
    "UnphysicalWarning",
    "as_numbers",
    "known",
    "nearest",
]


def nearest(word: object, known: Iterable[str]) -> list[str]:
    """All known words, the nearest spelling first."""
    from difflib import SequenceMatcher

    ratio = SequenceMatcher(b=str(word).lower())

    def distance(other: str) -> tuple[float, str]:
        ratio.set_seq1(other.lower())
        return -ratio.ratio(), other

    return sorted(known, key=distance)


def known(word: object, words: Iterable[str]) -> str:
    """All of the words for a message, the nearest spelling first."""
    return ", ".join(map(repr, nearest(word, words))) or "none"


class MozziError(Exception):
    """The base of all errors that mozzi raises on purpose."""


class ModelError(MozziError, ValueError):
    """A mechanism that cannot be: a file, a name, a number or a frame is wrong."""


class UnknownNameError(ModelError, KeyError):
    """A name that a table of a model does not have; the message has those that there are."""

    __str__ = Exception.__str__  # KeyError shows the repr of its message


class ConfigurationError(MozziError, ValueError):
    """Numbers handed to a model that do not fit it: a wrong length, a zero quaternion, a NaN."""


class ShapeError(ConfigurationError):
    """An array whose last axes do not fit the argument it was given for."""

    def __init__(
        self,
        function: str,
        argument: str,
        shape: tuple[int, ...],
        wanted: tuple[int, ...],
        fact: str = "",
    ) -> None:
        self.function, self.argument, self.shape, self.wanted = function, argument, shape, wanted
        last = fact or f"give an array whose last axes are {wanted}"
        if not wanted:
            last = fact or "give numbers"
        super().__init__(f"{function}: {argument} has shape {shape}; {last}")


class LoopError(MozziError, ValueError):
    """A kinematic loop that is open where it must be closed, or that cannot be closed."""


class SingularError(MozziError, ArithmeticError):
    """A matrix that has no inverse: a mass matrix that is not positive definite, dependent
    loops.
    """


class ExtraMissingError(MozziError, ImportError):
    """An optional package is not installed; the message says which extra brings it."""


class UnphysicalWarning(UserWarning):
    """A model was built with inertias that no rigid body has."""


class LeftOutWarning(UserWarning):
    """A file says something that the model made from it does not: what it is, and where."""


class NotShownWarning(UserWarning):
    """A shape of a model cannot be drawn: which, and why."""


class SingularWarning(UserWarning):
    """Loops lose rank in a configuration that dynamics was asked about, or a simulation passed."""


class OpenLoopWarning(UserWarning):
    """Dynamics was asked about a configuration in which loops are open: which, and by how much."""


class DivergenceWarning(UserWarning):
    """A simulated motion became infinite; it was stopped there."""


class EnergyWarning(UserWarning):
    """A simulated motion that nothing drives or brakes gained or lost energy: its steps are too
    long for its method.
    """


class StiffWarning(UserWarning):
    """Forces of a simulation change faster than its explicit steps can follow."""


class ContactWarning(UserWarning):
    """A simulated step missed a law of contact, dry friction or limits by more than rounding."""


def as_numbers(x: object, function: str, argument: str) -> NDArray[np.float64]:
    """An argument as an array of numbers, or an error that names it."""
    import numpy as np

    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"{function}: {argument} is no array of numbers but {x!r:.60}; give numbers"
        ) from None
