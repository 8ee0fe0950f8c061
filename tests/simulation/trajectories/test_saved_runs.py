"""Runs that are saved as they go: killed, interrupted and resumed, the numbers are the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import mozzi as mz
from mozzi.errors import ConfigurationError
from mozzi.model.generate import double_pendulum, four_bar
from mozzi.simulation.running.simulation import Simulation
from mozzi.simulation.trajectories import saved_runs as module

pytest.importorskip("zarr")

Q0, V0 = np.array([1.0, -0.5]), np.array([0.1, 0.2])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Many blocks in a short run."""
    monkeypatch.setattr(module, "BLOCK_RECORDS", 16)


def push(t, q, v):
    return np.array([np.sin(3.0 * t), 0.1 * q[0]])


def integral(t, q, v, x, h):
    e = x["e"]
    return -2.0 * v - e[:, 0], {"e": e + h * q[:, None] * np.ones((2, 3))}


def cases():
    law = mz.Law(integral, {"e": np.zeros((2, 3))}, period=0.05)

    def kick(t, q, v):
        return q[..., 0]

    yield "rkmk4", {}
    yield "semi_implicit", {"torque": push}
    yield "generalized_alpha", {}
    yield "dopri5", {"events": (kick,)}
    yield "rkmk4", {"torque": np.random.default_rng(0).normal(size=(200, 2))}
    yield "rkmk4", {"torque": law}
    yield "dopri5", {"torque": law}


@pytest.mark.parametrize(("method", "options"), cases())
@pytest.mark.parametrize("batch", [(3,), pytest.param((), marks=pytest.mark.slow)])
def test_broken_off_and_resumed_it_is_the_same(method, options, batch, tmp_path):
    """Abandoned in the middle of a block, twice: bitwise the unbroken run, from the last block."""
    model = double_pendulum()
    q0 = Q0 + 0.1 * np.arange(np.prod(batch, dtype=int)).reshape(*batch, 1)
    if isinstance(options.get("torque"), np.ndarray):
        options = {"torque": np.broadcast_to(options["torque"], (*batch, 200, 2))}
    arguments = model, q0, V0, 2.0, 0.01, method
    whole = mz.simulate(*arguments, **options)
    path = tmp_path / "run.zarr"
    for stop in (0.2, 0.6):
        run = Simulation(*arguments, save=path, **options)
        for share in run.run():
            if share > stop:
                break
        del run  # what was not written is lost
        part = mz.Trajectory.load(path, model)
        assert len(part.t) % 16 == 0 and 0 < len(part.t) <= 201 and not part.complete
        np.testing.assert_array_equal(part.q, whole.q[..., : len(part.t), :])
    x = mz.simulate(*arguments, save=path, **options)
    assert x.complete and len(x.t) == 201
    np.testing.assert_array_equal(x.t, whole.t)
    np.testing.assert_array_equal(x.q, whole.q)
    np.testing.assert_array_equal(x.v, whole.v)
    if whole.tau is not None:
        np.testing.assert_array_equal(x.tau, whole.tau)
    for name, state in whole.law_state.items():
        assert x.law_state[name].shape == state.shape
        np.testing.assert_array_equal(x.law_state[name], state)
    assert {*x.law_state} == {*whole.law_state}
    assert [(e.sample, e.t, e.number) for e in x.events] == [
        (e.sample, e.t, e.number) for e in whole.events
    ]
    np.testing.assert_array_equal(x.energy(), whole.energy())
    again = mz.simulate(*arguments, save=path, **options)  # nothing is left to do
    np.testing.assert_array_equal(again.q, whole.q)


def test_loops_and_contacts_resume_as_well(tmp_path):
    model = four_bar()
    q = mz.assemble(model, model.neutral())
    v = mz.consistent_velocities(model, q, np.ones(model.nv))
    ball = (
        mz.Builder("ball")
        .add("ball", None, mz.Free(), mz.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3)))
        .shape("ball", mz.Sphere(0.1), name="skin")
        .build()
        .with_ground()
    )
    above = np.array([0, 0, 0.3, 0, 0, 0, 1.0])
    for name, state in (("four_bar", (model, q, v)), ("ball", (ball, above, np.ones(6)))):
        arguments = *state, 0.5, 0.01
        whole = mz.simulate(*arguments)
        path = tmp_path / f"{name}.zarr"
        for share in Simulation(*arguments, save=path).run():
            if share > 0.5:
                break
        x = mz.simulate(*arguments, save=path)
        np.testing.assert_array_equal(x.q, whole.q)
        if name == "ball":
            np.testing.assert_array_equal(x.contact_forces, whole.contact_forces)
            np.testing.assert_array_equal(x.contact_residual, whole.contact_residual)


