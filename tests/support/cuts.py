"""One linkage, cut at different joints: the same state in each, and what its motion must keep."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import mpmath
import numpy as np

import mozzi as mz
from mozzi.lie import SE3, Inertia
from mozzi.model import Free, Joint, Model, Prismatic, Revolute, Spherical, Universal
from mozzi.model.generate import Linkage
from mozzi.model.generate.linkages import GROUND, LinkageJoint

FIRST = 5e-3  # s, the coarsest step of the laws
COARSE = 5e-3  # of the largest kinetic energy: what it may cost (a Delta robot 0.24 %, at any cut)
ROUNDING = 1e-11  # J


def coordinates(joint: Joint, G: np.ndarray) -> list[float]:
    """The coordinates of a joint whose child frame has the pose G in its parent frame."""
    R, p = G[:3, :3], G[:3, 3]
    if isinstance(joint, Revolute):
        return [math.atan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])]
    if isinstance(joint, Prismatic):
        return [p[2]]
    if isinstance(joint, Universal):
        a = math.atan2(R[1, 0], R[0, 0])
        return [a, math.atan2(R[2, 1], math.cos(a) * R[1, 1] - math.sin(a) * R[0, 1])]
    if isinstance(joint, Free):
        return [*p.tolist(), *quaternion(R)]
    assert isinstance(joint, Spherical)
    return quaternion(R)


def quaternion(R: np.ndarray) -> list[float]:
    """(x, y, z, w) of a rotation."""
    K = np.array([
        [R[0, 0] - R[1, 1] - R[2, 2], 0, 0, 0],
        [R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], 0, 0],
        [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1], 0],
        [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], np.trace(R)],
    ])  # fmt: skip
    x = np.linalg.eigh(K / 3.0, UPLO="L")[1][:, -1]
    return (x * np.sign(x[3])).tolist()


def body_states(model: Model, q: np.ndarray, v: np.ndarray) -> dict[str, tuple[np.ndarray, ...]]:
    """Poses and body-fixed twists of all bodies by name."""
    C, V = mz.forward_kinematics(model, q), mz.twists(model, q, v)
    return {body.name: (C[..., k, :, :], V[..., k, :]) for k, body in enumerate(model)}


def same_state(
    model: Model, of: Model, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The state of another cut of the same linkage: its bodies are where they are, and move so."""
    states = body_states(of, q, v)
    world = np.eye(4), np.zeros(6)
    p, u = [], []
    for body in model:
        joint = body.joint
        C_a, V_a = states[list(model)[body.parent].name] if body.parent >= 0 else world
        C_b, V_b = states[body.name]
        F_a, F_b = joint.frame_parent.matrix(), joint.frame_child.matrix()
        G = np.linalg.inv(C_a @ F_a) @ C_b @ F_b
        own = coordinates(joint, G)
        relative = V_b - adjoint(np.linalg.inv(C_b) @ C_a) @ V_a
        S = np.array([s.flatten() for s in joint.screws(own)], dtype=float).T
        u += np.linalg.lstsq(S, adjoint(np.linalg.inv(F_b)) @ relative, rcond=None)[0].tolist()
        p += own
    return np.array(p), np.array(u)


def adjoint(T: np.ndarray) -> np.ndarray:
    """Of a pose as a matrix."""
    return np.asarray(SE3.from_matrix(T).Ad(), dtype=float)


def apart(a: Model, b: Model, x: tuple, y: tuple) -> float:
    """How far the bodies of two cuts are apart, in position, rotation and velocity."""
    A, B = body_states(a, *x), body_states(b, *y)
    return max(float(np.abs(A[n][k] - B[n][k]).max()) for n in A for k in (0, 1))


