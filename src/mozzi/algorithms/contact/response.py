"""How a mechanism answers to impulses of rows: Λ, and the velocities that they change.

    Λ = J M⁻¹ Jᵀ = Y D⁻¹ Yᵀ,    v⁺ − v = M⁻¹ Jᵀ x

Loops are equalities, eliminated first: their multipliers answer with −Λ_ee⁺ Λ_eo x. The rows of
loops that count are those that are held over a step, as in forward dynamics (`row_choice`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mozzi.algorithms.constraints.admittance import PropagatedRows, matrix, propagate
from mozzi.algorithms.constraints.one_sided.problem import ByRows, ByVelocities, Problem, dot
from mozzi.algorithms.constraints.one_sided.rounding import rounding
from mozzi.algorithms.constraints.one_sided.sets import reciprocal
from mozzi.algorithms.constraints.row_choice import rows_kept
from mozzi.algorithms.constraints.rows.relative_motion import Moving
from mozzi.algorithms.constraints.rows.rows import Rows, joint_columns
from mozzi.algorithms.constraints.solve import Factor
from mozzi.algorithms.constraints.straight_rows import StraightRows
from mozzi.algorithms.contact.rows import OneSided
from mozzi.algorithms.dynamics.mass_matrix import mass_matrix
from mozzi.algorithms.recursion.blocks import apply
from mozzi.algorithms.recursion.mechanism import Body, Mechanism, RelativePose
from mozzi.algorithms.recursion.views import ByBody, JointVector, PerBody
from mozzi.lie import SE3, Screws, Twist, Vec3, Wrench
from mozzi.lie.small_matrices import Matrix
from mozzi.lie.vec import number
from mozzi.model.model import WORLD
from mozzi.program.scalar import Real, maximum, select

__all__ = ["Answer", "moved_by", "problem_of"]

HELD = 1e-12
"""Of the admittance of a row, what rounding leaves where loops or drives do not let it move: it
answers to no impulse then, and its law is missed.
"""

Answer: TypeAlias = Callable[[Sequence[Real]], list[list[Real]]]
"""x of the one-sided rows ↦ what propagated rows exert, part by part."""


def problem_of(
    model: Mechanism,
    q: JointVector,
    C: ByBody[SE3],
    blocks: Sequence[OneSided],
    loops: Sequence[PropagatedRows],
    move: Moving,
    g: Sequence[Real],
    U: PerBody[Screws[Wrench]],
    D: PerBody[Matrix],
    by_rows: bool = False,
) -> tuple[Problem, list[PropagatedRows], Answer]:
    """The one-sided problem w = Λ x + g of blocks, and what answers to x: in the velocities of the
    mechanism or in the twists of the bodies that touch, where these are fewer than the rows.
    """
    sets = [b.set for b in blocks]
    soft = [c for b in blocks for c in (b.compliance, *[0.0] * (len(b.rows) - 1))]
    bodies = sorted({k for b in blocks for k in b.rows.wrenches})
    contacts = all(b.axes for b in blocks)
    few = contacts and not by_rows and 6 * len(bodies) < len(g)
    if few and (loops or 6 * len(bodies) < model.nv):
        at = _at_bodies(model, C, blocks, bodies, move, U, D)
        L6, _, move_bodies = admittance(model, at.rows, loops)
        problem = ByVelocities(inverse(L6), at.G, g, sets, soft, L6)
        return problem, [*at.rows, *loops], lambda x: move_bodies(problem.pushed(x))
    own = [propagate(model, b.rows, move, U, D) for b in blocks]
    if not (loops or by_rows) and len(g) > model.nv:
        J = jacobian(model, blocks, move)
        problem = ByVelocities(mass_matrix(model, q).array(), J, g, sets, soft)
        return problem, own, lambda x: _split(own, x)
    L, size, answer = admittance(model, own, loops)
    for k, c in enumerate(soft):
        if number(c) != 0.0:
            L[k][k], size[k] = L[k][k] + c, size[k] + c
    return ByRows(L, g, sets, size), [*own, *loops], answer


@dataclass
class Touching:
    """Twists of the bodies that touch, along the axes of the world at a point of each: rows that
    measure them, and those of the contacts over these, G.
    """

    rows: list[PropagatedRows]
    G: list[list[Real]]


def _at_bodies(
    model: Mechanism,
    C: ByBody[SE3],
    blocks: Sequence[OneSided],
    bodies: Sequence[int],
    move: Moving,
    U: PerBody[Screws[Wrench]],
    D: PerBody[Matrix],
) -> Touching:
    """Λ = G Λ₆ Gᵀ, of whatever rank. The point of a body is that of its first contact, so that G
    has few entries where the ground does not move: forces are along the axes.
    """
    axes = [Vec3(*(1.0 if k == n else 0.0 for k in range(3))) for n in range(3)]
    points: dict[int, Vec3] = {}
    for block in blocks:
        for k in block.rows.wrenches:
            points.setdefault(k, block.point or C[model.at(k)].p)
    every: list[PropagatedRows] = []
    for k in bodies:
        i = model.at(k)
        p = C[i].R.unrotate(points[k] - C[i].p)
        turned = [C[i].R.unrotate(e) for e in axes]
        W = [Wrench(e, Vec3.zero()) for e in turned] + [Wrench(p.cross(e), e) for e in turned]
        rows = Rows(f"body {k}", {k: Screws(W)}, {}, lambda small: [0.0] * 6, [0.0] * 6)
        every.append(propagate(model, rows, move, U, D))
    G: list[list[Real]] = []
    for block in blocks:
        for axis in block.axes:
            line: list[Real] = []
            for k in bodies:
                sign = block.ends.get(k, 0.0)
                f = axis * sign
                m = f if block.point is None else (block.point - points[k]).cross(f)
                line += [*m, *(Vec3.zero() if block.point is None else f)] if sign else [0.0] * 6
            G.append(line)
    return Touching(every, G)


def inverse(L: list[list[Real]]) -> list[list[Real]]:
    """L⁻¹ of a symmetric matrix, by l d lᵀ = L; where nothing can move, nearly infinite."""
    n = len(L)
    most: Real = rounding(False).least
    for k in range(n):
        most = maximum(most, L[k][k])
    A = [[x + (1e-12 * most if i == j else 0.0) for j, x in enumerate(r)] for i, r in enumerate(L)]
    d: list[Real] = []  # 1/d
    l: list[list[Real]] = [[0.0] * n for _ in range(n)]
    for k in range(n):
        d.append(reciprocal(A[k][k]))
        for i in range(k + 1, n):
            l[i][k] = A[i][k] * d[k]
            for j in range(k + 1, i + 1):
                A[i][j] = A[i][j] - l[i][k] * A[j][k]
    X: list[list[Real]] = [[float(i == j) for j in range(n)] for i in range(n)]  # l⁻¹
    for j in range(n):
        for i in range(j + 1, n):
            X[i][j] = -dot(l[i][j + 1 : i], [X[k][j] for k in range(j + 1, i)], l[i][j])
    out: list[list[Real]] = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            out[i][j] = out[j][i] = dot(
                [X[k][i] * d[k] for k in range(i, n)], [X[k][j] for k in range(i, n)]
            )
    return out


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
) -> tuple[list[list[Real]], list[Real], Answer]:
    """Λ of the one-sided rows; what its diagonal is measured by (that without loops, where these
    hold a row); and x ↦ the multipliers of all rows, block by block.
    """
    Y, DY, scale = matrix(model, [*own, *loops])
    m = sum(len(x.rows) for x in own)
    both = [[_dot(Y[i], DY[j]) if j <= i else 0.0 for j in range(len(Y))] for i in range(len(Y))]
    for i in range(len(Y)):
        for j in range(i):
            both[j][i] = both[i][j]
    L = [row[:m] for row in both[:m]]
    size = [L[k][k] for k in range(m)]
    columns: list[list[Real]] = []
    if loops:
        kept = rows_kept(model, StraightRows(loops))
        factor = Factor.of(Y[m:], DY[m:], scale[m:], kept)
        columns = [factor.multipliers(both[j][m:]) for j in range(m)]
        for i in range(m):
            for j in range(m):
                L[i][j] = L[i][j] - sum((e * c for e, c in zip(both[i][m:], columns[j])), 0.0)
        for k in range(m):
            moves = L[k][k] > HELD * size[k]
            size[k] = select(moves, L[k][k], size[k])
            for j in range(m):
                L[k][j] = select(moves, L[k][j], 0.0)
                L[j][k] = L[k][k] if j == k else select(moves, L[j][k], 0.0)

    def answer(x: Sequence[Real]) -> list[list[Real]]:
        flat = list(x)
        for e in range(len(Y) - m):
            flat.append(-sum((c[e] * s for c, s in zip(columns, x, strict=True)), 0.0))
        return _split((*own, *loops), flat)

    return L, size, answer


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
