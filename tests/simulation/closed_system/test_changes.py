"""Motions with changes at times, and under laws of time."""

from __future__ import annotations

import numpy as np
import pytest
from support.attached_systems import arm, bar

import mozzi as mz
from mozzi.model.generate import four_bar


def test_released_and_caught_at_times(held: tuple):
    """Energy stays between changes; a stop that is open is refused with the distance."""
    system, q, v = held
    small = system.without_system("gate")
    q, v = ({n: x[n] for n in small.systems} for x in (q, v))
    part = small.attachments[0]
    v = small.consistent_velocities(q, v)

    def caught(x: mz.ClosedSystem, q: dict) -> mz.ClosedSystem:
        return x.attach("stop", ("world", ""), ("arm", "hand"), mz.Free())

    motion = small.simulate(
        q, v, 0.3, 2e-3, changes=[(0.1, lambda x, q: x.detach(part.name)), (0.2, caught)]
    )
    assert [round(float(x.t[0]), 9) for x in motion] == [0.0, 0.1, 0.2]
    assert motion[1].system.attachments == () and len(motion) == 3
    E = motion.energy()
    assert np.abs(E - E[0]).max() < 1e-6  # a stop that is a free joint stops nothing
    drop = motion[1].v["bar"][0]
    np.testing.assert_allclose(drop, motion[0].v["bar"][-1], atol=1e-12)
    fixed = lambda x, q: x.attach("stop", ("world", ""), ("bar", "bar"), placement_a=np.eye(4))
    with pytest.raises(mz.LoopError, match=r"attachment 'stop' is open by"):
        small.simulate(q, v, 0.2, 2e-3, changes=[(0.1, fixed)])
    with pytest.raises(mz.ConfigurationError, match="give them in order"):
        same = lambda x, q: x
        small.simulate(q, v, 0.2, 2e-3, changes=[(0.1, same), (0.05, same)])
    with pytest.raises(mz.ConfigurationError, match=r"one at t = 0\.5 s comes after the end"):
        small.simulate(q, v, 0.2, 2e-3, changes=[(0.1, same), (0.5, same)])


@pytest.mark.parametrize(("gap", "tolerance"), [(5e-3, 1e-2), (0.05, 0.1)])
@pytest.mark.parametrize("hinge", [
    mz.Spherical(), mz.Fixed(),
    mz.Composite(mz.Revolute("y").between(None, (0.2, 0.1, 0.0)), mz.Prismatic("x")),
])  # fmt: skip
def test_what_is_open_by_less_than_the_tolerance_is_closed(
    gripped: tuple, hinge: mz.Joint, gap: float, tolerance: float
):
    """However wide that is: at the start or by a change, with the velocities of an impulse there
    (two steps of Newton's method close what is hardly open, and no more).
    """
    system, q, v = gripped
    free = system.detach("grip")
    held = free.attach("grip", ("arm", "hand"), ("bar", "bar"), hinge, at=q)
    aside = gap * np.array([0.3, -0.4, 0.5, 0.4, 0.3, -0.2])
    away = {"arm": q["arm"], "bar": mz.integrate(bar(), q["bar"], aside)}
    v = {"arm": v["arm"], "bar": np.ones(6)}
    for first, changes in ((held, []), (free, [(0.0, lambda x, q: held)])):
        motion = first.simulate(away, v, 4e-3, 2e-3, changes=changes, tolerance=tolerance)
        at, u = ({n: x[0] for n, x in table.items()} for table in (motion[0].q, motion[0].v))
        assert np.abs(held.residual(at)["grip"]).max() < 1e-12
        right = held.consistent_velocities(at, v)
        for name, x in u.items():
            np.testing.assert_allclose(x, right[name], rtol=0.0, atol=1e-8)


