"""Laws of a step of Moreau and Jean's, on random mechanisms with contacts, friction and limits."""

import warnings
from collections.abc import Generator

import numpy as np
import pytest
from support.contact_models import ball, box_inertia, boxes
from support.cuts import Cuts, apart

import mozzi as mz
from mozzi.errors import ConfigurationError
from mozzi.model.generate import LINKAGES
from mozzi.simulation import Moreau

H = 2e-3


def random_scene(rng):
    """A tree of one to four bodies on a free base, with limits, friction in joints, and spheres on
    bodies that touch the ground, a tilted plane, or each other.
    """
    builder = mz.Builder("scene")
    trunk = box_inertia(rng.uniform(0.5, 3.0), rng.uniform(0.1, 0.4, 3))
    builder.add("base", None, mz.Free(), trunk)
    count = int(rng.integers(0, 4))
    for k in range(count):
        axis = rng.normal(size=3)
        kind = mz.Revolute if rng.random() < 0.7 else mz.Prismatic
        joint = kind(tuple(axis / np.linalg.norm(axis)))
        joint = joint.between(tuple(rng.normal(size=3) * 0.2), None)
        parent = "base" if k == 0 else f"link{rng.integers(0, k)}"
        inertia = box_inertia(rng.uniform(0.2, 2.0), rng.uniform(0.05, 0.3, 3))
        builder.add(
            f"link{k}", parent, joint, inertia, limits=(-0.3, 0.4),
            friction=rng.choice([0.0, rng.uniform(0.1, 2.0)]),
        )  # fmt: skip
    names = ["base", *(f"link{k}" for k in range(count))]
    for k in range(int(rng.integers(1, 4))):
        place = mz.SE3.translation(*(0.2 * rng.normal(size=3)))
        builder.shape(str(rng.choice(names)), mz.Sphere(rng.uniform(0.02, 0.1)), place, f"s{k}")
    tilt = mz.SE3.exp(mz.Twist.from_array(np.r_[0.3 * rng.normal(size=3), 0.0, 0.0, 0.0]))
    builder.shape(None, mz.Plane(), tilt, "slope")
    model = builder.build()
    for shape in [x.name for x in model.shapes if x.name != "slope"]:
        mu = tuple(rng.uniform(0.05, 1.5, 2)) if rng.random() < 0.8 else 0.0
        model = model.with_contact(f"c_{shape}", shape, "slope", mu, rng.choice([0.0, 0.5]))
    return model


def random_states(model, rng, n):
    """Near the ground: the lowest contact touches, hovers or overlaps a little."""
    q = model.random_configuration(rng, n)
    q[:, 7:] = rng.uniform(-0.32, 0.42, (n, model.nq - 7))
    q[:, :3] *= 0.3
    q[:, 2] -= mz.contact_gaps(model, q).min(-1)  # roughly
    q[:, 2] += rng.choice([0.0, 1e-3, 0.05, -1e-3], n)
    return q, rng.normal(size=(n, model.nv)) * rng.choice([0.0, 1.0, 4.0], (n, 1))


def conditions(model, q, v, h=H):
    """What a step does to the laws, each over its scale: (n,) of the worst, by name."""
    run = mz.simulate(model, q, v, h, h, Moreau(cut=False), limits="rigid", resistance=True)
    assert np.isfinite(run.q).all() and np.isfinite(run.v).all()
    frames, F = mz.contact_frames(model, q), run.contact_forces[:, 1]
    gaps = mz.contact_gaps(model, q)
    R = frames[..., :3, :3]
    new = mz.difference(model, q, run.q[:, 1]) / h  # of a free base: of the screw; corrected below
    new[:, 3:6] = np.einsum("nij,ni->nj", mz.pose(model, q, "base")[:, :3, :3],
                            (run.q[:, 1, :3] - q[:, :3]) / h)  # fmt: skip
    w, before = (_point_velocities(model, q, u, frames) for u in (new, v))
    f = np.einsum("nkij,nki->nkj", R, F) * h  # impulses along t₁, t₂, n
    speed = 1.0 + abs(w).max((1, 2)) + abs(before).max((1, 2))
    pulse = 1e-3 + abs(f).max((1, 2))
    mu = np.array([x.friction for x in model.contacts])
    touching = gaps <= 0.0
    out = {
        "pull": (-f[..., 2]).max(1) / pulse,
        "penetration": np.where(touching, -w[..., 2], 0.0).max(1) / speed,
        "complementarity": np.where(
            gaps + h * np.minimum(before[..., 2], 0.0) > 0.1 + 3 * h * speed[:, None],
            f[..., 2], 0.0,
        ).max(1) / pulse,
    }  # fmt: skip
    rough = mu[:, 0] > 0.0
    x = f[..., :2] / np.where(rough[:, None], mu, 1.0)
    out["cone"] = (np.linalg.norm(x, axis=-1) - f[..., 2] * rough).max(1) / pulse
    slip = w[..., :2] * mu
    size = np.linalg.norm(slip, axis=-1)
    against = x * size[..., None] + slip * f[..., 2:]  # zero where it slides as it must
    sliding = np.where((f[..., 2] > 0.0) & rough, np.linalg.norm(against, axis=-1), 0.0)
    out["dissipation"] = sliding.max(1) / (pulse * speed)
    return out, run.contact_residual[:, 1]


def _point_velocities(model, q, v, frames):
    """Of the contact points, along t₁, t₂, n."""
    V = mz.twists(model, q, v, "spatial")
    out = []
    for k, contact in enumerate(model.contacts):
        twist = V[:, model.shape(contact.shape_a).body]
        speed = np.cross(twist[:, :3], frames[:, k, :3, 3]) + twist[:, 3:]
        out.append(np.einsum("nij,ni->nj", frames[:, k, :3, :3], speed))
    return np.stack(out, axis=1)


def check_scenes(seeds, states) -> tuple[int, int]:
    """(states that miss a law, of how many): whatever misses one says so."""
    total, missed, untold = 0, 0, 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        model = random_scene(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mz.ContactWarning)
            laws, residual = conditions(model, *random_states(model, rng, states))
        worst = np.max(list(laws.values()), axis=0)
        bad = worst > 1e-8
        total, missed = total + states, missed + int(bad.sum())
        untold += int((bad & (residual < 1e-9)).sum())
    assert untold == 0
    return missed, total


def test_random_scenes():
    """Signorini, Coulomb and maximum dissipation, to 1e-8 of the scale."""
    missed, total = check_scenes(range(4), 250)
    assert missed <= 1e-3 * total


@pytest.fixture(scope="module")
def seen() -> Generator[list[tuple[int, int]], None, None]:
    """What was missed, of how many states: few in a thousand of them."""
    found: list[tuple[int, int]] = []
    yield found
    missed, total = (sum(x) for x in zip(*found, strict=True)) if found else (0, 0)
    assert missed <= max(3.0, 1e-3 * total)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 1100, 50))
def test_a_thousand_random_scenes(start: int, seen: list[tuple[int, int]]):
    """The same on 1,000 mechanisms, fifty at a time; of all together a thousandth may miss."""
    seen.append(check_scenes(range(start, start + 50), 20))


def test_energy_is_never_made():
    """Boxes that tumble over a plane without restitution: the energy falls, and what impacts and
    friction took balances it, both to the order of the method.
    """
    model, q = boxes()
    v = 2.0 * np.random.default_rng(0).normal(size=(64, 6))
    worst = []
    for h in (2e-3, 1e-3):
        run = mz.simulate(model, q, v, 0.5, h)
        E, taken = run.energy(), run.energy_taken()
        worst.append(np.diff(E).max() / E.max())
        assert np.diff(taken.sum(-1)).min() > -2e-3 * E.max()
        balance = E + taken.sum(-1)
        assert abs(balance - balance[:, :1]).max() < 40.0 * h * E.max()
    assert worst[1] < 1e-3 and worst[1] < worst[0]


