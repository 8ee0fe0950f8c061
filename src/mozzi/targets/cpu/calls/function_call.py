"""Public functions as fast as their kernels: Python's part of the call in machine code.

`mz.inverse_dynamics(model, q, v, a)` looks whether something is traced, finds the kernel in the
model's cache and calls it, which takes Python as long as the kernel takes. The built-in function
made here does the same for a model whose kernel is there, and knows the kernel of the last model
that got one (`remember`); everything else (first calls, options,
tracing, errors of shape) it hands to the function written in Python.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Protocol, cast

from mozzi.targets.cpu.calls import single_call
from mozzi.targets.cpu.calls.single_call import address, builtin, code_of, record
from mozzi.targets.cpu.calls.single_call_text import load

__all__ = ["direct", "forget", "make", "remember"]

# What a function is made of, in words of 64 bits.
_FIELDS = (
    "count", "tracing", "model_type", "cache_name", "key", "general", "misfit",
    "getattr", "find", "incref", "decref", "vectorcall", "matches", "clear", "last", "last_kernel",
)  # fmt: skip


def _field(name: str, T: str = "ptr") -> str:
    return load(f"%{name}", "%record", 8 * _FIELDS.index(name), T)


CALL = f"""define ptr @call_function(ptr %self, ptr %args, i64 %nargs, ptr %names) {{
start:
  %slot = getelementptr i8, ptr %self, i64 16
  %record = load ptr, ptr %slot
{_field("count", "i64")}{_field("tracing")}{_field("model_type")}{_field("vectorcall")}
{_field("clear")}  %fits = icmp eq i64 %nargs, %count
  %bare = icmp eq ptr %names, null
  %traces = load i64, ptr %tracing
  %idle = icmp eq i64 %traces, 0
  %plain = and i1 %fits, %bare
  %quick = and i1 %plain, %idle
  br i1 %quick, label %look, label %elsewhere
look:
  %model = load ptr, ptr %args
{_field("incref")}{_field("decref")}{_field("last")}{_field("last_kernel")}
  %is.last = icmp eq ptr %model, %last
  br i1 %is.last, label %run, label %another
another:
{load("%type", "%model", 8, "ptr")}  %is.model = icmp eq ptr %type, %model_type
  br i1 %is.model, label %search, label %elsewhere
search:
{_field("cache_name")}{_field("key")}{_field("getattr")}{_field("find")}
  %cache = call ptr %getattr(ptr %model, ptr %cache_name)
  %no.cache = icmp eq ptr %cache, null
  br i1 %no.cache, label %forget, label %find.kernel
find.kernel:
  %found = call ptr %find(ptr %cache, ptr %key)
  call void %decref(ptr %cache)
  %no.kernel = icmp eq ptr %found, null
  br i1 %no.kernel, label %forget, label %run
run:
  %kernel = phi ptr [%last_kernel, %look], [%found, %find.kernel]
  call void %incref(ptr %kernel)
  %arrays = getelementptr ptr, ptr %args, i64 1
  %rest = sub i64 %nargs, 1
  %result = call ptr %vectorcall(ptr %kernel, ptr %arrays, i64 %rest, ptr null)
  call void %decref(ptr %kernel)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %why, label %done
why:
{_field("misfit")}{_field("matches")}  %matching = call i32 %matches(ptr %misfit)
  %unfit = icmp ne i32 %matching, 0
  br i1 %unfit, label %forget, label %done
done:
  ret ptr %result
forget:
  call void %clear()
  br label %elsewhere
elsewhere:
{_field("general")}
  %g = call ptr %vectorcall(ptr %general, ptr %args, i64 %nargs, ptr %names)
  ret ptr %g
}}"""


class Remembering(Protocol):
    """The words of a function; `last` holds the kernel of the last model, and waits for its end."""

    last: tuple[weakref.ref[object], object] | None

    def __setitem__(self, index: int, value: int) -> None: ...


def direct(kernel: object) -> object | None:
    """The built-in function of a kernel, where it has one."""
    found = vars(type(kernel)).get("__call__")
    return found if isinstance(found, BuiltinFunctionType) else None


def make(
    name: str,
    count: int,
    key: object,
    general: Callable[..., object],
    model_type: type,
    misfit: type[Exception],
    tracing: ctypes.c_int64,
) -> object | None:
    """The built-in function for calls (model, arrays…) with so many arguments in all; None where
    Python's objects do not look as expected.

    key: under which a model's cache has the built-in function of its kernel. general: what takes
    all other calls. misfit: the error of kernels that general tells in the model's words. tracing:
    how many programs are being traced, in all threads.
    """
    if not single_call.possible():
        return None
    python, cache_name = ctypes.pythonapi, "cache"
    values = {
        "count": count, "tracing": ctypes.addressof(tracing), "model_type": id(model_type),
        "cache_name": id(cache_name), "key": id(key), "general": id(general), "misfit": id(misfit),
        "getattr": address(python.PyObject_GetAttr),
        "find": address(python.PyDict_GetItemWithError),
        "incref": address(python.Py_IncRef), "decref": address(python.Py_DecRef),
        "vectorcall": address(python.PyObject_Vectorcall),
        "matches": address(python.PyErr_ExceptionMatches), "clear": address(python.PyErr_Clear),
        "last": 0, "last_kernel": 0,
    }  # fmt: skip
    kept = (key, general, model_type, misfit, tracing, cache_name, code_of(CALL))
    words = record([values[field] for field in _FIELDS], kept)
    return builtin(code_of(CALL).address("call_function"), name, words)


def remember(function: object, model: object, kernel: object) -> None:
    """Find the kernel of this model without a look into its cache, as long as the model lives."""
    words = cast(Remembering, cast(BuiltinFunctionType, function).__self__)
    place = _FIELDS.index("last")

    def gone(_: object) -> None:
        words[place] = 0
        words.last = None

    words[place] = 0
    words.last = weakref.ref(model, gone), kernel
    words[_FIELDS.index("last_kernel")] = id(kernel)
    words[place] = id(model)


def forget(function: object, model: object) -> None:
    """Look into the cache of this model again."""
    words = cast(Remembering, cast(BuiltinFunctionType, function).__self__)
    last = getattr(words, "last", None)
    if last is not None and last[0]() is model:
        words[_FIELDS.index("last")] = 0
        words.last = None
