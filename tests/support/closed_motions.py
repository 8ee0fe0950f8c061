"""Mechanisms with loops in motion, and changes of a motion that keep the loops closed."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.cuts import Cuts, doubled
from support.loop_models import closed_tree, five_bar, slider_crank

import mozzi as mz
from mozzi.model.generate import LINKAGES, chain, delta_robot, four_bar, leaning, n_four_bar

ROBOTS = Path(sysconfig.get_paths()["purelib"], "cmeel.prefix/share/example-robot-data/robots")
MOTORS = ["motor_0", "motor_1", "motor_2"]


def pinned() -> tuple[mz.Model, np.ndarray]:
    """Five links whose tip is held at a point: three rows."""
    tree = chain(5, seed=2)
    q = tree.random_configuration(np.random.default_rng(2))
    at = mz.forward_kinematics(tree, q)[-1] @ (0.1, 0.2, 0.3, 1.0)
    return tree.with_loop("tip", None, 4, mz.Spherical(), tuple(at[:3]), (0.1, 0.2, 0.3)), q


def delta() -> tuple[mz.Model, np.ndarray]:
    """Clavel's robot off its symmetric pose."""
    model = delta_robot()
    q = model.neutral()
    for joint, x in zip(MOTORS, (0.1, -0.2, 0.3), strict=True):
        q[model.q_slices[joint]] = x
    return model, mz.assemble(model, q, hold=MOTORS)


def panda() -> tuple[mz.Model, np.ndarray]:
    """A panda whose hand is held at a point."""
    path = ROBOTS / "panda_description/urdf/panda.urdf"
    if not path.exists():
        pytest.skip("example-robot-data is not installed")
    tree = mz.load(path)
    tree = tree.lock(tree.joint_names[7:], tree.neutral())
    q = np.array([0.3, -0.5, 0.2, -1.9, 0.4, 1.7, 0.6])
    at = mz.pose(tree, q, "panda_hand")[:3, 3]
    return tree.with_loop("tip", None, "panda_hand", mz.Spherical(), tuple(at)), q


def assembled(model: mz.Model, guess: list[float]) -> tuple[mz.Model, np.ndarray]:
    """A model, closed near a guess."""
    return model, mz.assemble(model, guess)


def rod() -> tuple[mz.Model, np.ndarray]:
    """A tree two of whose points stay at a distance."""
    tree = chain(4, seed=5)
    q = tree.random_configuration(np.random.default_rng(5))
    tip = (mz.forward_kinematics(tree, q)[-1] @ (0.2, 0.1, 0.0, 1.0))[:3]
    length = float(np.linalg.norm(tip - (0.5, 0.5, 0.5)))
    return tree.with_distance("rod", None, 3, (0.5, 0.5, 0.5), (0.2, 0.1, 0.0), length), q


def geared() -> tuple[mz.Model, np.ndarray]:
    """A chain whose first and third joint are geared, and its tip held at a point."""
    tree = chain(6, seed=6)
    q = tree.random_configuration(np.random.default_rng(6))
    first, third = tree.joint_names[0], tree.joint_names[2]
    model = tree.with_coupling("gear", {first: 2.0, third: -1.0}, float(2.0 * q[0] - q[2]))
    point = tuple(mz.forward_kinematics(tree, q)[-1][:3, 3])
    return model.with_loop("tip", None, 5, mz.Spherical(), point), q


def bennett() -> tuple[mz.Model, np.ndarray]:
    """Bennett's linkage in random position, its loop given twice: ten rows of rank two."""
    model, q, _ = Cuts(LINKAGES["bennett"](0), 0, doubled).cut("joint_2")
    return model, q


def universals() -> tuple[mz.Model, np.ndarray]:
    """A free body that two universal joints hold to an arm, far from where these are neutral."""
    hand = mz.Universal("y", "z").between((0.2, 0.3, 0.4))
    joint = mz.Composite(mz.Universal(), hand)
    body = mz.Inertia(0.8, (-0.06, 0.1, 0.04), np.diag([0.06, 0.08, 0.05]))
    b = mz.Builder("universals").add("arm", None, mz.Revolute((0.0, 0.6, 0.8)), body)
    model = b.add("hand", None, mz.Free(), body).loop("closure", "arm", "hand", joint).build()
    at = joint.motion([2.5, -1.9, 2.2, 1.4])
    return model, np.array([0.0, *at.p.array(), *at.R.general().quaternion().array()])


SLIDING = mz.Composite(mz.Revolute("x"), mz.Prismatic("y"))
CASES: dict[str, Callable[[], tuple[mz.Model, np.ndarray]]] = {
    "four_bar": lambda: assembled(four_bar(), [0.3, 0.5, 1.5]),  # rows that vanish
    "slider_crank": lambda: assembled(slider_crank(), [0.5, -0.8, 1.2]),
    "five_bar": lambda: assembled(five_bar(), [2.0, -1.2, 1.0, 1.2]),
    "windows": lambda: (n_four_bar(2), leaning(n_four_bar(2), 0.4)),
    "pinned": pinned,
    "panda": panda,
    "universal": lambda: closed_tree(mz.Universal(), seed=3),
    "composite": lambda: closed_tree(SLIDING, 3, n=4, ends=(1, 3)),  # six rows of rank four
    "universals": universals,
    "rod": rod,
    "geared": geared,
    "bennett": bennett,
    "delta": delta,  # 24 rows of rank 18
}


@cache
def case(name: str) -> tuple[mz.Model, np.ndarray, np.ndarray, np.ndarray]:
    """A mechanism, a closed state and joint forces."""
    model, q = CASES[name]()
    v, tau = np.random.default_rng(0).normal(size=(2, model.nv))
    v = mz.consistent_velocities(model, q, v)
    return model, q, v / min(1.0, 5.0 * np.abs(v).max()), tau


def directions(model: mz.Model, q: np.ndarray) -> np.ndarray:
    """Motions that keep the loops closed."""
    A = mz.loop_jacobian(model, q)
    rank = np.linalg.matrix_rank(A, tol=1e-9)
    return np.linalg.svd(A)[2][rank:]


def shifted(model: mz.Model, q: np.ndarray, v: np.ndarray, h: float, d: np.ndarray) -> tuple:
    """A closed state near (q, v): moved along d, closed again, its velocity made consistent.

    Returns it with the changes (δ, δv) that led there.
    """
    new = mz.assemble(model, mz.integrate(model, q, h * d), tolerance=1e-13)
    w = mz.consistent_velocities(model, new, v)
    return new, w, mz.difference(model, q, new), w - v


def tangents(model: mz.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(δ, δv) that keep the loops closed and the velocities on them, as columns."""
    A, h = mz.loop_jacobian(model, q), 1e-5
    Z = directions(model, q).T
    ends = [
        [mz.loop_jacobian(model, mz.integrate(model, q, s * z)) @ v for z in Z.T] for s in (h, -h)
    ]
    turn = (np.array(ends[0]) - np.array(ends[1])).T / (2 * h)
    return np.block([[Z, 0 * Z], [-np.linalg.pinv(A, 1e-9) @ turn, Z]])
