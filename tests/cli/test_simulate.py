"""``mozzi simulate FILE`` computes a motion, keeps it, and says what went wrong."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mozzi as mz
from mozzi.cli import application
from mozzi.cli.simulate import closed
from mozzi.loaders import names

LINK = """<link name="{}"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial></link>"""
JOINT = """<joint name="{}" type="continuous"><origin xyz="0 0 {}"/><parent link="{}"/>
<child link="{}"/><axis xyz="0 1 0"/><dynamics damping="{}"/></joint>"""


@pytest.fixture
def pendulum(tmp_path: Path) -> Path:
    path = tmp_path / "pendulum.urdf"
    parts = [
        '<robot name="pendulum"><link name="world"/>', LINK.format("upper"), LINK.format("lower"),
        JOINT.format("shoulder", 0, "world", "upper", 0.5),
        JOINT.format("elbow", -1, "upper", "lower", 0.0), "</robot>",
    ]  # fmt: skip
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def run(*arguments: object):
    return CliRunner().invoke(application(), ["simulate", *map(str, arguments)])


def test_a_motion_is_kept_as_it_was_computed(pendulum: Path, tmp_path: Path):
    pytest.importorskip("matplotlib")
    out, plot, view = tmp_path / "x.npz", tmp_path / "x.png", tmp_path / "x.html"
    result = run(pendulum, "--duration", 0.5, "--dt", 0.005, "--q0", "1.0,0.5", "--v0", "elbow=-2",
                 "--every", 10, "--out", out, "--plot", plot, "--page", view)  # fmt: skip
    assert result.exit_code == 0, result.output
    model = mz.load(pendulum)
    x = mz.Trajectory.load(out, model=model)
    known = mz.simulate(model, [1.0, 0.5], [0.0, -2.0], 0.5, 0.005, record_every=10)
    assert np.array_equal(x.q, known.q) and np.array_equal(x.t, known.t)
    assert plot.stat().st_size > 1000 and "<canvas>" in view.read_text(encoding="utf-8")
    assert "energy drift" in result.stdout and "100 steps" in result.stdout
    assert "taken out" not in result.stdout


def test_resistance_and_locked_joints(pendulum: Path, tmp_path: Path):
    """The damping of the file acts, unless it is taken out."""
    common = pendulum, "--duration", 0.5, "--q0", "shoulder=1", "--lock", "elbow", "--out"
    result = run(*common, tmp_path / "x.csv")
    assert result.exit_code == 0, result.output
    x = mz.Trajectory.load(tmp_path / "x.csv")
    assert x.q.shape[-1] == 1 and x.energy()[-1] < x.energy()[0] - 1e-3
    result = run(*common, tmp_path / "y.csv", "--no-resistance")
    assert result.exit_code == 0 and "taken out" in result.stdout
    y = mz.Trajectory.load(tmp_path / "y.csv")
    assert abs(y.energy()[-1] - y.energy()[0]) < 1e-8


def test_random_starts_are_repeatable(pendulum: Path, tmp_path: Path):
    for name in ("a.npz", "b.npz"):
        assert (
            run(pendulum, "--duration", 0.1, "--q0", "random:7", "--out", tmp_path / name).exit_code
            == 0
        )
    a, b = (mz.Trajectory.load(tmp_path / name) for name in ("a.npz", "b.npz"))
    assert np.array_equal(a.q, b.q) and np.any(a.q[0] != 0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dt", "0"], "dt 0 is not positive"),
        (["--duration", "-1"], "not positive"),
        (["--method", "verlet"], "there are 'generalized_alpha'"),
        (["--q0", "1,2,3"], "3 numbers; the model takes 2"),
        (["--q0", "1,x"], "numbers by commas"),
        (["--q0", "knee=1"], "no joint 'knee'"),
        (["--q0", "1,elbow=2"], "all numbers, or joint=number"),
        (["--q0", "nan,0"], "not finite"),
        (["--out", "x.txt"], ".npz or .csv"),
        (["--out", "/dev/null/at/all/x.npz"], "cannot be made"),
        (["--page", "x.png"], ".html"),
    ],
)
def test_bad_input_is_told_in_a_line(pendulum: Path, options, message):
    result = run(pendulum, *options)
    assert result.exit_code == 2
    assert message in result.stderr and "Traceback" not in result.output


def test_a_missing_file_is_told(tmp_path: Path):
    result = run(tmp_path / "none.urdf")
    assert result.exit_code == 2 and "none.urdf" in result.stderr


def test_a_motion_that_diverges_fails_and_keeps_the_rest(pendulum: Path, tmp_path: Path):
    out = tmp_path / "x.npz"
    result = run(pendulum, "--v0", "1e60,0", "--dt", 0.1, "--every", 1, "--out", out)
    assert result.exit_code == 1
    assert "diverged after t =" in result.stderr
    x = mz.Trajectory.load(out)
    assert not x.complete and np.isfinite(x.q).all() and x.diverged


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_leaves_a_complete_file(pendulum: Path, tmp_path: Path):
    out = tmp_path / "x.npz"
    command = [sys.executable, "-c", "from mozzi.cli import main; main()", "simulate", pendulum,
               "--duration", "1e5", "--dt", "1e-3", "--every", "1000", "--no-resistance",
               "--out", out]  # fmt: skip
    process = subprocess.Popen(
        [str(x) for x in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # not ignored
    )  # fmt: skip
    assert process.stdout is not None
    assert "taken out" in process.stdout.readline()  # told when it is about to start
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "what was computed is kept" in stderr
    x = mz.Trajectory.load(out, model=mz.load(pendulum))
    assert not x.complete and 0.0 < x.t[-1] < 1e5 and np.isfinite(x.q).all()
    assert os.listdir(tmp_path) and not [n for n in os.listdir(tmp_path) if n.startswith(".")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--friction", 0.3), "are of the ground; give --ground"),
        (("--touch", "foot"), "are of the ground; give --ground"),
        (("--target", "0,0"), "are of a controller; give --controller"),
        (("--rate", 5.0), "are of a controller; give --controller"),
    ],
)
def test_words_that_would_do_nothing_are_refused(pendulum: Path, options: tuple, words: str):
    result = run(pendulum, *options)
    assert result.exit_code == 2 and words in " ".join(result.stderr.split())


def test_couplings_are_closed_and_kept(pendulum: Path, tmp_path: Path):
    """A start that opens a coupling is moved to the nearest that closes it, and told."""
    text = pendulum.read_text(encoding="utf-8")
    tail = '<mimic joint="shoulder" multiplier="-2"/></joint></robot>'
    head, joint = text.rsplit("</joint>", 1)
    pendulum.write_text(head + joint.replace("</robot>", tail), encoding="utf-8")
    out = tmp_path / "x.npz"
    result = run(pendulum, "--q0", "shoulder=1", "--duration", 0.5, "--out", out)
    assert result.exit_code == 0, result.output
    assert "to close the loops" in result.stdout
    q = mz.Trajectory.load(out).q
    assert np.allclose(q[:, 1], -2.0 * q[:, 0], atol=1e-9)


LIMITED = """<robot name="slider"><link name="world"/><link name="cart"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="rail"
type="prismatic"><parent link="world"/><child link="cart"/><axis xyz="0 0 1"/><limit lower="-0.5"
upper="2" effort="9" velocity="9"/></joint></robot>"""
STATES = """<robot name="slider"><group_state name="up" group="g"><joint name="rail" value="1.5"/>
</group_state></robot>"""


@pytest.fixture
def slider(tmp_path: Path) -> Path:
    (tmp_path / "slider.srdf").write_text(STATES, encoding="utf-8")
    path = tmp_path / "slider.urdf"
    path.write_text(LIMITED, encoding="utf-8")
    return path


def end(slider: Path, tmp_path: Path, *options: object) -> float:
    out = tmp_path / "x.npz"
    result = run(slider, "--duration", 2, "--out", out, *options)
    assert result.exit_code == 0, result.output
    return float(mz.Trajectory.load(out).q[-1, 0])


def test_limits_act_where_the_file_has_them(slider: Path, tmp_path: Path):
    """A cart that falls stays on its rail, unless one says that it has no ends."""
    assert end(slider, tmp_path) > -0.6
    assert end(slider, tmp_path, "--no-limits") == pytest.approx(-0.5 * 9.81 * 4.0)


def test_starts_and_targets_by_name(slider: Path, tmp_path: Path):
    assert end(slider, tmp_path, "--start", "up", "--controller", "hold") == pytest.approx(1.5)
    assert end(slider, tmp_path, "--start", "up", "--controller", "gravity") == pytest.approx(1.5)
    for controller in ("pd", "computed"):
        there = end(slider, tmp_path, "--controller", controller, "--target", "up")
        assert there == pytest.approx(1.5, abs=1e-3)
    assert end(slider, tmp_path, "--controller", "computed", "--target", "0.25") == pytest.approx(
        0.25, abs=1e-3
    )
    result = run(slider, "--start", "down")
    assert result.exit_code == 2 and "there are neutral, random, up" in result.stderr


def test_fields_by_choice(slider: Path, tmp_path: Path):
    out = tmp_path / "x.npz"
    assert run(slider, "--duration", 0.1, "--out", out, "--record", "kinetic").exit_code == 0
    with np.load(out) as data:
        assert set(data.files) == {"head", "t", "q", "v", "kinetic"}
    result = run(slider, "--record", "speed")
    assert result.exit_code == 2 and "no field 'speed'; give a, tau, kinetic" in result.stderr


def test_actuators_of_the_file_drive(tmp_path: Path):
    pytest.importorskip("mujoco")
    path = tmp_path / "servo.xml"
    path.write_text(
        '<mujoco><worldbody><body><joint name="j" axis="0 0 1"/><geom size="0.1"/></body>'
        '</worldbody><actuator><position joint="j" kp="20" kv="1.3"/></actuator></mujoco>',
        encoding="utf-8",
    )
    there = end(path, tmp_path, "--controller", "actuators", "--target", "0.5")
    assert there == pytest.approx(0.5, abs=1e-3)


def test_an_mjcf_file_says_that_it_touches_and_does_so_on_request(tmp_path: Path):
    """Without --contacts it falls through its floor, which is told; with it, it rests there."""
    pytest.importorskip("mujoco")
    path, out = tmp_path / "drop.xml", tmp_path / "x.npz"
    path.write_text(
        '<mujoco model="drop"><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 0.1">'
        '<freejoint/><geom size="0.1"/></body></worldbody></mujoco>', encoding="utf-8",
    )  # fmt: skip
    options = "--duration", 0.2, "--dt", 0.002, "--out", out
    result = run(path, *options)
    assert result.exit_code == 0, result.output
    assert "contactof1pairsofshapesisleftout;contacts=True(--contacts)" in "".join(
        result.stdout.split())  # fmt: skip
    assert mz.Trajectory.load(out).q[-1, 2] < -0.05
    result = run(path, "--contacts", *options)
    assert result.exit_code == 0 and "left out" not in result.stdout, result.output
    x = mz.Trajectory.load(out)
    assert np.allclose(x.q[:, 2], 0.1, atol=1e-9) and x.known_contact_forces is not None


BALL = """<robot name="ball"><link name="ball">
<inertial><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
</inertial><collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""


