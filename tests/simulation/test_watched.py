"""Long runs: Ctrl-C in time with what was computed, progress that moves, and what simulations say
about themselves.
"""

from __future__ import annotations

import _thread
import math
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from support.cases import first

import mozzi as mz
from mozzi.lie import Inertia
from mozzi.model import Builder, Revolute
from mozzi.model.generate import chain, double_pendulum
from mozzi.simulation.pace import Pace
from mozzi.simulation.running.simulation import Simulation

IN_TIME = 0.5  # seconds that a person waits after Ctrl-C, at most


@pytest.fixture(scope="module")
def model():
    return double_pendulum()


def interrupted(call, after: float = 0.7) -> tuple[BaseException, float]:
    """What a call raises where somebody presses Ctrl-C meanwhile, and how long that took."""
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        _thread.interrupt_main()

    timer = threading.Timer(after, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            call()
        return caught.value, time.monotonic() - pressed[0]
    finally:
        timer.cancel()
        timer.join()


@pytest.mark.parametrize("batch", [(), (4096,)])
@pytest.mark.parametrize("method", first(2, ["rkmk4", "dopri5", "semi_implicit"]))
def test_ctrl_c_within_a_record_window(model, method, batch):
    """All of an hour between two records: stopped at once, where it came to."""
    rng = np.random.default_rng(0)
    q0, v0 = rng.normal(size=(*batch, 2)), np.zeros((*batch, 2))
    shares: list[float] = []

    def call(duration: float = 3600.0) -> None:
        mz.simulate(model, q0, v0, duration, 1e-4, method, record_every=10**9,
                    progress=shares.append)  # fmt: skip

    call(1e-3)  # compiled
    shares.clear()
    stop, seconds = interrupted(call)
    assert isinstance(stop, mz.Interrupted)
    assert seconds < IN_TIME
    x = stop.trajectory
    assert len(x.t) == 2 and 0.0 < x.t[-1] < 3600.0 and not x.complete
    assert np.isfinite(x.q).all() and x.q.shape == (*batch, 2, 2)
    assert len(shares) >= 2 and shares == sorted(shares) and shares[-1] > 0.0


def test_what_was_kept_is_the_motion(model):
    """The state between two records is that of a run that records there, to the last bit."""
    q0, v0 = np.array([1.0, -0.5]), np.array([0.1, 0.2])
    run = Simulation(model, q0, v0, 100.0, 1e-3, record_every=10**6)
    for _ in run.run():
        x = run.trajectory(tell=False)
        if len(x.t) > 1:
            break
    steps = round(x.t[-1] / 1e-3)
    y = mz.simulate(model, q0, v0, steps * 1e-3, 1e-3, record_every=steps)
    assert y.t[-1] == x.t[-1]
    np.testing.assert_array_equal(x.q[-1], y.q[-1])


def test_windows_are_cut_by_time_and_results_are_not(model, monkeypatch):
    """However calls are cut, the numbers are the same."""
    law = lambda t, q, v: np.array([np.sin(3.0 * t), 0.1 * t])
    q0, v0 = np.array([1.0, -0.5]), np.zeros(2)
    whole = mz.simulate(model, q0, v0, 1.0, 1e-3, torque=law, record_every=250)
    for most in (1, 7, 100):
        monkeypatch.setattr(Pace, "next", lambda self, left, most=most: min(left, most))
        cut = mz.simulate(model, q0, v0, 1.0, 1e-3, torque=law, record_every=250)
        np.testing.assert_array_equal(cut.q, whole.q)


def test_ctrl_c_in_one_large_batch():
    """Calls of algorithms are cut into slices, on one thread as well."""
    arm = chain(30)
    q = np.broadcast_to(arm.random_configuration(0), (100_000, arm.nq))
    kernel = mz.compile(mz.mass_matrix_inverse, arm)
    out = np.empty((100_000, arm.nv, arm.nv))
    try:
        mz.set_num_threads(1)

        def call() -> None:
            while True:
                kernel(q, out=out)

        _, seconds = interrupted(call, 0.3)
        assert seconds < IN_TIME
    finally:
        mz.set_num_threads(None)


@pytest.mark.skipif(os.name == "nt", reason="signals of processes")
def test_ctrl_c_on_the_command_line(tmp_path):
    """Records far apart: the file is written with where it came to, and the exit says so."""
    urdf = tmp_path / "arm.urdf"
    link = (
        '<link name="{0}"><inertial><origin xyz="0 0 0.1"/><mass value="1"/><inertia ixx="0.1" '
        'iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    joint = (
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        '<axis xyz="1 0 0"/><dynamics damping="0.1"/></joint>'
    )
    urdf.write_text(f'<robot name="r">{link.format("a")}{link.format("b")}{joint}</robot>')
    out = tmp_path / "run.npz"
    line = [sys.executable, "-m", "mozzi", "simulate", str(urdf), "--duration", "1e6", "--dt",
            "1e-3", "--every", "1000000000", "--out", str(out), "--q0", "1",
            "--no-resistance"]  # fmt: skip
    process = subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "taken out" in process.stdout.readline()  # told when it is about to start
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 130, told
    assert "what was computed is kept" in told
    x = mz.Trajectory.load(out)
    assert len(x.t) == 2 and x.t[-1] > 1.0 and np.isfinite(x.q).all()


# -- dopri5 --


def test_dopri5_has_no_budget(model):
    """More than 100,000 tries are no divergence."""
    x = mz.simulate(model, [1.0, 0.5], [0.0, 0.0], 30.0, 30.0, "dopri5", rtol=1e-13, atol=1e-15)
    assert x.complete and not x.diverged
    assert x.energy_drift() < 1e-9


def test_a_budget_that_is_used_up_is_no_divergence(model):
    with pytest.warns(mz.DivergenceWarning, match=r"used up its tries \(50\) .*give more tries"):
        x = mz.simulate(model, [1.0, 0.5], [0.0, 0.0], 10.0, 1.0, "dopri5", tries=50)
    assert not x.diverged and not x.complete and 0.0 < x.t[-1] < 10.0
    y = mz.simulate(model, [1.0, 0.5], [0.0, 0.0], float(x.t[-1]), float(x.t[-1]), "dopri5")
    np.testing.assert_allclose(x.q[-1], y.q[-1], atol=1e-7)


@pytest.mark.parametrize("events", [(), (lambda t, q, v: t - 0.1,)])
def test_a_step_that_underflows_is_divergence_and_keeps_what_was(events):
    """A force that is infinite at t = 0.3: the state just before it is kept, though it is no
    record; a smaller dt is not advised. Events that end nothing do not hide it.
    """
    body = Inertia(1.0, (0, 0, 0), np.eye(3))
    wheel = Builder().add("wheel", None, Revolute("z"), body).build()
    law = lambda t, q, v: np.array([1.0 / (0.3 - t) ** 2])
    with pytest.warns(mz.DivergenceWarning, match="diverged .* shorter than rounding") as told:
        x = mz.simulate(wheel, [0.0], [0.0], 1.0, 1.0, "dopri5", torque=law, events=events)
    assert len(x.events) == len(events)
    assert not any("smaller dt" in str(w.message) for w in told)
    assert len(x.t) == 2 and x.t[-1] == pytest.approx(0.3, abs=1e-6) == x.diverged[()]
    assert np.isfinite(x.v).all() and x.v[-1, 0] > 1e3


def test_progress_of_dopri5_moves_within_a_window(model):
    shares: list[float] = []
    mz.simulate(model, [1.0, 0.5], [0.0, 0.0], 200.0, 200.0, "dopri5", rtol=1e-12, atol=1e-13,
                progress=shares.append)  # fmt: skip
    assert shares[-1] == 1.0 and shares == sorted(shares)


# -- energy, friction --


def test_energy_that_nothing_explains_is_told(model):
    """semi_implicit gains energy in silence no more; a better method, and a driven motion, are
    not accused.
    """
    q0, v0 = np.array([2.0, 1.0]), np.zeros(2)
    with pytest.warns(mz.EnergyWarning, match="semi_implicit.*method='rkmk4'"):
        mz.simulate(model, q0, v0, 20.0, 0.02, "semi_implicit", record_every=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mz.simulate(model, q0, v0, 5.0, 2e-3, "rkmk4", record_every=10)
        mz.simulate(model, q0, v0, 5.0, 0.02, "semi_implicit", torque=np.ones(2), record_every=10)


def test_energy_does_not_depend_on_where_heights_are_measured():
    """The same pendulum a kilometre higher is judged alike."""
    body = Inertia(1.0, (0, 0.5, 0), 0.01 * np.eye(3))
    told = []
    for height in (0.0, 1000.0):
        pendulum = Builder().add("p", None, Revolute("x"), body, placement=(0, 0, height)).build()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            mz.simulate(pendulum, [1.0], [0.0], 30.0, 0.2, "semi_implicit")
        told.append([type(w.message) for w in found])
    assert told[0] == told[1] == [mz.EnergyWarning]


@pytest.mark.parametrize("method", ["rkmk4", "semi_implicit"])
def test_friction_too_stiff_for_explicit_steps_is_told(method):
    """Inertia 0.02, friction 50: explicit steps chatter, moreau comes to rest."""
    body = Inertia(0.0, (0, 0, 0), 0.02 * np.eye(3))
    wheel = Builder().add("wheel", None, Revolute("z"), body, friction=50.0).build()
    with pytest.warns(mz.StiffWarning, match="'wheel'.*50.*method='moreau'"):
        x = mz.simulate(wheel, [0.0], [3.0], 0.1, 1e-3, method)
    assert abs(x.v[-1, 0]) > 1e-3  # what the warning is for
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = mz.simulate(wheel, [0.0], [3.0], 0.1, 1e-3, "moreau")
        mz.simulate(wheel, [0.0], [3.0], 0.1, 1e-3, method, resistance=False)
    assert abs(y.v[-1, 0]) < 1e-9


def test_friction_that_takes_dopri5_very_long_is_told():
    body = Inertia(0.0, (0, 0, 0), 1e-5 * np.eye(3))
    wheel = Builder().add("wheel", None, Revolute("z"), body, friction=1.0).build()
    with pytest.warns(mz.StiffWarning, match="'wheel': dry friction 1 .*3e.07 steps.*'moreau'"):
        mz.simulate(wheel, [0.0], [0.0], 1.0, 1e-2, "dopri5", tries=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", mz.StiffWarning)
        mz.simulate(wheel, [0.0], [0.0], 1e-3, 1e-4, "dopri5")
        mz.simulate(wheel, [0.0], [0.0], 1.0, 1e-2, "dopri5", resistance=False)


@pytest.mark.parametrize("method", ["rkmk4", "semi_implicit", "moreau"])
def test_divergence_by_stiff_dampers_names_the_joint(method):
    body = Inertia(0.0, (0, 0, 0), 1e-3 * np.eye(3))
    wheel = Builder().add("wheel", None, Revolute("z"), body, damping=5.0).build()
    told = "the damping 5 of joint 'wheel' .*'generalized_alpha'.* 0.000"
    with pytest.warns(mz.DivergenceWarning, match=told):
        mz.simulate(wheel, [0.0], [1.0], 0.1, 1e-3, method)
    y = mz.simulate(wheel, [0.0], [1.0], 0.1, 1e-3, "generalized_alpha")
    assert abs(y.v[-1, 0]) < 1e-3


def test_friction_that_steps_follow_is_not_accused():
    body = Inertia(0.0, (0, 0, 0), 1.0 * np.eye(3))
    wheel = Builder().add("wheel", None, Revolute("z"), body, friction=1.0).build()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = mz.simulate(wheel, [0.0], [1.0], 1.5, 1e-3)
    assert abs(x.v[-1, 0]) < 1e-3
    assert math.isclose(x.q[-1, 0], 0.5, abs_tol=5e-3)


def stopped_pendulum() -> mz.Model:
    body = Inertia(1.0, (0, 0.5, 0), 0.01 * np.eye(3))
    return Builder().add("p", None, Revolute("x"), body, lower=-0.1, upper=0.5).build()


@pytest.mark.parametrize("batch", [(), (2,)])
def test_energy_that_stops_and_dampers_cannot_give_is_told(batch):
    """Stops that steps do not resolve throw a pendulum; they may give back what they held."""
    pendulum = stopped_pendulum()
    q0 = np.broadcast_to([0.4], (*batch, 1))
    with pytest.warns(mz.EnergyWarning, match=r"nothing drives .*, and it wins .*dt than 0\.05"):
        mz.simulate(pendulum, q0, [0.0], 0.4, 0.05, limits=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mz.simulate(pendulum, q0, [0.0], 2.0, 1e-3, limits=True)
        mz.simulate(pendulum, q0 + 0.5, [0.0], 2.0, 1e-3, limits=True)  # thrown by a stop


def test_what_is_faster_than_light_is_told():
    """Finite numbers that are no motion, under a law that may do any work."""
    pendulum = stopped_pendulum()
    law = lambda t, q, v: -1e5 * q
    with pytest.warns(mz.DivergenceWarning, match="the motion has speeds of .*, faster than light"):
        motion = mz.simulate(pendulum, [0.4], [0.0], 0.08, 0.01, "semi_implicit", torque=law)
    assert not motion.diverged


def test_a_motion_that_went_far_away_is_not_blamed_on_its_inertia():
    """There rounding alone makes the mass matrix singular."""
    with pytest.warns(mz.DivergenceWarning) as told:
        arm = chain(6, seed=1)
        law = lambda t, q, v: -1e9 * q
        mz.simulate(arm, 0.1 * np.ones(6), np.zeros(6), 1.0, 0.03, torque=law)
    assert not any("singular" in str(w.message) for w in told)


def test_what_has_no_inertia_is_told_without_a_word_of_numpy():
    point = Inertia(1.0, (0, 0, 0), np.zeros((3, 3)))
    speck = Builder().add("p", None, Revolute("x"), point, lower=-1.0, upper=1.0).build()
    with warnings.catch_warnings(), pytest.raises(mz.SingularError, match="'p' has no inertia"):
        warnings.simplefilter("error")
        mz.simulate(speck, [0.0], [0.0], 0.1, 0.01, limits=True)
