"""Steps with contact are the same program on every target: bouncing, sliding, and a rope."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.contact_models import ball

import mozzi as mz

COMPILER = shutil.which("cc") or shutil.which("gcc")
H, STEPS = 1e-3, 30


@pytest.fixture(scope="module")
def scene():
    """A ball that falls, bounces, slides and is held by a rope; where it is afterwards."""
    model = ball(friction=0.3, restitution=0.4)
    model = model.with_rope("rope", "ball", None, (0, 0, 0.05), (0, 0, 0.3), 0.25)
    q, v = model.neutral(), np.array([0.0, 5.0, 0.0, 2.0, 1.0, -1.0])
    q[2] = 0.11
    return model, q, v, mz.stepper(model)(q, v, 0.0, H, float(STEPS))


def agree(found, expected, tolerance=1e-10):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, atol=tolerance)


def test_torch(scene):
    torch = pytest.importorskip("torch")
    model, q, v, expected = scene
    args = (torch.tensor(x, dtype=torch.float64) for x in (q, v, 0.0, H, float(STEPS)))
    agree(mz.stepper(model, target="torch")(*args), expected)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
def test_c(scene, tmp_path: Path):
    model, q, v, expected = scene
    code = mz.stepper(model, target="c")
    (tmp_path / f"{code.name}.c").write_text(code.source)
    (tmp_path / f"{code.name}.h").write_text(code.header)
    words = [COMPILER, "-O1", "-shared", "-fPIC", f"{code.name}.c", "-lm", "-o", "step.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    step = getattr(ctypes.CDLL(str(tmp_path / "step.so")), code.name)
    arrays = [np.ascontiguousarray(x, dtype=float) for x in (q, v, 0.0, H, float(STEPS))]
    out = np.empty(model.nq), np.empty(model.nv), np.empty(1)
    step(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*arrays, *out)))
    agree(out, expected)


@pytest.mark.gpu
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 2e-3)])
def test_cuda(scene, dtype, tolerance):
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no NVIDIA GPU here")
    model, q, v, expected = scene
    p, u = (np.tile(x, (64, 1)).astype(dtype) for x in (q, v))
    found = mz.stepper(model, target="cuda", dtype=dtype)(p, u, 0.0, H, STEPS)
    for k in (0, 63):
        agree([x.get()[k] for x in found], expected, tolerance)
