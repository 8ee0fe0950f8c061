"""Loops of unlike masses and sizes, against the same equations in forty digits."""

import mpmath
import numpy as np
import pytest
from support.cases import first
from support.loop_models import rod, stewart

import mozzi as mz
from mozzi.model.generate import delta_robot, four_bar, leaning, n_four_bar


def exact(model: mz.Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """a of [[M, Aᵀ], [A, 0]] (a, −λ) = (τ − C v − g, −Ȧ v), with the rows that are independent."""
    with mpmath.workdps(40):
        n = model.nv
        Q, V, T = ([mpmath.mpf(float(x)) for x in y] for y in (q, v, tau))
        M, h = mz.mass_matrix.python(model, Q), mz.bias_forces.python(model, Q, V)
        A = mz.loop_jacobian.python(model, Q)
        drift = mz.loop_acceleration.python(model, Q, V, [mpmath.mpf(0)] * n)
        rows = independent(np.array(A, dtype=float))
        K, r = mpmath.zeros(n + len(rows)), mpmath.zeros(n + len(rows), 1)
        for i in range(n):
            r[i] = T[i] - h[i]
            for j in range(n):
                K[i, j] = M[i][j]
        for k, row in enumerate(rows):
            r[n + k] = -drift[row]
            for j in range(n):
                K[n + k, j] = K[j, n + k] = A[row][j]
        return np.array([float(x) for x in mpmath.lu_solve(K, r)[:n]])


def independent(A: np.ndarray) -> list[int]:
    """Rows that are not in the span of those before them."""
    chosen: list[int] = []
    for k in range(len(A)):
        if np.linalg.matrix_rank(A[[*chosen, k]], tol=1e-9 * np.abs(A).max()) > len(chosen):
            chosen.append(k)
    return chosen


def weighing(model: mz.Model, factors: np.ndarray) -> mz.Model:
    """The same mechanism with the inertias of its bodies multiplied."""
    for body, f in zip(model.bodies, factors, strict=True):
        ten = tuple(float(x) * float(f) for x in model.body(body).inertia.flatten())
        model = model.with_inertia(body, mz.Inertia.from_parameters(ten))
    return model


def check(model: mz.Model, q: np.ndarray, tolerance: float) -> None:
    rng = np.random.default_rng(0)
    v, tau = rng.normal(size=(2, model.nv))
    A = mz.loop_jacobian(model, q)
    v = v - np.linalg.pinv(A, rcond=1e-9) @ (A @ v)
    expected = exact(model, q, v, tau)
    a = mz.forward_dynamics(model, q, v, tau)
    assert np.abs(a - expected).max() < tolerance * np.abs(expected).max()


@pytest.mark.parametrize("factor", [1e-8, 1e-5, 1e5, 1e8])
@pytest.mark.parametrize("body", ["crank", "coupler", "rocker"])
def test_one_body_unlike_the_others(body: str, factor: float):
    """A light coupler between heavy cranks would fly off if the loop were open."""
    model = four_bar()
    q = mz.assemble(model, [0.3, 0.5, 1.5])
    check(weighing(model, [factor if n == body else 1.0 for n in model.bodies]), q, 1e-14)


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_grams_and_tons(seed: int):
    """Masses between 1e-3 and 1e6 of what they were, body by body."""
    rng = np.random.default_rng(seed)
    model, q = stewart(0.3)
    check(weighing(model, 10.0 ** rng.uniform(-3.0, 6.0, model.nb)), q, 1e-13)
    model = n_four_bar(4)
    check(weighing(model, 10.0 ** rng.uniform(-3.0, 6.0, model.nb)), leaning(model, 0.6), 1e-13)


@pytest.mark.parametrize("factor", [1e-5, pytest.param(1e5, marks=pytest.mark.slow)])
def test_a_platform_unlike_its_rods(factor: float):
    """Where rows are redundant as well."""
    model = delta_robot()
    aside = 0.1 * np.random.default_rng(0).normal(size=model.nv)
    q = mz.assemble(model, mz.integrate(model, model.neutral(), aside))
    check(weighing(model, [1.0] * (model.nb - 1) + [factor]), q, 1e-12)


def bars(size: float, away: float = 0.0, tail: float = 0.0) -> mz.Model:
    """A four-bar linkage of this size, away from the origin, with a long rod behind its rocker."""
    b = mz.Builder("bars")
    b.add("crank", None, mz.Revolute("y"), rod(size), placement=(away, 0, 0))
    b.add("coupler", "crank", mz.Revolute("y"), rod(2.0 * size), placement=(size, 0, 0))
    b.add("rocker", None, mz.Revolute("y"), rod(1.8 * size), placement=(away + 2.2 * size, 0, 0))
    if tail:
        b.add("tail", "rocker", mz.Revolute("y"), rod(tail), placement=(tail, 0, 0))
    ends = (2.0 * size, 0, 0), (1.8 * size, 0, 0)
    return b.loop("pin", "coupler", "rocker", mz.Revolute("y"), *ends).build()


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3])
@pytest.mark.parametrize("away", [0.0, 1e4, 1e6])
def test_small_and_far_away(size: float, away: float):
    """What counts as a dependent row is measured by the linkage, not by where it stands."""
    model = bars(size, away)
    q = mz.assemble(model, [0.3, 0.5, 1.5])
    assert mz.loop_rank(model, q)[0] == 2
    check(model, q, 1e-13)


def test_a_small_linkage_on_a_large_machine():
    model = bars(1e-3, tail=1e3)
    q = mz.assemble(model, [0.3, 0.5, 1.5, 0.1])
    assert mz.loop_rank(model, q)[0] == 2
    check(model, q, 1e-9)


@pytest.mark.parametrize("inertia, tolerance", [(1e-6, 1e-12), (1e-9, 1e-10), (1e-12, 1e-6)])
def test_a_rod_that_spins_about_itself(inertia: float, tolerance: float):
    """A coupler between two balls: no row acts about its axis, where it has next to no inertia."""
    b = mz.Builder("balls")
    b.add("crank", None, mz.Revolute("y"), rod(1.0))
    J = np.diag([inertia, 0.3, 0.3])
    b.add("coupler", "crank", mz.Spherical(), mz.Inertia(1.0, (1, 0, 0), J), placement=(1, 0, 0))
    b.add("rocker", None, mz.Revolute((0.1, 1.0, 0.2)), rod(1.8), placement=(2.2, 0.1, 0))
    model = b.loop("ball", "coupler", "rocker", mz.Spherical(), (2, 0, 0), (1.8, 0, 0)).build()
    aside = mz.integrate(model, model.neutral(), [0.3, 0.1, 0.5, 0.1, 1.5])
    q = mz.assemble(model, aside)
    assert mz.loop_rank(model, q)[0] == 3
    rng = np.random.default_rng(0)
    A = mz.loop_jacobian(model, q)
    v, tau = rng.normal(size=(2, model.nv))
    v = v - np.linalg.pinv(A) @ (A @ v)
    tau[1] *= inertia
    expected = exact(model, q, v, tau)
    a = mz.forward_dynamics(model, q, v, tau)
    assert np.abs(a - expected).max() < tolerance * np.abs(expected).max()
