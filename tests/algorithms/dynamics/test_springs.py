"""Springs and dampers between bodies: data, wrenches, energies, dynamics, motions."""

import pickle

import numpy as np
import pytest
from support.cases import first

import mozzi as mz
from mozzi.model.generate import chain, four_bar, random_tree


def sprung(seed: int = 0, n: int = 5, damping: float = 2.0, length: float = 0.4) -> mz.Model:
    """A random tree with a spring between two of its bodies, and one to the world."""
    model = random_tree(n, seed)
    rng = np.random.default_rng(seed)
    p = rng.normal(size=(3, 3))
    model = model.with_spring("inner", 1, n - 1, p[0], p[1], 30.0, damping, length)
    return model.with_spring("outer", None, n - 2, p[2], (0.1, 0.2, 0.3), 12.0, damping, 1.5)


def sample(model: mz.Model, seed: int = 0, batch: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng, batch), rng.normal(size=(batch, model.nv))


def power(model: mz.Model, q: np.ndarray, v: np.ndarray, W: np.ndarray) -> np.ndarray:
    """What wrenches on the bodies do, per second."""
    return np.einsum("...bk,...bk->...", W, mz.twists(model, q, v))


# -- data --


def test_springs_are_content():
    """Key, digest and pickle know them, and a model without them is what it was."""
    tree = random_tree(5)
    model = tree.with_spring("s", 0, 3, (1, 0, 0), (0, 1, 0), 5.0, 0.1, 0.2)
    same = pickle.loads(pickle.dumps(model))
    assert same == model and same.digest == model.digest != tree.digest
    assert model.springs == same.springs and "springs=1" in repr(model)
    assert model.with_gravity((0, 0, 0)).springs == model.springs
    other = tree.with_spring("s", 0, 3, (1, 0, 0), (0, 1, 0), 5.0, 0.1, 0.3)
    assert other != model and other.digest != model.digest
    assert model._replace(springs=()) == tree


def test_springs_follow_their_bodies():
    """Bodies that go take them along; bodies that become frames hand them to what carries them."""
    model = sprung()
    assert [s.name for s in model.without_body(model.bodies[-1]).springs] in (["outer"], [])
    q, _ = sample(model, batch=1)
    joint = model.joint_names[1]
    locked = model.lock(joint, q[0])
    left = np.delete(q[0], np.r_[model.q_slices[joint]])
    assert mz.spring_energy(locked, left) == pytest.approx(mz.spring_energy(model, q[0]), rel=1e-12)
    more = model.with_body("more", model.bodies[0], mz.Revolute("z"), (1.0, (0, 0, 0), np.eye(3)))
    assert more.springs == model.springs
    with pytest.raises(mz.ModelError, match="'inner'"):
        model.with_spring("inner", 0, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"body_b": "nobody"}, "'nobody' is unknown"),
        ({"body_b": "body_0"}, "connect two bodies"),
        ({"stiffness": -1.0}, "stiffness -1.0; give 0 or more"),
        ({"damping": float("nan")}, "damping"),
        ({"length": -0.1}, "length"),
        ({"length": float("inf")}, "length"),
        ({"point_a": (0, 0)}, "point_a"),
        ({"point_b": (0, 0, float("inf"))}, "point_b"),
        ({"name": ""}, "not a name"),
    ],
)
def test_errors_name_the_spring(change: dict, words: str):
    given = {"name": "s", "body_a": "body_0", "body_b": "body_2", "stiffness": 1.0} | change
    with pytest.raises((mz.ModelError, mz.KindError), match=words):
        random_tree(3).with_spring(**given)


# -- wrenches and energies --


@pytest.mark.parametrize("seed", range(3))
def test_elastic_wrenches_are_the_slope_of_the_energy(seed: int):
    """dE/dt = −power of the elastic wrenches; dampers only take."""
    model = sprung(seed)
    q, v = sample(model, seed)
    h = 1e-5
    ends = [mz.spring_energy(model, mz.integrate(model, q, s * h * v)) for s in (1, -1)]
    slope = (ends[0] - ends[1]) / (2 * h)
    W = mz.spring_wrenches(model, q, v, viscous=False)
    assert np.allclose(slope, -power(model, q, v, W), rtol=1e-6, atol=1e-6)
    assert np.all(power(model, q, v, mz.spring_wrenches(model, q, v, elastic=False)) < 0.0)
    both = mz.spring_wrenches(model, q, v) - mz.spring_wrenches(model, q, v, elastic=False)
    assert np.allclose(both, W, atol=1e-12)


