"""Mechanisms of many loops: solved along a band, and closed again where they are stuck."""

from __future__ import annotations

import numpy as np
import pytest

import mozzi as mz
from mozzi.algorithms.constraints.regions import band_of, columns_of, solve_along
from mozzi.model import Model
from mozzi.model.generate import n_four_bar


def hub() -> Model:
    """Thirty pendulums on a ring around a hub, each tied to the next, the last to the first."""
    b = mz.Builder("hub").add("hub", None, mz.Spherical(), mz.Inertia(1.0, (0, 0, 0), np.eye(3)))
    for k in range(30):
        at = mz.SE3.from_matrix(np.eye(4)) @ mz.SE3.translation(np.cos(k / 5), np.sin(k / 5), 0.0)
        b.add(f"arm_{k}", "hub", mz.Universal().between(at), mz.Inertia(1.0, (0, 0, 1), np.eye(3)))
    for k in range(30):
        b.distance(f"rod_{k}", f"arm_{k}", f"arm_{(k + 1) % 30}", (0, 0, 1), (0, 0, 1), length=0.4)
    return b.build()


@pytest.mark.parametrize("make", [hub, lambda: n_four_bar(40)], ids=["hub", "windows"])
def test_steps_along_a_band_are_those_of_the_whole(make):
    model = make()
    q = model.random_configuration(0, 3, closed=False)
    J = mz.loop_jacobian(model, q)
    r = np.random.default_rng(0).normal(size=J.shape[:2])
    mu = np.array([1e-3, 1.0, 0.1])
    N = np.swapaxes(J, 1, 2) @ J + mu[:, None, None] * np.eye(model.nv)
    exact = np.linalg.solve(N, np.swapaxes(J, 1, 2) @ r[..., None])[..., 0]
    band = band_of(model)
    assert sorted(np.concatenate([x.columns for x in band])) == list(range(model.nv))
    np.testing.assert_allclose(solve_along(band, J, r, mu), exact, rtol=0.0, atol=1e-10)
    assert not (np.abs(J).max(axis=0) > 1e-9)[~columns_of(model)].any()


def test_windows_by_the_hundred_are_closed():
    """Configurations at random and those from a guess that is far: 200 windows, the same again for
    the same seed.
    """
    model = n_four_bar(200)
    q = model.random_configuration(1, 2)
    assert np.abs(mz.loop_residual(model, q)).max() < 1e-9
    np.testing.assert_array_equal(q, model.random_configuration(1, 2))
    assert not np.allclose(q[0], q[1])
    far = model.random_configuration(2, closed=False)
    assert np.abs(mz.loop_residual(model, mz.assemble(model, far))).max() < 1e-9


def test_windows_drawn_again_one_by_one_are_as_those_drawn_again_as_a_whole():
    """Of 29 all joints are drawn again, of 31 those of windows that are stuck: as many windows have
    crossed bars, and cranks lean as far apart.
    """
    crossed, apart = [], []
    for n in (29, 31):
        q = n_four_bar(n).random_configuration(0, 60)
        crank, bar = q[:, 0::2], q[:, 1::2]
        crossed.append((np.abs(np.sin(crank[:, :-1] + bar)) > 1e-6).mean())
        apart.append(np.abs(np.sin(0.5 * np.diff(crank, axis=-1))).mean())
    assert abs(crossed[0] - crossed[1]) < 0.04
    assert abs(apart[0] - apart[1]) < 0.01
