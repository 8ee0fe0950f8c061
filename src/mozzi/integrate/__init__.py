"""Motion from dynamics: integrators on the configuration space."""

from mozzi.integrate.methods import METHODS, MuntheKaas, SemiImplicit
from mozzi.integrate.simulate import Simulation, simulate
from mozzi.integrate.tableau import Tableau
from mozzi.integrate.trajectory import Trajectory

__all__ = [
    "METHODS", "MuntheKaas", "SemiImplicit", "Simulation", "Tableau", "Trajectory", "simulate",
]  # fmt: skip
