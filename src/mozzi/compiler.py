"""From functions to kernels: trace, simplify, hand to a target, remember.

This stands outside the hourglass: it is where algorithms (above the waist) meet targets (below it).
"""

from __future__ import annotations

import gc
import importlib
import inspect
import weakref
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import partial
from types import BuiltinFunctionType, NoneType
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from mozzi.algorithms.calls import guard
from mozzi.algorithms.calls.algorithm import Algorithm, listed
from mozzi.algorithms.calls.arguments import ARRAYS, shape_of
from mozzi.algorithms.calls.no_program import why_no_program
from mozzi.algorithms.derivatives.parameters import Sensitivity
from mozzi.algorithms.derivatives.parts import Parts, lean, limbs_of
from mozzi.algorithms.recursion.rolled_or_not import rolls
from mozzi.algorithms.recursion.varied import varied_model, varying
from mozzi.checked import checked, is_whole
from mozzi.errors import ConfigurationError, ShapeError, known
from mozzi.locks import ForkLock
from mozzi.model import Loop, Model
from mozzi.model.as_model import as_model
from mozzi.program.arrays import traced_array
from mozzi.program.fuse import fuse
from mozzi.program.node import Node
from mozzi.program.node import tracing as tracing_count
from mozzi.program.packing import pack_results
from mozzi.program.passes import prune
from mozzi.program.program import Input, Program, trace
from mozzi.program.settings import Settings, tracing
from mozzi.program.zeros import fold_zeros
from mozzi.targets.disk_cache import key_of
from mozzi.types import ArrayLike, DType, Kernel, Result, ResultLayout, Target, Traced, words
from mozzi.viz.progress import told_when_long

if TYPE_CHECKING:
    from mozzi.targets.c.source import CSource
    from mozzi.targets.cpu.kernel import CpuKernel

__all__ = [
    "TARGETS", "compile", "forget", "kernel_key", "kernel_of", "program_of", "set_checks",
    "settings_for", "signature_of", "traced",
]  # fmt: skip

#: Where each target lives: a folder or file with `build(make, dtype, key=None) -> kernel`, where
#: `make()` is the program, traced only where no kernel is kept under the key.
TARGETS: dict[str, str] = {
    "cpu": "mozzi.targets.cpu",
    "interpret": "mozzi.targets.interpret",
    "c": "mozzi.targets.c",
    "sympy": "mozzi.targets.sympy",
    "cuda": "mozzi.targets.cuda",
    "jax": "mozzi.targets.jax",
    "torch": "mozzi.targets.torch",
}
GPU_TARGETS = ("cuda", "jax", "torch")  # whose kernels may run on a GPU
PACKED_TARGETS = ("cpu", *GPU_TARGETS)
DTYPES, LAYOUTS = words(DType), words(ResultLayout)
CPU_COLUMNS = 5  # `Settings.columns`: straight-line code of talos's M⁻¹ takes twice as long
CPU_CHAINS = 9  # `Settings.chains`: docs/theory/derivatives.md has the figures

_LOCK = ForkLock()


