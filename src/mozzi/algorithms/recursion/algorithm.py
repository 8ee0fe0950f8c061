"""`@algorithm`: one source, three lives.

Called with arrays, an algorithm runs as a compiled kernel, made on first use. Called while
tracing, it inlines. Called through `.python`, it runs as plain Python on numbers: the definition
that compiled code is tested against.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from mozzi.algorithms.recursion.containers import ALGORITHMS, BlockArray
from mozzi.algorithms.recursion.documentation import documented, public_signature
from mozzi.algorithms.recursion.mechanism import Mechanism, mechanism
from mozzi.errors import LoopError
from mozzi.lie import Inertia, Momentum, Twist, Wrench
from mozzi.program.node import active

__all__ = ["ARRAYS", "Algorithm", "algorithm", "closed", "rolling", "shape_of"]

#: What the arrays that algorithms take are, by name: axes per body (see containers.BlockArray), and
#: the type of a block.
ARRAYS: dict[str, tuple[tuple[Any, ...], Any]] = {
    **dict.fromkeys(("q", "q0", "q1", "q_ref", "q_lower", "q_upper"), (("q",), None)),
    **dict.fromkeys(
        ("v", "a", "tau", "j", "s", "dv", "v_ref", "a_ref", "dq", "da", "dtau"), (("v",), None)
    ),
    "wrenches": (("b", 6), Wrench),
    "dwrenches": (("b", 6), Wrench),
    "dinertias": (("b", 10), Inertia),
    "dh": (("b", 6), Twist),
    **dict.fromkeys(("dscrews", "dscrew_rates"), ((6, "v"), None)),
    "covector": (("v",), None),
    "parameters": (("p",), None),
    "twists": (("b", 6), Twist),
    "twist_rates": (("b", 6), Twist),
    "momenta": (("b", 6), Momentum),
    "weights": (("b", 6), None),
    **dict.fromkeys(("twist", "twist_rate"), ((6,), Twist)),
    "wrench": ((6,), Wrench),
    "columns": ((6, "v"), None),
    "point": ((3,), None),
    "targets": (("f", 4, 4), None),
    "damping": ((), None),
    **dict.fromkeys(
        ("loop_offsets", "loop_rates", "loop_accelerations", "multipliers", "loop_covector"),
        (("m",), None),
    ),
}


def shape_of(name: str, model: Any, options: Mapping[str, Any] | None = None) -> tuple[int, ...]:
    """The shape of an argument of this name, behind the batch axes ("f": a row per frame that the
    option `frames` names; "m": a row per equation of a loop, distance or coupling; "p": one for
    each of the option `names`).
    """
    frames = (options or {}).get("frames", ())
    sizes = {"q": model.nq, "v": model.nv, "b": model.nb, "f": len(frames)}
    sizes["p"] = len((options or {}).get("names", ()))
    sizes["m"] = model.row_count
    return tuple(sizes.get(axis, axis) for axis in ARRAYS[name][0])


class _Typed:
    """Blocks of a body array as spatial quantities."""

    def __init__(self, array: BlockArray, kind: Any):
        self.blocks, self.kind = array, kind

    def __getitem__(self, body: Any) -> Any:
        return self.kind.unflatten(self.blocks[body])


class _Nothing:
    """An optional body array that was not given: zero everywhere."""

    def __init__(self, kind: Any):
        self.kind = kind

    def __getitem__(self, body: Any) -> Any:
        return self.kind.zero()


class _Rolling:
    choice: bool | None = None
    threshold = 40


@contextmanager
def rolling(choice: bool | None):
    """Trace rolled (True), unrolled (False), or as the size of the model says (None)."""
    before = _Rolling.choice
    _Rolling.choice = choice
    try:
        yield
    finally:
        _Rolling.choice = before


def rolls(model: Any, function: Any = None) -> bool:
    """Whether a model is traced rolled now (by this algorithm, which may have its own size).

    Loops are honoured in straight-line programs only.
    """
    if getattr(function, "loops", "tree") == "honour" and closed(model):
        return False
    if _Rolling.choice is not None:
        return _Rolling.choice
    return model.nb > (getattr(function, "threshold", None) or _Rolling.threshold)


class Algorithm:
    """A function of a model and of arrays that is written as a recursion over bodies."""

    def __init__(
        self,
        function: Callable[..., Any],
        regroup: bool | str,
        threshold: int | None = None,
        loops: str = "tree",
        outside: Callable[..., Any] | None = None,
    ):
        self.function, self.regroup, self.threshold = function, regroup, threshold
        self.loops, self.outside = loops, outside
        self.name = ALGORITHMS[function.__code__] = function.__name__
        self.__name__ = function.__name__
        self.__module__, self.__qualname__ = function.__module__, function.__qualname__
        self.__wrapped__ = function
        self.signature = inspect.signature(function)
        axes = {n: axes for n, (axes, _) in ARRAYS.items()}
        self.__signature__ = public_signature(self.signature, axes)
        self.__doc__ = documented(function.__doc__, self.signature, axes)
        names = list(self.signature.parameters)[1:]
        self.arrays = tuple(name for name in names if name in ARRAYS)
        defaults = {n: p.default for n, p in self.signature.parameters.items()}
        self.required = tuple(n for n in self.arrays if defaults[n] is inspect.Parameter.empty)
        self.defaults = {n: defaults[n] for n in names if n not in self.arrays}
        self._leading = names[: len(self.required)] == list(self.required)

    def __get__(self, instance: object, owner: type | None = None) -> Algorithm:
        """Itself, wherever it is: help() takes what has this for a function."""
        return self

    def __call__(self, model: Any, *args: Any, **options: Any) -> Any:
        if not options and len(args) == len(self.required) and active() is None:
            try:
                kernel = model.cache.get(self)
            except AttributeError:
                raise self._not_a_model(model) from None
            if kernel is not None:
                return kernel(*args)
        if isinstance(model, Mechanism):
            return self.function(model, *args, **options)
        if active() is not None:
            return self.inline(model, *args, **options)
        if self.outside is not None:
            result = self.outside(model, *self.bind(model, args, options))
            if result is not NotImplemented:
                return result
        return importlib.import_module("mozzi.compiler").run(self, model, args, options)

    def compiled(self, model: Any, arrays: dict[str, Any], options: dict[str, Any]) -> Any:
        """The answer of the kernel on arrays, whatever `outside` says."""
        return importlib.import_module("mozzi.compiler").run(self, model, (), arrays | options)

    def bind(self, model: Any, args: Any, options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments as (arrays given, other options), by name."""
        if not hasattr(model, "cache"):
            raise self._not_a_model(model)
        try:
            bound = self.signature.bind(model, *args, **options)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}; call {self.name}{self._call()}") from None
        bound.apply_defaults()
        values = dict(list(bound.arguments.items())[1:])
        arrays = {n: values.pop(n) for n in self.arrays if values.get(n) is not None}
        return arrays, {n: x for n, x in values.items() if n not in self.arrays}

    def _call(self) -> str:
        """How it is called: names and defaults, without types."""
        bare = inspect.Parameter.empty
        parameters = self.signature.parameters.values()
        return str(inspect.Signature([p.replace(annotation=bare) for p in parameters]))

    def _not_a_model(self, thing: Any) -> TypeError:
        return TypeError(
            f"{self.name}: the first argument is a {type(thing).__name__}; give a Model, as load "
            "or Builder make it"
        )

    def inline(self, model: Any, *args: Any, **options: Any) -> Any:
        """Trace the recursion here."""
        view = mechanism(model, rolled=rolls(model, self), regroup=self.regroup)
        return self._run(view, args, options)

    def python(self, model: Any, *args: Any, **options: Any) -> Any:
        """Run the recursion as plain Python, on numbers of any kind."""
        return self._run(mechanism(model, rolled=False, regroup=self.regroup), args, options)

    def _run(self, view: Mechanism, args: Any, options: Any) -> Any:
        if self.loops == "refuse":
            refuse_loops(view.model, self.name, inside=self.outside is not None)
        given, others = self.bind(view.model, args, options)
        wrapped: dict[str, Any] = {}
        for name in self.arrays:
            axes, kind = ARRAYS[name]
            if name not in given:
                wrapped[name] = _Nothing(kind) if kind is not None else None
                continue
            data = np.asarray(given[name], dtype=object)
            shape = shape_of(name, view.model, others)
            if data.shape != shape:
                raise ValueError(
                    f"{self.name}: {name} has shape {data.shape}; this model takes {shape}"
                )
            axes = tuple(n if axis in ("f", "m", "p") else axis for axis, n in zip(axes, shape))
            array = BlockArray(view, name, axes, data)
            wrapped[name] = array if kind is None else _Typed(array, kind)
        return _plain(self.function(view, **wrapped, **others))

    def __repr__(self) -> str:
        return f"<algorithm {self.name}>"

    def __reduce__(self) -> str:
        return self.name


