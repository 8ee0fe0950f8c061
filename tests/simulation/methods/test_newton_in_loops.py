"""Implicit steps of long chains: in loops they are what they are in straight-line code."""

import numpy as np
import pytest

import mozzi as mz
from mozzi.algorithms.calls import inlining
from mozzi.model.generate import chain, random_tree


@pytest.mark.parametrize("method", ["momentum", "generalized_alpha"])
@pytest.mark.parametrize("make", [lambda: chain(3, seed=1), lambda: random_tree(3, 5)])
def test_the_same_motion(make, method, monkeypatch):
    """On joints of all kinds: a step that differed would drift over twenty of them."""
    found = []
    for ways in (10**9, 0):
        monkeypatch.setattr(inlining, "LONG_WAYS", ways)
        model = make()  # kernels are kept with their model
        rng = np.random.default_rng(0)
        q, v = model.random_configuration(rng), rng.normal(size=model.nv)
        found.append(mz.simulate(model, q, v, 0.1, 0.005, method, resistance=False))
    for name in ("q", "v"):
        x, y = (np.asarray(getattr(s, name)) for s in found)
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)
