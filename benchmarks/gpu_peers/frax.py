"""frax, a JAX library: `jit` of `vmap`, as its documentation says, its products in float32 (JAX's
default on such a GPU is TF32). Derivatives are `jax.jacfwd` of its functions.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_peers.case import DERIVATIVES, Call, Case
from benchmarks.gpu_peers.jax_call import jax_call
from benchmarks.gpu_peers.robots import FREE

NEEDS = ("frax", "jax")
LAYOUT = "mujoco"
ROBOTS = FREE
COMPILES_AHEAD = True


@cache
def _robot(text: str, joints: tuple[str, ...], base: str | None) -> Any:
    from frax.core.robot import Robot

    path = Path(tempfile.mkdtemp()) / "robot.urdf"
    path.write_text(text)
    return Robot(str(path), joint_ordering=list(joints), floating_base=base)


def call(case: Case, batch: int) -> Call | None:
    """The function on a batch; derivatives of robots with a fixed base alone."""
    import jax
    import jax.numpy as jnp

    if case.function in DERIVATIVES and case.robot.free:
        return None
    own = case.robot
    names = own.model.joint_names[int(own.free) :]
    robot = _robot(own.urdf, names, "quaternion" if own.free else None)
    up = jnp.asarray(np.array([0, 0, 9.81, 0, 0, 0]), "float32")
    inverse = lambda q, v, a: robot.rnea(q, v, a, up, None)
    forward = lambda q, v, tau: robot.forward_dynamics(q, v, tau, None)
    functions = {
        "inverse_dynamics": inverse,
        "forward_dynamics": forward,
        "mass_matrix": robot.crba,
        "inverse_dynamics_derivatives": jax.jacfwd(inverse, (0, 1)),
        "forward_dynamics_derivatives": jax.jacfwd(forward, (0, 1)),
    }
    return jax_call(functions[case.function], case, batch)
