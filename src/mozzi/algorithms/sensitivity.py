"""Derivatives of kinematics and dynamics with respect to the parameters of a model.

The function is traced with the named numbers of the model as inputs of the program, which is then
differentiated. Inertial parameters are the ten numbers of a body, in its frame. Geometric
parameters π of a joint move the child by screws in its frame, at q = 0:

    C_pi(q, π) = B_i0 exp(U₁ π₁) … exp(U_λ π_λ) exp(X_i q)            Müller, Dynamics, 6.2

with the unit screws x, y, z (shifts) and rx, ry, rz (turns), in the order they are named in.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mozzi.algorithms.algorithm import Algorithm, shape_of
from mozzi.algorithms.bodies import BodyData, replace
from mozzi.algorithms.recursion import Mechanism, mechanism
from mozzi.errors import ModelError
from mozzi.lie import SE3, Inertia, Twist
from mozzi.program.differentiate import jacobian

__all__ = ["Sensitivity", "sensitivity"]

INERTIAL = ("mass", "hx", "hy", "hz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")
GEOMETRIC = {"rx": 0, "ry": 1, "rz": 2, "x": 3, "y": 4, "z": 5}


def sensitivity(
    function: Algorithm, model: Any, parameters: str | Iterable[str], **options: Any
) -> Sensitivity:
    """The derivative of a function of the model with respect to named parameters, as a kernel.

    ``mz.sensitivity(mz.inverse_dynamics, arm, ["link3.mass", "joint2.x"])(q, v, a)`` has the shape
    of the joint forces and one more axis, the parameters in the order of their names:

    - of a body:  ``.mass``, ``.hx .hy .hz`` (first moment), ``.Jxx .Jxy .Jxz .Jyy .Jyz .Jzz`` (at
      the origin of its frame);
    - of a joint: ``.x .y .z .rx .ry .rz``, shifts along and turns about the axes of the frame of
      its body, zero in the model as it is.

    ``options`` are those of the function (``frame=``, ``rep=``, ``prescribed=``); optional arrays
    are taken where they are True (``wrenches=True``). The numbers may differ from those of the
    model: ``kernel(q, v, a, parameters=[…])``, in which ``kernel.nominal`` is the model as it is,
    and ``kernel.value`` is the function itself with these numbers.
    """
    if not isinstance(function, Algorithm):
        name = getattr(function, "__name__", repr(function))
        raise TypeError(f"sensitivity: {name} is no algorithm of a model, such as mz.pose")
    names = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    return Sensitivity(function, model, names, options)


class Sensitivity:
    """A derivative with respect to parameters: called with what the function takes."""

    def __init__(
        self, function: Algorithm, model: Any, names: tuple[str, ...], options: dict[str, Any]
    ):
        self.function, self.model, self.names = function, model, names
        self.nominal = nominal_of(model, names)
        """The parameters of the model as it is."""
        self.arrays = tuple(
            n for n in function.arrays if n in function.required or options.get(n) is True
        )
        self.options = {n: x for n, x in options.items() if n not in function.arrays}
        self._kernels: dict[str, Any] = {}

    def __call__(self, *arrays: Any, parameters: Any = None) -> Any:
        """∂ function / ∂ parameters: one more axis, at the end."""
        return self._kernel("derivative")(*arrays, self._numbers(parameters))

    def value(self, *arrays: Any, parameters: Any = None) -> Any:
        """The function with these parameters."""
        return self._kernel("value")(*arrays, self._numbers(parameters))

    def trace(self, *arrays: Any, parameters: Any) -> Any:
        """The function while tracing, with scalars as parameters."""
        view = varied(self.model, self.names, parameters)
        given = dict(zip(self.arrays, arrays, strict=True))
        return self.function._run(view, (), given | self.options)

    def _derivative(self, *arrays: Any, parameters: Any) -> Any:
        out = self.trace(*arrays, parameters=parameters)
        if isinstance(out, tuple):
            return tuple(jacobian(x, parameters) for x in out)
        return jacobian(out, parameters)

    def _numbers(self, parameters: Any) -> np.ndarray:
        numbers = self.nominal if parameters is None else np.asarray(parameters, dtype=float)
        if numbers.shape[-1:] != (len(self.names),):
            raise ValueError(
                f"parameters have shape {numbers.shape}; give {len(self.names)}: "
                f"{', '.join(self.names[:8])}"
            )
        return numbers

    def _kernel(self, what: str) -> Any:
        if what not in self._kernels:
            run = self._derivative if what == "derivative" else self.trace
            self._kernels[what] = self.compile(run, f"{self.function.name}_{what}")
        return self._kernels[what]

    def compile(self, run: Any, name: str, **settings: Any) -> Any:
        """A kernel of a function of the arrays and the parameters."""

        def call(*arrays: Any) -> Any:
            return run(*arrays[:-1], parameters=np.asarray(arrays[-1], dtype=object))

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        arguments = [inspect.Parameter(n, kind) for n in (*self.arrays, "parameters")]
        call.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
        shapes = {n: shape_of(n, self.model, self.options) for n in self.arrays}
        inputs = shapes | {"parameters": (len(self.names),)}
        build = importlib.import_module("mozzi.compile").compile
        return build(call, self.model, rolled=False, inputs=inputs, name=name, **settings)

    def __repr__(self) -> str:
        return f"<sensitivity of {self.function.name} to {', '.join(self.names)}>"


# -- models with other numbers --


def nominal_of(model: Any, names: Sequence[str]) -> np.ndarray:
    """The numbers that a model has for its named parameters."""
    numbers = []
    for name in names:
        k, what = _place(model, name)
        ten = model.body(k).inertia.parameters()
        numbers.append(float(ten[INERTIAL.index(what)]) if what in INERTIAL else 0.0)
    return np.array(numbers)


def varied(model: Any, names: Sequence[str], numbers: Sequence[Any]) -> Mechanism:
    """The mechanism whose named parameters are these scalars."""
    view = mechanism(model, rolled=False)
    bodies = list(view.bodies)
    inertial: dict[int, list[Any]] = {}
    for name, x in zip(names, numbers, strict=True):
        k, what = _place(model, name)
        body = bodies[k]
        if what in INERTIAL:
            ten = inertial.setdefault(k, list(model.body(k).inertia.parameters()))
            ten[INERTIAL.index(what)] = x
            I = body.frame.push(Inertia.from_parameters(ten))
            bodies[k] = replace(body, inertia=I)
        else:
            bodies[k] = _moved(body, what, x)
    return Mechanism(model, tuple(bodies), False, view.fixed)


def _moved(body: BodyData, what: str, x: Any) -> BodyData:
    """With the child moved by one more screw, at q = 0:  B exp(U π) in the frame of the body."""
    U = Twist.unflatten(1.0 if n == GEOMETRIC[what] else 0.0 for n in range(6))
    placement = body.placement @ SE3.exp(body.frame.push(U), x)
    return replace(body, placement=placement, seat=placement)


def _place(model: Any, name: str) -> tuple[int, str]:
    """The body of a parameter, and which of its numbers it is."""
    owner, _, what = name.rpartition(".")
    if what in INERTIAL:
        if owner in model.bodies:
            return model.bodies.index(owner), what
        raise ModelError(
            f"parameter {name!r}: no body {owner!r}; there are {', '.join(model.bodies[:8])}"
        )
    if what in GEOMETRIC:
        if owner in model.joint_names:
            return model.joint_names.index(owner), what
        raise ModelError(
            f"parameter {name!r}: no joint {owner!r}; there are {', '.join(model.joint_names[:8])}"
        )
    raise ModelError(
        f"parameter {name!r}: name it body.{{{', '.join(INERTIAL)}}} or "
        f"joint.{{{', '.join(GEOMETRIC)}}}"
    )
