"""Every pair of shapes that roll on each other, on two free bodies, against d'Alembert's principle.

Nothing is shared with the library: poses from exponentials in 60 digits, Jacobians and biases by
differences, points of contact from searches for the least distance.
"""

# pyright: reportConstantRedefinition=false
from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import mozzi as mz

pytestmark = pytest.mark.slow

H = mp.mpf(10) ** -18
MASS = 1.3, 3.0
COM = (0.02, -0.01, 0.03), (-0.1, 0.05, 0.02)
INERTIA = (
    np.array([[0.03, 0.004, -0.002], [0.004, 0.05, 0.003], [-0.002, 0.003, 0.04]]),
    np.array([[0.3, 0.02, -0.01], [0.02, 0.35, 0.05], [-0.01, 0.05, 0.2]]),
)
PLACES = (0.3, -0.2, 0.1, 0.05, 0.02, -0.04), (-0.1, 0.2, 0.4, 0.1, -0.1, 0.05)
ROUND = mz.Sphere(0.2), mz.Disc(0.3), mz.Torus(0.3, 0.05)
CASES = [(a, b, False) for a in ROUND for b in (
    mz.Plane(), mz.Sphere(0.5), mz.Cylinder(0.4, 9.0), mz.Capsule(0.3, 0.2), mz.Torus(0.5, 0.1))]
CASES += [(a, mz.Disc(0.5), False) for a in ROUND if not isinstance(a, mz.Disc)]
CASES += [(a, b, True) for a in ROUND for b in (mz.Sphere(3.0), mz.Cylinder(2.0, 9.0))]
CASES += [(mz.Ellipsoid((0.2, 0.3, 0.1)), mz.Plane(), False)]  # fmt: skip


def exact(x) -> mp.matrix:
    return mp.matrix(np.vectorize(lambda e: mp.mpf(float(e)), otypes=[object])(x).tolist())


def cross(a, b) -> mp.matrix:
    return mp.matrix([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                      a[0] * b[1] - a[1] * b[0]])  # fmt: skip


def length(x) -> mp.mpf:
    return mp.sqrt(sum(e * e for e in x))


def body(q):
    """y ↦ pose (R, p) of a free body that is at q where y = 0, in exponential coordinates."""
    x, y, z, w = q[3:] / length(q[3:])
    R0 = 2 * mp.matrix([[0.5 - (y * y + z * z), x * y - z * w, x * z + y * w],
                        [x * y + z * w, 0.5 - (x * x + z * z), y * z - x * w],
                        [x * z - y * w, y * z + x * w, 0.5 - (x * x + y * y)]])  # fmt: skip

    def pose(y):
        K = mp.matrix([[0, -y[2], y[1]], [y[2], 0, -y[0]], [-y[1], y[0], 0]])
        R, V, T = mp.eye(3), mp.eye(3), mp.eye(3)
        for k in range(1, 12):
            T = T * K / k
            R, V = R + T, V + T / (k + 1)
        return R0 * R, mp.matrix(list(q[:3])) + R0 * (V * mp.matrix(list(y[3:])))

    return pose


def outward(b, x, inside):
    """The distance of a point from the surface of b, and the normal there, in the frame of b."""
    match b:
        case mz.Plane():
            return x[2], mp.matrix([0, 0, 1])
        case mz.Sphere():
            core, r = mp.matrix([0, 0, 0]), b.radius
        case mz.Cylinder():
            core, r = mp.matrix([0, 0, x[2]]), b.radius
        case mz.Capsule():
            half = mp.mpf(b.length) / 2
            core, r = mp.matrix([0, 0, min(max(x[2], -half), half)]), b.radius
        case _:
            far = mp.sqrt(x[0] ** 2 + x[1] ** 2)
            core = mp.matrix([x[0], x[1], 0]) * (mp.mpf(b.radius) / far)
            r = getattr(b, "tube", 0.0)
    d, sign = x - core, -1 if inside else 1
    return sign * (length(d) - mp.mpf(r)), sign * d / length(d)


def touching(a, b, p, s, inside):
    """(point, normal) of the contact of a, centre p and axes s, with b: the least distance."""
    if isinstance(a, mz.Ellipsoid):
        z = [mp.mpf(r) * s[2, k] for k, r in enumerate(a.radii)]
        down = mp.matrix([mp.mpf(r) * e for r, e in zip(a.radii, z, strict=True)])
        return p - s * down / length(z), mp.matrix([0, 0, 1])
    x, tube = p, mp.mpf(getattr(a, "tube", 0.0) if not isinstance(a, mz.Sphere) else a.radius)
    if not isinstance(a, mz.Sphere):
        R = mp.mpf(a.radius)
        at = lambda t: p + s * mp.matrix([R * mp.cos(t), R * mp.sin(t), 0])
        far = lambda t: outward(b, at(t), inside)[0]
        t = min((2 * mp.pi * k / 64 for k in range(64)), key=far)
        h = mp.mpf(10) ** -15
        for _ in range(12):
            up, here, down = far(t + h), far(t), far(t - h)
            t -= (up - down) / 2 * h / (up - 2 * here + down)
        x = at(t)
    n = outward(b, x, inside)[1]
    return x - n * tube, n