@overload
def compile(
    function: Callable[..., Result],
    model: Model,
    target: Literal["cpu"] = "cpu",
    dtype: DType = "float64",
    *,
    rolled: bool | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    options: Mapping[str, object] | None = None,
    parameters: Sequence[str] = (),
    name: str | None = None,
    layout: ResultLayout = "dense",
) -> CpuKernel[Result]: ...
@overload
def compile(
    function: Callable[..., Result],
    model: Model,
    target: Literal["interpret"],
    dtype: DType = "float64",
    *,
    rolled: bool | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    options: Mapping[str, object] | None = None,
    parameters: Sequence[str] = (),
    name: str | None = None,
    layout: ResultLayout = "dense",
) -> Kernel[Result]: ...
@overload
def compile(
    function: Callable[..., object],
    model: Model,
    target: Literal["c"],
    dtype: DType = "float64",
    *,
    rolled: bool | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    options: Mapping[str, object] | None = None,
    parameters: Sequence[str] = (),
    name: str | None = None,
    layout: ResultLayout = "dense",
) -> CSource: ...
@overload
def compile(
    function: Callable[..., object],
    model: Model,
    target: Literal["sympy", "cuda", "jax", "torch"],
    dtype: DType = "float64",
    *,
    rolled: bool | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    options: Mapping[str, object] | None = None,
    parameters: Sequence[str] = (),
    name: str | None = None,
    layout: ResultLayout = "dense",
) -> Kernel[Any]: ...
@checked
def compile(
    function: Callable[..., object],
    model: Model,
    target: Target = "cpu",
    dtype: DType = "float64",
    *,
    rolled: bool | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    options: Mapping[str, object] | None = None,
    parameters: Sequence[str] = (),
    name: str | None = None,
    layout: ResultLayout = "dense",
) -> Kernel[Any] | CSource:
    """A kernel of a function of q, v, … on this model.

    Traced once, simplified, and made machine code (or what the target says), in milliseconds to
    seconds; the kernel runs over leading batch axes, on several threads where that pays. `explain`
    tells the way.

    Cost: tracing and compiling are linear in the operations of the program; kernels are kept in
    memory and on disk.

    Args:
        function: an algorithm (``mz.inverse_dynamics``), a `sensitivity` (its kernel takes the
            parameters behind the other arrays), or any function of arrays that calls algorithms:
            ``lambda q, v: (mz.mass_matrix(model, q), mz.bias_forces(model, q, v))``.
            Arguments get their shapes from their names, as the algorithms' do; the one called
            ``model`` is the model, and those with a default keep it, unless `inputs` has them.
        model: the mechanism.
        target: "cpu" (a NumPy generalised ufunc), "interpret", "c", "sympy", "cuda", "jax" or
            "torch".
        dtype: the numbers of the kernel, "float64" or "float32".
        rolled: True for loops over bodies, False for straight-line code, None to choose by size.
        inputs: shapes of arguments whose names do not tell them: ``inputs={"x": (3,)}``.
        options: keyword arguments of the algorithm, and optional arrays to take:
            ``options={"wrenches": True}``.
        parameters: names of numbers of the model, such as "link_3.mass", as in `sensitivity`. The
            kernel takes one more array (B, p) of them, behind the others.
        name: of the kernel, and of functions in its source.
        layout: "packed" for results without zeros and mirrored elements: (B, size), every value
            once, and ``kernel.packings[k]`` says which elements of result k they are (its
            ``places``; ``dense`` puts them there). For "cpu", "cuda", "jax" and "torch".

    Returns:
        A kernel: called with arrays it gives what the function gives; ``operations``, ``source``.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> kernel = mz.compile(mz.inverse_dynamics, arm)
        >>> kernel(np.zeros((100, 3)), np.zeros(3), np.zeros(3)).shape
        (100, 3)
    """
    as_model(model, "compile")
    if target not in TARGETS:
        raise ConfigurationError(f"no target {target!r}; there are {known(target, TARGETS)}")
    if layout not in LAYOUTS:
        raise ConfigurationError(f"no layout {layout!r}; there are {known(layout, LAYOUTS)}")
    if layout == "packed" and target not in PACKED_TARGETS:
        raise ConfigurationError(
            f"layout='packed' is for targets {', '.join(PACKED_TARGETS)}, not {target!r}; leave it "
            "out"
        )
    dtype = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or dtype  # NumPy's
    if dtype not in DTYPES:
        raise ConfigurationError(f"no dtype {dtype!r}; programs run in {known(dtype, DTYPES)}")
    with _LOCK:  # imports, too: a child forked in the middle of one would wait for ever
        build = importlib.import_module(TARGETS[target]).build
        function, options = _plain(function, model, options or {})
        shapes, call, label = signature_of(
            function, model, inputs or {}, options, _names(parameters)
        )
        key, units = None, dict[str, tuple[int, ...]]()
        if target == "cpu" and isinstance(function, Algorithm):
            units = guard.units_of(tuple(shapes), model)
            with tracing(settings_for(target, rolled)):
                roll = rolls(model, function, function.unrolled(model, options))
            key = kernel_key(function, label, shapes, model, dtype, roll, rolled)

        title = name or getattr(function, "__name__", "kernel")
        packed = layout == "packed"
        key = None if packed else key
        if key is not None and (key, title) in model.cache:
            return model.cache[key, title]

        def make() -> Program:
            with tracing(settings_for(target, rolled, dtype)):
                program = traced(shapes, call, title, units)
                if target == "cuda" and not rolled:
                    program = lean(program, function, model, options)
                if target in GPU_TARGETS and not rolled:
                    program.notes["limbs"] = limbs_of(model)
                    if Parts.are_there(function) and not parameters:  # of the model as it is
                        program.notes["parts"] = Parts(function, model, program.inputs, options)
                program.notes["straight"] = rolled is False
                return pack_results(program)[0] if packed else program

        with told_when_long(f"mozzi: compiling {title} for {model.name} …"), _no_collection():
            program = make() if packed else None
            kernel = build(make if program is None else lambda: program, dtype, key=key)
        if program is not None:
            kernel.packings = program.notes["packings"]
        if key is not None:
            model.cache[key, title] = kernel
        return kernel


