"""Gradients of λᵀ τ and λᵀ a by recursions run backwards: what they are, and what they cost."""

import numpy as np
import pytest
from support.cases import normal
from support.mechanics import agree, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.lie import Vec3
from mozzi.model.generate import chain, n_four_bar
from mozzi.model.joints.joint import JOINT_TYPES
from mozzi.simulation.derivatives.steps import pullback_kernel

SIZES = 10, 20, 40, 100


def sprung(model, seed=0):
    """With two springs between points of bodies, one of them on the world."""
    points = np.random.default_rng(seed).normal(size=(4, 3)).tolist()
    ends = model.bodies[0], model.bodies[-1], points[0], points[1]
    model = model.with_spring("inside", *ends, stiffness=7.0, damping=0.8, length=0.5)
    return model.with_spring("outside", None, model.bodies[-1], *points[2:], stiffness=3.0)


@pytest.mark.parametrize("seed", range(8))
def test_gradients_are_transposed_derivatives(seed):
    """With wrenches and resistance, of joints of all types: (∂τ/∂x)ᵀ λ and (∂a/∂x)ᵀ λ."""
    model = sprung(loaded_tree(2 + seed % 4, seed), seed)
    q, v, x, c = state(model, seed)
    W = np.random.default_rng(seed).normal(size=(model.nb, 6))
    for what in ("inverse_dynamics", "forward_dynamics"):
        derivatives = value(getattr(mz, f"{what}_derivatives"), model, q, v, x, W, resistance=True)
        gradient = getattr(mz, f"{what}_gradient")
        for found in (
            value(gradient, model, q, v, x, c, W, resistance=True),
            program_value(gradient, model, q, v, x, c, W, rolled=True, resistance=True),
        ):
            for by, D in zip(found, derivatives, strict=True):
                agree(by, c @ D, 1e-8)


@pytest.mark.parametrize("name", ["inverse_dynamics_gradient", "forward_dynamics_gradient"])
def test_a_body_more_costs_the_same_at_every_size(name):
    """O(n), counted in straight-line code: the first two bodies of a chain cost less, and each
    further one the same.
    """
    counts = [program_of(getattr(mz, name), chain(n), rolled=False).flops for n in SIZES]
    further = [(b - a) / (m - n) for a, b, n, m in zip(counts, counts[1:], SIZES, SIZES[1:])]
    assert max(further) < 1.05 * min(further)
    each = [count / n for count, n in zip(counts, SIZES)]
    assert max(each[1:]) < 1.05 * min(each[1:])
    assert each[-1] < (331 if name.startswith("inverse") else 718)


def steps_backwards(method):
    """How the operations of the pullback of a step are counted."""
    return lambda model: sum(pullback_kernel(model, method).operations.values())


GRADIENTS = {
    "inverse": lambda model: program_of(mz.inverse_dynamics_gradient, model).flops,
    "forward": lambda model: program_of(mz.forward_dynamics_gradient, model).flops,
    "semi_implicit": steps_backwards("semi_implicit"),
    "rkmk4": steps_backwards("rkmk4"),
}


def swinging(axes):
    """Rods below one another on hinges whose axes take turns."""

    def made(n: int) -> mz.Model:
        b, rod = mz.Builder(axes), mz.Inertia(1.0, (0, 0, -0.5), np.diag([0.08, 0.08, 0.01]))
        for k in range(n):
            placement = mz.SE3.translation(0, 0, -1.0 if k else 0.0)
            hinge = mz.Revolute(axes[k % len(axes)])
            b.add(f"{k}", f"{k - 1}" if k else None, hinge, rod, placement=placement)
        return b.build()

    return made


def linked(*joints):
    """A chain in general position whose joints take turns."""

    def made(n: int) -> mz.Model:
        rng, b = np.random.default_rng(1), mz.Builder("linked")
        for k in range(n):
            inertia = mz.Inertia(1.0, 0.1 * rng.normal(size=3), np.diag([0.1, 0.12, 0.13]))
            placement = mz.SE3.exp(mz.Twist.from_array(rng.normal(size=6)))
            parent = f"{k - 1}" if k else None
            b.add(f"{k}", parent, joints[k % len(joints)], inertia, placement=placement)
        return b.build()

    return made


