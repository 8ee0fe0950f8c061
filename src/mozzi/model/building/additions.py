# pyright: reportUnnecessaryIsInstance=false
"""Adding bodies, frames, shapes, configurations and actuators to a builder."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import numpy as np

from mozzi.checked import checked
from mozzi.errors import ModelError, known
from mozzi.model.actuator import FREE, Actuator
from mozzi.model.body import JointData, JointDynamics
from mozzi.model.building.collected import Part, frame_part
from mozzi.model.building.constraint_additions import ConstraintAdditions
from mozzi.model.content import Configuration
from mozzi.model.frames import (
    IDENTITY,
    InertiaLike,
    PoseLike,
    as_inertia,
    as_number,
    as_pose,
    as_vector,
)
from mozzi.model.interface.parts import WORLD
from mozzi.model.joints.from_screws import ScrewLike, place
from mozzi.model.joints.joint import Joint
from mozzi.model.shapes import Geometry, Role, Shape, as_color, as_geometry, as_role
from mozzi.model.surfaces import Surface
from mozzi.types import ArrayLike, Placing, words

__all__ = ["Additions"]

REPS = words(Placing)


class Additions(ConstraintAdditions):
    """What can be added to a mechanism, besides what closes loops."""

    @checked
    def add(
        self,
        name: str,
        parent: str | None = None,
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
    ) -> Self:
        """Add a body that a joint connects to its parent (None or "world": the inertial frame).

        With a screw the joint may be left out: it becomes revolute, prismatic or a screw, or a
        product of those. A joint that is given with a reference and no screw is taken to be given
        in the frame that ``rep`` names.

        Args:
            name: its name.
            parent: the body or frame that carries it.
            joint: such as Revolute("z"); see `mozzi.model.joints`.
            inertia: in the frame of the body: an `Inertia`, a 6×6 matrix, ten parameters, (mass,
                com, inertia at com), or None for a massless body.
            joint_name: name of the joint; the body's where not given.
            placement: puts the joint (and with it the body's frame at q = 0) in the parent's frame.
            reference: pose of the body at q = 0: see `Builder`.
            screw: a unit six-vector (angular, linear), or several for a joint with several degrees
                of freedom; says where the joint is: see `Builder`.
            rep: where reference and screw are measured: "body", "parent" or "spatial".
            dynamics: a `JointDynamics` instead of the data.
            data: limits, lower, upper, velocity, effort, damping, friction, armature, stiffness,
                rest: see `JointDynamics`.

        Example:
            >>> arm = mz.Builder("arm").add("link", None, mz.Revolute("z"))
            >>> arm.build().joint_names
            ('link',)
        """
        what = self._new_name(name, "body")
        joint_name = name if joint_name is None else joint_name
        if not isinstance(joint_name, str) or not joint_name:
            raise ModelError(f"{what}: joint name {joint_name!r}; give a non-empty string")
        if joint_name in self._joints:
            raise ModelError(
                f"joint {joint_name!r} exists already; give another joint_name to {what}"
            )
        if joint is not None and not isinstance(joint, Joint):
            raise ModelError(f"{what}: {joint!r} is no joint; give one such as Revolute('z')")
        if rep not in REPS:
            raise ModelError(f"{what}: rep {rep!r}; choose one of {known(rep, REPS)}")
        if placement is not None and (reference is not None or rep != "body"):
            raise ModelError(f"{what}: placement with a reference or rep; give one of them")
        if joint is None and screw is None:
            raise ModelError(f"{what}: neither joint nor screw; give one (Fixed() for no motion)")

        if screw is not None:
            joint = place(joint, screw, f"joint {joint_name!r}")
        assert joint is not None
        spatial = None
        T = as_pose(placement if reference is None else reference, f"{what}: reference")
        if rep == "spatial":
            spatial = T
        elif T is not IDENTITY:
            if rep == "body":  # C = B T(q)
                joint = joint.between(T, None)
            else:  # C = T(q) B
                joint = joint.between(None, T.inverse())
        if dynamics is None:
            dynamics = JointDynamics.of(joint, f"joint {joint_name!r}", **data)
        elif data:
            raise ModelError(
                f"{what}: dynamics and {sorted(data)} are both given; give one of them"
            )
        elif len(dynamics.lower) != joint.nq or len(dynamics.effort) != joint.nv:
            raise ModelError(
                f"{what}: dynamics made for another joint; give JointDynamics.of this joint"
            )
        inertia = as_inertia(inertia, f"{what}: inertia")
        self._parts[name] = Part(name, parent, joint, inertia, dynamics, joint_name, spatial)
        self._joints[joint_name] = name
        return self

    @checked
    def frame(self, name: str, body: str | None = None, placement: PoseLike = None) -> Self:
        """Add a named frame, fixed to a body or to another frame (None: to the world) at a
        placement.

        Args:
            name: its name.
            body: its name or number; None is the world.
            placement: pose in that frame: SE3 or (4, 4); None: the frame itself.

        Example:
            >>> arm = mz.Builder("arm").add("link", None, mz.Revolute("z"))
            >>> arm.frame("tool", "link").build().frames
            ('link', 'tool')
        """
        what = self._new_name(name, "frame")
        self._frames[name] = frame_part(name, body, as_pose(placement, f"{what}: placement"))
        return self

    @checked
    def shape(
        self,
        body: str | None,
        geometry: Geometry,
        placement: PoseLike = None,
        name: str | None = None,
        role: Role = "both",
        color: Iterable[float] | None = None,
        surface: Surface | None = None,
    ) -> Self:
        """Fix a geometry to a body, a frame or the world (None) at a placement: what one sees
        (``role="visual"``), what touches (``"collision"``), or both.

        Without a name it is called after its body and its geometry. ``color`` is (r, g, b) or
        (r, g, b, a), from 0 to 1. ``surface``: friction and the like, of contacts of it.

        Example:
            >>> arm = mz.Builder("arm").add("link", None, mz.Revolute("z"))
            >>> arm.shape("link", mz.Sphere(0.1)).build().shapes[0].name
            'link_sphere'
        """
        if name is None:
            stem = f"{body or 'world'}_{type(geometry).__name__.lower()}"
            numbered = (f"{stem}_{k}" for k in itertools.count(2))
            name = next(x for x in itertools.chain([stem], numbered) if x not in self._shapes)
        if not isinstance(name, str) or not name:
            raise ModelError(f"shape {name!r}: not a name; give a non-empty string")
        what = f"shape {name!r}"
        if name in self._shapes:
            raise ModelError(f"{what}: a shape has this name; give another name")
        place = as_pose(placement, f"{what}: placement")
        made = as_geometry(geometry, what), as_role(role, what), as_color(color, what)
        self._shapes[name] = (body, Shape(name, WORLD, place, *made, surface))
        return self

    @checked
    def configuration(self, name: str, joints: Mapping[str, ArrayLike]) -> Self:
        """Name a configuration: coordinates of some joints; the others are neutral.

        ``model.configurations[name]`` is the whole q.

        Example:
            >>> arm = mz.Builder("arm").add("link", None, mz.Revolute("z"))
            >>> arm.configuration("home", {"link": 1.0}).build().configurations["home"].tolist()
            [1.0]
        """
        if not isinstance(name, str) or not name:
            raise ModelError(f"configuration {name!r}: not a name; give a non-empty string")
        listed: list[tuple[str, tuple[float, ...]]] = []
        for joint, values in joints.items():
            x = np.atleast_1d(np.asarray(values, dtype=float))
            listed.append((joint, as_vector(x, x.size, f"configuration {name!r}: {joint!r}")))
        self._configurations[name] = Configuration(name, tuple(listed))
        return self

    @checked
    def actuator(
        self,
        name: str,
        joint: str,
        *,
        component: int = 0,
        gear: float = 1.0,
        gain: float = 1.0,
        bias: Sequence[float] = (0.0, 0.0, 0.0),
        control: tuple[float, float] = FREE,
        force: tuple[float, float] = FREE,
    ) -> Self:
        """Put a motor or a servo on a joint coordinate (see `Actuator`).

        Args:
            name: its name.
            joint: the joint, such as Revolute("z").
            component: number of the coordinate.
            gear: joint force per actuator force.
            gain: actuator force per control.
            bias: (b₀, b₁, b₂): b₀ + b₁ q + b₂ q̇ is added.
            control: (lower, upper) of the control.
            force: (lower, upper) of the actuator force.

        Example:
            >>> arm = mz.Builder("arm").add("link", None, mz.Revolute("z"))
            >>> arm.actuator("motor", "link", gear=10.0).build().actuators[0].gear
            10.0
        """
        what = f"actuator {name!r}"
        if not isinstance(name, str) or not name:
            raise ModelError(f"{what}: not a name; give a non-empty string")
        if name in self._actuators:
            raise ModelError(f"{what}: an actuator has this name; give another name")
        b0, b1, b2 = as_vector(bias, 3, f"{what}: bias")
        ends: list[tuple[float, float]] = []
        for word, given in (("control", control), ("force", force)):
            try:
                low, high = map(float, given)
            except (TypeError, ValueError):
                raise ModelError(f"{what}: {word} {given!r}; give (lower, upper)") from None
            if not low <= high:
                raise ModelError(f"{what}: {word} {given!r} is reversed; give (lower, upper)")
            ends.append((low, high))
        numbers = as_number(gear, f"{what}: gear"), as_number(gain, f"{what}: gain")
        made = Actuator(name, joint, int(component), *numbers, (b0, b1, b2), *ends)
        self._actuators[name] = made
        return self
