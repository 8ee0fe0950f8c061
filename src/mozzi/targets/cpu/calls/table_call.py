"""Calls with tables of arrays as fast as with arrays: Python's part of them in machine code.

A table is a dict of small arrays, which together are one array of a model. Reading three of them
in Python takes ten times as long as inverse dynamics of what they describe. The built-in functions
made here join the arrays of a table, split an array into a table, and do both around a function of
arrays. They know exact dicts of contiguous arrays of float64 that fit; of everything else (lists,
other types, what is wrong) they return None, for Python to look at. Only joining knows batches.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from mozzi.targets.cpu.calls import single_call
from mozzi.targets.cpu.calls import ufunc as gufunc
from mozzi.targets.cpu.calls.single_call import EMPTY, address, builtin, code_of, record
from mozzi.targets.cpu.calls.single_call_text import CONTIGUOUS, load

__all__ = ["Places", "around", "join", "split"]

TABLES_MAX = 8  # arguments of a function

# What of Python and NumPy is called, the first word of every record points to: words of 64 bits.
_API = (
    "dict_type", "none", "array_type", "dtype", "empty", "find", "size", "dict_new", "dict_set",
    "incref", "decref", "vectorcall", "error",
)  # fmt: skip
# A layout: these words, and for each array its name, its rows, and the first of them.
_LAYOUT = "ndim", "rows", "width", "optional", "count"


class Places(NamedTuple):
    """Arrays that lie one behind the other in one: their names and where their rows start and end,
    how many there are in all, and how many numbers a row has (None: it is a number).
    """

    arrays: Sequence[tuple[str, int, int]]
    rows: int
    width: int | None = None


def _api(name: str) -> str:
    return load(f"%{name}", "%api", 8 * _API.index(name), "ptr")


def _layout(name: str) -> str:
    return load(f"%{name}", "%layout", 8 * _LAYOUT.index(name), "i64")


_ENTRIES = f"""  %entries = getelementptr i8, ptr %layout, i64 {8 * len(_LAYOUT)}
  %bytes = mul i64 %width, 8
  %nd32 = trunc i64 %ndim to i32
  %matrix = icmp eq i64 %ndim, 2
"""

_ENTRY = f"""  %kth = mul i64 %k, 24
  %entry = getelementptr i8, ptr %entries, i64 %kth
{load("%key", "%entry", 0, "ptr")}{load("%own", "%entry", 8)}{load("%from", "%entry", 16)}
  %shift = mul i64 %from, %bytes
  %numbers = mul i64 %own, %width
