"""A page about a sweep: what varied, what came out, with a plot of every number."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from mozzi.files import write_atomically
from mozzi.sweeps.reductions import QUANTILES
from mozzi.types import Array, ArrayLike

if TYPE_CHECKING:
    from mozzi.sweeps.rollout import Rollout
    from mozzi.sweeps.sweep import Swept

__all__ = ["write_page"]

STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}
table{border-collapse:collapse}
td,th{padding:.2em .6em;text-align:right;border-bottom:1px solid #ccc;white-space:nowrap}
.wide{overflow-x:auto;font-size:13px}
th:first-child,td:first-child{text-align:left}svg{background:#f6f6f4}figure{display:inline-block;
margin:.5em}figcaption{font-size:13px}"""
WIDTH, HEIGHT, BARS, SHOWN_ROWS_MAX = 240, 90, 40, 60
LINE = 'stroke="#36648b" stroke-width="2"'
DRAWN_MAX = 100_000  # samples whose parameters are plotted
UNIT_OF_AXIS = {"q_unit": "coordinate", "v_unit": "velocity"}


def write_page(found: Swept, path: Path, run: Rollout, seconds: float) -> Path:
    """Write the page; it needs nothing else."""
    n, name = found.table.size, run.model.name
    parts = [
        f"<!doctype html><meta charset=utf-8><title>{escape(name)}: {n:,} samples</title>",
        f"<style>{STYLE}</style><h1>{escape(name)}: {n:,} samples</h1>",
        f"<p>{seconds:.1f} s, {n / max(seconds, 1e-9):,.0f} samples a second; {found.bad:,} "
        f"samples without a finite result, {len(found.failures)} chunks that failed.</p>",
        f"<p>{run.duration:g} s of motion in {run.steps:,} steps; model {run.model.digest[:12]}, "
        f"seed {found.table.entropy}.</p>",
        "<h2>What varied</h2>", _varied(found), "<h2>What came out</h2>",
    ]  # fmt: skip
    labels = _labels(run)
    columns = _columns({k: found[k] for k in found if not k.endswith("_record")}, n, labels)
    parts.append(_plots(columns) if columns else _reductions(found, labels))
    if found.lost:
        heads = "".join(f"<th>{escape(k)}</th>" for k in found.lost[0])
        rows = "".join(
            "<tr>" + "".join(f"<td>{x:.6g}</td>" for x in row.values()) + "</tr>"
            for row in found.lost[:SHOWN_ROWS_MAX]
        )
        parts.append("<h2>Samples without a finite result</h2>")
        parts.append(f"<table><tr>{heads}</tr>{rows}</table>")
    for failure in found.failures[:SHOWN_ROWS_MAX]:
        where = f"samples {failure.start} to {failure.stop - 1}"
        parts.append(f"<p><b>{where} failed:</b> {escape(failure.error)}</p>")
    text = "\n".join(parts).encode()

    def write(file: IO[bytes]) -> None:
        file.write(text)

    return write_atomically(path, write)


def _labels(run: Rollout) -> dict[str, list[str]]:
    """By result, what its numbers are called, with their units."""
    units = {at: list(map(str, run.labels[x][1])) for x, at in UNIT_OF_AXIS.items()}
    out: dict[str, list[str]] = {"diverged": ["s"]}
    for name, note in run.notes.items():
        names, axes = cast("list[str]", note.get("names", [])), cast("list[str]", note.get("axes"))
        if names:
            pairs = zip(names, units[axes[-1]], strict=True)
            out[name] = [f"{x}, {unit}" for x, unit in pairs]
    return out


def _varied(found: Swept) -> str:
    """Columns of the first samples: there may be more than memory has room for."""
    some = min(found.table.size, DRAWN_MAX)
    shown = _plots(_columns(dict(found.table.rows(0, some)), some, {}))
    return shown + (f"<p>the first {some:,} samples</p>" if some < found.table.size else "")


def _columns(
    arrays: Mapping[str, ArrayLike], n: int, labels: Mapping[str, list[str]]
) -> dict[str, Array]:
    """Columns of one number each."""
    out: dict[str, Array] = {}
    for name, x in arrays.items():
        values = np.asarray(x, dtype=float)
        if values.shape[:1] != (n,):
            continue
        flat = values.reshape(n, -1)
        for k, which in enumerate(_places(name, flat.shape[1], labels)):
            out[f"{name} {which}".strip()] = flat[:, k]
    return out


def _places(name: str, n: int, labels: Mapping[str, list[str]]) -> list[str]:
    """What n numbers of a result are called."""
    known = labels.get(name, [])
    return known if len(known) == n else [""] if n == 1 else [f"[{k}]" for k in range(n)]


def _plots(columns: dict[str, Array]) -> str:
    shown = [_histogram(name, x) for name, x in list(columns.items())[:SHOWN_ROWS_MAX]]
    rest = len(columns) - SHOWN_ROWS_MAX
    more = f"<p>and {rest} more</p>" if rest > 0 else ""
    return "".join(shown) + more


