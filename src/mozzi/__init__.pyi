"""Kinematics and dynamics of articulated rigid bodies on screws and Lie groups.

Made by ``python tests/typing/stub.py``: change the sources and run it, not this file.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import Executor
from mozzi.adapters.conventions import LayoutName
from mozzi.algorithms.dynamics.operators import Operators
from mozzi.algorithms.kinematics.system_jacobian import SystemJacobianFactors
from mozzi.lie import Vec3
from mozzi.lie.so3 import SO3
from mozzi.loaders.load import StrPath
from mozzi.loaders.loops_file import Loops
from mozzi.simulation.forces.drives import Prescribed
from mozzi.simulation.forces.drives import TimeLaw
from mozzi.simulation.forces.resistance import Limits
from mozzi.simulation.forces.resistance import Resistance
from mozzi.simulation.methods.dormand_prince import DormandPrince
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.methods.options import MethodOptions
from mozzi.simulation.system import Feedback
from mozzi.sweeps.jobs import Run
from mozzi.sweeps.reductions import Reduction
from mozzi.sweeps.sweep import Progress
from mozzi.sweeps.sweep import Swept
from mozzi.targets.c.source import CSource
from mozzi.targets.cpu.kernel import CpuKernel
from mozzi.types import Array
from mozzi.types import ArrayLike
from mozzi.types import Base
from mozzi.types import DType
from mozzi.types import Device
from mozzi.types import Form
from mozzi.types import JointChoice
from mozzi.types import Kernel
from mozzi.types import Method
from mozzi.types import Minimize
from mozzi.types import Physical
from mozzi.types import Rep
from mozzi.types import Residual
from mozzi.types import Resolved
from mozzi.types import Result
from mozzi.types import ResultLayout
from mozzi.types import ScrewRep
from mozzi.types import Seed
from mozzi.types import Target
from numpy.typing import NDArray
from typing import Any
from typing import Literal
from typing import Unpack
from typing import overload
import casadi as ca
import numpy as np
import os

from mozzi.adapters.layout import Layout as Layout
from mozzi.algorithms.derivatives.parameters import Sensitivity as Sensitivity
from mozzi.algorithms.kinematics.inverse_kinematics import InverseKinematicsResult as InverseKinematicsResult
from mozzi.algorithms.loops.assemble import Assembly as Assembly
from mozzi.algorithms.loops.wrenches import LoopWrench as LoopWrench
from mozzi.algorithms.reference.dynamics import ClosedForm as ClosedForm
from mozzi.errors import ConfigurationError as ConfigurationError
from mozzi.errors import ContactWarning as ContactWarning
from mozzi.errors import DivergenceWarning as DivergenceWarning
from mozzi.errors import EnergyWarning as EnergyWarning
from mozzi.errors import ExtraMissingError as ExtraMissingError
from mozzi.errors import KindError as KindError
from mozzi.errors import LeftOutWarning as LeftOutWarning
from mozzi.errors import LoopError as LoopError
from mozzi.errors import ModelError as ModelError
from mozzi.errors import MozziError as MozziError
from mozzi.errors import NotShownWarning as NotShownWarning
from mozzi.errors import OpenLoopWarning as OpenLoopWarning
from mozzi.errors import ShapeError as ShapeError
from mozzi.errors import SingularError as SingularError
from mozzi.errors import SingularWarning as SingularWarning
from mozzi.errors import StiffWarning as StiffWarning
from mozzi.errors import UnknownNameError as UnknownNameError
from mozzi.errors import UnphysicalWarning as UnphysicalWarning
from mozzi.identification.base_parameters import BaseParameters as BaseParameters
from mozzi.identification.logs import Log as Log
from mozzi.lie import Inertia as Inertia
from mozzi.lie import Momentum as Momentum
from mozzi.lie import Rotation as Rotation
from mozzi.lie import SE3 as SE3
from mozzi.lie import ScrewAxis as ScrewAxis
from mozzi.lie import Screws as Screws
from mozzi.lie import Twist as Twist
from mozzi.lie import Wrench as Wrench
from mozzi.model import Actuator as Actuator
from mozzi.model import Body as Body
from mozzi.model import Box as Box
from mozzi.model import Builder as Builder
from mozzi.model import Capsule as Capsule
from mozzi.model import Composite as Composite
from mozzi.model import Contact as Contact
from mozzi.model import Coupling as Coupling
from mozzi.model import Cylinder as Cylinder
from mozzi.model import Cylindrical as Cylindrical
from mozzi.model import Disc as Disc
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
from mozzi.model import Rolling as Rolling
from mozzi.model import Schoenflies as Schoenflies
from mozzi.model import Screw as Screw
from mozzi.model import Shape as Shape
from mozzi.model import Sphere as Sphere
from mozzi.model import Spherical as Spherical
from mozzi.model import Spring as Spring
from mozzi.model import Torus as Torus
from mozzi.model import Translation2 as Translation2
from mozzi.model import Translation3 as Translation3
from mozzi.model import Universal as Universal
from mozzi.model import VelocityRows as VelocityRows
from mozzi.simulation.closed_system.closed_system import ClosedSystem as ClosedSystem
from mozzi.simulation.derivatives.modes import Modes as Modes
from mozzi.simulation.forces.law import Law as Law
from mozzi.simulation.running.simulation import Simulation as Simulation
from mozzi.simulation.trajectories.trajectory import Interrupted as Interrupted
from mozzi.simulation.trajectories.trajectory import Trajectory as Trajectory
from mozzi.sweeps.distributions import Choice as Choice
from mozzi.sweeps.distributions import LogUniform as LogUniform
from mozzi.sweeps.distributions import Normal as Normal
from mozzi.sweeps.distributions import Uniform as Uniform
from mozzi.sweeps.rollout import Evaluation as Evaluation
from mozzi.sweeps.rollout import Rollout as Rollout

__version__: str
__all__ = [
    "Actuator",
    "Body",
    "Box",
    "Builder",
    "Capsule",
    "Composite",
    "Contact",
    "Coupling",
    "Cylinder",
    "Cylindrical",
    "Disc",
    "Distance",
    "Ellipsoid",
    "Fixed",
    "Free",
    "HeightField",
    "Joint",
    "JointDynamics",
    "Loop",
    "Mesh",
    "Model",
    "Planar",
    "PlanarScrew",
    "Plane",
    "Prismatic",
    "Revolute",
    "Rolling",
    "Schoenflies",
    "Screw",
    "Shape",
    "Sphere",
    "Spherical",
    "Spring",
    "Torus",
    "Translation2",
    "Translation3",
    "Universal",
    "VelocityRows",
    "Inertia",
    "Momentum",
    "Rotation",
    "SE3",
    "ScrewAxis",
    "Screws",
    "Twist",
    "Wrench",
    "load",
    "InverseKinematicsResult",
    "accelerations",
    "body_jacobians",
    "conversion_matrix",
    "convert_jacobian",
    "convert_twist",
    "convert_twist_rate",
    "system_conversion_matrix",
    "convert_twist_rates",
    "convert_twists",
    "convert_wrenches",
    "convert_wrench",
    "accelerations_of_coordinates",
    "coordinate_accelerations",
    "velocities_of_coordinates",
    "difference",
    "forward_kinematics",
    "integrate",
    "inverse_kinematics",
    "jacobian",
    "jacobian_derivatives",
    "jacobian_partials",
    "jacobian_rate",
    "jerks",
    "joint_accelerations",
    "joint_rates",
    "joint_screws",
    "point_jacobian",
    "pose",
    "product_of_exponentials",
    "move_twist",
    "move_wrench",
    "relative_acceleration",
    "relative_jacobian",
    "relative_jacobian_rate",
    "relative_twist",
    "rates",
    "system_jacobian",
    "system_jacobian_factors",
    "twist_axis",
    "twist_derivatives",
    "twists",
    "contact_frames",
    "contact_inverse_dynamics",
    "contact_wrenches",
    "contact_gaps",
    "contact_points",
    "impact",
    "ClosedSystem",
    "assemble",
    "Assembly",
    "bias_forces",
    "center_of_mass",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "christoffel",
    "ClosedForm",
    "closed_form",
    "consistent_accelerations",
    "consistent_velocities",
    "coriolis_matrix",
    "forward_dynamics",
    "gravity_forces",
    "hybrid_dynamics",
    "inverse_dynamics",
    "inverse_dynamics_regressor",
    "kinetic_energy_regressor",
    "momentum_regressor",
    "potential_energy_regressor",
    "joint_resistance",
    "joint_wrenches",
    "kinetic_energy",
    "loop_acceleration",
    "loop_forces",
    "loop_jacobian",
    "loop_rank",
    "loop_residual",
    "loop_rows",
    "loop_wrenches",
    "LoopWrench",
    "mass_matrix",
    "mass_matrix_inverse",
    "mass_matrix_rate",
    "hamiltonian_dynamics",
    "joint_momenta",
    "momenta",
    "momentum_dynamics",
    "momentum_rates",
    "velocities_of_momenta",
    "momentum",
    "newton_euler",
    "newton_euler_in_frame",
    "operational_admittance",
    "operators",
    "passive_inverse_dynamics",
    "potential_energy",
    "projected_forward_dynamics",
    "spring_energy",
    "spring_wrenches",
    "Sensitivity",
    "directional",
    "forward_dynamics_derivatives",
    "forward_dynamics_directional",
    "forward_dynamics_gradient",
    "forward_dynamics_hessian",
    "forward_dynamics_wrench_derivatives",
    "hybrid_dynamics_derivatives",
    "hybrid_dynamics_directional",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_directional",
    "inverse_dynamics_gradient",
    "inverse_dynamics_hessian",
    "inverse_dynamics_rates",
    "inverse_dynamics_wrench_derivatives",
    "joint_force_derivatives",
    "Modes",
    "allowed_deviations",
    "linearize",
    "modes",
    "mass_matrix_inverse_partials",
    "mass_matrix_inverse_rate",
    "mass_matrix_partials",
    "rollout",
    "rollout_gradient",
    "sensitivity",
    "compile",
    "explain",
    "set_checks",
    "set_num_threads",
    "BaseParameters",
    "Log",
    "base_parameters",
    "from_log_cholesky",
    "read_log",
    "to_log_cholesky",
    "Layout",
    "casadi_function",
    "layout",
    "state_space",
    "Law",
    "array",
    "clip",
    "maximum",
    "minimum",
    "sign",
    "solve",
    "where",
    "Interrupted",
    "Simulation",
    "Trajectory",
    "actuate",
    "simulate",
    "stepper",
    "Choice",
    "Evaluation",
    "LogUniform",
    "Normal",
    "Rollout",
    "Uniform",
    "grid",
    "sweep",
    "ConfigurationError",
    "ContactWarning",
    "DivergenceWarning",
    "EnergyWarning",
    "ExtraMissingError",
    "KindError",
    "LeftOutWarning",
    "LoopError",
    "ModelError",
    "MozziError",
    "NotShownWarning",
    "ShapeError",
    "SingularError",
    "SingularWarning",
    "OpenLoopWarning",
    "StiffWarning",
    "UnknownNameError",
    "UnphysicalWarning",
]

def load(
    path: StrPath,
    base: Base = 'fixed',
    *,
    roots: StrPath | Sequence[StrPath] = (),
    physical: Physical = True,
    loops: Loops | None = None,
    xacro: bool = False,
    strict: bool = True,
    couplings: bool = True,
    contacts: bool = False,
    srdf: StrPath | None = None,
) -> Model:
    """The model in a URDF, MJCF or SDF file.

    The root element says which it is: ``<robot>``, ``<mujoco>`` or ``<sdf>``. What the file says
    and the model does not is told once, in a `LeftOutWarning`.

    Cost: linear in the length of the file; meshes are opened when somebody looks at them.

    Args:
        path: the file; or the name of a robot of ``example-robot-data`` or ``robot_descriptions``
            (the extra ``mozzi[robots]``), such as ``"panda"``.
        base: ``"fixed"``, or ``"free"`` for a 6-dof joint under the root link.
        roots: folders below which the file may refer to others, besides its own folder and
            package and those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH.
        physical: whether inertias that no rigid body has are refused; False (or ``"warn"``) loads
            them with an `UnphysicalWarning` that lists every link.
        loops: closes loops of a URDF: a YAML file, or triples (frame, frame, ``"6d"`` or
            ``"3d"``).
        xacro: whether to expand the file with xacro, which runs expressions in it: trust the file.
        strict: whether words that the format does not have are refused; False notes them
            (`mozzi info` lists them) and reads on.
        couplings: whether joints that mimic others are coupled to them; False lets them move alone.
        contacts: whether the shapes touch that an MJCF file lets touch, by its pairs, exclusions,
            contype and conaffinity, with its friction (`model.contacts`); False adds none.
        srdf: a file whose group states become ``model.configurations``; by default the one beside
            a URDF or SDF file, or in the folder ``srdf`` of its package, that is called like it.

    Returns:
        The model, with joints, bodies and frames under their names in the file.

    Raises:
        ModelError: the file is broken, unphysical or hostile; the message names file, line and
            remedy.
        ExtraMissingError: MJCF needs the extra ``mozzi[mjcf]``, xacro the extra ``mozzi[xacro]``.

    Example:
        >>> arm = mz.load("arm.urdf", base="fixed")
        >>> arm.nv, arm.joint_names
        (3, ('joint_1', 'joint_2', 'joint_3'))
    """

def accelerations(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    rep: Rep = 'body',
) -> Array:
    """V̇_i of all bodies: the time derivatives of the twists in a representation.

    O(n).  Müller, Dynamics (6), (17), (28), (33), as recursions.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nb, 6): a row (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.accelerations(arm, q, v, a).shape
        (3, 6)
    """

def body_jacobians(model: Model, q: ArrayLike) -> tuple[Array, Array]:
    """(poses, J): the poses of all bodies, and their Jacobians in one 6 × nv matrix.

    In the spatial representation the column of a joint is the same in the Jacobians of all bodies
    behind it (Müller, Kinematics, remark 10): the Jacobian of body i is made of the columns of the
    joints from the base to i.  O(n).  Müller, Kinematics (3), (28).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        poses (B, nb, 4, 4): the pose of each body.
        J (B, 6, nv): spatial; rows are (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> poses, J = mz.body_jacobians(arm, arm.neutral())
        >>> poses.shape, J.shape
        ((3, 4, 4), (6, 3))
    """

def conversion_matrix(model: Model, q: ArrayLike, frame: str, source: Rep, target: Rep) -> Array:
    """The 6×6 matrix M with V_target = M V_source for the twists of a frame.

    Müller, Kinematics, table 3. Wrenches go by M⁻ᵀ.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        frame: name of a frame or body.
        source: representation of what is given: "body", "spatial", "hybrid" or "mixed".
        target: representation of the result: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, 6, 6): rows and columns are (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.conversion_matrix(arm, q, "tool", "body", "spatial").shape
        (6, 6)
    """

def convert_jacobian(
    model: Model,
    q: ArrayLike,
    columns: ArrayLike,
    frame: str,
    source: Rep,
    target: Rep,
) -> Array:
    """The Jacobian of a frame in the representation `target`, from that in `source`.

    Müller, Kinematics (54), (56), (59).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        columns (B, 6, nv): a Jacobian of the frame, in the representation source.
        frame: name of a frame or body.
        source: representation of what is given: "body", "spatial", "hybrid" or "mixed".
        target: representation of the result: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, 6, nv): rows are (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> J = mz.jacobian(arm, arm.neutral(), "tool")
        >>> mz.convert_jacobian(arm, arm.neutral(), J, "tool", "body", "hybrid").shape
        (6, 3)
    """

def convert_twist(
    model: Model,
    q: ArrayLike,
    twist: ArrayLike,
    frame: str,
    source: Rep,
    target: Rep,
) -> Array:
    """The twist of a frame in the representation `target`, from that in `source`.

    Müller, Kinematics, table 3.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        twist (B, 6): a twist (angular, linear) of the frame, in the representation source.
        frame: name of a frame or body.
        source: representation of what is given: "body", "spatial", "hybrid" or "mixed".
        target: representation of the result: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, 6): the twist (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, V = arm.random_configuration(0), np.ones(6)
        >>> mz.convert_twist(arm, q, V, "tool", "body", "hybrid").shape
        (6,)
    """

def convert_twist_rate(
    model: Model,
    q: ArrayLike,
    twist: ArrayLike,
    twist_rate: ArrayLike,
    frame: str,
    source: Rep,
    target: Rep,
) -> Array:
    """The rate of a frame's twist in the representation `target`, from twist and rate in `source`.

    Hybrid and mixed accelerations differ from the others by ω × ṙ.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        twist (B, 6): a twist (angular, linear) of the frame, in the representation source.
        twist_rate (B, 6): its rate, in the representation source.
        frame: name of a frame or body.
        source: representation of what is given: "body", "spatial", "hybrid" or "mixed".
        target: representation of the result: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, 6): the rate (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, V = arm.random_configuration(0), np.ones(6)
        >>> mz.convert_twist_rate(arm, q, V, V, "tool", "body", "hybrid").shape
        (6,)
    """

def system_conversion_matrix(model: Model, q: ArrayLike, source: Rep, target: Rep) -> Array:
    """The matrix (6 nb, 6 nb) that makes of a system Jacobian in `source` that in `target`.

    Block diagonal; it takes stacked twists along, and M⁻ᵀ stacked wrenches.  Müller, Kinematics
    (54), (56), (59), for the whole mechanism.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        source: representation of what is given: "body", "spatial", "hybrid" or "mixed".
        target: representation of the result: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, 6 nb, 6 nb): six rows and columns (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> M = mz.system_conversion_matrix(arm, q, "body", "spatial")
        >>> J = M @ mz.system_jacobian(arm, q, "body")
        >>> np.allclose(J, mz.system_jacobian(arm, q, "spatial"))
        True
    """

def convert_twist_rates(
    model: Model,
    q: ArrayLike,
    twists: ArrayLike,
    twist_rates: ArrayLike,
    source: Rep,
    target: Rep,
) -> Array:
    """The rates of the twists of all bodies in `target`, from twists and rates in `source`.

    O(n).  Müller, Kinematics, table 3 and its derivative.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        twists (B, nb, 6): twists of all bodies (angular, linear), in the representation source.
        twist_rates (B, nb, 6): their rates, in the representation source.
        source: representation of what is given: "body", "spatial", "hybrid" or "mixed".
        target: representation of the result: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nb, 6): a row (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.ones(arm.nv)
        >>> V, A = mz.twists(arm, q, v, "spatial"), mz.accelerations(arm, q, v, a, "spatial")
        >>> A = mz.convert_twist_rates(arm, q, V, A, "spatial", "hybrid")
        >>> np.allclose(A, mz.accelerations(arm, q, v, a, "hybrid"))
        True
    """

def convert_twists(
    model: Model,
    q: ArrayLike,
    twists: ArrayLike,
    source: Rep,
    target: Rep,
) -> Array:
    """The twists of all bodies in the representation `target`, from those in `source`.

    O(n).  Müller, Kinematics, table 3 for the whole mechanism.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        twists (B, nb, 6): twists of all bodies (angular, linear), in the representation source.
        source: representation of what is given: "body", "spatial", "hybrid" or "mixed".
        target: representation of the result: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nb, 6): a row (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> V = mz.convert_twists(arm, q, mz.twists(arm, q, v, "spatial"), "spatial", "mixed")
        >>> np.allclose(V, mz.twists(arm, q, v, "mixed"))
        True
    """

def convert_wrenches(
    model: Model,
    q: ArrayLike,
    wrenches: ArrayLike,
    source: Rep,
    target: Rep,
) -> Array:
    """The wrenches (or momenta) on all bodies in `target`, from those in `source`.

    O(n).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        wrenches (B, nb, 6): wrenches (torque, force) on all bodies, in the representation
            source.
        source: representation of what is given: "body", "spatial", "hybrid" or "mixed".
        target: representation of the result: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nb, 6): a row (torque, force) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a, W = arm.random_configuration(0), np.ones(3), np.ones(3), np.ones((3, 6))
        >>> tau = mz.inverse_dynamics(arm, q, v, a, W, wrenches_rep="hybrid")
        >>> W = mz.convert_wrenches(arm, q, W, "hybrid", "body")
        >>> np.allclose(tau, mz.inverse_dynamics(arm, q, v, a, W))
        True
    """

def convert_wrench(
    model: Model,
    q: ArrayLike,
    wrench: ArrayLike,
    frame: str,
    source: Rep,
    target: Rep,
) -> Array:
    """The wrench (or momentum) at a frame in `target`, from that in `source`: its power stays.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        wrench (B, 6): a wrench (torque, force) at the frame, in the representation source.
        frame: name of a frame or body.
        source: representation of what is given: "body", "spatial", "hybrid" or "mixed".
        target: representation of the result: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, 6): the wrench (torque, force).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, W = arm.random_configuration(0), np.ones(6)
        >>> mz.convert_wrench(arm, q, W, "tool", "body", "hybrid").shape
        (6,)
    """

def accelerations_of_coordinates(
    model: Model,
    q: ArrayLike,
    q_dot: ArrayLike,
    q_ddot: ArrayLike,
) -> Array:
    """a, the rate of v, of first and second rates of the coordinates.

    O(n); the inverse of `coordinate_accelerations`.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        q_dot (B, nq): rates of the coordinates, as `rates` gives them.
        q_ddot (B, nq): second rates of the coordinates.

    Returns:
        (B, nv): joint accelerations.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, a = arm.random_configuration(0), np.arange(3.0)
        >>> np.allclose(mz.accelerations_of_coordinates(arm, q, np.ones(3), a), a)
        True
    """

def coordinate_accelerations(model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """q̈ = N(q) a + Ṅ v: the second rates of the coordinates, of joint velocities and accelerations.

    O(n); `rates` gives q̇.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.

    Returns:
        (B, nq): q̈, a itself where q̇ is v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.arange(3.0)
        >>> np.allclose(mz.coordinate_accelerations(arm, q, v, a), a)
        True
    """

def velocities_of_coordinates(model: Model, q: ArrayLike, q_dot: ArrayLike) -> Array:
    """v = N⁺(q) q̇: the joint velocities of rates of the coordinates, the inverse of `rates`.

    O(n). Of a quaternion the part of its rate that keeps its length counts.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        q_dot (B, nq): rates of the coordinates, as `rates` gives them.

    Returns:
        (B, nv): joint velocities.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.velocities_of_coordinates(arm, q, mz.rates(arm, q, v)), v)
        True
    """

def difference(model: Model, q0: ArrayLike, q1: ArrayLike) -> Array:
    """q1 ⊖ q0: the constant velocity that reaches q1 from q0 in unit time; q0 ⊕ (q1 ⊖ q0) = q1.

    Args:
        model: the mechanism.
        q0 (B, nq): the first configuration.
        q1 (B, nq): the second configuration.

    Returns:
        (B, nv): the velocity.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.difference(arm, q, mz.integrate(arm, q, v)), v)
        True
    """

def forward_kinematics(model: Model, q: ArrayLike) -> Array:
    """The poses C_i of all bodies, as 4×4 matrices:  C_i = C_p C_pi(q_i).

    By joint frames, O(n).  Müller, Kinematics (3).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, nb, 4, 4): the pose of each body in the inertial frame.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.forward_kinematics(arm, q).shape
        (3, 4, 4)
    """

def integrate(model: Model, q: ArrayLike, dv: ArrayLike) -> Array:
    """q ⊕ dv: the configuration that the constant velocity dv reaches from q in unit time.

    Joint by joint, exactly: C(q ⊕ dv) = C(q) exp(S dv) across every joint that moves in a
    subgroup.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        dv (B, nv): a velocity, held for unit time.

    Returns:
        (B, nq): the configuration that is reached.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.difference(arm, q, mz.integrate(arm, q, v)), v)
        True
    """

def inverse_kinematics(
    model: Model,
    targets: Mapping[str, ArrayLike | SE3],
    q0: ArrayLike | None = None,
    *,
    limits: bool = True,
    tolerance: float = 1e-08,
    iterations: int = 60,
    restarts: int = 126,
    rng: Seed = 0,
) -> InverseKinematicsResult:
    """Configurations in which the frames named in `targets` have the poses given there.

    Leading axes of targets and of q0 broadcast: many targets, or many starts for one, are solved at
    once. Damped least squares (Levenberg, Marquardt) on the configuration space, within the limits
    of the joints. A row that gets stuck starts again from random configurations, twice as many
    each time, up to `restarts` in all. Nothing is raised when a target is out of reach: see
    `InverseKinematicsResult.report`. Loops are closed. Where a model rolls or has velocity rows,
    a mobile base drives to its target, it does not slide there sideways: ``path`` of the result is
    a manoeuvre from q0 to q whose steps obey A δ = 0, and a target without one is out of reach.

    Cost: some dozens of iterations of O(n d + k³) for k rows of targets, each on the targets that
    are still open, and again from other starts where one fails.

    Args:
        model: the mechanism.
        targets: by frame, a pose (B, 4, 4), or a position (B, 3) that leaves the orientation free.
        q0 (B, nq), optional: where to start; the neutral configuration where not given.
        limits: whether to stay within the limits of the joints.
        tolerance: largest error of a target that is reached, in radians and metres.
        iterations: of each descent.
        restarts: how often to start again.
        rng: a seed or generator, for these starts.

    Returns:
        An `InverseKinematicsResult`: q (B, nq), success (B), the errors of each frame, and the
        ``path`` there (B, n + 1, nq) where rows of velocities ask for one.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> goal = mz.pose(arm, [0.3, 0.2, 0.1], "tool")
        >>> bool(mz.inverse_kinematics(arm, {"tool": goal}).success)
        True
    """

def jacobian(model: Model, q: ArrayLike, frame: str, rep: Rep = 'body') -> Array:
    """J with V = J v, for the twist V of a frame in a representation.

    O(depth).  Müller, Kinematics (16), (28), (40), (50).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        frame: name of a frame or body.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, 6, nv): rows are the twist (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.jacobian(arm, q, "tool", rep="hybrid").shape
        (6, 3)
    """

def jacobian_derivatives(
    model: Model,
    q: ArrayLike,
    rates: ArrayLike,
    frame: str,
    order: int = 3,
    rep: Rep = 'body',
) -> Array:
    """J, J̇, …, J⁽ᴺ⁾ of a frame in a representation, along a motion with v, a, …, N of them.

    One recursion for all orders, O(depth N²).  Müller, Dynamics (5), (14), (16), (23), (27), (33).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        rates (B, N, nv): v, a, j, …: the first N time derivatives of the motion, N = order.
        frame: name of a frame or body.
        order: N, the highest time derivative of q that is given, 1 or more.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, N + 1, 6, nv): J and its derivatives, rows (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, rates = arm.random_configuration(0), np.ones((2, arm.nv))
        >>> J, dJ, ddJ = mz.jacobian_derivatives(arm, q, rates, "tool", order=2)
        >>> np.allclose(dJ, mz.jacobian_rate(arm, q, rates[0], "tool"))
        True
    """

def jacobian_partials(
    model: Model,
    q: ArrayLike,
    frame: str,
    order: int = 1,
    rep: Rep = 'body',
) -> Array:
    """∂ᵛJ: axes are 6, the column, and one differentiation index per order, the last taken last.

    Derivatives are taken along the group: in the direction δ_k, f(q ⊕ ε e_k). They are nested
    brackets of the columns of J, in the order the joints have on the way to the frame.
    Müller, Dynamics (14), (23), (25).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        frame: name of a frame or body.
        order: how often to differentiate, 1 or more.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, 6, nv, nv): rows, columns, and one more axis nv for each further order.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.jacobian_partials(arm, q, "tool", order=2).shape
        (6, 3, 3, 3)
    """

def jacobian_rate(model: Model, q: ArrayLike, v: ArrayLike, frame: str, rep: Rep = 'body') -> Array:
    """J̇ along the velocity v, so that V̇ = J a + J̇ v.

    O(depth).  Müller, Dynamics (5), (16), (27), (33).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        frame: name of a frame or body.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, 6, nv): rows are (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.jacobian_rate(arm, q, v, "tool").shape
        (6, 3)
    """

def jerks(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    j: ArrayLike,
    rep: Rep = 'body',
) -> Array:
    """V̈_i of all bodies: the second time derivatives of the twists in a representation.

    O(n).  Müller, Dynamics (13), (21), (31), (33), as recursions.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.
        j (B, nv): joint jerks, the rates of a.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nb, 6): a row (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.jerks(arm, q, v, a, a).shape
        (3, 6)
    """

def joint_accelerations(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    twist_rates: ArrayLike,
    rep: Rep = 'body',
    weights: ArrayLike | None = None,
    residual: Residual = 'absolute',
    regularization: float = 0.0,
) -> Array:
    """a with V̇ = J a + J̇ v, from the rates V̇ of the twists of all bodies, as `joint_rates`.

    Müller, Dynamics (11).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        twist_rates (B, nb, 6): rates of the twists of all bodies, in the representation rep.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".
        weights (B, nb, 6), optional: of the squares, each entry of each body; 1 where not
            given.
        residual: which squares are least: "absolute" or "relative".
        regularization: weight of the squares of the result, added to those.

    Returns:
        (B, nv): joint accelerations.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> np.allclose(mz.joint_accelerations(arm, q, v, mz.accelerations(arm, q, v, a)), a)
        True
    """

def joint_rates(
    model: Model,
    q: ArrayLike,
    twists: ArrayLike,
    rep: Rep = 'body',
    weights: ArrayLike | None = None,
    residual: Residual = 'absolute',
    regularization: float = 0.0,
) -> Array:
    """v with V = J v, from the twists V of all bodies; where they disagree, the least squares.

    residual="absolute" minimises Σ_i |V_i − J_i v|² in the coordinates of the representation, each
    entry weighted by `weights` (nb, 6): the normal equations are those of a mechanism whose bodies
    have these weights as inertias, and are solved in O(n) as forward dynamics is.
    residual="relative" minimises the squares of V_i − V_p − J_ii v_i in body frames, joint by
    joint: Müller, Kinematics (26), (34). `regularization` is added to the squares of v: give some
    where weights leave joints unobserved, or where coordinates of a joint move its body alike.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        twists (B, nb, 6): twists of all bodies (angular, linear), in the representation rep.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".
        weights (B, nb, 6), optional: of the squares, each entry of each body; 1 where not
            given.
        residual: which squares are least: "absolute" or "relative".
        regularization: weight of the squares of the result, added to those.

    Returns:
        (B, nv): joint velocities.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.joint_rates(arm, q, mz.twists(arm, q, v)), v)
        True
    """

def joint_screws(model: Model, q: ArrayLike, rep: Rep = 'spatial') -> Array:
    """The screws of all joints at the configuration q, measured at the bodies they move.

    Columns ⁱX_i (body), J_iˢ (spatial), ⁰X_iⁱ (hybrid) and their mixed form. The spatial ones are
    the columns of the Jacobians of all bodies; at the neutral configuration they are the Y_i.
    O(n).  Müller, Kinematics (5), (12), (28), (38), table 3.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, 6, nv): rows are (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> np.allclose(mz.joint_screws(arm, q), mz.jacobian(arm, q, "link_3", rep="spatial"))
        True
    """

def point_jacobian(
    model: Model,
    q: ArrayLike,
    point: ArrayLike,
    frame: str,
    resolved: Resolved = 'world',
) -> Array:
    """J with ṙ = J v, for a point given in the coordinates of a frame and carried along by it.

    The velocity is resolved in the world, or in the frame.  O(depth).  Müller, Kinematics (36).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        point (B, 3): a point fixed to the frame, in its coordinates.
        frame: name of a frame or body.
        resolved: axes of the velocity: "world" or "frame".

    Returns:
        (B, 3, nv): rows are x, y, z of the velocity, columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.point_jacobian(arm, q, [0.0, 0.0, 0.1], "tool").shape
        (3, 3)
    """

def pose(model: Model, q: ArrayLike, frame: str) -> Array:
    """The pose of a frame or body, as a 4×4 matrix.

    From the base to the frame, O(depth).  Müller, Kinematics (3).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        frame: name of a frame or body.

    Returns:
        (B, 4, 4): the pose of the frame in the inertial frame.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.pose(arm, q, "tool").shape
        (4, 4)
    """

def product_of_exponentials(model: Model, q: ArrayLike, form: Form = 'spatial') -> Array:
    """The poses C_i of all bodies, by one of the forms of the product of exponentials.

    "joint": C_i = C_p S_pi D_i(q_i) S_ii⁻¹, MK3; "body": C_p B_i exp(X_i q_i), MK8; "parent": C_p
    exp(X̄_i q_i) B_i, MK8; "spatial": exp(Y_1 q_1) … exp(Y_i q_i) A_i, MK10. An exponential of a
    screw that is not in the joint's own frame is that in the joint's frame, D_i, moved there by
    MK76: so the forms hold for joints of any kind.  Müller, Kinematics (MK).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        form: which product of exponentials: "joint", "body", "parent" or "spatial".

    Returns:
        (B, nb, 4, 4): the pose of each body, as `forward_kinematics` gives it.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> np.allclose(mz.product_of_exponentials(arm, q), mz.forward_kinematics(arm, q))
        True
    """

def move_twist(
    model: Model,
    q: ArrayLike,
    twist: ArrayLike,
    measured_at: str = 'world',
    resolved_in: str | None = None,
    to: str = 'world',
    to_axes: str | None = None,
) -> Array:
    """A twist that is measured at one frame and resolved in another, at and in two others.

    Müller, Kinematics (78)–(80).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        twist (B, 6): (angular, linear), measured at `measured_at` and resolved in
            `resolved_in`.
        measured_at: frame or body whose origin linear parts are those of; None: the frame.
        resolved_in: frame or body whose axes are those of the components; None: measured_at.
        to: frame or body where the result is measured.
        to_axes: frame or body whose axes the result is resolved in; None: to.

    Returns:
        (B, 6): the twist (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> V = mz.move_twist(arm, q, mz.jacobian(arm, q, "tool") @ v, "tool", to="link_1")
        >>> np.allclose(V, mz.relative_twist(arm, q, v, "tool", measured_at="link_1"))
        True
    """

def move_wrench(
    model: Model,
    q: ArrayLike,
    wrench: ArrayLike,
    measured_at: str = 'world',
    resolved_in: str | None = None,
    to: str = 'world',
    to_axes: str | None = None,
) -> Array:
    """A wrench that is measured at one frame and resolved in another, at and in two others.

    Its power on a twist that goes the same way stays (`move_twist`).  Müller, Dynamics (62),
    (120).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        wrench (B, 6): (torque, force), measured at `measured_at` and resolved in `resolved_in`.
        measured_at: frame or body whose origin linear parts are those of; None: the frame.
        resolved_in: frame or body whose axes are those of the components; None: measured_at.
        to: frame or body where the result is measured.
        to_axes: frame or body whose axes the result is resolved in; None: to.

    Returns:
        (B, 6): the wrench (torque, force).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, W = arm.random_configuration(0), np.ones(6)
        >>> W_0 = mz.move_wrench(arm, q, W, "tool")
        >>> np.allclose(W_0, mz.convert_wrench(arm, q, W, "tool", "body", "spatial"))
        True
    """

def relative_acceleration(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    frame: str,
    relative_to: str | None = None,
    measured_at: str | None = None,
    resolved_in: str | None = None,
) -> Array:
    """The rate of `relative_twist`: of its six components, as all four frames move.

    O(depth).  Müller, Dynamics (17) and section 3.5.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.
        frame: name of a frame or body.
        relative_to: frame or body that it moves against; None: the world.
        measured_at: frame or body whose origin linear parts are those of; None: the frame.
        resolved_in: frame or body whose axes are those of the components; None: measured_at.

    Returns:
        (B, 6): the rate of the twist (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.ones(arm.nv)
        >>> A = mz.relative_acceleration(arm, q, v, a, "link_3")
        >>> np.allclose(A, mz.accelerations(arm, q, v, a)[2])
        True
    """

def relative_jacobian(
    model: Model,
    q: ArrayLike,
    frame: str,
    relative_to: str | None = None,
    measured_at: str | None = None,
    resolved_in: str | None = None,
) -> Array:
    """J with J v the `relative_twist` of two frames, measured and resolved anywhere.

    O(depth); joints that carry both frames have zero columns.  Müller, Kinematics (81), table 3.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        frame: name of a frame or body.
        relative_to: frame or body that it moves against; None: the world.
        measured_at: frame or body whose origin linear parts are those of; None: the frame.
        resolved_in: frame or body whose axes are those of the components; None: measured_at.

    Returns:
        (B, 6, nv): rows are the twist (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> J = mz.relative_jacobian(arm, q, "tool", "link_1", resolved_in="link_2")
        >>> bool(np.all(J[:, 0] == 0.0))
        True
    """

def relative_jacobian_rate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    frame: str,
    relative_to: str | None = None,
    measured_at: str | None = None,
    resolved_in: str | None = None,
) -> Array:
    """The rate of `relative_jacobian` along the motion v.

    O(depth).  Müller, Dynamics (16) and section 3.5.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        frame: name of a frame or body.
        relative_to: frame or body that it moves against; None: the world.
        measured_at: frame or body whose origin linear parts are those of; None: the frame.
        resolved_in: frame or body whose axes are those of the components; None: measured_at.

    Returns:
        (B, 6, nv): rows are (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> dJ = mz.relative_jacobian_rate(arm, q, v, "tool")
        >>> np.allclose(dJ, mz.jacobian_rate(arm, q, v, "tool"))
        True
    """

def relative_twist(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    frame: str,
    relative_to: str | None = None,
    measured_at: str | None = None,
    resolved_in: str | None = None,
) -> Array:
    """The twist of a frame relative to another, measured at the origin of a third one and resolved
    in the axes of a fourth.

    O(depth).  Müller, Kinematics (80), (81); Dynamics, section 3.5.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        frame: name of a frame or body.
        relative_to: frame or body that it moves against; None: the world.
        measured_at: frame or body whose origin linear parts are those of; None: the frame.
        resolved_in: frame or body whose axes are those of the components; None: measured_at.

    Returns:
        (B, 6): the twist (angular, linear).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.relative_twist(arm, q, v, "tool"), mz.jacobian(arm, q, "tool") @ v)
        True
    """

def rates(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """q̇ = N(q) v: the rates of the coordinates.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.

    Returns:
        (B, nq): q̇, v itself where joints have no quaternions.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.rates(arm, q, v), v)
        True
    """

def system_jacobian(model: Model, q: ArrayLike, rep: Rep = 'body') -> Array:
    """J with (V_1, …, V_n) = J v: the Jacobians of all bodies, one above the other.

    O(n d), recursively from parent to child.  Müller, Kinematics (19), (28), (41), (51).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, 6 nb, nv): six rows (angular, linear) for each body, columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.system_jacobian(arm, q).shape
        (18, 3)
    """

def system_jacobian_factors(
    model: Model,
    q: ArrayLike,
    rep: Rep = 'body',
    screws: ScrewRep | None = None,
) -> SystemJacobianFactors:
    """The factors of the system Jacobian, J = A X, as operators that act in O(n).

    X holds the joints' screws in the representation `screws` (by default that of the twists), or
    at the reference configuration ("reference": Y_i; where the screws of a joint depend on its q,
    as those of products do, S(q) seen from there). So rep="spatial" with screws "body",
    "hybrid" and "reference" are the three forms of Müller, Kinematics (MK), 32; rep="mixed" with
    screws "hybrid" is MK53; the default is MK23, MK43. `A.inverse()` is MK25, MK34, MK45; `.D` is
    MK22, MK45.

    Args:
        model: the mechanism.
        q (B, nq): configuration.
        rep: representation of the twists: "body", "spatial", "hybrid" or "mixed".
        screws: representation of the joints' screws: one of these, or "reference"; None: as rep.

    Returns:
        (A, X): operators (6 nb, 6 nb) and (6 nb, nv) with ``@``, `inverse` and `matrix`.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> A, X = mz.system_jacobian_factors(arm, arm.neutral())
        >>> np.allclose(A @ X, mz.system_jacobian(arm, arm.neutral()))
        True
    """

def twist_axis(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    frame: str,
    relative_to: str | None = None,
) -> tuple[Array, Array, Array, Array]:
    """The axis that a frame turns about and slides along at this instant, its pitch and speed.

    O(depth); pages and the viewer draw it of every body.  Müller, Dynamics B.2; `ScrewAxis`.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        frame: name of a frame or body.
        relative_to: frame or body that it moves against; None: the world.

    Returns:
        direction (B, 3): the unit vector along the axis, in the inertial frame.
        point (B, 3): the point of the axis next to the inertial origin.
        pitch (B): translation per radian; inf where it does not turn.
        magnitude (B): rad/s; m/s where it does not turn.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.array([2.0, 0.0, 0.0])
        >>> e, p, pitch, speed = mz.twist_axis(arm, q, v, "tool")
        >>> abs(float(pitch)) < 1e-12, round(float(speed), 12)
        (True, 2.0)
    """

def twist_derivatives(
    model: Model,
    q: ArrayLike,
    rates: ArrayLike,
    order: int = 3,
    rep: Rep = 'body',
) -> Array:
    """V, V̇, …, V⁽ᴺ⁻¹⁾ of all bodies in a representation, along a motion with v, a, …, N of them.

    One recursion for all orders, O(n N²).  Müller, Dynamics, section 2: (6), (13),
    (17), (21), (28), (31), (33) and what follows them.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        rates (B, N, nv): v, a, j, …: the first N time derivatives of the motion, N = order.
        order: N, the highest time derivative of q that is given, 1 or more.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nb, N, 6): for each body the rows (angular, linear) of V and its derivatives.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, rates = arm.random_configuration(0), np.ones((5, arm.nv))
        >>> mz.twist_derivatives(arm, q, rates, order=5).shape
        (3, 5, 6)
    """

def twists(model: Model, q: ArrayLike, v: ArrayLike, rep: Rep = 'body') -> Array:
    """The twists of all bodies in a representation.

    O(n), each representation by its own recursion.  Müller, Kinematics (14), (30), (42), (52).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nb, 6): a row (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.twists(arm, q, v)[-1], mz.jacobian(arm, q, "link_3") @ v)
        True
    """

def contact_frames(model: Model, q: ArrayLike) -> Array:
    """The frames (k, 4, 4) of the contact points: halfway between the witness points, z along the
    normal from shape b to shape a, x and y along the two directions of friction.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, k, 4, 4): a pose for each point, in the inertial frame.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground()
        >>> mz.contact_frames(ball, ball.neutral()).shape
        (1, 4, 4)
    """

def contact_inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    actuated: Sequence[str] | None = None,
) -> tuple[Array, Array, Array]:
    """Joint forces and contact forces for accelerations a: τ + Jᵀ f = M a + C v + g, with f of all
    points that touch in their friction cones, and τ = 0 in joints without motors as nearly as such
    forces can: least squares over the cones, by an interior point. Of several such f the least. Of
    the rigid equations: without damping, friction and springs.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.
        actuated: names of the joints with motors; by default all but free ones.

    Returns:
        tau (B, nv): what the motors give.
        forces (B, k, 3): on bodies a, in world axes.
        missing (B, 1): the norm of what joints without motors would need on top.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground()
        >>> rest = np.zeros((2, 6))
        >>> tau, forces, missing = mz.contact_inverse_dynamics(ball, ball.neutral(), *rest)
    """

def contact_wrenches(model: Model, q: ArrayLike, forces: ArrayLike) -> Array:
    """What contact forces exert on all bodies, body-fixed: to be given to `inverse_dynamics` and
    `forward_dynamics` as ``wrenches``.

    Cost: O(k) for k contact points.

    Args:
        model: the mechanism, with ``model.contacts``.
        q (B, nq): configuration.
        forces (B, k, 3): on bodies a, in world axes, in the order of `contact_points`; moments
            where a contact is a cone.

    Returns:
        (B, nb, 6): moment and force on each body.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground()
        >>> mz.contact_wrenches(ball, ball.neutral(), np.zeros((1, 3))).shape
        (1, 6)
    """

def contact_gaps(model: Model, q: ArrayLike) -> Array:
    """The signed distances (k) of the contact points: negative where shapes overlap.

    One after the other, as `contact_points` tells. Differentiable where the nearest features stay
    the same; finite everywhere.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, k): metres, in the order of `contact_points`.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground()
        >>> mz.contact_gaps(ball, ball.neutral()).shape
        (1,)
    """

def contact_points(model: Model) -> Mapping[str, slice]:
    """Which of the k contact points belong to which contact, by its name.

    Cost: none at run time; it looks into the model.

    Args:
        model: the mechanism, with ``model.contacts``.

    Returns:
        Slices of the k points, by the names of the contacts.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground()
        >>> len(mz.contact_points(ball))
        1
    """

def impact(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """The velocities after the impacts of what touches: v⁺ = v + M⁻¹ Jᵀ x.

    Contacts whose gap is below a nanometre touch. Newton's law, w_n⁺ ≥ −e w_n⁻ where they come
    together, with Signorini's and Coulomb's for the impulses; loops stay closed.  Moreau, 1988.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.

    Returns:
        (B, nv): velocities.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_ground()
        >>> mz.impact(ball, ball.neutral(), np.ones(6)).shape
        (6,)
    """

@overload
def assemble(
    model: Model,
    q: ArrayLike,
    hold: JointChoice = (),
    *,
    loop_offsets: ArrayLike | None = None,
    tolerance: float = 1e-10,
    iterations: int = 80,
    report: Literal[False] = False,
    rng: Seed = 0,
) -> Array:
    """A closed configuration near q, with some joints held where they are.

    Damped least squares along the group, φ(q ⊕ δ) ≈ φ + A δ, by singular values: redundant rows do
    no harm, and steps are the shortest. From a guess at which it gets stuck (all rods in line) it
    starts again a little aside, further and further; of a mechanism of many loops those that are
    stuck alone. Leading axes of q are a batch.

    Cost: a singular value decomposition, O(n³), for each of some five to ten iterations; with more
    than 120 coordinates O(n b²), where loops act on b of them together.

    Args:
        model: the mechanism.
        q (B, nq): configuration to start from.
        hold: joints that stay where they are: names, or pairs (name, number of a coordinate).
        loop_offsets (B, m), optional: what the residual shall be instead of zero, row by row.
        tolerance: the largest residual of a closed configuration.
        iterations: of each descent.
        report: whether to return an `Assembly`, and never raise.
        rng: a seed or generator, for starts aside.

    Returns:
        (B, nq): closed configurations; with ``report`` an `Assembly` instead.

    Raises:
        LoopError: loops stay open; the message says which, and by how much.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q = mz.assemble(bar, [0.3, 0.0, 0.0], hold=bar.joint_names[:1])
        >>> float(q[0]), np.allclose(mz.loop_residual(bar, q), 0.0)
        (0.3, True)
    """
@overload
def assemble(
    model: Model,
    q: ArrayLike,
    hold: JointChoice = (),
    *,
    loop_offsets: ArrayLike | None = None,
    tolerance: float = 1e-10,
    iterations: int = 80,
    report: Literal[True],
    rng: Seed = 0,
) -> Assembly:
    ...

def bias_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    wrenches: ArrayLike | None = None,
    resistance: bool = False,
    *,
    wrenches_rep: Rep = 'body',
) -> Array:
    """Joint forces at zero acceleration:  C(q, v) v + g(q) − Σ Jᵢᵀ Wᵢ.

    Inverse dynamics with a = 0, O(n).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.bias_forces(arm, q, v).shape
        (3,)
    """

def center_of_mass(model: Model, q: ArrayLike) -> Array:
    """c(q) of all moving bodies, in the inertial frame.

    First moments, summed inward, O(n).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, 3): metres.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.center_of_mass(arm, q).shape
        (3,)
    """

def centroidal_momentum(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """Angular and linear momentum (6,) of all bodies, about their centre of mass, in inertial axes.

    The momentum about the origin, moved to c(q), O(n).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.

    Returns:
        (B, 6): (angular, linear), in inertial axes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> h = mz.centroidal_momentum_matrix(arm, q) @ v
        >>> np.allclose(mz.centroidal_momentum(arm, q, v), h)
        True
    """

def centroidal_momentum_matrix(model: Model, q: ArrayLike) -> Array:
    """A(q) (6, nv) with A v the centroidal momentum (angular, linear).

    Composite bodies: the momentum of what each joint moves, in inertial axes, O(n).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, 6, nv): rows are (angular, linear), columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.centroidal_momentum_matrix(arm, q).shape
        (6, 3)
    """

def christoffel(model: Model, q: ArrayLike) -> Array:
    """Γ (nv, nv, nv):  C(q, v)_ij = Σ_k Γ_ijk v_k, so that bias forces are Σ Γ_ijk v_j v_k + g.

    Composite bodies, O(n d²): with m the outermost of i, j, k, and +1 where k is not outside j,
    Γ_ijk = ½ Jᵢᵀ (J_k×* I_m J_j + J_j×* I_m J_k ± I_m (J_k × J_j)), in spatial screws.
    Symmetric in j, k where v are coordinate rates (Γ_ijk = ½ (∂_k M_ij + ∂_j M_ik − ∂_i M_jk));
    within Planar, Spherical, Free, … the velocities are no rates, Γ is the Levi-Civita connection
    in their basis, and Γ_ijk − Γ_ikj = Σ_l M_il c^l_kj with the structure constants of the joint.
    M is that of the bodies here: armature adds R a to the forces, no matter how a joint moves, and
    has no part in Γ.  Müller, Dynamics (86), (87).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, nv, nv, nv): Γ_ijk; i is the force, j and k the velocities.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.christoffel(arm, q) @ v, mz.coriolis_matrix(arm, q, v))
        True
    """

def closed_form(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    twists: ArrayLike | None = None,
    momenta: ArrayLike | None = None,
) -> ClosedForm:
    """The equations of motion at a state, as matrices: what the recursions compute without them.

    Jourdain's and Kane's projection, the forms in (q, V) and in (q, Π), Lagrange's and Ploen's
    matrices, and Christoffel's symbols in two forms; for any joints, in batches, O(n³). For insight
    and for tests: the algorithms of the same names are faster.  Müller, Dynamics (78)–(87); Ploen
    (24), (28), (37). Of the rigid equations: without damping, friction and springs.

    Args:
        model: the mechanism; of a closed one, the matrices are those of its tree.
        q (B, nq): configuration.
        v (B, nv), optional: joint velocities; zero where no state is given.
        twists (B, nb, 6), optional: instead of v, the body-fixed twists of the bodies: (q, V).
        momenta (B, nb, 6), optional: instead of v, their spatial momenta: (q, Π).

    Returns:
        A `ClosedForm`.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> form = mz.closed_form(arm, q, v)
        >>> np.allclose(form.euler_jourdain(a), mz.inverse_dynamics(arm, q, v, a))
        True
    """

def consistent_accelerations(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    hold: JointChoice = (),
    *,
    v_ref: ArrayLike | None = None,
) -> Array:
    """The accelerations nearest to a that keep the loops closed, A a + Ȧ v = 0.

    With ``v_ref``, the rates of reference velocities along the motion v: A a + Ȧ v_ref = 0. Nearest
    in the metric of kinetic energy, as in `consistent_velocities`.

    Cost: O(n³), on arrays.

    Args:
        model: the mechanism.
        q (B, nq): a closed configuration.
        v (B, nv): joint velocities that keep it closed.
        a (B, nv): joint accelerations.
        hold: joints that keep their acceleration: names, or pairs (name, number of a coordinate).
        v_ref (B, nv), optional: velocities whose rates are asked for; v where not given.

    Returns:
        (B, nv): accelerations.

    Raises:
        LoopError: no accelerations with these held keep the loops closed.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q, v = bar.neutral(), mz.consistent_velocities(bar, bar.neutral(), [1.0, 0.0, 0.0])
        >>> a = mz.consistent_accelerations(bar, q, v, np.zeros(3), hold=bar.joint_names[:1])
        >>> np.allclose(mz.loop_acceleration(bar, q, v, a), 0.0)
        True
    """

def consistent_velocities(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    hold: JointChoice = (),
    *,
    loop_rates: ArrayLike | None = None,
) -> Array:
    """The velocities nearest to v that keep the loops closed, A v = 0 (or = ``loop_rates``).

    Nearest in kinetic energy, ½ (v′ − v)ᵀ M (v′ − v): what an impulse in the loops leaves of v.
    O(n³), on arrays.

    Args:
        model: the mechanism.
        q (B, nq): a closed configuration.
        v (B, nv): joint velocities.
        hold: joints that keep their velocity: names, or pairs (name, number of a coordinate).
        loop_rates (B, m), optional: what A v shall be; 0 where not given.

    Returns:
        (B, nv): velocities.

    Raises:
        LoopError: no velocities with these held keep the loops closed.
        SingularError: something moves without inertia, so that none are nearest.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> v = mz.consistent_velocities(bar, bar.neutral(), [1.0, 0.0, 0.0])
        >>> np.allclose(mz.loop_jacobian(bar, bar.neutral()) @ v, 0.0)
        True
    """

def coriolis_matrix(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """C(q, v) with C v the Coriolis and centrifugal forces and Ṁ − 2C skew-symmetric.

    Composite bodies and the flow of their mass, O(n d). C is linear in v: C = Σ_k Γ_··k v_k with
    the symbols of `christoffel`.  Ploen (37); Müller, Dynamics (84), (85).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.

    Returns:
        (B, nv, nv): C; rows are forces, columns the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> moving = mz.bias_forces(arm, q, v) - mz.gravity_forces(arm, q)
        >>> np.allclose(mz.coriolis_matrix(arm, q, v) @ v, moving)
        True
    """

def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    wrenches: ArrayLike | None = None,
    resistance: bool = False,
    loop_accelerations: ArrayLike | None = None,
    *,
    wrenches_rep: Rep = 'body',
) -> Array:
    """Accelerations that the joint forces τ produce:  M(q) a = τ − C(q, v) v − g(q) + Σ Jᵢᵀ Wᵢ.

    Articulated bodies, O(n): `hybrid_dynamics` with nothing prescribed. Damping, friction and
    springs, of the joints and between bodies, act on request (``resistance``). With loops,
    A a + Ȧ v = 0 holds (or = ``loop_accelerations``, where rows have a prescribed motion), and
    Aᵀ λ acts besides τ. Where the loops lose rank, dependent rows are left out, accelerations stay
    finite, and called with arrays it issues a `SingularWarning`. Compiled kernels cannot warn:
    `loop_rank` is there for them.
    Kim Table 3, (67)–(69); Rodriguez et al. (.39), (.40), steps A–F.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        tau (B, nv): joint forces and torques, positive along v.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        loop_accelerations (B, m), optional: what A a + Ȧ v shall be, with A =
            loop_jacobian(model, q); 0 where not given. Closures that move by a law of time:
            simulate(loop_offsets=…).
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nv): joint accelerations, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> np.allclose(mz.forward_dynamics(arm, q, v, mz.inverse_dynamics(arm, q, v, a)), a)
        True
    """

def gravity_forces(model: Model, q: ArrayLike) -> Array:
    """Joint forces that hold the mechanism at rest:  g(q), the derivative of the potential energy.

    Of its weight: springs are not held (`potential_energy` with ``springs=False``). Inverse
    dynamics with v = a = 0, O(n).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> np.allclose(mz.gravity_forces(arm, q), mz.bias_forces(arm, q, np.zeros(3)))
        True
    """

def hybrid_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    a: ArrayLike,
    prescribed: JointChoice = (),
    wrenches: ArrayLike | None = None,
    resistance: bool = False,
    loop_accelerations: ArrayLike | None = None,
    minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
    *,
    wrenches_rep: Rep = 'body',
) -> tuple[Array, Array]:
    """(τ, a), both complete: a is given at prescribed coordinates and τ at the others.

    ``prescribed`` lists joints, or pairs (joint, coordinate) of joints with several. Articulated
    bodies, O(n). With nothing prescribed it is forward dynamics, with everything inverse dynamics.
    Loops are kept closed: see `constraints/multipliers.py`. Prescribed accelerations that open them
    are a `LoopError`; where they leave several τ (more are prescribed than are free to move), loop
    forces are of least norm, or what ``minimize`` says has the least squares. On arrays,
    a `SingularWarning` tells where loops lose rank, as in `forward_dynamics`.
    Kim Table 4, (72)–(80).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        tau (B, nv): joint forces and torques, positive along v.
        a (B, nv): joint accelerations.
        prescribed: joints whose a is given: names, or pairs (name, number of a coordinate).
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        loop_accelerations (B, m), optional: what A a + Ȧ v shall be, with A =
            loop_jacobian(model, q); 0 where not given. Closures that move by a law of time:
            simulate(loop_offsets=…).
        minimize: which of several answers, "torque" or "loop_force": the one with least squares
            of these.
        weighting: weights of these squares, one for each actuated coordinate or row.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        tau (B, nv): joint forces, all of them.
        a (B, nv): joint accelerations, all of them.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> tau, _ = mz.hybrid_dynamics(arm, q, v, a, a, prescribed=arm.joint_names)
        >>> np.allclose(tau, mz.inverse_dynamics(arm, q, v, a))
        True
    """

def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    wrenches: ArrayLike | None = None,
    rep: Rep = 'body',
    resistance: bool = False,
    actuated: JointChoice | None = None,
    minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    wrenches_rep: Rep = 'body',
) -> Array:
    """Joint forces that produce the accelerations a:  τ = M(q) a + C(q, v) v + g(q) − Σ Jᵢᵀ Wᵢ.

    Recursive Newton–Euler, O(n), in body-fixed, spatial, hybrid or mixed twists: the same forces.
    ``wrenches`` act on the bodies, body-fixed. Armature is part of M; damping, friction and
    springs of the joints, and springs between bodies, are added on request (``resistance``).
    Kim Table 2; Müller, Dynamics (66), (67); (70), (71); (75), (76).

    With loops every joint is taken as actuated, and the loops bear nothing. Where only the joints
    in ``actuated`` are, the others get τ = 0 and the loops bear the rest; of several answers that
    with the least ``minimize="torque"`` (the default then) or ``"loop_force"``, squares weighted
    by ``weighting``. Passive joints that have forces of their own (Kim's τ_p: springs, friction,
    loads) get them from ``tau``, which is read there. A motion that these actuators cannot make is
    a `LoopError`; a compiled kernel, which cannot raise, gives no numbers then.  Kim (56)–(66).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        actuated: joints that bear the loads of a model with loops; None: all of them.
        minimize: which of several answers, "torque" or "loop_force": the one with least squares
            of these.
        weighting: weights of these squares, one for each actuated coordinate or row.
        tau (B, nv), optional: joint forces and torques, positive along v.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> np.allclose(mz.inverse_dynamics(arm, q, v, a), mz.bias_forces(arm, q, v))
        True
    """

def inverse_dynamics_regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    v_ref: ArrayLike | None = None,
    actuated: JointChoice | None = None,
    minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
) -> Array:
    """Y (nv, 10 nb):  inverse_dynamics(q, v, a) = Y π + armature·a, with ten parameters per body.

    π = (m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz) of each body, at and in its own
    frame (`Inertia.parameters`). With ``v_ref``, of `passive_inverse_dynamics(q, v, v_ref, a)`.
    The wrenches of unit parameters, taken inward along the path of each body, O(n d). With loops
    and ``actuated`` joints, what these bear of every column, as in `inverse_dynamics`. Damping,
    friction and springs are not in it: `joint_resistance`, `spring_wrenches`.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.
        v_ref (B, nv), optional: reference velocities.
        actuated: joints that bear the loads of a model with loops; None: all of them.
        minimize: which of several answers, "torque" or "loop_force": the one with least squares
            of these.
        weighting: weights of these squares, one for each actuated coordinate or row.

    Returns:
        (B, nv, 10 nb): rows are the entries of v, ten columns for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.inverse_dynamics_regressor(arm, q, v, a).shape
        (3, 30)
    """

def kinetic_energy_regressor(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """y (10 nb):  kinetic_energy(q, v) = yᵀ π + ½ Σ armature·v²; π as in
    `inverse_dynamics_regressor`.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.

    Returns:
        (B, 10 nb): ten numbers for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> mz.kinetic_energy_regressor(arm, arm.random_configuration(0), np.ones(arm.nv)).shape
        (30,)
    """

def momentum_regressor(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """Y (nv, 10 nb):  M(q) v = Y π + armature·v, the momenta of the joints; π as in
    `inverse_dynamics_regressor`.

    Identification by momenta needs no accelerations: d/dt (M v) = τ + Cᵀ v − g, integrated over a
    window. The momenta of unit parameters, taken inward along the path of each body, O(n d).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.

    Returns:
        (B, nv, 10 nb): rows are the entries of v, ten columns for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> mz.momentum_regressor(arm, arm.random_configuration(0), np.ones(arm.nv)).shape
        (3, 30)
    """

def potential_energy_regressor(model: Model, q: ArrayLike) -> Array:
    """y (10 nb):  the potential energy of weight is yᵀ π; π as in `inverse_dynamics_regressor`.

    Of a mass −gᵀ p with the position p of its frame, of a first moment −Rᵀ g, of moments of inertia
    nothing.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, 10 nb): ten numbers for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> mz.potential_energy_regressor(arm, arm.random_configuration(0)).shape
        (30,)
    """

def joint_resistance(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """What the joints resist with:  damping·v + friction·sign(v) + ∂/∂q ½ Σ stiffness·(q ⊖ rest)².

    The last is stiffness·(q ⊖ rest) where coordinates add up, as those of hinges and slides do.
    From the model's joint data, joint by joint. `inverse_dynamics`, `forward_dynamics` and
    `hybrid_dynamics` leave it out unless they are called with ``resistance=True``, which adds
    `spring_wrenches` as well.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.joint_resistance(arm, q, v).shape
        (3,)
    """

def joint_wrenches(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    wrenches: ArrayLike | None = None,
    multipliers: ArrayLike | None = None,
    *,
    wrenches_rep: Rep = 'body',
) -> Array:
    """The wrench that each joint transmits to its body, body-fixed: reactions and joint forces.

    What inverse dynamics sums on its way, O(n); Sᵢᵀ Wᵢ is the joint force (less armature). With
    loops, ``multipliers`` are what they transmit (`loop_forces`, of the motion with these a): a
    model that has some is refused without them. Springs between bodies are no joints: give what
    they do among the wrenches (`spring_wrenches`).  Kim (42).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        multipliers (B, m), optional: what the loops transmit, as `loop_forces` gives it.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nb, 6): a row (torque, force) for each body, in its axes at its origin.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.joint_wrenches(arm, q, v, a).shape
        (3, 6)
    """

def kinetic_energy(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """½ vᵀ M(q) v: of the bodies, and of the rotors (armature).

    Body-fixed twists, O(n).  Müller, Dynamics (80).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.

    Returns:
        (B): joules.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> bool(mz.kinetic_energy(arm, q, v) > 0.0)
        True
    """

def loop_acceleration(model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """A a + Ȧ v (m): what remains of the rows of `loop_jacobian` when joints accelerate by a.

    Zero for the accelerations that keep the loops closed.  O(m d).  Kim (71).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.

    Returns:
        (B, m): a row for each equation.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q, v = bar.neutral(), np.zeros(bar.nv)
        >>> a = mz.forward_dynamics(bar, q, v, np.zeros(3))
        >>> np.allclose(mz.loop_acceleration(bar, q, v, a), 0.0)
        True
    """

def loop_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    wrenches: ArrayLike | None = None,
    resistance: bool = False,
    loop_accelerations: ArrayLike | None = None,
    *,
    wrenches_rep: Rep = 'body',
) -> Array:
    """λ (m) with M a + C v + g = τ + Aᵀ λ, for the accelerations a that keep the loops closed.

    Rows as `loop_rows` tells: of a loop, the wrench on body b along the rows of its joint, in the
    joint's frame there; of a distance, the force along it (positive pushes apart); of a coupling,
    its multiplier. Where rows depend on one another λ is of least norm. It does no work: λᵀ A v is
    zero. On arrays, a `SingularWarning` tells where loops lose rank.
    Kim (67); Rodriguez et al. step (D).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        tau (B, nv): joint forces and torques, positive along v.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        loop_accelerations (B, m), optional: what A a + Ȧ v shall be, with A =
            loop_jacobian(model, q); 0 where not given. Closures that move by a law of time:
            simulate(loop_offsets=…).
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, m): a multiplier for each equation.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q, v = bar.neutral(), np.zeros(bar.nv)
        >>> mz.loop_forces(bar, q, v, np.zeros(3)).shape
        (5,)
    """

def loop_jacobian(model: Model, q: ArrayLike) -> Array:
    """A (m, nv): the loops are kept closed by the velocities with A v = 0.

    Column j of a loop is the screw of joint j, seen in the loop's frame on body b and paired with
    the wrenches that the loop's joint transmits: positive for the joints that move body b, negative
    for those that move body a, zero for joints that move both or neither. O(m d).  Kim (55);
    Rodriguez et al. (0.20).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, m, nv): a row for each equation, columns the entries of v.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q = bar.neutral()  # closed, as the file has it
        >>> mz.loop_jacobian(bar, q).shape
        (5, 3)
    """

def loop_rank(
    model: Model,
    q: ArrayLike,
    loop_offsets: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """(rank, margin): how many rows of `loop_jacobian` are independent, and how safely.

    Where the rank is less than nearby, q is singular: ways to move meet there or a motion is only
    instantaneous, and forward dynamics answers for the rows it keeps. margin is the least sine of
    an angle between a row that counts and those chosen before it, 1 at most; it falls to 1e-6
    (3e-7 beside tiny inertias) as q becomes singular, and jumps up where the row is left out.
    nv − rank degrees of freedom remain. The rank is that of a closed configuration: where q is
    open (other than ``loop_offsets`` say), sines count from ten times what is open. By articulated
    bodies, O(n) + O(m d) + the factorisation.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        loop_offsets (B, m), optional: what residuals of rows shall be, instead of zero.

    Returns:
        rank (B): how many rows count.
        margin (B): how safely they do, 1 at most.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> rank, margin = mz.loop_rank(bar, bar.neutral())
        >>> int(rank)
        2
    """

def loop_residual(model: Model, q: ArrayLike) -> Array:
    """φ(q) (m): how far loops, distances and couplings are from being closed.

    Of a loop: the rotation vector (rad) and displacement (m) to the nearest pose of its joint,
    along the rows, in its frame on body b. Row by row as `loop_rows` tells.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, m): a row for each equation.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q = bar.neutral()  # closed, as the file has it
        >>> np.allclose(mz.loop_residual(bar, q), 0.0)
        True
    """

def loop_rows(model: Model) -> Mapping[str, slice]:
    """Which rows of residual, Jacobian and multipliers belong to which loop, distance, coupling,
    rolling contact (normal first, then two across it) and velocity rows.

    Cost: none at run time; it looks into the model.

    Args:
        model: the mechanism.

    Returns:
        Slices of the m rows, by the names of loops, distances, couplings, rolling contacts and
        velocity rows.

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> [rows.stop - rows.start for rows in mz.loop_rows(bar).values()]
        [5]
    """

def loop_wrenches(model: Model, q: ArrayLike, multipliers: ArrayLike) -> Mapping[str, LoopWrench]:
    """What loops, rods, couplings, rolling contacts and velocity rows exert on the bodies, by name.

    Of a loop or a rod about the place of its joint on body b, of a rolling contact about the point
    where it touches; what acts in joints (couplings, velocity rows) as wrenches along the screws of
    each joint, on the body that it moves and back on its parent.

    Cost: O(n + m) for m rows, on arrays.

    Args:
        model: the mechanism.
        q (B, nq): configuration.
        multipliers (B, m): of all rows, as `loop_forces` and ``trajectory.loop_forces`` give them.

    Returns:
        By name, a `LoopWrench`: the names of k bodies, points (B, k, 3) and wrenches (B, k, 6).

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> q, v = bar.neutral(), np.zeros(3)
        >>> force = mz.loop_forces(bar, q, v, np.zeros(3))
        >>> closing = mz.loop_wrenches(bar, q, force)[bar.loops[0].name]
        >>> np.allclose(closing.wrenches.sum(axis=-2), 0.0)
        True
    """

def mass_matrix(model: Model, q: ArrayLike) -> Array:
    """Kinetic energy is ½ vᵀ M(q) v.

    Composite bodies, O(n d).  Müller, Dynamics (81); Rodriguez et al. (0.14).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, nv, nv): M, symmetric; rows and columns are the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(v @ mz.mass_matrix(arm, q) @ v / 2, mz.kinetic_energy(arm, q, v))
        True
    """

def mass_matrix_inverse(model: Model, q: ArrayLike) -> Array:
    """M(q)⁻¹: the accelerations that unit joint forces produce, without gravity and at rest.

    Articulated bodies, O(n²): M⁻¹ = (1 − HψK)ᵀ D⁻¹ (1 − HψK), joint by joint, inward along its
    path by 1 − HψK and outward by its transpose.  Rodriguez et al. (0.30), (.40). Of trees that are
    not deep the same factors come from M itself, in fewer operations (`InverseMass`).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, nv, nv): M⁻¹, symmetric; rows and columns are the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> np.allclose(mz.mass_matrix(arm, q) @ mz.mass_matrix_inverse(arm, q), np.eye(3))
        True
    """

def mass_matrix_rate(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """Ṁ along the velocity v.

    Composite bodies and their rates, O(n d).  Ploen (28).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.

    Returns:
        (B, nv, nv): Ṁ, symmetric; rows and columns are the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.mass_matrix_rate(arm, q, v).shape
        (3, 3)
    """

def hamiltonian_dynamics(
    model: Model,
    q: ArrayLike,
    p: ArrayLike,
    tau: ArrayLike,
    wrenches: ArrayLike | None = None,
    resistance: bool = False,
    *,
    wrenches_rep: Rep = 'body',
) -> tuple[Array, Array]:
    """(v, ṗ) of the state (q, p) with the joint momenta p = M v: Hamilton's equations.

    M v = p by articulated bodies, then ṗ by momenta and loads that are summed inward, O(n), without
    accelerations.  Müller, Dynamics (79), projected.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        p (B, nv): joint momenta, as `joint_momenta` gives them.
        tau (B, nv): joint forces and torques, positive along v.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        v (B, nv): joint velocities.
        p_rate (B, nv): rates of the joint momenta.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> u, rate = mz.hamiltonian_dynamics(arm, q, mz.joint_momenta(arm, q, v), tau)
        >>> np.allclose(u, v)
        True
    """

def joint_momenta(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """p = M(q) v, the momenta conjugate to v: Jˢᵀ Πˢ, and those of the rotors.

    Newton–Euler on momenta, O(n).  Müller, Dynamics, below (81).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.

    Returns:
        (B, nv): in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.joint_momenta(arm, q, v), mz.mass_matrix(arm, q) @ v)
        True
    """

def momenta(model: Model, q: ArrayLike, v: ArrayLike, rep: Rep = 'spatial') -> Array:
    """Π = 𝓜 J v: the momentum of every body, about the inertial origin unless told.

    O(n); `momentum` is the sum of the spatial ones.  Müller, Dynamics (35), (79).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        rep: representation of twists: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nb, 6): a row (angular, linear) for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.momenta(arm, q, v).sum(axis=-2), mz.momentum(arm, q, v))
        True
    """

def momentum_dynamics(
    model: Model,
    q: ArrayLike,
    momenta: ArrayLike,
    tau: ArrayLike,
    wrenches: ArrayLike | None = None,
    resistance: bool = False,
    *,
    wrenches_rep: Rep = 'body',
) -> tuple[Array, Array]:
    """(v, Π̇ˢ) of the state (q, Πˢ): forward dynamics as equations of first order in momenta.

    𝓜ˢ Jˢ v = Πˢ and Jˢᵀ (Π̇ˢ − Wˢ) = τ, both by articulated bodies, O(n). The sum of Π̇ˢ is the
    wrench on the whole, so that any Runge–Kutta method keeps the momentum of what floats.
    ``simulate(state="momentum")`` integrates this.  Müller, Dynamics (79).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        momenta (B, nb, 6): spatial momenta (angular, linear) of all bodies, as `momenta` gives
            them.
        tau (B, nv): joint forces and torques, positive along v.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        v (B, nv): joint velocities.
        momentum_rates (B, nb, 6): rates of the spatial momenta, a row for each body.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> u, rates = mz.momentum_dynamics(arm, q, mz.momenta(arm, q, v), tau)
        >>> np.allclose(u, v), rates.shape
        (True, (3, 6))
    """

def momentum_rates(model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """Π̇ˢ: the rates of the spatial momenta of all bodies, which are the wrenches on them.

    O(n).  Müller, Dynamics (36), (38).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.

    Returns:
        (B, nb, 6): a row (torque, force) for each body, about the inertial origin.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.momentum_rates(arm, q, v, a).shape
        (3, 6)
    """

def velocities_of_momenta(model: Model, q: ArrayLike, momenta: ArrayLike) -> Array:
    """v with 𝓜ˢ Jˢ v = Πˢ: the joint velocities of spatial momenta of all bodies.

    (Jˢᵀ 𝓜ˢ Jˢ) v = Jˢᵀ Πˢ by articulated bodies, O(n); of momenta that no motion has, those whose
    kinetic energy differs least. Of the tree where loops close it.  Müller, Dynamics (79).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        momenta (B, nb, 6): spatial momenta (angular, linear) of all bodies, as `momenta` gives
            them.

    Returns:
        (B, nv): joint velocities.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.velocities_of_momenta(arm, q, mz.momenta(arm, q, v)), v)
        True
    """

def momentum(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """Angular and linear momentum (6,) of all bodies, about the inertial origin.

    Body-fixed momenta, summed inward, O(n); its rate is the wrench on the whole.  Müller, Dynamics
    (36).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.

    Returns:
        (B, 6): (angular, linear), in inertial axes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.momentum(arm, q, v).shape
        (6,)
    """

@overload
def newton_euler(
    inertia: Inertia | ArrayLike,
    twist: Twist,
    twist_rate: Twist,
    rep: Rep = 'body',
    pose: SE3 | ArrayLike | None = None,
) -> Wrench:
    """The wrench that gives a body this twist and twist rate, all in one representation.

    Müller, Dynamics (MD), 38, 41, 53, 56, 57.

    Cost: that of one body, O(1).

    Args:
        inertia: of the body, constant in its frame, whose origin need not be the centre of mass: an
            `Inertia` or a 6×6 array.
        twist: a `Twist`, or an array (6,) (angular, linear).
        twist_rate: its rate, likewise.
        rep: representation of all of them: "body", "spatial", "hybrid" or "mixed".
        pose: of the body frame, an `SE3` or a 4×4 array; not needed by "body".

    Returns:
        A `Wrench`, or an array (6,) (torque, force), as the twists are.

    Example:
        >>> ball = mz.Inertia(2.0, (0.0, 0.0, 0.0), np.eye(3))
        >>> mz.newton_euler(ball, np.zeros(6), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
        array([0., 0., 0., 2., 0., 0.])
    """
@overload
def newton_euler(
    inertia: Inertia | ArrayLike,
    twist: ArrayLike,
    twist_rate: ArrayLike,
    rep: Rep = 'body',
    pose: SE3 | ArrayLike | None = None,
) -> Array:
    ...

@overload
def newton_euler_in_frame(
    inertia: Inertia | ArrayLike,
    twist: Twist,
    twist_rate: Twist,
    frame_twist: Twist,
    pose: SE3 | ArrayLike,
    axes: SO3 | ArrayLike | None = None,
    spin: Vec3 | ArrayLike | None = None,
) -> Wrench:
    """Newton–Euler measured at a frame j and resolved in a frame k, both moving in any way.

    Twists are measured at j and resolved in k, as `relative_twist` and `relative_acceleration` give
    them. Müller, Dynamics (60), (61) where k is j, and (62)–(64).

    Cost: that of one body, O(1).

    Args:
        inertia: of the body, constant in its frame: an `Inertia` or a 6×6 array.
        twist: of the body: a `Twist`, or an array (..., 6) (angular, linear).
        twist_rate: the rate of these six components, likewise.
        frame_twist: the twist of frame j, likewise.
        pose: of the body frame in j, an `SE3` or (4, 4).
        axes: turns components in j into components in k, a rotation or (3, 3); None: k is j.
        spin: the angular velocity of k relative to j, in k, a `Vec3` or (..., 3); None: zero.

    Returns:
        A `Wrench`, or an array (..., 6) (torque, force), measured at j and resolved in k.

    Example:
        >>> ball = mz.Inertia(2.0, (0.0, 0.0, 0.0), np.eye(3))
        >>> still, V, dV = np.zeros(6), np.zeros(6), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
        >>> away = mz.SE3.translation(0.0, 3.0, 0.0)
        >>> mz.newton_euler_in_frame(ball, V, dV, still, away).round(12) + 0.0
        array([ 0.,  0., -6.,  2.,  0.,  0.])
    """
@overload
def newton_euler_in_frame(
    inertia: Inertia | ArrayLike,
    twist: ArrayLike,
    twist_rate: ArrayLike,
    frame_twist: ArrayLike,
    pose: SE3 | ArrayLike,
    axes: SO3 | ArrayLike | None = None,
    spin: Vec3 | ArrayLike | None = None,
) -> Array:
    ...

def operational_admittance(model: Model, q: ArrayLike, frames: Sequence[str]) -> Array:
    """Λ (6k, 6k) = J M⁻¹ Jᵀ: body-fixed accelerations of k frames, from wrenches on them.

    Articulated bodies: wrenches go inward along the paths of the frames by ψ, and meet the
    compliance Υ of the outermost body that two paths share. O(n + k d + k²): linear in the bodies
    for given frames, without J or M. Frames that are fixed to the world give way by zero.
    Rodriguez et al. (0.34), (.41)–(.43).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        frames: names of k frames or bodies.

    Returns:
        (B, 6 k, 6 k): six rows and columns (angular, linear) for each frame, in its axes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.operational_admittance(arm, q, ["tool", "link_1"]).shape
        (12, 12)
    """

def operators(model: Model, q: ArrayLike, v: ArrayLike | None = None) -> Operators:
    """The spatial operators at q: E_φ, φ, H, M, P, D, G, K, τ̄, E_ψ, ψ, Υ, Ω and what they make.

    ``o = operators(model, q)``; ``o.H @ (o.phi @ f)`` are the joint forces of body wrenches f. All
    have ``@`` (on vectors, matrices of columns, each other), sums, multiples, ``o.psi - 1`` with
    the identity of the right size, ``.T``, ``.shape``, ``.matvec`` on batches of vectors and
    ``.dense()``. ``o.B(frames)`` and ``o.J(frames)`` are those of the paper for frames of the
    model; with v there are ``o.a`` and ``o.b``, and ``o.H @ o.phi`` makes Coriolis forces of them.

    Cost: an operator acts in O(n); `dense` makes its matrix in O(n²).

    Args:
        model: the mechanism.
        q (B, nq): configuration.
        v (B, nv), optional: joint velocities, for V, a and b.

    Returns:
        The operators, by their letters; with `mass_matrix`, its factors and its inverse.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> o = mz.operators(arm, arm.neutral(), np.ones(arm.nv))
        >>> np.allclose(o.mass_matrix.dense(), mz.mass_matrix(arm, arm.neutral()))
        True
        >>> coriolis = o.H @ (o.phi @ (o.M @ (o.phi.T @ o.a) + o.b))
    """

def passive_inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    v_ref: ArrayLike,
    a_ref: ArrayLike,
    actuated: JointChoice | None = None,
    minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
) -> Array:
    """M(q) a_ref + C(q, v) v_ref + g(q), with the C of `coriolis_matrix`, for which Ṁ − 2C is skew.

    One Newton–Euler recursion, O(n), without C: a second field of velocities, v_ref, is carried
    along with the motion v.  Ploen (30)–(37), with his skew C̄ᵢ chosen so that C is Christoffel's.
    Of the rigid equations: without damping, friction and springs.

    With loops and ``actuated`` joints, what these bear of it, as in `inverse_dynamics`: for
    references that keep the loops closed (`consistent_velocities`, `consistent_accelerations`)
    sᵀ τ is the same for all s that do, so that what is passive on the tree is passive on the
    constraint manifold.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        v_ref (B, nv): reference velocities.
        a_ref (B, nv): reference accelerations.
        actuated: joints that bear the loads of a model with loops; None: all of them.
        minimize: which of several answers, "torque" or "loop_force": the one with least squares
            of these.
        weighting: weights of these squares, one for each actuated coordinate or row.

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> tau = mz.inverse_dynamics(arm, q, v, a)
        >>> np.allclose(mz.passive_inverse_dynamics(arm, q, v, v, a), tau)
        True
    """

def potential_energy(model: Model, q: ArrayLike, springs: bool = True) -> Array:
    """−m gᵀ c(q) + ½ Σ stiffness·(q ⊖ rest)² + `spring_energy`: of weight and of springs.

    That of weight is zero where the centre of mass is at the height of the inertial origin; first
    moments, summed inward, O(n). Springs are those of the joints and those between bodies;
    ``springs=False`` leaves them out.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        springs: whether springs of the joints and between bodies count.

    Returns:
        (B): joules.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.potential_energy(arm, np.zeros((5, arm.nq))).shape
        (5,)
    """

def projected_forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    wrenches: ArrayLike | None = None,
    *,
    wrenches_rep: Rep = 'body',
) -> Array:
    """Accelerations that keep the loops closed, by projected operators:

        a = L⁻ᵀ D^{−½} [ (1 − b b⁺) D^{−½} L⁻¹ T + (b⁺)ᵀ U ],   b = D^{−½} L⁻¹ Aᵀ,

    with L⁻¹ = 1 − H ψ K, T = τ − C v − g and U = −Ȧ v. Slow and obvious, O(n³): what
    `forward_dynamics` computes by recursion. Without loops the middle is 1, and (0.31) remains.
    Of the rigid equations: without damping, friction and springs.  Rodriguez et al. (0.37), with U.

    Args:
        model: the mechanism.
        q (B, nq): configuration.
        v (B, nv): joint velocities.
        tau (B, nv): joint forces and torques, positive along v.
        wrenches (B, nb, 6), optional: external wrenches on the bodies.
        wrenches_rep: their representation.

    Returns:
        (B, nv): joint accelerations, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> a = mz.projected_forward_dynamics(arm, q, v, tau)
        >>> np.allclose(a, mz.forward_dynamics(arm, q, v, tau))
        True
    """

def spring_energy(model: Model, q: ArrayLike) -> Array:
    """½ Σ k (ℓ − ℓ₀)²: what the springs between points store. O(n).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B): joules.

    Example:
        >>> arm = mz.load("arm.urdf").with_spring("s", "link_3", None, stiffness=2.0)
        >>> q = arm.random_configuration(0)
        >>> bool(mz.spring_energy(arm, q) > 0.0)
        True
    """

def spring_wrenches(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    elastic: bool = True,
    viscous: bool = True,
) -> Array:
    """What the springs between points do to the bodies (nb, 6), body-fixed.

    Along the line from point a to point b, with its length ℓ and direction n, body b feels
    −k (ℓ − ℓ₀) n − c ℓ̇ n and body a the opposite: neither the momentum nor its moment change. Where
    the points coincide n = 0. ``elastic`` and ``viscous`` choose the two parts. O(n). Dynamics
    leaves them out unless it is called with ``resistance=True``.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        elastic: whether stiffness acts.
        viscous: whether damping acts.

    Returns:
        (B, nb, 6): a row (torque, force) for each body, in its axes at its origin.

    Example:
        >>> arm = mz.load("arm.urdf").with_spring("s", "link_3", None, stiffness=2.0)
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.spring_wrenches(arm, q, v).shape
        (3, 6)
    """

def directional(
    function: Callable[..., Result],
    model: Model,
    *arrays: ArrayLike,
    **changes: ArrayLike | JointChoice,
) -> Result:
    """The derivative of inverse, forward or hybrid dynamics along given changes, O(n).

    Changes that are not given are zero. Batches broadcast as everywhere. With loops forward and
    hybrid dynamics keep them closed, and dh, dscrews and dscrew_rates are refused. Of the rigid
    equations: without damping, friction and springs.  Kim Tables 5, 6, 7.

    Args:
        function: mz.inverse_dynamics, mz.forward_dynamics or mz.hybrid_dynamics.
        model: the mechanism.
        arrays: what the function takes: q, v and a or tau.
        changes: dq (B, nv), along the group; dv, da or dtau (B, nv); dwrenches (B, nb, 6);
            dinertias (B, nb, 10), of the parameters of each body in its frame; dh (B, nb, 6), the
            twists T⁻¹ ∂T of changes of the geometry, body-fixed; dscrews, dscrew_rates (B, 6, nv),
            body-fixed; and ``wrenches`` and ``prescribed`` of the function.

    Returns:
        What the function returns: (B, nv), or a pair of them.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.neutral(), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dtau = mz.directional(mz.inverse_dynamics, arm, q, v, a, da=v)
        >>> np.allclose(dtau, mz.mass_matrix(arm, q) @ v)
        True
    """

def forward_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    wrenches: ArrayLike | None = None,
    resistance: bool = False,
    *,
    wrenches_rep: Rep = 'body',
) -> tuple[Array, Array, Array]:
    """(∂a/∂q, ∂a/∂v, ∂a/∂τ) of `forward_dynamics`; ∂a/∂τ is M⁻¹. Rows are outputs.

    With τ = τ(q, v, a) of inverse dynamics at the same motion,  ∂a/∂q = −M⁻¹ ∂τ/∂q  and
    ∂a/∂v = −M⁻¹ ∂τ/∂v, where M⁻¹ = N D⁻¹ Nᵀ is applied in its sparse factors, O(n d²) for the
    factors and O(n² d) for the products (d: the depth of the tree); of chains beyond 40 joints
    by articulated bodies, O(n²). With loops: `derivatives/loops/first.py`.
    Kim Table 6 for all coordinates at once; Rodriguez et al. (0.30).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        tau (B, nv): joint forces and torques, positive along v.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        dq (B, nv, nv): ∂a/∂q along the group; rows are a, columns the directions of v.
        dv (B, nv, nv): ∂a/∂v.
        dtau (B, nv, nv): ∂a/∂τ, the inverse of the mass matrix.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dq, dv, dtau = mz.forward_dynamics_derivatives(arm, q, v, tau)
        >>> np.allclose(dtau, mz.mass_matrix_inverse(arm, q))
        True
    """

def forward_dynamics_directional(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dq: ArrayLike | None = None,
    dv: ArrayLike | None = None,
    dtau: ArrayLike | None = None,
    dwrenches: ArrayLike | None = None,
    dinertias: ArrayLike | None = None,
    dh: ArrayLike | None = None,
    dscrews: ArrayLike | None = None,
    dscrew_rates: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    *,
    wrenches_rep: Rep = 'body',
) -> Array:
    """∂a/∂p of `forward_dynamics`.

    Articulated bodies with their derivatives, O(n): `hybrid_dynamics_directional` with nothing
    prescribed.  Kim Table 6. With loops, for changes that keep them closed (others: of the rows as
    they are); along dq = v, dv = a, dtau = τ̇ it is the jerk. Changes of the geometry are for trees.
    Of the rigid equations: without damping, friction and springs.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        tau (B, nv): joint forces and torques, positive along v.
        dq (B, nv), optional: change of q, along the group: q ⊕ dq.
        dv (B, nv), optional: a velocity, held for unit time.
        dtau (B, nv), optional: change of τ.
        dwrenches (B, nb, 6), optional: change of the wrenches, in the same representation.
        dinertias (B, nb, 10), optional: change of the ten inertial parameters of each body, in
            its frame.
        dh (B, nb, 6), optional: twists T⁻¹ ∂T of changes of the geometry, body-fixed.
        dscrews (B, 6, nv), optional: change of the joints' screws, body-fixed.
        dscrew_rates (B, 6, nv), optional: change of the rates of the joints' screws, body-
            fixed.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nv): ∂a along the changes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.forward_dynamics_directional(arm, q, v, tau, dq=v).shape
        (3,)
    """

def forward_dynamics_gradient(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    covector: ArrayLike,
    wrenches: ArrayLike | None = None,
    resistance: bool = False,
    *,
    wrenches_rep: Rep = 'body',
) -> tuple[Array, Array, Array]:
    """((∂a/∂q)ᵀ λ, (∂a/∂v)ᵀ λ, (∂a/∂τ)ᵀ λ) of `forward_dynamics`: the gradient of λᵀ a.

    With μ = M⁻¹ λ, by articulated bodies, it is −(∂τ/∂q)ᵀ μ, −(∂τ/∂v)ᵀ μ and μ, from
    `inverse_dynamics_gradient` at the same motion: O(n), without a Jacobian. With loops:
    `derivatives/loops/solve.py` (2).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        tau (B, nv): joint forces and torques, positive along v.
        covector (B, nv): λ, what the results are contracted with.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        dq (B, nv): with respect to q, along the group.
        dv (B, nv): with respect to v.
        dtau (B, nv): with respect to τ.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dq, dv, dtau = mz.forward_dynamics_gradient(arm, q, v, tau, v)
        >>> np.allclose(dtau, mz.mass_matrix_inverse(arm, q) @ v)
        True
    """

def forward_dynamics_hessian(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    covector: ArrayLike,
) -> tuple[Array, Array, Array, Array]:
    """(H_qq, H_qv, H_vv, H_qτ) of λᵀ a of `forward_dynamics`; H_xy[i, j] = ∂²/∂x_i ∂y_j.

    a is linear in τ: H_vτ = H_ττ = 0. From the Hessian H of inverse dynamics at the same motion,
    contracted with μ = M⁻¹ λ:  H_qq = −(H_qq + H_qa ∂a/∂q + (H_qa ∂a/∂q)ᵀ),
    H_qv = −(H_qv + H_qa ∂a/∂v),  H_vv = −H_vv,  H_qτ = −H_qa M⁻¹. With loops: the same with the
    multipliers beside a, `loops/second.py`. Of the rigid equations: without damping, friction
    and springs.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        tau (B, nv): joint forces and torques, positive along v.
        covector (B, nv): λ, what the results are contracted with.

    Returns:
        H_qq (B, nv, nv): rows are the first variable, columns the second.
        H_qv (B, nv, nv): likewise.
        H_vv (B, nv, nv): likewise.
        H_qtau (B, nv, nv): likewise.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> H_qq, *_ = mz.forward_dynamics_hessian(arm, q, v, tau, v)
        >>> H_qq.shape
        (3, 3)
    """

def forward_dynamics_wrench_derivatives(model: Model, q: ArrayLike) -> Array:
    """∂a/∂W (nv, nb, 6) of `forward_dynamics` with respect to the external wrenches: M⁻¹ J_bᵀ.

    From the sparse factors of M⁻¹, O(n² d). With loops, of the motions that keep them closed.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, nv, nb, 6): rows are a; then the body, and (torque, force) on it.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.forward_dynamics_wrench_derivatives(arm, q).shape
        (3, 3, 6)
    """

def hybrid_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    a: ArrayLike,
    prescribed: JointChoice = (),
    wrenches: ArrayLike | None = None,
    resistance: bool = False,
    *,
    wrenches_rep: Rep = 'body',
) -> tuple[Array, Array, Array, Array, Array, Array, Array, Array]:
    """(∂τ/∂q, ∂τ/∂v, ∂τ/∂τ, ∂τ/∂a, ∂a/∂q, ∂a/∂v, ∂a/∂τ, ∂a/∂a) of `hybrid_dynamics`.

    Eight matrices (nv, nv), rows are outputs: both outputs are complete, and inputs that are not
    read (τ at prescribed coordinates p, a at the others f) have zero columns. With the derivative
    τₓ of inverse dynamics at the same motion,  ∂a_f/∂x = −M_ff⁻¹ τₓ_f  and
    ∂τ_p/∂x = τₓ_p + M_pf ∂a_f/∂x.  O(n² d).  Kim Table 7 for all coordinates at once.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        tau (B, nv): joint forces and torques, positive along v.
        a (B, nv): joint accelerations.
        prescribed: joints whose a is given: names, or pairs (name, number of a coordinate).
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        tau_q (B, nv, nv): ∂τ/∂q along the group; rows are outputs, columns the entries of v.
        tau_v (B, nv, nv): ∂τ/∂v.
        tau_tau (B, nv, nv): ∂τ/∂τ.
        tau_a (B, nv, nv): ∂τ/∂a.
        a_q (B, nv, nv): ∂a/∂q.
        a_v (B, nv, nv): ∂a/∂v.
        a_tau (B, nv, nv): ∂a/∂τ.
        a_a (B, nv, nv): ∂a/∂a.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> tau_q, *_ = mz.hybrid_dynamics_derivatives(arm, q, v, a, a, prescribed=["joint_1"])
        >>> tau_q.shape
        (3, 3)
    """

def hybrid_dynamics_directional(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    a: ArrayLike,
    prescribed: JointChoice = (),
    dq: ArrayLike | None = None,
    dv: ArrayLike | None = None,
    dtau: ArrayLike | None = None,
    da: ArrayLike | None = None,
    dwrenches: ArrayLike | None = None,
    dinertias: ArrayLike | None = None,
    dh: ArrayLike | None = None,
    dscrews: ArrayLike | None = None,
    dscrew_rates: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    *,
    wrenches_rep: Rep = 'body',
) -> tuple[Array, Array]:
    """(∂τ/∂p, ∂a/∂p) of `hybrid_dynamics`; ∂a is read where a is prescribed and ∂τ elsewhere.

    Articulated bodies with their derivatives, O(n).  Kim Table 7. With loops, for changes that
    keep them closed, of everything but the geometry. Of the rigid equations: without damping,
    friction and springs.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        tau (B, nv): joint forces and torques, positive along v.
        a (B, nv): joint accelerations.
        prescribed: joints whose a is given: names, or pairs (name, number of a coordinate).
        dq (B, nv), optional: change of q, along the group: q ⊕ dq.
        dv (B, nv), optional: a velocity, held for unit time.
        dtau (B, nv), optional: change of τ.
        da (B, nv), optional: change of a.
        dwrenches (B, nb, 6), optional: change of the wrenches, in the same representation.
        dinertias (B, nb, 10), optional: change of the ten inertial parameters of each body, in
            its frame.
        dh (B, nb, 6), optional: twists T⁻¹ ∂T of changes of the geometry, body-fixed.
        dscrews (B, 6, nv), optional: change of the joints' screws, body-fixed.
        dscrew_rates (B, 6, nv), optional: change of the rates of the joints' screws, body-
            fixed.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        dtau (B, nv): ∂τ along the changes.
        da (B, nv): ∂a along the changes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dtau, da = mz.hybrid_dynamics_directional(arm, q, v, a, a, dq=v)
        >>> da.shape
        (3,)
    """

def inverse_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    wrenches: ArrayLike | None = None,
    actuated: JointChoice | None = None,
    minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
    resistance: bool = False,
    tau: ArrayLike | None = None,
    *,
    wrenches_rep: Rep = 'body',
) -> tuple[Array, Array, Array]:
    """(∂τ/∂q, ∂τ/∂v, ∂τ/∂a) of `inverse_dynamics`; ∂τ/∂a is the mass matrix. Rows are outputs.

    Composite bodies in the spatial representation, O(n d). External wrenches stay as they are in
    their representation (``wrenches_rep``). With loops and ``actuated`` joints, those of the
    torques that `inverse_dynamics` gives then (with ``tau`` of passive joints held). Damping and
    springs, of the joints and between bodies, count on request (``resistance``); friction is
    constant where it has a derivative.
    Müller, Dynamics (15), (16) in (70), (71); Kim Table 5 for all coordinates at once.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        actuated: joints that bear the loads of a model with loops; None: all of them.
        minimize: which of several answers, "torque" or "loop_force": the one with least squares
            of these.
        weighting: weights of these squares, one for each actuated coordinate or row.
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        tau (B, nv), optional: joint forces and torques, positive along v.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        dq (B, nv, nv): ∂τ/∂q along the group; rows are τ, columns the directions of v.
        dv (B, nv, nv): ∂τ/∂v.
        da (B, nv, nv): ∂τ/∂a, the mass matrix.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dq, dv, da = mz.inverse_dynamics_derivatives(arm, q, v, a)
        >>> np.allclose(da, mz.mass_matrix(arm, q))
        True
    """

def inverse_dynamics_directional(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    dq: ArrayLike | None = None,
    dv: ArrayLike | None = None,
    da: ArrayLike | None = None,
    dwrenches: ArrayLike | None = None,
    dinertias: ArrayLike | None = None,
    dh: ArrayLike | None = None,
    dscrews: ArrayLike | None = None,
    dscrew_rates: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    *,
    wrenches_rep: Rep = 'body',
) -> Array:
    """∂τ/∂p of `inverse_dynamics`, with every joint an actuator.

    One Newton–Euler recursion with its derivative, O(n).  Kim Table 5. Of the rigid equations:
    without damping, friction and springs.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.
        dq (B, nv), optional: change of q, along the group: q ⊕ dq.
        dv (B, nv), optional: a velocity, held for unit time.
        da (B, nv), optional: change of a.
        dwrenches (B, nb, 6), optional: change of the wrenches, in the same representation.
        dinertias (B, nb, 10), optional: change of the ten inertial parameters of each body, in
            its frame.
        dh (B, nb, 6), optional: twists T⁻¹ ∂T of changes of the geometry, body-fixed.
        dscrews (B, 6, nv), optional: change of the joints' screws, body-fixed.
        dscrew_rates (B, 6, nv), optional: change of the rates of the joints' screws, body-
            fixed.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, nv): ∂τ along the changes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dtau = mz.inverse_dynamics_directional(arm, q, v, a, da=v)
        >>> np.allclose(dtau, mz.mass_matrix(arm, q) @ v)
        True
    """

def inverse_dynamics_gradient(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    covector: ArrayLike,
    wrenches: ArrayLike | None = None,
    resistance: bool = False,
    *,
    wrenches_rep: Rep = 'body',
) -> tuple[Array, Array, Array]:
    """((∂τ/∂q)ᵀ λ, (∂τ/∂v)ᵀ λ, M λ) of `inverse_dynamics`: the gradient of λᵀ τ.

    The recursion run backwards, O(n): 2.2 times the operations of inverse dynamics.
    ``wrenches`` and ``resistance`` are those of `inverse_dynamics`.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.
        covector (B, nv): λ, what the results are contracted with.
        wrenches (B, nb, 6), optional: external wrenches (torque, force) on the bodies, in the
            representation wrenches_rep; "body" is in body axes at body origins.
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        dq (B, nv): with respect to q, along the group.
        dv (B, nv): with respect to v.
        da (B, nv): with respect to a.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> dq, dv, da = mz.inverse_dynamics_gradient(arm, q, v, a, v)
        >>> np.allclose(da, mz.mass_matrix(arm, q) @ v)
        True
    """

def inverse_dynamics_hessian(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    covector: ArrayLike,
) -> tuple[Array, Array, Array, Array]:
    """(H_qq, H_qv, H_vv, H_qa) of λᵀ τ of `inverse_dynamics`; H_xy[i, j] = ∂²/∂x_i ∂y_j.

    τ is linear in a, with the mass matrix as derivative: H_va = H_aa = 0. Forward over reverse
    mode, O(n²). Of the rigid equations: without damping, friction and springs.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.
        covector (B, nv): λ, what the results are contracted with.

    Returns:
        H_qq (B, nv, nv): rows are the first variable, columns the second.
        H_qv (B, nv, nv): likewise.
        H_vv (B, nv, nv): likewise.
        H_qa (B, nv, nv): likewise.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> H_qq, *_ = mz.inverse_dynamics_hessian(arm, q, v, a, v)
        >>> H_qq.shape
        (3, 3)
    """

def inverse_dynamics_rates(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    j: ArrayLike,
    s: ArrayLike,
) -> tuple[Array, Array, Array]:
    """(τ, τ̇, τ̈) along a motion with v̇ = a, ȧ = j (jerk) and j̇ = s (snap).

    Newton–Euler with its first two time derivatives, O(n): outward the twists up to V⃛, inward the
    wrenches up to Ẅ, then τ̈ = J̈ᵀ W + 2 J̇ᵀ Ẇ + Jᵀ Ẅ.  Müller, Dynamics 6.3. Of a model with loops
    these are the forces of the tree, as those of `inverse_dynamics`; the jerk of a motion that
    keeps them closed is `directional(forward_dynamics, …, dq=v, dv=a, dtau=τ̇)`. Of the rigid
    equations: without damping, friction and springs.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        a (B, nv): joint accelerations.
        j (B, nv): joint jerks, the rates of a.
        s (B, nv): joint snaps, the rates of j.

    Returns:
        tau (B, nv): joint forces.
        tau_dot (B, nv): their rates.
        tau_ddot (B, nv): the rates of these.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> tau, *_ = mz.inverse_dynamics_rates(arm, q, v, a, a, a)
        >>> np.allclose(tau, mz.inverse_dynamics(arm, q, v, a))
        True
    """

def inverse_dynamics_wrench_derivatives(
    model: Model,
    q: ArrayLike,
    actuated: JointChoice | None = None,
    minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
) -> Array:
    """∂τ/∂W (nv, nb, 6) of `inverse_dynamics` with respect to the external wrenches: −J_bᵀ.

    The body-fixed Jacobians of all bodies, O(n d). With loops and ``actuated`` joints, what these
    bear of every wrench; a wrench that they cannot bear is a `LoopError`.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        actuated: joints that bear the loads of a model with loops; None: all of them.
        minimize: which of several answers, "torque" or "loop_force": the one with least squares
            of these.
        weighting: weights of these squares, one for each actuated coordinate or row.

    Returns:
        (B, nv, nb, 6): rows are τ; then the body, and (torque, force) on it.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> mz.inverse_dynamics_wrench_derivatives(arm, q).shape
        (3, 3, 6)
    """

def joint_force_derivatives(
    model: Model,
    q: ArrayLike,
    rates: ArrayLike,
    wrench_rates: ArrayLike | None = None,
    order: int = 3,
    wrenches_rep: Rep = 'body',
) -> Array:
    """τ, τ̇, …, τ⁽ᴺ⁻²⁾ along a motion with v, a, …, N ≥ 2 of them, under wrenches that change.

    Newton–Euler with all its time derivatives in one recursion, O(n N²). Of a model with loops
    these are the forces of the tree, as those of `inverse_dynamics`. Of the rigid equations:
    without damping, friction and springs.  Müller, Dynamics 6.3.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        rates (B, N, nv): v, a, j, …: the first N time derivatives of the motion, N = order.
        wrench_rates (B, nb, N − 1, 6), optional: external wrenches on the bodies and their
            first N − 2 time derivatives, in the representation wrenches_rep.
        order: N, the highest time derivative of q that is given, 2 or more.
        wrenches_rep: representation that wrenches are given in, and keep where derivatives are
            taken: "body", "spatial", "hybrid" or "mixed".

    Returns:
        (B, N − 1, nv): joint forces and their derivatives.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, rates = arm.random_configuration(0), np.ones((4, arm.nv))
        >>> tau = mz.joint_force_derivatives(arm, q, rates, order=4)
        >>> np.allclose(tau[0], mz.inverse_dynamics(arm, q, rates[0], rates[1]))
        True
    """

def allowed_deviations(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """An orthonormal basis N of the deviations (δ, δv) that loops, rolling and velocity rows allow.

    A δ = 0 for rows with a position part, and A δv + ∂(A v)/∂q δ = 0 for all of them. With (A, B)
    of `linearize`, N.T @ A @ N is the system that is left.

    Cost: a singular value decomposition, O(n³).

    Args:
        model: the mechanism.
        q (nq,): configuration.
        v (nv,): velocities that its rows allow.

    Returns:
        (2 nv, k): columns (δ, δv).

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> mz.allowed_deviations(bar, bar.neutral(), np.zeros(3)).shape
        (6, 2)
    """

def linearize(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dt: float | None = None,
    method: Method | OneStep | None = None,
    resistance: bool = True,
    limits: Limits = False,
) -> tuple[Array, Array]:
    """(A, B) of ẋ = A x + B u near a motion, with x = (δ, δv) and u = δτ.

    (2 nv, 2 nv) and (2 nv, nv); δ is the deviation on the group, q ⊕ δ. From
    `forward_dynamics_derivatives`:  δ̇ = δv − [v, δ] (0 where q̇ = v),
    δv̇ = ∂a/∂q δ + ∂a/∂v δv + M⁻¹ u.  Müller, Dynamics 6.1.

    With a time step ``dt``, of x′ = A x + B u after one step of the integrator ``method`` (rkmk4;
    moreau where the model has contacts) with τ held: exactly the derivative of that step, not of
    the flow it approximates. With loops, (A, B) are meant for deviations that keep them closed; one
    step takes others back onto the loops. Contacts act in steps only.

    What resists in the model acts as it does in `simulate`, dry friction with the slope of its
    slip; ``resistance=False`` takes it out. ``limits="rigid"``: of a step of moreau, with the
    limits of joints as stops.

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.
        tau (B, nv): joint forces and torques, positive along v.
        dt: a time step in seconds; None: of the flow in continuous time.
        method: the integrator of that step: "semi_implicit", "rkmk4", "dopri5",
            "generalized_alpha", "momentum" or "moreau".
        resistance: whether damping, friction and springs act; without, the equations are rigid.
        limits: with a time step of moreau, whether limits are stops: "rigid", or how they are.

    Returns:
        A (B, 2 nv, 2 nv): rows and columns are (δ, δv).
        B (B, 2 nv, nv): rows are (δ, δv), columns the entries of τ.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, tau = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> A, B = mz.linearize(arm, q, v, tau)
        >>> A.shape, B.shape
        ((6, 6), (6, 3))
    """

def modes(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    resistance: bool = True,
) -> Modes:
    """Eigenvalues and shapes of small deviations from an equilibrium or a steady motion.

    Of `linearize`, restricted to the deviations that loops, rolling and velocity rows allow
    (`allowed_deviations`), without those along which nothing changes: where a bicycle is and where
    it heads, how far its wheels have turned. A motion is steady where the matrices of `linearize`
    do not change along it: of a free body v is body-fixed, so that one that spins as it travels is
    steady in v only behind a joint of its own (a wheel on its fork).

    Cost: `linearize`, and eigenvalues in O(n³).

    Args:
        model: the mechanism.
        q (nq,): configuration.
        v (nv,): velocities that its rows allow.
        tau (nv,), optional: joint forces; zero where not given.
        resistance: whether damping, friction and springs act, as in `linearize`.

    Raises:
        ConfigurationError: the motion is not steady.

    Returns:
        `Modes`: values (k,), those of largest real part first, and shapes (2 nv, k).

    Example:
        >>> rod = mz.Inertia(1.0, (0.0, 0.0, -1.0), np.zeros((3, 3)))
        >>> swing = mz.Builder().add("rod", None, mz.Revolute("x"), rod).build()
        >>> values, shapes = mz.modes(swing, [0.0], [0.0])
        >>> np.allclose(np.abs(values), np.sqrt(9.81))
        True
    """

def mass_matrix_inverse_partials(model: Model, q: ArrayLike) -> Array:
    """∂(M⁻¹) (nv, nv, nv):  ∂M⁻¹/∂q_k = −M⁻¹ (∂M/∂q_k) M⁻¹.

    From the sparse factors of M⁻¹, O(n³ d).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, nv, nv, nv): rows and columns of M⁻¹, then the direction.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> rate = mz.mass_matrix_inverse_rate(arm, q, v)
        >>> np.allclose(mz.mass_matrix_inverse_partials(arm, q) @ v, rate)
        True
    """

def mass_matrix_inverse_rate(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """d(M⁻¹)/dt = −M⁻¹ Ṁ M⁻¹ along the velocity v, of the tree.

    From the sparse factors of M⁻¹, O(n² d).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.
        v (B, nv): joint velocities, as `model.v_slices` tells.

    Returns:
        (B, nv, nv): symmetric; rows and columns are the entries of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.mass_matrix_inverse_rate(arm, q, v).shape
        (3, 3)
    """

def mass_matrix_partials(model: Model, q: ArrayLike) -> Array:
    """∂M (nv, nv, nv):  ∂M_ij/∂q_k = d M(q ⊕ t e_k)_ij / dt.

    With joint i before j, in spatial screws and the inertia I_j of all that hangs on j:
    J_iᵀ (J_k ×* I_j J_j) for k behind i and not behind j, and J_iᵀ (J_k ×* I_k − I_k J_k ×) J_j
    for k behind j; else 0. O(n d²).  Müller, Dynamics (15), (16) in (81).

    Args:
        model: the mechanism.
        q (B, nq): configuration, joint by joint as `model.q_slices` tells.

    Returns:
        (B, nv, nv, nv): rows and columns of M, then the direction.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> np.allclose(mz.mass_matrix_partials(arm, q) @ v, mz.mass_matrix_rate(arm, q, v))
        True
    """

@overload
def rollout(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    tau: ArrayLike,
    dt: float,
    method: Method | OneStep | None = None,
    resistance: bool | Resistance = True,
    *,
    torque: None = None,
    t0: float = 0.0,
    limits: Limits = False,
) -> tuple[Array, Array]:
    """(q, v) along as many steps as tau has rows.

    With loops, the state is taken back onto them after every step; the first one must be on them.
    Singular configurations of the loops on the way are told by `simulate`, not here; samples that
    end in no state are (`DivergenceWarning`), and are NaN from there on.

    Cost: that of the steps, as of `stepper`; all states are kept.

    Args:
        model: the mechanism.
        q0 (B, nq): the configuration at the start.
        v0 (B, nv): the velocities at the start.
        tau: (steps, B, nv), held over each step.
        dt: a step, in seconds.
        method: "rkmk4", "semi_implicit" or "moreau", or such a method.
        resistance: as in `simulate`.
        torque: a `Law` that acts besides tau, or a function of (t, q, v); sampled at the starts of
            steps. A law is traced once and keeps its kernels, a function is traced at every call.
        t0: the time at the start, in seconds, for the law.
        limits: rigid stops of joints, as in `simulate`, with moreau.

    Returns:
        q: (steps + 1, B, nq), and v: (steps + 1, B, nv); with a law also its rows of state,
        (steps + 1, B, size).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = mz.rollout(arm, arm.neutral(), np.zeros(3), np.zeros((5, 3)), 0.01)
        >>> q.shape, v.shape
        ((6, 3), (6, 3))
    """
@overload
def rollout(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    tau: ArrayLike,
    dt: float,
    method: Method | OneStep | None = None,
    resistance: bool | Resistance = True,
    *,
    torque: Law | Feedback,
    t0: float = 0.0,
    limits: Limits = False,
) -> tuple[Array, Array, Array]:
    ...

@overload
def rollout_gradient(
    model: Model,
    q: Array,
    v: Array,
    tau: ArrayLike,
    dt: float,
    dq: Array,
    dv: Array,
    method: Method | OneStep | None = None,
    resistance: bool | Resistance = True,
    *,
    torque: None = None,
    rows: None = None,
    t0: float = 0.0,
    limits: Limits = False,
) -> tuple[Array, Array, Array]:
    """The gradient of a cost of the states of a `rollout` with respect to q0, v0 and every tau.

    Reverse mode with one checkpoint per step: only the states are kept, (nq + nv) numbers for each
    step, and the stages of a step are computed again on the way back. What depends on tau directly
    is added by the caller.

    Cost: about that of two to three simulations, however many steps and unknowns there are.

    Args:
        model: the mechanism.
        q: (steps + 1, B, nq), as `rollout` gives it.
        v: (steps + 1, B, nv), as `rollout` gives it.
        tau: (steps, B, nv), as `rollout` took it.
        dt: a step, in seconds.
        dq: (steps + 1, B, nv), derivatives of the cost with respect to q, along the group.
        dv: (steps + 1, B, nv), derivatives of the cost with respect to v.
        method: that of the rollout.
        resistance: that of the rollout.
        torque: that of the rollout.
        rows: (steps + 1, B, size), the rows of state of the law, as `rollout` gives them.
        t0: that of the rollout.
        limits: those of the rollout.

    Returns:
        Gradients with respect to q0 (B, nv), v0 (B, nv) and tau (steps, B, nv); with a law also
        those with respect to its state at the start, by name. A gain that is part of the state and
        stays as it is has the gradient of the whole motion there.

    Example:
        >>> arm, tau = mz.load("arm.urdf"), np.zeros((5, 3))
        >>> q, v = mz.rollout(arm, arm.neutral(), np.zeros(3), tau, 0.01)
        >>> dq0, dv0, dtau = mz.rollout_gradient(arm, q, v, tau, 0.01, np.ones((6, 3)), v)
        >>> dtau.shape
        (5, 3)
    """
@overload
def rollout_gradient(
    model: Model,
    q: Array,
    v: Array,
    tau: ArrayLike,
    dt: float,
    dq: Array,
    dv: Array,
    method: Method | OneStep | None = None,
    resistance: bool | Resistance = True,
    *,
    torque: Law | Feedback,
    rows: Array,
    t0: float = 0.0,
    limits: Limits = False,
) -> tuple[Array, Array, Array, dict[str, Array]]:
    ...

def sensitivity(
    function: Callable[..., object],
    model: Model,
    parameters: str | Collection[str],
    *,
    hold: JointChoice | None = None,
    **options: object,
) -> Sensitivity:
    """The derivative of a function of the model with respect to named parameters, as a kernel.

    It has the shape of the function's result and one more axis, the parameters in the order of
    their names:

    - of a body:  ``.mass``, ``.hx .hy .hz`` (first moment), ``.Jxx .Jxy .Jxz .Jyy .Jyz .Jzz`` (at
      the origin of its frame), those not named stay; or ``.mass`` and ``.com.x .com.y .com.z``,
      where the inertia at the centre of mass stays; ``.density``, which scales all, 1 in the model;
    - of a joint: ``.x .y .z .rx .ry .rz``, shifts along and turns about the axes of the frame of
      its body, zero in the model as it is, or along any screw (angular, linear),
      ``.screw(0, 0, 1, 0.2, 0, 0)``; ``.placement.x .y .z``, where its frame is in the parent;
      ``.pitch`` of screws; ``.2.x``, ``.2.pitch`` of the second factor of a product of joints, in
      the frame of that factor, and ``.2.1.x`` of the first factor of that; ``.damping .friction
      .armature .stiffness`` (of joints with several degrees of freedom also of one:
      ``.damping.angle_1``, ``.damping.2.angle`` of a product);
    - of a loop ``.a.x`` … ``.b.rz``, ``.a.screw(…)``: its placements, each moved in its own frame;
    - of a spring ``.stiffness .damping .length``, of a distance ``.length``, of a coupling
      ``.offset``, of a contact ``.friction .restitution .stiffness .damping``; ``gravity.x .y .z``.

    The numbers may differ from those of the model: ``kernel(q, v, a, parameters=[…])``, in which
    ``kernel.nominal`` is the model as it is, and ``kernel.value`` is the function itself with these
    numbers.

    With loops, a change of the geometry opens them at a fixed q. With ``hold`` the mechanism
    follows: the joints that are held keep their q, v and a, the others move by the least that keeps
    the loops closed, and the derivative is that of what is computed on the mechanism assembled
    anew. A parameter that no motion can follow is a `LoopError` (in a compiled kernel, no numbers).
    ``sensitivity(mz.assemble, …, hold=…)`` is that of the configuration itself, (nv, p) along the
    group.  `compile` takes what is returned, for every target.

    Cost: that of the function times a small number, for each parameter forwards or for all of them
    backwards, whichever takes fewer operations.

    Args:
        function: an algorithm of the model, such as mz.inverse_dynamics, or mz.assemble.
        model: the mechanism.
        parameters: their names, such as ["link_3.mass", "joint_2.x"].
        hold: joints that stay while a closed mechanism is assembled anew; None: all stay.
        options: those of the function (``frame=``, ``rep=``, ``prescribed=``); optional arrays are
            taken where they are True (``wrenches=True``).

    Returns:
        A kernel of the arrays that the function takes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> kernel = mz.sensitivity(mz.gravity_forces, arm, ["link_3.mass", "joint_2.x"])
        >>> kernel(arm.neutral()).shape
        (3, 2)
    """

@overload
def compile(
    function: Callable[..., Result],
    model: Model,
    target: Literal['cpu'] = 'cpu',
    dtype: DType = 'float64',
    *,
    rolled: bool | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    options: Mapping[str, object] | None = None,
    parameters: Sequence[str] = (),
    name: str | None = None,
    layout: ResultLayout = 'dense',
) -> CpuKernel[Result]:
    """A kernel of a function of q, v, … on this model.

    Traced once, simplified, and made machine code (or what the target says), in milliseconds to
    seconds; the kernel runs over leading batch axes, on several threads where that pays. `explain`
    tells the way.

    Cost: tracing and compiling are linear in the operations of the program; kernels are kept in
    memory and on disk.

    Args:
        function: an algorithm (``mz.inverse_dynamics``), a `sensitivity` (its kernel takes the
            parameters behind the other arrays), or any function of arrays that calls algorithms:
            ``lambda q, v: (mz.mass_matrix(model, q), mz.bias_forces(model, q, v))``.
            Arguments get their shapes from their names, as the algorithms' do; the one called
            ``model`` is the model, and those with a default keep it, unless `inputs` has them.
        model: the mechanism.
        target: "cpu" (a NumPy generalised ufunc), "interpret", "c", "sympy", "cuda", "jax" or
            "torch".
        dtype: the numbers of the kernel, "float64" or "float32".
        rolled: True for loops over bodies, False for straight-line code, None to choose by size.
        inputs: shapes of arguments whose names do not tell them: ``inputs={"x": (3,)}``.
        options: keyword arguments of the algorithm, and optional arrays to take:
            ``options={"wrenches": True}``.
        parameters: names of numbers of the model, such as "link_3.mass", as in `sensitivity`. The
            kernel takes one more array (B, p) of them, behind the others.
        name: of the kernel, and of functions in its source.
        layout: "packed" for results without zeros and mirrored elements: (B, size), every value
            once, and ``kernel.packings[k]`` says which elements of result k they are (its
            ``places``; ``dense`` puts them there). For "cpu", "cuda", "jax" and "torch".

    Returns:
        A kernel: called with arrays it gives what the function gives; ``operations``, ``source``.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> kernel = mz.compile(mz.inverse_dynamics, arm)
        >>> kernel(np.zeros((100, 3)), np.zeros(3), np.zeros(3)).shape
        (100, 3)
    """
@overload
def compile(
    function: Callable[..., Result],
    model: Model,
    target: Literal['interpret'],
    dtype: DType = 'float64',
    *,
    rolled: bool | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    options: Mapping[str, object] | None = None,
    parameters: Sequence[str] = (),
    name: str | None = None,
    layout: ResultLayout = 'dense',
) -> Kernel[Result]:
    ...
@overload
def compile(
    function: Callable[..., object],
    model: Model,
    target: Literal['c'],
    dtype: DType = 'float64',
    *,
    rolled: bool | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    options: Mapping[str, object] | None = None,
    parameters: Sequence[str] = (),
    name: str | None = None,
    layout: ResultLayout = 'dense',
) -> CSource:
    ...
@overload
def compile(
    function: Callable[..., object],
    model: Model,
    target: Literal['sympy', 'cuda', 'jax', 'torch'],
    dtype: DType = 'float64',
    *,
    rolled: bool | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    options: Mapping[str, object] | None = None,
    parameters: Sequence[str] = (),
    name: str | None = None,
    layout: ResultLayout = 'dense',
) -> Kernel[Any]:
    ...

def explain(
    model: Model,
    function: Callable[..., object],
    dtype: DType = 'float64',
    *,
    rolled: bool | None = None,
    **options: object,
) -> None:
    """Print how a call comes to its machine code on this CPU, and why it comes that way.

    The program is traced and compiled anew, whatever is kept, so that times are those of a first
    call. Lines: the model; whether the program has loops over bodies, and why; which inertial
    numbers were regrouped; operations of one evaluation by kind; whether the disk cache has the
    kernel; seconds by stage; size of the machine code.

    Cost: a compilation without caches.

    Args:
        model: the mechanism.
        function: an algorithm, such as mz.forward_dynamics.
        dtype: the numbers of the kernel, "float64" or "float32".
        rolled: as in `compile`; None: as a call chooses.
        options: of the function, as in a call (`frame="tool"`); optional arrays where they are
            True (`wrenches=True`).

    Returns:
        None: it is printed.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> mz.explain(arm, mz.forward_dynamics)  # doctest: +ELLIPSIS
        forward_dynamics of arm: (q, v, tau) -> (...)
        ...
    """

def set_checks(on: bool) -> None:
    """Whether algorithms refuse arrays of configurations that are none, NaN and infinity.

    They do unless told: a quaternion whose length is off 1 by more than 1e-6, a NaN or an infinity
    in any array (velocities, forces, wrenches, …) is a `ConfigurationError` that names joint and
    sample. Limits may be infinite; hybrid dynamics reads one of a and tau for each coordinate, and
    does not look at the other. Where results are not finite because a mass matrix has no inverse at
    q, that is a `SingularError` with sample and coordinate. Kernels of `compile` never look.

    Cost: some percent of a batch are saved without checks.

    Args:
        on: False to take all numbers as they are, in the whole process.

    Returns:
        None.

    Example:
        >>> mz.set_checks(False)
        >>> mz.set_checks(True)
    """

def set_num_threads(number: int | None) -> None:
    """Run large batches on so many threads.

    Cost: threads start where a batch takes more than a fraction of a millisecond.

    Args:
        number: of threads; None for MOZZI_NUM_THREADS, or all cores.

    Returns:
        None.

    Example:
        >>> mz.set_num_threads(1)
        >>> mz.set_num_threads(None)
    """

def base_parameters(
    model: Model,
    states: tuple[ArrayLike, ...] | None = None,
    *,
    regressor: Callable[..., Array] | None = None,
    tolerance: float = 1e-07,
    seed: Seed = 0,
) -> BaseParameters:
    """The combinations of inertial parameters that joint forces show, and those that they do not.

    Parameters come in the order of bodies, from the base, each (m, h, J) at its own frame; one that
    depends on earlier ones is regrouped into them, exactly up to rounding.

    Cost: least squares of a regressor with 10 nb columns, O(nb³).

    Args:
        model: the mechanism.
        states: (q, v, a) with one leading axis, such as those of an experiment: which combinations
            these motions show. Random ones, unless told: which combinations any motion can show.
        regressor: that of inverse dynamics, unless told; of momentum, with states (q, v).
        tolerance: what is left of a column behind the earlier ones, as a share of it, that counts
            as nothing.
        seed: of the random states.

    Returns:
        `BaseParameters`.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> base, one = mz.base_parameters(arm), np.ones(3)
        >>> Y = base.regressor(mz.inverse_dynamics_regressor(arm, one, one, one))
        >>> tau = mz.inverse_dynamics(arm, one, one, one)
        >>> bool(np.allclose(Y @ base.values(arm), tau))
        True
    """

def from_log_cholesky(theta: ArrayLike) -> Array:
    """The ten inertial parameters (m, h, J) of a rigid body, from any ten numbers.

    Smooth, with a smooth inverse: gradients of any cost reach it, also while tracing (in `compile`,
    in laws).

    Cost: some dozens of operations, O(1).

    Args:
        theta (B, 10): (α, d₁, d₂, d₃, s₁₂, s₂₃, s₁₃, t₁, t₂, t₃).

    Returns:
        (B, 10): m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz, as `Inertia.parameters`.

    Example:
        >>> mz.from_log_cholesky(np.zeros(10))[[0, 4, 7, 9]]
        array([1., 2., 2., 2.])
    """

def read_log(
    path: str | os.PathLike[str],
    model: Model | None = None,
    *,
    time: str | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
) -> Log:
    r"""Read a log of measurements: .csv, .parquet, also of exported ROS bags.

    Columns are matched with joints by name: a joint's name and a word for the quantity (position,
    velocity, acceleration, effort and their short forms), in any order, with anything in between
    that is no letter or digit. Rows are sorted by time, and stamps of nano-, micro- and
    milliseconds since 1970 become seconds.

    Cost: linear in the length of the file.

    Args:
        path: the file; Parquet needs the extra ``data``.
        model: the mechanism whose joints are looked for; None reads columns only.
        time: the column of times, where its name is not one of the usual ones.
        columns: columns by quantity, {"q": [names in the order of the model], …}, where matching
            does not find them.

    Returns:
        A `Log` with t, q, v, a, tau and all columns.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> rows = ["time,joint_1/position,joint_2/position,joint_3/position", "5.0,0.1,0.2,0.3"]
        >>> _ = open("log.csv", "w").write("\n".join(rows))
        >>> mz.read_log("log.csv", arm).q
        array([[0.1, 0.2, 0.3]])
    """

def to_log_cholesky(parameters: ArrayLike | Inertia) -> Array:
    """The ten numbers without bounds of a rigid body: the inverse of `from_log_cholesky`.

    Cost: a Cholesky factor of a 4×4 matrix, O(1).

    Args:
        parameters (B, 10): m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz; or an `Inertia`.

    Returns:
        (B, 10): (α, d₁, d₂, d₃, s₁₂, s₂₃, s₁₃, t₁, t₂, t₃).

    Example:
        >>> body = mz.Inertia(2.0, (0.1, 0.0, 0.3), np.diag([0.3, 0.4, 0.5])).parameters()
        >>> bool(np.allclose(mz.from_log_cholesky(mz.to_log_cholesky(body)), body))
        True
    """

def casadi_function(
    function: Callable[..., object],
    model: Model,
    *,
    kind: Literal['expression', 'callback'] = 'expression',
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    options: Mapping[str, object] | None = None,
    name: str | None = None,
) -> ca.Function:
    """A function as a `casadi.Function`, with derivatives of any order.

    Cost: as many of CasADi's operations as the program has, once for each evaluation; a call of
    machine code where it is a callback.

    Args:
        function: an algorithm, or a function of arrays that calls algorithms, as `compile` takes.
        model: the mechanism.
        kind: "expression": scalars of CasADi, which it differentiates and writes as C itself.
            "callback": calls of machine code, Jacobians and Hessians by program differentiation;
            for large mechanisms, whose expressions are slow.
        inputs: as in `compile`.
        options: as in `compile`.
        name: of the function.

    Returns:
        A `casadi.Function` of columns and matrices with the names of the arguments.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> f = mz.casadi_function(mz.forward_dynamics, arm)
        >>> f.name_in(), f.size1_out(0)
        (['q', 'v', 'tau'], 3)
    """

def layout(
    name: LayoutName,
    model: Model,
    joints: Sequence[str] | None = None,
    *,
    continuous: Sequence[str] = (),
    com: ArrayLike | None = None,
) -> Layout:
    """The states of a model as a simulator or another library writes them.

    | name | quaternion | base: linear velocity | angular velocity |
    |---|---|---|---|
    | mujoco (MJX, MuJoCo Warp) | w x y z | of the origin, world axes | body axes |
    | pinocchio | x y z w | of the origin, body axes | body axes |
    | isaaclab (3), isaaclab2 (2.x): root_link_… | x y z w, w x y z | origin, world | world axes |
    | maniskill | w x y z | of the centre of mass, world axes | world axes |
    | newton | x y z w | of the centre of mass, world axes | world axes |
    | drake | w x y z, first | of the origin, world axes | world axes, first |

    Coordinates of the base stand before those of the other joints where `joints` has it first.

    Cost: conversions are part of the kernels, O(n).

    Args:
        name: of the layout.
        model: the mechanism.
        joints: the names of the joints in the order of the simulator, the free base included; all
            of the model's, each once. The order of the model where not given.
        continuous: joints whose angle is written as its cosine and sine (Pinocchio's continuous
            joints).
        com (3): the centre of mass of the base where the simulator's differs from the model's,
            which includes links that are fixed to the base.

    Returns:
        A `Layout`: ``to_mozzi``, ``from_mozzi`` convert states, ``compile`` makes dynamics on them.

    Example:
        >>> body = mz.Inertia(1.0, (0.0, 0.0, 0.1), np.eye(3))
        >>> craft = mz.Builder().add("hull", None, mz.Free(), body).build()
        >>> qpos, qvel = mz.layout("mujoco", craft).from_mozzi(craft.neutral(), np.ones(6))
        >>> qpos[3:7]
        array([1., 0., 0., 0.])
    """

def state_space(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    dt: float | None = None,
    method: Method | None = None,
    actuated: Sequence[str] | None = None,
    resistance: bool = True,
    library: Literal['control', 'scipy'] = 'control',
) -> Any:
    """The linear model of `linearize` as an object of python-control or SciPy.

    States are deviations (δ, δv) by the names of the velocities, inputs are joint forces, outputs
    all states.

    Cost: one call of `linearize`.

    Args:
        model: the mechanism.
        q (nq): where it is linearized.
        v (nv), optional: with which velocities; at rest, unless told.
        tau (nv), optional: with which joint forces; none, unless told.
        dt: a step in seconds, for the discrete system of one step of `method`; None: continuous.
        method: the integrator of that step.
        actuated: names of the joints whose forces are inputs; all, unless told.
        resistance: as in `linearize`.
        library: "control" for a `control.StateSpace`, "scipy" for a `scipy.signal.StateSpace`.

    Returns:
        The system; with python-control its states, inputs and outputs have names, in which dots
        are underscores: ``tau_root_joint_wx``.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> system = mz.state_space(arm, arm.neutral(), actuated=["joint_1"])
        >>> system.nstates, system.ninputs
        (6, 1)
    """

def array(values: ArrayLike) -> Array:
    """An array of numbers; of traced scalars, or a mixture, one that NumPy's functions work on.

    Inside a law `np.array([q[0], 1.0])` holds a traced scalar beside a plain number, which np.sin
    refuses; of this array it takes both.

    Cost: none at run time.

    Args:
        values: a list of numbers, nested for more axes.

    Returns:
        An array.

    Example:
        >>> np.sin(mz.array([0.0, 1.0])).shape
        (2,)
    """

def clip(x: ArrayLike, low: ArrayLike, high: ArrayLike) -> Array:
    """x, but not below low nor above high, number by number.

    Cost: two comparisons a number.

    Args:
        x: numbers.
        low: the least ones; may be −∞.
        high: the largest ones; may be ∞.

    Returns:
        The numbers between them, broadcast.

    Example:
        >>> mz.clip(np.array([-3.0, 0.5, 7.0]), -1.0, 1.0)
        array([-1. ,  0.5,  1. ])
    """

def maximum(a: ArrayLike, b: ArrayLike) -> Array:
    """The larger of two numbers, number by number.

    Cost: one comparison a number.

    Args:
        a: numbers.
        b: numbers.

    Returns:
        The larger ones, broadcast; where they are equal, the derivative is that of a.

    Example:
        >>> mz.maximum(np.array([1.0, 3.0]), 2.0)
        array([2., 3.])
    """

def minimum(a: ArrayLike, b: ArrayLike) -> Array:
    """The smaller of two numbers, number by number.

    Cost: one comparison a number.

    Args:
        a: numbers.
        b: numbers.

    Returns:
        The smaller ones, broadcast; where they are equal, the derivative is that of a.

    Example:
        >>> mz.minimum(np.array([1.0, 3.0]), 2.0)
        array([1., 2.])
    """

def sign(x: ArrayLike) -> Array:
    """1, 0 or −1, number by number; its derivative is zero.

    Cost: two comparisons a number.

    Args:
        x: numbers.

    Returns:
        Their signs.

    Example:
        >>> mz.sign(np.array([-3.0, 0.0, 2.0]))
        array([-1.,  0.,  1.])
    """

def solve(A: ArrayLike, b: ArrayLike) -> Array:
    """x with A x = b, for a small matrix of numbers or of traced scalars.

    Elimination with the largest pivot of each column, n³/3 products and as many choices: meant for
    a handful of unknowns. A mass matrix needs none of it: `forward_dynamics` solves with it.

    Cost: O(n³), straight-line code where it is traced.

    Args:
        A: (n, n), of full rank.
        b: (n,), or (n, k) for several right-hand sides.

    Returns:
        x, shaped like b.

    Example:
        >>> mz.solve([[0.0, 2.0], [1.0, 0.0]], [2.0, 3.0])
        array([3., 1.])
    """

def where(condition: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """a where the condition holds, else b, number by number.

    What an `if` in a law becomes: both sides are evaluated, and the derivative is that of the side
    that is taken.

    Cost: both sides, and one comparison a number.

    Args:
        condition: a comparison, such as q > 0; several go together by &, | and ~.
        a: what is taken where it holds.
        b: what is taken elsewhere.

    Returns:
        The numbers chosen, broadcast like np.where.

    Example:
        >>> mz.where(np.array([1.0, -2.0]) > 0.0, 1.0, -1.0)
        array([ 1., -1.])
    """

def actuate(model: Model, controls: ArrayLike | Feedback) -> Feedback:
    """τ(t, q, v) of the model's actuators, for ``simulate(..., torque=actuate(model, controls))``.

    What all actuators of a joint coordinate exert together is clipped to its effort.

    Cost: O(k) for k actuators, compiled along.

    Args:
        model: the mechanism, with ``model.actuators``.
        controls: one number for each actuator, held; or a function u(t, q, v) of traced scalars
            that returns them.

    Returns:
        A law of torque, as `simulate` takes it.

    Example:
        >>> rod = mz.Inertia(1.0, (0.0, 0.0, -0.5), np.eye(3))
        >>> arm = mz.Builder().add("rod", None, mz.Revolute("x"), rod, joint_name="hinge")
        >>> arm = arm.actuator("motor", "hinge", gear=2.0).build()
        >>> float(mz.actuate(arm, [3.0])(0.0, [0.0], [0.0])[0])
        6.0
    """

def simulate(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    dt: float,
    method: Method | OneStep | DormandPrince | None = None,
    torque: ArrayLike | Feedback | Law | None = None,
    *,
    wrenches: ArrayLike | None = None,
    wrenches_rep: Rep = 'body',
    resistance: bool | Resistance = True,
    limits: Limits = False,
    prescribed: Prescribed | None = None,
    loop_offsets: Mapping[str, TimeLaw] | None = None,
    record_every: int = 1,
    t0: float = 0.0,
    trace: bool | None = None,
    target: Device = 'cpu',
    dtype: DType = 'float64',
    parameters: Mapping[str, ArrayLike] | None = None,
    save: str | os.PathLike[str] | None = None,
    progress: Callable[[float], None] | bool | None = None,
    **options: Unpack[MethodOptions],
) -> Trajectory:
    """The motion from (q0, v0) over a duration, in steps dt.

    Dynamics and integrator are one program: a call of it takes all samples through all steps
    between two records. q0 and v0 broadcast.

    A sample that diverges is stopped and named in a `DivergenceWarning` and in
    ``trajectory.diverged``; the others go on. Where the loops of a mechanism lose rank in a record,
    are singular from the start on, or steps beside such a configuration are too coarse, a
    `SingularWarning` tells when; where moreau misses a law of contact, friction or limits by more
    than 1e-6 m/s (or rad/s), a `ContactWarning` does: see ``trajectory.contact_residual``; so it
    does of impacts of dopri5.
    Energy that changes though nothing drives or brakes, or that is won though nothing drives, is an
    `EnergyWarning`, dry friction that is too stiff for explicit steps a `StiffWarning`, both with
    the method to take.

    Ctrl-C stops it within half a second: `Interrupted`, a KeyboardInterrupt, has the trajectory of
    what was computed.

    Cost: a step takes one (semi_implicit) to some (rkmk4: four, implicit ones: their iterations)
    forward dynamics, O(n) without loops.

    Args:
        model: the mechanism.
        q0 (B, nq): the configuration at the start.
        v0 (B, nv): the velocities at the start.
        duration: in seconds.
        dt: a step, in seconds. Where it does not divide the duration, the last step is shorter.
        method: semi_implicit, rkmk4, dopri5, generalized_alpha, momentum or moreau; or a method of
            `mozzi.simulation`. dopri5 chooses its own steps: dt is the distance of its records.
            Where the model has contacts moreau, else rkmk4, unless told.
        torque: None; (nv,) or (B, nv), constant; (B, steps, nv), a row for every step; or a law
            τ(t, q, v). A law is traced once, with arrays of traced scalars, and compiled along: it
            may call algorithms and NumPy's functions, and chooses with `where`. A law that cannot
            be traced is called from Python before every step, with arrays (B, nq) and (B, nv), and
            its torque is held over the step. A `Law` is sampled, with a state of its own.
        wrenches (B, nb, 6), optional: wrenches on the bodies, constant.
        wrenches_rep: the representation in which they are constant: "body" (they move along with
            their bodies), "spatial", "hybrid" (they keep their direction) or "mixed".
        resistance: damping, friction and springs of the joints, and springs and dampers between
            bodies, act as the model has them; False takes them out, `Resistance` chooses. Dry
            friction sticks exactly with moreau, and is smooth with other methods.
        limits: whether elastic stops act at the limits of the joints; `Stops` says how hard.
            "rigid" or `RigidStops`: rigid ones, with moreau.
        prescribed: driven joints: {joint, or (joint, number of a coordinate): law}. A law is a
            function of t alone that gives the position, one number or the nq of the joint, traced
            and differentiated; q0 is where the laws begin, and v0 becomes the nearest velocities
            that they allow. What drives is in ``trajectory.drive_forces`` and ``drive_power()``.
        loop_offsets: closures that move: {loop: law}, what their residuals shall be, row by row
            (`loop_rows`); rows of velocities follow the rate of theirs. Here, too, v0 becomes the
            nearest velocities that they allow.
        record_every: how many steps lie between two records. The end is always recorded.
        t0: the time at the start, in seconds, of which a law may make something.
        trace: True for a law that must be traced, False for one that must be called from Python;
            None tries to trace it, and warns where that fails.
        target: where it runs, "cpu" or "cuda". On a GPU a launch takes all samples to the next
            record, the state stays there, and records come back. Laws must be traced.
        dtype: the numbers of the steps, "float64" or "float32" (not for dopri5, which measures
            smaller errors); records are float64.
        parameters: numbers that differ from sample to sample, by name: of the model, named as in
            `sensitivity` ("link_3.mass", "joint_2.damping"), and of arguments that the law has
            behind (t, q, v), such as gains. Each broadcasts with the batch axes B. A law that calls
            algorithms on the model sees it as it is; one with an argument `model` gets that which
            moves.
        save: a folder of zarr to which records go as they come (extra ``cluster``): memory holds
            one block of them, and after a crash the same call goes on from the last block, to the
            same numbers. A law of torque must be the same one, and have no memory of its own.
        progress: True for a bar, below the cell of a notebook or in the terminal; or a function
            that is called with the share of the work that is done.
        options: of the method, such as ``rtol``, ``atol`` and ``events`` of dopri5, ``rho`` of
            generalized_alpha, or ``state="momentum"`` of rkmk4, which integrates spatial momenta
            instead of velocities and so keeps the momentum of what floats to rounding.

    Returns:
        A `Trajectory` with the times t (n,), and q (B, n, nq), v (B, n, nv) at these times.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> motion = mz.simulate(arm, arm.neutral(), np.zeros(3), 0.1, 0.01, resistance=False)
        >>> motion.q.shape, bool(motion.energy_drift() < 1e-6)
        ((11, 3), True)
    """

def stepper(
    model: Model,
    method: Method | OneStep | None = None,
    torque: Feedback | Law | None = None,
    *,
    records: int | None = None,
    steps: int | None = None,
    held: bool = False,
    wrenches: bool = False,
    wrenches_rep: Rep = 'body',
    resistance: bool | Resistance = True,
    limits: Limits = False,
    prescribed: Prescribed | None = None,
    loop_offsets: Mapping[str, TimeLaw] | None = None,
    target: Target = 'cpu',
    dtype: DType = 'float64',
    parameters: Sequence[str] = (),
) -> Kernel[tuple[Array, Array]]:
    """A kernel (q, v, t, …, dt, steps) ↦ (q, v) after that many steps of length dt.

    Arguments broadcast over leading batch axes; t, dt and steps are numbers, and steps is the same
    for all samples. With moreau a third result is the largest velocity by which a law of contact,
    dry friction or limits was missed since the start, (…, 1).

    Cost: a step takes what it takes in `simulate`, without records.

    Args:
        model: the mechanism.
        method: a method of constant step, as `simulate` takes it (rkmk4, or moreau where the model
            has contacts, unless told).
        torque: a law τ(t, q, v), traced and compiled along; or None. With a `Law` the kernel takes
            its row of state behind v, ``law.start(model)`` at first, and gives it behind v.
        records: how many states to give, (B, records, nq) and (B, records, nv), with `steps` steps
            from one to the next; None gives the last one, after `steps` steps.
        steps: how many, where that is known beforehand: the kernel does not take it as an argument
            then, and PyTorch and JAX differentiate it, to any order. None: the last argument.
        held: whether the kernel takes joint forces tau, held over the steps, behind t.
        wrenches: whether it takes wrenches (nb, 6), held, behind them.
        wrenches_rep: the representation in which they are held, as in `simulate`.
        resistance, limits, prescribed, loop_offsets: as in `simulate`.
        target, dtype: as in `compile`. With target "cuda" a call is one launch.
        parameters: names of numbers of the model that vary, as in `sensitivity`, and of arguments
            of the law behind (t, q, v): the kernel takes an array (B, p) of them, behind the
            others.

    Returns:
        A kernel; with `records` its results are (B, records, nq) and (B, records, nv), else (B, nq)
        and (B, nv).

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> step = mz.stepper(arm, "semi_implicit")
        >>> q, v = step(arm.neutral(), np.zeros(arm.nv), 0.0, 0.001, 10)
    """

def grid(columns: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.generic]]:
    """Every combination of some numbers, as a table for `sweep`; the last name varies fastest.

    Cost: a row for every combination.

    Args:
        columns: numbers by name.

    Returns:
        Arrays (N,) by name.

    Example:
        >>> mz.grid({"a": [1, 2], "b": [10, 20]})["b"].tolist()
        [10, 20, 10, 20]
    """

def sweep(
    run: Run,
    parameters: Mapping[str, object],
    executor: Executor | object | None = None,
    chunk: int | None = None,
    store: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    *,
    samples: int | None = None,
    reduce: str | Sequence[Reduction] = (),
    progress: Callable[[Progress], None] | None = None,
) -> Swept:
    """Run a function on many samples, chunk by chunk, here or on workers.

    Results do not depend on chunks and workers: what is drawn comes from children of the seed that
    belong to samples. A chunk that fails three times is told in `failures`, and the others go on.
    With a store a sweep that was stopped goes on where it was, when it is called again.

    Cost: that of the run; a chunk adds some milliseconds where there are workers or a store.

    Args:
        run: takes a chunk of the parameters (a mapping of names to arrays) and returns a mapping of
            names to arrays with the same leading axis: a function, a `Rollout`, an `Evaluation`.
            ``chunk["seed"]`` has a number for each sample, for what run draws itself.
        parameters: by name, arrays of one length (`grid` makes combinations); or distributions,
            such as ``mz.Uniform(0.8, 1.2)`` or its text "uniform(0.8, 1.2)"; or a table with named
            columns.
        executor: None for this process; anything whose ``submit`` gives futures, as the executors
            of `concurrent.futures`, mpi4py and submitit do; or a Dask `Client`.
        chunk: samples of a job; chosen where not given.
        store: a path for a zarr store, with a chunk for each job. One of another model or other
            parameters is refused.
        seed: for what is drawn; without one it differs from call to call.
        samples: how many, where all parameters are distributions.
        reduce: what is kept of the samples instead of their results: some of count, mean, std, min,
            max, quantiles, histogram; quantiles to 2.5 % of their size, all others exactly.
        progress: called with a `Progress` after every job.

    Returns:
        A mapping of names to arrays, for all samples.

    Example:
        >>> def run(chunk):
        ...     return {"y": chunk["x"] ** 2}
        >>> mz.sweep(run, {"x": np.arange(5.0)}, chunk=2)["y"].tolist()
        [0.0, 1.0, 4.0, 9.0, 16.0]
    """
