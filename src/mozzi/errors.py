"""Errors name the thing, the fact and the remedy.

Every error that mozzi raises on purpose is a `MozziError`. Each is also the built-in error that a
Python programmer would expect, so that ``except ValueError`` catches a bad model as well.
"""

from __future__ import annotations

import sys
import warnings
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
    "KindError",
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
    "again",
    "as_numbers",
    "known",
    "nearest",
    "warn",
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


def again(
    kind: type[BaseException], args: tuple[object, ...], fields: dict[str, object]
) -> BaseException:
    """An error from its message and fields, without its constructor: how it comes out of another
    process (a pool waits for ever for what cannot be made again).
    """
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class MozziError(Exception):
    """The base of all errors that mozzi raises on purpose.

    Example:
        >>> try:
        ...     mz.pose(mz.load("arm.urdf"), np.zeros(3), "tol")
        ... except mz.MozziError as error:
        ...     print("tool" in str(error))
        True
    """


class ModelError(MozziError, ValueError):
    """A mechanism that cannot be: a file, a name, a number or a frame is wrong.

    Example:
        >>> try:
        ...     mz.Builder("arm").add("link", "nowhere", mz.Revolute()).build()
        ... except mz.ModelError as error:
        ...     print("nowhere" in str(error))
        True
    """


class UnknownNameError(ModelError, KeyError):
    """A name that a table of a model does not have; the message has those that there are.

    Example:
        >>> try:
        ...     mz.load("arm.urdf").configurations["standing"]
        ... except mz.UnknownNameError as error:
        ...     print("standing" in str(error))
        True
    """

    __str__ = Exception.__str__  # KeyError shows the repr of its message


class ConfigurationError(MozziError, ValueError):
    """Numbers handed to a model that do not fit it: a wrong length, a zero quaternion, a NaN.

    Example:
        >>> try:
        ...     mz.mass_matrix(mz.load("arm.urdf"), [np.nan, 0.0, 0.0])
        ... except mz.ConfigurationError as error:
        ...     print("joint_1" in str(error))
        True
    """


class ShapeError(ConfigurationError):
    """An array whose last axes do not fit the argument it was given for.

    Example:
        >>> try:
        ...     mz.mass_matrix(mz.load("arm.urdf"), np.zeros(4))
        ... except mz.ShapeError as error:
        ...     print("nq = 3" in str(error))
        True
    """

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

    def __reduce__(self) -> tuple[object, ...]:
        return again, (type(self), self.args, self.__dict__)


class KindError(ConfigurationError, TypeError):
    """An argument of a wrong kind: a word where a number is needed, a number where a model is.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> try:
        ...     mz.simulate(arm, "home", np.zeros(3), 1.0, 0.01)
        ... except mz.KindError as error:
        ...     print("q0 is 'home'; give an array of real numbers" in str(error))
        True
    """

    def __init__(
        self, function: str, argument: str, given: object, wanted: str, fact: str = ""
    ) -> None:
        self.function, self.argument, self.wanted = function, argument, wanted
        fact = fact or f"{argument} is {given!r:.60}"
        super().__init__(f"{function}: {fact}; give {wanted}")

    def __reduce__(self) -> tuple[object, ...]:
        return again, (type(self), self.args, self.__dict__)


class LoopError(MozziError, ValueError):
    """A kinematic loop that is open where it must be closed, or that cannot be closed.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> far = bar.with_loop("far", None, "rocker", mz.Spherical(), (9, 9, 9))
        >>> try:
        ...     mz.assemble(far, far.neutral())
        ... except mz.LoopError as error:
        ...     print("far" in str(error))
        True
    """


class SingularError(MozziError, ArithmeticError):
    """A matrix that has no inverse: a mass matrix that is not positive definite, dependent
    loops.

    Example:
        >>> speck = mz.Builder("speck").add("speck", None, mz.Revolute()).build()  # no inertia
        >>> try:
        ...     mz.forward_dynamics(speck, [0.0], [0.0], [1.0])
        ... except mz.SingularError as error:
        ...     print("speck" in str(error))
        True
    """


class ExtraMissingError(MozziError, ImportError):
    """An optional package is not installed; the message says which extra brings it.

    Example:
        >>> issubclass(mz.ExtraMissingError, ImportError)
        True
    """


class UnphysicalWarning(UserWarning):
    """A model was built with inertias that no rigid body has.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", mz.UnphysicalWarning)
        ...     arm = mz.load("arm.urdf", physical=False)
    """


class LeftOutWarning(UserWarning):
    """A file says something that the model made from it does not: what it is, and where.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", mz.LeftOutWarning)
        ...     arm = mz.load("arm.urdf")
    """


class NotShownWarning(UserWarning):
    """A shape of a model cannot be drawn: which, and why.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore", mz.NotShownWarning)
        >>> warnings.simplefilter("default", mz.NotShownWarning)
    """


class SingularWarning(UserWarning):
    """Loops lose rank in a configuration that dynamics was asked about, or a simulation passed.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("error", mz.SingularWarning)  # stop there
        >>> warnings.simplefilter("default", mz.SingularWarning)
    """


class OpenLoopWarning(UserWarning):
    """Dynamics was asked about a configuration in which loops are open, or about velocities that
    open them so that their rows contradict each other: which, and by how much.

    Example:
        >>> import warnings
        >>> bar = mz.load("four_bar.sdf")
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always")
        ...     a = mz.forward_dynamics(bar, bar.neutral() + 0.1, np.zeros(3), np.zeros(3))
        >>> told[0].category.__name__
        'OpenLoopWarning'
    """


class DivergenceWarning(UserWarning):
    """A simulated motion became infinite; it was stopped there.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("error", mz.DivergenceWarning)  # stop there
        >>> warnings.simplefilter("default", mz.DivergenceWarning)
    """


class EnergyWarning(UserWarning):
    """A simulated motion that nothing drives or brakes gained or lost energy, or one that nothing
    drives gained some: its steps are too long for its method.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore", mz.EnergyWarning)  # long steps are meant
        >>> warnings.simplefilter("default", mz.EnergyWarning)
    """


class StiffWarning(UserWarning):
    """Forces of a simulation change faster than its explicit steps can follow.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("error", mz.StiffWarning)  # stop there
        >>> warnings.simplefilter("default", mz.StiffWarning)
    """


class ContactWarning(UserWarning):
    """A simulated step missed a law of contact, dry friction or limits by more than rounding, or
    rigid shapes are deep in each other.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("error", mz.ContactWarning)  # stop there
        >>> warnings.simplefilter("default", mz.ContactWarning)
    """


def as_numbers(x: object, function: str, argument: str) -> NDArray[np.float64]:
    """An argument as an array of numbers, or an error that names it."""
    import numpy as np

    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"{function}: {argument} is no array of numbers but {x!r:.60}; give numbers"
        ) from None


def warn(text: str, kind: type[Warning] = UserWarning) -> None:
    """A warning that points at the line from which the library was called."""
    level, frame = 1, sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("mozzi."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, kind, stacklevel=level)
