"""Derivatives of mechanisms that are assembled anew: against 50 digits, of the whole call."""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from support.loop_models import five_bar, slider_crank

import mozzi as mz
from mozzi.algorithms.recursion.varied import varied_model
from mozzi.model import Model

H = mpmath.mpf(10) ** -16


@cache
def spatial() -> tuple[Model, tuple[str, ...], np.ndarray]:
    """A spatial loop in general position: a crank, a product of joints with a screw in it, and a
    ball at its end on a slider, with as many rows as the joints that are not held.
    """
    J = mz.Inertia(1.3, (0.1, -0.2, 0.3), np.diag([0.4, 0.5, 0.3]))
    at = mz.SE3.translation
    b = mz.Builder("spatial")
    b.add("crank", None, mz.Revolute((0.6, 0.0, 0.8)), J)
    second = mz.Screw((0.0, 0.8, 0.6), pitch=0.3).between(at(0.2, 0.1, 0.0))
    arm = mz.Composite(mz.Revolute((0.28, 0.96, 0.0)), second).between(at(0.5, 0.1, 0.2))
    b.add("arm", "crank", arm, J)
    b.add("slider", None, mz.Prismatic((0.0, 0.6, 0.8)).between(at(0.4, 0.9, 0.1)), J)
    tree = b.build()
    q = np.array([0.3, 0.4, -0.5, 0.2])
    T = mz.forward_kinematics(tree, q)
    p = T[1][:3, :3] @ [0.3, -0.1, 0.4] + T[1][:3, 3]
    end = T[2][:3, :3].T @ (p - T[2][:3, 3])
    model = tree.with_loop("ball", "arm", "slider", mz.Spherical(), (0.3, -0.1, 0.4), end)
    return model, ("crank",), q


def numbers(model: Model, names: list[str]) -> list[Any]:
    return [mpmath.mpf(float(x)) for x in mz.sensitivity(mz.pose, model, names, frame=0).nominal]


def moved(model: Model, q: Any, delta: Any) -> Any:
    return np.array([x + d for x, d in zip(q, delta, strict=True)], dtype=object)  # flat joints


