"""Steps as kernels: dynamics and integrator in one program, many steps in one call."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from mozzi.algorithms.contact.gaps import contact_count
from mozzi.algorithms.contact.rows import JointLaws, joint_row_count
from mozzi.algorithms.contact.step import row_joint_forces
from mozzi.program.program import loop
from mozzi.program.scalar import Node, Real
from mozzi.simulation.forces.law import Law
from mozzi.simulation.methods.generalized_alpha import GeneralizedAlpha
from mozzi.simulation.methods.method import OneStep, as_state, sampled, sizes
from mozzi.simulation.place import CPU, Place, Shapes, named
from mozzi.simulation.projection import closed_again, first_rows, held_rows, row_sizes
from mozzi.simulation.system import System
from mozzi.simulation.traced_state import Memory
from mozzi.types import Array, Kernel, Traced

__all__ = ["AtRecords", "advance_kernel", "record_kernel", "start_kernel"]

AtRecords = Literal["acceleration", "reactions", "applied"]


def advance_kernel(
    method: OneStep, system: System, forces: Shapes, place: Place = CPU, law: Law | None = None
) -> Kernel[tuple[Array, ...]]:
    """(state…, t, forces…, dt, steps) ↦ state…, t after that many steps of length dt: two calls
    in a row are one of all their steps, to the last bit.
    """
    size = sizes(method, system.model, law)

    def advance(t: Real, dt: Real, steps: Node, **arrays: Traced) -> tuple[Traced, ...]:
        at = system.on(arrays)
        bound = at.bound(law, arrays)
        memory = {n: Memory(n, k, arrays[n]) for n, k in size.items()}
        clock = Memory("t", 1, t)
        for _ in loop(0, steps, name="step"):
            now = clock.get()[0]
            x = as_state(size, [m.get() for m in memory.values()], now)
            own = sampled(bound, at, x, dt)
            with held_rows(at.model, x):
                if bound is not None and "defect" in size:  # implicit: what it takes as known
                    at.held = Memory("held", at.model.nv, at.held).get()
                if bound is not None and isinstance(method, GeneralizedAlpha):
                    x = method.jumped(at, x, bound.held(at.model, x["law"]))
                new = method.step(at, x, dt)
            then = at.rows_at(now + dt)
            new = closed_again(at.model, new, x.get("rows"), given=then) | own
            for n, m in memory.items():
                m.set(new[n])
            clock.set(now + dt)
        return (*(m.get() for m in memory.values()), clock.get()[0])

    shapes = {n: (k,) for n, k in size.items()} | {"t": ()} | dict(forces)
    shapes |= {"dt": (), "steps": ()}
    return named(advance, shapes, system.model, "advance", place.target, place.dtype)


def start_kernel(
    method: OneStep, system: System, forces: Shapes, place: Place = CPU
) -> Kernel[tuple[Array, ...]] | None:
    """(q, v, t, forces…) ↦ what else states carry, or None where that is nothing."""
    extra = [*method.extra(system.model), *row_sizes(system.model)]
    if not extra:
        return None

    def start(q: Traced, v: Traced, t: Real, **arrays: Traced) -> tuple[Traced, ...]:
        at = system.on(arrays)
        rows = first_rows(at.model, q, at.rows_at(t))
        x = method.start(at, as_state(("q", "v"), (q, v), t) | rows)
        return tuple(x[n] for n in extra)

    model = system.model
    shapes = {"q": (model.nq,), "v": (model.nv,), "t": (), **forces}
    return named(start, shapes, model, "start", place.target, place.dtype)


def record_kernel(
    system: System, forces: Shapes, what: AtRecords, touching: JointLaws | None = None
) -> Kernel[Array]:
    """(q, v, t, forces…) ↦ v̇, what closures exert in the joints, or what the law applies there.
    touching: the laws of joints that the steps kept, where the last of the forces are what contacts
    and rows of joints exerted.
    """
    model = system.model
    if touching is not None:
        points, rows = 3 * contact_count(model), joint_row_count(model, touching)
        forces = {**forces, "on_a": (points,), "in_joints": (rows,)}
        if touching.friction and system.resistance is not None:
            system = replace(system, resistance=replace(system.resistance, friction=False))

    def found(q: Traced, v: Traced, t: Real, **arrays: Traced) -> Traced:
        at = system.on(arrays)
        if touching is not None:
            given = arrays["on_a"], arrays["in_joints"]
            at = replace(at, exerted=row_joint_forces(at.model, q, *given, joints=touching))
        compute = {"acceleration": at.free, "reactions": at.reactions, "applied": at.applied}
        return compute[what](t, q, v)

    shapes = {"q": (model.nq,), "v": (model.nv,), "t": (), **forces}
    return named(found, shapes, model, what)
