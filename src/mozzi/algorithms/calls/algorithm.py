"""`@algorithm`: one source, three lives.

Called with arrays, an algorithm runs as a compiled kernel, made on first use. Called while
tracing, it inlines. Called through `.python`, it runs as plain Python on numbers: the definition
that compiled code is tested against.
"""

from __future__ import annotations

import inspect
from collections.abc import (
    Callable,
    Iterable,
    Mapping,
    MappingView,
    MutableSequence,
    Sequence,
)
from functools import cached_property
from typing import Any, Protocol, TypeAlias, TypedDict, cast, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.arguments import ARRAYS, wrapped
from mozzi.algorithms.calls.documentation import documented, public_signature
from mozzi.algorithms.calls.forms import Form, Known, form_of
from mozzi.algorithms.calls.guard import look, unchecked
from mozzi.algorithms.calls.held_wrenches import HELD, body_fixed, with_representation
from mozzi.algorithms.calls.with_loops import met_loops, refuse_choices, refuse_loops, tell_open
from mozzi.algorithms.recursion.mechanism import Mechanism, mechanism
from mozzi.algorithms.recursion.names_in_generated_code import ALGORITHMS
from mozzi.algorithms.recursion.representations import check
from mozzi.algorithms.recursion.rolled_or_not import rolls
from mozzi.algorithms.recursion.varied import as_varied
from mozzi.algorithms.recursion.views import ByBody, JointVector
from mozzi.checked import Kind, kinds_in, kinds_of, refuse_others
from mozzi.errors import KindError, ShapeError
from mozzi.lie import Wrench
from mozzi.model import Model
from mozzi.program.alarms import ALARMS
from mozzi.program.arrays import TracedArray
from mozzi.program.node import active
from mozzi.types import ArrayLike, JointChoice, Method, Minimize, Rep, Traced

__all__ = ["Algorithm", "Arrays", "Options", "algorithm", "listed"]

Recursion = Callable[..., object]
"""A function of a mechanism and of arrays as recursions see them."""

Arrays: TypeAlias = dict[str, ArrayLike]
"""The arrays that a caller gives, by name."""


class Options(TypedDict):
    """The other arguments of an algorithm, by name: those of these that it has."""

    rep: Rep
    wrenches_rep: Rep
    resistance: bool
    prescribed: JointChoice
    actuated: JointChoice | None
    minimize: Minimize | None
    weighting: ArrayLike | None
    dt: float | None
    method: Method
    limits: object


Answer = Callable[[Model, Arrays, Options], object]
"""A function of a model, of the arrays that are given and of the other options, by name."""


