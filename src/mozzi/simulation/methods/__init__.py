"""Integration methods, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import TypeAlias, cast

from mozzi.errors import ConfigurationError, known
from mozzi.model import Model
from mozzi.simulation.methods.dormand_prince import DormandPrince
from mozzi.simulation.methods.generalized_alpha import GeneralizedAlpha
from mozzi.simulation.methods.method import OneStep
from mozzi.simulation.methods.momentum import MomentumPreserving
from mozzi.simulation.methods.moreau import Moreau
from mozzi.simulation.methods.munthe_kaas import MuntheKaas
from mozzi.simulation.methods.semi_implicit import SemiImplicit
from mozzi.types import Method

__all__ = [
    "METHODS", "DormandPrince", "GeneralizedAlpha", "Integrator", "MomentumPreserving", "Moreau",
    "MuntheKaas", "SemiImplicit", "as_method", "method_for", "method_of",
]  # fmt: skip

Integrator: TypeAlias = OneStep | DormandPrince
"""Steps of constant length, or of its own."""

METHODS: dict[Method, type[OneStep] | type[DormandPrince]] = {
    "semi_implicit": SemiImplicit,
    "rkmk4": MuntheKaas,
    "dopri5": DormandPrince,
    "generalized_alpha": GeneralizedAlpha,
    "momentum": MomentumPreserving,
    "moreau": Moreau,
}
"""What ``method=`` of `simulate` may be: a name here, or a method with other options."""


def as_method(name: str) -> Method:
    """A name of a method, checked."""
    if name not in METHODS:
        raise ConfigurationError(f"no method {name!r}; there are {known(name, METHODS)}")
    return name


def method_for(model: Model, method: Method | Integrator | None) -> Method | Integrator:
    """The method of a model where none is named: Moreau's where it has contacts, else RKMK4."""
    return method if method is not None else "moreau" if model.contacts else "rkmk4"


def method_of(
    method: Method | Integrator, options: Mapping[str, object], beside: Iterable[str] = ()
) -> Integrator:
    """A method, of its name and options or itself; ``beside``: what else a caller may have meant
    by an option that is not one.
    """
    if not isinstance(method, str):
        if options:
            raise ConfigurationError(f"options {sorted(options)} go with the name of a method")
        return method
    kind = METHODS[as_method(method)]
    own = set(inspect.signature(kind).parameters)
    if not options.keys() <= own:
        wrong = min(options.keys() - own)
        meant = get_close_matches(wrong, list(beside), 1, cutoff=0.7)
        there = f"did you mean {meant[0]!r}?" if meant else f"it has {known(wrong, own)}"
        raise ConfigurationError(f"method {method!r} has no option {wrong!r}; {there}")
    return cast("Callable[..., Integrator]", kind)(**options)
