"""Mechanisms whose topology changes: arms that pick up, carry and put down.

A `ClosedSystem` is several mechanisms and the attachments between them. It is one `Model` with
loops (`model`), made once for a set of attachments and kept, so that every algorithm of models
works on it: states and forces are tables, by the names of the systems. `distributed_accelerations`
is the other way, that of Rodriguez, Jain and Kreutz-Delgado: trees are solved each by itself and
meet in one small matrix, and nothing is compiled when an attachment comes or goes
(`algorithms/loops/topology.py`); its calls take some hundred times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from mozzi.algorithms.calls.guard import look
from mozzi.algorithms.constraints.rank import length_of
from mozzi.algorithms.constraints.rows.joints import at_rest
from mozzi.algorithms.constraints.rows.rows import loop_residual
from mozzi.algorithms.dynamics.energy import kinetic_energy, potential_energy
from mozzi.algorithms.dynamics.forward import forward_dynamics, hybrid_dynamics
from mozzi.algorithms.dynamics.inverse import inverse_dynamics
from mozzi.algorithms.loops.assemble import assemble, consistent_velocities
from mozzi.algorithms.loops.forces import loop_forces
from mozzi.algorithms.loops.topology import State, distributed_accelerations, refuse_open
from mozzi.algorithms.loops.wrenches import LoopWrench, loop_wrenches
from mozzi.checked import checked
from mozzi.errors import LoopError
from mozzi.lie.vec import number
from mozzi.simulation.closed_system.attached import AttachedSystems, Joints, Parts, broadcast
from mozzi.simulation.closed_system.changes import simulated
from mozzi.simulation.closed_system.phases import Change, Phases, SystemOptions
from mozzi.types import Array, ArrayLike, Minimize, Rep

__all__ = ["ClosedSystem"]

Torque = State | Callable[[float, Parts, Parts], State]
"""Joint forces by system, or a law of (t, q, v) that gives them."""


class LeastOptions(TypedDict, total=False):
    """Which of the forces that make the same motion are least: see `inverse_dynamics`."""

    minimize: Minimize
    weighting: ArrayLike


class ClosedSystem(AttachedSystems):
    """Mechanisms that are coupled by joints which come and go.

    A mechanism is given with the frames at which it can be grasped. `attach`, `detach`,
    `with_system` and `without_system` return changed systems, which share what was compiled for
    sets of attachments that were there before. Arrays broadcast over leading batch axes.

    Example:
        >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
        >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
        >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
        >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
        >>> v = {"arm": np.zeros(3), "ball": np.zeros(6)}
        >>> a = held.forward_dynamics(q, v)
        >>> a["arm"].shape, a["ball"].shape
        ((3,), (6,))
    """

    # -- closing --

    @AttachedSystems._in_machine_code(loop_residual, "q")
    def residual(self, q: State) -> Parts:
        """How far each attachment is open (B, m), row by row: see `loop_residual`.

        Args:
            q: configurations (B, nq), by system.

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> np.allclose(held.residual(q)["grip"], 0)
            True
        """
        return self._by_attachment(loop_residual(self.model, self.whole("q", q, "q")))

    @checked
    def check_closed(
        self, q: State, tolerance: float = 1e-4, *,
        loop_offsets: Mapping[str, ArrayLike] | None = None,
    ) -> None:  # fmt: skip
        """Raise a `LoopError` where an attachment, or a loop of a mechanism, is open by more than a
        tolerance.

        Args:
            q: configurations (B, nq), by system.
            tolerance: metres, or radians.
            loop_offsets: what residuals shall be instead of zero, by attachment (B, m).

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> held.check_closed(q)
        """
        found: Array = loop_residual(self.model, self.whole("q", q, "q"))
        offsets = self._rows("loop_offsets", loop_offsets)
        if offsets is not None:
            shapes = {"q": found.shape[:-1], "loop_offsets": offsets.shape[:-1]}
            broadcast("check_closed", shapes)
            found = found - offsets
        if np.vdot(found, found) <= tolerance * abs(tolerance):  # all rows, all samples together
            return
        for name, gap in self._by_attachment(found).items():
            turns = self._turning_rows[name]
            error = np.zeros((*gap.shape[:-1], 6))
            error[..., 0] = np.linalg.norm(gap[..., turns], axis=-1)
            error[..., 3] = np.linalg.norm(gap[..., ~turns], axis=-1)
            refuse_open(name, error, tolerance)
        for name, rows in self._row_slices.items():
            gap = float(np.abs(found[..., rows]).max(initial=0.0))
            if name not in self._turning_rows and not gap <= tolerance:  # nor NaN
                raise LoopError(
                    f"loop {name!r} is open by {gap:.2e} (m or rad), more than {tolerance:g}; "
                    "call assemble(q) of the system"
                )

    @cached_property
    def _turning_rows(self) -> dict[str, NDArray[np.bool_]]:
        """Which rows of attachments are angles; others are lengths."""
        rows = {part.name: at_rest(part.joint).rows for part in self.attachments}
        return {
            name: np.array([any(number(x) != 0.0 for x in W.ang) for W in own], bool)
            for name, own in rows.items()
        }

    @checked
    def assemble(
        self, q: State, hold: Joints = (), *,
        loop_offsets: Mapping[str, ArrayLike] | None = None,
    ) -> Parts:  # fmt: skip
        """Configurations near q in which the attachments (and loops) are closed: see `assemble`.

        Args:
            q: configurations (B, nq), by system.
            hold: joints that stay where they are: "arms.elbow", or "arms" for all of a system.
            loop_offsets: what residuals shall be instead of zero, by attachment (B, m).

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> away = {"arm": np.zeros(3), "ball": ball.random_configuration(0)}
            >>> np.allclose(held.residual(held.assemble(away))["grip"], 0, atol=1e-9)
            True
        """
        offsets, joints = self._rows("loop_offsets", loop_offsets), self._joints(hold) or ()
        start = self.whole("q", q, "q")
        return self._table(assemble(self.model, start, joints, loop_offsets=offsets), "q")

    @checked
    def consistent_velocities(
        self, q: State, v: State, *, loop_rates: Mapping[str, ArrayLike] | None = None
    ) -> Parts:
        """The velocities nearest to v, in kinetic energy, that the attachments allow: what the
        impulse of a grasp leaves of them.

        Args:
            q: configurations (B, nq), by system.
            v: velocities (B, nv), by system.
            loop_rates: φ̇ of the residuals of attachments that move, by attachment (B, m).

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> v = held.consistent_velocities(q, {"arm": np.ones(3), "ball": np.zeros(6)})
            >>> v["ball"].shape
            (6,)
        """
        model = self._moved(loop_rates)
        rates = self._rows("loop_rates", loop_rates, model)
        at, u = self.whole("q", q, "q"), self.whole("v", v)
        return self._table(consistent_velocities(model, at, u, loop_rates=rates))

    # -- dynamics --

    @checked
    def accelerations(
        self, q: State, v: State, tau: State | None = None, *,
        loop_accelerations: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Parts, Parts]:  # fmt: skip
        """(accelerations by system, multipliers by attachment), of one program: `forward_dynamics`
        and, row by row, what `loop_forces` tells in wrenches. Of least norm where attachments are
        redundant. The equations are rigid: damping, friction and springs do not act.

        Args:
            q: configurations (B, nq), by system.
            v: velocities (B, nv), by system.
            tau: joint forces (B, nv), by system; zero where not given.
            loop_accelerations: φ̈ of the residuals of attachments that move, by attachment (B, m).

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> v = {"arm": np.zeros(3), "ball": np.zeros(6)}
            >>> a, f = held.accelerations(q, v)
            >>> a["arm"].shape, f["grip"].shape
            ((3,), (6,))
        """
        state = self.whole("q", q, "q"), self.whole("v", v), self.whole("tau", tau)
        model, given = self._given(None, loop_accelerations)
        a = self._table(forward_dynamics(model, *state, **given))
        if not model.closures:
            return a, {}
        return a, self._by_attachment(loop_forces(model, *state, **given), model)

    @checked
    def distributed_accelerations(
        self, q: State, v: State, tau: State | None = None, *,
        loop_accelerations: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Parts, Parts]:  # fmt: skip
        """(accelerations by system, multipliers by attachment), trees each by itself: steps A to F
        of Rodriguez, Jain and Kreutz-Delgado. Nothing is compiled when attachments change, and a
        call takes some hundred times as long as one of `accelerations`, which gives the same, of
        rigid equations. Systems with loops of their own are refused, and attachments that are open
        by more than 1e-3.

        Args:
            q: configurations (B, nq), by system.
            v: velocities (B, nv), by system.
            tau: joint forces (B, nv), by system; zero where not given.
            loop_accelerations: φ̈ of the residuals of attachments that move, by attachment (B, m).

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> v = {"arm": np.zeros(3), "ball": np.zeros(6)}
            >>> a, f = held.distributed_accelerations(q, v)
            >>> np.allclose(a["arm"], held.accelerations(q, v)[0]["arm"])
            True
        """
        given = {"q": self.whole("q", q, "q"), "v": self.whole("v", v)}  # says what is missing
        given["tau"] = self.whole("tau", tau)
        rows = self._rows("loop_accelerations", loop_accelerations)  # or not there
        given |= {} if rows is None else {"loop_accelerations": rows}
        broadcast("distributed_accelerations", {n: x.shape[:-1] for n, x in given.items()})
        look("distributed_accelerations", self.model, given)
        parts = self.systems, self.attachments
        acting = {n: x for n, x in (tau or {}).items() if x is not None}  # pyright: ignore[reportUnnecessaryComparison]
        rates, size = loop_accelerations or {}, length_of(self.model)
        return distributed_accelerations(*parts, q, v, acting, rates, size)

    @AttachedSystems._in_machine_code(forward_dynamics, "q", "v", "tau")
    @checked
    def forward_dynamics(
        self, q: State, v: State, tau: State | None = None, wrenches: State | None = None, *,
        loop_accelerations: Mapping[str, ArrayLike] | None = None, resistance: bool = False,
        wrenches_rep: Rep = "body",
    ) -> Parts:  # fmt: skip
        """Accelerations (B, nv) by system, as one program: see `forward_dynamics`. It is compiled
        once for a set of attachments.

        Args:
            q: configurations (B, nq), by system.
            v: velocities (B, nv), by system.
            tau: joint forces (B, nv), by system; zero where not given.
            wrenches: wrenches (B, nb, 6), by system, body-fixed unless told.
            loop_accelerations: φ̈ of the residuals of attachments that move, by attachment (B, m).
            wrenches_rep: representation of the wrenches.
            resistance: whether damping, friction and springs act; without, the equations are rigid.

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> v = {"arm": np.zeros(3), "ball": np.zeros(6)}
            >>> held.forward_dynamics(q, v, {"arm": np.ones(3)})["ball"].shape
            (6,)
        """
        state = self.whole("q", q, "q"), self.whole("v", v), self.whole("tau", tau)
        model, given = self._given(wrenches, loop_accelerations, wrenches_rep)
        if resistance or given:
            return self._table(forward_dynamics(model, *state, resistance=resistance, **given))
        return self._table(forward_dynamics(model, *state))

    @AttachedSystems._in_machine_code(inverse_dynamics, "q", "v", "a")
    @checked
    def inverse_dynamics(
        self, q: State, v: State, a: State, actuated: Joints | None = None,
        wrenches: State | None = None, *, wrenches_rep: Rep = "body", resistance: bool = False,
        **options: Unpack[LeastOptions],
    ) -> Parts:  # fmt: skip
        """Joint forces (B, nv) by system that produce accelerations a: see `inverse_dynamics`.

        Args:
            q: configurations (B, nq), by system.
            v: velocities (B, nv), by system.
            a: accelerations (B, nv), by system, which keep the attachments closed.
            actuated: joints that have a motor ("arms" for all of a system); None: all, and
                attachments bear nothing.
            wrenches: wrenches (B, nb, 6), by system, body-fixed unless told.
            wrenches_rep: representation of the wrenches.
            resistance: whether damping, friction and springs act; without, the equations are rigid.
            options: ``minimize`` and ``weighting``, of `inverse_dynamics`.

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> v = {"arm": np.zeros(3), "ball": np.zeros(6)}
            >>> a = held.forward_dynamics(q, v)
            >>> tau = held.inverse_dynamics(q, v, a, "arm")
            >>> np.allclose(tau["arm"], 0, atol=1e-9)
            True
        """
        state = self.whole("q", q, "q"), self.whole("v", v), self.whole("a", a)
        model, given = self._given(wrenches, None, wrenches_rep)
        if actuated is None and not (resistance or given or options):
            return self._table(inverse_dynamics(model, *state))
        joints = self._joints(actuated)
        found = inverse_dynamics(
            model, *state, actuated=joints, resistance=resistance, **given, **options
        )
        return self._table(found)

    @checked
    def hybrid_dynamics(
        self, q: State, v: State, tau: State, a: State, prescribed: Joints = (),
        wrenches: State | None = None, *,
        loop_accelerations: Mapping[str, ArrayLike] | None = None, wrenches_rep: Rep = "body",
        resistance: bool = False,
    ) -> tuple[Parts, Parts]:  # fmt: skip
        """(τ, a) by system, a given at prescribed joints and τ at the others: see
        `hybrid_dynamics`.

        Args:
            q: configurations (B, nq), by system.
            v: velocities (B, nv), by system.
            tau: joint forces (B, nv), by system; zero where not given.
            a: accelerations (B, nv), by system.
            prescribed: joints whose accelerations are given ("arms" for all of a system).
            wrenches: wrenches (B, nb, 6), by system, body-fixed unless told.
            loop_accelerations: φ̈ of the residuals of attachments that move, by attachment (B, m).
            wrenches_rep: representation of the wrenches.
            resistance: whether damping, friction and springs act; without, the equations are rigid.

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> v = {"arm": np.zeros(3), "ball": np.zeros(6)}
            >>> tau, a = held.hybrid_dynamics(q, v, v, v, ["arm.joint_1"])
            >>> float(a["arm"][0])
            0.0
        """
        state = self.whole("q", q, "q"), self.whole("v", v), self.whole("tau", tau)
        model, given = self._given(wrenches, loop_accelerations, wrenches_rep)
        joints = tuple(self._joints(prescribed) or ())
        found = hybrid_dynamics(
            model, *state, self.whole("a", a), prescribed=joints, resistance=resistance,
            **given,
        )  # fmt: skip
        return self._table(found[0]), self._table(found[1])

    @checked
    def loop_forces(
        self, q: State, v: State, tau: State | None = None, wrenches: State | None = None, *,
        loop_accelerations: Mapping[str, ArrayLike] | None = None, resistance: bool = False,
        wrenches_rep: Rep = "body",
    ) -> Mapping[str, LoopWrench]:  # fmt: skip
        """What attachments (and loops) exert on the bodies, by name: world wrenches at points, see
        `loop_wrenches`. Of least norm where attachments are redundant.

        Args:
            q: configurations (B, nq), by system.
            v: velocities (B, nv), by system.
            tau: joint forces (B, nv), by system; zero where not given.
            wrenches: wrenches (B, nb, 6), by system, body-fixed unless told.
            loop_accelerations: φ̈ of the residuals of attachments that move, by attachment (B, m).
            resistance: whether damping, friction and springs act; without, the equations are rigid.
            wrenches_rep: representation of the wrenches.

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> v = {"arm": np.zeros(3), "ball": np.zeros(6)}
            >>> held.loop_forces(q, v)["grip"].wrenches.shape
            (2, 6)
        """
        state = self.whole("q", q, "q"), self.whole("v", v), self.whole("tau", tau)
        model, given = self._given(wrenches, loop_accelerations, wrenches_rep)
        found: Array = loop_forces(model, *state, resistance=resistance, **given)
        return loop_wrenches(model, state[0], found)

    def energy(self, q: State, v: State) -> Array:
        """Kinetic and potential energy of all systems together, with their springs.

        Args:
            q: configurations (B, nq), by system.
            v: velocities (B, nv), by system.

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> v = {"arm": np.zeros(3), "ball": np.zeros(6)}
            >>> held.energy(q, v).shape
            ()
        """
        at, u = self.whole("q", q, "q"), self.whole("v", v)
        return kinetic_energy(self.model, at, u) + potential_energy(self.model, at)

    @checked
    def simulate(
        self, q0: State, v0: State, duration: float, dt: float, torque: Torque | None = None,
        changes: Sequence[Change] = (), *, tolerance: float = 1e-4,
        **options: Unpack[SystemOptions],
    ) -> Phases:  # fmt: skip
        """The motion over a duration, in steps dt, while attachments come and go: see `simulate`.

        Between two changes it is the motion of one mechanism with loops. At a change, and at the
        start, q stays (attachments and loops that are open by less than the tolerance are closed,
        others are refused with the distance), and velocities become those that the attachments
        leave of them, as an impulse in them does; ``taken`` of a phase is the kinetic energy that
        this costs. Springs, dampers and friction of the systems act unless ``resistance=False``.

        Args:
            q0: configurations (B, nq) at the start, by system.
            v0: velocities (B, nv) at the start, by system.
            duration: in seconds.
            dt: a step, in seconds.
            torque: joint forces by system, constant; or a law τ(t, q, v) of tables that gives one.
            changes: pairs (when, change), one after the other. when: a time (at once, where that
                has passed), or a function g(t, q, v) of tables at whose next zero it happens: by
                dopri5, which is the method then unless told, on its dense output; by methods of
                constant step with a step that ends there. change: a function (system, q) that gives
                another system; q is the table there. Samples of a batch with events move one after
                the other, each with changes at its own times (``samples`` of what is returned);
                placements that differ from sample to sample (``attach(..., at=q)``) are models that
                differ, each compiled for itself.
            tolerance: metres or radians by which attachments and loops may be open.
            options: of `simulate`: method, wrenches (by system), record_every, resistance, ...;
                ``loop_offsets`` and ``prescribed`` are laws of time of attachments and of joints
                ("arms.elbow"), in force while there is what they are for, as forces in tables are.

        Example:
            >>> arm, ball = mz.load("arm.urdf"), mz.load("ball.urdf", base="free")
            >>> both = mz.ClosedSystem({"arm": (arm, ["tool"]), "ball": (ball, ["ball"])})
            >>> q = {"arm": np.zeros(3), "ball": ball.neutral()}
            >>> held = both.attach("grip", ("arm", "tool"), ("ball", "ball"), at=q)
            >>> v = {"arm": np.zeros(3), "ball": np.zeros(6)}
            >>> drop = lambda system, q: system.detach("grip")
            >>> phases = held.simulate(q, v, 0.02, 1e-3, changes=[(0.01, drop)])
            >>> len(phases), phases.q("arm").shape
            (2, (22, 3))
        """
        return simulated(self, q0, v0, duration, dt, torque, changes, tolerance, options)
