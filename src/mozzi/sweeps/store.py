"""Results on disk: zarr, one chunk per job and array, no locks.

A job writes its chunk of every array, each a file that is renamed into its place when it is
complete, and says last that it is done, when the disk has them. What is not said to be done is
computed again. Jobs do not meet in a file, so that nobody waits. Chunks are plain numbers, little
end first, which jobs write without zarr's help: that takes a tenth of its time, and numbers of
motions do not compress (counts in bins do, most are 0).
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import uuid
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mozzi.errors import ConfigurationError
from mozzi.files import all_to_disk, zarr_library
from mozzi.sweeps.arrays import FLAT, JOBS, Labels, Notes, make, missing, summarise
from mozzi.sweeps.reductions import BINS_WORD

__all__ = ["DONE", "FAILED", "Store", "Written", "open_store"]

Facts: TypeAlias = dict[str, Any]
"""What JSON says."""

DONE, FAILED = 1, 2
REPORT = 4096  # bytes of what a job tells
STATUS, TOLD = f"{JOBS}/status", f"{JOBS}/report"
LAYOUT = 2  # of files in a store
BLOCK_BYTES = 2**26  # of what is read at once to be summed


@dataclass(frozen=True)
class Written:
    """Chunks of a job that are in their places: what is said of them when the disk has them."""

    job: int
    status: int
    files: Sequence[Path]
    report: Mapping[str, object]


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

    def __reduce__(self) -> tuple[type[Store], tuple[Path, int, int]]:
        return Store, (self.path, self.size, self.chunk)

    @cached_property
    def _group(self) -> Any:
        return zarr_library().open_group(str(self.path), mode="r+", use_consolidated=False)

    @property
    def attributes(self) -> Facts:
        """What the store says of itself."""
        return dict(self._group.attrs)

    def has(self) -> bool:
        """Whether the arrays are there."""
        return bool(self._group.attrs.get("arrays"))

    def create(
        self, examples: Mapping[str, NDArray[np.generic]], axis: str, notes: Notes, labels: Labels,
        varied: Sequence[str], results: Sequence[str],
    ) -> None:  # fmt: skip
        """Make the arrays for results like these.

        axis: what rows are ("sample", or "job" where jobs give reductions). results: those of one
        row for each sample.
        """
        for name in (*varied, *results):
            if name == JOBS or "/" in name or name.startswith("."):
                raise ConfigurationError(
                    f"{self.path}: no array of a store can be called {name!r}; give another name"
                )
        rows, chunk = (self.size, self.chunk) if axis == "sample" else (self.jobs, 1)
        make(self._group, examples, axis, rows, chunk, notes, labels, varied)
        arrays = {n: [x.dtype.str, *x.shape[1:]] for n, x in examples.items()}
        self._group.update_attributes({"results": list(results), "arrays": arrays})

    def summarise(
        self, found: Mapping[str, NDArray[np.generic]], notes: Notes, labels: Labels
    ) -> None:
        """Write what all jobs together say."""
        summarise(self._group, found, notes, labels)

    def put(
        self, job: int, columns: Mapping[str, NDArray[np.generic]], axis: str
    ) -> list[Path]:
        """Put the chunks of a job into their places; it is not said yet that they are there."""
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
            whole = np.full((rows, *shape), missing(dtype), dtype.newbyteorder("<"))
            whole[: len(x)] = x
            data = whole.tobytes()
            if axis == "job" and name.endswith(BINS_WORD):
                data = gzip.compress(data, 1, mtime=0)
            files.append(self._put(name, job, whole.ndim, data))
        return files

    def commit(self, written: Iterable[Written]) -> None:
        """Say of jobs what became of them, when the disk has their chunks: machines lose power."""
        given = list(written)
        all_to_disk(file for x in given for file in x.files)
        for x in given:
            if x.report:
                told = json.dumps(x.report).encode()[:REPORT].ljust(REPORT, b"\0")
                self._put(TOLD, x.job, 2, told)
            else:  # it may have failed before
                self._file(TOLD, x.job, 2).unlink(missing_ok=True)
            self._put(STATUS, x.job, 1, np.int8(x.status).tobytes())

    def _file(self, name: str, job: int, axes: int) -> Path:
        return self.path / name / ".".join(["c", str(job), *["0"] * (axes - 1)])

    def _put(self, name: str, job: int, axes: int, data: bytes) -> Path:
        """Write a chunk beside its place, and rename it."""
        file = self._file(name, job, axes)
        beside = file.with_name(f".{file.name}.{os.getpid()}.{uuid.uuid4().hex}.partial")
        try:
            beside.write_bytes(data)
            beside.replace(file)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        return file

    def status(self) -> NDArray[np.int8]:
        """What became of every job: 0 where it is missing."""
        out = np.zeros(self.jobs, np.int8)
        for job, data in self._chunks(STATUS):
            out[job] = int.from_bytes(data, "little")
        return out

    def reports(self) -> dict[int, Facts]:
        """What jobs told, of which not all is well."""
        out: dict[int, Facts] = {}
        for job, data in self._chunks(TOLD):
            line = data.rstrip(b"\0")
            try:
                out[job] = json.loads(line)
            except ValueError:
                out[job] = {"error": line.decode(errors="replace")}
        return out

    def _chunks(self, name: str) -> Iterable[tuple[int, bytes]]:
        """Jobs that said something, and what."""
        with os.scandir(self.path / name) as files:
            for file in files:
                part = file.name.split(".")
                if part[0] == "c":
                    yield int(part[1]), Path(file.path).read_bytes()

    def read(self, name: str) -> NDArray[np.generic]:
        """An array, as a whole."""
        return np.asarray(self._group[name][...])

    def sums(self, name: str) -> NDArray[np.generic]:
        """An array of jobs, summed over them (1, …), without reading it whole."""
        array, out = self._group[name], np.zeros(())
        row = int(array.nbytes) // self.jobs
        many = max(1, BLOCK_BYTES // max(1, row))
        for k in range(0, self.jobs, many):
            out = out + np.nansum(np.asarray(array[k : k + many], float), axis=0, keepdims=True)
        return out

    def close(self) -> None:
        """Gather what arrays are in one file, so that readers open it at once."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is no part of the format's version 3 yet
            zarr_library().consolidate_metadata(str(self.path))


def _changed(path: Path) -> int:
    """When a store last said something else of itself."""
    return (path / "zarr.json").stat().st_mtime_ns


@lru_cache(maxsize=16)
def _layout(path: Path, changed: int) -> dict[str, list[Any]]:
    """Types and shapes of the arrays."""
    facts = json.loads((path / "zarr.json").read_text(encoding="utf-8"))
    return facts["attributes"].get("arrays", {})


def open_store(path: str | os.PathLike[str], size: int, chunk: int | None, default: int,
               facts: Mapping[str, object]) -> Store:  # fmt: skip
    """The store at a path: made, or one of the same sweep.

    facts: what says which sweep it is. A store of another one is refused.
    """
    zarr, place = zarr_library(), Path(path)
    if not place.exists():
        store = Store(place, size, chunk or default)
        if _made(store, {**facts, "samples": size, "chunk": store.chunk}):
            return store
    try:
        there = dict(zarr.open_group(str(place), mode="r", use_consolidated=False).attrs)
    except (FileNotFoundError, ValueError, zarr.errors.BaseZarrError):
        there = {}
    if "mozzi_sweep" not in there:
        raise ConfigurationError(f"{place}: is there, and is no sweep of mozzi; give another path")
    wanted = {**facts, "samples": size, "chunk": chunk or there["chunk"], "mozzi_sweep": LAYOUT}
    same = ("mozzi_sweep", "mozzi", "model", "parameters", "run", "reduce", "samples", "chunk")
    wrong = [n for n in same if n in wanted and there.get(n) != wanted[n]]
    if wrong:
        raise ConfigurationError(
            f"{place}: holds a sweep with {_other(wrong, there, wanted)}; give another path, or "
            "what it was made with"
        )
    return Store(place, size, there["chunk"])


def _made(store: Store, facts: Facts) -> bool:
    """Make a store beside its place, and rename it; False where somebody else was faster."""
    place = store.path.parent / f".{store.path.name}.{os.getpid()}.{uuid.uuid4().hex}.partial"
    try:
        group = zarr_library().open_group(str(place), mode="w-")
        group.create_group(JOBS)
        options: Facts = {"fill_value": 0, "compressors": None, "chunk_key_encoding": FLAT}
        group.create_array(STATUS, shape=(store.jobs,), chunks=(1,), dtype="int8",
                           dimension_names=["job"], **options)  # fmt: skip
        group.create_array(TOLD, shape=(store.jobs, REPORT), chunks=(1, REPORT), dtype="uint8",
                           dimension_names=["job", "byte"], **options)  # fmt: skip
        group.update_attributes({**facts, "mozzi_sweep": LAYOUT})
        place.rename(store.path)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        if store.path.exists():
            return False
        raise
    return True


def _other(wrong: Sequence[str], there: Facts, wanted: Facts) -> str:
    def short(x: object) -> str:
        return f"{x[:12]}…" if isinstance(x, str) and len(x) > 24 else repr(x)

    parts = [f"other {n} ({short(there.get(n))}, not {short(wanted[n])})" for n in wrong]
    return " and ".join(parts)