def test_boxes_that_tumble_over_each_other_make_no_energy():
    """Corners, faces and edges of two boxes, thrown at each other."""
    model, q = boxes((1.0, 1.0), friction=0.5)
    rng = np.random.default_rng(0)
    q = np.tile(q, (16, 1))
    q[:, 9] += 0.02 + 0.15 * rng.random(16)
    run = mz.simulate(model, q, 2.0 * rng.normal(size=(16, 12)), 0.5, 2e-3)
    assert np.diff(run.energy(), axis=-1).max() < 2e-3  # of 10 J, to the order of the method
    assert run.contact_gaps.min() > -0.01


def test_solvers_agree():
    """Fast and robust give the same motion of a ball that bounces, slides and rolls."""
    model = ball(friction=0.3, restitution=0.4)
    q = model.neutral()
    q[2] = 0.3
    runs = [
        mz.simulate(model, q, [0, 5.0, 0, 2.0, 1.0, 0], 1.0, 1e-3, solver=name)
        for name in ("fast", "robust")
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-10)


def test_samples_do_not_see_each_other():
    """Iterations are left out where all samples that run together are solved: what a sample does
    is the same, bit by bit, in any company and alone.
    """
    model, q = boxes()
    rng = np.random.default_rng(3)
    q, v = np.tile(q, (32, 1)), 2.0 * rng.normal(size=(32, 6))
    q[::2, 2] += 0.01
    step = mz.stepper(model)
    together = step(q, v, 0.0, 2e-3, 60.0)
    order = rng.permutation(32)
    mixed = step(q[order], v[order], 0.0, 2e-3, 60.0)
    alone = [step(q[k], v[k], 0.0, 2e-3, 60.0) for k in range(4)]
    for n, x in enumerate(together):
        np.testing.assert_array_equal(mixed[n], x[order])
        np.testing.assert_array_equal([one[n] for one in alone], x[:4])


def test_loops_and_contacts_together():
    """A four-bar that falls with its coupler onto the ground stays closed, and rests."""
    builder = mz.Builder("bar")
    rod = box_inertia(1.0, (0.4, 0.05, 0.05))
    for name, x in (("left", -0.2), ("right", 0.2)):
        joint = mz.Revolute("y").between((x, 0.0, 0.5), None)
        builder.add(name, None, joint, mz.Inertia(0.5, (0, 0, -0.15), 0.01 * np.eye(3)))
    joint = mz.Revolute("y").between((0.0, 0.0, -0.3), None)
    builder.add("coupler", "left", joint, rod)
    builder.loop("close", "right", "coupler", mz.Revolute("y"), (0, 0, -0.3), (0.4, 0.0, 0.0))
    builder.shape("coupler", mz.Sphere(0.05), mz.SE3.translation(0.2, 0.0, 0.0), name="foot")
    model = builder.build().with_ground(height=0.17, friction=0.9)
    q = mz.assemble(model, np.array([1.0, 1.0, -1.0]), hold=["left"])
    run = mz.simulate(model, q, np.zeros(3), 3.0, 1e-3, record_every=10)
    assert abs(mz.loop_residual(model, run.q)).max() < 1e-9
    assert run.contact_residual.max() < 1e-9
    assert run.contact_gaps.min() > -1e-4
    assert run.contact_forces[..., 2].max() > 1.0
    assert run.energy()[-1] < run.energy()[0]


@pytest.mark.parametrize("name", ["bricard_line", "bennett", "goldberg", "bricard_trihedral"])
def test_dry_friction_in_overconstrained_loops(name):
    """It takes its moment times the angle turned, whichever joint is cut: at stages that are a
    little open no dependent row holds what rubs, so that friction could not act on it.
    """
    cuts = Cuts(LINKAGES[name](0), 1, lambda x: x.with_dynamics("joint_1", friction=2.0))
    ends = []
    for joint in [x.name for x in cuts.linkage.joints[1:]]:
        model, q, v = cuts.cut(joint)
        run = mz.simulate(model, q, v, 0.6, 1e-3, method="moreau")
        turned = np.abs(np.diff(run.q[:, model.q_slices["joint_1"]], axis=0)).sum()
        E = run.energy()
        assert E[0] - E[-1] == pytest.approx(2.0 * turned, rel=1e-3)
        ends.append((model, (run.q[-1], run.v[-1])))
    assert max(apart(ends[0][0], m, ends[0][1], x) for m, x in ends) < 1e-4