def test_the_ground_takes_the_friction_of_the_file(tmp_path: Path):
    """A ball on ice slides on, unless told otherwise: then it begins to roll."""
    file, out = tmp_path / "ball.urdf", tmp_path / "x.npz"
    ice = '<gazebo reference="ball"><mu1>0</mu1><mu2>0</mu2></gazebo></robot>'
    file.write_text(BALL.replace("</robot>", ice), encoding="utf-8")
    options = "--base", "free", "--ground", "--v0", "0,0,0,1,0,0", "--duration", 0.1, "--out", out
    for more, slides in (((), True), (("--friction", 0.5), False)):
        result = run(file, *options, *more)
        assert result.exit_code == 0, result.output
        turned = np.abs(mz.Trajectory.load(out).v[-1, :3]).max()
        assert turned == 0.0 if slides else turned > 0.1


def test_a_free_robot_stands_on_the_ground(tmp_path: Path):
    """A ball whose file puts it in the ground is lifted, and rests where it touches."""
    file, out = tmp_path / "ball.urdf", tmp_path / "x.npz"
    file.write_text(BALL, encoding="utf-8")
    result = run(file, "--base", "free", "--ground", "--duration", 0.2, "--dt", 0.002, "--out", out)
    assert result.exit_code == 0, result.output
    assert "lifted by 0.1 m" in result.stdout
    assert np.allclose(mz.Trajectory.load(out).q[:, 2], 0.1, atol=1e-12)
    import warnings

    from mozzi.cli.prepare import again

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = mz.Trajectory.load(out)
        assert kept.origin is not None
        model = again(kept.origin)
    x = mz.Trajectory.load(out, model=model)
    assert np.allclose(x.contact_forces[-1], [[0.0, 0.0, 2.0 * 9.81]], atol=1e-9)
    result = run(file, "--ground", "--q0", "neutral")
    assert result.exit_code == 2 and "no collision shape that moves" in result.stderr
    result = run(file, "--base", "free", "--ground", "--touch", "foot")
    assert result.exit_code == 2 and "'foot'" in result.stderr


