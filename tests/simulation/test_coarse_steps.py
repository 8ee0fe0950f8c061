"""Nothing is lost in silence: steps too coarse for where a linkage is, beside a singular
configuration or at great speed, are told of.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from support.cases import first
from support.cuts import Cuts

import mozzi as mz
from mozzi.model.generate import LINKAGES, SIX_BARS, sarrus


def low_sarrus(seed: int) -> Cuts:
    """Sarrus's linkage, nearly flat."""
    return Cuts(sarrus(seed, height=0.02), seed)


@pytest.mark.parametrize("options", [
    {}, {"torque": np.zeros(5)}, {"torque": np.zeros((750, 5))}, {"record_every": 50},
    {"torque": lambda t, q, v: 0.0 * v}, {"torque": lambda t, q, v: 0.0 * v, "trace": False},
    {"torque": mz.Law(lambda t, q, v, x, h: (0.0 * v, {"n": x["n"] + 1.0}), {"n": 0.0})},
])  # fmt: skip
def test_a_coarse_step_beside_a_singular_configuration_is_told(options: dict):
    """Whatever drives it, and however few states are recorded."""
    model, q, v = low_sarrus(2).cut("joint_4")
    with pytest.warns(mz.SingularWarning, match=r"near t = 0\.624 s .* too coarse: parts of one"):
        mz.simulate(model, q, 5.0 * v, 1.5, 2e-3, **options)


def test_one_step_that_jumps_over_a_singular_configuration_is_told():
    """By 3e-4 of the velocities, where its neighbours are right to 1e-8: 0.01 of 120 J. Finer steps
    are right, also where two halves of one would end beside that configuration; that they pass
    singular ones, where others may go another way, is told.
    """
    free = replace(SIX_BARS["wohlhart"](59), springs=())
    model, q, v = Cuts(free, 59).cut("joint_2")
    with pytest.warns(mz.SingularWarning, match=r"near t = 3\.956 s .* too coarse"):
        mz.simulate(model, q, v, 4.2, 2e-3, torque=np.zeros(model.nv))
    for h in (1e-3, 2.5e-4):
        with pytest.warns(mz.SingularWarning, match=r"passes a .* at t = 0\.45") as told:
            mz.simulate(model, q, v, 4.2, h, torque=np.zeros(model.nv))
        assert len(told) == 1


def four_bar(error: float, cut: str) -> tuple[mz.Model, list[float], list[float]]:
    """Nearly a parallelogram, whose rocker is longer by this share: (model, q, v)."""
    a, b, angle, c = 1.0, 1.5, 1.0, 1.0 + error
    bar = lambda x, side=1: mz.Inertia(x, (side * x / 2, 0, 0), x**3 / 12 * np.eye(3))
    p = a * np.exp(1j * angle)
    reach = abs(b - p)
    inner = np.arccos((b**2 + reach**2 - c**2) / (2 * b * reach))
    coupler = np.angle(b - p) + inner
    rocker = np.angle(b - p - b * np.exp(1j * coupler))
    hinge, at = mz.Revolute("z"), mz.SE3.translation
    m = mz.Builder("nearly", gravity=(0.0, -9.81, 0.0)).add("crank", None, hinge, bar(a))
    m.add("coupler", "crank", hinge, bar(b), placement=at(a, 0, 0))
    if cut == "end":
        m.add("rocker", "coupler", hinge, bar(c), placement=at(b, 0, 0))
        m.loop("pin", "rocker", None, hinge, at(c, 0, 0), at(b, 0, 0))
        q = [angle, coupler - angle, rocker - coupler]
    else:
        m.add("rocker", None, hinge, bar(c, -1), placement=at(b, 0, 0))
        m.loop("pin", "coupler", "rocker", hinge, at(b, 0, 0), at(-c, 0, 0))
        q = [angle, coupler - angle, rocker]
    model = m.build()
    return model, q, mz.consistent_velocities(model, q, [8.0, 0.0, 0.0], hold=["crank"]).tolist()


ACROSS: list[dict] = [
    {"dt": 2e-3}, {"dt": 5e-4}, {"dt": 2e-3, "record_every": 40}, {"dt": 0.05, "method": "dopri5"},
    {"dt": 2e-3, "method": "dopri5"}, {"dt": 1e-3, "method": "semi_implicit"},
    {"dt": 1e-3, "method": "generalized_alpha"},
    {"dt": 0.05, "method": "dopri5", "torque": lambda t, q, v: 0.0 * v},
    {"dt": 0.05, "method": "dopri5", "torque": np.zeros(3)},
]


