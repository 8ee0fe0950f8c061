"""What is integrated: a mechanism with the forces that act on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mozzi.algorithms.forward_dynamics import forward_dynamics

__all__ = ["Law", "System"]

Law = Callable[[Any, Any, Any], Any]
"""Joint forces τ(t, q, v)."""


@dataclass
class System:
    """v̇ = a(t, q, v) of a model, while tracing.

    ``law`` is traced along; ``tau`` and ``wrenches`` hold what the kernel got as inputs. Springs,
    damping and friction of the joints act where ``resistance`` says so.
    """

    model: Any
    law: Law | None = None
    resistance: bool = False
    tau: Any = field(default=None, repr=False)
    wrenches: Any = field(default=None, repr=False)

    def force(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The joint forces that are applied."""
        tau = np.full(self.model.nv, 0.0, dtype=object)
        if self.tau is not None:
            tau = tau + self.tau
        if self.law is not None:
            tau = tau + as_forces(self.law(t, q, v), self.model)
        return tau

    def acceleration(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """v̇."""
        given = {} if self.wrenches is None else {"wrenches": self.wrenches}
        tau = self.force(t, q, v)
        return forward_dynamics(self.model, q, v, tau, resistance=self.resistance, **given)


def as_forces(value: Any, model: Any) -> np.ndarray:
    """What a torque law returned, if it is nv numbers."""
    from mozzi.errors import ConfigurationError

    tau = np.asarray(value, dtype=object)
    if tau.shape != (model.nv,):
        raise ConfigurationError(
            f"torque: the law returned shape {tau.shape}; return nv = {model.nv} joint forces"
        )
    return tau
