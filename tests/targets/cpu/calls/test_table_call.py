"""Tables of arrays in machine code: the same as Python makes of them, and nothing kept or lost."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain
from mozzi.targets.cpu.calls import single_call
from mozzi.targets.cpu.calls.table_call import Places, around, join, split

pytestmark = pytest.mark.skipif(not single_call.possible(), reason="only of usual CPython")

PLACES = Places([("a", 0, 2), ("b", 2, 2), ("c", 2, 5)], 5)
WIDE = Places([("a", 0, 2), ("c", 2, 5)], 5, 6)
RNG = np.random.default_rng(0)


def table(places: Places = PLACES) -> dict[str, np.ndarray]:
    tail = () if places.width is None else (places.width,)
    return {name: RNG.normal(size=(end - start, *tail)) for name, start, end in places.arrays}


@pytest.mark.parametrize("places", [PLACES, WIDE])
def test_joined_and_split(places: Places):
    given = table(places)
    whole = join(places)(given)
    np.testing.assert_array_equal(whole, np.concatenate([*given.values()]))
    again = split(places)(whole)
    assert list(again) == list(given)
    for name, x in again.items():
        np.testing.assert_array_equal(x, given[name])
        assert x.flags.owndata and x.flags.writeable


@pytest.mark.parametrize("batch", [0, 1, 7])
@pytest.mark.parametrize("places", [PLACES, WIDE])
def test_batches_are_joined_as_they_are(places: Places, batch: int):
    """Sample by sample; a batch beside one sample, another batch or a further axis is not known."""
    one = table(places)
    many = {name: RNG.normal(size=(batch, *x.shape)) for name, x in one.items()}
    whole = join(places)(many)
    axis = -1 if places.width is None else -2
    np.testing.assert_array_equal(whole, np.concatenate([*many.values()], axis=axis))
    some = join(places, optional=True)({"c": many["c"]})
    assert some.shape == whole.shape and not some[:, :2].any()
    np.testing.assert_array_equal(some[:, 2:], many["c"])
    for other in (one["c"], many["c"][None], np.zeros((batch + 1, *one["c"].shape))):
        assert join(places)({**many, "c": other}) is None
        assert join(places)({**one, "a": many["a"]}) is None
    assert split(places)(whole) is None  # views are better
    call = around(lambda first, x: x, None, [(places, False)], places)
    assert call(many) is None and call(one) is not None


def test_arrays_lie_where_their_places_are():
    """Rows that are nobody's are left out, and order is that of the places."""
    some = Places([("last", 4, 6), ("first", 1, 2)], 7)
    x = np.arange(7.0)
    found = split(some)(x)
    assert {name: y.tolist() for name, y in found.items()} == {"last": [4.0, 5.0], "first": [1.0]}


def test_what_is_missing_is_zero_where_it_may():
    given, some = table(), join(PLACES, optional=True)
    assert some(None).tolist() == [0.0] * 5 == some({}).tolist()
    assert some({"c": given["c"]}).tolist() == [0.0, 0.0, *given["c"]]
    assert join(PLACES)(None) is None and join(PLACES)({}) is None
    assert join(PLACES)({"c": given["c"]}) is None


class Table(dict):
    """Not exactly a dict."""


def others() -> dict[str, object]:
    x = table()
    return {
        "a name too many": {**x, "d": np.zeros(1)},
        "another name": {"a": x["a"], "b": x["b"], "d": x["c"]},
        "too short": {**x, "c": np.zeros(2)},
        "a batch": {**x, "c": np.zeros((1, 3))},
        "float32": {**x, "c": np.zeros(3, "f4")},
        "another byte order": {**x, "c": np.zeros(3, ">f8")},
        "a step of two": {**x, "c": np.zeros(6)[::2]},
        "a list": {**x, "c": [1.0, 2.0, 3.0]},
        "None": {**x, "c": None},
        "a subclass": {**x, "c": np.ma.zeros(3)},
        "no dict": Table(x),
        "a number": 3,
        "none at all": None,
    }


@pytest.mark.parametrize("what", others())
def test_all_else_is_for_python(what: str):
    """None, and no array more or less is alive than before."""
    given, read = others()[what], join(PLACES)
    values = given.values() if isinstance(given, dict) else ()
    parts = [x for x in values if isinstance(x, np.ndarray)]
    before = [sys.getrefcount(x) for x in parts]
    for _ in range(50):
        assert read(given) is None
    assert [sys.getrefcount(x) for x in parts] == before
    assert read() is None and read(given, given) is None and read(table=given) is None


def test_arrays_that_are_not_split():
    part = split(PLACES)
    for x in (np.zeros(4), np.zeros((1, 5)), np.zeros(5, "f4"), np.zeros(10)[::2], [0.0] * 5, None):
        assert part(x) is None