class Algorithm:
    """A function of a model and of arrays that is written as a recursion over bodies."""

    def __init__(
        self,
        function: Recursion,
        regroup: bool | str = False,
        threshold: int | None = None,
        loops: str = "tree",
        tells_open: str = "",
        rolled_paths: bool = False,
        rolled_loops: Callable[[Model], bool] | None = None,
        rolled_chains: bool = False,
    ):
        self.rolled_paths, self.rolled_loops = rolled_paths, rolled_loops
        self.rolled_chains = rolled_chains
        self.function, self.regroup = function, regroup
        self.threshold, self.loops, self.tells_open = threshold, loops, tells_open
        self._on_arrays: Answer | None = None
        self._with_loops: Answer | None = None
        self._recursion_with_loops: Recursion | None = None
        self._unrolled: Callable[[Model, Mapping[str, object]], int | None] | None = None
        self.quick = object()  # where a model's cache has what machine code calls
        self.name = ALGORITHMS[function.__code__] = function.__name__
        self.__name__ = function.__name__
        self.__module__, self.__qualname__ = function.__module__, function.__qualname__
        self.__wrapped__ = function
        own = inspect.signature(function)
        self.signature = with_representation(own)
        self.converts = self.signature is not own  # wrenches, to body-fixed ones
        axes = {n: axes for n, (axes, _) in ARRAYS.items()}
        self.__signature__ = public_signature(self.signature, axes)
        self.__doc__ = documented(function.__doc__, self.signature, axes)
        names = list(self.signature.parameters)[1:]
        self.arrays = tuple(name for name in names if name in ARRAYS)
        positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self._positional = [
            (n, n in ARRAYS) for n in names if self.signature.parameters[n].kind is positional
        ]
        defaults = {n: p.default for n, p in self.signature.parameters.items()}
        self.required = tuple(n for n in self.arrays if defaults[n] is inspect.Parameter.empty)
        self.defaults = {n: defaults[n] for n in names if n not in self.arrays}

    def __get__(self, instance: object, owner: type | None = None) -> Algorithm:
        """Itself, wherever it is: help() takes what has this for a function."""
        return self

    # -- what answers in place of the recursion --

    def on_arrays(self, answer: Answer) -> Answer:
        """Register what answers on arrays where the answer is made of several programs; it returns
        NotImplemented where it is not.
        """
        self._on_arrays = answer
        return answer

    def with_loops(self, answer: Answer) -> Answer:
        """Register what answers on arrays for models that have loops (or NotImplemented)."""
        self._with_loops = answer
        return answer

    def recursion_with_loops(self, recursion: Recursion) -> Recursion:
        """Register the recursion of models that have loops."""
        self._recursion_with_loops = recursion
        ALGORITHMS[recursion.__code__] = self.name
        return recursion

    @property
    def holds_where_closed(self) -> bool:
        """Whether the result says nothing where loops are open, and that is told."""
        return self.loops == "honour" and (self.tells_open != "" or self._with_loops is not None)

    def unrolled_by(
        self, most: Callable[[Model, Mapping[str, object]], int | None]
    ) -> Callable[[Model, Mapping[str, object]], int | None]:
        """Register how many bodies are still traced unrolled, where options decide about that."""
        self._unrolled = most
        return most

    def unrolled(self, model: Model, options: Mapping[str, object]) -> int | None:
        """How many bodies are still traced unrolled with these options; None: the usual number."""
        if self._unrolled is None:
            return self.threshold
        own = self._unrolled(model, self.defaults | dict(options))
        return self.threshold if own is None else own

    def _recursion(self, model: Model) -> Recursion:
        """The recursion for this model."""
        return (met_loops(model) and self._recursion_with_loops) or self.function

    # -- the three lives --

    def __call__(self, model: Model | Mechanism, *args: object, **options: object) -> Any:
        if not options and len(args) == len(self.required) and active() is None:
            try:
                kernel = model.cache.get(self)
            except AttributeError:
                raise self._not_a_model(model) from None
            if kernel is not None:
                assert isinstance(model, Model)  # views have no kernels
                return self._answered(model, kernel, cast("tuple[ArrayLike, ...]", args))
        if isinstance(model, Mechanism):
            return self._recursion(model.model)(model, *args, **options)
        if active() is not None:
            return self.inline(model, *args, **options)
        form = form_of(self._positional, self.arrays, args, options)
        known = None
        if form is not None and type(model) is Model:
            known = cast("Known | None", model.cache.get((self, form.key)))
        if form is not None and known is not None:
            given = [form.arrays[k] for k in known.order]
            if known.kernel is not None:
                return self._answered(model, known.kernel, given)
            arrays: Arrays = dict(zip(known.names, given, strict=True))
            others = cast("Options", dict(known.others))
        else:
            arrays, others = self.bind(model, args, options)
            refuse_choices(model, self.name, others)
            if any(type(x).__module__.startswith(("dask.", "xarray.")) for x in arrays.values()):
                from mozzi.compiler import lazily

                return lazily(self, model, arrays, others)
            self._remember(model, form, arrays, others)
        if met_loops(model) or self._on_arrays is not None:  # kernels look for themselves
            refuse_others(self.name, self._array_kinds, arrays.items(), self.function)
        if self.tells_open and met_loops(model):
            tell_open(self.name, model, *(arrays[n] for n in self.tells_open.split()))
        named = cast("Mapping[str, object]", others)
        for answer in (self._on_arrays, self._with_loops if met_loops(model) else None):
            if answer is None:
                continue
            before = ALARMS.value  # kernels look at what they get, and so at what we got
            try:
                with unchecked():
                    result = answer(model, arrays, others)
            except ShapeError as error:  # of a part, in the words of the whole
                raise self.misfit(model, error) if error.argument in arrays else error from None
            except Exception:
                look(self.name, model, arrays, named)
                raise
            if ALARMS.value != before:
                from mozzi.compiler import looked_at

                looked_at(self.name, model, arrays, named, result)
            if result is not NotImplemented:
                return result
        result = self.compiled(model, arrays, others)
        if self._on_arrays is None and not met_loops(model):
            self._remember(model, form, arrays, others, self._kernel(model, arrays, named))
        return result

    def _remember(
        self, model: Model, form: Form | None, arrays: Arrays, others: Options,
        kernel: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        """Keep what was found of a call, for others of its form."""
        if form is not None:
            order = tuple(form.names.index(name) for name in arrays)
            options = cast("Mapping[str, object]", dict(others))
            model.cache[self, form.key] = Known(tuple(arrays), order, options, kernel)

    def compiled(
        self, model: Model, arrays: Mapping[str, ArrayLike], options: Mapping[str, object]
    ) -> Any:
        """The answer of the kernel on arrays, whatever else answers there."""
        return self._answered(model, self._kernel(model, arrays, options), arrays.values())

    def _kernel(
        self, model: Model, names: Iterable[str], options: Mapping[str, object]
    ) -> Callable[..., Any]:
        from mozzi.compiler import kernel_of

        return kernel_of(self, model, tuple(names), options)

    def _answered(
        self, model: Model, kernel: Callable[..., Any], arrays: Iterable[ArrayLike]
    ) -> Any:
        try:
            return kernel(*arrays)
        except ShapeError as error:
            raise self.misfit(model, error) from None

    def inline(self, model: Model, *args: object, **options: object) -> Any:
        """Trace the recursion here."""
        model = as_varied(model)
        most = None
        if self._unrolled is not None:
            named = self.bind(model, args, options)[1]
            most = self.unrolled(model, cast("Mapping[str, object]", named))
        view = mechanism(model, rolled=rolls(model, self, most), regroup=self.regroup)
        result = self.run(view, args, options)
        given = any(isinstance(x, TracedArray) for x in (*args, *options.values()))
        return _for_numpy(result) if given else result

    def python(self, model: Model, *args: object, **options: object) -> Any:
        """Run the recursion as plain Python, on numbers of any kind."""
        view = mechanism(as_varied(model), rolled=False, regroup=self.regroup)
        return self.run(view, args, options)

    def run(self, view: Mechanism, args: Sequence[object], options: Mapping[str, object]) -> Any:
        """The recursion on this mechanism, with arrays of the caller."""
        recursion = self._recursion(view.model)
        if self.loops == "refuse":
            refuse_loops(view.model, self.name)
        given, others = self.bind(view.model, args, options)
        arrays = {n: wrapped(view, self.name, n, given.get(n), others) for n in self.arrays}
        options = dict(others)
        if self.converts:
            rep = cast("Rep", options.pop("wrenches_rep"))
            q = cast("JointVector", arrays["q"])
            for name in (n for n in HELD if n in arrays):
                arrays[name] = cast("ByBody[Wrench]", body_fixed(view, arrays[name], q, rep))
        return _plain(recursion(view, **arrays, **options))

    # -- its arguments --

    def bind(
        self, model: Model, args: Sequence[object], options: Mapping[str, object]
    ) -> tuple[Arrays, Options]:
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
        others = {n: x for n, x in values.items() if n not in self.arrays}
        for n in self.required:
            if n not in arrays:
                raise KindError(self.name, n, None, "an array of numbers")
        told = ((n, x) for n, x in others.items() if x is not self.defaults[n])
        refuse_others(self.name, self._kinds, told, self.function)
        if self.converts:
            check(cast("Rep", others["wrenches_rep"]))  # also where there are no wrenches
        return arrays, cast("Options", {n: listed(x) for n, x in others.items()})

    @cached_property
    def _kinds(self) -> Mapping[str, list[Kind]]:
        """The kinds of its options."""
        kinds = kinds_in(self.function)
        return kinds | {"wrenches_rep": kinds_of("Rep", {"Rep": Rep})} if self.converts else kinds

    @cached_property
    def _array_kinds(self) -> Mapping[str, list[Kind]]:
        """The kinds of its arrays."""
        return {name: kinds_of("ArrayLike", {}) for name in self.arrays}

    def _call(self) -> str:
        """How it is called: names and defaults, without types."""
        bare = inspect.Parameter.empty
        parameters = self.signature.parameters.values()
        return str(inspect.Signature([p.replace(annotation=bare) for p in parameters]))

    def misfit(self, model: Model, error: ShapeError) -> ShapeError:
        """The error in the words of the model: its name, and the size that does not fit."""
        axes = ARRAYS[error.argument][0]
        named = zip(axes, error.wanted, strict=True)
        sizes = {f"n{axis}": size for axis, size in named if axis in ("q", "v", "b")}
        fact = f"its last axes are {error.wanted}"
        if sizes:
            has = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            fact = f"{model.name} has {has}" + (f", so that {fact}" if len(axes) > 1 else "")
        return ShapeError(self.name, error.argument, error.shape, error.wanted, fact)

    def _not_a_model(self, thing: object) -> KindError:
        fact = f"the first argument is a {type(thing).__name__}"
        return KindError(self.name, "model", thing, "a Model, as load or Builder make it", fact)

    def __repr__(self) -> str:
        return f"<algorithm {self.name}>"

    def __reduce__(self) -> str:
        return self.name


@runtime_checkable
class Arrayed(Protocol):
    """What is an array to the caller."""

    def array(self) -> Traced: ...


def _for_numpy(result: object) -> object:
    """Arrays that NumPy's functions work on, as the arguments were."""
    if isinstance(result, tuple):
        return tuple(_for_numpy(x) for x in cast("tuple[object, ...]", result))
    return result.view(TracedArray) if isinstance(result, np.ndarray) else result


def listed(option: object) -> object:
    """An option as it is, arrays of numbers as lists: programs are found by them. Lists and views
    of dicts, which callers may change later, as they are now: calls are remembered.
    """
    if isinstance(option, (MutableSequence, MappingView)):
        return list(cast("Iterable[object]", option))
    if not isinstance(option, np.ndarray):
        return option
    array = cast("NDArray[np.generic]", option)
    return array if array.dtype.kind == "O" else array.tolist()


def _plain(result: object) -> object:
    if isinstance(result, tuple):
        return tuple(_plain(x) for x in cast("tuple[object, ...]", result))
    return result.array() if isinstance(result, Arrayed) else result


@overload
def algorithm(function: Recursion, /) -> Algorithm: ...
@overload
def algorithm(
    *, regroup: bool | str = False, threshold: int | None = None, loops: str = "tree",
    tells_open: str = "", rolled_paths: bool = False,
    rolled_loops: Callable[[Model], bool] | None = None, rolled_chains: bool = False,
) -> Callable[[Recursion], Algorithm]: ...  # fmt: skip
def algorithm(
    function: Recursion | None = None,
    *,
    regroup: bool | str = False,
    threshold: int | None = None,
    loops: str = "tree",
    tells_open: str = "",
    rolled_paths: bool = False,
    rolled_loops: Callable[[Model], bool] | None = None,
    rolled_chains: bool = False,
) -> Algorithm | Callable[[Recursion], Algorithm]:
    """Make a recursion over bodies callable on models and arrays.

    regroup: the results do not depend on which body carries inertial parameters that only their
    sum shows (joint forces, accelerations, mass matrices), so base parameters may be used
    (True, or "moments": see `base_parameters.regrouped`).
    threshold: how many bodies are still traced unrolled, where that differs from the usual number.
    loops: what becomes of loops, distances and couplings. "tree": the result is a statement about
    the tree, true whether loops close it or not; "honour": the result satisfies them; "refuse": a
    model that has some is refused.
    tells_open: by which arrays a call looks at how open the loops are ("q"), and at whether they
    open ("q v"), and warns (what counts rows does that by itself).
    rolled_paths: whether it is rolled for mechanisms with loops, too (`rolled_or_not.few_loops`).
    rolled_loops: of which mechanisms with many loops it is rolled.
    rolled_chains: whether it is rolled for shorter chains already (`Settings.chains`).
    """

    def made(recursion: Recursion) -> Algorithm:
        return Algorithm(
            recursion, regroup, threshold, loops, tells_open, rolled_paths, rolled_loops,
            rolled_chains,
        )  # fmt: skip

    return made if function is None else made(function)
