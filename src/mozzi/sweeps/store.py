"""Results on disk: zarr, one chunk per job and array, no locks.

A job writes its chunk of every array, each a file that is renamed into its place when it is
complete, and says last that it is done. What is not said to be done is computed again. Jobs do not
meet in a file, so that nobody waits.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.errors import ConfigurationError
from mozzi.files import to_disk, zarr_library

__all__ = ["DONE", "FAILED", "Store", "open_store"]

Facts: TypeAlias = dict[str, Any]
"""What JSON says."""

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

    def arrays(self) -> dict[str, Any]:
        """The arrays of samples that are there, as zarr has them."""
        return {n: x for n, x in self._group().arrays() if n not in (STATUS, TOLD)}

    def has(self) -> bool:
        """Whether the arrays are there."""
        return bool(self._group().attrs.get("arrays"))

    def create(
        self, examples: Mapping[str, NDArray[np.generic]], axis: str,
        notes: Mapping[str, Mapping[str, object]],
    ) -> None:  # fmt: skip
        """Make the arrays for results like these; numbers that are missing are NaN (0 of integers).

        axis: what rows are ("sample", or "job" where jobs give reductions). notes: names of other
        axes under "axes", and attributes.
        """
        group = self._group()
        rows, chunk = (self.size, self.chunk) if axis == "sample" else (self.jobs, 1)
        for name, x in examples.items():
            if name in group:
                continue
            note = dict(notes.get(name, {}))
            every = [f"{name}_{k}" for k in range(x.ndim - 1)]
            own = cast("list[str]", note.pop("axes", None) or every)
            fill = np.nan if x.dtype.kind == "f" else 0
            group.create_array(
                name, shape=(rows, *x.shape[1:]), chunks=(chunk, *(max(1, n) for n in x.shape[1:])),
                dtype=x.dtype, fill_value=fill, dimension_names=[axis, *own], attributes=note,
            )  # fmt: skip
        group.attrs["arrays"] = list(examples)

    def write(
        self, job: int, columns: Mapping[str, NDArray[np.generic]], axis: str, status: int,
        report: Mapping[str, object],
    ) -> None:  # fmt: skip
        """The chunks of a job, then that it is done."""
        group = self._group()
        start = job * self.chunk if axis == "sample" else job
        for name, x in columns.items():
            group[name][start : start + len(x)] = x
            self._flush(name, job, x.ndim)
        told = json.dumps(report).encode()[:REPORT]
        line = np.zeros(REPORT, np.uint8)
        line[: len(told)] = np.frombuffer(told, np.uint8)
        group[TOLD][job] = line
        group[STATUS][job] = status

    def _flush(self, name: str, job: int, ndim: int) -> None:
        """To the disk, before it is said to be done: machines lose their power."""
        file = self.path / name / "c" / str(job) / "/".join(["0"] * (ndim - 1))
        if file.is_file():
            to_disk(file)

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
    short = lambda x: f"{x[:12]}…" if isinstance(x, str) and len(x) > 24 else repr(x)
    parts = [f"other {n} ({short(there.get(n))}, not {short(wanted[n])})" for n in wrong]
    return " and ".join(parts)
