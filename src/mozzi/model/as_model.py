"""A model where one is asked for."""

from __future__ import annotations

from mozzi.errors import KindError
from mozzi.model.model import Model

__all__ = ["as_model"]


def as_model(model: object, function: str) -> Model:
    """The model that a function was given, or an error that says it is none."""
    if not isinstance(model, Model):
        fact = f"{model!r:.60} is no model"
        raise KindError(function, "model", model, "one, as load or Builder make it", fact)
    return model