def test_forces_along_the_line_of_two_points():
    """−k (ℓ − ℓ₀) − c ℓ̇ on the outer end, from positions and velocities by hand."""
    b = mz.Builder("pair", gravity=(0, 0, 0))
    ball = (1.0, (0, 0, 0), np.eye(3))
    b.add("one", None, mz.Translation3(), ball).add("two", None, mz.Translation3(), ball)
    model = b.spring("s", "one", "two", (0, 0, 1), (0, 0, 0), 7.0, 3.0, 2.0).build()
    q, v = np.array([0, 0, 0, 3.0, 0, 5.0]), np.array([0, 0, 0, 1.0, 2.0, 0])
    W = mz.spring_wrenches(model, q, v)
    f = (7.0 * (5.0 - 2.0) + 3.0 * 0.6) * np.array([0.6, 0, 0.8])
    assert np.allclose(W[0], [*np.cross((0, 0, 1), f), *f])
    assert np.allclose(W[1], [0, 0, 0, *-f])
    assert mz.spring_energy(model, q) == pytest.approx(0.5 * 7.0 * 9.0)


def test_where_the_points_coincide():
    """No direction, no force, no NaN; a spring without a length is linear there."""
    q, v = np.zeros(6), np.ones(6)
    b = mz.Builder("pair")
    ball = (1.0, (0, 0, 0), np.eye(3))
    b.add("one", None, mz.Translation3(), ball).add("two", None, mz.Translation3(), ball)
    model = b.spring("s", "one", "two", stiffness=7.0, damping=1.0, length=2.0).build()
    assert np.array_equal(mz.spring_wrenches(model, q, v), np.zeros((2, 6)))
    assert mz.spring_energy(model, q) == pytest.approx(14.0)
    soft = b.build()._replace(springs=()).with_spring("s", 0, 1, stiffness=7.0)
    tiny = 1e-9 * np.arange(6)
    W = mz.spring_wrenches(soft, tiny, v)
    assert np.allclose(W[1, 3:], -7.0 * (tiny[3:] - tiny[:3]), rtol=1e-12, atol=0)


def test_rolled_unrolled_and_python_agree():
    model = chain(7, ["Revolute", "Spherical", "Prismatic"], seed=3)
    model = model.with_spring("s", 2, 6, (0.1, 0.2, 0.3), (1, 0, 0), 9.0, 0.7, 0.3)
    model = model.with_spring("t", None, 4, (0.1, 0.2, 0.3), (1, 0, 0), 3.0, 0.2, 0.1)
    q, v = sample(model, batch=4)
    a = np.random.default_rng(1).normal(size=v.shape)
    for f, options, given in (
        (mz.spring_wrenches, {}, (q, v)),
        (mz.spring_energy, {}, (q,)),
        (mz.potential_energy, {"springs": True}, (q,)),
        (mz.inverse_dynamics, {"resistance": True}, (q, v, a)),
        (mz.forward_dynamics, {"resistance": True}, (q, v, a)),
    ):
        x, y = (mz.compile(f, model, rolled=r, options=options)(*given) for r in (False, True))
        assert np.abs(x).max() > 0.1 and np.allclose(x, y, rtol=1e-10, atol=1e-10)
    plain = mz.spring_wrenches.python(model, q[0], v[0])
    assert np.allclose(np.array(plain, dtype=float), mz.spring_wrenches(model, q, v)[0])
    tau = [mz.inverse_dynamics(model, q, v, a, rep=rep, resistance=True) for rep in
           ("body", "spatial", "hybrid", "mixed")]  # fmt: skip
    for other in tau[1:]:
        assert np.allclose(tau[0], other, atol=1e-10)


# -- dynamics --


@pytest.mark.parametrize("seed", range(2))
def test_resistance_is_what_applied_wrenches_would_do(seed: int):
    """Inverse, forward, hybrid and bias forces, and off without being asked."""
    model = sprung(seed)
    q, v = sample(model, seed)
    rng = np.random.default_rng(seed)
    a, given = rng.normal(size=v.shape), rng.normal(size=(*v.shape[:-1], model.nb, 6))
    W = given + mz.spring_wrenches(model, q, v)
    tau = mz.inverse_dynamics(model, q, v, a, given, resistance=True)
    assert np.allclose(tau, mz.inverse_dynamics(model, q, v, a, W), atol=1e-10)
    assert np.allclose(
        mz.inverse_dynamics(model, q, v, a, given),
        mz.inverse_dynamics(model._replace(springs=()), q, v, a, given),
    )
    assert np.allclose(mz.forward_dynamics(model, q, v, tau, given, resistance=True), a, atol=1e-8)
    held = [model.joint_names[1]]
    tau2, a2 = mz.hybrid_dynamics(model, q, v, tau, a, held, given, resistance=True)
    assert np.allclose(tau2, tau, atol=1e-8) and np.allclose(a2, a, atol=1e-8)
    bias = mz.bias_forces(model, q, v, resistance=True)
    still = mz.inverse_dynamics(model, q, v, 0.0 * a, resistance=True)
    assert np.allclose(bias, still, atol=1e-10)


