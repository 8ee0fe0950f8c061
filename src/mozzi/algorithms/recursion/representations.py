"""The four representations of twists and of what is dual to them, and the way between them.

For a frame with the pose C = (R, r), in the letters of Müller, Kinematics (table 4):

    body     V = (Rᵀω, Rᵀṙ)     measured at the frame, resolved in the frame
    spatial  V = (ω, ṙ − ω × r)  measured at the inertial origin, resolved in the inertial frame
    hybrid   V = (ω, ṙ)         measured at the frame, resolved in the inertial frame
    mixed    V = (Rᵀω, ṙ)       angular part as body, linear part as hybrid

Wrenches and momenta go the way that keeps their pairing with twists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, overload

from mozzi.errors import ConfigurationError, known
from mozzi.lie import SE3, Rotation, Screws, Twist, Vec3
from mozzi.lie.screw import Six
from mozzi.lie.so3 import SO3
from mozzi.types import Rep, words

__all__ = ["REPRESENTATIONS", "check", "convert", "convert_rate", "from_body", "to_body"]

REPRESENTATIONS = words(Rep)
PINOCCHIO = {"LOCAL": "body", "WORLD": "spatial", "LOCAL_WORLD_ALIGNED": "hybrid"}

K = TypeVar("K", bound=Six)
Turn = Callable[[Vec3], Vec3]


def check(rep: Rep) -> Rep:
    """One of the four representations."""
    if rep not in REPRESENTATIONS:
        there = known(rep, REPRESENTATIONS)
        if (word := str(rep).upper()) in PINOCCHIO:
            there += f" (Pinocchio's {word} is {PINOCCHIO[word]!r})"
        raise ConfigurationError(f"no representation {rep!r}; there are {there}")
    return rep


def turning(R: SO3) -> SE3:
    """The pose (R, 0): Ad_R turns both parts of a screw.  Müller, Kinematics (75)."""
    return SE3(R, Vec3.zero())


def shifting(r: Vec3) -> SE3:
    """The pose (1, r): Ad_r moves the reference point.  Müller, Kinematics (75)."""
    return SE3(Rotation.identity(), r)


@overload
def _angular(x: K, turn: Turn) -> K: ...
@overload
def _angular(x: Screws[K], turn: Turn) -> Screws[K]: ...
def _angular(x: Six | Screws[Six], turn: Turn) -> Six | Screws[Six]:
    """x with its angular part turned: between hybrid and mixed."""
    if isinstance(x, Screws):
        return Screws(_angular(column, turn) for column in x)
    return type(x)(turn(x.ang), x.lin)


@overload
def _linear(x: K, turn: Turn) -> K: ...
@overload
def _linear(x: Screws[K], turn: Turn) -> Screws[K]: ...
def _linear(x: Six | Screws[Six], turn: Turn) -> Six | Screws[Six]:
    """x with its linear part turned: between body and mixed."""
    if isinstance(x, Screws):
        return Screws(_linear(column, turn) for column in x)
    return type(x)(x.ang, turn(x.lin))


@overload
def convert(x: K, C: SE3, source: Rep, target: Rep) -> K: ...
@overload
def convert(x: Screws[K], C: SE3, source: Rep, target: Rep) -> Screws[K]: ...
def convert(x: Six | Screws[Six], C: SE3, source: Rep, target: Rep) -> Six | Screws[Six]:
    """A twist, wrench, momentum or their columns at the frame C, from one representation in
    another.

    Müller, Kinematics, table 3.
    """
    source, target = check(source), check(target)
    if source == target:
        return x
    if (source, target) == ("body", "mixed"):
        return _linear(x, C.R.rotate)  # MK47
    if (source, target) == ("mixed", "body"):
        return _linear(x, C.R.unrotate)  # MK47
    if source == "body":
        x = turning(C.R).push(x)  # MK55
    elif source == "spatial":
        x = shifting(C.p).pull(x)  # MK58
    elif source == "mixed":
        x = _angular(x, C.R.rotate)  # MK47
    if target == "body":
        return turning(C.R).pull(x)  # MK55
    if target == "spatial":
        return shifting(C.p).push(x)  # MK58
    return _angular(x, C.R.unrotate) if target == "mixed" else x  # MK47


@overload
def from_body(x: K, C: SE3, rep: Rep) -> K: ...
@overload
def from_body(x: Screws[K], C: SE3, rep: Rep) -> Screws[K]: ...
def from_body(x: Six | Screws[Six], C: SE3, rep: Rep) -> Six | Screws[Six]:
    """What is body-fixed at the frame C, in a representation."""
    return convert(x, C, "body", rep)


@overload
def to_body(x: K, C: SE3, rep: Rep) -> K: ...
@overload
def to_body(x: Screws[K], C: SE3, rep: Rep) -> Screws[K]: ...
def to_body(x: Six | Screws[Six], C: SE3, rep: Rep) -> Six | Screws[Six]:
    """What is given in a representation, body-fixed at the frame C."""
    return convert(x, C, rep, "body")


def convert_rate(A: Twist, V: Twist, C: SE3, source: Rep, target: Rep) -> Twist:
    """The rate of a twist in one representation from its rate A and the twist V in another.

    With the linear parts a_b = Rᵀ(r̈ − ω × ṙ), a_s = r̈ − ω̇ × r − ω × ṙ and a_h = a_m = r̈: the
    rates of body and spatial twists are related as the twists are, and so are those of hybrid and
    mixed twists.
    """
    source, target = check(source), check(target)
    inner = {"body": "body", "spatial": "body", "hybrid": "mixed", "mixed": "mixed"}
    if inner[source] == inner[target]:
        return convert(A, C, source, target)
    sign = 1.0 if inner[source] == "body" else -1.0
    H, W = convert(A, C, source, "hybrid"), convert(V, C, source, "hybrid")
    return convert(
        Twist(H.ang, H.lin + W.ang.cross(W.lin) * sign), C, "hybrid", target
    )  # r̈ = R a_b + ω × ṙ
