# pyright: reportConstantRedefinition=false
"""Eigenvalues of what is left free near a steady motion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.guard import fitting
from mozzi.algorithms.calls.with_loops import closed
from mozzi.algorithms.constraints.rows.rows import loop_jacobian, position_rows
from mozzi.algorithms.derivatives.loops.first import loop_changes
from mozzi.algorithms.dynamics.forward import forward_dynamics
from mozzi.algorithms.kinematics.configuration import integrate
from mozzi.checked import checked
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.simulation.derivatives.linearize import linearize
from mozzi.types import Array, ArrayLike

__all__ = ["Modes", "allowed_deviations", "modes"]

SMALL = 1e-10
"""Share of the largest singular value below which a direction counts as one without change."""

STEADY = 1e-6  # relative: accelerations, and changes of the linearization, of a steady motion
AHEAD = 0.1  # how far along the motion that is looked at


class Modes(NamedTuple):
    """Eigenvalues (k,) and their deviations (2 nv, k), columns (δ, δv) of unit length.

    Example:
        >>> rod = mz.Inertia(1.0, (0, 0, -0.5), np.diag([0.1, 0.1, 0.01]))
        >>> pendulum = mz.Builder("pendulum").add("rod", None, mz.Revolute("y"), rod).build()
        >>> found = mz.modes(pendulum, [0.0], [0.0])
        >>> np.abs(found.values.imag).round(3).tolist(), found.shapes.shape
        ([3.744, 3.744], (2, 2))
    """

    values: NDArray[np.complex128]
    shapes: NDArray[np.complex128]


@checked
def allowed_deviations(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """An orthonormal basis N of the deviations (δ, δv) that loops, rolling and velocity rows allow.

    A δ = 0 for rows with a position part, and A δv + ∂(A v)/∂q δ = 0 for all of them. With (A, B)
    of `linearize`, N.T @ A @ N is the system that is left.

    Cost: a singular value decomposition, O(n³).

    Args:
        model: the mechanism.
        q (nq,): configuration.
        v (nv,): velocities that its rows allow.

    Returns:
        (2 nv, k): columns (δ, δv).

    Example:
        >>> bar = mz.load("four_bar.sdf")
        >>> mz.allowed_deviations(bar, bar.neutral(), np.zeros(3)).shape
        (6, 2)
    """
    as_model(model, "allowed_deviations")
    q, v = _one(model, q, v, "allowed_deviations")
    n = model.nv
    if not closed(model):
        return np.eye(2 * n)
    A, positions = loop_jacobian(model, q), position_rows(model)
    still = np.zeros(n)
    _, turn, _ = loop_changes(model, q, still, v, np.zeros(len(A)))  # ∂(A v)/∂q
    rows = np.block([[A[positions], np.zeros((int(positions.sum()), n))], [turn, A]])
    return _null(rows, np.abs(rows).max(initial=1.0))


@checked
def modes(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, *,
    resistance: bool = True,
) -> Modes:  # fmt: skip
    """Eigenvalues and shapes of small deviations from an equilibrium or a steady motion.

    Of `linearize`, restricted to the deviations that loops, rolling and velocity rows allow
    (`allowed_deviations`), without those along which nothing changes: where a bicycle is and where
    it heads, how far its wheels have turned. A motion is steady where the matrices of `linearize`
    do not change along it: of a free body v is body-fixed, so that one that spins as it travels is
    steady in v only behind a joint of its own (a wheel on its fork).

    Cost: `linearize`, and eigenvalues in O(n³).

    Args:
        model: the mechanism.
        q (nq,): configuration.
        v (nv,): velocities that its rows allow.
        tau (nv,), optional: joint forces; zero where not given.
        resistance: whether damping, friction and springs act, as in `linearize`.

    Raises:
        ConfigurationError: the motion is not steady.

    Returns:
        `Modes`: values (k,), those of largest real part first, and shapes (2 nv, k).

    Example:
        >>> rod = mz.Inertia(1.0, (0.0, 0.0, -1.0), np.zeros((3, 3)))
        >>> swing = mz.Builder().add("rod", None, mz.Revolute("x"), rod).build()
        >>> values, shapes = mz.modes(swing, [0.0], [0.0])
        >>> np.allclose(np.abs(values), np.sqrt(9.81))
        True
    """
    as_model(model, "modes")
    q, v = _one(model, q, v)
    n = model.nv
    force = np.zeros(n) if tau is None else np.asarray(tau, dtype=float)
    A, _ = linearize(model, q, v, force, resistance=resistance)
    _refuse_unsteady(model, q, v, force, resistance, A)
    N = allowed_deviations(model, q, v)
    A = N.T @ A @ N
    K = _ignored(A, N, n)
    Q = _null(K.T, 1.0) if K.shape[1] else np.eye(len(A))  # the quotient by K, which A maps to K
    found = np.linalg.eig(Q.T @ A @ Q)
    values, shapes = (np.asarray(x, dtype=np.complex128) for x in found)
    order = np.lexsort((values.imag, -values.real))
    whole = N @ Q @ shapes[:, order]
    return Modes(values[order], whole / np.linalg.norm(whole, axis=0))


def _refuse_unsteady(
    model: Model, q: Array, v: Array, tau: Array, resistance: bool, A: Array
) -> None:
    """Eigenvalues mean something where a = 0, and A stays as it is along the motion."""
    a = forward_dynamics(model, q, v, tau, resistance=resistance)
    size = 1.0 + np.square(v).max(initial=0.0)
    worst = int(np.abs(a).argmax())
    if np.abs(a[worst]) > STEADY * size:
        raise ConfigurationError(
            f"modes: this motion of model {model.name!r} is not steady: {model.v_names[worst]!r} "
            f"accelerates by {a[worst]:.3g}; give an equilibrium or a steady motion, with its tau, "
            "in coordinates in which its velocities are constant"
        )
    ahead = integrate(model, q, v * (AHEAD / size))
    there, _ = linearize(model, ahead, v, tau, resistance=resistance)
    change = np.abs(there - A).max(initial=0.0) / (1.0 + np.abs(A).max(initial=0.0))
    if change > STEADY:
        raise ConfigurationError(
            f"modes: this motion of model {model.name!r} is not steady: its linearization changes "
            f"along the motion (by {change:.1e}); eigenvalues say nothing about it. A body that "
            "spins as it travels needs coordinates in which it does so evenly, such as "
            "Composite(Translation3(), Revolute('z'), Revolute('x'), Revolute('y'))"
        )


def _ignored(A: Array, N: Array, n: int) -> Array:
    """Deviations of position alone along which the motion stays what it is: in coordinates of N,
    the largest subspace of δv = 0 that A maps into itself.
    """
    scale = np.abs(A).max(initial=1.0)
    K = _null(N[n:], 1.0)
    while K.shape[1]:
        out = A @ K
        out = out - K @ (K.T @ out)
        left = _null(out, scale)
        if left.shape[1] == K.shape[1]:
            return K
        K = np.linalg.qr(K @ left)[0]
    return K


def _null(A: Array, scale: float) -> Array:
    """An orthonormal basis of the x with A x = 0."""
    if not len(A):
        return np.eye(A.shape[1])
    _, s, Vt = np.linalg.svd(A)
    return Vt[int((s > SMALL * max(scale, s.max(initial=0.0))).sum()) :].T


def _one(
    model: Model, q: ArrayLike, v: ArrayLike, function: str = "modes"
) -> tuple[Array, Array]:
    x, u = fitting(function, model, q=q, v=v)
    if x.ndim != 1 or u.ndim != 1:
        raise ConfigurationError(
            f"{function} of model {model.name!r}: q has shape {x.shape} and v {u.shape}; give one "
            f"state of {model.nq} and {model.nv} numbers"
        )
    return x, u
