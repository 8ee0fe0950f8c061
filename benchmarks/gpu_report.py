"""`python -m benchmarks.gpu_report`: plot and tables of docs/gpu.md, from the latest results.

Tables stand between `<!-- begin NAME -->` and `<!-- end NAME -->`; what is between is replaced.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from benchmarks.__main__ import RESULTS

DOCS = RESULTS.parents[1] / "docs"
COLORS = {
    "mozzi cuda": "#1b6ca8", "mozzi torch": "#d1495b", "mozzi jax": "#3a9b5c",
    "mozzi cpu": "#777777", "frax": "#b08800",
}  # fmt: skip


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def billions(x: float | None) -> str:
    return "" if x is None else f"{x / 1e9:.3g}"


def throughput(result: dict[str, Any]) -> str:
    rows = [
        [
            x["function"], x["robot"], x["dtype"], billions(x["per_second"]),
            billions(x.get("bar")), f"{x['bytes_share']:.0%}", f"{x['operations_share']:.0%}",
            str(x["registers"]), f"{x['relative_error']:.0e}",
        ]
        for x in result["throughput"]
    ]  # fmt: skip
    head = ["function", "robot", "numbers", "10⁹/s", "bar", "of the bytes", "of the operations",
            "registers", "error"]  # fmt: skip
    return table(head, rows)


def simulation(result: dict[str, Any]) -> str:
    rows = []
    for x in result["simulation"]:
        extra = x.get("torque") or (f"{x['records']} records" if x.get("records") else "")
        share = f"{x['operations_share']:.0%}"
        figures = [billions(x["steps_per_second"]), billions(x.get("bar")), share]
        rows.append([x["method"], x["dtype"], extra, *figures, f"{x['relative_error']:.0e}"])
    return table(["method", "numbers", "with", "10⁹ steps/s", "bar", "of the operations", "error"],
                 rows)  # fmt: skip


def latency(result: dict[str, Any]) -> str:
    found = {(x["who"], x["batch"]): x for x in result["sweep"] if x["function"] == FIRST}
    who = dict.fromkeys(name for name, _ in found)
    times = lambda name, n: f"{1e6 * n / found[name, n]['per_second']:.1f}"
    rows = [[name, *(times(name, n) for n in (1, 256, 4096))] for name in who]
    return table(["µs for a batch of", "1", "256", "4,096"], rows)


def accuracy(result: dict[str, Any]) -> str:
    found = {(x["function"], x["robot"]): x for x in result["accuracy"]}
    robots = list(dict.fromkeys(robot for _, robot in found))
    rows = [
        [name]
        + [f"{found[name, r][k]:.0e}" for r in robots for k in ("median", "largest")]
        for name in dict.fromkeys(n for n, _ in found)
    ]  # fmt: skip
    head = ["function", *(f"{r}, {k}" for r in robots for k in ("median", "largest"))]
    return table(head, rows)


FIRST = "inverse_dynamics"
TABLES = {
    "throughput": throughput, "simulation": simulation, "latency": latency, "accuracy": accuracy,
}  # fmt: skip


def plot(result: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "mozzi"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
    for axis, name in zip(axes, (FIRST, "forward_dynamics")):
        for who, color in COLORS.items():
            points = [x for x in result["sweep"] if x["function"] == name and x["who"] == who]
            axis.loglog([x["batch"] for x in points], [x["per_second"] for x in points],
                        "o-", ms=3, color=color, label=who)  # fmt: skip
        axis.set(title=f"{name.replace('_', ' ')} of a panda, float32", xlabel="batch")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("evaluations per second")
    axes[0].legend(fontsize=8)
    figure.text(0.995, 0.01, f"{result['gpu']}, {result['machine']['cores']} cores of "
                f"{result['machine']['cpu']}, {result['machine']['date'][:10]}", ha="right",
                fontsize=6)  # fmt: skip
    figure.tight_layout()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    source = sorted(RESULTS.glob("*-gpu.json"))[-1]
    result = json.loads(source.read_text())
    plot(result, DOCS / "images" / "gpu_throughput.svg")
    page = DOCS / "gpu.md"
    text = page.read_text()
    for name, make in TABLES.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        new = f"{begin}\n{make(result)}\n{end}"
        text = re.sub(f"{begin}.*?{end}", lambda _, new=new: new, text, flags=re.DOTALL)
    page.write_text(text)
    print("from", source.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