def tied(n: int) -> mz.Model:
    """A chain whose end is held by a ball on the world."""
    model, at = chain(n), mz.SE3.translation(0.3, 0.2, 0.1)
    return model.with_loop("ball", model.bodies[-1], None, mz.Spherical(), None, at)


def floating(n: int) -> mz.Model:
    """A chain on a body that floats: its first joint is as general as the others."""
    links, b = chain(n - 1), mz.Builder("floating")
    b.add("base", None, mz.Free(), mz.Inertia(2.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5])))
    for x in links:
        b.add(x.name, "base" if x.parent < 0 else links.bodies[x.parent], x.joint, x.inertia)
    return b.build()


CHAINS = {
    "general": chain, "xyz": swinging("xyz"), "zy": swinging("zy"), "y": swinging("y"),
    "sliding": linked(mz.Prismatic()), "balls": linked(mz.Spherical()),
    "cylinders": linked(mz.Cylindrical("x")),
    "mixed": linked(mz.Revolute(), mz.Spherical(), mz.Prismatic("x")),
    "products": linked(mz.Composite(mz.Revolute(), mz.Prismatic("x"))),
    "floating": floating, "tied": tied,
}  # fmt: skip


COUNTED = [(x, y) for x in CHAINS for y in ("inverse", "forward", "semi_implicit")]
COUNTED.remove(("tied", "inverse"))
QUICK = {("general", x) for x in ("inverse", "forward", "semi_implicit")}
QUICK |= {(x, "forward") for x in ("xyz", "y", "mixed", "floating", "tied")}


@pytest.mark.parametrize(("label", "what"), normal(QUICK, COUNTED))
def test_operations_a_body_are_constant_to_a_tenth(label, what):
    """From ten bodies to a hundred, the largest count within a tenth of the smallest, as programs
    are made by default: straight-line code of a fixed chain has its first bodies for next to
    nothing, and loops over bodies cost the same at every length.
    """
    sizes = (10, 30, 100) if label == "tied" else SIZES
    each = [GRADIENTS[what](CHAINS[label](n)) / n for n in sizes]
    assert max(each) < 1.1 * min(each)


def test_operations_a_body_of_a_step_of_fourth_order_are_constant_to_a_tenth():
    """The same of rkmk4 backwards."""
    each = [GRADIENTS["rkmk4"](chain(n)) / n for n in SIZES]
    assert max(each) < 1.1 * min(each)


@pytest.mark.parametrize("name", ["inverse_dynamics_gradient", "forward_dynamics_gradient"])
def test_straight_line_code_is_there_to_be_had(name):
    """It takes less for few bodies, and is what trees and robots that float have."""
    program = program_of(getattr(mz, name), chain(10))
    straight = program_of(getattr(mz, name), chain(10), rolled=False)
    assert program.rolled and not straight.rolled and straight.flops < program.flops
    assert not program_of(getattr(mz, name), chain(9)).rolled
    assert not program_of(getattr(mz, name), floating(12)).rolled
    assert not program_of(getattr(mz, name), pendulum_tree()).rolled


def pendulum_tree():
    """Two chains of eight on one body."""
    b, rod = mz.Builder("tree"), mz.Inertia(1.0, (0, 0, -0.5), np.diag([0.08, 0.08, 0.01]))
    b.add("0", None, mz.Revolute("x"), rod)
    for k in range(1, 17):
        b.add(f"{k}", "0" if k in (1, 9) else f"{k - 1}", mz.Revolute("y"), rod)
    return b.build()


def test_with_a_loop_loops_over_bodies_do_little_again():
    """Of what sweeps have left: a chain of a hundred beside straight-line code."""
    name, model = mz.forward_dynamics_gradient, tied(100)
    straight = program_of(name, model, rolled=False).flops
    assert program_of(name, model).flops < 1.1 * straight


def test_each_body_after_the_second_costs_the_same():
    """Exactly, in axes in general position: 15, 214 and then 333 operations for each."""
    counts = [program_of(mz.inverse_dynamics_gradient, chain(n)).flops for n in range(1, 7)]
    assert np.diff(counts, prepend=0).tolist() == [15, 214, 333, 333, 333, 333]


def test_loops_in_a_row_cost_the_same_each():
    """The same with loops: windows in a row."""
    counts = [program_of(mz.forward_dynamics_gradient, n_four_bar(n)).flops for n in (4, 8, 16)]
    further = [(b - a) / n for a, b, n in zip(counts, counts[1:], (4, 8))]
    assert further[1] < 1.1 * further[0]


