"""Where the kernels of a simulation run, and how a function becomes one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mozzi.compiler import compile
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.program.scalar import Node
from mozzi.simulation.system import System
from mozzi.targets.cuda.here import cupy_here
from mozzi.types import Array, Device, DType, Target, Traced, words

__all__ = ["CPU", "Place", "Shapes", "held_inputs", "named", "on_the_host"]

Shapes = Mapping[str, tuple[int, ...]]
Number = TypeVar("Number", bound=np.generic)
Given = TypeVar("Given")


@dataclass(frozen=True)
class Place:
    """Where the kernels of a simulation run and its state is: "cpu" or "cuda", and its numbers."""

    target: Device = "cpu"
    dtype: DType = "float64"

    def __post_init__(self) -> None:
        if self.target not in words(Device):
            raise ConfigurationError(
                f"simulate runs on target 'cpu' or 'cuda', not {self.target!r}; mozzi.stepper takes"
                " every target"
            )
        if self.dtype not in words(DType):
            raise ConfigurationError(f"no dtype {self.dtype!r}; give 'float64' or 'float32'")

    def put(self, x: Array) -> Array:
        """An array where the kernels run: on a GPU one of CuPy, which behaves the same."""
        if self.target == "cpu":
            return np.asarray(x, self.dtype)
        return cupy_here().asarray(x, self.dtype)

    def given(self, x: Given, name: str) -> Given | Array:
        """What a caller gives, for the checks on the host: arrays on a GPU are copied from there
        where the kernels run on it, and refused elsewhere.
        """
        if not hasattr(x, "__cuda_array_interface__"):
            return x
        if self.target == "cpu":
            raise ConfigurationError(
                f"{name} is on a GPU; give target='cuda', or cupy.asnumpy({name}) to run on the CPU"
            )
        return on_the_host(cupy_here().asarray(x))

    def wait(self) -> None:
        """Until what was started has been computed."""
        if self.target == "cuda":
            cupy_here().cuda.get_current_stream().synchronize()


CPU = Place()


def on_the_host(x: NDArray[Number]) -> NDArray[Number]:
    """What a kernel gave, as a NumPy array; copied where it was on a GPU."""
    get: Callable[[], NDArray[Number]] | None = getattr(x, "get", None)
    return np.asarray(x) if get is None else get()


def named(
    function: Callable[..., Traced | tuple[Traced, ...]],
    shapes: Shapes,
    model: Model,
    name: str,
    target: Target = "cpu",
    dtype: DType = "float64",
) -> Any:
    """The kernel of function(arrays by name), whose arguments are these, in this order."""
    names = list(shapes)

    def call(*arrays: Traced) -> Traced | tuple[Traced, ...]:
        return function(**dict(zip(names, map(_untouched, arrays), strict=True)))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    return compile(call, model, target, dtype, inputs=shapes, name=name)


def _untouched(x: Traced | Node) -> Traced | Node:
    """A plain array: this function is the library's."""
    return x if isinstance(x, Node) else np.asarray(x)


def held_inputs(system: System, held: bool, wrenches: bool) -> dict[str, tuple[int, ...]]:
    """What a kernel takes as inputs and holds while it runs: forces, and numbers that vary."""
    shapes: dict[str, tuple[int, ...]] = {}
    if held:
        shapes["tau"] = (system.model.nv,)
    if wrenches:
        shapes["wrenches"] = (system.model.nb, 6)
    if system.varying is not None and system.varying.count:
        shapes["parameters"] = (system.varying.count,)
    return shapes
