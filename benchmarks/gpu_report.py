"""`python -m benchmarks.gpu_report`: plot and tables of docs/gpu.md, from the latest results.

Tables stand between `<!-- begin NAME -->` and `<!-- end NAME -->`; what is between is replaced.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from benchmarks import gpu_launch
from benchmarks.__main__ import RESULTS
from benchmarks.gpu_peers import report as peers_report
from benchmarks.kept import newest

DOCS = RESULTS.parents[1] / "docs"
COLORS = {
    "mozzi cuda": "#1b6ca8", "mozzi torch": "#d1495b", "mozzi jax": "#3a9b5c",
    "mozzi cpu": "#777777",
}  # fmt: skip


PEERS = {
    "frax": "#b08800", "MJX": "#8e5ea2", "MuJoCo Warp": "#c45850", "bard": "#3cba9f",
    "GRiD": "#e8743b", "CusADi": "#5b7083",
}  # fmt: skip


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def billions(x: float | None) -> str:
    return "" if x is None else f"{x / 1e9:.3g}"


def ours(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of mozzi: peers are measured by `benchmarks.gpu_peers`."""
    return [x for x in rows if x["who"].startswith("mozzi")]


def throughput(result: dict[str, Any]) -> str:
    rows = [
        [
            x["function"], x["robot"], x["dtype"], billions(x["per_second"]),
            billions(x.get("bar")),
            f"{x['bytes_share']:.0%}", f"{x['operations_share']:.0%}",
            f"{x['block']} × {x['blocks']}", str(x["registers"]), f"{x['relative_error']:.0e}",
        ]
        for x in result["throughput"]
    ]  # fmt: skip
    head = ["function", "robot", "numbers", "10⁹/s", "bar", "of the bytes",
            "of the operations", "threads", "registers", "error"]  # fmt: skip
    return table(head, rows)


def simulation(result: dict[str, Any]) -> str:
    rows = []
    for x in result["simulation"]:
        extra = x.get("torque") or (f"{x['records']} records" if x.get("records") else "")
        share = f"{x['operations_share']:.0%}"
        others = [billions(x.get("bar")), share]
        figures = [billions(x["steps_per_second"]), *others, f"{x['relative_error']:.0e}"]
        rows.append([x["method"], x["dtype"], extra, *figures])
    head = ["method", "numbers", "with", "10⁹ steps/s", "bar", "of the operations", "error"]
    return table(head, rows)


def whole(result: dict[str, Any]) -> str:
    thousand = lambda x: f"{x / 1e3:,.0f}"
    rows = [
        [x["method"], x["dtype"], thousand(x["motions_per_second"]),
         thousand(x["cpu_motions_per_second"]), f"{x['relative_error']:.0e}"]
        for x in result["whole"]
    ]  # fmt: skip
    cores = f"{result['machine']['cores']} cores"
    return table(["method", "numbers", "10³ motions/s", cores, "error"], rows)


def loops(_: Any) -> str:
    result: Any = newest("gpu_loops")
    small = lambda x, name: f"{x[name]:.0e}" if name in x else ""
    rows = [
        [x["mechanism"], str(x["rows"]), x["dtype"], billions(x["per_second"]),
         small(x, "relative_error"), billions(x.get("steps_per_second")), small(x, "steps_error"),
         small(x, "gap"), f"{x['local_bytes']:,}"]
        for x in result["loops"]
    ]  # fmt: skip
    head = ["mechanism", "rows", "numbers", "forward dynamics, 10⁹/s", "error", "10⁹ steps/s",
            "error", "open by", "local bytes"]  # fmt: skip
    return table(head, rows)


def launch(result: dict[str, Any]) -> str:
    """Chosen shapes are bold."""
    rows: dict[Any, dict[Any, str]] = {}
    columns = [(64, False), (128, False), (256, False), (64, True), (128, True)]
    for x in result["launch"]:
        steps = gpu_launch.STEPS if x["function"] == "stepper" else 1
        figure = f"{steps * x['per_second'] / 1e9:.3g}"
        shape, case = (x["block"], x["tight"]), (x["function"], x["robot"], x["dtype"])
        rows.setdefault(case, {})[shape] = f"**{figure}**" if x["chosen"] else figure
        rows[case]["registers", x["tight"]] = f"{x['registers']}, {x['local_bytes']:,}"
    free, tight = ("registers", False), ("registers", True)
    order = [free, *columns[:3], tight, *columns[3:]]
    head = ["function", "robot", "numbers", "registers, local bytes", "64", "128", "256",
            "with fewer", "64", "128"]  # fmt: skip
    return table(head, [[*case, *(x.get(c, "") for c in order)] for case, x in rows.items()])


