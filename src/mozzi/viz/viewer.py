"""A mechanism in the browser, through viser: sliders, frames, joint screws, replay."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from mozzi.algorithms.dynamics.energy import center_of_mass
from mozzi.algorithms.kinematics.poses import forward_kinematics
from mozzi.errors import ExtraMissingError
from mozzi.viz.shapes import Part, capsule, cone, extent, merged, onto, skeleton

__all__ = ["Viewer", "screw_axes"]

LINEAR = ("x", "y", "z", "vx", "vy", "vz")
GOLD, TEAL = (214, 158, 46), (56, 150, 160)
Handle = Any


class Viewer:
    """Shows a model on a page that a local server gives out; `close` ends it.

    Sliders move every joint: coordinates where they are linear, and an increment from the neutral
    configuration where they are not (balls, free bodies). Joint screws are arrows, gold where they
    turn and teal where they slide, with their pitch written at the tip. A trajectory adds a time
    slider and a replay.
    """

    def __init__(
        self,
        model: Any,
        parts: Sequence[Part] | None = None,
        trajectory: Any = None,
        host: str = "127.0.0.1",
        port: int = 8080,
    ):
        try:
            import viser
        except ImportError:
            raise ExtraMissingError(
                "the viewer needs viser; install it with: pip install 'mozzi[viz]'"
            ) from None
        self.model, self.trajectory = model, trajectory
        self.size = extent(model)
        self.server = viser.ViserServer(host=host, port=port, label="mozzi", verbose=False)
        self.url = f"http://{host}:{self.server.get_port()}"
        self._closed = threading.Event()
        self._lock = threading.RLock()
        self.q = model.neutral()
        self._scene(list(parts) if parts is not None else skeleton(model))
        self._controls()
        self.show(self.q)
        if trajectory is not None:
            self._replay()

    def close(self) -> None:
        """Stop the server."""
        self._closed.set()
        self.server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- the scene -----------------------------------------------------------------------------

    def _scene(self, parts: Sequence[Part]) -> None:
        scene, length = self.server.scene, 0.12 * self.size
        self.server.initial_camera.position = tuple(np.array([0.7, -0.95, 0.7]) * self.size)
        self.server.initial_camera.look_at = (0.0, 0.0, 0.2 * self.size)
        side = 4.0 * self.size
        scene.add_grid("/ground", side, side, cell_size=side / 20, section_size=side / 4)
        self.bodies: list[Handle] = []
        for i in range(self.model.nb):
            frame = scene.add_frame(
                f"/body/{i}", show_axes=False, axes_length=length, axes_radius=0.04 * length
            )
            self.bodies.append(frame)
        for k, part in enumerate(parts):
            place = f"/body/{part.body}" if part.body >= 0 else "/world"
            r, g, b = (round(255 * c) for c in part.color)
            scene.add_mesh_simple(f"{place}/part{k}", part.vertices, part.faces, color=(r, g, b))
        self.center = scene.add_icosphere("/center", 0.02 * self.size, (200, 40, 40), visible=False)
        self.screws: list[tuple[Handle, Handle]] = []
        arrow = merged(
            capsule((0, 0, 0), (0, 0, 0.24 * self.size), 0.006 * self.size),
            cone((0, 0, 0.24 * self.size), (0, 0, 0.3 * self.size), 0.018 * self.size),
        )
        names = [label for label, _, _ in ranges(self.model)]
        for k, (_, pitch) in enumerate(screw_axes(self.model, self.q)):
            color = TEAL if math.isinf(pitch) else GOLD
            frame = scene.add_frame(f"/screw/{k}", show_axes=False, visible=False)
            scene.add_mesh_simple(f"/screw/{k}/arrow", *arrow, color=color)
            motion = "slides" if math.isinf(pitch) else f"pitch {pitch:.3g} m/rad"
            tip = (0.0, 0.0, 0.31 * self.size)
            label = scene.add_label(
                f"/screw/{k}/pitch", f"{names[k]}: {motion}", position=tip, visible=False
            )
            self.screws.append((frame, label))

    def show(self, q: np.ndarray) -> None:
        """Move everything to a configuration."""
        T = forward_kinematics(self.model, q)
        with self._lock, self.server.atomic():
            self.q = np.array(q, dtype=float)
            for frame, pose in zip(self.bodies, T, strict=True):
                frame.wxyz, frame.position = quaternion(pose[:3, :3]), pose[:3, 3]
            self.center.position = center_of_mass(self.model, q)
            for (frame, _), (pose, _) in zip(self.screws, screw_axes(self.model, q), strict=True):
                frame.wxyz, frame.position = quaternion(pose[:3, :3]), pose[:3, 3]

    # -- the controls --------------------------------------------------------------------------

    def _controls(self) -> None:
        gui = self.server.gui
        with gui.add_folder("Show"):
            self._switch("body frames", [(frame, "show_axes") for frame in self.bodies])
            marks = [(x, "visible") for pair in self.screws for x in pair]
            self._switch("joint screws", marks)
            self._switch("centre of mass", [(self.center, "visible")])
        self.sliders: list[Handle] = []
        with gui.add_folder("Joints"):
            for label, low, high in ranges(self.model):
                step = (high - low) / 1000.0
                slider = gui.add_slider(label, low, high, step, min(max(0.0, low), high))
                slider.on_update(lambda _: self._moved())
                self.sliders.append(slider)
            gui.add_button("neutral").on_click(lambda _: self.reset())
        self._moved()

    def _switch(self, label: str, marks: Sequence[tuple[Handle, str]]) -> None:
        box = self.server.gui.add_checkbox(label, False)

        @box.on_update
        def _(_: Any) -> None:
            for handle, name in marks:
                setattr(handle, name, box.value)

    def _moved(self) -> None:
        dv = [float(slider.value) for slider in self.sliders]
        self.show(from_sliders(self.model, dv))

    def reset(self) -> None:
        """All sliders to the neutral configuration, or the limit next to it."""
        for slider in self.sliders:
            slider.value = min(max(0.0, slider.min), slider.max)
        self._moved()

    # -- replay --------------------------------------------------------------------------------

    def _replay(self) -> None:
        motion = self.trajectory
        if motion.batch:
            motion = motion[(0,) * len(motion.batch)]
        self.motion = motion
        gui, end = self.server.gui, float(motion.t[-1])
        with gui.add_folder("Replay"):
            self.clock = gui.add_slider("time / s", float(motion.t[0]), end, end / 2000.0, 0.0)
            self.playing = gui.add_checkbox("play", False)
            self.speed = gui.add_slider("speed", 0.1, 4.0, 0.1, 1.0)
        self.clock.on_update(lambda _: self._seek())
        threading.Thread(target=self._play, daemon=True).start()
        self._seek()

    def _seek(self) -> None:
        k = int(np.searchsorted(self.motion.t, self.clock.value))
        q = self.motion.q[min(k, len(self.motion.t) - 1)]
        if np.isfinite(q).all():
            self.show(q)

    def _play(self) -> None:
        before = time.monotonic()
        while not self._closed.wait(1.0 / 40.0):
            now = time.monotonic()
            if self.playing.value:
                t = self.clock.value + (now - before) * self.speed.value
                self.clock.value = t if t < self.motion.t[-1] else float(self.motion.t[0])
                self._seek()
            before = now


def ranges(model: Any) -> list[tuple[str, float, float]]:
    """(label, low, high) of a slider for every degree of freedom."""
    out = []
    for body in model:
        own, joint = body.dynamics, body.joint
        for k, name in enumerate(joint.v_names):
            label = body.joint_name if joint.nv == 1 else f"{body.joint_name} {name}"
            reach = 1.0 if name.rpartition(".")[2] in LINEAR else math.pi
            low, high = -reach, reach
            if joint.flat and math.isfinite(own.lower[k]) and math.isfinite(own.upper[k]):
                low, high = own.lower[k], own.upper[k]
            if high - low < 1e-9:
                low, high = low - 1e-6, high + 1e-6
            out.append((label, low, high))
    return out


def from_sliders(model: Any, values: Sequence[float]) -> np.ndarray:
    """neutral ⊕ values: for joints with linear coordinates, the values themselves."""
    from mozzi.algorithms.kinematics.configuration import integrate

    return integrate(model, model.neutral(), np.asarray(values, dtype=float))


def screw_axes(model: Any, q: np.ndarray) -> list[tuple[np.ndarray, float]]:
    """(pose, pitch) of every joint screw in the inertial frame: z along its axis; the pitch is
    infinite where it slides.
    """
    out, T = [], forward_kinematics(model, q)
    for i, body in enumerate(model):
        own = [float(x) for x in q[model.q_slices[body.joint_name]]]
        place = T[i] @ np.array(body.joint.frame_child.matrix(), dtype=float)
        for column in body.joint.screws(own):
            w, u = (np.array(x.flatten(), dtype=float) for x in (column.ang, column.lin))
            pose = np.eye(4)
            size = float(w @ w)
            pose[:3, :3] = onto(w if size > 0.0 else u)
            if size > 0.0:
                pose[:3, 3] = np.cross(w, u) / size
            out.append((place @ pose, float(w @ u) / size if size > 0.0 else math.inf))
    return out


def quaternion(R: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of a rotation."""
    K = np.array(
        [
            [R[0, 0] - R[1, 1] - R[2, 2], 0, 0, 0],
            [R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], 0, 0],
            [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1], 0],
            [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], np.trace(R)],
        ]
    )
    x, y, z, w = np.linalg.eigh(K)[1][:, -1]  # eigh reads the lower triangle
    return np.array([w, x, y, z])
