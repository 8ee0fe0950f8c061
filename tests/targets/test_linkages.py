"""Overconstrained linkages on every target: the rows that count are chosen inside the program, so
motions and their derivatives are those of the CPU.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cases import first
from support.cuts import Cuts

import mozzi as mz
from mozzi.model import generate
from mozzi.types import DType

LINKAGES = ("bennett", "bricard_line")
ROLLED_OUT = (*LINKAGES, "bricard_plane", "bricard_trihedral", "sarrus", "goldberg")
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
H, STEPS = 2e-3, 50


@cache
def linkage(name: str) -> Cuts:
    """In a random state."""
    return Cuts(generate.LINKAGES[name](0), 0)


def state(name: str) -> tuple[mz.Model, np.ndarray, np.ndarray]:
    """The same, cut at its second joint."""
    return linkage(name).cut("joint_2")


@cache
def moved(name: str) -> tuple[np.ndarray, np.ndarray]:
    """On the CPU, with the energy that it had."""
    model, q, v = state(name)
    p, u = mz.stepper(model)(q, v, 0.0, H, STEPS)
    before, after = (
        mz.kinetic_energy(model, a, b) + mz.potential_energy(model, a) for a, b in ((q, v), (p, u))
    )
    assert abs(after - before) < 1e-6
    return p, u


def agree(name: str, found: tuple, tolerance: float = 1e-12) -> None:
    for x, y in zip(found, moved(name), strict=True):
        assert np.abs(np.asarray(x) - y).max() < tolerance * (1.0 + np.abs(y).max())


@pytest.fixture
def double():
    jax = pytest.importorskip("jax")
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("name", first(1, LINKAGES))
def test_motion_in_the_interpreter(name: str):
    model, q, v = state(name)
    agree(name, mz.stepper(model, target="interpret")(q, v, 0.0, H, STEPS))


@pytest.mark.parametrize("name", LINKAGES)
def test_motion_in_torch(name: str):
    torch = pytest.importorskip("torch")
    model, q, v = state(name)
    args = (torch.tensor(x, dtype=torch.float64) for x in (q, v, 0.0, H, float(STEPS)))
    agree(name, mz.stepper(model, target="torch")(*args))


@pytest.mark.parametrize("name", LINKAGES)
def test_motion_in_jax(name: str, double):
    model, q, v = state(name)
    kernel = mz.stepper(model, target="jax")
    agree(name, double.jit(lambda q, v: kernel(q, v, 0.0, H, float(STEPS)))(q, v))


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("name", LINKAGES)
def test_motion_in_c(name: str, tmp_path: Path):
    model, q, v = state(name)
    code: Any = mz.stepper(model, target="c")
    (tmp_path / f"{code.name}.c").write_text(code.source)
    (tmp_path / f"{code.name}.h").write_text(code.header)
    words = [COMPILER, "-O1", "-shared", "-fPIC", f"{code.name}.c", "-lm", "-o", "step.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    step = getattr(ctypes.CDLL(str(tmp_path / "step.so")), code.name)
    arrays = [np.ascontiguousarray(x, dtype=float) for x in (q, v, 0.0, H, float(STEPS))]
    out = np.empty(model.nq), np.empty(model.nv)
    step(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*arrays, *out)))
    agree(name, out)


@pytest.mark.gpu
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-8), ("float32", 1e-3)])
@pytest.mark.parametrize("joint", ["joint_1", "joint_3"])
@pytest.mark.parametrize("name", ROLLED_OUT)
def test_motions_in_cuda(name: str, joint: str, dtype: DType, tolerance: float):
    """Two seconds of a batch, wherever the linkage is cut: float32 within its accuracy."""
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no NVIDIA GPU here")
    model, q, v = linkage(name).cut(joint)
    p, u = np.tile(q, (64, 1)), np.linspace(0.5, 1.0, 64)[:, None] * v
    exact = mz.simulate(model, p, u, 2.0, H, record_every=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = mz.simulate(model, p, u, 2.0, H, record_every=50, target="cuda", dtype=dtype)
    for found, right in ((x.q, exact.q), (x.v, exact.v), (x.energy(), exact.energy())):
        assert np.abs(found - right).max() < tolerance * (1.0 + np.abs(right).max())
    if joint == "joint_1":  # and steps of one motion, called from arrays
        p, u = (np.tile(x, (64, 1)).astype(dtype) for x in (q, v))
        found: Any = mz.stepper(model, target="cuda", dtype=dtype)(p, u, 0.0, H, STEPS)
        for end, right in zip(found, mz.stepper(model)(q, v, 0.0, H, STEPS), strict=True):
            for k in (0, 63):
                assert np.abs(end.get()[k] - right).max() < tolerance * (1.0 + np.abs(right).max())


def two_steps(f: Callable, q, v, tau):
    """Runge and Kutta's, with forces that are held; all stages are a little open."""
    h = 5e-3
    for _ in range(2):
        a1 = f(q, v, tau)
        a2 = f(q + h / 2 * v, v + h / 2 * a1, tau)
        a3 = f(q + h / 2 * (v + h / 2 * a1), v + h / 2 * a2, tau)
        a4 = f(q + h * (v + h / 2 * a2), v + h * a3, tau)
        q = q + h * (v + h / 6 * (a1 + a2 + a3))
        v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return (v * v).sum() + q.sum()


@cache
def differences(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Joint forces, and the slopes of what two steps give, by differences on the CPU."""
    model, q, v = state(name)
    tau = np.linspace(-0.3, 0.4, model.nv)
    f = mz.compile(mz.forward_dynamics, model)
    ends = ((two_steps(f, q, v, tau + s * e) for s in (1e-4, -1e-4)) for e in np.eye(model.nv))
    return tau, np.array([(a - b) / 2e-4 for a, b in ends])


@pytest.mark.parametrize("name", LINKAGES)
def test_derivatives_of_steps_in_torch(name: str):
    torch = pytest.importorskip("torch")
    model, q, v = state(name)
    tau, slopes = differences(name)
    f = mz.compile(mz.forward_dynamics, model, target="torch")
    force = torch.tensor(tau, requires_grad=True)
    two_steps(f, torch.tensor(q), torch.tensor(v), force).backward()
    assert np.abs(force.grad.numpy() - slopes).max() < 1e-7 * (1.0 + np.abs(slopes).max())


@pytest.mark.parametrize("name", first(1, LINKAGES))
def test_derivatives_of_steps_in_jax(name: str, double):
    model, q, v = state(name)
    tau, slopes = differences(name)
    f = mz.compile(mz.forward_dynamics, model, target="jax")
    found = double.jit(double.grad(lambda x: two_steps(f, q, v, x)))(tau)
    assert np.abs(np.asarray(found) - slopes).max() < 1e-7 * (1.0 + np.abs(slopes).max())
