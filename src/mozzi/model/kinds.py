"""What the entries of q and v are: lengths, angles, quaternions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from mozzi.model.model import Model

__all__ = ["Kind", "kinds"]

Kind: TypeAlias = Literal["length", "angle", "quaternion"]
LENGTHS = ("x", "y", "z", "vx", "vy", "vz")


def kinds(model: Model) -> tuple[list[Kind], list[Kind]]:
    """What every entry of q and of v is: "length", "angle" or "quaternion"."""
    q_kinds: list[Kind] = []
    v_kinds: list[Kind] = []
    for body in model:
        joint = body.joint
        own: list[Kind] = [_kind(name) for name in joint.q_names]
        for k in joint.quaternions:
            own[k : k + 4] = _FOUR
        q_kinds.extend(own)
        v_kinds.extend(_kind(name) for name in joint.v_names)
    return q_kinds, v_kinds


_FOUR: list[Kind] = ["quaternion", "quaternion", "quaternion", "quaternion"]


def _kind(name: str) -> Kind:
    return "length" if name.rpartition(".")[2] in LENGTHS else "angle"
