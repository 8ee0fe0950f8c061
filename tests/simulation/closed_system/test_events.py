"""Motions with changes on events, where a function of the state vanishes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.attached_systems import bar
from support.cases import first

import mozzi as mz
from mozzi.simulation.methods.dormand_prince import DormandPrince


def test_a_catch_on_an_event():
    """A bar falls by half a metre, and is caught in a ball joint: what it keeps is the angular
    momentum about it.
    """
    free = mz.ClosedSystem({"bar": (bar(), ["bar"])})
    q = {"bar": np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0])}
    v = {"bar": np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0])}
    motion = free.simulate(
        q, v, 1.0, 0.01,
        changes=[(
            lambda t, q, v: q["bar"][..., 2],
            lambda x, q: x.attach("pin", ("world", ""), ("bar", "bar"), mz.Spherical(), at=q),
        )],
    )  # fmt: skip
    when = motion[1].t[0]
    E = motion[0].trajectory.energy()
    assert np.abs(E - E[0]).max() < 1e-6
    assert abs(motion[0].q["bar"][-1, 2]) < 1e-9 and 0.25 < when < math.sqrt(2 * 0.55 / 9.81)
    assert float(motion[1].taken) > 0.5 * float(E[0])
    after = motion[1]
    assert np.abs(after.system.residual(after.q)["pin"]).max() < 1e-9
    before, behind = (
        mz.momentum(bar(), phase.q["bar"][k], phase.v["bar"][k])[:3]
        for phase, k in ((motion[0], -1), (after, 0))
    )
    assert np.abs(before).max() > 1e-2  # its centre of mass falls beside the joint
    np.testing.assert_allclose(behind, before, atol=1e-10)
    E = after.trajectory.energy()
    assert np.abs(E - E[0]).max() < 1e-6
    never = lambda t, q, v: t + 1.0, lambda x, q: x
    assert len(free.simulate(q, v, 1.0, 0.01, changes=[never], method="rkmk4")) == 1


@pytest.mark.parametrize(("method", "every"), first(3, [
    ("rkmk4", 7), ("semi_implicit", 1), ("moreau", 1), ("rkmk4", 1), ("generalized_alpha", 1),
    ("momentum", 1),
]))  # fmt: skip
def test_events_by_methods_of_constant_step(method: str, every: int):
    """The last step ends at the event, so that the order of the method stays: a bar that falls and
    turns under a law is caught by a hinge, and let go when it has swung through.
    """
    free = mz.ClosedSystem({"bar": (bar(), ["bar"])})
    q = {"bar": np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0])}
    v = {"bar": np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0])}
    changes = [
        (lambda t, q, v: q["bar"][..., 2],
         lambda x, q: x.attach("pin", ("world", ""), ("bar", "bar"), mz.Spherical(), at=q)),
        (lambda t, q, v: v["bar"][..., 1] - 2.0, lambda x, q: x.detach("pin")),
    ]  # fmt: skip
    law = lambda t, q, v: {"bar": -0.1 * v["bar"]}
    right = free.simulate(q, v, 0.8, 0.01, law, changes, method="dopri5", rtol=1e-11, atol=1e-12)
    ends = []
    for h in (0.01, 0.005):
        x = free.simulate(q, v, 0.8, h, law, changes, method=method, record_every=every)
        assert len(x) == len(right) == 3
        assert abs(x[0].q["bar"][-1, 2]) < 1e-13
        times = [abs(a.t[-1] - b.t[-1]) for a, b in zip(x[:2], right[:2], strict=True)]
        ends.append([*times, np.abs(x.end[0]["bar"] - right.end[0]["bar"]).max()])
    off, half = np.array(ends)
    order = {"rkmk4": 4, "generalized_alpha": 2, "momentum": 2}.get(method, 1)
    assert np.all((half < 1e-9) | (off / half > 0.7 * 2**order)), (off, half)


@pytest.mark.parametrize("method", [
    "dopri5", "rkmk4", "generalized_alpha", "momentum", DormandPrince(1e-9, 1e-10),
])  # fmt: skip
def test_events_in_a_batch(method: str | DormandPrince):
    """Each sample changes at its own time, and moves as it does alone: some bars are caught where
    they come through a plane and let go at a time, one never comes.
    """
    free = mz.ClosedSystem({"bar": (bar(), ["bar"])})
    heights = np.array([0.5, 0.3, 20.0, 0.45]).reshape(2, 2)
    q = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (2, 2, 1))
    q[..., 2] = heights
    v = {"bar": np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0])}
    compiled = []

    def law(t, q, v):
        compiled.append(1)
        return {"bar": -0.1 * (1.0 - t * t) * v["bar"]}

    changes = [
        (lambda t, q, v: q["bar"][..., 2] + 0.02 * t,
         lambda x, q: x.attach("pin", ("world", ""), ("bar", "bar"), mz.Spherical(),
                               placement_b=[0.0, 0.0, 0.0])),
        (0.4, lambda x, q: x.detach("pin")),
    ]  # fmt: skip
    given = {"method": method, "tolerance": 0.05, "wrenches": {"bar": np.full((2, 1, 1, 6), 0.1)}}
    all_ = free.simulate({"bar": q}, v, 0.5, 0.01, law, changes, **given)
    calls = len(compiled)
    assert all_.batch == (2, 2) and len(all_.samples) == 4 and len(all_) == 3
    assert all_.changed.shape == (2, 2, 2) and np.isnan(all_.changed[1, 0]).all()
    falls = np.sqrt(2.0 * heights / 9.81)
    assert np.abs(all_.changed[..., 0] - falls)[[0, 0, 1], [0, 1, 1]].max() < 0.05
    np.testing.assert_allclose(all_.changed[[0, 0, 1], [0, 1, 1], 1], 0.4)
    for k in ((0, 1), (1, 0)):
        one = {n: x for n, x in given.items() if n != "wrenches"}
        alone = free.simulate({"bar": q[k]}, v, 0.5, 0.01, law, changes, **one,
                              wrenches={"bar": np.full((1, 6), 0.1)})
        n = len(alone.t)
        np.testing.assert_allclose(all_.t[k][:n], alone.t, rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(all_.q("bar")[k][:n], alone.q("bar"), rtol=0.0, atol=1e-13)
        assert np.isnan(all_.t[k][n:]).all() and np.isnan(all_.v("bar")[k][n:]).all()
        np.testing.assert_allclose(all_.end[1]["bar"][k], alone.end[1]["bar"], atol=1e-13)
        np.testing.assert_allclose(all_.energy()[k][:n], alone.energy(), atol=1e-12)
    assert calls < 4 * (len(compiled) - calls)  # what is compiled is compiled once for all samples
    with pytest.raises(mz.ConfigurationError, match=r"phases\.samples\[i\]\[k\]"):
        all_[0]


@pytest.mark.parametrize("method", ["dopri5", "rkmk4"])
def test_the_next_zero_is_another_one(method: str):
    """What begins at an event has passed it, whatever the last digit of its time: a second change
    that waits for the same function does not come at once.
    """
    free, same = mz.ClosedSystem({"bar": (bar(), ["bar"])}), lambda x, q: x
    through = lambda t, q, v: q["bar"][..., 2]
    rng = np.random.default_rng(0)
    for height in rng.uniform(0.1, 0.5, size=6):
        q = {"bar": np.array([0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0])}
        v = {"bar": rng.normal(size=6)}
        x = free.simulate(q, v, 0.6, 0.02, changes=[(through, same)] * 2, method=method)
        assert len(x) == 2 and -1e-13 < x[0].q["bar"][-1, 2] <= 0.0
    with pytest.raises(mz.ConfigurationError, match=r"duration -0\.1 is not positive"):
        free.simulate(q, v, -0.1, 0.02)


@pytest.mark.parametrize("method", ["dopri5", "rkmk4"])
def test_events_that_are_no_numbers(method: str):
    """NaN has no zero: it is told, and when."""
    free = mz.ClosedSystem({"bar": (bar(), ["bar"])})
    state = {"bar": bar().neutral()}, {"bar": np.zeros(6)}
    change = lambda t, q, v: np.where(t < 0.03, 1.0, np.nan), lambda x, q: x
    with pytest.raises(mz.ConfigurationError, match=r"NaN at t = 0\.0\d+ s, which has no zero"):
        free.simulate(*state, 0.1, 0.01, changes=[change], method=method)
