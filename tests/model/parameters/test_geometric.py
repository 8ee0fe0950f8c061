"""Geometric parameters: pitches, any screw, factors of products, the ends of loops."""

from __future__ import annotations

import numpy as np
import pytest
from support.mechanics import agree

import mozzi as mz
from mozzi.model.generate import four_bar, random_inertia
from mozzi.model.parameters.named import geometric, nominal_numbers

H = 1e-5


def arm(pitch: float = 0.3, inner: float = 0.15, turn: mz.SE3 | None = None) -> mz.Model:
    """A screw joint and a product of a slider, an oblique hinge and a screw."""
    rng = np.random.default_rng(3)
    behind = turn or mz.SE3.identity()
    hinge = mz.Revolute((1, 1, 0)).between((0.3, -0.2, 0.5), (0.1, 0.0, -0.4))
    hinge = hinge.at(hinge.frame_parent @ behind, hinge.frame_child)
    product = mz.Composite(mz.Prismatic("y"), hinge, mz.Screw((0, 1, 2), pitch=inner))
    b = mz.Builder("arm")
    first = mz.Screw((1, 2, -1), pitch=pitch).between((0.1, 0.2, 0.3))
    b.add("one", None, first, random_inertia(rng))
    b.add("two", "one", product.between((0.0, 0.4, 0.1)), random_inertia(rng))
    return b.build()


MODEL = arm()
Q = np.array([0.3, 0.2, -0.7, 0.4])
V, A = np.array([0.5, -0.4, 0.3, 0.8]), np.array([0.1, 0.6, -0.2, 0.7])


def test_a_pitch_is_the_pitch():
    s, c = MODEL.joint_names
    names = [f"{s}.pitch", f"{c}.3.pitch"]
    agree(nominal_numbers(MODEL, names), [0.3, 0.15])
    kernel = mz.sensitivity(mz.inverse_dynamics, MODEL, names)
    found = kernel(Q, V, A)
    for k in range(2):
        step = H * np.eye(2)[k]
        models = [arm(0.3 + x[0], 0.15 + x[1]) for x in (step, -step)]
        up, down = (mz.inverse_dynamics(model, Q, V, A) for model in models)
        np.testing.assert_allclose(found[:, k], (up - down) / (2 * H), atol=1e-8)
    other = kernel.value(Q, V, A, parameters=[0.5, -0.2])
    agree(other, mz.inverse_dynamics(arm(0.5, -0.2), Q, V, A))


def test_pitches_in_what_divides_by_inertias():
    """Forward dynamics of a model that nothing has asked before, and motions, by the pitches and by
    a factor: inertias about a joint are no numbers then.
    """
    s, c = MODEL.joint_names
    names = [f"{s}.pitch", f"{c}.3.pitch", f"{c}.2.x"]
    found = mz.sensitivity(mz.forward_dynamics, arm(), names)(Q, V, A)

    def built(x: np.ndarray) -> mz.Model:
        return arm(0.3 + x[0], 0.15 + x[1], mz.SE3.translation(x[2], 0.0, 0.0))

    for k, step in enumerate(H * np.eye(3)):
        up, down = (mz.forward_dynamics(built(x), Q, V, A) for x in (step, -step))
        np.testing.assert_allclose(found[:, k], (up - down) / (2 * H), atol=1e-6)
    values = dict(zip(names, ([0.3, 0.5], [0.15, -0.2], [0.0, 0.1]), strict=True))
    moved = mz.simulate(arm(), Q, V, 0.05, 1e-2, parameters=values)
    alone = mz.simulate(built(np.array([0.2, -0.35, 0.1])), Q, V, 0.05, 1e-2)
    agree(moved.q[1], alone.q)


