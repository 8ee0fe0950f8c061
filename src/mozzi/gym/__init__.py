"""Learning: environments of gymnasium over `stepper` (extra ``gym``)."""

from mozzi.errors import ExtraMissingError

try:
    import gymnasium as _gymnasium  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError:
    raise ExtraMissingError(
        "mozzi.gym needs gymnasium; install it with: pip install 'mozzi[gym]'"
    ) from None

from mozzi.gym.environment import Environment
from mozzi.gym.task import Task
from mozzi.gym.vector import VectorEnvironment

__all__ = ["Environment", "Task", "VectorEnvironment"]
