"""Files that are complete, or as they were before, and on the disk when it is said."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import IO

from mozzi.errors import ConfigurationError, ExtraMissingError

__all__ = [
    "all_to_disk", "make_folder_of", "replace", "to_disk", "write_atomically", "zarr_library",
]  # fmt: skip

WINDOWS = os.name == "nt"
WAITERS = 4  # threads that wait for the disk
PATIENCE_S = 2.0  # how long a file that somebody reads is waited for, where that is needed


def zarr_library() -> ModuleType:
    """zarr, which brings stores of chunked arrays."""
    try:
        import zarr
    except ImportError:
        raise ExtraMissingError("a store needs zarr: pip install 'mozzi[cluster]'") from None
    return zarr


def make_folder_of(path: Path) -> None:
    """Make the folder that a file will lie in, before what goes into it is computed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"{path}: the folder {path.parent} cannot be made ({error.strerror}); give another path"
        ) from None


def to_disk(path: Path) -> None:
    """Wait until a file is on the disk, and its name in its folder: machines lose their power."""
    all_to_disk([path])


def all_to_disk(paths: Iterable[Path]) -> None:
    """Wait until files are on the disk, and their names in their folders: all at once, as file
    systems write what several wait for together.
    """
    files = list(paths)
    places = [*files, *({} if WINDOWS else dict.fromkeys(x.parent for x in files))]
    if len(files) == 1:
        for place in places:
            _sync(place)
    elif files:
        with ThreadPoolExecutor(min(WAITERS, len(places))) as waiters:
            list(waiters.map(_sync, places))


def _sync(place: Path) -> None:
    handle = os.open(place, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(new: str | Path, path: Path) -> None:
    """Put a file in the place of another one. Windows refuses while somebody has that open (a
    reader, a scanner): then again, for a while.
    """
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            os.replace(new, path)
            return
        except PermissionError:
            if not WINDOWS or time.monotonic() > end:
                raise
            time.sleep(0.01)


def write_atomically(path: Path, write: Callable[[IO[bytes]], None]) -> Path:
    """Write beside the file and rename: the file is complete, or as it was before. The folder is
    made where it is not there.
    """
    make_folder_of(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        replace(name, path)
        if not WINDOWS:
            to_disk(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path
