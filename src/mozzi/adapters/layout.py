"""`layout`: states as simulators write them, and dynamics on such states.

v = X(q) v′ turns velocities of a simulator into those of the model. Forces do the same work in
both, τ′ = Xᵀ τ, and accelerations follow by the product rule, a = X a′ + Ẋ v′.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from mozzi.adapters.conventions import CONVENTIONS, Convention, LayoutName, rotation, skew
from mozzi.adapters.terms import INVARIANT, TERMS, State
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.checked import checked
from mozzi.compiler import compile
from mozzi.errors import ConfigurationError, known
from mozzi.model import Composite, Free, Joint, Model, Spherical
from mozzi.model.as_model import as_model
from mozzi.program.scalar import Real, atan2, cos, sin
from mozzi.types import Array, ArrayLike, DType, Kernel, Target, Traced

__all__ = ["Layout", "layout"]

#: A joint, where its numbers stand in the model, and where in the layout.
Block: TypeAlias = tuple[Joint, slice, slice, slice, slice]


@checked
def layout(
    name: LayoutName,
    model: Model,
    joints: Sequence[str] | None = None,
    *,
    continuous: Sequence[str] = (),
    com: ArrayLike | None = None,
) -> Layout:
    """The states of a model as a simulator or another library writes them.

    | name | quaternion | base: linear velocity | angular velocity |
    |---|---|---|---|
    | mujoco (MJX, MuJoCo Warp) | w x y z | of the origin, world axes | body axes |
    | pinocchio | x y z w | of the origin, body axes | body axes |
    | isaaclab (3), isaaclab2 (2.x): root_link_… | x y z w, w x y z | origin, world | world axes |
    | maniskill | w x y z | of the centre of mass, world axes | world axes |
    | newton | x y z w | of the centre of mass, world axes | world axes |
    | drake | w x y z, first | of the origin, world axes | world axes, first |

    Coordinates of the base stand before those of the other joints where `joints` has it first.

    Cost: conversions are part of the kernels, O(n).

    Args:
        name: of the layout.
        model: the mechanism.
        joints: the names of the joints in the order of the simulator, the free base included; all
            of the model's, each once. The order of the model where not given.
        continuous: joints whose angle is written as its cosine and sine (Pinocchio's continuous
            joints).
        com (3): the centre of mass of the base where the simulator's differs from the model's,
            which includes links that are fixed to the base.

    Returns:
        A `Layout`: ``to_mozzi``, ``from_mozzi`` convert states, ``compile`` makes dynamics on them.

    Example:
        >>> body = mz.Inertia(1.0, (0.0, 0.0, 0.1), np.eye(3))
        >>> craft = mz.Builder().add("hull", None, mz.Free(), body).build()
        >>> qpos, qvel = mz.layout("mujoco", craft).from_mozzi(craft.neutral(), np.ones(6))
        >>> qpos[3:7]
        array([1., 0., 0., 0.])
    """
    if name not in CONVENTIONS:
        raise ConfigurationError(f"no layout {name!r}; there are {known(name, CONVENTIONS)}")
    as_model(model, "layout")
    return Layout(name, CONVENTIONS[name], model, joints, continuous, com)


class Layout:
    """States of a model in the conventions of another library.

    nq, nv: how many numbers a configuration and a velocity have there. joint_names: in its order.

    Example:
        >>> ball = mz.load("ball.urdf", base="free")
        >>> qpos, qvel = mz.layout("mujoco", ball).from_mozzi(ball.neutral(), [0, 0, 1, 2, 0, 0])
        >>> qpos.tolist(), qvel.tolist()  # w first; linear first
        ([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    """

    def __init__(
        self, name: str, convention: Convention, model: Model, joints: Sequence[str] | None,
        continuous: Sequence[str], com: ArrayLike | None,
    ):  # fmt: skip
        self.name, self.convention, self.model = name, convention, model
        self.joint_names = tuple(model.joint_names if joints is None else joints)
        for word in (*self.joint_names, *continuous):
            if word not in model.joint_names:
                near = known(word, model.joint_names)
                raise ConfigurationError(f"layout: no joint {word!r} in {model.name!r}; has {near}")
        if sorted(self.joint_names) != sorted(model.joint_names):
            missing = sorted(set(model.joint_names) - set(self.joint_names))
            raise ConfigurationError(
                f"layout: joints are those of {model.name!r}, each once; missing are {missing}"
            )
        self.continuous = frozenset(continuous)
        self._com = None if com is None else np.asarray(com, dtype=float)
        self._kernels: dict[object, Any] = {}
        self.blocks: list[Block] = []
        self.nq = self.nv = 0
        for word in self.joint_names:
            joint = model.body(model.joint_names.index(word)).joint
            self._check(word, joint)
            many = joint.nq + (word in self.continuous)
            own = model.q_slices[word], model.v_slices[word]
            there = slice(self.nq, self.nq + many), slice(self.nv, self.nv + joint.nv)
            self.blocks.append((joint, *own, *there))
            self.nq, self.nv = self.nq + many, self.nv + joint.nv

    def _check(self, word: str, joint: Joint) -> None:
        if isinstance(joint, Free) or (isinstance(joint, Spherical) and self.convention.balls):
            return
        parts = joint.factors if isinstance(joint, Composite) else (joint,)
        if any(part.nq != 1 or part.nv != 1 for part in parts):
            kind = type(joint).__name__.lower()
            raise ConfigurationError(
                f"layout {self.name!r}: joint {word!r} is {kind}, for which no convention is known"
            )
        if word in self.continuous and joint.nv != 1:
            raise ConfigurationError(f"layout: joint {word!r} has no angle to be continuous in")

    def __repr__(self) -> str:
        return f"<Layout {self.name!r} of {self.model.name!r}, nq={self.nq}, nv={self.nv}>"

    # -- states --

    @checked
    def to_mozzi(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """(q, v) of the model from those of the layout.

        Args:
            q (B, nq): the configuration there.
            v (B, nv): the velocities there.

        Example:
            >>> ball = mz.load("ball.urdf", base="free")
            >>> there = mz.layout("mujoco", ball)
            >>> q, v = there.to_mozzi([0, 0, 0, 1, 0, 0, 0], np.zeros(6))
            >>> q.tolist()
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        """
        return self.converter("to_mozzi")(q, v)

    @checked
    def from_mozzi(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """(q, v) of the layout from those of the model.

        Args:
            q (B, nq): the configuration in the model.
            v (B, nv): the velocities in the model.

        Example:
            >>> ball = mz.load("ball.urdf", base="free")
            >>> there = mz.layout("mujoco", ball)
            >>> there.from_mozzi(ball.neutral(), np.zeros(6))[0].tolist()
            [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        """
        return self.converter("from_mozzi")(q, v)

    @checked
    def converter(
        self, which: str, target: Target = "cpu", dtype: DType = "float64"
    ) -> Kernel[tuple[Array, Array]]:
        """`to_mozzi` or `from_mozzi` as a kernel, for arrays of any target.

        Args:
            which: "to_mozzi" or "from_mozzi".
            target: as in `compile`: "torch", "jax", "cuda", …
            dtype: the numbers of the kernel.

        Example:
            >>> ball = mz.load("ball.urdf", base="free")
            >>> there = mz.layout("mujoco", ball)
            >>> convert = there.converter("to_mozzi")
            >>> convert(np.array([[0, 0, 0, 1.0, 0, 0, 0]]), np.zeros((1, 6)))[0].shape
            (1, 7)
        """

        def to_mozzi(q: Traced, v: Traced) -> tuple[Traced, Traced]:
            own = self.configuration(np.asarray(q))
            return own, self.velocity_map(own) @ np.asarray(v)

        def from_mozzi(q: Traced, v: Traced) -> tuple[Traced, Traced]:
            q = np.asarray(q)
            return self.configuration_there(q), self.inverse_map(q) @ np.asarray(v)

        functions = {"to_mozzi": to_mozzi, "from_mozzi": from_mozzi}
        if which not in functions:
            raise ConfigurationError(f"converter {which!r}: give 'to_mozzi' or 'from_mozzi'")
        sizes = self if which == "to_mozzi" else self.model
        return self._kernel(functions[which], {"q": sizes.nq, "v": sizes.nv}, target, dtype)

    @checked
    def compile(
        self, function: Callable[..., object], target: Target = "cpu", dtype: DType = "float64",
        **options: object,
    ) -> Kernel[Any]:  # fmt: skip
        """An algorithm as a kernel on states of the layout: q, v, a and tau are those of the
        simulator, and so are the rows and columns of what it gives.

        Frames, poses and twists of bodies are as mozzi has them, (angular, linear).

        Args:
            function: mass_matrix, inverse_dynamics, forward_dynamics, bias_forces, gravity_forces,
                coriolis_matrix, jacobian, jacobian_rate, their derivatives, energies, poses, …
            target: as in `compile`: "torch", "jax", "cuda", …
            dtype: the numbers of the kernel.
            options: of the algorithm, such as frame="tool".

        Example:
            >>> ball = mz.load("ball.urdf", base="free")
            >>> there = mz.layout("mujoco", ball)
            >>> there.compile(mz.mass_matrix)(np.array([0, 0, 0, 1.0, 0, 0, 0])).shape
            (6, 6)
        """
        name = getattr(function, "__name__", "")
        if not isinstance(function, Algorithm) or name not in {*TERMS, *INVARIANT}:
            raise ConfigurationError(
                f"layout: no conversion of {name or function!r}; there are "
                f"{known(name, [*TERMS, *INVARIANT])}"
            )
        term = TERMS.get(name)
        sizes = {"q": self.nq, "v": self.nv, "a": self.nv, "tau": self.nv}
        given = {n: sizes[n] for n in function.required}

        def on_their_states(*arrays: Traced) -> object:
            there = {n: np.asarray(x) for n, x in zip(given, arrays, strict=True)}
            state = State(self, there)
            if term is not None:
                return term(state, options)
            return function(self.model, **{n: state.own(n) for n in given}, **options)

        rolled = False if name.endswith("_derivatives") else None
        frozen = tuple(sorted((n, repr(x)) for n, x in options.items()))
        return self._kernel(on_their_states, given, target, dtype, (name, frozen), rolled)

    def _kernel(
        self, function: Callable[..., object], sizes: Mapping[str, int], target: Target,
        dtype: DType, key: object = None, rolled: bool | None = None,
    ) -> Kernel[Any]:  # fmt: skip
        key = (key or function.__name__, target, dtype)
        if key not in self._kernels:
            names = ", ".join(sizes)
            call = eval(f"lambda {names}: f({names})", {"f": function})  # named, as compile asks
            shapes = {n: (k,) for n, k in sizes.items()}
            self._kernels[key] = compile(
                call, self.model, target, dtype, inputs=shapes, rolled=rolled, name="on_layout"
            )
        return self._kernels[key]

    # -- while tracing --

    def configuration(self, x: Traced) -> Traced:
        """q of the model.

        Args:
            x (nq): traced, of the layout.

        Example:
            >>> ball = mz.load("ball.urdf", base="free")
            >>> there = mz.layout("mujoco", ball)
            >>> kernel = mz.compile(there.configuration, ball, inputs={"x": (7,)})
            >>> kernel([0, 0, 0, 1, 0, 0, 0]).tolist()
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        """
        q = np.full(self.model.nq, 0.0, dtype=object)
        for word, (joint, own, _, there, _) in zip(self.joint_names, self.blocks):
            part = x[there]
            if word in self.continuous:
                q[own] = [atan2(part[1], part[0])]
            elif isinstance(joint, Free):
                first = self.convention.linear_first
                p, r = (part[:3], part[3:]) if first else (part[4:], part[:4])
                q[own] = [*p, *self._xyzw(r)]
            elif isinstance(joint, Spherical):
                q[own] = self._xyzw(part)
            else:
                q[own] = part
        return q

    def configuration_there(self, q: Traced) -> Traced:
        """q of the layout.

        Args:
            q (nq): traced, of the model.
        """
        x = np.full(self.nq, 0.0, dtype=object)
        for word, (joint, own, _, there, _) in zip(self.joint_names, self.blocks):
            part = q[own]
            if word in self.continuous:
                x[there] = [cos(part[0]), sin(part[0])]
            elif isinstance(joint, Free):
                p, r = list(part[:3]), self._ordered(part[3:])
                x[there] = p + r if self.convention.linear_first else r + p
            elif isinstance(joint, Spherical):
                x[there] = self._ordered(part)
            else:
                x[there] = part
        return x

    def rates_there(self, q: Traced, rates: Traced) -> Traced:
        """The rates of the layout's q from those of the model's.

        Args:
            q (nq): traced, of the model.
            rates (nq): traced, of the model.
        """
        x = self.configuration_there(rates)
        for word, (_, own, _, there, _) in zip(self.joint_names, self.blocks):
            if word in self.continuous:
                angle, rate = q[own][0], rates[own][0]
                x[there] = [-sin(angle) * rate, cos(angle) * rate]
        return x

    def _xyzw(self, r: Traced) -> list[Real]:
        return [*r[1:], r[0]] if self.convention.quaternion == "wxyz" else list(r)

    def _ordered(self, r: Traced) -> list[Real]:
        return [r[3], *r[:3]] if self.convention.quaternion == "wxyz" else list(r)

    def velocity_map(self, q: Traced) -> Traced:
        """X with v = X v′, (nv, nv).

        Args:
            q (nq): traced, of the model.
        """
        return self._map(q, lambda R: R.T, turning=False)

    def velocity_map_rate(self, q: Traced, v: Traced) -> Traced:
        """Ẋ along v of the model, (nv, nv): of Rᵀ it is −ω × Rᵀ.

        Args:
            q (nq): traced, of the model.
            v (nv): traced, of the model.
        """
        rates = iter([v[own][:3] for joint, _, own, _, _ in self.blocks if isinstance(joint, Free)])
        return self._map(q, lambda R: -(skew(next(rates)) @ R.T), turning=True)

    def inverse_map(self, q: Traced) -> Traced:
        """X⁻¹, (nv, nv).

        Args:
            q (nq): traced, of the model.
        """
        X = np.full((self.nv, self.model.nv), 0.0, dtype=object)
        c, one = self.convention, np.eye(3).astype(object)
        for joint, q_own, own, _, there in self.blocks:
            if not isinstance(joint, Free):
                X[there, own] = np.eye(joint.nv)
                continue
            R = rotation(*q[q_own][3:])
            ang, lin = (slice(there.start + k, there.start + k + 3) for k in self._places())
            A, L = (R if frame == "world" else one for frame in (c.angular, c.linear))
            X[ang, own.start : own.start + 3] = A
            X[lin, own.start + 3 : own.stop] = L
            X[lin, own.start : own.start + 3] = -(L @ skew(self._center(joint)))  # ω × c
        return X

    def _map(self, q: Traced, world: Callable[[Traced], Traced], turning: bool) -> Traced:
        """Velocities of the model from those of the layout; `world` makes the blocks of those that
        are in world axes, and blocks that do not turn are left out of the rate.
        """
        X = np.full((self.model.nv, self.nv), 0.0, dtype=object)
        c, one = self.convention, np.eye(3).astype(object) * (0.0 if turning else 1.0)
        for joint, q_own, own, _, there in self.blocks:
            if not isinstance(joint, Free):
                X[own, there] = 0.0 if turning else np.eye(joint.nv)
                continue
            turned = world(rotation(*q[q_own][3:]))
            ang, lin = (slice(there.start + k, there.start + k + 3) for k in self._places())
            A, L = (turned if frame == "world" else one for frame in (c.angular, c.linear))
            X[own.start : own.start + 3, ang] = A
            X[own.start + 3 : own.stop, lin] = L
            X[own.start + 3 : own.stop, ang] = skew(self._center(joint)) @ A  # −ω × c
        return X

    def _places(self) -> tuple[int, int]:
        """Where angular and linear velocities of a base begin."""
        return (3, 0) if self.convention.linear_first else (0, 3)

    def _center(self, joint: Joint) -> Traced:
        """From the origin of a base to the point whose velocity is given."""
        if self.convention.point == "origin":
            return np.zeros(3).astype(object)
        if self._com is not None:
            return self._com.astype(object)
        inertia = next(body for body in self.model if body.joint is joint).inertia
        h, m = np.array(inertia.h.flatten(), dtype=float), float(inertia.m)
        return (h / m).astype(object)
