"""Loops and simulations on a GPU, against float64 on the CPU. Run: pytest -m gpu."""

import numpy as np
import pytest
from support.loop_models import closed_tree

import mozzi as mz
from mozzi.errors import ConfigurationError
from mozzi.model.generate import chain, double_pendulum, four_bar, leaning, n_four_bar
from mozzi.simulation import METHODS

pytestmark = pytest.mark.gpu
TOLERANCE = {"float64": 1e-9, "float32": 2e-4}


@pytest.fixture(scope="module", autouse=True)
def cupy():
    found = pytest.importorskip("cupy")
    if not found.cuda.is_available():
        pytest.skip("no NVIDIA GPU here")
    return found


def pinned_arm():
    """A chain of seven bodies whose tip is held at a point: three rows."""
    tree, q = chain(7, seed=3), np.linspace(-0.6, 0.8, 7)
    at = mz.forward_kinematics(tree, q)[-1, :3, 3]
    return tree.with_loop("tip", None, 6, mz.Spherical(), tuple(at)), q


def crank(angle=0.7):
    model = four_bar()
    return model, mz.assemble(model, np.array([angle, 0.3, 0.4]))


MODELS = {
    "four_bar": crank,
    "pinned_arm": pinned_arm,
    "windows": lambda: (n_four_bar(4), leaning(n_four_bar(4), 0.3)),
    "closed_tree": lambda: closed_tree(mz.Universal(), seed=2),
}


def states(model, q, n=300, dtype="float64"):
    """Closed configurations near one, velocities that keep them so, joint forces."""
    rng = np.random.default_rng(0)
    q = mz.assemble(model, mz.integrate(model, q, 0.05 * rng.normal(size=(n, model.nv))))
    v = mz.consistent_velocities(model, q, rng.normal(size=(n, model.nv)))
    return [x.astype(dtype) for x in (q, v, rng.normal(size=(n, model.nv)))]


def close(found, exact, tolerance):
    found = found.get() if hasattr(found, "get") else found
    assert np.isfinite(found).all()
    assert np.max(np.abs(found - exact)) <= tolerance * max(1.0, np.max(np.abs(exact)))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", MODELS)
