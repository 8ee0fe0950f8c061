# pyright: basic
# (trimesh and pycollada are not typed)
"""What a mesh file holds: triangles in metres, with their colours; read alike for pictures and for
contact.
"""

from __future__ import annotations

import io
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mozzi.errors import ExtraMissingError, ModelError
from mozzi.types import ArrayLike

__all__ = ["Surface", "surfaces"]

KINDS = (".stl", ".obj", ".dae", ".glb", ".gltf", ".ply", ".off")
NEEDS = {".dae": "collada"}

Color = tuple[float, float, float]
Surface = tuple[np.ndarray, np.ndarray, Color | None]


def surfaces(path: Path) -> list[Surface]:
    """Vertices, faces and colour of each surface in a mesh file.

    Raises:
        ExtraMissingError: a package that reads this format is missing.
        ModelError: the file cannot be read.
    """
    return _surfaces(str(path), os.stat(path).st_mtime_ns)


@lru_cache(maxsize=256)
def _surfaces(name: str, _: int) -> list[Surface]:
    kind = Path(name).suffix.lower()
    if kind not in KINDS:
        raise ModelError(f"mesh {name!r}: no format {kind!r}; convert it to .stl, .obj or .glb")
    try:
        import trimesh

        if kind in NEEDS:
            __import__(NEEDS[kind])
    except ImportError as error:
        raise ExtraMissingError(
            f"mesh {name!r} needs {error.name}; install it with: pip install 'mozzi[viz]'"
        ) from None
    try:
        if kind == ".dae":
            found = _collada(Path(name))
        else:
            scene: Any = trimesh.load(name, force="scene")
            nodes = scene.graph.nodes_geometry
            found = [piece for node in nodes for piece in _by_colour(*_placed(scene, node))]
    except Exception as error:  # whatever a reader of somebody's file may raise
        text = " ".join(str(error).split())[:200] or type(error).__name__
        raise ModelError(f"mesh {name!r}: cannot be read ({text}); check the file") from error
    if not found:
        raise ModelError(f"mesh {name!r}: has no triangles; check the file")
    if not all(np.isfinite(points).all() for points, _, _ in found):
        raise ModelError(f"mesh {name!r}: has points that are not finite; check the file")
    return found


def _collada(path: Path) -> list[Surface]:
    """COLLADA through pycollada itself: in metres, and with materials that lead nowhere left out.

    As robots use the format, the up axis that a file declares does not turn it.
    """
    import collada
    from collada.common import DaeError
    from collada.scene import GeometryNode

    data = path.read_bytes()
    bare = re.sub(rb"<bind_material>.*?</bind_material>", b"", data, flags=re.DOTALL)
    found: list[Surface] = []
    for text in (data, bare):
        file: Any = collada.Collada(io.BytesIO(text), ignore=[DaeError])
        unit = float(file.assetInfo.unitmeter or 1.0)
        stack = [(node, np.diag([unit, unit, unit, 1.0])) for node in file.scene.nodes]
        while stack:
            node, T = stack.pop()
            if isinstance(node, GeometryNode):
                found += _primitives(node, T, path.parent)
            elif hasattr(node, "children"):
                stack += [(child, T @ node.matrix) for child in node.children]
        if found:
            break
    return found


def _primitives(node: Any, T: np.ndarray, folder: Path) -> list[Surface]:
    from collada.material import Map
    from collada.triangleset import TriangleSet

    paint = {material.symbol: material.target for material in node.materials}
    out: list[Surface] = []
    for one in node.geometry.primitives:
        whole = one.triangleset() if hasattr(one, "triangleset") else one
        if not isinstance(whole, TriangleSet) or not len(whole):
            continue
        effect = getattr(paint.get(one.material), "effect", None)
        diffuse = getattr(effect, "diffuse", None)
        color = None
        if isinstance(diffuse, Map):
            color = _texture(folder / str(diffuse.sampler.surface.image.path))
        elif isinstance(diffuse, tuple) and len(diffuse) >= 3:
            color = (float(diffuse[0]), float(diffuse[1]), float(diffuse[2]))
        points = np.asarray(whole.vertex, dtype=float) @ T[:3, :3].T + T[:3, 3]
        faces = np.asarray(whole.vertex_index, dtype=np.int64)
        turn = slice(None, None, -1 if np.linalg.det(T[:3, :3]) < 0.0 else 1)
        used, index = np.unique(faces, return_inverse=True)
        out.append((points[used], index.reshape(faces.shape)[:, turn], color))
    return out


def _texture(path: Path) -> Color | None:
    """The middle colour of a picture; None where it is not there, or Pillow is not."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        return None
    try:
        with Image.open(path) as picture:
            r, g, b = np.asarray(picture.convert("RGB"), dtype=float).mean(axis=(0, 1)) / 255.0
    except (OSError, UnidentifiedImageError):
        return None
    return float(r), float(g), float(b)


def _placed(scene: Any, node: str) -> tuple[Any, np.ndarray]:
    T, name = scene.graph[node]
    mesh = scene.geometry[name]
    points = np.asarray(getattr(mesh, "vertices", np.zeros((0, 3))), dtype=float)
    return mesh, points @ T[:3, :3].T + T[:3, 3]


def _by_colour(mesh: Any, points: np.ndarray) -> list[Surface]:
    """A surface for every colour of a mesh; the middle one where it has many, as a texture has."""
    faces = np.asarray(getattr(mesh, "faces", np.zeros((0, 3), int)), dtype=np.int64)
    if not len(faces):
        return []
    look = mesh.visual
    if not look.defined:
        return [(points, faces, None)]
    if look.kind == "texture":
        return [(points, faces, _color(look.material.main_color))]
    tints, which = np.unique(np.asarray(look.face_colors), axis=0, return_inverse=True)
    if len(tints) > 16:
        return [(points, faces, _color(np.asarray(look.face_colors).mean(axis=0)))]
    out: list[Surface] = []
    for k, tint in enumerate(tints):
        own = faces[which.ravel() == k]
        used, index = np.unique(own, return_inverse=True)
        out.append((points[used], index.reshape(own.shape), _color(tint)))
    return out


def _color(rgba: ArrayLike) -> Color:
    r, g, b = (float(x) / 255.0 for x in np.asarray(rgba)[:3])
    return (r, g, b)
