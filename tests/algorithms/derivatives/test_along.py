"""Directional derivatives: Kim's tables 5, 6 and 7."""

import numpy as np
import pytest
from support.cases import first
from support.mechanics import agree, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import chain

CHANGES = ("dq", "dv", "da", "dtau")


def setting(seed, n=5):
    model = loaded_tree(n, seed)
    q, v, tau, a = state(model, seed)
    rng = np.random.default_rng(seed + 100)
    changes = dict(zip(CHANGES, rng.normal(size=(4, model.nv))))
    W, dW = rng.normal(size=(2, model.nb, 6))
    return model, q, v, tau, a, changes, W, dW


def without(changes, *names):
    return {n: x for n, x in changes.items() if n not in names}


@pytest.mark.parametrize("seed", range(6))
def test_along_any_direction_the_jacobians_say_the_same(seed):
    """∂τ = ∂τ/∂q ∂q + ∂τ/∂v ∂v + M ∂a + ∂τ/∂W ∂W, and so for accelerations."""
    model, q, v, tau, a, d, W, dW = setting(seed)
    loads = {"wrenches": W, "dwrenches": dW}
    dq, dv, da = value(mz.inverse_dynamics_derivatives, model, q, v, a, W)
    by_W = value(mz.inverse_dynamics_wrench_derivatives, model, q)
    expected = dq @ d["dq"] + dv @ d["dv"] + da @ d["da"] + np.einsum("ijk,jk->i", by_W, dW)
    found = mz.directional(mz.inverse_dynamics, model, q, v, a, **without(d, "dtau"), **loads)
    agree(found, expected, 1e-10)
    dq, dv, dt = value(mz.forward_dynamics_derivatives, model, q, v, tau, W)
    by_W = value(mz.forward_dynamics_wrench_derivatives, model, q)
    expected = dq @ d["dq"] + dv @ d["dv"] + dt @ d["dtau"] + np.einsum("ijk,jk->i", by_W, dW)
    found = value(mz.forward_dynamics_directional, model, q, v, tau, **without(d, "da"), **loads)
    agree(found, expected, 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_hybrid_dynamics_along_any_direction(seed):
    model, q, v, tau, a, d, W, _ = setting(seed)
    rng = np.random.default_rng(seed)
    joints = [n for n in model.joint_names if model.joint(n).nv]
    prescribed = [n for n in joints if rng.random() < 0.5] + [(joints[0], 0)]
    options = {"prescribed": prescribed, "wrenches": W}
    D = value(mz.hybrid_dynamics_derivatives, model, q, v, tau, a, **options)
    x = [d[n] for n in ("dq", "dv", "dtau", "da")]
    expected = [sum(M @ y for M, y in zip(D[k : k + 4], x)) for k in (0, 4)]
    found = value(mz.hybrid_dynamics_directional, model, q, v, tau, a, **options, **d)
    agree(found[0], expected[0], 1e-9)
    agree(found[1], expected[1], 1e-9)


@pytest.mark.parametrize("seed", first(1, range(4)))
def test_inertias_and_geometry(seed):
    """∂I and ∂h: the same as sensitivities to named parameters, all at once."""
    model, q, v, tau, a, *_ = setting(seed, 3)
    rng = np.random.default_rng(seed)
    dI, dh = rng.normal(size=(model.nb, 10)), rng.normal(size=(model.nb, 6))
    ten = ("mass", "hx", "hy", "hz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")
    six = ("rx", "ry", "rz", "x", "y", "z")
    inertial = [f"{body}.{p}" for body in model.bodies for p in ten]
    geometric = [f"{joint}.{p}" for joint in model.joint_names for p in six]
    # B exp(U π) is before the joint: behind it, in the frame of the body, it is Ad of its motion
    moved = []
    for k in range(model.nb):
        joint, own = model.body(k).joint, q[model.q_slices[model.joint_names[k]]]
        motion = joint.pose(joint.neutral()).inverse() @ joint.pose(list(own))
        T = joint.frame_child @ motion @ joint.frame_child.inverse()
        moved.append(T.pull(mz.Twist.from_array(dh[k])).array().astype(float))
    directions = np.concatenate([dI.ravel(), dh.ravel()])
    for function, y in ((mz.inverse_dynamics, a), (mz.forward_dynamics, tau)):
        kernel = mz.sensitivity(function, model, inertial + geometric)
        expected = kernel(q, v, y) @ directions
        found = mz.directional(function, model, q, v, y, dinertias=dI, dh=np.array(moved))
        agree(found, expected, 1e-9)


def test_screws():
    """∂S and ∂Ṡ: a screw joint whose pitch changes moves on a changing screw, and its frame too."""

    def arm(pitch):
        builder = mz.Builder("screw")
        inertia = mz.Inertia(1.0, (0.3, 0.1, 0.2), np.diag([0.1, 0.2, 0.15]))
        builder.add("nut", None, mz.Screw("x", pitch=pitch), inertia)
        builder.add("arm", "nut", mz.Screw("y", pitch=2 * pitch), inertia, placement=(0.2, 0, 0))
        return builder.build()

    q, v, a = np.array([[0.4, -0.7], [1.1, 0.3], [0.2, 0.9]])
    h, pitch = 1e-5, 0.1
    ends = [value(mz.inverse_dynamics, arm(pitch + s * h), q, v, a) for s in (1, -1)]
    dS = np.zeros((6, 2))
    dS[3, 0], dS[4, 1] = 1.0, 2.0
    dh = np.zeros((2, 6))
    dh[0, 3], dh[1, 4] = q[0], 2.0 * q[1]  # what the change of the pitch shifts at this q
    found = mz.directional(mz.inverse_dynamics, arm(pitch), q, v, a, dscrews=dS, dh=dh)
    agree(found, (ends[0] - ends[1]) / (2 * h), 1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_rolled_is_unrolled(seed):
    model, q, v, tau, a, d, W, dW = setting(seed)
    joints = [n for n in model.joint_names if model.joint(n).nv]
    rng = np.random.default_rng(1)
    given = d | {"wrenches": W, "dwrenches": dW, "dinertias": rng.normal(size=(model.nb, 10))}
    given |= {"dh": rng.normal(size=(model.nb, 6)), "dscrews": rng.normal(size=(6, model.nv))}
    given["dscrew_rates"] = rng.normal(size=(6, model.nv))
    algorithm = mz.hybrid_dynamics_directional
    expected = value(algorithm, model, q, v, tau, a, prescribed=joints[::2], **given)
    arrays = [{"q": q, "v": v, "tau": tau, "a": a, **given}[n] for n in algorithm.arrays]
    out = program_value(algorithm, model, *arrays, rolled=True, prescribed=joints[::2])
    for x, y in zip(out, expected):
        agree(x, y)


def test_cost_grows_with_the_number_of_bodies():
    """O(n): operations of 10, 20 and 40 bodies lie on a line."""
    for algorithm, last in (
        (mz.inverse_dynamics_directional, "da"), (mz.forward_dynamics_directional, "dtau"),
    ):  # fmt: skip
        options = {"dq": True, "dv": True, last: True}
        a, b, c = (
            program_of(algorithm, chain(n), rolled=False, options=options).flops
            for n in (10, 20, 40)
        )
        assert abs((c - b) / (b - a) - 2.0) < 0.1


def test_other_functions_are_named():
    with pytest.raises(ValueError, match=r"no recursion for mass_matrix; there is one for mz\.inv"):
        mz.directional(mz.mass_matrix, chain(2), np.zeros(2))
