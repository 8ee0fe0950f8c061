"""Laws as people write them: NumPy's functions, states, clocks, derivatives, and what is told."""

import jax
import numpy as np
import pytest

import mozzi as mz
from mozzi.model import generate

ARM = generate.chain(3)
REST = np.zeros(3)


@pytest.fixture(autouse=True, scope="module")
def double():
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def floating():
    """A free base, an oblique hinge and a ball joint."""
    body = mz.Inertia(1.2, (0.1, 0.2, -0.3), np.diag([0.3, 0.4, 0.5]))
    build = mz.Builder("floating").add("base", None, mz.Free(), body)
    build.add("link", "base", mz.Revolute([0.3, 0.5, 0.8]), body)
    return build.add("tip", "link", mz.Spherical(), body).build()


def controller(t, q, v, x, h):
    """A PI law with a filter on v that is four samples old, within bounds."""
    error = 0.3 * np.sin(3.0 * t) - q
    total = x["total"] + h * error
    slow = x["slow"] + (1.0 - np.exp(-h / 0.03)) * (x["line"][0] - x["slow"])
    line = np.concatenate([x["line"][1:], v[None]])
    tau = np.clip(9.0 * error - 2.0 * slow + 4.0 * total, -5.0, 5.0)
    gravity = mz.gravity_forces(ARM, q)
    return tau + np.maximum(gravity, -3.0), {"total": total, "slow": slow, "line": line}


STATE = {"total": np.zeros(3), "slow": np.zeros(3), "line": np.zeros((4, 3))}


@pytest.mark.parametrize("every", [1, 10])
@pytest.mark.parametrize("method", ["rkmk4", "semi_implicit"])
def test_a_law_with_state_is_the_loop_one_would_write(method, every):
    """Sampled in Python before every `every`-th step, and held."""
    dt = 1e-3
    law = mz.Law(controller, STATE, period=every * dt if every > 1 else None)
    found = mz.simulate(ARM, [0.2, -0.1, 0.4], REST, 0.1, dt, method, law)
    q, v, x, tau = np.array([0.2, -0.1, 0.4]), REST, dict(STATE), REST
    for k in range(100):
        if k % every == 0:
            tau, x = controller(k * dt, q, v, x, every * dt)
        one = mz.simulate(ARM, q, v, dt, dt, method, tau)
        q, v = one.q[-1], one.v[-1]
    np.testing.assert_allclose(found.q[-1], q, atol=1e-13)
    np.testing.assert_allclose(found.tau[-1], tau, atol=1e-12)
    for name, value in x.items():
        np.testing.assert_allclose(found.law_state[name][-1], value, atol=1e-13)
    a = mz.forward_dynamics(ARM, found.q, found.v, found.tau, resistance=True)
    np.testing.assert_allclose(found.a, a, atol=1e-10)
    assert found.driven


START = np.array([[0.2, -0.1, 0.4], [0.3, 0.1, -0.2]])


@pytest.fixture(scope="module")
def exactly():
    """A law that is sampled every 20 ms, with steps so fine that they do not matter."""
    law = mz.Law(controller, STATE, period=0.02)
    return law, mz.simulate(ARM, START, REST, 0.2, 1e-3, "rkmk4", law, record_every=20)


@pytest.mark.parametrize("dt", [0.02, 0.005])
def test_a_law_is_held_between_its_samples_by_dopri5(dt, exactly):
    """Which chooses its steps between; without a period it is sampled every dt."""
    law, wanted = exactly
    laws = [law] if dt < 0.02 else [law, mz.Law(controller, STATE)]
    for one in laws:
        found = mz.simulate(ARM, START, REST, 0.2, dt, "dopri5", one, record_every=round(0.02 / dt))
        np.testing.assert_allclose(found.q, wanted.q, atol=2e-9)
        np.testing.assert_allclose(found.tau, wanted.tau, atol=2e-8)
        np.testing.assert_allclose(found.a, wanted.a, atol=2e-7)
        for name, value in wanted.law_state.items():
            np.testing.assert_allclose(found.law_state[name], value, atol=2e-8)


