"""Where files come from, and how they are read without trusting them.

A description file is data from a stranger. It is read as bytes, up to a limit, from a regular file
only; and whatever it refers to (meshes, included files) is read below declared roots or not at
all. Nothing here opens a network connection.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mozzi.errors import KindError, LeftOutWarning, ModelError, warn

__all__ = ["MAX_BYTES", "Note", "Notes", "Place", "Roots", "read_bytes", "roots_of", "shorten"]

MAX_BYTES = 32 * 2**20
"""The largest description file that is read; the largest robot of common collections has 0.3 MB.
"""

_DESCRIPTION_FOLDERS = {
    "urdf",
    "urdfs",
    "robots",
    "robot",
    "xacro",
    "sdf",
    "mjcf",
    "xml",
    "model",
    "models",
}


MOST_TOLD = 12  # notes in one warning


def shorten(text: str, length: int = 60) -> str:
    """Text that fits into a message."""
    return text if len(text) <= length else text[: length - 1] + "…"


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file: every error about what is in a file names one (0: the file itself)."""

    file: str
    line: int = 1

    def __str__(self) -> str:
        return f"{self.file} line {self.line}" if self.line else self.file

    def error(self, thing: str, fact: str, remedy: str) -> ModelError:
        """The error that names the thing, the fact, the remedy and this place."""
        return ModelError(f"{shorten(thing, 200)}: {shorten(fact, 800)}; {remedy} ({self})")


@dataclass(frozen=True, slots=True)
class Note:
    """Something odd about a file that is not wrong enough to refuse it."""

    place: Place
    thing: str
    fact: str
    left_out: bool = False
    """Whether the file says something that the model does not."""

    def __str__(self) -> str:
        return f"{self.thing}: {self.fact} ({self.place})"


@dataclass(slots=True)
class Notes:
    """The oddities of one file, in the order in which they were met."""

    items: list[Note] = field(default_factory=list[Note])

    def add(self, place: Place, thing: str, fact: str) -> None:
        self.items.append(Note(place, thing, fact))

    def tell(self, robot: str, file: str) -> None:
        """Warn once of all that is left out, by name."""
        left = [note for note in self.items if note.left_out]
        if not left:
            return
        told = [
            f"{note.thing} {note.fact} "
            f"({f'line {note.place.line}' if note.place.file == file else note.place})"
            for note in left[:MOST_TOLD]
        ]
        text = "; ".join(told)
        if len(left) > MOST_TOLD:
            text += f"; and {len(left) - MOST_TOLD} more, which mozzi info lists"
        head = f"the model of robot {robot!r} lacks what {file} says"
        warn(f"{head}: {text}", LeftOutWarning)

    def leave(self, place: Place, thing: str, fact: str) -> None:
        """Something of the file that is not in the model."""
        self.items.append(Note(place, thing, fact, left_out=True))


