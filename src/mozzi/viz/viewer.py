"""A mechanism in the browser, through viser: sliders, marks, replay."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mozzi.algorithms.kinematics.configuration import difference, integrate
from mozzi.algorithms.kinematics.poses import forward_kinematics
from mozzi.errors import ExtraMissingError, LoopError
from mozzi.viz.drawing.marks import CONTACT_FORCES, Mark, marks
from mozzi.viz.drawing.meshes import smoothed
from mozzi.viz.drawing.shapes import PAGE_FACES, Drawing, drawing
from mozzi.viz.page import ball_around, corners, floor_of
from mozzi.viz.serving import free_port, only_own_pages

if TYPE_CHECKING:
    import viser

    from mozzi.model import Model
    from mozzi.simulation.trajectories.trajectory import Trajectory
    from mozzi.types import JointChoice

__all__ = ["Viewer", "from_sliders", "quaternion", "ranges"]

LINEAR = ("x", "y", "z", "vx", "vy", "vz")
AS_POSITION = {f"{a}{x}": f"{b}{x}" for a, b in (("v", ""), ("w", "turn ")) for x in "xyz"}
"""What sliders call velocities that they move along."""
DIRECTION = np.array([0.51, -0.79, 0.34])  # from where the camera looks
ABOVE = 0.5  # halves of the height by which the robot is above the middle of a phone
HALF = math.radians(25.0)  # half of viser's angle of view
PACE = 0.2  # seconds from one setting of the sliders to the next while a motion is played


class Viewer:
    """Shows a model on a page that a local server gives out; `close` ends it.

    Sliders move every joint: coordinates where they are linear, and an increment from the start
    where they are not (balls, free bodies). In a closed mechanism the others follow the one that
    is moved, and all follow a replay. Named configurations of the model are buttons. Joint screws
    are arrows, gold where they turn, teal where they slide, violet where they do both, with their
    pitch. A trajectory adds a time slider and a replay, the axes of the bodies' twists, and forces
    of contacts as arrows where it has them.
    """

    def __init__(
        self,
        model: Model,
        drawn: Drawing | None = None,
        trajectory: Trajectory | None = None,
        host: str = "127.0.0.1",
        port: int = 8080,
    ):
        try:
            import viser
        except ImportError:
            raise ExtraMissingError(
                "the viewer needs viser; install it with: pip install 'mozzi[viz]'"
            ) from None
        if trajectory is not None and trajectory.batch:
            trajectory = trajectory[(0,) * len(trajectory.batch)]
        self.model, self.trajectory = model, trajectory
        forces = None if trajectory is None else trajectory.known_contact_forces
        self.forces = None if forces is None else np.nan_to_num(np.asarray(forces))
        self.now: np.ndarray | None = None  # (k, 3): forces of contacts at the time that is shown
        self.closed = bool(model.closures)
        self.start = self._closed_near(model.neutral())
        self.q = self.start
        self.v = np.zeros(model.nv)
        port = free_port(host, port)
        with only_own_pages(host):
            self.server = viser.ViserServer(host=host, port=port, label="mozzi", verbose=False)
        self.server.gui.main_panel.dock_right()  # beside the robot, not over it
        self.url = f"http://{host}:{self.server.get_port()}"
        self._closed = threading.Event()
        self._lock = threading.RLock()
        self._busy = False
        drawn = (drawing(model) if drawn is None else drawn).within(PAGE_FACES)
        self._scene(drawn)
        self.server.on_client_connect(self._fit)
        self._controls(drawn)
        self.show(self.q)
        if self.trajectory is not None:
            self._replay(self.trajectory)

    def close(self) -> None:
        """Stop the server."""
        self._closed.set()
        self.server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _closed_near(self, q: np.ndarray, hold: JointChoice = ()) -> np.ndarray:
        """A configuration near q whose loops are closed, with some joints held where that goes."""
        if not self.closed:
            return q
        from mozzi.algorithms.loops.assemble import assemble

        try:
            return assemble(self.model, q, hold)
        except LoopError:
            return assemble(self.model, q) if hold else q

    # -- the scene -----------------------------------------------------------------------------

    def _scene(self, drawn: Drawing) -> None:
        scene = self.server.scene
        shown = self.q[None]
        if self.trajectory is not None:
            q = self.trajectory.q.reshape(-1, self.model.nq)
            q = q[np.isfinite(q).all(axis=1)]
            shown = q[:: max(1, len(q) // 200)] if len(q) else shown
        points = corners(drawn.parts, forward_kinematics(self.model, shown)[:, :, :3, :])
        self.middle, self.size = ball_around(points.reshape(-1, 3), 1e-3)
        self.server.initial_camera.position = tuple(self.eye())
        self.server.initial_camera.look_at = tuple(self.middle)
        self.server.initial_camera.fov = 2.0 * HALF
        side, floor = 6.0 * self.size, floor_of(drawn, points)
        scene.add_grid(
            "/ground", side, side, cell_size=side / 30, section_size=side / 6,
            position=(0.0, 0.0, floor),
        )  # fmt: skip
        scene.add_frame("/axes", axes_length=0.2 * self.size, axes_radius=0.006 * self.size)
        scene.set_up_direction("+z")
        scene.configure_default_lights(cast_shadow=True)
        self.bodies: list[viser.FrameHandle] = [
            scene.add_frame(f"/body/{i}", show_axes=False) for i in range(self.model.nb)
        ]
        for k, part in enumerate(drawn.parts):
            place = f"/body/{part.body}" if part.body >= 0 else "/world"
            r, g, b = (round(255 * c) for c in part.color)
            points, _, faces = smoothed(np.asarray(part.vertices, dtype=float), part.faces)
            scene.add_mesh_simple(
                f"{place}/part{k}", points.astype(np.float32), faces.astype(np.uint32),
                color=(r, g, b), opacity=None if part.opacity == 1.0 else part.opacity,
            )  # fmt: skip

    def eye(self) -> np.ndarray:
        """Where the camera stands so that all is in the picture."""
        return self.middle + DIRECTION / np.linalg.norm(DIRECTION) * self.size / math.sin(HALF)

    def _fit(self, client: viser.ClientHandle) -> None:
        """On a window that is higher than wide, a phone: so far away that all is in its width, and
        above the panel, which lies over the lower half until its head is tapped.
        """
        narrow = client.camera.image_width / max(client.camera.image_height, 1)
        if narrow >= 1.0:
            return
        away = (self.eye() - self.middle) / narrow
        ahead = -away / np.linalg.norm(away)
        up = np.array([0.0, 0.0, 1.0]) - ahead[2] * ahead
        half = math.tan(HALF) * float(np.linalg.norm(away))  # of the picture's height
        below = self.middle - ABOVE * half * up / np.linalg.norm(up)
        with client.atomic():
            client.camera.position = below + away
            client.camera.look_at = below

    def show(
        self, q: np.ndarray, forces: np.ndarray | None = None, v: np.ndarray | None = None
    ) -> None:
        """Move everything to a configuration, with the forces of contacts where they are known,
        and with velocities v (None: rest).
        """
        T = forward_kinematics(self.model, q)
        with self._lock, self.server.atomic():
            self.now = forces
            before = self.bodies_at(self.q)
            self.q = np.array(q, dtype=float)
            self.v = np.zeros(self.model.nv) if v is None else np.array(v, dtype=float)
            for frame, pose in zip(self.bodies, T, strict=True):
                frame.wxyz, frame.position = quaternion(pose[:3, :3]), pose[:3, 3]
            for name in self.shown:
                self._mark(name)
            if self.follow is not None and self.follow.value and len(T):
                step = T[0, :3, 3] - before
                for client in self.server.get_clients().values():
                    client.camera.position = client.camera.position + step
                    client.camera.look_at = client.camera.look_at + step

    def bodies_at(self, q: np.ndarray) -> np.ndarray:
        """Where the first body is."""
        return forward_kinematics(self.model, q)[0, :3, 3] if self.model.nb else np.zeros(3)

    # -- the controls --------------------------------------------------------------------------

    def _controls(self, drawn: Drawing) -> None:
        gui = self.server.gui
        self.shown: set[str] = set()
        self.drawn: dict[str, list[viser.SceneNodeHandle]] = {}
        self.follow: viser.GuiCheckboxHandle | None = None
        with gui.add_folder("Show"):
            moving = None if self.trajectory is None else np.ones((1, self.model.nv))
            for mark in marks(self.model, self.q[None], v=moving):
                self._switch(mark.name)
            if self.forces is not None:
                self._switch(CONTACT_FORCES)
            if self.model.nb and self.model.body(0).joint.nv >= 3:
                self.follow = gui.add_checkbox("follow the base", False)
        if drawn.faults:
            with gui.add_folder("Not shown"):
                gui.add_markdown("\n".join(f"- {_plain(text)}" for text in drawn.faults))
        named = self.model.configurations
        if named:
            with gui.add_folder("Configurations"):
                for name, q in named.items():
                    gui.add_button(name).on_click(lambda _, q=q: self.go(q))
        self.sliders: list[viser.GuiSliderHandle[float]] = []
        with gui.add_folder("Joints"):
            values = difference(self.model, self.model.neutral(), self.start)
            motion = None if self.trajectory is None else self.trajectory.q
            for k, (label, low, high) in enumerate(ranges(self.model, motion)):
                value = min(max(float(values[k]), low), high)
                slider = gui.add_slider(label, low, high, (high - low) / 1000.0, value)
                slider.on_update(lambda _, k=k: self._moved(k))
                self.sliders.append(slider)
            gui.add_button("start").on_click(lambda _: self.reset())

    def _switch(self, name: str) -> None:
        box = self.server.gui.add_checkbox(name, False)

        @box.on_update
        def _(_: object) -> None:
            with self._lock:
                (self.shown.add if box.value else self.shown.discard)(name)
                self._mark(name)

    def _mark(self, name: str) -> None:
        """Draw a mark where it belongs now, or take it away."""
        for handle in self.drawn.pop(name, []):
            handle.remove()
        if name not in self.shown:
            return
        most = forces = None
        if self.now is not None and self.forces is not None:
            forces = self.now[None]
            most = float(np.linalg.norm(self.forces, axis=-1).max(initial=0.0))
        found = marks(self.model, self.q[None], None, forces, most, self.v[None])
        found = [mark for mark in found if mark.name == name]
        self.drawn[name] = [handle for mark in found for handle in self._lines(mark)]

    def _lines(self, mark: Mark) -> list[viser.SceneNodeHandle]:
        scene, place = self.server.scene, f"/marks/{mark.name}"
        points = mark.segments[0].astype(np.float32)
        whole = np.round(255 * np.array(mark.colors)).astype(np.uint8)
        handles: list[viser.SceneNodeHandle] = []
        if mark.arrow:
            long = np.linalg.norm(points[:, 1] - points[:, 0], axis=1) > 1e-6 * self.size
            handles.append(scene.add_arrows(
                f"{place}/arrows", points[long], whole[long], shaft_radius=0.006 * self.size,
                head_radius=0.016 * self.size, head_length=0.045 * self.size,
            ))  # fmt: skip
        else:
            colors = np.repeat(whole[:, None], 2, axis=1)
            thick = 0.008 * self.size
            handles.append(
                scene.add_line_segments(f"{place}/lines", points, colors, thickness=thick)
            )
        for k, text in mark.labels.items():
            handles.append(scene.add_label(f"{place}/{k}", text, position=points[k, 1]))
        return handles

    def _moved(self, k: int) -> None:
        """A slider was moved: to there, and the loops closed by the others."""
        if self._busy:
            return
        dv = [float(slider.value) for slider in self.sliders]
        q = from_sliders(self.model, dv)
        if self.closed:
            joint = next(j for j, s in self.model.v_slices.items() if s.start <= k < s.stop)
            wide = self.model.v_slices[joint]
            hold = joint if wide.stop - wide.start == 1 else (joint, k - wide.start)
            q = self._closed_near(q, [hold])
            self._set_sliders(q)
        self.show(q)

    def _set_sliders(self, q: np.ndarray) -> None:
        values = difference(self.model, self.model.neutral(), q)
        self._busy = True
        try:
            for slider, value in zip(self.sliders, values, strict=True):
                slider.value = min(max(float(value), slider.min), slider.max)
        finally:
            self._busy = False

    def go(self, q: np.ndarray) -> None:
        """To a configuration, sliders included."""
        self._set_sliders(q)
        self.show(q)

    def reset(self) -> None:
        """To the start: neutral, with loops closed."""
        self.go(self.start)

    # -- replay --------------------------------------------------------------------------------

    def _replay(self, motion: Trajectory) -> None:
        self.motion = motion
        gui, end = self.server.gui, float(motion.t[-1])
        with gui.add_folder("Replay", order=-1.0):
            self.clock = gui.add_slider("time / s", float(motion.t[0]), end, end / 2000.0, 0.0)
            self.playing = gui.add_checkbox("play", False)
            self.speed = gui.add_slider("speed", 0.1, 4.0, 0.1, 1.0)
        self.clock.on_update(lambda _: self._seek(not self.playing.value))
        threading.Thread(target=self._play, daemon=True).start()
        self._seek()

    def _seek(self, sliders: bool = True) -> None:
        """To the time of the clock; the sliders of the joints as well."""
        k = min(int(np.searchsorted(self.motion.t, self.clock.value)), len(self.motion.t) - 1)
        q, v = self.motion.q[k], self.motion.v[k]
        if np.isfinite(q).all() and np.isfinite(v).all():
            if sliders:
                self._set_sliders(q)
            self.show(q, None if self.forces is None else self.forces[k], v)

    def _play(self) -> None:
        before = told = time.monotonic()
        moved = False
        while not self._closed.wait(1.0 / 40.0):
            now = time.monotonic()
            if self.playing.value:
                t = self.clock.value + (now - before) * self.speed.value
                self.clock.value = t if t < self.motion.t[-1] else float(self.motion.t[0])
                tell = now - told > PACE
                told = now if tell else told
                moved = not tell
                self._seek(tell)
            elif moved:  # it was stopped between two settings of the sliders
                moved = False
                self._seek()
            before = now


def ranges(model: Model, motion: np.ndarray | None = None) -> list[tuple[str, float, float]]:
    """(label, low, high) of a slider for every degree of freedom, so that configurations of a
    motion (…, nq) are in it.
    """
    out: list[tuple[str, float, float]] = []
    reached = np.zeros((1, model.nv))
    if motion is not None:
        q = motion.reshape(-1, model.nq)
        q = q[np.isfinite(q).all(axis=1)]
        reached = difference(model, model.neutral(), q) if len(q) else reached
    least, most = reached.min(axis=0), reached.max(axis=0)
    for body in model:
        own, joint = body.dynamics, body.joint
        for k, name in enumerate(joint.v_names):
            part, _, own_name = name.rpartition(".")
            moves = AS_POSITION.get(own_name, own_name)
            word = f"{part}.{moves}" if part else moves
            label = body.joint_name if joint.nv == 1 else f"{body.joint_name} {word}"
            reach = 1.0 if name.rpartition(".")[2] in LINEAR else math.pi
            low, high = -reach, reach
            if joint.flat and math.isfinite(own.lower[k]) and math.isfinite(own.upper[k]):
                low, high = own.lower[k], own.upper[k]
            if least[len(out)] < low:
                low = math.floor(10.0 * least[len(out)]) / 10.0
            if most[len(out)] > high:
                high = math.ceil(10.0 * most[len(out)]) / 10.0
            if high - low < 1e-9:
                low, high = low - 1e-6, high + 1e-6
            out.append((label, low, high))
    return out


def from_sliders(model: Model, values: Sequence[float]) -> np.ndarray:
    """neutral ⊕ values: for joints with linear coordinates, the values themselves."""
    return integrate(model, model.neutral(), np.asarray(values, dtype=float))


def _plain(text: str) -> str:
    """Text that Markdown leaves alone."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]()#+-!<>|" else c for c in text)


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
