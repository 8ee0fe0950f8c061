"""`simulate`: what it takes, what it gives, what it refuses."""

import math
import shutil

import numpy as np
import pytest
from simulation.mechanisms import apart, floating, slider, state

import mozzi as mz
from mozzi.model.generate import double_pendulum, four_bar
from mozzi.program.scalar import select
from mozzi.simulation import METHODS, DormandPrince, Resistance, Simulation, Stops
from mozzi.simulation.methods.generalized_alpha import GeneralizedAlpha
from mozzi.simulation.methods.momentum import MomentumPreserving
from mozzi.simulation.methods.moreau import Moreau
from mozzi.types import Rep

REST = np.zeros(2)


@pytest.fixture(scope="module")
def model() -> mz.Model:
    return double_pendulum()


@pytest.mark.parametrize("method", METHODS)
def test_a_sample_moves_as_it_does_alone(model, method):
    """The motion of a sample does not depend on its batch."""
    q0 = np.array([[2.0, 1.0], [0.1, -0.2], [-1.0, 2.5], [3.0, 0.0], [0.4, 0.4]])
    batch = mz.simulate(model, q0, REST, 0.5, 5e-3, method, record_every=10)
    assert batch.q.shape == (5, 11, 2) and batch.t.shape == (11,)
    for k in (0, 3):
        alone = mz.simulate(model, q0[k], REST, 0.5, 5e-3, method, record_every=10)
        assert np.array_equal(alone.q, batch.q[k]) and np.array_equal(alone.v, batch.v[k])


@pytest.mark.parametrize("method", ["rkmk4", "momentum", "generalized_alpha"])
def test_records_do_not_change_the_motion(model, method):
    every = mz.simulate(model, [2.0, 1.0], REST, 1.0, 5e-3, method)
    some = mz.simulate(model, [2.0, 1.0], REST, 1.0, 5e-3, method, record_every=40)
    assert np.allclose(every.q[::40], some.q, atol=1e-13)
    assert some.t == pytest.approx(np.linspace(0.0, 1.0, 6))


def test_the_last_step_is_shorter_where_dt_does_not_divide(model):
    x = mz.simulate(model, [2.0, 1.0], REST, 0.25, 0.1, "dopri5")
    y = mz.simulate(model, [2.0, 1.0], REST, 0.2505, 1e-3, record_every=100)
    assert x.t == pytest.approx([0.0, 0.1, 0.2, 0.25])
    assert y.t == pytest.approx([0.0, 0.1, 0.2, 0.2505]) and y.complete
    exact = mz.simulate(model, [2.0, 1.0], REST, 0.2505, 0.2505, "dopri5", rtol=1e-12)
    assert apart(model, y, exact) < 1e-8


def test_time_starts_where_it_is_told(model):
    law = lambda t, q, v: np.array([np.sin(t), 0.0])
    x = mz.simulate(model, [0.1, 0.0], REST, 0.5, 1e-3, torque=law, t0=2.0)
    y = mz.simulate(model, [0.1, 0.0], REST, 0.5, 1e-3, torque=lambda t, q, v: law(t + 2.0, q, v))
    assert x.t[0] == 2.0 and x.t[-1] == pytest.approx(2.5)
    assert np.allclose(x.q, y.q, atol=1e-12)


@pytest.mark.parametrize("method", [m for m in METHODS if m != "dopri5"])
def test_steps_in_float32(model, method):
    """Records are float64 numbers that float32 steps led to."""
    q0 = np.array([[2.0, 1.0], [0.1, -0.2]])
    run = lambda **options: mz.simulate(
        model, q0, REST, 0.3, 5e-3, method, torque=[0.1, 0.2], record_every=20, **options
    )
    double, single = run(), run(dtype="float32")
    assert single.q.dtype == np.float64 and single.complete
    error = np.max(np.abs(double.q[:, 1:] - single.q[:, 1:]))
    assert 0.0 < error < 1e-4
    assert np.array_equal(double.q[:, 0], single.q[:, 0])


