"""Errors name the thing, the fact and the remedy.

Every error that mozzi raises on purpose is a `MozziError`. Each is also the built-in error that a
Python programmer would expect, so that ``except ValueError`` catches a bad model as well.
"""

from __future__ import annotations

__all__ = [
    "ConfigurationError",
    "ContactWarning",
    "DivergenceWarning",
    "ExtraMissingError",
    "LeftOutWarning",
    "LoopError",
    "ModelError",
    "MozziError",
    "NotShownWarning",
    "SingularError",
    "SingularWarning",
    "UnphysicalWarning",
]


class MozziError(Exception):
    """The base of all errors that mozzi raises on purpose."""


class ModelError(MozziError, ValueError):
    """A mechanism that cannot be: a file, a name, a number or a frame is wrong."""


class ConfigurationError(MozziError, ValueError):
    """Numbers handed to a model that do not fit it: a wrong length, a zero quaternion, a NaN."""


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


class DivergenceWarning(UserWarning):
    """A simulated motion became infinite; it was stopped there."""


class ContactWarning(UserWarning):
    """A simulated step missed a law of contact, dry friction or limits by more than rounding."""
