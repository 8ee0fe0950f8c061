"""Linear maps that are known by what they do: sums, multiples, products, transposes.

Stacked quantities hold six numbers per body. Batch axes are those of the configuration, in front.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from mozzi.errors import ConfigurationError
from mozzi.types import ArrayLike

__all__ = [
    "Attachment", "BlockDiagonal", "Identity", "LinearOperator", "Multiple", "Product",
    "Resolvent", "Shift", "Sum",
]  # fmt: skip


class LinearOperator:
    """A linear map, known by what it does. `@` follows NumPy: 1-D arrays are vectors, else the last
    two axes are matrices, behind the batch axes of the configuration."""

    shape: tuple[int, int]

    def apply(self, x: np.ndarray) -> np.ndarray:
        """The image of the columns of x (..., n, k)."""
        raise NotImplementedError

    @property
    def T(self) -> LinearOperator:
        """The transpose."""
        raise NotImplementedError

    @overload
    def __matmul__(self, x: LinearOperator) -> LinearOperator: ...
    @overload
    def __matmul__(self, x: ArrayLike) -> np.ndarray: ...
    def __matmul__(self, x: LinearOperator | ArrayLike) -> LinearOperator | np.ndarray:
        if isinstance(x, LinearOperator):
            return Product(self, x)
        x = np.asarray(x)
        if x.shape[-1 if x.ndim == 1 else -2] != self.shape[1]:
            raise ConfigurationError(f"an operator of shape {self.shape} does not act on {x.shape}")
        return self.apply(x[:, None])[..., 0] if x.ndim == 1 else self.apply(x)

    def matvec(self, x: ArrayLike) -> np.ndarray:
        """The images of vectors x (..., n), in batches."""
        return (self @ np.asarray(x)[..., None])[..., 0]

    def __add__(self, other: LinearOperator | float) -> LinearOperator:
        return Sum(self, self._operator(other))

    __radd__ = __add__

    def __sub__(self, other: LinearOperator | float) -> LinearOperator:
        return Sum(self, self._operator(other), -1.0)

    def __rsub__(self, other: float) -> LinearOperator:
        return Sum(self._operator(other), self, -1.0)

    def __mul__(self, scale: float) -> LinearOperator:
        return Multiple(self, float(scale))

    __rmul__ = __mul__

    def __neg__(self) -> LinearOperator:
        return Multiple(self, -1.0)

    def _operator(self, x: LinearOperator | float) -> LinearOperator:
        """A number as that multiple of the identity of the right size: 1 + H φ K."""
        if isinstance(x, LinearOperator):
            return x
        if self.shape[0] != self.shape[1]:
            raise ConfigurationError(f"no identity is added to an operator of shape {self.shape}")
        one = Identity(self.shape[0])
        return one if x == 1 else Multiple(one, float(x))

    def dense(self) -> np.ndarray:
        """The matrix."""
        return self.apply(np.eye(self.shape[1]))


class Identity(LinearOperator):
    """1."""

    def __init__(self, n: int):
        self.shape = (n, n)

    def apply(self, x: np.ndarray) -> np.ndarray:
        return x

    @property
    def T(self) -> LinearOperator:
        return self


@dataclass
class Multiple(LinearOperator):
    """c A."""

    A: LinearOperator
    scale: float

    def __post_init__(self) -> None:
        self.shape = self.A.shape

    def apply(self, x: np.ndarray) -> np.ndarray:
        return self.scale * self.A.apply(x)

    @property
    def T(self) -> LinearOperator:
        return Multiple(self.A.T, self.scale)


@dataclass
class Product(LinearOperator):
    """A B."""

    A: LinearOperator
    B: LinearOperator

    def __post_init__(self) -> None:
        if self.A.shape[1] != self.B.shape[0]:
            raise ConfigurationError(
                f"operators of shapes {self.A.shape} and {self.B.shape} do not go"
            )
        self.shape = (self.A.shape[0], self.B.shape[1])

    def apply(self, x: np.ndarray) -> np.ndarray:
        return self.A.apply(self.B.apply(x))

    @property
    def T(self) -> LinearOperator:
        return Product(self.B.T, self.A.T)


@dataclass
class Sum(LinearOperator):
    """A ± B."""

    A: LinearOperator
    B: LinearOperator
    sign: float = 1.0

    def __post_init__(self) -> None:
        if self.A.shape != self.B.shape:
            raise ConfigurationError(
                f"operators of shapes {self.A.shape} and {self.B.shape} do not add"
            )
        self.shape = self.A.shape

    def apply(self, x: np.ndarray) -> np.ndarray:
        return self.A.apply(x) + self.sign * self.B.apply(x)

    @property
    def T(self) -> LinearOperator:
        return Sum(self.A.T, self.B.T, self.sign)


class BlockDiagonal(LinearOperator):
    """One block per body."""

    def __init__(self, blocks: Sequence[np.ndarray]):
        self.blocks = list(blocks)
        self.rows = _slices([b.shape[-2] for b in self.blocks])
        self.cols = _slices([b.shape[-1] for b in self.blocks])
        self.shape = (self.rows[-1].stop, self.cols[-1].stop) if self.blocks else (0, 0)

    def apply(self, x: np.ndarray) -> np.ndarray:
        parts = [b @ x[..., c, :] for b, c in zip(self.blocks, self.cols, strict=True)]
        return np.concatenate(parts, axis=-2)

    @property
    def T(self) -> LinearOperator:
        return BlockDiagonal([np.swapaxes(b, -1, -2) for b in self.blocks])

    def inverse(self) -> BlockDiagonal:
        """Block by block."""
        return BlockDiagonal([np.linalg.inv(b) for b in self.blocks])


@dataclass
class Shift(LinearOperator):
    """E: from every body to its parent, by blocks (0.4), (0.10). Nilpotent."""

    parents: Sequence[int]
    blocks: Sequence[np.ndarray]
    transposed: bool = False

    def __post_init__(self) -> None:
        self.shape = (6 * len(self.parents), 6 * len(self.parents))

    def apply(self, x: np.ndarray) -> np.ndarray:
        return self._pass(x, np.zeros(_batch(x, self.blocks)))

    def solve(self, x: np.ndarray) -> np.ndarray:
        """(1 − E)⁻¹ x, by recursion (0.6)."""
        y = np.array(np.broadcast_to(x, _batch(x, self.blocks)), dtype=float)
        return self._pass(y, y)

    def _pass(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Add E x to y, body by body; where x is y, each body sees what the others have added."""
        bodies = range(len(self.parents))
        for k in bodies if self.transposed else reversed(bodies):
            p, own = self.parents[k], slice(6 * k, 6 * k + 6)
            up = slice(6 * p, 6 * p + 6)
            if p >= 0 and self.transposed:
                y[..., own, :] += np.swapaxes(self.blocks[k], -1, -2) @ x[..., up, :]
            elif p >= 0:
                y[..., up, :] += self.blocks[k] @ x[..., own, :]
        return y

    @property
    def T(self) -> Shift:
        return Shift(self.parents, self.blocks, not self.transposed)


