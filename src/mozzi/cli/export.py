"""``mozzi export FILE``: an algorithm for one mechanism, as source code to take elsewhere."""

from __future__ import annotations

import inspect
import os
import shlex
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mozzi.cli.console import escape, put
from mozzi.cli.info import Base
from mozzi.cli.robot import File, Root, open_robot
from mozzi.errors import ConfigurationError, known

if TYPE_CHECKING:
    from mozzi.algorithms.calls.algorithm import Algorithm
    from mozzi.model import Model
    from mozzi.targets.c.source import CSource
    from mozzi.types import Array

__all__ = ["export"]

SAMPLES = 5


class Target(StrEnum):
    """What is written."""

    c = "c"


class Number(StrEnum):
    """What the code computes in."""

    double = "double"
    float = "float"
    float64 = "float64"
    float32 = "float32"


def export(
    file: File,
    function: Annotated[
        str, typer.Option(help="What it computes, as in mozzi.FUNCTION; a wrong one lists all.")
    ] = "inverse_dynamics",
    target: Annotated[Target, typer.Option(help="The language.")] = Target.c,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write into.")] = Path(),
    dtype: Annotated[Number, typer.Option(help="What it computes in.")] = Number.double,
    base: Annotated[Base, typer.Option(help="How the root is held to the world.")] = Base.fixed,
    root: Root = None,
    free_base: Annotated[
        bool, typer.Option("--free-base", help="Short for --base free.")
    ] = False,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the function, such as frame=hand or "
                     "wrenches=true; may be repeated."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The name of the function and its files.")
    ] = None,
    rolled: Annotated[
        bool | None,
        typer.Option("--rolled/--unrolled", help="Loops over bodies, or straight-line code; by "
                     "default the size decides."),
    ] = None,
) -> None:  # fmt: skip
    """Write an algorithm for a mechanism as C99: source, header, and a test with reference values.

    The source needs nothing but <math.h> and allocates nothing.
    """
    from mozzi.compiler import compile

    chosen = algorithm(function)
    options = settings(chosen, option or ())
    model = open_robot(file, "free" if free_base else base.value, root)
    number = "float32" if dtype in (Number.float, Number.float32) else "float64"
    code = compile(
        chosen, model, target.value, number, rolled=rolled, options=options, name=name or function
    )
    files = {
        f"{code.name}.c": code.source,
        f"{code.name}.h": about(model, file, code) + code.header,
        f"test_{code.name}.c": code.test_program(samples(model, code)),
    }
    write(out, files)
    for path in files:
        put(escape(str(out / path)))
    sources = [str(out / path) for path in files if path.endswith(".c")]
    test = str(out / f"test_{code.name}")
    build = shlex.join(["cc", "-std=c99", "-O2", *sources, "-lm", "-o", test])
    put(f"{sum(code.operations.values()):,} operations. Test it:")
    put(escape(f"  {build} && {shlex.quote(os.path.abspath(test))}"))


def about(model: Model, file: Path, code: CSource) -> str:
    """What the code is for, as a comment: robot, gravity, units, version, and the entries of
    arguments and results by joint.
    """
    import mozzi

    gravity = ", ".join(f"{g:g}" for g in model.gravity)
    lines = [
        f"{code.name} of the robot {model.name!r} ({file.name}), by mozzi {mozzi.__version__}.",
        f"Model {model.digest[:16]}: {model.nb} moving bodies, nq = {model.nq}, nv = {model.nv}.",
        f"Units: m, kg, s, rad, N, N m. Gravity: ({gravity}) m/s^2 in the inertial frame.",
        "Six-vectors are (angular, linear); quaternions are (x, y, z, w).",
    ]
    for role, arrays in (("argument", code.program.inputs), ("result", code.program.outputs)):
        for array in arrays:
            lines += ["", f"{role} {array.name}{list(array.shape) or ''}:"]
            lines += [f"  {line}" for line in entries(model, array.name, tuple(array.shape))]
    text = "\n".join(f" * {line}".rstrip() for line in lines)
    text = text.replace("*/", "* /").encode("ascii", "replace").decode()
    return f"/*\n{text}\n */\n"


def entries(model: Model, name: str, shape: tuple[int, ...]) -> list[str]:
    """What the entries of an array are, by its shape."""
    axes: list[str] = []
    rows: list[str] = []
    for k, size in enumerate(shape):
        if size == model.nq and (name.startswith("q") or size != model.nv):
            names: tuple[str, ...] | None = model.q_names
        elif size == model.nv:
            names = model.v_names
        elif size == model.nb:
            names = model.bodies
        else:
            names = None
        if names is None:
            axes.append(f"axis {k}: {size} numbers")
        elif len(shape) == 1:
            rows = [f"[{i}] {entry}" for i, entry in enumerate(names)]
        else:
            axes.append(f"axis {k}: {', '.join(names)}")
    return rows or axes or ["a number"]


def functions() -> dict[str, Algorithm]:
    """The algorithms that can be exported, by name."""
    import mozzi
    from mozzi.algorithms.calls.algorithm import Algorithm

    found: dict[str, Algorithm] = {}
    for name in sorted(mozzi.__all__):
        value = getattr(mozzi, name)
        if isinstance(value, Algorithm) and value.__module__.startswith("mozzi.algorithms."):
            found[name] = value
    return found


def algorithm(name: str) -> Algorithm:
    found = functions()
    if name not in found:
        raise ConfigurationError(f"no function {name!r} to export; there are {known(name, found)}")
    return found[name]


def settings(function: Algorithm, words: list[str] | tuple[str, ...]) -> dict[str, object]:
    """NAME=VALUE as keyword arguments: true, false, numbers, names, and lists by commas."""
    optional = [n for n in function.arrays if n not in function.required]
    names = [*function.defaults, *optional]
    options: dict[str, object] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in names:
            raise ConfigurationError(
                f"--option {word!r}: give NAME=VALUE; {function.name} has the options "
                f"{known(key, names)}"
            )
        options[key] = parsed(value)
        if key in optional and options[key] is not True:
            raise ConfigurationError(f"--option {word!r}: {key} is an array; give {key}=true")
    for key, default in function.defaults.items():
        if default is inspect.Parameter.empty and key not in options:
            raise ConfigurationError(f"{function.name} needs {key}: add --option {key}=…")
    return options


def parsed(value: str) -> object:
    if "," in value:
        return tuple(parsed(part) for part in value.split(",") if part)
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(value.lower(), value)


def samples(model: Model, code: CSource) -> list[list[Array]]:
    """Points to test at, the same in every run: configurations where they are wanted."""
    import numpy as np

    rng = np.random.default_rng(0)
    return [
        [
            model.random_configuration(rng)
            if x.name.startswith("q") and x.shape == (model.nq,)
            else rng.uniform(-1.0, 1.0, x.shape)
            for x in code.program.inputs
        ]
        for _ in range(SAMPLES)
    ]


def write(folder: Path, files: dict[str, str]) -> None:
    """All files or none: each is complete before it gets its name."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as place:
        for name, text in files.items():
            (Path(place) / name).write_text(text, encoding="ascii")
        for name in files:
            os.replace(Path(place) / name, folder / name)
