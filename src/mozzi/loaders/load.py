# pyright: reportMissingTypeStubs=false, reportUnnecessaryIsInstance=false
"""One door for all formats."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from mozzi.checked import checked
from mozzi.errors import ExtraMissingError, ModelError
from mozzi.loaders.build import assemble
from mozzi.loaders.description import Description
from mozzi.loaders.loops_file import Loops, add_loops
from mozzi.loaders.names import find
from mozzi.loaders.sdf import read_sdf
from mozzi.loaders.source import Notes, Place, Roots, read_bytes, roots_of
from mozzi.loaders.urdf.srdf import add_states, beside
from mozzi.loaders.urdf.urdf import read_urdf
from mozzi.loaders.xml.strict import MAX_DEPTH, Element, parse_xml
from mozzi.model import Model
from mozzi.types import Base, Physical

__all__ = ["load", "read"]

StrPath = str | os.PathLike[str]


@checked
def load(
    path: StrPath,
    base: Base = "fixed",
    *,
    roots: StrPath | Sequence[StrPath] = (),
    physical: Physical = True,
    loops: Loops | None = None,
    xacro: bool = False,
    strict: bool = True,
    couplings: bool = True,
    contacts: bool = False,
    srdf: StrPath | None = None,
) -> Model:
    """The model in a URDF, MJCF or SDF file.

    The root element says which it is: ``<robot>``, ``<mujoco>`` or ``<sdf>``. What the file says
    and the model does not is told once, in a `LeftOutWarning`.

    Cost: linear in the length of the file; meshes are opened when somebody looks at them.

    Args:
        path: the file; or the name of a robot of ``example-robot-data`` or ``robot_descriptions``
            (the extra ``mozzi[robots]``), such as ``"panda"``.
        base: ``"fixed"``, or ``"free"`` for a 6-dof joint under the root link.
        roots: folders below which the file may refer to others, besides its own folder and
            package and those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH.
        physical: whether inertias that no rigid body has are refused; False (or ``"warn"``) loads
            them with an `UnphysicalWarning` that lists every link.
        loops: closes loops of a URDF: a YAML file, or triples (frame, frame, ``"6d"`` or
            ``"3d"``).
        xacro: whether to expand the file with xacro, which runs expressions in it: trust the file.
        strict: whether words that the format does not have are refused; False notes them
            (`mozzi info` lists them) and reads on.
        couplings: whether joints that mimic others are coupled to them; False lets them move alone.
        contacts: whether the shapes touch that an MJCF file lets touch, by its pairs, exclusions,
            contype and conaffinity, with its friction (`model.contacts`); False adds none.
        srdf: a file whose group states become ``model.configurations``; by default the one beside
            a URDF or SDF file, or in the folder ``srdf`` of its package, that is called like it.

    Returns:
        The model, with joints, bodies and frames under their names in the file.

    Raises:
        ModelError: the file is broken, unphysical or hostile; the message names file, line and
            remedy.
        ExtraMissingError: MJCF needs the extra ``mozzi[mjcf]``, xacro the extra ``mozzi[xacro]``.

    Example:
        >>> arm = mz.load("arm.urdf", base="fixed")
        >>> arm.nv, arm.joint_names
        (3, ('joint_1', 'joint_2', 'joint_3'))
    """
    found = read(path, roots=roots, loops=loops, xacro=xacro, strict=strict, srdf=srdf)
    model = assemble(found, base, physical, couplings, contacts)
    found.notes.tell(found.name, found.place.file)
    return model


def read(
    path: StrPath,
    *,
    roots: StrPath | Sequence[StrPath] = (),
    loops: Loops | None = None,
    xacro: bool = False,
    strict: bool = True,
    srdf: StrPath | None = None,
) -> Description:
    """What a file describes, before it is checked as a whole."""
    path = find(path)
    root, near, notes = _open(path, roots, xacro)
    if root.tag == "robot":
        found = read_urdf(root, notes, near, strict=strict)
    elif root.tag == "sdf":
        found = read_sdf(root, notes, near, strict=strict)
    elif root.tag == "mujoco":
        from mozzi.loaders.mjcf.mjcf import read_mjcf

        found = read_mjcf(root, os.fspath(path), near, notes, strict=strict)
    else:
        raise _unknown(root)
    if not found.name.strip():
        found.name = Path(path).stem
    if loops is not None:
        add_loops(found, loops)
    states = beside(Path(path), found.name) if srdf is None else Path(srdf)
    if states is not None and (srdf is not None or found.format in ("URDF", "SDF")):
        add_states(found, states, asked=srdf is not None)
    return found


def _unknown(root: Element) -> ModelError:
    fact = f"<{root.tag}> is not a robot description"
    return root.error(fact, "give a file with <robot>, <mujoco> or <sdf>", thing="file")


def _open(
    path: StrPath, roots: StrPath | Sequence[StrPath], xacro: bool
) -> tuple[Element, Roots, Notes]:
    file, notes = os.fspath(path), Notes()
    if not isinstance(file, str):
        raise ModelError(f"path {path!r}: is not text; give a path such as 'robot.urdf'")
    data = read_bytes(file)
    near = roots_of(Path(file), roots)
    if xacro:
        parse_xml(data, file, Notes())  # whatever is refused elsewhere is refused here
        data, file = _expand(file), f"{file} (expanded)"
    deep = MAX_DEPTH
    if b"<mujoco" in data[:65536]:
        from mozzi.loaders.mjcf.source import MAX_DEPTH as deep
    return parse_xml(data, file, notes, max_depth=deep), near, notes


def _expand(file: str) -> bytes:
    try:
        from xacrodoc import XacroDoc
    except ImportError:
        raise ExtraMissingError(
            f"{file}: xacro files need xacrodoc; install it with: pip install 'mozzi[xacro]'"
        ) from None
    try:
        made = XacroDoc.from_file(file, resolve_packages=False)  # pyright: ignore[reportUnknownMemberType]
        return made.to_urdf_string().encode()  # pyright: ignore[reportUnknownMemberType]
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise Place(file).error("file", f"xacro: {text}", "correct the xacro file") from None
