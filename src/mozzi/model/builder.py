# pyright: reportPrivateUsage=false, reportUnnecessaryIsInstance=false
"""Builder: from what people write down to an immutable model."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from mozzi.errors import ModelError, UnphysicalWarning, known
from mozzi.lie import SE3, Inertia
from mozzi.model.actuator import FREE, Actuator
from mozzi.model.body import Body, JointData, JointDynamics
from mozzi.model.constraints.contact import Contact
from mozzi.model.constraints.loop import Coupling, Distance, Loop, Spring, Terms
from mozzi.model.constraints.rolling import Rolling, VelocityRows
from mozzi.model.content import Configuration
from mozzi.model.frames import (
    IDENTITY,
    InertiaLike,
    PoseLike,
    VectorLike,
    as_inertia,
    as_number,
    as_pose,
    as_vector,
)
from mozzi.model.joints.from_screws import ScrewLike, place
from mozzi.model.joints.joint import Fixed, Joint
from mozzi.model.model import GRAVITY, WORLD, Model
from mozzi.model.parameters.physical import unphysical
from mozzi.model.shapes import Geometry, Role, Shape, as_color, as_geometry, as_role
from mozzi.types import Physical, Placing, words

__all__ = ["Builder"]

REPS = words(Placing)


@dataclass(frozen=True)
class _Part:
    """A body as it was added; for a spatial joint the frames are absolute until the parent is
    known.
    """

    name: str
    parent: str | None
    joint: Joint
    inertia: Inertia
    dynamics: JointDynamics
    joint_name: str
    spatial: SE3 | None = None


_NO_DATA = JointDynamics.of(Fixed())


def _frame(name: str, parent: str | None, placement: SE3) -> _Part:
    """A frame is a body without mass behind a fixed joint."""
    joint = Fixed().at(placement, IDENTITY)
    return _Part(name, parent, joint, Inertia.zero(), _NO_DATA, "")


Span = TypeVar("Span", Distance, Spring)


@final
class Builder:
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
    """

    def __init__(self, name: str = "model", gravity: VectorLike = GRAVITY) -> None:
        self.name = str(name)
        self.gravity = as_vector(gravity, 3, f"model {name!r}: gravity")
        self._parts: dict[str, _Part] = {}
        self._joints: dict[str, str] = {}
        self._frames: dict[str, _Part] = {}
        self._loops: dict[str, tuple[str | None, str | None, Loop]] = {}
        self._distances: dict[str, tuple[str | None, str | None, Distance]] = {}
        self._springs: dict[str, tuple[str | None, str | None, Spring]] = {}
        self._couplings: dict[str, Coupling] = {}
        self._shapes: dict[str, tuple[str | None, Shape]] = {}
        self._configurations: dict[str, Configuration] = {}
        self._contacts: tuple[Contact, ...] = ()
        self._rollings: tuple[Rolling, ...] = ()
        self._velocity_rows: tuple[VelocityRows, ...] = ()
        self._actuators: dict[str, Actuator] = {}
        self._base_inertia = Inertia.zero()

    @classmethod
    def of(cls, model: Model) -> Builder:
        """A builder that holds all of a model."""
        new = cls(model.name, model.gravity)

        def name(i: int) -> str | None:
            return None if i == WORLD else model.bodies[i]

        for body in model:
            values = body.joint, body.inertia, body.dynamics, body.joint_name
            new._parts[body.name] = _Part(body.name, name(body.parent), *values)
            new._joints[body.joint_name] = body.name
        new._frames = {frame: _frame(frame, name(b), T) for frame, b, T in model._frames}
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

    # -- what is added -------------------------------------------------------------------------

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
        """
        what = self._new_name(name, "body")
        if parent is not None and not isinstance(parent, str):
            raise ModelError(
                f"{what}: parent {parent!r} is no name; give the name of a body, or None"
            )
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
        self._parts[name] = _Part(name, parent, joint, inertia, dynamics, joint_name, spatial)
        self._joints[joint_name] = name
        return self

    def frame(self, name: str, body: str | None = None, placement: PoseLike = None) -> Self:
        """Add a named frame, fixed to a body or to another frame (None: to the world) at a
        placement.

        Args:
            name: its name.
            body: its name or number; None is the world.
            placement: pose in that frame: SE3 or (4, 4); None: the frame itself.
        """
        what = self._new_name(name, "frame")
        self._frames[name] = _frame(name, body, as_pose(placement, f"{what}: placement"))
        return self

    def loop(
        self,
        name: str,
        body_a: str | None,
        body_b: str | None,
        joint: Joint,
        placement_a: PoseLike = None,
        placement_b: PoseLike = None,
    ) -> Self:
        """Close a loop: ``joint`` connects the frame placement_a on body a to the frame
        placement_b on body b.

        Args:
            name: its name.
            body_a: the first body: its name or number; None is the world.
            body_b: the second body, likewise.
            joint: the joint, such as Revolute("z").
            placement_a: pose of the joint's frame on body a; None: the body's own.
            placement_b: pose of the joint's frame on body b, likewise.
        """
        what = self._new_closure(name, "loop")
        if not isinstance(joint, Joint):
            raise ModelError(f"{what}: {joint!r} is no joint; give one such as Revolute('z')")
        if body_a == body_b:
            raise ModelError(f"{what}: both ends are on {body_a!r}; connect two bodies")
        a, b = (
            as_pose(placement_a, f"{what}: placement_a"),
            as_pose(placement_b, f"{what}: placement_b"),
        )
        self._loops[name] = (body_a, body_b, Loop(name, WORLD, WORLD, joint, a, b))
        return self

    def distance(
        self,
        name: str,
        body_a: str | None,
        body_b: str | None,
        point_a: VectorLike = (0, 0, 0),
        point_b: VectorLike = (0, 0, 0),
        length: float = 1.0,
    ) -> Self:
        """Keep two points of two bodies at a distance, as a massless rod does.

        Args:
            name: its name.
            body_a: the first body: its name or number; None is the world.
            body_b: the second body, likewise.
            point_a: (3,), in the frame of body a.
            point_b: (3,), in the frame of body b.
            length: in metres; of a spring, at rest.
        """
        what = self._new_closure(name, "distance")
        if body_a == body_b:
            raise ModelError(f"{what}: both ends are on {body_a!r}; connect two bodies")
        a, b = as_vector(point_a, 3, f"{what}: point_a"), as_vector(point_b, 3, f"{what}: point_b")
        length = as_number(length, f"{what}: length")
        if length <= 0.0:
            raise ModelError(
                f"{what}: length {length}; give a positive one (length 0: a Spherical loop)"
            )
        self._distances[name] = (body_a, body_b, Distance(name, WORLD, WORLD, a, b, length))  # type: ignore
        return self

    def spring(
        self,
        name: str,
        body_a: str | None,
        body_b: str | None,
        point_a: VectorLike = (0, 0, 0),
        point_b: VectorLike = (0, 0, 0),
        stiffness: float = 0.0,
        damping: float = 0.0,
        length: float = 0.0,
    ) -> Self:
        """Put a spring of this length and a damper between two points of two bodies.

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
        what = self._new_closure(name, "spring")
        if body_a == body_b:
            raise ModelError(f"{what}: both ends are on {body_a!r}; connect two bodies")
        a, b = as_vector(point_a, 3, f"{what}: point_a"), as_vector(point_b, 3, f"{what}: point_b")
        data = {"stiffness": stiffness, "damping": damping, "length": length}
        for word, x in data.items():
            data[word] = as_number(x, f"{what}: {word}")
            if data[word] < 0.0:
                raise ModelError(f"{what}: {word} {x}; give 0 or more")
        self._springs[name] = (body_a, body_b, Spring(name, WORLD, WORLD, a, b, **data))  # type: ignore
        return self

    def coupling(self, name: str, terms: Terms, offset: float = 0.0) -> Self:
        """Couple joint coordinates linearly:  Σ c q = offset, with terms {joint or (joint,
        component): c}.

        Args:
            name: its name.
            terms: {joint or (joint, number of a coordinate): coefficient}.
            offset: what the sum is.
        """
        what = self._new_closure(name, "coupling")
        listed: list[tuple[str, int, float]] = []
        for joint, c in terms.items():
            who, k = joint if isinstance(joint, tuple) else (joint, 0)
            c = as_number(c, f"{what}: coefficient of {who!r}")
            if c != 0.0:
                listed.append((who, int(k), c))
        if not listed:
            raise ModelError(f"{what}: no joint has a coefficient; give {{joint: coefficient}}")
        self._couplings[name] = Coupling(name, tuple(listed), as_number(offset, f"{what}: offset"))
        return self

    def shape(
        self,
        body: str | None,
        geometry: Geometry,
        placement: PoseLike = None,
        name: str | None = None,
        role: Role = "both",
        color: Iterable[float] | None = None,
    ) -> Self:
        """Fix a geometry to a body, a frame or the world (None) at a placement: what one sees
        (``role="visual"``), what touches (``"collision"``), or both.

        Without a name it is called after its body and its geometry. ``color`` is (r, g, b) or
        (r, g, b, a), from 0 to 1.
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
        if body is not None and not isinstance(body, str):
            raise ModelError(f"{what}: body {body!r} is no name; give a name, or None")
        place = as_pose(placement, f"{what}: placement")
        made = as_geometry(geometry, what), as_role(role, what), as_color(color, what)
        self._shapes[name] = (body, Shape(name, WORLD, place, *made))
        return self

    def configuration(self, name: str, joints: Mapping[str, ArrayLike]) -> Self:
        """Name a configuration: coordinates of some joints; the others are neutral.

        ``model.configurations[name]`` is the whole q.
        """
        if not isinstance(name, str) or not name:
            raise ModelError(f"configuration {name!r}: not a name; give a non-empty string")
        listed: list[tuple[str, tuple[float, ...]]] = []
        for joint, values in joints.items():
            x = np.atleast_1d(np.asarray(values, dtype=float))
            listed.append((joint, as_vector(x, x.size, f"configuration {name!r}: {joint!r}")))
        self._configurations[name] = Configuration(name, tuple(listed))
        return self

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

    def replace_joint(self, body: str, joint: Joint) -> Self:
        """Give a body another joint, and no limits or other joint data."""
        part = self._parts[body]
        dynamics = JointDynamics.of(joint, f"joint {part.joint_name!r}")
        self._parts[body] = replace(part, joint=joint, dynamics=dynamics)
        return self

    def replace_couplings(self, couplings: Sequence[Coupling]) -> Self:
        """Other couplings instead of those added."""
        self._couplings = {coupling.name: coupling for coupling in couplings}
        return self

    def _new_name(self, name: object, sort: str) -> str:
        if not isinstance(name, str) or not name:
            raise ModelError(f"{sort} {name!r}: not a name; give a non-empty string")
        for other, names in (("body", self._parts), ("frame", self._frames)):
            if name in names:
                raise ModelError(f"{sort} {name!r}: a {other} has this name; give another name")
        return f"{sort} {name!r}"

    def _new_closure(self, name: object, sort: str) -> str:
        if not isinstance(name, str) or not name:
            raise ModelError(f"{sort} {name!r}: not a name; give a non-empty string")
        rolling = {x.name for x in (*self._rollings, *self._velocity_rows)}
        others = self._loops, self._distances, self._couplings, self._springs, rolling
        if any(name in x for x in others):
            raise ModelError(
                f"{sort} {name!r}: a loop, coupling, spring or rolling has this name; give "
                "another name"
            )
        return f"{sort} {name!r}"

    # -- what is built -------------------------------------------------------------------------

    def build(self, physical: Physical = True) -> Model:
        """The model.

        An inertia that no rigid body has (negative mass, principal moments that violate the
        triangle inequality) is a `ModelError` that names the body; with ``physical="warn"`` it is
        a warning that lists all of them, and with ``physical=False`` nothing is checked. A
        massless body is allowed: it matters where the dynamics needs it.
        """
        order = self._order()
        self._check_physical(order, physical)
        spatial = self._absolute(order)
        where: dict[str, tuple[int, SE3]] = {}
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
            loops=tuple(self._closed(x, a, b, where) for a, b, x in self._loops.values()),
            couplings=tuple(self._coupled(x, joints) for x in self._couplings.values()),
            distances=tuple(self._spanned(x, a, b, where) for a, b, x in self._distances.values()),
            gravity=self.gravity,
            base_inertia=base,
            springs=tuple(self._spanned(x, a, b, where) for a, b, x in self._springs.values()),
            actuators=tuple(
                x for x in self._actuators.values() if self._driven(x, joints)
            ),
            _configurations=tuple(self._reached(x, joints) for x in self._configurations.values()),
            shapes=tuple(self._placed(x, body, where) for body, x in self._shapes.values()),
            contacts=self._contacts,
            rollings=self._rollings,
            velocity_rows=self._velocity_rows,
        )

    def _is_world(self, name: str | None) -> bool:
        return name is None or (
            name == "world" and name not in self._parts and name not in self._frames
        )

    def _order(self) -> list[_Part]:
        """Bodies, then frames, as they were added; but what carries others before them."""
        order: list[_Part] = []
        done: set[str] = set()
        known = self._parts | self._frames
        for part in known.values():
            path: list[_Part] = []
            here: set[str] = set()
            while part.name not in done:
                path.append(part)
                here.add(part.name)
                parent = part.parent
                if self._is_world(parent) or parent in done:
                    break
                if parent in here:
                    cycle = " → ".join(repr(p.name) for p in reversed(path))
                    raise ModelError(f"{cycle} carry each other; close the cycle with a loop")
                if parent not in known:
                    sort = "body" if part.name in self._parts else "frame"
                    raise ModelError(
                        f"{sort} {part.name!r}: parent {parent!r} is unknown; "
                        "add it, or name one that exists"
                    )
                part = known[parent]  # type: ignore
            order += reversed(path)
            done |= here
        return order

    def _absolute(self, order: list[_Part]) -> dict[str, Joint]:
        """The joints that were given in the inertial frame, brought to the frames of their bodies
        (10)–(12).
        """
        if all(part.spatial is None for part in order):
            return {}
        joints: dict[str, Joint] = {}
        A: dict[str | None, SE3] = {}
        for part in order:
            A_p = A.get(part.parent, IDENTITY)
            A_i = part.spatial
            if A_i is None:
                A_i = A_p @ part.joint.motion(part.joint.neutral())
            else:
                joints[part.name] = part.joint.between(A_p.inverse(), A_i.inverse())
            A[part.name] = A_i
        return joints

    def _check_physical(self, order: list[_Part], physical: Physical) -> None:
        if physical not in (True, False, "warn"):
            raise ModelError(f"physical={physical!r}; choose True, False or 'warn'")
        if physical is False:
            return
        faults = unphysical([part.inertia for part in order])
        if not faults:
            return
        lines = [f"body {order[i].name!r}: {fault}" for i, fault in faults.items()]
        if physical == "warn":
            warnings.warn(
                f"model {self.name!r} has unphysical inertias: " + "; ".join(lines),
                UnphysicalWarning,
                stacklevel=3,
            )
            return
        more = f" ({len(lines) - 1} more bodies are unphysical)" if len(lines) > 1 else ""
        raise ModelError(f"{lines[0]}; correct the inertia, or build with physical='warn'{more}")

    def _at(
        self, name: str | None, where: dict[str, tuple[int, SE3]], what: str
    ) -> tuple[int, SE3]:
        if name in where:
            return where[name]
        if self._is_world(name):
            return WORLD, IDENTITY
        raise ModelError(
            f"{what}: body {name!r} is unknown; name a body, a frame, or None for the world"
        )

    def _closed(
        self, loop: Loop, a: str | None, b: str | None, where: dict[str, tuple[int, SE3]]
    ) -> Loop:
        i, T_a = self._at(a, where, f"loop {loop.name!r}")
        j, T_b = self._at(b, where, f"loop {loop.name!r}")
        placements = T_a @ loop.placement_a, T_b @ loop.placement_b
        return Loop(loop.name, i, j, loop.joint, *placements)

    def _spanned(
        self, part: Span, a: str | None, b: str | None, where: dict[str, tuple[int, SE3]]
    ) -> Span:
        """A distance or spring between the points of the bodies that carry its ends."""
        what = f"{type(part).__name__.lower()} {part.name!r}"
        (i, T_a), (j, T_b) = (self._at(end, where, what) for end in (a, b))
        p, r = (
            (T @ SE3.translation(*x)).p.floats()
            for T, x in ((T_a, part.point_a), (T_b, part.point_b))
        )
        return replace(part, body_a=i, body_b=j, point_a=p, point_b=r)

    def _driven(self, actuator: Actuator, joints: dict[str, Joint]) -> bool:
        """Whether an actuator drives something: not, where its joint is locked."""
        what, joint = f"actuator {actuator.name!r}", joints.get(actuator.joint)
        if joint is None:
            if actuator.joint in self._joints:
                return False
            raise ModelError(f"{what}: joint {actuator.joint!r} is unknown; name a joint")
        if not joint.flat:
            raise ModelError(f"{what}: joint {actuator.joint!r} has no linear coordinates")
        if not 0 <= actuator.component < joint.nv:
            raise ModelError(
                f"{what}: joint {actuator.joint!r} has no coordinate {actuator.component}; "
                f"it has {joint.nv}"
            )
        return True

    def _reached(self, state: Configuration, joints: dict[str, Joint]) -> Configuration:
        """A named configuration of joints that move, checked."""
        kept: list[tuple[str, tuple[float, ...]]] = []
        for name, values in state.joints:
            joint = joints.get(name)
            if joint is None:
                if name in self._joints:  # locked or fixed: it has no coordinates
                    continue
                raise ModelError(
                    f"configuration {state.name!r}: joint {name!r} is unknown; name a joint"
                )
            if len(values) != joint.nq:
                raise ModelError(
                    f"configuration {state.name!r}: joint {name!r} has {joint.nq} coordinates; "
                    f"{len(values)} are given"
                )
            kept.append((name, tuple(map(float, joint.normalize(values)))))
        return replace(state, joints=tuple(kept))

    def _placed(
        self, shape: Shape, body: str | None, where: dict[str, tuple[int, SE3]]
    ) -> Shape:
        """A shape on the body that carries it."""
        i, T = self._at(body, where, f"shape {shape.name!r}")
        return shape.on(i, shape.placement if T is IDENTITY else as_pose(T @ shape.placement))

    def _coupled(self, coupling: Coupling, joints: dict[str, Joint]) -> Coupling:
        what = f"coupling {coupling.name!r}"
        for name, k, _ in coupling.terms:
            if name not in joints:
                raise ModelError(
                    f"{what}: joint {name!r} is unknown or fixed; name a joint that moves"
                )
            joint = joints[name]
            if not 0 <= k < joint.nq:
                raise ModelError(f"{what}: joint {name!r} has no coordinate {k}; it has {joint.nq}")
            if not joint.flat:
                raise ModelError(
                    f"{what}: joint {name!r} ({type(joint).__name__}) has no linear coordinates"
                )
        if not all(map(math.isfinite, (c for _, _, c in coupling.terms))):
            raise ModelError(f"{what}: coefficients are not finite; give finite numbers")
        return coupling
