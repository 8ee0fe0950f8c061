"""`simulate`: the motion of a mechanism from an initial state."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Unpack

from mozzi.checked import checked
from mozzi.model import Model
from mozzi.simulation.forces.drives import Prescribed, TimeLaw
from mozzi.simulation.forces.law import Law
from mozzi.simulation.forces.resistance import Limits, Resistance
from mozzi.simulation.methods.dormand_prince import DormandPrince
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.methods.options import MethodOptions
from mozzi.simulation.running.simulation import Simulation
from mozzi.simulation.system import Feedback
from mozzi.simulation.trajectories.trajectory import Interrupted, Trajectory
from mozzi.types import ArrayLike, Device, DType, Method, Rep

__all__ = ["simulate"]


@checked
def simulate(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    dt: float,
    method: Method | OneStep | DormandPrince | None = None,
    torque: ArrayLike | Feedback | Law | None = None,
    *,
    wrenches: ArrayLike | None = None,
    wrenches_rep: Rep = "body",
    resistance: bool | Resistance = True,
    limits: Limits = False,
    prescribed: Prescribed | None = None,
    loop_offsets: Mapping[str, TimeLaw] | None = None,
    record_every: int = 1,
    t0: float = 0.0,
    trace: bool | None = None,
    target: Device = "cpu",
    dtype: DType = "float64",
    parameters: Mapping[str, ArrayLike] | None = None,
    save: str | os.PathLike[str] | None = None,
    progress: Callable[[float], None] | bool | None = None,
    **options: Unpack[MethodOptions],
) -> Trajectory:
    """The motion from (q0, v0) over a duration, in steps dt.

    Dynamics and integrator are one program: a call of it takes all samples through all steps
    between two records. q0 and v0 broadcast.

    A sample that diverges is stopped and named in a `DivergenceWarning` and in
    ``trajectory.diverged``; the others go on. Where the loops of a mechanism lose rank in a record,
    are singular from the start on, or steps beside such a configuration are too coarse, a
    `SingularWarning` tells when; where moreau misses a law of contact, friction or limits by more
    than 1e-6 m/s (or rad/s), a `ContactWarning` does: see ``trajectory.contact_residual``; so it
    does of impacts of dopri5.
    Energy that changes though nothing drives or brakes, or that is won though nothing drives, is an
    `EnergyWarning`, dry friction that is too stiff for explicit steps a `StiffWarning`, both with
    the method to take.

    Ctrl-C stops it within half a second: `Interrupted`, a KeyboardInterrupt, has the trajectory of
    what was computed.

    Cost: a step takes one (semi_implicit) to some (rkmk4: four, implicit ones: their iterations)
    forward dynamics, O(n) without loops.

    Args:
        model: the mechanism.
        q0 (B, nq): the configuration at the start.
        v0 (B, nv): the velocities at the start.
        duration: in seconds.
        dt: a step, in seconds. Where it does not divide the duration, the last step is shorter.
        method: semi_implicit, rkmk4, dopri5, generalized_alpha, momentum or moreau; or a method of
            `mozzi.simulation`. dopri5 chooses its own steps: dt is the distance of its records.
            Where the model has contacts moreau, else rkmk4, unless told.
        torque: None; (nv,) or (B, nv), constant; (B, steps, nv), a row for every step; or a law
            τ(t, q, v). A law is traced once, with arrays of traced scalars, and compiled along: it
            may call algorithms and NumPy's functions, and chooses with `where`. A law that cannot
            be traced is called from Python before every step, with arrays (B, nq) and (B, nv), and
            its torque is held over the step. A `Law` is sampled, with a state of its own.
        wrenches (B, nb, 6), optional: wrenches on the bodies, constant.
        wrenches_rep: the representation in which they are constant: "body" (they move along with
            their bodies), "spatial", "hybrid" (they keep their direction) or "mixed".
        resistance: damping, friction and springs of the joints, and springs and dampers between
            bodies, act as the model has them; False takes them out, `Resistance` chooses. Dry
            friction sticks exactly with moreau, and is smooth with other methods.
        limits: whether elastic stops act at the limits of the joints; `Stops` says how hard.
            "rigid" or `RigidStops`: rigid ones, with moreau.
        prescribed: driven joints: {joint, or (joint, number of a coordinate): law}. A law is a
            function of t alone that gives the position, one number or the nq of the joint, traced
            and differentiated; q0 is where the laws begin, and v0 becomes the nearest velocities
            that they allow. What drives is in ``trajectory.drive_forces`` and ``drive_power()``.
        loop_offsets: closures that move: {loop: law}, what their residuals shall be, row by row
            (`loop_rows`); rows of velocities follow the rate of theirs. Here, too, v0 becomes the
            nearest velocities that they allow.
        record_every: how many steps lie between two records. The end is always recorded.
        t0: the time at the start, in seconds, of which a law may make something.
        trace: True for a law that must be traced, False for one that must be called from Python;
            None tries to trace it, and warns where that fails.
        target: where it runs, "cpu" or "cuda". On a GPU a launch takes all samples to the next
            record, the state stays there, and records come back. Laws must be traced.
        dtype: the numbers of the steps, "float64" or "float32" (not for dopri5, which measures
            smaller errors); records are float64.
        parameters: numbers that differ from sample to sample, by name: of the model, named as in
            `sensitivity` ("link_3.mass", "joint_2.damping"), and of arguments that the law has
            behind (t, q, v), such as gains. Each broadcasts with the batch axes B. A law that calls
            algorithms on the model sees it as it is; one with an argument `model` gets that which
            moves.
        save: a folder of zarr to which records go as they come (extra ``cluster``): memory holds
            one block of them, and after a crash the same call goes on from the last block, to the
            same numbers. A law of torque must be the same one, and have no memory of its own.
        progress: True for a bar, below the cell of a notebook or in the terminal; or a function
            that is called with the share of the work that is done.
        options: of the method, such as ``rtol``, ``atol`` and ``events`` of dopri5, ``rho`` of
            generalized_alpha, or ``state="momentum"`` of rkmk4, which integrates spatial momenta
            instead of velocities and so keeps the momentum of what floats to rounding.

    Returns:
        A `Trajectory` with the times t (n,), and q (B, n, nq), v (B, n, nv) at these times.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> motion = mz.simulate(arm, arm.neutral(), np.zeros(3), 0.1, 0.01, resistance=False)
        >>> motion.q.shape, bool(motion.energy_drift() < 1e-6)
        ((11, 3), True)
    """
    simulation = Simulation(
        model, q0, v0, duration, dt, method, torque, wrenches=wrenches, wrenches_rep=wrenches_rep,
        resistance=resistance, limits=limits, prescribed=prescribed, loop_offsets=loop_offsets,
        record_every=record_every, t0=t0, trace=trace, target=target, dtype=dtype,
        parameters=parameters, save=save, **options,
    )  # fmt: skip
    try:
        if progress is True:
            from mozzi.viz.progress import watched

            with watched(model.name) as tell:
                for share in simulation.run():
                    tell(share)
        else:
            for share in simulation.run():
                if callable(progress):
                    progress(share)
    except KeyboardInterrupt:
        simulation.keep()
        raise Interrupted(simulation.trajectory(tell=False)) from None
    return simulation.trajectory()
