"""Older machines that this one can run: name → (features, bytes of a vector)."""

from __future__ import annotations

import platform
from typing import Any

from mozzi.targets.cpu import assembler
from mozzi.targets.cpu import jit as llvm_jit

_KNOWN = {"x86-64": ("", 16), "haswell": ("+avx,+avx2,+fma,+bmi,+bmi2,+lzcnt", 32)}


def _runs(features: str) -> bool:
    own = llvm_jit.host()[2].split(",")
    return all(feature in own for feature in features.split(",") if feature)


MACHINES: dict[str, tuple[str, int]] = {
    name: x
    for name, x in _KNOWN.items()
    if platform.machine().lower() in ("x86_64", "amd64") and _runs(x[0])
}


def older(machine: str, patch: Any) -> None:
    """Compile for this machine until the patch ends."""
    triple, _, _, version = llvm_jit.host()
    host = (triple, machine, MACHINES[machine][0], version)
    for place in (assembler, llvm_jit):
        patch.setattr(place, "host", lambda: host)
    patch.setattr(llvm_jit, "lanes", llvm_jit.lanes.__wrapped__)
    patch.setattr(llvm_jit, "runtime", llvm_jit.runtime.__wrapped__)
