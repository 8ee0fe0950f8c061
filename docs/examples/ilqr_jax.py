"""Iterative LQR in JAX, thousands of problems at once: the same lines on a CPU and on a GPU."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import mozzi as mz
from mozzi.model import generate

jax.config.update("jax_enable_x64", True)
model, dt, N, B = generate.pendulum(1), 0.02, 100, 2048  # a rod that hangs at q = 0
R, goal = 0.05, jnp.array([jnp.pi, 0.0])
final = jnp.diag(jnp.array([200.0, 20.0]))
shares = jnp.array([1.0, 0.5, 0.2, 0.05])
advance = mz.stepper(model, "rkmk4", held=True, steps=1, target="jax")


def step(x, u):
    return jnp.concatenate(advance(x[:1], x[1:], 0.0, u, dt))


def cost(x, u):
    """½ (x_N − goal)ᵀ Q (x_N − goal) + ½ R Σ u²."""
    e = x[-1] - goal
    return 0.5 * e @ final @ e + 0.5 * R * jnp.sum(u**2)


def follow(x0, u, x, k, K, share):
    """The motion from x0 under u + share k + K (x_new − x)."""

    def one(y, given):
        u, x, k, K = given
        force = u + share * k + K @ (y - x)
        return step(y, force), (y, force)

    last, (new, force) = jax.lax.scan(one, x0, (u, x[:-1], k, K))
    return jnp.concatenate([new, last[None]]), force


def backward(x, u, ease):
    """The gains of the quadratic model along a motion."""
    A, Bu = jax.vmap(jax.jacfwd(step, (0, 1)))(x[:-1], u)

    def one(after, given):
        (p, V), (A, Bu, u) = after, given
        Quu, Qu, Qux = R + ease + Bu.T @ V @ Bu, R * u + Bu.T @ p, Bu.T @ V @ A
        k, K = -Qu / Quu[0], -Qux / Quu
        return (A.T @ p + Qux.T @ k, A.T @ V @ A + Qux.T @ K), (k, K)

    return jax.lax.scan(one, (final @ (x[-1] - goal), final), (A, Bu, u), reverse=True)[1]


def improve(x0, now):
    x, u, best, ease = now
    k, K = backward(x, u, ease)
    there, force = jax.vmap(partial(follow, x0, u, x, k, K))(shares)
    costs = jax.vmap(cost)(there, force)
    pick, better = jnp.nanargmin(costs), jnp.nanmin(costs) < best
    chosen = lambda new, old: jnp.where(better, new[pick], old)
    ease = jnp.clip(jnp.where(better, 0.3 * ease, 3.0 * ease), 1e-9, 1e3)
    return chosen(there, x), chosen(force, u), chosen(costs, best), ease


@partial(jax.jit, static_argnums=2)
@partial(jax.vmap, in_axes=(0, 0, None))
def ilqr(x0, u, iterations=40):
    """The motions, forces and costs of all problems; x0 (B, 2), u (B, N, 1)."""
    none = jnp.zeros((N, 1)), jnp.zeros((N, 1, 2))
    x, _ = follow(x0, u, jnp.zeros((N + 1, 2)), *none, 0.0)
    start = x, u, cost(x, u), jnp.array(1e-3)
    return jax.lax.fori_loop(0, iterations, lambda _, now: improve(x0, now), start)[:3]


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x0 = jnp.asarray(rng.uniform(-1.0, 1.0, (B, 2)))
    x, u, best = ilqr(x0, jnp.asarray(0.1 * rng.standard_normal((B, N, 1))), 30)
    reached = jnp.abs(x[:, -1] - goal).max(axis=1) < 0.2
    assert reached.mean() > 0.95, reached.mean()
    print(f"{B} swing-ups on {x.device}, {reached.mean():.1%} reach the top,",
          f"median cost {jnp.median(best):.3f}")  # fmt: skip
