"""Motion from dynamics: integrators on the configuration space."""

from mozzi.simulation.methods.dormand_prince import DormandPrince, Event
from mozzi.simulation.methods.implicit import GeneralizedAlpha, MomentumPreserving
from mozzi.simulation.methods.method import MuntheKaas, SemiImplicit
from mozzi.simulation.methods.registry import METHODS
from mozzi.simulation.methods.tableau import Tableau
from mozzi.simulation.resistance import Resistance, Stops
from mozzi.simulation.simulate import Simulation, simulate
from mozzi.simulation.trajectory import Trajectory

__all__ = [
    "METHODS", "DormandPrince", "Event", "GeneralizedAlpha", "MomentumPreserving", "MuntheKaas",
    "Resistance", "SemiImplicit", "Simulation", "Stops", "Tableau", "Trajectory", "simulate",
]  # fmt: skip
