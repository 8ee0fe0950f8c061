"""``mozzi sweep FILE``: samples of what varies, a store, a page, and what it would cost."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mozzi as mz
from mozzi.cli import application

ARM = """<robot name="arm"><link name="world"/><link name="rod"><inertial>
<origin xyz="0 0 -0.5"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="world"/><child link="rod"/>
<axis xyz="0 1 0"/><dynamics damping="0.5"/></joint></robot>"""


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    return path


def run(*arguments: object):
    return CliRunner().invoke(application(), ["sweep", *map(str, arguments)])


VARY = ("--vary", "rod.density=uniform(0.8,1.2)", "--vary", "hinge.damping=uniform(0,1)")


def test_a_store_and_a_page(arm: Path, tmp_path: Path):
    zarr = pytest.importorskip("zarr")
    store = tmp_path / "out.zarr"
    words = (arm, *VARY, "--samples", "1e2", "--duration", 0.2, "--q0", "hinge=1", "--seed", 3)
    result = run(*words, "--store", store, "--workers", 2, "--chunk", 30)
    assert result.exit_code == 0, result.output
    assert "100 samples" in result.output and "a second" in result.output
    q = np.asarray(zarr.open_group(str(store), mode="r")["q"][...])
    model = mz.load(arm)
    varied = {"rod.density": mz.Uniform(0.8, 1.2), "hinge.damping": mz.Uniform(0, 1)}
    same = mz.sweep(mz.Rollout(model, 0.2, 1e-3, q0=[1.0]), varied, samples=100, seed=3)
    np.testing.assert_array_equal(q, same["q"])
    page = store.with_suffix(".html").read_text()
    assert page.count("<svg") == 2 + 6 and "rod.density" in page
    again = run(*words, "--store", store)
    assert again.exit_code == 0 and "100 samples" in again.output


def test_a_controller_whose_rate_varies(arm: Path, tmp_path: Path):
    """A goal, a rate that is drawn, in other processes: resumed from its store as it was."""
    zarr = pytest.importorskip("zarr")
    words = (arm, "--vary", "rod.density=uniform(0.8,1.2)", "--vary", "rate=uniform(8,20)",
             "--samples", 40, "--duration", 1.5, "--controller", "pd", "--goal", "hinge=0.5",
             "--store", tmp_path / "out.zarr", "--chunk", 20)  # fmt: skip
    result = run(*words, "--workers", 2)
    assert result.exit_code == 0, result.output
    found = np.asarray(zarr.open_group(str(tmp_path / "out.zarr"), mode="r")["q"][...])
    assert np.abs(found - 0.5).max() < 0.05 < 50.0 * np.ptp(found)
    again = run(*words)
    assert again.exit_code == 0, again.output
    wrong = run(*words[:-2], "--controller", "gravity", "--goal", "hinge=1")
    assert wrong.exit_code != 0 and "other" in wrong.output, wrong.output
    nothing = run(arm, "--vary", "rate=uniform(8,20)", "--samples", 4)
    assert nothing.exit_code != 0 and "rate" in nothing.output


def test_reductions_and_costs(arm: Path, tmp_path: Path):
    words = (arm, *VARY, "--samples", 50, "--duration", 0.05)
    result = run(*words, "--reduce", "mean,max", "--report", tmp_path / "page.html")
    assert result.exit_code == 0 and "q.mean" in result.output, result.output
    page = (tmp_path / "page.html").read_text()
    assert "<h3>q_max</h3>" in page and "<th>max</th>" in page and "hinge, rad/s" in page
    assert page.count("<svg") == 2 + 6
    dry = run(*words[:-3], "1e6", "--duration", 2, "--dry-run", "--workers", 2)
    assert dry.exit_code == 0 and "1,000,000 samples of 2,000 steps" in dry.output, dry.output
    assert "µs a sample" in dry.output and "on 2 cores" in dry.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--vary", "rod.mass"), "write name=uniform"),
        (("--vary", "rod.mass=gauss(1,2)", "--samples", 2), "no distribution 'gauss'"),
        (("--vary", "rod.mas=1", "--samples", 2), "did you mean 'rod.mass'"),
        (("--vary", "rod.mass=uniform(1,2)"), "give samples"),
        (("--vary", "rod.mass=1", "--target", "tpu"), "cpu or cuda"),
        (("--vary", "rod.mass=1", "--vary", "rod.mass=2"), "'rod.mass' varies already"),
        (("--vary", "rod.mass=uniform(1,2)", "--samples", "nan"), "--samples nan: give a whole"),
        (("--vary", "rod.mass=uniform(1,2)", "--samples", "2.5"), "--samples 2.5: give a whole"),
        (("--vary", "rod.mass=linspace(1,2,1e12)"), "1e+12): give a count of 1 or more"),
        (("--vary", "rod.mass=linspace(1,2,-3)"), "-3): give a count of 1 or more"),
        (("--vary", "rod.mass=uniform(1,1e999)", "--samples", 2), "inf is not finite"),
        (("--vary", "rod.mass=1", "--rows", "rows.xls"), "save as .parquet or .csv"),
    ],
)
def test_mistakes(arm: Path, words, message):
    result = run(arm, *words, "--duration", 0.01)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("store", "words"), [(True, "the same command goes on"), (False, "--store keeps it")]
)
def test_ctrl_c_says_what_is_kept(arm: Path, tmp_path: Path, monkeypatch, store: bool, words: str):
    def pressed(*args: object, **kwargs: object):
        raise KeyboardInterrupt

    monkeypatch.setattr("mozzi.sweeps.sweep.sweep", pressed)
    more = ("--store", tmp_path / "out.zarr") if store else ()
    result = run(arm, *VARY, "--samples", 10, "--duration", 0.1, *more)
    assert result.exit_code == 130 and words in result.output
