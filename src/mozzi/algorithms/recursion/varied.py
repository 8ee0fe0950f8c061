"""Models whose numbers are traced, as recursions meet them.

A function that is traced with parameters knows the model with the numbers as they are. While it is
traced, `as_varied` puts the model with traced numbers in its place.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from mozzi.algorithms.recursion.mechanism import mechanism
from mozzi.errors import ConfigurationError
from mozzi.model import Model
from mozzi.model.parameters.named import vary
from mozzi.program.scalar import Real
from mozzi.program.settings import settings, tracing

__all__ = ["as_varied", "varied_model", "varying"]


def varied_model(model: Model, names: Sequence[str], numbers: Iterable[Real]) -> Model:
    """The model whose named parameters are these scalars.

    What recursions derive from them is traced here, where loops of a program have not begun, so
    that steps in a loop share it.
    """
    new = vary(model, names, numbers)
    for regroup in (False, True, "moments"):
        mechanism(new, regroup=regroup)
    return new


@contextmanager
def varying(varied: Model) -> Generator[None]:
    """Trace with this model in place of its nominal one."""
    with tracing(replace(settings(), varied=varied)):
        yield


def as_varied(model: Model) -> Model:
    """The model as it is while this is traced: with traced numbers, where its parameters vary."""
    varied = cast("Model | None", settings().varied)
    if varied is None or model.nominal is not None:
        return model
    if model == varied.nominal:
        return varied
    raise ConfigurationError(
        f"parameters of model {varied.name!r} vary, and what is traced also calls for model "
        f"{model.name!r}, which has them as they are; change the model inside of the function"
    )
