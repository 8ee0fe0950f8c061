"""`python -m benchmarks.study_dynamics`: which representation of twists to compute dynamics in.

Müller (Dynamics, section 4 and conclusions) leaves the comparison open. This counts and times the
recursive inverse and forward dynamics in each representation, on chains, trees and robots, unrolled
and rolled, measures the bars of `cases_dynamics`, and writes docs/study/dynamics.md with its plots.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, nanoseconds, save, states, throughput
from benchmarks.cases_dynamics import OPERATIONS, RELATIVE, SCALING, STUDY, THROUGHPUT
from benchmarks.robots import mozzi_model
from mozzi.algorithms.calls.algorithm import algorithm
from mozzi.algorithms.recursion.blocks import apply, diagonal_plus
from mozzi.algorithms.recursion.containers import Local, joint_vector, per_body
from mozzi.algorithms.recursion.representations import shifting, turning
from mozzi.compiler import program_of
from mozzi.lie import SE3, ArticulatedInertia, Twist, Vec3, Wrench, inverse_spd, solve_spd
from mozzi.model.generate import tree

FOLDER = Path(__file__).parent.parent / "docs" / "study"


# -- what is compared: the recursions as the papers print them --


@algorithm(regroup=True)
def inverse_twists(model: Any, q: Any, v: Any, a: Any) -> Any:
    """Inverse dynamics in body-fixed twists, as printed.  Kim Table 2; Müller (66), (67)."""
    T, V, A, W = per_body(model, "T V A W", Local[SE3], Twist, Twist, Wrench)
    tau = joint_vector(model)
    A[model.world] = model.upward
    for i in model.outward():
        S = i.joint.screws(q[i])
        Sv, own = S @ v[i], i.joint.screws_rate(q[i], v[i]) @ v[i]
        T[i] = i.pose(q[i])
        V[i] = T[i].pull(V[i.parent]) + Sv
        A[i] = T[i].pull(A[i.parent]) + S @ a[i] + V[i].cross(Sv) + own
        W[i] = (i.inertia @ A[i]).rate() + V[i].cross(i.inertia @ V[i])
    for i in model.inward():
        tau[i] = i.joint.screws(q[i]).T @ W[i]
        W[i.parent] += T[i].push(W[i])
    return tau


@algorithm(regroup=True)
def forward_in(model: Any, q: Any, v: Any, tau: Any, rep: str = "spatial") -> Any:
    """Forward dynamics by articulated bodies, in body-fixed, spatial or hybrid twists."""
    C, V, A, B = per_body(model, "C V A B", SE3, Twist, Twist, Wrench)
    P = per_body(model, "P", ArticulatedInertia)
    T, J, n = per_body(model, "T J n", Local[SE3], Local[SE3], Local[Twist])
    U, D, u = per_body(model, "U D u", Local[Any], Local[Any], Local[Any])
    out = joint_vector(model, "a")
    A[model.world] = model.upward

    def move(i: Any) -> Any:
        """The pose by which screws go between a body and its parent."""
        if rep == "body":
            return T[i]
        return SE3.identity() if rep == "spatial" else shifting(C[i].p - C[i.parent].p)

    for i in model.outward():
        p, S = i.parent, i.joint.screws(q[i])
        T[i] = i.pose(q[i])
        if rep == "body":
            X = SE3.identity()
        else:
            C[i] = C[p] @ T[i]
            X = C[i] if rep == "spatial" else turning(C[i].R)
        J[i], M = X.push(S), X.push(i.inertia)
        Jv = J[i] @ v[i]
        V[i] = move(i).pull(V[p]) + Jv
        own = X.push(i.joint.screws_rate(q[i], v[i]) @ v[i])
        if rep == "hybrid":
            w = Twist(V[i].ang, Vec3.zero())
            swing = Twist(Vec3.zero(), V[p].ang.cross(V[i].lin - V[p].lin))
            n[i], B[i] = w.cross(Jv) + swing + own, w.cross(M @ w)
        else:
            n[i], B[i] = V[i].cross(Jv) + own, V[i].cross(M @ V[i])
        P[i] = M.articulated()
    for i in model.inward():
        S = J[i]
        U[i] = P[i] @ S
        D[i] = inverse_spd(diagonal_plus(S.T @ U[i], i.armature))
        u[i] = tuple(t - x for t, x in zip(tau[i], S.T @ B[i], strict=True))
        Pi = P[i].project(S, U[i], D[i], free=not any(x != 0.0 for x in i.armature))
        beta = B[i] + Pi @ n[i] + U[i] @ apply(D[i], u[i])
        P[i.parent] += move(i).push(Pi)
        B[i.parent] += move(i).push(beta)
    for i in model.outward():
        X = move(i).pull(A[i.parent]) + n[i]
        a = apply(D[i], [x - y for x, y in zip(u[i], U[i].T @ X, strict=True)])
        out[i] = a
        A[i] = X + J[i] @ a
    return out


def forward_factor(model: Any) -> Callable[..., Any]:
    """Forward dynamics by factoring the mass matrix: O(n³), unrolled only."""

    def forward(q: Any, v: Any, tau: Any) -> Any:
        M = mz.mass_matrix(model, q)
        b = mz.bias_forces(model, q, v)
        return np.array(solve_spd(M.tolist(), [list(tau - b)])[0], dtype=object)

    return forward


INVERSE = {
    "body-fixed, point accelerations": (mz.inverse_dynamics, {}),
    "body-fixed, twists (66)": (inverse_twists, {}),
    "mixed": (mz.inverse_dynamics, {"rep": "mixed"}),
    "hybrid (75)": (mz.inverse_dynamics, {"rep": "hybrid"}),
    "spatial (70)": (mz.inverse_dynamics, {"rep": "spatial"}),
}
FORWARD = {
    "body-fixed, point accelerations": (mz.forward_dynamics, {}),
    "body-fixed, twists (Kim, table 3)": (forward_in, {"rep": "body"}),
    "hybrid": (forward_in, {"rep": "hybrid"}),
    "spatial": (forward_in, {"rep": "spatial"}),
    "mass matrix, factored": (None, {}),
}


def mechanism(name: str) -> Any:
    """A robot of the benchmarks, or "tree31": a binary tree of 31 revolute bodies."""
    if name.startswith("tree"):
        return tree(int(name[4:]), seed=1)
    return mozzi_model(name)


def compare(name: str) -> list[dict[str, Any]]:
    """Operations and times of every way, unrolled and rolled."""
    model, rows = mechanism(name), []
    for what, ways in (("inverse", INVERSE), ("forward", FORWARD)):
        for way, (function, options) in ways.items():
            row: dict[str, Any] = {"mechanism": name, "problem": what, "way": way}
            for rolled in (False, True):
                if function is None:
                    if rolled or model.nv > 40:
                        continue
                    f, settings = forward_factor(model), {}
                else:
                    f, settings = function, {"options": options}
                label = "rolled" if rolled else "unrolled"
                if not rolled:
                    row["flops"] = program_of(f, model, rolled=False, **settings).flops
                kernel = mz.compile(f, model, rolled=rolled, **settings)
                inputs = states(model, ("q", "v", "a"), 4096, "float64")
                row[f"{label}_ns"] = nanoseconds(kernel, inputs, 4096)
            rows.append(row)
            print(row, flush=True)
    return rows


def relative(case: dict[str, Any]) -> dict[str, Any]:
    """Time and operations of one function over those of another."""
    model = mechanism(case["robot"])
    figures = {}
    for key in ("function", "to"):
        function = getattr(mz, case[key])
        options = _options(function, model)
        kernel = mz.compile(function, model, options=options)
        inputs = states(model, function.required, 4096, "float64")
        best = min(_seconds(kernel, inputs) for _ in range(7))
        figures[key] = best, program_of(function, model, options=options).flops
    (t, n), (t0, n0) = figures["function"], figures["to"]
    return {**case, "time_ratio": t / t0, "operations_ratio": n / n0, "ns": t / 4096 * 1e9}


def _options(function: Any, model: Any) -> dict[str, Any]:
    return {"prescribed": tuple(model.joint_names[1::2])} if "hybrid" in function.name else {}


def _seconds(kernel: Any, inputs: list[np.ndarray]) -> float:
    import time

    start = time.perf_counter()
    kernel(*inputs)
    return time.perf_counter() - start


def scaling(case: dict[str, Any]) -> dict[str, Any]:
    """Rolled times of chains, and the slope of their logarithms."""
    function, times, batch = getattr(mz, case["function"]), [], 64
    for n in case["bodies"]:
        model = mozzi_model(f"chain{n}")
        options = _options(function, model)
        kernel = mz.compile(function, model, rolled=True, options=options)
        inputs = states(model, function.required, batch, "float64")
        kernel(*inputs)
        times.append(min(_seconds(kernel, inputs) for _ in range(15)) / batch * 1e9)
    slope = np.polyfit(np.log(case["bodies"]), np.log(times), 1)[0]
    return {**case, "ns": times, "slope": float(slope)}


def run() -> dict[str, Any]:
    """All figures."""
    result: dict[str, Any] = {"machine": machine()}
    result["operations"] = [
        {**c, "flops": program_of(getattr(mz, c["function"]), mozzi_model(c["robot"])).flops}
        for c in OPERATIONS
    ]
    result["throughput"] = [throughput(case, 3) for case in THROUGHPUT]
    result["relative"] = [relative(case) for case in RELATIVE]
    result["scaling"] = [scaling(case) for case in SCALING]
    for part in ("throughput", "relative", "scaling"):
        for row in result[part]:
            print(part, row, flush=True)
    result["study"] = [row for name in STUDY for row in compare(name)]
    return result


# -- the page --


def plots(result: dict[str, Any]) -> None:
    """Operations and times by representation, and times against the number of bodies."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "mozzi"
    import matplotlib.pyplot as plt

    for problem, ways in (("inverse", INVERSE), ("forward", FORWARD)):
        rows = [r for r in result["study"] if r["problem"] == problem]
        first = next(iter(ways))
        fig, axes = plt.subplots(1, 3, figsize=(13, 3.6), sharey=True)
        for axis, key, title in zip(
            axes, ("flops", "unrolled_ns", "rolled_ns"), ("operations", "time", "time, rolled"),
            strict=True,
        ):  # fmt: skip
            for k, way in enumerate(ways):
                points = []
                for x, name in enumerate(STUDY):
                    own = {r["way"]: r.get(key) for r in rows if r["mechanism"] == name}
                    if own.get(way) and own.get(first):
                        points.append((x + 0.15 * (k - 2), own[way] / own[first]))
                if points:
                    axis.bar(*zip(*points, strict=True), width=0.15, label=way)
            axis.set_xticks(range(len(STUDY)), STUDY, rotation=45)
            axis.set_title(f"{title}, relative to the first")
            axis.axhline(1.0, color="k", lw=0.5)
        axes[0].legend(fontsize=7)
        fig.suptitle(f"{problem} dynamics")
        fig.tight_layout()
        fig.savefig(FOLDER / f"dynamics_{problem}.svg", metadata={"Date": None})
        plt.close(fig)
    fig, axis = plt.subplots(figsize=(5.5, 4))
    for case in result["scaling"]:
        label = f"{case['function']} (slope {case['slope']:.2f})"
        axis.loglog(case["bodies"], case["ns"], "o-", label=label)
    axis.set_xlabel("bodies")
    axis.set_ylabel("ns per evaluation, rolled")
    axis.legend()
    fig.tight_layout()
    fig.savefig(FOLDER / "dynamics_scaling.svg", metadata={"Date": None})
    plt.close(fig)


