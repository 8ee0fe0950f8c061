"""What users see of an algorithm: its signature on arrays, and help that tells every argument.

A recursion is written on blocks of bodies; called with a model, it takes and gives arrays. What
the arrays are follows from their names, so their part of the help is written once, here. The
docstring of an algorithm has the law, the cost, the source, and the blocks ``Returns:`` and
``Example:``; a block ``Args:`` in it says more about arguments than their names do.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from textwrap import wrap
from typing import Literal, get_origin

from mozzi import types

__all__ = ["MEANING", "documented", "public_signature", "sections"]

#: What the arguments of algorithms mean, by name.
MEANING: dict[str, str] = {
    "model": "the mechanism.",
    "q": "configuration, joint by joint as `model.q_slices` tells.",
    "q0": "the first configuration.",
    "q1": "the second configuration.",
    "v": "joint velocities, as `model.v_slices` tells.",
    "q_dot": "rates of the coordinates, as `rates` gives them.",
    "q_ddot": "second rates of the coordinates.",
    "a": "joint accelerations.",
    "j": "joint jerks, the rates of a.",
    "s": "joint snaps, the rates of j.",
    "tau": "joint forces and torques, positive along v.",
    "dv": "a velocity, held for unit time.",
    "v_ref": "reference velocities.",
    "a_ref": "reference accelerations.",
    "wrenches": "external wrenches (torque, force) on the bodies, in the representation "
    "wrenches_rep; \"body\" is in body axes at body origins.",
    "rates": "v, a, j, …: the first N time derivatives of the motion, N = order.",
    "wrench_rates": "external wrenches on the bodies and their first N − 2 time derivatives, in "
    "the representation wrenches_rep.",
    "wrenches_rep": "representation that wrenches are given in, and keep where derivatives are "
    "taken: {words}.",
    "covector": "λ, what the results are contracted with.",
    "momenta": "spatial momenta (angular, linear) of all bodies, as `momenta` gives them.",
    "p": "joint momenta, as `joint_momenta` gives them.",
    "twists": "twists of all bodies (angular, linear), in the representation rep.",
    "twist_rates": "rates of the twists of all bodies, in the representation rep.",
    "weights": "of the squares, each entry of each body; 1 where not given.",
    "twist": "a twist (angular, linear) of the frame, in the representation source.",
    "twist_rate": "its rate, in the representation source.",
    "wrench": "a wrench (torque, force) at the frame, in the representation source.",
    "columns": "a Jacobian of the frame, in the representation source.",
    "point": "a point fixed to the frame, in its coordinates.",
    "multipliers": "what the loops transmit, as `loop_forces` gives it.",
    "loop_offsets": "what residuals of rows shall be, instead of zero.",
    "loop_accelerations": "what A a + Ȧ v shall be, with A = loop_jacobian(model, q); 0 where not "
    "given. Closures that move by a law of time: simulate(loop_offsets=…).",
    "dq": "change of q, along the group: q ⊕ dq.",
    "da": "change of a.",
    "dtau": "change of τ.",
    "dwrenches": "change of the wrenches, in the same representation.",
    "dinertias": "change of the ten inertial parameters of each body, in its frame.",
    "dh": "twists T⁻¹ ∂T of changes of the geometry, body-fixed.",
    "dscrews": "change of the joints' screws, body-fixed.",
    "dscrew_rates": "change of the rates of the joints' screws, body-fixed.",
    "frame": "name of a frame or body.",
    "relative_to": "frame or body that it moves against; None: the world.",
    "measured_at": "frame or body whose origin linear parts are those of; None: the frame.",
    "resolved_in": "frame or body whose axes are those of the components; None: measured_at.",
    "to": "frame or body where the result is measured.",
    "to_axes": "frame or body whose axes the result is resolved in; None: to.",
    "frames": "names of k frames or bodies.",
    "rep": "representation of twists: {words}.",
    "source": "representation of what is given: {words}.",
    "target": "representation of the result: {words}.",
    "resistance": "whether damping, friction and springs act; without, the equations are rigid.",
    "limits": 'with a time step of moreau, whether limits are stops: "rigid", or how they are.',
    "prescribed": "joints whose a is given: names, or pairs (name, number of a coordinate).",
    "actuated": "joints that bear the loads of a model with loops; None: all of them.",
    "minimize": "which of several answers, {words}: the one with least squares of these.",
    "weighting": "weights of these squares, one for each actuated coordinate or row.",
    "form": "which product of exponentials: {words}.",
    "resolved": "axes of the velocity: {words}.",
    "residual": "which squares are least: {words}.",
    "regularization": "weight of the squares of the result, added to those.",
    "order": "how often to differentiate, 1 or more.",
    "springs": "whether springs of the joints and between bodies count.",
    "elastic": "whether stiffness acts.",
    "viscous": "whether damping acts.",
    "dt": "a time step in seconds; None: of the flow in continuous time.",
    "method": "the integrator of that step: {words}.",
}

AXES = {"q": "nq", "v": "nv", "b": "nb", "m": "m", "f": "k", "p": "p", "o": "N", "w": "N − 1"}
_HEAD = re.compile(r"^(Args|Returns|Raises|Example):$", re.MULTILINE)


class _Text(str):
    """An annotation that help shows without quotes."""

    def __repr__(self) -> str:
        return str(self)


def public_signature(
    signature: inspect.Signature, axes: Mapping[str, tuple[int | str, ...]]
) -> inspect.Signature:
    """The signature on a model and arrays: arrays are `ArrayLike`, results are arrays or tuples of
    them, and options are what the recursion says.
    """
    empty = inspect.Parameter.empty
    parameters: list[inspect.Parameter] = []
    for k, parameter in enumerate(signature.parameters.values()):
        if k == 0:
            text = "Model"
        elif parameter.name in axes:
            text = "ArrayLike" if parameter.default is empty else "ArrayLike | None"
        else:
            text = str(parameter.annotation)
        parameters.append(parameter.replace(annotation=_Text(text)))
    count = _tuple_length(str(signature.return_annotation))
    result = "Array" if count is None else f"tuple[{', '.join(['Array'] * count)}]"
    return inspect.Signature(parameters, return_annotation=_Text(result))


def _tuple_length(annotation: str) -> int | None:
    """How many entries the tuple of an annotation has; None of what is no tuple."""
    node = ast.parse(annotation, mode="eval").body
    if not (isinstance(node, ast.Subscript) and ast.unparse(node.value) == "tuple"):
        return None
    return len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1


def sections(doc: str) -> dict[str, str]:
    """The blocks of a docstring by their headings; "" is what stands before them."""
    parts = _HEAD.split(inspect.cleandoc(doc))
    return {"": parts[0].rstrip()} | {
        head: body.strip("\n").rstrip() for head, body in zip(parts[1::2], parts[2::2])
    }


def documented(
    doc: str | None,
    signature: inspect.Signature,
    axes: Mapping[str, tuple[int | str, ...]],
) -> str:
    """The docstring with every argument in its block ``Args:``, with shapes and choices."""
    found = sections(doc or "")
    own = _entries(found.get("Args", ""))
    lines: list[str] = []
    for name, parameter in signature.parameters.items():
        head = name
        if name in axes:
            shape = ", ".join(["B", *(AXES.get(str(x), str(x)) for x in axes[name])])
            optional = "" if parameter.default is inspect.Parameter.empty else ", optional"
            head = f"{name} ({shape}){optional}"
        text = own.get(name) or MEANING.get(name, "")
        text = text.replace("{words}", _choices(str(parameter.annotation)))
        lines += wrap(f"{head}: {text}", 92, initial_indent=" " * 4, subsequent_indent=" " * 8)
    found["Args"] = "\n".join(lines)
    blocks = [found[""]]
    for head in ("Args", "Returns", "Raises", "Example"):
        if head in found:
            blocks.append(f"{head}:\n{found[head]}")
    return "\n\n".join(blocks) + "\n"


def _choices(annotation: str) -> str:
    """The words that an annotation such as "Rep | None" allows."""
    aliases = (getattr(types, name, None) for name in re.findall(r"\w+", annotation))
    found = [f'"{x}"' for a in aliases if get_origin(a) is Literal for x in types.words(a)]
    return " or ".join(filter(None, [", ".join(found[:-1]), *found[-1:]]))


def _entries(block: str) -> dict[str, str]:
    """The entries ``name: text`` of a block, continued on lines that are indented further."""
    found: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(block).splitlines():
        head = re.match(r"(\w+)(?: \([^)]*\))?: (.*)", line)
        if head:
            name = head[1]
            found[name] = head[2]
        elif name:
            found[name] += " " + line.strip()
    return found
