"""Derivatives of traced scalars: new nodes, made inside the active trace.

Every operation has its partial derivatives in a small table; the sweeps only chain and add. Zeros
of structure are the float 0.0 and cost nothing: they are dropped before they meet a partial
derivative, so that an infinite one (of sqrt at 0, of atan2 at the origin, of a division by 0) harms
only what depends on it. Second derivatives are derivatives of derivatives.

At a kink the derivative is that of the operand which the operation chooses: min and max choose the
first of equal ones, so that |x| = max(x, -x) has slope 1 at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from mozzi.program.node import Node, Region, constant, trace_into
from mozzi.program.passes import prune
from mozzi.program.program import Buffer, Input, Output, Program
from mozzi.program.scalar import Condition, Real, cos, divide, select, sin

__all__ = [
    "CHOICE", "PARTIAL", "DifferentiationError", "continued", "differentiate_program", "forward",
    "jacobian", "reverse",
]  # fmt: skip

Mode = Literal["auto", "forward", "reverse"]
#: Number of the direction or of the weighted sum → non-zero derivative.
Derivatives: TypeAlias = dict[int, Real]
#: A scalar or an array of them.
Values: TypeAlias = Real | Sequence[Real] | np.ndarray


class DifferentiationError(TypeError):
    """Something that has no derivative here; the message says what to do instead."""


def _reciprocal(y: Node, b: Node) -> Real:
    return divide(1.0, b, nonzero=y.finite)  # y = a / b is finite where b was declared non-zero


Unary: TypeAlias = Callable[[Node, Node], Real]
Binary: TypeAlias = Callable[[Node, Node, Node], Real]
Choice: TypeAlias = tuple[Condition, Node, Node]

# ∂y/∂operand: for each operand a function of y and all operands.
PARTIAL: dict[str, tuple[Unary] | tuple[Binary, Binary]] = {
    "add": (lambda y, a, b: 1.0, lambda y, a, b: 1.0),
    "sub": (lambda y, a, b: 1.0, lambda y, a, b: -1.0),
    "mul": (lambda y, a, b: b, lambda y, a, b: a),
    "div": (lambda y, a, b: _reciprocal(y, b), lambda y, a, b: -(y * _reciprocal(y, b))),
    "neg": (lambda y, a: -1.0,),
    "sqrt": (lambda y, a: divide(0.5, y, nonzero=True),),  # at 0, what does not change stays
    "sin": (lambda y, a: cos(a),),
    "cos": (lambda y, a: -sin(a),),
    "atan2": (lambda y, a, b: b / (a * a + b * b), lambda y, a, b: -(a / (a * a + b * b))),
    "exp": (lambda y, a: y,),
    "log": (lambda y, a: 1.0 / a,),
    "tanh": (lambda y, a: 1.0 - y * y,),
    "lt": (lambda y, a, b: 0.0, lambda y, a, b: 0.0),
    "le": (lambda y, a, b: 0.0, lambda y, a, b: 0.0),
}

# Operations that choose: (condition, operand where it holds, operand elsewhere).  Derivatives are
# chosen alike, not multiplied by 1 and 0: what is infinite on the other side does not leak.
CHOICE: dict[str, Callable[[Node, Node, Node], Choice] | Callable[[Node, Node], Choice]] = {
    "select": lambda c, a, b: (c, a, b),
    "min": lambda a, b: (a <= b, a, b),
    "max": lambda a, b: (b <= a, a, b),
}


def forward(outputs: Values, inputs: Values, directions: Values) -> np.ndarray:
    """How the outputs change when the inputs move along the directions:  ẏ = (∂y/∂x) ẋ.

    One sweep from inputs to outputs. Inputs are any scalars of the trace, taken as independent;
    `directions` is shaped like them. Further axes at its end are several directions at once, and
    axes at the end of the result.
    """
    y, x, seeds = _array(outputs), _variables(inputs), _array(directions)
    if seeds.shape[: x.ndim] != x.shape:
        raise ValueError(f"directions have shape {seeds.shape}; inputs have shape {x.shape}")
    many = seeds.shape[x.ndim :]
    seeds = seeds.reshape(x.size, math.prod(many))
    tangents = {node: _nonzero(enumerate(row)) for node, row in zip(x.ravel(), seeds, strict=True)}
    for node in _active(y, x):
        if node not in tangents:
            tangents[node] = _tangents(node, tangents)
            _name("d", node, tangents[node])
    rows = [tangents.get(node, {}) for node in y.ravel()]
    return _dense(rows, seeds.shape[1]).reshape(y.shape + many)[()]


def reverse(outputs: Values, inputs: Values, weights: Values) -> np.ndarray:
    """How a weighted sum of the outputs changes with every input:  x̄ = (∂y/∂x)ᵀ ȳ.

    One sweep from outputs to inputs. `weights` is shaped like the outputs; further axes at its
    beginning are several sums at once, and axes at the beginning of the result.

    Where an unchosen operand of a select, min or max has an infinite derivative, 0 · ∞ is not a
    number here; `forward` has no such limit.
    """
    y, x, seeds = _array(outputs), _variables(inputs), _array(weights)
    many = seeds.shape[: max(0, seeds.ndim - y.ndim)]
    if seeds.shape[len(many) :] != y.shape:
        raise ValueError(f"weights have shape {seeds.shape}; outputs have shape {y.shape}")
    seeds = seeds.reshape(math.prod(many), y.size)
    active = _active(y, x)
    stops = set(x.ravel())
    adjoints: dict[Node, Derivatives] = {node: {} for node in active}
    for node, column in zip(y.ravel(), seeds.T, strict=True):
        if node in adjoints:
            _accumulate(adjoints[node], _nonzero(enumerate(column)))
    for node in reversed(active):
        if node not in stops:
            adjoint = _nonzero(adjoints.pop(node).items())
            _name("bar", node, adjoint)
            for operand, share in _shares(node, adjoint, adjoints):
                _accumulate(adjoints[operand], share)
    rows = [adjoints.get(node, {}) for node in x.ravel()]
    return _dense(rows, seeds.shape[0]).T.reshape(many + x.shape)[()]


def jacobian(outputs: Values, inputs: Values, mode: Mode = "auto") -> np.ndarray:
    """∂y/∂x, of shape outputs.shape + inputs.shape.

    Forward sweeps make columns, reverse sweeps make rows; "auto" takes the cheaper, counted on the
    graph.
    """
    y, x = _array(outputs), _variables(inputs)
    if mode == "auto":
        mode = _cheaper(y, x)
    if mode == "forward":
        return forward(y, x, np.eye(x.size).reshape(x.shape + x.shape))
    if mode == "reverse":
        return reverse(y, x, np.eye(y.size).reshape(y.shape + y.shape))
    raise ValueError(f"mode {mode!r}: it is 'auto', 'forward' or 'reverse'")


def differentiate_program(
    program: Program,
    wrt: str | Sequence[str],
    of: str | Sequence[str] | None = None,
    mode: Mode = "auto",
) -> Program:
    """The program of the Jacobians ∂of/∂wrt, with the same inputs.

    Its outputs are named like ``d_out_d_q``: for every output (of all, or of those in `of`) every
    input in `wrt`.
    """
    results = {x.name: x for x in program.outputs}
    variables = _chosen(program, wrt, {x.name: x for x in program.inputs})
    functions = _chosen(program, list(results) if of is None else of, results)
    if any(isinstance(x.values, Buffer) for x in functions):
        raise DifferentiationError(
            f"program {program.name!r} has loops; trace it unrolled to differentiate it"
        )
    with trace_into(continued(program.region)) as region:
        read = [s for s in region.statements if isinstance(s, Node) and s.op == "input"]
        nodes = {s.place: s for s in read}  # those in use
        places = [(program.inputs.index(x), k) for x in variables for k in range(x.size)]
        values = [v for y in functions if not isinstance(y.values, Buffer) for v in y.values]
        used = [column for column, place in enumerate(places) if place in nodes]
        full = np.full((len(values), len(places)), 0.0, dtype=object)
        try:
            full[:, used] = jacobian(values, [nodes[places[column]] for column in used], mode)
        except DifferentiationError as error:
            raise DifferentiationError(f"program {program.name!r} has loops; {error}") from error
        outputs = tuple(
            Output(f"d_{y.name}_d_{x.name}", y.shape + x.shape, tuple(map(constant, block.ravel())))
            for y, rows in zip(functions, _split(full, functions, 0), strict=True)
            for x, block in zip(variables, _split(rows, variables, 1), strict=True)
        )
    name, single = f"{program.name}_derivatives", len(outputs) == 1
    notes = program.lasting_notes
    return prune(Program(name, program.inputs, outputs, region, single, notes))


X = TypeVar("X", Input, Output)


def _chosen(program: Program, names: str | Sequence[str], known: Mapping[str, X]) -> list[X]:
    names = [names] if isinstance(names, str) else names
    for name in names:
        if name not in known:
            raise ValueError(
                f"program {program.name!r} has no {name!r} here; it has {', '.join(known)}"
            )
    return [known[name] for name in names]


def _split(matrix: np.ndarray, parts: Sequence[X], axis: int) -> list[np.ndarray]:
    return np.split(matrix, np.cumsum([part.size for part in parts])[:-1], axis)


def continued(region: Region) -> Region:
    """A region that goes on where a finished one ended, and leaves that one alone."""
    again = Region()
    again.statements = list(region.statements)
    kept = set(region.statements)
    again.table = {key: node for key, node in region.table.items() if node in kept}
    return again


def _array(values: Values) -> np.ndarray:
    return np.asarray(values, dtype=object)


def _variables(inputs: Values) -> np.ndarray:
    """The inputs, each a scalar that simplification does not look through."""
    x = _array(inputs)
    for node in x.ravel():
        if not isinstance(node, Node) or node.op == "const":
            raise DifferentiationError(
                f"{node!r} is a constant; differentiate with respect to a traced scalar"
            )
        if node.op == "neg" or (node.op == "mul" and node.args[0].op == "const"):
            raise DifferentiationError(
                f"a multiple of {node.args[-1]!r} is no variable of its own; "
                f"differentiate with respect to {node.args[-1]!r}"
            )
    if len(set(x.ravel())) < x.size:
        raise DifferentiationError("the inputs contain the same scalar twice; give it once")
    return x


def _active(y: np.ndarray, x: np.ndarray) -> list[Node]:
    """What lies between inputs and outputs, those included, operands first."""
    stops = set(x.ravel())
    stack = [node for node in y.ravel() if isinstance(node, Node)]
    seen = set(stack)
    while stack:
        node = stack.pop()
        if node in stops:
            continue
        buffer = node.address.buffer if node.op == "load" else None
        if buffer is not None and buffer.kind != "table" and not buffer.held:
            raise DifferentiationError(
                f"a value is loaded from {buffer.name!r}, which loops may have filled; "
                "trace the function unrolled to differentiate it"
            )
        if node.op in ("lt", "le"):
            continue  # what is only compared has no derivative
        new = set(node.args) - seen
        seen |= new
        stack.extend(new)
    active: dict[Node, None] = {}
    for node in sorted(seen, key=lambda node: node.order):
        if node in stops or any(a in active for a in node.args):
            active[node] = None
    return list(active)


def _tangents(node: Node, tangents: Mapping[Node, Derivatives]) -> Derivatives:
    """The tangents of a node from those of its operands."""
    if node.op in CHOICE:
        condition, a, b = CHOICE[node.op](*node.args)
        da, db = tangents.get(a, {}), tangents.get(b, {})
        keys = dict.fromkeys([*da, *db])
        return _nonzero((k, select(condition, da.get(k, 0.0), db.get(k, 0.0))) for k in keys)
    total: Derivatives = {}
    for operand, partial in zip(node.args, PARTIAL[node.op], strict=True):
        tangent = tangents.get(operand)
        if tangent:
            _accumulate(total, _scaled(tangent, partial(node, *node.args)))
    return _nonzero(total.items())


def _shares(
    node: Node, adjoint: Derivatives, wanted: Mapping[Node, Derivatives]
) -> Iterable[tuple[Node, Derivatives]]:
    """What the adjoint of a node gives to those of its operands."""
    if not adjoint:
        return
    if node.op in CHOICE:
        condition, a, b = CHOICE[node.op](*node.args)
        if a in wanted:
            yield a, _nonzero((k, select(condition, w, 0.0)) for k, w in adjoint.items())
        if b in wanted:
            yield b, _nonzero((k, select(condition, 0.0, w)) for k, w in adjoint.items())
        return
    for operand, partial in zip(node.args, PARTIAL[node.op], strict=True):
        if operand in wanted:
            yield operand, _scaled(adjoint, partial(node, *node.args))


def _cheaper(y: np.ndarray, x: np.ndarray) -> Mode:
    """The mode with fewer multiplications and additions, counted with sets of inputs and outputs.

    Forward, an operand brings a product for every input above it, and two operands a sum for every
    input above both. In reverse, a node gives a product to every operand for every output below it,
    and all but the first of an operand are added.
    """
    active = _active(y, x)
    above = {node: 1 << n for n, node in enumerate(x.ravel())}  # sets as bits
    below = dict.fromkeys(active, 0)
    for n, node in enumerate(y.ravel()):
        if node in below:
            below[node] |= 1 << n
    inner = [node for node in active if node not in above]
    forwards = backwards = 0
    for node in inner:
        above[node] = 0
        for operand in node.args:
            inputs = above.get(operand, 0)
            forwards += (above[node] & inputs).bit_count() + _products(node) * inputs.bit_count()
            above[node] |= inputs
    for node in reversed(inner):
        for operand in node.args:
            if operand in below:
                outputs = below[node]
                backwards += (below[operand] & outputs).bit_count()
                backwards += _products(node) * outputs.bit_count()
                below[operand] |= outputs
    return "forward" if forwards <= backwards else "reverse"


def _products(node: Node) -> int:
    return 0 if node.op in ("add", "sub", "neg") else 1


def _is_zero(x: Real) -> bool:
    return x.op == "const" and x.value == 0.0 if isinstance(x, Node) else x == 0.0


def _nonzero(pairs: Iterable[tuple[int, Real]]) -> Derivatives:
    return {k: x for k, x in pairs if not _is_zero(x)}


def _scaled(derivatives: Derivatives, factor: Real) -> Derivatives:
    if _is_zero(factor):
        return {}
    return _nonzero((k, factor * x) for k, x in derivatives.items())


def _accumulate(total: Derivatives, share: Derivatives) -> None:
    for k, x in share.items():
        total[k] = total[k] + x if k in total else x


def _dense(rows: list[Derivatives], width: int) -> np.ndarray:
    dense = np.full((len(rows), width), 0.0, dtype=object)
    for n, row in enumerate(rows):
        for k, x in row.items():
            dense[n, k] = x
    return dense


def _name(prefix: str, node: Node, derivatives: Derivatives) -> None:
    """Name the derivatives of a named value after it."""
    if node.name:
        for k, x in derivatives.items():
            if isinstance(x, Node) and not x.name:
                x.name = f"{prefix}_{node.name}" + (f"_{k}" if len(derivatives) > 1 else "")
