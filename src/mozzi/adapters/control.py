# pyright: basic
# (python-control is typed in part)
"""Linear models for python-control and SciPy."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from mozzi.checked import checked
from mozzi.errors import ConfigurationError, ExtraMissingError, known
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.simulation.derivatives.linearize import linearize
from mozzi.types import ArrayLike, Method

__all__ = ["state_space"]


@checked
def state_space(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    dt: float | None = None,
    method: Method | None = None,
    actuated: Sequence[str] | None = None,
    resistance: bool = True,
    library: Literal["control", "scipy"] = "control",
) -> Any:
    """The linear model of `linearize` as an object of python-control or SciPy.

    States are deviations (δ, δv) by the names of the velocities, inputs are joint forces, outputs
    all states.

    Cost: one call of `linearize`.

    Args:
        model: the mechanism.
        q (nq): where it is linearized.
        v (nv), optional: with which velocities; at rest, unless told.
        tau (nv), optional: with which joint forces; none, unless told.
        dt: a step in seconds, for the discrete system of one step of `method`; None: continuous.
        method: the integrator of that step.
        actuated: names of the joints whose forces are inputs; all, unless told.
        resistance: as in `linearize`.
        library: "control" for a `control.StateSpace`, "scipy" for a `scipy.signal.StateSpace`.

    Returns:
        The system; with python-control its states, inputs and outputs have names, in which dots
        are underscores: ``tau_root_joint_wx``.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> system = mz.state_space(arm, arm.neutral(), actuated=["joint_1"])
        >>> system.nstates, system.ninputs
        (6, 1)
    """
    as_model(model, "state_space")
    n = model.nv
    v = np.zeros(n) if v is None else v
    tau = np.zeros(n) if tau is None else tau
    A, B = linearize(model, q, v, tau, dt=dt, method=method, resistance=resistance)
    if A.ndim != 2:
        raise ConfigurationError("state_space: one state at a time; give q without batch axes")
    names = [x.replace(".", "_") for x in model.v_names]  # python-control has no dots in names
    columns = list(range(n))
    if actuated is not None:
        for joint in actuated:
            if joint not in model.v_slices:
                raise ConfigurationError(
                    f"state_space: no joint {joint!r} in {model.name!r}; there are "
                    f"{known(joint, model.joint_names)}"
                )
        columns = [k for joint in actuated for k in range(n)[model.v_slices[joint]]]
    B = B[:, columns]
    C, D = np.eye(2 * n), np.zeros((2 * n, len(columns)))
    if library == "scipy":
        signal = _imported("scipy.signal", "SciPy")
        return signal.StateSpace(A, B, C, D, **({} if dt is None else {"dt": dt}))
    if library != "control":
        raise ConfigurationError(f"state_space: no library {library!r}; give 'control' or 'scipy'")
    control = _imported("control", "python-control")
    states = [f"d_{x}" for x in names] + [f"v_{x}" for x in names]
    labels = {"states": states, "inputs": [f"tau_{names[k]}" for k in columns]}
    return control.ss(A, B, C, D, 0 if dt is None else dt, outputs=[f"y_{x}" for x in states],
                      name=model.name.replace(".", "_"), **labels)  # fmt: skip


def _imported(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ExtraMissingError(
            f"state_space needs {name}; install it with: pip install 'mozzi[control]'"
        ) from None