def read_bytes(
    path: Path | str, what: str = "file", limit: int = MAX_BYTES, place: Place | None = None
) -> bytes:
    """The bytes of a regular file that has at most ``limit`` of them.

    Devices, pipes and folders are refused before they are opened, so that no file name can make
    this hang.
    """
    name = os.fspath(path)
    place = place or Place(name, 0)
    thing = f"{what} {name!r}"
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise place.error(thing, "is not a regular file", "give the path of a file")
        handle = os.open(
            name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise place.error(thing, "is not a regular file", "give the path of a file")
            data = stream.read(limit + 1) or b""  # None where nothing is to be had at once
    except ModelError:
        raise
    except FileNotFoundError:
        raise place.error(thing, "does not exist", "check the path") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise place.error(
            thing, f"cannot be read ({error})", "check the path and its permissions"
        ) from None
    if len(data) > limit:
        remedy = "split the file, or remove what is not a mechanism from it"
        raise place.error(thing, f"has more than {limit:,} bytes", remedy)
    return data


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders below which a file may refer to others.

    ``folder`` is the folder of the file itself, against which relative names are resolved.
    """

    folder: Path
    folders: tuple[Path, ...]

    def resolve(self, uri: str, place: Place, thing: str = "mesh") -> Path:
        """The existing file that a URI or a relative name means, below one of the roots.

        ``package://name/rest`` and ``model://name/rest`` look for ``name/rest`` below every root,
        and for ``rest`` below roots that are called ``name`` (or whose ``package.xml`` says so).
        """
        what = f"{thing} {uri!r}"
        outside: Path | None = None
        for candidate in self._candidates(uri, place, what):
            try:
                real = Path(os.path.realpath(candidate))
                mode = os.stat(real).st_mode if self.covers(real) else None
            except (OSError, ValueError):
                continue
            if mode is None:
                outside = candidate
            elif stat.S_ISREG(mode):
                return real
        if outside is not None:
            fact = "lies outside the folders that may be read"
            raise place.error(
                what, fact, f"move it below {self._listing()}, or add its folder to roots="
            )
        remedy = f"put it below {self._listing()}, or name its folder with roots="
        raise place.error(what, "does not exist below the folders that may be read", remedy)

    def covers(self, path: Path) -> bool:
        """Whether a resolved path lies below one of the roots."""
        return any(path.is_relative_to(folder) for folder in self.folders)

    def _listing(self) -> str:
        return " or ".join(repr(str(folder)) for folder in self.folders)

    def _candidates(self, uri: str, place: Place, what: str) -> list[Path]:
        scheme, separator, rest = uri.partition("://")
        if not separator:
            return [self.folder / uri] if not os.path.isabs(uri) else [Path(uri)]
        scheme = scheme.lower()
        if scheme == "file":
            return [Path(rest)] if os.path.isabs(rest) else [self.folder / rest]
        if scheme not in ("package", "model"):
            raise place.error(
                what, f"{scheme}:// is not read", "download the file and give its path"
            )
        package, _, below = rest.lstrip("/").partition("/")
        found = [folder / package / below for folder in self.folders]
        found += [folder / below for folder in self.folders if package in _names(folder)]
        if not any(path.is_file() for path in found):
            found += [path / below for path in _packages(self.folders, package)]
        return found


def _names(folder: Path) -> set[str]:
    """What a package may be called: its folder, and the name in its manifest."""
    names = {folder.name}
    try:
        manifest = read_bytes(folder / "package.xml", limit=2**16).decode("utf-8", "replace")
    except ModelError:
        return names
    match = re.search(r"<name>\s*([^<\s]+)\s*</name>", manifest)
    return names | {match.group(1)} if match else names


PATHS = {
    "ROS_PACKAGE_PATH": "", "AMENT_PREFIX_PATH": "share", "GZ_SIM_RESOURCE_PATH": "",
    "GAZEBO_MODEL_PATH": "",
}  # fmt: skip
"""Variables of the environment that list folders of packages, and where in them those are."""
DEEP = 3  # levels below a workspace at which a package may lie


def _environment() -> list[Path]:
    """The folders of packages that the environment declares."""
    found: list[Path] = []
    for variable, below in PATHS.items():
        for text in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            folder = Path(os.path.realpath(os.path.join(text, below)))
            if folder.is_dir():
                found.append(folder)
    return found


def _packages(folders: Sequence[Path], name: str) -> list[Path]:
    """Folders of this name with a manifest, some levels below these: as workspaces have them."""
    found: list[Path] = []
    level = [folder for folder in folders if folder in _environment()]
    for _ in range(DEEP):
        inner = [path for folder in level for path in _folders(folder)]
        found += [path for path in inner if path.name == name and (path / "package.xml").is_file()]
        level = inner
    return found


def _folders(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir() and path.name[0] != "."]
    except OSError:
        return []


def roots_of(
    path: Path, roots: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = ()
) -> Roots:
    """The roots of a description file: its own folder, its own package, and what the caller
    declares.

    Its package is the nearest folder above it that holds a ``package.xml``; without one, the
    folder above ``urdf/``, ``robots/`` and the like.
    """
    if isinstance(roots, (str, os.PathLike)):
        roots = (roots,)
    folder = Path(os.path.realpath(path)).parent
    folders = [folder]
    above = [up for up in folder.parents if up != up.parent]  # never the whole disk
    package = next((up for up in above if (up / "package.xml").is_file()), None)
    if package is None and folder.name.lower() in _DESCRIPTION_FOLDERS and len(folder.parts) > 2:
        package = folder.parent
    if package is not None:
        folders.append(package)
    for root in roots:
        if not isinstance(cast(object, root), (str, os.PathLike)):
            raise KindError("load", "roots", root, "folders")
        real = Path(os.path.realpath(root))
        if not real.is_dir():
            raise ModelError(
                f"root {os.fspath(root)!r}: is not a folder; give existing folders in roots="
            )
        folders.append(real)
    folders += _environment()
    return Roots(folder, tuple(dict.fromkeys(folders)))
