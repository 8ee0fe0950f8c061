"""Configurations that are none, and numbers that are not finite: seen by compiled code, named here.

Kernels of algorithms look at the arrays they are given while they have them in registers, and count
alarms (`targets/cpu/batch_loop.py`); what is wrong with which sample is found here, after an alarm,
so that a call without one pays next to nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import numpy as np

from mozzi.algorithms.calls.arguments import ARRAYS, shape_of
from mozzi.algorithms.recursion.held import held_by
from mozzi.algorithms.recursion.mechanism import mechanism
from mozzi.errors import ConfigurationError, KindError, ShapeError
from mozzi.model import Model
from mozzi.types import Array, ArrayLike, JointChoice

__all__ = [
    "check", "configurations", "finite", "fitting", "look", "looks", "unchecked", "units_of",
]  # fmt: skip

UNBOUNDED = ("q_lower", "q_upper")  # of limits: infinity is one, a quaternion has none
RATES = ("q_dot", "q_ddot")  # as many numbers as a configuration, and none
#: They read one of a and tau for each coordinate; what the other one has there is left alone.
HYBRID = ("hybrid_dynamics", "hybrid_dynamics_derivatives", "hybrid_dynamics_directional")


class _Now(threading.local):
    trusted = False


_now = _Now()
_on = True


def configurations(names: Sequence[str]) -> tuple[str, ...]:
    """Those of these arrays that are configurations."""
    found = (n for n in names if n in ARRAYS and ARRAYS[n][0] == ("q",))
    return tuple(n for n in found if n not in (*UNBOUNDED, *RATES))


def finite(names: Sequence[str]) -> tuple[str, ...]:
    """Those of these arrays whose numbers must all be finite."""
    return tuple(n for n in names if n not in UNBOUNDED)


def units_of(names: Sequence[str], model: Model) -> dict[str, tuple[int, ...]]:
    """Arrays whose numbers must be finite, and where configurations among them have quaternions."""
    found: dict[str, tuple[int, ...]] = dict.fromkeys(finite(names), ())
    return found | dict.fromkeys(configurations(names), model.quaternions)


def looks() -> bool:
    """Whether anybody looks, in this thread."""
    return _on and not _now.trusted


def look(
    function: str,
    model: Model,
    arrays: Mapping[str, ArrayLike],
    options: Mapping[str, object] | None = None,
) -> None:
    """Raise for the first configuration that is none, with its joint and its sample, and for the
    first number of another array that is not finite, if it is read with these options.
    """
    if not looks():
        return
    found = configurations(tuple(arrays))
    for name in found:
        try:
            model.check_configuration(arrays[name])
        except ConfigurationError as error:
            raise ConfigurationError(f"{function}: {name}: {error}") from None
    for name in finite(tuple(arrays)):
        if name not in found:
            given = arrays[name]
            if function in HYBRID and name in ("a", "tau"):
                given = _read(model, name, given, options or {})
            _check_finite(function, model, name, given)


def _read(model: Model, name: str, given: ArrayLike, options: Mapping[str, object]) -> ArrayLike:
    """a where it is prescribed and tau elsewhere; zeros where the other one is read."""
    x = np.asarray(given)
    if x.dtype.kind != "f" or x.shape[-1:] != (model.nv,):
        return given
    bodies = held_by(mechanism(model), cast("JointChoice", options.get("prescribed", ()))).bodies
    held = np.array([h for body in bodies for h in body.held], dtype=bool)
    return np.where(held if name == "a" else ~held, x, 0.0)


def fitting(function: str, model: Model, **given: ArrayLike) -> list[Array]:
    """Arrays as floats, where they fit the model and each other and `look` finds nothing: for
    functions that are no programs.
    """
    batches: dict[str, tuple[int, ...]] = {}
    for name, x in given.items():
        array, own = np.asarray(x), shape_of(name, model)
        if array.dtype.kind not in "biuf":
            raise KindError(function, name, x, "an array of real numbers")
        edge = array.ndim - len(own)
        if edge < 0 or array.shape[edge:] != own:
            sizes = zip(ARRAYS[name][0], own, strict=True)
            told = {"q": "nq = {}", "v": "nv = {}", "b": "nb = {}", "m": "{} rows (see loop_rows)"}
            has = ", ".join(told[axis].format(n) for axis, n in sizes if axis in told)
            raise ShapeError(
                function, name, array.shape, own, has and f"{model.name} has {has}"
            )
        batches[name] = array.shape[:edge]
    try:
        np.broadcast_shapes(*batches.values())
    except ValueError:
        told = ", ".join(f"{name} {batch}" for name, batch in batches.items() if batch)
        raise ConfigurationError(f"{function}: batch axes do not broadcast: {told}") from None
    look(function, model, given)
    return [np.asarray(x, dtype=float) for x in given.values()]


def _check_finite(function: str, model: Model, name: str, given: ArrayLike) -> None:
    x = np.asarray(given)
    if x.dtype.kind != "f" or np.isfinite(x).all():
        return  # what holds no numbers is told where it is used
    axes = ARRAYS["v" if name == "v0" else name][0] if name in (*ARRAYS, "v0") else ()
    at = tuple(map(int, np.argwhere(~np.isfinite(x))[0]))
    sample, own = at[: len(at) - len(axes)], at[len(at) - len(axes) :]
    of = ""
    if "v" in axes and own[axes.index("v")] < model.nv:
        of = f" of {model.v_names[own[axes.index('v')]]!r}"
    elif "b" in axes and own[axes.index("b")] < model.nb:
        of = f" of body {list(model)[own[axes.index('b')]].name!r}"
    raise ConfigurationError(
        f"{function}: {name}{list(own) if own else ''}{of} is {x[at]}"
        f"{f' in sample {list(sample)}' if sample else ''}; give finite numbers, or switch the "
        "look at them off with mozzi.set_checks(False)"
    )


@contextmanager
def unchecked() -> Generator[None]:
    """Take configurations as they are, in this thread: for functions that have looked at theirs,
    and whose own may be none (a sample that diverged is NaN from there on).
    """
    before, _now.trusted = _now.trusted, True
    try:
        yield
    finally:
        _now.trusted = before


def check(on: bool) -> None:
    """Whether anything is checked, in the whole process."""
    global _on
    _on = on
