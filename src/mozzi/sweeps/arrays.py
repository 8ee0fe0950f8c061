"""The arrays of a store as readers see them: names of axes, units, coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.files import zarr_library
from mozzi.sweeps.reductions import BINS_WORD, QUANTILES

__all__ = ["FLAT", "JOBS", "Labels", "Notes", "make", "missing", "summarise"]

Labels: TypeAlias = Mapping[str, tuple[str, Sequence[str] | Sequence[float] | NDArray[np.float64]]]
"""By name, an axis and what its places are called, or where they are."""

Notes: TypeAlias = Mapping[str, Mapping[str, object]]
"""By array, names of its axes (but the first) under "axes", and attributes."""

JOBS = "jobs"  # the group of what jobs say, and of the parts that they give to reductions
FLAT = {"name": "default", "separator": "."}  # chunks are files of one folder: c.0.0


def make(
    group: Any, examples: Mapping[str, NDArray[np.generic]], axis: str, rows: int, chunk: int,
    notes: Notes, labels: Labels, varied: Sequence[str],
) -> None:  # fmt: skip
    """Arrays for results like these, of which jobs write chunks; what is missing is NaN (0 of
    integers). Labels of axes, and the columns that varied, are coordinates to xarray.
    """
    zarr, used = zarr_library(), set[str]()
    for name, x in examples.items():
        note = dict(notes.get(name, {}))
        every = [f"{name.removeprefix(f'{JOBS}/')}_{k}" for k in range(x.ndim - 1)]
        own = cast("list[str]", note.pop("axes", None) or every)
        used |= {*own}
        told = [*_beside(labels, own), *(n for n in varied if n != name and " " not in n)]
        packed = axis == "job" and name.endswith(BINS_WORD)
        try:
            group.create_array(
                name, shape=(rows, *x.shape[1:]), chunks=(chunk, *(max(1, n) for n in x.shape[1:])),
                dtype=x.dtype.newbyteorder("<"), fill_value=missing(x.dtype),
                compressors=zarr.codecs.GzipCodec() if packed else None, chunk_key_encoding=FLAT,
                dimension_names=[axis, *own], attributes=_coordinates(note, told),
            )  # fmt: skip
        except zarr.errors.ContainsArrayError:
            continue  # of a run that was stopped here, or of somebody who does the same
    _label(group, labels, used, examples)


def summarise(
    group: Any, found: Mapping[str, NDArray[np.generic]], notes: Notes, labels: Labels
) -> None:
    """What all jobs together say: ``q.mean``, with the axes of ``q``."""
    used = {"quantile"}
    for name, x in found.items():
        base, _, word = name.rpartition(".")
        more = {"quantiles": ["quantile"], "histogram": ["bin"]}.get(word, [])
        note = dict(notes.get(base, {}))
        every = [f"{base}_{k}" for k in range(x.ndim - len(more))]
        own = ["edge"] if name == "edges" else cast("list[str]", note.pop("axes", None) or every)
        used |= {*own}
        group.create_array(
            name, data=np.asarray(x, dtype="<f8"), compressors=None, chunk_key_encoding=FLAT,
            dimension_names=[*own, *more] if word == "histogram" else [*more, *own],
            attributes=_coordinates(note, _beside(labels, own)), overwrite=True,
        )  # fmt: skip
    if any(name.endswith(".quantiles") for name in found):
        labels = {**labels, "quantile": ("quantile", QUANTILES)}
    _label(group, labels, used, found)


def _beside(labels: Labels, own: Sequence[str]) -> list[str]:
    """Labels of axes that are no names of axes: units."""
    return [n for n, (at, _) in labels.items() if n not in own and at in own]


def _coordinates(note: dict[str, object], told: Sequence[str]) -> dict[str, object]:
    """As the CF conventions have it."""
    return note | {"coordinates": " ".join(told)} if told else note


def _label(group: Any, labels: Labels, used: set[str], taken: Iterable[str]) -> None:
    names = set(taken)
    for name, (at, values) in labels.items():
        if at in used and name not in names and len(values):
            text = isinstance(values[0], str)
            x = group.create_array(
                name, shape=(len(values),), chunks=(len(values),), dimension_names=[at],
                dtype=str if text else "<f8", overwrite=True,
            )  # fmt: skip
            x[...] = np.array(values, dtype=object if text else float)


def missing(dtype: np.dtype[Any]) -> float:
    """What stands where nothing was computed."""
    return np.nan if dtype.kind == "f" else 0