def test_factors_move_in_their_own_frames():
    """Behind the slider: the frame of the hinge, moved, against products built anew."""
    c = MODEL.joint_names[1]
    for word, X in (("rx", [1.0, 0, 0, 0, 0, 0]), ("z", [0, 0, 0, 0, 0, 1.0]),
                    ("screw(0.5, -1, 2, 0.1, 0, 0.3)", [0.5, -1, 2, 0.1, 0, 0.3])):  # fmt: skip
        kernel = mz.sensitivity(mz.inverse_dynamics, MODEL, [f"{c}.2.{word}"])

        def built(x: float, X: list[float] = X) -> np.ndarray:
            moved = arm(turn=mz.SE3.exp(mz.Twist.from_array(X), x))
            return mz.inverse_dynamics(moved, Q, V, A)

        agree(kernel.value(Q, V, A, parameters=[0.2]), built(0.2))
        np.testing.assert_allclose(
            kernel(Q, V, A)[:, 0], (built(H) - built(-H)) / (2 * H), atol=1e-8
        )


NESTED = {
    "wrist.1.z": {"outer": (0, 0, 0, 0, 0, 1.0)},
    "wrist.2.x": {"second": (0, 0, 0, 1.0, 0, 0)}, "wrist.2.1.ry": {"second": (0, 1.0, 0, 0, 0, 0)},
    "wrist.2.2.rx": {"inside": (1.0, 0, 0, 0, 0, 0)}, "wrist.2.2.pitch": {"pitch": 1.0},
    "wrist.2.2.screw(0, 0, 1, 0.5, 0, 0)": {"inside": (0, 0, 1.0, 0.5, 0, 0)},
}  # fmt: skip


def nested(x: float = 0.0, **changed) -> mz.Model:
    """A product in a product, with frames everywhere; what is changed, by x."""

    def moved(joint: mz.Joint, which: str) -> mz.Joint:
        U = mz.Twist.from_array(np.array(changed.get(which, np.zeros(6))))
        return joint.with_frames(joint.frame_parent @ mz.SE3.exp(U, x), joint.frame_child)

    rows = np.random.default_rng(3).normal(size=(4, 6))
    T = [mz.SE3.exp(mz.Twist.from_array(X), 1.0) for X in rows]
    screw = mz.Screw("y", pitch=0.3 + x * changed.get("pitch", 0.0)).between(T[0], T[1])
    first = moved(mz.Revolute("x").between(None, T[2]), "second")
    outer = moved(mz.Revolute((0.6, 0, 0.8)).between(T[3], T[0]), "outer")
    wrist = mz.Composite(outer, mz.Composite(first, moved(screw, "inside")), mz.Prismatic("z"))
    return mz.Builder("arm").add("hand", None, wrist, joint_name="wrist").build()


def test_factors_of_factors_move_in_their_own_frames():
    q = np.array([0.4, -0.7, 1.1, 0.3])

    def hand(model: mz.Model) -> np.ndarray:
        return np.array(mz.pose.python(model, q, "hand"), dtype=float)

    found = mz.sensitivity(mz.pose, nested(), list(NESTED), frame="hand")(q)
    for k, (name, changed) in enumerate(NESTED.items()):
        x = 0.5 if name.endswith("pitch") else 0.2  # the pitch itself, 0.2 more than it was
        agree(hand(nested().with_parameters({name: x})), hand(nested(0.2, **changed)))
        up, down = (hand(nested(h, **changed)) for h in (H, -H))
        np.testing.assert_allclose(found[..., k], (up - down) / (2 * H), atol=1e-8)
    for name in ("wrist.2.3.x", "wrist.2.1.pitch", "wrist.1.1.z", "wrist.2.2.placement.x"):
        with pytest.raises(mz.ModelError, match=name):
            nested().with_parameters({name: 0.1})


