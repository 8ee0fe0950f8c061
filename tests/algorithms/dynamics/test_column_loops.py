"""Products with M⁻¹ by loops over columns are those of straight-line and rolled programs."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import chain, random_tree, tree
from mozzi.program.node import Node
from mozzi.program.program import Loop, Program


def inertia(m: float) -> mz.Inertia:
    return mz.Inertia(m, (0.1, -0.2, 0.05), np.diag([0.3, 0.4, 0.5]) * m)


def humanoid(seed: int) -> mz.Model:
    """A free base with branches of branches, and joints of several freedoms among them."""
    rng = np.random.default_rng(seed)
    joints = [mz.Revolute("x"), mz.Spherical(), mz.Prismatic((0.6, 0.0, 0.8)), mz.Universal()]
    b = mz.Builder("humanoid").add("base", None, mz.Free(), inertia(3.0))
    names = ["base"]
    for k in range(7):
        before = names[rng.integers(max(0, k - 3), len(names))]
        at = mz.SE3.translation(*rng.normal(size=3) * 0.3)
        joint = joints[k % 4].between(at)
        b.add(f"{k}", before, joint, inertia(1.0 + k))
        names.append(f"{k}")
    return b.build().with_dynamics("4", armature=0.3)


@pytest.mark.parametrize("make", [
    lambda: tree(12, seed=3), pytest.param(lambda: humanoid(0), marks=pytest.mark.slow)
])  # fmt: skip
def test_loops_over_columns(make):
    """Looped, straight-line and rolled programs agree; M⁻¹ is symmetric to the last digit."""
    model = make()
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng, batch=(11,))
    v, tau = rng.normal(size=(2, 11, model.nv))
    for function, arrays in (
        (mz.mass_matrix_inverse, (q,)), (mz.forward_dynamics_derivatives, (q, v, tau)),
    ):  # fmt: skip
        assert any(isinstance(s, Loop) for s in program_of(function, model).region.statements)
        looped, straight, rolled = (
            np.asarray(mz.compile(function, model, rolled=r)(*arrays)) for r in (None, False, True)
        )
        np.testing.assert_allclose(looped, straight, rtol=1e-11, atol=1e-11 * abs(rolled).max())
        np.testing.assert_allclose(looped, rolled, rtol=1e-9, atol=1e-9 * abs(rolled).max())
    inverse = mz.mass_matrix_inverse(model, q)
    assert np.array_equal(inverse, np.swapaxes(inverse, -1, -2))
    unit = inverse @ mz.mass_matrix(model, q)
    np.testing.assert_allclose(unit, np.broadcast_to(np.eye(model.nv), unit.shape), atol=1e-9)


def test_springs_between_branches():
    """∂a/∂q = −M⁻¹ ∂τ/∂q where a spring ties branches, and trees on the world, together."""
    b = mz.Builder("pair")
    for side in "ab":
        for k, joint in enumerate((mz.Revolute("y"), mz.Spherical(), mz.Prismatic("x"))):
            before = f"{side}{k - 1}" if k else None
            b.add(f"{side}{k}", before, joint.between((0.3, 0.1 * k, 0.2)), inertia(1.0 + k))
    model = b.add("c", "b0", mz.Revolute("x"), inertia(1.0)).build()
    model = model.with_spring("across", "a2", "b1", (0.1, 0, 0), (0, 0, 0), 9.0, 0.7, 0.3)
    model = model.with_spring("limbs", "b2", "c", (0.1, 0, 0), (0, 0.2, 0), 5.0, 0.4, 0.2)
    rng = np.random.default_rng(0)
    q, (v, tau) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    dq, dv, M = mz.inverse_dynamics_derivatives(
        model, q, v, mz.forward_dynamics(model, q, v, tau, resistance=True), resistance=True
    )
    found = mz.forward_dynamics_derivatives(model, q, v, tau, resistance=True)
    for x, y in zip(found, (-dq, -dv, np.eye(model.nv)), strict=True):
        np.testing.assert_allclose(M @ x, y, atol=1e-9 * np.abs(dq).max())


def test_columns_of_zeros_are_left_out():
    """Where a free base is changes nothing in a uniform field: no loop computes those columns."""
    model = humanoid(0)
    program = program_of(mz.forward_dynamics_derivatives, model)
    dq, dv, _ = (
        np.array([isinstance(y, Node) and y.op == "const" for y in cast("list[object]", x.values)])
        for x in program.outputs
    )
    zeros = np.all(dq.reshape(model.nv, model.nv), axis=0)
    assert np.flatnonzero(zeros).max() < 6 and zeros.sum() == 3 and not dv.any()
    inverse = program_of(mz.mass_matrix_inverse, model)
    assert trips(program) - trips(inverse) == 2 * model.nv - 3


def trips(program: Program) -> int:
    """How often the bodies of its loops run."""
    stops = [s.stop for s in program.region.statements if isinstance(s, Loop)]
    return sum(x for x in stops if isinstance(x, int))


@pytest.mark.parametrize("make", [lambda: random_tree(12, 1), lambda: chain(12, seed=1)])
def test_limbs(make):
    """M⁻¹ limb by limb is the inverse, of joints of all kinds, and of limbs that count as several;
    limbs before a limb are its columns.
    """
    model = make()
    program = program_of(mz.mass_matrix_inverse, model)
    assert trips(program) > 0
    q = model.random_configuration(np.random.default_rng(0), batch=(9,))
    inverse = mz.mass_matrix_inverse(model, q)
    assert np.array_equal(inverse, np.swapaxes(inverse, -1, -2))
    unit = inverse @ mz.mass_matrix(model, q)
    np.testing.assert_allclose(unit, np.broadcast_to(np.eye(model.nv), unit.shape), atol=1e-9)


def test_single_precision_keeps_articulated_bodies():
    """M⁻¹ of a chain in float32 has the digits that articulated bodies leave."""
    model = chain(12, seed=0)
    q = model.random_configuration(np.random.default_rng(1), batch=(32,))
    exact = mz.mass_matrix_inverse(model, q)
    single = mz.compile(mz.mass_matrix_inverse, model, dtype="float32")(q.astype("float32"))
    error = np.abs(single - exact).max((1, 2)) / np.abs(exact).max((1, 2))
    assert error.max() < 1e-5
