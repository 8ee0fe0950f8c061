"""Models are values: immutable, comparable, picklable; and copies can be changed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mozzi as mz
from mozzi.errors import ConfigurationError, ModelError
from mozzi.lie import SE3, Inertia, Vec3
from mozzi.model import Builder, Cylindrical, Fixed, Free, Model, Prismatic, Revolute, Spherical
from mozzi.model.generate import chain, four_bar, random_tree

I = Inertia(2.0, Vec3(0.1, 0.2, 0.3), 0.1 * np.eye(3))


def sample() -> Model:
    builder = Builder("sample")
    builder.add("base", None, Free(), I, joint_name="float")
    builder.add(
        "arm", "base", Revolute("y"), I, placement=(0, 0, 1), limits=(-1, 2), joint_name="hinge"
    )
    builder.add(
        "tube", "arm", Cylindrical("x"), I, joint_name="slide", lower=(-1, 0), upper=(1, np.inf)
    )
    builder.add("ball", "base", Spherical(), I, placement=(0, 1, 0), joint_name="socket")
    builder.add("disc", "ball", Revolute(), I, joint_name="spin")
    builder.frame("tip", "tube", (1, 0, 0)).frame("mark", None, (5, 0, 0))
    builder.loop("tie", "tube", "disc", Prismatic("x"), (0, 0, 1))
    builder.distance("rod", "arm", None, length=3)
    builder.coupling("gear", {"hinge": 1.0, "spin": -2.0}, 0.1)
    return builder.build()


def test_sizes_and_names():
    model = sample()
    assert (model.nb, model.nq, model.nv) == (5, 7 + 1 + 2 + 4 + 1, 6 + 1 + 2 + 3 + 1)
    assert model.bodies == ("base", "arm", "tube", "ball", "disc")
    assert model.frames == (*model.bodies, "tip", "mark")
    assert model.joint_names == ("float", "hinge", "slide", "socket", "spin")
    assert model.parents == (-1, 0, 1, 0, 3)
    assert model.q_slices["slide"] == slice(8, 10) and model.v_slices["slide"] == slice(7, 9)
    assert list(model.q_slices) == list(model.joint_names)
    assert (
        model.q_names[6:9] == ("float.qw", "hinge", "slide.angle")
        and len(model.q_names) == model.nq
    )
    assert model.v_names[0] == "float.wx" and len(model.v_names) == model.nv
    assert model.gravity == (0.0, 0.0, -9.81) and model.mass == 10.0
    assert model.children("base") == (1, 3) and model.children(None) == (0,)
    assert model.subtree("ball") == (3, 4) and model.index("ball") == 3
    assert model.body("arm") is model.body(1) and model.body(1).parent == 0
    assert model.joint("hinge") is model.body("arm").joint
    assert model.frame("tip")[0] == 2 and model.frame("arm") == (1, SE3.identity())
    assert "loops=2" in repr(model) and "couplings=1" in repr(model)


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.body("nobody"),
        lambda m: m.body(5),
        lambda m: m.body(-1),
        lambda m: m.joint("nobody"),
        lambda m: m.frame("nobody"),
        lambda m: m.without_body("nobody"),
        lambda m: m.lock("nobody"),
        lambda m: m.with_dynamics("nobody", damping=1),
    ],
)
def test_unknown_names_list_the_known_ones(ask):
    with pytest.raises(ModelError, match=r"has no (body|joint|frame) .*; it(s bodies are| has)"):
        ask(sample())


def test_models_are_immutable():
    model = sample()
    with pytest.raises(AttributeError, match="immutable"):
        model.gravity = (0, 0, 0)
    with pytest.raises(AttributeError, match="immutable"):
        del model.name
    with pytest.raises(TypeError):
        model.q_slices["float"] = slice(0, 1)
    with pytest.raises(AttributeError):
        model.body(0).parent = 3


def test_models_are_values():
    """Equal content, equal model, hash and digest; any difference shows."""
    a, b = sample(), sample()
    assert a == b and a is not b and hash(a) == hash(b) and a.digest == b.digest
    assert len({a, b}) == 1
    copy = pickle.loads(pickle.dumps(a))
    assert copy == a and copy.digest == a.digest and copy.q_slices["hinge"] == slice(7, 8)
    others = [
        a.with_gravity((0, 0, 0)),
        a.with_name("other"),
        a.with_inertia("arm", None),
        a.with_dynamics("hinge", damping=1.0),
        a.with_frame("f", "arm"),
        a.with_loop("l", "arm", None, Fixed()),
        a.with_coupling("c", {"spin": 1}),
        a.with_body("b", "arm", Revolute(), I),
        a.without_body("disc"),
        a.lock("spin"),
    ]
    assert len({a.digest, *(other.digest for other in others)}) == len(others) + 1
    assert all(a != other for other in others) and a != 3


def test_minus_zero_is_zero():
    """Numbers that are equal make models that are equal, digest included."""
    a = Builder().add("a", None, Revolute(), I, placement=(0.0, 0.0, 1.0)).build()
    b = Builder().add("a", None, Revolute(), I, placement=(-0.0, -0.0, 1.0)).build()
    assert a == b and a.digest == b.digest


def test_digest_is_the_same_in_every_process():
    code = "from mozzi.model.generate import random_tree; print(random_tree(6, 3).digest)"
    src = Path(__file__).parents[2] / "src"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(src)}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert run.stdout.strip() == random_tree(6, 3).digest


def test_neutral_and_random_configurations():
    model = sample().without_loop("tie").without_loop("rod").without_coupling("gear")
    q = model.neutral()
    assert q.shape == (model.nq,) and q[6] == 1.0 and q.dtype == float
    assert model.random_configuration(3).shape == (model.nq,)
    batch = model.random_configuration(np.random.default_rng(3), (4, 500))
    assert batch.shape == (4, 500, model.nq)
    np.testing.assert_array_equal(batch, model.random_configuration(3, (4, 500)))
    assert model.random_configuration(3, 7).shape == (7, model.nq)
    model.check_configuration(batch)
    hinge = batch[..., model.q_slices["hinge"]]
    assert -1.0 <= hinge.min() < -0.9 and 1.9 < hinge.max() <= 2.0
    slide = batch[..., model.q_slices["slide"]]
    assert slide[..., 0].min() >= -1.0 and slide[..., 1].min() >= 0.0
    spin = batch[..., model.q_slices["spin"]]
    assert spin.min() < -3.0 and spin.max() > 3.0


def test_random_configurations_satisfy_couplings_within_limits():
    """A follower with another range than its leader's, and a gear of three joints."""
    builder = Builder("geared")
    for name, limits in (("a", (-1, 2)), ("b", (-0.2, 0.5)), ("c", (0, 3)), ("d", None)):
        builder.add(name, None, Revolute((1, 2, 3)), I, limits=limits)
    builder.coupling("follow", {"b": 1.0, "a": -0.5}, 0.1)
    builder.coupling("gear", {"a": 1.0, "c": 2.0, "d": -1.0}, -0.3)
    model = builder.build()
    q = model.random_configuration(1, (3, 200))
    a, b, c, d = np.moveaxis(q, -1, 0)
    np.testing.assert_allclose(b - 0.5 * a, 0.1, atol=1e-14)
    np.testing.assert_allclose(a + 2 * c - d, -0.3, atol=1e-14)
    assert (a >= -1).all() and (a <= 2).all() and (c >= 0).all() and (c <= 3).all()
    assert (b >= -0.2 - 1e-12).all() and (b <= 0.5 + 1e-12).all()
    assert b.std() > 0.15 and c.std() > 0.35
    mz.simulate(model, q[0, 0], np.zeros(4), 0.01, 1e-2)