STOOL = """<robot name="stool"><link name="seat"><inertial><mass value="3"/>
<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.4 0.3 0.05"/></geometry></collision></link>{}</robot>"""
LEG = """<link name="leg{0}"><inertial><origin xyz="0.02 0 -0.1"/><mass value="0.2"/>
<inertia ixx="2e-3" iyy="2e-3" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
<collision name="shin{0}"><origin xyz="0 0 -0.1"/><geometry><cylinder radius="0.01" length="0.1"/>
</geometry></collision><collision name="foot{0}"><origin xyz="0.05 0 -0.2"/><geometry>
<sphere radius="0.02"/></geometry></collision></link>
<joint name="hip{0}" type="revolute"><origin xyz="{1} {2} 0"/><parent link="seat"/>
<child link="leg{0}"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/>
</joint>"""


def test_what_is_held_stands_on_its_feet(tmp_path: Path):
    """Feet, not shins, touch; the joints bear what the ground presses up, so that nothing moves;
    and the motion can be looked at without saying again what it is of.
    """
    file, out = tmp_path / "stool.urdf", tmp_path / "x.npz"
    places = [(x, y) for x in (0.2, -0.15) for y in (0.15, -0.1)]
    legs = "".join(LEG.format(k, *place) for k, place in enumerate(places))
    file.write_text(STOOL.format(legs), encoding="utf-8")
    result = run(file, "--base", "free", "--ground", "--duration", 0.3, "--controller", "hold",
                 "--out", out)  # fmt: skip
    assert result.exit_code == 0, result.output
    shown = "".join(result.stdout.split())
    assert "5of9collisionshapestouchtheground:seat_collision,foot0,foot1,foot2,foot3" in shown
    x = mz.Trajectory.load(out)
    assert np.abs(x.contact_forces[-1].sum(axis=0) - [0.0, 0.0, 3.8 * 9.81]).max() < 1e-6
    assert np.abs(x.q - x.q[0]).max() < 1e-9 and np.abs(x.v[-1]).max() < 1e-9
    above = [*x.q[0, :2], x.q[0, 2] + 0.006, *x.q[0, 3:]]
    result = run(file, "--base", "free", "--ground", "--duration", 0.3, "--controller", "hold",
                 "--q0", ",".join(map(str, above)), "--out", tmp_path / "dropped.npz")  # fmt: skip
    assert result.exit_code == 0, result.output
    dropped = mz.Trajectory.load(tmp_path / "dropped.npz")
    assert np.abs(dropped.q[-1] - x.q[0]).max() < 1e-3  # files put feet a little above the ground
    pytest.importorskip("viser", reason="the extra viz is not installed")
    options = ["--no-browser", "--seconds", "0.2", "--port", "8473"]
    result = CliRunner().invoke(application(), ["view", str(out), *options])
    assert result.exit_code == 0, result.output


