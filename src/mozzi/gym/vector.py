"""`VectorEnvironment`: thousands of mechanisms in one kernel, on any device."""

from __future__ import annotations

import importlib
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from mozzi.errors import ConfigurationError
from mozzi.gym.task import Task
from mozzi.types import DType

__all__ = ["VectorEnvironment"]

POOL = 4096  # starts that are drawn beforehand


class VectorEnvironment(VectorEnv[Any, Any, Any]):
    """Many mechanisms at once: actions, observations and rewards are arrays of the target.

    An episode that ends starts again in the same step: the observation is that of the new start,
    ``info["final_obs"]`` the last one of the old episode where ``info["_final_obs"]`` says so.
    Starts, and the parameters of the model that are drawn for them, come from a pool that lies on
    the device, so that no step waits for the host.

    Args:
        task: the mechanism, and what is done, seen and earned.
        num_envs: how many.
        target: "cpu" (NumPy arrays), "torch" (tensors on `device`) or "jax".
        dtype: the numbers of observations and kernels.
        device: of tensors, such as "cuda".
        pool: starts that are drawn beforehand.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore
        "render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP,
    }  # fmt: skip

    def __init__(
        self, task: Task, num_envs: int, target: Literal["cpu", "torch", "jax"] = "cpu",
        dtype: DType = "float64",
        device: str | None = None, pool: int = POOL,
    ):  # fmt: skip
        if target not in ("cpu", "torch", "jax"):
            raise ConfigurationError(f"target {target!r}: give 'cpu', 'torch' or 'jax'")
        self.task, self.num_envs, self.dtype, self.target = task, num_envs, dtype, target
        self.render_mode, self.device, self.pool = None, device, pool
        self.single_action_space = task.action_space(dtype)
        self.single_observation_space = task.observation_space(dtype)
        self.action_space = task.action_space(dtype, (num_envs,))
        self.observation_space = task.observation_space(dtype, (num_envs,))
        self._control, self._step, self._observe = task.kernels(target, dtype)  # pyright: ignore
        names = {"cpu": "numpy", "torch": "torch", "jax": "jax.numpy"}
        self._arrays: Any = importlib.import_module(names[target])
        self._low, self._high = self._put(task.low), self._put(task.high)
        self._drawn: list[Any] = []
        self.q: Any = None

    def _put(self, x: Any, dtype: str | None = None) -> Any:
        """An array where the kernels run."""
        x = np.asarray(x, dtype or self.dtype)
        if self.target == "torch":
            return self._arrays.as_tensor(x, device=self.device)
        return self._arrays.asarray(x)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start all episodes.

        Args:
            seed: of all that is random from now on.
            options: not used.
        """
        super().reset(seed=seed)
        rng, n = self.np_random, self.num_envs
        q, v = self.task.starts(rng, self.pool)
        self._pool = [self._put(x) for x in (q, v, self.task.draws(rng, self.pool))]
        none = self._put(np.zeros((self.pool, len(self.task.low))))
        self._pool.append(self._observe(*self._pool[:2], none)[0])
        self.q, self.v, drawn, seen = self._picked()
        self._drawn = [drawn] if self.task.ranges else []
        self._count = self._put(np.zeros(n), "int64" if self.target != "jax" else "int32")
        return seen, {}

    def _picked(self) -> list[Any]:
        """States, parameters and observations at the starts of episodes, one for each sample."""
        k = self.np_random.integers(0, self.pool, self.num_envs)
        at = self._put(k, "int32" if self.target == "jax" else "int64")
        return [x[at] for x in self._pool]

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One action of every sample, held over the substeps of the task.

        Args:
            actions (num_envs, …): in the space of actions; what is outside is clipped.
        """
        xp, task = self._arrays, self.task
        if self.q is None:
            raise ConfigurationError("VectorEnvironment: call reset() first")
        u = actions if self.target == "torch" else xp.asarray(actions, self.dtype)
        u = xp.where(u < self._low, self._low, xp.where(u > self._high, self._high, u))
        with np.errstate(all="ignore"):
            tau = self._control(self.q, self.v, u)
            steps = float(task.substeps)
            q, v = self._step(self.q, self.v, 0.0, tau, task.dt, steps, *self._drawn)[:2]
            seen, reward, ends = self._observe(q, v, u)
        fine = xp.isfinite(q).all(-1) & xp.isfinite(v).all(-1)
        over = (ends > 0.5) | ~fine
        self._count = self._count + 1
        late = (self._count >= task.limit) & ~over
        done = over | late
        first_q, first_v, drawn, first_seen = self._picked()
        new = done[:, None]
        self.q, self.v = xp.where(new, first_q, q), xp.where(new, first_v, v)
        self._count = xp.where(done, 0 * self._count, self._count)
        if self._drawn:
            self._drawn = [xp.where(new, drawn, self._drawn[0])]
        told = {"final_obs": seen, "_final_obs": done, "diverged": ~fine}
        return xp.where(new, first_seen, seen), reward, over, late, told
