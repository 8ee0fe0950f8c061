"""What notebooks show of models and trajectories: a table, and a page that plays."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mozzi.viz.drawing.outline import limits, outline, type_of
from mozzi.viz.drawing.shapes import drawing
from mozzi.viz.page import page_text, scene

if TYPE_CHECKING:
    from mozzi.model import Model
    from mozzi.simulation.trajectories.trajectory import Trajectory

__all__ = ["model_html", "trajectory_html"]

HEADS = ("body", "joint", "type", "dof", "mass / kg", "lower", "upper")
STYLE = "text-align:left;font-variant-numeric:tabular-nums;white-space:pre;padding:1px 8px"
SHOWN_MOTIONS_MAX = 4  # motions of a batch in one picture


def model_html(model: Model) -> str:
    """The tree of bodies with joints, masses and limits, and what closes it."""
    facts = [f"{model.nb} bodies", f"nq {model.nq}", f"nv {model.nv}", f"{model.mass:.6g} kg"]
    for many, word in (
        (model.closures, "loop or coupling"), (model.springs, "spring"),
        (model.contacts, "contact"), (model.actuators, "actuator"),
    ):  # fmt: skip
        if many:
            several = "loops and couplings" if word.startswith("loop") else f"{word}s"
            facts.append(f"{len(many)} {word if len(many) == 1 else several}")
    rows = [_row("th", HEADS)]
    for prefix, i in outline(model.parents):
        body = model.body(i)
        rows.append(
            _row("td", (
                prefix + body.name, body.joint_name, type_of(body.joint), str(body.joint.nv),
                f"{body.inertia.m:.4g}", limits(body.dynamics.lower), limits(body.dynamics.upper),
            ))
        )  # fmt: skip
    title = f"<b>{html.escape(model.name)}</b> · {html.escape(' · '.join(facts))}"
    return f"<div>{title}<table>{''.join(rows)}</table></div>"


def _row(kind: str, words: Sequence[str]) -> str:
    cells = (f'<{kind} style="{STYLE}">{html.escape(word)}</{kind}>' for word in words)
    return f"<tr>{''.join(cells)}</tr>"


def trajectory_html(trajectory: Trajectory) -> str:
    """A page that plays the motion, inside the notebook; of a batch the first few motions."""
    if trajectory.model is None:
        return f"<code>{html.escape(repr(trajectory))}</code>"
    samples = None
    if trajectory.batch:
        first = (0,) * (len(trajectory.batch) - 1)
        samples = [(*first, k) for k in range(min(SHOWN_MOTIONS_MAX, trajectory.batch[-1]))]
    drawn = drawing(trajectory.model).tell()
    made = scene(trajectory, samples=samples, drawn=drawn if samples is None else None, play=True)
    page = html.escape(page_text([made], trajectory.model.name), quote=True)
    frame = "width:100%;max-width:860px;height:520px;border:0"
    title = html.escape(repr(trajectory))
    return f'<iframe srcdoc="{page}" style="{frame}" title="{title}"></iframe>'
