"""What is refused of loops, and why; empty batches; what joints transmit beside loops."""

import numpy as np
import pytest
from support.loop_models import closed_tree, motion, state, stewart
from support.mechanics import agree

import mozzi as mz
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.model.generate import LINKAGES, chain, four_bar

# functions whose answers are statements about the tree, true whether loops close it or not
OF_THE_TREE = {
    "accelerations", "accelerations_of_coordinates",
    "bias_forces", "body_jacobians", "center_of_mass", "centroidal_momentum",
    "centroidal_momentum_matrix", "christoffel", "contact_frames", "contact_gaps",
    "conversion_matrix", "convert_jacobian",
    "convert_twist", "convert_twist_rate", "convert_twist_rates", "convert_twists",
    "convert_wrench", "convert_wrenches", "coordinate_accelerations",
    "coriolis_matrix", "difference",
    "forward_kinematics", "gravity_forces", "integrate", "inverse_dynamics",
    "inverse_dynamics_derivatives", "inverse_dynamics_directional", "inverse_dynamics_gradient",
    "inverse_dynamics_hessian", "inverse_dynamics_rates", "inverse_dynamics_regressor",
    "inverse_dynamics_wrench_derivatives", "jacobian",
    "jacobian_derivatives", "jacobian_partials", "jacobian_rate",
    "jerks", "joint_accelerations", "joint_force_derivatives",
    "joint_momenta", "joint_rates", "joint_resistance", "joint_screws",
    "kinetic_energy", "kinetic_energy_regressor",
    "mass_matrix", "mass_matrix_inverse", "mass_matrix_inverse_partials",
    "mass_matrix_inverse_rate", "mass_matrix_partials", "mass_matrix_rate", "momenta", "momentum",
    "momentum_rates", "momentum_regressor", "move_twist", "move_wrench",
    "operational_admittance", "passive_inverse_dynamics", "point_jacobian", "pose",
    "potential_energy", "potential_energy_regressor",
    "product_of_exponentials", "rates", "relative_acceleration", "relative_jacobian",
    "relative_jacobian_rate", "relative_twist",
    "spring_energy", "spring_wrenches",
    "system_conversion_matrix", "system_jacobian", "twist_axis", "twist_derivatives", "twists",
    "velocities_of_coordinates", "velocities_of_momenta",
}  # fmt: skip


def test_every_algorithm_says_what_it_does_with_loops():
    """It honours them, refuses them, answers between programs, or is one of those of the tree."""
    every = {n: f for n in mz.__all__ if isinstance(f := getattr(mz, n), Algorithm)}
    tree = {n for n, f in every.items() if f.loops == "tree"}
    assert tree == OF_THE_TREE
    assert {f.loops for n, f in every.items() if n not in tree} <= {"honour", "refuse"}


@pytest.mark.parametrize("label", ["four_bar", "stewart", "universal"])
def test_joint_wrenches_beside_loops(label: str):
    """Sᵀ W is the joint force, if the loops transmit what they do; else the question is refused."""
    if label == "stewart":
        model, q = stewart(0.3)
    elif label == "universal":
        model, q = closed_tree(mz.Universal(), seed=3)
    else:
        model = four_bar()
        q = mz.assemble(model, [0.3, 0.5, 1.5])
    v, tau = state(model, q)
    a, f = mz.forward_dynamics(model, q, v, tau), mz.loop_forces(model, q, v, tau)
    W = mz.joint_wrenches(model, q, v, a, multipliers=f)
    for body, x in zip(model, W, strict=True):
        S = body.joint.screws(q[model.q_slices[body.joint_name]])
        own = body.joint.frame_child.pull(mz.Wrench.from_array(x))
        force = np.array(S.T @ own, dtype=float)
        agree(force, tau[model.v_slices[body.joint_name]], 1e-9)
    with pytest.raises(mz.LoopError, match="give multipliers=, as loop_forces"):
        mz.joint_wrenches(model, q, v, a)


def test_empty_batches():
    model, none = four_bar(), np.zeros((0, 3))
    assert mz.assemble(model, none).shape == (0, 3)
    assert mz.assemble(model, none, report=True).singular.shape == (0,)
    assert mz.consistent_velocities(model, none, none).shape == (0, 3)
    assert mz.forward_dynamics(model, none, none, none).shape == (0, 3)
    assert mz.loop_forces(model, none, none, none).shape == (0, 5)
    assert mz.inverse_dynamics(model, none, none, none, actuated=["crank"]).shape == (0, 3)
    tau, a = mz.hybrid_dynamics(model, none, none, none, none, prescribed=["crank"])
    assert tau.shape == a.shape == (0, 3)


def test_a_tree_is_closed():
    """Nothing to close: rank 0, one branch."""
    found = mz.assemble(chain(3), np.zeros(3), report=True)
    assert found.closed and found.report() == "rank [0], mobility [3], branch [1]"


def test_wrong_shapes_are_named():
    model, q, v, _ = motion()
    with pytest.raises(mz.ConfigurationError, match=r"shape \(2,\); four_bar has 5 rows"):
        mz.assemble(model, q, loop_offsets=[0.1, 0.2])
    with pytest.raises(mz.ConfigurationError, match=r"shape \(2,\); four_bar has 5 rows"):
        mz.consistent_velocities(model, q, v, loop_rates=[0.1, 0.2])
    with pytest.raises(mz.ConfigurationError, match="four_bar has nv = 3"):
        mz.consistent_velocities(model, q, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"^forward_dynamics: "):
        mz.forward_dynamics(model, q, v, [1.0, 2.0])


