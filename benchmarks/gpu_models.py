"""What the GPU benchmark runs on, as one file that travels to the machine with the GPU.

Robots, and mechanisms with loops, each with states in which these are closed.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from benchmarks.__main__ import machine, states

ROBOTS = ("panda", "talos", "solo12")
SAMPLES = 512  # closed states of a mechanism with loops


@dataclass
class Models:
    """Robots by name; name → (model, q, v) of mechanisms with loops."""

    commit: str = ""
    robots: dict[str, Any] = field(default_factory=dict)
    closed: dict[str, tuple[Any, np.ndarray, np.ndarray]] = field(default_factory=dict)

    def arguments(self, name: str, names: Any, batch: int, dtype: str) -> list[np.ndarray]:
        """Random arguments of these names; of mechanisms with loops, states that close them."""
        if name not in self.closed:
            return states(self.robots[name], tuple(names), batch, dtype)
        model, q, v = self.closed[name]
        given = {"q": q, "v": v, "tau": np.random.default_rng(1).normal(size=v.shape)}
        other = partial(states, model, batch=batch, dtype=dtype)
        return [
            np.resize(given[n], (batch, given[n].shape[1])).astype(dtype)
            if n in given
            else other((n,))[0]
            for n in names
        ]

    def model(self, name: str) -> Any:
        return self.closed[name][0] if name in self.closed else self.robots[name]


def made() -> Models:
    """All of them, where example-robot-data is installed."""
    from benchmarks.loops import pinned_panda, standing_solo
    from benchmarks.robots import mozzi_model
    from mozzi.model.generate import four_bar, leaning, n_four_bar

    crank = four_bar()
    mechanisms = {
        "four-bar": (crank, mz.assemble(crank, np.array([0.7, 0.3, 0.4]))),
        "pinned panda": pinned_panda()[:2],
        "solo12 on four feet": standing_solo()[:2],
        "5 four-bars": (n_four_bar(5), leaning(n_four_bar(5), 0.3)),
        "20 four-bars": (n_four_bar(20), leaning(n_four_bar(20), 0.3)),
    }
    found = Models(machine()["commit"], {x: mozzi_model(x) for x in ROBOTS})
    for name, (model, q) in mechanisms.items():
        rng = np.random.default_rng(0)
        near = mz.integrate(model, q, 0.05 * rng.normal(size=(SAMPLES, model.nv)))
        q = mz.assemble(model, near)
        v = mz.consistent_velocities(model, q, rng.normal(size=(SAMPLES, model.nv)))
        found.closed[name] = model, q, v
    return found


def pack(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(made()))


def unpack(path: Path | None) -> Models:
    return pickle.loads(path.read_bytes()) if path else made()
