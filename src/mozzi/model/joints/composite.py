# pyright: reportConstantRedefinition=false
"""Products of joints."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Self, TypeAlias, final

import numpy as np

from mozzi.errors import ModelError
from mozzi.lie import SE3, Screws, Twist
from mozzi.model.joints.axes import Prismatic, Revolute, Screw, Universal
from mozzi.model.joints.joint import Joint, Key, Scalars
from mozzi.model.joints.planar import Planar
from mozzi.model.joints.spatial import Spherical
from mozzi.program.scalar import Real

__all__ = ["Composite"]

#: A factor with its share of q and v.
Part: TypeAlias = tuple[Joint, Sequence[Real], Sequence[Real]]


@final
class Composite(Joint):
    """Joints one behind the other, as one joint without bodies between:  T(q) = T₁(q₁) T₂(q₂) ...

    Every factor brings its own two frames, so that the axes may be anywhere. The first frame of
    the first factor and the second frame of the last become the frames of the product. q and v are
    those of the factors, one after the other, and v is the velocity of each factor: the screws
    depend on q.

    Example:
        >>> joint = mz.Composite(mz.Revolute("z"), mz.Prismatic("x"))
        >>> joint.nv, joint.pose([np.pi / 2, 0.5]).matrix()[:3, 3].round(3).tolist()
        (2, [0.0, 0.5, 0.0])
    """

    __slots__ = ("factors", "inner", "nq", "nv", "q_names", "quaternions", "v_names")
    subgroup = False
    factors: tuple[Joint, ...]
    inner: tuple[SE3, ...]

    def __init__(self, *factors: Joint) -> None:
        for factor in factors:
            if not isinstance(factor, Joint):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ModelError(
                    f"Composite: {factor!r} is no joint; give joints such as Revolute('z')"
                )
        if not factors:
            raise ModelError("Composite: no joints; give at least one, or use Fixed()")
        super().__init__()
        quaternions, start = list[int](), 0
        for factor in factors:
            quaternions += [start + k for k in factor.quaternions]
            start += factor.nq
        pairs = itertools.pairwise(factors)
        self._set(
            frame_parent=factors[0].frame_parent,
            frame_child=factors[-1].frame_child,
            factors=factors,
            inner=tuple(a.frame_child.inverse() @ b.frame_parent for a, b in pairs),
            nq=sum(factor.nq for factor in factors),
            nv=sum(factor.nv for factor in factors),
            q_names=_names([factor.q_names for factor in factors]),
            v_names=_names([factor.v_names for factor in factors]),
            quaternions=tuple(quaternions),
        )

    @property
    def flat(self) -> bool:  # type: ignore
        """Whether every factor has linear coordinates."""
        return all(factor.flat for factor in self.factors)

    def _parts(self, q: Sequence[Real], v: Sequence[Real] = ()) -> list[Part]:
        """Each factor with its share of q and v."""
        parts, i, k = list[Part](), 0, 0
        for factor in self.factors:
            parts.append((factor, q[i : i + factor.nq], v[k : k + factor.nv]))
            i, k = i + factor.nq, k + factor.nv
        return parts

    def pose(self, q: Sequence[Real]) -> SE3:
        (first, q0, _), *rest = self._parts(q)
        T = first.pose(q0)
        for M, (factor, x, _) in zip(self.inner, rest, strict=True):
            T = T @ M @ factor.pose(x)
        return T

    def screws(self, q: Sequence[Real]) -> Screws[Twist]:
        (first, q0, _), *rest = self._parts(q)
        S = first.screws(q0)
        for M, (factor, x, _) in zip(self.inner, rest, strict=True):
            S = _join(factor.pose(x).pull(M.pull(S)), factor.screws(x))
        return S

    def screws_rate(self, q: Sequence[Real], v: Sequence[Real]) -> Screws[Twist]:
        (first, q0, v0), *rest = self._parts(q, v)
        S, dS = first.screws(q0), first.screws_rate(q0, v0)
        for M, (factor, x, u) in zip(self.inner, rest, strict=True):
            T, own = factor.pose(x), factor.screws(x)
            V = own @ u
            S = T.pull(M.pull(S))
            # a screw at rest before the factor moves by −V behind it
            dS = T.pull(M.pull(dS)) - V.cross(S)
            S, dS = _join(S, own), _join(dS, factor.screws_rate(x, u))
        return dS

    def rates(self, q: Sequence[Real], v: Sequence[Real]) -> Scalars:
        return tuple(e for factor, x, u in self._parts(q, v) for e in factor.rates(x, u))

    def velocities(self, q: Sequence[Real], q_dot: Sequence[Real]) -> Scalars:
        found, k = list[Real](), 0
        for factor, x, _ in self._parts(q):
            found += factor.velocities(x, q_dot[k : k + factor.nq])
            k += factor.nq
        return tuple(found)

    def integrate(self, q: Sequence[Real], dv: Sequence[Real]) -> Scalars:
        return tuple(e for factor, x, u in self._parts(q, dv) for e in factor.integrate(x, u))

    def difference(self, q0: Sequence[Real], q1: Sequence[Real]) -> Scalars:
        pairs = zip(self._parts(q0), self._parts(q1), strict=True)
        return tuple(e for (factor, a, _), (_, b, _) in pairs for e in factor.difference(a, b))

    def coast(
        self, q: Sequence[Real], v: Sequence[Real], h: Real
    ) -> tuple[Sequence[Real], Sequence[Real]]:
        parts = [factor.coast(x, u, h) for factor, x, u in self._parts(q, v)]
        return tuple(a for x, _ in parts for a in x), tuple(a for _, u in parts for a in u)

    def carried(self, v: Sequence[Real], w: Sequence[Real], h: Real) -> Sequence[Real]:
        at = self.neutral()
        both = zip(self._parts(at, v), self._parts(at, w), strict=True)
        return tuple(x for (factor, _, a), (_, _, b) in both for x in factor.carried(a, b, h))

    def turning_rates(self, v: Sequence[Real]) -> Scalars:
        parts = self._parts(self.neutral(), v)
        return tuple(x for factor, _, u in parts for x in factor.turning_rates(u))

    def increment_rates(self, dv: Sequence[Real], v: Sequence[Real]) -> Scalars:
        rates, k = list[Real](), 0
        for factor in self.factors:
            part = slice(k, k + factor.nv)
            rates += factor.increment_rates(dv[part], v[part])
            k += factor.nv
        return tuple(rates)

    def normalize(self, q: Sequence[Real]) -> Scalars:
        return tuple(e for factor, x, _ in self._parts(q) for e in factor.normalize(x))

    def neutral(self) -> tuple[float, ...]:
        return tuple(e for factor in self.factors for e in factor.neutral())

    def random(self, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> Scalars:
        return tuple(e for factor in self.factors for e in factor.random(rng, batch))

    def parameters(self) -> Scalars:
        own = (e for factor in self.factors for e in factor.parameters())
        return (*own, *(e for M in self.inner for e in M.flatten()))

    def with_parameters(self, parameters: Sequence[Real]) -> Self:
        factors, k = list[Joint](), 0
        for factor in self.factors:
            n = len(factor.parameters())
            factors.append(factor.with_parameters(parameters[k : k + n]))
            k += n
        inner = [
            SE3.unflatten(parameters[k + 12 * i : k + 12 * i + 12]) for i in range(len(self.inner))
        ]
        return self._with(factors=tuple(factors), inner=tuple(inner))

    @property
    def code(self) -> tuple[type[Joint], ...]:
        return (type(self), *(x for factor in self.factors for x in factor.code))

    @property
    def kind(self) -> Key:
        return ("Composite", *(factor.kind for factor in self.factors))

    def __repr__(self) -> str:
        return f"Composite({', '.join(map(repr, self.factors))})"

    @classmethod
    def examples(cls) -> tuple[Joint, ...]:
        turned = Revolute((1, 1, 0)).between((0.3, -0.2, 0.5), (0.1, 0.0, -0.4))
        return (
            cls(Revolute("x"), Revolute("y"), Revolute("z")),
            cls(Prismatic("y"), turned, Screw(pitch=0.2)),
            cls(Universal().between(None, (0.0, 0.0, 0.7)), Universal("x", "z")),
            cls(Planar("y"), Spherical().between((0.1, 0.2, 0.3), None), Revolute((0, 1, 1))),
        )


def _join(A: Screws[Twist], B: Screws[Twist]) -> Screws[Twist]:
    return Screws((*A.columns, *B.columns))


def _names(factors: list[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(f"{k}.{name}" for k, names in enumerate(factors, 1) for name in names)
