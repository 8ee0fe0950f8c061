"""Bodies of a model, and what is attached to their joints."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, SupportsFloat, TypeAlias, cast, final

from numpy.typing import ArrayLike

from mozzi.errors import ModelError, known
from mozzi.model.frames import LARGEST, inertia_key

if TYPE_CHECKING:
    from mozzi.lie import Inertia
    from mozzi.model.joints.joint import Joint

__all__ = ["Body", "JointDynamics"]

INFINITE = {"lower": -math.inf, "upper": math.inf, "velocity": math.inf, "effort": math.inf}


JointData: TypeAlias = float | ArrayLike | tuple[ArrayLike, ArrayLike] | None
"""A number for all degrees of freedom of a joint, one for each, or a pair of limits."""


@final
@dataclass(frozen=True)
class JointDynamics:
    """What acts in a joint besides its kinematics, one number per coordinate or per degree of
    freedom.

    ``lower ≤ q ≤ upper`` (length nq), ``|v| ≤ velocity``, ``|τ| ≤ effort`` (length nv; infinite
    where there is no limit). The joint resists with  damping·v + friction·sign(v) + stiffness·(q ⊖
    rest), and a rotor adds ``armature`` to the diagonal of the mass matrix.

    Example:
        >>> joint = mz.load("arm.urdf").body("link_1").dynamics
        >>> joint.lower, joint.upper, joint.effort, joint.damping
        ((-2.0,), (2.0,), (50.0,), (0.1,))
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity: tuple[float, ...]
    effort: tuple[float, ...]
    damping: tuple[float, ...]
    friction: tuple[float, ...]
    armature: tuple[float, ...]
    stiffness: tuple[float, ...]
    rest: tuple[float, ...]

    @classmethod
    def of(cls, joint: Joint, what: str = "joint", **given: JointData) -> JointDynamics:
        """Joint data from what is given: a number for all degrees of freedom, or one number for
        each.

        Args:
            joint: the joint that they are data of.
            what: the name of the joint, for messages.
            given: the fields; ``limits=(lower, upper)`` instead of ``lower`` and ``upper``.

        Example:
            >>> mz.JointDynamics.of(mz.Revolute(), lower=-1.0, upper=1.0, damping=0.1).damping
            (0.1,)
        """
        limits = given.pop("limits", None)
        if limits is not None:
            if given.get("lower") is not None or given.get("upper") is not None:
                raise ModelError(f"{what}: limits and lower/upper are both given; give one of them")
            try:
                given["lower"], given["upper"] = cast("tuple[JointData, JointData]", limits)
            except (TypeError, ValueError):
                raise ModelError(f"{what}: limits {limits!r}; give (lower, upper)") from None
        unknown = set(given) - {field.name for field in fields(cls)}
        if unknown:
            wrong, names = min(unknown), [field.name for field in fields(cls)]
            raise ModelError(
                f"{what}: no joint data {wrong!r}; there are {known(wrong, ['limits', *names])}"
            )
        values: dict[str, tuple[float, ...]] = {}
        for field in fields(cls):
            name = field.name
            size = joint.nq if name in ("lower", "upper", "rest") else joint.nv
            x = given.get(name)
            if x is None:
                default = INFINITE.get(name, 0.0)
                values[name] = tuple(joint.neutral()) if name == "rest" else (default,) * size
            else:
                values[name] = _numbers(x, size, f"{what}: {name}", infinite=name in INFINITE)
        for k in joint.quaternions:
            part = slice(k, k + 4)
            if not all(map(math.isinf, values["lower"][part] + values["upper"][part])):
                raise ModelError(f"{what}: limits on a quaternion; leave its four limits infinite")
            if not any(values["rest"][part]):
                raise ModelError(f"{what}: rest has a zero quaternion; give a non-zero one")
        if joint.quaternions:
            values["rest"] = tuple(map(float, joint.normalize(values["rest"])))
        for low, high in zip(values["lower"], values["upper"], strict=True):
            if low > high:
                raise ModelError(f"{what}: limits reversed, lower {low} > upper {high}; swap them")
        for name in ("velocity", "effort", "damping", "friction", "armature", "stiffness"):
            if min(values[name], default=0.0) < 0.0:
                raise ModelError(f"{what}: {name} {min(values[name])} is negative; give 0 or more")
        return cls(**values)

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers."""
        return tuple(getattr(self, field.name) for field in fields(self))


def _numbers(x: JointData, size: int, what: str, *, infinite: bool) -> tuple[float, ...]:
    try:
        if hasattr(x, "__iter__"):
            values = tuple(float(value) + 0.0 for value in cast("Iterable[SupportsFloat]", x))
        else:
            values = (float(cast("SupportsFloat", x)) + 0.0,) * size
    except (TypeError, ValueError):
        raise ModelError(f"{what}: {x!r} is no number; give a number or {size} numbers") from None
    if len(values) != size:
        raise ModelError(f"{what}: {len(values)} numbers where the joint has {size}; give {size}")
    for value in values:
        if math.isnan(value) or (math.isinf(value) and not infinite):
            raise ModelError(f"{what}: {value} is not finite; give a finite number")
        if not infinite and abs(value) > LARGEST:
            raise ModelError(f"{what}: {value:g} is too large; give {LARGEST:g} at most")
    return values


@final
@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body and the joint that connects it to its parent (the world is parent −1).

    The pose of the body in its parent is  joint.frame_parent · joint.pose(q) ·
    joint.frame_child⁻¹, and ``inertia`` is given in the body's own frame.

    Example:
        >>> body = mz.load("arm.urdf").body("link_2")
        >>> body.parent, body.joint_name, body.joint.nv, body.inertia.mass
        (0, 'joint_2', 1, 1.5)
    """

    name: str
    parent: int
    joint: Joint
    inertia: Inertia
    dynamics: JointDynamics
    joint_name: str

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        head = self.name, self.parent, self.joint_name, self.joint.key
        return (*head, inertia_key(self.inertia), self.dynamics.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)
