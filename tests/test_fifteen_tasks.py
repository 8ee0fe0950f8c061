"""What people of the field reach for next to a dynamics library, in the lines they would write."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import mozzi as mz
from mozzi.model import generate

STEPS, DT = 40, 0.025
TARGET = np.array([1.0, -0.5])


@pytest.fixture(scope="module")
def panda():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mz.load("panda", couplings=False)


def test_load_with_meshes():
    """A robot by name, with the shapes of its file."""
    robot = mz.load("panda")
    meshes = [shape for shape in robot.shapes if isinstance(shape.geometry, mz.Mesh)]
    assert len(meshes) >= 10 and all(Path(shape.geometry.path).exists() for shape in meshes)


def test_frame_jacobian(panda):
    J = mz.jacobian(panda, panda.neutral(), "panda_hand", "hybrid")
    assert J.shape == (6, panda.nv)
    v = np.ones(panda.nv)
    ahead, behind = (mz.pose(panda, panda.neutral() + s * v, "panda_hand") for s in (1e-6, -1e-6))
    moved = (ahead - behind)[:3, 3] / 2e-6
    np.testing.assert_allclose((J @ v)[3:], moved, atol=1e-8)


def test_inverse_kinematics_of_1000_poses(panda):
    q = panda.random_configuration(np.random.default_rng(0), batch=(1000,))
    poses = mz.pose(panda, q, "panda_hand")
    found = mz.inverse_kinematics(panda, {"panda_hand": poses})
    assert np.mean(found.success) > 0.95
    error = mz.pose(panda, found.q, "panda_hand") - poses
    assert np.abs(error[found.success]).max() < 1e-6


def test_gravity_compensation(panda):
    """Held by what gravity takes, and nothing else: it stays."""
    q = panda.random_configuration(np.random.default_rng(1))
    law = lambda t, q, v: mz.gravity_forces(panda, q)
    motion = mz.simulate(panda, q, np.zeros(panda.nv), 1.0, 0.005, torque=law)
    np.testing.assert_allclose(motion.q[-1], q, atol=1e-9)


def test_computed_torque(panda):
    goal = panda.neutral() + 0.3

    def law(t, q, v):
        return mz.inverse_dynamics(panda, q, v, 100.0 * (goal - q) - 20.0 * v)

    start = panda.neutral(), np.zeros(panda.nv)
    motion = mz.simulate(panda, *start, 2.0, 0.005, torque=law, resistance=False)
    np.testing.assert_allclose(motion.q[-1], goal, atol=1e-6)


def test_a_callback_of_python(panda):
    """A law that is called before every step, because it wants to."""
    seen = []

    def law(t, q, v):
        seen.append(float(t))
        return -2.0 * v

    start = panda.neutral(), np.zeros(panda.nv)
    motion = mz.simulate(panda, *start, 0.05, 0.005, torque=law, trace=False)
    assert len(seen) >= 10 and motion.tau.shape == motion.v.shape


def test_a_batch_of_10000(panda):
    rng = np.random.default_rng(0)
    q = panda.random_configuration(rng, batch=(10_000,))
    v, tau = rng.standard_normal((2, 10_000, panda.nv))
    a = mz.forward_dynamics(panda, q, v, tau)
    assert a.shape == (10_000, panda.nv)
    np.testing.assert_allclose(mz.inverse_dynamics(panda, q, v, a), tau, atol=1e-6)


FOUR_BAR = """
<mujoco model="four_bar">
  <worldbody>
    <body name="crank"><joint name="crank" axis="0 1 0"/>
      <inertial mass="1" pos="0.5 0 0" diaginertia="0.01 0.1 0.1"/>
      <body name="coupler" pos="1 0 0"><joint name="elbow" axis="0 1 0"/>
        <inertial mass="2" pos="1 0 0" diaginertia="0.01 0.2 0.2"/></body>
    </body>
    <body name="rocker" pos="2.2 0 0"><joint name="rocker" axis="0 1 0"/>
      <inertial mass="1" pos="0.9 0 0" diaginertia="0.01 0.1 0.1"/></body>
  </worldbody>
  <equality><connect name="pin" body1="coupler" body2="rocker" anchor="2 0 0"/></equality>
