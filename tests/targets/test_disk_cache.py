"""Kernels on disk: found again, and harmless when anything is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mozzi as mz
from mozzi.lie import Vec3
from mozzi.model.joints.joint import JOINT_TYPES
from mozzi.program.program import Input, Program, trace
from mozzi.targets import derivatives
from mozzi.targets import disk_cache as cache
from mozzi.targets.cpu import jit as llvm_jit
from mozzi.targets.cpu.build import build


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MOZZI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("MOZZI_CACHE", raising=False)
    return tmp_path / "cache"


class Making:
    """A trace that counts how often it is asked for."""

    def __init__(self, factor: float = 2.0):
        self.count, self.factor = 0, factor

    def __call__(self) -> Program:
        self.count += 1
        return trace(lambda x: (x * self.factor, x[0]), [Input("x", (3,))], "double")


def works(kernel, factor=2.0):
    np.testing.assert_array_equal(kernel(np.ones((9, 3)))[0], factor)
    np.testing.assert_array_equal(kernel(np.ones(3))[0], factor)
    return True


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.kernel"))


def test_the_second_time_nothing_is_traced_or_compiled(folder, monkeypatch):
    make = Making()
    first = build(make, key="a key")
    assert works(first) and make.count == 1 and files(folder)
    monkeypatch.setattr(llvm_jit, "assemble", None)
    second = build(make, key="a key")
    assert works(second) and make.count == 1
    for name in ("name", "operations", "flops", "source", "single", "inputs"):
        assert getattr(first, name) == getattr(second, name)
    assert [(x.name, x.shape) for x in first.outputs] == [(x.name, x.shape) for x in second.outputs]


def test_derivatives_of_a_program_are_found_again_by_its_content(monkeypatch):
    x, weights = np.array([1.0, 2.0, 3.0]), np.ones(3)

    def pulled(factor: float, straight: bool = False) -> np.ndarray:
        program = trace(lambda x: x * x * factor, [Input("x", (3,))], "squares")
        program.notes["straight"] = straight
        monkeypatch.setattr(derivatives, "_FOUND", {})  # as in a new process
        key = derivatives.register(program, "float64")
        return derivatives.find(derivatives.derived(key, "back", (1,))).cpu(x, weights)[0]

    np.testing.assert_allclose(pulled(2.0), 4 * x)
    arrays, make = derivatives._HOW["back"]
    asked: list[Program] = []
    counting = lambda program, wrt: asked.append(program) or make(program, wrt)
    monkeypatch.setitem(derivatives._HOW, "back", (arrays, counting))
    np.testing.assert_allclose(pulled(2.0), 4 * x)
    assert not asked
    np.testing.assert_allclose(pulled(3.0), 6 * x)  # another program, and another form of one
    np.testing.assert_allclose(pulled(2.0, straight=True), 4 * x)
    assert len(asked) == 2


def test_without_a_key_only_the_machine_code_is_found_again(folder, monkeypatch):
    make = Making()
    assert works(build(make))
    monkeypatch.setattr(llvm_jit, "assemble", None)
    assert works(build(make)) and make.count == 2


def test_keys_types_and_widths_are_told_apart():
    make = Making()
    build(make, key="a"), build(make, key="b"), build(make, "float32", key="a")
    build(make, key="a", lanes=2)
    assert make.count == 4
    assert works(build(Making(3.0), key="c"), 3.0)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign", "folder"])
def test_a_damaged_entry_is_compiled_again(folder, damage):
    build(Making(), key="a")
    for path in files(folder):
        data = bytearray(path.read_bytes())
        if damage == "cut":
            path.write_bytes(data[: len(data) // 2])
        elif damage == "flipped":
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
        elif damage == "empty":
            path.write_bytes(b"")
        elif damage == "foreign":
            path.write_bytes(b"\x7fELF" + bytes(data))
        else:
            path.unlink()
            path.mkdir()
    make = Making()
    assert works(build(make, key="a")) and make.count == 1
    if damage != "folder":
        assert works(build(make, key="a")) and make.count == 1


def test_an_entry_under_another_name_is_not_trusted(folder):
    build(Making(2.0), key="a")
    kept = set(files(folder))
    build(Making(3.0), key="b")
    (other,) = set(files(folder)) - kept
    for path in kept:
        path.write_bytes(other.read_bytes())
    assert works(build(Making(2.0), key="a"), 2.0)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_read_only_folder_is_harmless(folder):
    folder.mkdir()
    folder.chmod(0o500)
    make = Making()
    assert works(build(make, key="a")) and works(build(make, key="a")) and make.count == 2
    folder.chmod(0o700)


@pytest.mark.parametrize("where", ["file", "missing", "device"])
def test_a_folder_that_cannot_be_is_harmless(tmp_path, monkeypatch, where):
    place = tmp_path / "file"
    place.write_text("not a folder")
    chosen = {"file": place, "missing": place / "below", "device": Path("/dev/null/x")}[where]
    monkeypatch.setenv("MOZZI_CACHE_DIR", str(chosen))
    assert works(build(Making(), key="a")) and place.read_text() == "not a folder"


def test_a_full_disk_is_harmless(folder, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert works(build(Making(), key="a"))
    monkeypatch.undo()
    assert not [p for p in folder.rglob("*") if p.is_file()]


def test_it_can_be_switched_off(folder, monkeypatch):
    monkeypatch.setenv("MOZZI_CACHE", "0")
    make = Making()
    assert works(build(make, key="a")) and works(build(make, key="a")) and make.count == 2
    assert not folder.exists()
    assert cache.folder() is None


def test_the_usual_places(monkeypatch, tmp_path):
    monkeypatch.delenv("MOZZI_CACHE_DIR")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "mozzi"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "mozzi"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.folder() == tmp_path / "Library" / "Caches" / "mozzi"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache.folder() == tmp_path / "local" / "mozzi"


def test_the_oldest_files_go_first(folder):
    for k in range(10):
        cache.write(f"key{k}", bytes(1000))
        (path,) = [p for p in files(folder) if p.stat().st_mtime > 1e6]
        os.utime(path, (k, k))
    cache.prune(folder, 5000)
    left = [k for k in range(10) if cache.read(f"key{k}") is not None]
    assert left == [7, 8, 9]
    cache.prune(folder, 5000)
    assert len(files(folder)) == 3


def test_many_processes_at_once(folder):
    """Processes that compile, write and read the same entries get the right results."""
    code = (
        "import numpy as np\n"
        "from mozzi.program.program import Input, trace\n"
        "from mozzi.targets.cpu.build import build\n"
        "for k in range(6):\n"
        "    make = lambda: trace(lambda x: x * float(k + 2), [Input('x', (3,))])\n"
        "    assert (build(make, key=f'key{k}')(np.ones((9, 3))) == k + 2).all()\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    assert len(files(folder)) == 7  # six kernels and what they share
    assert not list(folder.rglob("*.tmp"))


def test_folders_and_files_are_for_their_owner_alone(folder):
    build(Making(), key="a")
    (path,) = files(folder)
    modes = [x.stat().st_mode & 0o777 for x in (folder, path.parent, path)]
    assert modes == [0o700, 0o700, 0o600]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no modes")
@pytest.mark.parametrize("what", ["folder", "shelf", "file"])
@pytest.mark.parametrize("how", ["written by others", "another owner"])
def test_what_others_can_have_written_is_not_run(folder, what, how, monkeypatch):
    """Neither read nor written, and one line says so."""
    make = Making()
    build(make, key="a")
    (path,) = files(folder)
    place = {"folder": folder, "shelf": path.parent, "file": path}[what]
    if how == "written by others":
        place.chmod(0o722)
    elif os.getuid() == 0:
        os.chown(place, 12345, 12345)
    else:
        pytest.skip("only root gives files away")
    monkeypatch.setattr(cache, "_told", set())
    with pytest.warns(RuntimeWarning, match="is not used: it belongs to another user, or others"):
        assert works(build(make, key="a"))
    assert make.count == 2


def test_what_is_no_plain_file_or_too_large_is_not_opened(folder, monkeypatch):
    """A pipe would wait for ever, and 50 GB of nothing would fill the memory."""
    make = Making()
    build(make, key="a")
    (path,) = files(folder)
    path.unlink()
    os.mkfifo(path)
    assert works(build(make, key="a")) and make.count == 2
    with path.open("wb") as file:
        file.truncate(50 * 2**30)
    path.chmod(0o600)
    assert works(build(make, key="a")) and make.count == 3


def test_its_size_is_bounded_in_long_processes(folder, monkeypatch):
    monkeypatch.setattr(cache, "WRITES_PER_PRUNE", 4)
    monkeypatch.setattr(cache, "_writes", 0)
    limit = 40_000
    monkeypatch.setattr(cache, "prune", lambda base, f=cache.prune: f(base, limit))
    for k in range(50):
        cache.write(f"key {k}", bytes(4000))
    assert cache.contents(folder)[1] < limit + 4 * 4100


def test_the_command_shows_and_clears_it(folder):
    from typer.testing import CliRunner

    from mozzi.cli import application

    build(Making(), key="a")
    (folder / "mine.txt").write_text("stays")
    count = len(files(folder))
    shown = CliRunner().invoke(application(), ["cache"]).output
    assert f"{count} kernels" in shown and str(folder) in shown.replace("\n", "")
    assert "removed" in CliRunner().invoke(application(), ["cache", "--clear"]).output
    assert not files(folder) and (folder / "mine.txt").exists()


def test_joints_that_users_write_again_are_others(folder):
    """Of the same name and numbers, alone and as a factor, in a tree and in a loop."""

    def slant(slope: float) -> mz.Joint:
        class Slant(mz.Joint):
            nq = nv = 1
            q_names = v_names = ("length",)
            constant = mz.Screws([mz.Twist(Vec3.zero(), Vec3(0.0, slope, 1.0))])

            def pose(self, q):
                return mz.SE3.translation(0.0, slope * q[0], q[0])

        JOINT_TYPES.pop("Slant")
        return Slant()

    body = mz.Inertia(1.0, (0, 0, 0), np.eye(3))
    flat, steep = slant(0.0), slant(2.0)
    assert flat.key == steep.key and flat != steep
    assert mz.Composite(flat) != mz.Composite(steep) == mz.Composite(steep)
    for joint, slope in ((flat, 0.0), (steep, 2.0)):
        for of in (joint, mz.Composite(joint)):
            model = mz.Builder("m").add("a", None, of, body).build()
            assert mz.pose(model, [1.0], "a")[:3, 3].tolist() == [0.0, slope, 1.0]
            model = mz.Builder("m").add("a", None, mz.Free(), body).loop("l", None, "a", of)
            moves = mz.forward_dynamics(model.build(), mz.Free().neutral(), *np.zeros((2, 6)))
            along = -9.81 / (1.0 + slope**2)
            np.testing.assert_allclose(moves, [0, 0, 0, 0, slope * along, along], atol=1e-9)
