"""Trajectories: what follows from them, files, pictures."""

import copy
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from simulation.mechanisms import floating, state
from support.contact_models import boxes

import mozzi as mz
from mozzi.model.generate import four_bar
from mozzi.simulation import DormandPrince


@pytest.fixture(scope="module")
def single() -> mz.Trajectory:
    model = floating((0.0, 0.0, -9.81))
    return mz.simulate(model, *state(model), 0.2, 1e-3, record_every=20)


@pytest.fixture(scope="module")
def batch() -> mz.Trajectory:
    model = floating((0.0, 0.0, -9.81))
    q, v = state(model)

    def rises(t, q, v):
        return v[..., 5]

    v = v * np.linspace(0.5, 1.0, 6).reshape(2, 3, 1)
    return mz.simulate(model, q, v, 0.2, 0.02, DormandPrince(events=(rises,)))


def test_quantities_are_those_of_the_algorithms(batch):
    model = batch.model
    assert batch.q.shape == (2, 3, 11, model.nq) and batch.batch == (2, 3)
    total = mz.kinetic_energy(model, batch.q, batch.v) + mz.potential_energy(model, batch.q)
    assert np.array_equal(batch.energy(), total)
    assert np.array_equal(batch.momentum(), mz.momentum(model, batch.q, batch.v))
    assert batch.poses().shape == (2, 3, 11, model.nb, 4, 4)
    a = mz.forward_dynamics(model, batch.q, batch.v, np.zeros(model.nv))
    assert np.allclose(batch.a, a, atol=1e-12)


def test_samples_are_trajectories(batch):
    one = batch[1, 2]
    assert one.batch == () and np.array_equal(one.q, batch.q[1, 2])
    assert np.array_equal(one.a, batch.a[1, 2])
    with pytest.raises(mz.ConfigurationError, match="no samples"):
        one[0]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_know_what_the_run_knew(batch, copied):
    """Also what is computed when it is asked for: accelerations, the torques of a law, what loops
    and drives exert. The run itself does not travel.
    """
    rod = mz.Inertia(1.0, (0, 0, 0.5), np.diag([0.1, 0.1, 0.01]))
    builder = mz.Builder("bars").add("a", None, mz.Revolute("y"), rod)
    builder.add("b", "a", mz.Revolute("y"), rod, placement=(0, 0, 1))
    builder.add("c", "b", mz.Revolute("y"), rod, placement=(0, 0, 1))
    bars = builder.loop("tie", "c", None, mz.Revolute("y"), (0, 0, 1), (1, 0, 0)).build()
    q = mz.assemble(bars, [0.0, 1.5, 1.7], hold=["a"])
    turn = {"a": lambda t: q[0] + 0.5 * t * t}
    brakes = np.array([0.0, 1.0, 1.0])
    driven = mz.simulate(
        bars, q, np.zeros(3), 0.02, 1e-3, torque=lambda t, q, v: -brakes * v, prescribed=turn
    )
    for x in (batch, batch[1, 2], driven):
        y = copied(x)
        for name in ("t", "q", "v", "a"):
            assert np.array_equal(getattr(x, name), getattr(y, name)), name
        assert np.array_equal(x.energy(), y.energy()) and y.model == x.model
        assert x.all_reactions().keys() == y.all_reactions().keys()
        assert len(x.events) == len(y.events)
    y = copied(driven)
    assert np.array_equal(driven.joint_forces(), y.joint_forces())
    assert np.array_equal(driven.drive_work(), y.drive_work())


