# pyright: basic
# (pyarrow is not typed)
"""`read_log`: tables of measurements as arrays with the names of a model's joints.

CSV, Parquet, and the tables into which ROS bags are exported: a column per joint and quantity
(``/joint_states/elbow/position``), or a column of lists beside one of names (``name``,
``position``), or numbered columns beside numbered names (``position[0]``, ``name[0]``).
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mozzi.checked import checked
from mozzi.errors import ConfigurationError, ExtraMissingError, nearest
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.types import Array

__all__ = ["Log", "read_log"]

QUANTITIES = {
    "q": ("q", "pos", "position", "positions", "angle"),
    "v": ("v", "dq", "qd", "vel", "velocity", "velocities"),
    "a": ("a", "ddq", "qdd", "acc", "acceleration", "accelerations"),
    "tau": ("tau", "effort", "efforts", "torque", "torques", "force"),
}
TIMES = ("t", "time", "timestamp", "timestamp_s", "stamp", "__time", "rosbagtimestamp", "seconds")
#: Units of stamps of this size, since 1970: nanoseconds, microseconds, milliseconds.
SIZES = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))


@dataclass(frozen=True)
class Log:
    """A table: times from its first row on, in seconds, and columns of numbers by name.

    q, v, a, tau: in the order of the model, where the table has all of a quantity; else None.
    start: the first time as the table has it, in seconds.

    Example:
        >>> import os
        >>> _ = open("log.csv", "w").write("time,joint_1.position\\n0.0,0.1\\n0.1,0.2\\n")
        >>> log = mz.read_log("log.csv")
        >>> log.t.tolist(), log.columns["joint_1.position"].tolist()
        ([0.0, 0.1], [0.1, 0.2])
    """

    t: Array
    columns: Mapping[str, Array]
    start: float = 0.0
    q: Array | None = None
    v: Array | None = None
    a: Array | None = None
    tau: Array | None = None

    def __len__(self) -> int:
        return len(self.t)


@checked
def read_log(
    path: str | os.PathLike[str],
    model: Model | None = None,
    *,
    time: str | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
) -> Log:
    """Read a log of measurements: .csv, .parquet, also of exported ROS bags.

    Columns are matched with joints by name: a joint's name and a word for the quantity (position,
    velocity, acceleration, effort and their short forms), in any order, with anything in between
    that is no letter or digit. Rows are sorted by time, and stamps of nano-, micro- and
    milliseconds since 1970 become seconds.

    Cost: linear in the length of the file.

    Args:
        path: the file; Parquet needs the extra ``data``.
        model: the mechanism whose joints are looked for; None reads columns only.
        time: the column of times, where its name is not one of the usual ones.
        columns: columns by quantity, {"q": [names in the order of the model], …}, where matching
            does not find them.

    Returns:
        A `Log` with t, q, v, a, tau and all columns.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> rows = ["time,joint_1/position,joint_2/position,joint_3/position", "5.0,0.1,0.2,0.3"]
        >>> _ = open("log.csv", "w").write("\\n".join(rows))
        >>> mz.read_log("log.csv", arm).q
        array([[0.1, 0.2, 0.3]])
    """
    file = Path(path)
    if not file.is_file():
        raise ConfigurationError(f"{file}: there is no such file; give one of .csv or .parquet")
    table = _table(file)
    table = _unpacked(table)
    name = time or next((c for c in table if _last_word(c) in TIMES), None)
    if name is None or name not in table:
        near = ", ".join(nearest(time or "time", table)[:6])
        raise ConfigurationError(f"{file}: no column of times; give time=, one of {near}")
    t = _numbers(table.pop(name))
    if t is None:
        raise ConfigurationError(f"{file}: column {name!r} holds no numbers")
    t = t * next((unit for size, unit in SIZES if np.nanmax(np.abs(t), initial=0.0) > size), 1.0)
    order = np.argsort(t, kind="stable")
    order = order[np.isfinite(t[order])]
    numbers = {c: x[order] for c, values in table.items() if (x := _numbers(values)) is not None}
    t = t[order]
    start = float(t[0]) if len(t) else 0.0
    if model is None:
        return Log(t - start, numbers, start)
    found = _matched(file, as_model(model, "read_log"), numbers, columns or {})
    return Log(t - start, numbers, start, **found)


def _table(file: Path) -> dict[str, Sequence[Any]]:
    """The columns of a file."""
    if file.suffix == ".parquet":
        try:
            from pyarrow import parquet
        except ImportError:
            raise ExtraMissingError(
                "Parquet files need pyarrow; install it with: pip install 'mozzi[data]'"
            ) from None
        table = parquet.read_table(file)
        return {name: table[name].to_pylist() for name in table.column_names}
    if file.suffix not in (".csv", ".txt", ".tsv"):
        raise ConfigurationError(f"{file}: no format {file.suffix!r}; give .csv or .parquet")
    with file.open(encoding="utf-8-sig", newline="") as text:
        lines = [line for line in text if not line.startswith("#")]
    if not lines:
        raise ConfigurationError(f"{file}: is empty")
    between = max(",;\t", key=lines[0].count)
    rows = list(csv.reader(lines, delimiter=between))
    heads = [head.strip() for head in rows[0]]
    if len(set(heads)) != len(heads):
        twice = next(head for head in heads if heads.count(head) > 1)
        raise ConfigurationError(f"{file}: column {twice!r} is there twice; name it apart")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(heads):
            raise ConfigurationError(
                f"{file}: row {number} has {len(row)} entries; the head has {len(heads)}"
            )
    return {head: [row[k] for row in rows[1:]] for k, head in enumerate(heads)}


def _unpacked(table: dict[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Columns of lists, or numbered ones, beside names: a column for each name."""
    lists = {c: x for c, x in table.items() if len(x) and isinstance(_first(x), (list, tuple))}
    for name, labels in [(c, x) for c, x in lists.items() if _last_word(c) in ("name", "names")]:
        words = _first(labels)
        for c, rows in lists.items():
            if c != name and c.rpartition("name")[0] in c and len(_first(rows)) == len(words):
                for k, word in enumerate(words):
                    places = [list(row).index(word) if row else k for row in labels]
                    table[f"{c}/{word}"] = [r[p] if r else np.nan for r, p in zip(rows, places)]
    for c, rows in list(table.items()):
        match = re.fullmatch(r"(.*?)names?[\[_.](\d+)\]?", c)
        if match and len(rows) and isinstance(_first(rows), str):
            for other in list(table):
                numbered = re.escape(match[1]) + r"(\w+?)[\[_.]" + match[2] + r"\]?"
                same = re.fullmatch(numbered, other)
                if same and other != c:
                    table[f"{match[1]}{same[1]}/{_first(rows)}"] = table[other]
    return {c: x for c, x in table.items() if c not in lists}


