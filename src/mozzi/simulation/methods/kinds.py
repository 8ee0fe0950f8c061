"""Options of methods that are none are refused when a method is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from mozzi.checked import kinds_in, refuse_others
from mozzi.errors import ConfigurationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["refuse_wrong"]


def refuse_wrong(method: DataclassInstance, name: str, least: Mapping[str, int]) -> None:
    """Options are of the kind that a method's annotations say; least: of whole numbers."""
    kind = type(method)
    given = {field.name: getattr(method, field.name) for field in fields(method)}
    refuse_others(name, kinds_in(kind.__init__), given.items(), kind)
    for option, few in least.items():
        if given[option] is not None and given[option] < few:
            raise ConfigurationError(f"{name}: {option} {given[option]}; give {few} or more")
