"""Sweeps: results that do not depend on chunks and workers, reductions, failures, stores."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain
from mozzi.sweeps.distributions import read
from mozzi.sweeps.reductions import QUANTILES
from mozzi.sweeps.store import Store

ARM = chain(3, seed=1)
VARIED = {
    f"{ARM.bodies[1]}.density": mz.Uniform(0.8, 1.2),
    f"{ARM.joint_names[0]}.damping": "loguniform(0.01, 1)",
    "kp": mz.Normal(5.0, 1.0),
}


def law(t, q, v, kp):
    return -kp * q


def square(chunk):
    noise = [np.random.default_rng(s).normal() for s in chunk["seed"]]
    return {"y": chunk["x"] ** 2 + chunk["w"], "pair": np.stack([chunk["x"], noise], axis=-1)}


def same(a, b):
    assert list(a) == list(b)
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])


ROLLOUT = mz.Rollout(ARM, 0.2, 0.01, torque=law)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_samples_do_not_depend_on_workers_and_chunks(workers):
    """Bitwise: what is drawn and what is simulated, in chunks of any size."""
    x = {"x": np.linspace(0, 1, 100), "w": mz.Normal(0.0, 1.0)}
    alone = mz.sweep(square, x, seed=3)
    motions = mz.sweep(ROLLOUT, VARIED, samples=101, seed=5)
    assert len(motions["q"]) == 101 and np.isfinite(motions["q"]).all()
    with ProcessPoolExecutor(workers) as pool:
        same(mz.sweep(square, x, pool, chunk=7 + workers, seed=3), alone)
        same(mz.sweep(ROLLOUT, VARIED, pool, chunk=13, samples=101, seed=5), motions)
    with ThreadPoolExecutor(workers) as pool:
        same(mz.sweep(square, x, pool, chunk=11, seed=3), alone)


def test_a_sample_is_the_simulation_of_its_parameters():
    found = mz.sweep(ROLLOUT, VARIED, samples=9, seed=5, chunk=4)
    k = 6
    p = {name: float(x[k]) for name, x in found.parameters.items()}
    kp = p.pop("kp")
    alone = mz.simulate(
        ARM.with_parameters(p), ARM.neutral(), np.zeros(3), 0.2, 0.01,
        torque=lambda t, q, v: law(t, q, v, kp),
    )  # fmt: skip
    np.testing.assert_allclose(found["q"][k], alone.q[-1], atol=1e-12)
    np.testing.assert_allclose(found["v_max"][k], np.abs(alone.v).max(axis=0), atol=1e-11)


def test_samples_that_no_mechanism_has_are_left_out_alone():
    name = f"{ARM.bodies[0]}.density"
    found = mz.sweep(mz.Rollout(ARM, 0.1, 0.01), {name: [1.0, -1.0, 1.5]})
    assert np.isfinite(found["q"]).all(axis=1).tolist() == [True, False, True]
    assert found.bad == 1 and found.lost[0][name] == -1.0


def test_draws_are_children_of_the_seed():
    """Another seed gives other samples, and more samples begin with the same."""
    x = {"x": "uniform(0,1)", "w": 0.0}
    one, two = (mz.sweep(square, x, samples=50, seed=s) for s in (1, 2))
    more = mz.sweep(square, x, samples=5000, seed=1, chunk=999)
    np.testing.assert_array_equal(more["pair"][:50], one["pair"])
    assert not np.isin(one["pair"], two["pair"]).any()
    assert len(np.unique(more["pair"][:, 1])) == 5000


def test_reductions_are_those_of_all_samples():
    x = {"x": mz.Normal(0.0, 2.0), "w": 0.0}
    words = "count,mean,std,min,max,quantiles,histogram"
    found = mz.sweep(square, x, samples=4000, seed=1, chunk=333, reduce=words)
    whole = mz.sweep(square, x, samples=4000, seed=1)
    for name in ("y", "pair"):
        exact = whole[name]
        np.testing.assert_allclose(found[f"{name}.mean"], exact.mean(0), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found[f"{name}.std"], exact.std(0), rtol=1e-12)
        np.testing.assert_array_equal(found[f"{name}.min"], exact.min(0))
        np.testing.assert_array_equal(found[f"{name}.max"], exact.max(0))
        np.testing.assert_array_equal(found[f"{name}.count"], np.full(exact.shape[1:], 4000))
        np.testing.assert_array_equal(found[f"{name}.histogram"].sum(-1), found[f"{name}.count"])
        sorted_ = np.quantile(exact, QUANTILES, axis=0, method="lower")
        np.testing.assert_allclose(found[f"{name}.quantiles"], sorted_, rtol=0.026, atol=1e-12)
    with pytest.raises(mz.ConfigurationError, match="no reduction 'median'; there are 'mean'"):
        mz.sweep(square, x, samples=3, reduce="median")


def broken(chunk):
    if (chunk["x"] == 5).any():
        raise ValueError("five is too many")
    return {"y": np.where(chunk["x"] == 8, np.nan, chunk["x"])}


def test_a_chunk_that_fails_is_told_and_the_others_go_on(tmp_path):
    for store in (None, tmp_path / "a.zarr"):
        if store is not None:
            pytest.importorskip("zarr")
        found = mz.sweep(broken, {"x": np.arange(10)}, chunk=2, store=store)
        np.testing.assert_array_equal(found["y"], [0, 1, 2, 3, np.nan, np.nan, 6, 7, np.nan, 9])
        (failure,) = found.failures
        assert (failure.start, failure.stop) == (4, 6) and "five is too many" in failure.error
        assert failure.parameters["x"].tolist() == [4, 5]
        assert found.bad == 1 and found.lost == [{"sample": 8.0, "x": 8.0}]
    with pytest.raises(mz.ConfigurationError, match=r"every chunk failed.*five"):
        mz.sweep(broken, {"x": np.array([5])})


def test_a_chunk_is_tried_three_times(tmp_path):
    count = tmp_path / "count"

    def shaky(chunk):
        tries = len(count.read_text()) if count.exists() else 0
        count.write_text("x" * (tries + 1))
        if tries < 2:
            raise OSError("the network")
        return {"y": chunk["x"]}

    assert mz.sweep(shaky, {"x": np.arange(3.0)})["y"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("run", "parameters", "options", "message"),
    [
        (square, {}, {}, "no parameters"),
        (square, {"x": mz.Uniform(0, 1)}, {}, "give samples"),
        (square, {"x": [1, 2], "w": [1, 2, 3]}, {}, "different lengths"),
        (square, {"x": "uniform(1)"}, {"samples": 2}, "do not fit"),
        (square, {"x": "gauss(1, 2)"}, {"samples": 2}, "no distribution 'gauss'"),
        (square, {"x": ["a"]}, {}, "no numbers"),
        (lambda c: 3.0, {"x": [1, 2]}, {}, "return a mapping"),
        (lambda c: {"y": 3.0}, {"x": [1, 2]}, {}, "leading axis 2"),
        (square, {"x": [1.0]}, {"chunk": 0}, "chunk 0"),
        (square, {"x": [1.0]}, {"seed": -1}, "seed -1; give 0 or more"),
        (square, {"x": mz.Uniform(0, 1)}, {"samples": 0}, "no samples"),
        (square, {"x": "linspace(0, 1, 2.5)"}, {}, "give a count of 1 or more"),
        (square, {"x": "uniform(0, 1e999)"}, {"samples": 2}, "inf is not finite"),
        (lambda c: {}, {"x": [1, 2]}, {}, "run returned nothing"),
        (mz.Rollout(ARM, 0.1, 0.01), {"elbow.mass": [1.0]}, {}, "no body 'elbow'"),
    ],
)  # fmt: skip
def test_mistakes(run, parameters, options, message):
    with pytest.raises((mz.ConfigurationError, mz.ModelError), match=message):
        mz.sweep(run, parameters, **options)


def test_what_is_no_executor():
    with pytest.raises(TypeError, match="give a Dask Client"):
        mz.sweep(square, {"x": [1.0]}, executor=4)


def test_algorithms_are_runs():
    run = mz.Evaluation(mz.inverse_dynamics, ARM, {"v": np.ones(3), "a": np.zeros(3)})
    q = ARM.random_configuration(0, 5)
    mass = np.linspace(1.0, 2.0, 5)
    found = mz.sweep(run, {"q": q, f"{ARM.bodies[2]}.density": mass}, chunk=2)["out"]
    for k in range(5):
        other = ARM.with_parameters({f"{ARM.bodies[2]}.density": mass[k]})
        expected = mz.inverse_dynamics(other, q[k], np.ones(3), np.zeros(3))
        np.testing.assert_allclose(found[k], expected, atol=1e-12)


def test_texts_and_grids():
    assert read("uniform(0.8, 1.2)") == mz.Uniform(0.8, 1.2)
    assert read("choice(1, 2)") == mz.Choice((1.0, 2.0))
    assert read("[1, 2]").tolist() == [1, 2] and read("3").tolist() == [3]
    table = mz.grid({"a": [1, 2], "b": [3, 4, 5]})
    assert table["a"].tolist() == [1, 1, 1, 2, 2, 2] and table["b"].tolist() == [3, 4, 5] * 2


def test_rows_on_disk(tmp_path):
    found = mz.sweep(square, {"x": np.arange(3.0), "w": 0.0}, seed=0)
    text = found.save(tmp_path / "a.csv").read_text().splitlines()
    assert text[0] == "x,w,y,pair.0,pair.1" and len(text) == 4
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(found.save(tmp_path / "a.parquet"))
    assert table.column("y").to_pylist() == [0.0, 1.0, 4.0]


# -- stores --

SCRIPT = """
import sys, time
import numpy as np
import mozzi as mz
from mozzi.model.generate import chain

