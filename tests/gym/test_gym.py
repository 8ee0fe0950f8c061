"""Environments of gymnasium: their checker, the same motion as simulate, resets, arrays."""

import time
import warnings

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import mozzi as mz
from mozzi.gym import Environment, Task, VectorEnvironment
from mozzi.model import generate
from mozzi.simulation import Moreau

POLE = generate.cart_pole()


def balance(**options):
    """A cart that holds its pole up."""
    given = {
        "observation": lambda q, v: mz.array([q[0], np.sin(q[1]), np.cos(q[1]), *v]),
        "reward": lambda q, v, u: np.cos(q[1]) - 0.01 * u[0] ** 2,
        "terminated": lambda q, v: (np.abs(q[0]) > 2.0) | (np.cos(q[1]) < 0.0),
        "actuated": [POLE.joint_names[0]],
        "actions": (-10.0, 10.0),
        "noise": 0.05,
        "duration": 1.0,
    }
    return Task(POLE, **(given | options))


@pytest.fixture(autouse=True, scope="module")
def double():
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_checker_of_gymnasium_is_content(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*not within the observation space.*")
        warnings.filterwarnings("ignore", message=".*render.*|.*spec.*|.*infinity.*|.*symmetric.*")
        check_env(Environment(balance(), dtype), skip_render_check=True)


def test_a_method_that_is_named_is_taken():
    """On the ground, too, where it was passed over in silence; one that knows no contacts is
    refused.
    """
    robot, given = generate.quadruped(), {"actions": (-1.0, 1.0), "reward": lambda q, v, u: q[2]}
    fast = Moreau("fast", steps=3)
    assert Task(robot, method=fast, **given).method is fast
    assert Task(robot, **given).method is None and balance().method == "semi_implicit"
    with pytest.raises(mz.ConfigurationError, match="MuntheKaas does not know contacts"):
        Environment(Task(robot, method="rkmk4", **given))


def test_an_episode_is_the_motion_of_simulate():
    """Actions held over the substeps; reward and observation of the state behind them."""
    environment = Environment(balance(noise=0.0, terminated=None))
    actions = np.random.default_rng(0).uniform(-10, 10, (5, 1))
    seen, _ = environment.reset(seed=1)
    q, v = POLE.neutral(), np.zeros(2)
    for k, u in enumerate(actions):
        seen, reward, over, late, _ = environment.step(u)
        tau = [u[0], 0.0]
        motion = mz.simulate(POLE, q, v, 0.02, 0.005, "semi_implicit", tau)
        q, v = motion.q[-1], motion.v[-1]
        np.testing.assert_allclose(seen, [q[0], np.sin(q[1]), np.cos(q[1]), *v], atol=1e-13)
        assert reward == pytest.approx(np.cos(q[1]) - 0.01 * u[0] ** 2)
        assert not over and not late, k


def test_springs_act_unless_they_are_taken_out():
    """The word is that of simulate, and so is the motion."""
    model = POLE.with_dynamics(POLE.joint_names[1], stiffness=30.0, damping=0.5, rest=0.4)
    ends = []
    for acts in (True, False):
        task = Task(
            model, reward=lambda q, v, u: q[0], actions=(-1.0, 1.0), resistance=acts,
            actuated=[POLE.joint_names[0]], start=([0.0, 0.3], [0.0, 0.1]),
        )  # fmt: skip
        environment = Environment(task)
        environment.reset(seed=0)
        seen, *_ = environment.step(np.array([0.5]))
        motion = mz.simulate(
            model, *task.start, 0.02, 0.005, "semi_implicit", [0.5, 0.0], resistance=acts
        )
        np.testing.assert_allclose(seen, [*motion.q[-1], *motion.v[-1]], atol=1e-13)
        ends.append(seen)
    assert np.abs(ends[0] - ends[1]).max() > 1e-2


def rolled(target, put, get, steps=60):
    """A run of a vector environment with actions from one seed."""
    many = VectorEnvironment(balance(), 7, target)
    seen, _ = many.reset(seed=3)
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(steps):
        u = rng.uniform(-10, 10, (7, 1))
        seen, reward, over, late, told = many.step(put(u))
        rows.append([get(x) for x in (seen, reward, over, late, told["final_obs"])])
    return [np.array([row[k] for row in rows]) for k in range(5)]


@pytest.fixture(scope="module")
def on_numpy():
    return rolled("cpu", np.asarray, np.asarray)


def test_samples_start_again_by_themselves(on_numpy):
    """Where an episode ends its observation is that of a start; elsewhere the final one."""
    seen, _, over, late, final = on_numpy
    done = over | late
    assert over.any() and late.any() and not (over & late).any()
    np.testing.assert_array_equal(seen[~done], final[~done])
    assert (np.abs(seen[done][:, [0, 1, 3, 4]]) < 0.06).all()  # within the noise of starts
    assert ((np.abs(final[over][:, 0]) > 2.0) | (final[over][:, 2] < 0.0)).all()
    ages = np.zeros(7)
    for row, ended in zip(late, done, strict=True):
        ages += 1
        assert (ages[row] == 50).all()
        ages[ended] = 0


def test_samples_are_those_of_one_environment(on_numpy):
    """Each sample moves as an environment of its own from the same start."""
    many, one = VectorEnvironment(balance(), 5), Environment(balance())
    many.reset(seed=3)
    q, v = np.array(many.state.q), np.array(many.state.v)
    rng = np.random.default_rng(5)
    actions = rng.uniform(-1, 1, (10, 5, 1))
    found = [many.step(u)[0] for u in actions]
    for k in range(5):
        one.reset(seed=0, options={"q": q[k], "v": v[k]})
        for row, u in zip(found, actions, strict=True):
            np.testing.assert_allclose(one.step(u[k])[0], row[k], atol=1e-12)


def test_on_jax(on_numpy):
    import jax.numpy as jnp

    for found, wanted in zip(rolled("jax", jnp.asarray, np.asarray), on_numpy, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_on_torch(on_numpy):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    found = rolled("torch", torch.as_tensor, lambda x: x.numpy())
    for one, wanted in zip(found, on_numpy, strict=True):
        np.testing.assert_allclose(one, wanted, atol=1e-10)


def test_parameters_differ_from_episode_to_episode():
    """Samples with other masses move otherwise, as models with these masses do."""
    name = f"{POLE.bodies[1]}.mass"
    many = VectorEnvironment(balance(parameters={name: (0.05, 2.0)}, noise=0.0), 6)
    many.reset(seed=0)
    masses = np.array(many.state.parameters)[:, 0]
    assert np.ptp(masses) > 0.1
    seen = many.step(5.0 * np.ones((6, 1)))[0]
    for mass, row in zip(masses, seen, strict=True):
        model = POLE.with_parameters({name: mass})
        given = POLE.neutral(), np.zeros(2), 0.02, 0.005, "semi_implicit", [5, 0]
        motion = mz.simulate(model, *given)
        np.testing.assert_allclose(row[3:], motion.v[-1], atol=1e-12)
    one = Environment(balance(parameters={name: (0.05, 2.0)}, noise=0.0))
    one.reset(seed=0)
    first = one.step(np.array([5.0]))[0]
    one.reset()
    assert np.abs(one.step(np.array([5.0]))[0] - first).max() > 1e-4


def test_it_is_a_vector_environment_of_gymnasium():
    many = gymnasium.wrappers.vector.RecordEpisodeStatistics(VectorEnvironment(balance(), 4))
    many.reset(seed=0)
    for _ in range(55):
        seen, *_, told = many.step(many.action_space.sample())
    assert many.observation_space.contains(seen) and many.episode_count > 0 and told


def test_pictures():
    """Arrays of pixels in which the mechanism moves; nothing without a mode."""
    pytest.importorskip("PIL")
    one = Environment(balance(terminated=None), render_mode="rgb_array")
    one.reset(seed=0, options={"q": [0.0, 0.0]})
    first = one.render()
    assert first.shape == (480, 480, 3) and first.dtype == np.uint8 and np.ptp(first) > 50
    assert one.metadata["render_fps"] == 50
    one.reset(options={"q": [0.1, 1.2]})
    assert np.mean(one.render() != first) > 0.005
    one.reset(options={"q": [30.0, 0.0]})  # the camera follows
    assert 0.5 < np.mean(one.render() != 244) / np.mean(first != 244) < 2.0
    many = VectorEnvironment(balance(), 20, render_mode="rgb_array")
    many.reset(seed=0)
    assert [x.shape for x in many.render()] == [(480, 480, 3)] * 16
    assert Environment(balance()).render() is None
    with pytest.raises(mz.ConfigurationError, match="'rgb_array', 'human' or None"):
        Environment(balance(), render_mode="ansi")


def test_gymnasium_makes_it(tmp_path):
    """By a name, with pictures, recorded by gymnasium's own wrapper."""
    pytest.importorskip("PIL")
    pytest.importorskip("viser")
    make = lambda **options: Environment(balance(), **options)
    gymnasium.register("mozzi/Balance-v0", entry_point=make)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_env(gymnasium.make("mozzi/Balance-v0", render_mode="rgb_array").unwrapped)
        one = gymnasium.wrappers.RenderCollection(
            gymnasium.make("mozzi/Balance-v0", render_mode="rgb_array")
        )
        one.reset(seed=0)
        one.step(np.zeros(1))
        assert len(one.render()) == 2
    finally:
        gymnasium.registry.pop("mozzi/Balance-v0")


def test_a_page_moves_with_the_episode(capsys):
    """render_mode="human", at the pace of time."""
    pytest.importorskip("viser")
    one = Environment(balance(noise=0.0, terminated=None), render_mode="human")
    one.reset(seed=0)
    start = time.monotonic()
    for _ in range(10):
        one.step(np.array([10.0]))
    assert time.monotonic() - start > 0.18
    assert "http://127.0.0.1" in capsys.readouterr().out
    np.testing.assert_allclose(one._viewer.q, one.q)
    one.close()
    assert one._viewer is None


def test_mistakes_are_told():
    with pytest.raises(mz.ConfigurationError, match="has no effort limit; give actions"):
        balance(actions=None)
    with pytest.raises(mz.ConfigurationError, match=r"line \d+ of test_gym.py .*mz.where"):
        balance(reward=lambda q, v, u: 1.0 if q[0] > 0.0 else 0.0)
    with pytest.raises(mz.ConfigurationError, match="reward and terminated give one number"):
        balance(reward=lambda q, v, u: q)
    with pytest.raises(mz.ConfigurationError, match=r"call reset\(\) first"):
        VectorEnvironment(balance(), 2).step(np.zeros((2, 1)))
    with pytest.raises(mz.ConfigurationError, match=r"call reset\(\) first"):
        Environment(balance()).step(np.zeros(1))
    with pytest.raises(mz.ConfigurationError, match="Task: noise -1; give 0 or more"):
        balance(noise=-1.0)
    with pytest.raises(mz.ConfigurationError, match=r"actions from .*; give low ≤ high"):
        balance(actions=(1.0, -1.0))
    with pytest.raises(mz.ConfigurationError, match="0 s are no step of dt"):
        balance(duration=0.0)
