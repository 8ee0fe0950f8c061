"""Ways of assembly that the library does not find by itself: it is shown them by the caller.

A linkage of Bricard that moves in one of its assemblies and is rigid in others, away from its
neutral configuration, geared to more joints: what is found of it is rigid, of full rank.
The laws are energy, at the order of the method, and that where the loop is cut does not matter.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from support.cuts import Cuts, apart, same_state

import mozzi as mz
from mozzi.algorithms.constraints.overconstrained import overconstrained
from mozzi.errors import SingularWarning
from mozzi.lie import SE3, Rotation, Vec3
from mozzi.model import Model
from mozzi.model.generate import LINKAGES, Linkage, ring
from mozzi.model.generate.linkages import GROUND, LinkageJoint

MORE = 15  # joints of an arm beside the linkage, with a gear to it
GEAR = {"joint_1": 0.1} | {f"turn_{k}": 1.0 for k in range(MORE)}
ROD = mz.Inertia(0.1, (0.1, 0.0, 0.0), 1e-3 * np.eye(3))


@cache
def _hidden() -> tuple[Cuts, Linkage]:
    """A linkage in motion beside an arm, and the same with other zeros of its joints."""
    bricard = LINKAGES["bricard_line"](10)
    names = [GROUND, *(f"arm_{k}" for k in range(MORE))]
    out = SE3(Rotation.identity(), Vec3(0.2, 0.0, 0.0))
    arm = [
        LinkageJoint(f"turn_{k}", a, b, mz.Revolute().with_frames(out, None))
        for k, (a, b) in enumerate(pairwise(names))
    ]
    bodies = {**bricard.bodies, **dict.fromkeys(names[1:], ROD)}
    whole = replace(bricard, bodies=bodies, joints=(*bricard.joints, *arm))
    rng = np.random.default_rng(15)
    turned = [
        replace(x, joint=x.joint.with_frames(x.joint.frame_parent, x.joint.frame_child @ _turn(a)))
        for x, a in zip(bricard.joints, rng.uniform(-3.0, 3.0, 6), strict=True)
    ]
    return Cuts(whole, 10), replace(whole, joints=(*turned, *arm))


def _turn(angle: float) -> SE3:
    return SE3(Rotation.about(Vec3(0.0, 0.0, 1.0), angle), Vec3.zero())


def hidden(joint: str = "joint_2") -> tuple[Model, np.ndarray, np.ndarray]:
    """The mechanism, new, and a state of which nothing is known."""
    cuts, linkage = _hidden()
    model = linkage.model([joint])
    q, v = same_state(model, cuts.model, cuts.q, cuts.v)
    at = [model.v_slices[name].start for name in GEAR]
    v[at[-1]] -= v[at] @ [*GEAR.values()]
    return model.with_coupling("gear", GEAR, offset=float(q[at] @ [*GEAR.values()])), q, v


def known() -> tuple[Model, np.ndarray, np.ndarray]:
    """The same, after a look at it."""
    model, q, v = hidden()
    mz.forward_dynamics(model, q, v, np.zeros(model.nv))
    assert overconstrained(model)
    return model, q, v


def test_motions_are_those_of_the_linkage():
    """In the order of the method, whichever joint is cut, without a warning."""
    assert not overconstrained(hidden()[0])
    ends = []
    for joint in ("joint_2", "joint_5"):
        state, off = hidden(joint), []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for h in (4e-3, 2e-3, 1e-3):
                x = mz.simulate(*state, 1.0, h, record_every=50)
                E = x.energy()
                off.append(np.abs(E - E[0]).max())
        assert overconstrained(state[0])
        assert 14.0 < off[0] / off[1] < 18.0
        ends.append((state[0], (x.q[-1], x.v[-1])))
    (a, x), (b, y) = ends
    assert apart(a, b, x, y) < 1e-8


@pytest.mark.parametrize("d", [0.0, 1e-8, 1e-6, 1e-5, 1e-4])
def test_single_calls_at_open_states(d: float):
    """The first ones, of a model of which nothing is known."""
    model, q, v = known()
    rng = np.random.default_rng(3)
    tau, aside = rng.normal(size=(2, model.nv))
    near = mz.integrate(model, q, d * aside)
    one = [model.joint_names[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (
            lambda m, x: mz.forward_dynamics(m, x, v, tau),
            lambda m, x: mz.loop_forces(m, x, v, tau),
            lambda m, x: mz.hybrid_dynamics(m, x, v, tau, 0.0 * v, one)[1],
        ):
            exact, there = call(model, q), call(hidden()[0], near)
            assert np.abs(there - exact).max() < (1e-11 + 300.0 * d) * (1 + np.abs(exact).max())


CALLS = {
    "inverse_dynamics": lambda m, x, v, a: mz.inverse_dynamics(
        m, x, v, a, actuated=[m.joint_names[0], *m.joint_names[5:]]
    ),
    "consistent_velocities": lambda m, x, v, a: mz.consistent_velocities(m, x, a),
    "forward_dynamics_gradient": lambda m, x, v, a: mz.forward_dynamics_gradient(m, x, v, a, v),
    "momentum_dynamics": lambda m, x, v, a: mz.momentum_dynamics(m, x, mz.momenta(m, x, v), a),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("d", [1e-7, 1e-5])
def test_other_calls_at_open_states(name: str, d: float):
    """The same, whether the model was known or this is the first that is seen of it."""
    model, q, v = known()
    tau, aside = np.random.default_rng(3).normal(size=(2, model.nv))
    near = mz.integrate(model, q, d * aside)
    a = mz.forward_dynamics(model, q, v, tau)
    mine, theirs = (CALLS[name](m, near, v, a) for m in (hidden()[0], model))
    mine, theirs = (x if isinstance(x, tuple) else (x,) for x in (mine, theirs))
    assert max(np.abs(x - y).max() for x, y in zip(mine, theirs, strict=True)) < 1e-9


@pytest.mark.slow
def test_steps_and_their_derivatives():
    model, q, v = hidden()
    tau, h = np.zeros((20, model.nv)), 4e-3
    q1, v1 = mz.rollout(model, q, v, tau, h)
    x = mz.simulate(*known(), 20 * h, h)
    assert np.abs(q1[-1] - x.q[-1]).max() < 1e-12
    mine, theirs = (mz.linearize(m, q, v, tau[0], dt=h) for m in (hidden()[0], known()[0]))
    for a, b in zip(mine, theirs, strict=True):
        assert np.abs(a - b).max() < 1e-10
    ones = np.ones((21, model.nv))
    mine, theirs = (
        mz.rollout_gradient(m, q1, v1, tau, h, ones, ones) for m in (hidden()[0], known()[0])
    )
    for a, b in zip(mine, theirs, strict=True):
        assert np.abs(a - b).max() < 1e-9


@pytest.mark.slow
def test_a_driven_one():
    model, q, v = hidden()
    first = model.joint_names[0]
    law = {first: lambda t: q[0] + 0.5 * t}
    ends = [
        mz.simulate(m, q, v, 0.2, h, prescribed=law).q[-1] for m in (model, known()[0])
        for h in (2e-3, 1e-3)
    ]
    assert max(np.abs(x - ends[-1]).max() for x in ends) < 1e-9


def test_what_was_made_before_is_made_anew():
    """By the same calls, at the same open state: before and after a look at the closed one."""
    model, q, v = hidden()
    tau, near = np.zeros(model.nv), mz.integrate(model, q, 1e-6 * np.ones(model.nv))
    before = mz.momentum_dynamics(model, near, mz.momenta(model, near, v), tau)
    mz.forward_dynamics(model, q, v, tau)
    p = mz.momenta(model, near, v)
    after = mz.momentum_dynamics(model, near, p, tau)
    right = mz.momentum_dynamics(known()[0], near, p, tau)
    for x, y, z in zip(before, after, right, strict=True):
        assert np.isfinite(x).all() and (y == z).all()


def test_singular_configurations_show_nothing():
    """Rows that depend on one another there do so by accident: a parallelogram that lies flat."""
    axes = [((x, 0.0, 0.1 * k), (0.0, 0.0, 1.0)) for k, x in enumerate((0, 1, 3, 2))]
    model = ring("parallelogram", axes).model()
    still = np.zeros(model.nv)
    with pytest.warns(SingularWarning):
        mz.forward_dynamics(model, still, still, still)
    with pytest.warns(SingularWarning):
        mz.simulate(model, still, still, 0.01, 1e-3)
    assert not overconstrained(model)


def test_what_is_assembled_is_shown():
    """So that kernels made afterwards know it."""
    model, q, _ = hidden()
    mz.assemble(model, q + 1e-7)
    assert overconstrained(model)