def test_what_simulate_cannot_use_is_named(system: mz.ClosedSystem):
    q = {n: m.neutral() for n, (m, _) in system.systems.items()}
    q["gate"] = mz.assemble(four_bar(), [0.3, 0.5, 1.5])
    v = {n: np.zeros(m.nv) for n, (m, _) in system.systems.items()}
    run = lambda when, change=lambda system, q: system, method="rkmk4", **options: system.simulate(
        q, v, 2e-3, 1e-3, changes=[(when, change)], method=method, **options
    )
    for event, words in (
        (lambda t, q, v: "no", "what event <lambda> gives is 'no'; give a number for each sample"),
        (lambda t, q, v: None, "gives is None"),
        (lambda t, q, v: q["arm"][..., 0] > 1.0, "z - h, not z < h"),  # no zero to be found
        (lambda t, q, v: np.zeros(7), r"gives has shape \(7,\)"),
    ):
        for method in ("rkmk4", "dopri5"):
            with pytest.raises(mz.ConfigurationError, match=words):
                run(event, method=method)
    with pytest.raises(mz.ConfigurationError, match=r"an event takes \(q, v, t\)"):
        run(lambda q, v, t: v["arm"][..., 0])
    with pytest.raises(mz.ConfigurationError, match=r"the law takes \(q, v, t\)"):
        run(1e-3, torque=lambda q, v, t: v)
    for change in (lambda q, system: system, lambda system: system):
        with pytest.raises(mz.ConfigurationError, match=r"a change takes .*\(system, q\)"):
            run(1e-3, change)
    for when, change, words in (
        ("soon", lambda system, q: system, "when of a change is 'soon'"),
        (1e-3, "open", "a change is 'open'; give a function"),
        (1e-3, lambda system, q: None, "what the change at t = 0.001 s gives is None"),
    ):
        with pytest.raises(mz.KindError, match=words):
            run(when, change)
    for options, words in (
        ({"torque": lambda t, q, v: None}, "what torque gives is None"),
        ({"wrenches": np.zeros((7, 6))}, "give a table by system"),
        ({"t0": "now"}, "t0 is 'now'"),
    ):
        with pytest.raises(mz.KindError, match=words):
            run(1e-3, **options)
    with pytest.raises(mz.ConfigurationError, match=r"save what phases have: phases\[0\]"):
        run(1e-3, save="motion.npz")
    many = q | {"arm": np.zeros((2, 3)), "bar": np.stack([q["bar"]] * 3)}
    words = r"q: the batch axes \(2,\) of 'arm', \(3,\) of 'bar', .* do not broadcast"
    for changes in ([], [(lambda t, q, v: t - 1.0, lambda system, q: system)]):
        with pytest.raises(mz.ConfigurationError, match=words):
            system.simulate(many, v, 2e-3, 1e-3, changes=changes)
    with pytest.raises(mz.ShapeError, match=r"at of 'arm' has shape .* one by one"):
        system.attach("grip", ("arm", "hand"), ("bar", "bar"), at=many)


def test_a_law_of_tables_in_a_batch(held: tuple):
    """Motors of the arm hold it where it is, of three samples at once."""
    system, q, v = held
    small = system.without_system("gate").detach("ball")
    q, v = ({n: np.tile(x[n], (3, 1)) for n in small.systems} for x in (q, v))
    goal = q["arm"][0]

    def law(t, q, v):
        return {"arm": -200.0 * (q["arm"] - goal) - 20.0 * v["arm"]}

    motion = small.simulate(q, v, 0.05, 1e-3, law)
    assert motion.q("arm").shape == (3, 51, 3)
    end, _ = motion.end
    one = mz.simulate(arm(), q["arm"][0], v["arm"][0], 0.05, 1e-3,
                      torque=lambda t, q, v: -200.0 * (q - goal) - 20.0 * v)  # fmt: skip
    np.testing.assert_allclose(end["arm"][1], one.q[-1], atol=1e-10)


@pytest.mark.parametrize("method", ["rkmk4", pytest.param("dopri5", marks=pytest.mark.slow)])
def test_attachments_that_follow_a_law(gripped: tuple, method: str):
    """A ball that is moved in the hand: the same motion whether or not something happens on the
    way, at a time or on an event, and the law is kept until it is let go.
    """
    held, q, v = gripped
    law = lambda t: [0.05 * t * t, 0.02 * t, 0.0]
    given = {"method": method, "loop_offsets": {"grip": law}}
    one = held.simulate(q, v, 0.06, 2e-3, **given)
    for when in (0.03, lambda t, q, v: t - 0.03):
        two = held.simulate(q, v, 0.06, 2e-3, changes=[(when, lambda x, q: x)], **given)
        assert len(two) == 2
        np.testing.assert_allclose(two.end[0]["bar"], one.end[0]["bar"], atol=1e-8)
        np.testing.assert_allclose(held.residual(two.end[0])["grip"], law(0.06), atol=1e-10)
    drop = lambda x, q: x.detach("grip")
    let_go = held.simulate(q, v, 0.06, 2e-3, changes=[(0.03, drop)], **given)
    np.testing.assert_allclose(let_go[1].v["bar"][0], let_go[0].v["bar"][-1], atol=1e-12)
    E = let_go[1].trajectory.energy()
    assert np.abs(E - E[0]).max() < 1e-6


