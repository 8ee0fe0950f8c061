"""The example: adaptive control of a panda with an unknown payload."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "adaptive_control.py"


def test_error_and_lyapunov_function_fall():
    spec = importlib.util.spec_from_file_location("adaptive_control", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    if not example.PANDA.exists():
        pytest.skip("example-robot-data is not installed")
    history = example.simulate(example.arm(), duration=1.5)
    assert np.diff(history["lyapunov"]).max() < 1e-9
    assert history["lyapunov"][-1] < 0.6 * history["lyapunov"][0]
    assert history["error"][-1] < 0.2 * history["error"][0]
