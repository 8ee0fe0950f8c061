"""What a person reads when something is wrong: the argument, the fact, the remedy."""

import pickle

import numpy as np
import pytest

import mozzi as mz
from mozzi.errors import known
from mozzi.model.generate import chain, four_bar

MODEL = chain(4).with_name("arm")
q, v, a = np.zeros((3, 4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mz.inverse_dynamics(MODEL, q, v[:3], a), "v has shape (3,); arm has nv = 4"),
        (lambda: mz.inverse_dynamics(MODEL, q, v, 1.0), "a has shape (); arm has nv = 4"),
        (lambda: mz.inverse_dynamics(MODEL, np.zeros((5, 3)), v, a),
         "q has shape (5, 3); arm has nq = 4"),
        (lambda: mz.inverse_dynamics(MODEL, q, v, a, wrenches=np.zeros((5, 6))),
         "wrenches has shape (5, 6); arm has nb = 4, so that its last axes are (4, 6)"),
        (lambda: mz.inverse_dynamics(MODEL, q, v, a, wrenches=np.zeros((4, 3))),
         "wrenches has shape (4, 3); arm has nb = 4, so that its last axes are (4, 6)"),
        (lambda: mz.point_jacobian(MODEL, q, [0.0, 1.0], MODEL.bodies[-1]),
         "point has shape (2,); its last axes are (3,)"),
    ],
)  # fmt: skip
def test_a_shape_that_does_not_fit_names_the_argument(call, message: str):
    mz.inverse_dynamics(MODEL, q, v, a)  # the kernel is there, or not: the same words
    with pytest.raises(mz.ShapeError) as error:
        call()
    assert str(error.value).endswith(message)
    assert str(error.value).partition(":")[0] in ("inverse_dynamics", "point_jacobian")
    with pytest.raises(ValueError):
        call()


def test_the_first_call_says_the_same():
    with pytest.raises(mz.ShapeError, match=r"^mass_matrix: q has shape \(7,\); arm has nq = 4$"):
        mz.mass_matrix(chain(4).with_name("arm"), np.zeros(7))


def test_kernels_name_the_argument():
    kernel = mz.compile(mz.inverse_dynamics, MODEL)
    with pytest.raises(mz.ShapeError, match=r"inverse_dynamics: v has shape \(3,\); give an array"):
        kernel(q, v[:3], a)
    with pytest.raises(mz.ShapeError, match="v has shape"):
        mz.compile(mz.inverse_dynamics, MODEL, target="interpret")(q, v[:3], a)


def test_batches_that_do_not_broadcast():
    words = r"batch axes do not broadcast: q \(5,\), a \(3,\)"
    with pytest.raises(mz.ConfigurationError, match=words):
        mz.inverse_dynamics(MODEL, np.zeros((5, 4)), v, np.zeros((3, 4)))


def test_numbers_that_are_not_real():
    with pytest.raises(TypeError, match="v holds complex128; give real numbers"):
        mz.inverse_dynamics(MODEL, q, v + 1j, a)


def test_lists_of_names_are_complete_and_put_the_nearest_first():
    names = [f"joint_{k}" for k in range(20)]
    assert known("jiont_17", names).startswith("'joint_17'")
    assert all(repr(name) in known("x", names) for name in names)
    many = chain(30)
    with pytest.raises(mz.ModelError) as error:
        mz.pose(many, many.neutral(), many.bodies[-1] + "x")
    listed = str(error.value).partition("it has ")[2]
    assert listed.startswith(repr(many.bodies[-1]))
    assert all(repr(name) in listed for name in many.bodies)


