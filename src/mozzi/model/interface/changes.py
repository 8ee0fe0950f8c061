# pyright: reportPrivateUsage=false
"""Copies of a model with other bodies, frames, shapes and numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from mozzi.checked import checked
from mozzi.model import edit
from mozzi.model.body import JointData, JointDynamics
from mozzi.model.frames import InertiaLike, PoseLike, as_vector
from mozzi.model.interface.constraint_changes import ConstraintChanges
from mozzi.types import ArrayLike, Placing

if TYPE_CHECKING:
    from mozzi.model.joints.from_screws import ScrewLike
    from mozzi.model.joints.joint import Joint
    from mozzi.model.model import Model
    from mozzi.model.shapes import Geometry, Role
    from mozzi.model.surfaces import Surface

__all__ = ["Changes"]


class Changes(ConstraintChanges):
    """A model with other bodies or other numbers."""

    @checked
    def with_name(self, name: str) -> Model:
        """A copy with another name.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.with_name("left").name
            'left'
        """
        return self._model._replace(name=str(name))

    @checked
    def with_gravity(self, gravity: Iterable[float]) -> Model:
        """A copy with another acceleration of gravity, in the inertial frame.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.with_gravity((0, 0, 0)).gravity
            (0.0, 0.0, 0.0)
        """
        return self._model._replace(gravity=as_vector(gravity, 3, f"model {self.name!r}: gravity"))

    @checked
    def with_body(
        self,
        name: str,
        parent: str | int | None,
        joint: Joint | None = None,
        inertia: InertiaLike = None,
        *,
        joint_name: str | None = None,
        placement: PoseLike = None,
        reference: PoseLike = None,
        screw: ScrewLike | None = None,
        rep: Placing = "body",
        dynamics: JointDynamics | None = None,
        **data: JointData,
    ) -> Model:
        """A copy with one more body, as `Builder.add` takes it.

        Args:
            name: its name.
            parent: the body that carries it; None is the world.
            joint: such as Revolute("z").
            inertia: in the frame of the body.
            joint_name: name of the joint; the body's where not given.
            placement: puts the joint in the parent's frame.
            reference: pose of the body at q = 0.
            screw: where the joint is: one unit six-vector, or several.
            rep: where reference and screw are measured: "body", "parent" or "spatial".
            dynamics: a `JointDynamics` instead of the data.
            data: limits, damping, …: see `JointDynamics`.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.with_body("finger", "tool", mz.Prismatic("x")).nv
            4
        """
        changed = edit.builder(self._model).add(
            name, self._name(parent), joint, inertia, joint_name=joint_name, placement=placement,
            reference=reference, screw=screw, rep=rep, dynamics=dynamics, **data,
        )  # fmt: skip
        return changed.build(physical=False)

    @checked
    def without_body(self, name: str) -> Model:
        """A copy without a body and what hangs on it: bodies, frames, loops, springs and
        couplings that touch them.

        Args:
            name: its name.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.without_body("link_3").bodies
            ('link_1', 'link_2')
        """
        return edit.without_body(self._model, name)

    @checked
    def with_frame(self, name: str, body: str | int | None, placement: PoseLike = None) -> Model:
        """A copy with one more frame, fixed to a body (or another frame) at a placement.

        Args:
            name: its name.
            body: its name or number; None is the world.
            placement: pose in that frame: SE3 or (4, 4); None: the frame itself.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> "camera" in arm.with_frame("camera", "tool").frames
            True
        """
        changed = edit.builder(self._model).frame(name, self._name(body), placement)
        return changed.build(physical=False)

    @checked
    def with_shape(
        self,
        body: str | int | None,
        geometry: Geometry,
        placement: PoseLike = None,
        name: str | None = None,
        role: Role = "both",
        color: Iterable[float] | None = None,
        surface: Surface | None = None,
    ) -> Model:
        """A copy with one more shape, fixed to a body, a frame or the world (see `Shape`).

        Args:
            body: its name or number; None is the world.
            geometry: such as Sphere(0.1).
            placement: pose in that frame: SE3 or (4, 4); None: the frame itself.
            name: its name.
            role: "visual", "collision" or "both".
            color: (red, green, blue, alpha), from 0 to 1.
            surface: `mozzi.model.Surface`: friction and the like, of contacts of it.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> len(arm.with_shape("tool", mz.Sphere(0.1)).shapes)
            1
        """
        changed = edit.builder(self._model)
        changed.shape(self._name(body), geometry, placement, name, role, color, surface)
        return changed.build(physical=False)

    @checked
    def without_shape(self, name: str) -> Model:
        """A copy without a shape.

        Args:
            name: its name.

        Example:
            >>> ball = mz.load("ball.urdf", base="free")
            >>> len(ball.without_shape(ball.shapes[0].name).shapes) < len(ball.shapes)
            True
        """
        self.shape(name)
        return self._model._replace(
            shapes=tuple(x for x in self.shapes if x.name != name),
            contacts=edit.contacts_without(self._model, {name}),
            rollings=edit.rollings_without(self._model, {name}),
        )

    @checked
    def with_inertia(self, body: str | int, inertia: InertiaLike) -> Model:
        """A copy in which a body has another inertia.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.with_inertia("link_3", mz.Inertia(2.0, (0, 0, 0.1), np.eye(3))).mass
            5.0
        """
        return edit.with_inertia(self._model, body, inertia)

    @checked
    def with_parameters(self, numbers: Mapping[str, float]) -> Model:
        """A copy with other numbers of named parameters, as `sensitivity` names them.

        Args:
            numbers: by name, such as {"link_3.mass": 2.0}.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.with_parameters({"link_3.mass": 2.0}).mass
            5.0
        """
        from mozzi.model.parameters.named import check_numbers, vary

        names = tuple(numbers)
        return vary(self._model, names, check_numbers(self._model, names, [*numbers.values()]))

    @checked
    def with_dynamics(self, joint: str, **data: JointData) -> Model:
        """A copy in which a joint has other data: ``limits``, ``damping``, ... as `JointDynamics`
        names them.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.with_dynamics("joint_1", damping=0.5).body(0).dynamics.damping
            (0.5,)
        """
        return edit.with_dynamics(self._model, joint, **data)

    @checked
    def lock(
        self, joints: str | Collection[str], q: ArrayLike | Mapping[str, ArrayLike] | None = None
    ) -> Model:
        """A copy in which joints are held at q (the whole q, or a mapping from joints to their
        coordinates).

        The bodies they move become part of their parents, and stay as frames. Without q, joints
        are locked at their neutral position.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.lock("joint_2").nv
            2
        """
        return edit.lock(self._model, [joints] if isinstance(joints, str) else list(joints), q)