def accelerations(a, b, q, v, tau, inside):
    """a and Aᵀ λ of M a = f + Aᵀ λ, A a = −Ȧ v."""
    poses, frames = [body(q[:7]), body(q[7:])], []
    for twist in PLACES:
        M = mz.SE3.exp(mz.Twist.unflatten(twist)).matrix()
        frames.append((exact(M[:3, :3]), exact(M[:3, 3])))

    def placed(k, y, x):
        R, p = poses[k](y[6 * k : 6 * k + 6])
        return R, p + R * exact(x)

    def velocity(k, y, u, x):
        """Of what is at x in body k, where y moves with u."""
        ends = [poses[k]([e + h * d for e, d in zip(y, u, strict=True)][6 * k : 6 * k + 6])
                for h in (H, -H)]  # fmt: skip
        return sum((sign * (p + R * x) for sign, (R, p) in zip((1, -1), ends, strict=True)),
                   mp.zeros(3, 1)) / (2 * H)  # fmt: skip

    def rows(y, u):
        (R1, p1), (R2, p2) = (poses[k](y[6 * k : 6 * k + 6]) for k in (0, 1))
        A, B = ((R * F[0], p + R * F[1]) for (R, p), F in zip(((R1, p1), (R2, p2)), frames,
                                                              strict=True))  # fmt: skip
        c, n = touching(a, b, B[0].T * (A[1] - B[1]), B[0].T * A[0], inside)
        x = B[1] + B[0] * c
        slip = velocity(0, y, u, R1.T * (x - p1)) - velocity(1, y, u, R2.T * (x - p2))
        n = B[0] * n
        t = cross(n, mp.matrix(["0.3", "-0.5", "0.9"]))
        return [(d.T * slip)[0] for d in (n, t, cross(n, t))]

    def twists(y, u):
        """(ω, velocity of the centre of mass) of both bodies."""
        out = []
        for k in (0, 1):
            up, down = (placed(k, [e + h * d for e, d in zip(y, u, strict=True)], COM[k])
                        for h in (H, -H))  # fmt: skip
            W = (up[0] - down[0]) / (2 * H) * placed(k, y, COM[k])[0].T
            out.append((mp.matrix([W[2, 1], W[0, 2], W[1, 0]]), (up[1] - down[1]) / (2 * H)))
        return out

    still, units = [mp.mpf(0)] * 12, np.eye(12)
    J = [twists(still, [mp.mpf(e) for e in unit]) for unit in units]
    step = 1000 * H
    later, before = (twists([h * e for e in v], list(v)) for h in (step, -step))
    now = twists(still, list(v))
    M, f = mp.zeros(12), exact(tau)
    for k in (0, 1):
        R = placed(k, still, COM[k])[0]
        I = R * exact(INERTIA[k]) * R.T
        w, dw = now[k][0], (later[k][0] - before[k][0]) / (2 * step)
        dv = (later[k][1] - before[k][1]) / (2 * step)
        force = mp.mpf(MASS[k]) * (mp.matrix([0, 0, -mp.mpf(9.81)]) - dv)
        moment = -(I * dw) - cross(w, I * w)
        for i in range(12):
            f[i] += (J[i][k][0].T * moment)[0] + (J[i][k][1].T * force)[0]
            for j in range(12):
                M[i, j] += (J[i][k][0].T * I * J[j][k][0])[0]
                M[i, j] += mp.mpf(MASS[k]) * (J[i][k][1].T * J[j][k][1])[0]
    K, right = mp.zeros(15), mp.zeros(15, 1)
    K[:12, :12], right[:12, 0] = M, f
    for i, unit in enumerate(units):
        for n, x in enumerate(rows(still, [mp.mpf(e) for e in unit])):
            K[12 + n, i], K[i, 12 + n] = x, -x
    ends = [rows([h * e for e in v], list(v)) for h in (step, -step)]
    for n in range(3):
        right[12 + n] = -(ends[0][n] - ends[1][n]) / (2 * step)
    x = mp.lu_solve(K, right)
    return np.array(x[:12], dtype=float), np.array(M * x[:12, 0] - f, dtype=float)


@pytest.mark.parametrize(("a", "b", "inside"), CASES, ids=lambda x: type(x).__name__)
def test_pair(a, b, inside):
    build = mz.Builder("pair")
    for k, name in enumerate(("wheel", "ground")):
        build.add(name, None, mz.Free(), mz.Inertia(MASS[k], COM[k], INERTIA[k]))
        place = mz.SE3.exp(mz.Twist.unflatten(PLACES[k]))
        build.shape(name, (a, b)[k], place, name="ab"[k])
    model = build.build().with_rolling("contact", "a", "b", inside=inside)
    rng = np.random.default_rng(3)
    q = model.normalize(rng.normal(size=14) * np.where(np.arange(14) < 3, 0.3, 1.0))
    q = mz.assemble(model, q)
    v, tau = mz.consistent_velocities(model, q, rng.normal(size=12)), rng.normal(size=12)
    acc = mz.forward_dynamics(model, q, v, tau)
    force = mz.loop_jacobian(model, q).T @ mz.loop_forces(model, q, v, tau)
    with mp.workdps(60):
        truth = accelerations(a, b, exact(q), exact(v), tau, inside)
    assert acc == pytest.approx(truth[0].ravel(), abs=1e-12 * np.abs(truth[0]).max())
    assert force == pytest.approx(truth[1].ravel(), abs=1e-12 * np.abs(truth[1]).max())
