"""Motion from dynamics: integrators on the configuration space."""

from mozzi.integrate.adaptive import DormandPrince, Event
from mozzi.integrate.implicit import GeneralizedAlpha, MomentumPreserving
from mozzi.integrate.joint_models import Resistance, Stops
from mozzi.integrate.methods import MuntheKaas, SemiImplicit
from mozzi.integrate.registry import METHODS
from mozzi.integrate.simulate import Simulation, simulate
from mozzi.integrate.tableau import Tableau
from mozzi.integrate.trajectory import Trajectory

__all__ = [
    "METHODS", "DormandPrince", "Event", "GeneralizedAlpha", "MomentumPreserving", "MuntheKaas",
    "Resistance", "SemiImplicit", "Simulation", "Stops", "Tableau", "Trajectory", "simulate",
]  # fmt: skip
