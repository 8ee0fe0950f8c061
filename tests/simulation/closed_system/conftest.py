"""Systems in motion: a bar in a hand and in a linkage, a bar at the end of a lever."""

from __future__ import annotations

import numpy as np
import pytest
from support.attached_systems import arm, bar

import mozzi as mz
from mozzi.model.generate import chain, four_bar


@pytest.fixture(scope="module")
def system() -> mz.ClosedSystem:
    """An arm, a bar, and a four-bar linkage, which has a loop of its own."""
    return mz.ClosedSystem(
        {"arm": (arm(), ["hand"]), "bar": (bar(), ["bar"]), "gate": (four_bar(), ["coupler"])}
    )


@pytest.fixture(scope="module")
def held(system: mz.ClosedSystem) -> tuple[mz.ClosedSystem, dict, dict]:
    """The bar in a ball of the hand and in a hinge of the coupler, closed and moving."""
    rng = np.random.default_rng(2)
    gate = mz.assemble(four_bar(), [0.3, 0.5, 1.5])
    q = {"arm": rng.normal(size=3), "bar": bar().random_configuration(rng), "gate": gate}
    hand, B = mz.pose(arm(), q["arm"], "hand"), mz.pose(bar(), q["bar"], "bar")
    plate = mz.pose(four_bar(), gate, "coupler")
    inner = mz.Revolute((1, 2, 2)).motion([0.4]).matrix()
    one = system.attach(
        "ball", ("arm", "hand"), ("bar", "bar"), mz.Spherical(), None, np.linalg.inv(B) @ hand
    )
    end = np.linalg.inv(plate) @ B @ inner
    both = one.attach("hinge", ("bar", "bar"), ("gate", "coupler"), mz.Revolute((1, 2, 2)),
                      None, end)  # fmt: skip
    v = {n: rng.normal(size=m.nv) for n, (m, _) in both.systems.items()}
    return both, q, both.consistent_velocities(q, v)


@pytest.fixture(scope="module")
def gripped() -> tuple[mz.ClosedSystem, dict, dict]:
    """A bar in a ball at the end of a lever, moving."""
    rng, lever = np.random.default_rng(0), chain(1, seed=4).with_frame("hand", 0, (0.1, 0.05, 0.3))
    free = mz.ClosedSystem({"arm": (lever, ["hand"]), "bar": (bar(), ["bar"])})
    q = {"arm": rng.normal(size=1), "bar": bar().random_configuration(rng)}
    v = {"arm": rng.normal(size=1), "bar": rng.normal(size=6)}
    held = free.attach("grip", ("arm", "hand"), ("bar", "bar"), mz.Spherical(), at=q)
    return held, q, held.consistent_velocities(q, v)
