"""Logs of measurements: CSV, Parquet, exported ROS tables, and what is told of broken ones."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import mozzi as mz

BODY = mz.Inertia(1.0, (0.0, 0.0, 0.1), np.eye(3))
ARM = (
    mz.Builder("arm")
    .add("a", None, mz.Revolute("z"), BODY, joint_name="shoulder_lift")
    .add("b", "a", mz.Revolute("y"), BODY, joint_name="lift")
    .build()
)
T = np.array([0.0, 0.1, 0.2])
Q, V, TAU = np.arange(18.0).reshape(3, 3, 2)


def write(path, heads, rows, between=","):
    lines = [between.join(heads), *(between.join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    "pattern",
    ["{j}.{w}", "{w}.{j}", "/joint_states/{j}/{w}", "{j}_{w}", "robot1 {j} {w} [rad]", "{w}[{j}]"],
)
def test_columns_are_found_by_joint_and_quantity(tmp_path, pattern):
    """Also where one joint's name ends with another's, and columns come in any order."""
    words = [("position", Q), ("velocity", V), ("effort", TAU)]
    columns = {
        pattern.format(j=j, w=w): x[:, k]
        for w, x in words for k, j in enumerate(("shoulder_lift", "lift"))
    }  # fmt: skip
    heads = sorted(columns)
    file = write(tmp_path / "log.csv", ["time", *heads],
                 np.column_stack([T, *(columns[c] for c in heads)]))  # fmt: skip
    log = mz.read_log(file, ARM)
    for found, wanted in ((log.q, Q), (log.v, V), (log.tau, TAU), (log.t, T)):
        np.testing.assert_array_equal(found, wanted)
    assert log.a is None and set(log.columns) == set(heads) and len(log) == 3


def test_exported_ros_messages(tmp_path):
    """Lists beside names in Parquet, in the order of the message; stamps in nanoseconds; rows out
    of order.
    """
    stamp = (1_700_000_000_000_000_000 + (T * 1e9).astype(int))[::-1]
    table = pa.table({
        "timestamp": stamp,
        "name": [["lift", "shoulder_lift"]] * 3,
        "position": [list(row[::-1]) for row in Q[::-1]],
        "velocity": [list(row[::-1]) for row in V[::-1]],
    })  # fmt: skip
    parquet.write_table(table, tmp_path / "joint_states.parquet")
    log = mz.read_log(tmp_path / "joint_states.parquet", ARM)
    np.testing.assert_allclose(log.t, T, atol=1e-6)
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_array_equal(log.v, V)
    assert log.tau is None and log.start == pytest.approx(1.7e9)


def test_numbered_columns_beside_numbered_names(tmp_path):
    heads = ["Time", "name[0]", "name[1]", "position[0]", "position[1]"]
    rows = [[t, "lift", "shoulder_lift", q[1], q[0]] for t, q in zip(T, Q, strict=True)]
    log = mz.read_log(write(tmp_path / "log.csv", heads, rows, ";"), ARM)
    np.testing.assert_array_equal(log.q, Q)


def test_a_trajectory_and_its_log_are_the_same(tmp_path):
    motion = mz.simulate(ARM, np.zeros(2), np.ones(2), 0.05, 0.01)
    motion.save(tmp_path / "motion.csv")
    log = mz.read_log(tmp_path / "motion.csv", ARM)
    np.testing.assert_array_equal(log.q, motion.q)
    np.testing.assert_array_equal(log.a, motion.a)
    np.testing.assert_array_equal(log.columns["kinetic"], motion.kinetic_energy())


def test_broken_logs_are_told(tmp_path):
    file = write(tmp_path / "a.csv", ["x", "y"], [[1, 2]])
    with pytest.raises(mz.ConfigurationError, match="no column of times; give time="):
        mz.read_log(file)
    assert mz.read_log(file, time="x").columns["y"] == [2.0]
    with pytest.raises(mz.ConfigurationError, match="row 3 has 1 entries; the head has 2"):
        mz.read_log(write(tmp_path / "b.csv", ["t", "y"], [[1, 2], [3]]))
    with pytest.raises(mz.ConfigurationError, match="column 'y' is there twice"):
        mz.read_log(write(tmp_path / "c.csv", ["t", "y", "y"], [[1, 2, 3]]))
    with pytest.raises(mz.ConfigurationError, match=r"no format '\.bag'"):
        mz.read_log(write(tmp_path / "log.bag", ["t", "y"], [[1, 2]]))
    with pytest.raises(mz.ConfigurationError, match="there is no such file"):
        mz.read_log(tmp_path / "nowhere.csv")
    with pytest.raises(mz.ConfigurationError, match="no column 'z' for q; give 2"):
        mz.read_log(file, ARM, time="x", columns={"q": ["y", "z"]})
    heads = ["t", "lift.pos", "lift.q", "shoulder_lift.q"]
    twins = write(tmp_path / "e.csv", heads, [[0, 1, 2, 3]])
    with pytest.raises(mz.ConfigurationError, match=r"q of 'lift' may be .*say which by"):
        mz.read_log(twins, ARM)
    gaps = write(tmp_path / "d.csv", ["t", "y"], [[1, ""], [2, 5]])
    np.testing.assert_array_equal(mz.read_log(gaps).columns["y"], [np.nan, 5.0])
