"""`Environment`: one mechanism as an environment of gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from mozzi.gym.task import Task
from mozzi.types import ArrayLike, DType

__all__ = ["Environment"]

Floats = NDArray[np.floating]


class Environment(gymnasium.Env[Any, Any]):
    """One mechanism: ``gymnasium.utils.env_checker.check_env`` takes it.

    Args:
        task: the mechanism, and what is done, seen and earned.
        dtype: the numbers of observations and kernels.
    """

    metadata: ClassVar[dict[str, object]] = {"render_modes": []}  # pyright: ignore

    def __init__(self, task: Task, dtype: DType = "float64"):
        if not isinstance(task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Environment: {task!r} is no task; give a mozzi.gym.Task")
        self.task, self.dtype, self.render_mode = task, dtype, None
        self.action_space = task.action_space(dtype)
        self.observation_space = task.observation_space(dtype)
        self._control, self._step, self._observe = task.kernels("cpu", dtype)
        self._count = 0
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
        return np.array(seen), {}

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, object]]:
        """One action, held over the substeps of the task.

        Args:
            action: in the space of actions; what is outside is clipped.
        """
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
        return np.array(seen), float(reward), over, late, told
