"""Legs with closed loops, as walking machines have them: Pinocchio's kinematics, mass matrix and
bias forces, and a solution in the null space of the loops, which is unique whatever the rank.
"""

from pathlib import Path

import numpy as np
import pytest
from support.cases import first
from support.loop_models import stewart

import mozzi as mz

pin = pytest.importorskip("pinocchio")


# -- a leg, as URDF text and a file of loops --


def link(name: str, mass: float = 0.0, length: float = 0.0) -> str:
    """A rod that hangs down, or (without mass) a frame."""
    if not mass:
        return f'<link name="{name}"/>'
    J, thin = mass * length**2 / 12.0, 1e-3 * mass
    return f"""<link name="{name}"><inertial><origin xyz="0.01 0.005 {-length / 2}"/>
      <mass value="{mass}"/><inertia ixx="{J + thin}" iyy="{J + thin}" izz="{thin}"
      ixy="{0.1 * thin}" ixz="0" iyz="0"/></inertial></link>"""


def joint(name: str, parent: str, child: str, at: tuple, axis: str = "", turn: float = 0.0) -> str:
    """A hinge about an axis, or (without one) a fixed joint."""
    kind, xyz = ("revolute", {"x": "1 0 0", "y": "0 1 0"}[axis]) if axis else ("fixed", "0 0 1")
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
      <origin xyz="{at[0]} {at[1]} {at[2]}" rpy="0 {turn} 0"/><axis xyz="{xyz}"/>
      <limit effort="1" velocity="1" lower="-3" upper="3"/></joint>"""


def drive(s: str, carrier: str, end: str, at: tuple, pin_at: tuple, length: float) -> list[str]:
    """A motor on a carrier, a crank, and a rod that ends in a ball on another link."""
    return [
        link(f"{s}_crank", 0.3, 0.05), link(f"{s}_cross", 0.05, 0.02),
        link(f"{s}_rod", 0.2, length), link(f"{s}_tip"), link(f"{s}_ball"),
        joint(f"{s}_motor", carrier, f"{s}_crank", at, "y"),
        joint(f"{s}_bend", f"{s}_crank", f"{s}_cross", (-0.06, 0.0, 0.0), "y"),
        joint(f"{s}_swing", f"{s}_cross", f"{s}_rod", (0.0, 0.0, 0.0), "x"),
        joint(f"{s}_to_tip", f"{s}_rod", f"{s}_tip", (0.0, 0.0, -length)),
        joint(f"{s}_to_ball", end, f"{s}_ball", pin_at),
    ]  # fmt: skip


def leg(side: str, y: float) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Five degrees of freedom: hip (two), knee and ankle (two), which rods drive; and beside the
    knee three links in its plane whose last is welded to the shin, three rows too many.
    """
    s = side
    parts = [
        link(f"{s}_pelvis", 2.0, 0.1), link(f"{s}_thigh", 4.0, 0.4), link(f"{s}_shin", 2.5, 0.4),
        link(f"{s}_cross", 0.1, 0.02), link(f"{s}_foot", 1.0, 0.08),
        joint(f"{s}_hip_roll", "torso", f"{s}_pelvis", (0.0, y, 0.0), "x"),
        joint(f"{s}_hip_pitch", f"{s}_pelvis", f"{s}_thigh", (0.0, 0.0, -0.1), "y", -0.4),
        joint(f"{s}_knee", f"{s}_thigh", f"{s}_shin", (0.0, 0.0, -0.4), "y", 0.8),
        joint(f"{s}_ankle_pitch", f"{s}_shin", f"{s}_cross", (0.0, 0.0, -0.4), "y", -0.4),
        joint(f"{s}_ankle_roll", f"{s}_cross", f"{s}_foot", (0.0, 0.0, 0.0), "x"),
        *drive(f"{s}_knee_drive", f"{s}_thigh", f"{s}_shin", (0.02, 0.06, -0.1),
               (-0.07, 0.06, 0.02), 0.31),
        *drive(f"{s}_outer", f"{s}_shin", f"{s}_foot", (0.0, 0.07, -0.1), (-0.08, 0.05, 0.0), 0.29),
        *drive(f"{s}_inner", f"{s}_shin", f"{s}_foot", (0.0, -0.07, -0.15), (-0.08, -0.05, 0.0),
               0.24),
        link(f"{s}_guide_a", 0.4, 0.3), link(f"{s}_guide_b", 0.4, 0.3),
        link(f"{s}_guide_c", 0.1, 0.05), link(f"{s}_weld"),
        joint(f"{s}_guide_0", f"{s}_thigh", f"{s}_guide_a", (0.1, 0.0, -0.1), "y", -0.8),
        joint(f"{s}_guide_1", f"{s}_guide_a", f"{s}_guide_b", (0.0, 0.0, -0.3), "y", 1.6),
        joint(f"{s}_guide_2", f"{s}_guide_b", f"{s}_guide_c", (0.0, 0.0, -0.3), "y", 0.4),
        joint(f"{s}_to_weld", f"{s}_shin", f"{s}_weld", (0.05, 0.0, -0.1)),
    ]  # fmt: skip
    drives = [f"{s}_knee_drive", f"{s}_outer", f"{s}_inner"]
    loops = [(f"{d}_tip", f"{d}_ball", "3d") for d in drives]
    return parts, [*loops, (f"{s}_guide_c", f"{s}_weld", "6d")]