def test_every_sample_is_judged_by_its_own_size():
    """A sample with large numbers does not hide another whose loops open."""
    model, q, v, a = motion()
    q2, v2 = np.stack([q, q]), np.stack([1e4 * v, v])
    large = mz.forward_dynamics(model, q, v2[0], np.zeros(3))
    good, bad = np.stack([large, a]), np.stack([large, a + np.array([0.1, 0.0, 0.0])])
    mz.inverse_dynamics(model, q2, v2, good, actuated=["crank"])
    with pytest.raises(mz.LoopError, match="these accelerations open its loops"):
        mz.inverse_dynamics(model, q2, v2, bad, actuated=["crank"])
    with pytest.raises(mz.LoopError, match="no motion with these accelerations"):
        mz.hybrid_dynamics(model, q2, v2, 0.0 * a, bad, prescribed=["crank", "coupler"])
    with pytest.raises(mz.LoopError, match="no velocities with these held"):
        mz.consistent_velocities(
            model, q2, np.stack([1e12 * v, [1.0, 1.0, 1.0]]), hold=["crank", "rocker"]
        )


def test_weights_and_actuators():
    model, q, v, a = motion()
    with pytest.raises(mz.LoopError, match="give 2 positive weights, one for each actuated"):
        mz.inverse_dynamics(model, q, v, a, actuated=["crank", "rocker"], weighting=[1, 2, 3])
    with pytest.raises(mz.LoopError, match="give 5 positive weights, one for each row"):
        mz.inverse_dynamics(
            model, q, v, a, actuated=["crank", "rocker"], minimize="loop_force", weighting=[1, -1]
        )
    with pytest.raises(mz.LoopError, match="underactuated by no joint"):
        mz.inverse_dynamics(model, q, v, a + 0.0, actuated=[])


def test_both_ends_on_one_body():
    tree = chain(3, seed=1)
    with pytest.raises(mz.ModelError, match="both ends are on 'body_1'"):
        tree.with_loop("loop", "body_1", "body_1", mz.Revolute("z"))
    with pytest.raises(mz.ModelError, match="both ends are on 'body_1'"):
        tree.with_distance("rod", "body_1", "body_1", (0, 0, 0), (1, 0, 0), 1.0)


def test_rows_that_contradict_each_other_by_rounding_are_told_apart():
    """An axis that is tilted by 1e-9, as in files of few digits: no guess is nearer, a tolerance
    serves.
    """
    Z, rod = mz.Revolute("z"), mz.Inertia(1.0, (0.5, 0, 0), np.diag([0.01, 0.1, 0.1]))
    tilted = np.eye(4)
    tilted[:3, 3], tilted[1:3, 1:3] = (1.0, 0.0, 0.0), [[1.0, -1e-9], [1e-9, 1.0]]
    model = (
        mz.Builder().add("a", None, Z, rod).add("b", "a", Z, rod, placement=(1, 0, 0))
        .add("c", None, Z, rod, placement=(1.2, 0, 0))
        .loop("pin", "b", "c", Z, mz.SE3.from_matrix(tilted), (1, 0, 0)).build()
    )  # fmt: skip
    q = [1.2, -1.0, 1.4]
    with pytest.raises(mz.LoopError, match=r"rounded in a file make them, take tolerance=1e-08"):
        mz.assemble(model, q)
    assert np.abs(mz.loop_residual(model, mz.assemble(model, q, tolerance=1e-8))).max() < 2e-9


def test_rates_of_rows_that_contradict_each_other_are_refused():
    """Five rows of Bennett's linkage, of rank two: three were missed in silence."""
    model = LINKAGES["bennett"](0).model()
    q = mz.assemble(model, model.neutral())
    v = mz.consistent_velocities(model, q, np.ones(model.nv))
    tau, one = np.zeros(model.nv), np.ones(model.nv)
    agreeing = mz.loop_acceleration(model, q, v, one)
    asked = np.array([1.0, -2.0, 0.5, 3.0, 1.0])
    for call in (
        lambda rows: mz.forward_dynamics(model, q, v, tau, loop_accelerations=rows),
        lambda rows: mz.hybrid_dynamics(model, q, v, tau, tau, loop_accelerations=rows)[1],
        lambda rows: mz.loop_forces(model, q, v, tau, loop_accelerations=rows),
    ):
        with pytest.raises(mz.LoopError, match=r"as loop_accelerations say .* rates of loops"):
            call(asked)
        assert np.isfinite(call(agreeing)).all()
    a = mz.forward_dynamics(model, q, v, tau, loop_accelerations=agreeing)
    agree(mz.loop_acceleration(model, q, v, a), agreeing)


def test_a_joint_that_is_not_there_is_told_before_accelerations_that_open_loops():
    model = four_bar()
    q = mz.assemble(model, [0.3, 0.5, 1.5])
    with pytest.raises(mz.ModelError, match="no joint 'crnk'; it has 'crank'"):
        mz.inverse_dynamics(model, q, np.zeros(3), np.ones(3), actuated=["crnk"])
