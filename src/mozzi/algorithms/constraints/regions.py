# pyright: reportConstantRedefinition=false
"""Which coordinates the rows of closures act on: large mechanisms are solved along a band, and
closed again where they stay open only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.constraints.rank import NO_ENTRY
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, loop_rows
from mozzi.model import Model
from mozzi.types import Array

__all__ = ["Stuck", "band_of", "columns_of", "solve_along"]

Mask = NDArray[np.bool_]
Ids = NDArray[np.intp]

STUCK = 1e-2  # of the largest residual: closures open by less may be strained by others
BLOCK = 24  # coordinates that are solved for at once: fewer take longer, one after the other


def columns_of(model: Model) -> Mask:
    """Whether a row of `loop_jacobian` has an entry at a coordinate, (rows, nv): in configurations
    at random.
    """
    key = "columns of rows"
    if key not in model.cache:
        q = model.random_configuration(0, 2, closed=False)
        found = np.abs(loop_jacobian(model, q)).max(axis=0) > NO_ENTRY
        found.flags.writeable = False
        model.cache[key] = found
    return model.cache[key]


class Stuck:
    """Where closures of samples stay open, and how often they did: `joints` to begin anew with.

    A closure that cannot be closed from where it is strains those around it, less and less with the
    distance. So those are stuck that are open by more than all around; each second time the ones
    around are taken for stuck as well, further and further.
    """

    def __init__(self, model: Model, samples: int):
        self.starts = [rows.start for rows in loop_rows(model).values() if rows.stop > rows.start]
        self.times = np.zeros((samples, len(self.starts)), dtype=int)
        row, column = np.nonzero(columns_of(model))
        closure = np.searchsorted(self.starts, row, side="right") - 1
        self.acts = np.zeros((len(self.starts), model.nb), dtype=bool)
        joint = np.repeat(np.arange(model.nb), np.diff(model.v_offsets))
        self.acts[closure, joint[column]] = True

    def joints(self, samples: Ids, residual: Array) -> Mask:
        """Of these samples, with these residuals (B, rows), the joints (B, nb) of closures that are
        stuck.
        """
        gaps = np.maximum.reduceat(np.abs(residual), self.starts, axis=-1)
        found = np.zeros_like(gaps, dtype=bool)
        for own, gap, times in zip(found, gaps, self.times[samples], strict=True):
            for k in np.flatnonzero(gap > STUCK * gap.max()):
                if gap[k] >= gap[self._around(np.array([k]))].max():
                    region = np.array([k])
                    for _ in range(times[k] // 2):
                        region = self._around(region)
                    own[region] = True
        self.times[samples] += found
        return found @ self.acts

    def _around(self, closures: Ids) -> Ids:
        """Closures that share joints with these, and these."""
        joints = self.acts[closures].any(axis=0)
        return np.flatnonzero(self.acts[:, joints].any(axis=1))


# -- (JᵀJ + μ) x = Jᵀ r, along a band --


@dataclass(frozen=True)
class _Block:
    """Coordinates that are solved for at once: their numbers, the rows that act on them, and those
    that act on the ones before as well.
    """

    columns: Ids
    rows: Ids
    shared: Ids


def band_of(model: Model) -> list[_Block]:
    """The coordinates of a model in blocks, of which rows act on neighbours only: by distance from
    one at an end.
    """
    key = "band of rows"
    if key not in model.cache:
        model.cache[key] = _band(columns_of(model))
    return model.cache[key]


def _band(acts: Mask) -> list[_Block]:
    near = _neighbours(acts)
    left, order = set(range(acts.shape[1])), list[list[int]]()
    while left:
        first = _layers(near, min(left))
        layers = _layers(near, first[-1][0])
        order += layers
        left -= {k for layer in layers for k in layer}
    found: list[_Block] = []
    block: list[int] = []
    for n, layer in enumerate(order):
        block += layer
        if len(block) < BLOCK and n + 1 < len(order):
            continue
        columns = np.array(block, dtype=np.intp)
        own = acts[:, columns].any(axis=1)
        before = acts[:, found[-1].columns].any(axis=1) if found else np.zeros_like(own)
        found.append(_Block(columns, np.flatnonzero(own), np.flatnonzero(own & before)))
        block = []
    return found


def _neighbours(acts: Mask) -> list[set[int]]:
    """Of each coordinate those that some row acts on together with it."""
    near: list[set[int]] = [{k} for k in range(acts.shape[1])]
    for row in np.unique(acts, axis=0):
        own = np.flatnonzero(row).tolist()
        for k in own:
            near[k].update(own)
    return near


def _layers(near: Sequence[set[int]], first: int) -> list[list[int]]:
    """Coordinates by their distance from the first one, as far as there are any."""
    seen, layers = {first}, [[first]]
    while layers[-1]:
        around = set[int]().union(*(near[k] for k in layers[-1])) - seen
        seen |= around
        layers.append(sorted(around))
    return layers[:-1]


def solve_along(band: Sequence[_Block], J: Array, r: Array, damping: Array) -> Array:
    """(JᵀJ + μ)⁻¹ Jᵀ r of samples J (B, m, nv), r (B, m), μ (B): by blocks along a band of J."""
    ends = [J[:, x.rows[:, None], x.columns] for x in band]
    diagonal = [np.swapaxes(A, 1, 2) @ A for A in ends]
    right = [np.swapaxes(A, 1, 2) @ r[:, x.rows, None] for A, x in zip(ends, band, strict=True)]
    lower = [
        np.swapaxes(J[:, x.shared[:, None], x.columns], 1, 2)
        @ J[:, x.shared[:, None], before.columns]
        for before, x in pairwise(band)
    ]
    back: list[Array] = []
    for k, N in enumerate(diagonal):
        N += damping[:, None, None] * np.eye(N.shape[-1])
        if k:
            N -= lower[k - 1] @ back[-1][..., :-1]
            right[k] = right[k] - lower[k - 1] @ back[-1][..., -1:]
        beside = [np.swapaxes(lower[k], 1, 2)] if k < len(lower) else []
        both = np.concatenate([*beside, right[k]], axis=-1)
        back.append(cast("Array", np.linalg.solve(N, both)))
    out = np.zeros((len(J), J.shape[-1]))
    after: Array | None = None
    for x, found in zip(reversed(band), reversed(back), strict=True):
        own = found[..., -1]
        if after is not None:
            own = own - (found[..., :-1] @ after[..., None])[..., 0]
        out[:, x.columns] = after = own
    return out
