"""What was measured and kept, as words of a page: `fill("{cpu[throughput][rnea panda][ns]:.0f}")`.

Results are the newest of each kind, `DATE-KIND.json`. A row of a list is named by words that it
has and no other row has, or by its number: `[#0]`. A number may be scaled where it is written:
`{...:/1e9 .3g}`.
"""

from __future__ import annotations

import json
import string
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

RESULTS = Path(__file__).parent / "results"
KINDS_OF_TABLES = ("experiments", "systems", "gradients", "counts")

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Number(float):
    """A number whose format may begin with a scale."""

    def __format__(self, spec: str) -> str:
        value = float(self)
        if spec[:1] in ("*", "/"):
            scale, _, spec = spec.partition(" ")
            value = value * float(scale[1:]) if scale[0] == "*" else value / float(scale[1:])
        return format(value, spec)


class Part:
    """A dictionary, or a list whose rows are found by words."""

    def __init__(self, name: str, data: dict[str, Json] | list[Json]) -> None:
        self.name, self.data = name, data

    def __getitem__(self, key: str | int) -> Part | Number | str:
        name = f"{self.name}[{key}]"
        if isinstance(self.data, dict):
            if key not in self.data:
                raise KeyError(f"{name}: there are {', '.join(self.data)}")
            return _wrap(name, self.data[str(key)])
        if str(key).startswith("#"):
            return _wrap(name, self.data[int(str(key)[1:])])
        wanted = set(str(key).split())
        found = [x for x in self.data if wanted <= set(_words(x))]
        if len(found) != 1:
            raise KeyError(f"{name}: {len(found)} rows have these words")
        return _wrap(name, found[0])


def _words(row: Json) -> Iterator[str]:
    """The words and whole numbers that name a row."""
    for x in row.values() if isinstance(row, dict) else ():
        if isinstance(x, str):
            yield from x.split()
        elif isinstance(x, int):
            yield str(x)


def _wrap(name: str, x: Json) -> Part | Number | str:
    if isinstance(x, (dict, list)):
        return Part(name, x)
    return Number(x) if isinstance(x, (int, float)) else str(x)


@cache
def newest(kind: str) -> dict[str, Json]:
    """The newest kept results of a kind: cpu, derivatives, gpu, ...; counts are made anew."""
    if kind == "counts":
        from benchmarks.experiments import counts

        return counts.run()
    found = sorted(RESULTS.glob(f"????-??-??-{kind}.json"))
    if not found:
        raise KeyError(f"benchmarks/results has nothing of the kind {kind}")
    return json.loads(found[-1].read_text(encoding="utf-8"))


class _Kinds(dict[str, Part]):
    def __missing__(self, kind: str) -> Part:
        return Part(kind, newest(kind))


def fill(text: str) -> str:
    """The text with its marks replaced by kept numbers."""
    return string.Formatter().vformat(text, (), _Kinds())


def number(mark: str) -> float:
    """One kept number: `number("simulation[speed][ns][mozzi]")`."""
    found, _ = string.Formatter().get_field(mark, (), _Kinds())
    return float(found)


def table(name: str) -> str:
    """A table of single experiments, as Markdown: measured and kept, or counted now."""
    for kind in KINDS_OF_TABLES:
        tables = newest(kind)["tables"]
        assert isinstance(tables, dict)
        if name in tables:
            break
    else:
        raise KeyError(f"no table {name} in benchmarks/results")
    found = tables[name]
    assert isinstance(found, dict)
    head, rows = found["head"], found["rows"]
    assert isinstance(head, list) and isinstance(rows, list)
    cell = lambda x: "" if x is None else f"{x:,}" if isinstance(x, (int, float)) else str(x)
    lines = [head, ["---"] * len(head), *(row for row in rows if isinstance(row, list))]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)


@cache
def operations(function: str, robot: str) -> int:
    """How many operations a public function takes, unrolled; robots are those of the benchmarks,
    and chains in general position: chain7, chain40.
    """
    import mozzi as mz
    from benchmarks.study_dynamics import mechanism
    from mozzi.compiler import program_of

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mechanism(robot)
    return program_of(getattr(mz, function), model, rolled=False).flops