def test_samples_that_differ_resume_as_well(tmp_path):
    """Parameters of the model and gains of the law are part of a run; a store has the former."""
    model = double_pendulum()
    mass = f"{model.bodies[0]}.density"
    law = lambda t, q, v, kp: -kp * q
    arguments = model, Q0, V0, 0.6, 0.01, "rkmk4"
    options = {"torque": law, "parameters": {mass: np.array([0.5, 1.0, 2.0]), "kp": 3.0}}
    whole = mz.simulate(*arguments, **options)
    path = tmp_path / "run.zarr"
    for share in Simulation(*arguments, save=path, **options).run():
        if share > 0.5:
            break
    x = mz.simulate(*arguments, save=path, **options)
    np.testing.assert_array_equal(x.q, whole.q)
    again = mz.Trajectory.load(path, model)
    np.testing.assert_array_equal(again.parameters[mass], [0.5, 1.0, 2.0])
    np.testing.assert_array_equal(again[1].energy(), whole[1].energy())
    other = {"torque": law, "parameters": {mass: np.array([0.5, 1.0, 2.1]), "kp": 3.0}}
    with pytest.raises(ConfigurationError, match="holds a run with other parameters"):
        mz.simulate(*arguments, save=path, **other)


def test_impacts_of_dopri5_resume_as_well(tmp_path):
    """Modes of the contacts are part of what a run goes on from."""
    ball = (
        mz.Builder("ball")
        .add("ball", None, mz.Free(), mz.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3)))
        .shape("ball", mz.Sphere(0.1), name="skin")
        .build()
        .with_ground(friction=0.3, restitution=0.5)
    )
    start = np.array([[0, 0, 0.15, 0, 0, 0, 1.0], [0, 0, 0.1, 0, 0, 0, 1.0]])
    arguments = ball, start, np.array([0.0, 0.3, 0.0, 1.0, 0.0, 0.0]), 0.4, 0.01, "dopri5"
    whole = mz.simulate(*arguments)
    path = tmp_path / "run.zarr"
    for share in Simulation(*arguments, save=path).run():
        if share > 0.5:
            break
    assert 0 < len(mz.Trajectory.load(path, ball).t) < 41
    x = mz.simulate(*arguments, save=path)
    np.testing.assert_array_equal(x.q, whole.q)
    np.testing.assert_array_equal(x.contact_forces, whole.contact_forces)
    np.testing.assert_array_equal(x.contact_modes, whole.contact_modes)
    assert [(e.sample, e.t) for e in x.events] == [(e.sample, e.t) for e in whole.events] != []


