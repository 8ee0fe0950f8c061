"""Trajectories as xarray's datasets."""

import numpy as np
import pytest

import mozzi as mz
from mozzi.model import generate

xarray = pytest.importorskip("xarray", reason="the extra xarray is not installed")


@pytest.fixture(scope="module")
def floating():
    body = mz.Inertia(1.2, (0.1, 0.2, -0.3), np.diag([0.3, 0.4, 0.5]))
    build = mz.Builder("floating").add("base", None, mz.Free(), body, joint_name="root")
    return build.add("link", "base", mz.Prismatic("y"), body, joint_name="slide").build()


def test_names_units_and_times(floating):
    law = mz.Law(lambda t, q, v, x, h: (-v, {"sum": x["sum"] + h * v}), {"sum": np.zeros(7)})
    states = np.broadcast_to(floating.neutral(), (4, floating.nq)), np.ones((4, 7))
    motion = mz.simulate(floating, *states, 0.1, 1e-2, torque=law)
    data = motion.to_xarray()
    assert data.sizes["sample"] == 4 and data.sizes["time"] == 11
    np.testing.assert_array_equal(data.q.sel(coordinate="slide"), motion.q[..., 7])
    np.testing.assert_array_equal(data.q.sel(coordinate="root.qw")[:, 0], 1.0)
    near = data.v.sel(time=0.05, method="nearest")
    np.testing.assert_array_equal(near, motion.v[:, 5])
    units = dict(zip(data.coordinate.values, data.q_unit.values, strict=True))
    assert units["slide"] == "m" and units["root.qx"] == "1" and data.time.units == "s"
    assert list(data.tau_unit.values) == ["N m"] * 3 + ["N"] * 4
    np.testing.assert_array_equal(data.kinetic + data.potential, motion.energy())
    np.testing.assert_array_equal(data.law_sum, motion.law_state["sum"])
    assert data.attrs == {"model": "floating", "method": "rkmk4"}


def test_one_motion_several_axes_and_a_table():
    """One motion has no axis of samples; two batch axes have two; pandas follows."""
    arm = generate.chain(2)
    one = mz.simulate(arm, arm.neutral(), np.ones(2), 0.05, 1e-2)
    frame = one.to_xarray()[["q"]].to_dataframe()
    assert frame.index.names == ["time", "coordinate"] and len(frame) == 12
    many = mz.simulate(arm, np.zeros((2, 3, 2)), np.ones(2), 0.05, 1e-2).to_xarray()
    assert many.q.dims == ("sample0", "sample1", "time", "coordinate")
