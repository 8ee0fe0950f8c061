"""Kinematics and dynamics of articulated rigid bodies on screws and Lie groups.

Names load on first use: ``import mozzi`` imports nothing but this file.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The public API: name → module that defines it.  A new public name is one line here and one line
# under TYPE_CHECKING below, for type checkers and editors; tests/test_import.py compares the two.
_HOME: dict[str, str] = {
    # models
    "Body": "mozzi.model",
    "Builder": "mozzi.model",
    "Composite": "mozzi.model",
    "Coupling": "mozzi.model",
    "Cylindrical": "mozzi.model",
    "Distance": "mozzi.model",
    "Fixed": "mozzi.model",
    "Free": "mozzi.model",
    "Joint": "mozzi.model",
    "JointDynamics": "mozzi.model",
    "Loop": "mozzi.model",
    "Model": "mozzi.model",
    "Planar": "mozzi.model",
    "PlanarScrew": "mozzi.model",
    "Prismatic": "mozzi.model",
    "Revolute": "mozzi.model",
    "Schoenflies": "mozzi.model",
    "Screw": "mozzi.model",
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
    "InverseKinematicsResult": "mozzi.algorithms.inverse_kinematics",
    "accelerations": "mozzi.algorithms.higher_order",
    "body_jacobians": "mozzi.algorithms.jacobian",
    "conversion_matrix": "mozzi.algorithms.conversion",
    "convert_jacobian": "mozzi.algorithms.conversion",
    "convert_twist": "mozzi.algorithms.conversion",
    "convert_twist_rate": "mozzi.algorithms.conversion",
    "convert_wrench": "mozzi.algorithms.conversion",
    "difference": "mozzi.algorithms.configuration",
    "forward_kinematics": "mozzi.algorithms.kinematics",
    "integrate": "mozzi.algorithms.configuration",
    "inverse_kinematics": "mozzi.algorithms.inverse_kinematics",
    "jacobian": "mozzi.algorithms.jacobian",
    "jacobian_partials": "mozzi.algorithms.jacobian_rates",
    "jacobian_rate": "mozzi.algorithms.jacobian_rates",
    "jerks": "mozzi.algorithms.higher_order",
    "joint_accelerations": "mozzi.algorithms.joint_rates",
    "joint_rates": "mozzi.algorithms.joint_rates",
    "joint_screws": "mozzi.algorithms.jacobian",
    "point_jacobian": "mozzi.algorithms.jacobian",
    "pose": "mozzi.algorithms.kinematics",
    "product_of_exponentials": "mozzi.algorithms.kinematics",
    "rates": "mozzi.algorithms.configuration",
    "system_jacobian": "mozzi.algorithms.jacobian",
    "system_jacobian_factors": "mozzi.algorithms.factors",
    "twists": "mozzi.algorithms.kinematics",
    # dynamics
    "ClosedSystem": "mozzi.algorithms.topology",
    "assemble": "mozzi.algorithms.assemble",
    "Assembly": "mozzi.algorithms.assemble",
    "bias_forces": "mozzi.algorithms.inverse_dynamics",
    "center_of_mass": "mozzi.algorithms.energy",
    "centroidal_momentum": "mozzi.algorithms.energy",
    "centroidal_momentum_matrix": "mozzi.algorithms.energy",
    "christoffel": "mozzi.algorithms.coriolis",
    "consistent_velocities": "mozzi.algorithms.assemble",
    "coriolis_matrix": "mozzi.algorithms.coriolis",
    "forward_dynamics": "mozzi.algorithms.forward_dynamics",
    "gravity_forces": "mozzi.algorithms.inverse_dynamics",
    "hybrid_dynamics": "mozzi.algorithms.hybrid_dynamics",
    "inverse_dynamics": "mozzi.algorithms.inverse_dynamics",
    "inverse_dynamics_regressor": "mozzi.algorithms.regressor",
    "joint_resistance": "mozzi.algorithms.inverse_dynamics",
    "joint_wrenches": "mozzi.algorithms.inverse_dynamics",
    "kinetic_energy": "mozzi.algorithms.energy",
    "loop_acceleration": "mozzi.algorithms.loops",
    "loop_forces": "mozzi.algorithms.loop_forces",
    "loop_jacobian": "mozzi.algorithms.loops",
    "loop_rank": "mozzi.algorithms.loop_rank",
    "loop_residual": "mozzi.algorithms.loops",
    "loop_rows": "mozzi.algorithms.loops",
    "mass_matrix": "mozzi.algorithms.mass_matrix",
    "mass_matrix_inverse": "mozzi.algorithms.mass_matrix",
    "mass_matrix_rate": "mozzi.algorithms.mass_matrix",
    "momentum": "mozzi.algorithms.energy",
    "newton_euler": "mozzi.algorithms.newton_euler",
    "operational_admittance": "mozzi.algorithms.admittance",
    "operators": "mozzi.algorithms.operators",
    "passive_inverse_dynamics": "mozzi.algorithms.inverse_dynamics",
    "potential_energy": "mozzi.algorithms.energy",
    "spring_energy": "mozzi.algorithms.springs",
    "spring_wrenches": "mozzi.algorithms.springs",
    # derivatives
    "Sensitivity": "mozzi.algorithms.sensitivity",
    "directional": "mozzi.algorithms.directional",
    "forward_dynamics_derivatives": "mozzi.algorithms.derivatives",
    "forward_dynamics_directional": "mozzi.algorithms.directional",
    "forward_dynamics_gradient": "mozzi.algorithms.forward_gradient",
    "forward_dynamics_hessian": "mozzi.algorithms.second_order",
    "forward_dynamics_wrench_derivatives": "mozzi.algorithms.derivatives",
    "hybrid_dynamics_derivatives": "mozzi.algorithms.derivatives_hybrid",
    "hybrid_dynamics_directional": "mozzi.algorithms.directional",
    "inverse_dynamics_derivatives": "mozzi.algorithms.derivatives",
    "inverse_dynamics_directional": "mozzi.algorithms.directional",
    "inverse_dynamics_gradient": "mozzi.algorithms.second_order",
    "inverse_dynamics_hessian": "mozzi.algorithms.second_order",
    "inverse_dynamics_rates": "mozzi.algorithms.rates_in_time",
    "inverse_dynamics_wrench_derivatives": "mozzi.algorithms.derivatives",
    "linearize": "mozzi.integrate.linearize",
    "mass_matrix_inverse_partials": "mozzi.algorithms.derivatives_mass",
    "mass_matrix_inverse_rate": "mozzi.algorithms.rates_in_time",
    "mass_matrix_partials": "mozzi.algorithms.derivatives_mass",
    "rollout": "mozzi.integrate.step_derivatives",
    "rollout_gradient": "mozzi.integrate.step_derivatives",
    "sensitivity": "mozzi.algorithms.sensitivity",
    # programs
    "compile": "mozzi.compile",
    "set_num_threads": "mozzi.targets.threads",
    # simulation
    "Simulation": "mozzi.integrate.simulate",
    "Trajectory": "mozzi.integrate.trajectory",
    "simulate": "mozzi.integrate.simulate",
    "stepper": "mozzi.integrate.stepper",
    # errors
    "ConfigurationError": "mozzi.errors",
    "DivergenceWarning": "mozzi.errors",
    "ExtraMissingError": "mozzi.errors",
    "LoopError": "mozzi.errors",
    "ModelError": "mozzi.errors",
    "MozziError": "mozzi.errors",
    "SingularError": "mozzi.errors",
    "SingularWarning": "mozzi.errors",
    "UnphysicalWarning": "mozzi.errors",
}

if TYPE_CHECKING:
    from mozzi.algorithms.admittance import operational_admittance as operational_admittance
    from mozzi.algorithms.assemble import Assembly as Assembly
    from mozzi.algorithms.assemble import assemble as assemble
    from mozzi.algorithms.assemble import consistent_velocities as consistent_velocities
    from mozzi.algorithms.configuration import difference as difference
    from mozzi.algorithms.configuration import integrate as integrate
    from mozzi.algorithms.configuration import rates as rates
    from mozzi.algorithms.conversion import conversion_matrix as conversion_matrix
    from mozzi.algorithms.conversion import convert_jacobian as convert_jacobian
    from mozzi.algorithms.conversion import convert_twist as convert_twist
    from mozzi.algorithms.conversion import convert_twist_rate as convert_twist_rate
    from mozzi.algorithms.conversion import convert_wrench as convert_wrench
    from mozzi.algorithms.coriolis import christoffel as christoffel
    from mozzi.algorithms.coriolis import coriolis_matrix as coriolis_matrix
    from mozzi.algorithms.derivatives import (
        forward_dynamics_derivatives as forward_dynamics_derivatives,
    )
    from mozzi.algorithms.derivatives import (
        forward_dynamics_wrench_derivatives as forward_dynamics_wrench_derivatives,
    )
    from mozzi.algorithms.derivatives import (
        inverse_dynamics_derivatives as inverse_dynamics_derivatives,
    )
    from mozzi.algorithms.derivatives import (
        inverse_dynamics_wrench_derivatives as inverse_dynamics_wrench_derivatives,
    )
    from mozzi.algorithms.derivatives_hybrid import (
        hybrid_dynamics_derivatives as hybrid_dynamics_derivatives,
    )
    from mozzi.algorithms.derivatives_mass import (
        mass_matrix_inverse_partials as mass_matrix_inverse_partials,
    )
    from mozzi.algorithms.derivatives_mass import mass_matrix_partials as mass_matrix_partials
    from mozzi.algorithms.directional import directional as directional
    from mozzi.algorithms.directional import (
        forward_dynamics_directional as forward_dynamics_directional,
    )
    from mozzi.algorithms.directional import (
        hybrid_dynamics_directional as hybrid_dynamics_directional,
    )
    from mozzi.algorithms.directional import (
        inverse_dynamics_directional as inverse_dynamics_directional,
    )
    from mozzi.algorithms.energy import center_of_mass as center_of_mass
    from mozzi.algorithms.energy import centroidal_momentum as centroidal_momentum
    from mozzi.algorithms.energy import centroidal_momentum_matrix as centroidal_momentum_matrix
    from mozzi.algorithms.energy import kinetic_energy as kinetic_energy
    from mozzi.algorithms.energy import momentum as momentum
    from mozzi.algorithms.energy import potential_energy as potential_energy
    from mozzi.algorithms.factors import system_jacobian_factors as system_jacobian_factors
    from mozzi.algorithms.forward_dynamics import forward_dynamics as forward_dynamics
    from mozzi.algorithms.forward_gradient import (
        forward_dynamics_gradient as forward_dynamics_gradient,
    )
    from mozzi.algorithms.higher_order import accelerations as accelerations
    from mozzi.algorithms.higher_order import jerks as jerks
    from mozzi.algorithms.hybrid_dynamics import hybrid_dynamics as hybrid_dynamics
    from mozzi.algorithms.inverse_dynamics import bias_forces as bias_forces
    from mozzi.algorithms.inverse_dynamics import gravity_forces as gravity_forces
    from mozzi.algorithms.inverse_dynamics import inverse_dynamics as inverse_dynamics
    from mozzi.algorithms.inverse_dynamics import joint_resistance as joint_resistance
    from mozzi.algorithms.inverse_dynamics import joint_wrenches as joint_wrenches
    from mozzi.algorithms.inverse_dynamics import (
        passive_inverse_dynamics as passive_inverse_dynamics,
    )
    from mozzi.algorithms.inverse_kinematics import (
        InverseKinematicsResult as InverseKinematicsResult,
    )
    from mozzi.algorithms.inverse_kinematics import inverse_kinematics as inverse_kinematics
    from mozzi.algorithms.jacobian import body_jacobians as body_jacobians
    from mozzi.algorithms.jacobian import jacobian as jacobian
    from mozzi.algorithms.jacobian import joint_screws as joint_screws
    from mozzi.algorithms.jacobian import point_jacobian as point_jacobian
    from mozzi.algorithms.jacobian import system_jacobian as system_jacobian
    from mozzi.algorithms.jacobian_rates import jacobian_partials as jacobian_partials
    from mozzi.algorithms.jacobian_rates import jacobian_rate as jacobian_rate
    from mozzi.algorithms.joint_rates import joint_accelerations as joint_accelerations
    from mozzi.algorithms.joint_rates import joint_rates as joint_rates
    from mozzi.algorithms.kinematics import forward_kinematics as forward_kinematics
    from mozzi.algorithms.kinematics import pose as pose
    from mozzi.algorithms.kinematics import product_of_exponentials as product_of_exponentials
    from mozzi.algorithms.kinematics import twists as twists
    from mozzi.algorithms.loop_forces import loop_forces as loop_forces
    from mozzi.algorithms.loop_rank import loop_rank as loop_rank
    from mozzi.algorithms.loops import loop_acceleration as loop_acceleration
    from mozzi.algorithms.loops import loop_jacobian as loop_jacobian
    from mozzi.algorithms.loops import loop_residual as loop_residual
    from mozzi.algorithms.loops import loop_rows as loop_rows
    from mozzi.algorithms.mass_matrix import mass_matrix as mass_matrix
    from mozzi.algorithms.mass_matrix import mass_matrix_inverse as mass_matrix_inverse
    from mozzi.algorithms.mass_matrix import mass_matrix_rate as mass_matrix_rate
    from mozzi.algorithms.newton_euler import newton_euler as newton_euler
    from mozzi.algorithms.operators import operators as operators
    from mozzi.algorithms.rates_in_time import inverse_dynamics_rates as inverse_dynamics_rates
    from mozzi.algorithms.rates_in_time import mass_matrix_inverse_rate as mass_matrix_inverse_rate
    from mozzi.algorithms.regressor import inverse_dynamics_regressor as inverse_dynamics_regressor
    from mozzi.algorithms.second_order import forward_dynamics_hessian as forward_dynamics_hessian
    from mozzi.algorithms.second_order import inverse_dynamics_gradient as inverse_dynamics_gradient
    from mozzi.algorithms.second_order import inverse_dynamics_hessian as inverse_dynamics_hessian
    from mozzi.algorithms.sensitivity import Sensitivity as Sensitivity
    from mozzi.algorithms.sensitivity import sensitivity as sensitivity
    from mozzi.algorithms.springs import spring_energy as spring_energy
    from mozzi.algorithms.springs import spring_wrenches as spring_wrenches
    from mozzi.algorithms.topology import ClosedSystem as ClosedSystem
    from mozzi.compile import compile as compile
    from mozzi.errors import ConfigurationError as ConfigurationError
    from mozzi.errors import DivergenceWarning as DivergenceWarning
    from mozzi.errors import ExtraMissingError as ExtraMissingError
    from mozzi.errors import LoopError as LoopError
    from mozzi.errors import ModelError as ModelError
    from mozzi.errors import MozziError as MozziError
    from mozzi.errors import SingularError as SingularError
    from mozzi.errors import SingularWarning as SingularWarning
    from mozzi.errors import UnphysicalWarning as UnphysicalWarning
    from mozzi.integrate.linearize import linearize as linearize
    from mozzi.integrate.simulate import Simulation as Simulation
    from mozzi.integrate.simulate import simulate as simulate
    from mozzi.integrate.step_derivatives import rollout as rollout
    from mozzi.integrate.step_derivatives import rollout_gradient as rollout_gradient
    from mozzi.integrate.stepper import stepper as stepper
    from mozzi.integrate.trajectory import Trajectory as Trajectory
    from mozzi.lie import SE3 as SE3
    from mozzi.lie import Inertia as Inertia
    from mozzi.lie import Momentum as Momentum
    from mozzi.lie import Rotation as Rotation
    from mozzi.lie import Screws as Screws
    from mozzi.lie import Twist as Twist
    from mozzi.lie import Wrench as Wrench
    from mozzi.loaders import load as load
    from mozzi.model import Body as Body
    from mozzi.model import Builder as Builder
    from mozzi.model import Composite as Composite
    from mozzi.model import Coupling as Coupling
    from mozzi.model import Cylindrical as Cylindrical
    from mozzi.model import Distance as Distance
    from mozzi.model import Fixed as Fixed
    from mozzi.model import Free as Free
    from mozzi.model import Joint as Joint
    from mozzi.model import JointDynamics as JointDynamics
    from mozzi.model import Loop as Loop
    from mozzi.model import Model as Model
    from mozzi.model import Planar as Planar
    from mozzi.model import PlanarScrew as PlanarScrew
    from mozzi.model import Prismatic as Prismatic
    from mozzi.model import Revolute as Revolute
    from mozzi.model import Schoenflies as Schoenflies
    from mozzi.model import Screw as Screw
    from mozzi.model import Spherical as Spherical
    from mozzi.model import Spring as Spring
    from mozzi.model import Translation2 as Translation2
    from mozzi.model import Translation3 as Translation3
    from mozzi.model import Universal as Universal
    from mozzi.targets.threads import set_num_threads as set_num_threads

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


class _Package(ModuleType):
    """A package whose submodules do not hide public functions: `compile`, `integrate`."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
