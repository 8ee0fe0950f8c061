"""Joint forces from accelerations: recursive Newton–Euler, in four representations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mozzi.algorithms.constraints.rows import closures, moving
from mozzi.algorithms.dynamics.springs import acting
from mozzi.algorithms.recursion.algorithm import algorithm, closed
from mozzi.algorithms.recursion.containers import body_array, joint_vector, per_body
from mozzi.algorithms.recursion.representations import check, shifting, turning
from mozzi.errors import LoopError
from mozzi.lie import SE3, AccelerationField, Twist, Vec3, Wrench, second_moments
from mozzi.model.model import WORLD
from mozzi.program.scalar import select
from mozzi.types import ArrayLike, JointChoice, Minimize, Rep

__all__ = [
    "bias_forces", "gravity_forces", "inverse_dynamics", "joint_resistance", "joint_wrenches",
    "passive_inverse_dynamics",
]  # fmt: skip


@algorithm(regroup="moments")
def inverse_dynamics(
    model: Any, q: Any, v: Any, a: Any, wrenches: Any = None, rep: Rep = "body",
    resistance: bool = False, actuated: JointChoice | None = None, minimize: Minimize | None = None,
    weighting: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """Joint forces that produce the accelerations a:  τ = M(q) a + C(q, v) v + g(q) − Σ Jᵢᵀ Wᵢ.

    Recursive Newton–Euler, O(n), in body-fixed, spatial, hybrid or mixed twists: the same forces.
    ``wrenches`` act on the bodies, body-fixed. Armature is part of M; damping, friction and
    springs of the joints, and springs between bodies, are added on request (``resistance``).
    Kim Table 2; Müller, Dynamics (66), (67); (70), (71); (75), (76).

    With loops every joint is taken as actuated, and the loops bear nothing. Where only the joints
    in ``actuated`` are, the others get τ = 0 and the loops bear the rest; of several answers that
    with the least ``minimize="torque"`` (the default then) or ``"loop_force"``, squares weighted
    by ``weighting``. A motion that these actuators cannot make is a `LoopError`.  Kim (56)–(66).

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> np.allclose(mz.inverse_dynamics(arm, q, v, a), mz.bias_forces(arm, q, v))
        True
    """
    if actuated is not None or minimize is not None:
        raise ValueError(
            "inverse_dynamics: actuated= and minimize= are for models with loops, on arrays"
        )
    tau = joint_vector(model)
    force = _RECURSIONS[check(rep)](model, q, v, a, acting(model, q, v, wrenches, resistance))
    for i in model.inward():
        tau[i] = loaded(i, force(i), q, v, a, resistance)
    return tau


@algorithm(regroup="moments")
def passive_inverse_dynamics(model: Any, q: Any, v: Any, v_ref: Any, a_ref: Any) -> Any:
    """M(q) a_ref + C(q, v) v_ref + g(q), with the C of `coriolis_matrix`, for which Ṁ − 2C is skew.

    One Newton–Euler recursion, O(n), without C: a second field of velocities, v_ref, is carried
    along with the motion v.  Ploen (30)–(37), with his skew C̄ᵢ chosen so that C is Christoffel's.

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> tau = mz.inverse_dynamics(arm, q, v, a)
        >>> np.allclose(mz.passive_inverse_dynamics(arm, q, v, v, a), tau)
        True
    """
    tau = joint_vector(model)
    force = _body(model, q, v, a_ref, None, v_ref)
    for i in model.inward():
        tau[i] = loaded(i, force(i), q, v, a_ref, False)
    return tau


@algorithm(regroup="moments")
def bias_forces(model: Any, q: Any, v: Any, wrenches: Any = None, resistance: bool = False) -> Any:
    """Joint forces at zero acceleration:  C(q, v) v + g(q) − Σ Jᵢᵀ Wᵢ.

    Inverse dynamics with a = 0, O(n).

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.bias_forces(arm, q, v).shape
        (3,)
    """
    tau = joint_vector(model)
    force = _body(model, q, v, ZERO, acting(model, q, v, wrenches, resistance))
    for i in model.inward():
        tau[i] = loaded(i, force(i), q, v, ZERO, resistance)
    return tau


@algorithm(regroup=True)
def gravity_forces(model: Any, q: Any) -> Any:
    """Joint forces that hold the mechanism at rest:  g(q), the derivative of the potential energy.

    Inverse dynamics with v = a = 0, O(n).

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q = arm.random_configuration(0)
        >>> np.allclose(mz.gravity_forces(arm, q), mz.bias_forces(arm, q, np.zeros(3)))
        True
    """
    g = joint_vector(model, "g")
    A, W, T = per_body(model, A=Vec3, W=Wrench, T="local")
    A[model.world] = model.upward.lin
    for i in model.outward():
        T[i] = i.pose(q[i])
        A[i] = T[i].unrotate(A[i.parent])
        W[i] = Wrench(i.inertia.h.cross(A[i]), A[i] * i.inertia.m)
    for i in model.inward():
        g[i] = i.joint.screws(q[i]).T @ W[i]
        W[i.parent] += T[i].push(W[i])
    return g


@algorithm(loops="honour")
def joint_wrenches(
    model: Any, q: Any, v: Any, a: Any, wrenches: Any = None, multipliers: Any = None
) -> Any:
    """The wrench that each joint transmits to its body, body-fixed: reactions and joint forces.

    What inverse dynamics sums on its way, O(n); Sᵢᵀ Wᵢ is the joint force (less armature). With
    loops, ``multipliers`` are what they transmit (`loop_forces`, of the motion with these a): a
    model that has some is refused without them.  Kim (42).

    Returns:
        (B, nb, 6): a row (torque, force) for each body, in its axes at its origin.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v, a = arm.random_configuration(0), np.ones(arm.nv), np.zeros(arm.nv)
        >>> mz.joint_wrenches(arm, q, v, a).shape
        (3, 6)
    """
    out = body_array(model, 6, letter="W")
    force = _body(model, q, v, a, wrenches)
    if closed(model.model):
        _loaded_by_loops(model, q, force, multipliers)
    for i in model.inward():
        out[i] = i.frame.pull(force.wrench(i))
        force(i)
    return out


def _loaded_by_loops(model: Any, q: Any, force: Any, multipliers: Any) -> None:
    """Less of a wrench is for a joint to transmit where loops transmit some."""
    if multipliers is None:
        raise LoopError(
            f"joint_wrenches: what the joints of {model.model.name!r} transmit depends on what its "
            "loops do; give multipliers=, as loop_forces tells them"
        )
    start, every = 0, multipliers[()]
    for rows in closures(model, moving(model, q)):
        own = every[start : start + len(rows)]
        for k, W in rows.wrenches.items():
            i = model.at(k)
            for x, factor in zip(W, own, strict=True) if k != WORLD else ():
                force.W[i] = force.W[i] - x * factor
        start += len(rows)


@algorithm
def joint_resistance(model: Any, q: Any, v: Any) -> Any:
    """What the joints resist with:  damping·v + friction·sign(v) + stiffness·(q ⊖ rest).

    From the model's joint data, joint by joint. `inverse_dynamics`, `forward_dynamics` and
    `hybrid_dynamics` leave it out unless they are called with ``resistance=True``, which adds
    `spring_wrenches` as well.

    Returns:
        (B, nv): joint forces, in the order of v.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> q, v = arm.random_configuration(0), np.ones(arm.nv)
        >>> mz.joint_resistance(arm, q, v).shape
        (3,)
    """
    r = joint_vector(model, "r")
    for i in model.outward():
        r[i] = resisting(i, q[i], v[i])
    return r


# -- what acts in a joint besides the wrench of its body --


class _Zero:
    """A joint vector of structural zeros."""

    def __getitem__(self, i: Any) -> tuple[float, ...]:
        return (0.0,) * i.joint.nv


ZERO = _Zero()


def resisting(i: Any, q: Any, v: Any) -> list[Any]:
    """The resistance of one joint."""
    stretch = i.joint.difference(i.rest, q)
    return [
        d * x + select(x > 0.0, f, select(x < 0.0, -f, 0.0)) + k * s
        for d, f, k, x, s in zip(i.damping, i.friction, i.stiffness, v, stretch, strict=True)
    ]


def loaded(i: Any, force: Any, q: Any, v: Any, a: Any, resistance: bool) -> list[Any]:
    """The joint force: that of the body, of the rotor, and what it takes against the resistance."""
    forces = [x + m * y for x, m, y in zip(force, i.armature, a[i], strict=True)]
    if resistance:
        forces = [x + y for x, y in zip(forces, resisting(i, q[i], v[i]), strict=True)]
    return forces


# -- the recursions: outward now, then inward body by body: they return the inward step --


class _Inward:
    """Sᵀ W of a body, whose W then goes to its parent."""

    def __init__(self, screws: Any, W: Any, T: Any):
        self.screws, self.W, self.T = screws, W, T

    def wrench(self, i: Any) -> Wrench:
        return self.W[i]

    def __call__(self, i: Any) -> Any:
        force = self.screws(i).T @ self.W[i]  # (67b), (71c), (76c)
        self.W[i.parent] += self.T(i, self.W[i])  # (67a), (71b), (76b)
        return force


def motion(
    model: Any, q: Any, v: Any, a: Any, v_ref: Any, T: Any, w: Any, u: Any, A: Any
) -> Iterator[Any]:
    """Outward: every body with its angular velocity ω and acceleration A = (ω̇, Rᵀr̈), body-fixed.

    A is that of the frame's origin, (42), (43), so that linear velocities drop out. With v_ref, the
    velocities u that v_ref generates are carried along with the motion v, and A is their rate.
    """
    A[model.world] = model.upward
    for i in model.outward():
        p, S = i.parent, i.joint.screws(q[i])
        Sv = S @ v[i]
        Su = Sv if v_ref is None else S @ v_ref[i]
        own = S @ a[i] + i.joint.screws_rate(q[i], v[i]) @ (v if v_ref is None else v_ref)[i]
        T[i] = i.pose(q[i])
        w[i] = T[i].unrotate(w[p]) + Sv.ang  # (66b)
        u_p = T[i].unrotate(u[p])
        if v_ref is not None:
            u[i] = u_p + Su.ang
        origin = A[p].lin + AccelerationField(A[p].ang, w[p], u[p]) @ T[i].p
        A[i] = Twist(
            T[i].unrotate(A[p].ang) + u_p.cross(Sv.ang) + own.ang,
            T[i].unrotate(origin) + u_p.cross(Sv.lin) + w[i].cross(Su.lin) + own.lin,
        )  # (66c)
        yield i


def _body(model: Any, q: Any, v: Any, a: Any, wrenches: Any, v_ref: Any = None) -> Any:
    T, W, w, A = per_body(model, T="local", W=Wrench, w=Vec3, A=Twist)
    u = w if v_ref is None else per_body(model, u=Vec3)
    for i in motion(model, q, v, a, v_ref, T, w, u, A):
        inertial = AccelerationField(A[i].ang, w[i], u[i]).wrench(i.inertia, A[i].lin)  # (42), (43)
        W[i] = inertial if wrenches is None else inertial - i.frame.push(wrenches[i])
    return _Inward(lambda i: i.joint.screws(q[i]), W, lambda i, x: T[i].push(x))


def _spatial(model: Any, q: Any, v: Any, a: Any, wrenches: Any) -> Any:
    C, V, A, W = per_body(model, C=SE3, V=Twist, A=Twist, W=Wrench)
    A[model.world] = model.upward
    for i in model.outward():
        p = i.parent
        C[i] = C[p] @ i.pose(q[i])  # (70a)
        J = C[i].push(i.joint.screws(q[i]))  # (70b)
        V[i] = V[p] + J @ v[i]  # (70c)
        own = C[i].push(i.joint.screws_rate(q[i], v[i]) @ v[i])
        A[i] = A[p] + J @ a[i] + V[i].cross(J @ v[i]) + own  # (70d)
        M = C[i].push(i.inertia)  # (71a)
        applied = C[i].push(i.frame.push(wrenches[i]))
        W[i] = (M @ A[i]).rate() + V[i].cross(M @ V[i]) - applied  # (71b)
    return _Inward(lambda i: C[i].push(i.joint.screws(q[i])), W, lambda i, x: x)


def _hybrid(model: Any, q: Any, v: Any, a: Any, wrenches: Any) -> Any:
    C, V, A, W = per_body(model, C=SE3, V=Twist, A=Twist, W=Wrench)
    A[model.world] = model.upward
    for i in model.outward():
        p = i.parent
        C[i] = C[p] @ i.pose(q[i])  # (75a)
        R, d = turning(C[i].R), C[i].p - C[p].p
        X = R.push(i.joint.screws(q[i]))  # (75b)
        Xv = X @ v[i]
        V[i] = shifting(d).pull(V[p]) + Xv  # (75c)
        w = Twist(V[i].ang, Vec3.zero())
        own = R.push(i.joint.screws_rate(q[i], v[i]) @ v[i])
        swing = Twist(Vec3.zero(), V[p].ang.cross(V[i].lin - V[p].lin))
        A[i] = shifting(d).pull(A[p]) + swing + w.cross(Xv) + X @ a[i] + own  # (75d)
        M = R.push(i.inertia)  # (76a)
        applied = R.push(i.frame.push(wrenches[i]))
        W[i] = (M @ A[i]).rate() + w.cross(M @ w) - applied  # (76b)
    return _Inward(
        lambda i: turning(C[i].R).push(i.joint.screws(q[i])),
        W,
        lambda i, x: shifting(C[i].p - C[i.parent].p).push(x),
    )


def _mixed(model: Any, q: Any, v: Any, a: Any, wrenches: Any) -> Any:
    """Angular parts body-fixed as in (66), linear parts inertial as in (75)."""
    C, T, w, A, W = per_body(model, C=SE3, T="local", w=Vec3, A=Twist, W=Wrench)
    A[model.world] = model.upward
    for i in model.outward():
        p, S = i.parent, i.joint.screws(q[i])
        Sv = S @ v[i]
        own = S @ a[i] + i.joint.screws_rate(q[i], v[i]) @ v[i]
        T[i] = i.pose(q[i])
        C[i] = C[p] @ T[i]
        w_p = T[i].unrotate(w[p])
        w[i] = w_p + Sv.ang
        swing = C[p].R.rotate(AccelerationField(A[p].ang, w[p], w[p]) @ T[i].p)
        slide = C[i].R.rotate(w_p.cross(Sv.lin) + w[i].cross(Sv.lin) + own.lin)
        A[i] = Twist(
            T[i].unrotate(A[p].ang) + w_p.cross(Sv.ang) + own.ang, A[p].lin + swing + slide
        )
        I, Q = i.inertia, AccelerationField(A[i].ang, w[i], w[i])
        applied = i.frame.push(wrenches[i])
        t = Q.torque(second_moments(I)) + I.h.cross(C[i].R.unrotate(A[i].lin))  # (56)
        f = A[i].lin * I.m + C[i].R.rotate(Q @ I.h)  # (57)
        W[i] = Wrench(t, f) - Wrench(applied.ang, C[i].R.rotate(applied.lin))

    def across(i: Any, x: Wrench) -> Wrench:
        lever = T[i].p.cross(C[i.parent].R.unrotate(x.lin))
        return Wrench(T[i].rotate(x.ang) + lever, x.lin)

    return _Inward(lambda i: _Mixed(i.joint.screws(q[i]), C[i].R), W, across)


class _Mixed:
    """Body-fixed screws that pair with mixed wrenches."""

    def __init__(self, S: Any, R: Any):
        self.T, self.S, self.R = self, S, R

    def __matmul__(self, W: Wrench) -> Any:
        return self.S.T @ Wrench(W.ang, self.R.unrotate(W.lin))


_RECURSIONS = {"body": _body, "spatial": _spatial, "hybrid": _hybrid, "mixed": _mixed}
