"""Without the package that it needs, every door says which extra brings it."""

import sys
from pathlib import Path

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import double_pendulum
from mozzi.viz.viewer import Viewer

REST = np.zeros(2)


def motion():
    return mz.simulate(double_pendulum(), [1.0, 0.0], REST, 0.05, 1e-2)


def compiled(target):
    return mz.compile(mz.inverse_dynamics, double_pendulum(), target=target)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


DOORS = {
    "plot": ("matplotlib", "viz", lambda _: motion().plot()),
    "gif": ("PIL", "viz", lambda folder: motion().animate(folder / "x.gif")),
    "viewer": ("viser", "viz", lambda _: Viewer(double_pendulum(), port=8399)),
    "mjcf": ("mujoco", "mjcf",
             lambda folder: mz.load(written(folder, "x.xml", "<mujoco><worldbody/></mujoco>"))),
    "xacro": ("xacrodoc", "xacro",
              lambda folder: mz.load(written(folder, "x.urdf.xacro", "<robot name='r'/>"),
                                     xacro=True)),
    "sympy": ("sympy", "sympy", lambda _: compiled("sympy")),
    "jax": ("jax", "jax", lambda _: compiled("jax")),
    "torch": ("torch", "torch", lambda _: compiled("torch")),
    "cuda": ("cupy", "cuda", lambda _: compiled("cuda")(REST, REST, REST)),
    "xarray": ("xarray", "xarray", lambda _: motion().to_xarray()),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_the_message_names_the_extra(door, monkeypatch, tmp_path):
    package, extra, call = DOORS[door]
    for name in [n for n in sys.modules if n == package or n.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(mz.ExtraMissingError) as caught:
        call(tmp_path)
    assert f"mozzi[{extra}]" in str(caught.value), str(caught.value)
