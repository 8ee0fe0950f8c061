"""The words and types of public signatures: what may be chosen, by name, and what arrays are.

A choice is written once, here: signatures name it, checks at run time read its words with
`words`, and `__init__.pyi` shows it to editors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Array", "ArrayLike", "Base", "DType", "Device", "Form", "JointChoice", "Kernel", "Method",
    "Minimize", "Packed", "Physical", "Placing", "Rep", "Residual", "Resolved", "Result",
    "ResultLayout", "ScrewRep", "Seed", "Target", "Traced", "words",
]  # fmt: skip

Array: TypeAlias = NDArray[np.float64]
"""What functions on arrays give."""

Traced: TypeAlias = NDArray[np.object_]
"""An array of scalars while a program is traced."""

Rep: TypeAlias = Literal["body", "spatial", "hybrid", "mixed"]
"""How twists and wrenches are represented: see `mozzi.algorithms.recursion.representations`."""

ScrewRep: TypeAlias = Literal["body", "spatial", "hybrid", "mixed", "reference"]
"""How joint screws are: as twists, or at the reference configuration."""

Placing: TypeAlias = Literal["body", "parent", "spatial"]
"""Where a joint's reference pose and screw are measured: see `Builder.add`."""

Form: TypeAlias = Literal["joint", "body", "parent", "spatial"]
"""Which product of exponentials."""

Resolved: TypeAlias = Literal["world", "frame"]
"""In which axes the velocity of a point is."""

Residual: TypeAlias = Literal["absolute", "relative"]
"""Which squares are least."""

Minimize: TypeAlias = Literal["torque", "loop_force"]
"""Which of the forces that make the same motion are least."""

Base: TypeAlias = Literal["fixed", "free"]
"""What is under the root of a file."""

Method: TypeAlias = Literal[
    "semi_implicit", "rkmk4", "dopri5", "generalized_alpha", "momentum", "moreau"
]
"""How motions are integrated."""

Physical: TypeAlias = bool | Literal["warn"]
"""Whether inertias that no rigid body has are refused (True), named in a warning, or taken."""

Target: TypeAlias = Literal["cpu", "interpret", "c", "sympy", "cuda", "jax", "torch"]
"""Where kernels run, or what they become."""

Device: TypeAlias = Literal["cpu", "cuda"]
"""Where motions are integrated."""

DType: TypeAlias = Literal["float64", "float32"]
"""The numbers of a kernel."""

ResultLayout: TypeAlias = Literal["dense", "packed"]
"""How a kernel gives its results: as they are, or without zeros and mirrored elements."""

JointChoice: TypeAlias = "str | Sequence[str | tuple[str, int]]"
"""Joints: a name, or names and pairs (name, number of a coordinate)."""

Seed: TypeAlias = "int | np.random.Generator | None"
"""Where random numbers come from."""

Result = TypeVar("Result")
Given = TypeVar("Given", covariant=True)


class Packed(Protocol):
    """Where the elements of a result are among its packed values (``layout="packed"``)."""

    @property
    def places(self) -> NDArray[np.intp]:
        """Of the shape of one result: which value each element is, −1 for a constant."""
        ...

    @property
    def constants(self) -> Array:
        """What the constants are, 0 elsewhere."""
        ...

    @property
    def size(self) -> int:
        """How many values there are."""
        ...

    def dense(self, values: Any) -> Any:
        """The result (…, *shape) of its packed values (…, size)."""
        ...


class Kernel(Protocol[Given]):
    """A compiled function of arrays: what `compile` gives for targets that run on NumPy arrays.

    Leading axes of the arguments are batch axes and broadcast. out: arrays for the results, on
    targets whose arrays can be written to (not JAX).
    """

    name: str

    @property
    def operations(self) -> Mapping[str, int]:
        """Operations of one evaluation, by kind."""
        ...

    @property
    def source(self) -> str:
        """The program as text, where the target has one."""
        ...

    @property
    def packings(self) -> tuple[Packed, ...]:
        """Of results that are packed, where their elements are; none of others."""
        ...

    def __call__(
        self, *arrays: ArrayLike, out: np.ndarray | tuple[np.ndarray, ...] | None = None
    ) -> Given: ...


def words(choice: object) -> tuple[str, ...]:
    """The words of a choice: ``words(Rep)`` is ("body", "spatial", "hybrid", "mixed")."""
    return get_args(choice)