def test_with_loops():
    """A spring across a four-bar: the loops stay closed, and the power balance holds."""
    model = four_bar().with_spring("s", "crank", "rocker", (0.5, 0, 0), (0.5, 0, 0), 40.0, 1.0, 1.0)
    q = mz.assemble(model, [0.3, 0.5, 1.5], hold=["crank"])
    v = mz.consistent_velocities(model, q, [1.0, 0.0, 0.0])
    W = mz.spring_wrenches(model, q, v)
    a = mz.forward_dynamics(model, q, v, np.zeros(3), resistance=True)
    assert np.allclose(a, mz.forward_dynamics(model, q, v, np.zeros(3), W), atol=1e-11)
    assert np.allclose(mz.loop_acceleration(model, q, v, a), 0.0, atol=1e-10)
    tau = mz.inverse_dynamics(model, q, v, a, actuated=["crank"], resistance=True)
    assert np.allclose(tau, 0.0, atol=1e-9)


@pytest.mark.parametrize(("seed", "length"), first(1, [(0, 0.4), (1, 0.0), (2, 0.4)]))
def test_derivatives(seed: int, length: float):
    """∂τ/∂q and ∂τ/∂v of inverse dynamics along the group, by differences; then −M⁻¹ of them."""
    model = sprung(seed, length=length)
    q, v = (x[0] for x in sample(model, seed))
    a, W = np.random.default_rng(seed).normal(size=(2, model.nv)), np.ones((model.nb, 6))
    tau = lambda q, v: mz.inverse_dynamics(model, q, v, a[0], W, resistance=True)
    h, e = 1e-5, np.eye(model.nv)
    dq, dv, M = mz.inverse_dynamics_derivatives(model, q, v, a[0], W, resistance=True)
    by_q = [tau(mz.integrate(model, q, h * x), v) - tau(mz.integrate(model, q, -h * x), v)
            for x in e]  # fmt: skip
    by_v = [tau(q, v + h * x) - tau(q, v - h * x) for x in e]
    scale = 1.0 + np.abs(dq).max()
    assert np.abs(dq - np.array(by_q).T / (2 * h)).max() < 1e-6 * scale
    assert np.abs(dv - np.array(by_v).T / (2 * h)).max() < 1e-6 * scale
    fq, fv, _ = mz.forward_dynamics_derivatives(model, q, v, tau(q, v), W, resistance=True)
    assert np.allclose(M @ fq, -dq, atol=1e-8 * scale)
    assert np.allclose(M @ fv, -dv, atol=1e-8 * scale)
    if seed:
        return
    f = mz.inverse_dynamics_derivatives
    rolled = mz.compile(f, model, rolled=True, options={"resistance": True, "wrenches": True})
    for x, y in zip(rolled(q, v, a[0], W), (dq, dv, M), strict=True):
        assert np.allclose(x, y, rtol=1e-10, atol=1e-9 * scale)


# -- motions --


@pytest.mark.parametrize("method", ["rkmk4", "dopri5", "generalized_alpha", "momentum"])
def test_energy_is_kept_by_springs_and_lost_to_dampers(method: str):
    def free(c: float) -> mz.Model:
        b = mz.Builder("two", gravity=(0, 0, 0))
        for name in ("one", "two"):
            b.add(name, None, mz.Free(), (1.0, (0.1, 0, 0), np.diag([0.1, 0.2, 0.25])))
        return b.spring("s", "one", "two", (0.3, 0, 0), (0, 0.3, 0), 20.0, c, 0.5).build()

    model = free(0.0)
    q = model.neutral()
    q[model.q_slices["two"].start] = 1.0
    v = np.random.default_rng(0).normal(size=model.nv)
    x = mz.simulate(model, q, v, 1.0, 1e-3, method, resistance=True, record_every=50)
    tolerance = {"rkmk4": 1e-9, "dopri5": 1e-6, "generalized_alpha": 1e-4, "momentum": 1e-4}
    assert x.springs and x.energy_drift() < tolerance[method]
    assert np.ptp(x.potential_energy()) > 1e-2
    p = x.momentum()
    kept = {"momentum": 1e-12, "generalized_alpha": 1e-4, "dopri5": 1e-6}.get(method, 1e-9)
    assert np.abs(p - p[0]).max() < kept
    lost = mz.simulate(free(3.0), q, v, 1.0, 1e-3, method, resistance=True, record_every=50)
    assert np.all(np.diff(lost.energy()) < 1e-9) and lost.energy()[-1] < lost.energy()[0] - 1e-2
    bare = mz.simulate(model, q, v, 1.0, 1e-3, method, resistance=False, record_every=50)
    assert np.abs(bare.q - x.q).max() > 1e-2 and not bare.springs