arm = chain(3, seed=1)

class Slow(mz.Rollout):
    def __call__(self, chunk):
        time.sleep(float(sys.argv[2]))
        return super().__call__(chunk)

run = Slow(arm, 0.05, 0.01)
varied = {f"{arm.bodies[1]}.density": mz.Uniform(0.8, 1.2)}
mz.sweep(run, varied, samples=60, chunk=4, seed=int(sys.argv[3]), store=sys.argv[1])
"""


def script(store: Path, pause: float, seed: int = 7) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", SCRIPT, str(store), str(pause), str(seed)]
    source = str(Path(mz.__file__).parents[1])
    return subprocess.Popen(words, env={**os.environ, "PYTHONPATH": source}, text=True,
                            stderr=subprocess.PIPE)  # fmt: skip


def files(store: Path) -> dict[str, bytes]:
    """All that is in a store, but the command that made it."""
    assert not list(store.rglob("*.partial"))
    return {
        str(p.relative_to(store)): p.read_bytes()
        for p in store.rglob("*") if p.is_file() and p != store / "zarr.json"
    }  # fmt: skip


def test_a_killed_sweep_goes_on_to_the_same_store(tmp_path):
    """kill -9 in the middle; the second run does the missing chunks only."""
    zarr = pytest.importorskip("zarr")
    whole, killed = tmp_path / "whole.zarr", tmp_path / "killed.zarr"
    straight = script(whole, 0.0)
    first = script(killed, 0.2)
    for _ in range(600):
        if len(list((killed / "jobs" / "status").glob("c.*"))) >= 3:  # whole ones
            break
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert straight.wait() == 0
    before = np.asarray(zarr.open_group(str(killed), mode="r")["jobs/status"][:])
    assert 3 <= before.sum() < 15
    times = {p: p.stat().st_mtime_ns for p in (killed / "q").glob("c.*")}
    assert script(killed, 0.0).wait() == 0
    assert files(whole) == files(killed)
    kept = [p for p, t in times.items() if p.stat().st_mtime_ns == t]
    assert len(kept) >= before.sum()
    other = script(killed, 0.0, seed=8)
    assert "other parameters" in other.communicate()[1]


def test_an_array_with_named_fields_is_a_table():
    table = np.rec.fromarrays([[0.1, 0.2], [1.0, 2.0]], names=[*list(VARIED)[1:2], "kp"])
    found = mz.sweep(ROLLOUT, table)
    same(found, mz.sweep(ROLLOUT, {name: table[name] for name in table.dtype.names}))


def test_a_store_is_what_people_expect(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    store = tmp_path / "a.zarr"
    found = mz.sweep(ROLLOUT, VARIED, samples=20, seed=5, chunk=6, store=store)
    data = xarray.open_zarr(store)
    assert dict(data.sizes)["sample"] == 20 and data["q"].dims == ("sample", "coordinate")
    assert data.attrs["model"] == ARM.digest and data.attrs["mozzi"] == mz.__version__
    assert data["q"].attrs["names"] == list(ARM.q_names) and data["diverged"].attrs["units"] == "s"
    np.testing.assert_array_equal(data["q"].values, found["q"])
    np.testing.assert_array_equal(data["kp"].values, found.parameters["kp"])
    assert {"kp", "coordinate", "velocity", "q_unit", "v_unit"} <= set(data.coords)
    assert list(data["coordinate"].values) == list(ARM.q_names)
    assert set(data["q_unit"].values) == {"rad"} and set(data["v_unit"].values) == {"rad/s"}
    one = data["q"].sel(coordinate=ARM.q_names[1])
    np.testing.assert_array_equal(one.values, found["q"][:, 1])
    same(mz.sweep(ROLLOUT, VARIED, samples=20, store=store), found)  # the seed is there
    for run, samples, message in (
        (mz.Rollout(ARM, 0.3, 0.01, torque=law), 20, "other run"),
        (ROLLOUT, 21, "other parameters|other samples"),
        (mz.Rollout(ARM.with_gravity((0, 0, 0)), 0.2, 0.01, torque=law), 20, "other model"),
    ):
        with pytest.raises(mz.ConfigurationError, match=message):
            mz.sweep(run, VARIED, samples=samples, seed=5, store=store)
    (tmp_path / "b").mkdir()
    with pytest.raises(mz.ConfigurationError, match="no sweep of mozzi"):
        mz.sweep(ROLLOUT, VARIED, samples=20, store=tmp_path / "b")


def test_a_run_is_known_by_its_content(tmp_path):
    """What a law took along, and numbers of a run, make another run; a new process does not."""
    pytest.importorskip("zarr")
    made = [mz.Rollout(ARM, 0.05, 0.01, torque=lambda t, q, v, k=k: -k * q) for k in (1.0, 2.0)]
    table = {f"{ARM.bodies[0]}.density": [1.0, 1.1]}
    mz.sweep(made[0], table, store=tmp_path / "a.zarr")
    mz.sweep(made[0], table, store=tmp_path / "a.zarr")
    with pytest.raises(mz.ConfigurationError, match="other run"):
        mz.sweep(made[1], table, store=tmp_path / "a.zarr")


def test_only_what_is_missing_is_run(tmp_path):
    """In this process a run is itself, whatever it holds."""
    pytest.importorskip("zarr")
    lock, seen = threading.Lock(), []

    def run(chunk):
        with lock:
            seen.append(int(chunk["x"][0]))
        if len(seen) == 3:
            raise KeyboardInterrupt
        return {"y": chunk["x"]}

    with pytest.raises(KeyboardInterrupt):
        mz.sweep(run, {"x": np.arange(10)}, chunk=2, store=tmp_path / "a.zarr")
    found = mz.sweep(run, {"x": np.arange(10)}, chunk=2, store=tmp_path / "a.zarr")
    assert seen == [0, 2, 4, 4, 6, 8] and found["y"].tolist() == list(range(10))


def test_reductions_are_stored_by_job(tmp_path):
    pytest.importorskip("zarr")
    x = {"x": mz.Normal(0.0, 2.0), "w": 0.0}
    given = {"samples": 100, "seed": 1, "chunk": 30, "reduce": "mean,max"}
    same(mz.sweep(square, x, store=tmp_path / "a.zarr", **given), mz.sweep(square, x, **given))


def test_a_store_of_reductions_is_what_people_expect(tmp_path):
    """What all jobs together say, with the axes and units of what was reduced, and no parts."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    given = {"samples": 50, "seed": 1, "chunk": 20}
    words = "count,mean,max,quantiles,histogram"
    found = mz.sweep(ROLLOUT, VARIED, store=tmp_path / "a.zarr", reduce=words, **given)
    data = xarray.open_zarr(tmp_path / "a.zarr")
    whole = mz.sweep(ROLLOUT, VARIED, **given)
    np.testing.assert_allclose(data["q.mean"], whole["q"].mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(data["v_max.max"], whole["v_max"].max(axis=0))
    for name in found:
        np.testing.assert_array_equal(data[name], found[name])
    assert data["q.mean"].dims == ("coordinate",) and data["diverged.max"].attrs["units"] == "s"
    assert data["v.quantiles"].dims == ("quantile", "velocity")
    assert data["q.histogram"].dims == ("coordinate", "bin") and data["edges"].dims == ("edge",)
    assert list(data["coordinate"].values) == list(ARM.q_names)
    assert set(data["q.mean"].coords) == {"coordinate", "q_unit"}
    assert data["quantile"].values.tolist() == list(QUANTILES)
    assert not {"job", "byte"} & set(data.dims)
    assert float(data["q.quantiles"].sel(quantile=0.5)[0]) == found["q.quantiles"][3, 0]


@pytest.mark.parametrize("name", ["jobs", "a/b", "../z"])
def test_names_that_no_store_has(name, tmp_path):
    pytest.importorskip("zarr")
    with pytest.raises(mz.ConfigurationError, match="give another name"):
        mz.sweep(lambda c: {name: c["x"]}, {"x": [1.0]}, store=tmp_path / "a.zarr")


def test_a_disk_that_is_full(tmp_path, monkeypatch):
    """Nothing that is half written is said to be there, and the same call goes on."""
    pytest.importorskip("zarr")
    store, put, room = tmp_path / "a.zarr", Store._put, [14]

    def full(self, name, job, axes, data):
        room[0] -= 1
        if room[0] < 0:
            raise OSError(28, "No space left on device")
        return put(self, name, job, axes, data)

    monkeypatch.setattr(Store, "_put", full)
    x = {"x": np.arange(20.0)}
    with pytest.raises(mz.ConfigurationError, match=r"a\.zarr cannot be written \(No space left"):
        mz.sweep(itself, x, chunk=1, store=store)
    monkeypatch.undo()
    assert mz.sweep(itself, x, chunk=1, store=store)["y"].tolist() == list(range(20))


def itself(chunk):
    return {"y": chunk["x"]}


def test_a_worker_of_another_version_is_refused(monkeypatch):
    with ThreadPoolExecutor(1) as pool:
        submit = pool.submit

        def other(function, plan, jobs, store):
            return submit(function, dataclasses.replace(plan, version="0.0.9"), jobs, store)

        monkeypatch.setattr(pool, "submit", other)
        with pytest.raises(mz.ConfigurationError, match=r"comes from 0\.0\.9; install the same"):
            mz.sweep(itself, {"x": np.arange(3.0)}, pool)


def test_an_executor_that_is_gone_is_told(tmp_path):
    pytest.importorskip("zarr")
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(mz.ConfigurationError, match=r"takes no more jobs.*start it again$"):
        mz.sweep(square, {"x": [1.0], "w": 0.0}, pool)


def test_motions_are_recorded_on_request():
    run = mz.Rollout(ARM, 0.1, 0.01, record=5, record_dtype="float32")
    found = mz.sweep(run, {"v0": np.ones((3, 3)) * [[0], [1], [2]]}, chunk=2)
    assert found["q_record"].shape == (3, 3, 3) and found["q_record"].dtype == np.float32
    np.testing.assert_allclose(found["q_record"][:, -1], found["q"], atol=1e-6)