def test_what_a_target_cannot_do_is_named(model):
    run = lambda **options: mz.simulate(model, REST, REST, 0.1, 1e-2, **options)
    with pytest.raises(mz.ConfigurationError, match="'cpu' or 'cuda', not 'jax'"):
        run(target="jax")
    with pytest.raises(mz.ConfigurationError, match="dtype 'float16'"):
        run(dtype="float16")
    with pytest.raises(mz.ConfigurationError, match="dopri5 needs dtype='float64'"):
        run(dtype="float32", method="dopri5")
    with pytest.raises(mz.ConfigurationError, match=r"cannot be traced: .*target 'cuda' calls no"):
        run(target="cuda", torque=lambda t, q, v: np.floor(q))
    with pytest.raises(mz.ConfigurationError, match="trace=False, but target 'cuda'"):
        run(target="cuda", torque=lambda t, q, v: -v, trace=False)
    there = np.zeros(2).view(type("OnAGPU", (np.ndarray,), {"__cuda_array_interface__": {}}))
    with pytest.raises(mz.ConfigurationError, match="torque is on a GPU; give target='cuda', or"):
        run(torque=there)
    if shutil.which("nvidia-smi") is None:
        with pytest.raises(mz.ExtraMissingError, match=r"CuPy|GPU"):
            run(target="cuda")


# -- torques --


@pytest.mark.parametrize("method", METHODS)
def test_constant_torques_in_all_ways_are_the_same(model, method):
    """A constant, rows over time, a traced law and a Python law that give the same."""
    tau, run = np.array([0.7, -0.3]), {"duration": 0.2, "dt": 5e-3, "method": method}
    motions = [
        mz.simulate(model, [1.0, 0.5], REST, torque=tau, **run),
        mz.simulate(model, [1.0, 0.5], REST, torque=np.tile(tau, (40, 1)), **run),
        mz.simulate(model, [1.0, 0.5], REST, torque=lambda t, q, v: tau, **run),
        mz.simulate(model, [1.0, 0.5], REST, torque=lambda t, q, v: tau, trace=False, **run),
    ]
    for other in motions[1:]:
        assert apart(model, motions[0], other) < (1e-6 if method == "dopri5" else 1e-12)
        assert np.allclose(other.a, motions[0].a, atol=1e-4 if method == "dopri5" else 1e-9)


def test_a_law_from_python_is_held_over_a_step(model):
    """For a method that looks once per step, holding changes nothing."""
    law = lambda t, q, v: -3.0 * q - 0.5 * v
    traced = mz.simulate(model, [1.0, 0.5], REST, 0.5, 1e-3, "semi_implicit", law, trace=True)
    held = mz.simulate(model, [1.0, 0.5], REST, 0.5, 1e-3, "semi_implicit", law, trace=False)
    assert np.allclose(traced.q, held.q, atol=1e-13)


def test_a_misspelt_argument_is_told_apart_from_options(model, tmp_path):
    """What was meant is named; and a file finds its folder."""
    with pytest.raises(mz.ConfigurationError, match="did you mean 'record_every'"):
        mz.simulate(model, [1.0, 0.5], REST, 0.1, 1e-2, recordevery=2)
    motion = mz.simulate(model, [1.0, 0.5], REST, 0.1, 1e-2)
    assert motion.save(tmp_path / "new" / "folder" / "x.npz").exists()


def test_a_law_that_draws_numbers_draws_at_every_step():
    """Traced, the first draw would act at all times, in silence; a stepper refuses it."""
    rng, model = np.random.default_rng(0), double_pendulum()

    def noisy(t, q, v):
        return rng.normal(size=2)

    with pytest.warns(UserWarning, match="other forces when it is asked again"):
        motion = mz.simulate(model, [0.5, 0.0], [0.0, 0.0], 0.1, 1e-2, torque=noisy)
    tau = mz.inverse_dynamics(model, motion.q[:-1], motion.v[:-1], np.diff(motion.v, axis=0) / 1e-2)
    assert tau.std(axis=0).min() > 0.3
    with pytest.raises(mz.ConfigurationError, match="other forces when it is asked again"):
        mz.stepper(model, torque=noisy)


def test_a_law_that_cannot_be_traced_is_told(model):
    def law(t, q, v):
        return np.where(q > 0.5, -1.0, 0.0) if q[0] > 0.0 else np.zeros(2)

    with pytest.warns(UserWarning, match="cannot be traced"):
        x = mz.simulate(model, [1.0, 0.5], REST, 0.05, 1e-3, torque=law)
    assert x.tau is not None and x.tau.shape == x.v.shape
    with pytest.raises(mz.ConfigurationError, match=r"mz\.where"):
        mz.simulate(model, [1.0, 0.5], REST, 0.05, 1e-3, torque=law, trace=True)


