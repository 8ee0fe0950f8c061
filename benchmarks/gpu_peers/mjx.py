"""MJX, MuJoCo on JAX: `jit` of `vmap`, contacts and constraints off, its products in float32.

Forward dynamics is `mjx.forward` with the torques as applied forces, inverse dynamics is
`mjx.inverse`; XLA leaves out what does not reach the result. The mass matrix is `crb` and `full_m`
after `kinematics` and `com_pos`.
"""

from __future__ import annotations

from typing import Any

from benchmarks.gpu_peers.case import DERIVATIVES, Call, Case
from benchmarks.gpu_peers.jax_call import jax_call
from benchmarks.gpu_peers.robots import FREE

NEEDS = ("mujoco", "mujoco.mjx", "jax")
LAYOUT = "mujoco"
ROBOTS = FREE
COMPILES_AHEAD = True


def model_of(text: str) -> Any:
    """Without contacts and constraints, of which there are none."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_CONTACT) | int(off.mjDSBL_CONSTRAINT)
    return model


def call(case: Case, batch: int) -> Call | None:
    """The function on a batch; derivatives of robots with a fixed base alone."""
    import jax
    from mujoco import mjx
    from mujoco.mjx._src import smooth

    if case.function in DERIVATIVES and case.robot.free:
        return None
    here = model_of(case.robot.mjcf)
    model, data = mjx.put_model(here), mjx.make_data(here)

    def inverse(q: Any, v: Any, a: Any) -> Any:
        return mjx.inverse(model, data.replace(qpos=q, qvel=v, qacc=a)).qfrc_inverse

    def forward(q: Any, v: Any, tau: Any) -> Any:
        return mjx.forward(model, data.replace(qpos=q, qvel=v, qfrc_applied=tau)).qacc

    def mass(q: Any) -> Any:
        now = smooth.com_pos(model, smooth.kinematics(model, data.replace(qpos=q)))
        return mjx.full_m(model, smooth.crb(model, now))

    functions = {
        "inverse_dynamics": inverse,
        "forward_dynamics": forward,
        "mass_matrix": mass,
        "inverse_dynamics_derivatives": jax.jacfwd(inverse, (0, 1)),
        "forward_dynamics_derivatives": jax.jacfwd(forward, (0, 1)),
    }
    return jax_call(functions[case.function], case, batch)