def walker(folder: Path, sides: dict[str, float]) -> tuple[Path, Path, list]:
    """A torso with legs: URDF, loops as YAML, and the loops as a list."""
    legs = [leg(side, y) for side, y in sides.items()]
    parts = [link("torso", 12.0, 0.5), *(x for own, _ in legs for x in own)]
    loops = [x for _, own in legs for x in own]
    urdf, yaml = folder / "walker.urdf", folder / "walker.yaml"
    urdf.write_text(f'<robot name="walker">{"".join(parts)}</robot>')
    pairs = ", ".join(f"[{a}, {b}]" for a, b, _ in loops)
    yaml.write_text(f"closed_loop: [{pairs}]\ntype: [{', '.join(kind for *_, kind in loops)}]\n")
    return urdf, yaml, loops


# -- the same by Pinocchio --


def accelerations(model, pairs: list, q, v, tau) -> tuple[np.ndarray, int]:
    """a, unique, and the rank. pairs: (frame, frame, whether orientations agree as well)."""
    data = model.createData()
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    h = pin.nonLinearEffects(model, data, q, v)
    pin.computeJointJacobians(model, data, q)
    pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
    pin.updateFramePlacements(model, data)
    world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    A, drift = [], []
    for a, b, whole in pairs:
        take = slice(0, 6) if whole else slice(0, 3)
        J_a, J_b = (pin.getFrameJacobian(model, data, k, world)[take] for k in (a, b))
        g_a, g_b = (
            pin.getFrameClassicalAcceleration(model, data, k, world).vector[take] for k in (a, b)
        )
        A.append(J_b - J_a)
        drift.append(g_b - g_a)
    A, drift = np.vstack(A), np.concatenate(drift)
    s, Vt = np.linalg.svd(A)[1:]
    rank = int((s > 1e-8 * s[0]).sum())
    N = Vt[rank:].T
    a = -np.linalg.pinv(A, rcond=1e-8) @ drift
    return a + N @ np.linalg.solve(N.T @ M @ N, N.T @ (tau - h - M @ a)), rank


def mapped(tree: mz.Model, other) -> tuple:
    """How q and v of a model with revolute joints, on a free base or not, go to Pinocchio's order,
    and accelerations back.
    """
    base = 0 if other.nq == other.nv else 1
    skip_q, skip_v = 7 * base, 6 * base
    names = [n for n in other.names if n not in ("universe", "root_joint")]
    order = [tree.v_slices[n].start - skip_v for n in names]
    lead = [3, 4, 5, 0, 1, 2][:skip_v]

    def to_q(q):
        return np.concatenate([q[:skip_q], q[skip_q:][order]])

    def to_v(v):
        return np.concatenate([v[lead], v[skip_v:][order]])

    def back(a):
        out = np.empty(len(a))
        out[lead] = a[:skip_v]
        out[skip_v + np.array(order)] = a[skip_v:]
        return out

    return to_q, to_v, back


LEGS = first(1, [("fixed", {"l": 0.1}), ("free", {"l": 0.1, "r": -0.1})])


