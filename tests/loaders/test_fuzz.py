"""Whatever is done to a file, the answer is a model of finite numbers or a `ModelError`."""

from __future__ import annotations

import math
import random
import re
import warnings
from pathlib import Path

import pytest
from loaders.support import joint, link, robot, write

from mozzi.errors import ModelError
from mozzi.loaders import inspect, load

URDF = robot(
    link("a"), link("b"), link("c"), joint(), joint("k", "b", "c", "prismatic"),
    '<material name="m"><color rgba="1 1 1 1"/></material>',
)  # fmt: skip
SDF = (
    '<sdf version="1.7"><model name="m"><link name="a"><pose>0 0 1 0 0 0</pose></link>'
    '<link name="b"><inertial><mass>1</mass></inertial></link><frame name="f" attached_to="a"/>'
    '<joint name="j" type="revolute"><parent>a</parent><child>b</child>'
    '<axis><xyz expressed_in="f">0 0 1</xyz></axis></joint></model></sdf>'
)
WORDS = [
    b"nan", b"-inf", b"1e999", b"-1", b"0", b"", b"0 0 0", b'"', b"<", b">", b"/>", b"\0", b"&a;",
    b"1_0", b"0x1", b"1e308", b"-1e308", b"1e-320", b"world", b"__model__", b"a", b"fixed",
    b"planar", b"floating", b"ball", b"universal", b"true", b"1 2 3", b"\xff", b"<joint/>",
    b'<mimic joint="j"/>', b"99999999999999999999",
]  # fmt: skip


def spoil(data: bytes, rng: random.Random) -> bytes:
    """A file with something wrong in it."""
    for _ in range(rng.randint(1, 3)):
        spots = list(re.finditer(rb'"([^"]*)"|>([^<>]+)<|(<[^>]*>)', data))
        dice = rng.random()
        if dice < 0.8 and spots:
            spot = rng.choice(spots)
            k = next(k for k in (1, 2, 3) if spot.group(k) is not None)
            other = rng.choice(spots)
            new = rng.choice([*WORDS, other.group(1) or other.group(2) or other.group(3) or b""])
            data = data[: spot.start(k)] + new + data[spot.end(k) :]
        else:
            i = rng.randrange(len(data) + 1)
            data = data[:i] + rng.choice([*WORDS, bytes([rng.randrange(256)])]) + data[i + 1 :]
        data = data or b"x"
    return data


def survive(path: Path, base: str) -> None:
    try:
        model = load(path, base)
    except ModelError as error:
        assert re.search(r" line \d+\)", str(error)), error
        return
    assert all(math.isfinite(x) for body in model for x in body.inertia.parameters())
    inspect(path, base)


@pytest.mark.parametrize("format", ["urdf", "sdf"])
def test_spoiled_files(format, tmp_path):
    rng = random.Random(format)
    seed = {"urdf": URDF, "sdf": SDF}[format].encode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(400):
            path = write(tmp_path, spoil(seed, rng), f"robot.{format}")
            survive(path, rng.choice(["fixed", "free"]))


def test_spoiled_mjcf(tmp_path):
    pytest.importorskip("mujoco")
    rng = random.Random(4)
    seed = (
        b'<mujoco model="m"><compiler angle="radian"/><worldbody><body name="a" pos="0 0 1">'
        b'<joint name="j" axis="0 1 0"/><geom type="box" size=".1 .2 .3"/><body name="b">'
        b'<joint name="k" type="slide" ref=".1"/><geom size=".1"/></body></body></worldbody>'
        b'<equality><connect body1="a" body2="b" anchor="0 0 1"/></equality></mujoco>'
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(200):
            survive(write(tmp_path, spoil(seed, rng), "robot.xml"), "fixed")
