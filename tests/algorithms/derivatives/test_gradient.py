"""Gradients of λᵀ τ and λᵀ a by recursions run backwards: what they are, and what they cost."""

import numpy as np
import pytest
from support.mechanics import agree, loaded_tree, program_value, state, value

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import chain, n_four_bar
from mozzi.simulation.derivatives.pullback import Backwards
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
    """O(n), counted: the first two bodies of a chain cost less, and each further one the same.

    The operations of all bodies over their number differ by what these two save, as those of
    inverse and forward dynamics do.
    """
    counts = [program_of(getattr(mz, name), chain(n), rolled=False).flops for n in SIZES]
    further = [(b - a) / (m - n) for a, b, n, m in zip(counts, counts[1:], SIZES, SIZES[1:])]
    assert max(further) < 1.05 * min(further)
    each = [count / n for count, n in zip(counts, SIZES)]
    assert max(each[1:]) < 1.05 * min(each[1:])
    middle = (max(each) + min(each)) / 2
    assert max(each) < 1.1 * middle and min(each) > 0.9 * middle
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


@pytest.mark.parametrize("what", GRADIENTS)
def test_operations_a_body_are_within_a_tenth_of_one_number(what):
    """From ten bodies to a hundred, straight-line code and loops, as programs are made by default:
    a loop over bodies costs what they cost one by one.
    """
    each = [GRADIENTS[what](chain(n)) / n for n in SIZES]
    middle = (max(each) + min(each)) / 2
    assert max(each) < 1.1 * middle and min(each) > 0.9 * middle


def swinging(n: int, axes: str) -> mz.Model:
    """Rods below one another on hinges whose axes take turns."""
    b, rod = mz.Builder(axes), mz.Inertia(1.0, (0, 0, -0.5), np.diag([0.08, 0.08, 0.01]))
    for k in range(n):
        placement = mz.SE3.translation(0, 0, -1.0 if k else 0.0)
        hinge = mz.Revolute(axes[k % len(axes)])
        b.add(f"{k}", f"{k - 1}" if k else None, hinge, rod, placement=placement)
    return b.build()


@pytest.mark.parametrize("name", ["inverse_dynamics_gradient", "forward_dynamics_gradient"])
@pytest.mark.parametrize("axes", ["general", "xyz", "zy", "y"])
def test_loops_over_bodies_cost_the_same_a_body(name, axes):
    """From ten bodies to a hundred, the largest count within a tenth of the smallest, also where
    axes are aligned: loops over bodies know fewer zeros of the first bodies than straight-line
    code, which takes less.
    """
    models = [chain(n) if axes == "general" else swinging(n, axes) for n in SIZES]
    counts = [program_of(getattr(mz, name), x, rolled=True).flops for x in models]
    each = [count / n for count, n in zip(counts, SIZES)]
    assert max(each) < 1.1 * min(each)
    assert program_of(getattr(mz, name), models[0]).flops < counts[0]


@pytest.mark.parametrize("method", ["semi_implicit", "rkmk4"])
def test_loops_over_bodies_cost_the_same_a_body_in_steps(method, monkeypatch):
    """The same of the pullback of a step."""
    monkeypatch.setattr(Backwards, "threshold", 0)
    each = [steps_backwards(method)(chain(n)) / n for n in SIZES]
    assert max(each) < 1.1 * min(each)


def tied(n: int) -> mz.Model:
    """A chain whose end is held by a ball on the world."""
    model, at = chain(n), mz.SE3.translation(0.3, 0.2, 0.1)
    return model.with_loop("ball", model.bodies[-1], None, mz.Spherical(), None, at)


def test_with_a_loop_they_cost_the_same_a_body(monkeypatch):
    """Both ways, and the pullback of a step: loops over bodies do again little of what sweeps have
    left.
    """
    name = mz.forward_dynamics_gradient
    each = [program_of(name, tied(n), rolled=True).flops / n for n in SIZES]
    assert max(each) < 1.05 * min(each)
    usual = [program_of(name, tied(n)).flops / n for n in SIZES]
    middle = (max(usual) + min(usual)) / 2
    assert max(usual) < 1.1 * middle and min(usual) > 0.9 * middle
    assert each[-1] < 1.1 * program_of(name, tied(100), rolled=False).flops / 100
    monkeypatch.setattr(Backwards, "threshold", 0)
    steps = [steps_backwards("semi_implicit")(tied(n)) / n for n in (10, 30, 100)]
    assert max(steps) < 1.05 * min(steps)


def test_each_body_after_the_second_costs_the_same():
    """Exactly, in axes in general position: 15, 214 and then 333 operations for each."""
    counts = [program_of(mz.inverse_dynamics_gradient, chain(n)).flops for n in range(1, 7)]
    assert np.diff(counts, prepend=0).tolist() == [15, 214, 333, 333, 333, 333]


def floating(n: int) -> mz.Model:
    """A chain on a body that floats: its first joint is as general as the others."""
    links, b = chain(n), mz.Builder("floating")
    b.add("base", None, mz.Free(), mz.Inertia(2.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5])))
    for x in links:
        b.add(x.name, "base" if x.parent < 0 else links.bodies[x.parent], x.joint, x.inertia)
    return b.build()


@pytest.mark.parametrize("name", ["inverse_dynamics_gradient", "forward_dynamics_gradient"])
def test_operations_a_body_are_constant_where_no_body_is_special(name):
    """From ten to a hundred: a chain on the ground has two joints that are nearly for nothing."""
    each = [program_of(getattr(mz, name), floating(n), rolled=False).flops / n for n in (10, 100)]
    assert max(each) < 1.1 * min(each)


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