def _histogram(name: str, x: Array) -> str:
    good = x[np.isfinite(x)]
    if not len(good):
        return f"<figure><figcaption>{escape(name)}: nothing finite</figcaption></figure>"
    counts, _ = np.histogram(good, bins=BARS)
    about = f"{good.mean():.4g} ± {good.std():.2g}, {good.min():.4g} to {good.max():.4g}"
    return _figure(name, counts, np.arange(BARS + 1.0) / BARS, about)


def _figure(name: str, counts: Array, ends: Array, about: str) -> str:
    """Bars between ends, which are from 0 to 1."""
    scale = (HEIGHT - 4) / max(1.0, float(counts.max()))
    bars = "".join(
        f'<rect x="{WIDTH * a:.1f}" y="{HEIGHT - c * scale:.1f}" '
        f'width="{max(WIDTH * (b - a) - 0.5, 0.5):.1f}" height="{c * scale:.1f}" fill="#36648b"/>'
        for c, a, b in zip(counts, ends[:-1], ends[1:], strict=True) if c > 0
    )  # fmt: skip
    return (
        f'<figure><svg width="{WIDTH}" height="{HEIGHT}" role="img">{bars}</svg>'
        f"<figcaption><b>{escape(name)}</b><br>{about}</figcaption></figure>"
    )


def _reductions(found: Swept, labels: Mapping[str, list[str]]) -> str:
    """For every result a table with a row for each of its numbers, and a plot of what is known."""
    results: dict[str, dict[str, Array]] = {}
    for key in found:
        name, dot, word = key.rpartition(".")
        if dot:
            results.setdefault(name, {})[word] = np.asarray(found[key], dtype=float)
    edges = np.asarray(found["edges"], dtype=float) if "edges" in list(found) else np.zeros(0)
    parts: list[str] = []
    for name, words in results.items():
        heads, columns = list[str](), list[Array]()
        for word, x in words.items():
            if word == "quantiles":
                heads += [f"{100 * share:g} %" for share in QUANTILES]
                columns += [row.reshape(-1) for row in x]
            elif word != "histogram":
                heads.append(word)
                columns.append(x.reshape(-1))
        bins = words.get("histogram", np.zeros(0))
        flat = bins.reshape(-1, bins.shape[-1]) if bins.size else np.zeros((0, 0))
        n = len(columns[0]) if columns else len(flat)
        places = _places(name, n, labels)
        parts.append(f"<h3>{escape(name)}</h3>")
        if columns:
            parts.append(_table(heads, places, np.stack(columns, axis=-1)))
        parts += [_binned(places[k], row, edges) for k, row in enumerate(flat[:SHOWN_ROWS_MAX])]
    return "".join(parts)


def _table(heads: list[str], places: list[str], rows: Array) -> str:
    """Numbers, and where they lie on an axis that all of one unit share."""
    words = "".join(f"<th>{escape(x)}</th>" for x in ["", *heads, ""])
    marked = rows[:, [k for k, head in enumerate(heads) if head not in ("count", "std")]]
    units = np.array([place.rpartition(", ")[2] for place in places])
    lines: list[str] = []
    for k, place in enumerate(places):
        all_ = marked[units == units[k]]
        good = all_[np.isfinite(all_)]
        low, high = (float(good.min()), float(good.max())) if good.size else (0.0, 0.0)
        at = [5 + (x - low) / (high - low) * (WIDTH - 10) for x in marked[k].tolist() if high > low]
        plot = f'<line x1="5" x2="{WIDTH - 5}" y1="9" y2="9" stroke="#ccc"/>'
        if at and np.isfinite(at).all():
            plot += f'<line x1="{min(at):.1f}" x2="{max(at):.1f}" y1="9" y2="9" {LINE}/>'
            plot += "".join(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="3" y2="15" {LINE}/>' for x in at)
        plot = f'<td><svg width="{WIDTH}" height="18" role="img">{plot}</svg></td>'
        numbers = "".join(f"<td>{x:.4g}</td>" for x in rows[k])
        lines.append(f"<tr><td>{escape(place)}</td>{numbers}{plot}</tr>")
    return f"<div class=wide><table><tr>{words}</tr>{''.join(lines)}</table></div>"


def _binned(name: str, counts: Array, edges: Array) -> str:
    """A histogram of bins of equal ratio, between the first and the last that have something; the
    height is what there is for each unit of width.
    """
    full = np.flatnonzero(counts)
    if not len(full):
        return f"<figure><figcaption>{escape(name)}: nothing finite</figcaption></figure>"
    ends = edges[full[0] : full[-1] + 2]
    some = counts[full[0] : full[-1] + 1] / np.diff(ends)
    scaled = (ends - ends[0]) / (ends[-1] - ends[0])
    about = f"{int(counts.sum()):,} samples, {ends[0]:.4g} to {ends[-1]:.4g}"
    return _figure(name, some / some.max() * 100.0, scaled, about)
