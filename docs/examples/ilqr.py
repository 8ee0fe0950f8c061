"""Iterative LQR, a thousand problems at once: forty lines on steps and their derivatives."""

import numpy as np

import mozzi as mz
from mozzi.model import generate

model, dt, N, B = generate.pendulum(1), 0.02, 100, 1000  # a rod that hangs at q = 0
R, goal = 0.05, np.array([np.pi, 0.0])
final = np.diag([200.0, 20.0])
step = mz.stepper(model, "rkmk4", held=True)


def cost(x, u):
    """½ (x_N − goal)ᵀ Q (x_N − goal) + ½ R Σ u²."""
    e = x[-1] - goal
    return 0.5 * np.einsum("bi,ij,bj->b", e, final, e) + 0.5 * R * np.sum(u**2, axis=(0, 2))


def follow(x0, u, feedback=None):
    """The motion from x0 under u; with feedback (x, k, K, share) u + share k + K (x_new − x)."""
    new, force = [x0], []
    for n in range(N):
        f = u[n]
        if feedback is not None:
            x, k, K, share = feedback
            f = f + share[:, None] * k[n] + np.einsum("bij,bj->bi", K[n], new[n] - x[n])
        q, v = step(new[n][:, :1], new[n][:, 1:], 0.0, f, dt, 1.0)
        new.append(np.concatenate([q, v], axis=1))
        force.append(f)
    return np.array(new), np.array(force)


def ilqr(x0, u, iterations=25):
    x, u = follow(x0, u)
    best = cost(x, u)
    ease = np.full(len(x0), 1e-3)
    for _ in range(iterations):
        A, Bu = mz.linearize(model, x[:-1, :, :1], x[:-1, :, 1:], u, dt=dt, method="rkmk4")
        V, p = np.broadcast_to(final, (len(x0), 2, 2)), np.einsum("ij,bj->bi", final, x[-1] - goal)
        k, K = np.empty_like(u), np.empty((N, len(x0), 1, 2))
        for n in reversed(range(N)):
            At, Bt = A[n].transpose(0, 2, 1), Bu[n].transpose(0, 2, 1)
            Quu = R + ease[:, None, None] + Bt @ V @ Bu[n]
            Qu, Qux = R * u[n] + np.einsum("bij,bj->bi", Bt, p), Bt @ V @ A[n]
            k[n], K[n] = -Qu / Quu[:, 0], -Qux / Quu
            p = np.einsum("bij,bj->bi", At, p) + np.einsum("bij,bi->bj", Qux, k[n])
            V = At @ V @ A[n] + Qux.transpose(0, 2, 1) @ K[n]
        for share in (1.0, 0.5, 0.2, 0.05):  # every problem takes the longest step that pays
            there, force = follow(x0, u, (x, k, K, np.full(len(x0), share)))
            better = cost(there, force) < best
            x, u = np.where(better[:, None], there, x), np.where(better[:, None], force, u)
            best = np.where(better, cost(there, force), best)
            ease = np.where(better, 0.3 * ease, ease)
        ease = np.minimum(3.0 * ease + 1e-9, 1e3)
    return x, u, best


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x0 = np.stack([rng.uniform(-1.0, 1.0, B), rng.uniform(-1.0, 1.0, B)], axis=1)
    x, u, best = ilqr(x0, 0.1 * rng.standard_normal((N, B, 1)))
    reached = np.abs(x[-1] - goal).max(axis=1) < 0.2
    assert reached.mean() > 0.95, reached.mean()
    print(f"{B} swing-ups, {reached.mean():.1%} reach the top, median cost {np.median(best):.3f}")
