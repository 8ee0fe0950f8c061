"""Results without what is known or said twice: zeros, other constants, mirrored elements."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mozzi.program.node import Node
from mozzi.program.program import Buffer, Output, Program

__all__ = ["Packing", "pack_results"]


@dataclass(frozen=True, eq=False)
class Packing:
    """Where the elements of a result are among its packed values.

    places: of the shape of one result; which value each element is, −1 for a constant. constants:
    what those are, 0 elsewhere. size: how many values there are.
    """

    places: NDArray[np.intp]
    constants: NDArray[np.float64]
    size: int

    def dense(self, values: np.ndarray) -> np.ndarray:
        """The result (…, *shape) of its packed values (…, size)."""
        values = np.asarray(values)
        if values.shape[-1:] != (self.size,):
            raise ValueError(f"packed values of shape {values.shape}; give (…, {self.size})")
        known = self.places < 0
        if not self.size:
            return np.broadcast_to(self.constants, values.shape[:-1] + self.places.shape).copy()
        return np.where(known, self.constants.astype(values.dtype), values[..., self.places])


def pack_results(program: Program) -> tuple[Program, tuple[Packing, ...]]:
    """The program that gives every value of a result once, in the order in which they appear by
    rows, and where the elements are among them.
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
    return replace(program, outputs=tuple(outputs)), tuple(packings)


def _key(value: Node) -> Hashable:
    """The same for what is the same value: a place in memory that results read in the end."""
    if value.op != "load":
        return id(value)
    at = value.address
    return (id(at.buffer), at.offset) if at.at is None else id(value)