@pytest.mark.parametrize("base, sides", LEGS)
def test_legs(tmp_path: Path, base: str, sides: dict[str, float]):
    """Fifteen rows a leg, of rank twelve; five degrees of freedom are left to it."""
    urdf, yaml, loops = walker(tmp_path, sides)
    model = mz.load(urdf, base, loops=yaml)
    legs, free = len(sides), base == "free"
    assert model.nv == 17 * legs + 6 * free
    assert len(mz.loop_residual(model, model.neutral())) == 15 * legs
    root = [pin.JointModelFreeFlyer()] if free else []
    other = pin.buildModelFromUrdf(str(urdf), *root)
    pairs = [(other.getFrameId(a), other.getFrameId(b), kind == "6d") for a, b, kind in loops]
    to_q, to_v, back = mapped(model, other)
    rng = np.random.default_rng(0)
    for _ in range(4):
        guess = mz.integrate(model, model.neutral(), 0.2 * rng.normal(size=model.nv))
        found = mz.assemble(model, guess, report=True).check()
        assert (found.rank, found.mobility) == (12 * legs, 5 * legs + 6 * free)
        q = found.q
        v = mz.consistent_velocities(model, q, rng.normal(size=model.nv))
        tau = rng.normal(size=model.nv)
        expected, rank = accelerations(other, pairs, to_q(q), to_v(v), to_v(tau))
        assert rank == found.rank
        expected = back(expected)
        a = mz.forward_dynamics(model, q, v, tau)
        assert np.abs(a - expected).max() < 1e-9 * np.abs(expected).max()
        f = mz.loop_forces(model, q, v, tau)
        left = mz.inverse_dynamics(model, q, v, a) - tau - mz.loop_jacobian(model, q).T @ f
        assert np.abs(left).max() < 1e-9 * (1.0 + np.abs(f).max())


# -- a platform on six legs --


def as_pinocchio(model: mz.Model) -> tuple:
    """The same tree of universal, prismatic and free joints, and the frame of each body: the number
    of its joint and its pose there. A universal joint is two hinges; the first moves no mass.
    """
    other, frames = pin.Model(), {-1: (0, pin.SE3.Identity())}
    joints = {mz.Prismatic: pin.JointModelPZ, mz.Free: pin.JointModelFreeFlyer}
    for k, body in enumerate(model):
        parent, placed = frames[body.parent]
        placed = placed * pin.SE3(np.asarray(body.joint.frame_parent.matrix()))
        kind, name = type(body.joint), body.joint_name
        if kind is mz.Universal:
            parent = other.addJoint(parent, pin.JointModelRZ(), placed, name + "_first")
            joint, placed = pin.JointModelRX(), pin.SE3.Identity()
        else:
            joint = joints[kind]()
        number = other.addJoint(parent, joint, placed, name)
        frames[k] = number, pin.SE3(np.asarray(body.joint.frame_child.matrix())).inverse()
        m, x, y, z, *J = map(float, body.inertia.flatten())
        c = np.array([x, y, z]) / m
        J = np.array([[J[0], J[1], J[2]], [J[1], J[3], J[4]], [J[2], J[4], J[5]]])
        J = J - m * (c @ c * np.eye(3) - np.outer(c, c))
        other.appendBodyToJoint(number, pin.Inertia(m, c, J), frames[k][1])
    return other, frames


@pytest.mark.parametrize("turn", [0.0, 0.5, -0.9])
def test_a_platform_on_six_legs(turn: float):
    """Balls at the platform, universal joints at the ground: rank 18, six degrees of freedom."""
    model, q = stewart(turn)
    other, frames = as_pinocchio(model)
    pairs = []
    for loop in model.loops:
        ends = []
        for k, P in ((loop.body_a, loop.placement_a), (loop.body_b, loop.placement_b)):
            joint, placed = frames[k]
            placed = placed * pin.SE3(np.asarray(P.matrix()))
            frame = pin.Frame(f"{loop.name}_{k}", joint, 0, placed, pin.FrameType.OP_FRAME)
            ends.append(other.addFrame(frame))
        pairs.append((*ends, False))
    rng = np.random.default_rng(1)
    for _ in range(3):
        aside = mz.integrate(model, q, 0.05 * rng.normal(size=model.nv))
        p = mz.assemble(model, aside)
        v = mz.consistent_velocities(model, p, rng.normal(size=model.nv))
        tau = rng.normal(size=model.nv)
        lead = [3, 4, 5, 0, 1, 2, *range(6, model.nv)]
        expected, rank = accelerations(other, pairs, p, v[lead], tau[lead])
        assert rank == 18
        a = mz.forward_dynamics(model, p, v, tau)
        assert np.abs(a[lead] - expected).max() < 1e-9 * np.abs(expected).max()
