"""Public functions that are no programs, and why: what `compile` says of them.

A program is a fixed list of operations on scalars, for one sample; whatever asks a library of
matrices how many singular values count, iterates until numbers are small enough, or makes something
else than arrays is none.
"""

from __future__ import annotations

from types import FunctionType

__all__ = ["NO_PROGRAM", "why_no_program"]

_RANK = "it asks LAPACK for singular values, between programs"
_OBJECT = "it makes no arrays but"

#: Function → (why it is no program, what is instead).
NO_PROGRAM: dict[str, tuple[str, str]] = {
    "actuate": (f"{_OBJECT} a law of (t, q, v)", "compile that: lambda t, q, v: law(t, q, v)"),
    "allowed_deviations": (_RANK, "compile loop_jacobian"),
    "assemble": (
        "it iterates until the loops are closed, from new starts where it gets stuck, with singular"
        " values between programs",
        "compile loop_residual and loop_jacobian, which it calls",
    ),
    "base_parameters": (_RANK, "compile inverse_dynamics_regressor"),
    "casadi_function": (f"{_OBJECT} a function of CasADi", "give it the algorithm itself"),
    "closed_form": (
        f"{_OBJECT} matrices by their letters", "compile the algorithms of the same names"
    ),
    "compile": (f"{_OBJECT} a kernel", "give it the algorithm itself"),
    "consistent_accelerations": (
        "it factors the mass matrix and takes singular values by LAPACK, between programs",
        "compile loop_acceleration, or hybrid_dynamics, which keeps loops closed",
    ),
    "consistent_velocities": (
        "it factors the mass matrix and takes singular values by LAPACK, between programs",
        "compile loop_jacobian and mass_matrix, or forward_dynamics, which keeps loops closed",
    ),
    "contact_points": (f"{_OBJECT} names and rows, which no configuration changes", "call it"),
    "contact_wrenches": (
        "it sums over arrays in place, with NumPy",
        "compile contact_frames and forward_kinematics, from which it sums",
    ),
    "directional": (
        "it takes a function", "compile forward_dynamics_directional, or that of the function"
    ),
    "explain": (f"{_OBJECT} a text", "call it"),
    "grid": (f"{_OBJECT} a table of samples", "call it"),
    "inverse_kinematics": (
        "it iterates until every sample has arrived",
        "compile pose and jacobian, which it calls",
    ),
    "layout": (f"{_OBJECT} maps of names", "call it"),
    "load": ("it reads a file", "compile an algorithm on the model that it gives"),
    "loop_rows": (f"{_OBJECT} names and rows, which no configuration changes", "call it"),
    "loop_wrenches": (
        f"{_OBJECT} wrenches by the names of loops", "compile loop_forces, from which they are"
    ),
    "modes": ("it solves an eigenvalue problem by LAPACK, between programs", "compile linearize"),
    "operators": (
        f"{_OBJECT} linear operators",
        "compile mass_matrix, mass_matrix_inverse or system_jacobian, which they factor",
    ),
    "projected_forward_dynamics": (_RANK, "compile forward_dynamics, which gives the same"),
    "read_log": ("it reads a file", "call it"),
    "rollout": (
        "it takes many steps, each a kernel", "take mz.stepper, which compiles one step"
    ),
    "rollout_gradient": (
        "it takes many steps, each a kernel", "take mz.stepper, which compiles one step"
    ),
    "sensitivity": (
        "it takes a function", "compile what it gives: mz.compile(mz.sensitivity(…), model)"
    ),
    "set_checks": ("it takes no arrays", "call it"),
    "set_num_threads": ("it takes no arrays", "call it"),
    "simulate": (
        "it takes many steps, each a kernel", "take mz.stepper, which compiles one step"
    ),
    "state_space": (f"{_OBJECT} a system of python-control", "compile linearize"),
    "stepper": (f"{_OBJECT} a kernel already, of one step", "call it, with its target"),
    "system_jacobian_factors": (f"{_OBJECT} linear operators", "compile system_jacobian"),
    "sweep": ("it runs many samples through a function", "compile that function"),
}


def why_no_program(function: object) -> str | None:
    """What to say of a public function that is no program, or None."""
    name, home = getattr(function, "__name__", ""), getattr(function, "__module__", "")
    if not isinstance(function, FunctionType) or not str(home).startswith("mozzi."):
        return None
    if name in NO_PROGRAM:
        reason, instead = NO_PROGRAM[name]
        return f"compile: {name} is no program: {reason}; {instead}"
    if "model" in function.__code__.co_varnames[: function.__code__.co_argcount]:
        instead = f"compile a function of arrays: lambda q: mz.{name}(model, q)"
        return f"compile: {name} is no algorithm, and takes the model itself; {instead}"
    return None
