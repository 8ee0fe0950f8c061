"""Parametric mechanisms: deterministic, physical, of every joint type."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mozzi.errors import ModelError
from mozzi.model import JOINT_TYPES, Revolute, Spherical, generate
from mozzi.model.parameters.physical import unphysical

MAKERS = {
    "chain": lambda seed: generate.chain(6, seed=seed),
    "tree": lambda seed: generate.tree(7, 3, seed=seed),
    "random_tree": lambda seed: generate.random_tree(20, seed),
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_seed_is_the_same_mechanism(name):
    make = MAKERS[name]
    assert make(1) == make(1) and make(1).digest == make(1).digest
    assert make(1) != make(2)


@pytest.mark.parametrize("seed", range(5))
def test_random_inertias_are_physical(seed):
    model = generate.random_tree(20, seed)
    assert not unphysical([body.inertia for body in model])
    assert model.singular_joints() == ()


def test_random_trees_have_every_joint():
    model = generate.random_tree(200, 0)
    assert {type(body.joint).__name__ for body in model} == set(JOINT_TYPES) - {"Fixed"}
    assert set(generate.JOINTS) == set(JOINT_TYPES) - {"Fixed"}


def test_shapes():
    assert generate.chain(4).parents == (-1, 0, 1, 2)
    assert generate.tree(7, 2).parents == (-1, 0, 0, 1, 1, 2, 2)
    assert generate.chain(3, "Spherical").nq == 12
    assert generate.chain(3, Spherical()).nv == 9
    mixed = generate.chain(30, [Revolute("x"), "Prismatic"])
    assert {type(body.joint).__name__ for body in mixed} == {"Revolute", "Prismatic"}
    assert generate.chain(2, gravity=(0, 0, 0)).gravity == (0.0, 0.0, 0.0)
    with pytest.raises(ModelError, match="branching 0"):
        generate.tree(3, 0)
    with pytest.raises(ModelError, match="no joint type 'Hinge'"):
        generate.chain(3, "Hinge")


def test_classics():
    """Sizes, names and where the masses are."""
    assert generate.pendulum(4).nv == 4 and "tip" in generate.pendulum(4).frames
    double = generate.double_pendulum((1.0, 2.0), (3.0, 4.0))
    assert double.mass == 7.0 and double.singular_joints() == ()
    assert [body.inertia.h.z for body in double] == [-3.0, -8.0]
    assert generate.cart_pole().joint_names == ("slider", "hinge")
    acrobot = generate.acrobot()
    assert [body.dynamics.effort[0] for body in acrobot] == [0.0, math.inf]
    four_bar = generate.four_bar()
    assert four_bar.nv == 3 and four_bar.loops[0].joint == Revolute("y")
    with pytest.raises(ModelError, match="exceeds the sum"):
        generate.four_bar(base=10.0)


def test_rods_have_the_inertia_of_rods():
    """m l²/3 about the end."""
    model = generate.pendulum(1, length=2.0, mass=3.0)
    np.testing.assert_allclose(model.body(0).inertia.J.yy, 4.0, rtol=1e-5)
