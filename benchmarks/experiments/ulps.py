"""Errors of sine, cosine and arctangent in units of the last place, against many digits.

Arguments: uniform, of all magnitudes, and the nearest neighbours of multiples of π/2; measured as
the tests do (tests/targets/cpu/test_vector_math.py).
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from targets.cpu.machines import older
from targets.cpu.test_vector_math import exact_angles, ulps, worst

from mozzi.program.program import Input, trace
from mozzi.program.scalar import atan2, cos, sin
from mozzi.targets.cpu.build import compile_cpu

EACH = 8000  # arguments of a kind
SINES = trace(lambda x: (sin(x), cos(x)), [Input("x", ())])
ANGLE = trace(lambda y, x: atan2(y, x), [Input("y", ()), Input("x", ())])


def _measured(dtype: str) -> tuple[float, float]:
    """The largest errors of sine and cosine, and of the arctangent."""
    rng = np.random.default_rng(0)
    most = 300 if dtype == "float64" else 35
    near = (rng.integers(1, 1 << 20, EACH) * (np.pi / 2)).astype(dtype)
    arguments = [
        rng.uniform(-1e3, 1e3, EACH), 10.0 ** rng.uniform(-most, most, EACH),
        near + rng.integers(-1, 2, EACH) * np.spacing(near),
    ]  # fmt: skip
    sines = max(worst(compile_cpu(SINES, dtype), x) for x in arguments)
    angle = compile_cpu(ANGLE, dtype)
    y, x = rng.normal(size=(2, 3 * EACH)).astype(dtype)
    x[EACH : 2 * EACH] = y[EACH : 2 * EACH] * (1 + 1e-3 * rng.normal(size=EACH).astype(dtype))
    return sines, float(ulps(angle(y, x), exact_angles(y, x), dtype).max())


def run() -> dict[str, Any]:
    columns = []
    for dtype, plain in (("float64", False), ("float32", False), ("float64", True)):
        with pytest.MonkeyPatch.context() if plain else nullcontext() as patch:
            if plain:
                older("x86-64", patch)  # has no fused multiply-add
            columns.append(_measured(dtype))
    names = ("sin, cos", "atan2")
    rows = [[name, *(round(x[k], 2) for x in columns)] for k, name in enumerate(names)]
    return {
        "tables": {"ulp": {"head": ["", "float64", "float32", "float64, no FMA"], "rows": rows}},
        "derived": {},
    }
