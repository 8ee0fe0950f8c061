"""Parallel robots with redundant rows, cut at each of their joints: Delta with universal joints at
both ends of its rods, Stewart's platform with every loop given twice, and platforms on three, four
and six legs at random.
"""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from support.cases import first
from support.cuts import Cuts, doubled, exact_rank
from support.random_platforms import planar, spherical, struts, tripteron, universal

import mozzi as mz
from mozzi.model.generate import delta, stewart

PLATFORMS = {
    "delta": lambda: Cuts(delta(), 0),
    "stewart": lambda: Cuts(stewart(), 0, doubled),
}
platform = cache(lambda name: PLATFORMS[name]())
CASES = [(name, x.name) for name, make in PLATFORMS.items() for x in make().linkage.joints]


def test_rank_is_the_same_whichever_joint_is_cut():
    here = platform("delta")
    for joint in ("motor_0", "wrist_1_left"):
        model, q, v = here.cut(joint)
        assert mz.loop_rank(model, q)[0] == model.nv - 3 < model.row_count
        assert np.abs(mz.loop_residual(model, q)).max() < 1e-14
        assert np.abs(mz.loop_jacobian(model, q) @ v).max() < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("name", PLATFORMS)
def test_rank_is_that_of_50_digits(name: str):
    """With three, or six, degrees of freedom, whichever joint is cut."""
    here = platform(name)
    for k in (0, 1, 2, -1):
        model, q, v = here.cut(here.linkage.joints[k].name)
        freedom = {"delta": 3, "stewart": 6}[name]
        assert mz.loop_rank(model, q)[0] == model.nv - freedom == exact_rank(model, q)
        assert model.row_count > model.nv - freedom
        assert np.abs(mz.loop_residual(model, q)).max() < 1e-14
        assert np.abs(mz.loop_jacobian(model, q) @ v).max() < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize(("name", "joint"), CASES)
def test_a_motion_does_not_depend_on_the_cut(name: str, joint: str):
    here = platform(name)
    here.check(joint, 5.0)
    model, x = here.cut(joint)[0], here.motion(joint, 5e-3, 5.0)
    for k in (-1, len(x.q) // 2):
        assert mz.loop_rank(model, x.q[k])[0] == exact_rank(model, x.q[k])


RANDOM = {  # and how many freedoms they have
    "planar": (lambda seed: planar(seed, 3), 3),
    "spherical": (lambda seed: spherical(seed, 3), 3),
    "planar, four legs": (lambda seed: planar(seed, 4), 3),
    "spherical, four legs": (lambda seed: spherical(seed, 4), 3),
    "tripteron": (lambda seed: tripteron(seed, 3), 3),
    "tripteron, four legs": (lambda seed: tripteron(seed, 4), 3),
    "universal": (lambda seed: universal(seed, 3), 3),
    "universal, four legs": (lambda seed: universal(seed, 4), 3),
    "struts": (lambda seed: struts(seed, 6), 12),
}
of_random = cache(lambda name, seed: Cuts(RANDOM[name][0](seed), seed))
LEGS = [
    (name, seed, joint.name)
    for name, (make, _) in RANDOM.items()
    for seed in (0, 1)
    for joint in make(seed).joints
    if joint.name.startswith("joint_1")
]


@pytest.mark.parametrize(("name", "seed", "joint"), first(1, LEGS))
def test_random_platforms_move_alike_whichever_joint_of_a_leg_is_cut(
    name: str, seed: int, joint: str
):
    here = of_random(name, seed)
    model, q, _ = here.cut(joint)
    rank = mz.loop_rank(model, q)[0]
    assert rank == exact_rank(model, q) == model.nv - RANDOM[name][1]
    here.check(joint, 1.0)


def rods(n: int) -> mz.Model:
    """A plate on parallel rods of one length."""
    inertia = mz.Inertia(2.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    model = mz.Builder("plate").add("plate", None, mz.Free(), inertia).build()
    ends = np.random.default_rng(0).normal(size=(n, 3))
    for k, p in enumerate(ends):
        stand = tuple(p - [0.3, 0.4, 1.2])
        model = model.with_distance(f"rod_{k}", None, "plate", stand, tuple(p), 1.3)
    return model


def test_what_is_singular_all_the_way_is_told():
    """A plate on five parallel rods of one length swings on a sphere without turning, and may turn
    for an instant at each of its places: no record has a higher rank than another. On three it
    turns, and is regular.
    """
    v = np.array([0.0, 0.0, 0.0, 0.4, -0.3, 0.0])
    model = rods(5)
    assert mz.loop_rank(model, model.neutral())[0] == 3
    with pytest.warns(mz.SingularWarning, match="only instantaneous"):
        mz.forward_dynamics(model, model.neutral(), v, np.zeros(6))
    for h in (5e-3, 1e-3):
        with pytest.warns(mz.SingularWarning, match="singular at t = 0 s"):
            mz.simulate(model, model.neutral(), v, 0.2, h)
    model = rods(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mz.simulate(model, model.neutral(), v, 0.2, 5e-3)
