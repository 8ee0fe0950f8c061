"""Several models side by side as one: names get the name of their model in front."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from mozzi.errors import ModelError
from mozzi.lie import Inertia
from mozzi.model.constraints.contact import Contact
from mozzi.model.constraints.loop import Distance, Loop, Spring
from mozzi.model.constraints.rolling import Rolling
from mozzi.model.model import WORLD, Model

__all__ = ["joined"]

Ended = TypeVar("Ended", Loop, Distance, Spring)
Touched = TypeVar("Touched", Contact, Rolling)


def joined(name: str, models: Mapping[str, Model]) -> Model:
    """The models as one, in their order: body "hand" of "arms" is "arms.hand", and so are joints,
    frames, loops, springs, shapes, contacts, actuators and configurations.
    """
    first = next(iter(models.values()))
    parts: dict[str, tuple[object, ...]] = {}
    base, start = Inertia.zero(), 0
    for prefix, model in models.items():
        if model.gravity != first.gravity:
            raise ModelError(
                f"{name!r}: {prefix!r} has the gravity {model.gravity} and others "
                f"{first.gravity}; give all the same (with_gravity)"
            )
        for what in (*model.velocity_rows, *model.drives):
            raise ModelError(
                f"{name!r}: {what.name!r} of {prefix!r} is written for that model alone; add it to "
                "the joined one"
            )
        for word, own in _renamed(model, prefix, start).items():
            parts[word] = (*parts.get(word, ()), *own)
        base, start = base + model.base_inertia, start + model.nb
    make = cast("Callable[..., Model]", Model)
    return make(name, gravity=first.gravity, base_inertia=base, **parts)


def _renamed(model: Model, prefix: str, start: int) -> dict[str, Sequence[object]]:
    """The parts of a model with other names, their bodies counted from start."""

    def named(x: str) -> str:
        return f"{prefix}.{x}"

    def on(k: int) -> int:
        return k if k == WORLD else k + start

    def ends(x: Ended) -> Ended:
        return replace(x, name=named(x.name), body_a=on(x.body_a), body_b=on(x.body_b))

    def shapes(x: Touched) -> Touched:
        a, b = named(x.shape_a), named(x.shape_b)
        return replace(x, name=named(x.name), shape_a=a, shape_b=b)

    bodies = [
        replace(x, name=named(x.name), parent=on(x.parent), joint_name=named(x.joint_name))
        for x in model
    ]
    couplings = [
        replace(x, name=named(x.name), terms=tuple((named(j), k, c) for j, k, c in x.terms))
        for x in model.couplings
    ]
    states = [
        replace(x, name=named(x.name), joints=tuple((named(j), q) for j, q in x.joints))
        for x in model._configurations  # pyright: ignore[reportPrivateUsage]
    ]
    frames = model._frames  # pyright: ignore[reportPrivateUsage]
    return {
        "_bodies": bodies,
        "_frames": [(named(n), on(k), T) for n, k, T in frames],
        "loops": [ends(x) for x in model.loops],
        "couplings": couplings,
        "distances": [ends(x) for x in model.distances],
        "springs": [ends(x) for x in model.springs],
        "shapes": [replace(x, name=named(x.name), body=on(x.body)) for x in model.shapes],
        "actuators": [
            replace(x, name=named(x.name), joint=named(x.joint)) for x in model.actuators
        ],
        "_configurations": states,
        "contacts": [shapes(x) for x in model.contacts],
        "rollings": [shapes(x) for x in model.rollings],
    }
