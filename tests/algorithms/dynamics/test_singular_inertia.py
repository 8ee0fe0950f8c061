"""A mass matrix that is singular at one configuration: no number that is not finite is returned."""

from __future__ import annotations

import numpy as np
import pytest

import mozzi as mz


def arm(n: int) -> mz.Model:
    """n links, and on them one that turns about z without inertia of its own, along which a point
    mass slides: where that is on the axis nothing resists.
    """
    b, below = mz.Builder("arm"), None
    link = mz.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.12, 0.13]))
    for k in range(n):
        b.add(f"link_{k}", below, mz.Revolute("xyz"[k % 3]), link, placement=(0.3, 0.1, 0.2))
        below = f"link_{k}"
    b.add("turn", below, mz.Revolute("z"), mz.Inertia(1.0, (0, 0, 0), np.diag([0.1, 0.1, 0.0])))
    b.add("slide", "turn", mz.Prismatic("x"), mz.Inertia(1.0, (0, 0, 0), np.zeros((3, 3))))
    return b.build()


CALLS = {
    mz.forward_dynamics: ("q", "v", "v"), mz.mass_matrix_inverse: ("q",),
    mz.forward_dynamics_gradient: ("q", "v", "v", "v"),
    mz.forward_dynamics_derivatives: ("q", "v", "v"),
    mz.hamiltonian_dynamics: ("q", "v", "v"), mz.mass_matrix_inverse_rate: ("q", "v"),
}  # fmt: skip


@pytest.mark.parametrize("n", [0, 5, pytest.param(60, marks=pytest.mark.slow)])
def test_it_is_an_error_where_it_has_no_inverse(n: int):
    """With the coordinate and the sample; in straight-line code, through memory, and rolled; and
    none beside it, where accelerations are large.
    """
    model = arm(n)
    q, v = np.full((2, model.nq), 0.3), np.ones(model.nv)
    q[1, -1] = 0.0
    for function, names in CALLS.items():
        given = {"q": q, "v": v}
        with pytest.raises(mz.SingularError, match=r"sample \[1\]: 'turn' can move without"):
            function(model, *(given[name] for name in names))
        given["q"] = q[0] + np.eye(model.nq)[-1] * (1e-5 - 0.3)
        found = function(model, *(given[name] for name in names))
        assert all(np.isfinite(x).all() for x in (found if isinstance(found, tuple) else [found]))


def test_hybrid_dynamics_of_what_is_driven_needs_no_inertia():
    """A prescribed motion has a force, whatever resists."""
    model = arm(0)
    q, v = np.array([0.3, 0.0]), np.ones(2)
    tau, a = mz.hybrid_dynamics(model, q, v, v, 2.0 * v, prescribed=["turn"])
    assert np.allclose(mz.inverse_dynamics(model, q, v, a), tau)
    with pytest.raises(mz.SingularError, match=r"hybrid_dynamics: .*'turn'"):
        mz.hybrid_dynamics(model, q, v, v, v, prescribed=["slide"])


def test_motions_that_end_there_say_why():
    """Of simulations and rollouts, also of one sample among others."""
    model = arm(0)
    q, v = np.array([[0.3, 1.0], [0.3, 0.0]]), np.array([0.0, 0.1])
    with pytest.warns(mz.DivergenceWarning, match=r"sample 1 .* mass matrix is singular"):
        mz.simulate(model, q, np.broadcast_to(v, (2, 2)), 0.1, 1e-2)
    with pytest.warns(mz.DivergenceWarning, match=r"sample 1 .* mass matrix is singular"):
        found, _ = mz.rollout(model, q, v, np.zeros((3, 2)), 1e-2)
    assert np.isfinite(found[:, 0]).all()


EVERYWHERE = {
    **CALLS, mz.forward_dynamics_directional: ("q", *"vvvvv"),
    mz.mass_matrix_inverse_partials: ("q",), mz.forward_dynamics_wrench_derivatives: ("q",),
    mz.forward_dynamics_hessian: ("q", "v", "v", "v"),
    mz.hybrid_dynamics_derivatives: ("q", "v", "v", "v"),
}  # fmt: skip


def test_what_moves_without_inertia_everywhere_is_refused():
    """Screws of a composite that depend on one another, and hinges on one axis with nothing between
    them: whatever rounding leaves of their pivots. Armature helps.
    """
    body = mz.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.12, 0.13]))
    slides = mz.Planar().between((0.1, 0.2, 0.0), (0.0, 0.3, 0.1))
    joint = mz.Composite(mz.Spherical(), slides)
    axis = mz.Revolute((1.0, 2.0, 3.0))

    def arm(**data: float) -> mz.Model:
        b = mz.Builder("arm").add("wrist", None, joint, body, **data)
        return b.add("hand", "wrist", mz.Revolute("y"), body, placement=(0.1, 0.2, 0.3)).build()

    def hinges(**data: float) -> mz.Model:
        b = mz.Builder("hinges").add("first", None, axis, **data)
        return b.add("second", "first", axis, body).build()

    for make, told in ((arm, "'wrist' has 6 coordinates .* 5 ways"), (hinges, "'first' has no in")):
        model = make()
        q, v = model.random_configuration(0), np.ones(model.nv)
        for function, names in EVERYWHERE.items():
            with pytest.raises(mz.SingularError, match=told):
                function(model, *({"q": q, "v": v}[name] for name in names))
        model = make(armature=0.1)
        a = mz.forward_dynamics(model, q, v, v)
        assert np.allclose(mz.inverse_dynamics(model, q, v, a), v)
