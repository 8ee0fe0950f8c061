"""Traced scalars: hash-consed nodes, simplified while they are made.

A node is one value of a program in single-assignment form. Making the same operation on the same
operands twice gives the same node. The simplifications are exact up to rounding; docs/design.md
says which zeros fold.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

if TYPE_CHECKING:
    from mozzi.program.program import Address, Statement
    from mozzi.program.scalar import Condition, Real

__all__ = [
    "OPERATIONS",
    "Node",
    "Region",
    "active",
    "compare",
    "constant",
    "intern",
    "operation",
    "trace_into",
    "untraced",
]


class Region:
    """A block of statements in order; a loop's branches are regions inside the region that holds
    the loop.
    """

    __slots__ = ("outer", "statements", "table")

    def __init__(self, outer: Region | None = None):
        self.outer = outer
        self.statements: list[Statement] = []
        self.table: dict[Hashable, Node] = {}

    def find(self, key: Hashable) -> Node | None:
        region: Region | None = self
        while region is not None:
            node = region.table.get(key)
            if node is not None:
                return node
            region = region.outer
        return None


class _Tracing(threading.local):
    """What is being traced now, in this thread."""

    region: Region | None = None
    origin: str = ""
    depth: int = 0  # how many traces are under way, one in the other


_now = _Tracing()
_counting = threading.Lock()
#: How many traces are under way in all threads, where machine code can read it.
tracing = ctypes.c_int64(0)
_order = itertools.count()


def active() -> Region | None:
    """The region that new nodes go into, or None when nothing is traced."""
    return _now.region


def _count(change: int) -> None:
    with _counting:
        _now.depth += change
        tracing.value += change


def _forget() -> None:
    """A forked child traces what this thread traces, and nobody holds the lock."""
    global _counting
    _counting, tracing.value = threading.Lock(), _now.depth


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class trace_into:
    """``with trace_into(region):`` new nodes go into the region."""

    def __init__(self, region: Region):
        self.region = region

    def __enter__(self) -> Region:
        self.outer = _now.region
        _now.region = self.region
        _count(1)
        return self.region

    def __exit__(self, *error: object) -> None:
        _count(-1)
        _now.region = self.outer


class untraced:
    """``with untraced():`` nothing is traced meanwhile, so that algorithms run on arrays."""

    def __enter__(self) -> None:
        self.outer = _now.region
        _now.region = None

    def __exit__(self, *error: object) -> None:
        _now.region = self.outer


WHOLE = (
    "whole numbers and remainders of a traced scalar are not there; a wave is np.sin or "
    "np.sign(np.sin(…)), a table np.interp, and what counts is the state of a mz.Law"
)


class Node:
    """One value of a program.  Arithmetic on it records operations; it has no truth value."""

    __slots__ = (
        "address", "args", "finite", "name", "op", "order", "origin", "place", "region", "value",
    )  # fmt: skip
    value: float  #: of a "const"
    place: tuple[int, int]  #: of an "input": which one, and which element of it
    address: Address  #: of a "load"

    def __init__(self, op: str, args: tuple[Node, ...], finite: bool, region: Region):
        self.op = op
        self.args = args
        self.finite = finite
        self.region = region
        self.order = next(_order)
        self.name = ""
        self.origin = _now.origin

    def __add__(self, other: Real) -> Real:
        return _add(self, other)

    def __radd__(self, other: Real) -> Real:
        return _add(self, other)

    def __sub__(self, other: Real) -> Real:
        return _sub(self, other)

    def __rsub__(self, other: Real) -> Real:
        return _sub(other, self)

    def __mul__(self, other: Real) -> Real:
        return _mul(self, other)

    def __rmul__(self, other: Real) -> Real:
        return _mul(self, other)

    def __truediv__(self, other: Real) -> Real:
        return _div(self, other)

    def __rtruediv__(self, other: Real) -> Real:
        return _div(other, self)

    def __neg__(self) -> Real:
        return _neg(self)

    def __pos__(self) -> Real:
        return self

    def __pow__(self, exponent: Real) -> Real:
        from mozzi.program.elementary import power

        return power(self, exponent)

    def __rpow__(self, base: Real) -> Real:
        from mozzi.program.elementary import power

        return power(base, self)

    def __and__(self, other: Condition) -> Condition:
        from mozzi.program.elementary import both

        return both(self, other)

    __rand__ = __and__

    def __or__(self, other: Condition) -> Condition:
        from mozzi.program.elementary import either

        return either(self, other)

    __ror__ = __or__

    def __invert__(self) -> Condition:
        from mozzi.program.elementary import neither

        return neither(self)

    def __abs__(self) -> Real:
        return operation("max", self, -self)

    def __lt__(self, other: Real) -> Condition:
        return compare("lt", self, other)

    def __le__(self, other: Real) -> Condition:
        return compare("le", self, other)

    def __gt__(self, other: Real) -> Condition:
        return compare("lt", other, self)

    def __ge__(self, other: Real) -> Condition:
        return compare("le", other, self)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        from mozzi.program.elementary import both

        if other is self:
            return True
        if not isinstance(other, (Node, int, float, np.number)):
            return NotImplemented
        x = other if isinstance(other, Node) else float(cast("float", other))
        return both(compare("le", self, x), compare("le", x, self))

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        from mozzi.program.elementary import neither

        same = self.__eq__(other)
        return same if same is NotImplemented else neither(same)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError(
            "a traced scalar has no truth value yet; write mz.where(condition, a, b) instead of "
            "if, mz.maximum and mz.minimum instead of max and min, and & and | and ~ instead of "
            "and, or and not"
        )

    def __float__(self) -> float:
        if self.op == "const":
            return self.value
        raise TypeError(
            "a traced scalar has no value yet: take np.sin and the like instead of math.sin, and "
            "np.zeros_like(q) or np.zeros(n, dtype=object) for an array that shall hold it"
        )

    def __round__(self, digits: int = 0) -> float:
        raise TypeError(WHOLE)

    __int__ = __floor__ = __ceil__ = __trunc__ = __round__

    def __mod__(self, other: Real) -> Real:
        raise TypeError(WHOLE)

    __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __mod__

    # NumPy hands its functions over: np.tanh(x), np.maximum(x, 0.0), np.where(x > 0.0, a, b).
    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **options: object
    ) -> object:
        from mozzi.program.arrays import on_ufunc

        return on_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self, func: Callable[..., object], types: Iterable[type], args: Iterable[object],
        kw: Mapping[str, object],
    ) -> object:  # fmt: skip
        from mozzi.program.arrays import on_function

        return on_function(func, types, args, kw)

    # and calls these for arrays of plain dtype object.
    def sin(self) -> Real:
        return operation("sin", self)

    def cos(self) -> Real:
        return operation("cos", self)

    def sqrt(self) -> Real:
        return operation("sqrt", self)

    def arctan2(self, other: Real) -> Real:
        return operation("atan2", self, other)

    def exp(self) -> Real:
        return operation("exp", self)

    def log(self) -> Real:
        return operation("log", self)

    def tanh(self) -> Real:
        return operation("tanh", self)

    def conjugate(self) -> Node:
        return self

    def __repr__(self) -> str:
        if self.op == "const":
            return repr(self.value)
        return self.name or f"<{self.op}>"


def _find(key: Hashable) -> Node | None:
    region = _now.region
    if region is None:
        raise RuntimeError("a traced scalar was used after its trace ended")
    return region.find(key)


def intern(op: str, args: tuple[Node, ...], finite: bool, key: Hashable) -> Node:
    """The node with this key, made where it does not exist yet."""
    node = _find(key)
    if node is None:
        region = _now.region
        assert region is not None
        node = region.table[key] = Node(op, args, finite, region)
        region.statements.append(node)
    return node


def _binary(op: str, a: Node, b: Node, finite: bool) -> Node:
    return intern(op, (a, b), finite, (op, a, b))


def _arithmetic(op: str, a: Node, b: Node) -> Real:
    """A sum, difference or product. Of tables that a loop reads at one place it is a table."""
    if (a.op == "load" and b.op in ("load", "const")) or (a.op == "const" and b.op == "load"):
        known = _of_tables(op, a, b)
        if known is not None:
            return known
    return _binary(op, a, b, a.finite and b.finite)


def _of_tables(op: str, a: Node, b: Node) -> Real | None:
    """The same at every turn of a loop, and so computed now; None where operands vary."""
    mirrored = a.op == "const"
    first, other = (b, a) if mirrored else (a, b)
    at = first.address
    if not at.buffer.entries:
        return None
    if other.op == "load":
        there = other.address
        if there[1:] != at[1:] or there.buffer.entries is not at.buffer.entries:
            return None
        made = at.buffer.combined(op, there.buffer, mirrored)
    else:
        made = at.buffer.combined(op, other.value, mirrored)
    if isinstance(made, float):
        return made
    node = intern("load", (), True, (op, a, b))
    node.address = at._replace(buffer=made)
    return node


def _unary(op: str, a: Node) -> Node:
    return intern(op, (a,), a.finite, (op, a))


#: What operands of a node may be.
NUMBERS = (Node, float, int, np.floating, np.integer)


def constant(value: Real) -> Node:
    """The node of a number; a node stays itself."""
    if type(value) is Node:
        return value
    number = float(value)
    if number != number:
        raise ValueError("NaN among the constants of a program")
    number = number if number != 0.0 else 0.0  # one zero: its sign is not kept
    node = intern("const", (), math.isfinite(number), number)
    node.value = number
    return node


def _add(a: Node, b: Real) -> Real:
    if type(b) is not Node:
        if not isinstance(b, NUMBERS):
            return NotImplemented
        if b == 0.0:
            return a
        b = constant(b)
    if a.op == "const":
        if a.value == 0.0:
            return b
        if b.op == "const":
            return a.value + b.value
    elif b.op == "const" and b.value == 0.0:
        return a
    if b.op == "neg":
        return _sub(a, b.args[0])
    if a.op == "neg":
        return _sub(b, a.args[0])
    if a.order > b.order:
        a, b = b, a
    return _arithmetic("add", a, b)


def _sub(a: Real, b: Real) -> Real:
    if type(b) is not Node:
        if not isinstance(b, NUMBERS):
            return NotImplemented
        if b == 0.0:
            return a
        b = constant(b)
    if type(a) is not Node:
        a = constant(a)
    if a.op == "const":
        if a.value == 0.0:
            return _neg(b)
        if b.op == "const":
            return a.value - b.value
    elif b.op == "const" and b.value == 0.0:
        return a
    if a is b and a.finite:
        return 0.0
    if b.op == "neg":
        return _add(a, b.args[0])
    if a.op == "neg":
        return _neg(_add(a.args[0], b))
    mirrored = _find(("sub", b, a))
    if mirrored is not None:
        return _neg(mirrored)
    return _arithmetic("sub", a, b)


def _neg(a: Real) -> Real:
    if type(a) is not Node:
        return -a
    if a.op == "const":
        return -a.value
    if a.op == "neg":
        return a.args[0]
    if a.op == "load" and a.address.buffer.entries:
        return _mul(a, -1.0)
    return _unary("neg", a)


def _mul(a: Node, b: Real) -> Real:
    if type(b) is not Node:
        if not isinstance(b, NUMBERS):
            return NotImplemented
        if b == 1.0:
            return a
        if b == 0.0 and a.finite:
            return 0.0
        b = constant(b)
    if b.op == "const":
        a, b = b, a
    if a.op == "const":
        c = a.value
        if b.op == "const":
            return c * b.value
        if c == 0.0 and b.finite:
            return 0.0
        if c == 1.0:
            return b
        if b.op == "load" and b.address.buffer.entries:
            return _arithmetic("mul", a, b)
        if c == -1.0:
            return _neg(b)
        if b.op == "neg":
            return _neg(_mul(b.args[0], c))
        if c < 0.0:
            return _neg(_mul(b, -c))
        if b.op == "mul" and b.args[0].op == "const":
            product = c * b.args[0].value
            if sys.float_info.min <= abs(product) <= sys.float_info.max:
                return _mul(b.args[1], product)
        return _arithmetic("mul", a, b)
    if a.op == "neg":
        return _neg(_mul(a.args[0], b))
    if b.op == "neg":
        return _neg(_mul(a, b.args[0]))
    if a.order > b.order:
        a, b = b, a
    return _arithmetic("mul", a, b)


def _div(a: Real, b: Real, nonzero: bool = False) -> Real:
    if not (isinstance(a, NUMBERS) and isinstance(b, NUMBERS)):
        return NotImplemented
    a, b = constant(a), constant(b)
    if b.op == "const":
        if a.op == "const":
            return a.value / b.value
        if b.value != 0.0 and math.isfinite(1.0 / b.value):
            return _mul(a, 1.0 / b.value)
    if nonzero and a.op == "const" and a.value == 0.0:
        return 0.0
    if a.op == "neg":
        return _neg(_div(a.args[0], b, nonzero))
    if b.op == "neg":
        return _neg(_div(a, b.args[0], nonzero))
    node = _binary("div", a, b, nonzero and a.finite)
    node.finite = node.finite or (nonzero and a.finite)
    return node


def _sqrt(a: Node) -> Real:
    return math.sqrt(a.value) if a.op == "const" else _unary("sqrt", a)


def _sin(a: Node) -> Real:
    if a.op == "const":
        return math.sin(a.value)
    if a.op == "neg":
        return _neg(_sin(a.args[0]))
    return _unary("sin", a)


def _cos(a: Node) -> Real:
    if a.op == "const":
        return math.cos(a.value)
    if a.op == "neg":
        return _cos(a.args[0])
    return _unary("cos", a)


def _atan2(a: Node, b: Node) -> Real:
    if a.op == "const" and b.op == "const":
        return math.atan2(a.value, b.value)
    return _binary("atan2", a, b, a.finite and b.finite)


def _function(name: str, known: Callable[[float], float]) -> Callable[[Node], Real]:
    """An operation of one number; of a constant, what it is."""

    def function(a: Node) -> Real:
        return known(a.value) if a.op == "const" else intern(name, (a,), False, (name, a))

    return function


def _tanh(a: Node) -> Real:
    if a.op == "const":
        return math.tanh(a.value)
    if a.op == "neg":
        return _neg(_tanh(a.args[0]))
    return _unary("tanh", a)


def _lt(a: Node, b: Node) -> Real:
    if a.op == "const" and b.op == "const":
        return a.value < b.value
    return _binary("lt", a, b, True)


def _le(a: Node, b: Node) -> Real:
    if a.op == "const" and b.op == "const":
        return a.value <= b.value
    return _binary("le", a, b, True)


def _extremum(op: str, choose: Callable[..., float]) -> Callable[[Node, Node], Real]:
    def function(a: Node, b: Node) -> Real:
        if a is b:
            return a
        if a.op == "const" and b.op == "const":
            return choose(a.value, b.value)
        return _binary(op, a, b, a.finite and b.finite)

    return function


def _select(condition: Real, a: Node, b: Node) -> Node:
    if type(condition) is not Node:
        return a if condition else b
    if a is b:
        return a
    key = ("select", condition, a, b)
    return intern("select", (condition, a, b), a.finite and b.finite, key)


_MAKE: dict[str, Callable[..., Real]] = {
    "add": _add, "sub": _sub, "mul": _mul, "neg": _neg,
    "sqrt": _sqrt, "sin": _sin, "cos": _cos, "atan2": _atan2,
    "exp": _function("exp", math.exp), "log": _function("log", math.log), "tanh": _tanh,
    "lt": _lt, "le": _le,
    "min": _extremum("min", min), "max": _extremum("max", max),
}  # fmt: skip


def operation(name: str, *args: Real, nonzero: bool = False) -> Real:
    """The node of an operation; arrays are taken element by element."""
    if name == "div":
        return _div(*args, nonzero=nonzero)
    if name == "select":
        return _select(args[0], constant(args[1]), constant(args[2]))
    if any(isinstance(x, np.ndarray) for x in args):
        arrays = np.broadcast_arrays(*(np.asarray(x, dtype=object) for x in args))
        out = np.empty(arrays[0].shape, dtype=object)
        for index in np.ndindex(out.shape):
            out[index] = operation(name, *(x.item(index) for x in arrays))
        return cast("Real", out[()])
    return _MAKE[name](*(constant(x) for x in args))


def compare(name: Literal["lt", "le"], a: Real, b: Real) -> Condition:
    """The node of a < b, or of a ≤ b."""
    return cast("Condition", operation(name, a, b))


#: The operations of a program and how many operands each takes.
OPERATIONS: dict[str, int] = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "sqrt": 1, "sin": 1, "cos": 1,
    "atan2": 2, "exp": 1, "log": 1, "tanh": 1, "lt": 2, "le": 2, "select": 3, "min": 2, "max": 2,
}  # fmt: skip