def test_large_programs_do_not_grow():
    """Rolled, the program of a chain is as long for 300 bodies as for 100."""
    for name in ("inverse_dynamics_gradient", "forward_dynamics_gradient"):
        short, long = (program_of(getattr(mz, name), chain(n)) for n in (100, 300))
        assert short.rolled and long.rolled and long.length == short.length
        each = [program.flops / n for program, n in ((short, 100), (long, 300))]
        assert each[1] == pytest.approx(each[0], rel=0.01)  # and a body costs the same in both
        straight = program_of(getattr(mz, name), chain(100), rolled=False).flops / 100
        assert each[0] < 1.04 * straight  # articulated bodies are factored once


def test_the_gradient_of_a_power_is_the_power_of_a_gradient():
    """λᵀ τ along (δ, δv, δa), by central differences of inverse dynamics."""
    model = sprung(loaded_tree(5, 3))
    q, v, a, c = state(model, 3)
    rng, h = np.random.default_rng(1), 1e-5
    d, dv, da = rng.normal(size=(3, model.nv))
    by_q, by_v, by_a = mz.inverse_dynamics_gradient(model, q, v, a, c, resistance=True)
    ends = [
        c @ value(mz.inverse_dynamics, model, value(mz.integrate, model, q, s * h * d),
                  v + s * h * dv, a + s * h * da, resistance=True)
        for s in (1, -1)
    ]  # fmt: skip
    slope = (ends[0] - ends[1]) / (2 * h)
    assert by_q @ d + by_v @ dv + by_a @ da == pytest.approx(slope, rel=1e-6, abs=1e-6)


def slide(steepness: float) -> type[mz.Joint]:
    """A joint of a user: along the curve (q, s q²/2, 0). Every time a class of the same name."""

    class Slide(mz.Joint):
        nq = nv = 1
        q_names, v_names, subgroup = ("x",), ("rate",), False

        def pose(self, q):
            return mz.SE3.translation(q[0], 0.5 * steepness * q[0] * q[0], 0.0)

        def screws(self, q):
            return mz.Screws([mz.Twist(Vec3.zero(), Vec3(1.0, steepness * q[0], 0.0))])

        def screws_rate(self, q, v):
            return mz.Screws([mz.Twist(Vec3.zero(), Vec3(0.0, steepness * v[0], 0.0))])

    JOINT_TYPES.pop("Slide")
    return Slide


def slides(*steepness: float) -> mz.Model:
    b = mz.Builder("slides", gravity=(0.0, -9.81, 0.0))
    for k, s in enumerate(steepness):
        b.add(f"{k}", f"{k - 1}" if k else None, slide(s)(), mz.Inertia(1.0, (0, 0, 0), np.eye(3)))
    return b.build()


@pytest.mark.parametrize("steepness", [(1.0, 1.0), (3.0, 3.0), (1.0, 3.0)])
def test_classes_of_one_name_are_told_apart(steepness: tuple[float, ...]):
    """A class that is written anew, as in a notebook, and two in one mechanism, rolled or not."""
    model = slides(*steepness)
    q, v, a, c = np.random.default_rng(0).normal(size=(4, 2))
    h = 1e-5 * np.eye(2)
    torques = [[mz.inverse_dynamics(model, q + s * e, v, a) for s in (1, -1)] for e in h]
    expected = [c @ (x - y) / 2e-5 for x, y in torques]
    agree(mz.inverse_dynamics_gradient(model, q, v, a, c)[0], expected, 1e-7)
    rolled = program_value(mz.inverse_dynamics_gradient, model, q, v, a, c, rolled=True)
    agree(rolled[0], expected, 1e-7)


def test_derivatives_refuse_joints_whose_screws_turn_otherwise():
    """Their formulas are those of products of motion subgroups; what they gave was wrong."""
    model, x = slides(1.0, 1.0), np.ones(2)
    refusing = mz.inverse_dynamics_derivatives, mz.forward_dynamics_derivatives, mz.linearize
    for function in refusing:
        with pytest.raises(mz.ModelError, match="Slide: its screws turn with q in other ways"):
            function(model, x, x, x)
    assert np.isfinite(mz.forward_dynamics_gradient(model, x, x, x, x)[0]).all()
