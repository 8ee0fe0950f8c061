"""The robots of example-robot-data against Pinocchio: masses, poses and mass matrix, or an error.

The ones below run always; all others with ``-m zoo``.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from loaders.support import compare, to_pinocchio

from mozzi.errors import ModelError, UnphysicalWarning
from mozzi.loaders import inspect, load

pin = pytest.importorskip("pinocchio")
ZOO = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
FILES = {str(path.relative_to(ZOO)): path for path in sorted(ZOO.rglob("*.urdf"))}
if not FILES:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)

FEW = [
    "panda_description/urdf/panda.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "talos_data/robots/talos_reduced.urdf",
    "solo_description/robots/solo12.urdf",
    "anymal_b_simple_description/robots/anymal.urdf",
    "kinova_description/robots/kinova.urdf",
    "human_description/robots/human.urdf",
    "icub_description/robots/icub.urdf",
    "tiago_description/robots/tiago.urdf",
    "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "hector_description/robots/quadrotor_base.urdf",
    "allegro_hand_description/urdf/allegro_left_hand.urdf",
]

BROKEN = {
    "falcon_description/urdf/falcon.urdf": "child link 'Z_propeller' is not declared",
    "ur_description/urdf/ur3.urdf": "has no links",
}
"""What no switch can load: the defect that the message names."""

UNCOUPLED = {
    "alex_description/urdf/alex_psyonic_hands.urdf": "mimics joint 'index_q1', which does not",
}
"""What loads with couplings=False: the defect that the message names."""

UNPHYSICAL = {
    "bluevolta_description/urdf/bluevolta_bravo7_gripper.urdf": "'bravo_finger1_link'",
    "bravo7_description/urdf/bravo7_gripper.urdf": "'bravo_finger1_link'",
    "falcon_description/urdf/falcon_bravo7_gripper.urdf": "'bravo_finger1_link'",
    "romeo_description/urdf/romeo.urdf": "'LFinger21Link'",
    "romeo_description/urdf/romeo_laas_small.urdf": "'LShoulderYaw_link'",
    "romeo_description/urdf/romeo_small.urdf": "'RShoulderYawLink'",
}
"""What loads with physical=False: a link that the message names."""


def load_anyway(path: Path, base: str, couplings: bool = True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnphysicalWarning)
        return load(path, base, physical=False, couplings=couplings)


def check(name: str, base: str) -> None:
    path = FILES[name]
    if name in BROKEN:
        with pytest.raises(ModelError, match=r"\.urdf line \d+") as caught:
            load(path, base)
        assert BROKEN[name] in str(caught.value)
        return
    if name in UNPHYSICAL:
        with pytest.raises(ModelError, match="physical=False") as caught:
            load(path, base)
        assert UNPHYSICAL[name] in str(caught.value)
        model = load_anyway(path, base)
    elif name in UNCOUPLED:
        with pytest.raises(ModelError, match="couplings=False") as caught:
            load(path, base)
        assert UNCOUPLED[name] in str(caught.value)
        model = load_anyway(path, base, couplings=False)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnphysicalWarning)
            model = load(path, base)
    free = (pin.JointModelFreeFlyer(),) if base == "free" else ()
    peer = pin.buildModelFromUrdf(str(path), *free)
    rng = np.random.default_rng(0)
    for q in model.random_configuration(rng, 2):
        assert max(compare(model, peer, q).values()) < 1e-10
    for frame in peer.frames:
        if frame.type == pin.FrameType.BODY and frame.name != "universe":
            body, T = model.frame(frame.name)
            assert body == frame.parentJoint - 1
            np.testing.assert_allclose(T.matrix(), frame.placement.homogeneous, atol=1e-12)


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("name", FEW)
def test_some_robots(name, base):
    check(name, base)


@pytest.mark.zoo
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("name", FILES)
def test_all_robots(name, base):
    check(name, base)


@pytest.mark.zoo
@pytest.mark.parametrize("name", sorted(FILES.keys() - BROKEN.keys() - UNCOUPLED.keys()))
def test_all_reports(name):
    report = inspect(FILES[name])
    assert len(report.tree()) == report.model.nb
    assert report.as_dict()["nv"] == report.model.nv


@pytest.mark.zoo
def test_there_are_as_many_as_we_think():
    assert len(FILES) >= 69
    assert set(FEW) <= FILES.keys()  # the other tables name files of several releases


def check_library(name: str) -> None:
    import mozzi

    model, peer = load_anyway(FILES[name], "fixed"), pin.buildModelFromUrdf(str(FILES[name]))
    if model.nv == 0:
        return
    q = model.random_configuration(np.random.default_rng(5))
    M = pin.crba(peer, peer.createData(), to_pinocchio(model, q, peer))
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(mozzi.mass_matrix(model, q), M, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", FEW[:2])
def test_mass_matrix_of_the_library(name):
    """The compiled mass matrix is Pinocchio's as well."""
    check_library(name)


@pytest.mark.zoo
@pytest.mark.parametrize("name", sorted(FILES.keys() - BROKEN.keys() - UNCOUPLED.keys()))
def test_all_mass_matrices_of_the_library(name):
    check_library(name)
