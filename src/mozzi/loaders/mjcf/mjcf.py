# pyright: basic
# (MuJoCo's C interface is not typed)
"""MJCF, compiled by the ``mujoco`` package, which owns that format.

q is laid out as MuJoCo's qpos, except that quaternions are (x, y, z, w) here. Several joints on
one body are one `Composite`, named after all of them; its coordinates are theirs, in order.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any

from mozzi.errors import ExtraMissingError, ModelError
from mozzi.lie import SE3
from mozzi.loaders.description import (
    IDENTITY,
    ActuatorData,
    CouplingData,
    Description,
    Edge,
    Link,
    LoopData,
    pose_of_quaternion,
)
from mozzi.loaders.geometry import ShapeData, note_fault
from mozzi.loaders.mjcf.contacts import contacts_of, pair_count
from mozzi.loaders.mjcf.source import SafeText, make_safe
from mozzi.loaders.source import Notes, Place, Roots
from mozzi.loaders.xml.strict import Element
from mozzi.model import Composite, Fixed, Free, Joint, Prismatic, Revolute, Spherical
from mozzi.model.shapes import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Geometry,
    HeightField,
    Plane,
    Role,
    Sphere,
)

__all__ = ["read_mjcf"]

WORLD = "world"
FREE, BALL, SLIDE, HINGE = 0, 1, 2, 3
CONNECT, WELD, JOINT = 0, 1, 2
SITE = 6

_LOCK = threading.Lock()


class Geom(IntEnum):
    """The kinds of geoms, as MuJoCo numbers them."""

    PLANE, FIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)


SWITCHED = {  # what acts in joints: the flags that take it out
    "damping": ("damper",),
    "friction": ("frictionloss", "constraint"),
    "stiffness": ("spring",),
}


def read_mjcf(
    root: Element, file: str, roots: Roots, notes: Notes, *, strict: bool = True
) -> Description:
    """The description in a ``<mujoco>`` element."""
    _mujoco(root.place)  # missing, it is told before anything needs it
    safe = make_safe(root, file, roots, notes, strict=strict)
    return _Reader(_compile(safe, root.place, notes), safe, root.place, notes).read()


def _mujoco(top: Place) -> Any:
    try:
        import mujoco
    except ImportError:
        raise ExtraMissingError(
            f"{top.file}: MJCF files need mujoco; install it with: pip install 'mozzi[mjcf]'"
        ) from None
    return mujoco


def _compile(safe: SafeText, top: Place, notes: Notes) -> Any:
    mujoco = _mujoco(top)
    told: list[str] = []
    with _LOCK:  # without a handler MuJoCo writes warnings to a log file in the working directory
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(told.append)
        try:
            model = mujoco.MjModel.from_xml_string(safe.text, safe.assets)
        except Exception as error:
            raise _compile_error(str(error), safe, top) from None
        finally:
            mujoco.set_mju_user_warning(before)
    for text in told:
        notes.add(top, "file", f"MuJoCo warns: {' '.join(text.split())}")
    return model


def _compile_error(text: str, safe: SafeText, top: Place) -> ModelError:
    """MuJoCo's message, with the line of the file that the compiled text came from."""
    line = re.search(r"line (\d+)", text)
    place = safe.place(int(line.group(1))) if line else top
    fact = re.sub(r"^(XML )?Error: ", "", text.split("\nElement")[0].strip())
    element = re.search(r"Element '(\w+)'", text)
    named = re.search(r"name '([^']+)'", text)
    thing = f"<{element.group(1)}>" if element else "model"
    remedy = "correct the file"
    if "mjMINVAL" in fact:
        remedy = "give every moving body a geom or an <inertial> with mass"
    return place.error(f"{thing} {named.group(1)!r}" if named else thing, fact, remedy)