"""

# Whether x is an array (rows) or (rows, width), or such ones for a batch; -1 is none.
_FITS = f"""define internal i1 @fits(
  ptr %api, ptr %x, i64 %ndim, i64 %rows, i64 %width, i64 %batch
) {{
{_api("array_type")}{_api("dtype")}{load("%type", "%x", 8, "ptr")}
  %is.array = icmp eq ptr %type, %array_type
  br i1 %is.array, label %array, label %no
array:
{load("%descr", "%x", 56, "ptr")}{load("%nd32", "%x", 24, "i32")}{load("%flags", "%x", 64, "i32")}
{load("%dims.all", "%x", 32, "ptr")}  %nd = sext i32 %nd32 to i64
  %batched = icmp sge i64 %batch, 0
  %first = zext i1 %batched to i64
  %axes = add i64 %ndim, %first
  %is.type = icmp eq ptr %descr, %dtype
  %is.nd = icmp eq i64 %nd, %axes
  %flag = and i32 %flags, {CONTIGUOUS}
  %dense = icmp ne i32 %flag, 0
  %head = and i1 %is.type, %is.nd
  %good = and i1 %head, %dense
  br i1 %good, label %samples, label %no
samples:
  %many = load i64, ptr %dims.all
  %as.many = icmp eq i64 %many, %batch
  %alone = xor i1 %batched, true
  %agree = or i1 %as.many, %alone
  %dims = getelementptr i64, ptr %dims.all, i64 %first
  br i1 %agree, label %own, label %no
own:
  %n = load i64, ptr %dims
  %is.rows = icmp eq i64 %n, %rows
  %matrix = icmp eq i64 %ndim, 2
  br i1 %matrix, label %second, label %done
second:
{load("%w", "%dims", 8)}  %is.width = icmp eq i64 %w, %width
  %both = and i1 %is.rows, %is.width
  ret i1 %both
done:
  ret i1 %is.rows
no:
  ret i1 false
}}
"""


def _for_each(name: str, arguments: str, number: str, value: str) -> str:
    """A function that stores numbers of samples, one after the other: the value of the k-th of
    each; step: numbers from a sample to the next.
    """
    return f"""define internal void @{name}(
  ptr %to, {arguments}i64 %numbers, i64 %samples, i64 %step
) {{
start:
  br label %sample
sample:
  %s = phi i64 [0, %start], [%s1, %done]
  %s1 = add i64 %s, 1
  %left = icmp slt i64 %s, %samples
  %there = mul i64 %s, %step
  %here = mul i64 %s, %numbers
  br i1 %left, label %next, label %end
next:
  %k = phi i64 [0, %sample], [%k1, %body]
  %more = icmp slt i64 %k, %numbers
  br i1 %more, label %body, label %done
body:
{number}  %place = add i64 %there, %k
  %tp = getelementptr i64, ptr %to, i64 %place
  store i64 {value}, ptr %tp, align 1
  %k1 = add i64 %k, 1
  br label %next
done:
  br label %sample
end:
  ret void
}}
"""


_LOAD = """  %own = add i64 %here, %k
  %fp = getelementptr i64, ptr %from, i64 %own
  %x = load i64, ptr %fp, align 1
