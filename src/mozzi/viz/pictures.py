"""`Pictures`: a mechanism as arrays of pixels, one configuration after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.kinematics.poses import forward_kinematics
from mozzi.model import Model
from mozzi.types import Array
from mozzi.viz.drawing.shapes import drawing
from mozzi.viz.page import ball_around, corners, floor_of
from mozzi.viz.render import Camera, paint, pillow

__all__ = ["Pictures"]

FACES = 4_000  # a picture takes some 20 ms
ROOM = 1.6  # the radius that is in the picture, of that of what is drawn at first


class Pictures:
    """Pictures of a model from one side; the camera moves when something leaves its picture.

    Args:
        model: the mechanism.
        pixels: of an edge.
    """

    def __init__(self, model: Model, pixels: int = 480):
        pillow()
        self.model, self.pixels = model, pixels
        self._drawn = drawing(model).within(FACES)
        self._center: Array | None = None
        self._radius = 0.0

    def picture(self, q: Array) -> NDArray[np.uint8]:
        """(pixels, pixels, 3) of a configuration.

        Args:
            q: (nq,).
        """
        poses = np.asarray(forward_kinematics(self.model, np.asarray(q, dtype=float)))[:, :3, :]
        points = corners(self._drawn.parts, poses[None])[0]
        center, radius = ball_around(points, 1e-6)
        if self._center is None:
            self._center, self._radius = center, ROOM * radius
        away = center - self._center
        distance = float(np.linalg.norm(away))
        beyond = distance + radius - self._radius
        if beyond > 0.0:
            self._center = self._center + away * min(1.0, beyond / max(distance, 1e-12))
        camera = Camera(self._center, self._radius, self.pixels)
        floor = floor_of(self._drawn, points)
        image = paint(self._drawn.parts, poses, camera, np.zeros((0, 3)), floor)
        return np.asarray(image, dtype=np.uint8)
