"""NumPy generalised ufuncs from function pointers, through NumPy's own C-API tables: no compiled
extension.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

__all__ = ["api", "make", "signature"]

Shapes = Sequence[tuple[int, ...]]

_FROM_FUNC_DATA_AND_SIGNATURE = 31  # its place in the table is part of NumPy's ABI
_TYPE_NUMBER = {"float32": 11, "float64": 12}  # NPY_FLOAT, NPY_DOUBLE
_alive: list[object] = []


class _UFunc(ctypes.Structure):
    """The head of a ufunc object, as in NumPy's ufuncobject.h."""

    _fields_ = [
        ("refcount", ctypes.c_ssize_t), ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int), ("nout", ctypes.c_int), ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int), ("functions", ctypes.c_void_p), ("data", ctypes.c_void_p),
        ("ntypes", ctypes.c_int), ("reserved", ctypes.c_int), ("name", ctypes.c_void_p),
        ("types", ctypes.c_void_p), ("doc", ctypes.c_void_p), ("ptr", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
    ]  # fmt: skip


@cache
def api(name: str) -> Any:
    """A table of NumPy's C-API ("_UFUNC_API" or "_ARRAY_API"), as pointers."""
    try:
        import numpy._core._multiarray_umath as umath
    except ImportError:  # NumPy 1
        import numpy.core._multiarray_umath as umath  # pyright: ignore
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(getattr(umath, name), None), ctypes.POINTER(ctypes.c_void_p))


def signature(inputs: Shapes, outputs: Shapes) -> str:
    """The gufunc signature with frozen core dimensions, e.g. "(7),(7)->(7,7)"."""
    text = [",".join("(" + ",".join(map(str, s)) + ")" for s in part) for part in (inputs, outputs)]
    return "->".join(text)


def make(
    address: int,
    data: int,
    inputs: Shapes,
    outputs: Shapes,
    dtype: str,
    name: str,
    doc: str = "",
    keep: object = None,
) -> np.ufunc:
    """A generalised ufunc whose only loop is the function at this address; it holds `keep`."""
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,  # functions, data, types
        ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int,  # ntypes, nin, nout, identity
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p,  # name, doc, 0, signature
    )  # fmt: skip
    create = prototype(api("_UFUNC_API")[_FROM_FUNC_DATA_AND_SIGNATURE])
    count = len(inputs) + len(outputs)
    functions, datas = (ctypes.c_void_p * 1)(address), (ctypes.c_void_p * 1)(data)
    types = (ctypes.c_char * count)(*[_TYPE_NUMBER[dtype]] * count)
    texts = [x.encode() for x in (name, doc, signature(inputs, outputs))]
    ufunc = create(
        ctypes.addressof(functions), ctypes.addressof(datas), ctypes.addressof(types),
        1, len(inputs), len(outputs), -1, *texts[:2], 0, texts[2],
    )  # fmt: skip
    _attach(ufunc, (functions, datas, types, texts, keep), ctypes.addressof(functions))
    return ufunc


def _attach(ufunc: np.ufunc, parts: object, functions: int) -> None:
    """NumPy keeps bare pointers to what a ufunc is made of: hang the parts on it, where it has a
    place for that.
    """
    head = _UFunc.from_address(id(ufunc))
    expected = (ufunc.nin, ufunc.nout, functions, None)
    if (head.nin, head.nout, head.functions, head.obj) == expected:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(parts))
        head.obj = id(parts)  # the ufunc lets go of it when it goes
    else:
        _alive.append(parts)
