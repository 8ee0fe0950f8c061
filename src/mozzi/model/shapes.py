"""What bodies look like and what they touch with: geometries, and shapes that fix them to bodies.

All of it is data. A mesh is a path, which nobody opens before somebody looks at it.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, final, get_args

import numpy as np
from numpy.typing import NDArray

from mozzi.errors import ModelError
from mozzi.model.frames import as_number, as_vector, pose_key
from mozzi.model.surfaces import Surface

if TYPE_CHECKING:
    from mozzi.lie import SE3

__all__ = [
    "Box", "Capsule", "Cylinder", "Disc", "Ellipsoid", "Geometry", "HeightField", "Mesh", "Plane",
    "Role", "Shape", "Sphere", "Torus", "as_color", "as_geometry", "as_role",
]  # fmt: skip

Role = Literal["visual", "collision", "both"]
Color = tuple[float, float, float, float]
Vector = tuple[float, float, float]


class _Solid:
    """A geometry whose numbers are its content."""

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        return (type(self).__name__, *vars(self).values())

    def _check(self, **words: int) -> None:
        """Positive numbers: one, or as many as a word takes."""
        for word, size in words.items():
            what, x = f"{type(self).__name__}: {word}", getattr(self, word)
            values = (as_number(x, what),) if size == 1 else as_vector(x, size, what)
            if min(values) <= 0.0:
                raise ModelError(f"{what} {x}; give a positive length")
            object.__setattr__(self, word, values[0] if size == 1 else values)


@final
@dataclass(frozen=True)
class Sphere(_Solid):
    """A ball about the origin of its frame.

    Example:
        >>> mz.Sphere(0.1).radius
        0.1
    """

    radius: float

    def __post_init__(self) -> None:
        self._check(radius=1)


@final
@dataclass(frozen=True)
class Box(_Solid):
    """A box about the origin, with these edges along x, y and z.

    Example:
        >>> box = mz.Builder("box").add("box", None, mz.Free())
        >>> box = box.shape("box", mz.Box((0.3, 0.2, 0.1)))
        >>> box.build().shapes[0].geometry.size
        (0.3, 0.2, 0.1)
    """

    size: Vector

    def __post_init__(self) -> None:
        self._check(size=3)


@final
@dataclass(frozen=True)
class Ellipsoid(_Solid):
    """An ellipsoid about the origin, with these half-axes along x, y and z.

    Example:
        >>> mz.Ellipsoid((0.3, 0.2, 0.1)).radii
        (0.3, 0.2, 0.1)
    """

    radii: Vector

    def __post_init__(self) -> None:
        self._check(radii=3)


@final
@dataclass(frozen=True)
class Cylinder(_Solid):
    """A cylinder about the origin, its length along z.

    Example:
        >>> mz.Cylinder(radius=0.05, length=0.4).radius
        0.05
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        self._check(radius=1, length=1)


