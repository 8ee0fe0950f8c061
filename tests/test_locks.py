"""Forks while other threads compile: neither process hangs."""

import os
import subprocess
import sys
import textwrap

import pytest

FORKING = """
    import os, sys, threading, time
    import mozzi as mz
    from mozzi.model.generate import chain

    functions = mz.compile, mz.forward_dynamics, mz.inverse_dynamics
    models = [chain(12, seed=k) for k in range(40)]
    stop = threading.Event()

    def compile_on():
        for model in models:
            if stop.is_set():
                return
            mz.compile(mz.forward_dynamics, model)

    worker = threading.Thread(target=compile_on)
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
    worker.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_another_thread_compiles():
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FORKING)]
    environment = os.environ | {"MOZZI_CACHE": "0"}
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert run.stdout.strip() == str([0] * 6), run.stderr
