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


@pytest.mark.parametrize("axes", [
    ("z", "y", "x"), ("z", "x", "z"), ((1, 2, 2), (0, 1, -1), (1, 2, 2)),
])  # fmt: skip
@pytest.mark.parametrize("behind", [0, 1])
def test_products_whose_screws_depend_on_one_another_somewhere(axes: tuple, behind: int):
    """Euler's angles, where the last axis is on the first: rounding left numbers of 1e17 there, and
    inverses of the mass matrix that are not positive.
    """
    body = mz.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.12, 0.13]))
    b = mz.Builder("turned").add("arm", None, mz.Revolute((1, 1, 0)), body)
    b.add("body", "arm", mz.Composite(*map(mz.Revolute, axes)), body, placement=(0.3, 0.1, 0.2))
    if behind:
        b.add("hand", "body", mz.Revolute("y"), body, placement=(0.1, 0.0, 0.2))
    model = b.build()
    q, v = np.full(model.nq, 0.3), np.ones(model.nv)
    q[2] = np.pi / 2 if axes == ("z", "y", "x") else 0.0
    for function, names in CALLS.items():
        for off in (0.0, 1e-9):
            given = {"q": q + off * np.eye(model.nq)[2], "v": v}
            with pytest.raises(mz.SingularError, match=r"'body\.[13]\.angle' can move without"):
                function(model, *(given[name] for name in names))
    V = mz.twists(model, q, v)
    with pytest.raises(mz.SingularError, match=r"Jacobian .* 'body\.[13]\.angle' .* regulariz"):
        mz.joint_rates(model, q, V)
    least = mz.joint_rates(model, q, V, regularization=1e-9)
    np.testing.assert_allclose(mz.twists(model, q, least), V, rtol=0.0, atol=1e-6)
    beside = q + 1e-3 * np.eye(model.nq)[2]
    a = mz.forward_dynamics(model, beside, v, v)
    np.testing.assert_allclose(mz.inverse_dynamics(model, beside, v, a), v, rtol=0.0, atol=1e-6)
    tau, a = mz.hybrid_dynamics(model, q, v, v, 2.0 * v, prescribed=["body"])
    np.testing.assert_allclose(mz.inverse_dynamics(model, q, v, a), tau, atol=1e-9)
    assert not np.isfinite(mz.compile(mz.forward_dynamics, model)(q, v, v)).all()


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


def test_momenta_of_bodies_do_not_tell_how_rotors_turn():
    """Whatever was asked of the model before: they tell no rates of what has a rotor alone."""
    body = mz.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.12, 0.13]))
    twice = mz.Composite(mz.Revolute("z"), mz.Revolute("z"))
    b = mz.Builder("rotor").add("a", None, mz.Revolute("x"), body, armature=0.1)
    for joint, inertia in ((twice, body), (mz.Revolute("y"), None)):
        model = mz.Builder.of(b.build()).add("b", "a", joint, inertia, armature=0.2).build()
        q, v = model.random_configuration(0), np.ones(model.nv)
        a = mz.forward_dynamics(model, q, v, v)
        np.testing.assert_allclose(mz.inverse_dynamics(model, q, v, a), v, atol=1e-12)
        with pytest.raises(mz.SingularError, match="momenta of bodies do not tell"):
            mz.velocities_of_momenta(model, q, mz.momenta(model, q, v))
        with pytest.raises(mz.SingularError, match="momenta of bodies do not tell"):
            mz.simulate(model, q, v, 0.1, 0.01, state="momentum")
