"""Six bars that move although seven are needed, made of linkages with four and five (Goldberg 1943,
Waldron 1968, Wohlhart 1991), and Schatz's (1975).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mozzi.model.generate.linkages import Axis, Linkage, ring
from mozzi.model.generate.rings import bennett_axes, closed_axes, planar_axes, spherical_axes

__all__ = ["SIX_BARS", "goldberg_6", "schatz", "waldron", "wohlhart"]

HELD = 2000.0
"""Of springs that hold linkages away from where ways to move meet: they are singular there."""


def _in_proportion(rng: np.random.Generator, n: int) -> list[tuple[float, float]]:
    """n links (a, α) with one ratio a / sin α, as those of linkages of Bennett that have links in
    common; no two alike.
    """
    ratio = rng.uniform(0.8, 1.6)
    while True:
        twists = rng.uniform(0.3, 1.3, n)
        apart = np.abs(twists[:, None] - twists)[np.triu_indices(n, 1)]
        if apart.min() > 0.15:
            return [(ratio * math.sin(t), float(t)) for t in twists]


def goldberg_6(seed: int = 0) -> Linkage:
    """Three linkages of Bennett in a row, each with a link in common with the next: those are taken
    out, and of the links on one side one is made (1943). A spring holds it.
    """
    rng = np.random.default_rng(seed + 10000)
    a, b, c, d = _in_proportion(rng, 4)
    long = b[0] + c[0] + d[0], b[1] + c[1] + d[1]
    links = [(x, t, 0.0) for x, t in (b, a, long, a, d, c)]
    return ring("goldberg_6", closed_axes("goldberg_6", links, rng), seed, stiffness=HELD)


def wohlhart(seed: int = 0) -> Linkage:
    """Two five bars of Goldberg with two neighbouring links in common, which are taken out: the
    double Goldberg linkage (1991). A spring holds it.
    """
    rng = np.random.default_rng(seed + 11000)
    a, b, c, d = _in_proportion(rng, 4)
    long = b[0] + c[0], b[1] + c[1]
    links = [(x, t, 0.0) for x, t in (a, long, a, d, long, d)]
    return ring("wohlhart", closed_axes("wohlhart", links, rng), seed, stiffness=HELD)


def schatz(seed: int = 0) -> Linkage:
    """Schatz's inverted cube: five right angles, and two parallel axes (1975), the mixer's."""
    rng = np.random.default_rng(seed + 12000)
    a, d, right = rng.uniform(0.6, 1.2), rng.uniform(-0.4, 0.4), math.pi / 2
    links = [
        (0.0, right, d), (a, right, 0.0), (a, right, 0.0), (a, right, 0.0), (0.0, right, 0.0),
        (math.sqrt(3.0) * a, 0.0, -d),
    ]  # fmt: skip
    return ring("schatz", closed_axes("schatz", links, rng), seed)


FOUR_BARS: dict[str, Callable[[np.random.Generator], list[Axis]]] = {
    "bennett": bennett_axes,
    "planar": lambda rng: planar_axes(4, rng),
    "spherical": lambda rng: spherical_axes(4, rng),
}


def waldron(first: str = "bennett", second: str = "planar", seed: int = 0) -> Linkage:
    """Two four bars (of "bennett", "planar", "spherical") that turn about a common axis, which is
    taken out: Waldron's hybrid linkages (1968).
    """
    rng = np.random.default_rng(seed + 13000)
    one, other = FOUR_BARS[first](rng), FOUR_BARS[second](rng)
    turn = _frame(one[0]) @ _along_z(rng) @ np.linalg.inv(_frame(other[0]))
    moved: list[Axis] = []
    for p, e in other[1:]:
        point, line = turn @ np.array([*p, 1.0]), turn[:3, :3] @ np.asarray(e, dtype=float)
        moved.append((point[:3].tolist(), line.tolist()))
    return ring(f"waldron_{first}_{second}", [*one[1:], *moved[::-1]], seed)


def _frame(axis: Axis) -> np.ndarray:
    """A pose whose z is the axis."""
    p, e = (np.asarray(x, dtype=float) for x in axis)
    z = e / np.linalg.norm(e)
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.stack([x, np.cross(z, x), z], axis=1), p
    return T


def _along_z(rng: np.random.Generator) -> np.ndarray:
    """A turn about z and a shift along it."""
    t = rng.uniform(-math.pi, math.pi)
    T = np.eye(4)
    T[:2, :2], T[2, 3] = [[math.cos(t), -math.sin(t)], [math.sin(t), math.cos(t)]], rng.normal()
    return T


SIX_BARS: dict[str, Callable[[int], Linkage]] = {
    "goldberg_6": goldberg_6,
    "wohlhart": wohlhart,
    "schatz": schatz,
    "waldron_bennett_planar": lambda seed: waldron("bennett", "planar", seed),
    "waldron_bennett_spherical": lambda seed: waldron("bennett", "spherical", seed),
    "waldron_planar_spherical": lambda seed: waldron("planar", "spherical", seed),
    "waldron_bennett_bennett": lambda seed: waldron("bennett", "bennett", seed),
}
"""Six bars that move, by a seed."""
