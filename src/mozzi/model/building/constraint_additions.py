# pyright: reportUnnecessaryIsInstance=false
"""Adding loops, rods, springs and couplings to a builder."""

from __future__ import annotations

from typing import Self

from mozzi.checked import checked
from mozzi.errors import ModelError
from mozzi.model.building.collected import Collected
from mozzi.model.constraints.loop import Coupling, Distance, Loop, Spring, Terms
from mozzi.model.frames import PoseLike, VectorLike, as_number, as_pose, as_vector
from mozzi.model.interface.parts import WORLD
from mozzi.model.joints.joint import Joint

__all__ = ["ConstraintAdditions"]


class ConstraintAdditions(Collected):
    """What ties bodies to each other besides the joints of the tree."""

    @checked
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

        Example:
            >>> arm = mz.Builder("arm").add("link", None, mz.Revolute("z"))
            >>> arm.loop("grip", None, "link", mz.Spherical()).build().row_count
            3
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

    @checked
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

        Example:
            >>> arm = mz.Builder("arm").add("link", None, mz.Revolute("z"))
            >>> arm.distance("rod", None, "link", (1, 0, 0)).build().row_count
            1
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

    @checked
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

        Example:
            >>> arm = mz.Builder("arm").add("link", None, mz.Revolute("z"))
            >>> len(arm.spring("coil", None, "link", stiffness=5.0).build().springs)
            1
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

    @checked
    def coupling(self, name: str, terms: Terms, offset: float = 0.0) -> Self:
        """Couple joint coordinates linearly:  Σ c q = offset, with terms {joint or (joint,
        component): c}.

        Args:
            name: its name.
            terms: {joint or (joint, number of a coordinate): coefficient}.
            offset: what the sum is.

        Example:
            >>> two = mz.Builder("two").add("a", None, mz.Revolute("z"))
            >>> two = two.add("b", "a", mz.Revolute("z"))
            >>> two.coupling("gear", {"a": 1.0, "b": -2.0}).build().row_count
            1
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
