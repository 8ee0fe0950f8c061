"""Named parameters: what they mean, which numbers models have, names and numbers that are wrong."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from support.mechanics import agree, state

import mozzi as mz
from mozzi.model import Model
from mozzi.model.generate import four_bar, random_tree
from mozzi.model.parameters.named import check_numbers, nominal_numbers, vary


def mechanism() -> Model:
    """A tree with a universal joint, a spring and a rod, oblique axes and offsets."""
    model = random_tree(4, seed=4, joints=[mz.Revolute, mz.Universal, mz.Prismatic])
    model = model.with_dynamics(model.joint_names[0], damping=0.3, friction=0.2, armature=0.1)
    model = model.with_dynamics(model.joint_names[1], stiffness=2.0)
    a, b = model.bodies[1], model.bodies[3]
    model = model.with_spring("coil", a, b, (0.1, 0.2, 0), (0, 0, 0.3), 5.0, 0.4, 0.2)
    return model.with_gravity((0.5, -1.0, -9.0))


MODEL = mechanism()
B, J = MODEL.bodies, MODEL.joint_names
NAMES = [
    f"{B[1]}.mass", f"{B[1]}.com.y", f"{B[2]}.density", f"{B[3]}.Jxy", f"{J[0]}.damping",
    f"{J[1]}.stiffness", f"{J[0]}.friction", f"{J[2]}.armature", f"{J[1]}.placement.x",
    f"{J[2]}.ry", f"{J[3]}.z", "coil.stiffness", "coil.length", "coil.damping", "gravity.y",
]  # fmt: skip


def test_the_numbers_of_the_model_give_the_model():
    numbers = nominal_numbers(MODEL, NAMES)
    q, v, tau, _ = state(MODEL, 0)
    same = MODEL.with_parameters(dict(zip(NAMES, numbers)))
    assert same.nominal is None
    agree(
        mz.forward_dynamics(same, q, v, tau, resistance=True),
        mz.forward_dynamics(MODEL, q, v, tau, resistance=True),
    )


def test_what_each_name_means():
    """Against models that are changed by other means."""
    body, joint = MODEL.body(B[1]), J[1]
    I = body.inertia
    m, c, Jc = float(I.m) * 1.3, np.array([float(x) for x in I.com()]), I.at_com()
    c[1] += 0.2
    cases = {
        (f"{B[1]}.mass", m): MODEL.with_inertia(
            B[1], mz.Inertia.from_parameters([m, *I.parameters()[1:]])
        ),
        (f"{B[1]}.com.y", c[1]): MODEL.with_inertia(B[1], mz.Inertia(float(I.m), c, Jc)),
        (f"{B[1]}.density", 1.5): MODEL.with_inertia(
            B[1], mz.Inertia.from_parameters([1.5 * float(x) for x in I.parameters()])
        ),
        (f"{J[0]}.damping", 0.7): MODEL.with_dynamics(J[0], damping=0.7),
        ("gravity.y", 2.0): MODEL.with_gravity((0.5, 2.0, -9.0)),
        ("coil.length", 0.5): MODEL._replace(
            springs=[dataclasses.replace(MODEL.springs[0], length=0.5)]
        ),
    }
    if MODEL.joint(joint).nv == 2:
        dof = MODEL.joint(joint).v_names[1]
        given = MODEL.with_dynamics(joint, damping=(0.0, 0.9))
        cases[f"{joint}.damping.{dof}", 0.9] = given
    q, v, tau, _ = state(MODEL, 1)
    for (name, x), other in cases.items():
        agree(
            mz.forward_dynamics(MODEL.with_parameters({name: x}), q, v, tau, resistance=True),
            mz.forward_dynamics(other, q, v, tau, resistance=True),
        )
    both = MODEL.with_parameters({f"{B[1]}.mass": m, f"{B[1]}.com.y": c[1]})
    other = MODEL.with_inertia(B[1], mz.Inertia(m, c, Jc))
    agree(mz.mass_matrix(both, q), mz.mass_matrix(other, q))


def test_a_placement_is_where_the_joint_is_in_the_parent():
    T = MODEL.body(1).joint.frame_parent
    moved = MODEL.with_parameters({f"{J[1]}.placement.x": 0.123})
    frame = moved.body(1).joint.frame_parent
    agree(frame.p.array(), [0.123, *T.p.array()[1:]])
    agree(frame.R.array(), T.R.array())


def test_varied_models_know_where_they_come_from():
    numbers = nominal_numbers(MODEL, NAMES) * (1 + 0j)
    varied = vary(MODEL, NAMES, numbers)
    assert varied.nominal is MODEL
    assert varied.with_gravity((0, 0, 0)).nominal is MODEL


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (f"{B[1]}.mas", f"did you mean '{B[1]}.mass'"),
        ("elbow.mass", "no body 'elbow'"),
        ("elbow.damping", "no joint or spring or contact 'elbow'"),
        (f"{J[0]}.damping.colour", "has no 'colour'"),
        ("coil.mass", "no body 'coil'"),
        ("mass", "name it body"),
    ],
)
def test_wrong_names(name, message):
    with pytest.raises(mz.ModelError, match=message):
        MODEL.with_parameters({name: 1.0})


def test_numbers_that_no_mechanism_has_are_named_by_sample():
    for name, x, message in (
        (f"{B[1]}.mass", [1.0, 0.0, -1.0], "sample 1 .and 1 more samples.: 0 is not positive"),
        (f"{J[0]}.damping", [0.1, 0.2, -0.5], "sample 2: -0.5 is negative"),
        (f"{B[1]}.density", [np.nan, 1.0, 1.0], "sample 0: nan is not finite"),
    ):
        with pytest.raises(mz.ConfigurationError, match=message):
            check_numbers(MODEL, [name], np.array(x)[:, None])
    with pytest.warns(mz.UnphysicalWarning, match="1 of 2 samples .*first sample 1"):
        check_numbers(MODEL, [f"{B[1]}.hx"], [[float(MODEL.body(1).inertia.h.x)], [1e3]])
    with pytest.raises(mz.ModelError, match="both say where its mass is"):
        MODEL.with_parameters({f"{B[1]}.com.x": 0.0, f"{B[1]}.hx": 0.0})


def test_loops_and_contacts_have_parameters():
    model = four_bar().with_distance("rod", None, "coupler", (0, 0, 0), (0.1, 0, 0), 1.0)
    assert nominal_numbers(model, ["rod.length"]) == [1.0]
    assert model.with_parameters({"rod.length": 2.0}).distances[0].length == 2.0


def test_one_freedom_of_a_product_of_joints():
    """Its names have dots: those that a refusal gives are names of parameters."""
    wrist = mz.Composite(mz.Revolute("x"), mz.Cylindrical("y"))
    model = mz.Builder("arm").add("wrist.1", None, wrist, damping=0.1, stiffness=[1, 2, 3]).build()
    for k, name in enumerate(("1.angle", "2.angle", "2.z")):
        with pytest.raises(mz.ModelError, match=rf"give .*wrist\.1\.stiffness\.{name}"):
            nominal_numbers(model, ["wrist.1.stiffness"])
        assert nominal_numbers(model, [f"wrist.1.stiffness.{name}"]) == [k + 1.0]
        changed = model.with_parameters({f"wrist.1.damping.{name}": 0.7})
        assert changed.body(0).dynamics.damping == tuple(0.7 if n == k else 0.1 for n in range(3))
    with pytest.raises(mz.ModelError, match=r"has no 'angle'; it has '1\.angle'"):
        nominal_numbers(model, ["wrist.1.damping.angle"])


@pytest.mark.parametrize("numbers", ["0, 0, 0, 0, 0, nan", "0, inf, 0, 0, 0, 0"])
def test_screws_are_of_finite_numbers(numbers):
    with pytest.raises(mz.ModelError, match="finite and not all zero"):
        nominal_numbers(MODEL, [f"{J[0]}.screw({numbers})"])
