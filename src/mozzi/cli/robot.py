"""The robot that a command is about: where its file is, how it is loaded, where it starts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mozzi.cli.console import escape, put
from mozzi.errors import ConfigurationError, LeftOutWarning, UnphysicalWarning

if TYPE_CHECKING:
    from mozzi.model import Model
    from mozzi.types import Array

__all__ = ["File", "Root", "configuration", "inside", "open_robot", "vector"]

File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A .urdf, .xml (MJCF) or .sdf file, or a robot's name."),
]
Root = Annotated[
    list[Path] | None,
    typer.Option("--root", help="A folder below which the file may refer to others; repeatable."),
]


def open_robot(
    file: Path,
    base: Literal["fixed", "free"],
    roots: Sequence[Path] | None,
    contacts: bool = False,
) -> Model:
    """Load a file; what is odd or left out is told in a line each."""
    from mozzi.loaders import load

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = load(file, base, roots=roots or (), contacts=contacts)
    for warning in told:
        if issubclass(warning.category, (LeftOutWarning, UnphysicalWarning)):
            put(f"[yellow]note:[/] {escape(str(warning.message))}")
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return model


def configuration(
    model: Model, text: str | None, lock: Sequence[str] = (), name: str = "q0"
) -> Array | list[float]:
    """The configuration that words mean: a name of the file, random, or numbers; what is locked is
    never random. Without words: where the file starts.
    """
    named = model.configurations
    if text is None:
        return named.get("start", model.neutral())
    if text in named:
        return named[text]
    if text == "neutral":
        return model.neutral()
    if text.partition(":")[0] == "random":
        seed = text.partition(":")[2] or "0"
        if not seed.isdigit():
            raise ConfigurationError(f"--{name} {text!r}: give random:SEED with a whole number")
        q, neutral = model.random_configuration(int(seed)), model.neutral()
        for joint in lock:
            if joint in model.q_slices:
                q[model.q_slices[joint]] = neutral[model.q_slices[joint]]
        return q
    if not any(c in text for c in "=,.0123456789"):
        known = ", ".join(["neutral", "random", *named])
        raise ConfigurationError(f"--{name}: no configuration {text!r}; there are {known}")
    start = named.get("start", model.neutral()).tolist()
    return vector(text, start, model.q_slices, name, model.nq)


def inside(model: Model, q: Array | list[float]) -> Array:
    """The nearest coordinates within the limits; told where those are others."""
    import numpy as np

    from mozzi.model.constraints.mimic_coordinates import coupled, limits

    low, high = limits(model)
    moved = np.clip(q, low, high)
    where = [name for name, a, b in zip(model.q_names, q, moved, strict=True) if a != b]
    if where:
        some = ", ".join(where[:4]) + (", ..." if len(where) > 4 else "")
        put(f"[yellow]note:[/] starts within the limits, not at neutral: {escape(some)}")
        moved = coupled(model, moved)
    return moved


def vector(
    text: str | None, start: list[float], slices: Mapping[str, slice], name: str, size: int
) -> list[float]:
    """Numbers by commas, all of them or joint=number."""
    values = list(start)
    if not text:
        return values
    items = [item.strip() for item in text.split(",") if item.strip()]
    named = [item for item in items if "=" in item]
    try:
        if not named:
            values = [float(item) for item in items]
        for item in named:
            joint, _, number = item.rpartition("=")
            where = slices[joint.strip()]
            if where.stop - where.start != 1:
                raise ConfigurationError(
                    f"--{name} {item!r}: joint {joint!r} has {where.stop - where.start} numbers; "
                    "give all numbers instead"
                )
            values[where.start] = float(number)
    except KeyError as error:
        known = ", ".join(list(slices)[:8])
        raise ConfigurationError(f"--{name}: no joint {error}; there are {known}") from None
    except ValueError as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(f"--{name} {text!r}: give numbers by commas") from None
    if len(named) not in (0, len(items)):
        raise ConfigurationError(f"--{name} {text!r}: give all numbers, or joint=number for some")
    if len(values) != size:
        raise ConfigurationError(f"--{name}: {len(values)} numbers; the model takes {size}")
    return values