def hung() -> mz.Model:
    """Joints whose coordinates do not add up, each on springs of different stiffness."""
    body = mz.Inertia(1.0, (0.05, 0.02, 0.0), np.diag([0.1, 0.2, 0.25]))
    joint = mz.Composite(mz.Revolute("x").between(None, (0.1, 0.0, 0.2)), mz.Planar())
    model = mz.Builder("hung").add("a", None, mz.Free(), body, stiffness=50.0)
    return model.add("b", "a", joint, body, stiffness=(5.0, 20.0, 40.0, 60.0)).build()


def test_springs_of_joints_whose_coordinates_do_not_add_up_keep_the_energy():
    """At the order of the method; forces that were stiffness·(q ⊖ rest) made or took a tenth of it,
    whatever the step. Derivatives and gradients are those of the forces.
    """
    model, rng = hung(), np.random.default_rng(0)
    q = mz.integrate(model, model.neutral(), 0.4 * rng.normal(size=model.nv))
    v, a, lam = rng.normal(size=(3, model.nv))
    off = []
    for h in (4e-3, 2e-3):
        E = mz.simulate(model, q, v, 0.5, h).energy()
        off.append(np.abs(E - E[0]).max() / E[0])
    assert off[1] < 1e-6 and off[0] / off[1] > 12.0
    dq, _, _ = mz.inverse_dynamics_derivatives(model, q, v, a, resistance=True)
    h, tau = 1e-5, lambda x: mz.inverse_dynamics(model, x, v, a, resistance=True)
    found = [(tau(mz.integrate(model, q, h * e)) - tau(mz.integrate(model, q, -h * e))) / (2 * h)
             for e in np.eye(model.nv)]  # fmt: skip
    np.testing.assert_allclose(dq, np.transpose(found), atol=1e-7 * np.abs(dq).max())
    back, _, _ = mz.inverse_dynamics_gradient(model, q, v, a, lam, resistance=True)
    np.testing.assert_allclose(back, lam @ dq, atol=1e-11 * np.abs(dq).max())


RIGID = [
    "inverse_dynamics", "forward_dynamics", "hybrid_dynamics", "bias_forces", "loop_forces",
    "inverse_dynamics_rates", "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
    "hybrid_dynamics_derivatives", "inverse_dynamics_gradient", "forward_dynamics_gradient",
    "inverse_dynamics_hessian", "gravity_forces", "forward_dynamics_hessian",
    "inverse_dynamics_directional", "forward_dynamics_directional", "hybrid_dynamics_directional",
    "passive_inverse_dynamics", "projected_forward_dynamics", "joint_wrenches",
    "contact_inverse_dynamics", "inverse_dynamics_regressor", "joint_force_derivatives",
    "closed_form", "hamiltonian_dynamics", "momentum_dynamics",
]  # fmt: skip


@pytest.mark.parametrize("name", RIGID)
def test_what_states_the_rigid_equations_says_so(name: str):
    assert "springs" in (getattr(mz, name).__doc__ or "").lower()


def test_gravity_forces_are_the_derivative_of_the_energy_of_weight():
    """Springs of joints and between bodies are not in them, and are in the potential energy."""
    model, h = sprung(), 1e-5
    q = sample(model, batch=1)[0][0]
    for springs, same in ((False, True), (True, False)):
        found = [
            (mz.potential_energy(model, mz.integrate(model, q, h * e), springs=springs)
             - mz.potential_energy(model, mz.integrate(model, q, -h * e), springs=springs))
            / (2.0 * h)
            for e in np.eye(model.nv)
        ]  # fmt: skip
        assert np.allclose(found, mz.gravity_forces(model, q), atol=1e-6) is same
