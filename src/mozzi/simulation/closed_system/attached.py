"""Systems and the attachments between them: changed copies, and tables of arrays by system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, wraps
from typing import Self, TypeVar, cast

import numpy as np

from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.algorithms.constraints.rows.rows import loop_residual, loop_rows
from mozzi.algorithms.kinematics.poses import pose
from mozzi.algorithms.loops.topology import Attachment, State
from mozzi.checked import are_names, checked, is_array, is_iterable, is_table
from mozzi.errors import (
    ConfigurationError,
    KindError,
    ModelError,
    ShapeError,
    UnknownNameError,
    known,
    nearest,
)
from mozzi.lie import SE3
from mozzi.model import Fixed, Joint, Model
from mozzi.model.frames import PoseLike, as_pose
from mozzi.model.join import joined
from mozzi.simulation.closed_system.tables import Layout
from mozzi.simulation.forces.drives import driven
from mozzi.targets.cpu.calls import table_call
from mozzi.types import Array, ArrayLike, Rep

__all__ = ["AttachedSystems", "Joints", "Parts", "broadcast"]

F = TypeVar("F", bound=Callable[..., object])

WORLD = "world"

STATES = ("q", "v", "a")
"""Tables in which every system has an array; in those of forces, what is missing is zero."""

Parts = dict[str, Array]
"""The name of a system → its array."""

Joints = str | Sequence[str | tuple[str, str]]
"""Joints of systems: "arms.elbow" or ("arms", "elbow"); "arms" for all joints of a system."""


class AttachedSystems:
    """Mechanisms by name, with the frames at which they can be grasped, and their attachments."""

    def __init__(
        self,
        systems: Mapping[str, tuple[Model, Sequence[str]]],
        attachments: Sequence[Attachment] = (),
    ):
        if not isinstance(systems, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise KindError("ClosedSystem", "systems", systems, "{name: (model, frames)}")
        if not is_iterable(attachments):
            raise KindError("ClosedSystem", "attachments", attachments, "a list of Attachments")
        self.systems = {name: self._checked(name, x) for name, x in systems.items()}
        if not self.systems:
            raise ModelError("ClosedSystem: there is no system; give {name: (model, frames)}")
        self.attachments = tuple(attachments)
        self._made: dict[Model, Model] = {}
        for name, (model, frames) in self.systems.items():
            if name == WORLD or "." in name:
                raise ModelError(f"system {name!r}: give it a name without a dot, and not 'world'")
            for frame in frames:
                model.frame(frame)
        for part in self.attachments:
            if not isinstance(cast(object, part), Attachment):
                raise KindError("ClosedSystem", "attachments", part, "Attachments, or attach()")
            for system, frame in (part.a, part.b):
                self._check_place(system, frame, part.name)
            if self._body(*part.a) == self._body(*part.b):
                raise ModelError(
                    f"attachment {part.name!r}: both ends, {part.a} and {part.b}, are on one body; "
                    "connect two"
                )

    def __repr__(self) -> str:
        tied = ", ".join(part.name for part in self.attachments) or "nothing"
        return f"<{type(self).__name__} {', '.join(self.systems)}; attached: {tied}>"

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        """To be made anew from what it is, without what was found out about it."""
        return type(self), (self.systems, self.attachments)

    @staticmethod
    def _checked(name: object, given: object) -> tuple[Model, tuple[str, ...]]:
        """A system as it is kept, or what is wrong with it."""
        if not isinstance(name, str):
            raise ModelError(f"system {name!r}: its name is a word, not {type(name).__name__}")
        pair = cast("Sequence[object]", given) if isinstance(given, tuple | list) else (given,)
        model, frames = pair if len(pair) == 2 else (None, None)
        if not isinstance(model, Model) or isinstance(frames, str) or not isinstance(
            frames, Iterable
        ):
            kinds = ", ".join(type(x).__name__ for x in pair)
            raise ModelError(
                f"system {name!r} is ({kinds}); "
                "give (model, [names of frames that others may be attached to])"
            )
        return model, tuple(cast("Iterable[str]", frames))

    def _check_place(self, system: str, frame: str, what: str) -> None:
        if system == WORLD and frame in ("", WORLD):
            return
        if system not in self.systems or frame not in self.systems[system][1]:
            there = [f"({s!r}, {f!r})" for s, (_, frames) in self.systems.items() for f in frames]
            place = f"({system!r}, {frame!r})"
            raise ModelError(
                f"attachment {what!r}: no closure frame {place}; there are "
                f"{', '.join(nearest(place, there))}, and ('world', '')"
            )

    def _body(self, system: str, frame: str) -> tuple[str, int]:
        """The body that a closure frame is on, and its system; or the world."""
        body = -1 if system == WORLD else self.systems[system][0].frame(frame)[0]
        return (WORLD, body) if body < 0 else (system, body)

    @cached_property
    def model(self) -> Model:
        """All of it as one mechanism with loops: body "hand" of system "arms" is "arms.hand"."""
        whole = joined(" and ".join(self.systems), {n: m for n, (m, _) in self.systems.items()})
        for part in self.attachments:
            ends: list[tuple[int | None, SE3]] = []
            for (system, frame), T in zip(
                (part.a, part.b), (part.placement_a, part.placement_b), strict=True
            ):
                body, own = (None, SE3.identity())
                if system != WORLD:
                    body, own = whole.frame(f"{system}.{frame}")
                    body = None if body < 0 else body
                ends.append((body, own @ T))
            (a, T_a), (b, T_b) = ends
            whole = whole.with_loop(part.name, a, b, part.joint, T_a, T_b)
        return self._made.setdefault(whole, whole)

    # -- changed copies --

    def _changed(
        self, systems: Mapping[str, tuple[Model, Sequence[str]]], attachments: Sequence[Attachment]
    ) -> Self:
        new = type(self)(systems, attachments)
        new._made = self._made
        return new

    @checked
    def attach(
        self,
        name: str,
        a: tuple[str, str],
        b: tuple[str, str],
        joint: Joint | None = None,
        placement_a: PoseLike = None,
        placement_b: PoseLike = None,
        at: State | None = None,
    ) -> Self:
        """With one more joint (rigid without one) from a frame a to a frame b.

        Args:
            name: its name.
            a: (system, frame), or ("world", "").
            b: (system, frame), or ("world", "").
            joint: the joint; None: rigid.
            placement_a: pose of the joint's frame on body a; None: the body's own.
            placement_b: pose of the joint's frame on body b, likewise.
            at: configurations (nq), by system; placement_b is then such that the joint is closed
                there, in its neutral position, as a hand closes on a thing where it is.

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), mz.Spherical(), at=q)
            >>> held.model.row_count
            3
        """
        if any(part.name == name for part in self.attachments):
            raise ModelError(f"attachment {name!r} is there; detach it, or give another name")
        for x in (a, b):
            if not isinstance(cast(object, x), (tuple, list)) or len(x) != 2:
                raise KindError("attach", "a place", x, "(system, frame), or ('world', '')")
        if joint is not None and not isinstance(cast(object, joint), Joint):
            raise KindError("attach", "joint", joint, "a joint, such as mz.Revolute('z'), or None")
        joint = joint or Fixed()
        ends = (a[0], a[1]), (b[0], b[1])
        T_a, T_b = (as_pose(T, f"attachment {name!r}") for T in (placement_a, placement_b))
        if at is not None:
            if placement_b is not None:
                raise ModelError(f"attachment {name!r}: give placement_b, or at; not both")
            self._refuse_unknown(f"attachment {name!r}: at", at)
            C_a, C_b = (self._pose(*end, name, at) for end in ends)
            T_b = SE3.from_matrix(np.linalg.inv(C_b) @ C_a @ T_a.matrix())
            T_b = T_b @ joint.motion(joint.neutral())
        part = Attachment(name, *ends, joint, T_a, T_b)
        return self._changed(self.systems, (*self.attachments, part))

    def _pose(self, system: str, frame: str, what: str, q: State) -> Array:
        """Where a closure frame is."""
        self._check_place(system, frame, what)
        if system == WORLD:
            return np.eye(4)
        if system not in q:
            raise ConfigurationError(f"attachment {what!r}: nothing for {system!r} in at")
        model, at = self.systems[system][0], np.asarray(q[system])
        if at.ndim > 1:
            fact = (
                f"give one configuration ({model.nq},): what is grasped in another place is another"
                " mechanism, so attach and simulate such samples one by one"
            )
            raise ShapeError("attach", f"at of {system!r}", at.shape, (model.nq,), fact)
        return pose(model, at, frame)

    @checked
    def detach(self, name: str) -> Self:
        """Without a joint.

        Args:
            name: its name.

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> held.detach("grip").model.row_count
            0
        """
        left = tuple(part for part in self.attachments if part.name != name)
        if len(left) == len(self.attachments):
            there = known(name, [part.name for part in self.attachments])
            raise UnknownNameError(f"no attachment {name!r} to detach; there are {there}")
        return self._changed(self.systems, left)

    @checked
    def with_system(self, name: str, model: Model, frames: Sequence[str]) -> Self:
        """With one more mechanism, or another in its place.

        Args:
            name: its name.
            model: the mechanism.
            frames: names of the frames that others may be attached to.

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> list(both.with_system("second", arm, ["tool"]).systems)
            ['arm', 'ball', 'second']
        """
        return self._changed({**self.systems, name: (model, frames)}, self.attachments)

    @checked
    def without_system(self, name: str) -> Self:
        """Without a mechanism, and what was attached to it.

        Args:
            name: its name.

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> list(both.without_system("ball").systems)
            ['arm']
        """
        if name not in self.systems:
            there = known(name, self.systems)
            raise UnknownNameError(f"no system {name!r} to take away; there are {there}")
        left = [p for p in self.attachments if name not in (p.a[0], p.b[0])]
        return self._changed({n: x for n, x in self.systems.items() if n != name}, left)

    # -- tables and arrays --

    @cached_property
    def _layouts(self) -> dict[str, Layout]:
        """How tables of arrays lie in one array, by axis."""
        models = {name: model for name, (model, _) in self.systems.items()}
        return {
            "q": Layout.stacked({name: model.nq for name, model in models.items()}),
            "v": Layout.stacked({name: model.nv for name, model in models.items()}),
            "b": Layout.stacked({name: model.nb for name, model in models.items()}, (6,)),
        }

    def _layout(self, what: str, axis: str) -> Layout:
        if axis not in self._layouts:
            raise ConfigurationError(f"{what}: no axis {axis!r}; give {known(axis, self._layouts)}")
        return self._layouts[axis]

    def whole(self, what: str, state: State | None, axis: str = "v") -> Array:
        """The arrays of a table as one array of `model`; what is missing is an error for states
        (q, v, a) and zero for forces.

        Args:
            what: its name, for messages.
            state: the table.
            axis: "q", "v" or "b" (bodies: arrays (B, nb, 6)).

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> both.whole("v", {"arm": np.ones(3), "ball": np.zeros(6)}).shape
            (9,)
        """
        layout = self._layout("whole", axis)
        found = (layout.join if what in STATES else layout.join_some)(state)
        return self._broadcast(what, state, layout) if found is None else found

    def _broadcast(self, what: str, state: State | None, layout: Layout) -> Array:
        """The same of any table, or what is wrong with it."""
        if not is_table(state) and (what in STATES or state is not None):
            raise KindError("ClosedSystem", what, state, "a dict: the name of a system → its array")
        given = cast("Mapping[str, ArrayLike | None]", {} if state is None else state)
        own = {name: x for name, x in given.items() if x is not None}
        self._refuse_unknown(what, own)
        missing = [name for name in layout.zeros if name not in own]
        if missing and what in STATES:
            names = ", ".join(map(repr, missing))
            raise ConfigurationError(f"{what}: nothing for {names}; give each system its own")
        for name, x in own.items():
            if not is_array(x):
                wanted = "an array of real numbers"
                raise KindError("ClosedSystem", f"{what} of {name!r}", x, wanted)
        arrays = {n: np.asanyarray(own.get(n, zero)) for n, zero in layout.zeros.items()}
        for name, shape in layout.shapes.items():
            x = arrays[name]
            if x.shape[max(x.ndim - len(shape), 0) :] != shape:
                raise ConfigurationError(
                    f"{what} of {name!r} has shape {x.shape}; its last axes are {shape}"
                )
        lead = len(layout.whole)
        shapes = {name: x.shape[: x.ndim - lead] for name, x in arrays.items()}
        joined = [*arrays.values()]
        if len(set(shapes.values())) > 1:
            batch = broadcast(what, shapes)
            full = [(*batch, *shape) for shape in layout.shapes.values()]
            pairs = zip(joined, full, strict=True)
            joined = [np.broadcast_to(x, shape, subok=True) for x, shape in pairs]
        return np.concatenate(joined, axis=-lead)

    def _refuse_unknown(self, what: str, table: State) -> None:
        if unknown := [name for name in table if name not in self.systems]:
            there = known(unknown[0], self.systems)
            raise ConfigurationError(f"{what}: no system {unknown[0]!r}; there are {there}")

    @checked
    def parts(self, array: Array, axis: str = "v") -> Parts:
        """An array of `model` as a table.

        Args:
            array: (B, nq), (B, nv) or (B, nb, 6).
            axis: "q", "v" or "b".

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> {name: x.shape for name, x in both.parts(np.zeros(9)).items()}
            {'arm': (3,), 'ball': (6,)}
        """
        layout = self._layout("parts", axis)
        array, wanted = np.asarray(array), layout.whole
        if array.shape[max(array.ndim - len(wanted), 0) :] != wanted:
            raise ShapeError("parts", "array", array.shape, wanted)
        return layout.views(array)

    def _table(self, array: Array, axis: str = "v") -> Parts:
        """The table of an array that is known to fit."""
        return self._layouts[axis].table(array)

    @cached_property
    def _row_slices(self) -> Mapping[str, slice]:
        return loop_rows(self.model)

    @cached_property
    def _row_layout(self) -> Layout:
        """How rows of attachments lie among those of all loops."""
        own = {part.name: self._row_slices[part.name] for part in self.attachments}
        return Layout(own, self.model.row_count)

    def _by_attachment(self, rows: Array, model: Model | None = None) -> Parts:
        """Numbers of all rows of a model (else `model`), by attachments."""
        if model is None or model is self.model:
            return self._row_layout.table(rows)
        places = loop_rows(model)
        return {part.name: rows[..., places[part.name]] for part in self.attachments}

    def _moved(self, rows: Mapping[str, ArrayLike] | None) -> Model:
        """The model whose rows for these attachments are those of their residuals, φ̇ = A v and
        φ̈ = A a + Ȧ v, also where they move: rows of loops are those of closed ones at rest.
        """
        if not rows:
            return self.model
        return driven(self.model, (), tuple(x.name for x in self.model.loops if x.name in rows))

    def _rows(
        self, what: str, rows: Mapping[str, ArrayLike] | None, model: Model | None = None
    ) -> Array | None:
        """A table of rows, by attachments, as an array of all rows of a model (else `model`)."""
        if rows is None:
            return None
        there = self._row_slices
        given: dict[str, Array] = {}
        for name, x in rows.items():
            if name not in there:
                raise ConfigurationError(
                    f"{what}: no attachment {name!r}; there are {known(name, there)}"
                )
            if not is_array(x):
                raise KindError(what, f"that of {name!r}", x, "an array of real numbers")
            given[name] = np.asarray(x, dtype=float)
            wanted = (there[name].stop - there[name].start,)
            if given[name].shape[-1:] != wanted:
                raise ShapeError(what, f"that of {name!r}", given[name].shape, wanted)
        batch = broadcast(what, {name: x.shape[:-1] for name, x in given.items()})
        out = np.zeros((*batch, self.model.row_count))
        places = there if model is None else loop_rows(model)
        for name, x in given.items():
            out[..., places[name]] = x
        return out

    def _joints(self, choice: Joints | None) -> list[str] | None:
        """Names of joints of `model`."""
        if choice is None:
            return None
        out: list[str] = []
        for item in [choice] if isinstance(choice, str) else choice:
            if isinstance(item, str) and item in self.systems:
                out += [f"{item}.{joint}" for joint in self.systems[item][0].joint_names]
            else:
                pair = (item,) if isinstance(item, str) else item
                if not are_names(pair):
                    raise KindError("ClosedSystem", "a joint", item, "'arm.elbow'")
                out.append(".".join(pair))
        return out

    @cached_property
    def _calls(self) -> dict[Algorithm, Callable[..., object]]:
        """Functions of tables, in machine code: see `_in_machine_code`."""
        return {}

    def _called(self, algorithm: Algorithm, arguments: Sequence[str]) -> Callable[..., object]:
        """An algorithm of `model` as a function of tables, None of those that it does not know."""
        layouts = self._layouts
        tables = [
            (layouts["q" if name == "q" else "v"].places, name not in STATES) for name in arguments
        ]
        rows = algorithm is loop_residual
        result = self._row_layout if rows else layouts["v"]
        made = table_call.around(algorithm, self.model, tables, result.places)
        return self._calls.setdefault(algorithm, made)

    @staticmethod
    def _in_machine_code(algorithm: Algorithm, *arguments: str) -> Callable[[F], F]:
        """Let machine code make a method's calls with these tables of one state: Python takes
        several times as long to read them as `algorithm` takes for the whole model. All other calls
        are the method's.
        """

        def made(method: F) -> F:
            count = len(arguments)

            @wraps(method)
            def door(self: AttachedSystems, *tables: object, **options: object) -> object:
                if not options and len(tables) == count:
                    call = self._calls.get(algorithm) or self._called(algorithm, arguments)
                    found = call(*tables)
                    if found is not None:
                        return found
                return method(self, *tables, **options)

            return cast(F, door)

        return made

    def _given(
        self, wrenches: State | None, loop_accelerations: Mapping[str, ArrayLike] | None,
        wrenches_rep: Rep = "body",
    ) -> tuple[Model, dict[str, Array | Rep]]:  # fmt: skip
        """The model that answers, and optional arguments of its algorithms."""
        out: dict[str, Array | Rep] = {}
        if wrenches is None and not loop_accelerations:
            return self.model, out
        if wrenches is not None:
            out["wrenches"] = self.whole("wrenches", wrenches, "b")
        if wrenches is not None and wrenches_rep != "body":
            out["wrenches_rep"] = wrenches_rep
        if not loop_accelerations:
            return self.model, out
        model = self._moved(loop_accelerations)
        rates = self._rows("loop_accelerations", loop_accelerations, model)
        return model, out if rates is None else out | {"loop_accelerations": rates}


def broadcast(what: str, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The batch axes of all, by name."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        told = ", ".join(f"{shape} of {name!r}" for name, shape in shapes.items())
        raise ConfigurationError(
            f"{what}: the batch axes {told} do not broadcast; give all as many samples, or one"
        ) from None
