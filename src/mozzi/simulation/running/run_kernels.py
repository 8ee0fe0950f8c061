"""The kernels of one run, made once; runs without laws, or with a `KeptLaw`, share them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from mozzi.algorithms.contact.gaps import contact_count
from mozzi.algorithms.contact.rows import NO_LAWS, JointLaws
from mozzi.model import Model
from mozzi.simulation.forces.forces import Torque
from mozzi.simulation.kernels import AtRecords, advance_kernel, record_kernel, start_kernel
from mozzi.simulation.methods import Integrator
from mozzi.simulation.methods.dormand_prince import DormandPrince, attempt_kernel
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.methods.moreau import Moreau
from mozzi.simulation.methods.touching import TouchKernels, touch_kernels
from mozzi.simulation.place import Place, Shapes
from mozzi.simulation.system import KeptLaw, System
from mozzi.types import Array, Kernel

__all__ = ["RunKernels"]

K = TypeVar("K")


class RunKernels:
    """The kernels of a system and a method, made when they are asked for."""

    def __init__(
        self, system: System, method: Integrator, torque: Torque, inputs: Shapes, place: Place,
        model: Model,
    ):  # fmt: skip
        self.system, self.method, self.torque = system, method, torque
        self.inputs, self.place, self.model = inputs, place, model
        alone = torque.law is not None or torque.own is not None or system.drives is not None
        self._cache: dict[Hashable, object] = {} if alone else model.cache
        if isinstance(torque.law, KeptLaw) and system.drives is None:
            self._cache = torque.law.kernels

    def _once(self, name: str, method: Integrator | None, make: Callable[[], K]) -> K:
        x = self.system
        names = () if x.varying is None else x.varying.names
        shown = x.model.rows_depend
        acting = x.resistance, x.stops, x.wrenches_rep
        key = (name, method, *acting, tuple(self.inputs), self.place, names, shown)
        if key not in self._cache:
            self._cache[key] = make()
        return cast("K", self._cache[key])

    def at_records(self, name: AtRecords, free: bool = False) -> Kernel[Array]:
        """(q, v, t, forces…) ↦ v̇, what closures exert, or what the law applies; with what contacts
        and rows of joints exerted as the last of the forces, unless free of them.
        """
        touching = None if free else self.touching

        def make() -> Kernel[Array]:
            law = {} if self.torque.own is None else {"tau": (self.model.nv,)}
            self.system.held = None
            return record_kernel(self.system, {**law, **self.inputs}, name, touching)

        return self._once(name, self.method if touching else None, make)

    @property
    def touching(self) -> JointLaws | None:
        """The laws of joints that steps keep, where these or contacts act."""
        if isinstance(self.method, DormandPrince):
            return NO_LAWS if self.model.contacts else None
        return self.method.joints if isinstance(self.method, Moreau) else None

    def advance(self, method: OneStep) -> Kernel[tuple[Array, ...]]:
        """Many steps of constant length."""
        own = self.torque.own
        make = lambda: advance_kernel(method, self.system, self.inputs, self.place, own)
        return self._once("advance", method, make)

    def start(self, method: OneStep) -> Kernel[tuple[Array, ...]] | None:
        """What else the first state carries; None where that is nothing."""
        make = lambda: start_kernel(method, self.system, self.inputs, self.place)
        return self._once("start", method, make)

    def held(
        self, method: OneStep
    ) -> tuple[Kernel[tuple[Array, ...]] | None, Kernel[tuple[Array, ...]]]:
        """`start` and `advance` with joint forces as an input, in place of a law with a state."""
        inputs = {"tau": (self.model.nv,), **self.inputs}

        def make() -> tuple[Kernel[tuple[Array, ...]] | None, Kernel[tuple[Array, ...]]]:
            self.system.held = None
            start = start_kernel(method, self.system, inputs, self.place)
            return start, advance_kernel(method, self.system, inputs, self.place)

        return self._once("held", method, make)

    def attempt(self, method: DormandPrince) -> Kernel[tuple[Array, ...]]:
        """Steps of dopri5; with contacts it takes the modes of their points."""
        touch = {"touch": (3 * contact_count(self.model),)} if self.model.contacts else {}
        make = lambda: attempt_kernel(method, self.system, {**self.inputs, **touch}, self.place)
        return self._once("attempt", method, make)

    def touch(self, method: DormandPrince) -> TouchKernels:
        """What dopri5 asks of contacts."""
        return self._once("touch", method, lambda: touch_kernels(self.system, self.inputs))
