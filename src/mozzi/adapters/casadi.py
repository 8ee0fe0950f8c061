# pyright: basic
# (CasADi is not typed)
"""Functions of CasADi: as expressions, or as calls of machine code with derivatives of any order.

Expressions are made by running the program on CasADi's scalars, so that CasADi differentiates,
simplifies and generates code as it does with what is written in it. Calls are a `Callback` whose
Jacobian is a call of the differentiated program, and so on.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import numpy as np

from mozzi.checked import checked
from mozzi.compiler import program_of
from mozzi.errors import ConfigurationError, ExtraMissingError
from mozzi.model import Model
from mozzi.model.as_model import as_model
from mozzi.program.differentiate import differentiate_program
from mozzi.program.meaning import interpret
from mozzi.program.program import Program
from mozzi.targets.cpu.build import compile_cpu

if TYPE_CHECKING:
    import casadi as ca

__all__ = ["casadi_function"]


@checked
def casadi_function(
    function: Callable[..., object],
    model: Model,
    *,
    kind: Literal["expression", "callback"] = "expression",
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    options: Mapping[str, object] | None = None,
    name: str | None = None,
) -> ca.Function:
    """A function as a `casadi.Function`, with derivatives of any order.

    Cost: as many of CasADi's operations as the program has, once for each evaluation; a call of
    machine code where it is a callback.

    Args:
        function: an algorithm, or a function of arrays that calls algorithms, as `compile` takes.
        model: the mechanism.
        kind: "expression": scalars of CasADi, which it differentiates and writes as C itself.
            "callback": calls of machine code, Jacobians and Hessians by program differentiation;
            for large mechanisms, whose expressions are slow.
        inputs: as in `compile`.
        options: as in `compile`.
        name: of the function.

    Returns:
        A `casadi.Function` of columns and matrices with the names of the arguments.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> f = mz.casadi_function(mz.forward_dynamics, arm)
        >>> f.name_in(), f.size1_out(0)
        (['q', 'v', 'tau'], 3)
    """
    as_model(model, "casadi_function")
    casadi = _casadi()
    program = program_of(function, model, rolled=False, inputs=inputs, options=options)
    for x in (*program.inputs, *program.outputs):
        if len(x.shape) > 2:
            raise ConfigurationError(
                f"casadi_function: {x.name} has shape {x.shape}; CasADi has matrices, so reshape it"
            )
    label = name or getattr(function, "__name__", "function")
    label = label if label.isidentifier() else "mozzi_function"
    if kind == "callback":
        return _calls(casadi)(label, program)
    if kind != "expression":
        raise ConfigurationError(f"kind {kind!r}: give 'expression' or 'callback'")
    given = [casadi.SX.sym(x.name, *_size(x.shape)) for x in program.inputs]
    flat = [_scalars(x, spec.shape) for x, spec in zip(given, program.inputs)]
    found = interpret(program, flat, _meaning(casadi))
    made = [_matrix(casadi, y, x.shape) for y, x in zip(found, program.outputs)]
    names = [x.name for x in program.inputs], [x.name for x in program.outputs]
    return casadi.Function(label, given, made, *names)


def _casadi() -> ModuleType:
    try:
        return importlib.import_module("casadi")
    except ImportError:
        raise ExtraMissingError(
            "casadi_function needs CasADi; install it with: pip install 'mozzi[casadi]'"
        ) from None


def _size(shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of an array of at most two axes."""
    rows, columns = (*shape, 1, 1)[:2]
    return rows, columns


def _scalars(x: ca.SX, shape: Sequence[int]) -> list[ca.SX]:
    rows, columns = _size(shape)
    return [x[i, j] for i in range(rows) for j in range(columns)]