def test_random_configurations_of_loops_are_closed_within_limits():
    limits = {"crank": (-2.0, 2.0), "rocker": (-1.5, 1.5)}
    builder = Builder("four-bar")
    for name, parent, place in (
        ("crank", None, None), ("rod", "crank", (0, 0, 0.3)), ("rocker", None, (0.5, 0, 0)),
    ):  # fmt: skip
        builder.add(name, parent, Revolute("y"), I, placement=place, limits=limits.get(name))
    builder.loop("pin", "rod", "rocker", Revolute("y"), (0, 0, 0.5), (0, 0, 0.4))
    model = builder.build()
    q = model.random_configuration(0, 50)
    assert np.abs(mz.loop_residual(model, q)).max() < 1e-10
    assert (np.abs(q[:, 0]) <= 2.0).all() and (np.abs(q[:, 2]) <= 1.5).all()
    assert q[:, 0].std() > 0.5
    np.testing.assert_array_equal(q, model.random_configuration(0, 50))
    mz.simulate(model, q[0], np.zeros(3), 0.01, 1e-2)
    tight = model.with_dynamics("crank", limits=(3, 3.1))
    tight = tight.with_dynamics("rocker", limits=(-0.1, 0.1))
    with pytest.raises(mz.LoopError, match="could be closed within the limits"):
        tight.random_configuration(0)
    assert tight.random_configuration(0, closed=False).shape == (3,)