def test_laws_choose_with_select(model):
    def law(t, q, v):
        return np.array([select(t < 0.1, 1.0, 0.0), 0.0])

    x = mz.simulate(model, [0.0, 0.0], REST, 0.2, 1e-3, torque=law)
    rows = np.zeros((200, 2))
    rows[:100, 0] = 1.0
    y = mz.simulate(model, [0.0, 0.0], REST, 0.2, 1e-3, torque=rows)
    assert apart(model, x, y) < 1e-3


def test_computed_torque_follows_its_reference(model):
    """A law may call algorithms: with inverse dynamics the error obeys ë + 2·5 ė + 25 e = 0."""

    def law(t, q, v):
        e = q - np.array([0.5, -0.2])
        return mz.inverse_dynamics(model, q, v, -10.0 * v - 25.0 * e)

    x = mz.simulate(model, [1.5, 0.8], REST, 2.0, 1e-3, torque=law)
    decay = (1.0 + 5.0 * x.t) * np.exp(-5.0 * x.t)
    assert np.allclose(x.q - [0.5, -0.2], np.outer(decay, [1.0, 1.0]), atol=1e-9)


def test_wrenches_push_bodies():
    """A constant force on a free body without gravity: a parabola."""
    body = mz.Inertia(2.0, (0.0, 0.0, 0.0), np.eye(3))
    model = mz.Builder("ball", gravity=(0.0, 0.0, 0.0)).add("ball", None, mz.Free(), body).build()
    W = [[0.0, 0.0, 0.0, 4.0, 0.0, 0.0]]
    for method in METHODS:
        x = mz.simulate(model, model.neutral(), np.zeros(6), 1.0, 0.01, method, wrenches=W)
        assert x.q[-1, :3] == pytest.approx([1.0, 0.0, 0.0], abs=1.1e-2)
        assert x.v[-1, 3] == pytest.approx(2.0) and x.a[-1, 3] == pytest.approx(2.0)


@pytest.mark.parametrize("method", METHODS)
def test_wrenches_are_held_as_each_run_says(method):
    """A force that turns with the body, then one that does not, on the same model."""
    body = mz.Inertia(2.0, (0.0, 0.0, 0.0), np.eye(3))
    model = mz.Builder("ball", gravity=(0.0, 0.0, 0.0)).add("ball", None, mz.Free(), body).build()
    given = model.neutral(), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0], 1.0, 0.01, method
    turned = [2.0 - 2.0 * math.cos(1.0), 2.0 - 2.0 * math.sin(1.0)]
    exact: dict[Rep, list[float]] = {"body": turned, "hybrid": [1.0, 0.0]}
    for rep, p in exact.items():
        x = mz.simulate(model, *given, wrenches=[[0.0, 0.0, 0.0, 4.0, 0.0, 0.0]], wrenches_rep=rep)
        assert x.q[-1, :2] == pytest.approx(p, abs=0.02)


# -- joint models --


def test_springs_and_dampers():
    """m ẍ + d ẋ + k x = 0 in closed form."""
    model = slider(stiffness=8.0, damping=1.0)
    x = mz.simulate(model, [1.0], [0.0], 3.0, 1e-3, resistance=True)
    w = math.sqrt(4.0 - 1.0 / 16.0)
    exact = np.exp(-x.t / 4) * (np.cos(w * x.t) + np.sin(w * x.t) / (4 * w))
    assert np.allclose(x.q[:, 0], exact, atol=1e-10)
    assert np.all(np.diff(x.energy()) < 1e-12)
    free = mz.simulate(model, [1.0], [1.0], 1.0, 1e-3, resistance=False)
    assert free.v[-1, 0] == pytest.approx(1.0)  # taken out


def test_dry_friction_brings_to_rest():
    model = slider(friction=2.0)
    x = mz.simulate(model, [0.0], [1.0], 1.5, 1e-4, resistance=Resistance(slip=1e-4))
    assert x.v[x.t < 0.9, 0] == pytest.approx(1.0 - x.t[x.t < 0.9], abs=1e-3)
    assert abs(x.v[-1, 0]) < 1e-3


def test_stops_hold_a_joint_within_its_limits():
    model = slider(limits=(-0.5, 0.5))
    loose = mz.simulate(model, [0.0], [1.0], 3.0, 1e-3)
    held = mz.simulate(model, [0.0], [1.0], 3.0, 1e-3, limits=True)
    assert loose.q[-1, 0] == pytest.approx(3.0)
    assert abs(held.q).max() < 0.51
    speed = abs(held.v[:, 0])
    assert speed[-1] < speed[0]  # something is lost at every touch
    elastic = mz.simulate(
        model, [0.0], [1.0], 3.0, 2e-4, limits=Stops(frequency=20.0, dissipation=0.0)
    )
    assert abs(elastic.v[-1, 0]) == pytest.approx(1.0, abs=1e-3)