def _matrix(casadi: ModuleType, values: Sequence[ca.SX], shape: Sequence[int]) -> ca.SX:
    rows, columns = _size(shape)
    out = casadi.SX(rows, columns)
    for k, value in enumerate(values):
        out[k // columns, k % columns] = value
    return out


def _meaning(casadi: ModuleType) -> dict[str, Callable[..., ca.SX]]:
    """How CasADi spells the operations."""
    return {
        "const": lambda x: casadi.SX(x),
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b, "neg": lambda a: -a, "sqrt": casadi.sqrt, "sin": casadi.sin,
        "cos": casadi.cos, "atan2": casadi.atan2, "exp": casadi.exp, "log": casadi.log,
        "tanh": casadi.tanh, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
        "select": casadi.if_else, "min": casadi.fmin, "max": casadi.fmax,
    }  # fmt: skip


_CLASS: list[Callable[..., ca.Callback]] = []


def _calls(casadi: ModuleType) -> Callable[..., ca.Callback]:
    """The class of calls, made once CasADi is there."""
    if not _CLASS:

        class Calls(casadi.Callback):
            """A program; arguments behind its own are not read. Results with 2 n axes are matrices
            of derivatives: rows are the first axes, columns the last ones, as CasADi orders them.
            """

            def __init__(
                self, name: str, program: Program, split: Sequence[int] = (),
                names: Sequence[Sequence[str]] | None = None,
                unread: Sequence[tuple[int, int]] = (),
            ):  # fmt: skip
                super().__init__()
                self.program, self.kernel = program, compile_cpu(program, "float64")
                self.split = list(split) or [0] * len(program.outputs)
                self.names = names or [
                    [x.name for x in program.inputs], [x.name for x in program.outputs]
                ]
                self.unread = list(unread)
                self.kept: list[ca.Callback] = []  # Jacobians, which CasADi does not keep alive
                self.construct(name, {})

            def get_n_in(self) -> int:
                return len(self.program.inputs) + len(self.unread)

            def get_n_out(self) -> int:
                return len(self.program.outputs)

            def get_name_in(self, k: int) -> str:
                return self.names[0][k]

            def get_name_out(self, k: int) -> str:
                return self.names[1][k]

            def get_sparsity_in(self, k: int) -> ca.Sparsity:
                own = self.program.inputs
                size = _size(own[k].shape) if k < len(own) else self.unread[k - len(own)]
                return casadi.Sparsity.dense(*size)

            def get_sparsity_out(self, k: int) -> ca.Sparsity:
                return casadi.Sparsity.dense(*self._out_size(k))

            def _out_size(self, k: int) -> tuple[int, int]:
                shape, at = self.program.outputs[k].shape, self.split[k]
                if not at:
                    return _size(shape)
                return math.prod(shape[:at]), math.prod(shape[at:])

            def eval(self, arguments: Sequence[ca.DM]) -> list[ca.DM]:
                own = self.program.inputs
                arrays = [np.array(x).reshape(s.shape) for x, s in zip(arguments, own)]
                found = self.kernel(*arrays)
                found = (found,) if self.program.single else found
                return [casadi.DM(self._as_matrix(y, k)) for k, y in enumerate(found)]

            def _as_matrix(self, y: np.ndarray, k: int) -> np.ndarray:
                at = self.split[k]
                if at:  # columns of a matrix are one below the other: the last axis comes first
                    n = y.ndim
                    y = y.transpose([*reversed(range(at)), *reversed(range(at, n))])
                return y.reshape(self._out_size(k))

            def has_jacobian(self, *_: object) -> bool:
                return True

            def get_jacobian(
                self, name: str, inames: Sequence[str], onames: Sequence[str],
                options: Mapping[str, object],
            ) -> ca.Function:
                own = [x.name for x in self.program.inputs]
                program = differentiate_program(self.program, own)
                n = len(own)
                split = [len(y.shape) for y in self.program.outputs for _ in own]
                unread = [*self.unread, *(self._out_size(k) for k in range(self.get_n_out()))]
                wide = n + len(self.unread)
                called = [
                    onames[k * wide + j] for k in range(self.get_n_out()) for j in range(n)
                ]
                inner = Calls(f"{name}_of_machine_code", program, split, [inames, called], unread)
                self.kept.append(inner)
                if not self.unread:
                    return inner
                given = [casadi.MX.sym(x, *inner.size_in(k)) for k, x in enumerate(inames)]
                found = inner.call(given)
                blocks = []
                for k in range(self.get_n_out()):
                    rows = math.prod(self._out_size(k))
                    blocks += found[k * n : (k + 1) * n]
                    blocks += [casadi.MX(rows, math.prod(size)) for size in self.unread]
                return casadi.Function(name, given, blocks, inames, onames)

        _CLASS.append(Calls)
    return _CLASS[0]
