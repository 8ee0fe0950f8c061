"""``mozzi info FILE``: what is in a file."""

from __future__ import annotations

import json
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from mozzi.cli.console import escape, put, stdout, visible
from mozzi.viz.drawing.outline import limits, outline, type_of

if TYPE_CHECKING:
    from mozzi.loaders import Report
    from mozzi.model import Model

__all__ = ["info"]


class Base(StrEnum):
    """How the root is held."""

    fixed = "fixed"
    free = "free"


def info(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A .urdf, .xml (MJCF) or .sdf file.")
    ],
    base: Annotated[Base, typer.Option(help="How the root is held to the world.")] = Base.fixed,
    root: Annotated[
        list[Path] | None,
        typer.Option(help="A folder below which the file may refer to others; may be repeated."),
    ] = None,
    loops: Annotated[
        Path | None, typer.Option(help="A YAML file with the loops of a URDF file.")
    ] = None,
    xacro: Annotated[
        bool, typer.Option("--xacro", help="Expand with xacro, which runs what is in the file.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Show the bodies, joints, masses and loops of a mechanism, and what is odd about its file."""
    from mozzi.loaders import inspect

    found = inspect(file, base.value, roots=root or (), loops=loops, xacro=xacro)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=2, allow_nan=False))
    else:
        show(found)


def show(found: Report) -> None:
    """Everything, for people."""
    model = found.model
    put(f"[bold]{escape(model.name)}[/]  {escape(found.file)} ({found.format})")
    facts = [
        count(model.nb, "moving body", "moving bodies"),
        f"nq {model.nq}",
        f"nv {model.nv}",
        f"{model.mass:.6g} kg",
        count(len(frames(model)), "further frame", "further frames"),
        "gravity ({:g}, {:g}, {:g})".format(*model.gravity),
    ]
    put(" · ".join(facts))
    if model.nb:
        stdout.print(tree(model))
    for loop in model.loops:
        ends = f"{name_of(model, loop.body_a)} — {name_of(model, loop.body_b)}"
        put(f"[cyan]loop[/] {escape(loop.name)}: {type_of(loop.joint)}, {escape(ends)}")
    for rod in model.distances:
        ends = f"{name_of(model, rod.body_a)} — {name_of(model, rod.body_b)}"
        put(f"[cyan]rod[/] {escape(rod.name)}: {rod.length:g} m, {escape(ends)}")
    for spring in model.springs:
        ends = f"{name_of(model, spring.body_a)} — {name_of(model, spring.body_b)}"
        data = f"{spring.stiffness:g} N/m, {spring.damping:g} N s/m, {spring.length:g} m"
        put(f"[cyan]spring[/] {escape(spring.name)}: {data}, {escape(ends)}")
    for coupling in model.couplings:
        terms = " + ".join(f"{c:g} {joint}" for joint, _, c in coupling.terms)
        equation = f"{terms} = {coupling.offset:g}".replace("+ -", "− ")
        put(f"[cyan]coupling[/] {escape(coupling.name)}: {escape(equation)}")
    for contact in model.rollings:
        ends = f"{contact.shape_a} {'in' if contact.inside else 'on'} {contact.shape_b}"
        put(f"[cyan]rolling[/] {escape(contact.name)}: {escape(ends)}")
    for part in model.velocity_rows:
        put(f"[cyan]velocity rows[/] {escape(part.name)}: {part.rows}")
    for one in model.actuators:
        data = f"{one.kind} on {one.joint}, gear {one.gear:g}, gain {one.gain:g}"
        put(f"[cyan]actuator[/] {escape(one.name)}: {escape(data)}")
    if model.shapes:
        kinds = Counter(type(x.geometry).__name__.lower() for x in model.shapes)
        put("[cyan]shapes[/] " + ", ".join(f"{n} {kind}" for kind, n in kinds.items()))
    if model.configurations:
        put(f"[cyan]configurations[/] {escape(', '.join(model.configurations))}")
    for note in found.oddities:
        put(f"[yellow]odd:[/] {escape(str(note))}")


def tree(model: Model) -> Table:
    """Bodies and joints.  A chain runs straight down; branches are indented."""
    table = Table("body", "joint", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("type", no_wrap=True)
    for heading in ("dof", "mass/kg", "lower", "upper"):
        table.add_column(heading, no_wrap=True, justify="right")
    for prefix, i in outline(model.parents):
        body = model.body(i)
        table.add_row(
            Text(prefix + visible(body.name), no_wrap=True, overflow="ellipsis"),
            Text(visible(body.joint_name), no_wrap=True, overflow="ellipsis"),
            type_of(body.joint),
            str(body.joint.nv),
            f"{body.inertia.m:.4g}",
            limits(body.dynamics.lower),
            limits(body.dynamics.upper),
        )
    return table


def frames(model: Model) -> tuple[str, ...]:
    """The frames that are not bodies."""
    return model.frames[model.nb :]


def name_of(model: Model, body: int) -> str:
    return "world" if body < 0 else model.bodies[body]


def count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
