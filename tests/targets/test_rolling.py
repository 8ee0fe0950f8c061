"""What rolls and what laws drive, on every target: the same numbers as the interpreter's."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import mozzi as mz

COMPILER = shutil.which("cc")


def skater() -> mz.Model:
    """A wheel that rolls, and a skate on what hangs on it."""
    body = mz.Inertia(1.3, (0.02, -0.01, 0.03), np.diag([0.03, 0.04, 0.05]))
    build = mz.Builder("skater").add("wheel", None, mz.Free(), body)
    build.add("frame", "wheel", mz.Revolute("z").between((0.0, 0.02, 0.1), None), body)
    build.shape("wheel", mz.Torus(0.3, 0.05), name="tyre").shape(None, mz.Plane(), name="floor")
    model = build.build().with_rolling("rolls", "tyre", "floor")
    return model.with_velocity_rows(
        "skate", lambda m, q: np.cos(q[7]) * mz.jacobian(m, q, "frame", "body")[3]
    )


MODEL = skater()
LAW = {"frame": lambda t: 0.4 + 0.3 * np.sin(2.0 * t)}


@pytest.fixture(scope="module")
def states():
    rng = np.random.default_rng(2)
    start = np.tile([0.3, 0.1, 0.4, 0.5, 0.3, 0.2, 0.8, 0.4], (3, 1))
    q = mz.assemble(MODEL, MODEL.normalize(start), hold=["frame"])
    v = rng.normal(size=(3, MODEL.nv))
    v[:, 6] = 0.6  # where the law begins
    return q, mz.consistent_velocities(MODEL, q, v, hold=["frame"]), rng.normal(size=(3, MODEL.nv))


def kernels(target):
    law = mz.stepper(MODEL, "semi_implicit", prescribed=LAW, target=target)
    return mz.compile(mz.forward_dynamics, MODEL, target), law


def check(target, states):
    q, v, tau = states
    dynamics, steps = kernels(target)
    truth, truth_steps = kernels("interpret")
    here = lambda x: np.asarray(x.get() if target == "cuda" else x)
    assert here(dynamics(q, v, tau)) == pytest.approx(truth(q, v, tau), abs=1e-9)
    found, expected = (f(q[0], v[0], 0.0, 0.01, 3) for f in (steps, truth_steps))
    for x, y in zip(found, expected, strict=True):
        assert here(x) == pytest.approx(np.asarray(y), abs=1e-9)


def test_cpu(states):
    check("cpu", states)


def test_jax(states):
    jax = pytest.importorskip("jax", reason="JAX is not installed, so its target was not tested")
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    try:
        check("jax", states)
    finally:
        jax.config.update("jax_enable_x64", before)


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_c(states, tmp_path):
    q, v, tau = states
    code = mz.compile(mz.forward_dynamics, MODEL, "c", name="rolls")
    (tmp_path / "rolls.c").write_text(code.source)
    (tmp_path / "rolls.h").write_text(code.header)
    words = [str(COMPILER), "-O1", "-shared", "-fPIC", "rolls.c", "-lm", "-o", "rolls.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    run = ctypes.CDLL(str(tmp_path / "rolls.so")).rolls
    run.restype = None
    out = np.empty(MODEL.nv)
    given = [np.ascontiguousarray(x[1]) for x in (q, v, tau)]
    run(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*given, out)))
    assert out == pytest.approx(mz.forward_dynamics(MODEL, q, v, tau)[1], abs=1e-9)


def test_cuda_source():
    """Its text is made from the same program; a test on a GPU is among the marked ones."""
    assert "sin" in kernels("cuda")[1].source


@pytest.mark.gpu
def test_cuda(states):
    check("cuda", states)