class Cuts:
    """A linkage in a random state, and its motions when it is cut at one joint or another.

    A warning is an error, but of coarse steps. change: what is made of the models, the same for all
    cuts.
    """

    def __init__(
        self, linkage: Linkage, seed: int = 0, change: Callable[[Model], Model] = lambda x: x
    ):
        self.linkage, self.change = linkage, change
        self.model = linkage.model()
        self.q = np.array(self.model.neutral(), dtype=float)
        v = np.random.default_rng(seed).normal(size=self.model.nv)
        v = mz.consistent_velocities(self.model, self.q, v)
        self.v = v / np.abs(v).max()
        self.cut, self.motion = cache(self._cut), cache(self._motion)

    def _cut(self, joint: str) -> tuple[Model, np.ndarray, np.ndarray]:
        """The model that is cut there, in this state."""
        model = self.change(self.linkage.model([joint]))
        return model, *same_state(model, self.model, self.q, self.v)

    def _motion(self, joint: str, h: float, span: float) -> mz.Trajectory:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for coarse in ("too coarse", "its energy changes"):  # half the step will do
                warnings.filterwarnings("ignore", f".*{coarse}")
            return mz.simulate(*self.cut(joint), span, h, record_every=round(0.05 / h))

    def energy_off(self, joint: str, h: float, span: float) -> float:
        """How much energy is lost or won: at the first step within `COARSE` of the largest
        kinetic energy, at half of it within a quarter of that, and so on, at every one that is
        asked for. A wrong motion at coarse steps would else hide behind a right one at fine steps.
        """
        x = self.motion(joint, h, span)
        E = x.energy()
        off = float(np.abs(E - E[0]).max())
        bound = COARSE * (h / FIRST) ** 2 * x.kinetic_energy().max() + ROUNDING
        assert off < bound, (h, off, bound)
        return off

    def end(self, joint: str, h: float, span: float) -> tuple[np.ndarray, np.ndarray]:
        """The last state."""
        x = self.motion(joint, h, span)
        return x.q[-1], x.v[-1]

    def check(self, joint: str, span: float) -> None:
        """Energy at the order of the method, and the motion of the first cut to 1e-8.

        Half the step: 14 to 18 times less; where springs hold a linkage, which then swings about
        where it is, energy is of one order more. The step is halved until that shows (or both steps
        are at rounding), and on until the motions agree; energy is bounded at each of them.
        """
        least, most = (28.0, 36.0) if self.linkage.springs else (14.0, 18.0)
        h, ratio, off = 2.0 * FIRST, 0.0, (0.0, 0.0)
        while h > 5e-5 and not least < ratio < most:
            h /= 2
            off = tuple(self.energy_off(joint, x, span) for x in (h, h / 2))
            rounded = off[0] < most * ROUNDING
            ratio = (least + most) / 2.0 if rounded else off[0] / max(off[1], ROUNDING / most)
        assert least < ratio < most, (h, off)
        first = self.linkage.joints[0].name
        a, b = (self.cut(x)[0] for x in (first, joint))
        gap = math.inf
        while h > 5e-5 and gap > 1e-8:
            h /= 2
            gap = apart(a, b, self.end(first, h, span), self.end(joint, h, span))
        assert gap < 1e-8, (h, gap)
        with warnings.catch_warnings():  # fine steps have nothing to tell
            warnings.simplefilter("error")
            mz.simulate(*self.cut(joint), span, h, record_every=round(0.05 / h))


def on_base(linkage: Linkage, joint: Joint) -> Linkage:
    """The linkage on a body that this joint holds, instead of the ground."""
    hung = lambda x: replace(x, **{k: "base" for k in "ab" if getattr(x, k) == GROUND})
    bodies = {"base": Inertia(3.0, (0.1, 0.2, 0.3), np.eye(3)), **linkage.bodies}
    joints = *map(hung, linkage.joints), LinkageJoint("root", GROUND, "base", joint)
    return Linkage(linkage.name, bodies, joints, tuple(map(hung, linkage.springs)))


def sized(linkage: Linkage, s: float) -> Linkage:
    """With s times its lengths, and without springs."""
    joints: list[LinkageJoint] = []
    for x in linkage.joints:
        ends = (SE3(T.R, T.p * s) for T in (x.joint.frame_parent, x.joint.frame_child))
        joints.append(replace(x, joint=x.joint.with_frames(*ends)))
    D = np.diag([s, s, s, 1.0, 1.0, 1.0])
    bodies = {name: Inertia.from_matrix(D @ x.matrix() @ D) for name, x in linkage.bodies.items()}
    return replace(linkage, bodies=bodies, joints=tuple(joints), springs=())


def doubled(model: Model) -> Model:
    """Every loop given twice."""
    for x in model.loops:
        model = model.with_loop(
            f"{x.name} again", x.body_a, x.body_b, x.joint, x.placement_a, x.placement_b
        )
    return model


def exact_rank(model: Model, q: np.ndarray) -> int:
    """The rank of the loops at the closed configuration next to q, in 50 digits.

    The numbers of the model have 16: what should vanish is of that size.
    """
    with mpmath.workdps(50):
        x = [mpmath.mpf(float(e)) for e in q]
        for _ in range(4):  # Newton, along rows that are independent
            r = mpmath.matrix([mpmath.mpf(e) for e in mz.loop_residual.python(model, x)])
            A = mpmath.matrix(mz.loop_jacobian.python(model, x).tolist())
            U, s, V = mpmath.svd_r(A)
            step = mpmath.matrix(model.nv, 1)
            for k in range(len(s)):
                if s[k] > mpmath.mpf(10) ** -7:
                    part = sum(U[i, k] * r[i] for i in range(A.rows)) / s[k]
                    step += mpmath.matrix([V[k, i] * part for i in range(model.nv)])
            x = list(mz.integrate.python(model, x, [-e for e in step]))
        s = mpmath.svd_r(mpmath.matrix(mz.loop_jacobian.python(model, x).tolist()), False, False)
        return sum(1 for e in s if e > mpmath.mpf(10) ** -12)
