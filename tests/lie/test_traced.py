"""Traced, the spatial types give short programs that mean the same."""

import numpy as np
import pytest

from mozzi.lie import (
    SE3,
    ArticulatedInertia,
    Inertia,
    Mat3,
    Quaternion,
    Rotation,
    RotationZ,
    Screws,
    Sym3,
    Twist,
    Vec3,
    Wrench,
    cayley,
    dexp,
    dexp_inverse,
    dexp_rate,
    inverse_spd,
)  # fmt: skip
from mozzi.program.differentiate import differentiate_program
from mozzi.program.meaning import interpret
from mozzi.program.passes import prune
from mozzi.program.program import Input, trace

ZERO = Vec3.zero()
PERMUTATION = Rotation(0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0)
TILT = Rotation.about(Vec3(1.0, 0.0, 0.0), 0.3)
BODY = Inertia(2.0, (0.1, 0.2, 0.3), np.diag([1.0, 2.0, 2.5]) + 0.1)
HINGE = Screws([Twist(Vec3(0.0, 0.0, 1.0), ZERO)])


def traced(function, *kinds):
    """The program of a function of quantities of these kinds (or of arrays of these sizes)."""
    sizes = [k if isinstance(k, int) else k.SIZE for k in kinds]

    def flat(*arrays):
        things = (
            a if isinstance(k, int) else k.unflatten(a) for k, a in zip(kinds, arrays, strict=True)
        )
        result = function(*things)
        return np.array(result.flatten() if hasattr(result, "flatten") else result, dtype=object)

    return prune(trace(flat, [Input(f"x{k}", (n,)) for k, n in enumerate(sizes)]))


def cost(function, *kinds):
    """Multiplications, additions, divisions, negations, other operations."""
    count = traced(function, *kinds).operations
    known = [count.pop(k, 0) for k in ("multiplications", "additions", "divisions", "negations")]
    return (*known, sum(count.values()))


def project(IA: ArticulatedInertia):
    U = IA @ HINGE
    return IA.project(HINGE, U, inverse_spd(HINGE.T @ U))


@pytest.mark.parametrize(
    ("expected", "function", "kinds"),
    [
        ((8, 8, 0, 0, 0), lambda Z, S: Z.congruence(S), (RotationZ, Sym3)),
        ((12, 11, 0, 0, 0), lambda Z, A: Z.congruence(A), (RotationZ, Mat3)),
        ((28, 26, 0, 0, 0), lambda Z, A: SE3(Z, ZERO).push(A), (RotationZ, ArticulatedInertia)),
        ((8, 7, 0, 0, 0), TILT.congruence, (Sym3,)),
        ((33, 26, 0, 0, 0), lambda R, S: R.congruence(S), (Rotation, Sym3)),
        ((8, 4, 0, 0, 0), lambda Z, V: SE3(Z, ZERO).pull(V), (RotationZ, Twist)),
        ((24, 18, 0, 0, 0), lambda T, V: T.pull(V), (SE3, Twist)),
        ((24, 18, 0, 0, 0), lambda T, W: T.push(W), (SE3, Wrench)),
        ((24, 18, 0, 0, 0), lambda body, V: body @ V, (Inertia, Twist)),
        ((45, 45, 0, 0, 0), BODY.wrench, (Twist, Twist)),
        ((20, 15, 1, 0, 0), project, (ArticulatedInertia,)),
        ((5, 1, 1, 1, 0), lambda d: inverse_spd(((d[0], d[1]), (d[1], d[2]))), (3,)),
    ],
)
def test_operation_counts(expected, function, kinds):
    """Few operations: what a person would write by hand."""
    assert cost(function, *kinds) == expected


def test_signed_permutations_are_free():
    """Known rotations by right angles cost signs only."""
    T = SE3(PERMUTATION, ZERO)
    for kind in (Twist, Wrench, Inertia, ArticulatedInertia):
        assert sum(cost(T.push, kind)) == cost(T.push, kind)[3]
        assert sum(cost(SE3.identity().push, kind)) == 0


def test_known_zeros_vanish():
    """A hinge at the origin moves twists and inertias by the short rotation only."""
    hinge = lambda q: SE3.exp(HINGE[0], q[0])
    assert cost(lambda q: hinge(q), 1)[4] == 2  # one sine, one cosine
    assert HINGE.units() == (2,) and Screws([Twist.screw((0, 0, 1), (1, 0, 0))]).units() is None
    moved = cost(lambda Z, V: SE3(Z, Vec3(0.0, 0.5, 0.0)).pull(V), RotationZ, Twist)
    assert moved == (10, 6, 0, 0, 0)


def twist(angle: float, seed: int = 0) -> list[float]:
    x = np.random.default_rng(seed).normal(size=6)
    return [*(x[:3] * angle / np.linalg.norm(x[:3])), *x[3:]]


def numbers(x) -> np.ndarray:
    return np.array([np.ravel(e)[0] for e in x.flatten()])


FUNCTIONS = {
    "exp": (SE3.exp, (Twist,)),
    "log exp": (lambda X: SE3.exp(X).log(), (Twist,)),
    "dexp": (dexp, (Twist, Twist)),
    "dexp inverse": (dexp_inverse, (Twist, Twist)),
    "dexp rate": (lambda X, Y: dexp_rate(X, Y, Y), (Twist, Twist)),
    "cayley": (cayley, (Twist,)),
    "quaternion": (lambda X: Quaternion.exp(X.ang), (Twist,)),
}


@pytest.mark.parametrize("angle", [0.0, 1e-10, 0.3, 1.0, 3.1])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_traced_programs_and_their_derivatives(name, angle):
    """A program means what the function means, and so do its derivatives, at zero as well."""
    function, kinds = FUNCTIONS[name]
    program = traced(function, *kinds)
    points = [twist(angle), twist(1.0, 1)][: len(kinds)]
    (value,) = interpret(program, points)
    things = [k.from_array(np.array([p])) for k, p in zip(kinds, points, strict=True)]
    assert np.allclose(value, numbers(function(*things)), rtol=1e-13, atol=1e-14)
    derivative = differentiate_program(program, wrt="x0")
    found = np.reshape(interpret(derivative, points)[0], (-1, 6))
    for k in range(6):
        moved = [things[0] + Twist.unflatten(1e-30j * (i == k) for i in range(6)), *things[1:]]
        step = np.imag(numbers(function(*moved))) / 1e-30
        assert np.allclose(found[:, k], step, rtol=1e-9, atol=1e-11)
