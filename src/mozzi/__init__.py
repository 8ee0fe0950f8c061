"""Kinematics and dynamics of articulated rigid bodies on screws and Lie groups.

Names load on first use: ``import mozzi`` imports nothing but this file.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The public API: name → module that defines it.  A new public name is one line here and one line
# under TYPE_CHECKING below, for type checkers and editors; tests/test_import.py compares the two.
_HOME: dict[str, str] = {
    # errors
    "ConfigurationError": "mozzi.errors",
    "ExtraMissingError": "mozzi.errors",
    "LoopError": "mozzi.errors",
    "ModelError": "mozzi.errors",
    "MozziError": "mozzi.errors",
    "SingularError": "mozzi.errors",
    "UnphysicalWarning": "mozzi.errors",
}

if TYPE_CHECKING:
    from mozzi.errors import ConfigurationError as ConfigurationError
    from mozzi.errors import ExtraMissingError as ExtraMissingError
    from mozzi.errors import LoopError as LoopError
    from mozzi.errors import ModelError as ModelError
    from mozzi.errors import MozziError as MozziError
    from mozzi.errors import SingularError as SingularError
    from mozzi.errors import UnphysicalWarning as UnphysicalWarning

__all__ = ["__version__", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'mozzi' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


class _Package(ModuleType):
    """A package whose submodules do not hide public functions: `compile`, `integrate`."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
