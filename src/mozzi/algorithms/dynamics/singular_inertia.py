"""Mass matrices that are singular at some configurations: told where a result is not finite.

Articulated bodies divide by what resists their joints. Where that is nothing at any state they are
refused while tracing (`recursion/articulated.py`); where it is nothing at one state, a point mass
that a turning arm has pulled in to the axis, compiled code sees that results are not finite
(`targets/cpu/promises.py`), and the reason is found here, so that other calls pay nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from mozzi.algorithms.calls.arguments import ARRAYS
from mozzi.algorithms.calls.guard import unchecked
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix
from mozzi.errors import SingularError
from mozzi.model import Model
from mozzi.types import Array, ArrayLike

__all__ = ["moves_without_inertia", "refuse_singular"]

NO_INERTIA = 1e-13
"""Eigenvalues of a mass matrix with ones on its diagonal that rounding may leave of zero."""


def moves_without_inertia(model: Model, q: ArrayLike) -> str | None:
    """The coordinate that moves most in a motion without kinetic energy, where there is one."""
    with unchecked():
        M = mass_matrix(model, q)
    if not np.isfinite(M).all():
        return None
    root = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(M / np.outer(root, root))
    if not len(values) or values[0] > NO_INERTIA:
        return None
    return model.v_names[int(np.abs(vectors[:, 0] / root).argmax())]


def refuse_singular(
    function: str, model: Model, arrays: Mapping[str, ArrayLike], results: object
) -> None:
    """Raise where a result is not finite and the tree can move without inertia."""
    given = cast("tuple[object, ...]", results if isinstance(results, tuple) else (results,))
    arrived = (cast("Array", x) for x in given if isinstance(x, np.ndarray))
    found = [x for x in arrived if x.dtype.kind == "f"]
    if "q" not in arrays or all(np.isfinite(x).all() for x in found):
        return
    axes = {n: len(ARRAYS[n][0]) for n in arrays if n in ARRAYS}
    shapes = (np.shape(arrays[n])[: np.ndim(arrays[n]) - k] for n, k in axes.items())
    batch = np.broadcast_shapes(*shapes)
    fine = np.ones(batch, dtype=bool)
    for x in found:
        fine &= np.isfinite(x).all(axis=tuple(range(len(batch), x.ndim)))
    q = np.broadcast_to(np.asarray(arrays["q"], dtype=float), (*batch, model.nq))
    for at in np.argwhere(~fine).tolist():
        moves = moves_without_inertia(model, q[tuple(at)])
        if moves is not None:
            which = f" of sample {at}" if at else ""
            if not {"twists", "twist_rates"}.isdisjoint(arrays):
                raise SingularError(
                    f"{function}: the Jacobian of {model.name!r} is singular at q{which}: "
                    f"{moves!r} can move there while bodies do not; give some regularization"
                )
            raise SingularError(
                f"{function}: the mass matrix of {model.name!r} is singular at q{which}: {moves!r} "
                "can move without inertia there, so forces determine no acceleration; give its "
                "body inertia about the joint, or the joint armature"
            )
