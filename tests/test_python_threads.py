"""Several Python threads at once, as users start them: one model, one kernel, one cache.

They run with and without the GIL (``python3.14t``); without it, every line of Python between two
calls is a place where another thread may be.
"""

import sys
import threading

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain, random_tree

THREADS = 6


def together(work) -> list:
    """What `work(k)` gives in each of the threads, started at the same moment."""
    start, found, errors = threading.Barrier(THREADS), [None] * THREADS, list[BaseException]()

    def one(k: int) -> None:
        try:
            start.wait()
            found[k] = work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120.0)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]
    return found


def test_the_gil_stays_off():
    """No import of ours brings it back."""
    if not hasattr(sys, "_is_gil_enabled") or "free-threading" not in sys.version:
        pytest.skip("this Python has its GIL")
    mz.mass_matrix(chain(3), np.zeros(3))
    assert not sys._is_gil_enabled()


@pytest.mark.parametrize("seed", range(4))
def test_first_calls_of_one_model(seed, monkeypatch, tmp_path):
    """All threads make the first call: one kernel is made, and all have its numbers."""
    monkeypatch.setenv("MOZZI_CACHE_DIR", str(tmp_path))
    model = random_tree(3, seed)
    q = model.random_configuration(seed, 33)
    v = np.random.default_rng(seed).normal(size=(33, model.nv))

    def work(k: int):
        a = mz.forward_dynamics(model, q, v, v)
        one = mz.inverse_dynamics(model, q[k], v[k], a[k])
        return a, one, mz.mass_matrix(model, q[k])

    for k, (a, one, M) in enumerate(together(work)):
        np.testing.assert_array_equal(a, mz.forward_dynamics(model, q, v, v))
        np.testing.assert_allclose(one, v[k], atol=1e-7 * (1 + np.abs(a).max()))
        np.testing.assert_array_equal(M, mz.mass_matrix(model, q[k]))


def test_large_results_come_from_memory_that_nobody_has():
    """Each thread's arrays are its own, however memory goes round."""
    model = chain(6)
    q = model.random_configuration(0, 4096)
    parts = [q + 0.01 * k for k in range(THREADS)]
    want = [mz.mass_matrix(model, x) for x in parts]

    def work(k: int) -> bool:
        same = True
        for _ in range(40):
            same &= np.array_equal(mz.mass_matrix(model, parts[k]), want[k])
        return same

    assert all(together(work))


def test_errors_are_those_of_the_thread_that_made_them():
    """A wrong configuration in one thread is told there, and only there."""
    model = random_tree(4, 2)
    q = model.random_configuration(1)
    v = np.zeros(model.nv)
    bad = v + np.nan

    def work(k: int) -> int:
        told = 0
        for _ in range(200):
            try:
                mz.inverse_dynamics(model, q, bad if k % 2 else v, v)
            except mz.ConfigurationError:
                told += 1
        return told

    assert together(work) == [200 * (k % 2) for k in range(THREADS)]


def test_simulations_side_by_side():
    model = chain(3)
    q = model.random_configuration(2, THREADS)
    want = [mz.simulate(model, q[k], np.zeros(3), 0.1, 0.01).q for k in range(THREADS)]
    found = together(lambda k: mz.simulate(model, q[k], np.zeros(3), 0.1, 0.01).q)
    for x, y in zip(found, want):
        np.testing.assert_array_equal(x, y)
