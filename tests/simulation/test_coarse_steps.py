"""Nothing is lost in silence: steps too coarse for where a linkage is, beside a singular
configuration or at great speed, are told of.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from support.cuts import Cuts

import mozzi as mz
from mozzi.model.generate import LINKAGES, ring


def low_sarrus(seed: int, height: float = 0.02, stiffness: float = 2000.0) -> Cuts:
    """Sarrus's linkage, nearly flat, where its rank falls from five to three; a spring holds it."""
    rng = np.random.default_rng(seed + 3000)
    axes = []
    for side, turn in ((1, 0.0), (-1, rng.uniform(0.9, 2.2))):
        out = np.array([math.cos(turn), math.sin(turn), 0.0])
        along = np.array([-math.sin(turn), math.cos(turn), 0.0])
        up = np.array([0.0, 0.0, height])
        three = [0.6 * out, (0.6 + rng.uniform(0.3, 0.8)) * out + 0.5 * up, 0.6 * out + up]
        three = [p + rng.uniform(-0.2, 0.2) * along for p in three]
        axes += [(tuple(p), tuple(along)) for p in three[::side]]
    return Cuts(ring("sarrus", axes, seed, stiffness=stiffness), seed)


@pytest.mark.parametrize("options", [
    {}, {"torque": np.zeros(5)}, {"torque": np.zeros((750, 5))}, {"record_every": 50},
    {"torque": lambda t, q, v: 0.0 * v}, {"torque": lambda t, q, v: 0.0 * v, "trace": False},
])  # fmt: skip
def test_a_coarse_step_beside_a_singular_configuration_is_told(options: dict):
    """Whatever drives it, and however few states are recorded."""
    model, q, v = low_sarrus(2).cut("joint_4")
    with pytest.warns(mz.SingularWarning, match=r"near t = 0\.624 s .* too coarse: two halves"):
        mz.simulate(model, q, 5.0 * v, 1.5, 2e-3, **options)


def test_which_sample_of_a_batch_is_told():
    model, q, v = low_sarrus(2).cut("joint_4")
    u = np.array([1.0, 3.0, 5.0, 2.0])[:, None] * v
    with pytest.warns(mz.SingularWarning, match=r"near t = 0\.624 s"):
        mz.simulate(model, q, u, 1.5, 2e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mz.simulate(model, q, u[:2], 1.5, 2e-3)


def lost(model: mz.Model, q: np.ndarray, v: np.ndarray, h: float) -> tuple[float, bool]:
    """The share of its largest kinetic energy that a motion of two seconds loses, and whether that
    is told.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        x = mz.simulate(model, q, v, 2.0, h)
    E = x.energy()
    return float(np.abs(E - E[0]).max() / x.kinetic_energy().max()), bool(told)


def test_energy_that_great_speed_costs_is_told():
    """By a method of fourth order, from a thousandth of the largest kinetic energy on."""
    model, q, v = Cuts(LINKAGES["spherical_4"](4), 4).cut("joint_2")
    with pytest.warns(mz.EnergyWarning, match=r"more than 0\.1% of its largest kinetic energy"):
        mz.simulate(model, q, 30.0 * v, 2.0, 2e-3)
    share, told = lost(model, q, 30.0 * v, 1e-3)
    assert share < 1e-3 and not told


@pytest.mark.slow
@pytest.mark.parametrize("name", ["low", *LINKAGES])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_in_silence(name: str, seed: int):
    """At any speed and step: what is lost beyond a thousandth is told, what is not is silent."""
    cuts = low_sarrus(seed) if name == "low" else Cuts(LINKAGES[name](seed), seed)
    model, q, v = cuts.cut("joint_2")
    for speed in (1.0, 5.0, 20.0, 60.0):
        for h in (5e-3, 2e-3, 5e-4):
            share, told = lost(model, q, speed * v, h)
            assert told or share < 1e-3
            assert not told or share > 1e-4 or name == "low"  # that is singular on its way
