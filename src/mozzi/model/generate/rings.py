# pyright: reportConstantRedefinition=false
"""The overconstrained linkages of the books, in random position: rings of bodies that move although
their joints are too few for it, because of how their axes lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from mozzi.errors import ModelError
from mozzi.model.generate.linkages import Axis, Linkage, ring

__all__ = [
    "LINKAGES", "bennett", "bennett_axes", "bricard", "closed_axes", "goldberg", "myard", "planar",
    "planar_axes", "sarrus", "spherical", "spherical_axes",
]  # fmt: skip


def planar(n: int = 4, seed: int = 0) -> Linkage:
    """n parallel axes: n − 3 degrees of freedom, 3 of 5 rows of the loop are dependent."""
    return ring(f"planar_{n}", planar_axes(n, np.random.default_rng(seed + 1000)), seed)


def planar_axes(n: int, rng: np.random.Generator) -> list[Axis]:
    """n parallel axes at random."""
    turns = np.sort(rng.uniform(0.0, 2.0 * math.pi / n, n)) + np.arange(n) * 2.0 * math.pi / n
    points = rng.uniform(0.6, 1.4, n)[:, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    heights = rng.uniform(-0.3, 0.3, n)
    return [((x, y, z), (0.0, 0.0, 1.0)) for (x, y), z in zip(points, heights, strict=True)]


def spherical(n: int = 4, seed: int = 0) -> Linkage:
    """n axes through a point: n − 3 degrees of freedom."""
    return ring(f"spherical_{n}", spherical_axes(n, np.random.default_rng(seed + 2000)), seed)


def spherical_axes(n: int, rng: np.random.Generator) -> list[Axis]:
    """n axes through a point at random."""
    turns = np.arange(n) * 2.0 * math.pi / n + rng.uniform(-0.4, 0.4, n)
    slopes = rng.uniform(0.5, 1.0, n)
    axes: list[Axis] = []
    for t, s in zip(turns, slopes, strict=True):
        e = np.array([math.sin(s) * math.cos(t), math.sin(s) * math.sin(t), math.cos(s)])
        axes.append((tuple(e * rng.uniform(0.5, 1.0)), tuple(e)))
    return axes


def sarrus(
    seed: int = 0, height: float | None = None, stiffness: float = 2000.0
) -> Linkage:
    """Two times three parallel axes: a straight motion by turning joints (Sarrus 1853). A spring
    keeps it from falling flat, where it is singular: its rank falls from five to three. height:
    of the platform; None: at random.
    """
    rng = np.random.default_rng(seed + 3000)
    height = rng.uniform(0.8, 1.4) if height is None else height
    angle = rng.uniform(0.9, 2.2)
    axes: list[Axis] = []
    for side, turn in ((1, 0.0), (-1, angle)):
        out = np.array([math.cos(turn), math.sin(turn), 0.0])
        along = np.array([-math.sin(turn), math.cos(turn), 0.0])
        up = np.array([0.0, 0.0, height])
        three = [0.6 * out, (0.6 + rng.uniform(0.3, 0.8)) * out + 0.5 * up, 0.6 * out + up]
        three = [p + rng.uniform(-0.2, 0.2) * along for p in three]
        axes += [(tuple(p), tuple(along)) for p in three[::side]]
    return ring("sarrus", axes, seed, stiffness=stiffness)


# -- rings by lengths and twists of their links --

Link = tuple[float, float, float]
"""(a, α, d): the distance to the next axis, the angle to it, and the offset along this one."""


def bennett(seed: int = 0) -> Linkage:
    """Bennett's four bars: (a, α), (b, β) twice with a sin β = b sin α (1903)."""
    return ring("bennett", bennett_axes(np.random.default_rng(seed + 4000)), seed)


def bennett_axes(rng: np.random.Generator) -> list[Axis]:
    """The axes of such a linkage at random."""
    while True:
        a, (alpha, beta) = rng.uniform(0.6, 1.2), rng.uniform(0.4, 2.7, 2)
        b = a * math.sin(beta) / math.sin(alpha)
        if 0.5 < b < 2.0 and abs(alpha - beta) > 0.3 and abs(alpha + beta - math.pi) > 0.3:
            return closed_axes("bennett", [(a, alpha, 0.0), (b, beta, 0.0)] * 2, rng)


def goldberg(seed: int = 0) -> Linkage:
    """Goldberg's five bars: two linkages of Bennett with a common link that is taken out, and two
    of their links made one (1943).
    """
    rng = np.random.default_rng(seed + 5000)
    while True:
        a, (alpha, beta, gamma) = rng.uniform(0.6, 1.2), rng.uniform(0.4, 1.4, 3)
        b, c = (a * math.sin(x) / math.sin(alpha) for x in (beta, gamma))
        apart = min(abs(alpha - beta), abs(alpha - gamma), abs(beta - gamma))
        if 0.4 < b < 1.6 and 0.4 < c < 1.6 and apart > 0.2:
            links = [(b, beta), (a, alpha), (b + c, beta + gamma), (a, alpha), (c, gamma)]
            own = [(x, t, 0.0) for x, t in links]
            return ring("goldberg", closed_axes("goldberg", own, rng), seed)


def myard(seed: int = 0) -> Linkage:
    """Myard's five bars: two linkages of Bennett with right angles, mirrored (1931)."""
    rng = np.random.default_rng(seed + 6000)
    alpha, b = rng.uniform(0.5, 1.1), rng.uniform(0.8, 1.4)
    a, right = b * math.sin(alpha), math.pi / 2
    links = [
        (a, alpha), (b, right), (0.0, math.pi - 2.0 * alpha), (b, right), (a, math.pi - alpha)
    ]  # fmt: skip
    own = [(x, t, 0.0) for x, t in links]
    return ring("myard", closed_axes("myard", own, rng), seed)


