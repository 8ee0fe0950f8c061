"""What a model knows of its content: counts, names and where they are in q and v."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mozzi.errors import UnknownNameError, known
from mozzi.model.content import Content, Frame

if TYPE_CHECKING:
    from mozzi.model.model import Model

__all__ = ["Derived"]


@dataclass(frozen=True, eq=False, repr=False)
class Derived(Content):
    """The parts of a model, and what follows from them."""

    nb: int = field(init=False)
    nq: int = field(init=False)
    nv: int = field(init=False)
    bodies: tuple[str, ...] = field(init=False)
    frames: tuple[str, ...] = field(init=False)
    joint_names: tuple[str, ...] = field(init=False)
    parents: tuple[int, ...] = field(init=False)
    q_offsets: tuple[int, ...] = field(init=False)
    v_offsets: tuple[int, ...] = field(init=False)
    q_slices: Mapping[str, slice] = field(init=False)
    v_slices: Mapping[str, slice] = field(init=False)
    _key: tuple[object, ...] | None = field(init=False)
    _digest: str | None = field(init=False)
    _hash: int | None = field(init=False)
    _index: dict[str, int] = field(init=False)
    _joint_index: dict[str, int] = field(init=False)
    _frame_index: dict[str, Frame] = field(init=False)
    nominal: Model | None = field(init=False)
    """Where numbers of the model are traced (see `vary`): the model that has them as they are."""
    rows_depend: bool = field(init=False)
    """Whether rows of its loops were seen to depend on one another where it is closed. Not part of
    its content; copies know it, too.
    """
    cache: dict[Hashable, Any] = field(init=False)
    """What was derived from the model: views, kernels. Not part of its content."""

    def __post_init__(self) -> None:
        super().__post_init__()
        q_offsets, v_offsets = [0], [0]
        for body in self._bodies:
            q_offsets.append(q_offsets[-1] + body.joint.nq)
            v_offsets.append(v_offsets[-1] + body.joint.nv)
        joints = tuple(body.joint_name for body in self._bodies)
        names = tuple(body.name for body in self._bodies)
        self._set(
            nb=len(names),
            nq=q_offsets[-1],
            nv=v_offsets[-1],
            bodies=names,
            frames=names + tuple(frame[0] for frame in self._frames),
            joint_names=joints,
            parents=tuple(body.parent for body in self._bodies),
            q_offsets=tuple(q_offsets),
            v_offsets=tuple(v_offsets),
            q_slices=_slices(joints, q_offsets),
            v_slices=_slices(joints, v_offsets),
            _index={name: i for i, name in enumerate(names)},
            _joint_index={name: i for i, name in enumerate(joints)},
            _frame_index={frame[0]: frame for frame in self._frames},
            cache={},
            nominal=None,
            rows_depend=False,
            _key=None,
            _digest=None,
            _hash=None,
        )

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


class _Slices(dict[str, slice]):
    """Slices by the name of a joint, which say what names there are."""

    def __missing__(self, name: object) -> slice:
        raise UnknownNameError(f"the model has no joint {name!r}; it has {known(name, self)}")


def _slices(names: tuple[str, ...], offsets: list[int]) -> Mapping[str, slice]:
    pairs = itertools.pairwise(offsets)
    named = {n: slice(a, b) for n, (a, b) in zip(names, pairs, strict=True)}
    return MappingProxyType(_Slices(named))
