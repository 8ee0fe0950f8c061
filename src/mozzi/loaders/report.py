"""What a file holds and what is odd about it."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from mozzi.errors import UnphysicalWarning
from mozzi.loaders.build import assemble
from mozzi.loaders.load import read
from mozzi.loaders.loops_file import Loops
from mozzi.loaders.source import Note
from mozzi.model import Mesh, Model

__all__ = ["Report", "inspect"]

LIMITS = ("lower", "upper", "velocity", "effort")


@dataclass(frozen=True, slots=True)
class Report:
    """A file, the model in it, and what is odd about it."""

    file: str
    format: str
    model: Model
    links: int
    joints: int
    oddities: tuple[Note, ...]

    def tree(self) -> list[tuple[int, str, str, str, int, float]]:
        """One row per body, parents first: depth, body, joint, kind of joint, nv, mass."""
        depths: list[int] = []
        rows: list[tuple[int, str, str, str, int, float]] = []
        for body in self.model:
            depth = 0 if body.parent < 0 else depths[body.parent] + 1
            depths.append(depth)
            kind = type(body.joint).__name__
            mass = float(body.inertia.m)
            rows.append((depth, body.name, body.joint_name, kind, body.joint.nv, mass))
        return rows

    def as_dict(self) -> dict[str, object]:
        """All of it as plain data in SI units, for JSON; None where there is no limit."""
        model = self.model
        return {
            "file": self.file,
            "format": self.format,
            "name": model.name,
            "links": self.links,
            "joints": self.joints,
            "nb": model.nb,
            "nq": model.nq,
            "nv": model.nv,
            "mass": float(model.mass),
            "gravity": list(model.gravity),
            "bodies": [
                {
                    "depth": depth,
                    "body": body.name,
                    "parent": _body(model, body.parent),
                    "joint": body.joint_name,
                    "kind": kind,
                    "nv": nv,
                    "mass": mass,
                    "limits": {word: _finite(getattr(body.dynamics, word)) for word in LIMITS},
                }
                for body, (depth, _, _, kind, nv, mass) in zip(model, self.tree(), strict=True)
            ],
            "frames": list(model.frames),
            "loops": [
                {
                    "name": loop.name,
                    "joint": type(loop.joint).__name__,
                    "bodies": [_body(model, loop.body_a), _body(model, loop.body_b)],
                }
                for loop in model.loops
            ],
            "distances": [
                {
                    "name": rod.name,
                    "length": rod.length,
                    "bodies": [_body(model, rod.body_a), _body(model, rod.body_b)],
                }
                for rod in model.distances
            ],
            "springs": [
                {
                    "name": spring.name,
                    "stiffness": spring.stiffness,
                    "damping": spring.damping,
                    "length": spring.length,
                    "bodies": [_body(model, spring.body_a), _body(model, spring.body_b)],
                }
                for spring in model.springs
            ],
            "couplings": [
                {"name": c.name, "terms": [list(term) for term in c.terms], "offset": c.offset}
                for c in model.couplings
            ],
            "configurations": {name: q.tolist() for name, q in model.configurations.items()},
            "actuators": [
                {"name": x.name, "joint": x.joint, "kind": x.kind, "gear": x.gear}
                for x in model.actuators
            ],
            "shapes": [
                {
                    "name": x.name,
                    "body": _body(model, x.body),
                    "geometry": type(x.geometry).__name__,
                    "role": x.role,
                }
                for x in model.shapes
            ],
            "oddities": [
                {"line": n.place.line, "file": n.place.file, "thing": n.thing, "fact": n.fact}
                for n in self.oddities
            ],
        }


def _finite(values: Sequence[float]) -> list[float | None]:
    return [x if math.isfinite(x) else None for x in values]


def _body(model: Model, index: int) -> str:
    return "world" if index < 0 else model.bodies[index]


def inspect(
    path: str | os.PathLike[str],
    base: str = "fixed",
    *,
    roots: Sequence[str | os.PathLike[str]] = (),
    loops: Loops | None = None,
    xacro: bool = False,
    strict: bool = True,
) -> Report:
    """Load a file and tell what is odd about it; unphysical inertias are oddities here, not
    errors.

    Meshes that cannot be found are oddities as well; none is opened.
    """
    found = read(path, roots=roots, loops=loops, xacro=xacro, strict=strict)
    links, joints = len(found.links), len(found.edges)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnphysicalWarning)
        model = assemble(found, base, physical=False)
    notes = found.notes
    missing: set[str] = set()
    for shape in found.shapes:
        mesh = shape.geometry
        if isinstance(mesh, Mesh) and mesh.fault and mesh.uri not in missing:
            missing.add(mesh.uri)
            thing, _, fact = mesh.fault.partition(": ")
            notes.add(shape.place, thing, fact.partition(";")[0])
    return Report(os.fspath(path), found.format, model, links, joints, tuple(notes.items))
