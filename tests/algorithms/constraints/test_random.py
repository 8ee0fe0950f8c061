"""Random trees with random loops, against the projected form: any joints, any rank."""

import numpy as np
import pytest
from support.cases import first
from support.loop_models import pose

import mozzi as mz
from mozzi.algorithms.reference.loops import projected_forward_dynamics
from mozzi.model.generate import random_tree
from mozzi.model.joints.joint import example_joints

JOINTS = list(example_joints().values())


def mechanism(seed: int) -> tuple[mz.Model, np.ndarray]:
    """Up to nine bodies, up to three loops, closed where the tree happens to be."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    model = random_tree(n, seed)
    q = np.asarray(model.random_configuration(rng), dtype=float)
    C = np.array(mz.forward_kinematics.python(model, q), dtype=float)
    for k in range(int(rng.integers(1, 4))):
        joint = JOINTS[rng.integers(len(JOINTS))]
        a, b = map(int, rng.choice(n, 2, replace=False))
        ground = rng.random() < 0.25
        own = [0.5 * float(x) if joint.flat else float(x) for x in joint.random(rng)]
        P_a = pose(rng)
        at = (np.eye(4) if ground else C[a]) @ P_a.matrix() @ joint.motion(own).matrix()
        P_b = np.linalg.inv(C[b]) @ at
        model = model.with_loop(f"loop {k}", None if ground else a, b, joint, P_a, P_b)
    return model, q


@pytest.mark.parametrize("seed", first(6, range(160)))
def test_random_mechanisms(seed: int):
    """Accelerations are unique although rows are redundant; where rows disagree there are none.

    Λ squares what is small: rows within an angle e of others cost ε/e².
    """
    model, q = mechanism(seed)
    A = np.array(mz.loop_jacobian.python(model, q), dtype=float).reshape(-1, model.nv)
    v, tau = np.random.default_rng(seed).normal(size=(2, model.nv))
    v = v - np.linalg.pinv(A, rcond=1e-9) @ (A @ v)
    expected = projected_forward_dynamics(model, q, v, tau)
    missed = np.array(mz.loop_acceleration.python(model, q, v, expected), dtype=float)
    a = np.array(mz.forward_dynamics.python(model, q, v, tau), dtype=float)
    assert np.isfinite(a).all()
    size = 1.0 + np.abs(expected).max()
    if np.abs(missed).max(initial=0.0) < 1e-9 * size:
        margin = float(mz.loop_rank.python(model, q)[1])
        assert np.abs(a - expected).max() < max(1e-10, 1e-14 / margin**2) * size
