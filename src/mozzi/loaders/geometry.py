"""What a mechanism looks like: shapes fixed to links, as light data for viewers.

Loading a model never needs shapes, and shapes never open a mesh: `Mesh.path` says where it is when
somebody wants it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mozzi.lie import SE3
from mozzi.loaders.source import Place, Roots

__all__ = ["Mesh", "Shape"]


@dataclass(frozen=True, slots=True)
class Mesh:
    """A reference to a mesh file."""

    uri: str
    scale: tuple[float, ...]
    place: Place
    roots: Roots

    def path(self) -> Path:
        """The file, below the declared roots.

        Raises:
            ModelError: it does not exist there, lies elsewhere, or would have to be fetched.
        """
        return self.roots.resolve(self.uri, self.place)


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape fixed to a link.

    ``kind`` says how to read ``size``: ``box`` (three edges), ``sphere`` (radius), ``cylinder``
    and ``capsule`` (radius and length along z, without the caps), ``ellipsoid`` (three radii),
    ``plane`` (two edges, normal z), ``mesh`` (nothing; see ``mesh``).
    """

    link: str
    role: str
    kind: str
    pose: SE3
    size: tuple[float, ...] = ()
    color: tuple[float, ...] | None = None
    mesh: Mesh | None = None
    name: str = ""
