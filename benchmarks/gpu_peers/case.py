"""What a peer is asked for: a function of a robot, states in the peer's own coordinates, and what
mozzi finds for them in float64.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import mozzi as mz
from benchmarks.__main__ import states

SAMPLES = 512  # different states; a batch repeats them
DERIVATIVES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", *DERIVATIVES)


@dataclass
class Robot:
    """A model, and the same mechanism as text for those that read their own."""

    name: str
    model: mz.Model
    urdf: str
    mjcf: str

    @property
    def free(self) -> bool:
        return isinstance(self.model.body(0).joint, mz.Free)


class Call(NamedTuple):
    """`run` returns when the results are on the device; `read` makes arrays of them, of the first
    samples, in the order of mozzi's.
    """

    run: Callable[[], Any]
    read: Callable[[Any], list[np.ndarray]]


OWN = "mozzi"  # the layout of the model itself


@dataclass
class Case:
    """A function of a robot, on states as a layout writes them."""

    robot: Robot
    function: str
    layout: str

    @property
    def algorithm(self) -> Any:
        return getattr(mz, self.function)

    @cached_property
    def there(self) -> Any:
        return mz.layout(self.layout, self.robot.model)  # pyright: ignore[reportArgumentType]

    @cached_property
    def sample(self) -> list[np.ndarray]:
        """Random states, rounded to float32."""
        names = self.algorithm.required
        wanted = tuple(dict.fromkeys(("q", "v", *names)))
        q, v, *rest = states(self.robot.model, wanted, SAMPLES, "float64")
        if self.layout != OWN:
            q, v = self.there.from_mozzi(q, v)
        found = [x.astype("float32").astype(float) for x in (q, v, *rest)]
        return found[: len(names)]

    def exact(self) -> list[np.ndarray]:
        """mozzi's results in float64, on the CPU; of derivatives, those by q and v."""
        if self.layout == OWN:
            kernel: Any = mz.compile(self.algorithm, self.robot.model)
        else:
            kernel = self.there.compile(self.algorithm)
        return results(kernel(*self.sample), self.function)

    def arrays(self, batch: int) -> list[np.ndarray]:
        """The arguments of a batch."""
        return [np.resize(x, (batch, x.shape[1])).astype("float32") for x in self.sample]


def results(found: Any, function: str) -> list[np.ndarray]:
    """As a list; of derivatives, those by q and v, which all peers have."""
    arrays = list(found) if isinstance(found, tuple) else [found]
    return arrays[:2] if function in DERIVATIVES else arrays


def error(found: list[np.ndarray], exact: list[np.ndarray]) -> float:
    """The largest error over the largest number, of the worst result."""
    for x, y in zip(found, exact, strict=True):
        if x.shape != y.shape:
            raise ValueError(f"results have shape {x.shape}, not {y.shape}")
    return max(
        float(np.max(np.abs(x - y)) / np.max(np.abs(y))) for x, y in zip(found, exact, strict=True)
    )


def median(run: Callable[[], Any], most: float = 1.0) -> tuple[float, float, float]:
    """Median, shortest and longest time of calls that wait for their results: 20, or as many as
    fit into some seconds, but three; the first two are not counted.
    """
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 22 and (len(times) < 5 or time.perf_counter() - begin < most):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    rest = times[2:]
    return float(np.median(rest)), min(rest), max(rest)