def test_stiff_damping_is_as_stable_in_steps_that_are_cut():
    """h λ = 1.5, below the 2 of explicit forces: what was fast a step ago is not looked at."""
    builder = mz.Builder("wheel").add("wheel", None, mz.Revolute("x"), np.eye(6))
    builder.add("ball", "wheel", mz.Free(), mz.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3)))
    model = builder.shape("ball", mz.Sphere(0.1), name="skin").build().with_ground("skin")
    q, v = model.neutral(), np.zeros(model.nv)
    q[model.q_slices["ball"]][2], v[0] = 0.1, 1.0
    inertia = mz.mass_matrix(model, q)[0, 0]

    def law(t, q, v):
        return [-1.5e3 * inertia * v[0], *np.zeros(model.nv - 1)]

    for options in ({}, {"cut": False}):
        run = mz.simulate(model, q, v, 0.1, 1e-3, torque=law, **options)
        assert abs(run.v[-1, 0]) < 1e-6 and np.isfinite(run.v).all()


def test_what_other_methods_do_not_know_is_refused():
    """Contacts and rigid stops are never ignored silently."""
    model = ball()
    q, v = model.neutral(), np.zeros(6)
    with pytest.raises(ConfigurationError, match="does not know contacts"):
        mz.simulate(model, q, v, 0.1, 1e-3, "rkmk4")
    with pytest.raises(ConfigurationError, match="rigid"):
        mz.simulate(model.without_contact("c"), q, v, 0.1, 1e-3, limits="rigid")
    assert mz.simulate(model, q, v, 0.01, 1e-3).method == "moreau"


