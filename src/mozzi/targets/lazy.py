# pyright: basic, reportMissingImports=warning
# (Dask and xarray are not typed in full)
"""Arrays that are not there yet (Dask's) or have names (xarray's): given, they are given back.

A function of NumPy arrays is laid over their chunks, and nothing is loaded. Axes of the function
itself are one chunk; all others are batch axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from mozzi.types import ArrayLike

__all__ = ["is_lazy", "laid_over"]

OnArrays: TypeAlias = Callable[..., object]
"""A function of NumPy arrays, which gives one or several."""


def is_lazy(x: object) -> bool:
    """Whether it is an array of Dask or of xarray."""
    home = type(x).__module__
    return home.startswith(("dask.", "xarray.")) and hasattr(x, "ndim")


def laid_over(
    function: OnArrays,
    inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]],
    arrays: Sequence[ArrayLike],
    dtype: str = "float64",
) -> object:
    """function(*arrays), chunk by chunk; inputs, outputs: the axes of one sample."""
    if any(type(x).__module__.startswith("xarray.") for x in arrays):
        return _named(function, inputs, outputs, arrays, dtype)
    if not any(is_lazy(x) for x in arrays):
        return function(*arrays)
    import dask.array as da

    sizes: dict[str, int] = {}
    letters = [_letters(k, shape, sizes) for k, shape in enumerate((*inputs, *outputs))]
    n = len(inputs)
    sides = [",".join(f"({','.join(x)})" for x in part) for part in (letters[:n], letters[n:])]
    return da.apply_gufunc(
        _OnBlocks(function), "->".join(sides), *arrays,
        output_dtypes=[dtype] * len(outputs) if len(outputs) > 1 else dtype,
        output_sizes={x: sizes[x] for own in letters[n:] for x in own}, allow_rechunk=True,
    )  # fmt: skip


class _OnBlocks:
    """A function with a name that Dask's graphs can have."""

    __name__ = "mozzi_blocks"

    def __init__(self, function: OnArrays):
        self.function = function

    def __call__(self, *blocks: ArrayLike) -> object:
        return self.function(*blocks)


def _letters(k: int, shape: tuple[int, ...], sizes: dict[str, int]) -> list[str]:
    names = [f"x{k}_{n}" for n in range(len(shape))]
    sizes |= dict(zip(names, shape, strict=True))
    return names


def _named(
    function: OnArrays, inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]], arrays: Sequence[ArrayLike], dtype: str,
) -> object:  # fmt: skip
    """On arrays with names: results have the names of an argument of their shape, or new ones."""
    import xarray as xr

    given, dims = [], []
    for k, (x, shape) in enumerate(zip(arrays, inputs, strict=True)):
        named = isinstance(x, (xr.DataArray, xr.Variable))
        own = [str(d) for d in x.dims[x.ndim - len(shape) :]] if named else []
        dims.append(own if named else [f"_{k}_{n}" for n in range(len(shape))])
        if not named and getattr(x, "ndim", 0) > len(shape):
            raise ValueError(
                f"argument {k} has batch axes without names, and others have names; give it as a "
                "DataArray, too"
            )
        given.append(x if named else xr.Variable(dims[-1], x))
    results: list[list[str]] = []
    for k, shape in enumerate(outputs):
        alike = [
            d for d, own, x in zip(dims, inputs, arrays)
            if own == shape and isinstance(x, xr.DataArray)
        ]  # fmt: skip
        several = f"out{k}" if len(outputs) > 1 else "out"
        results.append(alike[-1] if alike else [f"{several}_{n}" for n in range(len(shape))])

    def over(*blocks: ArrayLike) -> object:
        return laid_over(function, inputs, outputs, blocks, dtype)

    return xr.apply_ufunc(
        over, *given, input_core_dims=dims, output_core_dims=results, dask="allowed"
    )