def test_torques_of_a_controller_are_recorded(pendulum: Path, tmp_path: Path):
    """What --record tau keeps is what drives the motion: a = M⁻¹(τ − bias), without resistance."""
    out = tmp_path / "x.npz"
    result = run(pendulum, "--duration", 0.2, "--q0", "1,0.5", "--controller", "hold", "--target",
                 "0.5,0.2", "--no-resistance", "--record", "tau,a", "--out", out)  # fmt: skip
    assert result.exit_code == 0, result.output
    model = mz.load(pendulum)
    x = mz.Trajectory.load(out, model=model)
    assert x.tau is not None and np.abs(x.tau).max() > 1.0
    assert np.allclose(mz.forward_dynamics(model, x.q, x.v, x.tau), x.a, atol=1e-9)


def test_steps_that_are_longer_than_the_motion_are_counted(pendulum: Path):
    """One shorter step, not none."""
    result = run(pendulum, "--duration", 0.01, "--dt", 1.0)
    assert result.exit_code == 0, result.output
    assert "0.01 s in 1 step of 0.01 s" in result.stdout


def test_a_target_is_a_goal_as_in_sweep(pendulum: Path):
    result = run(pendulum, "--duration", 0.01, "--controller", "pd", "--goal", "0.5,0.5")
    assert result.exit_code == 0, result.output


@pytest.mark.filterwarnings("ignore::mozzi.errors.LeftOutWarning")
@pytest.mark.filterwarnings("ignore::mozzi.errors.UnphysicalWarning")
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_loops_of_rounded_numbers_close_near_the_state_of_the_file(base):
    """Those of cassie stay open by 2e-8; elsewhere, 4 rad away, they do not."""
    if "cassie" not in names.known():
        pytest.skip("example-robot-data is not installed")
    cassie = mz.load("cassie", base=base)
    standing = cassie.configurations["standing"]
    q, _ = closed(cassie, standing, np.zeros(cassie.nv))
    assert np.abs(mz.difference(cassie, standing, q)).max() < 1.0
    assert np.abs(mz.loop_residual(cassie, q)).max() < 1e-7
