"""Tables of arrays, by system, as one array."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import Parameter, Signature
from operator import itemgetter
from types import EllipsisType
from typing import TypeAlias, cast

import numpy as np

from mozzi.algorithms.loops.topology import State
from mozzi.compiler import compile
from mozzi.errors import ShapeError
from mozzi.model import Builder
from mozzi.program.node import active
from mozzi.targets.cpu.calls.single_call_text import OPERANDS_MAX
from mozzi.targets.cpu.kernel import SINGLE_CALL_NUMBERS
from mozzi.types import Array, ArrayLike, Traced

__all__ = ["Layout", "Place"]

Place: TypeAlias = tuple[EllipsisType | slice, ...]
"""An index of an array."""

Pick: TypeAlias = Callable[[State], Sequence[ArrayLike]]
"""What takes the arrays out of a table, in the order of the systems."""


class Layout:
    """How arrays by system lie in one array, one behind the other.

    shapes: of each, without batch axes. zeros: what they are where nothing is given. places:
    (system, index of the one array). arrays: those of a table, in the order of the systems; a
    `LookupError` where one is missing. join: the one array of them; a `TypeError` or `ValueError`
    where they do not fit.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]):
        self.shapes = shapes
        self.zeros = {name: np.zeros(shape) for name, shape in shapes.items()}
        self.places: list[tuple[str, Place]] = []
        start = 0
        for name, (size, *tail) in shapes.items():
            at = slice(start, start + size), *(slice(None) for _ in tail)
            self.places.append((name, (..., *at)))
            start += size
        get = cast(Pick, itemgetter(*shapes))
        self.arrays: Pick = get if len(shapes) > 1 else lambda table: [cast(Array, get(table))]
        self.join: Callable[..., Array] = self._first

    def _first(self, *arrays: Array) -> Array:
        """Join arrays, and find out how that is done: by a program where it has few numbers, which
        takes a third of NumPy's time for one state, and looks at shapes, too.
        """
        if active() is not None:  # programs are not compiled in the middle of another
            return self._by_numpy(*arrays)
        sizes = [x.size for x in self.zeros.values()]
        short = 2 * sum(sizes) <= SINGLE_CALL_NUMBERS and len(sizes) < OPERANDS_MAX
        flat = all(len(shape) == 1 and shape != (0,) for shape in self.shapes.values())
        own = tuple(self.shapes.values())
        self.join = joining(own) if short and flat else self._by_numpy
        return self.join(*arrays)

    def _by_numpy(self, *arrays: Array) -> Array:
        for (name, shape), x in zip(self.shapes.items(), arrays, strict=True):
            if np.shape(x) != shape:
                raise ShapeError("ClosedSystem", f"that of {name!r}", np.shape(x), shape)
        return np.concatenate(arrays)


@lru_cache(maxsize=64)
def joining(shapes: tuple[tuple[int, ...], ...]) -> Callable[..., Array]:
    """A kernel of arrays of these shapes that puts them behind one another."""
    inputs = {f"x_{k}": shape for k, shape in enumerate(shapes)}

    def join(*arrays: Traced) -> Traced:
        return np.concatenate(arrays)

    names = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in inputs]
    join.__signature__ = Signature(names)  # type: ignore[attr-defined]
    nothing = Builder("tables").build()
    return cast("Callable[..., Array]", compile(join, nothing, inputs=inputs))
