"""Kinematics and dynamics of articulated rigid bodies on screws and Lie groups.

Names load on first use: ``import mozzi`` imports nothing but this file.
"""

from __future__ import annotations

__version__ = "0.1.0"

# The public API: name → module that defines it.  A new public name is one line here; what editors
# and type checkers see, __init__.pyi, is made from it by: python tests/typing/stub.py
_HOME: dict[str, str] = {
    # models
    "Actuator": "mozzi.model",
    "Body": "mozzi.model",
    "Box": "mozzi.model",
    "Builder": "mozzi.model",
    "Capsule": "mozzi.model",
    "Composite": "mozzi.model",
    "Contact": "mozzi.model",
    "Coupling": "mozzi.model",
    "Cylinder": "mozzi.model",
    "Cylindrical": "mozzi.model",
    "Disc": "mozzi.model",
    "Distance": "mozzi.model",
    "Ellipsoid": "mozzi.model",
    "Fixed": "mozzi.model",
    "Free": "mozzi.model",
    "HeightField": "mozzi.model",
    "Joint": "mozzi.model",
    "JointDynamics": "mozzi.model",
    "Loop": "mozzi.model",
    "Mesh": "mozzi.model",
    "Model": "mozzi.model",
    "Planar": "mozzi.model",
    "PlanarScrew": "mozzi.model",
    "Plane": "mozzi.model",
    "Prismatic": "mozzi.model",
    "Revolute": "mozzi.model",
    "Rolling": "mozzi.model",
    "Schoenflies": "mozzi.model",
    "Screw": "mozzi.model",
    "Shape": "mozzi.model",
    "Sphere": "mozzi.model",
    "Spherical": "mozzi.model",
    "Spring": "mozzi.model",
    "Torus": "mozzi.model",
    "Translation2": "mozzi.model",
    "Translation3": "mozzi.model",
    "Universal": "mozzi.model",
    "VelocityRows": "mozzi.model",
    # screws and Lie groups
    "Inertia": "mozzi.lie",
    "Momentum": "mozzi.lie",
    "Rotation": "mozzi.lie",
    "SE3": "mozzi.lie",
    "Screws": "mozzi.lie",
    "Twist": "mozzi.lie",
    "Wrench": "mozzi.lie",
    # files
    "load": "mozzi.loaders",
    # kinematics
    "InverseKinematicsResult": "mozzi.algorithms.kinematics.inverse_kinematics",
    "accelerations": "mozzi.algorithms.kinematics.accelerations",
    "body_jacobians": "mozzi.algorithms.kinematics.jacobian",
    "conversion_matrix": "mozzi.algorithms.kinematics.conversion",
    "convert_jacobian": "mozzi.algorithms.kinematics.conversion",
    "convert_twist": "mozzi.algorithms.kinematics.conversion",
    "convert_twist_rate": "mozzi.algorithms.kinematics.conversion",
    "convert_wrench": "mozzi.algorithms.kinematics.conversion",
    "difference": "mozzi.algorithms.kinematics.configuration",
    "forward_kinematics": "mozzi.algorithms.kinematics.poses",
    "integrate": "mozzi.algorithms.kinematics.configuration",
    "inverse_kinematics": "mozzi.algorithms.loops.inverse_kinematics",
    "jacobian": "mozzi.algorithms.kinematics.jacobian",
    "jacobian_partials": "mozzi.algorithms.kinematics.jacobian_derivatives",
    "jacobian_rate": "mozzi.algorithms.kinematics.jacobian_derivatives",
    "jerks": "mozzi.algorithms.kinematics.accelerations",
    "joint_accelerations": "mozzi.algorithms.kinematics.joint_rates",
    "joint_rates": "mozzi.algorithms.kinematics.joint_rates",
    "joint_screws": "mozzi.algorithms.kinematics.jacobian",
    "point_jacobian": "mozzi.algorithms.kinematics.jacobian",
    "pose": "mozzi.algorithms.kinematics.poses",
    "product_of_exponentials": "mozzi.algorithms.kinematics.poses",
    "rates": "mozzi.algorithms.kinematics.configuration",
    "system_jacobian": "mozzi.algorithms.kinematics.jacobian",
    "system_jacobian_factors": "mozzi.algorithms.kinematics.system_jacobian",
    "twists": "mozzi.algorithms.kinematics.poses",
    # contact
    "contact_frames": "mozzi.algorithms.contact.gaps",
    "contact_gaps": "mozzi.algorithms.contact.gaps",
    "contact_points": "mozzi.algorithms.contact.gaps",
    "impact": "mozzi.algorithms.contact.step",
    # dynamics
    "ClosedSystem": "mozzi.algorithms.loops.topology",
    "assemble": "mozzi.algorithms.loops.assemble",
    "Assembly": "mozzi.algorithms.loops.assemble",
    "bias_forces": "mozzi.algorithms.dynamics.inverse",
    "center_of_mass": "mozzi.algorithms.dynamics.energy",
    "centroidal_momentum": "mozzi.algorithms.dynamics.energy",
    "centroidal_momentum_matrix": "mozzi.algorithms.dynamics.energy",
    "christoffel": "mozzi.algorithms.dynamics.coriolis",
    "consistent_velocities": "mozzi.algorithms.loops.assemble",
    "coriolis_matrix": "mozzi.algorithms.dynamics.coriolis",
    "forward_dynamics": "mozzi.algorithms.dynamics.forward",
    "gravity_forces": "mozzi.algorithms.dynamics.inverse",
    "hybrid_dynamics": "mozzi.algorithms.dynamics.forward",
    "inverse_dynamics": "mozzi.algorithms.dynamics.inverse",
    "inverse_dynamics_regressor": "mozzi.algorithms.dynamics.regressor",
    "joint_resistance": "mozzi.algorithms.dynamics.resistance",
    "joint_wrenches": "mozzi.algorithms.dynamics.inverse",
    "kinetic_energy": "mozzi.algorithms.dynamics.energy",
    "loop_acceleration": "mozzi.algorithms.constraints.rows",
    "loop_forces": "mozzi.algorithms.loops.forces",
    "loop_jacobian": "mozzi.algorithms.constraints.rows",
    "loop_rank": "mozzi.algorithms.constraints.row_choice",
    "loop_residual": "mozzi.algorithms.constraints.rows",
    "loop_rows": "mozzi.algorithms.constraints.rows",
    "mass_matrix": "mozzi.algorithms.dynamics.mass_matrix",
    "mass_matrix_inverse": "mozzi.algorithms.dynamics.mass_matrix",
    "mass_matrix_rate": "mozzi.algorithms.dynamics.mass_matrix",
    "momentum": "mozzi.algorithms.dynamics.energy",
    "newton_euler": "mozzi.algorithms.dynamics.newton_euler",
    "operational_admittance": "mozzi.algorithms.dynamics.operational_admittance",
    "operators": "mozzi.algorithms.dynamics.operators",
    "passive_inverse_dynamics": "mozzi.algorithms.dynamics.inverse",
    "potential_energy": "mozzi.algorithms.dynamics.energy",
    "spring_energy": "mozzi.algorithms.dynamics.springs",
    "spring_wrenches": "mozzi.algorithms.dynamics.springs",
    # derivatives
    "Sensitivity": "mozzi.algorithms.derivatives.parameters",
    "directional": "mozzi.algorithms.derivatives.along",
    "forward_dynamics_derivatives": "mozzi.algorithms.derivatives.first",
    "forward_dynamics_directional": "mozzi.algorithms.derivatives.along",
    "forward_dynamics_gradient": "mozzi.algorithms.derivatives.gradient",
    "forward_dynamics_hessian": "mozzi.algorithms.derivatives.second",
    "forward_dynamics_wrench_derivatives": "mozzi.algorithms.derivatives.first",
    "hybrid_dynamics_derivatives": "mozzi.algorithms.derivatives.hybrid",
    "hybrid_dynamics_directional": "mozzi.algorithms.derivatives.along",
    "inverse_dynamics_derivatives": "mozzi.algorithms.derivatives.first",
    "inverse_dynamics_directional": "mozzi.algorithms.derivatives.along",
    "inverse_dynamics_gradient": "mozzi.algorithms.derivatives.gradient",
    "inverse_dynamics_hessian": "mozzi.algorithms.derivatives.second",
    "inverse_dynamics_rates": "mozzi.algorithms.derivatives.time",
    "inverse_dynamics_wrench_derivatives": "mozzi.algorithms.derivatives.first",
    "Modes": "mozzi.simulation.derivatives.modes",
    "allowed_deviations": "mozzi.simulation.derivatives.modes",
    "linearize": "mozzi.simulation.derivatives.linearize",
    "modes": "mozzi.simulation.derivatives.modes",
    "mass_matrix_inverse_partials": "mozzi.algorithms.derivatives.mass_matrix",
    "mass_matrix_inverse_rate": "mozzi.algorithms.derivatives.time",
    "mass_matrix_partials": "mozzi.algorithms.derivatives.mass_matrix",
    "rollout": "mozzi.simulation.derivatives.steps",
    "rollout_gradient": "mozzi.simulation.derivatives.steps",
    "sensitivity": "mozzi.algorithms.derivatives.parameters",
    # programs
    "compile": "mozzi.compiler",
    "explain": "mozzi.walk",
    "set_checks": "mozzi.compiler",
    "set_num_threads": "mozzi.targets.cpu.threads",
    # laws
    "Law": "mozzi.simulation.law",
    "array": "mozzi.program.functions",
    "clip": "mozzi.program.functions",
    "maximum": "mozzi.program.functions",
    "minimum": "mozzi.program.functions",
    "sign": "mozzi.program.functions",
    "solve": "mozzi.program.functions",
    "where": "mozzi.program.functions",
    # simulation
    "Simulation": "mozzi.simulation.simulate",
    "Trajectory": "mozzi.simulation.trajectory",
    "actuate": "mozzi.simulation.actuators",
    "simulate": "mozzi.simulation.simulate",
    "stepper": "mozzi.simulation.stepper",
    # errors
    "ConfigurationError": "mozzi.errors",
    "ContactWarning": "mozzi.errors",
    "DivergenceWarning": "mozzi.errors",
    "ExtraMissingError": "mozzi.errors",
    "LeftOutWarning": "mozzi.errors",
    "LoopError": "mozzi.errors",
    "ModelError": "mozzi.errors",
    "MozziError": "mozzi.errors",
    "NotShownWarning": "mozzi.errors",
    "ShapeError": "mozzi.errors",
    "SingularError": "mozzi.errors",
    "SingularWarning": "mozzi.errors",
    "OpenLoopWarning": "mozzi.errors",
    "UnknownNameError": "mozzi.errors",
    "UnphysicalWarning": "mozzi.errors",
}

__all__ = [*_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'mozzi' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME)
