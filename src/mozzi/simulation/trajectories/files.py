"""Trajectories on disk: .npz and .csv, written atomically (runs as they come: `saved_runs.py`)."""

from __future__ import annotations

import csv
import io
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TypedDict

import numpy as np

from mozzi.errors import ConfigurationError
from mozzi.files import write_atomically
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.simulation.methods.dormand_prince import Event
from mozzi.simulation.trajectories.saved_runs import CONTACT, opened, origin_of
from mozzi.simulation.trajectories.trajectory import Origin, Trajectory
from mozzi.types import Array

__all__ = ["load", "origin", "save"]

FORMAT = "mozzi trajectory 1"
DRIVE = "drive:"  # before the names of driven joints
DERIVED = ("a", "kinetic", "potential", "momentum")
FIELDS = ("a", "tau", "kinetic", "potential", "momentum", "contacts", "reactions")
"""What a file may hold besides t, q and v; contacts (forces and what else is known of them) where
there are some; reactions (what closures and drives exert) where they are asked for, or are known.
"""
CONTACTS = (*CONTACT, "contact_modes")
DAMAGED = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, StopIteration, OverflowError,
    NotImplementedError, RuntimeError, MemoryError, OSError, EOFError, zipfile.BadZipFile,
    zlib.error, lzma.LZMAError, struct.error, csv.Error,
)  # fmt: skip
"""What readers of .npz and .csv files raise on files that something happened to."""
SINGLE = ("t", "kinetic", "potential", "drive_power", "contact_residual")
"""What is one number at a time."""
OF_MODEL = "parameter "
"""What arrays are called that hold numbers of the model, (B, 1), before their name."""


class Head(TypedDict):
    """What of a trajectory is not arrays, as JSON has it."""

    format: str
    model: str | None
    name: str | None
    method: str
    springs: bool
    driven: bool
    guided: list[str]
    complete: bool
    batch: list[int]
    diverged: list[tuple[list[int], float]]
    events: list[tuple[list[int], float, int, list[float], list[float]]]
    origin: Origin | None


def save(trajectory: Trajectory, path: Path, fields: Sequence[str] | None = None) -> Path:
    for field in fields or ():
        if field not in FIELDS:
            raise ConfigurationError(f"no field {field!r}; give some of {', '.join(FIELDS)}")
    known = trajectory.reactions_known
    wanted = FIELDS[: len(FIELDS) - (not known)] if fields is None else fields
    if path.suffix == ".npz":
        return write_atomically(path, lambda file: _write_npz(trajectory, file, wanted))
    if path.suffix == ".csv":
        return write_atomically(path, lambda file: _write_csv(trajectory, file, wanted))
    raise ConfigurationError(f"{path}: no format {path.suffix!r}; save as .npz or .csv")


def load(path: Path, model: Model | None = None) -> Trajectory:
    if path.suffix == ".zarr":
        return opened(path, model)
    if model is not None:
        as_model(model, "Trajectory.load")
    if path.suffix not in (".npz", ".csv"):
        raise ConfigurationError(f"{path}: no format {path.suffix!r}; give a .npz or .csv file")
    try:
        head, arrays = (_read_npz if path.suffix == ".npz" else _read_csv)(path)
        found = _trajectory(head, arrays)
    except FileNotFoundError:
        raise
    except DAMAGED as error:
        raise ConfigurationError(f"{path}: is no trajectory of mozzi ({error})") from None
    if model is not None:
        if model.digest != head["model"]:
            raise ConfigurationError(
                f"{path}: belongs to the model {head['name']!r} with other data than "
                f"{model.name!r}; give the model it was made with"
            )
        found.model = model
    return found


def _head(x: Trajectory) -> Head:
    return {
        "format": FORMAT,
        "model": None if x.model is None else x.model.digest,
        "name": None if x.model is None else x.model.name,
        "method": x.method,
        "springs": x.springs,
        "driven": x.driven,
        "guided": list(x.guided),
        "complete": x.complete,
        "batch": list(x.batch),
        "diverged": [(list(k), t) for k, t in x.diverged.items()],
        "events": [(list(e.sample), e.t, e.number, e.q.tolist(), e.v.tolist()) for e in x.events],
        "origin": x.origin,
    }


def _arrays(x: Trajectory, fields: Sequence[str]) -> dict[str, Array]:
    wanted = [name for name in DERIVED if name in fields]
    derived = x.derived() if wanted else {}
    arrays = {"t": x.t, "q": x.q, "v": x.v}
    arrays |= {f"{OF_MODEL}{name}": numbers[..., None] for name, numbers in x.parameters.items()}
    tau = x.joint_forces() if "tau" in fields else None
    if tau is not None:
        arrays["tau"] = tau
    arrays |= {name: derived[name] for name in wanted if name in derived}
    if "contacts" in fields:
        arrays |= {name: x.stored[name] for name in CONTACTS if name in x.stored}
    return arrays | (x.all_reactions() if "reactions" in fields else {})


