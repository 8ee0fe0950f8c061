# pyright: basic, reportMissingImports=warning
# (CuPy is not typed)
"""The libraries whose arrays the CUDA target takes, as far as they are here, and their streams."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from types import ModuleType

from mozzi.errors import ExtraMissingError
from mozzi.locks import ForkLock

__all__ = ["any_of", "cupy_here", "is_jax", "stream_of", "working_stream"]


_LOOKING = ForkLock()  # while one thread looks, CuPy tells another that there is no GPU


@cache
def cupy_here() -> ModuleType:
    """CuPy, where it is installed and finds a GPU."""
    if importlib.util.find_spec("cupy") is None:
        raise ExtraMissingError(
            "the CUDA target runs through CuPy; install it with: pip install mozzi[cuda]"
        )
    import cupy

    with _LOOKING:
        found = cupy.cuda.is_available()
    if not found:
        raise ExtraMissingError("the CUDA target finds no NVIDIA GPU here; use target='cpu'")
    return cupy


def is_jax(arrays: Sequence[object]) -> bool:
    """Whether one of them is an array of JAX."""
    return any_of(("jax", "jaxlib"), arrays) is not None


def stream_of(array: object) -> int:
    """The stream on which work with such arrays is done."""
    torch = any_of(("torch",), (array,))
    if torch is not None:
        return torch.cuda.current_stream().cuda_stream
    return cupy_here().cuda.get_current_stream().ptr


def any_of(packages: tuple[str, ...], arrays: Sequence[object]) -> ModuleType | None:
    """The first of the packages, if an array is one of theirs; None otherwise."""
    if any(type(x).__module__.partition(".")[0] in packages for x in arrays):
        return importlib.import_module(packages[0])
    return None


def working_stream(cupy: ModuleType, torch: ModuleType | None) -> AbstractContextManager[object]:
    """The stream to work on: PyTorch's for its tensors, CuPy's otherwise."""
    if torch is None:
        return cupy.cuda.get_current_stream()
    return cupy.cuda.Stream.from_external(torch.cuda.current_stream())
