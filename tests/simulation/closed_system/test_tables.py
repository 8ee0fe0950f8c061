"""Tables by system and by attachment: what they hold, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain


def test_names_that_there_are_none_of(held: tuple):
    system, q, v = held
    with pytest.raises(mz.ConfigurationError, match="q: nothing for 'gate'"):
        system.forward_dynamics({n: q[n] for n in ("arm", "bar")}, v)
    with pytest.raises(mz.ConfigurationError, match="wrenches: no system 'bars'; there are 'bar'"):
        system.forward_dynamics(q, v, wrenches={"bars": np.zeros((1, 6))})
    with pytest.raises(mz.ConfigurationError, match="loop_accelerations: no attachment 'bell'"):
        system.forward_dynamics(q, v, loop_accelerations={"bell": np.zeros(3)})
    with pytest.raises(mz.ConfigurationError, match=r"tau of 'arm' has shape \(4,\)"):
        system.forward_dynamics(q, v, {"arm": np.zeros(4)})
    with pytest.raises(mz.ModelError, match=r"no joint 'arm\.elbow'"):
        system.hybrid_dynamics(q, v, {}, v, ["arm.elbow"])
    with pytest.raises(mz.UnknownNameError, match="no attachment 'x' to detach"):
        system.detach("x")
    with pytest.raises(mz.LoopError, match="'gate' by itself does not honour loops"):
        system.distributed_accelerations(q, v)
    place = r"no closure frame \('world', 'table'\); there are .* and \('world', ''\)"
    with pytest.raises(mz.ModelError, match=place):  # it was the world's origin, without a word
        system.attach("x", ("world", "table"), ("bar", "bar"))
    for place in ("arm", "hand"), ("world", ""):
        with pytest.raises(mz.ModelError, match=r"'x': both ends, .* are on one body"):
            system.attach("x", place, place)
    with pytest.raises(mz.ModelError, match=r"'hnad'\); there are \('arm', 'hand'\)"):
        system.attach("x", ("arm", "hnad"), ("bar", "bar"))
    with pytest.raises(mz.ConfigurationError, match="attachment 'x': at: no system 'amr'; there"):
        system.attach("x", ("arm", "hand"), ("bar", "bar"), at={**q, "amr": q["arm"]})
    with pytest.raises(mz.ModelError, match="there is no system"):
        mz.ClosedSystem({})
    moving = system.simulate(q, v, 1e-3, 1e-3)
    with pytest.raises(mz.UnknownNameError, match="no system 'arms' in phase 0; it has 'arm',"):
        moving.q("arms")


def test_rows_that_do_not_fit_an_attachment(held: tuple):
    """Neither one number for all rows nor those of another attachment, whichever way is asked."""
    system, q, v = held
    simple = system.without_system("gate")
    q, v = ({n: x[n] for n in simple.systems} for x in (q, v))
    for ask in (simple.forward_dynamics, simple.accelerations, simple.distributed_accelerations):
        for wrong in (np.ones(4), np.ones(1), 1.0):
            with pytest.raises(mz.ShapeError, match="loop_accelerations: that of 'ball' has shape"):
                ask(q, v, loop_accelerations={"ball": wrong})
        with pytest.raises(mz.ConfigurationError, match="no attachment 'bell'; there are 'ball'"):
            ask(q, v, loop_accelerations={"bell": np.ones(3)})
    two = {"ball": np.ones((2, 3)), "again": np.ones((3, 3))}
    part = simple.attachments[0]
    twice = simple.attach("again", part.a, part.b, part.joint, None, part.placement_b)
    with pytest.raises(mz.ConfigurationError, match=r"\(2,\) of 'ball', \(3,\) of 'again'"):
        twice.forward_dynamics(q, v, loop_accelerations=two)


def test_trees_each_by_itself_take_the_same_tables(held: tuple):
    """None for no forces, and numbers that are not finite by the name of the system."""
    system, q, v = held
    simple = system.without_system("gate")
    q, v = ({n: x[n] for n in simple.systems} for x in (q, v))
    found = simple.distributed_accelerations(q, v, {"arm": None})[0]
    for name, x in simple.forward_dynamics(q, v, {"arm": None}).items():
        assert found[name] == pytest.approx(x, rel=1e-9, abs=1e-9)
    for wrong in ({"q": q | {"arm": np.full_like(q["arm"], np.nan)}, "v": v},
                  {"q": q, "v": v | {"arm": np.full_like(v["arm"], np.inf)}}):  # fmt: skip
        with pytest.raises(mz.ConfigurationError, match=r"distributed_accelerations: .*'arm\."):
            simple.distributed_accelerations(**wrong)


def test_tables_of_arrays_by_body(held: tuple):
    system, _, _ = held
    W = np.arange(2.0 * system.model.nb * 6).reshape(2, system.model.nb, 6)
    table = system.parts(W, "b")
    assert [x.shape for x in table.values()] == [(2, 3, 6), (2, 1, 6), (2, 3, 6)]
    np.testing.assert_array_equal(system.whole("wrenches", table, "b"), W)
    with pytest.raises(mz.ShapeError, match=r"last axes are \(7, 6\)"):
        system.parts(np.zeros(system.model.nv), "b")


@pytest.mark.parametrize("count", [1, 2, 20])
def test_one_array_of_a_table(count: int):
    """What a table says, however it says it: by machine code where it fits, else by NumPy."""
    models = {f"s{k}": chain(k % 3 + 1, seed=k) for k in range(count)}
    system = mz.ClosedSystem({name: (model, []) for name, model in models.items()})
    rng = np.random.default_rng(0)
    for lead in ((), (3,), (2, 1)):
        table = {n: rng.normal(size=(*lead, m.nv)) for n, m in models.items()}
        wanted = np.concatenate([*table.values()], axis=-1)
        again = {n: table[n] for n in reversed(table)}
        lists = {n: x.tolist() for n, x in table.items()}
        wide = {n: np.stack([x, 0.0 * x], axis=-1)[..., 0] for n, x in table.items()}
        for given in (table, again, lists, wide, {**table, "s0": table["s0"].astype("f4")}):
            off = np.abs(system.whole("v", given) - wanted).max()
            assert off == 0.0 or (off < 1e-6 and given["s0"].dtype == "f4")
        some = {n: x for n, x in table.items() if n == "s0"}
        padded = np.concatenate([table["s0"], np.zeros((*lead, wanted.shape[-1] - 1))], axis=-1)
        np.testing.assert_array_equal(system.whole("tau", some), padded)
        for name, x in system.parts(wanted).items():
            np.testing.assert_array_equal(x, table[name])
    one = system.whole("v", {n: np.ones(m.nv, int) for n, m in models.items()})
    assert (one == 1.0).all()
    one[:] = 7.0  # an array of one's own
    assert (system.whole("tau", None) == 0.0).all()
    with pytest.raises(mz.ConfigurationError, match="v of 's0' has shape"):
        system.whole("v", {**table, "s0": np.zeros(models["s0"].nv + 1)})
    for wrong in ("abc", [[1.0], [2.0, 3.0]], np.zeros(1, complex), object()):
        with pytest.raises(mz.KindError, match=r"v of 's0' is .*; give an array of real numbers"):
            system.whole("v", {**table, "s0": wrong})
    for wrong in (None, 3, [1.0], np.zeros(3), "s0"):
        with pytest.raises(mz.KindError, match=r"v is .*; give a dict: the name of a system"):
            system.whole("v", wrong)  # type: ignore[arg-type]


def test_rows_for_more_samples_than_states(held: tuple):
    """One state with laws of many samples, and the other way round: batch axes broadcast, or it is
    said which do not.
    """
    system, q, v = held
    simple = system.without_system("gate")
    q, v = ({n: x[n] for n in simple.systems} for x in (q, v))
    rows = {"ball": 1e-3 * np.random.default_rng(1).normal(size=(4, 1, 3))}
    wide = {n: np.stack([x] * 3) for n, x in q.items()}
    one, other = (
        ask(wide, v, loop_accelerations=rows)[0]
        for ask in (simple.accelerations, simple.distributed_accelerations)
    )
    for name, x in one.items():
        assert x.shape[:-1] == (4, 3)
        np.testing.assert_allclose(other[name], x, rtol=1e-9, atol=1e-9)
    closed = simple.assemble(q, loop_offsets=rows)
    np.testing.assert_allclose(simple.residual(closed)["ball"], rows["ball"], atol=1e-9)
    simple.check_closed(closed, loop_offsets=rows)
    assert simple.consistent_velocities(wide, v, loop_rates=rows)["arm"].shape == (4, 3, 3)
    few = {"ball": np.zeros((2, 3))}
    for ask in (
        lambda: simple.assemble(wide, loop_offsets=few),
        lambda: simple.check_closed(wide, loop_offsets=few),
        lambda: simple.consistent_velocities(wide, v, loop_rates=few),
        lambda: simple.distributed_accelerations(wide, v, loop_accelerations=few),
        lambda: simple.accelerations(wide, v, loop_accelerations=few),
    ):
        with pytest.raises(mz.ConfigurationError, match=r"do not broadcast"):
            ask()
