"""What all tests share."""

import gc
import os
import signal

import pytest
from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background by a shell, which ignores Ctrl-C; tests press it nevertheless.
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.setdefault("MPLBACKEND", "Agg")  # figures need no display

settings.register_profile("mozzi", deadline=None, print_blob=True)  # times are never assertions
settings.load_profile("mozzi")


def pytest_addoption(parser):
    """``--record`` writes anew what tests have recorded (tests/algorithms)."""
    parser.addoption("--record", action="store_true", help="write recorded programs anew")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What collecting makes lives to the end: the garbage collector does not walk through it again
    and again, which would take a quarter of the tests' time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_terminal_summary(terminalreporter):
    """How many cases ran in tests that count theirs (``record_property("cases", n)``)."""
    counts = [
        value
        for report in terminalreporter.stats.get("passed", [])
        for name, value in getattr(report, "user_properties", [])
        if name == "cases" and getattr(report, "when", "") == "call"
    ]
    if counts:
        told = f"{sum(counts):,} cases in {len(counts)} tests that count them"
        terminalreporter.write_line(told)
