# pyright: reportPrivateUsage=false
"""Builder: from what people write down to an immutable model."""

from __future__ import annotations

from dataclasses import replace
from typing import cast, final

from mozzi.checked import checked
from mozzi.errors import KindError
from mozzi.lie import Inertia
from mozzi.model.body import Body
from mozzi.model.building.additions import Additions
from mozzi.model.building.collected import Part, frame_part
from mozzi.model.building.resolve import (
    Where,
    absolute_joints,
    check_physical,
    checked_coupling,
    configuration_of,
    drives_something,
    loop_at,
    order_of,
    shape_at,
    span_at,
)
from mozzi.model.frames import IDENTITY, as_pose
from mozzi.model.joints.axes import Fixed
from mozzi.model.joints.joint import Joint
from mozzi.model.model import WORLD, Model
from mozzi.types import Physical

__all__ = ["Builder"]


@final
class Builder(Additions):
    """Collects bodies, frames, shapes, loops, couplings and springs, and makes a `Model` of them.

    A joint is placed in one of three ways; the same mechanism built in any of them is the same
    model. With C(q) the pose of the body in its parent (Müller, Kinematics, 2.2–2.4):

    - joint frames (3):  ``joint.between(S_parent, S_child)``,  C = S_parent D(q) S_child⁻¹;
    - body-fixed screw (8):  ``reference=B, screw=X``,  C = B exp(X q), X in the frame of the body;
      or with ``rep="parent"``  C = exp(X q) B, X in the frame of the parent;
    - spatial screw (10):  ``reference=A, screw=Y, rep="spatial"``, A the pose of the body and Y
      the joint's screw in the inertial frame at q = 0. Without a reference A = 1: the body frame
      is the inertial frame at q = 0 (all data as a CAD system exports them), in which the inertia
      is given then as well.

    Bodies may be added in any order. A body behind a `Fixed` joint becomes part of its parent, and
    its name a frame.

    Example:
        >>> rod = mz.Inertia(1.0, (0, 0, -0.5), np.diag([0.1, 0.1, 0.01]))
        >>> pendulum = mz.Builder("pendulum").add("rod", None, mz.Revolute("y"), rod).build()
        >>> pendulum.nq, pendulum.bodies
        (1, ('rod',))
    """

    @classmethod
    @checked
    def of(cls, model: Model) -> Builder:
        """A builder that holds all of a model.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> mz.Builder.of(arm).build() == arm
            True
        """
        if not isinstance(cast(object, model), Model):
            raise KindError("Builder.of", "model", model, "a model")
        new = cls(model.name, model.gravity)

        def name(i: int) -> str | None:
            return None if i == WORLD else model.bodies[i]

        for body in model:
            values = body.joint, body.inertia, body.dynamics, body.joint_name
            new._parts[body.name] = Part(body.name, name(body.parent), *values)
            new._joints[body.joint_name] = body.name
        new._frames = {frame: frame_part(frame, name(b), T) for frame, b, T in model._frames}
        new._loops = {x.name: (name(x.body_a), name(x.body_b), x) for x in model.loops}
        new._distances = {x.name: (name(x.body_a), name(x.body_b), x) for x in model.distances}
        new._springs = {x.name: (name(x.body_a), name(x.body_b), x) for x in model.springs}
        new._couplings = {x.name: x for x in model.couplings}
        new._shapes = {x.name: (name(x.body), x) for x in model.shapes}
        new._actuators = {x.name: x for x in model.actuators}
        new._configurations = {x.name: x for x in model._configurations}
        new._contacts = model.contacts
        new._rollings, new._velocity_rows = model.rollings, model.velocity_rows
        new._base_inertia = model.base_inertia
        return new

    @checked
    def build(self, physical: Physical = True) -> Model:
        """The model.

        An inertia that no rigid body has (negative mass, principal moments that violate the
        triangle inequality) is a `ModelError` that names the body; with ``physical="warn"`` it is
        a warning that lists all of them, and with ``physical=False`` nothing is checked. A
        massless body is allowed: it matters where the dynamics needs it.

        Example:
            >>> arm = mz.Builder("arm").add("link", None, mz.Revolute("z"))
            >>> arm.build().nv
            1
        """
        order = order_of(self)
        check_physical(self, order, physical)
        spatial = absolute_joints(order)
        where: Where = {}
        bodies: list[Body] = []
        inertias: list[Inertia] = []
        base = self._base_inertia
        for part in order:
            host, P = where.get(part.parent or "", (WORLD, IDENTITY))
            joint: Joint = spatial.get(part.name, part.joint)
            if isinstance(joint, Fixed):
                T = as_pose(P @ joint.motion(()))
                where[part.name] = (host, T)
                if host == WORLD:
                    base = base + T.push(part.inertia)
                else:
                    inertias[host] = inertias[host] + T.push(part.inertia)
                continue
            if P is not IDENTITY:
                joint = joint.between(P, None)
            where[part.name] = (len(bodies), IDENTITY)
            bodies.append(
                Body(part.name, host, joint, part.inertia, part.dynamics, part.joint_name)
            )
            inertias.append(part.inertia)
        bodies = [
            body if body.inertia is inertia else replace(body, inertia=inertia)
            for body, inertia in zip(bodies, inertias, strict=True)
        ]
        names = {body.name for body in bodies}
        joints = {body.joint_name: body.joint for body in bodies}
        return Model(
            name=self.name,
            _bodies=tuple(bodies),
            _frames=tuple((name, *at) for name, at in where.items() if name not in names),
            loops=tuple(loop_at(self, x, a, b, where) for a, b, x in self._loops.values()),
            couplings=tuple(checked_coupling(x, joints) for x in self._couplings.values()),
            distances=tuple(span_at(self, x, a, b, where) for a, b, x in self._distances.values()),
            gravity=self.gravity,
            base_inertia=base,
            springs=tuple(span_at(self, x, a, b, where) for a, b, x in self._springs.values()),
            actuators=tuple(
                x for x in self._actuators.values() if drives_something(self, x, joints)
            ),
            _configurations=tuple(
                configuration_of(self, x, joints) for x in self._configurations.values()
            ),
            shapes=tuple(shape_at(self, x, body, where) for body, x in self._shapes.values()),
            contacts=self._contacts,
            rollings=self._rollings,
            velocity_rows=self._velocity_rows,
        )
