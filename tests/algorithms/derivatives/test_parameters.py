"""Sensitivities to named inertial and geometric parameters."""

import dataclasses
import pickle

import numpy as np
import pytest
from support.differences import complex_columns
from support.mechanics import agree, loaded_tree, state

import mozzi as mz

TEN = ("mass", "hx", "hy", "hz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")
SIX = ("x", "y", "z", "rx", "ry", "rz")


def names(model):
    inertial = [f"{body}.{p}" for body in model.bodies for p in TEN]
    return inertial + [f"{joint}.{p}" for joint in model.joint_names for p in SIX]


def rebuilt(model, name, x):
    """The model with one parameter changed, built anew."""
    owner, _, what = name.rpartition(".")
    bodies = list(model)
    if what in TEN:
        k = model.bodies.index(owner)
        ten = list(bodies[k].inertia.parameters())
        ten[TEN.index(what)] += x
        bodies[k] = dataclasses.replace(bodies[k], inertia=mz.Inertia.from_parameters(ten))
    else:
        k = model.joint_names.index(owner)
        joint = bodies[k].joint
        six = [0.0] * 6
        six[("rx", "ry", "rz", "x", "y", "z").index(what)] = 1.0
        U = joint.frame_child.inverse().push(mz.Twist.from_array(six))
        frame = joint.frame_parent @ mz.SE3.exp(U, x)
        bodies[k] = dataclasses.replace(bodies[k], joint=joint._with(frame_parent=frame))
    return model._replace(_bodies=tuple(bodies))


FUNCTIONS = {
    "forward_kinematics": ("q",),
    "inverse_dynamics": ("q", "v", "a"),
    "forward_dynamics": ("q", "v", "tau"),
    "mass_matrix": ("q",),
    "jacobian": ("q",),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_against_models_built_anew(function):
    """Every parameter of a tree, in one call, against central differences of other models."""
    model = loaded_tree(3, 4)
    q, v, tau, a = state(model, 0)
    arrays = [{"q": q, "v": v, "tau": tau, "a": a}[n] for n in FUNCTIONS[function]]
    options = {"frame": model.bodies[-1]} if function == "jacobian" else {}
    algorithm = getattr(mz, function)
    kernel = mz.sensitivity(algorithm, model, names(model), **options)
    found = kernel(*arrays)
    agree(kernel.value(*arrays), algorithm(model, *arrays, **options))
    h = 1e-4
    for k, name in enumerate(kernel.names):
        ends = [
            np.array(algorithm.python(rebuilt(model, name, s * h), *arrays, **options), float)
            for s in (2, 1, -1, -2)
        ]
        expected = (8 * (ends[1] - ends[2]) - (ends[0] - ends[3])) / (12 * h)
        agree(found[..., k], expected, 1e-8)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_complex_steps(function):
    """The same, by complex steps of the parameters, also away from the model as it is."""
    model = loaded_tree(3, 5)
    q, v, tau, a = state(model, 0)
    arrays = [{"q": q, "v": v, "tau": tau, "a": a}[n] for n in FUNCTIONS[function]]
    options = {"frame": model.bodies[-1]} if function == "jacobian" else {}
    kernel = mz.sensitivity(getattr(mz, function), model, names(model), **options)
    for shift in (0.0, 0.01):
        numbers = kernel.nominal + shift

        def run(x):
            return kernel.plain.python(model, *arrays, x, names=kernel.names, **options)

        agree(kernel(*arrays, parameters=numbers), complex_columns(run, numbers), 1e-9)


def test_inverse_dynamics_is_linear_in_inertias():
    """The sensitivity is the regressor: times the parameters it is the joint force."""
    model = loaded_tree(4, 1)
    q, v, _, a = state(model, 1)
    kernel = mz.sensitivity(
        mz.inverse_dynamics, model, [f"{body}.{p}" for body in model.bodies for p in TEN]
    )
    Y = kernel(q, v, a)
    armature = np.concatenate([body.dynamics.armature for body in model])
    agree(Y @ kernel.nominal + armature * a, mz.inverse_dynamics(model, q, v, a))
    agree(Y, kernel(q, v, a, parameters=2.0 * kernel.nominal))


def test_other_parameters_need_no_other_kernel():
    """The kernel at other numbers is the kernel of the model that has them."""
    model = loaded_tree(3, 2)
    q, v, tau, _ = state(model, 1)
    body, joint = model.bodies[1], model.joint_names[2]
    chosen = (f"{body}.mass", f"{joint}.ry")
    kernel = mz.sensitivity(mz.forward_dynamics, model, chosen)
    other = rebuilt(rebuilt(model, chosen[0], 0.3), chosen[1], 0.2)
    numbers = kernel.nominal + np.array([0.3, 0.2])
    agree(kernel.value(q, v, tau, parameters=numbers), mz.forward_dynamics(other, q, v, tau), 1e-9)
    sent = pickle.loads(pickle.dumps(kernel))
    assert np.array_equal(sent(q, v, tau), kernel(q, v, tau))


def test_batches_and_several_outputs():
    model = loaded_tree(3, 3)
    rng = np.random.default_rng(0)
    q, (v, tau, a) = model.random_configuration(rng, (5,)), rng.normal(size=(3, 5, model.nv))
    name = next(n for n in model.joint_names if model.joint(n).nv)
    kernel = mz.sensitivity(mz.hybrid_dynamics, model, f"{model.bodies[0]}.mass", prescribed=[name])
    out = kernel(q, v, tau, a)
    assert [x.shape for x in out] == [(5, model.nv, 1)] * 2
    dI = np.zeros((model.nb, 10))
    dI[0, 0] = 1.0
    expected = mz.hybrid_dynamics_directional(model, q, v, tau, a, prescribed=[name], dinertias=dI)
    for x, y in zip(out, expected):
        agree(x[..., 0], y, 1e-9)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("elbow.mass", "no body 'elbow'"),
        ("elbow.x", "no joint 'elbow'"),
        ("elbow.colour", "name it body"),
    ],
)
def test_wrong_names(name, message):
    with pytest.raises(mz.ModelError, match=message):
        mz.sensitivity(mz.inverse_dynamics, loaded_tree(2, 0), [name])


def test_wrong_functions_and_shapes():
    model = loaded_tree(2, 0)
    with pytest.raises(TypeError, match="no algorithm"):
        mz.sensitivity(np.sin, model, [])
    kernel = mz.sensitivity(mz.mass_matrix, model, [f"{model.bodies[0]}.mass"])
    with pytest.raises(ValueError, match="give 1"):
        kernel(model.neutral(), parameters=[1.0, 2.0])