def test_a_function_between():
    calls = []

    def sums(first: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        calls.append(first)
        if np.isnan(x).any():
            raise ValueError("no number")
        return x + y

    both = around(sums, "me", [(PLACES, False), (PLACES, True)], PLACES)
    x, y = table(), table()
    found = both(x, y)
    assert {n: z.tolist() for n, z in found.items()} == {n: (x[n] + y[n]).tolist() for n in x}
    alone = both(x, None)
    assert {n: z.tolist() for n, z in alone.items()} == {n: z.tolist() for n, z in x.items()}
    assert calls == ["me", "me"]
    assert both(x) is None and both(None, y) is None and both(x, {"d": y["a"]}) is None
    assert len(calls) == 2  # not called
    with pytest.raises(ValueError, match="no number"):
        both({**x, "c": np.full(3, np.nan)}, y)


def test_a_table_whose_keys_cannot_be_compared():
    """What a key raises is raised."""

    class Odd(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("odd")

    with pytest.raises(RuntimeError, match="odd"):
        join(PLACES)({Odd("a"): np.zeros(2), "b": np.zeros(0), "c": np.zeros(3)})


def test_nothing_is_kept():
    """Neither arguments nor results, nor the model when the function goes."""
    x = table()
    kept: list[weakref.ref[np.ndarray]] = []

    def same(first: object, y: np.ndarray) -> np.ndarray:
        kept.append(weakref.ref(y))
        return y

    model = chain(2)
    call = around(same, model, [(PLACES, False)], PLACES)
    before = [sys.getrefcount(y) for y in x.values()], sys.getrefcount(model)
    found = call(x)
    assert ([sys.getrefcount(y) for y in x.values()], sys.getrefcount(model)) == before
    assert kept[0]() is None  # the array between
    assert [sys.getrefcount(y) for y in found.values()] == before[0]  # the table's alone
    gone = weakref.ref(model)
    del model, call
    gc.collect()
    assert gone() is None


def pair() -> tuple[mz.ClosedSystem, dict, dict, dict]:
    arm = chain(3, seed=1)
    ball = mz.Builder("ball").add("ball", None, mz.Free(), mz.Inertia(1, (0, 0, 0.1), np.eye(3)))
    ball = ball.build()
    both = mz.ClosedSystem({"arm": (arm, [arm.bodies[-1]]), "ball": (ball, ["ball"])})
    q = {"arm": arm.random_configuration(0), "ball": ball.random_configuration(1)}
    both = both.attach("grip", ("arm", arm.bodies[-1]), ("ball", "ball"), mz.Universal(), at=q)
    v = both.consistent_velocities(q, {"arm": np.ones(3), "ball": np.ones(6)})
    return both, q, v, {"arm": np.array([1.0, -2.0, 0.5])}


def test_systems_answer_as_from_lists():
    """Lists are read by Python: the same numbers, bit for bit."""
    both, q, v, tau = pair()
    slowly = [{name: x.tolist() for name, x in table.items()} for table in (q, v, tau)]
    for _ in range(2):  # the first call compiles
        a = both.forward_dynamics(q, v, tau)
        for found, wanted in (
            (a, both.forward_dynamics(*slowly)),
            (both.inverse_dynamics(q, v, a), both.inverse_dynamics(*slowly[:2], a)),
            (both.residual(q), both.residual(slowly[0])),
        ):
            assert list(found) == list(wanted)
            for name, x in found.items():
                np.testing.assert_array_equal(x, wanted[name])


def test_systems_refuse_what_they_refused():
    both, q, v, tau = pair()
    with pytest.raises(mz.ConfigurationError, match="nan"):
        both.inverse_dynamics(q, v, {**v, "arm": np.full(3, np.nan)})
    with pytest.raises(mz.ConfigurationError, match="q: nothing for 'ball'"):
        both.inverse_dynamics({"arm": q["arm"]}, v, v)
    with pytest.raises(mz.ConfigurationError, match="tau: no system 'amr'; there are 'arm'"):
        both.forward_dynamics(q, v, {"amr": np.zeros(3)})
    away = {**q, "arm": q["arm"] + 0.3}
    with pytest.warns(mz.OpenLoopWarning):
        both.forward_dynamics(away, v, tau)


def test_they_are_traced_as_before():
    """Inside a program that is compiled tables hold what is traced."""
    both, q, v, tau = pair()

    def a(q, v, tau):
        tables = both.parts(q, "q"), both.parts(v), both.parts(tau)
        return both.whole("a", both.forward_dynamics(*tables))

    kernel = mz.compile(a, both.model)
    arrays = both.whole("q", q, "q"), both.whole("v", v), both.whole("tau", tau)
    np.testing.assert_allclose(
        kernel(*arrays), both.whole("a", both.forward_dynamics(q, v, tau)), rtol=1e-9, atol=1e-9
    )