def test_named_configurations_follow_edits_and_couplings():
    builder = Builder("hand")
    for k, name in enumerate("abc"):
        builder.add(name, None if not k else "abc"[k - 1], Revolute("y"), I, placement=(0, 0, 0.3))
    builder.coupling("follow", {"c": 1.0, "b": -2.0}, 0.5)
    builder.configuration("home", {"a": 0.3, "b": 0.2})
    model = builder.build()
    np.testing.assert_allclose(model.configurations["home"], [0.3, 0.2, 0.9])
    assert model.configurations.keys() == {"home"}
    other = model.without_coupling("follow").with_body("d", "c", Free(), I)
    np.testing.assert_allclose(other.configurations["home"][:4], [0.3, 0.2, 0.0, 0.0])
    assert other.configurations["home"][-1] == 1.0
    np.testing.assert_allclose(model.lock("a", {"a": 1.0}).configurations["home"], [0.2, 0.9])
    assert model.without_body("b").configurations["home"] == pytest.approx([0.3])
    assert pickle.loads(pickle.dumps(model)).configurations.keys() == {"home"}
    assert model != builder.configuration("home", {"a": 0.31, "b": 0.2}).build()
    with pytest.raises(ModelError, match="configuration 'x': joint 'z' is unknown"):
        builder.configuration("x", {"z": 1.0}).build()
    with pytest.raises(ModelError, match="no coupling 'x'; it has 'follow'"):
        model.without_coupling("x")
    with pytest.raises(ModelError, match="no loop 'x'; it has none"):
        model.without_loop("x")


def test_configurations_are_checked():
    model = sample()
    q = model.random_configuration(0, closed=False)
    with pytest.raises(ConfigurationError, match=r"q has shape .*give nq = 15"):
        model.check_configuration(q[:-1])
    with pytest.raises(ConfigurationError, match=r"q\[7\] of 'hinge' is not finite"):
        model.check_configuration(np.where(np.arange(model.nq) == 7, np.nan, q))
    zero = q.copy()
    zero[3:7] = 0.0
    with pytest.raises(ConfigurationError, match="joint 'float': quaternion of length 0"):
        model.check_configuration(zero)
    with pytest.raises(ConfigurationError, match="joint 'float': a zero quaternion"):
        model.normalize(zero)
    zero[3:7] = 2.0
    np.testing.assert_allclose(model.normalize(zero)[3:7], 0.5)
    with pytest.raises(ConfigurationError, match="shape"):
        model.normalize(3.0)