"""
_COPIES = _for_each("copy", "ptr %from, ", _LOAD, "%x") + _for_each("clear", "", "", "0")

# Both return null where an argument does not fit, and where there is an error.
_JOIN = f"""define internal ptr @join(ptr %api, ptr %layout, ptr %table, i1 %batches) {{
start:
  %dims = alloca [3 x i64]
{_api("dict_type")}{_api("none")}{_api("empty")}{_api("find")}{_api("size")}{_api("incref")}
{_api("decref")}{_api("error")}{_api("dtype")}{_api("array_type")}
{"".join(_layout(name) for name in _LAYOUT)}{_ENTRIES}
{load("%type", "%table", 8, "ptr")}  %is.dict = icmp eq ptr %type, %dict_type
  %may = icmp ne i64 %optional, 0
  %is.none = icmp eq ptr %table, %none
  %nothing = and i1 %may, %is.none
  %ok = or i1 %is.dict, %nothing
  %look.first = and i1 %is.dict, %batches
  br i1 %ok, label %which, label %no
which:
  br i1 %look.first, label %seek, label %make
seek:
  %j = phi i64 [0, %which], [%j1, %absent]
  %j1 = add i64 %j, 1
  %others.left = icmp slt i64 %j, %count
  br i1 %others.left, label %ask, label %make
ask:
  %jth = mul i64 %j, 24
  %jp = getelementptr i8, ptr %entries, i64 %jth
  %jkey = load ptr, ptr %jp
  %some = call ptr %find(ptr %table, ptr %jkey)
  %is.absent = icmp eq ptr %some, null
  br i1 %is.absent, label %absent, label %present
absent:
  %hurt = call ptr %error()
  %well = icmp eq ptr %hurt, null
  br i1 %well, label %seek, label %no
present:
{load("%some.type", "%some", 8, "ptr")}  %some.array = icmp eq ptr %some.type, %array_type
  br i1 %some.array, label %axes, label %no
axes:
{load("%some.nd", "%some", 24, "i32")}{load("%some.dims", "%some", 32, "ptr")}
  %more32 = sub i32 %some.nd, %nd32
  %is.batch = icmp eq i32 %more32, 1
  br i1 %is.batch, label %many, label %make
many:
  %samples.given = load i64, ptr %some.dims
  br label %make
make:
  %batch = phi i64 [-1, %which], [-1, %seek], [-1, %axes], [%samples.given, %many]
  %batched = icmp sge i64 %batch, 0
  %first = zext i1 %batched to i64
  %samples = select i1 %batched, i64 %batch, i64 1
  store i64 %batch, ptr %dims
  %own.dims = getelementptr i64, ptr %dims, i64 %first
  store i64 %rows, ptr %own.dims
  %dims1 = getelementptr i64, ptr %own.dims, i64 1
  %step = mul i64 %rows, %width
  %first32 = trunc i64 %first to i32
  %nd.all = add i32 %nd32, %first32
  br i1 %matrix, label %wide, label %sized
wide:
  store i64 %width, ptr %dims1
  br label %sized
sized:
  call void %incref(ptr %dtype)
  %out = call ptr %empty(i32 %nd.all, ptr %dims, ptr %dtype, i32 0)
  %failed = icmp eq ptr %out, null
  br i1 %failed, label %no, label %fill
fill:
{load("%memory", "%out", 16, "ptr")}  br label %next
next:
  %k = phi i64 [0, %fill], [%k1, %taken]
  %found = phi i64 [0, %fill], [%found1, %taken]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %each, label %all
each:
{_ENTRY}  %to = getelementptr i8, ptr %memory, i64 %shift
  br i1 %is.dict, label %look, label %zero
look:
  %x = call ptr %find(ptr %table, ptr %key)
  %missing = icmp eq ptr %x, null
  br i1 %missing, label %without, label %given
without:
  %raised = call ptr %error()
  %calm = icmp eq ptr %raised, null
  %fine = and i1 %calm, %may
  br i1 %fine, label %zero, label %drop
zero:
  call void @clear(ptr %to, i64 %numbers, i64 %samples, i64 %step)
  br label %taken
given:
  %fits = call i1 @fits(ptr %api, ptr %x, i64 %ndim, i64 %own, i64 %width, i64 %batch)
  br i1 %fits, label %copied, label %drop
copied:
{load("%data", "%x", 16, "ptr")}
  call void @copy(ptr %to, ptr %data, i64 %numbers, i64 %samples, i64 %step)
  br label %taken
taken:
  %one = phi i64 [0, %zero], [1, %copied]
  %found1 = add i64 %found, %one
  %k1 = add i64 %k, 1
  br label %next
all:
  br i1 %is.dict, label %others, label %done
others:
  %there = call i64 %size(ptr %table)
  %known = icmp eq i64 %there, %found
  br i1 %known, label %done, label %drop
done:
  ret ptr %out
drop:
  call void %decref(ptr %out)
  ret ptr null
no:
  ret ptr null
}}
"""

_SPLIT = f"""define internal ptr @split(ptr %api, ptr %layout, ptr %array) {{
start:
  %dims = alloca [2 x i64]
{_api("empty")}{_api("dict_new")}{_api("dict_set")}{_api("incref")}{_api("decref")}{_api("dtype")}
{"".join(_layout(name) for name in _LAYOUT)}{_ENTRIES}
  %fits = call i1 @fits(ptr %api, ptr %array, i64 %ndim, i64 %rows, i64 %width, i64 -1)
  br i1 %fits, label %make, label %no
make:
{load("%memory", "%array", 16, "ptr")}  %dims1 = getelementptr i64, ptr %dims, i64 1
  store i64 %width, ptr %dims1
  %table = call ptr %dict_new()
  %failed = icmp eq ptr %table, null
  br i1 %failed, label %no, label %next
next:
  %k = phi i64 [0, %make], [%k1, %set]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %each, label %done
each:
{_ENTRY}  %at = getelementptr i8, ptr %memory, i64 %shift
  store i64 %own, ptr %dims
  call void %incref(ptr %dtype)
  %x = call ptr %empty(i32 %nd32, ptr %dims, ptr %dtype, i32 0)
  %none = icmp eq ptr %x, null
  br i1 %none, label %drop, label %put
put:
{load("%to", "%x", 16, "ptr")}  call void @copy(ptr %to, ptr %at, i64 %numbers, i64 1, i64 0)
  %bad = call i32 %dict_set(ptr %table, ptr %key, ptr %x)
  call void %decref(ptr %x)
  %k1 = add i64 %k, 1
  %unset = icmp ne i32 %bad, 0
  br i1 %unset, label %drop, label %set
set:
  br label %next
done:
  ret ptr %table
drop:
  call void %decref(ptr %table)
  ret ptr null
no:
  ret ptr null
}}
define internal ptr @answer(ptr %api, ptr %found) {{
  %some = icmp ne ptr %found, null
  br i1 %some, label %done, label %why
why:
{_api("error")}{_api("incref")}{_api("none")}
  %raised = call ptr %error()
  %calm = icmp eq ptr %raised, null
  br i1 %calm, label %nothing, label %done
nothing:
  call void %incref(ptr %none)
  ret ptr %none
done:
  ret ptr %found
}}
"""


def _of_one(name: str, what: str, more: str = "") -> str:
    """A built-in function of one argument."""
    return f"""define ptr @{name}(ptr %self, ptr %args, i64 %nargs, ptr %names) {{
start:
  %slot = getelementptr i8, ptr %self, i64 16
  %record = load ptr, ptr %slot
{load("%api", "%record", 0, "ptr")}{load("%layout", "%record", 8, "ptr")}
  %one = icmp eq i64 %nargs, 1
  %bare = icmp eq ptr %names, null
  %plain = and i1 %one, %bare
  br i1 %plain, label %run, label %give
run:
  %x = load ptr, ptr %args
  %made = call ptr @{what}(ptr %api, ptr %layout, ptr %x{more})
  br label %give
give:
  %found = phi ptr [null, %start], [%made, %run]
  %r = call ptr @answer(ptr %api, ptr %found)
  ret ptr %r
}}
"""


_AROUND = f"""define ptr @call_around(ptr %self, ptr %args, i64 %nargs, ptr %names) {{
start:
  %arrays = alloca [{TABLES_MAX + 1} x ptr]
  %slot = getelementptr i8, ptr %self, i64 16
  %record = load ptr, ptr %slot
{load("%api", "%record", 0, "ptr")}{load("%result", "%record", 8, "ptr")}
{load("%function", "%record", 16, "ptr")}{load("%first", "%record", 24, "ptr")}
{load("%count", "%record", 32)}  %layouts = getelementptr i8, ptr %record, i64 40
{_api("decref")}{_api("vectorcall")}  store ptr %first, ptr %arrays
  %many = icmp eq i64 %nargs, %count
  %bare = icmp eq ptr %names, null
  %plain = and i1 %many, %bare
  br i1 %plain, label %next, label %give
next:
  %k = phi i64 [0, %start], [%k1, %joined]
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k, %count
  br i1 %more, label %table, label %run
table:
  %ap = getelementptr ptr, ptr %args, i64 %k
  %a = load ptr, ptr %ap
  %lp = getelementptr ptr, ptr %layouts, i64 %k
  %layout = load ptr, ptr %lp
  %x = call ptr @join(ptr %api, ptr %layout, ptr %a, i1 false)
  %unfit = icmp eq ptr %x, null
  br i1 %unfit, label %drop, label %joined
joined:
  %xp = getelementptr ptr, ptr %arrays, i64 %k1
  store ptr %x, ptr %xp
  br label %next
run:
  %y = call ptr %vectorcall(ptr %function, ptr %arrays, i64 %k1, ptr null)
  %failed = icmp eq ptr %y, null
  br i1 %failed, label %drop, label %parts
parts:
  %made = call ptr @split(ptr %api, ptr %result, ptr %y)
  call void %decref(ptr %y)
  br label %drop
drop:
  %out = phi ptr [null, %table], [null, %run], [%made, %parts]
  br label %free
free:
  %m = phi i64 [%k, %drop], [%m1, %freed]
  %left = icmp sgt i64 %m, 0
  br i1 %left, label %freed, label %give
freed:
  %mp = getelementptr ptr, ptr %arrays, i64 %m
  %mx = load ptr, ptr %mp
  call void %decref(ptr %mx)
  %m1 = sub i64 %m, 1
  br label %free
give:
  %found = phi ptr [null, %start], [%out, %free]
  %r = call ptr @answer(ptr %api, ptr %found)
  ret ptr %r
}}
"""

_OF_ONE = _of_one("call_join", "join", ", i1 true") + _of_one("call_split", "split")
_TEXT = "".join((_FITS, _COPIES, _JOIN, _SPLIT, _OF_ONE, _AROUND))


@cache
def _interface() -> object:
    """What machine code calls."""
    python, dtype = ctypes.pythonapi, np.dtype("float64")
    values = {
        "dict_type": id(dict), "none": id(None), "array_type": id(np.ndarray), "dtype": id(dtype),
        "empty": gufunc.api("_ARRAY_API")[EMPTY], "find": address(python.PyDict_GetItemWithError),
        "size": address(python.PyDict_Size), "dict_new": address(python.PyDict_New),
        "dict_set": address(python.PyDict_SetItem), "incref": address(python.Py_IncRef),
        "decref": address(python.Py_DecRef), "vectorcall": address(python.PyObject_Vectorcall),
        "error": address(python.PyErr_Occurred),
    }  # fmt: skip
    return record([values[name] for name in _API], dtype)


def _words(places: Places, optional: bool) -> object:
    """A layout, in memory."""
    ndim, width = (1, 1) if places.width is None else (2, places.width)
    words = [ndim, places.rows, width, int(optional), len(places.arrays)]
    for name, start, end in places.arrays:
        words += [id(name), end - start, start]
    return record(words, places)


def _made(call: str, words: Sequence[int], keep: Sequence[object]) -> Callable[..., object]:
    interface = _interface()
    own = record([_place(interface), *words], (*keep, interface, code_of(_TEXT)))
    return builtin(code_of(_TEXT).address(call), call, own)


def _place(words: object) -> int:
    return ctypes.addressof(words)  # type: ignore[arg-type]


def _nothing(*tables: object) -> None:
    """Where Python's objects do not look as expected."""


def join(places: Places, optional: bool = False) -> Callable[[object], object]:
    """A function of a table, also of a batch, that gives the one array; with optional, zeros where
    it has none.
    """
    if not single_call.possible():
        return _nothing
    own = _words(places, optional)
    return _made("call_join", [_place(own)], (own,))


def split(places: Places) -> Callable[[object], object]:
    """A function of the one array that gives a table, of arrays of their own."""
    if not single_call.possible():
        return _nothing
    own = _words(places, False)
    return _made("call_split", [_place(own)], (own,))


def around(
    function: object, first: object, tables: Sequence[tuple[Places, bool]], result: Places
) -> Callable[..., object]:
    """A function of tables (with their places, and whether what they lack is zero) that gives the
    table of ``function(first, *arrays)``.
    """
    if not single_call.possible() or len(tables) > TABLES_MAX:
        return _nothing
    own = [_words(places, optional) for places, optional in tables]
    out = _words(result, False)
    words = [_place(out), id(function), id(first), len(own), *map(_place, own)]
    return _made("call_around", words, (function, first, out, *own))
