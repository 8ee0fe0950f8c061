"""Forks while other threads compile: neither process hangs. Ctrl-C does not wait for compilers."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from mozzi import locks
from mozzi.locks import ForkLock, aside

FORKING = """
    import os, threading, time
    import numpy as np
    import mozzi as mz
    from mozzi.model.generate import chain

    stop = threading.Event()

    def compile_on(k):  # and call, and drop the model with its kernels
        while not stop.is_set():
            model = chain(2 + k % 7, seed=k)
            mz.forward_dynamics(model, *np.zeros((3, 200, model.nv)))
            k += 3

    workers = [threading.Thread(target=compile_on, args=(k,)) for k in range(3)]
    for worker in workers:
        worker.start()
    children = []
    for _ in range(6):
        time.sleep(0.1)
        child = os.fork()
        if child == 0:
            mz.compile(mz.inverse_dynamics, chain(3, seed=99))
            os._exit(0)
        children.append(child)
    print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
    stop.set()
    for worker in workers:
        worker.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_other_threads_compile():
    """And call, and drop what they compiled."""
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FORKING)]
    environment = os.environ | {"MOZZI_CACHE": "0"}
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert run.stdout.strip() == str([0] * 6), run.stderr


# A module that LLVM works on for half a minute in one step; Ctrl-C comes when it has begun.
LONG = """
    import os, random, signal, sys, threading, time
    from mozzi.targets.cpu import jit

    rng, size = random.Random(0), 80_000
    lines = ["define double @f(double %x0, double %x1) {"]
    for k in range(2, size):
        a, b = (rng.randrange(max(0, k - 400), k) for _ in range(2))
        lines.append(f"  %x{k} = {rng.choice(('fadd', 'fmul'))} double %x{a}, %x{b}")
    text = "\\n".join([*lines, f"  ret double %x{size - 1}", "}"])
    jit.binding()

    def press():
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    pressed = []
    threading.Timer(0.7, press).start()
    try:
        jit.assemble(text)
    except KeyboardInterrupt:
        print(f"{time.perf_counter() - pressed[0]:.3f}", flush=True)
        LAST
"""


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("last, status", [("sys.exit(7)", 7), ("raise", -signal.SIGINT)])
def test_ctrl_c_does_not_wait_for_the_compiler(last, status):
    """Neither the program nor the end of the process, whose status is what the program says."""
    command = [sys.executable, "-c", textwrap.dedent(LONG).replace("LAST", last)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        start = time.perf_counter()
        _, told = process.communicate(timeout=60)
        ended = time.perf_counter() - start
    assert process.returncode == status, told.decode()
    assert float(line) < 0.5 and ended < 2.0
    assert b"Assertion" not in told


def test_work_that_is_left_aside_raises_here():
    def fail():
        raise ValueError("as it was")

    with pytest.raises(ValueError, match="as it was"):
        aside(fail)
    assert aside(threading.get_ident) != threading.get_ident()


def test_work_aside_holds_locks_that_a_fork_waits_for():
    """The thread that asks holds a lock, and the one that works takes another: no deadlock."""
    outer, inner, began, goes_on = ForkLock(), ForkLock(), threading.Event(), threading.Event()

    def work():
        began.set()
        goes_on.wait()
        with inner:
            return 1

    def close_the_gate():
        began.wait()
        locks._gate.clear()
        goes_on.set()

    threading.Thread(target=close_the_gate).start()
    try:
        with outer:
            assert aside(work) == 1
    finally:
        locks._gate.set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_while_another_thread_imports():
    """A child imports what a thread of its parent was importing: it does not wait for ever."""
    code = """
import os, sys, threading
import mozzi

threading.Thread(target=lambda: __import__("mozzi.compiler")).start()
loading = lambda x: getattr(getattr(x, "__spec__", None), "_initializing", False)
while not any(loading(x) for n, x in list(sys.modules.items()) if n.startswith("mozzi.alg")):
    pass
pid = os.fork()
if pid == 0:
    import mozzi.compiler
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout == "7\n"