def test_laws_of_what_is_not_there(gripped: tuple):
    """Those of attachments that come later wait for them; of what never comes, they are refused."""
    held, q, v = gripped
    later = lambda x, q: x.attach("late", ("arm", "hand"), ("bar", "bar"), mz.Spherical(), at=q)
    law = lambda t: [0.1 * (t - 0.01) ** 2, 0.0, 0.0]
    motion = held.detach("grip").simulate(
        q, v, 0.02, 1e-3, changes=[(0.01, later)], loop_offsets={"late": law}
    )
    left = motion[1].system.residual(motion.end[0])["late"]
    np.testing.assert_allclose(left, [1e-5, 0.0, 0.0], atol=1e-12)
    joint, start = "arm.joint_0", float(q["arm"][0])
    driven = held.simulate(q, v, 0.02, 1e-3, prescribed={joint: lambda t: start + 0.3 * t},
                           changes=[(0.01, lambda x, q: x.detach("grip"))])  # fmt: skip
    np.testing.assert_allclose(driven.q("arm")[:, 0], start + 0.3 * driven.t, atol=1e-12)
    for away in (1e-3, 0.2):  # the start was moved to the law, in silence
        with pytest.raises(mz.ConfigurationError, match=f"'arm.joint_0' starts {away:g} away"):
            held.simulate(q, v, 2e-3, 1e-3, prescribed={joint: lambda t: start + away + t})  # noqa: B023
    for options, words in (
        ({"loop_offsets": {"gripp": law}}, "loop_offsets: no attachment 'gripp'; there are 'grip'"),
        ({"prescribed": {"arm.elbow": law}}, "prescribed: no joint 'arm.elbow'; there are 'arm.j"),
        ({"loop_offsets": [law]}, "give a table by attachment"),
    ):
        with pytest.raises(mz.ConfigurationError, match=words):
            held.simulate(q, v, 2e-3, 1e-3, changes=[(1e-3, lambda x, q: x)], **options)


def test_forces_on_what_a_change_takes_away(gripped: tuple):
    """Joint forces and wrenches in tables act on what is there, as laws of time do."""
    system, q, v = gripped
    forces = {"arm": np.array([0.3]), "bar": np.arange(6.0)}, {"bar": np.ones((1, 6))}
    gone = lambda x, q: x.without_system("bar")
    motion = system.simulate(
        q, v, 4e-3, 1e-3, forces[0], wrenches=forces[1], changes=[(2e-3, gone)]
    )
    alone = mz.simulate(
        system.systems["arm"][0], motion[0].q["arm"][-1], motion[0].v["arm"][-1], 2e-3, 1e-3,
        torque=forces[0]["arm"],
    )  # fmt: skip
    np.testing.assert_allclose(motion[1].q["arm"], alone.q, rtol=0.0, atol=1e-12)
    many, event = {n: np.stack([x] * 2) for n, x in v.items()}, lambda t, q, v: t - 2e-3
    freed = system.simulate(q, many, 4e-3, 1e-3, changes=[(event, gone)], wrenches=None)
    np.testing.assert_allclose(freed.changed, 2e-3)


def test_changes_at_one_time_come_one_after_the_other(gripped: tuple):
    """A thing that is stopped and let go at once has been stopped, as if a moment lay between; a
    change may come at the start; no samples are refused, with events too.
    """
    held, q, v = gripped
    free = held.detach("grip")
    stop = lambda x, q: x.attach("pin", ("world", ""), ("bar", "bar"), mz.Spherical(), at=q)
    drop = lambda x, q: x.detach("pin")
    ends, taken = [], []
    for wait in (0.0, 1e-9):
        x = free.simulate(q, v, 0.04, 2e-3, changes=[(0.02, stop), (0.02 + wait, drop)],
                          method="rkmk4")  # fmt: skip
        ends.append(np.concatenate([x.end[1]["arm"], x.end[1]["bar"]]))
        taken.append(sum(float(phase.taken) for phase in x))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)
    assert taken[0] > 1e-3 and abs(taken[0] - taken[1]) < 1e-9
    first = free.simulate(q, v, 0.01, 1e-3, changes=[(0.0, stop)])
    assert len(first) == 1 and float(first[0].taken) > 1e-3
    none = {n: np.zeros((0, len(x))) for n, x in q.items()}
    rest = {n: np.zeros((0, len(x))) for n, x in v.items()}
    for when in (1e-3, lambda t, q, v: t - 1e-3):
        with pytest.raises(mz.ConfigurationError, match="hold no sample"):
            free.simulate(none, rest, 2e-3, 1e-3, changes=[(when, lambda x, q: x)])


def test_changes_a_moment_apart(gripped: tuple):
    """However short a phase is, it is one: let go, and caught again before anything has moved."""
    system, q, v = gripped
    part = system.attachments[0]
    again = part.name, part.a, part.b, part.joint, part.placement_a, part.placement_b
    for apart in (1e-9, 1e-12, 1e-14):
        motion = system.simulate(q, v, 0.05, 0.01, method="rkmk4", changes=[
            (0.02, lambda x, q: x.detach("grip")),
            (0.02 + apart, lambda x, q: x.attach(*again)),
        ])  # fmt: skip
        assert [len(x.t) for x in motion] == [3, 2, 4]
        alone = system.simulate(q, v, 0.05, 0.01, method="rkmk4")
        np.testing.assert_allclose(motion.end[0]["bar"], alone.end[0]["bar"], atol=1e-7)


def test_parameters_are_of_one_mechanism(gripped: tuple):
    """The impulse of a change would be of other masses than the motion."""
    system, q, v = gripped
    with pytest.raises(mz.ConfigurationError, match=r"parameters= vary one mechanism.*with_system"):
        system.simulate(q, v, 0.1, 0.01, parameters={"bar.bar.mass": [1.0, 2.0]})
