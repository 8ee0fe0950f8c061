"""Newton's method on the laws of contact: small problems, with answers by other means."""

import numpy as np
from support.contact_models import box_inertia

from mozzi.algorithms.constraints.one_sided.problem import Best, ByRows, Descent, newton
from mozzi.algorithms.constraints.one_sided.sets import Cone


def corner(rng):
    """Λ and g of one corner of a box that lies anyhow, moves a little, and falls."""
    size = rng.uniform(0.05, 0.5, 3)
    p = 0.5 * size * rng.choice([-1.0, 1.0], 3)
    axes, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    axes[1:] *= rng.uniform(0.2, 1.5)  # friction
    J = np.hstack([np.cross(p, axes), axes])
    inertia = np.diag(np.diag(np.asarray(box_inertia(1.0, size).matrix(), float)))
    free = rng.normal(size=6) * rng.choice([1e-3, 0.3, 1.0])
    free[3:] -= axes[0] * 9.81 * 10.0 ** rng.uniform(-3.0, 0.0)
    return J @ np.linalg.solve(inertia, J.T), J @ free


def test_what_cannot_stick_slides():
    """From nothing, ten steps find the solution of all but very few corners: what would need more
    than its cone to stick is not cut to it, and tried again, for ever.
    """
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(1000):
        L, g = corner(rng)
        if g[0] > 0.0:
            continue
        problem = ByRows(L.tolist(), g.tolist(), [Cone()])
        square = float(problem.square)
        best = newton(problem, [0.0] * 3, Descent(10, 1e-10, 1e-10), Best(1e-26, [0.0] * 3, 1e30))
        missed += float(best.error) > 1e-22 * square
    assert missed <= 10
