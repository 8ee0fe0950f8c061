"""Short calls without NumPy's dispatch: a built-in function for arrays that fit as they are.

A generalised ufunc takes some 0.8 µs before its loop runs, as long as the loop itself. The
function made here looks at its arguments (arrays of the right type and exactly the core shapes, or
with one batch axis of the same length before them; Python's numbers where the core has no axes),
makes the results and runs the loop.
Everything else (long batches, lists, other types, out=) it hands to the general function, and what
is not as promised as well. It reads the fields of array objects, whose layout is part of NumPy's
ABI, and which is checked here before it is used.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from mozzi.targets.cpu.calls import ufunc as gufunc

__all__ = ["CALL", "address", "builtin", "load", "make", "possible", "record"]

# Places in the array API, part of NumPy's ABI.
_ARRAY_TYPE, _RETURN, _EMPTY = 2, 76, 184
_FASTCALL_KEYWORDS = 0x0080 | 0x0002
OPERANDS_MAX, AXES_MAX = 16, 48
# The record of a kernel, in words of 64 bits; behind these, for each operand, its ndim and shape.
_FIELDS = (
    "inputs", "outputs", "loop", "data", "general", "array_type", "dtype", "empty", "return",
    "tuple_new", "tuple_set", "incref", "decref", "vectorcall", "alarms", "most", "float_type",
    "int_type", "int_to_double", "clear",
)  # fmt: skip


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
    x = np.zeros((3, 5))[:, ::2]
    head = _Array.from_address(id(x))
    return (
        head.type == id(np.ndarray) == gufunc.api("_ARRAY_API")[_ARRAY_TYPE]
        and head.data == x.ctypes.data
        and head.nd == 2
        and (head.dimensions[0], head.dimensions[1]) == x.shape
        and (head.strides[0], head.strides[1]) == x.strides
        and head.descr == id(np.dtype("float64"))
    )


def load(out: str, base: str, offset: int, T: str = "i64") -> str:
    """IR that loads a value from so many bytes behind a pointer."""
    return (
        f"  {out}.p = getelementptr i8, ptr {base}, i64 {offset}\n  {out} = load {T}, ptr {out}.p\n"
    )


def _field(name: str, T: str = "ptr") -> str:
    return load(f"%{name}", "%record", 8 * _FIELDS.index(name), T)


_OPERAND = 8 * len(_FIELDS)

#: The function, for the module that all kernels share; its arguments are those of METH_FASTCALL.
CALL = f"""define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %names) {{
start:
  %pointers = alloca [{OPERANDS_MAX} x ptr]
  %results = alloca [{OPERANDS_MAX} x ptr]
  %steps = alloca [{OPERANDS_MAX + AXES_MAX} x i64]
  %numbers = alloca [{OPERANDS_MAX} x double]
  %count = alloca i64
  %none = alloca i64
  store i64 0, ptr %none
  %odims = alloca [{AXES_MAX + 1} x i64]
  %slot = getelementptr i8, ptr %self, i64 16
  %record = load ptr, ptr %slot
{_field("inputs", "i64")}{_field("outputs", "i64")}{_field("array_type")}{_field("dtype")}
{_field("most", "i64")}{_field("float_type")}{_field("int_type")}
  %all = add i64 %inputs, %outputs
  %shapes = getelementptr i8, ptr %record, i64 {_OPERAND}
  %fits = icmp eq i64 %nargs, %inputs
  %bare = icmp eq ptr %names, null
  %plain = and i1 %fits, %bare
  br i1 %plain, label %input, label %elsewhere
input:
  %k = phi i64 [0, %start], [%k1, %taken]
  %shape = phi ptr [%shapes, %start], [%shape1, %taken]
  %axis = phi i64 [%all, %start], [%axis1, %taken]
  %batch = phi i64 [0, %start], [%batch1, %taken]
  %left = icmp slt i64 %k, %inputs
  br i1 %left, label %look, label %counted
look:
  %ap = getelementptr ptr, ptr %args, i64 %k
  %a = load ptr, ptr %ap
{load("%type", "%a", 8, "ptr")}  %is.array = icmp eq ptr %type, %array_type
  %ndim = load i64, ptr %shape
  br i1 %is.array, label %array, label %other
other:
  %no.axes = icmp eq i64 %ndim, 0
  br i1 %no.axes, label %number, label %elsewhere
number:
  %float.memory = getelementptr i8, ptr %a, i64 16
  %is.float = icmp eq ptr %type, %float_type
  br i1 %is.float, label %taken, label %not.float
not.float:
  %is.int = icmp eq ptr %type, %int_type
  br i1 %is.int, label %integer, label %elsewhere
integer:
{_field("int_to_double")}  %double = call double %int_to_double(ptr %a)
  %int.memory = getelementptr double, ptr %numbers, i64 %k
  store double %double, ptr %int.memory
  %minus.one = fcmp oeq double %double, -1.0  ; or too large for a double
  br i1 %minus.one, label %clear.error, label %taken
clear.error:
{_field("clear")}  call void %clear()
  br label %elsewhere
array:
{load("%descr", "%a", 56, "ptr")}{load("%nd32", "%a", 24, "i32")}
{load("%dims.all", "%a", 32, "ptr")}{load("%strides.all", "%a", 40, "ptr")}
{load("%memory", "%a", 16, "ptr")}  %nd = sext i32 %nd32 to i64
  %is.type = icmp eq ptr %descr, %dtype
  br i1 %is.type, label %axes, label %elsewhere
axes:
  %extra = sub i64 %nd, %ndim
  switch i64 %extra, label %elsewhere [
    i64 0, label %core
    i64 1, label %batched
  ]
batched:
  %here = load i64, ptr %dims.all
  %step.here = load i64, ptr %strides.all
  %unknown = icmp eq i64 %batch, 0
  %agrees = icmp eq i64 %batch, %here
  %is.one = or i1 %unknown, %agrees
  %not.empty = icmp sgt i64 %here, 0
  %short = icmp sle i64 %here, %most
  %fine = and i1 %not.empty, %short
  %ok.batch = and i1 %is.one, %fine
  br i1 %ok.batch, label %core, label %elsewhere
core:
  %batch.now = phi i64 [%batch, %axes], [%here, %batched]
  %step.now = phi i64 [0, %axes], [%step.here, %batched]
  %dims = getelementptr i64, ptr %dims.all, i64 %extra
  %strides = getelementptr i64, ptr %strides.all, i64 %extra
  br label %dim
dim:
  %d = phi i64 [0, %core], [%d1, %same]
  %d1 = add i64 %d, 1
  %more.dims = icmp slt i64 %d, %ndim
  br i1 %more.dims, label %compare, label %taken
compare:
  %np = getelementptr i64, ptr %dims, i64 %d
  %n = load i64, ptr %np
  %wp = getelementptr i64, ptr %shape, i64 %d1
  %want = load i64, ptr %wp
  %is.n = icmp eq i64 %n, %want
  br i1 %is.n, label %same, label %elsewhere
same:
  %tp = getelementptr i64, ptr %strides, i64 %d
  %t = load i64, ptr %tp
  %at = add i64 %axis, %d
  %sp = getelementptr i64, ptr %steps, i64 %at
  store i64 %t, ptr %sp
  br label %dim
taken:
  %place = phi ptr [%memory, %dim], [%float.memory, %number], [%int.memory, %integer]
  %batch1 = phi i64 [%batch.now, %dim], [%batch, %number], [%batch, %integer]
  %step = phi i64 [%step.now, %dim], [0, %number], [0, %integer]
  %pp = getelementptr ptr, ptr %pointers, i64 %k
  store ptr %place, ptr %pp
  %zp = getelementptr i64, ptr %steps, i64 %k
  store i64 %step, ptr %zp
  %axis1 = add i64 %axis, %ndim
  %words = add i64 %ndim, 1
  %shape1 = getelementptr i64, ptr %shape, i64 %words
  %k1 = add i64 %k, 1
  br label %input
counted:
  %is.batch = icmp sgt i64 %batch, 0
  %first = zext i1 %is.batch to i64
  %n.all = call i64 @llvm.smax.i64(i64 %batch, i64 1)
  store i64 %n.all, ptr %count
  store i64 %batch, ptr %odims
  %ocore = getelementptr i64, ptr %odims, i64 %first
  br label %output
output:
  %m = phi i64 [0, %counted], [%m1, %made]
  %oshape = phi ptr [%shape, %counted], [%oshape1, %made]
  %oaxis = phi i64 [%axis, %counted], [%oaxis1, %made]
  %oleft = icmp slt i64 %m, %outputs
  br i1 %oleft, label %new, label %run
new:
{_field("incref")}{_field("empty")}  call void %incref(ptr %dtype)
  %ondim = load i64, ptr %oshape
  %ond = add i64 %ondim, %first
  %ond32 = trunc i64 %ond to i32
  br label %size
size:
  %z = phi i64 [0, %new], [%z1, %sized]
  %more.sizes = icmp slt i64 %z, %ondim
  br i1 %more.sizes, label %sized, label %make
sized:
  %z1 = add i64 %z, 1
  %fromp = getelementptr i64, ptr %oshape, i64 %z1
  %from = load i64, ptr %fromp
  %top = getelementptr i64, ptr %ocore, i64 %z
  store i64 %from, ptr %top
  br label %size
make:
  %o = call ptr %empty(i32 %ond32, ptr %odims, ptr %dtype, i32 0)
  %rp = getelementptr ptr, ptr %results, i64 %m
  store ptr %o, ptr %rp
  %failed = icmp eq ptr %o, null
  br i1 %failed, label %undo, label %fill
fill:
{load("%omemory", "%o", 16, "ptr")}{load("%ostrides.all", "%o", 40, "ptr")}
  %ostrides = getelementptr i64, ptr %ostrides.all, i64 %first
  %outer = select i1 %is.batch, ptr %ostrides.all, ptr %none  ; results of no axes have no strides
  %ostep = load i64, ptr %outer
  %ok = add i64 %inputs, %m
  %op = getelementptr ptr, ptr %pointers, i64 %ok
  store ptr %omemory, ptr %op
  %ozp = getelementptr i64, ptr %steps, i64 %ok
  store i64 %ostep, ptr %ozp
  br label %stride
stride:
  %e = phi i64 [0, %fill], [%e1, %copy]
  %more.strides = icmp slt i64 %e, %ondim
  br i1 %more.strides, label %copy, label %made
copy:
  %fp = getelementptr i64, ptr %ostrides, i64 %e
  %f = load i64, ptr %fp
  %oat = add i64 %oaxis, %e
  %osp = getelementptr i64, ptr %steps, i64 %oat
  store i64 %f, ptr %osp
  %e1 = add i64 %e, 1
  br label %stride
made:
  %oaxis1 = add i64 %oaxis, %ondim
  %owords = add i64 %ondim, 1
  %oshape1 = getelementptr i64, ptr %oshape, i64 %owords
  %m1 = add i64 %m, 1
  br label %output
run:
{_field("loop")}{_field("data")}{_field("return")}{_field("alarms")}
  %before = load volatile i64, ptr %alarms
  call void %loop(ptr %pointers, ptr %count, ptr %steps, ptr %data)
  %after = load volatile i64, ptr %alarms
  %quiet = icmp eq i64 %before, %after
  br i1 %quiet, label %give, label %repeat
give:
  %single = icmp eq i64 %outputs, 1
  br i1 %single, label %alone, label %several
alone:
  %r0 = load ptr, ptr %results
  %r1 = call ptr %return(ptr %r0)
  ret ptr %r1
several:
{_field("tuple_new")}{_field("tuple_set")}  %tuple = call ptr %tuple_new(i64 %outputs)
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %undo, label %item
item:
  %i = phi i64 [0, %several], [%i1, %item]
  %ip = getelementptr ptr, ptr %results, i64 %i
  %ix = load ptr, ptr %ip
  %iy = call ptr %return(ptr %ix)
  %set = call i32 %tuple_set(ptr %tuple, i64 %i, ptr %iy)
  %i1 = add i64 %i, 1
  %more.items = icmp slt i64 %i1, %outputs
  br i1 %more.items, label %item, label %whole
whole:
  ret ptr %tuple
repeat:
  br label %undo
undo:
  %u = phi i64 [%m, %make], [%outputs, %several], [%outputs, %repeat]
  %again = phi i1 [false, %make], [false, %several], [true, %repeat]
{_field("decref")}  br label %drop
drop:
  %v = phi i64 [%u, %undo], [%v1, %free]
  %some = icmp sgt i64 %v, 0
  br i1 %some, label %free, label %nothing
free:
  %v1 = sub i64 %v, 1
  %vp = getelementptr ptr, ptr %results, i64 %v1
  %vx = load ptr, ptr %vp
  call void %decref(ptr %vx)
  br label %drop
nothing:
  br i1 %again, label %elsewhere, label %null
null:
  ret ptr null
elsewhere:
{_field("general")}{_field("vectorcall")}
  %g = call ptr %vectorcall(ptr %general, ptr %args, i64 %nargs, ptr %names)
  ret ptr %g
}}"""


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
        "empty": arrays[_EMPTY], "return": arrays[_RETURN],
        "tuple_new": address(python.PyTuple_New), "tuple_set": address(python.PyTuple_SetItem),
        "incref": address(python.Py_IncRef), "decref": address(python.Py_DecRef),
        "vectorcall": address(python.PyObject_Vectorcall), "alarms": alarms, "most": most,
        "float_type": id(float) if dtype == "float64" else 0,
        "int_type": id(int) if dtype == "float64" else 0,
        "int_to_double": address(python.PyLong_AsDouble), "clear": address(python.PyErr_Clear),
    }  # fmt: skip
    words = [values[field] for field in _FIELDS]
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


def address(function: Any) -> int | None:
    """Of a function of Python's C interface."""
    return ctypes.cast(function, ctypes.c_void_p).value
