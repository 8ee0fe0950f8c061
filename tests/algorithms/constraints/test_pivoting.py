"""Rows that are chosen are independent, and as many as the rank says."""

from __future__ import annotations

import numpy as np
import pytest

from mozzi.algorithms.constraints.pivoting import Choice
from mozzi.algorithms.constraints.sparse import connected, gram


def legs_in_a_row(rng: np.random.Generator, platforms: int) -> tuple[np.ndarray, list[list[int]]]:
    """Five legs of three rows on each platform, which stands on six coordinates and the six of the
    one below; every platform has a leg twice, and one that is a sum of two others.
    """
    Y = np.zeros((15 * platforms, 6 * (platforms + 1)))
    for s in range(platforms):
        own = rng.standard_normal((15, 12))
        own[3:6] = own[:3]
        own[6:9] = own[9:12] - 2.0 * own[12:]
        Y[15 * s : 15 * s + 15, 6 * s : 6 * s + 12] = own
    return Y, [list(range(k, k + 3)) for k in range(0, len(Y), 3)]


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("platforms", [1, 5])
def test_what_is_kept_spans_the_rows(loops: bool, platforms: int):
    """Whether closures that meet the same others are taken together, in loops, or one by one."""
    Y, blocks = legs_in_a_row(np.random.default_rng(0), platforms)
    rows = [{c: float(x) for c, x in enumerate(row) if x != 0.0} for row in Y]
    G = gram(rows, rows, range(len(rows)))
    scale = [float(row @ row) for row in Y]
    choice = Choice(G, blocks, scale, loops=loops)
    kept = np.array(choice.kept) > 0.5
    rank = np.linalg.matrix_rank(Y)
    assert choice.rank == kept.sum() == rank == np.linalg.matrix_rank(Y[kept])
    assert min(choice.sine2) > 1e-3


def test_groups_that_do_not_meet():
    """Every row is in one group, with all that it meets."""
    matrix = {0: {0: 1.0, 3: 1.0}, 1: {1: 1.0}, 2: {2: 1.0, 4: 1.0}, 3: {3: 1.0}, 4: {3: 1.0}}
    assert sorted(sorted(x) for x in connected(matrix)) == [[0, 2, 3, 4], [1]]
