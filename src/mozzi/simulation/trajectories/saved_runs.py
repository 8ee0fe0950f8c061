"""Long runs on disk: records go to a zarr store as they come, and a run that broke off goes on.

A block of records is one chunk of every array. When it is on the disk, and with it the state that
the run goes on from, one file is replaced that says how many records there are: after a crash, a
full disk or a loss of power the store holds everything up to the last block, and `simulate` with
the same arguments goes on from there, to the same numbers.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import replace as replace_in
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mozzi.errors import ConfigurationError, warn
from mozzi.files import make_folder_of, replace, to_disk, write_atomically, zarr_library
from mozzi.fingerprint import digest_of
from mozzi.simulation.forces.law import DUE, HELD
from mozzi.simulation.methods.dormand_prince import DormandPrince, Event
from mozzi.simulation.trajectories.trajectory import Origin, Trajectory
from mozzi.types import Array

if TYPE_CHECKING:
    from mozzi.model import Model
    from mozzi.simulation.running.simulation import Simulation

__all__ = [
    "CONTACT", "Saved", "block_records", "events_of", "keep_origin", "open_saved", "opened",
    "origin_of",
]  # fmt: skip

BLOCK_BYTES = 2**25  # of one block of records, about
BLOCK_RECORDS = 4096
KEY = "mozzi_run"
VARIED = "parameters"  # numbers of the model that differ from sample to sample
CONTACT = {
    "contact_forces": "contact_force", "contact_residual": "residual", "row_forces": "force",
    "taken": "taken", "contact_modes": "modes",
}  # fmt: skip
"""What is called how in trajectories and in records."""
Facts = dict[str, Any]


def fingerprint(x: Array | None) -> str | None:
    """Which numbers these are."""
    if x is None:
        return None
    return hashlib.sha256(repr(x.shape).encode() + np.ascontiguousarray(x).tobytes()).hexdigest()


def facts_of(run: Simulation) -> Facts:
    """What says which run it is; of a law of torque only that there is one (`law_of`)."""
    held = run.torque.rows if run.torque.rows is not None else run.torque.constant
    law = run.torque.law is not None or run.torque.call is not None or run.torque.own is not None
    method, events = run.method, None
    if isinstance(method, DormandPrince) and method.events:  # functions have addresses in repr
        method, events = replace_in(method, events=()), [*map(digest_of, method.events)]
    return {
        "model": run.user.digest, "name": run.user.name, "method": repr(method), "events": events,
        "resistance": repr(run.resistance), "limits": repr(run.stops),
        "dt": run.dt, "t0": run.t0, "steps": run.grid.steps, "end": float(run.grid.t[-1]),
        "record_every": run.grid.every, "place": repr(run.place),
        "start": [fingerprint(run.q0), fingerprint(run.v0)], "law": law,
        "torque": fingerprint(held), "wrenches": fingerprint(run.wrenches),
        "wrenches_rep": run.wrenches_rep,
        "drives": None if run.drives is None else run.drives.content,
        "parameters": [[*run.varying.names, *run.varying.gains],
                       fingerprint(run.varying.numbers)],
    }  # fmt: skip


def law_of(run: Simulation) -> str | None:
    """Which law of torque acts: digits of its code and of what it takes along."""
    law = run.torque.own or run.torque.law or run.torque.call
    return None if law is None else digest_of(law)


class Saved:
    """A store that one run writes to; `records` are there for good."""

    def __init__(self, path: Path, block: int, head: Facts):
        self.path, self.block, self.head = path, block, head
        self.group = zarr_library().open_group(str(path), mode="r+", use_consolidated=False)

    @property
    def records(self) -> int:
        """How many records are on the disk."""
        return int(self.head["records"])

    def checkpoint(self) -> dict[str, Array]:
        """The state at the last record."""
        part = self.group[f"checkpoint_{self.head['slot']}"]
        return {name: np.asarray(x[...]) for name, x in part.arrays()}

    def write(
        self, rows: Mapping[str, Array], state: Mapping[str, Array], told: Mapping[str, object]
    ) -> None:
        """Records behind those that are there, the state at the last one, then that it is so."""
        start = self.records
        count = len(rows["q"])
        for name, x in rows.items():
            self.group[name][start : start + count] = x
            for chunk in range(start // self.block, -(-(start + count) // self.block)):
                self._flush(name, f"c/{chunk}")
        slot = 1 - int(self.head["slot"])
        part = self.group.require_group(f"checkpoint_{slot}")
        for name, x in state.items():
            x = np.asarray(x)
            if name in part:
                part[name][...] = x
            else:
                part.create_array(name, data=x, chunks=tuple(max(1, n) for n in x.shape))
                to_disk(self.path / f"checkpoint_{slot}" / name / "zarr.json")
            self._flush(f"checkpoint_{slot}/{name}", "c")
        self._commit({**told, "records": start + count, "slot": slot})

    def _flush(self, name: str, chunk: str) -> None:
        place = self.path / name / chunk
        for file in [place] if place.is_file() else place.rglob("*"):
            if file.is_file():
                to_disk(file)

    def _commit(self, told: Mapping[str, object]) -> None:
        self.head |= told
        path = self.path / "zarr.json"
        text = json.loads(path.read_text(encoding="utf-8"))
        text.setdefault("attributes", {})[KEY] = self.head
        data = json.dumps(text, indent=2).encode()
        write_atomically(path, lambda file: cast(None, file.write(data)))


def block_records(count: int, samples: int, numbers: int) -> int:
    """How many of these records a block has, of so many numbers for every sample."""
    return max(1, min(int(BLOCK_BYTES / (8 * samples * numbers)), BLOCK_RECORDS, count))


def open_saved(
    path: str | os.PathLike[str], run: Simulation, rows: Mapping[str, int], block: int
) -> Saved:
    """The store of a run: made, or that of the same run, which goes on. rows: sizes of records."""
    place, facts = Path(path), json.loads(json.dumps(facts_of(run)))
    zarr = zarr_library()
    if place.exists():
        head = _head(place)
        wrong = sorted(n for n in facts if head["run"].get(n) != facts[n])
        if wrong:
            raise ConfigurationError(
                f"{place}: holds a run with other {', '.join(wrong)}; give another path, or the "
                "arguments it was made with"
            )
        if head.get("code", law_of(run)) != law_of(run):
            warn(
                f"{place}: the law of torque is another one than that of the run it holds, or has "
                "another state; what is there stays as it is. Give another path for another law"
            )
        return Saved(place, head["block"], head)
    make_folder_of(place)
    n = len(run.grid.t)
    making = place.with_name(f".{place.name}.making")
    group = zarr.open_group(str(making), mode="w")
    group.create_array("t", data=run.grid.t, chunks=(n,))
    axes = [f"sample_{k}" for k in range(len(run.batch))]
    for name, size in rows.items():
        group.create_array(
            name, shape=(n, *run.batch, size), chunks=(block, *run.batch, max(1, size)),
            dtype="float64", fill_value=np.nan, dimension_names=["t", *axes, f"{name}_entry"],
        )  # fmt: skip
    if run.varying.values:
        numbers = group.create_group(VARIED)
        for name, x in run.varying.values.items():
            numbers.create_array(name, data=np.array(np.broadcast_to(x, run.batch)))
    head: Facts = {
        "run": facts, "block": block, "records": 0, "slot": 1, "done": False, "batch": run.batch,
        "springs": run.resistance is not None and run.resistance.springs,
        "method": run.method_name, "guided": [] if run.drives is None else run.drives.guided,
        "law": _law_shapes(run), "code": law_of(run),
    }  # fmt: skip
    group.attrs[KEY] = head
    replace(making, place)  # a store is there as a whole
    return Saved(place, block, head)


def _law_shapes(run: Simulation) -> dict[str, list[int]]:
    """The parts of a row of a law's state, in their order."""
    law = run.torque.own
    parts = {} if law is None else law.parts(run.user, law.start(run.user))
    return {name: list(x.shape) for name, x in parts.items()}


