"""Write ``src/mozzi/__init__.pyi``: what editors and type checkers see of the public names.

    python tests/typing/stub.py            # write it anew
    python tests/typing/stub.py --check    # exit code 1 where it is not what the sources say

Names come from the table in ``__init__.py``. A function is shown with the signature and docstring
that `help` shows; a class comes from its own file. Names in annotations are imported as the file
of the function imports them.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import sys
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import mozzi
from mozzi import types

STUB = Path(mozzi.__file__).with_suffix(".pyi")
HEAD = '''\
"""Kinematics and dynamics of articulated rigid bodies on screws and Lie groups.

Made by ``python tests/typing/stub.py``: change the sources and run it, not this file.
"""
'''
WIDTH = 100


@cache
def imports(module: str) -> dict[str, str]:
    """How a module imports its names, also those for type checks: name → statement."""
    found: dict[str, str] = {}
    path = Path(str(importlib.import_module(module).__file__))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for x in node.names:
                own = f" as {x.asname}" if x.asname else ""
                found[x.asname or x.name] = f"from {node.module} import {x.name}{own}"
        elif isinstance(node, ast.Import):
            for x in node.names:
                own = f" as {x.asname}" if x.asname else ""
                found[x.asname or x.name] = f"import {x.name}{own}"
    return found


def needed(text: str, module: str) -> Iterator[str]:
    """The imports that the names in an annotation need."""
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            continue
        if not isinstance(node, ast.Name) or node.id in mozzi._HOME or hasattr(builtins, node.id):
            continue
        if node.id in types.__all__:
            yield f"from mozzi.types import {node.id}"
        else:
            yield imports(module).get(node.id) or f"from {module} import {node.id}"


def shown(name: str, function: object) -> tuple[list[str], set[str]]:
    """The declaration of a function, as lines, and the imports it needs."""
    module = str(getattr(function, "__module__", ""))
    variants = typing.get_overloads(function) if inspect.isfunction(function) else []
    lines: list[str] = []
    wanted: set[str] = set()
    for k, variant in enumerate(variants or [function]):
        signature = inspect.signature(variant)
        texts = [str(p.annotation) for p in signature.parameters.values()]
        for text in [*texts, str(signature.return_annotation)]:
            wanted.update(needed(text, module))
        if variants:
            wanted.add("from typing import overload")
            lines.append("@overload")
        lines += declaration(name, signature)
        lines += docstring(function) if k == 0 else ["    ..."]
    return lines, wanted


def declaration(name: str, signature: inspect.Signature) -> list[str]:
    """``def name(...) -> ...:`` on one line, or a line for each parameter."""
    empty, parts, starred = inspect.Parameter.empty, [], False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is empty else f" = {p.default!r}"
        parts.append(f"{star}{p.name}: {p.annotation!s}{default}")
    end = f") -> {signature.return_annotation!s}:"
    line = f"def {name}({', '.join(parts)}{end}"
    if len(line) <= WIDTH:
        return [line]
    return [f"def {name}(", *(f"    {part}," for part in parts), end]


def docstring(function: object) -> list[str]:
    """What `help` shows, indented."""
    text = inspect.getdoc(function) or ""
    quotes = 'r"""' if "\\" in text else '"""'
    lines = f'{quotes}{text}\n"""'.splitlines() if "\n" in text else [f'"""{text}"""']
    return [f"    {line}".rstrip() for line in lines]


def stub() -> str:
    """The text of the stub."""
    classes: list[str] = []
    functions: list[str] = []
    wanted: set[str] = set()
    for name, home in mozzi._HOME.items():
        value = getattr(mozzi, name)
        if inspect.isclass(value):
            classes.append(f"from {home} import {name} as {name}")
            continue
        lines, more = shown(name, value)
        wanted |= more
        functions += ["", *lines]
    names = [f'    "{name}",' for name in mozzi._HOME]
    parts = [HEAD, *sorted(wanted), "", *sorted(classes), "", "__version__: str", "__all__ = ["]
    return "\n".join([*parts, *names, "]", *functions, ""])


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(stub() != STUB.read_text(encoding="utf-8"))
    STUB.write_text(stub(), encoding="utf-8")
