"""Time stepping after Moreau and Jean: impacts, contact, friction and limits in one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from mozzi.algorithms.contact.gaps import contact_count
from mozzi.algorithms.contact.rows import NO_LAWS, JointLaws
from mozzi.algorithms.contact.step import Solver, SolverName, row_count, stepped_velocities
from mozzi.algorithms.kinematics.coasting import coast
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.program.scalar import Real, divide, maximum
from mozzi.simulation.forces.resistance import Resistance, RigidStops, Stops
from mozzi.simulation.methods.dormand_prince import DormandPrince
from mozzi.simulation.methods.method import State
from mozzi.simulation.system import System

__all__ = ["Moreau", "honoured"]

M = TypeVar("M")


@dataclass(frozen=True)
class Moreau:
    """v′ = v + h a(t, q, v) + M⁻¹ Jᵀ x,  q′ = q ⊕ h v′ (straight on, see `coasting`): order 1; the
    laws of contact, dry friction and limits hold for v′.

    solver: "robust" (an interior point, then Newton's method) or "fast" (Newton from the last
    impulses: enough where rows do not depend on each other, such as on the feet of a quadruped).
    ``steps`` of Newton's method and ``interior`` of the interior point; what they reached is the
    residual. Which laws act in joints is said by ``limits`` and ``resistance`` of `simulate`.
    """

    solver: SolverName = "robust"
    steps: int = 10
    interior: int = 15
    joints: JointLaws = NO_LAWS

    order = 1

    def extra(self, model: Model) -> Mapping[str, int]:
        """force: what the rows exert (N, N m), from which the next step starts; residual: the
        largest velocity by which a law was missed; taken: the energy that normal impulses and
        friction took since the start; contact_force: on bodies a, in world axes.
        """
        n, k = row_count(model, self.joints), contact_count(model)
        all_of_it = {"force": n, "residual": 1, "taken": 2, "contact_force": 3 * k}
        return {name: size for name, size in all_of_it.items() if size}

    def start(self, system: System, x: State) -> State:
        """Nothing acts before the first step."""
        return x | {n: np.full(k, 0.0, dtype=object) for n, k in self.extra(system.model).items()}

    def step(self, system: System, x: State, h: Real) -> State:
        """One step."""
        model = system.model
        if self.joints.friction and system.resistance is not None:
            system = replace(system, resistance=replace(system.resistance, friction=False))
        a = system.acceleration(x["t"][0], x["q"], x["v"])
        v, impulse, residual, taken, on_a = stepped_velocities(
            model, x["q"], x["v"], a, h=h, impulses=x["force"] * h if "force" in x else None,
            joints=self.joints, solver=Solver(self.solver, self.steps, self.interior),
        )  # fmt: skip
        rate = divide(1.0, h, nonzero=True)
        q, v = coast(model, x["q"], v, h=h)
        new = {"q": q, "v": v, "force": impulse * rate, "contact_force": on_a * rate}
        new["residual"] = np.array([maximum(x["residual"][0], residual[0])], dtype=object)
        return new | ({"taken": x["taken"] + taken} if "taken" in x else {})


def honoured(
    model: Model, method: M, stops: Stops | RigidStops | None, resistance: Resistance | None
) -> tuple[Stops | None, M]:
    """The elastic stops, and the method with the laws it keeps exactly; refused, where a method
    does not know the contacts or rigid stops that are asked of it.
    """
    if isinstance(method, Moreau):
        rubs = resistance is not None and resistance.friction
        joints = JointLaws(None, rubs)
        if isinstance(stops, RigidStops):
            joints = JointLaws(stops.restitution, rubs, stops.stiffness, stops.damping)
        return (stops if isinstance(stops, Stops) else None), replace(method, joints=joints)
    name = type(method).__name__
    if isinstance(method, DormandPrince) and not isinstance(stops, RigidStops):
        soft = [x.name for x in model.contacts if x.stiffness is not None]
        if soft:
            raise ConfigurationError(
                f"contact {soft[0]!r} is compliant, which dopri5 does not know; take "
                "method='moreau', or a rigid contact"
            )
        return stops, method
    if isinstance(stops, RigidStops):
        raise ConfigurationError(f"limits='rigid' goes with method='moreau', not {name}")
    if model.contacts:
        raise ConfigurationError(
            f"{name} does not know contacts, and model {model.name!r} has some; take "
            "method='moreau' or 'dopri5', or leave them out with model.without_contact(name)"
        )
    return stops, method