def _is_reaction(name: str) -> bool:
    return name in ("loop_forces", "drive_power") or name.startswith(DRIVE)


def _trajectory(head: Head, arrays: dict[str, Array]) -> Trajectory:
    if head.get("format") != FORMAT:
        raise ValueError(f"its format is {head.get('format')!r}, not {FORMAT!r}")
    return Trajectory(
        arrays["t"], arrays["q"], arrays["v"], None, arrays.get("tau"), head["method"],
        head["springs"],
        {tuple(k): t for k, t in head["diverged"]},
        [Event(tuple(k), t, n, np.array(q), np.array(v)) for k, t, n, q, v in head["events"]],
        head["complete"],
        stored={
            n: x for n, x in arrays.items() if n in (*DERIVED, *CONTACTS) or _is_reaction(n)
        },
        driven=head.get("driven", False),
        guided=tuple(head.get("guided", ())),
        parameters={
            name.removeprefix(OF_MODEL): x[..., 0] for name, x in arrays.items()
            if name.startswith(OF_MODEL)
        },
        origin=head.get("origin"),
    )  # fmt: skip


def origin(path: Path) -> Origin | None:
    """How the command line made the model of a file; None where it did not."""
    return origin_of(path) if path.suffix == ".zarr" else load(path).origin


def _write_npz(x: Trajectory, file: IO[bytes], fields: Sequence[str]) -> None:
    arrays = _arrays(x, fields)
    np.savez(file, allow_pickle=False, head=np.array(json.dumps(_head(x))), **arrays)


def _read_npz(path: Path) -> tuple[Head, dict[str, Array]]:
    with np.load(path, allow_pickle=False) as data:
        arrays = {name: data[name] for name in data.files}
    return json.loads(str(arrays.pop("head"))), arrays


def _write_csv(x: Trajectory, file: IO[bytes], fields: Sequence[str]) -> None:
    """A comment with what is not numbers, a row of names, then a row per sample and time."""
    arrays, batch = _arrays(x, fields), x.batch
    if "contact_forces" in arrays:
        F = arrays["contact_forces"]
        arrays["contact_forces"] = F.reshape(*F.shape[:-2], -1)
    names = {
        "q": x.model.q_names if x.model is not None else range(x.q.shape[-1]),
        "v": x.model.v_names if x.model is not None else range(x.v.shape[-1]),
        "momentum": ("mx", "my", "mz", "px", "py", "pz"),
    }
    names |= {"a": names["v"], "tau": names["v"]}
    names |= {
        n: range(y.shape[-1]) for n, y in arrays.items()
        if (_is_reaction(n) or n in CONTACTS) and n not in SINGLE
    }  # fmt: skip
    shape, heads, columns = (*batch, len(x.t)), ["t"], [np.broadcast_to(x.t, (*batch, len(x.t)))]
    for name, array in arrays.items():
        if name == "t":
            continue
        parts = np.broadcast_to(array, (*shape, *array.shape[len(shape) :]))
        if name in names:
            heads += [f"{name}.{label}" for label in names[name]]
            columns += list(np.moveaxis(parts, -1, 0))
        else:
            heads.append(name)
            columns.append(parts)
    for axis in reversed(range(len(batch))):
        heads.insert(0, f"sample{axis}")
        columns.insert(0, np.broadcast_to(np.indices(batch)[axis][..., None], shape))
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    text.write(f"# {json.dumps(_head(x))}\n")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(heads)
    for row in zip(*(column.ravel().tolist() for column in columns), strict=True):
        rows.writerow(row)
    text.flush()
    text.detach()


def _read_csv(path: Path) -> tuple[Head, dict[str, Array]]:
    with path.open(encoding="utf-8", newline="") as text:
        first = next(text)
        if not first.startswith("# {"):
            raise ValueError("its first line is not the head that mozzi writes")
        head = json.loads(first[2:])
        rows = csv.reader(text)
        heads = next(rows)
        data = np.array([[float(x) for x in row] for row in rows])
    shape = (*head["batch"], -1)
    groups: dict[str, list[Array]] = {}
    for name, column in zip(heads, data.T, strict=True):
        if not name.startswith("sample"):
            group = name if name.startswith(OF_MODEL) else name.split(".", 1)[0]
            group = name.rsplit(".", 1)[0] if name.startswith(DRIVE) else group
            groups.setdefault(group, []).append(column.reshape(shape))
    arrays: dict[str, Array] = {}
    for name, columns in groups.items():
        single = name in SINGLE or name.startswith(OF_MODEL)
        arrays[name] = columns[0] if single else np.stack(columns, axis=-1)
    if "contact_forces" in arrays:
        F = arrays["contact_forces"]
        arrays["contact_forces"] = F.reshape(*F.shape[:-1], -1, 3)
    arrays["t"] = arrays["t"].reshape(-1, arrays["t"].shape[-1])[0]
    return head, arrays
