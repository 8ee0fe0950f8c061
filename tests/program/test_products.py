"""Programs of derivatives times vectors, and programs without their loops."""

import numpy as np
import pytest
from program.rolled import ROLLED, arguments, powers

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import tree
from mozzi.program.differentiate import DifferentiationError, differentiate_program
from mozzi.program.products import pullback, pushforward, unrolled
from mozzi.targets.interpret import InterpretedKernel

MODEL = tree(4, seed=2)


def numbers(program, seed=0):
    return [x.reshape(i.shape) for x, i in zip(arguments(program, seed), program.inputs)]


@pytest.mark.parametrize("name", ROLLED)
def test_a_program_without_its_loops_computes_the_same(name):
    program = ROLLED[name]().program
    flat = unrolled(program)
    assert program.rolled and not flat.rolled
    args = numbers(program)
    pair = InterpretedKernel(program)(*args), InterpretedKernel(flat)(*args)
    for x, y in zip(*(z if isinstance(z, tuple) else (z,) for z in pair), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13)
    assert unrolled(flat) is flat


def test_a_number_of_steps_that_is_an_argument_has_no_derivative():
    with pytest.raises(DifferentiationError, match="as many steps as its argument says"):
        unrolled(powers())


@pytest.mark.parametrize("rolled", [False, True])
def test_products_are_jacobians_times_vectors(rolled):
    program = program_of(mz.forward_dynamics, MODEL, rolled=rolled)
    flat = program_of(mz.forward_dynamics, MODEL, rolled=False)
    jacobians = InterpretedKernel(differentiate_program(flat, ["q", "tau"]))
    args = numbers(program, 1)
    dq, dtau = jacobians(*args)
    rng = np.random.default_rng(2)
    u, w, bar = rng.normal(size=(3, 4))
    ahead = InterpretedKernel(pushforward(program, (0, 2)))(*args, u, w)[0]
    np.testing.assert_allclose(ahead, dq @ u + dtau @ w, rtol=1e-10)
    back = InterpretedKernel(pullback(program, (0, 2)))(*args, bar)
    np.testing.assert_allclose(back[0], bar @ dq, rtol=1e-10)
    np.testing.assert_allclose(back[1], bar @ dtau, rtol=1e-10)


def test_a_transpose_does_not_depend_on_the_linear_arguments():
    """The pullback of a pushforward by its tangents is the pullback, whatever the tangents are."""
    program = program_of(mz.inverse_dynamics, MODEL)
    args = numbers(program, 1)
    ahead = pushforward(program, (0,))
    back = pullback(ahead, (3,))
    bar = np.random.default_rng(0).normal(size=4)
    exact = InterpretedKernel(pullback(program, (0,)))(*args, bar)[0]
    for value in (0.0, 7.0):
        found = InterpretedKernel(back)(*args, np.full(4, value), bar)[0]
        np.testing.assert_allclose(found, exact, rtol=1e-10)
    assert back.flops < 1.2 * pullback(program, (0,)).flops


def test_threads_trace_at_the_same_time():
    """What one thread traces does not show in what another one traces or computes."""
    import threading

    models = [tree(6, seed=k) for k in range(4)]
    alone = [program_of(mz.inverse_dynamics, m).flops for m in models]
    found = [0] * 4

    def work(k):
        for _ in range(3):
            program = program_of(mz.inverse_dynamics, models[k])
            pullback(program, (0, 1, 2))
            found[k] = program.flops

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == alone
