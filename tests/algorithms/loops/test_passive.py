"""Passive inverse dynamics and its regressor on the constraint manifold."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.loop_models import five_bar, slider_crank

import mozzi as mz

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "adaptive_five_bar.py"


def closed_motion(model: mz.Model, q: np.ndarray, seed: int = 0):
    """A motion and references that keep the loops closed."""
    rng = np.random.default_rng(seed)
    v, v_ref = (mz.consistent_velocities(model, q, rng.normal(size=model.nv)) for _ in range(2))
    a_ref = mz.consistent_accelerations(model, q, v, rng.normal(size=model.nv), v_ref=v_ref)
    return v, v_ref, a_ref


MODELS = {
    "five_bar": (five_bar, [0.9, 0.8, 2.0, -0.8], [("left", "right"), ("left", "right_rod"),
                                                   ("left", "left_rod", "right")]),
    "slider_crank": (slider_crank, [0.7, 0.2, 1.0], [("crank",), ("slider",), ("crank", "rod")]),
}  # fmt: skip


@pytest.mark.parametrize("label", [*MODELS])
def test_energy_of_the_difference_falls_as_on_a_tree(label: str):
    """d/dt ½ sᵀ M s = −sᵀ K s for any sufficient actuators, by what the mechanism does."""
    make, guess, choices = MODELS[label]
    model = make()
    q = mz.assemble(model, guess)
    v, v_ref, a_ref = closed_motion(model, q)
    s, M = v - v_ref, mz.mass_matrix(model, q)
    pi = np.concatenate([np.array(b.inertia.parameters(), float) for b in model])
    for chosen in choices:
        for minimize in ("torque", "loop_force"):
            how: dict[str, Any] = {"actuated": chosen, "minimize": minimize}
            tau = mz.passive_inverse_dynamics(model, q, v, v_ref, a_ref, **how)
            Y = mz.inverse_dynamics_regressor(model, q, v, a_ref, v_ref, **how)
            np.testing.assert_allclose(Y @ pi, tau, atol=1e-9)  # linear in the parameters
            act = [model.v_slices[n].start for n in chosen]
            assert not np.delete(tau, act).any()
            gain = np.zeros(model.nv)
            gain[act] = 3.0
            a = mz.forward_dynamics(model, q, v, tau - gain * s)
            rate = s @ M @ (a - a_ref) + 0.5 * s @ mz.mass_matrix_rate(model, q, v) @ s
            np.testing.assert_allclose(rate, -(gain * s) @ s, atol=1e-9)


def test_with_the_motion_as_reference_it_is_inverse_dynamics():
    model = five_bar()
    q = mz.assemble(model, [0.9, 0.8, 2.0, -0.8])
    v, *_ = closed_motion(model, q)
    a = mz.consistent_accelerations(model, q, v, np.ones(4))
    how: dict[str, Any] = {"actuated": ("left", "right")}
    wanted = mz.inverse_dynamics(model, q, v, a, **how)
    np.testing.assert_allclose(mz.passive_inverse_dynamics(model, q, v, v, a, **how), wanted,
                               atol=1e-10)  # fmt: skip
    np.testing.assert_allclose(mz.loop_acceleration(model, q, v, a), 0.0, atol=1e-12)


def test_mistakes_are_told():
    model = five_bar()
    q = mz.assemble(model, [0.9, 0.8, 2.0, -0.8])
    v, v_ref, a_ref = closed_motion(model, q)
    how: dict[str, Any] = {"actuated": ("left", "right")}
    with pytest.raises(mz.LoopError, match="v_ref opens the loops of 'five_bar'"):
        mz.passive_inverse_dynamics(model, q, v, v_ref + np.eye(4)[0], a_ref, **how)
    with pytest.raises(mz.LoopError, match="a_ref opens the loops of 'five_bar'"):
        mz.passive_inverse_dynamics(model, q, v, v_ref, a_ref + np.eye(4)[0], **how)
    with pytest.raises(mz.LoopError, match="underactuated by left"):
        mz.passive_inverse_dynamics(model, q, v, v_ref, a_ref, actuated=("left",))
    with pytest.raises(mz.LoopError, match="underactuated by left"):
        mz.inverse_dynamics_regressor(model, q, v, a_ref, actuated=("left",))
    tree = model.without_loop("tip")
    with pytest.raises(ValueError, match="has none: every joint is actuated"):
        mz.passive_inverse_dynamics(tree, q, v, v_ref, a_ref, **how)


def test_adaptive_control_of_a_closed_chain():
    """The example: the Lyapunov function falls, the loop stays closed."""
    spec = importlib.util.spec_from_file_location("adaptive_five_bar", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    history = example.simulate(duration=0.6)
    assert np.diff(history["lyapunov"]).max() < 1e-9
    assert history["lyapunov"][-1] < 0.95 * history["lyapunov"][0]
    assert history["error"][-1] < 0.3 * history["error"][0]
    assert history["open"].max() < 1e-9
