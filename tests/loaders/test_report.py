"""Reports: what a file holds and what is odd about it, as plain data."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import pytest
from loaders.support import joint, link, robot, write

from mozzi.errors import ModelError
from mozzi.loaders import inspect


def test_report(tmp_path):
    mesh = '<visual><geometry><mesh filename="package://x/y.stl"/></geometry></visual>'
    mimic = '<mimic joint="j"/>'
    parts = [link("a", mesh), link("b"), link("c", "<wobble/>"), link("d", "")]
    parts += [joint("j", inside=""), joint("k", "b", "c", "continuous", inside=mimic)]
    parts += [joint("l", "c", "d", "fixed")]
    path = write(tmp_path, robot(*parts))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = inspect(path, loops=[("a", "d", "3d")], strict=False)
    assert (report.format, report.links, report.joints) == ("URDF", 4, 3)
    assert report.tree() == [
        (0, "b", "j", "Revolute", 1, 1.0),
        (1, "c", "k", "Revolute", 1, 0.0),
    ]
    data = json.loads(json.dumps(report.as_dict()))
    assert data["nv"] == 2
    assert data["loops"] == [{"name": "a - d", "joint": "Spherical", "bodies": ["world", "c"]}]
    assert data["couplings"][0]["terms"] == [["k", 0, 1.0], ["j", 0, -1.0]]
    facts = "\n".join(str(note) for note in report.oddities)
    for odd in ("<wobble>", "unlimited", "has mass", "package://x/y.stl"):
        assert odd in facts
    assert {row["line"] for row in data["oddities"]} <= set(range(1, 12))


def test_a_plain_file_has_no_oddities(tmp_path):
    report = inspect(write(tmp_path, robot(link("a"), link("b"), joint())))
    assert report.oddities == ()


def test_broken_shapes_are_oddities(tmp_path):
    bad = '<visual><geometry><box size="1 2"/></geometry></visual>'
    report = inspect(write(tmp_path, robot(link("a", bad))))
    assert "cannot be read" in report.oddities[0].fact


def test_a_report_tells_parents_limits_and_distances(tmp_path):
    """All that `mozzi info` shows is in the data; None where there is no limit."""
    parts = [link("a"), link("b"), link("c"), joint(), joint("k", "b", "c", "continuous", "")]
    report = inspect(write(tmp_path, robot(*parts)))
    b, c = report.as_dict()["bodies"]
    assert (b["parent"], c["parent"]) == ("world", "b")
    assert b["limits"] == {"lower": [-1], "upper": [1], "velocity": [1], "effort": [1]}
    assert c["limits"] == {word: [None] for word in ("lower", "upper", "velocity", "effort")}
    rod = report.model.with_distance("rod", "b", "c", length=0.5)
    data = replace(report, model=rod).as_dict()
    assert data["distances"] == [{"name": "rod", "length": 0.5, "bodies": ["b", "c"]}]


def test_a_folder_is_not_a_file(tmp_path):
    """One message, not one inside another."""
    with pytest.raises(ModelError) as caught:
        inspect(tmp_path)
    fact = "is not a regular file; give the path of a file"
    assert str(caught.value) == f"file {str(tmp_path)!r}: {fact} ({tmp_path})"
