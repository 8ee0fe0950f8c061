"""Small matrices of screws and motions, in batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mozzi.types import Array, ArrayLike

__all__ = ["LEVI_CIVITA", "Ad", "ad", "diag", "hat", "transposed"]


def hat(w: Array) -> Array:
    """[w] (..., 3, 3) of (..., 3)."""
    x, y, z = np.moveaxis(np.asarray(w, dtype=float), -1, 0)
    o = np.zeros_like(x)
    rows = [[o, -z, y], [z, o, -x], [-y, x, o]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def Ad(T: Array) -> Array:
    """Ad_T (..., 6, 6) of poses (..., 4, 4).  MD95"""
    R, p = T[..., :3, :3], T[..., :3, 3]
    return _lower(R, hat(p) @ R)


def ad(V: Array) -> Array:
    """ad_V (..., 6, 6) of twists (..., 6).  MD115"""
    return _lower(hat(V[..., :3]), hat(V[..., 3:]))


def _lower(diagonal: Array, below: Array) -> Array:
    top = np.concatenate([diagonal, np.zeros_like(diagonal)], axis=-1)
    return np.concatenate([top, np.concatenate([below, diagonal], axis=-1)], axis=-2)


def diag(blocks: Sequence[ArrayLike]) -> Array:
    """The block diagonal matrix, of blocks (..., m, n)."""
    parts = [np.asarray(b, dtype=float) for b in blocks]
    batch = np.broadcast_shapes(*(b.shape[:-2] for b in parts))
    out = np.zeros((*batch, sum(b.shape[-2] for b in parts), sum(b.shape[-1] for b in parts)))
    i = j = 0
    for b in parts:
        out[..., i : i + b.shape[-2], j : j + b.shape[-1]] = b
        i, j = i + b.shape[-2], j + b.shape[-1]
    return out


def transposed(x: Array) -> Array:
    """The transposes of matrices (..., m, n)."""
    return np.swapaxes(x, -1, -2)


LEVI_CIVITA = hat(np.eye(3)).transpose(1, 0, 2)