def table(rows: list[list[str]]) -> str:
    """A Markdown table; the first row is the header."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def figures(result: dict[str, Any], problem: str, key: str, form: str) -> str:
    """Ways by mechanisms."""
    ways = INVERSE if problem == "inverse" else FORWARD
    cells = {
        (r["way"], r["mechanism"]): r.get(key) for r in result["study"] if r["problem"] == problem
    }
    rows = [["", *STUDY]]
    for way in ways:
        values = [cells.get((way, name)) for name in STUDY]
        if any(values):
            rows.append([way, *(form.format(x) if x else "–" for x in values)])
    return table(rows)


ROBOTS = ("panda", "ur5", "solo12", "talos")
POINTS = "body-fixed, point accelerations"


def shares(result: dict[str, Any]) -> dict[str, str]:
    """What the answer says in percent, of the rows that it is about."""
    cells = {(r["problem"], r["way"], r["mechanism"]): r for r in result["study"]}

    def less(
        problem: str, way: str, than: str, names: Any = STUDY, key: str = "flops"
    ) -> list[float]:
        pairs = [(cells.get((problem, way, n)), cells.get((problem, than, n))) for n in names]
        return [1 - a[key] / b[key] for a, b in pairs if a and b]

    def span(x: list[float]) -> str:
        return f"{100 * min(x):.0f} to {100 * max(x):.0f} %"

    general = [name for name in STUDY if name not in ROBOTS]
    factor = "mass matrix, factored"
    short = less("forward", factor, POINTS, ("panda", "ur5", "chain7"))
    times = less("forward", factor, POINTS, ("panda", "ur5", "chain7"), "unrolled_ns")
    talos = cells["forward", factor, "talos"]["flops"] / cells["forward", POINTS, "talos"]["flops"]
    return {
        "points_inverse": span(less("inverse", POINTS, "body-fixed, twists (66)")),
        "points_forward": span(
            less("forward", POINTS, "body-fixed, twists (Kim, table 3)", ROBOTS)
        ),
        "over_hybrid": span(less("inverse", POINTS, "hybrid (75)", ROBOTS)),
        "over_spatial": span(less("inverse", POINTS, "spatial (70)", ROBOTS)),
        "general_hybrid": span(less("forward", POINTS, "hybrid", general)),
        "short_flops": span(short),
        "short_ns": f"{100 * max(times):.0f} %",
        "talos_factor": f"{talos:.1f} times",
    }


def page(result: dict[str, Any]) -> str:
    """docs/study/dynamics.md."""
    template = (Path(__file__).parent / "study_dynamics.md").read_text()
    marks = {
        "machine": f"{result['machine']['cpu']}, {result['machine']['date'][:10]}",
        "throughput": table([
            ["function", "ns", "Pinocchio, ns", "ratio", "bar"],
            *([r["function"], f"{r['ns']:.0f}", f"{r['peer_ns']:.0f}", f"{r['ratio']:.0f}×",
               f"{r['bar']}×"] for r in result["throughput"]),
        ]),
        "relative": table([
            ["function", "beside", "robot", "operations", "time", "bar"],
            *([r["function"], r["to"], r["robot"], f"{r['operations_ratio']:.2f}×",
               f"{r['time_ratio']:.2f}×", f"{r['bar']}×"] for r in result["relative"]),
        ]),
        "scaling": table([
            ["function", "slope from 30 to 1,000 bodies"],
            *([r["function"], f"{r['slope']:.2f}"] for r in result["scaling"]),
        ]),
        "operations": table([
            ["function", "operations on a panda"],
            *([r["function"], str(r["flops"])] for r in result["operations"]),
        ]),
    }  # fmt: skip
    for problem in ("inverse", "forward"):
        marks[f"{problem}_flops"] = figures(result, problem, "flops", "{:,.0f}")
        marks[f"{problem}_unrolled"] = figures(result, problem, "unrolled_ns", "{:,.0f}")
        marks[f"{problem}_rolled"] = figures(result, problem, "rolled_ns", "{:,.0f}")
    for name, text in (marks | shares(result)).items():
        template = template.replace("{{" + name + "}}", text)
    return template


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.study_dynamics", description=__doc__
    )
    parser.add_argument("--from", dest="source", help="write the page from kept results (JSON)")
    options = parser.parse_args()
    mz.set_num_threads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    if options.source:
        result = json.loads(Path(options.source).read_text())
    else:
        result = run()
        print("saved", save("study-dynamics", result).name)
    plots(result)
    (FOLDER / "dynamics.md").write_text(page(result))


if __name__ == "__main__":
    main()