def _first(values: Sequence[Any]) -> Any:
    return next((x for x in values if x is not None), None)


def _last_word(column: str) -> str:
    return re.split(r"[./: ]", column.strip("/"))[-1].lower()


def _numbers(values: Sequence[Any]) -> Array | None:
    """A column as numbers, empty entries as NaN; None where it holds words."""
    try:
        return np.array([np.nan if x in ("", None) else float(x) for x in values])
    except (TypeError, ValueError):
        return None


def _matched(
    file: Path, model: Model, table: Mapping[str, Array], given: Mapping[str, Sequence[str]]
) -> dict[str, Array]:
    """q, v, a and tau in the order of the model."""
    out: dict[str, Array] = {}
    for quantity, words in QUANTITIES.items():
        labels = model.q_names if quantity == "q" else model.v_names
        chosen = list(given.get(quantity, ()))
        if not chosen:
            owners = {c: _owner(c, labels) for c in table}
            matches = [
                [c for c in table if owners[c] == label and _means(c, label, words)]
                for label in labels
            ]
            if not all(matches):
                continue
            several = next((k for k, m in enumerate(matches) if len(m) > 1), None)
            if several is not None:
                raise ConfigurationError(
                    f"{file}: {quantity} of {labels[several]!r} may be {matches[several]}; say "
                    f"which by columns={{{quantity!r}: […]}}"
                )
            chosen = [m[0] for m in matches]
        missing = [c for c in chosen if c not in table]
        if missing or len(chosen) != len(labels):
            fact = f"no column {missing[0]!r}" if missing else f"{len(chosen)} columns"
            raise ConfigurationError(
                f"{file}: {fact} for {quantity}; give {len(labels)}, for {', '.join(labels[:8])}"
            )
        out[quantity] = np.stack([table[c] for c in chosen], axis=-1)
    return out


EDGE = r"(?<![A-Za-z0-9]){}(?![A-Za-z0-9])"


def _owner(column: str, labels: Sequence[str]) -> str | None:
    """The joint that a column names: the longest name in it, set apart."""
    found = [x for x in labels if re.search(EDGE.format(re.escape(x)), column)]
    return max(found, key=len, default=None)


def _means(column: str, label: str, words: Sequence[str]) -> bool:
    """Whether a column of a joint is a quantity: it has one of the words besides the name."""
    found = re.search(EDGE.format(re.escape(label)), column)
    assert found is not None
    rest = column[: found.start()] + " " + column[found.end() :]
    rest = rest.replace("joint_states", " ")
    return any(re.search(EDGE.format(word), rest, re.I) for word in words)
