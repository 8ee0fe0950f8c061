"""Laws that hold for every registered joint."""

from __future__ import annotations

import pickle
from typing import Any

import mpmath
import numpy as np
import pytest

from mozzi.lie import SE3, Screws, Twist
from mozzi.model import (
    JOINT_TYPES,
    Composite,
    Cylindrical,
    Free,
    Joint,
    Planar,
    PlanarScrew,
    Prismatic,
    Revolute,
    Schoenflies,
    Screw,
    Spherical,
    Translation2,
    Translation3,
    Universal,
    example_joints,
)
from mozzi.program.meaning import interpret
from mozzi.program.program import Input, trace

JOINTS = example_joints()
H = 1e-30  # a complex step: no cancellation, so it may be as small as one likes


@pytest.fixture(params=JOINTS, ids=str)
def joint(request: pytest.FixtureRequest) -> Joint:
    return JOINTS[request.param]


def rng_of(joint: Joint) -> np.random.Generator:
    return np.random.default_rng(sum(map(ord, repr(joint))))


def points(joint: Joint, n: int = 5) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Some configurations and velocities."""
    rng = rng_of(joint)
    pairs = []
    for _ in range(n):
        q = tuple(float(x) for x in joint.random(rng))
        pairs.append((q, tuple(float(x) for x in rng.normal(size=joint.nv))))
    return pairs


def hat(V: Twist) -> np.ndarray:
    matrix = np.zeros((4, 4))
    matrix[:3, :3] = V.ang.hat().array()
    matrix[:3, 3] = V.lin.array()
    return matrix


def close(a: Any, b: Any, tolerance: float = 1e-13) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def step(q: tuple, dq: tuple) -> tuple[complex, ...]:
    return tuple(complex(x, H * dx) for x, dx in zip(q, dq, strict=True))


def test_every_type_of_the_tables_is_registered():
    """Müller, Kinematics, tables 1 and 2, and the universal joint and products."""
    assert set(JOINT_TYPES) == {
        "Composite", "Cylindrical", "Fixed", "Free", "Planar", "PlanarScrew", "Prismatic",
        "Revolute", "Schoenflies", "Screw", "Spherical", "Translation2", "Translation3",
        "Universal",
    }  # fmt: skip


def test_screws_are_the_body_fixed_twist(joint):
    """Ṫ = T [S(q) v]^ along q̇ = N(q) v."""
    for q, v in points(joint):
        T = joint.pose(step(q, joint.rates(q, v))).matrix()
        rate = T.imag / H
        close(rate, joint.pose(q).matrix() @ hat(joint.screws(q) @ v), 1e-12)


def test_screws_rate_is_the_rate_of_the_screws(joint):
    """Ṡ = screws_rate(q, v) along q̇ = N(q) v."""
    for q, v in points(joint):
        rate = joint.screws(step(q, joint.rates(q, v))).array().imag / H
        close(rate, joint.screws_rate(q, v).array(), 1e-12)


def test_integrate_begins_along_the_rates(joint):
    """d/dh (q ⊕ h v) = N(q) v at h = 0."""
    for q, v in points(joint):
        moved = joint.integrate(tuple(map(complex, q)), tuple(complex(0.0, H * x) for x in v))
        close([x.imag / H for x in moved], joint.rates(q, v), 1e-12)
        close([x.real for x in moved], q, 1e-12)


def test_integrate_is_the_exponential_on_subgroups(joint):
    """pose(q ⊕ dv) = pose(q) exp(S dv); products move factor by factor."""
    for q, v in points(joint):
        T = joint.pose(joint.integrate(q, v))
        if joint.subgroup:
            close(T.matrix(), (joint.pose(q) @ SE3.exp(joint.screws(q) @ v)).matrix())
        elif isinstance(joint, Composite):
            expected = SE3.identity()
            inner = (SE3.identity(), *joint.inner)
            for M, (factor, x, u) in zip(inner, joint._parts(q, v), strict=True):
                expected = expected @ M @ factor.pose(factor.integrate(x, u))
            close(T.matrix(), expected.matrix())


def test_difference_inverts_integrate(joint):
    """(q ⊕ dv) ⊖ q = dv as long as dv turns by less than π."""
    for q, v in points(joint):
        for scale in (1.0, 1e-3, 1e-8):
            dv = tuple(scale * x / (1.0 + abs(x)) for x in v)
            close(joint.difference(q, joint.integrate(q, dv)), dv, 1e-12)


def test_integrate_inverts_difference(joint):
    """q0 ⊕ (q1 ⊖ q0) has the pose of q1."""
    rng = rng_of(joint)
    for _ in range(5):
        q0, q1 = joint.random(rng), joint.random(rng)
        q = joint.integrate(q0, joint.difference(q0, q1))
        close(joint.pose(q).matrix(), joint.pose(q1).matrix(), 1e-12)


def test_neutral_is_the_identity(joint):
    """Of a product it is that of the frames between the factors."""
    q = joint.neutral()
    assert len(q) == joint.nq and all(type(x) is float for x in q)
    close(joint.difference(q, q), np.zeros(joint.nv))
    between = SE3.identity()
    for M in getattr(joint, "inner", ()):
        between = between @ M
    close(joint.pose(q).matrix(), between.matrix(), 0.0)


def test_coasting_goes_straight(joint):
    """It begins along the velocity, which turns against the body by ω × u; on subgroups the way is
    a straight line, and the velocity in space stays.
    """
    for q, v in points(joint):
        begun, slowed = joint.coast(q, v, complex(0.0, H))
        close(np.imag(begun) / H, joint.rates(q, v))
        close(np.imag(slowed) / H, -np.array(joint.turning_rates(v)))
        new, u = joint.coast(q, v, 0.7)
        close(joint.carried(v, v, 0.7), u)
        if joint.subgroup:
            way = [joint.pose(joint.coast(q, v, h)[0]).p.array() for h in (0.0, 0.35, 0.7)]
            close(way[1], 0.5 * (way[0] + way[2]), 1e-12)
            moved = [
                joint.pose(x).R.rotate((joint.screws(x) @ y).lin).array()
                for x, y in ((q, v), (new, u))
            ]
            close(moved[1], moved[0], 1e-12)


def test_springs_have_an_energy(joint):
    """What they resist with is the derivative of ½ Σ k (q ⊖ rest)² along the group."""
    rng = rng_of(joint)
    for q, v in points(joint):
        rest, k = joint.integrate(q, [0.4 * x for x in v]), rng.uniform(1.0, 9.0, joint.nv)
        found = joint.spring_forces(k, rest, q)
        for r, unit in enumerate(np.eye(joint.nv)):
            stretch = joint.difference(rest, joint.integrate(q, tuple(1j * H * unit)))
            energy = sum(0.5 * a * x * x for a, x in zip(k, stretch, strict=True))
            close(found[r], energy.imag / H, 1e-11)


def test_random_configurations_are_batches_of_valid_ones(joint):
    rng = rng_of(joint)
    q = joint.random(rng, (3, 2))
    assert len(q) == joint.nq and all(np.shape(x) == (3, 2) for x in q)
    close(joint.normalize(q), q)
    T = joint.pose(q).matrix()
    for k in np.ndindex(T.shape[:-2]):
        close(T[k], joint.pose([float(x[k]) for x in q]).matrix())
        close(T[k][:3, :3].T @ T[k][:3, :3], np.eye(3))


def test_names_count_coordinates_and_velocities(joint):
    assert len(joint.q_names) == joint.nq == len(set(joint.q_names))
    assert len(joint.v_names) == joint.nv == len(set(joint.v_names))
    for k in joint.quaternions:
        assert [name[-2:] for name in joint.q_names[k : k + 4]] == ["qx", "qy", "qz", "qw"]


def test_flat_joints_add_their_velocity(joint):
    for q, v in points(joint):
        if joint.flat:
            close(joint.rates(q, v), v, 0.0)
            close(joint.integrate(q, v), np.add(q, v), 0.0)


def test_subgroups_are_closed(joint):
    """The brackets of the screws of a subgroup are in their span, and the screws are constant."""
    (q, v), *_ = points(joint)
    if joint.subgroup and joint.nv:
        S = joint.screws(q)
        assert all(type(x) is float for x in S.flatten())
        brackets = [a.cross(b).array() for a in S for b in S]
        basis, A = S.array(), np.array(brackets).T
        close(basis @ np.linalg.lstsq(basis, A, rcond=None)[0], A)
        close(joint.screws_rate(q, v).array(), np.zeros((6, joint.nv)), 0.0)


def test_parameters_come_back(joint):
    same = joint.with_parameters(joint.parameters())
    assert same == joint
    changed = joint.with_parameters([x + 0.5 for x in joint.parameters()])
    assert changed.kind == joint.kind
    assert (changed == joint) == (not joint.parameters())


def test_traced_joints_mean_what_they_mean_on_floats(joint):
    """Tracing meets no branch on a scalar, and the program gives the numbers of the float code."""
    nq, nv, np_ = joint.nq, joint.nv, len(joint.parameters())

    def everything(j: Joint, q: Any, v: Any, r: Any) -> np.ndarray:
        parts = [j.pose(q), j.screws(q), j.screws_rate(q, v)]
        flat = [x for part in parts for x in part.flatten()]
        flat += [*j.rates(q, v), *j.integrate(q, v), *j.difference(q, r), *j.normalize(q)]
        array = np.empty(len(flat), object)
        array[:] = flat
        return array

    def traced(q: Any, v: Any, r: Any, p: Any) -> Any:
        return everything(joint.with_parameters(list(p)), list(q), list(v), list(r))

    sizes = {"q": nq, "v": nv, "r": nq, "p": np_}
    program = trace(traced, [Input(name, (n,)) for name, n in sizes.items()], "joint")
    (q, v), (r, _), *_ = points(joint)
    result = interpret(program, [np.array(x, float) for x in (q, v, r, joint.parameters())])
    expected = everything(joint, q, v, r).astype(float)
    close(result[0], expected, 1e-12)


def test_fifty_digits_pass_through(joint):
    """mpmath numbers stay mpmath numbers, and agree with floats."""
    with mpmath.workdps(50):
        for q, v in points(joint, 1):
            Q, V = [mpmath.mpf(x) for x in q], [mpmath.mpf(x) for x in v]
            for f in (joint.rates, joint.integrate):
                close([float(x) for x in f(Q, V)], f(q, v), 1e-14)
            close([float(x) for x in joint.pose(Q).flatten()], joint.pose(q).flatten(), 1e-14)


def test_joints_are_values(joint):
    """Equal by content, hashable, picklable, immutable."""
    again = pickle.loads(pickle.dumps(joint))
    assert again == joint and hash(again) == hash(joint) and again is not joint
    moved = joint.between((0.0, 0.0, 1.0), None)
    assert moved != joint and moved.kind == joint.kind
    assert moved.between((0.0, 0.0, -1.0), None) == joint
    assert repr(joint).startswith(type(joint).__name__)
    with pytest.raises(AttributeError, match="immutable"):
        joint.frame_parent = SE3.identity()
    with pytest.raises(AttributeError, match="immutable"):
        del joint.frame_parent


def test_between_moves_both_frames():
    """T(q) becomes S_parent T(q) S_child⁻¹."""
    joint = Revolute((1, 2, 2))
    A, B = SE3.exp(Twist.unflatten([0.1, 0.2, 0.3, 1, 2, 3])), SE3.translation(0.5, 0.0, -1.0)
    expected = A @ joint.motion([0.7]) @ B.inverse()
    close(joint.between(A, B).motion([0.7]).matrix(), expected.matrix())


@pytest.mark.parametrize(
    "axis", ["x", "y", "z", "-x", "-z", (3, -4, 0), (1e-200, 0, 0), (0, 1e-9, -1)]
)
def test_axis(axis):
    """Revolute(axis) turns about the axis, Prismatic(axis) slides along it."""
    vector = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-z": (0, 0, -1)}
    e = np.array(vector.get(axis, axis) if isinstance(axis, str) else axis, float)
    e = e / abs(e).max()
    e /= np.linalg.norm(e)
    turn = SE3.exp(Twist.unflatten([*e, 0.0, 0.0, 0.0]), 0.8)
    close(Revolute(axis).motion([0.8]).matrix(), turn.matrix(), 1e-15)
    close(Prismatic(axis).motion([0.8]).p.array(), 0.8 * e, 1e-15)
    R = Revolute(axis).frame_child.R.array()
    close(R.T @ R, np.eye(3), 1e-15)


def exp(joint: Joint, k: int, x: float) -> SE3:
    return SE3.exp(joint.screws(joint.neutral())[k] * x)


FIRST = [
    Spherical("first"), Free("first"), Planar(coordinates="first"),
    Schoenflies(coordinates="first"), PlanarScrew(pitch=0.3, coordinates="first"),
    Cylindrical(coordinates="first"),
    Translation2(coordinates="first"), Translation3(coordinates="first"), Revolute(), Prismatic(),
    Screw(pitch=-0.4),
]  # fmt: skip
SECOND = [
    (Spherical("second"), (0, 1, 2)), (Free("second"), (3, 4, 5, 0, 1, 2)), (Planar(), (0, 1, 2)),
    (PlanarScrew(pitch=0.3), (0, 1, 2)), (Schoenflies(), (0, 1, 2, 3)), (Cylindrical(), (0, 1)),
    (Translation2(), (0, 1)), (Translation3(), (0, 1, 2)),
]  # fmt: skip


@pytest.mark.parametrize("joint", FIRST, ids=repr)
def test_coordinates_of_first_kind(joint):
    """T = exp(Σ Zₖ qₖ).  Müller, Kinematics, remark 4 (which prints a sum of exponentials)."""
    for q, _ in points(joint):
        close(joint.pose(q).matrix(), SE3.exp(joint.screws(q) @ q).matrix())


@pytest.mark.parametrize(("joint", "order"), SECOND, ids=repr)
def test_coordinates_of_second_kind(joint, order):
    """T = exp(Z₁ q₁) exp(Z₂ q₂) ...  Müller, Kinematics, remark 4."""
    for q, _ in points(joint):
        T = SE3.identity()
        for k, x in zip(order, q, strict=True):
            T = T @ exp(joint, k, x)
        close(joint.pose(q).matrix(), T.matrix())


def test_all_kinds_of_coordinates_move_alike():
    """The velocity is body-fixed whatever the coordinates: the same v moves the same way."""
    v = (0.3, -0.2, 0.5, 0.1, 0.7, -0.4)
    poses = []
    for kind in ("quaternion", "first", "second"):
        joint = Free(kind)
        q = joint.integrate(joint.integrate(joint.neutral(), v), (0.1,) * 6)
        poses.append(joint.pose(q).matrix())
    close(poses[0], poses[1])
    close(poses[0], poses[2])


def test_planar_differences_take_the_short_way():
    """A planar body that has turned many times is as near as its pose is."""
    for joint in (Planar(), Schoenflies()):
        q0, q1 = [0.0] * joint.nq, [0.3] * joint.nq
        q1[-1] = 0.3 + 20.0 * np.pi
        assert abs(joint.difference(q0, q1)[-1]) < 1.0
    assert abs(PlanarScrew(pitch=0.1).difference([0, 0, 0], [0, 0, 7.0])[-1]) == 7.0


def test_screws_with_a_pitch_are_not_periodic():
    """A whole turn advances by 2π·pitch: the configuration space of a screw joint is a line."""
    turn = 2.0 * np.pi
    for joint, z in ((Revolute(), 0.0), (Screw(pitch=0.1), 0.1 * turn)):
        close(joint.pose((turn,)).p.array(), (0.0, 0.0, z), 1e-15)
        assert joint.difference((0.0,), (turn,)) == (turn,)


def test_translations_and_turns_of_a_plane_do_not_commute():
    """SE(2), H_p × ℝ² and the Schönflies group are semidirect products."""
    for joint in (Planar(), PlanarScrew(pitch=0.3), Schoenflies()):
        shift, turn = joint.screws(joint.neutral())[0], joint.screws(joint.neutral())[-1]
        assert any(turn.cross(shift).flatten())


def test_composite_is_the_product_of_its_factors():
    """T = T₁ T₂ T₃, with the screws of a chain of massless bodies."""
    a = Revolute((1, 1, 0)).between((0.1, 0.2, 0.3), (0.0, 0.5, 0.0))
    b = Screw("y", pitch=0.2).between(None, (1.0, 0.0, 0.0))
    c = Universal("x", "z")
    q = (0.3, -0.8, 0.4, 1.1)
    joint = Composite(a, b, c)
    T = a.motion(q[:1]) @ b.motion(q[1:2]) @ c.motion(q[2:])
    close(joint.motion(q).matrix(), T.matrix())
    inner = Composite(Composite(a, b), c)
    close(inner.motion(q).matrix(), T.matrix())
    close(inner.screws(q).array(), joint.screws(q).array())


def test_universal_is_a_product_of_two_revolutes():
    for first, second in (("z", "x"), ("x", "y"), ((1, 1, 0), (0, 0, 1))):
        universal, product = Universal(first, second), Composite(Revolute(first), Revolute(second))
        q, v = (0.4, -0.9), (0.3, 0.8)
        close(universal.motion(q).matrix(), product.motion(q).matrix())

        def body(joint: Joint, S: Screws) -> np.ndarray:
            return joint.frame_child.push(S).array()

        close(body(universal, universal.screws(q)), body(product, product.screws(q)))
        rates = universal.screws_rate(q, v), product.screws_rate(q, v)
        close(body(universal, rates[0]), body(product, rates[1]))