def test_efforts_are_clipped_on_request():
    model = slider(effort=3.0)
    x = mz.simulate(model, [0.0], [0.0], 1.0, 1e-2, torque=[10.0], limits=Stops(effort=True))
    assert x.a[-1, 0] == pytest.approx(1.5)


# -- events --


def test_a_terminal_event_ends_a_sample_and_no_other(model):
    def low(t, q, v):
        return q[..., 0] - 1.0

    low.terminal = True
    low.direction = -1
    method = DormandPrince(rtol=1e-11, atol=1e-12, events=(low,))
    x = mz.simulate(model, [[2.0, 0.0], [0.2, 0.1]], REST, 1.0, 1e-2, method)
    (event,) = x.events
    assert event.sample == (0,) and event.q[0] == pytest.approx(1.0, abs=1e-9)
    assert not x.diverged and np.isfinite(x.q[1]).all()
    assert np.isfinite(x.q[0, x.t < event.t]).all() and np.isnan(x.q[0, x.t > event.t]).all()


# -- bad input --


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q0": [1.0]}, "nq = 2"),
        ({"q0": [1.0, math.nan]}, "not finite"),
        ({"v0": [1.0, 2.0, 3.0]}, "nv = 2"),
        ({"v0": [math.inf, 0.0]}, "not finite"),
        ({"q0": np.zeros((3, 2)), "v0": np.zeros((4, 2))}, "broadcast"),
        ({"dt": 0.0}, "dt 0 is not positive"),
        ({"dt": -1e-3}, "not positive"),
        ({"dt": math.nan}, "give a number"),
        ({"duration": 0.0}, "duration 0 is not positive"),
        ({"duration": "long"}, "give a number"),
        ({"method": "verlet"}, "there are .*'semi_implicit'"),
        ({"rho": 0.5}, "has no option 'rho'; it has 'state', 'tableau'"),
        ({"method": "generalized_alpha", "rho": 2.0}, r"in \[0, 1\]"),
        ({"method": "dopri5", "rtol": 0.0}, r"in \(0, 1\)"),
        ({"record_every": 0}, "whole number"),
        ({"duration": 1e12}, "larger dt"),
        ({"duration": 1e6}, "records; take a larger record_every"),
        ({"duration": 1e3, "q0": np.zeros((100_000, 2))}, "GiB; take a larger record_every"),
        ({"torque": [1.0, 2.0, 3.0]}, "torque has shape"),
        ({"torque": np.zeros((7, 2))}, r"\(100, 2\) for a row per step"),
        ({"torque": [math.nan, 0.0]}, "not finite"),
        ({"torque": lambda t, q, v: q[:1]}, "return nv = 2"),
        ({"wrenches": np.zeros((3, 6))}, "wrenches have shape"),
    ],
)
def test_bad_input_is_named(model, change, message):
    given = {"q0": [1.0, 0.5], "v0": [0.0, 0.0], "duration": 0.1, "dt": 1e-3} | change
    with pytest.raises(mz.MozziError, match=message):
        mz.simulate(model, **given)


def test_open_loops_are_refused():
    model = four_bar()
    with pytest.raises(mz.LoopError, match=r"'closure' is open by 1.00e\+00 .*assemble"):
        mz.simulate(model, model.neutral(), np.zeros(model.nv), 1.0, 1e-3)
    q = mz.assemble(model, model.neutral())
    with pytest.raises(mz.LoopError, match=r"'closure' opens at .*consistent_velocities"):
        mz.simulate(model, q, np.ones(model.nv), 1.0, 1e-3)


# -- divergence --


def test_a_sample_that_diverges_is_stopped_and_named(model):
    """The sample, the time; the others go on as if nothing had happened."""
    law = lambda t, q, v: 1e3 * v * (q[0] * q[0])
    q0 = np.array([[0.0, 0.0], [1.0, 0.5]])
    with pytest.warns(mz.DivergenceWarning, match=r"sample 1 diverged after t = .* went on"):
        x = mz.simulate(model, q0, REST, 1.0, 1e-2, torque=law)
    assert list(x.diverged) == [(1,)]
    time = x.diverged[(1,)]
    assert 0.0 < time < 1.0
    assert np.isfinite(x.q[1, x.t <= time]).all() and np.isnan(x.q[1, x.t > time]).all()
    assert np.isfinite(x.q[0]).all() and len(x.t) == 101
    assert np.isfinite(x.energy()[0]).all()