</mujoco>"""


def test_a_closed_loop_from_a_file(tmp_path):
    """Closed, then dropped: it keeps its loop and its energy."""
    file = tmp_path / "four_bar.xml"
    file.write_text(FOUR_BAR)
    bar = mz.load(file)
    q = mz.assemble(bar, np.array([-1.0, 0.5, -1.5]), hold=["crank"])
    motion = mz.simulate(bar, q, np.zeros(3), 1.0, 0.002)
    assert np.abs(mz.loop_residual(bar, motion.q)).max() < 1e-9
    assert motion.energy_drift() < 1e-6 and np.ptp(motion.q[:, 0]) > 0.2


ARM = generate.double_pendulum()


def cost_by_rollout(u):
    """The cost of reaching the target with little force, and its gradient."""
    tau = u.reshape(STEPS, 2)
    q, v = mz.rollout(ARM, ARM.neutral(), np.zeros(2), tau, DT, "semi_implicit")
    dq, dv = np.zeros_like(v), np.zeros_like(v)
    dq[-1], dv[-1] = 2000.0 * (q[-1] - TARGET), 200.0 * v[-1]
    by_tau = mz.rollout_gradient(ARM, q, v, tau, DT, dq, dv, "semi_implicit")[2]
    cost = 1000.0 * np.sum((q[-1] - TARGET) ** 2) + 100.0 * np.sum(v[-1] ** 2)
    return cost + 0.0005 * np.sum(tau**2), (by_tau + 0.001 * tau).ravel()


@pytest.fixture(scope="module")
def optimum():
    return minimize(cost_by_rollout, np.zeros(2 * STEPS), jac=True, method="L-BFGS-B",
                    options={"maxiter": 400, "ftol": 1e-14, "gtol": 1e-9})  # fmt: skip


def test_trajectory_optimisation_with_numpy(optimum):
    q, v = mz.rollout(ARM, ARM.neutral(), np.zeros(2), optimum.x.reshape(STEPS, 2), DT,
                      "semi_implicit")  # fmt: skip
    np.testing.assert_allclose(q[-1], TARGET, atol=0.05)
    np.testing.assert_allclose(v[-1], 0.0, atol=0.2)


def test_trajectory_optimisation_with_jax(optimum):
    """The same cost and gradient from jax.grad through a scan."""
    import jax
    import jax.numpy as jnp

    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    accelerate = mz.compile(
        lambda q, v, tau: mz.forward_dynamics(ARM, q, v, tau, resistance=True), ARM, "jax"
    )

    def cost(u):
        def step(x, tau):
            v = x[1] + DT * accelerate(x[0], x[1], tau)
            return (x[0] + DT * v, v), None

        tau = u.reshape(STEPS, 2)
        (q, v), _ = jax.lax.scan(step, (jnp.zeros(2), jnp.zeros(2)), tau)
        end = 1000.0 * jnp.sum((q - TARGET) ** 2) + 100.0 * jnp.sum(v**2)
        return end + 0.0005 * jnp.sum(tau**2)

    value = jax.jit(cost)(jnp.asarray(optimum.x))
    assert float(value) == pytest.approx(optimum.fun, rel=1e-9)
    u = np.random.default_rng(0).standard_normal(2 * STEPS)
    slope = jax.grad(cost)(jnp.asarray(u))
    np.testing.assert_allclose(slope, cost_by_rollout(u)[1], rtol=1e-7, atol=1e-7)
    jax.config.update("jax_enable_x64", before)


def test_trajectory_optimisation_with_torch():
    """The same gradient from autograd through the steps."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    accelerate = mz.compile(
        lambda q, v, tau: mz.forward_dynamics(ARM, q, v, tau, resistance=True), ARM, "torch"
    )
    start = np.random.default_rng(0).standard_normal(2 * STEPS)
    u = torch.tensor(start, requires_grad=True)
    q = v = torch.zeros(2, dtype=torch.float64)
    for tau in u.reshape(STEPS, 2):
        v = v + DT * accelerate(q, v, tau)
        q = q + DT * v
    cost = 1000.0 * ((q - torch.as_tensor(TARGET)) ** 2).sum() + 100.0 * (v**2).sum()
    (cost + 0.0005 * (u**2).sum()).backward()
    np.testing.assert_allclose(u.grad, cost_by_rollout(start)[1], rtol=1e-7, atol=1e-7)


