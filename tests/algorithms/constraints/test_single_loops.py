"""Rows of large mechanisms, loop by loop, are those of the mechanism as a whole."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from support.loop_models import pose

import mozzi as mz
from mozzi.algorithms.constraints.overconstrained import most_independent, overconstrained
from mozzi.algorithms.constraints.single_loops import LARGE, alike_loops
from mozzi.model.generate import leaning, n_four_bar


def oblique_rings(count: int) -> mz.Model:
    """Rings in a row, each on the last body of the one before: of two kinds, in general position,
    closed by a spherical joint and by a composite one.
    """
    rng = np.random.default_rng(1)
    kinds = [[pose(rng) for _ in range(8)] for _ in range(2)]
    own = [mz.Inertia(1.0 + k, rng.normal(size=3) * 0.1, np.diag([1.0, 1.2, 1.3]))
           for k in range(3)]  # fmt: skip
    joints = [mz.Revolute((0.3, 0.5, 0.8)), mz.Universal(), mz.Cylindrical((1.0, 0.2, 0.1))]
    b, last = mz.Builder("rings"), None
    for n in range(count):
        at = kinds[n % 2]
        for k, joint in enumerate(joints):
            parent = last if k == 0 else f"{n}_{k - 1}"
            b.add(f"{n}_{k}", parent, joint.between(at[k], at[k + 3]), own[k])
        closing = mz.Spherical() if n % 2 else mz.Composite(mz.Revolute("z"), mz.Revolute("x"))
        b.loop(f"ring_{n}", last, f"{n}_2", closing, at[6], at[7])
        last = f"{n}_1"
    return b.build()


@pytest.mark.parametrize("model", [n_four_bar(31), oblique_rings(13)], ids=["windows", "rings"])
def test_rows_of_alike_loops_are_those_of_the_whole(model: mz.Model):
    kinds = alike_loops(model)
    assert model.nv > LARGE and kinds is not None
    assert sum(len(x.rows) for x in kinds) == len(model.loops) > 4 * len(kinds)
    q = np.stack([model.random_configuration(k, closed=False) for k in range(3)])
    for function in (mz.loop_residual, mz.loop_jacobian):
        whole = mz.compile(function, model)(q)
        np.testing.assert_allclose(function(model, q), whole, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(function(model, q[1]), whole[1], rtol=0.0, atol=1e-12)
    with pytest.raises(mz.ShapeError):
        mz.loop_residual(model, q[:, :-1])
    with pytest.raises(ValueError, match="finite"), warnings.catch_warnings():
        warnings.simplefilter("error")
        mz.loop_jacobian(model, np.full(model.nq, np.nan))


def test_rank_of_windows_by_their_loops():
    model = n_four_bar(31)
    assert not overconstrained(model) and most_independent(model) == 62
    still, q = np.zeros(model.nv), leaning(model, 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mz.forward_dynamics(model, q, still, still)
    with pytest.warns(mz.SingularWarning, match="rank 31"):
        mz.forward_dynamics(model, leaning(model, np.pi / 2), still, still)