def solved(A: np.ndarray, b: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The shortest x of the free coordinates with A x = b, in 50 digits; the rows are independent
    or agree.
    """
    own = mpmath.matrix(A[:, free].tolist())
    rows: list[int] = []
    for k in range(own.rows):  # independent ones, by Gram's determinant
        some = mpmath.matrix([[own[i, j] for j in range(own.cols)] for i in (*rows, k)])
        if abs(mpmath.det(some * some.T)) > mpmath.mpf(10) ** -20:
            rows.append(k)
    some = mpmath.matrix([[own[i, j] for j in range(own.cols)] for i in rows])
    x = some.T * mpmath.lu_solve(some * some.T, mpmath.matrix([b[i] for i in rows]))
    out = np.array([mpmath.mpf(0)] * A.shape[1], dtype=object)
    out[free] = list(x)
    return out


def assembled(model: Model, free: np.ndarray, q: Any, v: Any, a: Any) -> tuple[Any, Any, Any]:
    """Newton's method on φ, then v and a with the rows that they keep, in 50 digits."""
    for _ in range(8):
        A = mz.loop_jacobian.python(model, q)
        q = moved(model, q, solved(A, -mz.loop_residual.python(model, q), free))
    A = mz.loop_jacobian.python(model, q)
    v = v + solved(A, -(A @ v), free)
    left = mz.loop_acceleration.python(model, q, v, a)
    return q, v, a + solved(A, -left, free)


CASES: dict[str, tuple[list[str], Any]] = {
    "spatial": (
        ["crank.x", "arm.2.rz", "arm.2.pitch", "arm.2.screw(0.1, 0.2, 0.3, 1, 0, 0.5)",
         "ball.a.x", "ball.b.y", "slider.placement.z", "arm.mass"],
        spatial,
    ),
    "slider_crank": (
        ["rod.placement.x", "pin.a.x", "pin.b.z", "crank.mass"],
        lambda: (slider_crank(), ("crank",), mz.assemble(slider_crank(), [0.7, 0.2, 1.0],
                                                         hold=["crank"])),
    ),
    "five_bar": (
        ["left_rod.placement.x", "tip.a.x", "tip.b.z"],
        lambda: (five_bar(), (), mz.assemble(five_bar(), [0.9, 0.8, 2.0, -0.8])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("label", [*CASES])
def test_fifty_digits(label: str):
    """The configuration, poses, and dynamics with velocities and accelerations that follow."""
    names, make = CASES[label]
    model, hold, q = make()
    free = np.array([n not in hold for n in model.joint_names for _ in range(model.joint(n).nv)])
    rng = np.random.default_rng(0)
    v = mz.consistent_velocities(model, q, rng.normal(size=model.nv))
    a = mz.forward_dynamics(model, q, v, rng.normal(size=model.nv))
    with mpmath.workdps(50):
        exact = [np.array([mpmath.mpf(float(x)) for x in y], dtype=object) for y in (q, v, a)]
        zero = assembled(varied_model(model, names, numbers(model, names)), free, *exact)
        results = []
        for k in range(len(names)):
            ends = []
            for sign in (1, -1):
                pi = numbers(model, names)
                pi[k] += sign * H
                new = varied_model(model, names, pi)
                x = assembled(new, free, *zero)
                ends.append((x[0], mz.forward_kinematics.python(new, x[0]),
                             mz.inverse_dynamics.python(new, *x)))  # fmt: skip
            results.append([(x - y) / (2 * H) for x, y in zip(*ends, strict=True)])
        wanted = [np.stack([r[i] for r in results], axis=-1).astype(float) for i in range(3)]
    arrays = [x.astype(float) for x in zero]
    found = (
        mz.sensitivity(mz.assemble, model, names, hold=hold)(arrays[0]),
        mz.sensitivity(mz.forward_kinematics, model, names, hold=hold)(arrays[0]),
        mz.sensitivity(mz.inverse_dynamics, model, names, hold=hold)(*arrays),
    )
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-10 * (1.0 + np.abs(y).max()))


def test_actuated_torques_follow():
    """What one actuator needs, after the geometry has changed: against whole calls."""
    model = slider_crank()
    names = ["pin.a.x", "rod.placement.x"]
    q = mz.assemble(model, [0.7, 0.2, 1.0], hold=["crank"])
    v = mz.consistent_velocities(model, q, [1.0, 0.0, 0.0], hold=["crank"])
    a = mz.hybrid_dynamics(model, q, v, 0 * v, [0.5, 0, 0], prescribed=["crank"])[1]
    found = mz.sensitivity(
        mz.inverse_dynamics, model, names, hold="crank", actuated=("crank",)
    )(q, v, a)

    def torque(h: float) -> np.ndarray:
        end = (1.1 + h, 0, 0), model.loops[0].placement_b
        new = model.without_loop("pin").with_loop("pin", "rod", "slider", mz.Revolute("y"), *end)
        p = mz.assemble(new, q, hold=["crank"])
        u = mz.consistent_velocities(new, p, [1.0, 0.0, 0.0], hold=["crank"])
        w = mz.hybrid_dynamics(new, p, u, 0 * u, [0.5, 0, 0], prescribed=["crank"])[1]
        return mz.inverse_dynamics(new, p, u, w, actuated=("crank",))

    h = 1e-5
    np.testing.assert_allclose(found[:, 0], (torque(h) - torque(-h)) / (2 * h), atol=1e-6)


def test_what_cannot_follow_is_told():
    model, hold, q = slider_crank(), ["crank"], None
    q = mz.assemble(model, [0.7, 0.2, 1.0], hold=hold)
    with pytest.raises(mz.LoopError, match=r"cannot follow pin\.a\.rx"):  # out of its plane
        mz.sensitivity(mz.pose, model, ["pin.a.x", "pin.a.rx"], hold=hold, frame="rod")(q)
    tree = model.without_loop("pin")
    with pytest.raises(mz.ConfigurationError, match="hold= is for models with loops"):
        mz.sensitivity(mz.pose, tree, ["rod.mass"], hold=(), frame="rod")


def test_they_are_programs():
    model, hold, q = spatial()
    changes = mz.sensitivity(mz.assemble, model, ["arm.2.pitch", "ball.a.x"], hold=hold)
    for target in ("cpu", "interpret"):
        kernel: Any = mz.compile(changes, model, target)
        np.testing.assert_allclose(kernel(q, changes.nominal), changes(q), atol=1e-12)
