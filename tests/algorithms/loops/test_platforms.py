"""Parallel robots with redundant rows, cut at each of their joints: Delta with universal joints at
both ends of its rods, and Stewart's platform with every loop given twice.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.cuts import Cuts, doubled, exact_rank

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
