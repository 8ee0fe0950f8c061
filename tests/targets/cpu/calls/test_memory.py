"""Arrays for large results: memory is used again, never shared, and goes back to the system."""

import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain
from mozzi.targets.cpu.calls import memory

MODEL = chain(6, seed=0)
KIND = np.dtype(float)


@pytest.fixture(autouse=True)
def nothing_kept():
    memory._free.clear()


def test_memory_is_used_again_when_the_last_view_has_gone():
    x = memory.empty((1000, 100), KIND)
    place, row = x.ctypes.data, x[3, ::2]
    x[:] = 1.0
    del x
    other = memory.empty((1000, 100), KIND)
    other[:] = 2.0
    assert other.ctypes.data != place and np.all(row == 1.0)
    del row
    assert memory.held() == 1000 * 100 * 8 // 4096 * 4096 + 4096
    assert memory.empty((100, 1000), KIND).ctypes.data == place


def test_results_that_are_kept_never_change():
    """Calls of several batches: what was computed first is what it was, whatever came after."""
    rng, found = np.random.default_rng(0), []
    kernel = mz.compile(mz.mass_matrix, MODEL)
    for k in range(12):
        q = MODEL.random_configuration(rng, batch=(3000 + k % 3,))
        M = mz.mass_matrix(MODEL, q)
        assert M.nbytes > memory.POOLED_BYTES and M.flags.writeable and M.flags.c_contiguous
        if k % 2:
            found.append((q, M))
    for q, M in found:
        np.testing.assert_array_equal(M, kernel(q, out=np.empty_like(M)))


def test_memory_that_nobody_wants_goes_back(monkeypatch):
    monkeypatch.setattr(memory, "IDLE_S", 0.05)
    memory.empty((1000, 100), KIND)
    assert memory.held() > 0
    end = time.monotonic() + 10
    while memory.held() and time.monotonic() < end:
        time.sleep(0.02)
    assert memory.held() == 0


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(memory, "IDLE_S", 60.0)  # however long a busy machine takes
    monkeypatch.setattr(memory, "KEPT_BYTES_MAX", 3_000_000)
    arrays = [memory.empty((1000, 100), KIND) for _ in range(10)]
    arrays.clear()
    gc.collect()
    assert 0 < memory.held() <= 3_000_000


def test_small_arrays_come_from_numpy():
    assert memory.empty((10,), KIND).base is None


def test_threads_never_get_the_same_memory():
    problems = []

    def work(number):
        for _ in range(300):
            x = memory.empty((40, 1000), KIND)
            x[:] = number
            y = memory.empty((40, 1000), KIND)
            y[:] = -number
            if x.min() != number or x.max() != number:
                problems.append(number)

    crew = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert not problems


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_keeps_its_own():
    x = memory.empty((1000, 100), KIND)
    x[:] = 1.0
    child = os.fork()
    if child == 0:
        x[:] = 2.0
        del x
        ok = memory.held() > 0 and memory._timer is not None
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert np.all(x == 1.0)


_LAST = """
import numpy as np, time
from mozzi.targets.cpu.calls import memory
kept = [memory.empty((1000, 100), np.dtype(float)) for _ in range(3)]
class Late:
    def __init__(self): self.array = memory.empty((1000, 200), np.dtype(float))
late = Late(); late.itself = late
memory._timer = None
"""


def test_arrays_that_live_to_the_end_do_not_hold_the_interpreter():
    """Their memory comes back when no thread can be started any more."""
    done = subprocess.run([sys.executable, "-c", _LAST], timeout=60, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr
