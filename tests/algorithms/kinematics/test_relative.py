"""Relative twists: against the motion of one frame as the other sees it."""

import numpy as np
from support.mechanics import agree, loaded_tree

import mozzi as mz


def test_relative_twists_are_what_the_other_frame_sees():
    """V^ = Ċ_ab C_ab⁻¹ of C_ab = C_a⁻¹ C_b is that measured at and resolved in a; any other point
    and axes follow by Ad."""
    model = loaded_tree(5, 3)
    rng = np.random.default_rng(0)
    q, v, h = model.random_configuration(rng), rng.normal(size=model.nv), 1e-6
    a, b, c, d = (model.bodies[k] for k in (4, 2, 1, 3))

    def seen(t: float) -> np.ndarray:
        x = mz.integrate(model, q, t * v)
        return np.linalg.solve(mz.pose(model, x, a), mz.pose(model, x, b))

    S = (seen(h) - seen(-h)) / (2 * h) @ np.linalg.inv(seen(0.0))
    expected = np.r_[S[2, 1], S[0, 2], S[1, 0], S[:3, 3]]
    found = mz.relative_twist(model, q, v, b, a, measured_at=a)
    agree(found, expected, 1e-8)
    elsewhere = mz.relative_twist(model, q, v, b, a, measured_at=c, resolved_in=d)
    A, C, D = (mz.SE3.from_matrix(mz.pose(model, q, x)) for x in (a, c, d))
    V = A.push(mz.Twist.from_array(found))
    agree(elsewhere, mz.SE3(D.R, C.p).pull(V).array())
    agree(mz.relative_twist(model, q, v, b, b), np.zeros(6))
    agree(mz.relative_twist(model, q, v, b), mz.jacobian(model, q, b) @ v)