def test_a_law_of_dopri5_has_gains_that_vary_and_is_saved(tmp_path):
    pytest.importorskip("zarr")

    def law(t, q, v, x, h, kp):
        total = x["total"] + h * (0.3 - q)
        return kp * (0.3 - q) - v + total, {"total": total}

    sampled, gains = mz.Law(law, {"total": REST}, period=0.02), {"kp": np.array([5.0, 9.0])}
    given = ARM, START, REST, 0.2, 0.01, "dopri5", sampled
    whole = mz.simulate(*given, parameters=gains)
    fixed = mz.Law(lambda t, q, v, x, h: law(t, q, v, x, h, 9.0), {"total": REST}, period=0.02)
    alone = mz.simulate(ARM, START[1], REST, 0.2, 0.01, "dopri5", fixed)
    np.testing.assert_allclose(whole.q[1], alone.q, atol=1e-12)
    np.testing.assert_allclose(whole.law_state["total"][1], alone.law_state["total"], atol=1e-12)
    saved = mz.simulate(*given, parameters=gains, save=tmp_path / "run.zarr")
    np.testing.assert_array_equal(saved.q, whole.q)


@pytest.mark.parametrize("method", ["generalized_alpha", "momentum"])
def test_implicit_methods_keep_their_order_under_a_sampled_law(method, exactly):
    """Order 2 in the step with samples at the same times: forces act as soon as they are held."""
    law, wanted = exactly
    errors = []
    for steps in (2, 4, 8):
        found = mz.simulate(ARM, START, REST, 0.2, 0.02 / steps, method, law, record_every=steps)
        errors.append(np.abs(found.v - wanted.v).max())
    assert 3.8 < errors[0] / errors[1] < 4.2 and 3.8 < errors[1] / errors[2] < 4.2


def test_a_function_is_a_law_of_rollouts():
    """As a Law without a state, with its gradient."""

    def law(t, q, v):
        return np.interp(t, [0.0, 0.02, 0.1], [1.0, 3.0, 0.0]) * np.ones(3) - 2.0 * v

    tau, rng = np.zeros((8, 3)), np.random.default_rng(2)
    found = mz.rollout(ARM, START, REST, tau[:, None], 0.01, torque=law)
    wanted = mz.simulate(ARM, START, REST, 0.08, 0.01, "rkmk4", mz.Law(law))
    np.testing.assert_allclose(found[0].swapaxes(0, 1), wanted.q, atol=1e-13)
    dq, dv = rng.standard_normal((2, 9, 2, 3))
    given = ARM, *found[:2], np.zeros((8, 2, 3)), 0.01, dq, dv
    one, two = (
        mz.rollout_gradient(*given, torque=x, rows=found[2]) for x in (law, mz.Law(law))
    )
    np.testing.assert_array_equal(one[2], two[2])
    with pytest.raises(mz.ConfigurationError, match="acts besides tau"):
        mz.rollout(ARM, START, REST, tau[:, None], 0.01, torque=np.ones(3))
    with pytest.raises(mz.ConfigurationError, match=r"line \d+ of test_law.py .*mz.where"):
        mz.rollout(ARM, START, REST, tau[:, None], 0.01,
                   torque=lambda t, q, v: v if t > 0.1 else -v)  # fmt: skip


@pytest.mark.parametrize("trace", [None, False])
def test_a_controller_is_a_law_whatever_it_calls_its_own_things(trace: bool | None):
    """A callable object with a state and a function of its own, which are none of a `Law`."""

    class Controller:
        state, function = {"total": 0.0}, "damper"

        def __call__(self, t, q, v):
            return -2.0 * v

    given = {} if trace is None else {"trace": trace}
    found, wanted = (
        mz.simulate(ARM, START, REST, 0.05, 0.01, torque=law, **given)
        for law in (Controller(), lambda t, q, v: -2.0 * v)
    )
    np.testing.assert_array_equal(found.q, wanted.q)


