# pyright: reportConstantRedefinition=false
"""Joints: the motion subgroups of SE(3) that mechanisms are made of, each one a small final class.

A joint moves in its canonical frame, where its axis is z and planar motion is in the x–y plane.
Two constant frames say where that is: ``frame_parent`` in the parent body and ``frame_child`` in
the child body, so that

    T_parent_child(q) = frame_parent @ pose(q) @ frame_child⁻¹ .        Müller, Kinematics (3)

The velocity v of a joint is the body-fixed twist in the basis ``screws(q)``:
Ṫ = T [screws(q) v]^. For motion subgroups this basis is constant, whatever the coordinates q are,
and q̇ = rates(q, v). Joint code is written on scalars.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import ClassVar, Self, TypeAlias, cast

import numpy as np

from mozzi.errors import ModelError, known
from mozzi.lie import SE3, Screws, Twist, Vec3, solve_spd
from mozzi.lie.vec import is_zero
from mozzi.model.frames import IDENTITY, PoseLike, as_number, as_pose
from mozzi.model.joints.axis_screws import zero_screws
from mozzi.program.scalar import Real

__all__ = [
    "JOINT_TYPES",
    "Joint",
    "example_joints",
]

Scalars: TypeAlias = tuple[Real, ...]
#: What decides code, and what a joint is: nested tuples of strings and numbers.
Key: TypeAlias = tuple[object, ...]

JOINT_TYPES: dict[str, type[Joint]] = {}
"""Every joint class by its name. Defining a subclass of `Joint` enrols it, and the law tests with
it.
"""

SOME = 4  # coordinates to see the rank of screws at
DEPEND = 1e-9  # a singular value of screws that depend on one another


class Joint:
    """What all joints share. A joint is immutable; joints with equal numbers are equal.

    Laws, for every joint, with T(q) = pose(q), S = screws(q) and N(q) v = rates(q, v):
    Ṫ = T [S v]^ along q̇ = N v;  Ṡ = screws_rate(q, v);  pose(neutral()) = 1 (of a `Composite` the
    product of the frames between its factors);
    integrate(q, dv) = q + N dv + O(dv²), and difference(q, integrate(q, dv)) = dv near 0.
    Where ``subgroup`` holds, S is constant and pose(integrate(q, dv)) = pose(q) exp(S dv).
    Where ``flat`` holds, integrate(q, dv) = q + dv. With (q′, v′) = coast(q, v, h):
    q′ = integrate(q, h v) + O(h²), v′ = v − h turning_rates(v) + O(h²) = carried(v, v, h), and
    where ``subgroup`` holds, the position of pose(q′) is straight in h.

    Example:
        >>> joint = mz.Revolute("z").between(mz.SE3.translation(0.0, 0.0, 0.4))
        >>> joint.nq, joint.nv, joint.subgroup, joint.screws(joint.neutral()).array()[:, 0].tolist()
        (1, 1, True, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    """

    __slots__ = ("_key", "frame_child", "frame_parent")
    _key: Key
    frame_parent: SE3
    frame_child: SE3
    nq: int
    nv: int
    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    subgroup: ClassVar[bool] = True
    has_axis: ClassVar[bool] = False
    flat: ClassVar[bool] = True
    constant: Screws[Twist]
    options: ClassVar[tuple[str, ...]] = ()
    quaternions: tuple[int, ...] = ()  # where quaternions (x, y, z, w) start in q

    def __init_subclass__(cls, abstract: bool = False) -> None:
        if not abstract:
            JOINT_TYPES[cls.__name__] = cls

    def __init__(self, frame: SE3 = IDENTITY) -> None:
        self._set(frame_parent=frame, frame_child=frame)

    # -- what a joint is -----------------------------------------------------------------------

    def pose(self, q: Sequence[Real]) -> SE3:
        """T(q): the joint frame on the child in the joint frame on the parent.

        Example:
            >>> hinge = mz.Revolute("z")
            >>> hinge.pose([0.0]).matrix().shape
            (4, 4)
        """
        raise NotImplementedError

    def screws(self, q: Sequence[Real]) -> Screws[Twist]:
        """S(q): the body-fixed twists of the unit velocities,  Ṫ = T [S v]^.

        Example:
            >>> hinge = mz.Revolute("z")
            >>> hinge.screws([0.5]).array().shape
            (6, 1)
        """
        return self.constant

    def screws_rate(self, q: Sequence[Real], v: Sequence[Real]) -> Screws[Twist]:
        """Ṡ along the velocity v.

        Args:
            q: the joint's coordinates.
            v: its velocities.

        Example:
            >>> mz.Universal().screws_rate([0.1, 0.2], [1.0, 2.0]).array().shape
            (6, 2)
        """
        return zero_screws(self.nv)

    def rates(self, q: Sequence[Real], v: Sequence[Real]) -> Scalars:
        """q̇ = N(q) v.

        Example:
            >>> hinge = mz.Revolute("z")
            >>> list(hinge.rates([0.5], [2.0]))
            [2.0]
        """
        return tuple(v)

    def velocities(self, q: Sequence[Real], q_dot: Sequence[Real]) -> Scalars:
        """v of the rates q̇ of coordinates: the inverse of `rates`, by least squares; where a joint
        has a closed form, also where `rates` is singular.

        Args:
            q: the joint's coordinates.
            q_dot: their rates.

        Example:
            >>> ball = mz.Spherical()
            >>> q = ball.neutral()
            >>> np.round(ball.velocities(q, ball.rates(q, [1, 2, 3])), 6).tolist()
            [1.0, 2.0, 3.0]
        """
        if self.flat:
            return tuple(q_dot)
        units = (tuple(float(r == c) for r in range(self.nv)) for c in range(self.nv))
        N = [self.rates(q, unit) for unit in units]
        return solve_spd([[_dot(a, b) for b in N] for a in N], [[_dot(a, q_dot) for a in N]])[0]

    def integrate(self, q: Sequence[Real], dv: Sequence[Real]) -> Scalars:
        """q ⊕ dv: the configuration reached from q by the constant velocity dv in unit time.

        Example:
            >>> hinge = mz.Revolute("z")
            >>> list(hinge.integrate([0.5], [1.0]))
            [1.5]
        """
        return tuple(x + dx for x, dx in zip(q, dv, strict=True))

    def difference(self, q0: Sequence[Real], q1: Sequence[Real]) -> Scalars:
        """q1 ⊖ q0: the velocity that reaches q1 (or a q with the same pose) from q0 in unit
        time.

        Example:
            >>> hinge = mz.Revolute("z")
            >>> list(hinge.difference([0.5], [1.5]))
            [1.0]
        """
        return tuple(b - a for a, b in zip(q0, q1, strict=True))

    def increment_rates(self, dv: Sequence[Real], v: Sequence[Real]) -> Scalars:
        """δ̇ at δ = dv for which q ⊕ δ(t) moves with the velocity v: dexp⁻¹ of −δ on a group.

        Example:
            >>> np.round(mz.Spherical().increment_rates([0, 0, 0], [1, 2, 3]), 6).tolist()
            [1.0, 2.0, 3.0]
        """
        return tuple(v)

    def coast(
        self, q: Sequence[Real], v: Sequence[Real], h: Real
    ) -> tuple[Sequence[Real], Sequence[Real]]:
        """(q′, v′) after moving on freely for a time h, straight on: where a joint turns and slides
        together, its velocity (ω, u) is body-fixed, and the constant twist would be a screw motion.
        p′ = p + h R u, R′ = R exp(h ω), u′ = exp(h ω)ᵀ u.

        Args:
            q: the joint's coordinates.
            v: its velocities.
            h: the time.

        Example:
            >>> q, v = mz.Planar("z").coast([0, 0, 0], [1, 0, np.pi], 0.5)
            >>> np.round(q, 6).tolist(), np.round(v, 6).tolist()
            ([0.5, 0.0, 1.570796], [0.0, -1.0, 3.141593])
        """
        return self.integrate(q, [h * x for x in v]), v

    def carried(self, v: Sequence[Real], w: Sequence[Real], h: Real) -> Sequence[Real]:
        """Velocities w as a body sees them that has turned with the velocity v for a time h.

        Args:
            v: the velocities with which it turned.
            w: velocities of the joint.
            h: the time.

        Example:
            >>> np.round(mz.Planar("z").carried([0, 0, np.pi], [1, 0, 0], 0.5), 6).tolist()
            [0.0, -1.0, 0.0]
        """
        return w

    def turning_rates(self, v: Sequence[Real]) -> Scalars:
        """ω × u, in the coordinates of v: v̇ + this is the acceleration of what moves straight on.

        Args:
            v: the joint's velocities.

        Example:
            >>> mz.Planar("z").turning_rates([1.0, 0.0, 2.0])
            (-0.0, 2.0, 0.0)
        """
        return tuple(0.0 for _ in v)

    def spring_forces(
        self, stiffness: Sequence[Real], rest: Sequence[Real], q: Sequence[Real]
    ) -> Scalars:
        """What springs of a joint resist with: the derivative of ½ Σ k δ², δ = q ⊖ rest, along the
        group, (∂δ/∂q)ᵀ K δ. Where q ⊕ dv = q + dv it is K δ.

        Args:
            stiffness: k, one for each velocity.
            rest: the configuration in which they are slack.
            q: the joint's coordinates.

        Example:
            >>> mz.Revolute("z").spring_forces([5.0], [0.5], [1.5])
            (5.0,)
        """
        if all(map(is_zero, stiffness)):
            return (0.0,) * self.nv
        stretch = self.difference(rest, q)
        force = tuple(k * x for k, x in zip(stiffness, stretch, strict=True))
        if self.flat:
            return force
        units = (tuple(float(r == c) for r in range(self.nv)) for c in range(self.nv))
        columns = (self.increment_rates(stretch, unit) for unit in units)
        return tuple(_dot(force, J) for J in columns)

    def normalize(self, q: Sequence[Real]) -> Scalars:
        """The nearest valid configuration: quaternions brought to unit length.

        Args:
            q: the joint's coordinates.

        Example:
            >>> np.asarray(mz.Spherical().normalize([0, 0, 0, 2.0]), float).tolist()
            [0.0, 0.0, 0.0, 1.0]
        """
        return tuple(q)

    def neutral(self) -> tuple[float, ...]:
        """The configuration whose pose is the identity; of a `Composite`, that of its factors.

        Example:
            >>> hinge = mz.Revolute("z")
            >>> list(hinge.neutral())
            [0.0]
        """
        return (0.0,) * self.nq

    def random(self, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> Scalars:
        """Configurations, one array of shape ``batch`` for each coordinate: angles in [−π, π),
        lengths in [−1, 1).

        Args:
            rng: a seed or NumPy generator.
            batch: leading axes.

        Example:
            >>> hinge = mz.Revolute("z")
            >>> len(hinge.random(np.random.default_rng(0), (5,)))
            1
        """
        spans = (math.pi if name in ANGLES else 1.0 for name in self.q_names)
        return tuple(cast("Real", rng.uniform(-span, span, batch)) for span in spans)

    def parameters(self) -> Scalars:
        """The continuous parameters besides the two frames, such as a pitch.

        Example:
            >>> mz.Screw("z", pitch=0.1).parameters()
            (0.1,)
        """
        return ()

    def with_parameters(self, parameters: Sequence[Real]) -> Self:
        """The same joint with other parameters, which may be traced scalars.

        Example:
            >>> mz.Screw("z", pitch=0.1).with_parameters([0.2]).parameters()
            (0.2,)
        """
        return self

    @property
    def mobility(self) -> int:
        """In how many directions it moves: nv, or fewer where velocities of it move alike.

        Example:
            >>> ball = mz.Spherical()
            >>> rod = mz.Composite(ball, ball.between((1.0, 0.0, 0.0)))  # turns about itself
            >>> rod.nv, rod.mobility
            (6, 5)
        """
        return self.nv if self.subgroup or not self.nv else _rank(self)

    @property
    def fitted(self) -> bool:
        """Whether its coordinates are searched for where it closes a loop: no closed form of them
        is known. Those of a subgroup that turns about z, about a point or not at all are.

        Example:
            >>> mz.Revolute("x").fitted, mz.Composite(mz.Revolute("x"), mz.Prismatic("x")).fitted
            (False, True)
        """
        own: Screws[Twist] | None = getattr(self, "constant", None) if self.subgroup else None
        where = None if own is None else own.units()
        return where is None or [k for k in where if k < 3] not in ([], [2], [0, 1, 2])

    # -- where a joint is ----------------------------------------------------------------------

    def between(self, S_parent: PoseLike = None, S_child: PoseLike = None) -> Self:
        """The joint moved to the frames S_parent on the parent and S_child on the child.

        Both frames of the joint are multiplied from the left, so that  T(q) becomes  S_parent T(q)
        S_child⁻¹.

        Example:
            >>> elbow = mz.Revolute("y").between(mz.SE3.translation(0, 0, -1))
            >>> elbow.motion([0.0]).matrix()[2, 3].item()
            -1.0
        """
        what, changes = type(self).__name__, dict[str, SE3]()
        if S_parent is not None:
            T = as_pose(S_parent, f"{what}: S_parent")
            changes["frame_parent"] = T @ self.frame_parent
        if S_child is not None:
            T = as_pose(S_child, f"{what}: S_child")
            changes["frame_child"] = T @ self.frame_child
        return self._with(**changes)

    def with_frames(self, frame_parent: PoseLike = None, frame_child: PoseLike = None) -> Self:
        """The joint with these two frames instead of its own.

        Args:
            frame_parent: pose of the joint's frame in the parent.
            frame_child: pose of the joint's frame in the child.

        Example:
            >>> up = mz.Revolute().with_frames(mz.SE3.translation(0, 0, 1))
            >>> up.motion([0.0]).matrix()[2, 3].item()
            1.0
        """
        what = type(self).__name__
        return self._with(
            frame_parent=as_pose(frame_parent, f"{what}: frame_parent"),
            frame_child=as_pose(frame_child, f"{what}: frame_child"),
        )

    def at(self, frame_parent: SE3, frame_child: SE3) -> Self:
        """The joint with these two frames, taken as they are.

        Args:
            frame_parent: pose of the joint's frame in the parent.
            frame_child: pose of the joint's frame in the child.

        Example:
            >>> one = mz.SE3.identity()
            >>> mz.Revolute().at(one, one).motion([0.0]).matrix().shape
            (4, 4)
        """
        return self._with(frame_parent=frame_parent, frame_child=frame_child)

    def motion(self, q: Sequence[Real]) -> SE3:
        """T_parent_child(q), frames included.

        Example:
            >>> mz.Revolute("z").motion([np.pi]).matrix()[0, 0].item()
            -1.0
        """
        return self.frame_parent @ self.pose(q) @ self.frame_child.inverse()

    # -- data ----------------------------------------------------------------------------------

    @property
    def kind(self) -> Key:
        """What decides the code of this joint: its class and options. Joints of one kind differ by
        numbers only.
        """
        return (type(self).__name__, *(getattr(self, name) for name in self.options))

    @property
    def code(self) -> tuple[type[Joint], ...]:
        """The classes that its code is in: what its key does not tell of joints that users add."""
        return (type(self),)

    @property
    def key(self) -> Key:
        """The content of the joint as a nested tuple of strings and numbers."""
        try:
            return self._key
        except AttributeError:
            frames = self.frame_parent.flatten(), self.frame_child.flatten()
            self._set(_key=(self.kind, self.parameters(), *frames))
            return self._key

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _state(self) -> dict[str, object]:
        names = [name for cls in type(self).__mro__ for name in getattr(cls, "__slots__", ())]
        return {
            name: getattr(self, name) for name in names if name != "_key" and hasattr(self, name)
        }

    def _with(self, **changes: object) -> Self:
        new = object.__new__(type(self))
        new._set(**self._state() | changes)
        return new

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make another joint")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make another joint")

    def __reduce__(self) -> tuple[Callable[..., Joint], tuple[object, ...]]:
        return (_restore, (type(self), self._state()))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Joint) and (self.key, self.code) == (other.key, other.code)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        words = [f"{name}={getattr(self, name)!r}" for name in self.options]
        if self.has_axis:
            z = (float(x) for x in self.frame_child.R.rotate(Vec3(0.0, 0.0, 1.0)))
            words.insert(0, f"axis=({', '.join(f'{x:.6g}' for x in z)})")
        words += [f"{x:.6g}" for x in self.parameters()]
        return f"{type(self).__name__}({', '.join(words)})"

    @classmethod
    def examples(cls) -> tuple[Joint, ...]:
        """Joints of this class that tests try its laws on.

        Example:
            >>> len(mz.Revolute.examples()) > 0
            True
        """
        return (cls(),)


def _dot(a: Sequence[Real], b: Sequence[Real]) -> Real:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0.0)


@lru_cache(maxsize=256)
def _rank(joint: Joint) -> int:
    """The rank of the screws of a joint of numbers, the largest of some coordinates."""
    rng = np.random.default_rng(0)
    some = [joint.screws(joint.random(rng)).array() for _ in range(SOME)]
    length = max(1.0, *(float(np.abs(S[3:]).max()) for S in some))
    return max(int(np.linalg.matrix_rank([*S[:3], *(S[3:] / length)], DEPEND)) for S in some)


def _restore(cls: type[Joint], state: dict[str, object]) -> Joint:
    new = object.__new__(cls)
    for name, value in state.items():
        object.__setattr__(new, name, value)
    return new


ANGLES = frozenset(("angle", "angle_1", "angle_2", "angle_x", "angle_y", "angle_z"))


def example_joints() -> dict[str, Joint]:
    """One or more joints of every registered class, by a label."""
    return {
        f"{name}-{k}": joint
        for name, cls in sorted(JOINT_TYPES.items())
        for k, joint in enumerate(cls.examples())
    }


def as_pitch(pitch: float | None, what: str) -> float:
    """A finite pitch."""
    if pitch is None:
        raise ModelError(f"{what}: no pitch; give pitch=, the translation per radian")
    return as_number(pitch, f"{what}: pitch")


def check_coordinates(coordinates: str, kinds: tuple[str, ...], what: str) -> str:
    """One of these kinds of coordinates."""
    if not isinstance(cast(object, coordinates), str) or coordinates not in kinds:
        raise ModelError(
            f"{what}: coordinates {coordinates!r}; choose one of {known(coordinates, kinds)}"
        )
    return coordinates
