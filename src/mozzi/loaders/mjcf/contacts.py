"""Which geoms of an MJCF file may touch, and how: its pairs, filters and coefficients.

MuJoCo's rules: pairs that are named; and geoms of two bodies whose contype and conaffinity meet,
unless the bodies move as one, are parent and child, or are excluded. Friction is that of the geom
of higher priority, else the greater one; condim 1 has none. What has no meaning for rigid contact
with Coulomb's law is told: torsional and rolling friction, solref and solimp, margins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from mozzi.loaders.geometry import ContactData, ShapeData
from mozzi.loaders.source import Notes, Place
from mozzi.model.constraints.contact import meets

__all__ = ["contacts_of", "pair_count"]

def contacts_of(
    m: Any, shape_of: Mapping[int, int], shapes: list[ShapeData], place: Place, notes: Notes,
    family: bool = False,
) -> list[ContactData]:  # fmt: skip
    """All contacts of a compiled file. shape_of: the numbers of shapes by those of geoms; family:
    whether parents and children touch.
    """
    found: list[ContactData] = []
    unmet: dict[str, int] = {}
    for one, two, friction, dim in (*_pairs(m), *_filtered(m, family)):
        if one not in shape_of or two not in shape_of:
            continue
        a, b = shape_of[one], shape_of[two]
        if not meets(shapes[a].geometry, shapes[b].geometry):
            kinds = " on ".join(sorted(type(shapes[k].geometry).__name__ for k in (a, b)))
            unmet[kinds] = unmet.get(kinds, 0) + 1
            continue
        mu = (0.0, 0.0) if dim == 1 or min(friction[:2]) <= 0.0 else friction[:2]
        found.append(ContactData(shapes[a].place, a, b, mu))
        if dim > 3:
            unmet["condim"] = dim
    if dim := unmet.pop("condim", 0):
        notes.leave(place, "contact", f"condim {dim}: torsional and rolling friction are not read")
    for kinds, count in unmet.items():
        notes.leave(place, "contact", f"{count} pairs of {kinds} do not meet here")
    _told(m, place, notes)
    return found


def pair_count(m: Any, shape_of: Mapping[int, int], family: bool = False) -> int:
    """How many pairs of shapes may touch."""
    pairs = (*_pairs(m), *_filtered(m, family))
    return sum(one in shape_of and two in shape_of for one, two, _, _ in pairs)


def _pairs(m: Any) -> Iterator[tuple[int, int, tuple[float, float], int]]:
    """Pairs that are named."""
    for k in range(m.npair):
        mu = m.pair_friction[k]
        geoms = int(m.pair_geom1[k]), int(m.pair_geom2[k])
        yield *geoms, (float(mu[0]), float(mu[1])), int(m.pair_dim[k])


def _filtered(m: Any, family: bool) -> Iterator[tuple[int, int, tuple[float, float], int]]:
    """Pairs that the filters leave."""
    named = {frozenset((int(m.pair_geom1[k]), int(m.pair_geom2[k]))) for k in range(m.npair)}
    excluded = {int(x) for x in m.exclude_signature}
    for i, j in combinations(range(m.ngeom), 2):
        a, b = sorted((int(m.geom_bodyid[i]), int(m.geom_bodyid[j])))
        A, B = int(m.body_weldid[a]), int(m.body_weldid[b])
        if A == B or frozenset((i, j)) in named or (a << 16) + b in excluded:
            continue
        above = [int(m.body_weldid[int(m.body_parentid[x])]) for x in (A, B)]
        if not family and A and B and (above[0] == B or above[1] == A):
            continue
        one = int(m.geom_contype[i]) & int(m.geom_conaffinity[j])
        two = int(m.geom_contype[j]) & int(m.geom_conaffinity[i])
        if not (one or two):
            continue
        first = int(m.geom_priority[i]) - int(m.geom_priority[j])
        those = (i, j) if first == 0 else (i,) if first > 0 else (j,)
        mu = max(float(m.geom_friction[k][0]) for k in those)
        yield i, j, (mu, mu), max(int(m.geom_condim[k]) for k in those)


def _told(m: Any, place: Place, notes: Notes) -> None:
    """What contacts of the file have and rigid ones do not."""
    usual = (0.02, 1.0, 0.9, 0.95, 0.001, 0.5, 2.0)
    for k in range(m.ngeom):
        own = (*m.geom_solref[k], *m.geom_solimp[k])
        if any(abs(float(x) - y) > 1e-12 for x, y in zip(own, usual, strict=True)):
            notes.leave(place, "contact", "solref and solimp are not read: contacts are rigid")
            break
    if any(float(x) for x in (*m.geom_margin, *m.geom_gap)):
        notes.leave(place, "contact", "margin and gap are not read: shapes touch at distance 0")
