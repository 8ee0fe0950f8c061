"""The parts of a model: bodies, joints, frames, shapes and closures, by name or number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from mozzi.checked import checked, is_whole
from mozzi.errors import KindError, ModelError, known
from mozzi.lie import SE3
from mozzi.model.body import Body
from mozzi.model.content import Closure
from mozzi.model.derived import Derived
from mozzi.model.frames import IDENTITY
from mozzi.model.parameters.physical import singular_joints
from mozzi.types import ArrayLike

if TYPE_CHECKING:
    from mozzi.model.joints.joint import Joint
    from mozzi.model.model import Model
    from mozzi.model.shapes import Shape

__all__ = ["WORLD", "Parts"]

WORLD = -1
"""The index of the inertial frame where a body index is expected."""


class Parts(Derived):
    """What a model has, found by name."""

    @property
    def _model(self) -> Model:
        """Itself: `Model` is the one class that this is the base of."""
        return cast("Model", self)

    def index(self, body: str | int) -> int:
        """The index of a body given by name or index.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.index("link_2")
            1
        """
        if isinstance(body, str):
            try:
                return self._index[body]
            except KeyError:
                raise ModelError(
                    f"model {self.name!r} has no body {body!r}{self._otherwise(body)}; "
                    f"it has {known(body, self.bodies)}"
                ) from None
        if not is_whole(body) or not 0 <= body < self.nb:
            raise ModelError(
                f"model {self.name!r} has no body {body!r:.60}; its bodies are 0 to {self.nb - 1}"
            )
        return int(body)

    def _otherwise(self, name: str) -> str:
        """What else has this name, for a message."""
        if name in self._frame_index:
            on = self._frame_index[name][1]
            return f", but a frame, on {'the world' if on == WORLD else repr(self.bodies[on])}"
        if name in self._joint_index:
            return f", but a joint, which moves {self.bodies[self._joint_index[name]]!r}"
        return ""

    def body(self, body: str | int) -> Body:
        """A body, by name or index.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.body("link_2").joint_name
            'joint_2'
        """
        return self._bodies[self.index(body)]

    def joint(self, joint: str) -> Joint:
        """A joint, by name.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> type(arm.joint("joint_3")).__name__
            'Prismatic'
        """
        return self._bodies[self.joint_index(joint)].joint

    def joint_index(self, joint: str) -> int:
        """The index of the body that a joint moves, by the joint's name.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.joint_index("joint_3")
            2
        """
        try:
            return self._joint_index[joint]
        except (KeyError, TypeError):  # a list is no key of a table
            there = known(joint, self.joint_names)
            raise ModelError(
                f"model {self.name!r} has no joint {joint!r}; it has {there}"
            ) from None

    def frame(self, name: str) -> tuple[int, SE3]:
        """Where a frame is: the index of its body (−1: the world) and its pose in that body's
        frame.

        Every body is a frame as well, and ``"world"`` is the inertial frame unless something else
        has that name.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> body, pose = arm.frame("tool")
            >>> arm.bodies[body]
            'link_3'
        """
        if not isinstance(cast(object, name), str):
            raise KindError("frame", "name", name, "the name of a frame or a body")
        if name in self._frame_index:
            return self._frame_index[name][1:]
        if name in self._index:
            return self._index[name], IDENTITY
        if name == "world":
            return WORLD, IDENTITY
        there = known(name, self.frames)
        raise ModelError(f"model {self.name!r} has no frame {name!r}; it has {there}")

    @checked
    def shape(self, name: str) -> Shape:
        """A shape, by name.

        Example:
            >>> ball = mz.load("ball.urdf", base="free")
            >>> name = ball.shapes[0].name
            >>> ball.shape(name).collision
            True
        """
        for shape in self.shapes:
            if shape.name == name:
                return shape
        names = tuple(shape.name for shape in self.shapes)
        raise ModelError(f"model {self.name!r} has no shape {name!r}; it has {known(name, names)}")

    @checked
    def children(self, body: str | int | None = None) -> tuple[int, ...]:
        """The bodies that hang on a body (on the world, for None or −1).

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.children("link_1"), arm.children()
            ((1,), (0,))
        """
        i = WORLD if body is None or body == WORLD else self.index(body)
        return tuple(k for k, parent in enumerate(self.parents) if parent == i)

    @checked
    def subtree(self, body: str | int) -> tuple[int, ...]:
        """A body and all that hangs on it.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.subtree("link_2")
            (1, 2)
        """
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

    @checked
    def singular_joints(self, q: ArrayLike | None = None) -> tuple[str, ...]:
        """The joints with a motion that nothing resists: see `mozzi.model.parameters.physical`.

        Args:
            q: (nq,), a configuration; None: the neutral one.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.singular_joints()
            ()
        """
        at = None if q is None else self._model.check_configuration(q)
        return singular_joints(self._model, at)

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

    @property
    def quaternions(self) -> tuple[int, ...]:
        """Where the unit quaternions (x, y, z, w) start in q."""
        joints = zip(self._bodies, self.q_offsets, strict=False)
        return tuple(int(start) + k for body, start in joints for k in body.joint.quaternions)

    def __iter__(self) -> Iterator[Body]:
        return iter(self._bodies)

    def __len__(self) -> int:
        return self.nb


def _dof_names(body: Body, names: tuple[str, ...]) -> list[str]:
    return [body.joint_name] if len(names) == 1 else [f"{body.joint_name}.{name}" for name in names]