def bricard(kind: str = "line", seed: int = 0) -> Linkage:
    """Bricard's six bars (1927): symmetric to a line, to a plane, or "trihedral"."""
    rng = np.random.default_rng(seed + 7000)
    a, right = rng.uniform(0.6, 1.2, 3), math.pi / 2
    if kind == "line":
        twist, d = rng.uniform(0.5, 2.6, 3), rng.uniform(-0.3, 0.3, 3)
        links = [(a[k % 3], twist[k % 3], d[k % 3]) for k in range(6)]
    elif kind == "trihedral":  # Σ a² of the odd links is that of the even ones
        b = rng.uniform(0.6, 1.2, 3)
        b *= np.linalg.norm(a) / np.linalg.norm(b)
        own = np.stack([a, b], axis=1).ravel()
        links = [(x, right if k % 2 == 0 else -right, 0.0) for k, x in enumerate(own)]
    elif kind == "plane":
        return ring("bricard_plane", _mirrored(rng), seed)
    else:
        raise ModelError(f"bricard: no kind {kind!r}; there are 'line', 'plane' and 'trihedral'")
    own = [tuple(map(float, x)) for x in links]
    return ring(f"bricard_{kind}", closed_axes(f"bricard_{kind}", own, rng), seed)


def _mirrored(rng: np.random.Generator) -> list[Axis]:
    """Two axes in the plane y = 0, and two on one side that are seen in this mirror."""

    def axis(x: float, y: float, z: float) -> Axis:
        e = rng.normal(size=3)
        return ((x, y, z), tuple(e / np.linalg.norm(e)))

    mirror = np.array([1.0, -1.0, 1.0])
    first, fourth = (
        (p, tuple(np.array(e) * (1.0, 0.0, 1.0))) for p, e in (axis(-1, 0, 0), axis(1, 0, 0.2))
    )
    one = [axis(-0.5, *rng.uniform(0.5, 0.9, 2)), axis(0.6, *rng.uniform(0.4, 0.9, 2))]
    other = [(tuple(mirror * p), tuple(mirror * e)) for p, e in one]
    return [first, *one, fourth, *other[::-1]]


def closed_axes(
    name: str, links: Sequence[tuple[float, ...]], rng: np.random.Generator
) -> list[Axis]:
    """The axes of a ring of these links, where it is closed and moves regularly."""
    for _ in range(400):
        start = rng.uniform(-math.pi, math.pi, len(links))
        angles = _close(links, start)
        if angles is None:
            continue
        axes, T = list[Axis](), np.eye(4)
        for (a, alpha, d), angle in zip(links, angles, strict=True):
            axes.append((T[:3, 3].tolist(), T[:3, 2].tolist()))
            T = T @ _link(a, alpha, d, angle)
        values = np.linalg.svd(_screws(axes), compute_uv=False)
        gap = values[values > 1e-9 * values[0]].min() / values[0]
        if gap > 0.02 and (values > 1e-9 * values[0]).sum() < len(links):
            return axes
    raise ModelError(f"linkage {name!r}: these links do not close and move; take another seed")


def _link(a: float, alpha: float, d: float, angle: float) -> np.ndarray:
    """From one axis to the next, by Denavit and Hartenberg."""
    c, s, u, w = math.cos(angle), math.sin(angle), math.cos(alpha), math.sin(alpha)
    return np.array(
        [[c, -s * u, s * w, a * c], [s, c * u, -c * w, a * s], [0.0, w, u, d], [0.0, 0.0, 0.0, 1.0]]
    )


def _screws(axes: Sequence[Axis]) -> np.ndarray:
    """The six coordinates of the axes, one column for each."""
    return np.array([[*e, *np.cross(p, e)] for p, e in axes]).T


def _close(links: Sequence[tuple[float, ...]], angles: np.ndarray) -> np.ndarray | None:
    """Angles near these at which the ring is closed, the first one held; None where none is."""
    error, R = np.full(6, np.inf), np.eye(3)
    for _ in range(60):
        T, columns = np.eye(4), list[list[float]]()
        for (a, alpha, d), angle in zip(links, angles, strict=True):
            columns.append([*T[:3, 2], *np.cross(T[:3, 3], T[:3, 2])])
            T = T @ _link(a, alpha, d, angle)
        R = T[:3, :3]
        skew = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        error = np.array([*skew, *T[:3, 3]])
        if np.abs(error).max() < 1e-14 and np.trace(R) > 2.0:
            return angles
        J = np.array(columns).T[:, 1:]
        step = -np.linalg.lstsq(J, error, rcond=1e-7)[0]
        step *= min(1.0, 0.5 / max(1e-300, np.abs(step).max()))
        angles = angles + np.array([0.0, *step])
        if np.abs(step).max() < 1e-16:
            break
    return angles if np.abs(error).max() < 1e-13 and np.trace(R) > 2.0 else None


LINKAGES: dict[str, Callable[[int], Linkage]] = {
    "planar_4": lambda seed: planar(4, seed),
    "planar_5": lambda seed: planar(5, seed),
    "spherical_4": lambda seed: spherical(4, seed),
    "spherical_5": lambda seed: spherical(5, seed),
    "bennett": bennett,
    "goldberg": goldberg,
    "myard": myard,
    "bricard_line": lambda seed: bricard("line", seed),
    "bricard_plane": lambda seed: bricard("plane", seed),
    "bricard_trihedral": lambda seed: bricard("trihedral", seed),
    "sarrus": sarrus,
}
"""Overconstrained linkages, by a seed."""