def test_a_motion_that_diverges_ends_there(model):
    law = lambda t, q, v: 1e3 * v * (q[0] * q[0])
    with pytest.warns(mz.DivergenceWarning, match="the motion diverged"):
        x = mz.simulate(model, [1.0, 0.5], REST, 10.0, 1e-2, torque=law)
    assert np.isfinite(x.q).all() and not x.complete
    assert x.t[-1] == x.diverged[()]


def test_newton_that_fails_is_told():
    model = slider(friction=50.0, stiffness=1e4)
    with pytest.warns(mz.DivergenceWarning, match="Newton"):
        mz.simulate(model, [0.01], [1.0], 1.0, 0.1, "generalized_alpha",
                    resistance=Resistance(slip=1e-6))  # fmt: skip


# -- watching --


def test_a_simulation_can_be_stopped(model):
    simulation = Simulation(model, [1.0, 0.0], REST, 1.0, 1e-3)
    for share in simulation.run():
        if share > 0.3:
            break
    x = simulation.trajectory()
    assert 0.3 < x.t[-1] < 0.5 and not x.complete and np.isfinite(x.q).all()


def test_progress_is_told(model):
    shares: list[float] = []
    mz.simulate(model, [1.0, 0.0], REST, 1.0, 1e-3, progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0


def test_two_states_of_one_mechanism_keep_their_energy():
    model = floating((0.0, 0.0, -9.81))
    q, v = state(model)
    x = mz.simulate(model, np.stack([q, q]), np.stack([v, 0 * v]), 0.5, 1e-3)
    assert x.energy_drift().shape == (2,) and x.energy_drift().max() < 1e-9


@pytest.mark.parametrize(
    ("method", "option", "wrong"),
    [
        ("moreau", "cut", "yes"), ("moreau", "steps", 2.5), ("moreau", "smoothing", "little"),
        ("moreau", "solver", 3), ("dopri5", "rtol", "small"), ("generalized_alpha", "rho", "one"),
    ],
)  # fmt: skip
def test_options_of_methods_are_of_their_kind(method, option, wrong):
    model = double_pendulum()
    with pytest.raises((mz.KindError, mz.ConfigurationError), match=option):
        mz.simulate(model, [0.1, 0.2], [0.0, 0.0], 0.01, 1e-3, method, **{option: wrong})


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (lambda: Moreau(solver="quick"), "no solver 'quick'"),  # type: ignore[arg-type]
        (lambda: Moreau(cut="yes"), "cut is 'yes'"),  # type: ignore[arg-type]
        (lambda: Moreau(steps=2.5), "steps is 2.5"),  # type: ignore[arg-type]
        (lambda: Moreau(steps=-1), "steps -1; give 0 or more"),
        (lambda: Moreau(interior=-1), "interior -1"),
        (lambda: MomentumPreserving(iterations=0), "iterations 0; give 1 or more"),
        (lambda: GeneralizedAlpha(iterations=-1), "iterations -1"),
        (lambda: DormandPrince(tries=0), "tries 0"),
    ],
)
def test_methods_refuse_options_when_they_are_made(made, word):
    """A misspelt solver was taken as a slow one, and no iterations left a ball in the air."""
    with pytest.raises((mz.KindError, mz.ConfigurationError), match=word):
        made()


def test_times_that_do_not_move_are_refused():
    """At 1e17 s numbers are 16 s apart: every record had the same time."""
    with pytest.raises(mz.ConfigurationError, match=r"16 s apart.*nearer to 0"):
        mz.simulate(double_pendulum(), REST, REST, 1.0, 0.1, t0=1e17)


def test_names_of_parameters_are_words():
    with pytest.raises(mz.ConfigurationError, match="parameters: 1 is no name"):
        mz.simulate(
            double_pendulum(), REST, REST, 1.0, 0.1, parameters={1: 2.0}  # type: ignore[dict-item]
        )


@pytest.mark.parametrize("method", ["rkmk4", "semi_implicit", "dopri5", "moreau"])
def test_a_motion_may_be_as_short_as_one_likes(method: str):
    """Beside its step, too."""
    model = double_pendulum()
    for duration in (1e-12, 1e-17, 1e-300):
        motion = mz.simulate(model, [0.1, 0.2], [1.0, 2.0], duration, 0.01, method=method)
        assert motion.t.tolist() == [0.0, duration]
        np.testing.assert_allclose(motion.q[-1], [0.1, 0.2], atol=1e-11)