@pytest.mark.parametrize(
    ("call", "first"),
    [
        (lambda: mz.twists(MODEL, q, v, rep="spacial"), "'spatial'"),
        (lambda: mz.compile(mz.mass_matrix, MODEL, target="cpp"), "'cpu'"),
        (lambda: mz.compile(mz.mass_matrix, MODEL, dtype="float46"), "'float64'"),
        (lambda: mz.simulate(MODEL, q, v, 1.0, 0.1, method="rkmk5"), "'rkmk4'"),
        (lambda: mz.simulate(MODEL, q, v, 1.0, 0.1, method="dopri5", rtoll=1.0), "'rtol'"),
        (lambda: mz.hybrid_dynamics(MODEL, q, v, a, a, prescribed=["joint"]), "'joint"),
        (lambda: mz.product_of_exponentials(MODEL, q, form="spatia"), "'spatial'"),
        (lambda: mz.Spherical(coordinates="quaternions"), "'quaternion'"),
        (lambda: mz.Builder().add("a", None, mz.Revolute(), dampin=1.0), "'damping'"),
    ],
)
def test_the_nearest_spelling_stands_first(call, first: str):
    with pytest.raises(ValueError) as error:
        call()
    text = str(error.value)
    assert any(part.startswith(first) for part in text.split(" ")), text


LOOP = four_bar()


@pytest.mark.parametrize(
    "name", ["forward_dynamics", "loop_forces", "forward_dynamics_derivatives"]
)
def test_models_with_loops_name_the_function_that_was_called(name: str):
    """Not the part of the answer that met the shape first."""
    message = rf"^{name}: tau has shape \(5,\); four_bar has nv = 3$"
    with pytest.raises(mz.ShapeError, match=message):
        getattr(mz, name)(LOOP, LOOP.neutral(), np.zeros(3), np.zeros(5))


def test_an_unknown_configuration_says_which_there_are():
    model = mz.Builder("arm").add("a", None, mz.Revolute(), mz.Inertia(1.0, (0, 0, 1), np.eye(3)))
    model = model.configuration("home", {"a": 0.3}).configuration("rest", {"a": 0.0}).build()
    with pytest.raises(mz.ModelError) as error:
        model.configurations["hme"]
    assert str(error.value) == "model 'arm' has no configuration 'hme'; it has 'home', 'rest'"
    with pytest.raises(KeyError):
        model.configurations["hme"]
    assert model.configurations.get("hme") is None and "hme" not in model.configurations


def wrong_calls():
    stop = mz.Interrupted(mz.simulate(MODEL, q, v, 0.01, 1e-3))
    yield stop
    for call in (
        lambda: mz.mass_matrix(MODEL, q[:3]),
        lambda: mz.pose(MODEL, q, 3),  # pyright: ignore[reportArgumentType]
        lambda: mz.pose(MODEL, q, "nowhere"),
        lambda: MODEL.configurations["nowhere"],
        lambda: mz.mass_matrix(MODEL, q * np.nan),
        lambda: mz.load("nowhere.urdf"),
    ):
        with pytest.raises(mz.MozziError) as error:
            call()
        yield error.value


def test_errors_come_out_of_other_processes():
    """With their words and fields: a pool of processes waits for ever for one that does not."""
    for error in wrong_calls():
        other = pickle.loads(pickle.dumps(error))
        assert type(other) is type(error) and str(other) == str(error)
        assert other.__dict__.keys() == error.__dict__.keys()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mz.SE3.exp((0, 0, 1, 0, 0, 0)), "SE3.exp: X is (0, 0, 1, 0, 0, 0); give a Twist"),
        (lambda: mz.Rotation.exp((0, 0, 1)), "Rotation.exp: w is (0, 0, 1); give a Vec3"),
        (lambda: mz.Rotation.from_quaternion((0, 0, 0, 1)), "q is (0, 0, 0, 1); give a Quaternion"),
        (lambda: mz.SE3.identity() @ np.ones(3), "SE3 @ array: give an SE3, or multiply with"),
    ],
)  # fmt: skip
def test_groups_say_what_they_take(call, message: str):
    with pytest.raises(TypeError) as error:
        call()
    assert message in str(error.value)
