"""How a mechanism answers to impulses of rows: Λ, and the velocities that they change.

    Λ = J M⁻¹ Jᵀ = Y D⁻¹ Yᵀ,    v⁺ − v = M⁻¹ Jᵀ x

Loops are equalities, eliminated first: their multipliers answer with −Λ_ee⁺ Λ_eo x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from mozzi.algorithms.constraints.multipliers import PropagatedRows, matrix, propagate
from mozzi.algorithms.constraints.one_sided.problem import ByRows, ByVelocities, Problem, eliminate
from mozzi.algorithms.constraints.rows.relative_motion import Moving
from mozzi.algorithms.constraints.rows.rows import Rows, joint_columns
from mozzi.algorithms.constraints.solve import Factor
from mozzi.algorithms.contact.rows import OneSided
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix
from mozzi.algorithms.recursion.blocks import apply
from mozzi.algorithms.recursion.mechanism import Body, Mechanism, RelativePose
from mozzi.algorithms.recursion.views import JointVector, PerBody
from mozzi.lie import Screws, Twist, Wrench
from mozzi.lie.small_matrices import Matrix
from mozzi.lie.vec import number
from mozzi.model.model import WORLD
from mozzi.program.scalar import Real, maximum

__all__ = ["Answer", "moved_by", "problem_of"]

Answer: TypeAlias = Callable[[Sequence[Real]], list[list[Real]]]
"""x of the one-sided rows ↦ the multipliers of all rows, block by block."""


def problem_of(
    model: Mechanism,
    q: JointVector,
    blocks: Sequence[OneSided],
    own: Sequence[PropagatedRows],
    loops: Sequence[PropagatedRows],
    move: Moving,
    g: Sequence[Real],
    U: PerBody[Screws[Wrench]],
    D: PerBody[Matrix],
    by_rows: bool = False,
) -> tuple[Problem, Answer]:
    """The one-sided problem w = Λ x + g of blocks, and what answers: in the velocities of the
    mechanism or in the twists of the bodies that touch, where these are fewer than the rows.
    """
    sets = [b.set for b in blocks]
    soft = [c for b in blocks for c in (b.compliance, *[0.0] * (len(b.rows) - 1))]
    if not (loops or by_rows) and len(g) > model.nv:
        J = jacobian(model, blocks, move)
        by_velocities = ByVelocities(mass_matrix(model, q).array(), J, g, sets, soft)
        return by_velocities, lambda x: _split(own, x)
    L, answer = admittance(model, own, loops)
    bodies = sorted({k for b in blocks for k in b.rows.wrenches})
    joints = any(b.rows.forces for b in blocks)
    if not (by_rows or joints) and 6 * len(bodies) < len(g):
        L6, G = _at_bodies(model, blocks, bodies, loops, move, U, D)
        return ByVelocities(inverse(L6), G, g, sets, soft, L6), answer
    for k, c in enumerate(soft):
        L[k][k] = L[k][k] if number(c) == 0.0 else L[k][k] + c
    return ByRows(L, g, sets), answer


def _at_bodies(
    model: Mechanism,
    blocks: Sequence[OneSided],
    bodies: Sequence[int],
    loops: Sequence[PropagatedRows],
    move: Moving,
    U: PerBody[Screws[Wrench]],
    D: PerBody[Matrix],
) -> tuple[list[list[Real]], list[list[Real]]]:
    """The admittance Λ₆ of the twists of the bodies that touch, and the rows G over these: Λ = G Λ₆
    Gᵀ, of whatever rank.
    """
    every: list[PropagatedRows] = []
    for k in bodies:
        unit = Screws(Wrench.unflatten(1.0 if i == n else 0.0 for i in range(6)) for n in range(6))
        rows = Rows(f"body {k}", {k: unit}, {}, lambda small: [0.0] * 6, [0.0] * 6)
        every.append(propagate(model, rows, move, U, D))
    G: list[list[Real]] = []
    for block in blocks:
        for n in range(len(block.rows)):
            line: list[Real] = []
            for k in bodies:
                W = block.rows.wrenches.get(k)
                line += [0.0] * 6 if W is None else list(W[n].flatten())
            G.append(line)
    return admittance(model, every, loops)[0], G


def inverse(L: list[list[Real]]) -> list[list[Real]]:
    """L⁻¹ of a symmetric matrix; where nothing can move, nearly infinite."""
    n = len(L)
    most: Real = 1e-100
    for k in range(n):
        most = maximum(most, L[k][k])
    solve = eliminate([[x + (1e-12 * most if i == j else 0.0) for j, x in enumerate(row)]
                       for i, row in enumerate(L)], range(n))  # fmt: skip
    return [solve([1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]


def moved_by(
    model: Mechanism,
    q: JointVector,
    T: PerBody[RelativePose],
    U: PerBody[Screws[Wrench]],
    D: PerBody[Matrix],
    parts: Sequence[PropagatedRows],
    impulses: Sequence[Sequence[Real]],
) -> Iterator[tuple[Body, list[Real]]]:
    """M⁻¹ Jᵀ x, joint by joint, every body after its parent."""
    change: dict[int, Twist] = {WORLD: Twist.zero()}
    for i in map(model.at, range(model.nb)):
        force: list[Real] = [0.0] * i.joint.nv
        for part, l in zip(parts, impulses, strict=True):
            for line, s in zip(part.y.get(i.index, ()), l, strict=False):
                force = [f + s * y for f, y in zip(force, line, strict=True)]
        X = T[i].pull(change[i.parent.index])
        d = apply(D[i], [f - e for f, e in zip(force, U[i].T @ X, strict=True)])
        change[i.index] = X + i.joint.screws(q[i]) @ d
        yield i, list(d)


def admittance(
    model: Mechanism, own: Sequence[PropagatedRows], loops: Sequence[PropagatedRows]
) -> tuple[list[list[Real]], Answer]:
    """Λ of the one-sided rows, and x ↦ the multipliers of all rows, block by block."""
    Y, DY, scale = matrix(model, [*own, *loops])
    m = sum(len(x.rows) for x in own)
    both = [[_dot(Y[i], DY[j]) if j <= i else 0.0 for j in range(len(Y))] for i in range(len(Y))]
    for i in range(len(Y)):
        for j in range(i):
            both[j][i] = both[i][j]
    L = [row[:m] for row in both[:m]]
    columns: list[list[Real]] = []
    if loops:
        factor = Factor.of(Y[m:], DY[m:], scale[m:])
        columns = [factor.multipliers(both[j][m:]) for j in range(m)]
        for i in range(m):
            for j in range(m):
                L[i][j] = L[i][j] - sum((e * c for e, c in zip(both[i][m:], columns[j])), 0.0)

    def answer(x: Sequence[Real]) -> list[list[Real]]:
        flat = list(x)
        for e in range(len(Y) - m):
            flat.append(-sum((c[e] * s for c, s in zip(columns, x, strict=True)), 0.0))
        return _split((*own, *loops), flat)

    return L, answer


def _split(parts: Sequence[PropagatedRows], x: Sequence[Real]) -> list[list[Real]]:
    """x, block by block."""
    out: list[list[Real]] = []
    start = 0
    for part in parts:
        out.append(list(x[start : start + len(part.rows)]))
        start += len(part.rows)
    return out


def jacobian(model: Mechanism, blocks: Sequence[OneSided], move: Moving) -> list[list[Real]]:
    """J of the rows, over all velocities."""
    J: list[list[Real]] = []
    for block in blocks:
        lines: list[list[Real]] = [[0.0] * model.nv for _ in range(len(block.rows))]
        for i, part in joint_columns(model, block.rows, move):
            start = i.data.v
            for line, own in zip(lines, part, strict=True):
                for k, x in enumerate(own):
                    line[start + k] = line[start + k] + x
        J.extend(lines)
    return J


def _dot(a: dict[int, Real], b: dict[int, Real]) -> Real:
    return sum((x * b[c] for c, x in a.items() if c in b), 0.0)