def _head(place: Path) -> Facts:
    try:
        text = json.loads((place / "zarr.json").read_text(encoding="utf-8"))
        return text["attributes"][KEY]
    except (OSError, ValueError, KeyError, TypeError):
        raise ConfigurationError(
            f"{place}: is there, and is no run of mozzi; give another path"
        ) from None


class OnDisk:
    """Records (B, n, size) that are read when they are asked for; NumPy takes it as an array.

    Of rows with several parts it is the one of a shape, from a number on.
    """

    def __init__(self, array: Any, count: int, first: int = 0, own: tuple[int, ...] | None = None):
        self._array, self._count = array, count
        _, *batch, size = array.shape
        self._own = (size,) if own is None else own
        self._part = slice(first, first + math.prod(self._own))
        self.shape: tuple[int, ...] = (*batch, count, *self._own)
        self.ndim, self.dtype = len(self.shape), np.dtype(float)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.records(0, self._count).astype(dtype or float, copy=False)

    def records(self, start: int, stop: int) -> Array:
        """(B, stop − start, size), of which nothing else is read."""
        rows = np.moveaxis(np.asarray(self._array[start:stop]), 0, -2)[..., self._part]
        return rows.reshape(*rows.shape[:-1], *self._own)

    def __getitem__(self, key: Any) -> Array:
        return np.asarray(self)[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)


