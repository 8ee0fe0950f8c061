"""Derivatives of kinematics and dynamics with respect to the parameters of a model.

The function is traced on the model whose named numbers are inputs of the program
(`mozzi.model.parameters.named`), which is then differentiated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from mozzi.algorithms.calls.algorithm import Algorithm, Options, algorithm
from mozzi.algorithms.calls.arguments import Blocks
from mozzi.algorithms.calls.with_loops import met_loops, tell_open
from mozzi.algorithms.derivatives.reassembly import Following
from mozzi.algorithms.loops.assemble import assemble
from mozzi.algorithms.recursion.containers import BlockArray
from mozzi.algorithms.recursion.mechanism import Mechanism, mechanism
from mozzi.algorithms.recursion.rolled_or_not import ALWAYS_UNROLLED
from mozzi.algorithms.recursion.varied import varied_model, varying
from mozzi.checked import checked
from mozzi.errors import ConfigurationError, KindError, LoopError
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.model.parameters.named import geometric, nominal_numbers
from mozzi.program.arrays import is_traced
from mozzi.program.differentiate import jacobian
from mozzi.types import Array, ArrayLike, JointChoice, Traced

__all__ = ["Sensitivity", "sensitivity"]

What: TypeAlias = Literal["value", "derivative", "followed"]


@checked
def sensitivity(
    function: Callable[..., object], model: Model, parameters: str | Collection[str], *,
    hold: JointChoice | None = None, **options: object,
) -> Sensitivity:  # fmt: skip
    """The derivative of a function of the model with respect to named parameters, as a kernel.

    It has the shape of the function's result and one more axis, the parameters in the order of
    their names:

    - of a body:  ``.mass``, ``.hx .hy .hz`` (first moment), ``.Jxx .Jxy .Jxz .Jyy .Jyz .Jzz`` (at
      the origin of its frame), those not named stay; or ``.mass`` and ``.com.x .com.y .com.z``,
      where the inertia at the centre of mass stays; ``.density``, which scales all, 1 in the model;
    - of a joint: ``.x .y .z .rx .ry .rz``, shifts along and turns about the axes of the frame of
      its body, zero in the model as it is, or along any screw (angular, linear),
      ``.screw(0, 0, 1, 0.2, 0, 0)``; ``.placement.x .y .z``, where its frame is in the parent;
      ``.pitch`` of screws; ``.2.x``, ``.2.pitch`` of the second factor of a product of joints, in
      the frame of that factor, and ``.2.1.x`` of the first factor of that; ``.damping .friction
      .armature .stiffness`` (of joints with several degrees of freedom also of one:
      ``.damping.angle_1``, ``.damping.2.angle`` of a product);
    - of a loop ``.a.x`` … ``.b.rz``, ``.a.screw(…)``: its placements, each moved in its own frame;
    - of a spring ``.stiffness .damping .length``, of a distance ``.length``, of a coupling
      ``.offset``, of a contact ``.friction .restitution .stiffness .damping``; ``gravity.x .y .z``.

    The numbers may differ from those of the model: ``kernel(q, v, a, parameters=[…])``, in which
    ``kernel.nominal`` is the model as it is, and ``kernel.value`` is the function itself with these
    numbers.

    With loops, a change of the geometry opens them at a fixed q. With ``hold`` the mechanism
    follows: the joints that are held keep their q, v and a, the others move by the least that keeps
    the loops closed, and the derivative is that of what is computed on the mechanism assembled
    anew. A parameter that no motion can follow is a `LoopError` (in a compiled kernel, no numbers).
    ``sensitivity(mz.assemble, …, hold=…)`` is that of the configuration itself, (nv, p) along the
    group.  `compile` takes what is returned, for every target.

    Cost: that of the function times a small number, for each parameter forwards or for all of them
    backwards, whichever takes fewer operations.

    Args:
        function: an algorithm of the model, such as mz.inverse_dynamics, or mz.assemble.
        model: the mechanism.
        parameters: their names, such as ["link_3.mass", "joint_2.x"].
        hold: joints that stay while a closed mechanism is assembled anew; None: all stay.
        options: those of the function (``frame=``, ``rep=``, ``prescribed=``); optional arrays are
            taken where they are True (``wrenches=True``).

    Returns:
        A kernel of the arrays that the function takes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> kernel = mz.sensitivity(mz.gravity_forces, arm, ["link_3.mass", "joint_2.x"])
        >>> kernel(arm.neutral()).shape
        (3, 2)
    """
    names = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    if function is assemble:
        function, hold = _configuration, () if hold is None else hold
    if not isinstance(function, Algorithm):
        fact = f"{getattr(function, '__name__', repr(function))} is no algorithm"
        raise KindError("sensitivity", "function", function, "one, such as mz.pose", fact)
    as_model(model, "sensitivity")
    if hold is not None and not met_loops(model):
        raise ConfigurationError(
            "sensitivity: hold= is for models with loops, which are assembled anew; "
            f"{model.name!r} has none"
        )
    return Sensitivity(function, model, names, cast("Options", options), hold)


Shared: TypeAlias = "Callable[[Sensitivity, Sequence[ArrayLike], Array], Array]"

_SHARED: dict[What, Shared] = {}


def where_shared(what: What) -> Callable[[Shared], Shared]:
    """Register what answers ("value", "derivative") where loops and some actuators share what the
    tree needs.
    """

    def register(answer: Shared) -> Shared:
        _SHARED[what] = answer
        return answer

    return register


class Sensitivity:
    """A derivative with respect to parameters: called with what the function takes.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> by_mass = mz.sensitivity(mz.gravity_forces, arm, ["link_3.mass"])
        >>> by_mass(np.zeros(3)).shape
        (3, 1)
    """

    def __init__(
        self, function: Algorithm, model: Model, names: tuple[str, ...], options: Options,
        hold: JointChoice | None = None,
    ):  # fmt: skip
        self._made_from = function, model, names, options, hold
        self.function, self.model, self.names = function, model, names
        self.hold = (hold,) if isinstance(hold, str) else hold if hold is None else tuple(hold)
        self.nominal = nominal_numbers(model, names)
        """The parameters of the model as it is."""
        arrays = [n for n in function.arrays if n in function.required or options.get(n) is True]
        self.arrays = tuple(arrays)
        self.options = {n: x for n, x in options.items() if n not in function.arrays}
        if "order" in function.defaults:  # which says how large arrays are
            self.options.setdefault("order", function.defaults["order"])
        what: What = "derivative" if self.hold is None else "followed"
        self.derivative = _varying(function, what, tuple(arrays), tuple(self.options))
        self.plain = _varying(function, "value", tuple(arrays), tuple(self.options))

    def __reduce__(self) -> tuple[object, ...]:
        return Sensitivity, self._made_from

    def __call__(self, *arrays: ArrayLike, parameters: ArrayLike | None = None) -> Any:
        """∂ function / ∂ parameters: one more axis, at the end."""
        if is_traced(arrays) or is_traced(parameters):
            raise ConfigurationError(
                f"{self!r} cannot be part of a function that is compiled, or of a law; compile it "
                "by itself: mz.compile(mz.sensitivity(…), model)"
            )
        self._tell_open(arrays, parameters)
        if self.hold is not None:
            return self._followed(self._run(self.derivative, arrays, parameters))
        if self._shared:
            return _SHARED["derivative"](self, arrays, self._numbers(parameters))
        return self._run(self.derivative, arrays, parameters)

    def value(self, *arrays: ArrayLike, parameters: ArrayLike | None = None) -> Any:
        """The function with these parameters.

        Args:
            arrays: what the function takes.
            parameters: numbers instead of `nominal`.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> by_mass = mz.sensitivity(mz.gravity_forces, arm, ["link_3.mass"])
            >>> by_mass.value(np.zeros(3)).shape
            (3,)
        """
        self._tell_open(arrays, parameters)
        if self._shared:
            return _SHARED["value"](self, arrays, self._numbers(parameters))
        return self._run(self.plain, arrays, parameters)

    def _tell_open(self, arrays: Sequence[ArrayLike], parameters: ArrayLike | None) -> None:
        """Warn where the loops are open, or opened by velocities, of results that satisfy them;
        with other numbers of what moves bodies they are closed elsewhere.
        """
        moved = parameters is not None and geometric(self.model, self.names)
        if met_loops(self.model) and self.function.holds_where_closed and not moved:
            at = dict(zip(self.arrays, arrays, strict=False))
            looked_at = self.function.tells_open.split() or ["q", "v"]
            if "loop_accelerations" in self.arrays:  # of a motion that may open them
                looked_at = ["q"]
            given = (at[n] for n in looked_at)
            tell_open(f"sensitivity of {self.function.name}", self.model, *given)

    def _followed(self, result: Array | tuple[Array, ...]) -> Array | tuple[Array, ...]:
        """The result, or a `LoopError` where a parameter opens loops that no motion closes."""
        for part in result if isinstance(result, tuple) else (result,):
            finite = np.isfinite(part).reshape(-1, len(self.names))
            if not finite.all():
                which = ", ".join(n for k, n in enumerate(self.names) if not finite[:, k].all())
                raise LoopError(
                    f"sensitivity: model {self.model.name!r} cannot follow {which}: no motion of "
                    "the joints that are not held closes its loops, or these actuators cannot make "
                    "the motion; hold fewer joints"
                )
        return result

    @property
    def call_options(self) -> dict[str, object]:
        """The options of `derivative`, as a call of it takes them."""
        held = {} if self.hold is None else {"hold": self.hold}
        return {"names": self.names, **held, **self.options}

    @property
    def _shared(self) -> bool:
        """Whether loops and some actuators share what the tree needs."""
        some = any(self.options.get(n) is not None for n in ("actuated", "minimize"))
        return some and met_loops(self.model)

    def _run(
        self, algorithm: Algorithm, arrays: Sequence[ArrayLike], parameters: ArrayLike | None
    ) -> Any:
        numbers = self._numbers(parameters)
        if algorithm is self.derivative:
            return algorithm(self.model, *arrays, numbers, **self.call_options)
        return algorithm(self.model, *arrays, numbers, names=self.names, **self.options)

    def _numbers(self, parameters: ArrayLike | None) -> Array:
        numbers = self.nominal if parameters is None else np.asarray(parameters, dtype=float)
        if numbers.shape[-1:] != (len(self.names),):
            raise ConfigurationError(
                f"parameters have shape {numbers.shape}; give {len(self.names)}: "
                f"{', '.join(self.names[:8])}"
            )
        return numbers

    def __repr__(self) -> str:
        return f"<sensitivity of {self.function.name} to {', '.join(self.names)}>"


@cache
def _varying(
    function: Algorithm, what: What, arrays: tuple[str, ...], options: tuple[str, ...]
) -> Algorithm:
    """The algorithm of these arrays and of parameters, whose names are an option."""

    def run(
        model: Mechanism, names: tuple[str, ...], parameters: BlockArray, hold: JointChoice = (),
        **given: object,
    ) -> Traced | tuple[Traced, ...]:  # fmt: skip
        numbers = parameters.array()
        new = varied_model(model.model, names, numbers)
        plain = {n: _plain(x) if n in arrays else x for n, x in given.items()}
        with varying(new):
            view = mechanism(new, regroup=function.regroup)
            out: Traced | tuple[Traced, ...] = function.run(view, (), plain)
            if what == "followed":
                moved = {n: x for n, x in plain.items() if n in arrays}
                follow = Following(new, numbers, cast("dict[str, Traced]", moved), hold)
                if function is _configuration:
                    return follow.checked(follow.delta)
                each = out if isinstance(out, tuple) else (out,)
                all_ = tuple(follow.checked(follow.of(x)) for x in each)
                return all_ if isinstance(out, tuple) else all_[0]
        if what == "value":
            return out
        if isinstance(out, tuple):
            return tuple(jacobian(x, numbers) for x in out)
        return jacobian(out, numbers)

    kind, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    leading = [inspect.Parameter(n, kind) for n in ("model", *arrays, "parameters")]
    held = ("hold",) if what == "followed" else ()
    others = [inspect.Parameter(n, keyword) for n in ("names", *held, *options)]
    run.__signature__ = inspect.Signature(leading + others, return_annotation="Any")  # type: ignore[attr-defined]
    run.__name__ = f"{function.name}_{what}_of_parameters"
    return Algorithm(run, False, threshold=ALWAYS_UNROLLED, loops=function.loops)


@algorithm(loops="honour")
def _configuration(model: Mechanism, q: BlockArray) -> BlockArray:
    """The configuration itself, in place of `assemble`."""
    return q


def _plain(x: object) -> Traced:
    """The numbers of an array as an algorithm sees it."""
    array = x.blocks if isinstance(x, Blocks) else x
    assert isinstance(array, BlockArray)
    return array.array()
