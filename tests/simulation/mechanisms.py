"""Mechanisms that the tests of integrators share."""

import numpy as np

import mozzi as mz

BODY = mz.Inertia(1.0, (0.1, 0.2, -0.3), np.diag([0.10, 0.20, 0.25]))


def floating(gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> mz.Model:
    """A free body with a hinge, a ball and a plane on it."""
    return (
        mz.Builder("floating", gravity=gravity)
        .add("base", None, mz.Free(), BODY)
        .add("arm", "base", mz.Revolute("y").between((0.2, 0.0, 0.0)), BODY)
        .add("ball", "arm", mz.Spherical().between((0.0, 0.3, 0.0)), BODY)
        .add("table", "base", mz.Planar("x").between((0.0, -0.2, 0.1)), BODY)
        .build()
    )


def slider(**dynamics: object) -> mz.Model:
    """A mass of 2 kg on a horizontal rail."""
    body = mz.Inertia(2.0, (0.0, 0.0, 0.0), np.eye(3))
    return mz.Builder("slider").add("mass", None, mz.Prismatic("x"), body, **dynamics).build()


def state(model: mz.Model, seed: int = 1, speed: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), speed * rng.normal(size=model.nv)


def apart(model: mz.Model, a: mz.Trajectory, b: mz.Trajectory) -> float:
    """How far the ends of two motions are apart."""
    dq = mz.difference(model, a.q[..., -1, :], b.q[..., -1, :])
    return float(max(abs(dq).max(), abs(a.v[..., -1, :] - b.v[..., -1, :]).max()))