def test_lqr():
    """A pole that is held up by a linear law, from 0.4 rad."""
    import control

    cart = generate.cart_pole()
    system = mz.state_space(cart, cart.neutral(), actuated=["slider"])
    K = control.lqr(system, np.diag([1.0, 10.0, 1.0, 1.0]), np.eye(1))[0]
    law = lambda t, q, v: mz.array([-(K @ np.concatenate([q, v]))[0], 0.0])
    motion = mz.simulate(cart, [0.0, 0.4], np.zeros(2), 20.0, 0.01, torque=law)
    np.testing.assert_allclose(motion.q[-1], 0.0, atol=2e-3)


def test_gymnasium():
    """One environment that the checker takes, and many; docs/examples/gym_million.py steps them."""
    from gymnasium.utils.env_checker import check_env

    from mozzi.gym import Environment, Task, VectorEnvironment

    task = Task(
        generate.cart_pole(), reward=lambda q, v, u: np.cos(q[1]), actuated=["slider"],
        terminated=lambda q, v: np.abs(q[1]) > 1.0, actions=(-10.0, 10.0), noise=0.05,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(Environment(task), skip_render_check=True)
    many = VectorEnvironment(task, 1000)
    many.reset(seed=0)
    for _ in range(20):
        seen, reward, *_ = many.step(many.action_space.sample())
    assert seen.shape == (1000, 4) and reward.shape == (1000,) and np.isfinite(seen).all()


def test_identification_from_a_regressor():
    arm, rng = generate.chain(4, seed=3), np.random.default_rng(0)
    q, v, a = rng.standard_normal((3, 200, 4))
    tau = mz.inverse_dynamics(arm, q, v, a) + 1e-4 * rng.standard_normal((200, 4))
    base = mz.base_parameters(arm)
    Y = base.regressor(mz.inverse_dynamics_regressor(arm, q, v, a))
    found = np.linalg.lstsq(Y.reshape(-1, len(base)), tau.ravel(), rcond=None)[0]
    np.testing.assert_allclose(found, base.values(arm), atol=1e-3)


def test_save_load_plot_animate(panda, tmp_path):
    start = panda.neutral(), np.ones(panda.nv)
    motion = mz.simulate(panda, *start, 0.1, 0.005, record_every=5)
    motion.save(tmp_path / "motion.npz")
    again = mz.Trajectory.load(tmp_path / "motion.npz", model=panda)
    np.testing.assert_array_equal(again.q, motion.q)
    again.plot(tmp_path / "motion.png")
    again.animate(tmp_path / "motion.html")
    assert all((tmp_path / f"motion.{kind}").stat().st_size > 1000 for kind in ("png", "html"))


def test_export_to_c(panda, tmp_path):
    """A function without dependencies, in readable C."""
    code = mz.compile(mz.inverse_dynamics, panda, "c")
    (tmp_path / "panda.c").write_text(code.source)
    assert "void inverse_dynamics(" in code.source and "malloc" not in code.source


def test_an_optimal_control_problem_in_casadi():
    """The least effort that lifts a rod, on functions with derivatives."""
    import casadi as ca

    rod, h, N = generate.pendulum(1), 0.05, 20
    f = mz.casadi_function(mz.forward_dynamics, rod)
    problem = ca.Opti()
    q, v, u = (problem.variable(N + 1) for _ in range(3))
    for k in range(N):
        problem.subject_to(v[k + 1] == v[k] + h * f(q[k], v[k], u[k]))
        problem.subject_to(q[k + 1] == q[k] + h * v[k + 1])
    problem.subject_to([q[0] == 0.0, v[0] == 0.0, q[N] == 1.0, v[N] == 0.0])
    problem.minimize(ca.sumsqr(u))
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    tau = problem.solve().value(u)[:N, None]
    found = mz.rollout(rod, np.zeros(1), np.zeros(1), tau, h, "semi_implicit", resistance=False)
    assert found[0][-1] == pytest.approx(1.0, abs=1e-6)
