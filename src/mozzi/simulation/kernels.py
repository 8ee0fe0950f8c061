"""Steps as kernels: dynamics and integrator in one program, many steps in one call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mozzi.compiler import compile
from mozzi.errors import ConfigurationError
from mozzi.program.program import loop
from mozzi.simulation.loop_state import Memory
from mozzi.simulation.methods.method import Method, as_state, sizes
from mozzi.simulation.projection import closed_again
from mozzi.simulation.system import System
from mozzi.targets.cuda.kernel import cupy_here

__all__ = [
    "CPU", "Place", "advance_kernel", "held_inputs", "named", "on_the_host", "start_kernel",
]  # fmt: skip

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Place:
    """Where the kernels of a simulation run and its state is: "cpu" or "cuda", and its numbers."""

    target: str = "cpu"
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if self.target not in ("cpu", "cuda"):
            raise ConfigurationError(
                f"simulate runs on target 'cpu' or 'cuda', not {self.target!r}; mozzi.stepper takes"
                " every target"
            )
        if self.dtype not in ("float64", "float32"):
            raise ConfigurationError(f"dtype {self.dtype!r}: give 'float64' or 'float32'")

    def put(self, x: np.ndarray) -> Any:
        """An array where the kernels run."""
        if self.target == "cpu":
            return np.asarray(x, self.dtype)
        return cupy_here().asarray(x, self.dtype)


CPU = Place()


def on_the_host(x: Any) -> np.ndarray:
    """What a kernel gave, as a NumPy array; copied where it was on a GPU."""
    return x if isinstance(x, np.ndarray) else np.asarray(x.get() if hasattr(x, "get") else x)


def named(
    function: Callable[..., Any],
    shapes: Shapes,
    model: Any,
    name: str,
    target: str = "cpu",
    dtype: str = "float64",
) -> Any:
    """The kernel of function(arrays by name), whose arguments are these, in this order."""
    names = list(shapes)

    def call(*arrays: Any) -> Any:
        return function(**dict(zip(names, arrays, strict=True)))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    return compile(call, model, target, dtype, inputs=shapes, name=name)


def held_inputs(system: System, held: bool, wrenches: bool) -> dict[str, tuple[int, ...]]:
    """The forces that a kernel takes as inputs and holds while it runs."""
    shapes: dict[str, tuple[int, ...]] = {}
    if held:
        shapes["tau"] = (system.model.nv,)
    if wrenches:
        shapes["wrenches"] = (system.model.nb, 6)
    return shapes


def advance_kernel(method: Method, system: System, forces: Shapes, place: Place = CPU) -> Any:
    """(state…, t, forces…, dt, steps) ↦ state… after that many steps of length dt."""
    size = sizes(method, system.model)

    def advance(t: Any, dt: Any, steps: Any, **arrays: Any) -> Any:
        system.tau, system.wrenches = arrays.get("tau"), arrays.get("wrenches")
        memory = {n: Memory(n, k, arrays[n]) for n, k in size.items()}
        clock = Memory("t", 1, t)
        for _ in loop(0, steps, name="step"):
            now = clock.get()[0]
            x = as_state(size, [m.get() for m in memory.values()], now)
            new = closed_again(system.model, method.step(system, x, dt))
            for n, m in memory.items():
                m.set(new[n])
            clock.set(now + dt)
        return tuple(m.get() for m in memory.values())

    shapes = {n: (k,) for n, k in size.items()} | {"t": ()} | dict(forces)
    shapes |= {"dt": (), "steps": ()}
    return named(advance, shapes, system.model, "advance", place.target, place.dtype)


def start_kernel(method: Method, system: System, forces: Shapes, place: Place = CPU) -> Any:
    """(q, v, t, forces…) ↦ what else the method carries, or None where that is nothing."""
    extra = list(method.extra(system.model))
    if not extra:
        return None

    def start(q: Any, v: Any, t: Any, **arrays: Any) -> Any:
        system.tau, system.wrenches = arrays.get("tau"), arrays.get("wrenches")
        x = method.start(system, as_state(("q", "v"), (q, v), t))
        return tuple(x[n] for n in extra)

    model = system.model
    shapes = {"q": (model.nq,), "v": (model.nv,), "t": (), **forces}
    return named(start, shapes, model, "start", place.target, place.dtype)


def acceleration_kernel(system: System, forces: Shapes) -> Any:
    """(q, v, t, forces…) ↦ v̇."""

    def acceleration(q: Any, v: Any, t: Any, **arrays: Any) -> Any:
        system.tau, system.wrenches = arrays.get("tau"), arrays.get("wrenches")
        return system.acceleration(t, q, v)

    model = system.model
    shapes = {"q": (model.nq,), "v": (model.nv,), "t": (), **forces}
    return named(acceleration, shapes, model, "acceleration")
