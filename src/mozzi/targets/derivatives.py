"""Programs and their derivatives by name, for the frameworks with automatic differentiation.

A key names a program by its digest, and a derivative by the key of its program, how it is derived
and with respect to which arguments. Derivatives of any order are programs, made when they are
first run; their shapes are known before. What is on disk from an earlier process is not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mozzi.locks import ForkLock
from mozzi.program.digest import digest
from mozzi.program.products import (
    Arrays,
    pullback,
    pullback_arrays,
    pushforward,
    pushforward_arrays,
)
from mozzi.program.program import Input, Output, Program
from mozzi.targets.disk_cache import key_of

if TYPE_CHECKING:
    from mozzi.targets.cpu.kernel import CpuKernel, Results
    from mozzi.targets.cuda.kernel import CudaKernel

__all__ = ["Evaluation", "derived", "find", "register", "transposed"]


class Shaped(Protocol):
    """An array of any framework."""

    @property
    def shape(self) -> Sequence[int]: ...


class Evaluation:
    """A program by its arguments and results; made and compiled when it is first run."""

    def __init__(
        self,
        inputs: Sequence[Input],
        outputs: Sequence[Input | Output],
        dtype: str,
        make: Callable[[], Program],
        name: str,
    ):
        """name: of the program and nothing else, in this process and in others; key: the one under
        which it is found.
        """
        self.inputs, self.outputs, self.dtype, self.make = inputs, outputs, dtype, make
        self.name, self.key = name, ""
        self._backs: dict[tuple[bool, ...], Evaluation] = {}
        self._lock = ForkLock()

    @cached_property
    def program(self) -> Program:
        with self._lock:
            return self.make()

    @cached_property
    def cpu(self) -> CpuKernel[Results]:
        from mozzi.targets.cpu.build import build

        with self._lock:
            key = key_of("evaluation", self.name)
            return build(lambda: self.program, self.dtype, key, keep=True)

    @cached_property
    def cuda(self) -> CudaKernel:
        from mozzi.targets.cuda import kernel as cuda

        with self._lock:
            return cuda.build(lambda: self.program, self.dtype)

    def batch(self, arrays: Sequence[Shaped]) -> tuple[int, ...]:
        """The batch axes: all arrays have as many, and they broadcast."""
        first, *others = (  # sizes may be symbols, which have no hash
            tuple(x.shape[: len(x.shape) - len(spec.shape)])
            for x, spec in zip(arrays, self.inputs, strict=True)
        )
        same = all(batch == first for batch in others)
        return first if same else np.broadcast_shapes(first, *others)

    def back(self, chosen: tuple[bool, ...]) -> Evaluation:
        """The derivative "back" with respect to the chosen arguments."""
        found = self._backs.get(chosen)
        if found is None:
            found = self._backs.setdefault(chosen, find(derived(self.key, "back", chosen)))
        return found

    def derived(self, how: str, wrt: tuple[int, ...]) -> Evaluation:
        arrays, make = _HOW[how]
        inputs, outputs = arrays(self.inputs, self.outputs, wrt)
        name = f"{self.name} {how} {wrt}"
        return Evaluation(inputs, outputs, self.dtype, lambda: make(self.program, wrt), name)


_HOW: dict[str, tuple[Callable[..., Arrays], Callable[..., Program]]] = {
    "back": (pullback_arrays, pullback),
    "ahead": (pushforward_arrays, pushforward),
}
_FOUND: dict[str, Evaluation] = {}


def register(program: Program, dtype: str) -> str:
    """The key of a program."""
    key = f"{digest(program)[:24]} {dtype}"
    if key not in _FOUND:
        results = [y.name for y in program.outputs]
        name = repr((key, program.name, results, program.notes.get("straight")))
        new = Evaluation(program.inputs, program.outputs, dtype, lambda: program, name)
        new.key = key
        _FOUND.setdefault(key, new)
    return key


def derived(key: str, how: str, chosen: Iterable[object]) -> str:
    """The key of a derivative ("back" or "ahead") with respect to the chosen arguments."""
    return f"{key} {how} {','.join(str(k) for k, choice in enumerate(chosen) if choice)}"


def transposed(key: str, chosen: Sequence[bool]) -> tuple[str, list[int]]:
    """The key of the program backwards through arguments in which this one is linear, and which
    of its arguments that takes, before the weights.

    Backwards through all tangents of a derivative "ahead" is the derivative "back".
    """
    base, how, numbers = key.rsplit(" ", 2) if key.count(" ") > 1 else (key, "", "")
    if how == "ahead":
        own = len(find(base).inputs)
        if not any(chosen[:own]) and all(chosen[own:]):
            return f"{base} back {numbers}", list(range(own))
    return derived(key, "back", chosen), list(range(len(chosen)))


def find(key: str) -> Evaluation:
    """What a key names: a program that was registered, or a derivative of one."""
    found = _FOUND.get(key)
    if found is None:
        base, how, numbers = key.rsplit(" ", 2)
        new = find(base).derived(how, tuple(map(int, numbers.split(","))))
        new.key = key
        found = _FOUND.setdefault(key, new)
    return found
