"""Contacts of MJCF files: pairs, exclusions, filters and friction, as MuJoCo itself counts them."""

import numpy as np
import pytest

import mozzi as mz
from mozzi.errors import ModelError

FILE = """
<mujoco model="scene">
  <default><geom friction="0.7 0.01 0.001"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" condim="3"/>
    <body name="a" pos="0 0 0.2"><freejoint/>
      <geom name="ball" type="sphere" size="0.1" mass="1" friction="0.9 0 0"/>
      <body name="arm" pos="0.3 0 0"><joint name="hinge" axis="0 1 0"/>
        <geom name="rod" type="capsule" size="0.03 0.1" mass="0.5" condim="1"/>
        <body name="hand" pos="0.2 0 0"><joint name="wrist" axis="1 0 0"/>
          <geom name="tip" type="sphere" size="0.04" mass="0.1" priority="1" friction="0.3 0 0"/>
        </body>
      </body>
    </body>
    <body name="b" pos="1 0 0.1"><freejoint/>
      <geom name="cube" type="box" size="0.1 0.1 0.1" mass="1" contype="2" conaffinity="1"/>
      <geom name="seen" type="sphere" size="0.1" mass="0.1" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <contact>
    <exclude body1="b" body2="hand"/>
    <pair geom1="seen" geom2="floor" friction="0.2 0.4 0 0 0"/>
  </contact>
</mujoco>
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    pytest.importorskip("mujoco")
    path = tmp_path_factory.mktemp("mjcf") / "scene.xml"
    path.write_text(FILE)
    return path


def test_the_pairs_are_mujocos(scene):
    """Parent and child do not touch, excluded bodies neither; friction as MuJoCo mixes it."""
    model = mz.load(scene, contacts=True)
    found = {frozenset((c.shape_a, c.shape_b)): c.friction for c in model.contacts}
    expected = {
        ("ball", "floor"): 0.9, ("rod", "floor"): 0.7, ("tip", "floor"): 0.3,
        ("cube", "floor"): 0.7, ("ball", "tip"): 0.3, ("ball", "cube"): 0.9,
        ("rod", "cube"): 0.7, ("seen", "floor"): None,
    }  # fmt: skip
    assert set(found) == {frozenset(x) for x in expected}
    for pair, mu in expected.items():
        assert found[frozenset(pair)] == ((0.2, 0.4) if mu is None else (mu, mu))
    assert not mz.load(scene).contacts


def test_it_falls_and_rests(scene):
    """The loaded scene stands on its own floor."""
    model = mz.load(scene, contacts=True)
    run = mz.simulate(model, model.configurations["start"], np.zeros(model.nv), 1.0, 2e-3)
    assert run.contact_gaps.min() > -1e-3
    assert run.method == "moreau"


def test_what_is_left_out_is_named(tmp_path):
    """Soft contact, torsional friction and pairs that do not meet are told; URDF is refused."""
    pytest.importorskip("mujoco")
    text = FILE.replace('condim="3"', 'condim="6" solref="0.01 1"').replace(
        'type="sphere" size="0.04"', 'type="ellipsoid" size="0.04 0.05 0.04" margin="0.01"'
    )
    path = tmp_path / "soft.xml"
    path.write_text(text)
    with pytest.warns(mz.LeftOutWarning) as told:
        mz.load(path, contacts=True)
    said = " ".join(str(x.message) for x in told)
    for word in ("solref", "condim 6", "margin", "Ellipsoid on Sphere"):
        assert word in said
    arm = tmp_path / "arm.urdf"
    arm.write_text('<robot name="r"><link name="base"/></robot>')
    with pytest.raises(ModelError, match="with_ground"):
        mz.load(arm, contacts=True)


def test_mujoco_finds_no_other_contact(scene):
    """Bodies thrown together: whatever MuJoCo detects is among our pairs."""
    mujoco = pytest.importorskip("mujoco")
    model = mz.load(scene, contacts=True)
    ours = {frozenset((c.shape_a, c.shape_b)) for c in model.contacts}
    other = mujoco.MjModel.from_xml_path(str(scene))
    data = mujoco.MjData(other)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        data.qpos[:] = 0.15 * rng.normal(size=other.nq)
        mujoco.mj_forward(other, data)
        for c in data.contact:
            seen.add(frozenset(other.geom(int(g)).name for g in (c.geom1, c.geom2)))
    assert seen <= ours and len(seen) > 4
