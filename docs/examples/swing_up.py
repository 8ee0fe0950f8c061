"""Swing a pole up with the least force: an optimal control problem posed on mozzi, solved by IPOPT.

The cart and pole of Kelly, An Introduction to Trajectory Optimization, SIAM Review 59 (2017),
section 6: from hanging at rest to upright 1 m away in 2 s, |u| ≤ 20 N, ∫ u² dt least, trapezoidal
collocation. The same problem on the paper's own equations of motion has the same optimum.
"""

import casadi as ca
import numpy as np

import mozzi as mz
from mozzi.model import generate

m1, m2, length, g, T, N = 1.0, 0.3, 0.5, 9.81, 2.0, 60
cart = generate.cart_pole(m1, m2, length)
accelerate = mz.casadi_function(
    lambda q, v, u: mz.forward_dynamics(cart, q, v, mz.array([u[0], 0.0])), cart, inputs={"u": (1,)}
)


def of_the_paper(q, v, u):
    """(6.1) and (6.2), whose angle is π − ours: 0 hangs."""
    th, w = np.pi - q[1], -v[1]
    s, c = ca.sin(th), ca.cos(th)
    down = m1 + m2 * (1 - c**2)
    x = (length * m2 * s * w**2 + u + m2 * g * c * s) / down
    turn = -(length * m2 * c * s * w**2 + u * c + (m1 + m2) * g * s) / (length * down)
    return ca.vertcat(x, -turn)


def solve(acceleration):
    """The least ∫ u² dt, and the motion."""
    problem = ca.Opti()
    q, v, u = problem.variable(2, N + 1), problem.variable(2, N + 1), problem.variable(1, N + 1)
    h = T / N
    a = [acceleration(q[:, k], v[:, k], u[:, k]) for k in range(N + 1)]
    for k in range(N):
        problem.subject_to(q[:, k + 1] - q[:, k] == 0.5 * h * (v[:, k] + v[:, k + 1]))
        problem.subject_to(v[:, k + 1] - v[:, k] == 0.5 * h * (a[k] + a[k + 1]))
    problem.subject_to(q[:, 0] == [0.0, np.pi])  # hangs; the pole of this model is upright at 0
    problem.subject_to(q[:, N] == [1.0, 0.0])
    problem.subject_to(v[:, 0] == 0)
    problem.subject_to(v[:, N] == 0)
    problem.subject_to(problem.bounded(-20.0, u, 20.0))
    problem.subject_to(problem.bounded(-2.0, q[0, :], 2.0))
    squares = u**2
    problem.minimize(h * (ca.sum2(squares) - 0.5 * (squares[0] + squares[N])))
    problem.set_initial(q, np.linspace([0.0, np.pi], [1.0, 0.0], N + 1).T)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    found = problem.solve()
    return found.value(problem.f), found.value(q), found.value(u)


best, q, u = solve(accelerate)
paper, q_paper, _ = solve(of_the_paper)
assert abs(best - paper) < 1e-6 * paper and np.abs(q - q_paper).max() < 1e-5
print(f"∫ u² dt = {best:.4f} N² s on mozzi, {paper:.4f} on the paper's equations")
