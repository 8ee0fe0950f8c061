"""The arguments of algorithms: what arrays are by their names, their shapes, and how recursions see
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Generic, TypeVar, cast

import numpy as np

from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.views import BodyView, ByBody, SpatialType
from mozzi.errors import ConfigurationError
from mozzi.lie import Inertia, Momentum, Twist, Wrench
from mozzi.model import Model

__all__ = ["ARRAYS", "Blocks", "NoBlocks", "given_or_zero", "shape_of", "wrapped"]

T = TypeVar("T")
Axes = tuple[int | str, ...]

#: What the arrays that algorithms take are, by name: axes per body (see containers.BlockArray), and
#: the type of a block.
ARRAYS: dict[str, tuple[Axes, SpatialType[Inertia | Momentum | Twist | Wrench] | None]] = {
    **dict.fromkeys(
        ("q", "q0", "q1", "q_ref", "q_lower", "q_upper", "q_dot", "q_ddot"), (("q",), None)
    ),
    **dict.fromkeys(
        ("v", "a", "tau", "p", "j", "s", "dv", "v_ref", "a_ref", "dq", "da", "dtau"), (("v",), None)
    ),
    "wrenches": (("b", 6), Wrench),
    "dwrenches": (("b", 6), Wrench),
    "dinertias": (("b", 10), Inertia),
    "dh": (("b", 6), Twist),
    **dict.fromkeys(("dscrews", "dscrew_rates"), ((6, "v"), None)),
    "covector": (("v",), None),
    "rates": (("o", "v"), None),
    "wrench_rates": (("b", "w", 6), None),
    "parameters": (("p",), None),
    "twists": (("b", 6), Twist),
    "twist_rates": (("b", 6), Twist),
    "momenta": (("b", 6), Momentum),
    "weights": (("b", 6), None),
    **dict.fromkeys(("twist", "twist_rate"), ((6,), Twist)),
    "wrench": ((6,), Wrench),
    "columns": ((6, "v"), None),
    "point": ((3,), None),
    "targets": (("f", 4, 4), None),
    "damping": ((), None),
    **dict.fromkeys(
        (
            "loop_offsets", "loop_rates", "loop_accelerations", "multipliers", "loop_covector",
            "kept",
        ),
        (("m",), None),
    ),
}


def shape_of(
    name: str, model: Model, options: Mapping[str, object] | None = None
) -> tuple[int, ...]:
    """The shape of an argument of this name, behind the batch axes ("f": a row per frame that the
    option `frames` names; "m": a row per equation of a loop, distance or coupling; "p": one for
    each of the option `names`; "o": a row per derivative of q, up to the option `order`; "w": one
    per derivative of the forces, which are two less, and the forces themselves).
    """
    given = options or {}
    sizes = {"q": model.nq, "v": model.nv, "b": model.nb, "m": model.row_count}
    named = (cast("Sized", given.get(option, ())) for option in ("frames", "names"))
    sizes |= dict(zip("fp", map(len, named), strict=True))
    order = cast("int", given.get("order", 0))
    sizes |= {"o": order, "w": max(order - 1, 0)}
    return tuple(n if isinstance(n, int) else sizes[n] for n in ARRAYS[name][0])


class Blocks(Generic[T]):
    """The blocks of an array as spatial quantities."""

    def __init__(self, blocks: BlockArray, kind: SpatialType[T]):
        self.blocks, self.kind = blocks, kind

    def __getitem__(self, body: BodyView) -> T:
        return self.kind.unflatten(self.blocks[body])


class NoBlocks(Generic[T]):
    """An optional array that was not given: zero everywhere."""

    def __init__(self, kind: SpatialType[T]):
        self.kind = kind

    def __getitem__(self, body: BodyView) -> T:
        return self.kind.zero()


def given_or_zero(x: ByBody[T] | None, kind: SpatialType[T]) -> ByBody[T]:
    """An optional argument of a recursion: zero where it is not given."""
    return NoBlocks(kind) if x is None else x


def wrapped(
    view: Mechanism, algorithm: str, name: str, given: object, options: Mapping[str, object]
) -> BlockArray | ByBody[Inertia | Momentum | Twist | Wrench] | None:
    """An array of the caller (None: not given) as a recursion sees it."""
    axes, kind = ARRAYS[name]
    if given is None:
        return NoBlocks(kind) if kind is not None else None
    data, shape = np.asarray(given, dtype=object), shape_of(name, view.model, options)
    if data.shape != shape:
        raise ConfigurationError(
            f"{algorithm}: {name} has shape {data.shape}; this model takes {shape}"
        )
    axes = tuple(n if axis in ("f", "m", "p", "o", "w") else axis for axis, n in zip(axes, shape))
    array = BlockArray(view, name, axes, data)
    return array if kind is None else Blocks(array, kind)
