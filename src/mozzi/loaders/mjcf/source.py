# pyright: basic
# (MuJoCo's C interface is not typed)
"""MJCF, made safe before the ``mujoco`` package sees it.

MuJoCo's compiler reads whatever files a model names, and repeats whatever it is told to repeat. So
the text is read strictly here, includes are inserted, sizes are counted, everything that does not
shape the mechanism is dropped (pictures, sensors, plugins), and only meshes that
inertias depend on are read, below the declared roots. What is left is handed over as one text with
its meshes in memory: it names no file. A mesh that no inertia depends on is only looked for; MuJoCo
sees a tetrahedron in its place.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from xml.sax.saxutils import quoteattr

from mozzi.errors import ModelError
from mozzi.loaders.geometry import mesh_of
from mozzi.loaders.source import Notes, Place, Roots, read_bytes
from mozzi.loaders.xml.strict import MAX_ELEMENTS, Element, number, parse_xml
from mozzi.loaders.xml.words import Word, check_words
from mozzi.model.shapes import Mesh

__all__ = ["MAX_DEPTH", "SafeText", "make_safe"]

MAX_DEPTH = 480  # MuJoCo's own parser stops at 500
MAX_INCLUDES = 100
MAX_INCLUDED = 8 * 2**20  # bytes
MAX_EXPANDED = 20_000
MAX_MESH = 64 * 2**20
MAX_MESHES = 256 * 2**20
MAX_HEIGHTS = 4_000_000  # samples of a height field
MESHES = frozenset({".stl", ".obj", ".msh"})
HEIGHTS = frozenset({".png", ".hf", ".bin"})

_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")

COMPILER = {
    "autolimits", "boundmass", "boundinertia", "settotalmass", "balanceinertia", "angle",
    "coordinate", "eulerseq", "inertiafromgeom", "inertiagrouprange", "exactmeshinertia",
    "alignfree",
}  # fmt: skip
FLAGS = {
    "gravity", "contact", "filterparent", "equality", "constraint", "limit", "spring", "damper",
    "frictionloss", "actuation",
}  # fmt: skip
MEDIUM = ("density", "viscosity", "wind")
TREE = {"body", "frame", "replicate", "joint", "freejoint", "geom", "inertial", "site", "composite"}
MOTORS = {"motor", "position", "velocity", "general", "damper"}
DEFAULTS = {"default", "joint", "geom", "mesh", "equality", "site", "material", "pair", *MOTORS}
TETRAHEDRON = "0 0 0 100 0 0 0 100 0 0 0 100"  # large, since scales are small
EQUALITIES = {"connect", "weld", "joint"}
PLAIN = {"camera", "light"}
IGNORED = {
    "tendon": "tendons are not read: their springs, limits and armature are missing",
    "deformable": "flexible bodies are not read",
    "extension": "plugins are not read",
    "sensor": "sensors are not read",
    "visual": None,
    "statistic": None,
    "size": None,
    "custom": None,
    "include": None,
}
NUMERIC = {
    "pos", "quat", "axisangle", "xyaxes", "zaxis", "euler", "axis", "range", "size", "fromto",
    "mass", "density", "diaginertia", "fullinertia", "damping", "stiffness", "armature",
    "frictionloss", "ref", "springref", "springdamper", "gravity", "scale", "refpos", "refquat",
    "polycoef", "relpose", "anchor", "offset", "count", "boundmass", "boundinertia",
    "settotalmass", "actuatorfrcrange", "gravcomp", "vertex", "face", "torquescale",
    "qpos", "gear", "ctrlrange", "forcerange", "kp", "kv", "gainprm", "biasprm",
}  # fmt: skip
OPTION = {"gravity", "actuatorgroupdisable"}
DIRECTIONS = {"quat", "axis", "refquat", "zaxis", "xyaxes"}


@dataclass(slots=True)
class SafeText:
    """MJCF that names no file: its text, the meshes it needs, and where its lines come from."""

    name: str
    lines: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    assets: dict[str, bytes] = field(default_factory=dict)
    meshes: dict[str, Mesh] = field(default_factory=dict)
    """Where the meshes are, by name; the compiled model knows their scales."""
    tints: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """The colours of materials whose texture is made of colours, by name."""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def place(self, line: int) -> Place:
        """Where a line of the text comes from."""
        return self.places[min(max(line, 1), len(self.places)) - 1]


def make_safe(
    root: Element, file: str, roots: Roots, notes: Notes, *, strict: bool = True
) -> SafeText:
    """The safe text of a ``<mujoco>`` element."""
    _insert_includes(root, file, roots, notes)
    _check_size(root)
    check_words(root, mujoco_words(), "MuJoCo", notes, strict=strict)
    _check_numbers(root)
    sections: dict[str, list[Element]] = {}
    for element in root:
        sections.setdefault(element.tag, []).append(element)
        if element.tag in IGNORED:
            if (fact := IGNORED[element.tag]) and element.children:
                notes.leave(element.place, f"<{element.tag}>", fact)
        elif element.tag not in ("compiler", "option", "default", "asset", "worldbody", "equality",
                                 "actuator", "keyframe", "contact"):  # fmt: skip
            fact = f"{element.tag!r} is no section of MJCF"
            raise element.error(fact, "remove it", thing="<mujoco>")
    bodies = [_tree(element, notes) for element in sections.get("worldbody", [])]
    defaults = [_defaults(element) for element in sections.get("default", [])]
    safe = SafeText(root.attributes.get("model", ""))
    kept: list[Element] = [
        *(_compiler(element) for element in sections.get("compiler", [])),
        *(_option(element, notes) for element in sections.get("option", [])),
        *defaults,
        *_assets(sections, bodies, defaults, roots, safe, notes),
        *bodies,
        *(_equalities(element, notes) for element in sections.get("equality", [])),
        *(_actuators(element, notes) for element in sections.get("actuator", [])),
        *(_keys(element) for element in sections.get("keyframe", [])),
        *(_contacts(element) for element in sections.get("contact", [])),
    ]
    _write(Element("mujoco", {}, root.file, root.line, kept), safe)
    return safe


@cache
def mujoco_words() -> Word:
    """The words of MJCF, as MuJoCo prints them: an element a line, three blanks a level, then its
    attributes, also on the lines below.
    """
    import mujoco

    root = Word()
    stack: list[tuple[int, Word]] = [(-1, root)]
    schema: str = mujoco.mj_printSchema(False, False)  # pyright: ignore[reportAttributeAccessIssue]
    for line in schema.splitlines():
        head = re.match(r"( *)(\S+) \(([*?!R])\)", line)
        if head is None:
            stack[-1][1].attributes.update(dict.fromkeys(line.split(), True))
            continue
        depth, tag = len(head.group(1)), head.group(2)
        word = Word(dict.fromkeys(line[head.end() :].split(), True))
        while stack[-1][0] >= depth:
            stack.pop()
        parent = stack[-1][1]
        stack.append((depth, word))
        if head.group(3) == "R":
            word.children[tag.removeprefix("(world)")] = word
        for name in ("worldbody", "body") if tag == "(world)body" else (tag,):
            parent.children[name] = word
    _groups(root.children["mujoco"])
    return root


def _groups(mujoco: Word) -> None:
    """What MuJoCo unfolds before it looks at its words stands where bodies stand: frames and
    replicates, whose attributes it does not check, and composites, which it checks itself.
    """
    body = mujoco.children["worldbody"]
    del mujoco.children["body"]
    place = ("name", "childclass", "pos", "quat", "axisangle", "xyaxes", "zaxis", "euler")
    frame = Word(dict.fromkeys(place, True), body.children)
    many = Word(dict.fromkeys((*place, "count", "offset", "sep", "prefix"), True), body.children)
    body.children |= {"frame": frame, "replicate": many, "composite": Word(unchecked=True)}
    for word in mujoco.children.values():
        word.children.setdefault("include", Word({"file": True}))


# -- includes and sizes ------------------------------------------------------------------------


def _insert_includes(root: Element, file: str, roots: Roots, notes: Notes) -> None:
    """Replace every ``<include>`` by the children of the file it names; each file once, as MuJoCo
    has it.
    """
    included = {Path(os.path.realpath(file))}
    total = 0
    stack: list[tuple[Element, tuple[Path, ...]]] = [(root, tuple(included))]
    while stack:
        parent, trail = stack.pop()
        children: list[Element] = []
        pending = [(child, trail) for child in reversed(parent.children)]
        while pending:
            child, origin = pending.pop()
            if child.tag != "include":
                children.append(child)
                stack.append((child, origin))
                continue
            path = _included(child, roots, origin[-1])
            if path in origin:
                circle = " → ".join(p.name for p in (*origin, path))
                raise child.error(f"files include each other: {circle}", "break the circle")
            if path in included:
                raise child.error(f"{path.name!r} is included twice", "include it once")
            included.add(path)
            if len(included) > MAX_INCLUDES:
                raise child.error(f"more than {MAX_INCLUDES} files", "join them")
            data = read_bytes(path, "include", place=child.place)
            total += len(data)
            if total > MAX_INCLUDED:
                fact = f"included files have more than {MAX_INCLUDED:,} bytes"
                raise child.error(fact, "keep meshes and pictures in files of their own")
            top = parse_xml(data, str(path), notes, max_depth=MAX_DEPTH)
            if top.tag not in ("mujoco", "mujocoinclude"):
                raise top.error("is no MJCF", "include files with a <mujoco> element")
            pending += [(grandchild, (*origin, path)) for grandchild in reversed(top.children)]
        parent.children = children


def _included(element: Element, roots: Roots, including: Path) -> Path:
    name = element.string("file")
    try:
        return roots.resolve(name, element.place, "include")
    except ModelError:
        beside = Roots(including.parent, roots.folders)
        if including.parent == roots.folder:
            raise
        return beside.resolve(name, element.place, "include")


def _check_size(root: Element) -> None:
    """Count the elements after repetition, and the depth after inclusion."""
    total = 0
    stack = [(root, 1, 1)]
    while stack:
        element, factor, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise element.error(
                f"is nested more than {MAX_DEPTH} elements deep", "flatten the file"
            )
        if element.tag in ("replicate", "composite") and "count" in element.attributes:
            for word in element.string("count").split():
                count = number(word, element, "count=")
                if not 0 <= count <= MAX_EXPANDED or count != int(count):
                    fact = f"count {word} is not an integer from 0 to {MAX_EXPANDED:,}"
                    raise element.error(fact, "repeat less")
                factor *= max(int(count), 1)
        total += factor
        if total > MAX_EXPANDED and factor > 1:
            fact = f"repetition makes more than {MAX_EXPANDED:,} elements"
            raise element.error(fact, "repeat less")
        if total > MAX_ELEMENTS:
            raise element.error(f"more than {MAX_ELEMENTS:,} elements", "split the model")
        stack += [(child, factor, depth + 1) for child in element.children]


def _check_numbers(root: Element) -> None:
    stack = list(root.children)
    while stack:
        element = stack.pop()
        if element.tag in IGNORED or element.tag == "flag":
            continue
        for attribute in NUMERIC & element.attributes.keys():
            words, limit = element.attributes[attribute].split(), "range" in attribute
            values = [number(word, element, f"{attribute}=", limit=limit) for word in words]
            if attribute in DIRECTIONS and values and not any(values):
                fact = f"{attribute}={element.attributes[attribute]!r} has no direction"
                raise element.error(fact, "give something other than zero")
        stack.extend(element.children)


# -- what is kept ------------------------------------------------------------------------------


def _copy(element: Element, children: Iterable[Element] = (), drop: Iterable[str] = ()) -> Element:
    attributes = {k: v for k, v in element.attributes.items() if k not in drop}
    return Element(element.tag, attributes, element.file, element.line, list(children))


def _compiler(element: Element) -> Element:
    return _copy(element, drop=set(element.attributes) - COMPILER)


def _option(element: Element, notes: Notes) -> Element:
    flags = [_copy(flag, drop=set(flag.attributes) - FLAGS) for flag in element.all("flag")]
    for word in (word for word in MEDIUM if word in element.attributes):
        values = element.attributes[word].split()
        if any(number(value, element, f"{word}=") for value in values):
            notes.leave(element.place, f"{word} of <option>", "is not read: no medium acts")
    return _copy(element, flags, drop=set(element.attributes) - OPTION)


def _tree(root: Element, notes: Notes) -> Element:
    """The bodies, with what shapes the mechanism."""
    new = _copy(root)
    stack = [(root, new)]
    while stack:
        old, copy = stack.pop()
        for child in old:
            if child.tag in PLAIN:
                continue
            if child.tag == "geom" and child.attributes.get("type") == "sdf":
                notes.leave(child.place, child.thing, "is made by a plugin and is left out")
                continue
            if child.tag == "plugin":
                notes.leave(child.place, old.thing, "its plugin is not read")
                continue
            if child.tag not in TREE:
                remedy = "flatten the model: MjSpec.from_file(path).to_xml()"
                if child.tag == "flexcomp":
                    remedy = "remove it: bodies are rigid here"
                raise child.error("is not read", remedy, thing=f"<{child.tag}> in {old.thing}")
            twin = _copy(child, drop=("user", "plugin"))
            copy.children.append(twin)
            if child.tag == "composite":
                inner = (_copy(part) for part in child if part.tag != "plugin")
                twin.children.extend(
                    part for part in inner if part.tag in ("joint", "geom", "site")
                )
                continue
            stack.append((child, twin))
    return new


def _defaults(root: Element) -> Element:
    new = _copy(root)
    stack = [(root, new)]
    while stack:
        old, copy = stack.pop()
        for child in old:
            if child.tag in DEFAULTS:
                twin = _copy(child, drop=("user", "texture"))
                copy.children.append(twin)
                stack.append((child, twin))
    return new


def _equalities(element: Element, notes: Notes) -> Element:
    kept = []
    for child in element:
        if child.tag not in EQUALITIES:
            fact = f"an equality of kind {child.tag!r} cannot be kept"
            raise child.error(fact, "remove it, or use connect, weld or joint")
        kept.append(_copy(child))
    return _copy(element, kept)


def _actuators(element: Element, notes: Notes) -> Element:
    """Motors and servos on joints; others are left out by name."""
    kept = []
    for child in element:
        on_joint = "joint" in child.attributes or "jointinparent" in child.attributes
        if child.tag in MOTORS and on_joint:
            kept.append(_copy(child, drop=("user",)))
        else:
            notes.leave(child.place, f"actuator {child.attributes.get('name', child.tag)!r}",
                        "is not read: only motors and servos on joints are")  # fmt: skip
    return _copy(element, kept)


def _contacts(element: Element) -> Element:
    """Pairs and exclusions."""
    return _copy(element, (_copy(x) for x in element if x.tag in ("pair", "exclude")))


def _keys(element: Element) -> Element:
    """The configurations of keyframes."""
    drop = ("qvel", "act", "ctrl", "mpos", "mquat", "time")
    return _copy(element, [_copy(key, drop=drop) for key in element])


def _solid(bodies: list[Element], sections: dict[str, list[Element]]) -> set[str]:
    """The meshes that inertias depend on: those of geoms of bodies that give none."""
    always = any(
        e.attributes.get("inertiafromgeom") == "true" for e in sections.get("compiler", [])
    )
    found: set[str] = set()
    stack = [(element, False) for element in bodies]
    while stack:
        element, needed = stack.pop()
        if element.tag == "body":
            needed = always or not any(child.tag == "inertial" for child in element)
        if needed and element.tag == "geom" and "mesh" in element.attributes:
            found.add(element.attributes["mesh"])
        stack += [(child, needed) for child in element.children]
    return found


# -- meshes, height fields, materials ----------------------------------------------------------


def _assets(
    sections: dict[str, list[Element]],
    bodies: list[Element],
    defaults: list[Element],
    roots: Roots,
    safe: SafeText,
    notes: Notes,
) -> list[Element]:
    """The meshes and height fields that are used, as files in memory, and the materials."""
    wanted = {word: _used(word, [*bodies, *defaults]) for word in ("mesh", "hfield")}
    solid = _solid(bodies, sections) | _used("mesh", defaults)
    options: dict[str, str] = {}
    for element in sections.get("compiler", []):
        options |= element.attributes
    kept: list[Element] = []
    colors: dict[str, tuple[float, ...]] = {}
    for asset in (asset for part in sections.get("asset", []) for asset in part):
        file = asset.attributes.get("file", "").replace("\\", "/")
        name = asset.attributes.get("name") or Path(file).stem
        copy = _copy(asset, drop=("file", "material", "content_type", "texture"))
        copy.attributes["name"] = name
        if asset.tag == "texture":
            if "rgb1" in asset.attributes:
                colors[name] = asset.numbers("rgb1", 3)
            continue
        if asset.tag == "material":
            if asset.attributes.get("texture") in colors:
                safe.tints[name] = colors[asset.attributes["texture"]]
        elif name not in wanted.get(asset.tag, ()):
            continue
        elif asset.tag == "hfield" and not file:
            counts = [number(asset.string(word), asset, f"{word}=") for word in ("nrow", "ncol")]
            _check_heights(asset, *counts)
        elif file and asset.tag == "mesh":
            if options.get("strippath") == "true":
                file = Path(file).name
            path = os.path.join(options.get("meshdir") or options.get("assetdir") or "", file)
            path, near = _looked_for(asset, path, file, roots)
            safe.meshes[name] = mesh_of(path, (1.0, 1.0, 1.0), asset.place, near)
            if name in solid:
                copy.attributes["file"] = _read(asset, path, file, near, safe)
            else:
                copy.attributes["vertex"] = TETRAHEDRON
        elif file:
            path = os.path.join(options.get("assetdir") or options.get("meshdir") or "", file)
            path, near = _looked_for(asset, path, file, roots)
            try:
                copy.attributes["file"] = _read(asset, path, file, near, safe, HEIGHTS)
            except ModelError as error:
                notes.leave(asset.place, asset.thing, str(error).partition(";")[0])
                _without("hfield", name, bodies)
                continue
        kept.append(copy)
    return [Element("asset", {}, kept[0].file, kept[0].line, kept)] if kept else []


def _check_heights(asset: Element, rows: float, columns: float) -> None:
    """A few bytes can tell of any number of heights."""
    if not all(1 <= count <= MAX_HEIGHTS for count in (rows, columns, rows * columns)):
        fact = f"has {rows:g} x {columns:g} heights"
        raise asset.error(fact, f"give 1 to {MAX_HEIGHTS:,}")


def _looked_for(asset: Element, path: str, file: str, roots: Roots) -> tuple[str, Roots]:
    """Where MuJoCo looks for a file: from the main file with its folder of meshes, and then beside
    the included file that names it, without.
    """
    beside = Roots(Path(os.path.realpath(asset.file)).parent, roots.folders)
    for name, near in ((path, roots), (file, beside)):
        try:
            near.resolve(name, asset.place, asset.tag)
        except ModelError:
            continue
        return name, near
    return path, roots


def _used(word: str, elements: list[Element]) -> set[str]:
    """The assets that geoms name."""
    found: set[str] = set()
    stack = list(elements)
    while stack:
        element = stack.pop()
        if element.tag == "geom" and word in element.attributes:
            found.add(element.attributes[word])
        stack.extend(element.children)
    return found


def _without(word: str, name: str, elements: list[Element]) -> None:
    """Take away the geoms that name an asset."""
    stack = list(elements)
    while stack:
        element = stack.pop()
        element.children = [x for x in element.children if x.attributes.get(word) != name]
        stack.extend(element.children)


def _read(
    asset: Element,
    path: str,
    file: str,
    roots: Roots,
    safe: SafeText,
    kinds: frozenset[str] = MESHES,
) -> str:
    """The name in memory of a file below the roots."""
    suffix = Path(file).suffix.lower()
    if suffix not in kinds:
        fact = f"{asset.tag} file {file!r} is not read"
        raise asset.error(fact, f"use one of {', '.join(sorted(kinds))}")
    found = roots.resolve(path, asset.place, asset.tag)
    left = MAX_MESHES - sum(map(len, safe.assets.values()))
    name = f"{asset.tag}_{len(safe.assets)}{suffix}"
    data = read_bytes(found, asset.tag, min(MAX_MESH, left), asset.place)
    if suffix == ".png" and data[12:16] == b"IHDR":
        columns, rows = struct.unpack(">II", data[16:24].ljust(8, b"\0"))
        _check_heights(asset, rows, columns)
    safe.assets[name] = data
    return name


# -- text --------------------------------------------------------------------------------------


def _write(root: Element, safe: SafeText) -> None:
    """One element per line, so that MuJoCo's line numbers lead back to files."""
    stack: list[Element | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            safe.lines.append(item)
            safe.places.append(safe.places[-1])
            continue
        words = [item.tag, *(f"{k}={quoteattr(v)}" for k, v in item.attributes.items())]
        for word in (item.tag, *item.attributes):
            if not _SIMPLE.fullmatch(word):
                raise item.error(f"{word!r} is no word of MJCF", "correct it")
        head = " ".join(words)
        safe.places.append(item.place)
        if not item.children:
            safe.lines.append(f"<{head}/>")
            continue
        safe.lines.append(f"<{head}>")
        stack.append(f"</{item.tag}>")
        stack.extend(reversed(item.children))
