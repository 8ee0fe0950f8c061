"""Files that are complete or as they were, where folders cannot be opened as well."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mozzi.files import to_disk, write_atomically


def test_windows_opens_no_folders(tmp_path: Path, monkeypatch):
    """There a folder cannot be opened, and a file is flushed only by who may write to it."""
    plain, opened = os.open, []

    def as_windows(path, flags, *rest):
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        opened.append(flags)
        return plain(path, flags, *rest)

    path = write_atomically(tmp_path / "x", lambda file: [file.write(b"1"), None][1])
    monkeypatch.setattr(os, "open", as_windows)
    with pytest.raises(PermissionError):
        to_disk(path)
    monkeypatch.setattr("mozzi.files.WINDOWS", True)
    opened.clear()
    to_disk(path)
    assert opened == [os.O_RDWR]


def test_a_rename_that_fails_leaves_the_file_and_no_other(tmp_path: Path, monkeypatch):
    """Windows refuses to replace a file that somebody has open."""
    path = tmp_path / "x"
    path.write_bytes(b"before")

    def refuse(a, b):
        raise PermissionError(13, "in use", str(b))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        write_atomically(path, lambda file: [file.write(b"after"), None][1])
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_read_is_waited_for(tmp_path: Path, monkeypatch):
    """On Windows a reader stands in the way of a rename, and goes."""
    path, plain, tries = tmp_path / "x", os.replace, []

    def in_use(a, b):
        tries.append(a)
        if len(tries) < 4:
            raise PermissionError(13, "in use", str(b))
        plain(a, b)

    path.write_bytes(b"before")
    monkeypatch.setattr("mozzi.files.WINDOWS", True)
    monkeypatch.setattr(os, "replace", in_use)
    write_atomically(path, lambda file: [file.write(b"after"), None][1])
    assert path.read_bytes() == b"after" and len(tries) == 4


# What Windows has not is not there; what it does otherwise is done so.
OTHERWISE = """
    import mmap, os, signal, sys, sysconfig, tempfile
    sysconfig.get_config_vars()
    import numpy, llvmlite.binding, rich, typer  # these know where they are
    for name in ("fcntl", "pwd", "grp", "resource", "termios"):
        sys.modules[name] = None
    for name in ("fork", "register_at_fork", "getuid", "sched_getaffinity", "O_NOFOLLOW",
                 "O_NONBLOCK", "fchmod", "mkfifo"):
        if hasattr(os, name):
            delattr(os, name)
    for name in ("MAP_ANONYMOUS", "MAP_PRIVATE"):
        if hasattr(mmap, name):
            delattr(mmap, name)
    for name in ("SIGKILL", "SIGHUP", "SIGALRM", "pthread_kill", "setitimer"):
        if hasattr(signal, name):
            delattr(signal, name)
    place = tempfile.mkdtemp()
    os.environ.pop("MOZZI_CACHE_DIR", None)
    os.environ["LOCALAPPDATA"] = place
    sys.platform = "win32"

    import mozzi as mz
    from mozzi import files
    from mozzi.model.generate import chain
    from mozzi.targets import disk_cache

    files.WINDOWS = True
    model = chain(3)
    q = model.random_configuration(0, 5000)
    M = mz.mass_matrix(model, q)
    again = mz.compile(mz.mass_matrix, chain(3))(q)
    assert (M == again).all()
    assert disk_cache.folder().parent == files.Path(place)
    assert disk_cache.contents(disk_cache.folder())[0] >= 1
    motion = mz.simulate(model, q[0], 0 * q[0], 0.05, 0.01)
    motion.save(os.path.join(place, "x.npz"))
    assert (mz.Trajectory.load(os.path.join(place, "x.npz")).q == motion.q).all()
    print("as it should")
"""


def test_nothing_is_taken_from_posix():
    """A process without forks, owners, fcntl and the signals of POSIX computes, caches, simulates,
    saves.
    """
    command = [sys.executable, "-c", textwrap.dedent(OTHERWISE)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "as it should", run.stderr