class _Reader:
    """From a compiled model to a description."""

    def __init__(self, model: Any, safe: SafeText, place: Place, notes: Notes) -> None:
        self.m, self.safe, self.place, self.notes = model, safe, place, notes
        self.bodies = self._names("body", model.nbody)
        self.bodies[0] = WORLD
        self.joints = self._names("joint", model.njnt)
        self.titles = set(self.joints)
        self.edge_of: dict[int, tuple[str, int]] = {}
        self.shape_of: dict[int, int] = {}
        self.lines = _lines(safe)
        tags = (re.match(r"<body\b", text) for text in safe.lines)
        places = [place for tag, place in zip(tags, safe.places, strict=True) if tag]
        if len(places) == model.nbody - 1:  # MuJoCo numbers bodies in the order of the file
            for name, place in zip(self.bodies[1:], places, strict=True):
                self.lines.setdefault(("body", name), place)

    def _names(self, kind: str, count: int) -> list[str]:
        names = [getattr(self.m, kind)(i).name for i in range(count)]
        taken = set(names)
        for i, name in enumerate(names):
            if not name:
                fresh = f"{kind}_{i}"
                while fresh in taken:
                    fresh += "_"
                names[i] = fresh
                taken.add(fresh)
        return names

    def _fresh(self, title: str) -> str:
        """A name for a joint that the file does not name."""
        while title in self.titles:
            title += "_"
        self.titles.add(title)
        return title

    def _at(self, kind: str, name: str) -> Place:
        return self.lines.get((kind, name), self.place)

    def read(self) -> Description:
        m, notes = self.m, self.notes
        found = Description(self.safe.name, self.place, "MJCF", notes=notes, world=WORLD)
        found.gravity = tuple(float(g) for g in m.opt.gravity)
        if self._off("gravity"):
            found.gravity = (0.0, 0.0, 0.0)
        for i, name in enumerate(self.bodies):
            place = self._at("body", name)
            if i and name == WORLD:
                raise place.error("body 'world'", "the name is the world's", "rename it")
            found.links[name] = self._link(i, name, place) if i else Link(name, self.place)
            if i:
                edge = self._edge(i, name, place)
                found.edges[edge.name] = edge
            if m.body_gravcomp[i]:
                notes.leave(place, f"body {name!r}", "gravcomp is not read: gravity acts in full")
            if m.body_mocapid[i] >= 0:
                notes.add(place, f"body {name!r}", "is a mocap body; it is fixed here")
        for k in range(m.nsite):
            name = m.site(k).name
            if name and name not in found.links:
                T = _pose(m.site_pos[k], m.site_quat[k])
                found.frames.append((name, self.bodies[m.site_bodyid[k]], T))
        for k in range(0 if self._off("equality", "constraint") else m.neq):
            self._equality(k, found)
        for k in range(m.ngeom):
            self._shape(k, found)
        found.contacts = list
        if not self._off("contact", "constraint"):
            family = self._off("filterparent")
            found.contacts = lambda: contacts_of(
                m, self.shape_of, found.shapes, self.place, self.notes, family
            )
            found.contact_pairs = pair_count(m, self.shape_of, family)
        for k in range(0 if self._off("actuation") else m.nu):
            self._actuator(k, found)
        self._states(found)
        return found

    def _off(self, *flags: str) -> bool:
        """Whether the file switches one of these off: <flag word="disable"/>."""
        bits = _mujoco(self.place).mjtDisableBit
        off = int(self.m.opt.disableflags)
        return any(off & int(getattr(bits, f"mjDSBL_{word.upper()}")) for word in flags)

    def _link(self, i: int, name: str, place: Place) -> Link:
        m = self.m
        moments = [float(x) for x in m.body_inertia[i]]
        a, b, c = moments
        T = _pose(m.body_ipos[i], m.body_iquat[i])
        return Link.of(name, place, float(m.body_mass[i]), (a, 0.0, 0.0, b, 0.0, c), T)

    # -- joints --------------------------------------------------------------------------------

    def _edge(self, i: int, name: str, place: Place) -> Edge:
        m = self.m
        parent = self.bodies[m.body_parentid[i]]
        T = _pose(m.body_pos[i], m.body_quat[i])
        first, count = int(m.body_jntadr[i]), int(m.body_jntnum[i])
        if count == 0:
            return Edge(self._fresh(f"{name}_fixed"), place, parent, name, None, T)
        own = range(first, first + count)
        title = self.joints[first]
        if count > 1:
            title = self._fresh("+".join(self.joints[j] for j in own))
        if m.jnt_type[first] == FREE:  # its q is the pose in the world
            self.edge_of[first] = (title, 0)
            return Edge(title, place, parent, name, Free(), IDENTITY, self._dynamics(own))
        offset = 0
        factors = []
        for j in own:
            self.edge_of[j] = (title, offset)
            factors.append(self._factor(j))
            offset += factors[-1].nq
        joint = (factors[0] if count == 1 else Composite(*factors)).between(T)
        place = self.lines.get(("joint", self.joints[first]), place)
        return Edge(title, place, parent, name, joint, IDENTITY, self._dynamics(own))

    def _factor(self, j: int) -> Joint:
        """One joint of MuJoCo: it turns about an anchor, and its zero is where q = ref."""
        m = self.m
        anchor = SE3.translation(*(float(x) for x in m.jnt_pos[j]))
        axis = tuple(float(x) for x in m.jnt_axis[j])
        kind = int(m.jnt_type[j])
        if kind == BALL:
            return Spherical().between(anchor, anchor)
        joint = Revolute(axis=axis) if kind == HINGE else Prismatic(axis=axis)
        ref = float(m.qpos0[m.jnt_qposadr[j]])
        back = joint.motion((-ref,)) if ref else IDENTITY
        return joint.between(anchor @ back, anchor)

    def _dynamics(self, joints: range) -> dict[str, tuple[float, ...]]:
        m = self.m
        found: dict[str, list[float]] = {
            word: []
            for word in ("lower", "upper", "effort", "damping", "friction", "armature", "stiffness")
        }
        rest: list[float] = []
        inf = float("inf")
        stops = not self._off("limit", "constraint")
        for j in joints:
            kind = int(m.jnt_type[j])
            nq, nv = {FREE: (7, 6), BALL: (4, 3)}.get(kind, (1, 1))
            limited = stops and bool(m.jnt_limited[j])
            if limited and nq > 1:
                limited = False
                self._note(j, "the range of a ball joint is not read")
            found["lower"] += [float(m.jnt_range[j, 0])] if limited else [-inf] * nq
            found["upper"] += [float(m.jnt_range[j, 1])] if limited else [inf] * nq
            effort = inf
            if m.jnt_actfrclimited[j]:
                low, high = (float(x) for x in m.jnt_actfrcrange[j])
                effort = max(abs(low), abs(high))
                if low != -high:
                    fact = f"its actuatorfrcrange is from {low:g} to {high:g}; both ways {effort:g}"
                    self._note(j, f"{fact} are allowed here")
            found["effort"] += [effort] * nv
            k = range(int(m.jnt_dofadr[j]), int(m.jnt_dofadr[j]) + nv)
            order = [*k[3:], *k[:3]] if kind == FREE else list(k)
            found["damping"] += [float(m.dof_damping[x]) for x in order]
            found["friction"] += [float(m.dof_frictionloss[x]) for x in order]
            found["armature"] += [float(m.dof_armature[x]) for x in order]
            if kind == FREE:
                self._tell_free(j, k[:3])
            found["stiffness"] += [float(m.jnt_stiffness[j])] * nv
            start = int(m.jnt_qposadr[j])
            spring = [float(x) for x in m.qpos_spring[start : start + nq]]
            rest += [*spring[:-4], *spring[-3:], spring[-4]] if nq > 1 else spring
            for word in ("jnt_stiffnesspoly", "dof_dampingpoly"):
                table = getattr(m, word, None)
                rows = [j] if word.startswith("jnt") else list(k)
                if table is not None and table[rows].any():
                    self._note(j, f"{word.split('_')[1]} is not read: only linear terms are")
            if (table := getattr(m, "jnt_springyield", None)) is not None and table[j].any():
                self._note(j, "springyield is not read: its spring does not yield")
        for word, flags in SWITCHED.items():
            if self._off(*flags):
                found[word] = [0.0] * len(found[word])
        return {word: tuple(values) for word, values in found.items()} | {"rest": tuple(rest)}

    def _tell_free(self, j: int, travel: range) -> None:
        """What acts along world axes in MuJoCo, and along those of the body here."""
        m, axes = self.m, "not those along world axes"
        if m.dof_armature[travel].any():
            self._note(j, f"its armature resists body-fixed accelerations, {axes}")
        if m.dof_frictionloss[travel].any() and not self._off(*SWITCHED["friction"]):
            self._note(j, f"its frictionloss resists body-fixed velocities, {axes}")
        if m.jnt_stiffness[j] and not self._off(*SWITCHED["stiffness"]):
            fact = "its spring resists the screw from rest, not a way along world axes and a turn"
            self._note(j, fact)

    def _note(self, j: int, fact: str) -> None:
        self.notes.leave(self._at("joint", self.joints[j]), f"joint {self.joints[j]!r}", fact)

    # -- equalities ----------------------------------------------------------------------------

    def _equality(self, k: int, found: Description) -> None:
        m = self.m
        name = m.eq(k).name or f"equality_{k}"
        place, data = self._at("equality", name), m.eq_data[k]
        if not m.eq_active0[k]:
            self.notes.add(place, f"equality {name!r}", "is not active and is not read")
            return
        kind = int(m.eq_type[k])
        if kind == JOINT:
            found.couplings.append(self._coupling(k, name, place))
            return
        if kind not in (CONNECT, WELD):
            raise place.error(f"equality {name!r}", "its kind is not read", "use connect or weld")
        if int(m.eq_objtype[k]) == SITE:
            ends = []
            for s in (int(m.eq_obj1id[k]), int(m.eq_obj2id[k])):
                T = _pose(m.site_pos[s], m.site_quat[s])
                ends.append((self.bodies[m.site_bodyid[s]], T))
        else:
            a, b = self.bodies[m.eq_obj1id[k]], self.bodies[m.eq_obj2id[k]]
            if kind == CONNECT:
                ends = [(a, _shift(data[:3])), (b, _shift(data[3:6]))]
            else:
                ends = [(a, _pose(data[3:6], data[6:10])), (b, _shift(data[:3]))]
        joint = Spherical() if kind == CONNECT else Fixed()
        (a, T_a), (b, T_b) = ends
        found.loops.append(LoopData(name, place, a, b, joint, T_a, T_b))

    def _coupling(self, k: int, name: str, place: Place) -> CouplingData:
        """y − y0 = Σ cₙ (x − x0)ⁿ, of which only the linear terms can be kept."""
        m = self.m
        c = [float(x) for x in m.eq_data[k, :5]]
        if any(c[2:]):
            fact = f"the coupling is a polynomial of degree {max(n for n in range(5) if c[n])}"
            raise place.error(f"equality {name!r}", fact, "make it linear: polycoef='a b 0 0 0'")
        y, x = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
        offset = c[0] + float(m.qpos0[m.jnt_qposadr[y]])
        terms = {self.edge_of[y]: 1.0}
        if x >= 0:
            offset -= c[1] * float(m.qpos0[m.jnt_qposadr[x]])
            terms[self.edge_of[x]] = terms.get(self.edge_of[x], 0.0) - c[1]
        return CouplingData(name, place, terms, offset)

    # -- states and actuators ------------------------------------------------------------------

    def _states(self, found: Description) -> None:
        """Where bodies start, if not at neutral, and the keyframes."""
        m = self.m
        found.states["start"] = self._configuration(m.qpos0, found)
        neutral = {
            name: tuple(map(float, edge.joint.neutral()))
            for name, edge in found.edges.items()
            if edge.joint is not None
        }
        if found.states["start"] == neutral:
            del found.states["start"]
        for k in range(m.nkey):
            name = m.key(k).name or f"key_{k}"
            found.states[name] = self._configuration(m.key_qpos[k], found)

    def _configuration(
        self, qpos: Sequence[float], found: Description
    ) -> dict[str, tuple[float, ...]]:
        """MuJoCo's qpos by joint, quaternions turned to (x, y, z, w)."""
        m, out = self.m, {}
        for name, edge in found.edges.items():
            own = [j for j, (title, _) in self.edge_of.items() if title == name]
            values: list[float] = []
            for j in own:
                kind, at = int(m.jnt_type[j]), int(m.jnt_qposadr[j])
                part = [float(x) for x in qpos[at : at + {FREE: 7, BALL: 4}.get(kind, 1)]]
                if kind in (FREE, BALL):
                    part = [*part[:-4], *part[-3:], part[-4]]
                values += part
            if edge.joint is not None:
                out[name] = tuple(values)
        return out

    def _actuator(self, k: int, found: Description) -> None:
        """A motor or servo on one joint coordinate; what has states or curves is left out."""
        m, mujoco = self.m, _mujoco(self.place)
        name = m.actuator(k).name or f"actuator_{k}"
        j = int(m.actuator_trnid[k, 0])
        place = self._at("actuator", name)
        group = int(m.actuator_group[k])
        if 0 <= group < 31 and int(m.opt.disableactuator) >> group & 1:
            self.notes.add(place, f"actuator {name!r}", f"is of group {group}, which is disabled")
            return
        joint, component = self.edge_of[j]
        bias_kind = int(m.actuator_biastype[k])
        plain = (
            int(m.actuator_dyntype[k]) == int(mujoco.mjtDyn.mjDYN_NONE)
            and int(m.actuator_gaintype[k]) == int(mujoco.mjtGain.mjGAIN_FIXED)
            and bias_kind in (int(mujoco.mjtBias.mjBIAS_NONE), int(mujoco.mjtBias.mjBIAS_AFFINE))
        )
        edge = found.edges[joint]
        if not plain or edge.joint is None or not edge.joint.flat:
            fact = "is not read: only motors and linear servos on hinges and slides are"
            self.notes.leave(place, f"actuator {name!r}", fact)
            return
        for word in ("armature", "damping", "dampingpoly", "delay"):
            table = getattr(m, f"actuator_{word}", None)
            if table is not None and table[k].any():
                self.notes.leave(place, f"actuator {name!r}", f"{word} is not read")
        inf = float("inf")
        ends: dict[str, tuple[float, float]] = {"control": (-inf, inf), "force": (-inf, inf)}
        if m.actuator_ctrllimited[k]:
            ends["control"] = (float(m.actuator_ctrlrange[k, 0]), float(m.actuator_ctrlrange[k, 1]))
        if m.actuator_forcelimited[k]:
            ends["force"] = (float(m.actuator_forcerange[k, 0]), float(m.actuator_forcerange[k, 1]))
        bias = tuple(float(x) for x in m.actuator_biasprm[k, :3]) if bias_kind else (0.0, 0.0, 0.0)
        found.actuators.append(
            ActuatorData(name, place, joint, {
                "component": component, "gear": float(m.actuator_gear[k, 0]),
                "gain": float(m.actuator_gainprm[k, 0]), "bias": bias,
                "control": ends["control"], "force": ends["force"],
            })
        )  # fmt: skip

    # -- shapes --------------------------------------------------------------------------------

    def _shape(self, k: int, found: Description) -> None:
        """A geom: seen, unless it is of group 3 or above (by custom, for collisions); touching,
        unless nothing can touch it.
        """
        m = self.m
        body, name = self.bodies[m.geom_bodyid[k]], m.geom(k).name
        place = self.lines.get(("geom", name)) or self._at("body", body)
        thing = f"geom {name!r}" if name else f"a geom of body {body!r}"
        T = _pose(m.geom_pos[k], m.geom_quat[k])
        if int(m.geom_type[k]) == Geom.MESH:
            i = int(m.geom_dataid[k])
            T = T @ _pose(m.mesh_pos[i], m.mesh_quat[i]).inverse()
        try:
            geometry = self._geometry(k)
        except ModelError as error:
            note_fault(self.notes, place, thing, error)
            return
        if geometry is None:
            self.notes.leave(place, thing, "its surface is not in a file and is left out")
            return
        paired = k in m.pair_geom1 or k in m.pair_geom2
        touches = bool(m.geom_contype[k] or m.geom_conaffinity[k] or paired)
        role: Role = "both" if touches else "visual"
        if m.geom_group[k] >= 3:
            role = "collision"
        self.shape_of[k] = len(found.shapes)
        found.shapes.append(ShapeData(body, place, geometry, T, role, self._color(k), name))

    def _geometry(self, k: int) -> Geometry | None:
        m = self.m
        x, y, z = (float(s) for s in m.geom_size[k])
        match int(m.geom_type[k]):
            case Geom.PLANE:
                return Plane()
            case Geom.FIELD:
                return self._heights(int(m.geom_dataid[k]))
            case Geom.SPHERE:
                return Sphere(x)
            case Geom.CAPSULE:
                return Capsule(x, 2.0 * y)
            case Geom.ELLIPSOID:
                return Ellipsoid((x, y, z))
            case Geom.CYLINDER:
                return Cylinder(x, 2.0 * y)
            case Geom.BOX:
                return Box((2.0 * x, 2.0 * y, 2.0 * z))
            case Geom.MESH:
                i = int(m.geom_dataid[k])
                mesh = self.safe.meshes.get(m.mesh(i).name)
                a, b, c = (float(s) for s in m.mesh_scale[i])
                return None if mesh is None else replace(mesh, scale=(a, b, c))
        return None

    def _heights(self, i: int) -> HeightField:
        m = self.m
        rows, columns, start = (int(x[i]) for x in (m.hfield_nrow, m.hfield_ncol, m.hfield_adr))
        heights = m.hfield_data[start : start + rows * columns].reshape(rows, columns)
        x, y, top, _ = (float(s) for s in m.hfield_size[i])
        return HeightField(heights * top, (2.0 * x, 2.0 * y))

    def _color(self, k: int) -> tuple[float, ...]:
        """The geom's own colour, or its material's, times that of its texture."""
        m = self.m
        rgba = [float(c) for c in m.geom_rgba[k]]
        i = int(m.geom_matid[k])
        if i >= 0 and rgba == [0.5, 0.5, 0.5, 1.0]:  # MuJoCo's default: nobody chose one
            tint = (*self.safe.tints.get(m.mat(i).name, (1.0, 1.0, 1.0)), 1.0)
            rgba = [float(c) * t for c, t in zip(m.mat_rgba[i], tint, strict=True)]
        return tuple(round(min(max(c, 0.0), 1.0), 6) for c in rgba)


def _lines(safe: SafeText) -> dict[tuple[str, str], Place]:
    """Where the named elements of the safe text come from, by kind and name."""
    found: dict[tuple[str, str], Place] = {}
    section = ""
    for text, place in zip(safe.lines, safe.places, strict=True):
        tag = re.match(r"</?(\w+)", text)
        if tag and tag.group(1) in ("default", "worldbody", "equality", "actuator"):
            section = tag.group(1)
        name = re.search(r" name=\"([^\"]*)\"", text)
        if tag and name and section != "default":
            kind = "joint" if tag.group(1) == "freejoint" else tag.group(1)
            kind = section if section in ("equality", "actuator") else kind
            found.setdefault((kind, name.group(1)), place)
    return found


def _pose(position: Iterable[float], wxyz: Iterable[float]) -> SE3:
    w, x, y, z = (float(c) for c in wxyz)
    return pose_of_quaternion(tuple(float(c) for c in position), (x, y, z, w))


def _shift(position: Iterable[float]) -> SE3:
    return SE3.translation(*(float(c) for c in position))
