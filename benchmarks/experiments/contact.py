"""Solvers of contact from cold starts, and of softened laws.

Scenes are those of the tests (tests/simulation/methods/test_moreau.py).
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import mozzi as mz
from mozzi.simulation import Moreau

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from simulation.methods.test_moreau import random_scene, random_states
from support.contact_models import boxes

STATES, H, SMALL = 1000, 2e-3, 1e-8


def _share(model: Any, q: np.ndarray, v: np.ndarray, **options: Any) -> float:
    """Percent of states from which one step, from a cold start, meets the laws."""
    run = mz.simulate(model, q, v, H, H, resistance=True, limits="rigid", **options)
    return 100 * float((run.contact_residual[:, 1] < SMALL).mean())


def _stack(masses: tuple[float, ...], speed: float, off: float = 0.0) -> Any:
    """A stack of boxes, standing or off by some metres and radians, with random velocities."""
    model, q = boxes(masses)
    rng = np.random.default_rng(0)
    near = mz.integrate(model, q, off * rng.normal(size=(STATES, model.nv)))
    return model, near, speed * rng.normal(size=(STATES, model.nv))


def _scenes(many: int, each: int, **options: Any) -> float:
    """The same share over random mechanisms."""
    shares = []
    for seed in range(many):
        rng = np.random.default_rng(seed)
        model = random_scene(rng)
        shares.append(_share(model, *random_states(model, rng, each), **options))
    return float(np.mean(shares))


def cold() -> dict[str, Any]:
    """From how many of 1,000 states the residual ends below 1e-8 m/s."""
    rows = [
        ["one box on four corners", _share(*_stack((1.0,), 1.0))],
        ["two boxes stacked", _share(*_stack((1.0, 1.0), 1.0))],
        ["four boxes", _share(*_stack((1.0,) * 4, 1.0))],
        ["four boxes, off by 2 mm and 2 mrad", _share(*_stack((1.0,) * 4, 1.0, 2e-3))],
        ["random mechanisms with contacts, limits and dry friction", _scenes(20, 50)],
        ["a heavy box on a light one (1000 : 1)", _share(*_stack((1.0, 1e3), 1.0))],
        ["the same at rest", _share(*_stack((1.0, 1e3), 0.0))],
    ]
    return {"head": ["1,000 states, random velocities", "residual below 1e-8 m/s, %"],
            "rows": [[name, round(x, 1)] for name, x in rows]}  # fmt: skip


def run() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        softened = 100 - _scenes(24, 100, method=Moreau(smoothing=1e-3))
        return {
            "tables": {"cold_contacts": cold()},
            "derived": {"softened not converged": softened},
        }
