"""`VectorEnvironment`: thousands of mechanisms in one kernel, on any device."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from mozzi.errors import ConfigurationError
from mozzi.gym.task import Task
from mozzi.types import DType

if TYPE_CHECKING:
    from mozzi.viz.pictures import Pictures

__all__ = ["State", "VectorEnvironment"]

POOL = 4096  # starts that are drawn beforehand
PICTURES = 16  # samples of which there are pictures


class State(NamedTuple):
    """All samples, as arrays of the target."""

    q: Any
    v: Any
    parameters: Any
    """Numbers of the model in this episode, (num_envs, p)."""
    count: Any
    """Steps since the episodes began."""
    draws: Any
    """Random numbers, one for each sample."""


class VectorEnvironment(VectorEnv[Any, Any, Any]):
    """Many mechanisms at once: actions, observations and rewards are arrays of the target.

    An episode that ends starts again in the same step: the observation is that of the new start,
    ``info["final_obs"]`` the last one of the old episode where ``info["_final_obs"]`` says so.
    Starts, and the parameters of the model that are drawn for them, come from a pool that lies on
    the device and is drawn from there: nothing goes to the host or comes from it while it steps.

    Args:
        task: the mechanism, and what is done, seen and earned.
        num_envs: how many.
        target: "cpu" (NumPy arrays), "torch" (tensors on `device`) or "jax".
        dtype: the numbers of observations and kernels.
        device: of tensors, such as "cuda".
        pool: starts that are drawn beforehand.
        render_mode: "rgb_array": `render` gives pictures of the first samples (extra ``viz``).

    Example:
        >>> from mozzi.gym import Task, VectorEnvironment
        >>> from mozzi.model import generate
        >>> cart = generate.cart_pole()
        >>> task = Task(cart, reward=lambda q, v, u: np.cos(q[1]), actuated=["slider"],
        ...             actions=(-10.0, 10.0))
        >>> many = VectorEnvironment(task, 100)
        >>> seen, told = many.reset(seed=0)
        >>> many.step(np.zeros((100, 1)))[1].shape
        (100,)
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (as gymnasium has it)
        "render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.SAME_STEP,
    }  # fmt: skip

    def __init__(
        self, task: Task, num_envs: int, target: Literal["cpu", "torch", "jax"] = "cpu",
        dtype: DType = "float64",
        device: str | None = None, pool: int = POOL,
        render_mode: Literal["rgb_array"] | None = None,
    ):  # fmt: skip
        if target not in ("cpu", "torch", "jax"):
            raise ConfigurationError(f"target {target!r}: give 'cpu', 'torch' or 'jax'")
        if render_mode not in (None, "rgb_array"):
            raise ConfigurationError(f"render_mode {render_mode!r}: give 'rgb_array' or None")
        self.task, self.num_envs, self.dtype, self.target = task, num_envs, dtype, target
        self.render_mode, self.device, self.pool = render_mode, device, pool
        rate = 1.0 / (task.dt * task.substeps)
        self.metadata = {**type(self).metadata, "render_fps": max(1, round(rate))}
        self._pictures: Pictures | None = None
        self.single_action_space = task.action_space(dtype)
        self.single_observation_space = task.observation_space(dtype)
        self.action_space = task.action_space(dtype, (num_envs,))
        self.observation_space = task.observation_space(dtype, (num_envs,))
        self._control, self._step, self._observe = task.kernels(target, dtype)  # pyright: ignore
        names = {"cpu": "numpy", "torch": "torch", "jax": "jax.numpy"}
        self._arrays: Any = importlib.import_module(names[target])
        self._numbers = [self._put(x) for x in (task.low, task.high, 0.0, task.dt, task.substeps)]
        self._state: State | None = None
        self._advance: Any = _advance
        if target == "jax":
            self._advance = importlib.import_module("jax").jit(_advance, static_argnums=0)

    def _put(self, x: Any, dtype: str | None = None) -> Any:
        """An array where the kernels run."""
        x = np.asarray(x, dtype or self.dtype)
        if self.target == "torch":
            return self._arrays.as_tensor(x, device=self.device)
        return self._arrays.asarray(x)

    @property
    def state(self) -> State:
        """Where all samples are: q, v, parameters of the model, and more."""
        if self._state is None:
            raise ConfigurationError("VectorEnvironment: call reset() first")
        return self._state

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
        pool = [self._put(x) for x in (q, v, self.task.draws(rng, self.pool))]
        none = self._put(np.zeros((self.pool, len(self.task.low))))
        self._pool = [*pool, self._observe(*pool[:2], none)[0]]
        draws = self._put(rng.integers(-(2**31), 2**31, n), "int32")
        draws, at = _drawn(draws, self.pool)
        q, v, numbers, seen = (x[at] for x in self._pool)
        self._state = State(q, v, numbers, self._put(np.zeros(n), "int32"), draws)
        return seen, {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One action of every sample, held over the substeps of the task.

        Args:
            actions (num_envs, …): in the space of actions; what is outside is clipped.
        """
        u = actions if self.target == "torch" else self._arrays.asarray(actions, self.dtype)
        given = self.state, self._pool, u, self._numbers
        with np.errstate(all="ignore"):
            self._state, (seen, *found), told = self._advance(self, *given)
        return seen, *found, told


    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Pictures (480, 480, 3) of the first samples, at most 16, with render_mode="rgb_array"."""
        if self.render_mode is None:
            return None
        from mozzi.viz.pictures import Pictures

        self._pictures = self._pictures or Pictures(self.task.model)
        q = self.state.q[:PICTURES]
        rows = np.asarray(q.cpu() if self.target == "torch" else q, dtype=float)
        return tuple(self._pictures.picture(row) for row in rows)


def _drawn(draws: Any, pool: int) -> tuple[Any, Any]:
    """The next random numbers of all samples, and which starts they pick: a linear congruence and
    Murmur's last mix, in 32 bits, the same on all devices.
    """
    draws = draws * 1664525 + 1013904223
    x = draws ^ ((draws >> 16) & 0xFFFF)
    x = x * 73244475
    x = x ^ ((x >> 16) & 0xFFFF)
    x = x * 73244475
    x = x ^ ((x >> 16) & 0xFFFF)
    return draws, (x & 0x7FFFFFFF) % pool


def _advance(
    env: VectorEnvironment, state: State, pool: list[Any], u: Any, numbers: list[Any]
) -> tuple[State, tuple[Any, ...], dict[str, Any]]:
    """A step of all samples, and the starts of those that ended: arrays in, arrays out."""
    xp, task = env._arrays, env.task  # pyright: ignore[reportPrivateUsage]
    control, step, observe = env._control, env._step, env._observe  # pyright: ignore
    low, high, zero, dt, substeps = numbers
    u = xp.where(u < low, low, xp.where(u > high, high, u))
    varied = [state.parameters] if task.ranges else []
    q, v = step(state.q, state.v, zero, control(state.q, state.v, u), dt, substeps, *varied)[:2]
    seen, reward, ends = observe(q, v, u)
    fine = xp.isfinite(q).all(-1) & xp.isfinite(v).all(-1)
    over = (ends > 0.5) | ~fine
    count = state.count + 1
    late = (count >= task.limit) & ~over
    done = over | late
    new = done[:, None]
    draws, at = _drawn(state.draws, env.pool)
    first_q, first_v, first_numbers, first_seen = (x[at] for x in pool)
    after = State(
        xp.where(new, first_q, q), xp.where(new, first_v, v),
        xp.where(new, first_numbers, state.parameters), xp.where(done, 0 * count, count), draws,
    )  # fmt: skip
    told = {"final_obs": seen, "_final_obs": done, "diverged": ~fine}
    return after, (xp.where(new, first_seen, seen), reward, over, late), told
