"""Configurations that are none: seen by compiled code, named here.

Kernels of algorithms look at the configurations they are given while they have them in registers,
and count alarms (`targets/cpu/batch_loop.py`); what is wrong with which sample is found here, after
an alarm, so that a call without one pays next to nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from mozzi.algorithms.calls.arguments import ARRAYS
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.types import ArrayLike

__all__ = ["check", "configurations", "look", "unchecked", "units_of"]

UNBOUNDED = ("q_lower", "q_upper")  # of limits: infinity is one, a quaternion has none


class _Now(threading.local):
    trusted = False


_now = _Now()
_on = True


def configurations(names: Sequence[str]) -> tuple[str, ...]:
    """Those of these arrays that are configurations."""
    return tuple(n for n in names if ARRAYS[n][0] == ("q",) and n not in UNBOUNDED)


def units_of(names: Sequence[str], model: Model) -> dict[str, tuple[int, ...]]:
    """Where configurations have quaternions."""
    return dict.fromkeys(configurations(names), model.quaternions)


def look(function: str, model: Model, arrays: Mapping[str, ArrayLike]) -> None:
    """Raise for the first configuration that is none, with its joint and its sample."""
    if _now.trusted or not _on:
        return
    for name in configurations(tuple(arrays)):
        try:
            model.check_configuration(arrays[name])
        except ConfigurationError as error:
            raise ConfigurationError(f"{function}: {name}: {error}") from None


@contextmanager
def unchecked() -> Generator[None]:
    """Take configurations as they are, in this thread: for functions that have looked at theirs,
    and whose own may be none (a sample that diverged is NaN from there on).
    """
    before, _now.trusted = _now.trusted, True
    try:
        yield
    finally:
        _now.trusted = before


def check(on: bool) -> None:
    """Whether anything is checked, in the whole process."""
    global _on
    _on = on
