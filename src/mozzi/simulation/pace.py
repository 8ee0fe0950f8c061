"""How much of a simulation one call takes: little enough that Python looks for Ctrl-C in time."""

from __future__ import annotations

import time

__all__ = ["PATIENCE", "Pace"]

PATIENCE = 0.1  # seconds between two looks
FASTER = 8.0  # how many times more steps a call may take than the one before


class Pace:
    """Steps of a call, from how long calls took; and whether it is time to tell."""

    def __init__(self) -> None:
        self.steps = 1.0
        self._begun = self._told = time.monotonic()

    def next(self, left: int) -> int:
        """How many of the steps that are left the next call takes."""
        self._begun = time.monotonic()
        return min(left, int(self.steps))

    def took(self, steps: int) -> None:
        """A call of so many steps has just returned."""
        seconds = time.monotonic() - self._begun
        if seconds > 0.25 * PATIENCE or steps >= int(self.steps):  # a short rest tells nothing
            change = min(FASTER, 0.8 * PATIENCE / max(seconds, 1e-9))
            self.steps = min(max(1.0, steps * change), 1e12)

    def due(self) -> bool:
        """Whether nothing was told for a while; asking is telling."""
        now = time.monotonic()
        if now - self._told < PATIENCE:
            return False
        self._told = now
        return True
