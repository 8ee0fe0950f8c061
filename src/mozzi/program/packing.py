"""Results without what is known or said twice: zeros, other constants, mirrored elements."""

from __future__ import annotations

import importlib
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mozzi.program.node import Node
from mozzi.program.program import Buffer, Output, Program

__all__ = ["Packing", "pack_results"]

_LIBRARIES = {"numpy": "numpy", "cupy": "cupy", "torch": "torch", "jax": "jax.numpy",
              "jaxlib": "jax.numpy"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Packing:
    """Where the elements of a result are among its packed values.

    places: of the shape of one result; which value each element is, −1 for a constant. constants:
    what those are, 0 elsewhere. size: how many values there are.
    """

    places: NDArray[np.intp]
    constants: NDArray[np.float64]
    size: int

    def dense(self, values: Any) -> Any:
        """The result (…, *shape) of its packed values (…, size), arrays of NumPy, CuPy, PyTorch or
        JAX; the last two differentiate through it.
        """
        home = type(values).__module__.partition(".")[0]
        if home not in _LIBRARIES:
            home, values = "numpy", np.asarray(values)
        if tuple(values.shape[-1:]) != (self.size,):
            shape = tuple(values.shape)
            raise ValueError(f"packed values of shape {shape}; give (…, {self.size})")
        library = importlib.import_module(_LIBRARIES[home])
        places, known, constants = self._there(library, values)
        if not self.size:
            return library.broadcast_to(constants, (*values.shape[:-1], *self.places.shape)) + 0
        found = values[..., places]
        return found if known is None else library.where(known, constants, found)

    def _there(self, library: ModuleType, values: Any) -> tuple[Any, Any, Any]:
        """Places, which of them are constants (None where none is), and the constants, as arrays
        beside these values.
        """
        kind = str(values.dtype).removeprefix("torch.")
        tables = (
            np.maximum(self.places, 0),
            self.places < 0,
            self.constants.astype(kind if kind in ("float32", "float64") else float),
        )
        if library.__name__ in ("torch", "cupy"):
            key = kind, str(values.device)
            if key not in self._copies:
                beside = {"device": values.device} if library.__name__ == "torch" else {}
                self._copies[key] = tuple(library.asarray(x, **beside) for x in tables)
            tables = self._copies[key]
        places, known, constants = tables
        return places, known if np.any(self.places < 0) else None, constants

    @cached_property
    def _copies(self) -> dict[tuple[str, str], tuple[Any, ...]]:
        """Places and constants on devices, by type of numbers and device."""
        return {}

    def __reduce__(self) -> tuple[object, ...]:
        return Packing, (self.places, self.constants, self.size)

    @property
    def first(self) -> NDArray[np.intp]:
        """Which element of the flat result each of the values is, the first one of several."""
        flat = self.places.ravel()
        order = np.argsort(flat, kind="stable")
        return order[np.searchsorted(flat[order], np.arange(self.size))]


def pack_results(program: Program) -> tuple[Program, tuple[Packing, ...]]:
    """The program that gives every value of a result once, in the order in which they appear by
    rows, and where the elements are among them, which is a note of it.
    """
    outputs: list[Output] = []
    packings: list[Packing] = []
    for x in program.outputs:
        if isinstance(x.values, Buffer):  # of loops over bodies: nothing is known of its elements
            places = np.arange(x.size).reshape(x.shape)
            packings.append(Packing(places, np.zeros(x.shape), x.size))
            outputs.append(replace(x, shape=(x.size,)))
            continue
        found: dict[Hashable, tuple[int, Node]] = {}
        flat = [-1 if v.op == "const" else found.setdefault(_key(v), (len(found), v))[0]
                for v in x.values]  # fmt: skip
        known = [v.value if v.op == "const" else 0.0 for v in x.values]
        places = np.array(flat, dtype=np.intp).reshape(x.shape)
        packings.append(Packing(places, np.array(known, dtype=float).reshape(x.shape), len(found)))
        values = tuple(v for _, v in found.values())
        outputs.append(Output(x.name, (len(values),), values))
    notes = program.notes | {"packings": tuple(packings)}
    return replace(program, outputs=tuple(outputs), notes=notes), tuple(packings)


def _key(value: Node) -> Hashable:
    """The same for what is the same value: a place in memory that results read in the end."""
    if value.op != "load":
        return id(value)
    at = value.address
    return (id(at.buffer), at.offset) if at.at is None else id(value)
