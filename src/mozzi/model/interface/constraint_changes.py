# pyright: reportPrivateUsage=false
"""Copies of a model with other closures, springs and contacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mozzi.checked import checked
from mozzi.errors import ModelError, known
from mozzi.model import edit
from mozzi.model.constraints.contact import (
    contact_of,
    with_cone,
    with_contact,
    with_ground,
    with_rope,
    without_contact,
)
from mozzi.model.constraints.loop import Terms
from mozzi.model.constraints.rolling import RowFunction, rolling_of
from mozzi.model.frames import Axis, PoseLike, VectorLike
from mozzi.model.interface.configurations import Configurations
from mozzi.model.interface.parts import WORLD

if TYPE_CHECKING:
    from mozzi.model.joints.joint import Joint
    from mozzi.model.model import Model

__all__ = ["ConstraintChanges"]


class ConstraintChanges(Configurations):
    """A model with something more or less that ties its bodies."""

    def _name(self, body: str | int | None) -> str | None:
        """The name by which the builder knows a body, a frame or the world."""
        if body is None or isinstance(body, str):
            return body
        return None if body == WORLD else self.bodies[self.index(body)]

    @checked
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

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.with_loop("grip", None, "tool", mz.Spherical()).row_count
            3
        """
        ends = self._name(body_a), self._name(body_b)
        changed = edit.builder(self._model).loop(name, *ends, joint, placement_a, placement_b)
        return changed.build(physical=False)

    @checked
    def without_loop(self, name: str) -> Model:
        """A copy without a loop, or without a rod that keeps a distance.

        Args:
            name: its name.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> closed = arm.with_loop("grip", None, "tool", mz.Spherical())
            >>> closed.without_loop("grip") == arm
            True
        """
        rods = {rod.name for rod in self.distances}
        return self._without("distances" if name in rods else "loops", name)

    @checked
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

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.with_distance("rod", None, "tool", length=1.2).row_count
            1
        """
        ends = self._name(body_a), self._name(body_b)
        changed = edit.builder(self._model).distance(name, *ends, point_a, point_b, length)
        return changed.build(physical=False)

    @checked
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

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> len(arm.with_spring("coil", None, "tool", stiffness=50.0).springs)
            1
        """
        ends = self._name(body_a), self._name(body_b)
        changed = edit.builder(self._model)
        changed.spring(name, *ends, point_a, point_b, stiffness, damping, length)
        return changed.build(physical=False)

    @checked
    def without_spring(self, name: str) -> Model:
        """A copy without a spring between bodies.

        Args:
            name: its name.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.with_spring("coil", None, "tool", stiffness=50.0).without_spring("coil") == arm
            True
        """
        return self._without("springs", name)

    @checked
    def with_coupling(self, name: str, terms: Terms, offset: float = 0.0) -> Model:
        """A copy with one more linear relation between joint coordinates (see `Coupling`).

        Args:
            name: its name.
            terms: {joint or (joint, number of a coordinate): coefficient}.
            offset: what the sum is.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.with_coupling("gear", {"joint_1": 1.0, "joint_2": -2.0}).row_count
            1
        """
        return edit.builder(self._model).coupling(name, terms, offset).build(physical=False)

    @checked
    def without_coupling(self, name: str) -> Model:
        """A copy without a coupling: the joints it couples (mimic joints, gears) move alone.

        Args:
            name: its name.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> geared = arm.with_coupling("gear", {"joint_1": 1.0, "joint_2": -2.0})
            >>> geared.without_coupling("gear") == arm
            True
        """
        return self._without("couplings", name)

    @checked
    def with_contact(
        self, name: str, shape_a: str, shape_b: str,
        friction: float | tuple[float, float] | None = None, restitution: float | None = None,
        stiffness: float | None = None, damping: float | None = None,
    ) -> Model:  # fmt: skip
        """A copy in which two collision shapes may touch (see `Contact`).

        Planes, boxes and height fields are met by the points of the other shape; a friction of two
        numbers is that along the axes of `contact_frames` (x, y of a plane).

        Args:
            name: its name.
            shape_a: name of the first collision shape.
            shape_b: name of the second one.
            friction: Coulomb's coefficient; None: that of the surfaces of the shapes, 0.8 where
                they have none.
            restitution: Newton's coefficient, 0 to 1; None: that of the surfaces, or 0.
            stiffness: of a compliant contact, in N/m; None: that of the surfaces, or rigid.
            damping: of a compliant contact, in N s/m.

        Example:
            >>> ball = mz.load("ball.urdf", base="free")
            >>> ball = ball.with_shape(None, mz.Plane(), name="floor")
            >>> len(ball.with_contact("touch", ball.shapes[0].name, "floor").contacts)
            1
        """
        law = friction, restitution, stiffness, damping
        return with_contact(self._model, contact_of(self._model, name, shape_a, shape_b, *law))

    @checked
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

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> len(arm.with_rope("rope", None, "tool", length=1.5).contacts)
            1
        """
        ends = self._name(body_a), self._name(body_b)
        law = restitution, stiffness, damping
        return with_rope(self._model, name, ends, (point_a, point_b), length, *law)

    @checked
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

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> len(arm.with_cone("limit", None, "tool", angle=0.5).contacts)
            1
        """
        ends = self._name(body_a), self._name(body_b)
        return with_cone(self._model, name, ends, (axis_a, axis_b), angle, restitution)

    @checked
    def without_contact(self, name: str) -> Model:
        """A copy in which a contact is left out.

        Args:
            name: its name.

        Example:
            >>> ball = mz.load("ball.urdf", base="free").with_ground()
            >>> ball.without_contact(ball.contacts[0].name).contacts
            ()
        """
        return without_contact(self._model, name)

    @checked
    def with_ground(
        self, shapes: str | Sequence[str] | None = None, height: float = 0.0,
        friction: float | tuple[float, float] | None = None, restitution: float | None = None,
    ) -> Model:  # fmt: skip
        """A copy that stands on a horizontal plane z = height of the world, which the named
        collision shapes touch (all that move, unless told). The contacts are called
        ``"ground:<shape>"``.

        Args:
            shapes: names of collision shapes; None: all that are not fixed to the world.
            height: of the plane, in metres.
            friction: Coulomb's coefficient; None: that of the surfaces of the shapes, 0.8 where
                they have none.
            restitution: Newton's coefficient, 0 to 1; None: that of the surfaces, or 0.

        Example:
            >>> ball = mz.load("ball.urdf", base="free").with_ground()
            >>> [contact.name[:7] for contact in ball.contacts]
            ['ground:']
        """
        return with_ground(self._model, shapes, height, friction, restitution)

    @checked
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

        Example:
            >>> ball = mz.load("ball.urdf", base="free")
            >>> ball = ball.with_shape(None, mz.Plane(), name="floor")
            >>> ball.with_rolling("roll", ball.shapes[0].name, "floor").row_count
            3
        """
        made = rolling_of(self._model, name, shape_a, shape_b, inside)
        return self._model._replace(rollings=(*self.rollings, made))

    @checked
    def without_rolling(self, name: str) -> Model:
        """A copy without a rolling contact.

        Args:
            name: its name.

        Example:
            >>> ball = mz.load("ball.urdf", base="free")
            >>> flat = ball.with_shape(None, mz.Plane(), name="floor")
            >>> rolling = flat.with_rolling("roll", flat.shapes[0].name, "floor")
            >>> rolling.without_rolling("roll") == flat
            True
        """
        return self._without("rollings", name)

    @checked
    def with_velocity_rows(self, name: str, function: RowFunction) -> Model:
        """A copy whose velocities satisfy A(q) v = 0, rows that have no position part: knife edges,
        skates, wheels of one's own (see `VelocityRows`).

        Args:
            name: its name.
            function: function(model, q) that returns A (m, nv), or one row (nv,), from traced
                scalars q (nq,); it may call algorithms such as `jacobian`.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> skate = lambda model, q: mz.jacobian(model, q, "tool")[3:4]
            >>> arm.with_velocity_rows("skate", skate).row_count
            1
        """
        from mozzi.algorithms.constraints.rows.velocity_rows import velocity_rows_of

        made = velocity_rows_of(self._model, name, function)
        return self._model._replace(velocity_rows=(*self.velocity_rows, made))

    @checked
    def without_velocity_rows(self, name: str) -> Model:
        """A copy without rows that a user wrote.

        Args:
            name: its name.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> skate = lambda model, q: mz.jacobian(model, q, "tool")[3:4]
            >>> arm.with_velocity_rows("skate", skate).without_velocity_rows("skate") == arm
            True
        """
        return self._without("velocity_rows", name)

    def _without(self, kind: str, name: str) -> Model:
        parts = getattr(self, kind)
        if name not in {part.name for part in parts}:
            there = known(name, tuple(part.name for part in parts)) if parts else "none"
            sort = kind[:-1].replace("_", " ")
            raise ModelError(f"model {self.name!r} has no {sort} {name!r}; it has {there}")
        return self._model._replace(**{kind: tuple(part for part in parts if part.name != name)})