def test_forward_dynamics_with_loops(cupy, name, dtype):
    model, q = MODELS[name]()
    arrays = states(model, q, dtype=dtype)
    exact = mz.forward_dynamics(model, *(x.astype(float) for x in arrays))
    kernel = mz.compile(mz.forward_dynamics, model, target="cuda", dtype=dtype)
    close(kernel(*map(cupy.asarray, arrays)), exact, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_rows_that_depend_on_others_are_found_in_either_precision(cupy, dtype):
    """Of the 20 rows of four windows in a plane 8 count, on the GPU as on the CPU."""
    model = n_four_bar(4)
    q = states(model, leaning(model, 0.3), dtype=dtype)[0]
    kernel = mz.compile(mz.loop_rank, model, target="cuda", dtype=dtype)
    rank = kernel(cupy.asarray(q))[0].get()
    exact = np.asarray(mz.loop_rank(model, q.astype(float))[0])
    assert (rank == exact).all() and (rank == 8).all()


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_singular_configuration_gives_what_the_cpu_gives(cupy, dtype):
    """Where all bars of windows lie in one line a row more depends on the others."""
    model = n_four_bar(2)
    q = leaning(model, np.pi / 2)
    v, tau = np.zeros((5, model.nv)), np.random.default_rng(1).normal(size=(5, model.nv))
    arrays = [np.broadcast_to(q, (5, model.nq)).astype(dtype), v.astype(dtype), tau.astype(dtype)]
    kernel = mz.compile(mz.forward_dynamics, model, target="cuda", dtype=dtype)
    same = mz.compile(mz.forward_dynamics, model, dtype=dtype)(*arrays)
    close(kernel(*map(cupy.asarray, arrays)), same, 1e-3 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", ["four_bar", "pinned_arm"])
def test_steps_stay_on_the_loops(cupy, name, dtype):
    model, q = MODELS[name]()
    q, v, _ = states(model, q, 100, dtype)
    exact = mz.stepper(model)(q.astype(float), v.astype(float), 0.0, 1e-3, 100)
    found = mz.stepper(model, target="cuda", dtype=dtype)(
        *map(cupy.asarray, (q, v)), 0.0, 1e-3, 100
    )
    for y, x in zip(found, exact, strict=True):
        close(y, x, TOLERANCE[dtype])
    gap = mz.loop_residual(model, found[0].get().astype(float))
    assert np.max(np.abs(gap)) < (1e-10 if dtype == "float64" else 2e-6)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("method", METHODS)
def test_simulate_runs_there(method, dtype):
    """All methods, records every tenth step, a law that is traced; dopri5 in float64."""
    model = double_pendulum()
    law = lambda t, q, v: -0.5 * v + 0.1 * t
    q0 = np.random.default_rng(0).normal(size=(40, 2))
    options = {"torque": law, "record_every": 10, "wrenches": np.full((2, 6), 0.1)}
    run = lambda **where: mz.simulate(
        model, q0, np.zeros(2), 0.505, 5e-3, method, **options, **where
    )
    if method == "dopri5" and dtype == "float32":
        with pytest.raises(ConfigurationError, match="float64"):
            run(target="cuda", dtype=dtype)
        return
    here, there = run(), run(target="cuda", dtype=dtype)
    assert there.q.shape == here.q.shape == (40, 12, 2) and there.q.dtype == np.float64
    assert there.complete and np.array_equal(there.t, here.t)
    for x, y in ((here.q, there.q), (here.v, there.v)):
        close(y, x, TOLERANCE[dtype])


@pytest.mark.parametrize("method", ["rkmk4", "dopri5"])
def test_torques_that_change_from_step_to_step(method):
    model = double_pendulum()
    tau = np.random.default_rng(0).normal(size=(3, 20, 2))
    q0 = np.array([[0.3, 0.1], [1.0, -1.0], [2.0, 0.5]])
    run = lambda **where: mz.simulate(model, q0, np.zeros(2), 0.1, 5e-3, method, tau, **where)
    here, there = run(), run(target="cuda")
    close(there.q, here.q, 1e-9)
    assert here.tau is not None and there.tau is not None
    assert np.array_equal(there.tau, here.tau)


def test_simulate_takes_what_is_on_the_gpu(cupy):
    """A state, torques, wrenches and parameters as CuPy arrays or PyTorch tensors give the same
    bits as from the host, and are refused by name where the motion runs on the CPU.
    """
    torch = pytest.importorskip("torch")
    model = double_pendulum()
    mass = {"upper.mass": np.array([1.0, 1.2, 1.4])}
    q0, tau = np.random.default_rng(0).normal(size=(2, 3, 2))
    given = {"q0": q0, "v0": np.zeros(2), "torque": tau, "wrenches": np.full((2, 6), 0.1)}
    run = lambda there, **where: mz.simulate(
        model, **{n: there(x) for n, x in given.items()}, duration=0.1, dt=5e-3,
        parameters={n: there(x) for n, x in mass.items()}, **where,
    )  # fmt: skip
    here = run(np.asarray, target="cuda").q
    assert np.array_equal(run(cupy.asarray, target="cuda").q, here)
    assert np.array_equal(run(lambda x: torch.as_tensor(x, device="cuda"), target="cuda").q, here)
    with pytest.raises(ConfigurationError, match="q0 is on a GPU; give target='cuda'"):
        run(cupy.asarray)


def test_loops_and_constant_forces_in_simulate():
    model, q = crank()
    q, v, tau = states(model, q, 20)
    run = lambda **where: mz.simulate(model, q, v, 0.2, 1e-3, torque=tau, record_every=50, **where)
    close(run(target="cuda").q, run().q, 1e-8)


def test_events_and_samples_that_diverge():
    """The host looks at the state on the GPU: zeros of g are found, and infinities named."""
    model = double_pendulum()
    g = lambda t, q, v: q[..., 0]
    run = lambda **where: mz.simulate(
        model, [[0.5, 0.0], [1.0, 0.3]], np.zeros(2), 1.0, 0.1, "dopri5", events=[g], **where
    )
    here, there = run().events, run(target="cuda").events
    assert [e.sample for e in there] == [e.sample for e in here] and here
    np.testing.assert_allclose([e.t for e in there], [e.t for e in here], rtol=1e-9)
    v0 = np.array([[0.0, 0.0], [1e30, 0.0]])
    with pytest.warns(mz.DivergenceWarning, match="sample 1"):
        x = mz.simulate(model, np.ones(2), v0, 0.1, 1e-2, target="cuda", dtype="float32")
    assert set(x.diverged) == {(1,)} and np.isfinite(x.q[0]).all()