@contextmanager
def _no_collection() -> Generator[None]:
    """Traced programs are hundreds of thousands of objects that live together: looking through them
    for garbage again and again takes a third of the time.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def program_of(
    function: Callable[..., object],
    model: Model,
    *,
    rolled: bool | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    options: Mapping[str, object] | None = None,
    parameters: Sequence[str] = (),
) -> Program:
    """The program that `compile` would hand to the CPU, for float64."""
    with _LOCK, _no_collection(), tracing(settings_for("cpu", rolled)):
        function, options = _plain(function, model, options or {})
        shapes, call, _ = signature_of(
            function, model, inputs or {}, options, _names(parameters)
        )
        return traced(shapes, call, getattr(function, "__name__", "kernel"))


def settings_for(target: Target, rolled: bool | None, dtype: DType = "float64") -> Settings:
    """How programs for a target are traced."""
    if target != "cpu":
        return Settings(rolled, dtype)
    return Settings(rolled, dtype, CPU_COLUMNS, CPU_CHAINS)


def _plain(
    function: Callable[..., object], model: Model, options: Mapping[str, object]
) -> tuple[Callable[..., object], Mapping[str, object]]:
    """The algorithm and its options behind a sensitivity; anything else as it is."""
    if not isinstance(function, Sensitivity):
        why = why_no_program(function)
        if why is not None:
            raise ConfigurationError(why)
        return function, options
    if function.model is not model and function.model.digest != model.digest:
        raise ConfigurationError(
            f"compile: this is the {function!r} of {function.model.name!r}; give that model, not "
            f"{model.name!r}"
        )
    if options:
        raise ConfigurationError("compile: options of a sensitivity are given to sensitivity")
    return function.derivative, function.call_options


def traced(
    shapes: Mapping[str, tuple[int, ...]],
    call: Callable[..., object],
    name: str,
    units: Mapping[str, tuple[int, ...]] | None = None,
) -> Program:
    inputs = [Input(n, tuple(s), (units or {}).get(n)) for n, s in shapes.items()]
    return prune(fuse(fold_zeros(trace(call, inputs, name))))


Shapes = dict[str, tuple[int, ...]]


def signature_of(
    function: Callable[..., object],
    model: Model,
    inputs: Mapping[str, tuple[int, ...]],
    options: Mapping[str, object],
    parameters: tuple[str, ...] = (),
) -> tuple[Shapes, Callable[..., object], object]:
    """The shapes of the arguments, the function of those arguments, and what else decides its
    meaning.
    """
    shapes, call, label = _signature(function, model, inputs, options)
    if not parameters:
        return shapes, call, label
    if "parameters" in shapes:
        raise ConfigurationError(
            "an argument is called 'parameters', as is the array of numbers of the model; give it "
            "another name"
        )

    def varied(*arrays: Traced) -> object:
        with varying(varied_model(model, parameters, arrays[-1])):
            return call(*arrays[:-1])

    return {**shapes, "parameters": (len(parameters),)}, varied, (label, parameters)


def _names(parameters: str | Sequence[str]) -> tuple[str, ...]:
    return (parameters,) if isinstance(parameters, str) else tuple(parameters)


def _signature(
    function: Callable[..., object],
    model: Model,
    inputs: Mapping[str, tuple[int, ...]],
    options: Mapping[str, object],
) -> tuple[Shapes, Callable[..., object], object]:
    if isinstance(function, Algorithm):
        if inputs:
            raise ConfigurationError(
                f"compile: inputs are for functions of your own; {function.name} has its shapes "
                "from the model"
            )
        taken = [n for n in function.arrays if n in function.required or options.get(n) is True]
        others = {n: listed(x) for n, x in options.items() if n not in function.arrays}
        for n in function.arrays:
            if not isinstance(options.get(n), (bool, NoneType)):
                raise ConfigurationError(
                    f"compile: options[{n!r}] is {options[n]!r:.60}; {n} is an array, which every "
                    f"call gives: {n!r}: True, and the kernel takes it"
                )
        for n, default in function.defaults.items():
            if default is inspect.Parameter.empty and n not in others:
                raise ConfigurationError(
                    f"compile: {function.name} needs {n!r}; give it: options={{{n!r}: …}}"
                )

        def call(*arrays: object) -> object:
            return function(model, **dict(zip(taken, arrays, strict=True)), **others)

        sizes = {"order": function.defaults.get("order", 0)} | others
        meant = function.defaults | others  # said or not, it is the same program
        return {n: shape_of(n, model, sizes) for n in taken}, call, _freeze(meant)
    if options:
        raise ConfigurationError(
            "compile: options go with an algorithm; write them into the function instead"
        )
    own = _own_signature(function)
    _refuse_strangers(inputs, own.parameters)
    shapes, constants = Shapes(), dict[str, object]()
    for n, argument in own.parameters.items():
        if n in inputs:
            shapes[n] = _shape(n, inputs[n])
        elif argument.kind is argument.VAR_POSITIONAL:
            raise ConfigurationError(
                f"compile: *{n} has no names, which tell shapes; name the arguments, as in: lambda "
                "q, v: f(q, v)"
            )
        elif n == "model":
            constants[n] = model
        elif argument.default is not argument.empty or argument.kind is argument.VAR_KEYWORD:
            continue
        elif n in ARRAYS and not {"o", "w"} & set(ARRAYS[n][0]):
            shapes[n] = shape_of(n, model)
        else:
            raise ConfigurationError(
                f"compile: argument {n!r} has no known shape; give it: inputs={{{n!r}: (3,)}} (a "
                "constant has a default; the model is the argument called 'model')"
            )

    def called(*arrays: object) -> object:
        given = (x if isinstance(x, Node) else traced_array(x) for x in arrays)
        bound = inspect.BoundArguments(own, OrderedDict(zip(shapes, given)) | constants)
        return function(*bound.args, **bound.kwargs)

    return shapes, called, None


def _own_signature(function: Callable[..., object]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:
        raise ConfigurationError(
            f"compile: {function!r:.60} does not tell its arguments; write a function around it, "
            "as in: lambda q: f(q)"
        ) from None


def _refuse_strangers(inputs: Mapping[str, object], arguments: Iterable[str]) -> None:
    for n in inputs:
        if n not in arguments:
            raise ConfigurationError(
                f"compile: inputs has the shape of {n!r}, which is no argument; there are "
                f"{known(n, arguments)}"
            )


def _shape(name: str, given: object) -> tuple[int, ...]:
    """A shape that a caller gave."""
    lengths = cast("tuple[object, ...]", given) if isinstance(given, (tuple, list)) else (None,)
    if not all(is_whole(n) and int(cast(int, n)) >= 0 for n in lengths):
        raise ConfigurationError(
            f"compile: inputs[{name!r}] is {given!r:.60}; give a shape, such as (3,), or () for a "
            "number"
        )
    return tuple(int(cast(int, n)) for n in lengths)


def _freeze(value: object) -> object:
    if isinstance(value, Mapping):
        named = cast("Mapping[str, object]", value)
        return tuple((k, _freeze(named[k])) for k in sorted(named))
    if isinstance(value, (set, frozenset)):
        return tuple(_freeze(x) for x in sorted(cast("Set[str]", value)))
    if isinstance(value, (list, tuple)):
        return tuple(_freeze(x) for x in cast("Sequence[object]", value))
    return value


def kernel_of(
    function: Algorithm, model: Model, names: tuple[str, ...], options: Mapping[str, object]
) -> Kernel[Any]:
    """The kernel of an algorithm for this model, of arrays with these names and of options, as
    `Algorithm.bind` gives them. It looks at what it gets.
    """
    plain = options == function.defaults and names == function.required
    plain = plain and not (model.closures and function.holds_where_closed)  # looks at every call
    key: object = function if plain else (function, names, _freeze(options))
    kernel = model.cache.get(key)
    if kernel is None:
        extra = {n: True for n in names if n not in function.required}
        with _LOCK:
            kernel = model.cache.get(key)
            if kernel is None:
                made = compile(function, model, options={**options, **extra})
                look = _look(function, model, names, options)
                kernel = model.cache[key] = made.watched(look)
                if plain:
                    _quicken(function, model, kernel)
    return kernel


def lazily(
    function: Algorithm,
    model: Model,
    arrays: Mapping[str, ArrayLike],
    options: Mapping[str, object],
) -> Any:
    """An algorithm on arrays of Dask or xarray: nothing is computed here but the shape of what it
    gives.
    """
    from mozzi.targets.lazy import laid_over

    extra = {n: True for n in arrays if n not in function.required}
    kernel = compile(function, model, options={**options, **extra})
    each = _OnChunks(function, model, tuple(arrays), dict(options))
    taken, given = [x.shape for x in kernel.inputs], [x.shape for x in kernel.outputs]
    return laid_over(each, taken, given, tuple(arrays.values()))


class _OnChunks:
    """An algorithm as a function of arrays, which travels by content."""

    def __init__(
        self, function: Algorithm, model: Model, names: tuple[str, ...], options: dict[str, object]
    ):
        self.function, self.model, self.names, self.options = function, model, names, options

    def __call__(self, *arrays: ArrayLike) -> Any:
        given = dict(zip(self.names, arrays, strict=True))
        return self.function(self.model, **given, **self.options)


@checked
def set_checks(on: bool) -> None:
    """Whether algorithms refuse arrays of configurations that are none, NaN and infinity.

    They do unless told: a quaternion whose length is off 1 by more than 1e-6, a NaN or an infinity
    in any array (velocities, forces, wrenches, …) is a `ConfigurationError` that names joint and
    sample. Limits may be infinite; hybrid dynamics reads one of a and tau for each coordinate, and
    does not look at the other. Where results are not finite because a mass matrix has no inverse at
    q, that is a `SingularError` with sample and coordinate. Kernels of `compile` never look.

    Cost: some percent of a batch are saved without checks.

    Args:
        on: False to take all numbers as they are, in the whole process.

    Returns:
        None.

    Example:
        >>> mz.set_checks(False)
        >>> mz.set_checks(True)
    """
    from mozzi.targets.cpu.jit import watch

    guard.check(bool(on))
    watch(bool(on))


def looked_at(
    function: str,
    model: Model,
    arrays: Mapping[str, ArrayLike],
    options: Mapping[str, object],
    results: object,
) -> None:
    """After an alarm: raise for arguments that are not as promised, or else for a mass matrix that
    has no inverse.
    """
    from mozzi.algorithms.dynamics.singular_inertia import refuse_singular

    if guard.looks():
        guard.look(function, model, arrays, options)
        refuse_singular(function, model, arrays, results)


def _look(
    function: Algorithm, model: Model, names: tuple[str, ...], options: Mapping[str, object]
) -> Callable[[Sequence[ArrayLike], object], None]:
    """What a kernel calls after an alarm; it does not hold the model, which holds the kernel."""
    known = weakref.ref(model)

    def at(arrays: Sequence[ArrayLike], results: object) -> None:
        here = known()
        if here is not None:
            given = dict(zip(names, arrays, strict=False))
            looked_at(function.__name__, here, given, options, results)

    return at


def kernel_key(
    function: Algorithm, label: object, shapes: Shapes, model: Model, dtype: DType, roll: bool,
    rolled: bool | None,
) -> str | None:  # fmt: skip
    """What a kernel is kept under; None where code of callers is in it, which has no name."""
    loops = (getattr(x, "loop", x) for x in model.closures)
    joints = [body.joint for body in model] + [x.joint for x in loops if isinstance(x, Loop)]
    if not all(x.__module__.startswith("mozzi.") for joint in joints for x in joint.code):
        return None
    of = model.digest, model.rows_depend
    given = tuple(shapes.items())
    return key_of(function.name, label, given, of, dtype, roll, rolled is False)


def forget(model: Model) -> None:
    """Make all kernels of a model anew when they are asked for again."""
    from mozzi.targets.cpu.calls import function_call

    with _LOCK:
        for function in [x for x in model.cache if isinstance(x, Algorithm)]:
            own = vars(type(function)).get("__call__")
            if isinstance(own, BuiltinFunctionType):
                function_call.forget(own, model)
        model.cache.clear()


def _quicken(function: Algorithm, model: Model, kernel: object) -> None:
    """Let machine code make the function's plain calls, for models whose kernel it can call."""
    from mozzi.targets.cpu.calls import function_call

    direct = function_call.direct(kernel)
    if direct is None:
        return
    if type(function) is Algorithm:
        quick = function_call.make(
            function.__name__, 1 + len(function.required), function.quick,
            partial(Algorithm.__call__, function), Model, ShapeError, tracing_count,
        )  # fmt: skip
        # a class of its own: Python looks for __call__ there
        function.__class__ = type("Algorithm", (Algorithm,), {"__call__": quick})
    model.cache[function.quick] = direct
    own = vars(type(function)).get("__call__")
    if own is not None:
        function_call.remember(own, model, direct)
