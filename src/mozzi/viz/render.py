"""Pictures without a graphics card: triangles painted from the farthest to the nearest."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from mozzi.errors import ExtraMissingError
from mozzi.viz.drawing.shapes import Part

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["GIF_FACES", "Camera", "paint", "pillow"]

GIF_FACES = 12_000
BACKGROUND = (244, 246, 250)
SUN = np.array([0.45, -0.6, 1.0]) / np.linalg.norm([0.45, -0.6, 1.0])
HALF = 0.36  # half of the angle of view, in radians


def pillow() -> tuple[ModuleType, ModuleType]:
    """PIL.Image and PIL.ImageDraw, or an error that says where to get them."""
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise ExtraMissingError(
            "pictures need pillow; install it with: pip install 'mozzi[viz]'"
        ) from None
    return Image, ImageDraw


class Camera:
    """Looks at a ball so that all of it is in the picture."""

    def __init__(
        self,
        center: np.ndarray,
        radius: float,
        pixels: int,
        azimuth: float = -1.0,
        elevation: float = 0.35,
    ) -> None:
        c, s = np.cos(azimuth), np.sin(azimuth)
        self.back = np.array([np.cos(elevation) * c, np.cos(elevation) * s, np.sin(elevation)])
        right = np.array([-s, c, 0.0])
        self.axes = np.stack([right, np.cross(self.back, right), self.back])
        self.eye = center + self.back * (radius / np.sin(HALF))
        self.pixels = pixels

    def see(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places in the picture (right and down, in pixels), and distances from the eye."""
        x, y, z = np.moveaxis((points - self.eye) @ self.axes.T, -1, 0)
        depth = np.maximum(-z, 1e-9)
        scale = 0.5 * self.pixels / np.tan(HALF)
        half = 0.5 * self.pixels
        return np.stack([half + scale * x / depth, half - scale * y / depth], axis=-1), depth


def paint(
    parts: Sequence[Part], poses: np.ndarray, camera: Camera, trail: np.ndarray, floor: float
) -> Image:
    """A picture of parts on bodies with these poses (nb, 3, 4), and of the path of a tip."""
    Image, ImageDraw = pillow()
    picture = Image.new("RGB", (2 * camera.pixels,) * 2, BACKGROUND)
    draw = ImageDraw.Draw(picture)
    corners, colors = _triangles(parts, poses)
    shade = corners - SUN * ((corners[..., 2:] - floor) / SUN[2])
    for xy in 2.0 * camera.see(shade)[0].reshape(-1, 6):
        draw.polygon(list(xy), fill=(226, 230, 237))
    if len(trail) > 1:
        draw.line(list(2.0 * camera.see(trail)[0].ravel()), fill=(190, 64, 51), width=3)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    facing = np.einsum("ij,ij->i", normal, camera.eye - corners.mean(axis=1)) > 0.0
    corners, colors, normal = corners[facing], colors[facing], normal[facing]
    light = 0.36 + 0.15 * (1.0 + normal[:, 2]) + 0.46 * np.maximum(normal @ SUN, 0.0)
    tint = np.clip(255.0 * colors * light[:, None], 0, 255).astype(int)
    xy, depth = camera.see(corners)
    for k in np.argsort(-depth.mean(axis=1)):
        draw.polygon(list(2.0 * xy[k].ravel()), fill=tuple(tint[k]))
    return picture.resize((camera.pixels,) * 2, Image.Resampling.LANCZOS)


def _triangles(parts: Sequence[Part], poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners (m, 3, 3) in the inertial frame, and colours (m, 3)."""
    corners, colors = [np.zeros((0, 3, 3))], [np.zeros((0, 3))]
    for part in parts:
        points = part.vertices
        if part.body >= 0:
            points = points @ poses[part.body, :, :3].T + poses[part.body, :, 3]
        corners.append(points[part.faces])
        colors.append(np.broadcast_to(part.color, (len(part.faces), 3)))
    return np.concatenate(corners), np.concatenate(colors)