def opened(path: Path, model: Model | None = None) -> Trajectory:
    """What a store holds, as a trajectory whose arrays are read when they are asked for."""
    head = _head(path)
    group = zarr_library().open_group(str(path), mode="r", use_consolidated=False)
    n = int(head["records"])
    if model is not None and model.digest != head["run"]["model"]:
        raise ConfigurationError(
            f"{path}: belongs to the model {head['run']['name']!r} with other data than "
            f"{model.name!r}; give the model it was made with"
        )
    arrays = {name: cast(Array, OnDisk(x, n)) for name, x in group.arrays() if name != "t"}
    t = np.asarray(group["t"][:n])
    law = head["run"]["law"] or head["run"]["torque"] is not None
    parts, first = dict[str, Array](), 0
    for name, own in head.get("law", {}).items():
        parts[name] = cast(Array, OnDisk(group["law"], n, first, tuple(own)))
        first += math.prod(own)
    return Trajectory(
        t, arrays["q"], arrays["v"], model, parts.pop(HELD, arrays.get("tau")), head["method"],
        head["springs"],
        {tuple(k): when for k, when in head.get("diverged", ())}, events_of(head),
        complete=bool(head["done"]) and n == group["t"].shape[0],
        driven=bool(head.get("driven", law)), stored=_Contacts(arrays), origin=head.get("origin"),
        guided=tuple(head.get("guided", ())),
        law_state={name: x for name, x in parts.items() if name != DUE},
        parameters={} if VARIED not in group else {
            name: np.asarray(x[...]) for name, x in group[VARIED].arrays()
        },
    )  # fmt: skip


def origin_of(path: Path) -> Origin | None:
    """How the command line made the model of a store."""
    return _head(path).get("origin")


def keep_origin(path: Path, origin: Origin) -> None:
    """Say in a store how its model was made."""
    place = path / "zarr.json"
    text = json.loads(place.read_text(encoding="utf-8"))
    text["attributes"][KEY]["origin"] = origin
    data = json.dumps(text, indent=2).encode()
    write_atomically(place, lambda file: cast(None, file.write(data)))


class _Contacts(dict[str, Array]):
    """What moreau and dopri5 record of contacts, read when it is asked for."""

    def __init__(self, arrays: Mapping[str, Array]):
        super().__init__()
        self.rows: Mapping[str, Array] = arrays if {"residual", "modes"} & {*arrays} else {}
        of_dopri5 = {"contact_forces", "contact_modes"}
        self.known = of_dopri5 if "modes" in self.rows else {*CONTACT} - {"contact_modes"}

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (bool(self.rows) and name in self.known)

    def __missing__(self, name: str) -> Array:
        rows = self.rows.get(CONTACT[name])
        if rows is None:  # of a model without contacts
            return np.zeros((*self.rows["taken"].shape[:-1], 0, *((3,) * (name[:1] == "c"))))
        x = np.asarray(rows)
        if name == "contact_modes":
            return np.nan_to_num(x).astype(int)
        if name == "contact_forces":
            return x.reshape(*x.shape[:-1], x.shape[-1] // 3, 3)
        return x[..., 0] if name == "contact_residual" else x


def events_of(head: Facts) -> list[Event]:
    """The events that were found."""
    rows = head.get("events", ())
    return [Event(tuple(k), t, n, np.array(q), np.array(v)) for k, t, n, q, v in rows]
