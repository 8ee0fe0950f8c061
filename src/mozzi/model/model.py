"""A mechanism as immutable data."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from mozzi.errors import ConfigurationError, ModelError, UnknownNameError, known
from mozzi.lie import SE3
from mozzi.model import edit
from mozzi.model.body import Body, JointData
from mozzi.model.closeness import same
from mozzi.model.constraints.contact import (
    contact_of,
    with_cone,
    with_contact,
    with_ground,
    with_rope,
    without_contact,
)  # fmt: skip
from mozzi.model.constraints.loop import Terms
from mozzi.model.constraints.mimic_coordinates import coupled, followed
from mozzi.model.constraints.rolling import RowFunction, rolling_of
from mozzi.model.content import GRAVITY, Closure, Frame, key_of
from mozzi.model.derived import Derived
from mozzi.model.frames import IDENTITY, Axis, InertiaLike, PoseLike, VectorLike, as_vector
from mozzi.model.parameters.physical import singular_joints
from mozzi.types import Array, ArrayLike, Seed

if TYPE_CHECKING:
    from mozzi.model.joints.joint import Joint
    from mozzi.model.shapes import Geometry, Role, Shape

__all__ = ["GRAVITY", "WORLD", "Frame", "Model"]

WORLD = -1
"""The index of the inertial frame where a body index is expected."""


@final
class Model(Derived):
    """A mechanism: bodies in a tree of joints, frames and shapes on them, loops that close the
    tree.

    Body 0 is the first moving body, the world is parent −1, and parents come before their
    children. q and v are ordered as the bodies are. Models are immutable and picklable; models
    with equal content are equal, have the same `digest`, and hash alike. Make one with `Builder`,
    a loader or `mozzi.model.generate.mechanisms`.
    """

    # -- parts ---------------------------------------------------------------------------------

    def index(self, body: str | int) -> int:
        """The index of a body given by name or index."""
        if isinstance(body, str):
            try:
                return self._index[body]
            except KeyError:
                raise ModelError(
                    f"model {self.name!r} has no body {body!r}; it has {known(body, self.bodies)}"
                ) from None
        if not 0 <= body < self.nb:
            raise ModelError(
                f"model {self.name!r} has no body {body}; its bodies are 0 to {self.nb - 1}"
            )
        return int(body)

    def body(self, body: str | int) -> Body:
        """A body, by name or index."""
        return self._bodies[self.index(body)]

    def joint(self, joint: str) -> Joint:
        """A joint, by name."""
        return self._bodies[self.joint_index(joint)].joint

    def joint_index(self, joint: str) -> int:
        """The index of the body that a joint moves, by the joint's name."""
        try:
            return self._joint_index[joint]
        except KeyError:
            there = known(joint, self.joint_names)
            raise ModelError(
                f"model {self.name!r} has no joint {joint!r}; it has {there}"
            ) from None

    def frame(self, name: str) -> tuple[int, SE3]:
        """Where a frame is: the index of its body (−1: the world) and its pose in that body's
        frame.

        Every body is a frame as well, and ``"world"`` is the inertial frame unless something else
        has that name.
        """
        if name in self._frame_index:
            return self._frame_index[name][1:]
        if name in self._index:
            return self._index[name], IDENTITY
        if name == "world":
            return WORLD, IDENTITY
        there = known(name, self.frames)
        raise ModelError(f"model {self.name!r} has no frame {name!r}; it has {there}")

    def shape(self, name: str) -> Shape:
        """A shape, by name."""
        for shape in self.shapes:
            if shape.name == name:
                return shape
        names = tuple(shape.name for shape in self.shapes)
        raise ModelError(f"model {self.name!r} has no shape {name!r}; it has {known(name, names)}")

    def children(self, body: str | int | None = None) -> tuple[int, ...]:
        """The bodies that hang on a body (on the world, for None or −1)."""
        i = WORLD if body is None or body == WORLD else self.index(body)
        return tuple(k for k, parent in enumerate(self.parents) if parent == i)

    def subtree(self, body: str | int) -> tuple[int, ...]:
        """A body and all that hangs on it."""
        i = self.index(body)
        inside = {i}
        for k in range(i + 1, self.nb):
            if self.parents[k] in inside:
                inside.add(k)
        return tuple(sorted(inside))

    @property
    def mass(self) -> float:
        """The mass of all moving bodies."""
        return sum(float(body.inertia.m) for body in self._bodies)

    def singular_joints(self, q: ArrayLike | None = None) -> tuple[str, ...]:
        """The joints with a motion that nothing resists: see `mozzi.model.parameters.physical`.

        Args:
            q: (nq,), a configuration; None: the neutral one.
        """
        return singular_joints(self, q)

    @property
    def q_names(self) -> tuple[str, ...]:
        """A name for every entry of q: the joint's, followed by the coordinate's where it has
        several.
        """
        return tuple(name for body in self._bodies for name in _dof_names(body, body.joint.q_names))

    @property
    def v_names(self) -> tuple[str, ...]:
        """A name for every entry of v."""
        return tuple(name for body in self._bodies for name in _dof_names(body, body.joint.v_names))

    @property
    def closures(self) -> tuple[Closure, ...]:
        """What ties the tree: loops, then distances, couplings, rolling contacts, velocity rows and
        driven joints.
        """
        tree = *self.loops, *self.distances, *self.couplings
        return (*tree, *self.rollings, *self.velocity_rows, *self.drives)

    @property
    def row_count(self) -> int:
        """m: how many equations the closures stand for; see `loop_rows`."""
        return sum(part.rows for part in self.closures)

    def __iter__(self):
        return iter(self._bodies)

    def __len__(self) -> int:
        return self.nb

    # -- configurations ------------------------------------------------------------------------

    def neutral(self) -> Array:
        """The configuration (nq,) in which every joint has the pose 1."""
        return np.array([x for body in self._bodies for x in body.joint.neutral()], dtype=float)

    @property
    def configurations(self) -> Mapping[str, Array]:
        """Named configurations (nq,): start poses, keyframes and group states of the file.

        What a state does not name is neutral, or follows by couplings from what it names.
        """
        found = _Configurations(self.name)
        for state in self._configurations:
            q = self.neutral()
            for joint, values in state.joints:
                q[self.q_slices[joint]] = values
            found[state.name] = coupled(self, q, [joint for joint, _ in state.joints])
        return MappingProxyType(found)

    def random_configuration(
        self, rng: Seed = None, batch: int | tuple[int, ...] = (), *, closed: bool = True
    ) -> Array:
        """Configurations (*batch, nq), within the limits of the joints where they are finite.

        ``rng`` is a NumPy generator or a seed. Unlimited angles are uniform on the circle,
        quaternions uniform on the rotations, and unlimited lengths uniform in [−1, 1). Couplings
        are satisfied and loops are closed from there, unless ``closed`` is False.

        Raises:
            LoopError: no closed configuration within the limits was found.
        """
        rng = np.random.default_rng(rng)
        batch = (batch,) if isinstance(batch, (int, np.integer)) else tuple(batch)
        if closed and (self.loops or self.distances or self.rollings):
            from mozzi.algorithms.loops.random import random_closed

            return random_closed(self, rng, batch)
        if closed and self.couplings:
            return self._random_coupled(rng, batch)
        q = np.empty((*batch, self.nq))
        k = 0
        for body in self._bodies:
            dynamics = body.dynamics
            for x, low, high in zip(
                body.joint.random(rng, batch), dynamics.lower, dynamics.upper, strict=True
            ):
                if np.isfinite(low) or np.isfinite(high):
                    span = high - low if np.isfinite(high - low) else 1.0
                    u = rng.random(batch) * span
                    x = low + u if np.isfinite(low) else high - u
                q[..., k] = x
                k += 1
        return q

    def _random_coupled(self, rng: np.random.Generator, batch: tuple[int, ...]) -> Array:
        """Followers from leaders, drawn again where a follower leaves its limits; the nearest ones
        where that does not end.
        """
        count = math.prod(batch)
        out, left = np.empty((count, self.nq)), np.arange(count)
        for _ in range(20):
            tried = followed(self, self.random_configuration(rng, len(left), closed=False))
            good = np.isfinite(tried).all(axis=-1)
            out[left[good]] = tried[good]
            left = left[~good]
        if len(left):
            rest = self.random_configuration(rng, len(left), closed=False)
            out[left] = coupled(self, rest)
        return out.reshape(*batch, self.nq)

    @property
    def quaternions(self) -> tuple[int, ...]:
        """Where the unit quaternions (x, y, z, w) start in q."""
        joints = zip(self._bodies, self.q_offsets, strict=False)
        return tuple(int(start) + k for body, start in joints for k in body.joint.quaternions)

    def check_configuration(self, q: ArrayLike) -> Array:
        """q as an array of floats, if it is a configuration of this model: nq finite numbers, unit
        quaternions.

        A quaternion within 1e-6 of unit length is accepted; `normalize` makes it exact.
        """
        try:
            q = np.asarray(q, dtype=float)
        except (TypeError, ValueError):
            raise ConfigurationError(
                f"model {self.name!r}: q is {q!r}; give nq = {self.nq} numbers"
            ) from None
        self._check_shape(q)
        if not np.isfinite(q).all():
            *sample, k = map(int, np.argwhere(~np.isfinite(q))[0])
            raise ConfigurationError(
                f"model {self.name!r}: q[{k}] of {self.q_names[k]!r} is not finite"
                f"{_in_sample(sample)}; give finite numbers"
            )
        for body, start in zip(self._bodies, self.q_offsets, strict=False):
            for k in body.joint.quaternions:
                norm = np.linalg.norm(q[..., start + k : start + k + 4], axis=-1)
                if np.any(off := abs(norm - 1.0) > 1e-6):
                    sample = tuple(map(int, np.argwhere(off)[0]))
                    raise ConfigurationError(
                        f"joint {body.joint_name!r}: quaternion of length {norm[sample]:.9g}"
                        f"{_in_sample(sample)}; scale it to length 1, as model.normalize(q) does "
                        "(a zero quaternion is no rotation)"
                    )
        return q

    def _check_shape(self, q: np.ndarray) -> None:
        if q.ndim == 0 or q.shape[-1] != self.nq:
            raise ConfigurationError(
                f"model {self.name!r}: q has shape {q.shape}; "
                f"give nq = {self.nq} numbers on the last axis"
            )

    def normalize(self, q: ArrayLike) -> Array:
        """q with its quaternions scaled to unit length."""
        q = np.array(q, dtype=float)
        self._check_shape(q)
        for body, start in zip(self._bodies, self.q_offsets, strict=False):
            for k in body.joint.quaternions:
                part = q[..., start + k : start + k + 4]
                norm = np.linalg.norm(part, axis=-1, keepdims=True)
                if not np.all(norm > 0.0):
                    raise ConfigurationError(
                        f"joint {body.joint_name!r}: a zero quaternion is no rotation; "
                        "give a non-zero one"
                    )
                part /= norm
        return q

    # -- changed copies ------------------------------------------------------------------------

    def with_name(self, name: str) -> Model:
        """A copy with another name."""
        return self._replace(name=str(name))

    def with_gravity(self, gravity: Iterable[float]) -> Model:
        """A copy with another acceleration of gravity, in the inertial frame."""
        return self._replace(gravity=as_vector(gravity, 3, f"model {self.name!r}: gravity"))

    def _name(self, body: str | int | None) -> str | None:
        """The name by which the builder knows a body, a frame or the world."""
        if body is None or isinstance(body, str):
            return body
        return None if body == WORLD else self.bodies[self.index(body)]

    def with_body(self, name: str, parent: str | int | None, *args: Any, **options: Any) -> Model:
        """A copy with one more body; the arguments are those of `Builder.add`.

        Args:
            name: its name.
            parent: the body that carries it; None is the world.
            args: further arguments, by position.
            options: further arguments, by name.
        """
        return (
            edit.builder(self).add(name, self._name(parent), *args, **options).build(physical=False)
        )

    def without_body(self, name: str) -> Model:
        """A copy without a body and what hangs on it: bodies, frames, loops, springs and
        couplings that touch them.

        Args:
            name: its name.
        """
        return edit.without_body(self, name)

    def with_frame(self, name: str, body: str | int | None, placement: PoseLike = None) -> Model:
        """A copy with one more frame, fixed to a body (or another frame) at a placement.

        Args:
            name: its name.
            body: its name or number; None is the world.
            placement: pose in that frame: SE3 or (4, 4); None: the frame itself.
        """
        return edit.builder(self).frame(name, self._name(body), placement).build(physical=False)

    def with_loop(
        self,
        name: str,
        body_a: str | int | None,
        body_b: str | int | None,
        joint: Joint,
        placement_a: PoseLike = None,
        placement_b: PoseLike = None,
    ) -> Model:
        """A copy with one more loop: ``joint`` connects a frame on body a to a frame on body b
        (see `Loop`).

        Args:
            name: its name.
            body_a: the first body: its name or number; None is the world.
            body_b: the second body, likewise.
            joint: the joint, such as Revolute("z").
            placement_a: pose of the joint's frame on body a; None: the body's own.
            placement_b: pose of the joint's frame on body b, likewise.
        """
        ends = self._name(body_a), self._name(body_b)
        changed = edit.builder(self).loop(name, *ends, joint, placement_a, placement_b)
        return changed.build(physical=False)

    def with_distance(
        self,
        name: str,
        body_a: str | int | None,
        body_b: str | int | None,
        point_a: VectorLike = (0, 0, 0),
        point_b: VectorLike = (0, 0, 0),
        length: float = 1.0,
    ) -> Model:
        """A copy in which two points of two bodies keep a distance (see `Distance`).

        Args:
            name: its name.
            body_a: the first body: its name or number; None is the world.
            body_b: the second body, likewise.
            point_a: (3,), in the frame of body a.
            point_b: (3,), in the frame of body b.
            length: in metres; of a spring, at rest.
        """
        ends = self._name(body_a), self._name(body_b)
        changed = edit.builder(self).distance(name, *ends, point_a, point_b, length)
        return changed.build(physical=False)

    def with_spring(
        self,
        name: str,
        body_a: str | int | None,
        body_b: str | int | None,
        point_a: VectorLike = (0, 0, 0),
        point_b: VectorLike = (0, 0, 0),
        stiffness: float = 0.0,
        damping: float = 0.0,
        length: float = 0.0,
    ) -> Model:
        """A copy with one more spring and damper between two points (see `Spring`).

        Args:
            name: its name.
            body_a: the first body: its name or number; None is the world.
            body_b: the second body, likewise.
            point_a: (3,), in the frame of body a.
            point_b: (3,), in the frame of body b.
            stiffness: in N/m.
            damping: in N s/m.
            length: in metres; of a spring, at rest.
        """
        ends = self._name(body_a), self._name(body_b)
        changed = edit.builder(self)
        changed.spring(name, *ends, point_a, point_b, stiffness, damping, length)
        return changed.build(physical=False)

    def with_coupling(self, name: str, terms: Terms, offset: float = 0.0) -> Model:
        """A copy with one more linear relation between joint coordinates (see `Coupling`).

        Args:
            name: its name.
            terms: {joint or (joint, number of a coordinate): coefficient}.
            offset: what the sum is.
        """
        return edit.builder(self).coupling(name, terms, offset).build(physical=False)

    def with_shape(
        self,
        body: str | int | None,
        geometry: Geometry,
        placement: PoseLike = None,
        name: str | None = None,
        role: Role = "both",
        color: Iterable[float] | None = None,
    ) -> Model:
        """A copy with one more shape, fixed to a body, a frame or the world (see `Shape`).

        Args:
            body: its name or number; None is the world.
            geometry: such as Sphere(0.1).
            placement: pose in that frame: SE3 or (4, 4); None: the frame itself.
            name: its name.
            role: "visual", "collision" or "both".
            color: (red, green, blue, alpha), from 0 to 1.
        """
        changed = edit.builder(self)
        changed.shape(self._name(body), geometry, placement, name, role, color)
        return changed.build(physical=False)

    def without_shape(self, name: str) -> Model:
        """A copy without a shape.

        Args:
            name: its name.
        """
        self.shape(name)
        return self._replace(
            shapes=tuple(x for x in self.shapes if x.name != name),
            contacts=edit.contacts_without(self, {name}),
            rollings=edit.rollings_without(self, {name}),
        )

    def with_contact(
        self, name: str, shape_a: str, shape_b: str,
        friction: float | tuple[float, float] = 0.8, restitution: float = 0.0,
        stiffness: float | None = None, damping: float | None = None,
    ) -> Model:  # fmt: skip
        """A copy in which two collision shapes may touch (see `Contact`).

        Planes, boxes and height fields are met by the points of the other shape; a friction of two
        numbers is that along the axes of `contact_frames` (x, y of a plane).

        Args:
            name: its name.
            shape_a: name of the first collision shape.
            shape_b: name of the second one.
            friction: Coulomb's coefficient.
            restitution: Newton's coefficient, 0 to 1.
            stiffness: of a compliant contact, in N/m; None: it is rigid.
            damping: of a compliant contact, in N s/m.
        """
        law = friction, restitution, stiffness, damping
        return with_contact(self, contact_of(self, name, shape_a, shape_b, *law))

    def with_rope(
        self, name: str, body_a: str | int | None, body_b: str | int | None,
        point_a: VectorLike = (0, 0, 0), point_b: VectorLike = (0, 0, 0), length: float = 1.0,
        restitution: float = 0.0, stiffness: float | None = None, damping: float | None = None,
    ) -> Model:  # fmt: skip
        """A copy in which two points of two bodies are never farther apart than a length: a rope,
        which pulls and does not push. It is one of ``model.contacts``.

        Args:
            name: its name.
            body_a: the first body: its name or number; None is the world.
            body_b: the second body, likewise.
            point_a: (3,), in the frame of body a.
            point_b: (3,), in the frame of body b.
            length: in metres.
            restitution: Newton's coefficient where it gets taut, 0 to 1.
            stiffness: of an elastic rope, in N/m; None: it does not stretch.
            damping: of an elastic rope, in N s/m.
        """
        ends = self._name(body_a), self._name(body_b)
        law = restitution, stiffness, damping
        return with_rope(self, name, ends, (point_a, point_b), length, *law)

    def with_cone(
        self, name: str, body_a: str | int | None, body_b: str | int | None,
        axis_a: Axis = (0, 0, 1), axis_b: Axis = (0, 0, 1), angle: float = 1.0,
        restitution: float = 0.0,
    ) -> Model:  # fmt: skip
        """A copy in which an axis of a body stays in a cone about an axis of another: the limit of
        a ball joint. It is one of ``model.contacts``; its forces are moments, its gap an angle.

        Args:
            name: its name.
            body_a: the first body: its name or number; None is the world.
            body_b: the second body, likewise.
            axis_a: (3,), in the frame of body a.
            axis_b: (3,), in the frame of body b.
            angle: half the opening of the cone, in radians.
            restitution: Newton's coefficient at the limit, 0 to 1.
        """
        ends = self._name(body_a), self._name(body_b)
        return with_cone(self, name, ends, (axis_a, axis_b), angle, restitution)

    def without_contact(self, name: str) -> Model:
        """A copy in which a contact is left out.

        Args:
            name: its name.
        """
        return without_contact(self, name)

    def with_rolling(
        self, name: str, shape_a: str, shape_b: str, *, inside: bool = False
    ) -> Model:
        """A copy in which two shapes touch and roll on each other without slip (see `Rolling`): a
        sphere, disc, torus or ellipsoid on a plane, or on the round shape of another body.

        The contact is kept: it pulls as well as it pushes.

        Args:
            name: its name.
            shape_a: name of the shape that rolls.
            shape_b: name of the shape it rolls on; its frame has the directions of the rows.
            inside: whether shape b is hollow, a bowl or a pipe that shape a rolls in.
        """
        made = rolling_of(self, name, shape_a, shape_b, inside)
        return self._replace(rollings=(*self.rollings, made))

    def with_velocity_rows(self, name: str, function: RowFunction) -> Model:
        """A copy whose velocities satisfy A(q) v = 0, rows that have no position part: knife edges,
        skates, wheels of one's own (see `VelocityRows`).

        Args:
            name: its name.
            function: function(model, q) that returns A (m, nv), or one row (nv,), from traced
                scalars q (nq,); it may call algorithms such as `jacobian`.
        """
        from mozzi.algorithms.constraints.rows.velocity_rows import velocity_rows_of

        made = velocity_rows_of(self, name, function)
        return self._replace(velocity_rows=(*self.velocity_rows, made))

    def without_rolling(self, name: str) -> Model:
        """A copy without a rolling contact.

        Args:
            name: its name.
        """
        return self._without("rollings", name)

    def without_velocity_rows(self, name: str) -> Model:
        """A copy without rows that a user wrote.

        Args:
            name: its name.
        """
        return self._without("velocity_rows", name)

    def with_ground(
        self, shapes: str | Sequence[str] | None = None, height: float = 0.0,
        friction: float | tuple[float, float] = 0.8, restitution: float = 0.0,
    ) -> Model:  # fmt: skip
        """A copy that stands on a horizontal plane z = height of the world, which the named
        collision shapes touch (all that move, unless told). The contacts are called
        ``"ground:<shape>"``.

        Args:
            shapes: names of collision shapes; None: all that are not fixed to the world.
            height: of the plane, in metres.
            friction: Coulomb's coefficient.
            restitution: Newton's coefficient, 0 to 1.
        """
        return with_ground(self, shapes, height, friction, restitution)

    def without_coupling(self, name: str) -> Model:
        """A copy without a coupling: the joints it couples (mimic joints, gears) move alone.

        Args:
            name: its name.
        """
        return self._without("couplings", name)

    def without_loop(self, name: str) -> Model:
        """A copy without a loop, or without a rod that keeps a distance.

        Args:
            name: its name.
        """
        rods = {rod.name for rod in self.distances}
        return self._without("distances" if name in rods else "loops", name)

    def without_spring(self, name: str) -> Model:
        """A copy without a spring between bodies.

        Args:
            name: its name.
        """
        return self._without("springs", name)

    def _without(self, kind: str, name: str) -> Model:
        parts = getattr(self, kind)
        if name not in {part.name for part in parts}:
            there = known(name, tuple(part.name for part in parts)) if parts else "none"
            sort = kind[:-1].replace("_", " ")
            raise ModelError(f"model {self.name!r} has no {sort} {name!r}; it has {there}")
        return self._replace(**{kind: tuple(part for part in parts if part.name != name)})

    def with_inertia(self, body: str | int, inertia: InertiaLike) -> Model:
        """A copy in which a body has another inertia."""
        return edit.with_inertia(self, body, inertia)

    def with_parameters(self, numbers: Mapping[str, float]) -> Model:
        """A copy with other numbers of named parameters, as `sensitivity` names them.

        Args:
            numbers: by name, such as {"link_3.mass": 2.0}.
        """
        from mozzi.model.parameters.named import check_numbers, vary

        return vary(self, tuple(numbers), check_numbers(self, tuple(numbers), [*numbers.values()]))

    def with_dynamics(self, joint: str, **data: JointData) -> Model:
        """A copy in which a joint has other data: ``limits``, ``damping``, ... as `JointDynamics`
        names them.
        """
        return edit.with_dynamics(self, joint, **data)

    def lock(
        self, joints: str | Iterable[str], q: ArrayLike | Mapping[str, ArrayLike] | None = None
    ) -> Model:
        """A copy in which joints are held at q (the whole q, or a mapping from joints to their
        coordinates).

        The bodies they move become part of their parents, and stay as frames. Without q, joints
        are locked at their neutral position.
        """
        return edit.lock(self, [joints] if isinstance(joints, str) else list(joints), q)

    def _replace(self, **changes: Any) -> Model:
        new = Model(**(self.content() | changes))
        new._set(nominal=self.nominal)
        return new

    def _varied(self, **changes: Any) -> Model:
        """A copy with parts that hold other scalars, traced ones among them: what `vary` makes."""
        new = self._replace(**changes)
        new._set(nominal=self.nominal or self)
        return new

    # -- identity ------------------------------------------------------------------------------

    @property
    def key(self) -> tuple[object, ...]:
        """The content of the model as a nested tuple of strings and numbers."""
        key = self._key
        if key is None:
            key = tuple((word, key_of(part)) for word, part in self.content().items())
            self._set(_key=key)
        return key

    @property
    def digest(self) -> str:
        """64 hexadecimal digits that depend on the content only: the same in every run."""
        digest = self._digest
        if digest is None:
            text = repr(("mozzi.Model.2", self.key))
            digest = hashlib.sha256(text.encode()).hexdigest()
            self._set(_digest=digest)
        return digest

    def close_to(self, other: Model, tolerance: float = 1e-9) -> bool:
        """Whether the other model is the same mechanism to rounding: names and kinds are equal,
        numbers agree, and joints move alike wherever on their axes their frames stand.

        Args:
            other: a model.
            tolerance: how far numbers may be apart, relative where they are above 1.
        """
        if not isinstance(other, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"close_to: {other!r} is no model; give one to compare with")
        return self == other or same(self, other, tolerance)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Model) and hash(self) == hash(other) and self.key == other.key

    def __hash__(self) -> int:
        value = self._hash
        if value is None:
            value = hash(self.key)
            self._set(_hash=value)
        return value

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (self.content(),))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Model is immutable; make a changed copy with the with_... methods")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Model is immutable; make a changed copy with the with_... methods")

    def _repr_html_(self) -> str:
        """The tree of bodies as a table, in a notebook."""
        from mozzi.viz.notebook import model_html

        return model_html(self)

    def __repr__(self) -> str:
        loops = len(self.loops) + len(self.distances)
        tail = f", loops={loops}" if loops else ""
        tail += f", couplings={len(self.couplings)}" if self.couplings else ""
        tail += f", springs={len(self.springs)}" if self.springs else ""
        tail += f", shapes={len(self.shapes)}" if self.shapes else ""
        tail += f", contacts={len(self.contacts)}" if self.contacts else ""
        tail += f", rollings={len(self.rollings)}" if self.rollings else ""
        tail += f", velocity_rows={len(self.velocity_rows)}" if self.velocity_rows else ""
        return f"Model({self.name!r}, nb={self.nb}, nq={self.nq}, nv={self.nv}{tail})"


class _Configurations(dict[str, Array]):
    """Configurations by name, which say what names there are."""

    def __init__(self, model: str) -> None:
        self.model = model

    def __missing__(self, name: str) -> Array:
        raise UnknownNameError(
            f"model {self.model!r} has no configuration {name!r}; it has {known(name, self)}"
        )


def _restore(content: dict[str, Any]) -> Model:
    return Model(**content)


def _dof_names(body: Body, names: tuple[str, ...]) -> list[str]:
    return [body.joint_name] if len(names) == 1 else [f"{body.joint_name}.{name}" for name in names]


def _in_sample(sample: Sequence[int]) -> str:
    """Which one of a batch, in words."""
    return f" in sample {list(sample)}" if sample else ""
