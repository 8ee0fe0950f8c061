"""Results on disk: zarr, one chunk per job and array, no locks.

A job writes its chunk of every array, each a file that is renamed into its place when it is
complete, and says last that it is done. What is not said to be done is computed again. Jobs do not
meet in a file, so that nobody waits. Chunks are plain numbers, little end first, which jobs write
without zarr's help: that takes a tenth of its time, and numbers of motions do not compress.
"""

from __future__ import annotations

import json
import os
import uuid
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.errors import ConfigurationError
from mozzi.files import to_disk, zarr_library

__all__ = ["DONE", "FAILED", "Labels", "Store", "open_store"]

Facts: TypeAlias = dict[str, Any]
"""What JSON says."""

Labels: TypeAlias = Mapping[str, tuple[str, Sequence[str] | NDArray[np.float64]]]
"""By name, an axis and what its places are called, or where they are."""

DONE, FAILED = 1, 2
REPORT = 4096  # bytes of what a job tells
STATUS, TOLD = "job_status", "job_report"


@dataclass(frozen=True)
class Store:
    """A store that jobs write to. `size` rows in chunks of `chunk`; `jobs` of them."""

    path: Path
    size: int
    chunk: int

    @property
    def jobs(self) -> int:
        """How many chunks there are."""
        return -(-self.size // self.chunk)

    def _group(self) -> Any:
        return zarr_library().open_group(str(self.path), mode="r+", use_consolidated=False)

    @property
    def attributes(self) -> Facts:
        """What the store says of itself."""
        return dict(self._group().attrs)

    def describe(self, facts: Mapping[str, object]) -> None:
        """Say more of itself."""
        self._group().attrs.update(dict(facts))

    def has(self) -> bool:
        """Whether the arrays are there."""
        return bool(self._group().attrs.get("arrays"))

    def create(
        self, examples: Mapping[str, NDArray[np.generic]], axis: str,
        notes: Mapping[str, Mapping[str, object]], labels: Labels, varied: Sequence[str],
    ) -> None:  # fmt: skip
        """Make the arrays for results like these; numbers that are missing are NaN (0 of integers).

        axis: what rows are ("sample", or "job" where jobs give reductions). notes: names of other
        axes under "axes", and attributes. labels: of these axes; they and the columns that varied
        are coordinates to xarray.
        """
        group, used = self._group(), set[str]()
        rows, chunk = (self.size, self.chunk) if axis == "sample" else (self.jobs, 1)
        for name, x in examples.items():
            if name in group:
                continue
            note = dict(notes.get(name, {}))
            every = [f"{name}_{k}" for k in range(x.ndim - 1)]
            own = cast("list[str]", note.pop("axes", None) or every)
            used |= {*own}
            told = [n for n, (at, _) in labels.items() if n not in own and at in own]
            told += [n for n in varied if n != name and " " not in n]
            if told:
                note["coordinates"] = " ".join(told)  # as the CF conventions have it
            group.create_array(
                name, shape=(rows, *x.shape[1:]), chunks=(chunk, *(max(1, n) for n in x.shape[1:])),
                dtype=x.dtype.newbyteorder("<"), fill_value=_missing(x.dtype), compressors=None,
                dimension_names=[axis, *own], attributes=note,
            )  # fmt: skip
        for name, (at, values) in labels.items():
            if at in used and name not in examples and len(values):
                text = isinstance(values[0], str)
                x = group.create_array(
                    name, shape=(len(values),), chunks=(len(values),), dimension_names=[at],
                    dtype=str if text else "<f8", overwrite=True,
                )  # fmt: skip
                x[...] = np.array(values, dtype=object if text else float)
        group.attrs["arrays"] = {n: [x.dtype.str, *x.shape[1:]] for n, x in examples.items()}

    def write(
        self, job: int, columns: Mapping[str, NDArray[np.generic]], axis: str, status: int,
        report: Mapping[str, object],
    ) -> None:  # fmt: skip
        """The chunks of a job, then that it is done."""
        layout = _layout(self.path, _changed(self.path)) if columns else {}
        rows = self.chunk if axis == "sample" else 1
        files: list[Path] = []
        for name, x in columns.items():
            kind, *shape = layout.get(name, [None])
            if kind is None or list(x.shape[1:]) != shape:
                raise ConfigurationError(
                    f"{self.path}: run gives {name!r} of shape {x.shape}; the store has "
                    f"{layout.get(name)}; give the same names and shapes for all chunks"
                )
            dtype = np.dtype(kind)
            whole = np.full((rows, *shape), _missing(dtype), dtype.newbyteorder("<"))
            whole[: len(x)] = x
            files.append(self._put(name, job, whole))
        told = json.dumps(report).encode()[:REPORT]
        line = np.zeros((1, REPORT), np.uint8)
        line[0, : len(told)] = np.frombuffer(told, np.uint8)
        self._put(TOLD, job, line)
        for file in files:  # to the disk, before it is said to be done: machines lose their power
            to_disk(file)
        self._put(STATUS, job, np.array([status], np.int8))

    def _put(self, name: str, job: int, chunk: NDArray[np.generic]) -> Path:
        """Write a chunk beside its place, and rename it."""
        file = self.path.joinpath(name, "c", str(job), *["0"] * (chunk.ndim - 1))
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_name(f".{file.name}.{os.getpid()}.{uuid.uuid4().hex}.partial")
        try:
            beside.write_bytes(chunk.tobytes())
            beside.replace(file)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        return file

    def status(self) -> NDArray[np.int8]:
        """What became of every job: 0 where it is missing."""
        return np.asarray(self._group()[STATUS][:])

    def report(self, job: int) -> Facts:
        """What a job told."""
        line = np.asarray(self._group()[TOLD][job]).tobytes().rstrip(b"\0")
        try:
            return json.loads(line) if line else {}
        except ValueError:
            return {"error": line.decode(errors="replace")}

    def read(self, name: str) -> NDArray[np.generic]:
        """An array, as a whole."""
        return np.asarray(self._group()[name][...])

    def close(self) -> None:
        """Gather what arrays are in one file, so that readers open it at once."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is no part of the format's version 3 yet
            zarr_library().consolidate_metadata(str(self.path))


def _missing(dtype: np.dtype[Any]) -> float:
    """What stands where nothing was computed."""
    return np.nan if dtype.kind == "f" else 0


def _changed(path: Path) -> int:
    """When a store last said something else of itself."""
    return (path / "zarr.json").stat().st_mtime_ns


@lru_cache(maxsize=16)
def _layout(path: Path, changed: int) -> dict[str, list[Any]]:
    """Types and shapes of the arrays."""
    facts = json.loads((path / "zarr.json").read_text(encoding="utf-8"))
    return facts["attributes"]["arrays"]


def open_store(path: str | os.PathLike[str], size: int, chunk: int | None, default: int,
               facts: Mapping[str, object]) -> Store:  # fmt: skip
    """The store at a path: made, or one of the same sweep.

    facts: what says which sweep it is. A store of another one is refused.
    """
    zarr, place = zarr_library(), Path(path)
    if not place.exists():
        store = Store(place, size, chunk or default)
        group = zarr.open_group(str(place), mode="w-")
        options: Facts = {"fill_value": 0, "dimension_names": ["job"]}
        options["compressors"] = None
        group.create_array(STATUS, shape=(store.jobs,), chunks=(1,), dtype="int8", **options)
        options["dimension_names"] = ["job", "byte"]
        group.create_array(TOLD, shape=(store.jobs, REPORT), chunks=(1, REPORT), dtype="uint8",
                           **options)  # fmt: skip
        group.attrs.update({**facts, "samples": size, "chunk": store.chunk, "mozzi_sweep": 1})
        return store
    try:
        there = dict(zarr.open_group(str(place), mode="r", use_consolidated=False).attrs)
    except (FileNotFoundError, ValueError, zarr.errors.BaseZarrError):
        there = {}
    if "mozzi_sweep" not in there:
        raise ConfigurationError(f"{place}: is there, and is no sweep of mozzi; give another path")
    wanted = {**facts, "samples": size, "chunk": chunk or there["chunk"]}
    same = ("model", "parameters", "run", "reduce", "samples", "chunk")
    wrong = [n for n in same if n in wanted and there.get(n) != wanted[n]]
    if wrong:
        raise ConfigurationError(
            f"{place}: holds a sweep with {_other(wrong, there, wanted)}; give another path, or "
            "what it was made with"
        )
    return Store(place, size, there["chunk"])


def _other(wrong: Sequence[str], there: Facts, wanted: Facts) -> str:
    def short(x: object) -> str:
        return f"{x[:12]}…" if isinstance(x, str) and len(x) > 24 else repr(x)

    parts = [f"other {n} ({short(there.get(n))}, not {short(wanted[n])})" for n in wrong]
    return " and ".join(parts)
