# pyright: reportConstantRedefinition=false, reportPrivateUsage=false
"""Named parameters of a model: the numbers of it that may vary, and models in which they do.

`vary` gives a model whose named numbers are scalars of any kind, traced ones among them: what is
traced on it is a program of these numbers. `Model.nominal` is the model that it came from.

Geometric parameters are those of `model.geometric`, applied in the order they are named in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from mozzi.errors import ConfigurationError, ModelError, UnphysicalWarning, known, nearest, warn
from mozzi.lie import Inertia, Vec3
from mozzi.model.body import Body
from mozzi.model.constraints.contact import Contact
from mozzi.model.constraints.loop import Coupling, Distance, Spring
from mozzi.model.parameters.geometric import (
    ENDS,
    PLACEMENT,
    SCREWS,
    has,
    moved_joint,
    moved_loop,
    pitch_of,
    split,
)  # fmt: skip
from mozzi.model.parameters.physical import unphysical_numbers
from mozzi.program.scalar import Real
from mozzi.types import Array, ArrayLike

if TYPE_CHECKING:
    from mozzi.model.model import Model

__all__ = [
    "Place", "check_numbers", "geometric", "nominal_numbers", "place_of", "refused", "vary",
]  # fmt: skip

Part = TypeVar("Part", Spring, Distance, Coupling, Contact)

INERTIAL = ("mass", "hx", "hy", "hz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")
CENTRE = ("com.x", "com.y", "com.z")
IN_JOINTS = ("damping", "friction", "armature", "stiffness")
GRAVITY = ("gravity.x", "gravity.y", "gravity.z")

#: What each kind of thing has.
FAMILIES: dict[str, tuple[str, ...]] = {
    "body": (*INERTIAL, *CENTRE, "density"),
    "joint": (*SCREWS, "pitch", *PLACEMENT, *IN_JOINTS),
    "spring": ("stiffness", "damping", "length"),
    "distance": ("length",),
    "coupling": ("offset",),
    "contact": ("friction", "restitution", "stiffness", "damping"),
    "loop": ("pitch", *(f"{end}.{x}" for end in ENDS for x in SCREWS)),
}
POSITIVE = ("mass", "density")
NOT_NEGATIVE = (*IN_JOINTS, "length", "restitution")


@dataclass(frozen=True)
class Place:
    """Whose number a parameter is: the kind of thing, its index, which number, and of which degree
    of freedom (None: of all).
    """

    family: str
    index: int
    what: str
    dof: int | None = None


def place_of(model: Model, name: str) -> Place:
    """Where a named parameter is."""
    if name in GRAVITY:
        return Place("model", 0, name)
    owners = _owners(model)
    inside = _geometric_place(model, name, owners)
    if inside is not None:
        return inside
    for tail in (2, 1):  # words behind the owner, whose name may have dots
        owner, *words = name.rsplit(".", tail)
        what = ".".join(words)
        there = [f for f, own in FAMILIES.items() if what in own and owner in owners[f]]
        if len(there) > 1:
            raise ModelError(
                f"parameter {name!r}: {' and '.join(there)} are both called {owner!r}; give one of "
                "them another name"
            )
        if there:
            index = owners[there[0]].index(owner)
            _check_pitch(model, name, there[0], index, what)
            return Place(there[0], index, what)
    for what in IN_JOINTS:  # of one degree of freedom, whose name may have dots as well
        owner, _, dof = name.rpartition(f".{what}.")
        if owner in owners["joint"]:
            index = owners["joint"].index(owner)
            return Place("joint", index, what, _dof(model, name, index, dof))
    raise _unknown(name, owners)


def _geometric_place(
    model: Model, name: str, owners: Mapping[str, tuple[str, ...]]
) -> Place | None:
    """Where a screw that is written out is, or a parameter of a factor of a joint."""
    head, word = split(name) or name.rpartition(".")[::2]
    if head in owners["joint"] and word.startswith("screw("):
        index = owners["joint"].index(head)
        return Place("joint", index, word) if has(model.body(index).joint, word) else None
    owner, _, part = head.rpartition(".")
    factor, what = owner, f"{part}.{word}"
    while what.partition(".")[0].isdigit():  # a factor of a product, or a factor of that
        if factor in owners["joint"]:
            index = owners["joint"].index(factor)
            if has(model.body(index).joint, what):
                return Place("joint", index, what)
        factor, _, number = factor.rpartition(".")
        what = f"{number}.{what}"
    if owner in owners["loop"] and part in ENDS and word.startswith("screw("):
        return Place("loop", owners["loop"].index(owner), f"{part}.{word}")
    return None


def _check_pitch(model: Model, name: str, family: str, index: int, what: str) -> None:
    if what != "pitch":
        return
    joint = model.loops[index].joint if family == "loop" else model.body(index).joint
    if pitch_of(joint, what) is None:
        raise ModelError(
            f"parameter {name!r}: a {type(joint).__name__} has no pitch; Screw and PlanarScrew do"
        )


def _owners(model: Model) -> dict[str, tuple[str, ...]]:
    parts = (model.springs, model.distances, model.couplings, model.contacts, model.loops)
    names = [model.bodies, model.joint_names, *(tuple(x.name for x in part) for part in parts)]
    return dict(zip(FAMILIES, names, strict=True))


def _dof(model: Model, name: str, index: int, dof: str) -> int:
    names = model.body(index).joint.v_names
    if dof in names:
        return names.index(dof)
    raise ModelError(f"parameter {name!r}: its joint has no {dof!r}; it has {known(dof, names)}")


def _unknown(name: str, owners: Mapping[str, tuple[str, ...]]) -> ModelError:
    for tail in (2, 1):
        words = name.rsplit(".", tail)
        owner, what = words[0], ".".join(words[1:])
        families = [f for f, own in FAMILIES.items() if what in own]
        if families:
            there = [own for f in families for own in owners[f]]
            first = f"no {' or '.join(families)} {owner!r}; there are {_some(owner, there)}"
            return ModelError(f"parameter {name!r}: {first}")
    every = [f"{own}.{w}" for f, words in FAMILIES.items() for own in owners[f] for w in words]
    meant = nearest(name, every)[:1]
    hint = f"; did you mean {meant[0]!r}?" if meant else ""
    lists = " or ".join(f"{f}.{{{', '.join(FAMILIES[f])}}}" for f in ("body", "joint"))
    return ModelError(f"parameter {name!r}: name it {lists}, or gravity.{{x, y, z}}{hint}")


def _some(word: str, words: Iterable[str]) -> str:
    return ", ".join(map(repr, nearest(word, words)[:8])) or "none"


def geometric(model: Model, names: Iterable[str]) -> bool:
    """Whether some of these parameters change where bodies are."""
    places = [place_of(model, name) for name in names]
    moved = any(x.family == "joint" and x.what not in IN_JOINTS for x in places)
    return moved or any(x.family in ("distance", "coupling", "loop") for x in places)


# -- the numbers of a model --


def nominal_numbers(model: Model, names: Iterable[str]) -> Array:
    """The numbers that a model has for its named parameters."""
    return np.array([_nominal(model, name) for name in names], dtype=float)


def _nominal(model: Model, name: str) -> float:
    x = place_of(model, name)
    if x.family == "model":
        return float(model.gravity[GRAVITY.index(x.what)])
    if x.family == "body":
        I = model.body(x.index).inertia
        if x.what in CENTRE:
            return float(tuple(_centre(I, name))[CENTRE.index(x.what)])
        return 1.0 if x.what == "density" else float(I.parameters()[INERTIAL.index(x.what)])
    if x.family == "joint":
        body = model.body(x.index)
        if x.what in PLACEMENT:
            return float(tuple(body.joint.frame_parent.p)[PLACEMENT.index(x.what)])
        if x.what not in IN_JOINTS:
            return pitch_of(body.joint, x.what) or 0.0
        own = getattr(body.dynamics, x.what)
        if x.dof is None and len(set(own)) > 1:
            dofs = ", ".join(f"{name}.{n}" for n in body.joint.v_names)
            raise ModelError(f"parameter {name!r}: its degrees of freedom differ; give {dofs}")
        return float(own[x.dof or 0]) if own else 0.0
    if x.family == "loop":
        return pitch_of(model.loops[x.index].joint, x.what) or 0.0
    number = getattr(_part(model, x), x.what)
    if x.what == "friction" and number[0] != number[1]:
        raise ModelError(f"parameter {name!r}: its two directions differ; build one model for each")
    if number is None:
        raise ModelError(f"parameter {name!r}: the contact is rigid; give it a stiffness first")
    return float(number[0] if x.what == "friction" else number)


def _part(model: Model, x: Place) -> Spring | Distance | Coupling | Contact:
    family = {"distance": model.distances, "coupling": model.couplings, "contact": model.contacts}
    return family.get(x.family, model.springs)[x.index]


def _centre(I: Inertia, name: str) -> Vec3:
    if not float(I.m) > 0.0:
        raise ModelError(f"parameter {name!r}: the body has no mass, so that it has no centre")
    return I.com()


# -- a model with other numbers --


def vary(model: Model, names: Sequence[str], numbers: Iterable[Real]) -> Model:
    """The model whose named parameters are these scalars, which may be traced.

    Of the ten numbers of a body at its frame those that are not named stay. Where its centre of
    mass is named, the mass and what is not named of the centre and of the inertia there stay.
    ``density`` scales all ten, last.
    """
    given = [float(x) if isinstance(x, (int, np.floating)) else x for x in numbers]
    by_part: dict[tuple[str, int], dict[str, Real]] = {}
    dofs: dict[int, list[tuple[str, int | None, Real]]] = {}
    for name, x in zip(names, given, strict=True):
        at = place_of(model, name)
        if at.family == "joint" and at.what in IN_JOINTS:
            dofs.setdefault(at.index, []).append((at.what, at.dof, x))
            continue
        own = by_part.setdefault((at.family, at.index), {})
        if at.what in own:
            raise ModelError(f"parameter {name!r} is named twice; name it once")
        own[at.what] = x
    bodies = [
        _body(body, by_part.get(("body", k), {}), by_part.get(("joint", k), {}), dofs.get(k, []))
        for k, body in enumerate(model)
    ]
    gravity = by_part.get(("model", 0), {})
    changes: dict[str, object] = {
        "_bodies": tuple(bodies),
        "gravity": tuple(gravity.get(n, g) for n, g in zip(GRAVITY, model.gravity, strict=True)),
        "springs": _parts(model.springs, "spring", by_part),
        "distances": _parts(model.distances, "distance", by_part),
        "couplings": _parts(model.couplings, "coupling", by_part),
        "contacts": _parts(model.contacts, "contact", by_part),
        "loops": tuple(
            moved_loop(loop, by_part[at]) if (at := ("loop", k)) in by_part else loop
            for k, loop in enumerate(model.loops)
        ),
    }
    plain = all(isinstance(x, float) for x in given)
    return model._replace(**changes) if plain else model._varied(**changes)


def _body(
    body: Body, inertial: Mapping[str, Real], geometry: Mapping[str, Real],
    dofs: Sequence[tuple[str, int | None, Real]],
) -> Body:  # fmt: skip
    joint, dynamics = body.joint, body.dynamics
    if geometry:
        joint = moved_joint(joint, geometry)
    for what, dof, x in dofs:
        own = getattr(dynamics, what)
        new = tuple(x if dof in (None, n) else old for n, old in enumerate(own))
        dynamics = replace(dynamics, **{what: new})
    inertia = _inertia(body, inertial) if inertial else body.inertia
    if not (geometry or dofs or inertial):
        return body
    return replace(body, joint=joint, dynamics=dynamics, inertia=inertia)


def _inertia(body: Body, given: Mapping[str, Real]) -> Inertia:
    I = body.inertia
    if any(n in given for n in CENTRE):
        mixed = [n for n in given if n in INERTIAL[1:]]
        if mixed:
            raise ModelError(
                f"body {body.name!r}: {mixed[0]} and com.* both say where its mass is; name the "
                "ten numbers at its frame, or mass and com"
            )
        old = _centre(I, f"{body.name}.com")
        c = Vec3(*(given.get(n, x) for n, x in zip(CENTRE, old, strict=True)))
        I = Inertia(given.get("mass", I.m), c, I.at_com())
    else:
        ten = zip(INERTIAL, I.parameters(), strict=True)
        I = Inertia.from_parameters(given.get(n, x) for n, x in ten)
    if "density" in given:
        I = Inertia.from_parameters(given["density"] * x for x in I.parameters())
    return I


def _parts(
    parts: Sequence[Part], family: str, given: Mapping[tuple[str, int], Mapping[str, Real]]
) -> tuple[Part, ...]:
    out: list[Part] = []
    for k, part in enumerate(parts):
        own: dict[str, object] = dict(given.get((family, k), {}))
        if "friction" in own:
            own["friction"] = (own["friction"],) * 2
        out.append(replace(part, **own) if own else part)
    return tuple(out)


# -- numbers that callers give --


def check_numbers(model: Model, names: Sequence[str], numbers: ArrayLike) -> Array:
    """Numbers (…, p) of named parameters, if bodies can have them; samples that cannot are
    named: refused where a mass is not positive or what resists is negative, else in a warning.
    """
    x = np.asarray(numbers, dtype=float)
    if x.shape[-1:] != (len(names),):
        raise ConfigurationError(
            f"parameters have shape {x.shape}; give {len(names)}: {', '.join(names[:8])}"
        )
    for name, column, wrong, fact in _faults(model, names, x):
        if wrong.any():
            raise _refusal(name, column, wrong, fact)
    _warn_unphysical(model, [place_of(model, name) for name in names], x)
    return x


def refused(model: Model, names: Sequence[str], numbers: Array) -> NDArray[np.bool_]:
    """Which samples `check_numbers` refuses."""
    out = np.zeros(numbers.shape[:-1], dtype=bool)
    for _, _, wrong, _ in _faults(model, names, numbers):
        out |= wrong
    return out


def _faults(
    model: Model, names: Sequence[str], x: Array
) -> Iterator[tuple[str, Array, NDArray[np.bool_], str]]:
    """Whatever may be wrong with the numbers of each name, and with which samples it is."""
    for k, name in enumerate(names):
        at, column = place_of(model, name), x[..., k]
        yield name, column, ~np.isfinite(column), "is not finite; give a finite number"
        if at.what in POSITIVE or (at.family, at.what) == ("contact", "friction"):
            yield name, column, column <= 0.0, "is not positive; give a number > 0"
        if at.what in NOT_NEGATIVE:
            yield name, column, column < 0.0, "is negative; give 0 or more"
        if at.what == "restitution":
            yield name, column, column > 1.0, "is more than 1; give a number from 0 to 1"


def _refusal(name: str, column: Array, wrong: np.ndarray, fact: str) -> ConfigurationError:
    where = np.argwhere(wrong)
    at = tuple(map(int, where[0]))
    more = f" (and {len(where) - 1} more samples)" if len(where) > 1 else ""
    sample = f", sample {at[0] if len(at) == 1 else at}" if at else ""
    return ConfigurationError(f"parameter {name!r}{sample}{more}: {column[at]:.6g} {fact}")


def _warn_unphysical(model: Model, places: Sequence[Place], x: Array) -> None:
    for k in sorted({at.index for at in places if at.family == "body"}):
        own = [n for n, at in enumerate(places) if at.family == "body" and at.index == k]
        if all(places[n].what == "density" for n in own):
            continue
        flat = x.reshape(-1, x.shape[-1])
        given = {places[n].what: cast("Real", flat[:, n]) for n in own}
        ten = _inertia(model.body(k), given).parameters()
        tens = np.broadcast_arrays(*(np.asarray(e, dtype=float) for e in ten), flat[:, 0])[:10]
        faults = unphysical_numbers(np.stack(tens, axis=-1))
        if faults:
            sample, why = next(iter(faults.items()))
            stays = " where its first moment and its inertia at the frame stay"
            held = stays if not any(places[n].what in CENTRE for n in own) else ""
            warn(
                f"body {model.bodies[k]!r}: {len(faults)} of {len(flat)} samples have inertias "
                f"that no body has{held}, first sample {sample}: {why}; vary "
                f"{model.bodies[k]}.density or {model.bodies[k]}.com.x instead",
                UnphysicalWarning,
            )