def gradients(result: dict[str, Any]) -> str:
    rows = [
        [x["robot"], x["who"], f"{x['batch']:,}", billions(x["per_second"]),
         f"{x['first_call_seconds']:.1f}"]
        for x in ours(result["gradients"])
    ]  # fmt: skip
    return table(["robot", "through", "samples", "10⁹/s", "first call, s"], rows)


def latency(result: dict[str, Any]) -> str:
    found = {(x["who"], x["batch"]): x for x in ours(result["sweep"]) if x["function"] == FIRST}
    who = dict.fromkeys(name for name, _ in found)
    times = lambda name, n: f"{1e6 * n / found[name, n]['per_second']:.1f}"
    rows = [[name, *(times(name, n) for n in (1, 256, 4096))] for name in who]
    return table(["µs for a batch of", "1", "256", "4,096"], rows)


def accuracy(result: dict[str, Any]) -> str:
    """Median and largest error; empty where a robot has none, or the program is too large."""
    found = {(x["function"], x["robot"]): x for x in result["accuracy"]}
    robots = list(dict.fromkeys(robot for _, robot in found))
    cell = lambda x: f"{x['median']:.0e}, {x['largest']:.0e}" if x else ""
    rows = [
        [name, *(cell(found.get((name, r))) for r in robots)]
        for name in sorted(dict.fromkeys(n for n, _ in found))
    ]  # fmt: skip
    return table(["function", *robots], rows)


def large(_: Any) -> str:
    """Large robots, 10⁶/s by batch: the median, and the slowest and fastest."""
    rates: Any = newest("large")["rates"]
    batches = sorted({x["batch"] for x in rates})
    found = {(x["function"], x["robot"], x["batch"]): x for x in rates}
    cell = lambda x: f"{x / 1e6:,.{0 if x >= 1e8 else 1}f}"
    rows = []
    for function, robot in dict.fromkeys((x["function"], x["robot"]) for x in rates):
        row = [found.get((function, robot, n)) for n in batches]
        spread = lambda x: f"{cell(x['per_second'])} ({cell(x['slowest'])} to {cell(x['fastest'])})"
        rows.append([function, robot, *(spread(x) if x else "" for x in row)])
    return table(["function", "robot", *(f"{n:,}" for n in batches)], rows)


def peers(_: Any) -> str:
    """Other libraries on the same GPU."""
    return table(*peers_report.lines())


FIRST = "inverse_dynamics"
TABLES = {
    "throughput": throughput, "simulation": simulation, "whole": whole, "loops": loops,
    "launch": launch, "latency": latency, "gradients": gradients,
    "accuracy": accuracy, "large": large, "peers": peers,
}  # fmt: skip


def plot(result: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "mozzi"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.8), sharey=True)
    for axis, name in zip(axes, (FIRST, "forward_dynamics")):
        for who, color in COLORS.items():
            points = [x for x in result["sweep"] if x["function"] == name and x["who"] == who]
            axis.loglog([x["batch"] for x in points], [x["per_second"] for x in points],
                        "o-", ms=3, color=color, label=who)  # fmt: skip
        for who, found in peers_report.points(name).items():
            axis.loglog(*zip(*found), "s--", ms=3, lw=0.8, color=PEERS[who], label=who)
        axis.set(title=f"{name.replace('_', ' ')} of a panda, float32", xlabel="batch")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("evaluations per second")
    axes[1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.02, 1.0))
    x = result["machine"]
    where = f"{result['gpu']}, driver {result['driver']}; {x['cores']} cores of {x['cpu']}"
    figure.text(0.995, 0.01, f"{where}; {x['date'][:10]}", ha="right", fontsize=6)
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
        if begin not in text:
            raise SystemExit(f"docs/gpu.md has no place {begin}")
        new = f"{begin}\n{make(result)}\n{end}"
        text = re.sub(f"{begin}.*?{end}", lambda _, new=new: new, text, flags=re.DOTALL)
    page.write_text(text)
    print("from", source.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
