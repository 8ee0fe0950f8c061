"""Short calls without NumPy's dispatch: a built-in function for arrays that fit as they are.

A generalised ufunc takes some 0.8 µs before its loop runs, as long as the loop itself. The
function made here looks at its arguments (arrays of the right type and exactly the core shapes, or
with one batch axis of the same length before them; Python's numbers where the core has no axes),
makes the results and runs the loop. Results are written into out= where that are contiguous arrays
of exactly their shape that no other one lies in.
Everything else (long batches, lists, other types) it hands to the general function, and what is not
as promised as well. It reads the fields of array objects, whose layout is part of NumPy's
ABI, and which is checked here before it is used.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from mozzi.targets import disk_cache
from mozzi.targets.cpu import jit
from mozzi.targets.cpu.calls import ufunc as gufunc
from mozzi.targets.cpu.calls.single_call_text import CONTIGUOUS, FIELDS, WRITEABLE

__all__ = ["EMPTY", "address", "builtin", "code_of", "make", "possible", "record"]

# Places in the array API, part of NumPy's ABI.
_ARRAY_TYPE, _RETURN, EMPTY = 2, 76, 184
_FASTCALL_KEYWORDS = 0x0080 | 0x0002
_OUT = sys.intern("out")


class _Array(ctypes.Structure):
    """The head of an array object (PyArrayObject_fields)."""

    _fields_ = [
        ("refcount", ctypes.c_ssize_t), ("type", ctypes.c_void_p),
        ("data", ctypes.c_void_p), ("nd", ctypes.c_int),
        ("dimensions", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("base", ctypes.c_void_p), ("descr", ctypes.c_void_p), ("flags", ctypes.c_int),
    ]  # fmt: skip


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


@cache
def possible() -> bool:
    """Whether arrays and numbers of this Python and NumPy look as expected."""
    if (
        sys.implementation.name != "cpython"
        or ctypes.sizeof(ctypes.c_void_p) != 8
        or sysconfig.get_config_var("Py_GIL_DISABLED")
        or sysconfig.get_config_var("Py_TRACE_REFS")
    ):
        return False
    words = _record(1)(0)
    if ctypes.c_void_p.from_address(id(words) + 16).value != ctypes.addressof(words):
        return False
    number = 1.5
    if ctypes.c_double.from_address(id(number) + 16).value != number:
        return False
    several = (number, x := np.zeros((3, 5))[:, ::2])
    if [ctypes.c_int64.from_address(id(several) + k).value for k in (16, 24)] != [2, id(number)]:
        return False
    head = _Array.from_address(id(x))
    whole = _Array.from_address(id(x.base)).flags
    return (
        head.type == id(np.ndarray) == gufunc.api("_ARRAY_API")[_ARRAY_TYPE]
        and head.data == x.ctypes.data
        and head.nd == 2
        and (head.dimensions[0], head.dimensions[1]) == x.shape
        and (head.strides[0], head.strides[1]) == x.strides
        and head.descr == id(np.dtype("float64"))
        and head.flags & (CONTIGUOUS | WRITEABLE) == WRITEABLE
        and whole & (CONTIGUOUS | WRITEABLE) == CONTIGUOUS | WRITEABLE
    )


def make(
    call: int,
    loop: int,
    data: int,
    inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]],
    dtype: str,
    name: str,
    general: Callable[..., object],
    alarms: int,
    keep: object = None,
    most: int = 0,
) -> Any:
    """The built-in function of a kernel: `call` is the address of @call, `loop` and `data` those of
    its inner loop, `alarms` that of a counter: where it grows, `general` shall look. Batches of up
    to `most` samples are its own.
    """
    shapes = [*inputs, *outputs]
    arrays = gufunc.api("_ARRAY_API")
    python = ctypes.pythonapi
    values = {
        "inputs": len(inputs), "outputs": len(outputs), "loop": loop, "data": data,
        "general": id(general), "array_type": id(np.ndarray), "dtype": id(np.dtype(dtype)),
        "empty": arrays[EMPTY], "return": arrays[_RETURN],
        "tuple_new": address(python.PyTuple_New), "tuple_set": address(python.PyTuple_SetItem),
        "incref": address(python.Py_IncRef), "decref": address(python.Py_DecRef),
        "vectorcall": address(python.PyObject_Vectorcall), "alarms": alarms, "most": most,
        "float_type": id(float) if dtype == "float64" else 0,
        "int_type": id(int) if dtype == "float64" else 0,
        "int_to_double": address(python.PyLong_AsDouble), "clear": address(python.PyErr_Clear),
        "out_name": id(_OUT), "tuple_type": id(tuple), "itemsize": np.dtype(dtype).itemsize,
    }  # fmt: skip
    words = [values[field] for field in FIELDS]
    for shape in shapes:
        words += [len(shape), *shape]
    own = record(words, (general, keep, np.dtype(dtype)))
    return builtin(call, name, own)


def record(words: Sequence[int | None], keep: object) -> object:
    """Words in memory, as an object that machine code gets at, and that holds `keep`."""
    made = _record(len(words))(*words)
    made.keep = keep
    return made


def builtin(call: int, name: str, own: object) -> Any:
    """A built-in function: machine code that gets the record and, as METH_FASTCALL has it, the
    arguments.
    """
    method = _Method(name.encode(), call, _FASTCALL_KEYWORDS, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))  # for ever: Python looks at it as late as
    # when the function goes, which at its end is after the variables of modules
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype = ctypes.py_object
    create.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return create(ctypes.addressof(method), own, None)


@cache
def _record(size: int) -> Any:
    """Words in memory, as an object that can hold others; its pointer to them follows the object's
    head.
    """
    return type("Record", (ctypes.c_int64 * size,), {})


@cache
def code_of(text: str) -> jit.Code:
    """The machine code of IR that kernels share, which is kept on disk."""
    key = hashlib.sha256(repr((text, jit.host())).encode()).hexdigest()
    obj = disk_cache.read(key)
    if obj is None:
        obj = jit.assemble(text)
        disk_cache.write(key, obj)
    return jit.Code(obj)


def address(function: Any) -> int | None:
    """Of a function of Python's C interface."""
    return ctypes.cast(function, ctypes.c_void_p).value
