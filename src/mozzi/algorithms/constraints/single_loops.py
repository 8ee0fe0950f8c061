"""Large mechanisms whose loops are alike, loop by loop: rows in a row of windows are those of one
window, at many configurations.

A row of a loop has entries at the joints between the ends of the loop alone, and its residual
depends on these alone. So residuals and Jacobians of a hundred equal loops are those of one of them
by itself (`loop_alone`), in one call at a hundred configurations: a program of the size of a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.algorithm import Arrays, Options
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_residual, loop_rows
from mozzi.model import Model
from mozzi.model.edit import loop_alone, loop_bodies
from mozzi.types import Array

__all__ = ["LARGE", "AlikeLoops", "alike_loops", "rounded"]

Place: TypeAlias = tuple[NDArray[np.intp], ...]

LARGE = 60  # coordinates of a mechanism whose loops are looked at one by one
FEW_KINDS = 4  # of loops, and each of them must be small


@dataclass(frozen=True)
class AlikeLoops:
    """Loops of a model that are equal by themselves: their rows in the model (L, rows), their
    coordinates (L, nq) and velocities (L, nv).
    """

    alone: Model
    rows: NDArray[np.intp]
    q: NDArray[np.intp]
    v: NDArray[np.intp]


def alike_loops(model: Model) -> list[AlikeLoops] | None:
    """The loops of a large mechanism that has nothing else to close it, in a few kinds; None where
    there are many kinds, or none.
    """
    if model.nv <= LARGE or not model.loops or len(model.loops) < len(model.closures):
        return None
    key = "alike loops"
    if key not in model.cache:
        model.cache[key] = _alike_loops(model)
    return model.cache[key]


def _alike_loops(model: Model) -> list[AlikeLoops] | None:
    kinds: dict[object, Model] = {}
    places: dict[object, list[tuple[list[int], list[int], list[int]]]] = {}
    rows = loop_rows(model)
    for loop in model.loops:
        bodies = loop_bodies(model, loop)
        v = [k for i in bodies for k in _places(model.v_slices[model.joint_names[i]])]
        q = [k for i in bodies for k in _places(model.q_slices[model.joint_names[i]])]
        if len(v) > LARGE:
            return None
        alone = loop_alone(model, loop)
        key = rounded(alone.key)
        kinds.setdefault(key, alone)
        places.setdefault(key, []).append((_places(rows[loop.name]), q, v))
        if len(kinds) > FEW_KINDS:
            return None
    return [
        AlikeLoops(kinds[key], *(np.array(x, dtype=np.intp) for x in zip(*every, strict=True)))
        for key, every in places.items()
    ]


def _places(part: slice) -> list[int]:
    return list(range(part.start, part.stop))


def rounded(key: object) -> object:
    """The content of a model without the rounding of where it stands."""
    if isinstance(key, tuple):
        return tuple(map(rounded, cast("tuple[object, ...]", key)))
    return round(key, 12) + 0.0 if isinstance(key, float) else key


def _configurations(model: Model, arrays: Arrays) -> tuple[Array, list[AlikeLoops]] | None:
    """q, and loops that answer for those of the model at arrays of NumPy."""
    q = arrays["q"]
    kinds = alike_loops(model) if model.nominal is None else None
    if kinds is None or not isinstance(q, (np.ndarray, list, tuple)):
        return None
    q = np.asarray(q)
    if q.dtype.kind not in "fiu" or q.ndim == 0 or q.shape[-1] != model.nq:
        return None
    return q, kinds


def _by_kinds(
    function: Callable[[Model, Array], Array],
    model: Model,
    arrays: Arrays,
    place: Callable[[AlikeLoops], Place],
    columns: tuple[int, ...] = (),
) -> Array:
    """A function of the rows, loop by loop; place: of what one kind of loops gives."""
    known = _configurations(model, arrays)
    if known is None:
        return NotImplemented
    q, kinds = known
    found = [(place(x), np.asarray(function(x.alone, q[..., x.q]))) for x in kinds]
    out = np.zeros((*q.shape[:-1], model.row_count, *columns), dtype=found[0][1].dtype)
    for at, own in found:
        out[(..., *at)] = own
    return out


@loop_residual.on_arrays
def residual_by_kinds(model: Model, arrays: Arrays, options: Options) -> Array:
    """`loop_residual`, loop by loop."""
    return _by_kinds(loop_residual, model, arrays, lambda x: (x.rows,))


@loop_jacobian.on_arrays
def jacobian_by_kinds(model: Model, arrays: Arrays, options: Options) -> Array:
    """`loop_jacobian`, loop by loop."""
    place: Callable[[AlikeLoops], Place] = lambda x: (x.rows[:, :, None], x.v[:, None, :])
    return _by_kinds(loop_jacobian, model, arrays, place, (model.nv,))
