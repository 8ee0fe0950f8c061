"""Hostile and broken files: a right model or a `ModelError` with file, line and remedy, in time."""

from __future__ import annotations

import gc
import os
import time
import warnings

import pytest
from loaders.support import SQUARE, joint, link, robot, write

from mozzi.errors import LeftOutWarning, ModelError, UnphysicalWarning
from mozzi.loaders import inspect, load

A, B, C = link("a"), link("b"), link("c")
J = joint()


def inertial(mass="1", inertia='ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"', rest="") -> str:
    return f'<inertial>{rest}<mass value="{mass}"/><inertia {inertia}/></inertial>'


def with_joint(**changes: str) -> str:
    return robot(A, B, joint(**changes))


def with_link(inside: str) -> str:
    return robot(A, link("b", inside), J)


def with_limit(words: str) -> str:
    return with_joint(inside=f"<limit {words}/>")


def laughs() -> str:
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "ha"}">' for i in range(12))
    return f'<?xml version="1.0"?>\n<!DOCTYPE r [{entities}]>\n<robot name="&l11;"/>'


CASES: dict[str, tuple[str | bytes, str, int]] = {
    # name: text, what the message says, the line it names
    "billion laughs": (laughs(), "DOCTYPE", 2),
    "external entity": (
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<robot name="&x;"/>',
        "DOCTYPE",
        1,
    ),
    "parameter entity": (
        '\n<!DOCTYPE r [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]><robot name="r"/>',
        "DOCTYPE",
        2,
    ),
    "external document type": (
        '<!DOCTYPE r SYSTEM "http://127.0.0.1:9/r.dtd"><robot name="r"/>',
        "DOCTYPE",
        1,
    ),
    "bare document type": (f"<!DOCTYPE robot>{robot(A)[21:]}", "DOCTYPE", 1),
    "undefined entity": (robot(A.replace('"a"', '"&a;"')), "not well-formed", 3),
    "deep": ("<robot>" + "<a>" * 100_000, "deep", 1),
    "many elements": ('<robot name="r">' + "<a/>" * 500_000 + "</robot>", "elements", 1),
    "one huge attribute": (with_link(inertial("1" * 5_000_000)), "not a finite number", 4),
    "many blanks": (with_joint(origin=f'<origin xyz="{" " * 5_000_000}"/>'), "is empty", 5),
    "empty": ("", "empty", 1),
    "blank": (" \n\t\n", "empty", 1),
    "not XML": ("solid part\nfacet normal 0 0 1", "not well-formed", 1),
    "truncated": (robot(A, B, J)[:-40], "not well-formed", 5),
    "two documents": (robot(A) + robot(B), "not well-formed", 5),
    "bad comment": ("<!-- a -- b -->" + robot(A)[21:], "not well-formed", 1),
    "same attribute twice": (robot('<link name="a" name="b"/>'), "not well-formed", 3),
    "NUL byte": (robot(A, "\0", B).encode(), "NUL", 4),
    "invalid UTF-8": (robot(A, "<!--\xff-->").encode("latin-1"), "UTF-8", 4),
    "UTF-32": ("\ufeff" + robot(A)).encode("utf-32") and (
        ("\ufeff" + robot(A)).encode("utf-32-le"),
        "UTF-32",
        1,
    ),
    "UTF-16 in name only": (
        robot(A).replace('"1.0"', '"1.0" encoding="utf-16"'),
        "utf-16",
        1,
    ),
    "unknown encoding": (robot(A).replace('"1.0"', '"1.0" encoding="ebcdic"'), "ebcdic", 1),
    "wrong root": ("<html><body/></html>", "html", 1),
    "no links": ('<?xml version="1.0"?>\n<robot name="r"></robot>', "no links", 2),
    "xacro": (robot('<xacro:property name="m" value="3"/>', A), "xacro=True", 3),
    "expression": (with_link(inertial("${m}")), "xacro=True", 4),
    # links
    "link without a name": (robot(A, f"<link>{SQUARE}</link>"), "name", 4),
    "link with an empty name": (robot(A, link("")), "empty", 4),
    "link declared twice": (robot(A, B, J, B), "twice, first in line 4", 6),
    "two inertials": (with_link(SQUARE * 2), "has 2 of them", 4),
    "no mass": (with_link("<inertial><inertia/></inertial>"), "no <mass>", 4),
    "mass without value": (with_link("<inertial><mass/></inertial>"), "'value'", 4),
    "no inertia": (with_link('<inertial><mass value="1"/></inertial>'), "no <inertia>", 4),
    "inertia without ixy": (with_link(inertial(inertia='ixx="1" iyy="1" izz="1"')), "ixy", 4),
    "mass nan": (with_link(inertial("nan")), "not a finite number", 4),
    "mass inf": (with_link(inertial("inf")), "not a finite number", 4),
    "mass 1e999": (with_link(inertial("1e999")), "not a finite number", 4),
    "mass with unit": (with_link(inertial("1kg")), "not a finite number", 4),
    "mass 1_0": (with_link(inertial("1_0")), "not a finite number", 4),
    "mass 0x10": (with_link(inertial("0x10")), "not a finite number", 4),
    "mass 1,5": (with_link(inertial("1,5")), "decimal point", 4),
    "mass in other digits": (with_link(inertial("\u0661")), "not a finite number", 4),
    "mass of two words": (with_link(inertial("1 2")), "2 words", 4),
    "mass empty": (with_link(inertial("")), "empty", 4),
    "negative mass": (with_link(inertial("-1")), "negative", 4),
    "negative mass of the root": (robot(link("a", inertial("-1")), B, J), "negative", 3),
    "overflow": (
        with_link(inertial("1e30", rest='<origin xyz="1e30 0 0"/>')),
        "too large",
        4,
    ),
    "massless": (with_link(""), "neither it nor what it carries has mass", 4),
    "zero mass": (
        with_link(inertial("0", 'ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"')),
        "neither it nor what it carries has mass",
        4,
    ),
    "negative moment": (
        with_link(inertial(inertia='ixx="-1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"')),
        "negative",
        4,
    ),
    "indefinite": (
        with_link(inertial(inertia='ixx="1" iyy="1" izz="1" ixy="2" ixz="0" iyz="0"')),
        "negative",
        4,
    ),
    "triangle": (
        with_link(inertial(inertia='ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"')),
        "triangle",
        4,
    ),
    # joints
    "joint without a name": (robot(A, B, J.replace('name="j"', "")), "name", 5),
    "joint without a type": (robot(A, B, J.replace('type="revolute"', "")), "type", 5),
    "unknown type": (with_joint(kind="spherical"), "'spherical'", 5),
    "joint declared twice": (robot(A, B, C, J, joint(child="c")), "twice, first in line 6", 7),
    "no parent": (robot(A, B, J.replace('<parent link="a"/>', "")), "no <parent>", 5),
    "no child": (robot(A, B, J.replace('<child link="b"/>', "")), "no <child>", 5),
    "parent without link": (robot(A, B, J.replace('link="a"', "")), "'link'", 5),
    "two parents in a joint": (with_joint(axis='<parent link="b"/>'), "has 2 of them", 5),
    "undeclared parent": (with_joint(parent="x"), "parent link 'x' is not declared", 5),
    "undeclared child": (with_joint(child="x"), "child link 'x' is not declared", 5),
    "own parent": (with_joint(child="a"), "its own parent", 5),
    "two parents": (
        robot(A, B, C, J, joint("k", "a", "c"), joint("l", "b", "c")),
        "two parents",
        8,
    ),
    "two roots": (robot(A, B, J, C), "not connected", 6),
    "no root": (robot(A, B, J, joint("k", "b", "a")), "cycle", 6),
    "root and cycle": (robot(A, B, C, joint("k", "b", "c"), joint("l", "c", "b")), "cycle", 6),
    "zero axis": (with_joint(axis='<axis xyz="0 0 0"/>'), "no direction", 5),
    "tiny zero axis": (with_joint(axis='<axis xyz="0 0 1e-999"/>'), "no direction", 5),
    "nan axis": (with_joint(axis='<axis xyz="0 0 nan"/>'), "not a finite number", 5),
    "axis of four": (with_joint(axis='<axis xyz="0 0 1 0"/>'), "4 words", 5),
    "axis without xyz": (with_joint(axis="<axis/>"), "'xyz'", 5),
    "two axes": (with_joint(axis='<axis xyz="0 0 1"/>' * 2), "has 2 of them", 5),
    "origin of two": (with_joint(origin='<origin xyz="0 1"/>'), "2 words", 5),
    "infinite origin": (with_joint(origin='<origin xyz="0 0 -inf"/>'), "not a finite number", 5),
    "rpy nan": (with_joint(origin='<origin rpy="0 0 NaN"/>'), "not a finite number", 5),
    "limits reversed": (with_limit('lower="1" upper="-1"'), "reversed", 5),
    "limit nan": (with_limit('lower="nan" upper="1"'), "not a finite number", 5),
    "negative effort": (with_limit('lower="0" upper="1" effort="-1"'), "effort -1 is neg", 5),
    "negative velocity": (with_limit('velocity="-1"'), "velocity -1 is negative", 5),
    "negative damping": (with_joint(inside='<dynamics damping="-1"/>'), "damping -1", 5),
    "friction nan": (with_joint(inside='<dynamics friction="nan"/>'), "not a finite", 5),
    "mimic itself": (with_joint(inside='<mimic joint="j"/>'), "itself", 5),
    "mimic nobody": (with_joint(inside='<mimic joint="x"/>'), "does not exist", 5),
    "mimic without joint": (with_joint(inside="<mimic/>"), "'joint'", 5),
    "mimic nan": (with_joint(inside='<mimic joint="j" multiplier="nan"/>'), "not a finite", 5),
    "mimic in a circle": (
        robot(
            A, B, C,
            joint(inside='<mimic joint="k"/>'), joint("k", "b", "c", inside='<mimic joint="j"/>'),
        ),
        "through others",
        6,
    ),
    "mimic a fixed joint": (
        robot(A, B, C, joint(kind="fixed"), joint("k", "b", "c", inside='<mimic joint="j"/>')),
        "fixed",
        7,
    ),
    "mimic a free joint": (
        robot(A, B, C, joint(kind="floating"), joint("k", "b", "c", inside='<mimic joint="j"/>')),
        "Free",
        7,
    ),
    "a free joint mimics": (
        with_joint(kind="floating", inside='<mimic joint="j"/>'),
        "cannot mimic",
        5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_broken_files_are_refused(name, tmp_path):
    """The message names what is wrong, the file and the line, within two seconds."""
    text, fact, line = CASES[name]
    path = write(tmp_path, text)
    start = time.process_time()
    with pytest.raises(ModelError) as caught:
        load(path)
    assert time.process_time() - start < 2.0
    message = str(caught.value)
    assert fact in message
    assert f"{path} line {line})" in message
    assert ";" in message, "a remedy"


RIGHT = {
    "plain": robot(A, B, J),
    "byte order mark": b"\xef\xbb\xbf" + robot(A, B, J).encode(),
    "UTF-16 with a mark": robot(A, B, J)
    .replace('"1.0"', '"1.0" encoding="utf-16"')
    .encode("utf-16"),
    "UTF-16 without a mark": robot(A, B, J).encode("utf-16-le"),
    "UTF-16 from the other end": ("\ufeff" + robot(A, B, J)).encode("utf-16-be"),
    "Latin-1": robot(A, B, J, "<!-- caf\xe9 -->")
    .replace('"1.0"', '"1.0" encoding="iso-8859-1"')
    .encode("latin-1"),
    "blanks before the declaration": "\n \n" + robot(A, B, J),
    "no declaration": robot(A, B, J).partition("\n")[2],
    "Windows lines": robot(A, B, J).replace("\n", "\r\n"),
    "processing instruction": robot("<?evil x?>", A, B, J),
    "character data section": robot("<![CDATA[<link/>]]>", A, B, J),
    "joint named like a link": robot(A, B, joint("b")),
    "odd names": robot(link("a b"), link("\u00fc/\u2192"), joint("j", "a b", "\u00fc/\u2192")),
    "axis of another length": with_joint(axis='<axis xyz="0 0 -1e-3"/>'),
    "no axis": with_joint(axis=""),
    "no limit": with_joint(inside=""),
    "undeclared world": robot(B, joint(parent="world")),
    "mesh that is not there": with_link(
        SQUARE + '<visual><geometry><mesh filename="http://127.0.0.1:9/x.stl"/></geometry></visual>'
    ),
    "mesh elsewhere": with_link(
        SQUARE + '<visual><geometry><mesh filename="file:///dev/zero"/></geometry></visual>'
    ),
    "broken picture": with_link(
        SQUARE + '<visual><origin xyz="nan"/><geometry><box size="x"/></geometry></visual>'
    ),
    "numbers of all sorts": with_joint(origin='<origin xyz="+1. -.5 1E+0" rpy="0 1e-320 00"/>'),
    "flat plate": with_link(inertial(inertia='ixx="1" iyy="2" izz="3" ixy="0" ixz="0" iyz="0"')),
    "rounded plate": with_link(
        inertial(inertia='ixx="1.111" iyy="2.222" izz="3.334" ixy="0" ixz="0" iyz="0"')
    ),
    "point mass": with_link(inertial(inertia='ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"')),
    "massless between": robot(A, link("b", ""), C, J, joint("k", "b", "c", axis="")),
}


@pytest.mark.parametrize("name", RIGHT)
def test_odd_files_are_read_rightly(name, tmp_path):
    path = write(tmp_path, RIGHT[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("always" if name == "broken picture" else "error", LeftOutWarning)
        model = load(path)
    assert model.nv == (2 if "between" in name else 1)
    assert inspect(path).model == model


def test_long_chain(tmp_path):
    """5,000 links in under two seconds: all walks are iterative."""
    n = 5000
    parts = [link(f"l{i}") for i in range(n)]
    parts += [joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(n - 1)]
    path = write(tmp_path, robot(*parts))
    gc.freeze()  # what other tests have left is none of its time
    start = time.process_time()
    model = load(path)
    assert time.process_time() - start < 2.0
    gc.unfreeze()
    assert model.nv == n - 1


def test_long_chains_of_other_things(tmp_path):
    """Fixed joints and mimics may be as long."""
    n = 2000
    parts = [link(f"l{i}") for i in range(n)]
    parts += [joint(f"j{i}", f"l{i}", f"l{i + 1}", "fixed") for i in range(n - 2)]
    parts += [joint("last", f"l{n - 2}", f"l{n - 1}")]
    assert load(write(tmp_path, robot(*parts))).nv == 1
    parts = [link(f"l{i}") for i in range(n)]
    for i in range(n - 1):
        follows = f'<mimic joint="j{(i + 1) % (n - 1)}"/>'
        parts.append(joint(f"j{i}", "l0", f"l{i + 1}", inside=follows))
    with pytest.raises(ModelError, match="through others"):
        load(write(tmp_path, robot(*parts)))


def test_long_cycle(tmp_path):
    n = 3000
    parts = [link(f"l{i}") for i in range(n)]
    parts += [joint(f"j{i}", f"l{i}", f"l{(i + 1) % n}") for i in range(n)]
    with pytest.raises(ModelError, match="cycle"):
        load(write(tmp_path, robot(*parts)))


def test_what_is_no_file(tmp_path):
    for path in (
        tmp_path,
        tmp_path / "none.urdf",
        "/dev/zero",
        "a\0b.urdf",
        tmp_path / ("x" * 300),
    ):
        with pytest.raises(ModelError):
            load(path)
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(ModelError, match="not a regular file"):
        load(tmp_path / "pipe.urdf")


def test_huge_file(tmp_path):
    path = tmp_path / "huge.urdf"
    with open(path, "wb") as stream:
        stream.truncate(10**12)  # a hole: no disk is used
    start = time.process_time()
    with pytest.raises(ModelError, match="bytes"):
        load(path)
    assert time.process_time() - start < 2.0


def test_a_person_may_load_an_unphysical_robot(tmp_path):
    """The warning lists every link."""
    bad = inertial(inertia='ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"')
    path = write(tmp_path, robot(A, link("b", bad), link("c", ""), J, joint("k", "b", "c")))
    with pytest.raises(ModelError, match=r"link 'b'.*physical=False.*link 'c'"):
        load(path)
    for physical in (False, "warn"):
        with pytest.warns(UnphysicalWarning, match=r"link 'b'.*line 4.*link 'c'.*line 5"):
            assert load(path, physical=physical).nv == 2
    with pytest.raises(ModelError, match="physical"):
        load(path, physical="maybe")


def test_links_that_do_not_move_alone_are_judged_together(tmp_path):
    """A body is physical if its links together are; what is fixed to the world does not count."""
    bad = inertial("0.01", 'ixx="1e-3" iyy="1e-3" izz="3e-3" ixy="0" ixz="0" iyz="0"')
    path = write(
        tmp_path, robot(link("a", bad), B, link("c", bad), J, joint("k", "b", "c", "fixed"))
    )
    with pytest.warns(UnphysicalWarning, match=r"dynamics is sound.*link 'a'.*link 'c'"):
        assert load(path).nv == 1
    with pytest.raises(ModelError, match="link 'a'"):
        load(path, base="free")


def test_massless_base(tmp_path):
    """A massless base with one joint has a singular mass matrix; one with several has not."""
    path = write(tmp_path, robot(link("world", ""), B, joint(parent="world")))
    assert load(path).nv == 1
    with pytest.raises(ModelError, match=r"link 'world': floats, has no mass.*joint 'j'"):
        load(path, base="free")
    two = robot(link("a", ""), B, C, J, joint("k", "a", "c", axis='<axis xyz="1 0 0"/>'))
    assert load(write(tmp_path, two), base="free").nv == 8
    with pytest.raises(ModelError, match="carries nothing"):
        load(write(tmp_path, robot(link("a", ""))), base="free")


def test_options_are_checked(tmp_path):
    path = write(tmp_path, robot(A, B, J))
    with pytest.raises(ModelError, match="'floating'"):
        load(path, base="floating")
    with pytest.raises(ModelError, match="not a folder"):
        load(path, roots=[tmp_path / "none"])
