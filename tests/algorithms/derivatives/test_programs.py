"""Derivatives of everything against program differentiation, forward and reverse.

`test_derivatives` has those of inverse and forward dynamics.
"""

import inspect

import numpy as np
import pytest
from support.mechanics import agree, loaded_tree, state, value

import mozzi as mz
from mozzi.algorithms.derivatives.second import tangent_basis
from mozzi.compiler import program_of
from mozzi.model.generate import random_tree
from mozzi.program.differentiate import forward, jacobian, reverse
from mozzi.program.meaning import interpret
from mozzi.program.program import Input, trace
from mozzi.simulation.methods import MuntheKaas, SemiImplicit
from mozzi.simulation.methods.method import as_state
from mozzi.simulation.system import System

modes = pytest.mark.parametrize("mode", ["forward", "reverse"])


def run(function, model, *arrays):
    """The outputs of a traced function, as arrays."""
    shapes = {f"x{k}": np.shape(x) for k, x in enumerate(arrays)}
    call = lambda *given: function(*given)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in shapes])
    program = program_of(call, model, rolled=False, inputs=shapes)
    out = interpret(program, [np.ravel(x) for x in arrays])
    return [np.array(x, float).reshape(y.shape) for x, y in zip(out, program.outputs)]


@modes
@pytest.mark.parametrize("seed", range(2))
def test_hybrid_dynamics_differentiated_as_a_program(mode, seed):
    model = loaded_tree(3, seed)
    q, v, tau, a = state(model, seed)
    joints = [n for n in model.joint_names if model.joint(n).nv]
    options = {"prescribed": joints[::2]}

    def traced(q, v, tau, a):
        both = mz.hybrid_dynamics(model, q, v, tau, a, **options)
        N = tangent_basis(model, q)
        return [
            jacobian(y, x, mode) @ N if x is q else jacobian(y, x, mode)
            for y in both for x in (q, v, tau, a)
        ]  # fmt: skip

    found = value(mz.hybrid_dynamics_derivatives, model, q, v, tau, a, **options)
    for x, y in zip(found, run(traced, model, q, v, tau, a), strict=True):
        agree(x, y, 1e-9)


@modes
@pytest.mark.parametrize("seed", range(2))
def test_mass_matrix_and_its_inverse(mode, seed):
    model = loaded_tree(3, seed)
    q, *_ = state(model, seed)

    def traced(q):
        N = tangent_basis(model, q)
        M, X = mz.mass_matrix(model, q), mz.mass_matrix_inverse(model, q)
        return jacobian(M, q, mode) @ N, jacobian(X, q, mode) @ N

    dM, dX = run(traced, model, q)
    agree(value(mz.mass_matrix_partials, model, q), dM)
    agree(value(mz.mass_matrix_inverse_partials, model, q), dX, 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_rates_in_time(seed):
    """Forward sweeps along the motion, twice; and the first rate by a reverse sweep."""
    model = loaded_tree(4, seed)
    rng = np.random.default_rng(seed)
    q, x = model.random_configuration(rng), rng.normal(size=(4, model.nv))

    def traced(q, v, a, j, s):
        tau = mz.inverse_dynamics(model, q, v, a)
        here = np.concatenate([q, v, a])
        along = np.concatenate([mz.rates(model, q, v), a, j])
        rate = forward(tau, here, along)
        second = forward(rate, np.concatenate([here, j]), np.concatenate([along, s]))
        rows = reverse(tau, here, np.eye(model.nv))
        return tau, rate, second, rows @ along

    tau, rate, second, again = run(traced, model, q, *x)
    found = value(mz.inverse_dynamics_rates, model, q, *x)
    for y, z in zip((found[0], found[1], found[2], found[1]), (tau, rate, second, again)):
        agree(y, z)


@modes
def test_hessians(mode):
    """Sweeps through the analytic first order of forward dynamics, contracted."""
    model = random_tree(3, 3, joints=["Revolute", "Universal", "Spherical"])
    q, v, tau, covector = state(model, 0)

    def traced(q, v, tau, covector):
        dq, dv, _ = mz.forward_dynamics_derivatives(model, q, v, tau)
        by_q, by_v = covector @ dq, covector @ dv
        N = tangent_basis(model, q)
        qq = jacobian(by_q, q, mode) @ N
        return qq, jacobian(by_q, v, mode), jacobian(by_v, v, mode), jacobian(by_q, tau, mode)

    found = value(mz.forward_dynamics_hessian, model, q, v, tau, covector)
    for x, y in zip(found, run(traced, model, q, v, tau, covector), strict=True):
        agree(x, y, 1e-9)


@modes
@pytest.mark.parametrize("rule", [MuntheKaas(), SemiImplicit()], ids=["rkmk4", "semi_implicit"])
def test_steps(mode, rule):
    """Sweeps through the program of a step, its loop over stages laid out."""
    model = random_tree(2, 1, joints=["Revolute", "Universal"])
    q, v, tau, _ = state(model, 0)
    n, dt = model.nv, 0.03

    def step(q, v, tau):
        new = rule.step(System(model, tau=tau), as_state(("q", "v"), (q, v), 0.0), dt)
        return np.concatenate([new["q"], new["v"]])

    program = trace(step, [Input(name, (n,)) for name in ("q", "v", "tau")], "step")

    def traced(q, v, tau):
        (new,) = interpret(program, [list(q), list(v), list(tau)])
        return jacobian(new, np.concatenate([q, v, tau]), mode)

    A, B = mz.linearize(
        model, q, v, tau, dt=dt, method="rkmk4" if isinstance(rule, MuntheKaas) else "semi_implicit"
    )
    agree(np.concatenate([A, B], axis=1), run(traced, model, q, v, tau)[0], 1e-10)
