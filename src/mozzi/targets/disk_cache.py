"""Compiled kernels on disk: found again by the next process, harmless when anything is wrong.

A file holds bytes under a key, with a checksum. It is written beside and then renamed, so that
readers and other writers never see half of it. What cannot be read, written or trusted is as if it
were not there. MOZZI_CACHE=0 switches the cache off, MOZZI_CACHE_DIR moves it. The files are
machine code: the folder must not be writable by people whose code you would not run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Entry", "folder", "lookup", "prune", "read", "store", "write"]

MAGIC = b"mozzi 1\n"
LIMIT = 512 * 2**20  # bytes of all files together
_pruned = False
_lock = threading.Lock()


@dataclass(frozen=True)
class Entry:
    """A compiled kernel: all that is needed to call it again."""

    name: str
    dtype: str
    lanes: int
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[tuple[str, tuple[int, ...]], ...]
    single: bool
    operations: dict[str, int]
    flops: int
    work: float  # operations of one evaluation, loops counted as often as they run
    code: bytes
    packed: bytes  # the LLVM IR, compressed

    @property
    def source(self) -> str:
        return zlib.decompress(self.packed).decode()

    def to_bytes(self) -> bytes:
        head = asdict(self)
        code, packed = head.pop("code"), head.pop("packed")
        text = json.dumps(head | {"code": len(code)}).encode()
        return len(text).to_bytes(8, "little") + text + code + packed

    @classmethod
    def from_bytes(cls, data: bytes) -> Entry:
        start = 8 + int.from_bytes(data[:8], "little")
        head = json.loads(data[8:start])
        end = start + head["code"]
        for part in ("inputs", "outputs"):
            head[part] = tuple((name, tuple(shape)) for name, shape in head[part])
        return cls(**(head | {"code": data[start:end], "packed": data[end:]}))


def lookup(key: str) -> Entry | None:
    """The kernel under this key, if it is there and whole."""
    data = read(key)
    try:
        return None if data is None else Entry.from_bytes(data)
    except (ValueError, KeyError, TypeError):
        return None


def store(key: str, entry: Entry) -> None:
    """Keep a kernel under this key."""
    write(key, entry.to_bytes())


def folder() -> Path | None:
    """Where the files are; None where there is no cache."""
    if os.environ.get("MOZZI_CACHE", "1").strip().lower() in ("0", "off", "no", "false"):
        return None
    chosen = os.environ.get("MOZZI_CACHE_DIR")
    if chosen:
        return Path(chosen)
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "mozzi" if base.is_absolute() else None


def _path(base: Path, key: str) -> Path:
    name = hashlib.sha256(key.encode()).hexdigest()
    return base / name[:2] / f"{name}.kernel"


def read(key: str) -> bytes | None:
    """The bytes under this key, if they are there and whole."""
    base = folder()
    if base is None:
        return None
    path = _path(base, key)
    try:
        data = path.read_bytes()
        if time.time() - path.stat().st_mtime > 86400:
            os.utime(path)  # used today: the oldest go first
    except OSError:
        return None
    start = len(MAGIC) + 32
    whole = data[: len(MAGIC)] == MAGIC and data[len(MAGIC) : start] == _checksum(key, data[start:])
    return data[start:] if whole else None


def write(key: str, data: bytes) -> None:
    """Keep bytes under this key."""
    base = folder()
    if base is None:
        return
    path = _path(base, key)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + _checksum(key, data) + data)
        os.replace(temporary, path)
        _prune_once(base)
    except OSError:  # read-only, full, no permission: the next process compiles again
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _checksum(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + data).digest()


def _prune_once(base: Path) -> None:
    global _pruned
    with _lock:
        first, _pruned = not _pruned, True
    if first:
        prune(base)


def prune(base: Path, limit: int = LIMIT) -> None:
    """Remove the files that were not used for longest, until the others fit into three quarters of
    the limit.
    """
    files = sorted(_files(base))
    total = sum(size for _, size, _ in files)
    if total <= limit:
        return
    for _, size, path in files:
        if total <= 0.75 * limit:
            break
        try:
            os.unlink(path)
        except OSError:
            continue
        total -= size


def _files(base: Path) -> Iterator[tuple[float, int, str]]:
    for sub in _scan(base):
        if len(sub.name) == 2:
            for file in _scan(sub):
                if file.name.endswith((".kernel", ".tmp")):
                    try:
                        stat = file.stat()
                    except OSError:
                        continue
                    yield stat.st_mtime, stat.st_size, file.path


def _scan(path: Any) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as found:
            return list(found)
    except OSError:
        return []
