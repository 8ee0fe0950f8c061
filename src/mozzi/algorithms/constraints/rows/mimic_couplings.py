"""Where mimic joints act: a coupling of coordinates is a row like that of a loop, whose force is a
joint force on each of the joints that it ties.

Coordinates that satisfy couplings are found in `model/constraints/mimic_coordinates.py`.
"""

from __future__ import annotations

from mozzi.algorithms.constraints.rows.relative_motion import Moving, Rows
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.model import Coupling
from mozzi.program.scalar import Real

__all__ = ["coupling_rows"]


def coupling_rows(model: Mechanism, coupling: Coupling, move: Moving) -> Rows:
    """The row of a linear relation of coordinates, Σ c q = offset, such as a mimic joint's."""
    total: Real = -coupling.offset
    forces: dict[int, list[list[Real]]] = {}
    for joint, k, c in coupling.terms:
        i = model.at(model.model.joint_index(joint))
        total = total + move.q[i][k] * c
        block = forces.setdefault(i.index, [[0.0] * i.joint.nv])
        block[0][k] += c
    return Rows(coupling.name, {}, forces, lambda _: [total], [0.0])
