"""Files that are complete or as they were, where folders cannot be opened as well."""

import os
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
