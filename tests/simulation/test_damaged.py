"""Files of trajectories that something happened to: the library's error, or the same numbers."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import mozzi as mz
from mozzi.errors import ConfigurationError
from mozzi.model.generate import double_pendulum


@pytest.fixture(scope="module", params=[".npz", ".csv"])
def file(request, tmp_path_factory):
    model = double_pendulum()
    motion = mz.simulate(model, [1.0, 0.5], [0.0, 0.0], 0.2, 0.01)
    path = motion.save(tmp_path_factory.mktemp("runs") / f"run{request.param}")
    return path, motion


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Bits flipped, parts cut, doubled, zeroed, or exchanged."""
    n, i = len(data), rng.randrange(len(data))
    k = min(n, i + rng.choice((1, 2, 8, 64, 512)))
    kind = rng.randrange(6)
    if kind == 0:
        return data[:i]
    if kind == 1:
        return data[:i] + bytes([data[i] ^ (1 << rng.randrange(8))]) + data[i + 1 :]
    if kind == 2:
        return data[:i] + bytes(k - i) + data[k:]
    if kind == 3:
        return data[:i] + data[k:]
    if kind == 4:
        return data[:k] + data[i:]
    return data[:i] + bytes(rng.randrange(256) for _ in range(k - i)) + data[k:]


def test_250_damages(file, tmp_path):
    """Binary files have checksums: refused or equal. Of text, numbers may be others; no other
    error than the library's.
    """
    path, motion = file
    rng, whole = random.Random(path.suffix), path.read_bytes()
    refused = 0
    target = tmp_path / path.name
    for _ in range(250):
        target.write_bytes(damaged(whole, rng))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                x = mz.Trajectory.load(target)
            except ConfigurationError as error:
                assert str(target) in str(error)
                refused += 1
                continue
        if path.suffix == ".npz":
            np.testing.assert_array_equal(x.q, motion.q)
        assert x.t.ndim == 1 and x.q.shape[-2] == x.v.shape[-2] == len(x.t)
    assert refused > 100


def test_what_is_no_file_at_all(tmp_path):
    for name in ("run.npz", "run.csv"):
        (tmp_path / name).mkdir()
        with pytest.raises(ConfigurationError):
            mz.Trajectory.load(tmp_path / name)