@final
@dataclass(frozen=True)
class Capsule(_Solid):
    """A cylinder about the origin with half-balls on its ends; the length along z is that of the
    cylinder, without the caps.

    Example:
        >>> mz.Capsule(radius=0.05, length=0.4).length
        0.4
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        self._check(radius=1, length=1)


@final
@dataclass(frozen=True)
class Disc(_Solid):
    """A thin disc about the origin, with the axis z: a wheel with a sharp rim.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_shape("ball", mz.Disc(0.3), name="rim")
        >>> ball.shape("rim").geometry.radius
        0.3
    """

    radius: float

    def __post_init__(self) -> None:
        self._check(radius=1)


@final
@dataclass(frozen=True)
class Torus(_Solid):
    """A tube of this radius around a circle about the origin, with the axis z: a wheel with a round
    tyre, which reaches out to radius + tube.

    Example:
        >>> mz.Torus(radius=0.3, tube=0.02).tube
        0.02
    """

    radius: float
    tube: float

    def __post_init__(self) -> None:
        self._check(radius=1, tube=1)


@final
@dataclass(frozen=True)
class Plane(_Solid):
    """The half-space below z = 0, with the normal z; without end.

    Example:
        >>> ball = mz.load("ball.urdf", base="free").with_shape(None, mz.Plane(), name="floor")
        >>> ball = ball.with_contact("lands", ball.shapes[0].name, "floor")
        >>> mz.contact_gaps(ball, [0, 0, 1, 0, 0, 0, 1]).round(3).tolist()
        [0.9]
    """


@final
@dataclass(frozen=True, eq=False)
class Mesh:
    """The surface in a file: .stl, .obj, .dae, .glb.

    ``path`` is the file, ``scale`` a number or one for each axis. A mesh that a robot description
    names keeps the words of that file in ``uri``, which identify it on every machine, and in
    ``fault`` why it cannot be read, where it cannot. What is in the file is not part of the key.

    Example:
        >>> mesh = mz.Mesh("hand.stl", scale=0.001)  # a file in millimetres
        >>> mesh.scale
        (0.001, 0.001, 0.001)
    """

    path: str
    scale: Vector = (1.0, 1.0, 1.0)
    uri: str = ""
    fault: str = ""

    def __init__(
        self,
        path: str | os.PathLike[str],
        scale: float | Vector = 1.0,
        uri: str = "",
        fault: str = "",
    ) -> None:
        if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):  # pyright: ignore
            raise ModelError(f"Mesh: path {path!r}; give the path of a mesh file")
        name = os.fspath(path)
        alike = isinstance(scale, (int, float))
        factors = as_vector((scale,) * 3 if alike else scale, 3, f"mesh {name!r}: scale")
        if not all(factors):
            raise ModelError(f"mesh {name!r}: scale {factors} flattens it; give non-zero numbers")
        for word, value in (("path", name), ("scale", factors), ("uri", uri), ("fault", fault)):
            object.__setattr__(self, word, value)

    def file(self) -> Path:
        """The file to open.

        Raises:
            ModelError: it does not exist, or a description names it that may not name it.
        """
        if self.fault:
            raise ModelError(self.fault)
        if not os.path.isfile(self.path):
            raise ModelError(f"mesh {self.path!r}: does not exist; check the path")
        return Path(self.path)

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        return ("Mesh", self.uri or self.path, self.scale)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@final
@dataclass(frozen=True, eq=False)
class HeightField:
    """A ground of heights over a rectangle of the extent (along x, along y) about the origin.

    ``heights[i, j]`` is z at the i-th of equally spaced y and the j-th of equally spaced x, both
    from the negative edge to the positive one.

    Example:
        >>> hill = mz.HeightField(np.array([[0.0, 0.0], [0.0, 0.1]]), extent=(2.0, 2.0))
        >>> ball = mz.load("ball.urdf", base="free").with_shape(None, hill, name="hill")
        >>> ball.shape("hill").geometry.extent
        (2.0, 2.0)
    """

    heights: NDArray[np.float64]
    extent: tuple[float, float]

    def __post_init__(self) -> None:
        try:
            heights = np.array(self.heights, dtype=float)
        except (TypeError, ValueError):
            raise ModelError("HeightField: heights are no numbers; give a 2-D array") from None
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise ModelError(
                f"HeightField: heights have shape {heights.shape}; give a 2-D array, at least 2×2"
            )
        if not np.isfinite(heights).all():
            raise ModelError("HeightField: heights are not finite; give finite numbers")
        extent = as_vector(self.extent, 2, "HeightField: extent")
        if min(extent) <= 0.0:
            raise ModelError(f"HeightField: extent {extent}; give positive lengths")
        heights += 0.0
        heights.flags.writeable = False
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "extent", extent)

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        digest = hashlib.sha256(self.heights.tobytes()).hexdigest()
        return ("HeightField", self.heights.shape, digest, self.extent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HeightField) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        rows, columns = self.heights.shape
        return f"HeightField({rows}×{columns}, extent={self.extent})"

    def __reduce__(self) -> tuple[object, ...]:
        return (HeightField, (self.heights, self.extent))


Geometry = (
    Sphere | Box | Ellipsoid | Cylinder | Capsule | Disc | Torus | Plane | Mesh | HeightField
)


@final
@dataclass(frozen=True, eq=False)
class Shape:
    """A geometry fixed to a body.

    ``body`` is the index of the body (−1: the world), ``placement`` the pose of the geometry's
    frame in that body's. ``role`` says whether it is what one sees, what touches, or both;
    ``color`` is (red, green, blue, opacity) from 0 to 1, None where nobody chose one; ``surface``
    what contacts of it are like, where nobody tells otherwise.

    Example:
        >>> shape = mz.load("ball.urdf", base="free").shapes[0]
        >>> shape.body, shape.geometry.radius, shape.role
        (0, 0.1, 'collision')
    """

    name: str
    body: int
    placement: SE3
    geometry: Geometry
    role: Role = "both"
    color: Color | None = None
    surface: Surface | None = None

    @property
    def visual(self) -> bool:
        """Whether one sees it."""
        return self.role != "collision"

    @property
    def collision(self) -> bool:
        """Whether it touches."""
        return self.role != "visual"

    @property
    def key(self) -> tuple[object, ...]:
        """The content as a nested tuple of numbers and strings."""
        place = pose_key(self.placement)
        own = ("Shape", self.name, self.body, place, self.geometry.key, self.role, self.color)
        return own if self.surface is None else (*own, self.surface.key)

    def on(self, body: int, placement: SE3) -> Shape:
        """The same shape, fixed elsewhere.

        Args:
            body: its name or number; None is the world.
            placement: pose in that frame: SE3 or (4, 4); None: the frame itself.

        Example:
            >>> shape = mz.load("ball.urdf", base="free").shapes[0]
            >>> shape.on(-1, mz.SE3.translation(0, 0, 1)).body
            -1
        """
        return replace(self, body=body, placement=placement)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Shape({self.name!r}, {self.body}, {self.geometry!r}, role={self.role!r})"


def as_color(color: Iterable[float] | None, what: str) -> Color | None:
    """Red, green, blue and opacity from three or four numbers between 0 and 1."""
    if color is None:
        return None
    try:
        values = tuple(float(c) for c in color)
    except (TypeError, ValueError):
        values = ()
    if len(values) == 3:
        values = (*values, 1.0)
    if len(values) != 4 or not all(math.isfinite(c) and 0.0 <= c <= 1.0 for c in values):
        raise ModelError(f"{what}: color {color!r}; give (r, g, b) or (r, g, b, a) from 0 to 1")
    return values


def as_geometry(geometry: Geometry, what: str) -> Geometry:
    """The geometry, if it is one."""
    if not isinstance(geometry, get_args(Geometry)):
        raise ModelError(f"{what}: {geometry!r} is no geometry; give one such as Sphere(0.1)")
    return geometry


def as_role(role: Role, what: str) -> Role:
    """The role, if it is one."""
    if role not in get_args(Role):
        raise ModelError(f"{what}: role {role!r}; choose 'visual', 'collision' or 'both'")
    return role