SCRIPT = """
import sys, numpy as np, mozzi as mz
from mozzi.model.generate import double_pendulum
from mozzi.simulation.trajectories import saved_runs as saved
saved.BLOCK_RECORDS = 64
x = mz.simulate(double_pendulum(), [1.0, -0.5], [0.1, 0.2], float(sys.argv[2]), 1e-3,
                record_every=20, save=sys.argv[1])
print(len(x.t))
"""


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_kill_9(tmp_path):
    """Killed wherever it is, three times; then to the end: bitwise the unbroken run."""
    path, rng = tmp_path / "run.zarr", np.random.default_rng(0)
    line = [sys.executable, "-c", SCRIPT, str(path), "100"]
    before = 0
    for _ in range(3):
        process = subprocess.Popen(line)
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline and process.poll() is None:
            there = len(mz.Trajectory.load(path).t) if path.exists() else 0
            if there > before:
                break
            time.sleep(0.01)
        time.sleep(float(rng.uniform(0.0, 0.1)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        x = mz.Trajectory.load(path)
        assert len(x.t) >= before and np.isfinite(x.q).all()
        before = len(x.t)
    out = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    assert int(out) == 5001
    whole = mz.simulate(double_pendulum(), Q0, V0, 100.0, 1e-3, record_every=20)
    x = mz.Trajectory.load(path, double_pendulum())
    assert x.complete
    np.testing.assert_array_equal(x.q, whole.q)
    np.testing.assert_array_equal(x.v, whole.v)


def test_a_full_disk_loses_nothing_that_was_there(tmp_path, monkeypatch):
    model, path = double_pendulum(), tmp_path / "run.zarr"
    write, count = module.Saved.write, [0]

    def fails(self, rows, state, told):
        count[0] += 1
        if count[0] == 3:
            self.group["q"][self.records : self.records + 4] = rows["q"][:4]  # some of it
            raise OSError(28, "No space left on device")
        write(self, rows, state, told)

    monkeypatch.setattr(module.Saved, "write", fails)
    with pytest.raises(OSError, match="No space"):
        mz.simulate(model, Q0, V0, 1.0, 0.01, save=path)
    monkeypatch.setattr(module.Saved, "write", write)
    assert len(mz.Trajectory.load(path).t) == 32
    x = mz.simulate(model, Q0, V0, 1.0, 0.01, save=path)
    np.testing.assert_array_equal(x.q, mz.simulate(model, Q0, V0, 1.0, 0.01).q)


def test_memory_is_that_of_a_block(tmp_path):
    run = Simulation(double_pendulum(), Q0, V0, 5.0, 0.01, save=tmp_path / "run.zarr")
    assert len(run.records.q) == len(run.records.v) == 16
    for _ in run.run():
        pass
    assert len(run.trajectory(tell=False).t) == 501


def test_another_run_is_refused(tmp_path):
    model, path = double_pendulum(), tmp_path / "run.zarr"
    mz.simulate(model, Q0, V0, 0.5, 0.01, save=path)
    with pytest.raises(ConfigurationError, match="other dt"):
        mz.simulate(model, Q0, V0, 0.5, 0.005, save=path)
    with pytest.raises(ConfigurationError, match="other start"):
        mz.simulate(model, Q0 + 1.0, V0, 0.5, 0.01, save=path)
    with pytest.raises(ConfigurationError, match="no run of mozzi"):
        (tmp_path / "other.zarr").mkdir()
        mz.simulate(model, Q0, V0, 0.5, 0.01, save=tmp_path / "other.zarr")
    with pytest.raises(ConfigurationError, match="other data"):
        mz.Trajectory.load(path, four_bar())


def test_another_law_is_told(tmp_path):
    """What the store holds is of the law it was made with."""
    model, path = double_pendulum(), tmp_path / "run.zarr"

    def brake(k):
        return lambda t, q, v: -k * v

    first = mz.simulate(model, Q0, V0, 0.5, 0.01, torque=brake(1.0), save=path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = mz.simulate(model, Q0, V0, 0.5, 0.01, torque=brake(1.0), save=path)
    with pytest.warns(UserWarning, match="law of torque is another one"):
        other = mz.simulate(model, Q0, V0, 0.5, 0.01, torque=brake(2.0), save=path)
    for x in (again, other):
        np.testing.assert_array_equal(x.q, first.q)


WITH_EVENTS = """
import sys
import numpy as np
import mozzi as mz
from mozzi.model.generate import double_pendulum

def kick(t, q, v):
    return q[..., 0]

x = mz.simulate(double_pendulum(), [1.0, -0.5], [0.1, 0.2], 0.5, 0.01, "dopri5", events=(kick,),
                save=sys.argv[1])
print(len(x.t), hex(id(kick)))
"""


def test_events_are_known_in_another_process(tmp_path):
    """By what they compute: where a function lies in memory is another place every time."""
    line = [sys.executable, "-c", WITH_EVENTS, str(tmp_path / "run.zarr")]
    for _ in range(2):
        done = subprocess.run(line, capture_output=True, text=True)
        assert done.stdout.startswith("51 "), done.stderr


def test_a_folder_that_is_not_there_is_made(tmp_path: Path):
    """As by sweeps; one that cannot be is told before anything is computed."""
    path = tmp_path / "new" / "folder" / "run.zarr"
    mz.simulate(double_pendulum(), Q0, V0, 0.1, 0.01, save=path)
    assert len(mz.Trajectory.load(path).t) == 11
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"the folder .*file cannot be made"):
        mz.simulate(double_pendulum(), Q0, V0, 0.1, 0.01, save=tmp_path / "file" / "run.zarr")


def test_on_the_command_line(tmp_path: Path):
    from typer.testing import CliRunner

    from mozzi.cli import application

    urdf = tmp_path / "arm.urdf"
    link = (
        '<link name="{0}"><inertial><origin xyz="0 0 0.1"/><mass value="1"/><inertia ixx="0.1" '
        'iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    joint = (
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        '<axis xyz="1 0 0"/></joint>'
    )
    urdf.write_text(f'<robot name="r">{link.format("a")}{link.format("b")}{joint}</robot>')
    path = tmp_path / "run.zarr"
    line = ["simulate", str(urdf), "--duration", "0.5", "--q0", "1", "--save", str(path)]
    result = CliRunner().invoke(application(), line)
    assert result.exit_code == 0, result.output
    assert len(mz.Trajectory.load(path).t) == 501