@pytest.mark.parametrize("kind", [".npz", ".csv"])
@pytest.mark.parametrize("which", ["single", "batch"])
def test_files_give_back_every_bit(tmp_path: Path, request, kind, which):
    x = request.getfixturevalue(which)
    y = mz.Trajectory.load(x.save(tmp_path / f"x{kind}"), model=x.model)
    for name in ("t", "q", "v", "a"):
        assert np.array_equal(getattr(x, name), getattr(y, name)), name
    assert np.array_equal(x.energy(), y.energy())
    assert np.array_equal(x.momentum(), y.momentum())
    assert [(e.sample, e.t, e.number) for e in x.events] == [
        (e.sample, e.t, e.number) for e in y.events
    ]
    assert y.complete and y.method == x.method
    bare = mz.Trajectory.load(tmp_path / f"x{kind}")
    assert np.array_equal(bare.energy(), x.energy())
    with pytest.raises(mz.ConfigurationError, match="model=model"):
        bare.poses()


@pytest.mark.parametrize("kind", [".npz", ".csv"])
def test_files_keep_what_contacts_exert(tmp_path: Path, kind):
    model, q = boxes()
    q[2] += 0.01
    x = mz.simulate(model, q, np.r_[0.0, 0.0, 0.3, 0.5, 0.0, 0.0], 0.1, 2e-3)
    y = mz.Trajectory.load(x.save(tmp_path / f"x{kind}"), model=model)
    assert np.linalg.norm(x.contact_forces) > 1.0
    assert np.array_equal(x.contact_forces, y.contact_forces)
    assert np.array_equal(x.contact_residual, y.contact_residual)
    assert np.array_equal(x.energy_taken(), y.energy_taken())
    assert np.array_equal(x.contact_modes, y.contact_modes)
    bare = mz.Trajectory.load(x.save(tmp_path / f"bare{kind}", ["a"]), model=model)
    assert bare.known_contact_forces is None


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, single, monkeypatch):
    path = single.save(tmp_path / "x.npz")
    before = path.read_bytes()

    def refuse(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", refuse)
    with pytest.raises(OSError, match="No space"):
        single.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.npz"]


def test_bad_files_are_named(tmp_path: Path, single):
    (tmp_path / "text.npz").write_text("hello", encoding="utf-8")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    for name in ("text.npz", "other.csv", "other.npz"):
        with pytest.raises(mz.ConfigurationError, match="no trajectory of mozzi"):
            mz.Trajectory.load(tmp_path / name)
    with pytest.raises(mz.ConfigurationError, match=r"\.npz or \.csv"):
        single.save(tmp_path / "x.txt")
    with pytest.raises(FileNotFoundError):
        mz.Trajectory.load(tmp_path / "none.npz")
    path = single.save(tmp_path / "x.npz")
    with pytest.raises(mz.ConfigurationError, match="other data"):
        mz.Trajectory.load(path, model=floating())


def test_plots_name_what_they_show(tmp_path: Path, single, batch):
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    figure = single.plot()
    labels = [axis.get_ylabel() for axis in figure.axes if axis.axison]
    assert all(labels) and len(set(labels)) == len(labels)
    for title in ("positions / m", "angles / rad", "quaternions (x, y, z, w)", "velocities / m/s",
                  "angular velocities / rad/s", "energy / J (gravity)"):  # fmt: skip
        assert title in labels
    assert any("energy error" in label for label in labels)  # nothing drives it
    figure.canvas.draw()
    for axis in figure.axes:  # legends stand beside the curves
        if axis.get_legend() is not None:
            box = axis.get_legend().get_window_extent()
            assert box.x0 >= axis.get_window_extent().x1 - 1.0
    plt.close(figure)
    batch.plot(tmp_path / "x.png", sample=(1, 0))
    assert (tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"


def test_animations(tmp_path: Path, single):
    pytest.importorskip("matplotlib")
    assert single.animate(tmp_path / "x.gif").read_bytes()[:3] == b"GIF"
    assert "<canvas>" in single.animate(tmp_path / "x.html").read_text(encoding="utf-8")
    with pytest.raises(mz.ConfigurationError, match=r"\.html or \.gif"):
        single.animate(tmp_path / "x.mp4")


@pytest.mark.parametrize("method", ["moreau", "dopri5"])
def test_accelerations_know_what_touches(method):
    """A ball at rest does not fall, one that slips has what friction gives it."""
    ball = mz.Inertia(1.0, (0, 0, 0), 4e-3 * np.eye(3))
    model = mz.Builder().add("ball", None, mz.Free(), ball).shape("ball", mz.Sphere(0.1)).build()
    model = model.with_ground(friction=0.3)
    q = [0, 0, 0.1, 0, 0, 0, 1]
    x = mz.simulate(model, [q, q], [[0.0] * 6, [0, 0, 0, 2.0, 0, 0]], 0.05, 1e-3, method)
    np.testing.assert_allclose(x.a[0, 1:], 0.0, atol=1e-9)
    rate = np.diff(x.v[1], axis=0) / np.diff(x.t)[:, None]
    np.testing.assert_allclose(x.a[1, 1:], rate, atol=1.5)  # of the first order: axes turn
    world = (mz.forward_kinematics(model, x.q[1])[:, 0, :3, :3] @ x.a[1, :, 3:, None])[..., 0]
    spin = np.cross(x.v[1, :, :3], x.v[1, :, 3:])
    world += (mz.forward_kinematics(model, x.q[1])[:, 0, :3, :3] @ spin[..., None])[..., 0]
    np.testing.assert_allclose(world[1:], [[-0.3 * 9.81, 0.0, 0.0]] * (len(x.t) - 1), atol=1e-6)


def test_accelerations_know_stops_and_friction_of_joints():
    rod = mz.Inertia(1.0, (0, 0, -0.5), 0.01 * np.eye(3))
    model = mz.Builder().add("rod", None, mz.Revolute("y"), rod).build()
    model = model.with_dynamics("rod", friction=0.3, lower=-0.2, upper=2.0)
    x = mz.simulate(model, [1.5], [0.0], 2.0, 1e-3, "moreau", limits="rigid")
    rate = np.diff(x.v, axis=0) / np.diff(x.t)[:, None]
    assert np.abs(x.a[1:] - rate).max() < 0.06 and np.abs(rate).max() > 500.0  # at the stop
    assert abs(x.v[-1, 0]) < 1e-9 and abs(x.a[-1, 0]) < 1e-9  # it sticks


def test_drives_and_loops_carry_what_touches():
    """A belt that takes a box along; a four-bar linkage that rests on the ground."""
    box = mz.Inertia(1.0, (0, 0, 0), 7e-3 * np.eye(3))
    build = mz.Builder().add("belt", None, mz.Prismatic("x"), box)
    build = build.add("box", None, mz.Free(), box).shape("box", mz.Box((0.2, 0.2, 0.2)), name="b")
    build = build.shape("belt", mz.Box((9, 1, 0.1)), (0, 0, -0.05), name="top")
    model = build.build().with_contact("c", "b", "top", friction=0.3)
    q = model.neutral()
    q[3] = 0.1
    x = mz.simulate(model, q, np.zeros(7), 0.5, 1e-3, prescribed={"belt": lambda t: 1.0 * t})
    assert x.drive_forces["belt"][100, 0] == pytest.approx(0.3 * 9.81)
    assert x.drive_work()[-1] == pytest.approx(1.0, abs=1e-9)  # half of it is heat
    bars = four_bar()
    bars = bars.with_shape("coupler", mz.Sphere(0.05), name="s")
    q = mz.assemble(bars, bars.neutral())
    height = mz.forward_kinematics(bars, q)[1, 2, 3] - 0.06
    stands = bars.with_ground(["s"], height=height)
    x = mz.simulate(stands, q, np.zeros(3), 2.0, 1e-3, record_every=100)
    W = mz.contact_wrenches(stands, x.q[-1], x.contact_forces[-1])
    static = mz.loop_forces(bars, x.q[-1], np.zeros(3), np.zeros(3), wrenches=W)
    np.testing.assert_allclose(x.loop_forces[-1], static, atol=1e-6)
    np.testing.assert_allclose(x.a[-1], 0.0, atol=1e-6)
