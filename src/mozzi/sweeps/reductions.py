"""Numbers of many samples reduced to few, where they are computed.

A job gives, for every result, what can be put together with that of other jobs: counts, means and
sums of squares, extremes, and counts in bins of equal ratio, from which quantiles are read to 2.5 %
of their size. Samples that are not finite are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mozzi.errors import ConfigurationError, known
from mozzi.types import Array

__all__ = ["BINS_WORD", "QUANTILES", "Reduction", "check_words", "combined", "reduced"]

Reduction: TypeAlias = Literal["count", "mean", "std", "min", "max", "quantiles", "histogram"]

BINS_WORD = ".bins"  # how the names of counts in bins end
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
RATIO = 1.05
LEAST, LARGEST = 1e-12, 1e12  # magnitudes between which bins are
BINS = int(np.ceil(np.log(LARGEST / LEAST) / np.log(RATIO)))  # on each side of zero
#: The ends of the bins: negative numbers, those too small for their sign to matter, positive ones.
EDGES: Array = LEAST * RATIO ** np.arange(BINS + 1.0)
ENDS: Array = np.concatenate([-EDGES[::-1], EDGES])

#: What words need of a job.
NEEDS: dict[str, tuple[str, ...]] = {
    "count": (), "mean": ("mean",), "std": ("mean", "squares"), "min": ("min",), "max": ("max",),
    "quantiles": ("bins", "min", "max"), "histogram": ("bins",),
}  # fmt: skip


def check_words(words: str | Sequence[str]) -> tuple[Reduction, ...]:
    """What a caller wants to know."""
    given = [w for w in words.split(",") if w.strip()] if isinstance(words, str) else words
    found: list[Reduction] = []
    for word in given:
        match = [w for w in get_args(Reduction) if w == str(word).strip()]
        if not match:
            there = known(word, get_args(Reduction))
            raise ConfigurationError(f"no reduction {word!r}; there are {there}")
        found += match
    return tuple(found)


def reduced(
    results: Mapping[str, NDArray[np.generic]], words: Iterable[Reduction]
) -> dict[str, Array]:
    """What a job gives of its results (n, …): arrays (1, …), where the results are."""
    needs = {part for word in words for part in NEEDS[word]}
    out: dict[str, Array] = {}
    for name, values in results.items():
        x = values.astype(float, copy=False)
        good = np.isfinite(x)
        count = good.sum(axis=0)
        kept = np.where(good, x, 0.0)
        with np.errstate(all="ignore"):
            mean = kept.sum(axis=0) / count
            made = {
                "count": count.astype(float),
                "mean": mean,
                "squares": np.where(good, x - mean, 0.0).__pow__(2).sum(axis=0),
                "min": np.where(good, x, np.inf).min(axis=0),
                "max": np.where(good, x, -np.inf).max(axis=0),
            }
        if "bins" in needs:
            made["bins"] = _counted(x, good)
        out |= {f"{name}.{part}": y[None] for part, y in made.items() if part in needs | {"count"}}
    return out


def _counted(x: Array, good: NDArray[np.bool_]) -> Array:
    """How many of the samples are in each bin, (…, 2 bins + 1)."""
    flat = x.reshape(len(x), -1)
    ends = np.asarray(ENDS, like=x)  # NumPy's functions run where their arrays are
    at = np.clip(np.searchsorted(ends, flat, side="right") - 1, 0, len(ENDS) - 2)
    out = np.zeros((flat.shape[1], len(ENDS) - 1), like=x)
    for k in range(flat.shape[1]):
        out[k] = np.bincount(at[good.reshape(flat.shape)[:, k], k], minlength=len(ENDS) - 1)
    return out.reshape(*x.shape[1:], -1)


def _part(parts: Mapping[str, Array], name: str, part: str) -> Array:
    return parts[f"{name}.{part}"]


def combined(parts: Mapping[str, Array], words: Iterable[Reduction]) -> dict[str, Array]:
    """What all jobs say together, of arrays (jobs, …) in the order of jobs."""
    words = tuple(words)
    names = [n.removesuffix(".count") for n in parts if n.endswith(".count")]
    out: dict[str, Array] = {}
    for name in names:
        get = partial(_part, parts, name)
        n = np.nan_to_num(get("count"))
        total = n.sum(axis=0)
        with np.errstate(all="ignore"):
            found: dict[str, Array] = {"count": total}
            if "mean" in words or "std" in words:
                share = n / total
                mean = np.where(n > 0, get("mean") * share, 0.0).sum(axis=0)
                found["mean"] = np.where(total > 0, mean, np.nan)
                if "std" in words:
                    off = np.where(n > 0, get("squares") + n * (get("mean") - mean) ** 2, 0.0)
                    found["std"] = np.sqrt(off.sum(axis=0) / total)
            if "min" in words or "quantiles" in words:
                found["min"] = np.where(total > 0, np.nanmin(get("min"), axis=0), np.nan)
            if "max" in words or "quantiles" in words:
                found["max"] = np.where(total > 0, np.nanmax(get("max"), axis=0), np.nan)
        if "quantiles" in words or "histogram" in words:
            bins = np.nansum(get("bins"), axis=0)
            found["histogram"] = bins
            if "quantiles" in words:
                found["quantiles"] = _quantiles(bins, total, found["min"], found["max"])
        out |= {f"{name}.{word}": x for word, x in found.items() if word in words}
    if "histogram" in words:
        out["edges"] = ENDS
    return out


def _quantiles(bins: Array, total: Array, low: Array, high: Array) -> Array:
    """(quantiles, …): the middle of the bin that holds each, within the extremes."""
    rising = np.cumsum(bins, axis=-1)
    middle = np.sign(ENDS[:-1] + ENDS[1:]) * np.sqrt(np.abs(ENDS[:-1] * ENDS[1:]))
    middle[BINS] = 0.0
    rows: list[Array] = []
    for share in QUANTILES:
        at = (rising <= (share * (total - 1.0))[..., None]).sum(axis=-1)
        x = middle[np.minimum(at, len(middle) - 1)]
        rows.append(np.where(total > 0, np.clip(x, low, high), np.nan))
    return np.stack(rows)