def test_any_screw_is_the_sum_of_the_six():
    """∂ along U is Σ U_k ∂_k at the model as it is, and exp(U π) away from it."""
    s, U = MODEL.joint_names[0], np.array([0.5, -1.0, 2.0, 0.1, 0.0, 0.3])
    name = f"{s}.screw({', '.join(map(str, U))})"
    six = [f"{s}.{w}" for w in ("rx", "ry", "rz", "x", "y", "z")]
    one = mz.sensitivity(mz.inverse_dynamics, MODEL, [name])
    agree(one(Q, V, A)[:, 0], mz.sensitivity(mz.inverse_dynamics, MODEL, six)(Q, V, A) @ U)
    moved = MODEL.with_parameters({name: 0.4})
    joint = MODEL.body(0).joint
    T = joint.motion(joint.neutral()) @ mz.SE3.exp(mz.Twist.from_array(U), 0.4)
    agree(mz.pose(moved, moved.neutral(), "one"), T.matrix())
    assert geometric(MODEL, [name])


@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize("word", ["rx", "ry", "rz", "x", "y", "z"])
def test_screws_are_in_the_frame_of_the_body(k: int, word: str):
    """Where its joint is neutral, a product too, whose frames lie between its factors:
    C⁻¹ ∂C is the unit screw, and a model that is moved is the one that is built so.
    """
    name, joint = MODEL.joint_names[k], MODEL.body(k).joint
    q, U = np.array(MODEL.neutral()), np.eye(6)[["rx", "ry", "rz", "x", "y", "z"].index(word)]
    C = mz.forward_kinematics(MODEL, q)[k]
    X = np.linalg.inv(C) @ mz.sensitivity(mz.forward_kinematics, MODEL, [f"{name}.{word}"])(q)[
        k, ..., 0
    ]
    agree(np.array([X[2, 1], X[0, 2], X[1, 0], *X[:3, 3]]), U)
    B = joint.motion(joint.neutral())
    T = B @ mz.SE3.exp(mz.Twist.from_array(U), 0.2) @ B.inverse()
    parts = [x.joint.with_frames(T @ joint.frame_parent, joint.frame_child) if i == k else x.joint
             for i, x in enumerate(MODEL)]  # fmt: skip
    b = mz.Builder("arm").add("one", None, parts[0], MODEL.body(0).inertia)
    built = b.add("two", "one", parts[1], MODEL.body(1).inertia).build()
    moved = MODEL.with_parameters({f"{name}.{word}": 0.2})
    agree(mz.inverse_dynamics(moved, Q, V, A), mz.inverse_dynamics(built, Q, V, A))


def test_the_ends_of_loops():
    model = four_bar()
    q = mz.assemble(model, [0.3, 0.5, 1.5])
    loop = model.loops[0]
    for end in "ab":
        for word, X in (("x", [0, 0, 0, 1.0, 0, 0]), ("rz", [0, 0, 1.0, 0, 0, 0])):
            kernel = mz.sensitivity(mz.loop_residual, model, [f"{loop.name}.{end}.{word}"])

            def at(x: float, end: str = end, X: list[float] = X) -> np.ndarray:
                P = {"a": loop.placement_a, "b": loop.placement_b}
                P[end] = P[end] @ mz.SE3.exp(mz.Twist.from_array(X), x)
                a, b = (model.bodies[k] if k >= 0 else None for k in (loop.body_a, loop.body_b))
                free = model.without_loop(loop.name)
                other = free.with_loop(loop.name, a, b, loop.joint, P["a"], P["b"])
                return mz.loop_residual(other, q)

            agree(kernel.value(q, parameters=[0.1]), at(0.1))
            found = kernel(q)[..., 0]
            np.testing.assert_allclose(found, (at(H) - at(-H)) / (2 * H), atol=1e-8)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("two.pitch", "has no pitch"),
        ("one.screw(1, 2)", "six numbers"),
        ("two.9.x", "no "),
        ("two.1.pitch", "no "),
    ],
)
def test_names_that_are_none(name, message):
    model = MODEL
    joint = dict(zip(model.bodies, model.joint_names, strict=True))
    owner, _, rest = name.partition(".")
    with pytest.raises(mz.ModelError, match=message):
        model.with_parameters({f"{joint[owner]}.{rest}": 0.1})
