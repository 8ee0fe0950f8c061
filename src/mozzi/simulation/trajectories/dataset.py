"""Trajectories as xarray's datasets: axes with names, numbers with units."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mozzi.errors import ExtraMissingError
from mozzi.model.kinds import kinds
from mozzi.types import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from mozzi.simulation.trajectories.trajectory import Trajectory

__all__ = ["UNITS", "to_xarray"]

Variable: TypeAlias = tuple[tuple[str, ...], Array, dict[str, str]]

UNITS = {
    "q": {"length": "m", "angle": "rad", "quaternion": "1"},
    "v": {"length": "m/s", "angle": "rad/s"},
    "a": {"length": "m/s²", "angle": "rad/s²"},
    "tau": {"length": "N", "angle": "N m"},
}
WORDS = {
    "q": "coordinates", "v": "velocities", "a": "accelerations", "tau": "joint forces",
    "kinetic": "kinetic energy", "potential": "potential energy",
    "momentum": "angular and linear momentum about the inertial origin",
}  # fmt: skip
MOMENTUM = ("mx", "my", "mz", "px", "py", "pz")


def to_xarray(x: Trajectory) -> Dataset:
    """A dataset with everything that is known of a trajectory."""
    try:
        from xarray import Dataset
    except ImportError:
        raise ExtraMissingError(
            "to_xarray needs xarray; install it with: pip install 'mozzi[xarray]'"
        ) from None
    batch = tuple(f"sample{k}" if len(x.batch) > 1 else "sample" for k in range(len(x.batch)))
    axes = (*batch, "time")
    derived = x.derived()
    variables: dict[str, Variable] = {}
    found = {"q": x.q, "v": x.v, "a": derived.get("a"), "tau": x.joint_forces()}
    for name, array in found.items():
        if array is not None:
            last = "coordinate" if name == "q" else "velocity"
            variables[name] = (*axes, last), array, _words(name)
    for name in ("kinetic", "potential"):
        if name in derived:
            variables[name] = axes, derived[name], _words(name) | {"units": "J"}
    if "momentum" in derived:
        variables["momentum"] = (*axes, "component"), derived["momentum"], _words("momentum")
    if "contact_forces" in derived and derived["contact_forces"].shape[-2]:
        text = {"long_name": "contact forces on bodies a, in world axes", "units": "N"}
        forces = derived["contact_forces"]
        variables["contact_forces"] = (*axes, "contact", "xyz"), forces, text
    for name, array in x.law_state.items():
        own = tuple(f"law_{name}_{k}" for k in range(array.ndim - len(axes)))
        variables[f"law_{name}"] = (*axes, *own), array, {"long_name": f"state {name} of the law"}
    coordinates: dict[str, object] = {
        "time": ("time", x.t, {"units": "s", "long_name": "time"}),
    }
    for name, numbers in x.parameters.items():
        coordinates[name] = (batch, numbers, {"long_name": f"parameter {name} of the model"})
    if "momentum" in variables:
        coordinates["component"] = list(MOMENTUM)
        units = ["N m s"] * 3 + ["N s"] * 3
        coordinates["momentum_unit"] = ("component", units)
    if "contact_forces" in variables:
        coordinates["xyz"] = ["x", "y", "z"]
    if x.model is not None:
        q_kinds, v_kinds = kinds(x.model)
        coordinates["coordinate"] = list(x.model.q_names)
        coordinates["velocity"] = list(x.model.v_names)
        for name in ("q", "v", "a", "tau"):
            if name in variables:
                axis = variables[name][0][-1]
                own = q_kinds if name == "q" else v_kinds
                coordinates[f"{name}_unit"] = (axis, [UNITS[name][kind] for kind in own])
    words = {"model": "" if x.model is None else x.model.name, "method": x.method}
    return Dataset(variables, coordinates, {k: word for k, word in words.items() if word})


def _words(name: str) -> dict[str, str]:
    return {"long_name": WORDS[name]}
