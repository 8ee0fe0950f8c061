"""A page about a sweep: what varied, what came out, with a histogram of every number."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from mozzi.files import write_atomically
from mozzi.types import Array, ArrayLike

if TYPE_CHECKING:
    from mozzi.sweeps.sweep import Swept

__all__ = ["write_page"]

STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}
table{border-collapse:collapse}
td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ccc}
th:first-child,td:first-child{text-align:left}svg{background:#f6f6f4}figure{display:inline-block;
margin:.5em}figcaption{font-size:13px}"""
WIDTH, HEIGHT, BARS, SHOWN_ROWS_MAX = 240, 90, 40, 60


def write_page(found: Swept, path: Path, name: str, seconds: float) -> Path:
    """Write the page; it needs nothing else."""
    n = found.table.size
    parts = [
        f"<!doctype html><meta charset=utf-8><title>{escape(name)}: {n:,} samples</title>",
        f"<style>{STYLE}</style><h1>{escape(name)}: {n:,} samples</h1>",
        f"<p>{seconds:.1f} s, {n / max(seconds, 1e-9):,.0f} samples a second; {found.bad:,} "
        f"samples without a finite result, {len(found.failures)} chunks that failed.</p>",
        "<h2>What varied</h2>", _plots(_columns(found.parameters, n)),
        "<h2>What came out</h2>",
    ]  # fmt: skip
    columns = _columns({k: found[k] for k in found if not k.endswith("_record")}, n)
    parts.append(_plots(columns) if columns else _reductions(found))
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


def _columns(arrays: object, n: int) -> dict[str, Array]:
    """Columns of one number each."""
    out: dict[str, Array] = {}
    assert isinstance(arrays, dict)
    for name, x in cast("dict[str, ArrayLike]", arrays).items():
        values = np.asarray(x, dtype=float)
        if values.shape[:1] != (n,):
            continue
        flat = values.reshape(n, -1)
        for k in range(flat.shape[1]):
            out[name if flat.shape[1] == 1 else f"{name}[{k}]"] = flat[:, k]
    return out


def _plots(columns: dict[str, Array]) -> str:
    shown = [_histogram(name, x) for name, x in list(columns.items())[:SHOWN_ROWS_MAX]]
    rest = len(columns) - SHOWN_ROWS_MAX
    more = f"<p>and {rest} more</p>" if rest > 0 else ""
    return "".join(shown) + more


def _histogram(name: str, x: Array) -> str:
    good = x[np.isfinite(x)]
    if not len(good):
        return f"<figure><figcaption>{escape(name)}: nothing finite</figcaption></figure>"
    counts, edges = np.histogram(good, bins=BARS)
    step, scale = WIDTH / BARS, (HEIGHT - 4) / max(1, counts.max())
    bars = "".join(
        f'<rect x="{k * step:.1f}" y="{HEIGHT - c * scale:.1f}" width="{step - 0.5:.1f}" '
        f'height="{c * scale:.1f}" fill="#36648b"/>'
        for k, c in enumerate(counts)
    )
    about = f"{good.mean():.4g} ± {good.std():.2g}, {edges[0]:.4g} to {edges[-1]:.4g}"
    return (
        f'<figure><svg width="{WIDTH}" height="{HEIGHT}" role="img">{bars}</svg>'
        f"<figcaption><b>{escape(name)}</b><br>{about}</figcaption></figure>"
    )


def _reductions(found: Swept) -> str:
    rows = [
        f"<tr><td>{escape(k)}</td><td>{escape(np.array2string(np.asarray(found[k]), precision=5))}"
        "</td></tr>"
        for k in found if not k.endswith(("histogram", "edges"))
    ]  # fmt: skip
    return f"<table>{''.join(rows)}</table>"
