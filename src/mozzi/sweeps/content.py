"""What a run is: digits that depend on its content, the same in every process."""

from __future__ import annotations

import dataclasses
import hashlib
import types
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

__all__ = ["digest_of"]

DERIVED = ("cache", "kernels")  # what objects keep of what was made from them


def digest_of(x: object) -> str:
    """64 hexadecimal digits of the content of a function, a model, numbers, or what holds them."""
    return hashlib.sha256(repr(_content(x, 0)).encode()).hexdigest()


def _content(x: Any, depth: int) -> object:
    """Nested tuples of strings and numbers. A function is its code, its constants, and what it
    took along from where it was written.
    """
    if depth > 20:
        return "deep"
    of = lambda y: _content(y, depth + 1)
    if x is None or isinstance(x, (bool, int, float, str, bytes)):
        return x
    if isinstance(getattr(type(x), "digest", None), property):
        return x.digest
    if isinstance(x, (np.ndarray, np.generic)):
        array = np.asarray(x)
        return array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).hexdigest()
    if isinstance(x, types.CodeType):
        return x.co_code, x.co_names, x.co_varnames, tuple(map(of, x.co_consts))
    if isinstance(x, types.FunctionType):
        cells = [c.cell_contents for c in x.__closure__ or ()]
        used = {n: x.__globals__[n] for n in x.__code__.co_names if n in x.__globals__}
        plain = {n: y for n, y in used.items() if not isinstance(y, (types.ModuleType, type))}
        own = {n: y for n, y in plain.items() if not isinstance(y, types.FunctionType)}
        return x.__qualname__, of(x.__code__), tuple(map(of, cells)), of(x.__defaults__), of(own)
    if isinstance(x, types.MethodType):
        return of(x.__func__), of(x.__self__)
    if isinstance(x, partial):
        whole = cast("partial[object]", x)
        return of(whole.func), of(whole.args), of(whole.keywords)
    if isinstance(x, Mapping):
        named = cast("Mapping[object, object]", x)
        return tuple((str(k), of(named[k])) for k in sorted(named, key=str))
    if isinstance(x, (Sequence, set, frozenset)):
        return tuple(map(of, sorted(x, key=repr) if isinstance(x, (set, frozenset)) else x))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return type(x).__qualname__, *(of(getattr(x, f.name)) for f in dataclasses.fields(x))
    held = {n: y for n, y in getattr(x, "__dict__", {}).items() if n not in DERIVED}
    return type(x).__qualname__, getattr(x, "__name__", ""), of(held)
