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
    # kinematics
    "difference": "mozzi.algorithms.configuration",
    "forward_kinematics": "mozzi.algorithms.kinematics",
    "integrate": "mozzi.algorithms.configuration",
    "jacobian": "mozzi.algorithms.jacobian",
    "pose": "mozzi.algorithms.kinematics",
    "product_of_exponentials": "mozzi.algorithms.kinematics",
    "rates": "mozzi.algorithms.configuration",
    "twists": "mozzi.algorithms.kinematics",
    # dynamics
    "forward_dynamics": "mozzi.algorithms.hybrid_dynamics",
    "hybrid_dynamics": "mozzi.algorithms.hybrid_dynamics",
    "inverse_dynamics": "mozzi.algorithms.inverse_dynamics",
    "mass_matrix": "mozzi.algorithms.mass_matrix",
    # programs
    "compile": "mozzi.compile",
    # errors
    "ConfigurationError": "mozzi.errors",
    "ExtraMissingError": "mozzi.errors",
    "LoopError": "mozzi.errors",
    "ModelError": "mozzi.errors",
    "MozziError": "mozzi.errors",
    "SingularError": "mozzi.errors",
    "UnphysicalWarning": "mozzi.errors",
}

if TYPE_CHECKING:
    from mozzi.algorithms.configuration import difference as difference
    from mozzi.algorithms.configuration import integrate as integrate
    from mozzi.algorithms.configuration import rates as rates
    from mozzi.algorithms.hybrid_dynamics import forward_dynamics as forward_dynamics
    from mozzi.algorithms.hybrid_dynamics import hybrid_dynamics as hybrid_dynamics
    from mozzi.algorithms.inverse_dynamics import inverse_dynamics as inverse_dynamics
    from mozzi.algorithms.jacobian import jacobian as jacobian
    from mozzi.algorithms.kinematics import forward_kinematics as forward_kinematics
    from mozzi.algorithms.kinematics import pose as pose
    from mozzi.algorithms.kinematics import product_of_exponentials as product_of_exponentials
    from mozzi.algorithms.kinematics import twists as twists
    from mozzi.algorithms.mass_matrix import mass_matrix as mass_matrix
    from mozzi.compile import compile as compile
    from mozzi.errors import ConfigurationError as ConfigurationError
    from mozzi.errors import ExtraMissingError as ExtraMissingError
    from mozzi.errors import LoopError as LoopError
    from mozzi.errors import ModelError as ModelError
    from mozzi.errors import MozziError as MozziError
    from mozzi.errors import SingularError as SingularError
    from mozzi.errors import UnphysicalWarning as UnphysicalWarning
    from mozzi.lie import SE3 as SE3
    from mozzi.lie import Inertia as Inertia
    from mozzi.lie import Momentum as Momentum
    from mozzi.lie import Rotation as Rotation
    from mozzi.lie import Screws as Screws
    from mozzi.lie import Twist as Twist
    from mozzi.lie import Wrench as Wrench
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
    from mozzi.model import Translation2 as Translation2
    from mozzi.model import Translation3 as Translation3
    from mozzi.model import Universal as Universal

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
