"""Compiled kernels on disk: found again by the next process, harmless when anything is wrong.

A file holds bytes under a key, with a checksum. It is written beside and then renamed, so that
readers and other writers never see half of it. What cannot be read, written or trusted is as if it
were not there. MOZZI_CACHE=0 switches the cache off, MOZZI_CACHE_DIR moves it.

The files are machine code, so they are run only where nobody else can have put them: folders and
files must belong to this user, and others must not be able to write to them. What is no plain file
or too large is never opened.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from mozzi.errors import warn
from mozzi.locks import ForkLock

__all__ = [
    "Entry", "clear", "contents", "folder", "key_of", "lookup", "prune", "read", "store", "write",
]  # fmt: skip

MAGIC = b"mozzi 3\n"
MAX_TOTAL = 512 * 2**20  # bytes of all files together
MAX_ENTRY = 256 * 2**20  # bytes of one
WRITES_PER_PRUNE = 64
_writes = 0
_told: set[str] = set()
_lock = ForkLock()


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
    if folder() is not None:
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


def key_of(*parts: object) -> str:
    """A key of what these parts, which print all that they are, decide in this library."""
    return hashlib.sha256(repr((_sources(), *parts)).encode()).hexdigest()


@cache
def _sources() -> str:
    """A digest of all sources of the package: a changed library does not meet old kernels."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _path(base: Path, key: str) -> Path:
    name = hashlib.sha256(key.encode()).hexdigest()
    return base / name[:2] / f"{name}.kernel"


def read(key: str) -> bytes | None:
    """The bytes under this key, if they are there, whole and our own."""
    base = folder()
    if base is None:
        return None
    path = _path(base, key)
    if not (path.parent.is_dir() and _trusted(base) and _trusted(path.parent)):
        return None
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_ENTRY:
                return None
            if not _own(about):
                return _distrust(path)
            data = file.read(MAX_ENTRY + 1)
        if time.time() - about.st_mtime > 86400:
            os.utime(path)  # used today: the oldest go first
    except OSError:
        return None
    start = len(MAGIC) + 32
    whole = data[: len(MAGIC)] == MAGIC and data[len(MAGIC) : start] == _checksum(key, data[start:])
    return data[start:] if whole else None


def write(key: str, data: bytes) -> None:
    """Keep bytes under this key."""
    base = folder()
    if base is None or len(data) > MAX_ENTRY // 2:
        return
    path = _path(base, key)
    temporary = None
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
        for place in (base, path.parent):
            place.mkdir(mode=0o700, exist_ok=True)
            if not _trusted(place):
                return
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + _checksum(key, data) + data)
        os.replace(temporary, path)
        _prune_at_times(base)
    except OSError:  # read-only, full, no permission: the next process compiles again
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _trusted(place: Path) -> bool:
    """Whether nobody but this user can have put something into a folder."""
    try:
        if _own(os.stat(place)) and _own(os.lstat(place), link=True):
            return True
    except OSError:
        return False
    _distrust(place)
    return False


def _own(about: os.stat_result, link: bool = False) -> bool:
    """Whether something is this user's and others cannot write to it (links have no mode)."""
    if not hasattr(os, "getuid"):
        return True  # Windows: the folder lies in the user's own profile
    others = stat.S_IWGRP | stat.S_IWOTH
    is_link = link and stat.S_ISLNK(about.st_mode)
    return about.st_uid == os.getuid() and (is_link or not about.st_mode & others)


def _distrust(place: Path) -> None:
    """Say once that something is not used."""
    with _lock:
        known = str(place) in _told
        _told.add(str(place))
    if not known:
        warn(
            f"the kernel cache at {place} is not used: it belongs to another user, or others can "
            "write to it; correct its owner and mode (chmod go-w), or set MOZZI_CACHE_DIR",
            RuntimeWarning,
        )


def _checksum(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + data).digest()


def _prune_at_times(base: Path) -> None:
    global _writes
    with _lock:
        due, _writes = _writes % WRITES_PER_PRUNE == 0, _writes + 1
    if due:
        prune(base)


def prune(base: Path, limit: int = MAX_TOTAL) -> None:
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


def contents(base: Path) -> tuple[int, int]:
    """How many files there are, and how many bytes they have together."""
    sizes = [size for _, size, _ in _files(base)]
    return len(sizes), sum(sizes)


def clear(base: Path) -> int:
    """Remove all files of the cache (and nothing else in its folder); how many."""
    removed = 0
    for _, _, path in list(_files(base)):
        with contextlib.suppress(OSError):
            os.unlink(path)
            removed += 1
    return removed


def _files(base: Path) -> Iterator[tuple[float, int, str]]:
    for sub in _scan(base):
        if len(sub.name) == 2:
            for file in _scan(sub):
                if file.name.endswith((".kernel", ".tmp")):
                    try:
                        about = file.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    yield about.st_mtime, about.st_size, file.path


def _scan(path: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as found:
            return list(found)
    except OSError:
        return []
