"""What tells runs apart: digits that depend on their content, the same in every process."""

from __future__ import annotations

import dataclasses
import dis
import hashlib
import types
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np

__all__ = ["digest_of"]

SETTING = ("STORE_GLOBAL", "STORE_DEREF")
DERIVED = ("cache", "kernels")  # what objects keep of what was made from them


def digest_of(x: object) -> str:
    """64 hexadecimal digits of the content of a function, a model, numbers, or what holds them."""
    return hashlib.sha256(repr(_content(x, set())).encode()).hexdigest()


def _content(x: object, seen: set[int]) -> object:
    """Nested tuples of strings and numbers."""
    if x is None or isinstance(x, (bool, int, float, str, bytes)):
        return x
    if isinstance(x, types.FunctionType):
        if id(x) in seen:  # it was met already, or calls itself
            return x.__qualname__
        seen.add(id(x))

    def of(y: object) -> object:
        return _content(y, seen)

    if isinstance(getattr(type(x), "digest", None), property):
        return getattr(x, "digest")  # noqa: B009
    if isinstance(x, (np.ndarray, np.generic)):
        array = np.asarray(cast("np.ndarray", x))
        return array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).hexdigest()
    if isinstance(x, types.CodeType):
        return x.co_code, x.co_names, x.co_varnames, tuple(map(of, x.co_consts))
    if isinstance(x, types.FunctionType):
        return x.__qualname__, of(x.__code__), of(_taken_along(x)), of(x.__defaults__)
    if isinstance(x, types.MethodType):
        return of(x.__func__), of(x.__self__)
    if isinstance(x, partial):
        whole = cast("partial[object]", x)
        return of(whole.func), of(whole.args), of(whole.keywords)
    if isinstance(x, Mapping):
        named = cast("Mapping[object, object]", x)
        return tuple((str(k), of(named[k])) for k in sorted(named, key=str))
    if isinstance(x, (Sequence, set, frozenset)):
        items = cast("Iterable[object]", x)
        return tuple(map(of, sorted(items, key=repr) if isinstance(x, (set, frozenset)) else items))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return type(x).__qualname__, *(of(getattr(x, f.name)) for f in dataclasses.fields(x))
    if id(x) in seen:  # it holds itself
        return type(x).__qualname__
    seen.add(id(x))
    held = {n: y for n, y in getattr(x, "__dict__", {}).items() if n not in DERIVED}
    return type(x).__qualname__, getattr(x, "__name__", ""), of(held)


def _taken_along(function: types.FunctionType) -> dict[str, object]:
    """What a function uses from where it was written, by name; not what changes while it runs:
    lists, dictionaries and sets, and names that it sets itself.
    """
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    used = {n: function.__globals__[n] for n in code.co_names if n in function.__globals__}
    used |= {n: c.cell_contents for n, c in cells}
    set_here = {i.argval for i in dis.get_instructions(code) if i.opname in SETTING}
    return {
        n: x for n, x in used.items()
        if n not in set_here and not isinstance(x, (list, dict, set, type, types.ModuleType))
    }  # fmt: skip
