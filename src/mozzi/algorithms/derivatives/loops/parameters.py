"""Sensitivities to parameters of inverse dynamics with loops of which some joints are actuated.

The forces of the tree and the Jacobian A of the loops are the functions of the parameters; what
actuators bear of them follows as in `first.py`. At fixed q a change of the geometry
opens the loops: then A is that of the rows as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from mozzi.algorithms.calls.algorithm import Algorithm, Options
from mozzi.algorithms.constraints.rows.rows import loop_acceleration, loop_jacobian
from mozzi.algorithms.derivatives.loops.first import InverseChanges
from mozzi.algorithms.derivatives.parameters import Sensitivity, sensitivity, where_shared
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.loops.actuation import SHARING, Shares, check_accelerations, shared
from mozzi.types import Array, ArrayLike

__all__ = ["derivative", "value"]


@where_shared("value")
def value(of: Sensitivity, arrays: Sequence[ArrayLike], numbers: Array) -> Array:
    """The torques with these numbers of the parameters."""
    return _shares(of, arrays, numbers).tau


@where_shared("derivative")
def derivative(of: Sensitivity, arrays: Sequence[ArrayLike], numbers: Array) -> Array:
    """∂τ/∂parameters (…, nv, p)."""
    x = InverseChanges(_shares(of, arrays, numbers))
    tree = _tree(of)(*arrays, parameters=numbers)
    turn = _of(of, loop_jacobian)(arrays[0], parameters=numbers)  # ∂A/∂π (…, m, nv, p)
    pull = np.einsum("...mvp,...m->...vp", turn, x.multipliers)
    return x.solve(tree - pull, np.einsum("...mvp,...v->...mp", turn, x.y))


def _shares(of: Sensitivity, arrays: Sequence[ArrayLike], numbers: Array) -> Shares:
    q, v, a = (np.asarray(x, float) for x in arrays[:3])
    left = _of(of, loop_acceleration).value(q, v, a, parameters=numbers)
    check_accelerations(of.model, q, v, a, left)
    A = _of(of, loop_jacobian).value(q, parameters=numbers)
    tau_r = _tree(of).value(*arrays, parameters=numbers)
    return shared(of.model, q, A, tau_r, cast("Options", of.options))


def _of(of: Sensitivity, function: Algorithm) -> Sensitivity:
    return sensitivity(function, of.model, of.names)


def _tree(of: Sensitivity) -> Sensitivity:
    """The same of the tree, whose joints are all actuated."""
    options = {n: x for n, x in of.options.items() if n not in SHARING}
    options |= {n: True for n in of.arrays if n not in inverse_dynamics.required}
    made = cast("Callable[..., Sensitivity]", sensitivity)
    return made(inverse_dynamics, of.model, of.names, **options)
