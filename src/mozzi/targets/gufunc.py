"""NumPy generalised ufuncs from function pointers, through NumPy's own C-API table: no compiled extension."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["make", "signature"]

_FROM_FUNC_DATA_AND_SIGNATURE = 31  # place in the _UFUNC_API table: part of NumPy's ABI since 1.0
_TYPE_NUMBER = {"float32": 11, "float64": 12}  # NPY_FLOAT, NPY_DOUBLE
_alive: list[Any] = []  # NumPy keeps pointers to what a ufunc is made of and never frees the ufunc's parts


def signature(inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> str:
    """The gufunc signature with frozen core dimensions, e.g. "(7),(7)->(7,7)"."""
    text = [",".join("(" + ",".join(map(str, s)) + ")" for s in part) for part in (inputs, outputs)]
    return "->".join(text)


def _constructor() -> Any:
    try:
        import numpy._core._multiarray_umath as umath
    except ImportError:  # NumPy 1
        import numpy.core._multiarray_umath as umath  # pyright: ignore
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,  # functions, data, types
        ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int,  # ntypes, nin, nout, identity
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p,  # name, doc, unused, signature
    )  # fmt: skip
    return prototype(table[_FROM_FUNC_DATA_AND_SIGNATURE])


def make(
    address: int,
    inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]],
    dtype: str,
    name: str,
    doc: str = "",
    keep: Any = None,
) -> np.ufunc:
    """A generalised ufunc whose only loop is the function at this address. `keep` lives as long as the ufunc's loop may."""
    count = len(inputs) + len(outputs)
    functions = (ctypes.c_void_p * 1)(address)
    data = (ctypes.c_void_p * 1)(None)
    types = (ctypes.c_char * count)(*[_TYPE_NUMBER[dtype]] * count)
    texts = [x.encode() for x in (name, doc, signature(inputs, outputs))]
    ufunc = _constructor()(
        ctypes.addressof(functions), ctypes.addressof(data), ctypes.addressof(types),
        1, len(inputs), len(outputs), -1, texts[0], texts[1], 0, texts[2],
    )  # fmt: skip
    _alive.append((functions, data, types, texts, keep))
    return ufunc
