"""(q̇, q̈) from (v, a) and back, for every joint, in every kind of coordinates."""

import numpy as np
import pytest
from support.mechanics import agree, program_value, value

import mozzi as mz
from mozzi.model.joints.joint import example_joints

JOINTS = {n: j for n, j in example_joints().items() if j.nv}


def on(joint: mz.Joint) -> mz.Model:
    inertia = mz.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3))
    return mz.Builder("one").add("b", None, joint, inertia).build()


@pytest.mark.parametrize("label", JOINTS)
def test_there_and_back(label):
    """v → q̇ → v and (v, a) → q̈ → a; q̈ is the derivative of q̇ along the motion, at order h²."""
    model = on(JOINTS[label])
    rng = np.random.default_rng(3)
    q, h = model.random_configuration(rng), 1e-4
    v, a = rng.normal(size=(2, model.nv))
    rate = value(mz.rates, model, q, v)
    second = value(mz.coordinate_accelerations, model, q, v, a)
    agree(value(mz.velocities_of_coordinates, model, q, rate), v, 1e-9)
    agree(value(mz.accelerations_of_coordinates, model, q, rate, second), a, 1e-8)

    def at(t: float) -> np.ndarray:
        x = q + t * rate + 0.5 * t * t * second
        return value(mz.velocities_of_coordinates, model, x, rate + t * second)

    agree((at(h) - at(-h)) / (2 * h), a, 1e-5)


@pytest.mark.parametrize("rolled", [False, True])
def test_as_programs(rolled):
    """A tree with several kinds at once, in generated code."""
    b = mz.Builder("mixed")
    inertia = mz.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3))
    b.add("1", None, mz.Free(coordinates="second"), inertia)
    b.add("2", "1", mz.Spherical(coordinates="first"), inertia)
    b.add("3", "2", mz.Revolute(), inertia)
    b.add("4", "1", mz.Composite(mz.Planar("y"), mz.Spherical()), inertia)
    model = b.build()
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng)
    v, a = rng.normal(size=(2, model.nv))
    rate = program_value(mz.rates, model, q, v, rolled=rolled)[0]
    second = program_value(mz.coordinate_accelerations, model, q, v, a, rolled=rolled)[0]
    agree(second, value(mz.coordinate_accelerations, model, q, v, a))
    got = program_value(mz.accelerations_of_coordinates, model, q, rate, second, rolled=rolled)[0]
    agree(got, a, 1e-9)


def test_angles_are_no_obstacle_on_the_way_back():
    """At the singular angle of the second kind, v of q̇ is still there."""
    model = on(mz.Spherical(coordinates="second"))
    q, rate = np.array([0.3, np.pi / 2, -0.4]), np.array([1.0, 2.0, 3.0])
    w = mz.velocities_of_coordinates(model, q, rate)
    h = 1e-6
    R = [mz.pose(model, q + s * h * rate, "b")[:3, :3] for s in (1.0, -1.0)]
    turn = mz.pose(model, q, "b")[:3, :3].T @ (R[0] - R[1]) / (2 * h)
    agree(w, [turn[2, 1], turn[0, 2], turn[1, 0]], 1e-8)


def test_velocities_of_a_joint_that_does_not_say_them():
    """Joints that users add have `rates`; the way back is solved."""
    ball, rng = mz.Spherical(), np.random.default_rng(1)
    q, v = ball.integrate(ball.neutral(), rng.normal(size=3)), rng.normal(size=3)
    agree(mz.Joint.velocities(ball, q, ball.rates(q, v)), v, 1e-14)
