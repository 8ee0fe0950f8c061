"""Large batches over threads: the same results, whatever the number of threads."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from mozzi.program.program import Input, trace
from mozzi.program.scalar import sin
from mozzi.targets.cpu import kernel as llvm
from mozzi.targets.cpu.build import compile_cpu
from mozzi.targets.cpu.calls import threads


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Threads for small work, too; the usual number afterwards."""
    monkeypatch.setattr(llvm, "THREADED_NS", 1.0)
    monkeypatch.setattr(llvm, "SLICE_NS", 1.0)
    yield
    threads.set_num_threads(None)


@pytest.fixture(scope="module")
def program():
    def function(q, v, s):
        return q * sin(v) + s, np.dot(q, v)

    return trace(function, [Input("q", (3,)), Input("v", (3,)), Input("s", ())])


def counted(monkeypatch):
    used = []
    run = threads.run
    monkeypatch.setattr(threads, "run", lambda *a: (used.append(a[4]), run(*a)))
    return used


@pytest.mark.parametrize(
    "batches",
    [((1000,), (1000,), (1000,)), ((50, 20), (20,), ()), ((2, 500), (2, 1), (500,)),
     ((1, 300), (300,), (1, 1)), ((40, 1), (1, 60), ()), ((999,), (1,), (999,))],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("number", [2, 3, 7])
def test_the_number_of_threads_changes_nothing(program, batches, number, monkeypatch):
    kernel = compile_cpu(program)
    rng = np.random.default_rng(0)
    args = [rng.normal(size=b + x.shape) for b, x in zip(batches, program.inputs, strict=True)]
    want = kernel.ufunc(*args)
    used = counted(monkeypatch)
    threads.set_num_threads(number)
    for x, y in zip(kernel(*args), want, strict=True):
        np.testing.assert_array_equal(x, y)
    outs = tuple(np.full_like(x, np.nan) for x in want)
    found = kernel(*args, out=outs)
    for x, y, z in zip(found, outs, want, strict=True):
        assert x is y
        np.testing.assert_array_equal(y, z)
    assert used == [np.broadcast_shapes(*batches)] * 2


def test_results_that_overlap_arguments_are_not_split(program, monkeypatch):
    kernel = compile_cpu(trace(lambda x: x[::-1] * 2.0, [Input("x", (3,))]))
    memory = np.arange(3003.0)
    one, two = memory[:3000].reshape(1000, 3), memory[3:].reshape(1000, 3)
    want = one[:, ::-1] * 2
    used = counted(monkeypatch)
    threads.set_num_threads(2)
    np.testing.assert_array_equal(kernel(one, out=two), want)
    assert not used


def test_small_batches_stay_in_this_thread(program, monkeypatch):
    monkeypatch.undo()
    kernel = compile_cpu(program)
    used = counted(monkeypatch)
    threads.set_num_threads(4)
    kernel(np.zeros((100, 3)), np.zeros(3), 0.0)
    assert not used
    kernel(np.zeros((10**6, 3)), np.zeros(3), 0.0)
    assert used


def test_errors_in_slices_are_raised(program, monkeypatch):
    kernel = compile_cpu(program)
    threads.set_num_threads(3)
    read_only = np.zeros((1000, 3))
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        kernel(np.zeros((1000, 3)), np.zeros(3), 0.0, out=(read_only, np.zeros(1000)))


def test_many_callers_at_once(program):
    kernel = compile_cpu(program)
    rng = np.random.default_rng(0)
    args = [rng.normal(size=(500, *x.shape)) for x in program.inputs]
    want = kernel.ufunc(*args)
    threads.set_num_threads(3)
    wrong = []

    def caller():
        for _ in range(30):
            found = kernel(*args)
            if not all(np.array_equal(x, y) for x, y in zip(found, want, strict=True)):
                wrong.append(found)

    callers = [threading.Thread(target=caller) for _ in range(4)]
    for c in callers:
        c.start()
    for k in range(20):
        threads.set_num_threads(1 + k % 4)
    for c in callers:
        c.join()
    assert not wrong


def test_how_many(monkeypatch):
    monkeypatch.setenv("MOZZI_NUM_THREADS", "5")
    threads.set_num_threads(None)
    assert threads.get_num_threads() == 5
    threads.set_num_threads(3)
    assert threads.get_num_threads() == 3
    monkeypatch.setenv("MOZZI_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="MOZZI_NUM_THREADS='many'"):
        threads.set_num_threads(None)
    assert threads.get_num_threads() == 3  # what is refused changes nothing
    monkeypatch.delenv("MOZZI_NUM_THREADS")
    threads.set_num_threads(None)
    assert threads.get_num_threads() >= 1
    for bad in (0, -1, 1.5, 1_000_000):
        with pytest.raises(ValueError, match="whole number"):
            threads.set_num_threads(bad)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_starts_its_own_threads():
    code = """
import os, sys
import numpy as np
from mozzi.program.program import Input, trace
from mozzi.targets.cpu import kernel as llvm
from mozzi.targets.cpu.calls import threads
from mozzi.targets.cpu.build import compile_cpu
llvm.THREADED_NS = llvm.SLICE_NS = 1.0
threads.set_num_threads(3)
from mozzi.targets.cpu.build import compile_cpu
kernel = compile_cpu(trace(lambda x: x * 2.0, [Input("x", (3,))]))
assert (kernel(np.ones((1000, 3))) == 2).all()
child = os.fork()
if child == 0:
    os._exit(0 if (kernel(np.ones((1000, 3))) == 2).all() else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60, check=False)
    assert done.returncode == 0
