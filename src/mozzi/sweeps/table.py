"""The samples of a sweep: columns of numbers, given or drawn.

A column that is drawn is never there as a whole. Its numbers come in blocks, each from a child of
the seed of its own (`SeedSequence.spawn`), so that any job draws its rows by itself, and they are
the same however samples are cut into jobs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mozzi.checked import checked
from mozzi.errors import ConfigurationError
from mozzi.sweeps.distributions import Choice, Distribution, LogUniform, Normal, Uniform, read

__all__ = ["Chunk", "Table", "grid", "names_in", "table_of"]

BLOCK = 4096  # rows that are drawn at once
SEEDS = 2**32 - 1  # the child whose children are the seeds of samples

Column = NDArray[np.generic] | Distribution


class Chunk(dict[str, NDArray[np.generic]]):
    """Some samples: columns by name. ``chunk["seed"]`` are numbers of their own, (n,) uint64."""

    def __init__(
        self, columns: Mapping[str, NDArray[np.generic]], start: int, stop: int, entropy: int
    ):
        super().__init__(columns)
        self.start, self.stop, self.entropy = start, stop, entropy

    def __missing__(self, name: str) -> NDArray[np.generic]:
        if name != "seed":
            raise KeyError(name)
        self["seed"] = np.array(
            [x.generate_state(1, np.uint64)[0] for x in self.seeds()], dtype=np.uint64
        )
        return self["seed"]

    def seeds(self) -> list[np.random.SeedSequence]:
        """A seed for each sample, from which generators are made."""
        rows = range(self.start, self.stop)
        return [np.random.SeedSequence(self.entropy, spawn_key=(SEEDS, k)) for k in rows]


@dataclass(frozen=True)
class Table:
    """Columns of `size` samples, of which this table holds those from `first` on."""

    columns: dict[str, Column]
    size: int
    entropy: int
    first: int = 0

    def part(self, start: int, stop: int) -> Table:
        """What a job needs of it."""
        cut = {
            name: x[start - self.first : stop - self.first] if isinstance(x, np.ndarray) else x
            for name, x in self.columns.items()
        }
        return Table(cut, self.size, self.entropy, start)

    def rows(self, start: int, stop: int) -> Chunk:
        """Samples from start to stop."""
        found: dict[str, NDArray[np.generic]] = {}
        for k, (name, x) in enumerate(self.columns.items()):
            if isinstance(x, np.ndarray):
                found[name] = x[start - self.first : stop - self.first]
            else:
                found[name] = self._drawn(k, x, start, stop)
        return Chunk(found, start, stop, self.entropy)

    def _drawn(self, k: int, x: Distribution, start: int, stop: int) -> NDArray[np.generic]:
        parts: list[NDArray[np.generic]] = []
        for block in range(start // BLOCK, -(-stop // BLOCK)):
            child = np.random.SeedSequence(self.entropy, spawn_key=(k, block))
            numbers = x.draw(np.random.default_rng(child), BLOCK)
            parts.append(numbers[max(0, start - block * BLOCK) : stop - block * BLOCK])
        return np.concatenate(parts) if parts else np.zeros(0)

    @property
    def digest(self) -> str:
        """64 hexadecimal digits of the columns and the seed."""
        digest = hashlib.sha256(f"{self.size} {self.entropy}".encode())
        for name, x in self.columns.items():
            digest.update(name.encode())
            if isinstance(x, np.ndarray):
                digest.update(f"{x.dtype.str}{x.shape}".encode())
                digest.update(np.ascontiguousarray(x).tobytes())
            else:
                digest.update(repr(x).encode())
        return digest.hexdigest()


@checked
def grid(columns: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.generic]]:
    """Every combination of some numbers, as a table for `sweep`; the last name varies fastest.

    Cost: a row for every combination.

    Args:
        columns: numbers by name.

    Returns:
        Arrays (N,) by name.

    Example:
        >>> mz.grid({"a": [1, 2], "b": [10, 20]})["b"].tolist()
        [10, 20, 10, 20]
    """
    arrays = [np.atleast_1d(np.asarray(x)) for x in columns.values()]
    for name, x in zip(columns, arrays, strict=True):
        if x.size == 0:
            raise ConfigurationError(f"grid: {name!r} has no numbers; give one or more")
    meshed = list[np.ndarray](np.meshgrid(*arrays, indexing="ij") if arrays else [])
    return {name: x.ravel() for name, x in zip(columns, meshed, strict=True)}


def names_in(parameters: Mapping[str, object]) -> Iterable[str]:
    """The names of columns: of a mapping, a table, or an array with named fields."""
    fields = getattr(getattr(parameters, "dtype", None), "names", None)
    return cast("Iterable[str]", fields or getattr(parameters, "columns", parameters))


def table_of(
    parameters: Mapping[str, object], samples: int | None, seed: int | None
) -> Table:
    """What a caller means by parameters: a mapping, or a table with named columns."""
    columns = {str(name): _column(str(name), parameters[name]) for name in names_in(parameters)}
    sizes = {n: len(x) for n, x in columns.items() if isinstance(x, np.ndarray) and len(x) != 1}
    if samples is not None:
        sizes["samples"] = int(samples)
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{n}: {k}" for n, k in sizes.items())
        raise ConfigurationError(
            f"sweep: columns of different lengths ({shown}); give as many values each, all "
            f"combinations with mz.grid, or a range to draw from: mz.Uniform(low, high)"
        )
    if not columns:
        raise ConfigurationError("sweep: no parameters; give arrays or distributions by name")
    if not sizes and any(not isinstance(x, np.ndarray) for x in columns.values()):
        raise ConfigurationError("sweep: distributions have no length; give samples=1000")
    size = next(iter(sizes.values()), 1)
    if size < 1:
        raise ConfigurationError("sweep: no samples; give at least one")
    whole = {n: np.repeat(x, size, axis=0) if isinstance(x, np.ndarray) and len(x) == 1 else x
             for n, x in columns.items()}  # fmt: skip
    entropy = np.random.SeedSequence().entropy if seed is None else seed
    assert isinstance(entropy, int)
    drawn = any(not isinstance(x, np.ndarray) for x in columns.values())
    return Table(whole, size, entropy if drawn or seed is not None else 0)


def _column(name: str, x: object) -> Column:
    if isinstance(x, (Uniform, LogUniform, Normal, Choice)):
        return x
    if isinstance(x, str):
        return read(x)
    array = np.atleast_1d(np.asarray(x))
    if array.dtype.kind not in "biuf":
        raise ConfigurationError(
            f"sweep: parameter {name!r} holds no numbers; give some, or mz.Uniform, LogUniform, "
            "Normal or Choice, or a text such as 'uniform(0.8, 1.2)'"
        )
    return array
