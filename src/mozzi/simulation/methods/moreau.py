"""Time stepping after Moreau and Jean: impacts, contact, friction and limits in one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from mozzi.algorithms.contact.gaps import contact_count
from mozzi.algorithms.contact.held import contact_drift
from mozzi.algorithms.contact.parts import Part
from mozzi.algorithms.contact.rows import NO_LAWS, JointLaws
from mozzi.algorithms.contact.step import Solver, SolverName, row_count, stepped_velocities
from mozzi.algorithms.kinematics.coasting import carried, coast, turning
from mozzi.errors import ConfigurationError, known
from mozzi.model import Model
from mozzi.model.frames import as_number
from mozzi.program.counted_loops import repeat
from mozzi.program.scalar import Real, divide, maximum, select
from mozzi.simulation.forces.resistance import Resistance, RigidStops, Stops
from mozzi.simulation.methods.dormand_prince import DormandPrince
from mozzi.simulation.methods.kinds import refuse_wrong
from mozzi.simulation.methods.method import State
from mozzi.simulation.system import System
from mozzi.types import Traced, words

__all__ = ["Moreau", "honoured"]

SOLVERS = words(SolverName)
M = TypeVar("M")


@dataclass(frozen=True)
class Moreau:
    """v′ = v + h a(t, q, v) + M⁻¹ Jᵀ x,  q′ = q ⊕ h v′ (straight on, see `coasting`): order 1; the
    laws of contact, dry friction and limits hold for v′.

    solver: "fast" (Newton's method from the last impulses: enough where rows do not depend on each
    other, such as on the feet of a quadruped) or "robust" (where a law is missed, also from nothing
    and from an interior point).
    ``steps`` of Newton's method and ``interior`` of the interior point; what they reached is the
    residual. Which laws act in joints is said by ``limits`` and ``resistance`` of `simulate`.

    cut: whether a step in which a gap closes is cut there (`contact.parts`). Speeds after impacts
    and times of flight are then of second order, and so are their derivatives; a step in which
    something meets costs twice, and its forces are the mean of two parts. None: `simulate` cuts,
    unless with smoothing; what takes steps for batches (`stepper`, `rollout`) and derivatives of
    steps do not: the same instructions for all samples, once.

    smoothing: κ (J) of softened laws (`constraints.one_sided.smooth`), for those who optimise
    through contact: at a distance d a contact pushes with κ/d, friction creeps, and derivatives are
    those of a smooth step, also where nothing touches yet. 0: the laws as they are.
    """

    solver: SolverName = "robust"
    steps: int = 10
    interior: int = 15
    cut: bool | None = None
    smoothing: float = 0.0
    joints: JointLaws = NO_LAWS

    order = 1

    def __post_init__(self) -> None:
        refuse_wrong(self, "moreau", {"steps": 0, "interior": 0})
        if self.solver not in SOLVERS:
            raise ConfigurationError(
                f"moreau: no solver {self.solver!r}; there are {known(self.solver, SOLVERS)}"
            )
        kappa = as_number(self.smoothing, "moreau: smoothing")
        if kappa < 0.0:
            raise ConfigurationError(
                f"moreau: smoothing {kappa}; give an energy in joules, 1e-4 for one, or 0"
            )

    def extra(self, model: Model) -> Mapping[str, int]:
        """force: what the rows exert (N, N m), from which the next step starts; residual: the
        largest velocity by which a law was missed; taken: the energy that normal impulses and
        friction took since the start; contact_force: on bodies a, in world axes; rate: v̇ of the
        last step, where it was not cut, of steps that may be.
        """
        n, k = row_count(model, self.joints), contact_count(model)
        all_of_it = {"force": n, "residual": 1, "taken": 2, "contact_force": 3 * k}
        all_of_it |= {"rate": model.nv} if self.cut else {}
        return {name: size for name, size in all_of_it.items() if size}

    def start(self, system: System, x: State) -> State:
        """Nothing acts before the first step."""
        return x | {n: np.full(k, 0.0, dtype=object) for n, k in self.extra(system.model).items()}

    def step(self, system: System, x: State, h: Real) -> State:
        """One step."""
        if self.cut:
            return self._cut(system, x, h)
        warm = x["force"] * h if "force" in x else None
        new, _ = self.part(system, x, h, h, 1.0, warm)
        rate = divide(1.0, h, nonzero=True)
        new |= {n: new[n] * rate for n in ("force", "contact_force")}
        new["residual"] = np.array([maximum(x["residual"][0], new["residual"][0])], dtype=object)
        return new | ({"taken": x["taken"] + new["taken"]} if "taken" in x else {})

    def part(
        self, system: System, x: State, h: Real, left: Real, first: Real, impulses: Traced | None
    ) -> tuple[State, Real]:
        """The state after a part of a step h of which so much is left, with impulses for forces,
        and what is left then. A step that is not cut is one part.
        """
        if self.joints.friction and system.resistance is not None:
            system = replace(system, resistance=replace(system.resistance, friction=False))
        model, q, v, t = system.model, x["q"], x["v"], x["t"][0]
        part = Part(h, left, first) if self.cut else None
        if part is not None:
            q, v = coast(model, q, v, h=part.ahead)
            t = t + (h - left) + part.ahead
        middle, bends = v, None
        if part is not None:
            middle = v + x["rate"] * part.ahead if "rate" in x else v
            bends = contact_drift(model, q, middle, coasting=True)
        a = system.free(t, q, v, middle)
        if part is not None:
            a = a + turning(model, middle) - turning(model, v)
        u, impulse, residual, taken, on_a = stepped_velocities(
            model, q, v, a, h=h, impulses=impulses, joints=self.joints, part=part, bends=bends,
            solver=Solver(self.solver, self.steps, self.interior, self.smoothing),
        )  # fmt: skip
        over, rest, rate = h, 0.0, u - v
        if part is not None:
            whole = select(part.length < h, 0.0, divide(1.0, h, nonzero=True))
            rate = rate * whole
            back = part.middle - part.ahead
            u = carried(model, v, u, h=back)
            q = coast(model, q, v, h=back)[0]
            over, rest = part.length - part.middle, left - part.length
        q, u = coast(model, q, u, h=over)
        new = {"q": q, "v": u, "force": impulse, "contact_force": on_a, "taken": taken}
        return new | {"residual": residual, "rate": rate}, rest

    def _cut(self, system: System, x: State, h: Real) -> State:
        """One step of two parts, the second where the first ends before the step."""
        names = [n for n in ("q", "v", "rate", "force", "contact_force", "taken") if n in x]
        ends = np.cumsum([0, *(len(x[n]) for n in names)]).tolist()
        warm = x["force"] * h if "force" in x else None

        def one(state: list[Real]) -> list[Real]:
            old = {n: _array(state[a:b]) for n, a, b in zip(names, ends, ends[1:], strict=False)}
            most, first, left = state[-3:]
            new, rest = self.part(system, {"t": x["t"], **old}, h, left, first, warm)
            sums = [old[n] + new[n] for n in names[3:]]
            flat = [e for array in (*(new[n] for n in names[:3]), *sums) for e in array]
            flat = [*flat, maximum(most, new["residual"][0])]
            over = left > 0.0  # samples whose step is done wait for others that run with them
            return [*(select(over, a, b) for a, b in zip(flat, state, strict=False)), 0.0, rest]

        nothing = [0.0] * (ends[-1] - ends[3])
        begin = [*x["q"], *x["v"], *x["rate"], *nothing, x["residual"][0], 1.0, h]
        state = repeat(2, begin, one, "part", while_last=True)
        new = {n: _array(state[a:b]) for n, a, b in zip(names, ends, ends[1:], strict=False)}
        rate = divide(1.0, h, nonzero=True)
        new |= {n: new[n] * rate for n in ("force", "contact_force") if n in new}
        new |= {"taken": x["taken"] + new["taken"]} if "taken" in x else {}
        return new | {"residual": _array([state[-3]])}


def _array(values: Sequence[Real]) -> Traced:
    return np.array([*values, None], dtype=object)[:-1]


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
