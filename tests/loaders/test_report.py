"""Reports: what a file holds and what is odd about it, as plain data."""

from __future__ import annotations

import json
import warnings

from loaders.support import joint, link, robot, write

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
        report = inspect(path, loops=[("a", "d", "3d")])
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
