"""A counter of arguments that were not as promised (`Input.units`): machine code adds to it, and
who called looks whether it grew. It is never set back, so that no thread misses an alarm.
"""

from __future__ import annotations

import ctypes

__all__ = ["ALARMS"]

ALARMS = ctypes.c_int64(0)
