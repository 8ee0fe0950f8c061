"""Held coordinates: those whose accelerations are prescribed, and the free ones beside them.

`held_by` makes the mechanism whose bodies know which of their coordinates are held. Blocks of a
joint and its screws have two parts then, `held` and `free`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.errors import ModelError, known
from mozzi.lie import Screws
from mozzi.lie.screw import Six
from mozzi.types import JointChoice

__all__ = ["free", "free_screws", "held", "held_by", "held_screws", "merge"]

T = TypeVar("T")
K = TypeVar("K", bound=Six)


class Held(Protocol):
    """A body that knows which of its coordinates are held."""

    @property
    def held(self) -> tuple[bool, ...]: ...


def held_by(model: Mechanism, prescribed: JointChoice) -> Mechanism:
    """The mechanism whose bodies know which of their coordinates are held: `i.held`.

    prescribed: names of joints, or pairs (name, number of a coordinate).
    """
    names = model.model.joint_names
    held = [[False] * body.joint.nv for body in model.bodies]
    for item in [prescribed] if isinstance(prescribed, str) else prescribed:
        joint, k = item if isinstance(item, (tuple, list)) else (item, None)
        if joint not in names:
            raise ModelError(
                f"model {model.model.name!r} has no joint {joint!r}; it has {known(joint, names)}"
            )
        own = held[names.index(joint)]
        if k is not None and not 0 <= k < len(own):
            raise ModelError(f"joint {joint!r} has coordinates 0 to {len(own) - 1}, no {k!r}")
        for n in range(len(own)) if k is None else (k,):
            own[n] = True
    return model.holding(held)


def free(i: Held, x: Sequence[T]) -> list[T]:
    """The entries of a block of body i at its free coordinates."""
    return [e for e, h in zip(x, i.held, strict=True) if not h]


def held(i: Held, x: Sequence[T]) -> list[T]:
    """The entries of a block of body i at its held coordinates."""
    return [e for e, h in zip(x, i.held, strict=True) if h]


def free_screws(i: Held, S: Screws[K]) -> Screws[K]:
    """The columns of S of the free coordinates."""
    return Screws(free(i, S.columns))


def held_screws(i: Held, S: Screws[K]) -> Screws[K]:
    """The columns of S of the held coordinates."""
    return Screws(held(i, S.columns))


def merge(i: Held, free: Sequence[T], held: Sequence[T]) -> list[T]:
    """The whole block of body i, of its free and its held entries."""
    parts = {False: iter(free), True: iter(held)}
    return [next(parts[h]) for h in i.held]
