"""Motion from dynamics: integrators on the configuration space."""

from mozzi.simulation.forces.resistance import Resistance, RigidStops, Stops
from mozzi.simulation.methods import (
    METHODS,
    DormandPrince,
    GeneralizedAlpha,
    MomentumPreserving,
    Moreau,
    MuntheKaas,
    SemiImplicit,
)
from mozzi.simulation.methods.dormand_prince import Event
from mozzi.simulation.methods.tableau import Tableau
from mozzi.simulation.running.simulation import Simulation
from mozzi.simulation.simulate import simulate
from mozzi.simulation.trajectories.trajectory import Trajectory

__all__ = [
    "METHODS", "DormandPrince", "Event", "GeneralizedAlpha", "MomentumPreserving", "Moreau",
    "MuntheKaas", "Resistance", "RigidStops", "SemiImplicit", "Simulation", "Stops", "Tableau",
    "Trajectory", "simulate",
]  # fmt: skip
