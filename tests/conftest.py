"""What all tests share."""

import os

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")  # figures need no display

settings.register_profile("mozzi", deadline=None, print_blob=True)  # times are never assertions
settings.load_profile("mozzi")


def pytest_addoption(parser):
    """``--record`` writes anew what tests have recorded (tests/algorithms)."""
    parser.addoption("--record", action="store_true", help="write recorded programs anew")
