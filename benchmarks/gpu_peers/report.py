"""The table of docs/gpu.md: rates in 10⁶/s, of mozzi the range over the processes of its peers, of
a peer also how many times mozzi's in the same process are.
"""

from __future__ import annotations

from typing import Any

from benchmarks.gpu_peers.case import FUNCTIONS
from benchmarks.kept import newest

NAMES = {"frax": "frax", "mjx": "MJX", "warp": "MuJoCo Warp", "bard": "bard", "grid": "GRiD",
         "cusadi": "CusADi"}  # fmt: skip


def millions(x: float) -> str:
    return plain(x / 1e6)


def plain(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def ratios(rows: list[dict[str, Any]]) -> dict[Any, tuple[dict[str, Any], dict[str, Any]]]:
    """A peer's row and mozzi's after it, by robot, function and batch."""
    key = lambda x: (x["robot"], x["function"], x["batch"])
    return {key(a): (a, b) for a, b in zip(rows[::2], rows[1::2], strict=True)}


def theirs(pair: tuple[dict[str, Any], dict[str, Any]] | None) -> str:
    """A peer's rate and mozzi's over it, or that it failed."""
    if pair is None:
        return ""
    peer, own = pair
    if "failed" in peer:
        words = peer["failed"].lower()
        kinds = {"exhausted": "no memory", "out of memory": "no memory", "wrong results": "wrong"}
        return next((x for word, x in kinds.items() if word in words), "failed")
    return f"{millions(peer['per_second'])} ({plain(own['per_second'] / peer['per_second'])})"


def ours(pairs: list[tuple[dict[str, Any], dict[str, Any]] | None]) -> str:
    """The slowest and the fastest median of mozzi."""
    rates = [x[1]["per_second"] for x in pairs if x and "per_second" in x[1]]
    if not rates:
        return ""
    ends = [millions(min(rates)), millions(max(rates))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def spread(peers: dict[str, Any]) -> list[dict[str, Any]]:
    """mozzi's medians over the processes of its peers: how many, the slowest, the fastest."""
    rates: dict[Any, list[float]] = {}
    for x in (x for peer in peers.values() for x in peer["rows"] if x["who"] == "mozzi"):
        if "per_second" in x:
            rates.setdefault((x["robot"], x["function"], x["batch"]), []).append(x["per_second"])
    return [
        {"robot": r, "function": f, "batch": n, "runs": len(x), "slowest": min(x),
         "fastest": max(x)}
        for (r, f, n), x in rates.items()
    ]  # fmt: skip


def points(function: str, robot: str = "panda") -> dict[str, list[tuple[int, float]]]:
    """(batch, rate) of every peer."""
    result: Any = newest("gpu_peers")
    return {
        NAMES[name]: [
            (x["batch"], x["per_second"])
            for x in peer["rows"]
            if (x["who"], x["robot"], x["function"]) == (name, robot, function)
            and "per_second" in x
        ]
        for name, peer in result["peers"].items()
    }


def errors(pairs: list[dict[str, Any]]) -> str:
    found = [x["relative_error"] for x in pairs if "relative_error" in x]
    return f"{max(found):.0e}" if found else ""


def lines() -> tuple[list[str], list[list[str]]]:
    """Head and rows."""
    result: Any = newest("gpu_peers")
    found = {name: ratios(x["rows"]) for name, x in result["peers"].items()}
    keys = [key for x in found.values() for key in x]
    batches = sorted({n for _, _, n in keys})
    rows: list[list[str]] = []
    for robot in sorted({r for r, _, _ in keys}):
        for function in (f for f in FUNCTIONS if (robot, f) in {k[:2] for k in keys}):
            at = {name: [x.get((robot, function, n)) for n in batches] for name, x in found.items()}
            own = [x[1] for pairs in at.values() for x in pairs if x]
            cells = [ours([at[name][k] for name in at]) for k in range(len(batches))]
            rows.append([function, robot, "**mozzi**", *cells, errors(own)])
            for name, pairs in at.items():
                if any(pairs):
                    error = errors([x[0] for x in pairs if x])
                    rows.append(["", "", NAMES[name], *map(theirs, pairs), error])
    return ["function", "robot", "who", *(f"{n:,}" for n in batches), "error"], rows
