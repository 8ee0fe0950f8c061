"""Random mechanisms, written as URDF, SDF or MJCF: right files, of which something may then be made
wrong.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

__all__ = ["Part", "grown", "written"]


@dataclass
class Part:
    """An element: a tag, attributes, children, text."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Part] = field(default_factory=list)
    text: str = ""

    def add(self, tag: str, text: str = "", **attributes: object) -> Part:
        child = Part(tag, {k: str(v) for k, v in attributes.items()}, [], text)
        self.children.append(child)
        return child

    def walk(self) -> list[Part]:
        return [self, *(part for child in self.children for part in child.walk())]


def written(part: Part) -> str:
    """As XML."""
    attributes = "".join(f' {k}="{v}"' for k, v in part.attributes.items())
    inside = part.text + "".join(written(child) for child in part.children)
    return f"<{part.tag}{attributes}>{inside}</{part.tag}>\n"


def numbers(rng: random.Random, count: int, size: float = 1.0) -> str:
    return " ".join(f"{rng.uniform(-size, size):.6g}" for _ in range(count))


def axis(rng: random.Random) -> str:
    """Along x, y, z or anywhere."""
    if rng.random() < 0.5:
        return rng.choice(("1 0 0", "0 1 0", "0 0 1", "0 0 -1"))
    x = [rng.gauss(0.0, 1.0) for _ in range(3)]
    norm = math.sqrt(sum(c * c for c in x))
    return " ".join(f"{c / norm:.12g}" for c in x)


def moments(rng: random.Random) -> tuple[float, float, float]:
    """Of a body that can be."""
    a, b = rng.uniform(0.01, 1.0), rng.uniform(0.01, 1.0)
    return a, b, rng.uniform(abs(a - b), a + b)


def grown(kind: str, rng: random.Random) -> Part:
    """A right file of this format."""
    return {"urdf": _urdf, "sdf": _sdf, "mjcf": _mjcf}[kind](rng)


def _urdf(rng: random.Random) -> Part:
    root = Part("robot", {"name": "r"})
    count = rng.randint(1, 7)
    for k in range(count):
        link = root.add("link", name=f"l{k}")
        inertial = link.add("inertial")
        if rng.random() < 0.8:
            inertial.add("origin", xyz=numbers(rng, 3), rpy=numbers(rng, 3, 3.0))
        inertial.add("mass", value=f"{rng.uniform(0.1, 5.0):.6g}")
        a, b, c = moments(rng)
        inertial.add("inertia", ixx=a, iyy=b, izz=c, ixy=0, ixz=0, iyz=0)
        if rng.random() < 0.3:
            shape = link.add(rng.choice(("visual", "collision"))).add("geometry")
            rng.choice((
                lambda s=shape: s.add("box", size="0.1 0.2 0.3"),
                lambda s=shape: s.add("sphere", radius=0.1),
                lambda s=shape: s.add("cylinder", radius=0.1, length=0.2),
            ))()  # fmt: skip
    for k in range(1, count):
        types = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
        kind = rng.choices(types, (4, 3, 3, 2, 1, 1))[0]
        joint = root.add("joint", name=f"j{k}", type=kind)
        joint.add("parent", link=f"l{rng.randrange(k)}")
        joint.add("child", link=f"l{k}")
        joint.add("origin", xyz=numbers(rng, 3), rpy=numbers(rng, 3, 3.0))
        if kind != "floating":
            joint.add("axis", xyz=axis(rng))
        if kind in ("revolute", "prismatic"):
            joint.add("limit", lower=-1, upper=1, effort=10, velocity=2)
            if rng.random() < 0.4:
                joint.add("dynamics", damping=0.1, friction=0.2)
    return root


def _sdf(rng: random.Random) -> Part:
    root = Part("sdf", {"version": rng.choice(("1.7", "1.8", "1.9"))})
    model = root.add("model", name="m")
    count = rng.randint(1, 6)
    for k in range(count):
        link = model.add("link", name=f"l{k}")
        if k and rng.random() < 0.5:
            link.add("pose", numbers(rng, 6), relative_to=f"l{rng.randrange(k)}")
        else:
            link.add("pose", numbers(rng, 6))
        inertial = link.add("inertial")
        inertial.add("mass", f"{rng.uniform(0.1, 5.0):.6g}")
        if rng.random() < 0.5:
            inertial.add("pose", numbers(rng, 6))
        a, b, c = moments(rng)
        tensor = inertial.add("inertia")
        for word, value in (("ixx", a), ("iyy", b), ("izz", c)):
            tensor.add(word, f"{value:.6g}")
    for k in range(1, count):
        kind = rng.choice(("revolute", "continuous", "prismatic", "fixed", "ball"))
        joint = model.add("joint", name=f"j{k}", type=kind)
        joint.add("parent", f"l{rng.randrange(k)}")
        joint.add("child", f"l{k}")
        if rng.random() < 0.3:
            joint.add("pose", numbers(rng, 6))
        if kind in ("revolute", "continuous", "prismatic"):
            about = joint.add("axis")
            about.add("xyz", axis(rng))
            if rng.random() < 0.5:
                about.add("dynamics").add("damping", "0.1")
    return root


def _mjcf(rng: random.Random) -> Part:
    root = Part("mujoco", {"model": "m"})
    root.add("compiler", angle=rng.choice(("radian", "degree")), autolimits="true")
    world = root.add("worldbody")
    bodies: list[Part] = []
    for k in range(rng.randint(1, 6)):
        parent = rng.choice([world, *bodies])
        body = parent.add("body", name=f"b{k}", pos=numbers(rng, 3))
        if rng.random() < 0.5:
            body.attributes["euler"] = numbers(rng, 3, 1.0)
        if parent is world and rng.random() < 0.3:
            body.add("freejoint", name=f"f{k}")
        else:
            for i in range(rng.choice((0, 1, 1, 1, 2))):
                kind = rng.choice(("hinge", "hinge", "slide", "ball") if i == 0 else ("hinge",))
                joint = body.add("joint", name=f"j{k}_{i}", type=kind, pos=numbers(rng, 3, 0.2))
                if kind != "ball":
                    joint.attributes["axis"] = axis(rng)
                if rng.random() < 0.3:
                    joint.attributes["armature"] = "0.05"
                if kind == "ball":
                    break
        body.add("geom", type="box", size="0.1 0.2 0.3", pos=numbers(rng, 3, 0.3))
        bodies.append(body)
    return root
