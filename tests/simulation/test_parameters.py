"""Simulations whose samples have different numbers: each is that of the model that has them."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import first
from support.mechanics import agree, loaded_tree

import mozzi as mz
from mozzi.model.generate import four_bar
from mozzi.model.parameters.named import nominal_numbers

pytestmark = pytest.mark.filterwarnings("ignore::mozzi.errors.StiffWarning")
METHODS = ["semi_implicit", "rkmk4", "dopri5", "generalized_alpha", "momentum", "moreau"]
TREE = loaded_tree(3, 4, joints=[mz.Revolute, mz.Spherical, mz.Prismatic])
B, J = TREE.bodies, TREE.joint_names
NAMES = [
    f"{B[0]}.mass", f"{B[2]}.com.x", f"{J[0]}.damping", f"{J[1]}.placement.z", f"{B[1]}.density",
    f"{J[2]}.friction", "gravity.z",
]  # fmt: skip


def numbers(model, names, n, size=0.1):
    rng = np.random.default_rng(1)
    x = nominal_numbers(model, names) + size * rng.random((n, len(names)))
    return dict(zip(names, x.T))


def models(model, given, n):
    return [model.with_parameters({k: float(x[i]) for k, x in given.items()}) for i in range(n)]


@pytest.mark.parametrize("method", first(3, METHODS))
def test_a_sample_is_the_motion_of_its_model(method):
    rng, given = np.random.default_rng(0), numbers(TREE, NAMES, 3)
    q0, v0 = TREE.random_configuration(rng, 3), rng.normal(size=(3, TREE.nv))
    found = mz.simulate(TREE, q0, v0, 0.05, 0.01, method, parameters=given)
    assert set(found.parameters) == set(NAMES)
    for k, model in enumerate(models(TREE, given, 3)):
        alone = mz.simulate(model, q0[k], v0[k], 0.05, 0.01, method)
        agree(found.q[k], alone.q, 1e-9)
        agree(found.v[k], alone.v, 1e-9)
        agree(found.energy()[k], alone.energy(), 1e-9)
        agree(found.poses()[k], alone.poses(), 1e-9)
        agree(found.a[k], alone.a, 1e-7)
        agree(found[k].energy(), alone.energy(), 1e-9)


def test_parameters_make_the_batch():
    """One start, many masses; and a grid of two parameters."""
    mass, damping = np.linspace(0.5, 2.0, 4)[:, None], np.array([0.0, 0.1, 0.2])
    given = {f"{B[0]}.density": mass, f"{J[0]}.damping": damping}
    found = mz.simulate(TREE, TREE.neutral(), np.zeros(TREE.nv), 0.02, 0.01, parameters=given)
    assert found.batch == (4, 3)
    assert found[3, 2].model == TREE.with_parameters(
        {f"{B[0]}.density": 2.0, f"{J[0]}.damping": 0.2}
    )


def test_gains_of_a_law_and_the_model_that_moves():
    """Gravity compensation holds a body still if it has the masses of the sample, and lets it fall
    if it has those of the model as it is.
    """
    arm = mz.model.generate.chain(2, seed=3)
    mass = f"{arm.bodies[1]}.density"
    given = {mass: np.array([1.0, 1.5]), "kd": np.array([0.5, 0.7])}
    q0, still = arm.random_configuration(2), np.zeros(arm.nv)

    def knowing(t, q, v, kd, model):
        return mz.gravity_forces(model, q) - kd * v

    def believing(t, q, v, kd):
        return mz.gravity_forces(arm, q) - kd * v

    knows = mz.simulate(arm, q0, still, 0.2, 0.01, torque=knowing, parameters=given)
    believes = mz.simulate(arm, q0, still, 0.2, 0.01, torque=believing, parameters=given)
    assert np.abs(knows.v).max() < 1e-12
    assert np.abs(believes.v[0]).max() < 1e-12 < np.abs(believes.v[1]).max()
    called = mz.simulate(
        arm, q0, still, 0.1, 0.001, trace=False, parameters={"kd": given["kd"]},
        torque=lambda t, q, v, kd: mz.gravity_forces(arm, q) - kd * v + 1.0,
    )  # fmt: skip
    traced = mz.simulate(
        arm, q0, still, 0.1, 0.001, parameters={"kd": given["kd"]},
        torque=lambda t, q, v, kd: mz.gravity_forces(arm, q) - kd * v + 1.0,
    )  # fmt: skip
    agree(called.q, traced.q, 1e-3)


def test_gains_of_a_sampled_law():
    arm = mz.model.generate.chain(2, seed=3)

    def pid(t, q, v, x, h, ki):
        total = x["total"] + h * q
        return -3.0 * q - ki * total, {"total": total}

    law = mz.Law(pid, state={"total": np.zeros(2)}, period=0.01)
    gains = np.array([0.5, 2.0])
    start = arm.random_configuration(2), np.zeros(2), 0.1, 0.005
    found = mz.simulate(arm, *start, torque=law, parameters={"ki": gains})
    for k, ki in enumerate(gains):
        one = mz.Law(lambda *x, ki=ki: pid(*x, ki), state={"total": np.zeros(2)}, period=0.01)
        alone = mz.simulate(arm, *start, torque=one)
        agree(found.q[k], alone.q)
        agree(found.law_state["total"][k], alone.law_state["total"])


def test_driven_joints_of_samples():
    """A joint moves as it is told, whatever the masses; the others have those of the sample."""
    arm = mz.model.generate.chain(3, seed=3)
    given = {f"{arm.bodies[2]}.density": np.array([1.0, 2.0])}
    driven = {arm.joint_names[0]: lambda t: 0.3 * t}
    q0, v0 = arm.neutral(), np.array([0.3, 0.0, 0.0])
    found = mz.simulate(arm, q0, v0, 0.1, 0.01, prescribed=driven, parameters=given)
    for k, model in enumerate(models(arm, given, 2)):
        agree(found.q[k], mz.simulate(model, q0, v0, 0.1, 0.01, prescribed=driven).q, 1e-9)
    assert np.abs(found.q[0, :, 1] - found.q[1, :, 1]).max() > 1e-6


def test_loops_close_with_the_lengths_of_the_sample():
    model = four_bar()
    joint = model.joint_names[1]
    names = [f"{joint}.placement.x", f"{model.bodies[0]}.mass"]
    x = nominal_numbers(model, names) * np.array([[1.0, 1.0], [1.02, 1.3]])
    given = dict(zip(names, x.T))
    own = models(model, given, 2)
    q0 = np.array([mz.assemble(m, [0.3, 0.5, 1.5]) for m in own])
    found = mz.simulate(model, q0, np.zeros(model.nv), 0.1, 0.005, parameters=given)
    for k, m in enumerate(own):
        agree(found.q[k], mz.simulate(m, q0[k], np.zeros(m.nv), 0.1, 0.005).q, 1e-8)
        assert np.abs(mz.loop_residual(m, found.q[k])).max() < 1e-10
    with pytest.raises(mz.LoopError, match="is open by"):
        mz.simulate(model, q0[0], np.zeros(model.nv), 0.1, 0.005, parameters=given)
    with pytest.raises(mz.ConfigurationError, match="dopri5 with loops"):
        mz.simulate(model, q0, np.zeros(model.nv), 0.1, 0.005, "dopri5", parameters=given)


def test_friction_and_restitution_of_contacts():
    inertia = mz.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3))
    ball = mz.Builder("ball").add("ball", None, mz.Free(), inertia)
    ball = ball.shape("ball", mz.Sphere(0.1), name="skin").build()
    model = ball.with_ground("skin", friction=0.3)
    name = model.contacts[0].name
    given = {f"{name}.friction": np.array([0.1, 0.5]), f"{name}.restitution": np.array([0.0, 0.6])}
    q0, v0 = model.neutral(), np.zeros(6)
    q0[2], v0[3], v0[5] = 0.12, 2.0, -1.0
    found = mz.simulate(model, q0, v0, 0.2, 0.005, parameters=given)
    for k, m in enumerate(models(model, given, 2)):
        agree(found.q[k], mz.simulate(m, q0, v0, 0.2, 0.005).q, 1e-8)
    for start in (model, ball.with_ground("skin", friction=0.0)):
        exact = mz.simulate(start, q0, v0, 0.2, 0.005, "dopri5", parameters=given)
        for k, m in enumerate(models(start, given, 2)):
            agree(exact.q[k], mz.simulate(m, q0, v0, 0.2, 0.005, "dopri5").q, 1e-9)


def test_a_stepper_takes_them_behind_the_others():
    given = numbers(TREE, NAMES, 2)
    step = mz.stepper(TREE, "rkmk4", parameters=NAMES)
    q0, v0 = TREE.random_configuration(0, 2), np.ones((2, TREE.nv))
    q, _ = step(q0, v0, 0.0, 0.01, 5, np.stack([*given.values()], axis=-1))
    agree(q, mz.simulate(TREE, q0, v0, 0.05, 0.01, parameters=given).q[:, -1])


@pytest.mark.parametrize("suffix", ["npz", "csv"])
def test_files_keep_them(tmp_path, suffix):
    given = numbers(TREE, NAMES, 2)
    found = mz.simulate(TREE, TREE.neutral(), np.ones(TREE.nv), 0.02, 0.01, parameters=given)
    again = mz.Trajectory.load(found.save(tmp_path / f"x.{suffix}"), TREE)
    assert {n: x.tolist() for n, x in again.parameters.items()} == {
        n: x.tolist() for n, x in found.parameters.items()
    }
    again.stored.clear()
    agree(again.energy(), found.energy())


def test_wrong_ones():
    start = TREE.neutral(), np.zeros(TREE.nv), 0.1, 0.01
    law = lambda t, q, v, kp: -kp * v
    for parameters, torque, message in (
        ({f"{B[0]}.mass": [1.0, -1.0]}, None, "sample 1: -1 is not positive"),
        ({f"{B[0]}.mas": 1.0}, None, "did you mean"),
        ({f"{B[0]}.mass": [1.0, 2.0], f"{J[0]}.damping": [1.0] * 3}, None, "do not broadcast"),
        ({}, law, "takes 'kp'"),
        ({"kp": np.nan}, law, "not finite"),
    ):
        with pytest.raises(ValueError, match=message):
            mz.simulate(TREE, *start, torque=torque, parameters=parameters)
