"""What a model is made of, declared once: how it is made, compared, pickled and copied follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import cast, final

from mozzi.lie import SE3, Inertia
from mozzi.model.actuator import Actuator
from mozzi.model.body import Body
from mozzi.model.constraints.contact import Contact
from mozzi.model.constraints.loop import Coupling, Distance, Loop, Spring
from mozzi.model.constraints.rolling import Drive, Guided, Rolling, VelocityRows
from mozzi.model.frames import inertia_key, pose_key
from mozzi.model.shapes import Shape

__all__ = ["GRAVITY", "Closure", "Configuration", "Content", "Frame", "key_of"]

GRAVITY = (0.0, 0.0, -9.81)

Closure = Loop | Distance | Coupling | Rolling | VelocityRows | Drive | Guided
"""What ties the bodies of a tree, besides its joints, by rows of equations."""

Frame = tuple[str, int, SE3]
"""A named frame: its name, the index of the body that carries it (−1 is the world), and its pose
in that body.
"""


@final
@dataclass(frozen=True)
class Configuration:
    """A named configuration: coordinates of some joints; the others are neutral."""

    name: str
    joints: tuple[tuple[str, tuple[float, ...]], ...]

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        return ("Configuration", self.name, self.joints)


@dataclass(frozen=True, eq=False, repr=False)
class Content:
    """The parts of a model, checked by `Builder`.

    ``base_inertia`` is what is fixed to the world. It never moves, and is kept for the record.
    ``drives`` are what laws of time move, while a simulation runs.
    """

    name: str
    _bodies: tuple[Body, ...]
    _frames: tuple[Frame, ...] = ()
    loops: tuple[Loop, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    distances: tuple[Distance, ...] = ()
    gravity: tuple[float, ...] = GRAVITY
    base_inertia: Inertia = field(default_factory=Inertia.zero)
    springs: tuple[Spring, ...] = ()
    shapes: tuple[Shape, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    _configurations: tuple[Configuration, ...] = ()
    contacts: tuple[Contact, ...] = ()
    rollings: tuple[Rolling, ...] = ()
    velocity_rows: tuple[VelocityRows, ...] = ()
    drives: tuple[Drive | Guided, ...] = ()

    def __post_init__(self) -> None:
        for word, part in self.content().items():
            if isinstance(part, list):
                object.__setattr__(self, word, tuple(cast("list[object]", part)))

    def content(self) -> dict[str, object]:
        """The parts by name."""
        return {part.name: getattr(self, part.name) for part in fields(Content)}


def key_of(part: object) -> object:
    """The content of a part as a nested tuple of strings and numbers."""
    if isinstance(part, (tuple, list)):
        return tuple(map(key_of, cast("Sequence[object]", part)))
    if isinstance(part, SE3):
        return pose_key(part)
    if isinstance(part, Inertia):
        return inertia_key(part)
    return getattr(part, "key", part)