def _plain(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_plain(x) for x in result)
    return result.array() if hasattr(result, "array") else result


def closed(model: Any) -> tuple[Any, ...]:
    """What closes the tree of a model: its loops, distances and couplings."""
    return model.closures


def refuse_loops(model: Any, function: str, inside: bool = False) -> None:
    """Raise where a function that does not honour loops (or not ``inside`` programs) meets some."""
    names = [x.name for x in closed(model)]
    if names:
        remedy = "call it with arrays" if inside else "call it on a model without them"
        raise LoopError(
            f"{function} does not honour loops and couplings{' in programs' * inside}, and model "
            f"{model.name!r} has some ({', '.join(names[:4])}); {remedy}"
        )


def where_closed(place: str) -> Callable[..., Any]:
    """For ``outside=``: models that have loops are answered by the function "module:name"."""

    def answer(model: Any, arrays: dict[str, Any], options: dict[str, Any]) -> Any:
        if not closed(model):
            return NotImplemented
        module, name = place.split(":")
        return getattr(importlib.import_module(module), name)(model, arrays, options)

    return answer


def algorithm(
    function: Callable[..., Any] | None = None,
    *,
    regroup: bool | str = False,
    threshold: int | None = None,
    loops: str = "tree",
    outside: Callable[..., Any] | None = None,
) -> Any:
    """Make a recursion over bodies callable on models and arrays.

    regroup: the results do not depend on which body carries inertial parameters that only their
    sum shows (joint forces, accelerations, mass matrices), so base parameters may be used
    (True, or "moments": see `bodies.regrouped`).
    threshold: how many bodies are still traced unrolled, where that differs from the usual number.
    loops: what becomes of loops, distances and couplings. "tree": the result is a statement about
    the tree, true whether loops close it or not; "honour": the result satisfies them; "refuse": a
    model that has some is refused.
    outside: a function of (model, arrays, other options) that answers instead where the answer is
    made of several programs, and returns NotImplemented where it is not.
    """
    if function is None:
        return lambda f: Algorithm(f, regroup, threshold, loops, outside)
    return Algorithm(function, regroup, threshold, loops, outside)
