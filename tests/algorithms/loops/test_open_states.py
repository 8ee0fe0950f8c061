"""Single calls where loops are a little open: answers change by as much as that, and no more.

Rows that depend on one another where a linkage is closed do so no longer where it is open by d: if
they counted, answers would change by any size.
"""

import numpy as np
import pytest
from support.cases import first
from support.cuts import Cuts, on_base
from support.mechanics import agree

import mozzi as mz
from mozzi.model.generate import LINKAGES

OPEN = (1e-12, 1e-9, 1e-7, 1e-6, 1e-5)
TIMES = 1e4  # an answer may change by as many times how open it is


def linkage(name: str, cut: str) -> tuple[mz.Model, np.ndarray, np.ndarray, np.ndarray]:
    """(model, q, v, a) of a linkage on a base that turns: one joint that is driven leaves it free
    to move.
    """
    made = on_base(LINKAGES[name](0), mz.Revolute((1.0, 2.0, 3.0)))
    model, q, v = Cuts(made, 0).cut(cut)
    return model, q, v, mz.forward_dynamics(model, q, v, np.ones(model.nv))


def changes(call, model: mz.Model, q: np.ndarray) -> list[float]:
    """How much an answer changes at open states, over how open they are."""
    there = np.random.default_rng(0).normal(size=model.nv)
    closed = np.asarray(call(q))
    size = 1.0 + np.abs(closed).max()
    return [
        float(np.abs(np.asarray(call(mz.integrate(model, q, d * there))) - closed).max() / size / d)
        for d in OPEN
    ]


def calls(model: mz.Model, v: np.ndarray, a: np.ndarray) -> dict:
    """Functions of q by name."""
    one, tau = [model.joint_names[0]], np.ones(model.nv)
    return {
        "projected_forward_dynamics": lambda q: mz.projected_forward_dynamics(model, q, v, tau),
        "consistent_accelerations": lambda q: mz.consistent_accelerations(model, q, v, tau),
        "consistent_velocities": lambda q: mz.consistent_velocities(model, q, tau),
        "forward_dynamics": lambda q: mz.forward_dynamics(model, q, v, tau),
        "loop_forces": lambda q: mz.loop_forces(model, q, v, tau),
        "hybrid_dynamics": lambda q: np.stack(
            mz.hybrid_dynamics(model, q, v, tau, a, prescribed=one)
        ),
        "hybrid_dynamics_derivatives": lambda q: np.stack(
            mz.hybrid_dynamics_derivatives(model, q, v, tau, a, prescribed=one)[6:]
        ),
        "inverse_dynamics": lambda q: mz.inverse_dynamics(
            model, q, v, a, actuated=model.joint_names[:3]
        ),
        "inverse_dynamics_derivatives": lambda q: mz.inverse_dynamics_derivatives(
            model, q, v, a, actuated=model.joint_names[:3]
        )[1],
        "passive_inverse_dynamics": lambda q: mz.passive_inverse_dynamics(
            model, q, v, v, a, actuated=model.joint_names[:3]
        ),
    }


@pytest.mark.parametrize("cut", ["joint_1", "joint_3"])
@pytest.mark.parametrize("name", ["bennett", "bricard_line", "spherical_4", "sarrus"])
def test_answers_change_by_as_much_as_loops_are_open(name: str, cut: str):
    """Derivatives of hybrid dynamics, `projected_forward_dynamics` and `consistent_accelerations`
    were off by up to their size from 1e-8 on, without a word.
    """
    model, q, v, a = linkage(name, cut)
    for function, call in calls(model, v, a).items():
        assert max(changes(call, model, q)) < TIMES, function


def spherical_platform(seed: int) -> mz.Model:
    """A plate on three legs of three joints each, all of whose axes meet in a point: 10 rows of
    rank 4, of which some vanish. Bodies stand as they are at neutral.
    """
    rng = np.random.default_rng(seed)

    def joint() -> tuple[mz.Joint, mz.SE3]:
        axis = rng.normal(size=3)
        at = mz.SE3.translation(*(axis * rng.normal()))
        return mz.Revolute(tuple(axis)), at

    def body() -> mz.Inertia:
        return mz.Inertia(rng.uniform(0.5, 2.0), rng.normal(size=3), np.diag([0.2, 0.3, 0.4]))

    tree = [("u0", None), ("l0", "u0"), ("plate", "l0"), ("l1", "plate"), ("u1", "l1")]
    builder = mz.Builder("spherical platform")
    for name, parent in [*tree, ("u2", None), ("l2", "plate")]:
        turn, at = joint()
        builder.add(name, parent, turn.between(at, at), body())
    for name, a, b in (("r1", None, "u1"), ("s2", "u2", "l2")):
        turn, at = joint()
        builder.loop(name, a, b, turn, at, at)
    return builder.build()


@pytest.mark.parametrize("minimize", ["torque", "loop_force"])
@pytest.mark.parametrize("some", [4, 5, None])
@pytest.mark.parametrize("seed", first(1, range(2)))
def test_programs_share_torques_where_rows_nearly_vanish(
    seed: int, some: int | None, minimize: str
):
    """A row that vanishes where a linkage is closed is as long as it is open, 1e-14 by rounding
    alone: where it counted, compiled torques made another motion.
    """
    model = spherical_platform(seed)
    q, tau = model.neutral(), np.ones(model.nv)
    v = mz.consistent_velocities(model, q, np.random.default_rng(seed).normal(size=model.nv))
    a = mz.forward_dynamics(model, q, v, tau)
    how = {"minimize": minimize, "actuated": [*model.joint_names[:some]]}
    kernel = mz.compile(mz.inverse_dynamics, model, options=how)
    assert max(changes(lambda q: kernel(q, v, a), model, q)) < TIMES
    regressor = mz.compile(mz.inverse_dynamics_regressor, model, options=how)
    assert max(changes(lambda q: regressor(q, v, a), model, q)) < TIMES
    agree(mz.forward_dynamics(model, q, v, kernel(q, v, a)), a, 1e-9)
    agree(mz.inverse_dynamics(model, q, v, a, **how), kernel(q, v, a), 1e-9)
