"""Algorithms on random trees, with loops and contacts, and on arrays of every kind.

A case is one algorithm of one mechanism on arrays of one layout each. Its numbers are those of
plain arrays to the last bit, and those obey the laws. The summary of a run says how many cases ran.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from algorithms.constraints.test_random import mechanism as with_random_loops

import mozzi as mz
from mozzi.algorithms.reference.loops import projected_forward_dynamics
from mozzi.model.generate import random_tree

BATCHES = ((), (1,), (5,), (2, 3), (17,), (0,), (3, 0))
Layout = Callable[[np.ndarray], object]


def strided(x: np.ndarray) -> np.ndarray:
    wide = np.full((*x.shape[:-1], 2 * x.shape[-1] + 1), np.nan)
    wide[..., 1::2] = x
    return wide[..., 1::2]


def unaligned(x: np.ndarray) -> np.ndarray:
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:].view(float).reshape(x.shape)
    raw[...] = x
    return raw


def frozen(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y.flags.writeable = False
    return y


LAYOUTS: dict[str, Layout] = {
    "as it is": lambda x: x,
    "float32": lambda x: x.astype(np.float32),
    "big-endian": lambda x: x.astype(">f8"),
    "big-endian float32": lambda x: x.astype(">f4"),
    "Fortran": np.asfortranarray,
    "backwards": lambda x: x[..., ::-1].copy()[..., ::-1],
    "samples backwards": lambda x: x[::-1].copy()[::-1],
    "strided": strided,
    "unaligned": unaligned,
    "read-only": frozen,
    "list": lambda x: x.tolist(),
    "subclass": lambda x: x.view(np.recarray) if x.ndim < 2 else np.ma.asarray(x).data,
    "one axis more": lambda x: x[None],
    "one sample": lambda x: x[(0,) * (x.ndim - 1)],
    "broadcast": lambda x: np.broadcast_to(x[(0,) * (x.ndim - 1)], x.shape),
}


def meant(given: object) -> np.ndarray:
    """The numbers of an array, plain."""
    return np.array(given, dtype=float, order="C")


def tree(seed: int) -> tuple[mz.Model, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    model = random_tree(int(rng.integers(1, 6)), seed)
    batch = BATCHES[int(rng.integers(len(BATCHES)))]
    v, tau = rng.normal(size=(2, *batch, model.nv))
    return model, {"q": model.random_configuration(rng, batch), "v": v, "a": tau, "tau": tau}


def closed(seed: int) -> tuple[mz.Model, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    model, q = with_random_loops(seed)
    batch = BATCHES[int(rng.integers(len(BATCHES)))]
    v, tau = rng.normal(size=(2, *batch, model.nv))
    q = np.broadcast_to(q, (*batch, model.nq)).copy()
    v = mz.consistent_velocities(model, q, v) if v.size else v
    return model, {"q": q, "v": v, "a": tau, "tau": tau}


def touching(seed: int) -> tuple[mz.Model, dict[str, np.ndarray]]:
    """A random tree on a free base, with spheres on its bodies and the lowest on the ground."""
    rng = np.random.default_rng(seed)
    build = mz.Builder("touching").add("base", None, mz.Free(), random_inertia(rng))
    names = ["base"]
    for k in range(int(rng.integers(0, 3))):
        joint = (mz.Revolute(rng.normal(size=3)), mz.Spherical(), mz.Prismatic("x"))[seed % 3]
        parent = names[int(rng.integers(len(names)))]
        placement = tuple(rng.uniform(-0.3, 0.3, 3))
        build.add(f"b{k}", parent, joint, random_inertia(rng), placement=placement)
        names.append(f"b{k}")
    for name in names:
        build.shape(name, mz.Sphere(0.1), name=f"ball {name}")
    build.shape(None, mz.Plane(), name="plane")
    model = build.build()
    for name in names:
        model = model.with_contact(f"c {name}", f"ball {name}", "plane", float(rng.uniform(0, 1)))
    batch = BATCHES[int(rng.integers(len(BATCHES)))]
    q = model.random_configuration(rng, batch)
    if q.size:
        q[..., 2] -= mz.contact_gaps(model, q).min(axis=-1)  # the lowest touches
    v, tau = rng.normal(size=(2, *batch, model.nv))
    return model, {"q": q, "v": v, "a": tau, "tau": tau}


def random_inertia(rng: np.random.Generator) -> mz.Inertia:
    a, b = rng.uniform(0.05, 0.2, 2)
    return mz.Inertia(float(rng.uniform(0.5, 3)), rng.uniform(-0.1, 0.1, 3), np.diag([a, b, a + b]))


KINDS = {
    "tree": (tree, (
        "forward_dynamics", "inverse_dynamics", "mass_matrix", "forward_kinematics",
        "kinetic_energy", "twists",
    )),
    "closed": (closed, ("forward_dynamics", "loop_jacobian", "loop_acceleration")),
    "touching": (touching, ("forward_dynamics", "contact_gaps", "impact")),
}  # fmt: skip


def laws(kind: str, model: mz.Model, x: dict[str, np.ndarray]) -> int:
    """What is true of plain arrays; how many statements were checked."""
    q, v, tau = x["q"], x["v"], x["tau"]
    if q.size == 0:
        return 0
    a = mz.forward_dynamics(model, q, v, tau)
    assert np.isfinite(a).all()
    one = (0,) * (q.ndim - 1)
    size = 1.0 + np.abs(a).max(initial=0.0)
    if kind == "closed":
        expected = projected_forward_dynamics(model, q[one], v[one], tau[one])
        missed = mz.loop_acceleration(model, q[one], v[one], expected)
        if np.abs(missed).max(initial=0.0) < 1e-9 * size:
            margin = float(mz.loop_rank.python(model, q[one])[1])
            gap = np.abs(a[one] - expected).max(initial=0.0)
            assert gap < max(1e-9, 1e-13 / margin**2) * size
        return 2
    np.testing.assert_allclose(
        mz.inverse_dynamics(model, q, v, a), tau, atol=1e-8 * size, rtol=1e-8
    )
    plain = np.array(mz.forward_dynamics.python(model, q[one], v[one], tau[one]), dtype=float)
    np.testing.assert_allclose(a[one], plain, atol=1e-8 * size)
    if kind == "touching":
        after = mz.impact(model, q, v)
        before, now = mz.kinetic_energy(model, q, v), mz.kinetic_energy(model, q, after)
        assert (now <= before * (1 + 1e-8) + 1e-10).all()
        h = 1e-7  # what touches does not come nearer
        gaps = mz.contact_gaps(model, q)
        rate = (mz.contact_gaps(model, mz.integrate(model, q, h * after)) - gaps) / h
        assert (rate[gaps < 1e-9] > -1e-5).all()
        return 5
    return 3


def layouts(kind: str, model: mz.Model, x: dict[str, np.ndarray], seed: int) -> int:
    """The same numbers in every layout; how many cases."""
    rng, count, names = np.random.default_rng(seed), 0, [*LAYOUTS]
    for name in KINDS[kind][1]:
        function = getattr(mz, name)
        arguments = [x[n] for n in function.required]
        for layout in names:
            others = [layout, *rng.choice(names, len(arguments) - 1)]
            try:
                given = [LAYOUTS[n](y) for n, y in zip(others, arguments)]
            except (IndexError, ValueError):
                continue  # no samples to turn round
            batches = [np.shape(y)[:-1] for y in given]
            if any(isinstance(y, list) and np.size(y) == 0 and model.nv for y in given):
                continue  # a list without numbers has no shape
            want = function(model, *map(meant, given))
            found = function(model, *given)
            whole = np.broadcast_shapes(*batches)
            for y, z in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, want))):
                assert y.shape[: len(whole)] == whole, (name, others)
                assert y.dtype == float
                np.testing.assert_array_equal(y, z, err_msg=f"{name} {others}")
            count += 1
        count += into(function, model, arguments)
        if name in ("inverse_dynamics", "mass_matrix"):
            count += single(function, model, arguments)
    return count


def single(function: object, model: mz.Model, arguments: list[np.ndarray]) -> int:
    """Kernels of single precision give its numbers, of all real numbers."""
    kernel, want = mz.compile(function, model, dtype="float32"), function(model, *arguments)
    for given in (arguments, [x.astype(np.float32) for x in arguments]):
        found = kernel(*given)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, want, atol=1e-4 * (1 + np.abs(want).max(initial=0.0)))
    return 2


def into(function: object, model: mz.Model, arguments: list[np.ndarray]) -> int:
    """Results into arrays of the caller, of any layout."""
    kernel = mz.compile(function, model)
    want = kernel(*arguments)
    if isinstance(want, tuple) or want.size == 0:
        return 0
    for out in (np.empty_like(want), np.asfortranarray(np.empty_like(want)),
                np.empty((*want.shape, 2))[..., 0], np.empty(want.shape[::-1]).T):  # fmt: skip
        out[...] = np.nan
        assert kernel(*arguments, out=out) is out
        np.testing.assert_array_equal(out, want)
    return 4


def run(kind: str, seed: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model, x = KINDS[kind][0](seed)
        return laws(kind, model, x) + layouts(kind, model, x, seed)


SEEDS = [*range(3), *(pytest.param(k, marks=pytest.mark.slow) for k in range(3, 60))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_random_mechanisms_in_every_layout(kind: str, seed: int, record_property):
    record_property("cases", run(kind, seed))
