# pyright: reportMissingTypeStubs=false, reportUnnecessaryIsInstance=false
"""Robots by name: those of ``example-robot-data`` and ``robot_descriptions``, where installed."""

from __future__ import annotations

import importlib
import os
from functools import cache
from importlib import metadata, util
from pathlib import Path

from mozzi.errors import ModelError
from mozzi.loaders.xml.words import nearest

__all__ = ["find", "known"]

FORMATS = (".urdf", ".xml", ".sdf", ".world", ".xacro", ".mjcf")
USUAL = {"talos": "talos_reduced", "anymal": "anymal_b", "solo": "solo12", "ur": "ur5",
         "cassie": "cassie_v2"}  # fmt: skip
"""Robots of which there are several, and which one is meant."""
EXTRA = "pip install 'mozzi[robots]' brings robots by name"


def find(name: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The file that a name means; a path is returned as it is."""
    text = os.fspath(name)
    if not isinstance(text, str) or os.path.exists(text) or _is_path(text):
        return name
    robots = _examples()
    for word in (USUAL.get(text, text), text):
        if word in robots:
            return robots[word]
    if text in _descriptions():
        return _described(text)
    everything = known()
    if not everything:
        raise ModelError(f"robot {text!r}: there is no such file, and no names are known; {EXTRA}")
    near = nearest(text, everything)
    raise ModelError(
        f"robot {text!r}: there is no such file, and no robot of that name; did you mean "
        f"{near[0]!r}? There are {len(near)} names, such as {', '.join(near[:12])}"
    )


def known() -> list[str]:
    """All names that `load` knows."""
    return sorted({*_examples(), *_descriptions()})


def _is_path(text: str) -> bool:
    seps = (os.sep, "/", "\0")
    return any(s in text for s in seps) or text.lower().endswith(FORMATS) or not text.strip()


@cache
def _examples() -> dict[str, Path]:
    """The files of example-robot-data: by their own names, and by those of their packages."""
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        return {}
    found = sorted(
        (file for file in files if file.suffix in (".urdf", ".sdf") and "robots" in file.parts),
        key=lambda file: (len(file.name), str(file)),
    )
    table: dict[str, Path] = {}
    for file in found:
        path = Path(str(file.locate()))
        package = file.parts[file.parts.index("robots") + 1]
        for word in ("_description", "_data", "_simple"):
            package = package.removesuffix(word)
        for name in (path.stem, path.stem.removesuffix("_robot"), package):
            table.setdefault(name, path)
    return table


@cache
def _descriptions() -> tuple[str, ...]:
    """The names of robot_descriptions, which fetches a robot when it is first asked for it."""
    if util.find_spec("robot_descriptions") is None:
        return ()
    table = importlib.import_module("robot_descriptions._descriptions")
    return tuple(map(str, table.DESCRIPTIONS))


def _described(name: str) -> str:
    try:
        module = importlib.import_module(f"robot_descriptions.{name}")
    except Exception as error:  # whatever a download may raise
        text = " ".join(str(error).split())[:200] or type(error).__name__
        raise ModelError(
            f"robot {name!r}: robot_descriptions could not fetch it ({text}); check the network, "
            "or give a file"
        ) from error
    for word in ("URDF_PATH", "MJCF_PATH"):
        if hasattr(module, word):
            return str(getattr(module, word))
    raise ModelError(f"robot {name!r}: robot_descriptions gives no URDF or MJCF; give a file")
