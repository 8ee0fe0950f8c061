"""Rows A(q) v = 0 that users write: A is traced, and Ȧ v is its derivative along the motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from mozzi.algorithms.calls.inlining import placed, whole
from mozzi.algorithms.constraints.rows.relative_motion import Moving, Rows
from mozzi.algorithms.kinematics.configuration import rates
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.errors import ModelError
from mozzi.lie.vec import number
from mozzi.model import Model, VelocityRows
from mozzi.model.constraints.rolling import RowFunction, closure_name, row_matrix
from mozzi.program.arrays import traced_array
from mozzi.program.differentiate import forward
from mozzi.program.digest import digest
from mozzi.program.program import Input, trace
from mozzi.program.scalar import Real
from mozzi.program.settings import settings, tracing
from mozzi.types import Traced

__all__ = ["blocks_of", "user_rows", "velocity_rows_of"]


def user_rows(model: Mechanism, part: VelocityRows, move: Moving) -> Rows:
    """The rows as joint forces, joint by joint; they have no position part."""
    names, arrays = ["q"], [whole(model, move.q)]
    if move.v is not None:
        names, arrays = [*names, "v"], [*arrays, whole(model, move.v)]
    key = part, "rates" if move.v is not None else "rows"
    make = partial(_rows_and_rates if move.v is not None else _rows, part)
    A, *rate = placed(model.model, key, make, names, arrays)
    still: list[Real] = [0.0] * part.rows
    bias: Sequence[Real] = list(rate[0]) if rate else still
    return Rows(part.name, {}, blocks_of(model, A), lambda _: still, bias)


def blocks_of(model: Mechanism, A: Traced) -> dict[int, list[list[Real]]]:
    """A (m, nv) joint by joint, where it is not structurally zero."""
    forces: dict[int, list[list[Real]]] = {}
    for k, body in enumerate(model.bodies):
        block = A[:, body.v : body.v + body.joint.nv]
        if any(number(x) != 0.0 for x in block.ravel()):
            forces[k] = [list(line) for line in block]
    return forces


def velocity_rows_of(model: Model, name: str, function: RowFunction) -> VelocityRows:
    """Rows of a model that a user wrote: traced once, to see what they are."""
    what = closure_name(model, name, "velocity rows")

    def rows(q: Traced) -> Traced:
        with tracing(replace(settings(), rolled=False)):
            return row_matrix(name, function, model, traced_array(q))

    try:
        program = trace(rows, [Input("q", (model.nq,))])
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(
            f"{what}: the function cannot be traced ({type(error).__name__}: {error}); write it "
            "with NumPy's functions, where of mozzi, and algorithms such as mozzi.jacobian"
        ) from error
    return VelocityRows(name, function, program.outputs[0].shape[0], digest(program))


def _rows(part: VelocityRows, model: Model, q: Traced) -> tuple[Traced]:
    return (part.matrix(model, traced_array(q)),)


def _rows_and_rates(
    part: VelocityRows, model: Model, q: Traced, v: Traced
) -> tuple[Traced, Traced]:
    """A and Ȧ v."""
    A = part.matrix(model, traced_array(q))
    return A, forward(A, q, rates(model, q, v)) @ v
