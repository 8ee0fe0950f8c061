"""What a shape feels like: coefficients of its surface, as files give them, and of two together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from mozzi.errors import ModelError
from mozzi.model.frames import as_number, as_vector

__all__ = ["FRICTION", "Surface", "mixed"]

FRICTION = 0.8
"""Coulomb's coefficient where nobody says one."""

HARD = 1e11
"""A stiffness (N/m) from which on a surface is rigid: files write 1e12 for it."""


@final
@dataclass(frozen=True)
class Surface:
    """Coulomb's coefficients along two directions (None: not told), Newton's of restitution,
    stiffness (N/m) and damping (N s/m), None where it is rigid.

    Example:
        >>> from mozzi.model import Surface
        >>> ball = mz.load("ball.urdf", base="free")
        >>> rubber = Surface(friction=(1.2, 1.2), restitution=0.7)
        >>> ball = ball.with_shape("ball", mz.Sphere(0.1), name="tyre", surface=rubber)
        >>> ball.with_ground("tyre").contacts[0].friction
        (1.2, 1.2)
    """

    friction: tuple[float, float] | None = None
    restitution: float = 0.0
    stiffness: float | None = None
    damping: float | None = None

    def __post_init__(self) -> None:
        if self.friction is not None:
            friction = as_vector(self.friction, 2, "surface: friction")
            object.__setattr__(self, "friction", friction)
            if min(friction) < 0.0:
                raise ModelError(f"surface: friction {friction}; give 0 or more")
        restitution = as_number(self.restitution, "surface: restitution")
        if not 0.0 <= restitution <= 1.0:
            raise ModelError(f"surface: restitution {restitution}; give a number from 0 to 1")
        for name in ("stiffness", "damping"):
            given = getattr(self, name)
            value = 0.0 if given is None else as_number(given, f"surface: {name}")
            if value < 0.0:
                raise ModelError(f"surface: {name} {value}; give 0 or more")

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a tuple of numbers."""
        return ("Surface", self.friction, self.restitution, self.stiffness, self.damping)


def mixed(a: Surface | None, b: Surface | None) -> Surface:
    """Of two surfaces that touch, as Gazebo mixes them: the smaller friction and restitution,
    springs in series, dampers added. What comes back is rigid.
    """
    told = [x for x in (a, b) if x is not None]
    if not told:
        return Surface()
    mu = [x.friction for x in told if x.friction is not None]
    friction = (min(x for x, _ in mu), min(y for _, y in mu)) if mu else None
    e = min(x.restitution for x in told)
    soft = [x.stiffness for x in told if x.stiffness is not None and x.stiffness < HARD]
    if e > 0.0 or not soft:
        return Surface(friction, e)
    damping = sum(x.damping or 0.0 for x in told)
    stiffness = soft[0] if len(soft) == 1 else 1.0 / sum(1.0 / k for k in soft)
    return Surface(friction, 0.0, stiffness, damping)
