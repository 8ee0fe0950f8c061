"""Parametric mechanisms: chains, trees and the small classics, the same for the same seed
everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from mozzi.errors import ModelError, known
from mozzi.lie import SE3, Inertia, Rotation, Vec3
from mozzi.model.builder import Builder
from mozzi.model.frames import VectorLike
from mozzi.model.joints.axes import (
    Cylindrical,
    Prismatic,
    Revolute,
    Screw,
    Translation2,
    Translation3,
    Universal,
)
from mozzi.model.joints.composite import Composite
from mozzi.model.joints.joint import Joint
from mozzi.model.joints.planar import Planar, PlanarScrew, Schoenflies
from mozzi.model.joints.spatial import Free, Spherical
from mozzi.model.model import GRAVITY, Model
from mozzi.model.shapes import Box, Capsule, Sphere

__all__ = [
    "JOINTS",
    "acrobot",
    "cart_pole",
    "chain",
    "delta_robot",
    "double_pendulum",
    "four_bar",
    "leaning",
    "n_four_bar",
    "pendulum",
    "quadruped",
    "random_inertia",
    "random_joint",
    "random_pose",
    "random_tree",
    "rcm_arm",
    "rcm_arm_data",
    "tree",
]

JOINTS: dict[str, Callable[[np.random.Generator], Joint]] = {
    "Revolute": lambda rng: Revolute(random_axis(rng)),
    "Prismatic": lambda rng: Prismatic(random_axis(rng)),
    "Screw": lambda rng: Screw(random_axis(rng), pitch=rng.uniform(-0.5, 0.5)),
    "Cylindrical": lambda rng: Cylindrical(random_axis(rng)),
    "Universal": lambda rng: Universal(),
    "Planar": lambda rng: Planar(random_axis(rng)),
    "Spherical": lambda rng: Spherical(),
    "Free": lambda rng: Free(),
    "Translation2": lambda rng: Translation2(random_axis(rng)),
    "Translation3": lambda rng: Translation3(),
    "PlanarScrew": lambda rng: PlanarScrew(random_axis(rng), pitch=rng.uniform(-0.5, 0.5)),
    "Schoenflies": lambda rng: Schoenflies(random_axis(rng)),
    "Composite": lambda rng: Composite(
        Revolute(random_axis(rng)).between(None, random_pose(rng, 0.3)),
        Prismatic(random_axis(rng)),
        Revolute(random_axis(rng)).between(random_pose(rng, 0.3), None),
    ),
}
"""How a random joint of each moving type is drawn."""


def random_axis(rng: np.random.Generator) -> tuple[float, ...]:
    """A direction, uniform on the sphere."""
    x, y, z = rng.normal(size=3).tolist()
    norm = math.sqrt(x * x + y * y + z * z)
    return (x / norm, y / norm, z / norm)


def random_pose(rng: np.random.Generator, size: float = 1.0) -> SE3:
    """A pose with a uniform rotation and a position in a cube of half edge ``size``."""
    x, y, z, w = rng.normal(size=4).tolist()
    s = 2.0 / (x * x + y * y + z * z + w * w)
    R = Rotation(
        1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w),
        s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w),
        s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y),
    )  # fmt: skip
    return SE3(R, Vec3(*rng.uniform(-size, size, 3).tolist()))


def random_inertia(rng: np.random.Generator, mass: float = 1.0, size: float = 0.2) -> Inertia:
    """The inertia of a body of about this mass and size: a cloud of positive masses, so it is
    physical."""
    cx, cy, cz = rng.uniform(-size, size, 3).tolist()
    m = hx = hy = hz = xx = xy = xz = yy = yz = zz = 0.0
    points, weights = (
        rng.normal(scale=size, size=(5, 3)).tolist(),
        rng.uniform(0.1, 0.3, 5).tolist(),
    )
    for (x, y, z), w in zip(points, weights, strict=True):  # in this order on every machine
        x, y, z, w = x + cx, y + cy, z + cz, w * mass
        m, hx, hy, hz = m + w, hx + w * x, hy + w * y, hz + w * z
        xx, yy, zz = xx + w * (y * y + z * z), yy + w * (x * x + z * z), zz + w * (x * x + y * y)
        xy, xz, yz = xy - w * x * y, xz - w * x * z, yz - w * y * z
    return Inertia.from_parameters((m, hx, hy, hz, xx, xy, xz, yy, yz, zz))


JointChoice: TypeAlias = Joint | type[Joint] | str
"""A joint (taken as it is), a class or the name of one (drawn)."""
JointChoices: TypeAlias = JointChoice | Sequence[JointChoice] | None
"""One of them, several to draw from, or all (None)."""


def random_joint(rng: np.random.Generator, kind: str) -> Joint:
    """A joint of a type, with a random axis, pitch and frames."""
    if kind not in JOINTS:
        raise ModelError(f"no joint type {kind!r} to draw; choose from {known(kind, JOINTS)}")
    return JOINTS[kind](rng)


def _joint(joint: JointChoice, rng: np.random.Generator) -> Joint:
    """A joint from a joint (taken as it is), a class or the name of one (drawn)."""
    if isinstance(joint, Joint):
        return joint
    return random_joint(rng, joint if isinstance(joint, str) else joint.__name__)


def _names(joints: JointChoices) -> list[JointChoice]:
    if joints is None:
        return list(JOINTS)
    return [joints] if isinstance(joints, (str, type, Joint)) else list(joints)


def _grow(
    name: str,
    parents: Sequence[int],
    joints: JointChoices,
    rng: np.random.Generator,
    gravity: VectorLike,
) -> Model:
    kinds = _names(joints)
    builder = Builder(name, gravity)
    for i, parent in enumerate(parents):
        kind = kinds[int(rng.integers(len(kinds)))] if len(kinds) > 1 else kinds[0]
        joint = _joint(kind, rng).between(random_pose(rng, 0.5), random_pose(rng, 0.2))
        builder.add(
            f"body_{i}",
            None if parent < 0 else f"body_{parent}",
            joint,
            random_inertia(rng),
            joint_name=f"joint_{i}",
        )
    return builder.build()


def chain(
    n: int, joint: JointChoices = Revolute, seed: int = 0, gravity: VectorLike = GRAVITY
) -> Model:
    """n bodies in a row. ``joint`` is a joint, a joint class, a name, or several to draw from."""
    rng = np.random.default_rng(seed)
    return _grow(f"chain_{n}_{seed}", range(-1, n - 1), joint, rng, gravity)


def tree(
    n: int,
    branching: int = 2,
    joint: JointChoices = Revolute,
    seed: int = 0,
    gravity: VectorLike = GRAVITY,
) -> Model:
    """n bodies, each of which carries ``branching`` others as long as there are some (1: a
    chain)."""
    if branching < 1:
        raise ModelError(f"tree: branching {branching}; give 1 or more")
    rng = np.random.default_rng(seed)
    parents = [-1 if i == 0 else (i - 1) // branching for i in range(n)]
    return _grow(f"tree_{n}_{branching}_{seed}", parents, joint, rng, gravity)


def random_tree(
    n: int, seed: int = 0, joints: JointChoices = None, gravity: VectorLike = GRAVITY
) -> Model:
    """n bodies on random parents (the world included), with joints drawn from ``joints`` (None:
    all types)."""
    rng = np.random.default_rng(seed)
    parents = [int(rng.integers(-1, i)) for i in range(n)]
    return _grow(f"random_tree_{n}_{seed}", parents, joints, rng, gravity)


# -- classics ------------------------------------------------------------------------------------


def _rod(mass: float, length: float, axis: tuple[float, float, float]) -> Inertia:
    """A thin rod from the origin along an axis, with a trace of thickness."""
    a = np.array(axis)
    J = mass * length**2 / 12.0 * (np.eye(3) - np.outer(a, a)) + 1e-6 * mass * np.eye(3)
    return Inertia(mass, Vec3(*(float(x) for x in 0.5 * length * a)), J)


def pendulum(n: int = 1, length: float = 1.0, mass: float = 1.0) -> Model:
    """n equal thin rods that swing about y in the x–z plane; at q = 0 they hang straight down."""
    builder = Builder(f"pendulum_{n}")
    rod = _rod(mass, length, (0.0, 0.0, -1.0))
    for i in range(n):
        placement = (0.0, 0.0, -length if i else 0.0)
        parent = f"rod_{i - 1}" if i else None
        builder.add(
            f"rod_{i}", parent, Revolute("y"), rod, placement=placement, joint_name=f"joint_{i}"
        )
    return builder.frame("tip", f"rod_{n - 1}", (0.0, 0.0, -length)).build()


def double_pendulum(
    lengths: tuple[float, float] = (1.0, 1.0), masses: tuple[float, float] = (1.0, 1.0)
) -> Model:
    """Two point masses on massless rods, about y in the x–z plane, hanging down at q = 0."""
    builder = Builder("double_pendulum")
    for i, (length, mass) in enumerate(zip(lengths, masses, strict=True)):
        point = Inertia(mass, Vec3(0.0, 0.0, -length), np.zeros((3, 3)))
        placement = (0.0, 0.0, -lengths[0] if i else 0.0)
        parent = "upper" if i else None
        name = "lower" if i else "upper"
        builder.add(
            name, parent, Revolute("y"), point, placement=placement, joint_name=f"joint_{i}"
        )
    return builder.frame("tip", "lower", (0.0, 0.0, -lengths[1])).build()


def cart_pole(cart: float = 1.0, pole: float = 0.1, length: float = 0.5) -> Model:
    """A cart on a rail along x and a point mass on a massless pole, upright at q = 0."""
    block = Inertia(cart, Vec3.zero(), 0.1 * cart * np.eye(3))
    point = Inertia(pole, Vec3(0.0, 0.0, length), np.zeros((3, 3)))
    builder = Builder("cart_pole").add("cart", None, Prismatic("x"), block, joint_name="slider")
    builder.add("pole", "cart", Revolute("y"), point, joint_name="hinge")
    return builder.frame("tip", "pole", (0.0, 0.0, length)).build()


def acrobot(length: float = 1.0, mass: float = 1.0) -> Model:
    """Two thin rods of which only the second joint has a motor: the first has the effort limit
    0."""
    model = pendulum(2, length, mass).with_dynamics("joint_0", effort=0.0)
    return model.with_name("acrobot")


def four_bar(
    crank: float = 1.0,
    coupler: float = 2.0,
    rocker: float = 1.8,
    base: float = 2.2,
    mass: float = 1.0,
) -> Model:
    """Three rods in the x–z plane and the ground, closed by a loop: crank, coupler and rocker.

    The tree is the crank on the origin with the coupler behind it, and the rocker on the ground at
    (base, 0, 0). All rods point along x at q = 0, so that the loop is open there: `assemble`
    closes it.
    """
    links = sorted((crank, coupler, rocker, base))
    if links[3] >= sum(links[:3]):
        raise ModelError(
            f"four_bar: the longest rod {links[3]} exceeds the sum of the others; shorten it"
        )
    x = (1.0, 0.0, 0.0)
    builder = Builder("four_bar")
    builder.add("crank", None, Revolute("y"), _rod(mass, crank, x))
    builder.add("coupler", "crank", Revolute("y"), _rod(mass, coupler, x), placement=(crank, 0, 0))
    builder.add("rocker", None, Revolute("y"), _rod(mass, rocker, x), placement=(base, 0, 0))
    return builder.loop(
        "closure", "coupler", "rocker", Revolute("y"), (coupler, 0, 0), (rocker, 0, 0)
    ).build()


def n_four_bar(n: int, length: float = 1.0) -> Model:
    """n + 1 upright cranks on the ground, and n bars between neighbours (IFToMM benchmark A02).

    In the x–z plane; crank k on (k, 0, 0) points upward at q = 0, and its bar to the right. At q =
    (θ, −θ, θ, −θ, …, θ) all cranks lean by θ to the right and all bars are level: `leaning`.
    """
    up = SE3.from_matrix(np.array([[0.0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1]]).T)
    b, rod = Builder("n_four_bar"), _slender(length)
    for k in range(n + 1):
        at = SE3.translation(k * length, 0.0, 0.0)
        upward = Revolute("y").between(at, up.inverse())
        b.add(f"crank_{k}", None, upward, rod, joint_name=f"crank_{k}")
        if k < n:
            tip = SE3.translation(length, 0.0, 0.0) @ up.inverse()
            b.add(f"bar_{k}", f"crank_{k}", Revolute("y").between(tip), rod)
    ends = (length, 0, 0), (length, 0, 0)
    for k in range(n):
        b.loop(f"four_bar_{k}", f"bar_{k}", f"crank_{k + 1}", Revolute("y"), *ends)
    return b.build()


def _slender(length: float, mass: float = 1.0) -> Inertia:
    """A slender rod along x."""
    J = mass * length**2 / 12.0
    return Inertia(mass, (length / 2, 0.0, 0.0), np.diag([0.01 * J, J, J]))


def leaning(model: Model, angle: float) -> np.ndarray:
    """The configuration of `n_four_bar` whose cranks lean by an angle."""
    return np.array([angle if "crank" in name else -angle for name in model.joint_names])


def delta_robot(
    base: float = 0.2,
    arm: float = 0.3,
    rod: float = 0.8,
    platform: float = 0.06,
    width: float = 0.1,
    masses: tuple[float, float, float] = (0.6, 0.1, 0.4),
    redundant: bool = True,
) -> Model:
    """Clavel's robot: three arms, and behind each a parallelogram of two rods that holds a
    platform level.

    The motors are at the radius ``base`` and 120° apart; rods meet the platform at the radius
    ``platform``, ``width`` apart, in universal joints at both ends. That is six equations more than
    the platform can break, 24 of rank 18, and three degrees of freedom: its position. With
    ``redundant=False`` the lower ends are spherical, and 18 equations do the same. ``masses`` are
    those of an arm, a rod and the platform. The tree is the arms with their rods, and the platform
    on a free joint; at q = 0 the arms are level, and the loops are closed.
    """
    reach = base + arm - platform
    if not abs(reach) < rod:
        raise ModelError(f"delta_robot: rods of {rod} do not reach over {reach}; lengthen them")
    height = math.sqrt(rod**2 - reach**2)
    x = (1.0, 0.0, 0.0)
    m_arm, m_rod, m_platform = masses
    c, s = -reach / rod, height / rod
    down = Rotation(c, 0.0, s, 0.0, 1.0, 0.0, -s, 0.0, c)  # x along the rod
    disk = Inertia(m_platform, Vec3.zero(), m_platform * platform**2 * np.diag([0.25, 0.25, 0.5]))
    builder = Builder("delta_robot")
    for k, angle in enumerate((0.0, 2.0 * math.pi / 3.0, 4.0 * math.pi / 3.0)):
        turn = SE3(Rotation.about(Vec3(0.0, 0.0, 1.0), angle), Vec3.zero())
        shoulder = turn @ SE3.translation(base, 0.0, 0.0)
        builder.add(
            f"arm_{k}", None, Revolute("y"), _rod(m_arm, arm, x), placement=shoulder,
            joint_name=f"motor_{k}",
        )  # fmt: skip
        for side, y in (("left", 0.5 * width), ("right", -0.5 * width)):
            elbow, wrist = SE3(down, Vec3(arm, y, 0.0)), SE3(down, Vec3(platform, y, 0.0))
            name, lower = f"rod_{k}_{side}", Universal("y", "z") if redundant else Spherical()
            inertia = _rod(m_rod, rod, x)
            builder.add(name, f"arm_{k}", Universal("y", "z"), inertia, placement=elbow)
            builder.loop(f"wrist_{k}_{side}", "platform", name, lower, turn @ wrist, (rod, 0, 0))
    return builder.add("platform", None, Free(), disk, placement=(0.0, 0.0, -height)).build()


def rcm_arm(
    d: tuple[float, float, float, float] = (0.5, 0.4, 0.9, 1.1),
    h4: float = 0.3,
    x: tuple[float, float, float, float, float] = (0.2, 0.1, 0.6, 0.8, 1.0),
    z: tuple[float, float, float, float, float] = (0.1, 0.2, 0.15, 0.4, 0.3),
    seed: int = 0,
) -> Model:
    """The surgical arm with a remote centre of motion, from its spatial screws.  Müller,
    Kinematics, 2.5.

    ``d`` are d₂ to d₅, and (x, z) the positions of the body frames in the reference configuration
    as the paper counts them. The paper gives no inertias; these are random.
    """
    rng = np.random.default_rng(seed)
    references, screws = rcm_arm_data(d, h4, x, z)
    builder = Builder("rcm_arm")
    for i, (A, Y) in enumerate(zip(references, screws, strict=True), 1):
        parent = f"body_{i - 1}" if i > 1 else None
        inertia = random_inertia(rng)
        builder.add(
            f"body_{i}",
            parent,
            None,
            inertia,
            reference=A,
            screw=Y,
            rep="spatial",
            joint_name=f"joint_{i}",
        )
    return builder.build()


def rcm_arm_data(
    d: Sequence[float], h4: float, x: Sequence[float], z: Sequence[float]
) -> tuple[list[SE3], list[tuple[float, ...]]]:
    """The reference poses A₁ … A₅ and spatial screws Y₁ … Y₅ of the arm.  Müller, Kinematics,
    2.5."""
    d2, d3, d4, d5 = d
    r = 1.0 / math.sqrt(2.0)
    turned = Rotation(r, 0.0, -r, 0.0, 1.0, 0.0, r, 0.0, r)
    upright = Rotation.identity()
    positions = [(-x[0], z[0]), (-x[1], -z[1]), (x[2], z[2]), (x[3], z[3]), (x[4], z[4])]
    references = [
        SE3(turned if i == 3 else upright, Vec3(px, 0.0, pz))
        for i, (px, pz) in enumerate(positions)
    ]
    screws = [
        (0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 1.0, 0.0, d2, 0.0),
        (0.0, 0.0, 1.0, 0.0, -d3, 0.0),
        (-r, 0.0, r, 0.0, -(d4 + h4) * r, 0.0),
        (0.0, 0.0, 1.0, 0.0, -d5, 0.0),
    ]
    return references, screws


def quadruped(friction: float = 0.7, restitution: float = 0.0) -> Model:
    """A robot of four legs with three hinges each (2.9 kg, a leg 0.32 m), its feet on the ground.

    ``model.configurations["standing"]`` is how it stands.
    """
    builder = Builder("quadruped")
    builder.add("trunk", None, Free(), Inertia(1.6, (0, 0, 0), np.diag([0.004, 0.014, 0.016])))
    builder.shape("trunk", Box((0.42, 0.16, 0.08)), role="visual")
    standing: dict[str, Sequence[float]] = {"trunk": (0.0, 0.0, 0.24, 0.0, 0.0, 0.0, 1.0)}
    for name, x, y in (("FL", 1, 1), ("FR", 1, -1), ("HL", -1, 1), ("HR", -1, -1)):
        hip = Revolute("x").between((0.2 * x, 0.09 * y, 0.0), None)
        thigh = Revolute("y").between((0.0, 0.04 * y, 0.0), None)
        shin = Revolute("y").between((0.0, 0.0, -0.16), None)
        upper = Inertia(0.14, (0, 0, -0.08), np.diag([4e-4, 4e-4, 4e-5]))
        lower = Inertia(0.04, (0, 0, -0.08), np.diag([1e-4, 1e-4, 1e-5]))
        builder.add(f"{name}_hip", "trunk", hip, Inertia(0.14, (0, 0, 0), 1e-4 * np.eye(3)))
        builder.add(f"{name}_thigh", f"{name}_hip", thigh, upper)
        builder.add(f"{name}_shin", f"{name}_thigh", shin, lower)
        for part, radius in (("thigh", 0.014), ("shin", 0.01)):
            rod = SE3.translation(0.0, 0.0, -0.08)
            builder.shape(f"{name}_{part}", Capsule(radius, 0.16), rod, role="visual")
        foot = SE3.translation(0.0, 0.0, -0.16)
        builder.shape(f"{name}_shin", Sphere(0.016), foot, name=f"{name}_foot")
        standing |= {f"{name}_thigh": (0.8 * x,), f"{name}_shin": (-1.6 * x,)}
    builder.configuration("standing", standing)
    feet = [f"{name}_foot" for name in ("FL", "FR", "HL", "HR")]
    return builder.build().with_ground(feet, friction=friction, restitution=restitution)