def test_with_body_takes_what_the_builder_takes():
    model = sample()
    more = model.with_body("new", "tip", screw=(0, 0, 1, 0, 0, 0), inertia=I, damping=0.5)
    assert more.bodies == (*model.bodies, "new") and more.body("new").parent == 2
    np.testing.assert_allclose(more.body("new").joint.frame_parent.p.array(), (1.0, 0.0, 0.0))
    assert more.without_body("new") == model
    assert model.with_body("new", 2, Revolute()).body("new").parent == 2
    assert model.with_loop("l", 1, -1, Fixed()) == model.with_loop("l", "arm", None, Fixed())
    first = Builder("m").add("a", None, Revolute("x"), I, damping=0.3, armature=0.1)
    alike, slide = first.build().body("a").dynamics, [0, 0, 0, 0.6, 0, 0.8]
    for words in (
        {"joint": Revolute("y"), "placement": (0.1, 0.2, 0.3), "joint_name": "knee"},
        {"reference": (0.3, 0.1, -0.2), "screw": slide, "rep": "spatial"},
        {"reference": (0.3, 0.1, -0.2), "screw": slide, "rep": "parent"},
        {"joint": Revolute("z"), "dynamics": alike},
    ):
        grown = first.build().with_body("b", "a", inertia=I, **words)
        whole = Builder("m").add("a", None, Revolute("x"), I, dynamics=alike)
        assert grown == whole.add("b", "a", inertia=I, **words).build()


def test_without_body_takes_all_that_hangs_on_it():
    model = sample()
    less = model.without_body("arm")
    assert less.bodies == ("base", "ball", "disc") and less.parents == (-1, 0, 1)
    assert less.frames == ("base", "ball", "disc", "mark")
    assert not less.loops and not less.distances and not less.couplings
    kept = model.without_body("disc")
    assert kept.distances == model.distances and kept.frame("tip")[0] == 2
    assert model.without_body("base").nb == 0


def absolute(model: Model, q: np.ndarray, frame: str) -> np.ndarray:
    i, T = model.frame(frame)
    while i >= 0:
        body = model.body(i)
        T = body.joint.motion([float(x) for x in q[model.q_slices[body.joint_name]]]) @ T
        i = body.parent
    return T.matrix()


@pytest.mark.parametrize("how", ["array", "mapping"])
def test_locked_joints_hold_their_position(how):
    """Every frame is where it was, mass stays, and loops and couplings are carried over."""
    model = sample()
    q = model.random_configuration(4, closed=False)
    names = ["hinge", "socket"]
    given = q if how == "array" else {name: q[model.q_slices[name]] for name in names}
    held = model.lock(names, given)
    assert held.joint_names == ("float", "slide", "spin")
    assert set(held.frames) == set(model.frames) and held.mass == pytest.approx(model.mass)
    left = np.concatenate([q[model.q_slices[name]] for name in held.joint_names])
    for frame in model.frames:
        np.testing.assert_allclose(
            absolute(held, left, frame), absolute(model, q, frame), atol=1e-13
        )
    (gear,) = held.couplings
    assert gear.terms == (("spin", 0, -2.0),)
    assert gear.offset == pytest.approx(0.1 - q[model.q_slices["hinge"]][0])
    (rod,) = held.distances
    assert held.bodies[rod.body_a] == "base"
    (tie,) = held.loops
    assert (held.bodies[tie.body_a], held.bodies[tie.body_b]) == ("tube", "disc")


def test_locking_checks_what_it_gets():
    model = sample()
    with pytest.raises(ConfigurationError, match="shape"):
        model.lock("hinge", [0.0])
    with pytest.raises(ModelError, match="no coordinates for joint 'hinge'"):
        model.lock("hinge", {})
    with pytest.raises(ModelError, match="one configuration"):
        model.lock("hinge", model.random_configuration(0, 2, closed=False))
    with pytest.raises(ModelError, match="coupling 'gear': locked open"):
        model.lock(["hinge", "spin"], {"hinge": 1.0, "spin": 0.0})
    assert not model.lock(["hinge", "spin"], {"hinge": 0.1, "spin": 0.0}).couplings
    assert model.lock("float").bodies[0] == "arm"


def test_changed_copies_of_long_chains():
    """No walk is recursive."""
    model = chain(3000)
    assert model.without_body("body_1500").nb == 1500
    assert model.lock([f"joint_{i}" for i in range(2999)]).nb == 1
    assert len(model.subtree(0)) == 3000


def test_loops_are_values():
    model = four_bar()
    (loop,) = model.loops
    assert pickle.loads(pickle.dumps(loop)) == loop and hash(loop) == hash(
        pickle.loads(pickle.dumps(loop))
    )
    assert loop.joint == Revolute("y") and loop != 1 and "closure" in repr(loop)
