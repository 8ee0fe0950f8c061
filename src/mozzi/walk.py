"""`explain`: the walk from a function and a model to machine code, with its reasons and figures."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.algorithms.calls.guard import units_of
from mozzi.algorithms.recursion.bodies import BodyData
from mozzi.algorithms.recursion.mechanism import mechanism
from mozzi.algorithms.recursion.rolled_or_not import UNROLLED_BODIES, rolls
from mozzi.checked import checked
from mozzi.compiler import DTYPES, kernel_key, settings_for, signature_of, traced
from mozzi.errors import ConfigurationError, KindError, known
from mozzi.lie.vec import number
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.program.program import Program
from mozzi.program.settings import tracing
from mozzi.targets import disk_cache
from mozzi.targets.cpu import jit
from mozzi.targets.cpu.build import entry_of, module_text, ordered, place_of
from mozzi.targets.cpu.kernel import CpuKernel
from mozzi.types import DType

__all__ = ["Walk", "explain", "walk_of"]

T = TypeVar("T")


@checked
def explain(
    model: Model,
    function: Callable[..., object],
    dtype: DType = "float64",
    *,
    rolled: bool | None = None,
    **options: object,
) -> None:
    """Print how a call comes to its machine code on this CPU, and why it comes that way.

    The program is traced and compiled anew, whatever is kept, so that times are those of a first
    call. Lines: the model; whether the program has loops over bodies, and why; which inertial
    numbers were regrouped; operations of one evaluation by kind; whether the disk cache has the
    kernel; seconds by stage; size of the machine code.

    Cost: a compilation without caches.

    Args:
        model: the mechanism.
        function: an algorithm, such as mz.forward_dynamics.
        dtype: the numbers of the kernel, "float64" or "float32".
        rolled: as in `compile`; None: as a call chooses.
        options: of the function, as in a call (`frame="tool"`); optional arrays where they are
            True (`wrenches=True`).

    Returns:
        None: it is printed.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> mz.explain(arm, mz.forward_dynamics)  # doctest: +ELLIPSIS
        forward_dynamics of arm: (q, v, tau) -> (...)
        ...
    """
    print(walk_of(model, function, dtype, rolled=rolled, **options))


@dataclass
class Walk:
    """What `explain` prints: facts by name, and seconds by stage."""

    title: str
    facts: dict[str, str] = field(default_factory=dict[str, str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    def __str__(self) -> str:
        stages = ", ".join(f"{name} {1e3 * s:.1f} ms" for name, s in self.seconds.items())
        total = 1e3 * sum(self.seconds.values())
        lines = self.facts | {"compile time": f"{total:.0f} ms: {stages}"}
        return "\n".join([self.title, *(f"  {name:<13} {text}" for name, text in lines.items())])

    def timed(self, stage: str, make: Callable[[], T]) -> T:
        """What is made, with the time it takes."""
        start = time.perf_counter()
        made = make()
        self.seconds[stage] = time.perf_counter() - start
        return made


def walk_of(
    model: Model,
    function: Callable[..., object],
    dtype: DType = "float64",
    *,
    rolled: bool | None = None,
    **options: object,
) -> Walk:
    """The walk that `explain` prints."""
    if not isinstance(function, Algorithm):
        fact = f"{getattr(function, '__name__', repr(function))} is no algorithm"
        raise KindError("explain", "function", function, "one, such as mz.forward_dynamics", fact)
    if dtype not in DTYPES:
        raise ConfigurationError(f"no dtype {dtype!r}; programs run in {known(dtype, DTYPES)}")
    as_model(model, "explain")
    empty = inspect.Parameter.empty  # a call has the defaults among its options
    options = {n: x for n, x in function.defaults.items() if x is not empty} | options
    shapes, call, label = signature_of(function, model, {}, options)
    with tracing(settings_for("cpu", rolled, dtype)):
        roll = rolls(model, function, function.unrolled(model, options))
    walk = Walk("")

    def trace() -> Program:
        units = units_of(tuple(shapes), model)
        with tracing(settings_for("cpu", rolled, dtype)):
            program = traced(shapes, call, function.name, units)
        program.notes["straight"] = rolled is False
        return program

    program = walk.timed("trace", trace)
    compiled = walk.timed("schedule", lambda: ordered(program))
    W = jit.lanes(dtype)
    text = walk.timed("LLVM IR", lambda: module_text(compiled, dtype, W))
    code = walk.timed("machine code", lambda: jit.assemble(text))
    entry = entry_of(program, dtype, W, text, code)
    walk.timed("load", lambda: CpuKernel[object](entry))
    given = ", ".join(x.name for x in program.inputs)
    results = ", ".join(x.name for x in program.outputs)
    walk.title = f"{function.name} of {model.name}: ({given}) -> ({results})"
    key = kernel_key(function, label, shapes, model, dtype, roll, rolled)
    walk.facts = {
        "model": _size(model),
        "loops": _loops(function, model),
        "program": _rolled(function, model, rolled, roll),
        "regrouping": _regrouped(function, model),
        "operations": _operations(program),
        "disk cache": _cached(None if key is None else place_of(key, dtype, W)),
        "machine code": f"{len(code):,} bytes for {jit.host()[1]}, vectors of {W} {dtype}",
    }
    return walk


def _size(model: Model) -> str:
    return f"{model.nb} bodies, nq = {model.nq}, nv = {model.nv}"


def _loops(function: Algorithm, model: Model) -> str:
    if not model.closures:
        return "none"
    names = ", ".join(x.name for x in model.closures)
    meaning = {
        "tree": "the result is one of the tree, whether they close it or not",
        "honour": "the result satisfies them",
        "refuse": "it refuses them",
    }
    return f"{model.row_count} rows of {names}: {meaning[function.loops]}"


def _rolled(function: Algorithm, model: Model, wish: bool | None, roll: bool) -> str:
    kind = "loops over bodies" if roll else "straight-line code"
    if function.loops == "honour" and model.closures:
        long = "" if wish is False else ", and what repeats itself in a long program is a loop"
        return f"{kind}: loops are honoured body by body{long}"
    if wish is not None:
        return f"{kind}: rolled={wish}"
    most = UNROLLED_BODIES if function.threshold is None else function.threshold
    if roll and model.nb <= most:
        return f"{kind}: with these options straight-line code would be long"
    if most >= 10**6:
        return f"{kind}: this algorithm differentiates a program, at any size"
    return f"{kind}: {model.nb} bodies, and up to {most} are straight-line code"


def _regrouped(function: Algorithm, model: Model) -> str:
    if not function.regroup:
        return "none: the result depends on the inertia of each body"
    before, after = (
        _numbers(mechanism(model, regroup=how).bodies) for how in (False, function.regroup)
    )
    return f"base parameters: {after} inertial numbers instead of {before}, frames along axes"


def _numbers(bodies: tuple[BodyData, ...]) -> int:
    """Inertial parameters that are not zero."""
    return sum(number(x) != 0.0 for body in bodies for x in body.inertia.flatten())


def _operations(program: Program) -> str:
    kinds = sorted(program.operations.items(), key=lambda item: -item[1])
    written = f"; {program.length:,} are written down, in loops" if program.rolled else ""
    return f"{program.flops:,}: " + ", ".join(f"{n:,} {kind}" for kind, n in kinds) + written


def _cached(place: str | None) -> str:
    folder = disk_cache.folder()
    if folder is None:
        return "off (MOZZI_CACHE=0)"
    if place is None:
        return "keeps machine code alone, for joints have code of their own"
    found = disk_cache.lookup(place)
    return f"{'holds this kernel' if found else 'does not hold this kernel yet'}: {folder}"
