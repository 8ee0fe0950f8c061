"""`Environment`: one mechanism as an environment of gymnasium."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import gymnasium
import numpy as np
from numpy.typing import NDArray

from mozzi.errors import ConfigurationError, KindError
from mozzi.gym.task import Task
from mozzi.types import ArrayLike, DType

if TYPE_CHECKING:
    from mozzi.viz.pictures import Pictures
    from mozzi.viz.viewer import Viewer

__all__ = ["Environment"]

Floats = NDArray[np.floating]


class Environment(gymnasium.Env[Any, Any]):
    """One mechanism: ``gymnasium.utils.env_checker.check_env`` takes it.

    Args:
        task: the mechanism, and what is done, seen and earned.
        dtype: the numbers of observations and kernels.
        render_mode: "rgb_array": `render` gives pictures (extra ``viz``). "human": a page of the
            viewer moves as the episode does, as fast as time goes. None: no pictures.

    Example:
        >>> from mozzi.gym import Environment, Task
        >>> from mozzi.model import generate
        >>> cart = generate.cart_pole()
        >>> task = Task(cart, reward=lambda q, v, u: np.cos(q[1]), actuated=["slider"],
        ...             actions=(-10.0, 10.0))
        >>> one = Environment(task)
        >>> seen, told = one.reset(seed=0)
        >>> one.step(one.action_space.sample())[0].shape
        (4,)
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (as gymnasium has it)
        "render_modes": ["rgb_array", "human"], "render_fps": 50
    }  # fmt: skip

    def __init__(
        self, task: Task, dtype: DType = "float64",
        render_mode: Literal["rgb_array", "human"] | None = None,
    ):  # fmt: skip
        if not isinstance(task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise KindError("Environment", "task", task, "a mozzi.gym.Task")
        if render_mode not in (None, "rgb_array", "human"):
            raise ConfigurationError(
                f"render_mode {render_mode!r}: give 'rgb_array', 'human' or None"
            )
        self.task, self.dtype, self.render_mode = task, dtype, render_mode
        rate = 1.0 / (task.dt * task.substeps)
        self.metadata = {**type(self).metadata, "render_fps": max(1, round(rate))}
        self._pictures: Pictures | None = None
        self._viewer: Viewer | None = None
        self._shown = 0.0
        self.action_space = task.action_space(dtype)
        self.observation_space = task.observation_space(dtype)
        self._control, self._step, self._observe = task.kernels("cpu", dtype)
        self._count: int | None = None  # steps of the episode
        self.q, self.v = task.start
        self._drawn: list[Floats] = []

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, ArrayLike] | None = None
    ) -> tuple[Floats, dict[str, object]]:
        """Start an episode; options may give its state: ``{"q": …, "v": …}``.

        Args:
            seed: of all that is random from now on.
            options: the state to start from.
        """
        super().reset(seed=seed)
        q, v = self.task.starts(self.np_random, 1)
        given = options or {}
        self.q = np.asarray(given.get("q", q[0]), dtype=self.dtype)
        self.v = np.asarray(given.get("v", v[0]), dtype=self.dtype)
        drawn = self.task.draws(self.np_random, 1)[0].astype(self.dtype)
        self._drawn = [drawn] if self.task.ranges else []
        self._count = 0
        seen = self._observe(self.q, self.v, np.zeros(len(self.task.low), self.dtype))[0]
        self._show()
        return np.array(seen), {}

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, object]]:
        """One action, held over the substeps of the task.

        Args:
            action: in the space of actions; what is outside is clipped.
        """
        if self._count is None:
            raise ConfigurationError("Environment: call reset() first")
        u = np.asarray(np.clip(action, self.task.low, self.task.high), self.dtype)
        tau = self._control(self.q, self.v, u)
        given = self.q, self.v, 0.0, tau, self.task.dt, float(self.task.substeps), *self._drawn
        with np.errstate(all="ignore"):
            self.q, self.v = self._step(*given)[:2]
            seen, reward, ends = self._observe(self.q, self.v, u)
        self._count += 1
        lost = not (np.isfinite(self.q).all() and np.isfinite(self.v).all())
        over = bool(ends > 0.5) or lost
        told: dict[str, object] = {"diverged": True} if lost else {}
        late = not over and self._count >= self.task.limit
        self._show()
        return np.array(seen), float(reward), over, late, told

    def render(self) -> NDArray[np.uint8] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The state as a picture (480, 480, 3), with render_mode="rgb_array"."""
        if self.render_mode != "rgb_array":
            return None
        from mozzi.viz.pictures import Pictures

        self._pictures = self._pictures or Pictures(self.task.model)
        return self._pictures.picture(self.q)

    def _show(self) -> None:
        """Move the page of the viewer, not faster than time goes."""
        if self.render_mode != "human" or not np.isfinite(self.q).all():
            return
        if self._viewer is None:
            from mozzi.viz.viewer import Viewer

            self._viewer = Viewer(self.task.model)
            print(f"{self.task.model.name}: {self._viewer.url}")
        early = self._shown + self.task.dt * self.task.substeps - time.monotonic()
        if early > 0.0:
            time.sleep(early)
        self._shown = time.monotonic()
        self._viewer.show(np.asarray(self.q, dtype=float))

    def close(self) -> None:
        """End the viewer, where there is one."""
        if self._viewer is not None:
            self._viewer.close()
            self._viewer = None
