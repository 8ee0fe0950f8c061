"""Wrenches on the bodies in the representation of the caller's choice: ``wrenches_rep=``.

Recursions see body-fixed wrenches. What a caller gives in another representation is converted
before a recursion begins, here and nowhere else; what the recursion gets still knows how it was
given, because derivatives with respect to q hold it fixed in that representation.
"""

from __future__ import annotations

import inspect

from mozzi.algorithms.calls.arguments import Blocks
from mozzi.algorithms.recursion.containers import BlockArray, body_array, per_body
from mozzi.algorithms.recursion.mechanism import Mechanism
from mozzi.algorithms.recursion.representations import check, to_body
from mozzi.algorithms.recursion.views import JointVector
from mozzi.lie import SE3, Twist, Vec3, Wrench
from mozzi.types import Rep

__all__ = ["HELD", "HeldWrenches", "body_fixed", "carried_back", "with_representation"]

HELD = ("wrenches", "dwrenches")
OPTION = "wrenches_rep"


def with_representation(signature: inspect.Signature) -> inspect.Signature:
    """The signature of a recursion on wrenches with the option that tells their representation;
    one that has the option, or says `source`, answers for them itself.
    """
    parameters = list(signature.parameters.values())
    own = signature.parameters.keys() & {OPTION, "source"}
    if "wrenches" not in signature.parameters or own:
        return signature
    kind = inspect.Parameter.KEYWORD_ONLY
    option = inspect.Parameter(OPTION, kind, default="body", annotation="Rep")
    return signature.replace(parameters=[*parameters, option])


class HeldWrenches(Blocks[Wrench]):
    """Body-fixed wrenches that were given (and stay) in another representation."""

    def __init__(self, given: BlockArray, fixed: BlockArray, rep: Rep):
        super().__init__(fixed, Wrench)
        self.given = given
        self.rep: Rep = rep


def body_fixed(view: Mechanism, x: object, q: JointVector, rep: Rep) -> object:
    """What a recursion sees of wrenches that are given in a representation; x: as `wrapped` makes
    it of the array.
    """
    if check(rep) == "body" or not isinstance(x, Blocks):
        return x
    C, fixed = per_body(view, "C", SE3), body_array(view, 6, letter="W")
    given: BlockArray = x.blocks
    for i in view.outward():
        C[i] = C[i.parent] @ i.pose(q[i])
        fixed[i] = to_body(Wrench.unflatten(given[i]), C[i] @ i.frame, rep)  # MK table 3
    return HeldWrenches(given, fixed, rep)


def carried_back(W: Wrench, D: Twist, rep: Rep) -> Wrench:
    """The change of body-fixed components of a wrench that stays in a representation, while its
    body is displaced by D, body-fixed: 0 where it moves along.
    """
    w = Twist(D.ang, Vec3.zero())
    if rep == "spatial":
        return -D.cross(W)
    if rep == "hybrid":
        return -w.cross(W)
    return -w.cross(Wrench(Vec3.zero(), W.lin)) if rep == "mixed" else Wrench.zero()