@pytest.mark.parametrize("cut", ["end", "middle"])
@pytest.mark.parametrize("options", first(4, ACROSS))
def test_a_step_across_a_singular_configuration_is_told(cut: str, options: dict):
    """A parallelogram that turns through its flat configurations, where it may become an
    antiparallelogram, at none of the records: it passed them without a word.
    """
    model, q, v = four_bar(0.0, cut)
    assert (mz.loop_rank(model, q)[1] > 0.1).all()
    with pytest.warns(mz.SingularWarning, match=r"passes a singular configuration at t = 0\.2"):
        mz.simulate(model, q, v, 0.5, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mz.simulate(model, q, v, 0.1, **options)
        mz.simulate(model, q, np.multiply(v, 1e-3), 0.5, **options)


@pytest.mark.parametrize("cut", ["end", "middle"])
def test_a_step_over_a_gap_between_motions_is_told(cut: str):
    """A rocker that is longer by 1e-9: parallelograms end before the flat configuration, 3e-5 from
    it, and become antiparallelograms. Steps jump over the gap.
    """
    model, q, v = four_bar(1e-9, cut)
    for options in {"dt": 2e-3}, {"dt": 0.02, "method": "dopri5"}:
        with pytest.warns(mz.SingularWarning, match="passes (close to )?a singular configuration"):
            mz.simulate(model, q, v, 0.5, **options)
    model, q, v = four_bar(1e-6, cut)  # 1e-3 wide: steps end in it
    close = r"diverged .* close to a singular configuration .* margin of 0\.00. at t = 0\.26. s"
    with pytest.warns(mz.DivergenceWarning, match=close):
        mz.simulate(model, q, v, 0.5, 2e-3)
    model, q, v = four_bar(0.1, cut)  # a gap that steps see
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mz.simulate(model, q, v, 0.5, 5e-4)
        mz.simulate(model, q, v, 0.5, 0.02, "dopri5")


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


@pytest.mark.parametrize("method", ["rkmk4", "generalized_alpha"])
def test_what_a_law_changes_between_halves_of_a_step_is_no_coarse_step(method: str):
    """A law that is sampled and jumps from sample to sample, beside a singular configuration: its
    forces are held, over a step as over its halves.
    """
    model, q, v = low_sarrus(2).cut("joint_4")

    def rattle(t, q, v, x, h):
        return 2.0 * x["sign"] * mz.array([1.0] * 5), {"sign": -x["sign"]}

    law = mz.Law(rattle, {"sign": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mz.simulate(model, q, v, 0.2, 2e-4, method, torque=law)


@pytest.mark.parametrize("steps", [3, 40])
def test_energy_that_a_short_run_loses_is_told(steps: int):
    """However few its steps; from rest, and of small steps, there is nothing to tell."""
    model, q, v = Cuts(LINKAGES["spherical_4"](4), 4).cut("joint_2")
    with pytest.warns(mz.EnergyWarning):
        mz.simulate(model, q, 30.0 * v, steps * 2e-2, 2e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in ("rkmk4", "semi_implicit", "generalized_alpha", "momentum"):
            mz.simulate(model, q, 0.0 * v, steps * 2e-3, 2e-3, method)
        for method in ("rkmk4", "semi_implicit"):
            mz.simulate(model, q, 0.0 * v, steps * 2e-3, 2e-3, method, dtype="float32")


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


@pytest.mark.parametrize("held", ["no gravity", "rigid", "driven", "balanced"])
def test_what_is_at_rest_passes_nothing(held: str):
    """Velocities that are zero, or rounding, are not compared: a linkage stood still, near a
    singular configuration or not, and its steps were called too coarse.
    """
    model, q, v = low_sarrus(2).cut("joint_4")
    first = model.joint_names[0]
    options: dict = {}
    if held == "no gravity":
        model = model.with_gravity((0.0, 0.0, 0.0))
    elif held == "rigid":
        model, q = model.lock(first, q), q[1:]
    elif held == "driven":
        options["prescribed"] = {first: lambda t: float(q[0]) + 0.0 * t}
    else:
        options["torque"] = mz.inverse_dynamics(model, q, 0.0 * v, 0.0 * v, actuated=[first])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options["method"] in ("rkmk4", "generalized_alpha"):
            x = mz.simulate(model, q, np.zeros(model.nv), 0.3, 1e-2, **options)
            assert np.abs(x.v).max() < 1e-9
