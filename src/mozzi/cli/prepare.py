"""The model that a command simulates or shows: a robot with joints held, on the ground; made once
more from what a trajectory file says about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mozzi.cli.console import escape, put
from mozzi.cli.robot import open_robot
from mozzi.errors import ConfigurationError

if TYPE_CHECKING:
    from mozzi.model import Model
    from mozzi.model.shapes import Shape
    from mozzi.simulation.trajectories.trajectory import Origin
    from mozzi.types import Array

__all__ = ["again", "held", "lifted", "touching"]

NEAR = 0.999
"""Of the shapes of the last body of a limb, and of the base, those touch the ground that reach this
far, compared with the one that reaches farthest: feet, not shins.
"""


def again(origin: Origin) -> Model:
    """The model of a trajectory file."""
    roots = [Path(x) for x in origin["roots"]]
    model = open_robot(Path(origin["file"]), origin["base"], roots, origin.get("contacts", False))
    model = held(model, origin["locked"])
    if origin["ground"]:
        model = model.with_ground(origin["touch"], friction=origin["friction"])
    return model


def held(model: Model, locked: dict[str, list[float]]) -> Model:
    """With joints held where they are said to be."""
    if not locked:
        return model
    q = model.neutral()
    for joint, where in locked.items():
        q[model.q_slices[joint]] = where
    return model.lock(list(locked), q)


def touching(model: Model, names: str | None) -> list[str] | None:
    """The shapes that --touch means; None is all. Told where it leaves shapes out."""
    if names is not None:
        return None if names == "all" else [name.strip() for name in names.split(",")]
    inner = {body.parent for body in model}
    shapes = [shape for shape in model.shapes if shape.collision and shape.body >= 0]
    ends = [k for k in range(model.nb) if k not in inner or model.parents[k] < 0]
    own = ([shape for shape in shapes if shape.body == k] for k in ends)
    last = [name for some in own for name in _farthest(model, some)]
    if 0 < len(last) < len(shapes):
        put(f"[yellow]note:[/] {len(last)} of {len(shapes)} collision shapes touch the ground: "
            f"{escape(', '.join(last))}; --touch all for all")  # fmt: skip
    return last or None


def _farthest(model: Model, shapes: Sequence[Shape]) -> list[str]:
    """Those of the shapes of a body that reach farthest from its joint."""
    if len(shapes) < 2:
        return [shape.name for shape in shapes]
    reach = [_reach(model, shape) for shape in shapes]
    return [shape.name for shape, r in zip(shapes, reach, strict=True) if r >= NEAR * max(reach)]


def _reach(model: Model, shape: Shape) -> float:
    """How far a shape reaches from the joint of its body."""
    import numpy as np

    from mozzi.model.constraints.contact import extremal_points
    from mozzi.model.shapes import Mesh
    from mozzi.viz.drawing.shapes import triangles

    geometry = shape.geometry
    points = extremal_points(shape) if isinstance(geometry, Mesh) else triangles(geometry)[0]
    T = np.array(shape.placement.matrix(), dtype=float)
    joint = np.array(model.body(shape.body).joint.frame_child.p.flatten(), dtype=float)
    away = np.asarray(points, dtype=float) @ T[:3, :3].T + T[:3, 3] - joint
    return float(np.linalg.norm(away, axis=1).max())


def lifted(model: Model, q: Array | list[float]) -> Array | list[float]:
    """With a free base that is in the ground put on it, and told."""
    import numpy as np

    from mozzi.algorithms.contact.gaps import contact_gaps

    deep = -float(contact_gaps(model, np.asarray(q, dtype=float)).min())
    if deep <= 0.0:
        return q
    name = model.joint_names[0]
    if type(model.body(0).joint).__name__ != "Free":
        raise ConfigurationError(
            f"--ground: {model.name!r} starts {deep:.3g} m deep in the ground and its base is "
            "fixed; take --base free, or another --q0"
        )
    put(f"[yellow]note:[/] {escape(name)} is lifted by {deep:.3g} m out of the ground")
    out = np.array(q, dtype=float)
    out[model.q_slices[name].start + model.body(0).joint.q_names.index("z")] += deep
    return out