def test_equality_is_traced_and_never_false_by_itself():
    """It chooses when the law runs; `if` on it is told."""
    law = lambda t, q, v: mz.where(q[0] == 0.25, 1.0, 2.0) + np.where(v != 0.0, 10.0, 20.0)
    kernel = mz.compile(lambda q, v: law(0.0, q, v), ARM)
    q, v = np.array([[0.25, 0, 0], [0.26, 0, 0]]), np.array([0.0, 0.1, -0.0])
    np.testing.assert_array_equal(kernel(q, v), [[21.0, 11.0, 21.0], [22.0, 12.0, 22.0]])

    def wrong(t, q, v):
        if q[0] == 0:
            return v
        return -v

    with pytest.raises(mz.ConfigurationError, match=r"line \d+ of test_law.py `if q\[0\] == 0:`"):
        mz.simulate(ARM, START, REST, 0.1, 0.01, torque=wrong, trace=True)


@pytest.mark.parametrize(
    ("law", "remedy"),
    [
        (lambda t, q, v: -v * int(10 * t), "counts is the state of a mz.Law"),
        (lambda t, q, v: -v * (t % 0.2), "counts is the state of a mz.Law"),
        (lambda t, q, v: np.floor(q), "np.floor: whole numbers"),
        (lambda t, q, v: np.round(t) * v, "np.round: whole numbers"),
        (lambda t, q, v: max(t, 0.5) * v, "mz.maximum"),
        (lambda t, q, v: v if t in (0.0, 1.0) else -v, "mz.where"),
    ],
)
def test_what_is_not_traced_has_a_remedy(law, remedy):
    with pytest.raises(mz.ConfigurationError, match=r"line \d+ of test_law.py.*") as told:
        mz.simulate(ARM, START, REST, 0.1, 0.01, torque=law, trace=True)
    assert remedy in str(told.value)


def test_records_of_a_law_are_independent_of_how_many_there_are():
    law = mz.Law(controller, STATE, period=0.007)
    states = np.random.default_rng(0).standard_normal((2, 4, 3)) * 0.3
    fine = mz.simulate(ARM, *states, 0.05, 1e-3, torque=law)
    coarse = mz.simulate(ARM, *states, 0.05, 1e-3, torque=law, record_every=25)
    np.testing.assert_allclose(fine.q[:, ::25], coarse.q, atol=1e-13)
    line = fine.law_state["line"][:, ::25]
    np.testing.assert_allclose(line, coarse.law_state["line"], atol=1e-13)
    np.testing.assert_array_equal(fine[2].law_state["slow"], fine.law_state["slow"][2])


@pytest.mark.parametrize("target", ["cpu", "interpret", "jax", "torch"])
def test_a_stepper_carries_the_state_of_its_law(target):
    """In two calls as in one, and as simulate does."""
    if target == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    law = mz.Law(controller, STATE, period=0.004)
    step = mz.stepper(ARM, torque=law, target=target)
    q, v, x = np.array([0.2, -0.1, 0.4]), REST, law.start(ARM)
    for k in range(2):
        q, v, x = step(q, v, x, 0.01 * k, 1e-3, 10)
    motion = mz.simulate(ARM, [0.2, -0.1, 0.4], REST, 0.02, 1e-3, torque=law)
    np.testing.assert_allclose(q, motion.q[-1], atol=1e-12)
    np.testing.assert_allclose(law.parts(ARM, np.asarray(x))["total"],
                               motion.law_state["total"][-1], atol=1e-12)  # fmt: skip