@dataclass
class Resolvent(LinearOperator):
    """(1 − E)⁻¹ = 1 + E + E² + … (0.6), (0.12), (0.27): acts by a recursion over the bodies."""

    E: Shift

    def __post_init__(self) -> None:
        self.shape = self.E.shape

    def apply(self, x: np.ndarray) -> np.ndarray:
        return self.E.solve(x)

    @property
    def T(self) -> LinearOperator:
        return Resolvent(self.E.T)


class Attachment(LinearOperator):
    """B: wrenches at k frames as wrenches on the n bodies that carry them (0.17); what is fixed to
    the world (body −1) has no row.
    """

    def __init__(
        self, bodies: Sequence[int], blocks: Sequence[np.ndarray], n: int, transposed: bool = False
    ):
        self.bodies, self.blocks, self.n, self.transposed = bodies, blocks, n, transposed
        rows, columns = 6 * n, 6 * len(bodies)
        self.shape = (columns, rows) if transposed else (rows, columns)

    def apply(self, x: np.ndarray) -> np.ndarray:
        y = np.zeros((*x.shape[:-2], self.shape[0], x.shape[-1]))
        for c, (k, block) in enumerate(zip(self.bodies, self.blocks, strict=True)):
            body, frame = slice(6 * k, 6 * k + 6), slice(6 * c, 6 * c + 6)
            if k >= 0 and self.transposed:
                y[..., frame, :] = block.T @ x[..., body, :]
            elif k >= 0:
                y[..., body, :] += block @ x[..., frame, :]
        return y

    @property
    def T(self) -> LinearOperator:
        return Attachment(self.bodies, self.blocks, self.n, not self.transposed)


def _slices(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *sizes])
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]


def _batch(x: np.ndarray, blocks: Sequence[np.ndarray]) -> tuple[int, ...]:
    """The shape of the result: the batch axes of the configuration and of x meet."""
    batch = np.broadcast_shapes(x.shape[:-2], *(b.shape[:-2] for b in blocks))
    return (*batch, *x.shape[-2:])