def test_impact():
    """A ball with spin and restitution: Newton's law along the normal, Coulomb's across."""
    model = ball(friction=0.05, restitution=0.5)
    q = model.neutral()
    q[2] = 0.1
    v = mz.impact(model, q, [0.0, 0.0, 0.0, 1.0, 0.0, -2.0])
    np.testing.assert_allclose(v[3:], [1.0 - 0.05 * 3.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(v[1], 0.05 * 3.0 * 0.1 / (0.4 * 0.01), atol=1e-9)
    q[2] = 0.2
    np.testing.assert_array_equal(mz.impact(model, q, [0, 0, 0, 1.0, 0, -2.0])[5], -2.0)


def test_targets():
    """The same steps by the interpreter, as C source, and by XLA."""
    model = ball(friction=0.3, restitution=0.4)
    q, v = model.neutral(), np.array([0.0, 5.0, 0.0, 2.0, 1.0, -1.0])
    q[2] = 0.11
    expected = mz.stepper(model)(q, v, 0.0, 1e-3, 30.0)
    plain = mz.stepper(model, target="interpret")(q, v, 0.0, 1e-3, 30.0)
    for a, b in zip(plain, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    assert "newton" in mz.stepper(model, target="c").source
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        found = mz.stepper(model, target="jax")(q, v, 0.0, 1e-3, 30.0)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(a), b, atol=1e-12)


@pytest.mark.parametrize("method", ["moreau", "dopri5"])
def test_shapes_that_start_in_each_other_are_told(method):
    """By name and depth, from a millimetre on; soft contacts are pressed in by their weight."""
    model = ball()
    q = np.tile(model.neutral(), (3, 1))
    q[:, 2] = 0.2, 0.1, 0.04
    with pytest.warns(mz.ContactWarning, match=r"'sphere' is 0\.06 m deep in 'plane' at the start"):
        mz.simulate(model, q, np.zeros(6), 0.01, 1e-3, method=method)
    soft = model.without_contact("c").with_contact("c", "sphere", "plane", stiffness=1e4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", mz.ContactWarning)
        mz.simulate(model, q[:2], np.zeros(6), 0.01, 1e-3, method=method)
        mz.simulate(soft, q, np.zeros(6), 0.01, 1e-3)


@pytest.mark.parametrize("order", [1, -1])
def test_a_corner_that_points_of_contact_do_not_see_is_told(order):
    """A cylinder meets a box by points of its rims: it stands on one, whichever is named first, but
    where corners of boxes fly into its side they get into each other, which a warning says.
    """
    builder = mz.Builder("pair", gravity=(0, 0, 0))
    for name, shape in (("box", mz.Box((0.3, 0.3, 0.3))), ("drum", mz.Cylinder(0.1, 0.3))):
        builder.add(name, None, mz.Free(), box_inertia(1.0, (0.2, 0.2, 0.2)))
        builder.shape(name, shape, name=name)
    model = builder.build().with_contact("c", *("box", "drum")[::order], friction=0.3)
    q, v = model.neutral(), np.zeros(12)
    q[9] = 0.3  # it stands on top
    with warnings.catch_warnings():
        warnings.simplefilter("error", mz.ContactWarning)
        down = model.with_gravity((0, 0, -9.81)).lock(["box"], q)
        rest = mz.simulate(down, q[7:], np.zeros(6), 0.2, H)
    np.testing.assert_allclose(rest.q[-1], q[7:], atol=1e-9)
    on_drum = order * rest.contact_forces[-1].sum(axis=0)
    np.testing.assert_allclose(on_drum, [0, 0, -9.81], atol=1e-6)
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng, (32,))
    q[:, :3], q[:, 7:10] = (0.5, 0.0, 0.0), 0.0
    v = 2.0 * rng.normal(size=(32, 12))
    v[:, 3:6] = -2.0 * mz.forward_kinematics(model, q)[:, 0, 0, :3]  # towards it, in own axes
    with pytest.warns(mz.ContactWarning, match=r"gets 0\.\d+ m deep into"):
        mz.simulate(model, q, v, 0.4, H)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("size, angle", [((0.3, 0.1), 0.1), ((0.05, 1.0), 1.5)])
def test_a_box_that_falls_through_a_cylinder_is_told(size, angle: float, order: int):
    """All points by which the cylinder meets the box are beside it."""
    c, s = np.cos(angle), np.sin(angle)
    turned = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    shapes = (mz.Box((0.1, 0.1, 0.1)), np.eye(3)), (mz.Cylinder(*size), turned)
    (falls, R), (stays, S) = shapes[::order]
    model = (
        mz.Builder("b").add("b", None, mz.Free(), box_inertia(1.0, (0.2, 0.2, 0.2)))
        .shape("b", falls, (R, (0.0, 0.0, 0.0)), "falls")
        .shape(None, stays, (S, (0.0, 0.0, 0.0)), "stays")
    ).build().with_contact("c", "falls", "stays")  # fmt: skip
    q = np.array([0.0, 0.0, 0.25, 0.0, 0.0, 0.0, 1.0])
    with pytest.warns(mz.ContactWarning, match=r"gets 0\.0\d+ m deep into"):
        assert mz.simulate(model, q, np.zeros(6), 0.6, H).q[-1, 2] < -0.2


def test_what_is_driven_into_the_ground_is_told():
    """No force stops a drive: the law is missed, and no force of 1e122 N meets it."""
    body = mz.Inertia(1.0, (0, 0, 0), 0.01 * np.eye(3))
    build = mz.Builder().add("ball", None, mz.Prismatic("z"), body)
    model = build.shape("ball", mz.Sphere(0.1)).build().with_ground()
    down = {"ball": lambda t: 0.103 - 0.1 * t}
    with pytest.warns(mz.ContactWarning, match="laws of time that drive nothing into anything"):
        x = mz.simulate(model, [0.103], [0.0], 0.04, 1e-3, prescribed=down)
    assert x.contact_residual[-1] > 0.05
    assert np.abs(x.contact_forces).max() < 1e6