def test_gradients_through_a_law_and_to_its_gains(floating):
    """Against differences, of a law on quaternions; a gain is a state that stays."""
    model, rng, n = floating, np.random.default_rng(1), floating.nv
    goal = model.random_configuration(rng)

    def law(t, q, v, x, h):
        error = mz.difference(model, q, goal)
        total = x["total"] + h * np.tanh(error)
        kick = mz.where(q[0] > 0.2, 0.3 * np.exp(-(q[0] ** 2)), np.sin(t)) * q[-1]
        return x["gain"] * error - 1.1 * v + 0.5 * total + kick, {"total": total, "gain": x["gain"]}

    def law_with(gain):
        return mz.Law(law, {"total": np.zeros(n), "gain": gain}, period=0.02)

    gain, dt = 2.0 * np.ones(n), 0.01
    q0, v0, tau = model.random_configuration(rng), rng.standard_normal(n), np.zeros((12, n))
    dq, dv = rng.standard_normal((2, 13, n))
    q, v, x = mz.rollout(model, q0, v0, tau, dt, torque=law_with(gain))

    def cost(q0, v0, tau, gain):
        found = mz.rollout(model, q0, v0, tau, dt, torque=law_with(gain))
        return (dq * mz.difference(model, q, found[0])).sum() + (dv * found[1]).sum()

    by_q, by_v, by_tau, by_x = mz.rollout_gradient(
        model, q, v, tau, dt, dq, dv, torque=law_with(gain), rows=x
    )
    e, d, kick = 1e-6, rng.standard_normal((3, n)), rng.standard_normal(tau.shape)
    slope = lambda f: (f(e) - f(-e)) / (2.0 * e)
    checks = [
        (by_q @ d[0], slope(lambda s: cost(mz.integrate(model, q0, s * d[0]), v0, tau, gain))),
        (by_v @ d[1], slope(lambda s: cost(q0, v0 + s * d[1], tau, gain))),
        ((by_tau * kick).sum(), slope(lambda s: cost(q0, v0, tau + s * kick, gain))),
        (by_x["gain"] @ d[2], slope(lambda s: cost(q0, v0, tau, gain + s * d[2]))),
    ]
    for found, wanted in checks:
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    motion = mz.simulate(model, q0, v0, 0.12, dt, torque=law_with(gain))
    np.testing.assert_allclose(motion.q, q, atol=1e-13)


def by_math(t, q, v):
    import math

    return [math.sin(x) for x in q]


def by_zeros(t, q, v):
    tau = np.zeros(3)
    tau[0] = -q[0]
    return tau


def by_if(t, q, v):
    if q[0] > 0.0:
        return -q
    return q


def by_mixture(t, q, v):
    return np.sin(np.array([q[0], 1.0, 2.0]))


@pytest.mark.parametrize(
    ("law", "line", "remedy"),
    [
        (by_math, r"`return \[math.sin\(x\) for x in q\]`", "np.sin and the like instead of math"),
        (by_zeros, r"`tau\[0\] = -q\[0\]`", r"np.zeros_like\(q\) or np.zeros\(n, dtype=object\)"),
        (by_if, "`if q\\[0\\] > 0.0:`", r"mz.where\(condition, a, b\) instead of if"),
        (by_mixture, r"`return np.sin.*`", r"made by mz.array\(\[…\]\)"),
    ],
)
def test_a_law_that_cannot_be_traced_is_told_why_and_where(law, line, remedy):
    """The line in the caller's file, and what to write there; held in Python where that goes."""
    text = rf"the law cannot be traced: line \d+ of test_law.py {line}: TypeError: .*{remedy}"
    with pytest.raises(mz.ConfigurationError, match=text):
        mz.simulate(ARM, REST, REST, 0.01, 1e-3, torque=law, trace=True)
    with pytest.raises(mz.ConfigurationError, match=text):
        mz.stepper(ARM, torque=law)
    with pytest.warns(UserWarning, match=text + ".*called from Python"):
        mz.simulate(ARM, REST, REST, 0.002, 1e-3, torque=lambda t, q, v: law(t, q, v))


def test_laws_that_do_not_fit_are_refused():
    for law, words in [
        (mz.Law(lambda t, q, v: v[:2]), r"returned shape \(2,\); return nv = 3"),
        (mz.Law(lambda t, q, v, x, h: v, {"a": 0.0}), r"return \(forces, \{name"),
        (mz.Law(lambda t, q, v, x, h: (v, {}), {"a": 0.0}), r"states \[\]; return .*\['a'\]"),
        (mz.Law(lambda t, q, v, x, h: (v, {"a": v}), {"a": 0.0}), r"shape \(3,\); it began"),
    ]:
        with pytest.raises(mz.ConfigurationError, match=words):
            mz.simulate(ARM, REST, REST, 0.01, 1e-3, torque=law)
    with pytest.raises(mz.ConfigurationError, match="period -1"):
        mz.Law(lambda t, q, v: v, period=-1.0)
    with pytest.raises(mz.ConfigurationError, match="'tau': that name is taken"):
        mz.Law(lambda t, q, v, x, h: (v, x), {"tau": 0.0})
