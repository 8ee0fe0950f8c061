# pyright: reportPrivateUsage=false
"""Changed copies of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from mozzi.errors import ModelError
from mozzi.lie import SE3
from mozzi.model.body import Body, JointData, JointDynamics
from mozzi.model.constraints.loop import Coupling, Distance, Loop, Spring
from mozzi.model.frames import InertiaLike, as_inertia, as_vector
from mozzi.model.joints.axes import Fixed

if TYPE_CHECKING:
    from mozzi.model.builder import Builder
    from mozzi.model.constraints.contact import Contact
    from mozzi.model.constraints.rolling import Rolling
    from mozzi.model.model import Model

__all__ = [
    "builder", "contacts_without", "lock", "loop_alone", "loop_bodies", "rollings_without",
    "with_dynamics", "with_inertia", "without_body",
]  # fmt: skip

Between = TypeVar("Between", Loop, Distance, Spring)


def builder(model: Model) -> Builder:
    """A builder that holds all of a model, to add to it."""
    from mozzi.model.builder import Builder

    return Builder.of(model)


def without_body(model: Model, name: str) -> Model:
    """The model without a body, what hangs on it, and what refers to it."""
    gone = set(model.subtree(name))
    kept = [i for i in range(model.nb) if i not in gone]
    new = {old: k for k, old in enumerate(kept)} | {-1: -1}
    joints = {model.joint_names[i] for i in gone}
    bodies = [replace(model.body(i), parent=new[model.parents[i]]) for i in kept]
    frames = [(n, new[b], T) for n, b, T in model._frames if b not in gone]

    def ends(parts: Iterable[Between]) -> list[Between]:
        left = [part for part in parts if not {part.body_a, part.body_b} & gone]
        return [replace(x, body_a=new[x.body_a], body_b=new[x.body_b]) for x in left]

    states = [
        replace(x, joints=tuple(own for own in x.joints if own[0] not in joints))
        for x in model._configurations
    ]
    return model._replace(
        _bodies=bodies,
        _frames=frames,
        actuators=[x for x in model.actuators if x.joint not in joints],
        _configurations=states,
        loops=ends(model.loops),
        distances=ends(model.distances),
        springs=ends(model.springs),
        shapes=[x.on(new[x.body], x.placement) for x in model.shapes if x.body not in gone],
        couplings=[c for c in model.couplings if not joints & set(c.joints)],
        contacts=contacts_without(model, {x.name for x in model.shapes if x.body in gone}),
        rollings=rollings_without(model, {x.name for x in model.shapes if x.body in gone}),
    )


def loop_bodies(model: Model, loop: Loop) -> list[int]:
    """The bodies between the ends of a loop, on the nearest body that carries both."""
    paths: list[set[int]] = []
    for body in (loop.body_a, loop.body_b):
        paths.append(set())
        while body >= 0:
            paths[-1].add(body)
            body = model.parents[body]
    return sorted(paths[0] ^ paths[1])


def loop_alone(model: Model, loop: Loop) -> Model:
    """One loop by itself: its bodies on one that carries both ends, whose frame is that of the
    first joint. Loops that are alike are equal, but for rounding.
    """
    kept = loop_bodies(model, loop)
    new = {old: k for k, old in enumerate(kept)}
    back = model.body(kept[0]).joint.frame_parent.inverse() if kept else SE3.identity()

    def placed(i: int) -> Body:
        body = model.body(i)
        if body.parent in new:
            return replace(body, name=f"{new[i]}", parent=new[body.parent])
        joint = body.joint.with_frames(back @ body.joint.frame_parent, body.joint.frame_child)
        return replace(body, name=f"{new[i]}", parent=-1, joint=joint)

    def end(body: int, at: SE3) -> tuple[int, SE3]:
        return (new[body], at) if body in new else (-1, back @ at)

    bodies = tuple(replace(placed(i), joint_name=f"{new[i]}") for i in kept)
    (a, P_a), (b, P_b) = end(loop.body_a, loop.placement_a), end(loop.body_b, loop.placement_b)
    only = Loop("loop", a, b, loop.joint, P_a, P_b)
    return type(model)("loop", bodies, loops=(only,))


def contacts_without(model: Model, shapes: set[str]) -> list[Contact]:
    """The contacts of a model that have none of these shapes."""
    return [x for x in model.contacts if not {x.shape_a, x.shape_b} & shapes]


def rollings_without(model: Model, shapes: set[str]) -> list[Rolling]:
    """The rolling contacts of a model that have none of these shapes."""
    return [x for x in model.rollings if not {x.shape_a, x.shape_b} & shapes]


def with_inertia(model: Model, body: str | int, inertia: InertiaLike) -> Model:
    """The model with another inertia of one body."""
    i = model.index(body)
    bodies = list(model)
    bodies[i] = replace(bodies[i], inertia=as_inertia(inertia, f"body {bodies[i].name!r}: inertia"))
    return model._replace(_bodies=bodies)


def with_dynamics(model: Model, joint: str, **data: JointData) -> Model:
    """The model with other limits, damping, ... of one joint; what is not named stays."""
    i = model.joint_index(joint)
    bodies = list(model)
    old = bodies[i].dynamics
    stays = {name: getattr(old, name) for name in JointDynamics.__dataclass_fields__}
    if data.get("limits") is not None:
        stays["lower"] = stays["upper"] = None  # type: ignore
    dynamics = JointDynamics.of(bodies[i].joint, f"joint {joint!r}", **(stays | data))
    bodies[i] = replace(bodies[i], dynamics=dynamics)
    return model._replace(_bodies=bodies)


def lock(
    model: Model, joints: list[str], q: ArrayLike | Mapping[str, ArrayLike] | None = None
) -> Model:
    """The model with joints held at q."""
    locked: dict[str, tuple[float, ...]] = {}
    by_name = q if isinstance(q, Mapping) else None
    given = q is not None and by_name is None
    whole = model.check_configuration(cast("ArrayLike", q)) if given else None
    if whole is not None and whole.ndim != 1:
        raise ModelError(
            f"lock: q has shape {whole.shape}; give one configuration of {model.nq} numbers"
        )
    for name in joints:
        joint = model.joint(name)
        if whole is not None:
            locked[name] = tuple(float(x) for x in whole[model.q_slices[name]])
        elif by_name is None:
            locked[name] = joint.neutral()
        elif name in by_name:
            x = np.atleast_1d(np.asarray(by_name[name], dtype=float))
            locked[name] = as_vector(x, joint.nq, f"lock: joint {name!r}")
        else:
            raise ModelError(f"lock: no coordinates for joint {name!r}; give them in q")

    changed = builder(model)
    for name, x in locked.items():
        body = model.body(model.joint_index(name))
        joint = body.joint
        held = Fixed().with_frames(
            joint.frame_parent @ joint.pose(joint.normalize(x)), joint.frame_child
        )
        changed.replace_joint(body.name, held)
    changed.replace_couplings([c for c in (_held(c, locked) for c in model.couplings) if c])
    return changed.build(physical=False)


def _held(coupling: Coupling, locked: dict[str, tuple[float, ...]]) -> Coupling | None:
    """What is left of a coupling when some of its joints are locked; None if nothing is."""
    terms = tuple(term for term in coupling.terms if term[0] not in locked)
    offset = coupling.offset
    for joint, k, c in coupling.terms:
        if joint in locked:
            offset -= c * locked[joint][k]
    if terms:
        return replace(coupling, terms=terms, offset=offset)
    if abs(offset) > 1e-9:
        raise ModelError(
            f"coupling {coupling.name!r}: locked open by {offset:.2e}; "
            "lock its joints at coordinates that satisfy it"
        )
    return None
