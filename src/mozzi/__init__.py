"""Kinematics and dynamics of articulated rigid bodies on screws and Lie groups.

Names load on first use: ``import mozzi`` imports nothing but this file.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The public API: name → module that defines it.  A new public name is one line here and one line
# under TYPE_CHECKING below, for type checkers and editors; tests/test_import.py compares the two.
_HOME: dict[str, str] = {
    # models
    "Body": "mozzi.model",
    "Box": "mozzi.model",
    "Builder": "mozzi.model",
    "Capsule": "mozzi.model",
    "Composite": "mozzi.model",
    "Coupling": "mozzi.model",
    "Cylinder": "mozzi.model",
    "Cylindrical": "mozzi.model",
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
    "Schoenflies": "mozzi.model",
    "Screw": "mozzi.model",
    "Shape": "mozzi.model",
    "Sphere": "mozzi.model",
    "Spherical": "mozzi.model",
    "Spring": "mozzi.model",
    "Translation2": "mozzi.model",
    "Translation3": "mozzi.model",
    "Universal": "mozzi.model",
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
    "inverse_kinematics": "mozzi.algorithms.kinematics.inverse_kinematics",
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
    "hybrid_dynamics": "mozzi.algorithms.dynamics.hybrid",
    "inverse_dynamics": "mozzi.algorithms.dynamics.inverse",
    "inverse_dynamics_regressor": "mozzi.algorithms.dynamics.regressor",
    "joint_resistance": "mozzi.algorithms.dynamics.inverse",
    "joint_wrenches": "mozzi.algorithms.dynamics.inverse",
    "kinetic_energy": "mozzi.algorithms.dynamics.energy",
    "loop_acceleration": "mozzi.algorithms.constraints.rows",
    "loop_forces": "mozzi.algorithms.loops.forces",
    "loop_jacobian": "mozzi.algorithms.constraints.rows",
    "loop_rank": "mozzi.algorithms.constraints.rank",
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
    "inverse_dynamics_gradient": "mozzi.algorithms.derivatives.second",
    "inverse_dynamics_hessian": "mozzi.algorithms.derivatives.second",
    "inverse_dynamics_rates": "mozzi.algorithms.derivatives.time",
    "inverse_dynamics_wrench_derivatives": "mozzi.algorithms.derivatives.first",
    "linearize": "mozzi.simulation.derivatives.linearize",
    "mass_matrix_inverse_partials": "mozzi.algorithms.derivatives.mass_matrix",
    "mass_matrix_inverse_rate": "mozzi.algorithms.derivatives.time",
    "mass_matrix_partials": "mozzi.algorithms.derivatives.mass_matrix",
    "rollout": "mozzi.simulation.derivatives.steps",
    "rollout_gradient": "mozzi.simulation.derivatives.steps",
    "sensitivity": "mozzi.algorithms.derivatives.parameters",
    # programs
    "compile": "mozzi.compiler",
    "set_num_threads": "mozzi.targets.cpu.threads",
    # simulation
    "Simulation": "mozzi.simulation.simulate",
    "Trajectory": "mozzi.simulation.trajectory",
    "simulate": "mozzi.simulation.simulate",
    "stepper": "mozzi.simulation.stepper",
    # errors
    "ConfigurationError": "mozzi.errors",
    "DivergenceWarning": "mozzi.errors",
    "ExtraMissingError": "mozzi.errors",
    "LeftOutWarning": "mozzi.errors",
    "LoopError": "mozzi.errors",
    "ModelError": "mozzi.errors",
    "MozziError": "mozzi.errors",
    "NotShownWarning": "mozzi.errors",
    "SingularError": "mozzi.errors",
    "SingularWarning": "mozzi.errors",
    "UnphysicalWarning": "mozzi.errors",
}

if TYPE_CHECKING:
    from mozzi.algorithms.constraints.rank import loop_rank as loop_rank
    from mozzi.algorithms.constraints.rows import loop_acceleration as loop_acceleration
    from mozzi.algorithms.constraints.rows import loop_jacobian as loop_jacobian
    from mozzi.algorithms.constraints.rows import loop_residual as loop_residual
    from mozzi.algorithms.constraints.rows import loop_rows as loop_rows
    from mozzi.algorithms.derivatives.along import directional as directional
    from mozzi.algorithms.derivatives.along import (
        forward_dynamics_directional as forward_dynamics_directional,
    )
    from mozzi.algorithms.derivatives.along import (
        hybrid_dynamics_directional as hybrid_dynamics_directional,
    )
    from mozzi.algorithms.derivatives.along import (
        inverse_dynamics_directional as inverse_dynamics_directional,
    )
    from mozzi.algorithms.derivatives.first import (
        forward_dynamics_derivatives as forward_dynamics_derivatives,
    )
    from mozzi.algorithms.derivatives.first import (
        forward_dynamics_wrench_derivatives as forward_dynamics_wrench_derivatives,
    )
    from mozzi.algorithms.derivatives.first import (
        inverse_dynamics_derivatives as inverse_dynamics_derivatives,
    )
    from mozzi.algorithms.derivatives.first import (
        inverse_dynamics_wrench_derivatives as inverse_dynamics_wrench_derivatives,
    )
    from mozzi.algorithms.derivatives.gradient import (
        forward_dynamics_gradient as forward_dynamics_gradient,
    )
    from mozzi.algorithms.derivatives.hybrid import (
        hybrid_dynamics_derivatives as hybrid_dynamics_derivatives,
    )
    from mozzi.algorithms.derivatives.mass_matrix import (
        mass_matrix_inverse_partials as mass_matrix_inverse_partials,
    )
    from mozzi.algorithms.derivatives.mass_matrix import (
        mass_matrix_partials as mass_matrix_partials,
    )
    from mozzi.algorithms.derivatives.parameters import Sensitivity as Sensitivity
    from mozzi.algorithms.derivatives.parameters import sensitivity as sensitivity
    from mozzi.algorithms.derivatives.second import (
        forward_dynamics_hessian as forward_dynamics_hessian,
    )
    from mozzi.algorithms.derivatives.second import (
        inverse_dynamics_gradient as inverse_dynamics_gradient,
    )
    from mozzi.algorithms.derivatives.second import (
        inverse_dynamics_hessian as inverse_dynamics_hessian,
    )
    from mozzi.algorithms.derivatives.time import inverse_dynamics_rates as inverse_dynamics_rates
    from mozzi.algorithms.derivatives.time import (
        mass_matrix_inverse_rate as mass_matrix_inverse_rate,
    )
    from mozzi.algorithms.dynamics.coriolis import christoffel as christoffel
    from mozzi.algorithms.dynamics.coriolis import coriolis_matrix as coriolis_matrix
    from mozzi.algorithms.dynamics.energy import center_of_mass as center_of_mass
    from mozzi.algorithms.dynamics.energy import centroidal_momentum as centroidal_momentum
    from mozzi.algorithms.dynamics.energy import (
        centroidal_momentum_matrix as centroidal_momentum_matrix,
    )
    from mozzi.algorithms.dynamics.energy import kinetic_energy as kinetic_energy
    from mozzi.algorithms.dynamics.energy import momentum as momentum
    from mozzi.algorithms.dynamics.energy import potential_energy as potential_energy
    from mozzi.algorithms.dynamics.forward import forward_dynamics as forward_dynamics
    from mozzi.algorithms.dynamics.hybrid import hybrid_dynamics as hybrid_dynamics
    from mozzi.algorithms.dynamics.inverse import bias_forces as bias_forces
    from mozzi.algorithms.dynamics.inverse import gravity_forces as gravity_forces
    from mozzi.algorithms.dynamics.inverse import inverse_dynamics as inverse_dynamics
    from mozzi.algorithms.dynamics.inverse import joint_resistance as joint_resistance
    from mozzi.algorithms.dynamics.inverse import joint_wrenches as joint_wrenches
    from mozzi.algorithms.dynamics.inverse import (
        passive_inverse_dynamics as passive_inverse_dynamics,
    )
    from mozzi.algorithms.dynamics.mass_matrix import mass_matrix as mass_matrix
    from mozzi.algorithms.dynamics.mass_matrix import mass_matrix_inverse as mass_matrix_inverse
    from mozzi.algorithms.dynamics.mass_matrix import mass_matrix_rate as mass_matrix_rate
    from mozzi.algorithms.dynamics.newton_euler import newton_euler as newton_euler
    from mozzi.algorithms.dynamics.operational_admittance import (
        operational_admittance as operational_admittance,
    )
    from mozzi.algorithms.dynamics.operators import operators as operators
    from mozzi.algorithms.dynamics.regressor import (
        inverse_dynamics_regressor as inverse_dynamics_regressor,
    )
    from mozzi.algorithms.dynamics.springs import spring_energy as spring_energy
    from mozzi.algorithms.dynamics.springs import spring_wrenches as spring_wrenches
    from mozzi.algorithms.kinematics.accelerations import accelerations as accelerations
    from mozzi.algorithms.kinematics.accelerations import jerks as jerks
    from mozzi.algorithms.kinematics.configuration import difference as difference
    from mozzi.algorithms.kinematics.configuration import integrate as integrate
    from mozzi.algorithms.kinematics.configuration import rates as rates
    from mozzi.algorithms.kinematics.conversion import conversion_matrix as conversion_matrix
    from mozzi.algorithms.kinematics.conversion import convert_jacobian as convert_jacobian
    from mozzi.algorithms.kinematics.conversion import convert_twist as convert_twist
    from mozzi.algorithms.kinematics.conversion import convert_twist_rate as convert_twist_rate
    from mozzi.algorithms.kinematics.conversion import convert_wrench as convert_wrench
    from mozzi.algorithms.kinematics.inverse_kinematics import (
        InverseKinematicsResult as InverseKinematicsResult,
    )
    from mozzi.algorithms.kinematics.inverse_kinematics import (
        inverse_kinematics as inverse_kinematics,
    )
    from mozzi.algorithms.kinematics.jacobian import body_jacobians as body_jacobians
    from mozzi.algorithms.kinematics.jacobian import jacobian as jacobian
    from mozzi.algorithms.kinematics.jacobian import joint_screws as joint_screws
    from mozzi.algorithms.kinematics.jacobian import point_jacobian as point_jacobian
    from mozzi.algorithms.kinematics.jacobian import system_jacobian as system_jacobian
    from mozzi.algorithms.kinematics.jacobian_derivatives import (
        jacobian_partials as jacobian_partials,
    )
    from mozzi.algorithms.kinematics.jacobian_derivatives import jacobian_rate as jacobian_rate
    from mozzi.algorithms.kinematics.joint_rates import joint_accelerations as joint_accelerations
    from mozzi.algorithms.kinematics.joint_rates import joint_rates as joint_rates
    from mozzi.algorithms.kinematics.poses import forward_kinematics as forward_kinematics
    from mozzi.algorithms.kinematics.poses import pose as pose
    from mozzi.algorithms.kinematics.poses import product_of_exponentials as product_of_exponentials
    from mozzi.algorithms.kinematics.poses import twists as twists
    from mozzi.algorithms.kinematics.system_jacobian import (
        system_jacobian_factors as system_jacobian_factors,
    )
    from mozzi.algorithms.loops.assemble import Assembly as Assembly
    from mozzi.algorithms.loops.assemble import assemble as assemble
    from mozzi.algorithms.loops.assemble import consistent_velocities as consistent_velocities
    from mozzi.algorithms.loops.forces import loop_forces as loop_forces
    from mozzi.algorithms.loops.topology import ClosedSystem as ClosedSystem
    from mozzi.compiler import compile as compile
    from mozzi.errors import ConfigurationError as ConfigurationError
    from mozzi.errors import DivergenceWarning as DivergenceWarning
    from mozzi.errors import ExtraMissingError as ExtraMissingError
    from mozzi.errors import LeftOutWarning as LeftOutWarning
    from mozzi.errors import LoopError as LoopError
    from mozzi.errors import ModelError as ModelError
    from mozzi.errors import MozziError as MozziError
    from mozzi.errors import NotShownWarning as NotShownWarning
    from mozzi.errors import SingularError as SingularError
    from mozzi.errors import SingularWarning as SingularWarning
    from mozzi.errors import UnphysicalWarning as UnphysicalWarning
    from mozzi.lie import SE3 as SE3
    from mozzi.lie import Inertia as Inertia
    from mozzi.lie import Momentum as Momentum
    from mozzi.lie import Rotation as Rotation
    from mozzi.lie import Screws as Screws
    from mozzi.lie import Twist as Twist
    from mozzi.lie import Wrench as Wrench
    from mozzi.loaders import load as load
    from mozzi.model import Body as Body
    from mozzi.model import Box as Box
    from mozzi.model import Builder as Builder
    from mozzi.model import Capsule as Capsule
    from mozzi.model import Composite as Composite
    from mozzi.model import Coupling as Coupling
    from mozzi.model import Cylinder as Cylinder
    from mozzi.model import Cylindrical as Cylindrical
    from mozzi.model import Distance as Distance
    from mozzi.model import Ellipsoid as Ellipsoid
    from mozzi.model import Fixed as Fixed
    from mozzi.model import Free as Free
    from mozzi.model import HeightField as HeightField
    from mozzi.model import Joint as Joint
    from mozzi.model import JointDynamics as JointDynamics
    from mozzi.model import Loop as Loop
    from mozzi.model import Mesh as Mesh
    from mozzi.model import Model as Model
    from mozzi.model import Planar as Planar
    from mozzi.model import PlanarScrew as PlanarScrew
    from mozzi.model import Plane as Plane
    from mozzi.model import Prismatic as Prismatic
    from mozzi.model import Revolute as Revolute
    from mozzi.model import Schoenflies as Schoenflies
    from mozzi.model import Screw as Screw
    from mozzi.model import Shape as Shape
    from mozzi.model import Sphere as Sphere
    from mozzi.model import Spherical as Spherical
    from mozzi.model import Spring as Spring
    from mozzi.model import Translation2 as Translation2
    from mozzi.model import Translation3 as Translation3
    from mozzi.model import Universal as Universal
    from mozzi.simulation.derivatives.linearize import linearize as linearize
    from mozzi.simulation.derivatives.steps import rollout as rollout
    from mozzi.simulation.derivatives.steps import rollout_gradient as rollout_gradient
    from mozzi.simulation.simulate import Simulation as Simulation
    from mozzi.simulation.simulate import simulate as simulate
    from mozzi.simulation.stepper import stepper as stepper
    from mozzi.simulation.trajectory import Trajectory as Trajectory
    from mozzi.targets.cpu.threads import set_num_threads as set_num_threads

__all__ = ["__version__", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'mozzi' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
