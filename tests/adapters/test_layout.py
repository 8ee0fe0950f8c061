"""States and dynamics as simulators write them: against MuJoCo and Pinocchio, and by laws."""

import warnings
import xml.etree.ElementTree as ET

import jax
import mujoco
import numpy as np
import pinocchio as pin
import pytest
from support.cases import first

import mozzi as mz
from mozzi.loaders import names

NAMES = ("mujoco", "newton", "drake", "isaaclab2", "pinocchio", "isaaclab", "maniskill")
FEW = ("panda", "kinova", "solo12")
MORE = ("ur5", "z1", "a1", "go2", "xarm7", "talos_reduced", "g1", "bolt", "iris")
ROBOTS = [*FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE)]


@pytest.fixture(autouse=True, scope="module")
def double():
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def loaded(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mz.load(names._examples()[name], base="free", couplings=False)


def in_mujoco(name):
    """The robot as MuJoCo reads it, without pictures, on a free base."""
    root = ET.parse(names._examples()[name]).getroot()
    for link in root.iter("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    for old in root.findall("mujoco"):
        root.remove(old)
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", fusestatic="false")
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    spec.worldbody.first_body().add_freejoint(name="root_joint")
    return spec.compile()


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), *rng.standard_normal((2, model.nv))


@pytest.mark.parametrize("name", ROBOTS)
def test_dynamics_on_the_states_of_mujoco(name):
    model, peer = loaded(name), in_mujoco(name)
    data = mujoco.MjData(peer)
    kind = mujoco.mjtObj.mjOBJ_JOINT
    joints = [mujoco.mj_id2name(peer, kind, k) for k in range(peer.njnt)]
    layout = mz.layout("mujoco", model, joints)
    q, v, a = state(model)
    data.qpos[:], data.qvel[:] = qpos, qvel = layout.from_mozzi(q, v)
    for found, wanted in zip(layout.to_mozzi(qpos, qvel), (q, v), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-14)
    data.qacc[:] = a
    mujoco.mj_inverse(peer, data)
    passive = data.qfrc_passive + data.qfrc_constraint
    found = layout.compile(mz.inverse_dynamics)(qpos, qvel, a)
    armature = peer.dof_armature * a
    scale = np.abs(found).max()
    np.testing.assert_allclose(found + armature - passive, data.qfrc_inverse, atol=1e-12 * scale)
    mujoco.mj_forward(peer, data)
    bias = layout.compile(mz.bias_forces)(qpos, qvel)
    np.testing.assert_allclose(bias, data.qfrc_bias, atol=1e-12 * np.abs(bias).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_dynamics_on_the_states_of_pinocchio(name):
    """With continuous joints, whose angles Pinocchio writes as cosine and sine."""
    model = loaded(name)
    peer = pin.buildModelFromUrdf(str(names._examples()[name]), pin.JointModelFreeFlyer())
    data = peer.createData()
    endless = [n for n, j in zip(peer.names, peer.joints, strict=True) if "RUB" in j.shortname()]
    layout = mz.layout("pinocchio", model, list(peer.names)[1:], continuous=endless)
    assert (layout.nq, layout.nv) == (peer.nq, peer.nv) and (name != "kinova" or endless)
    q, v, a = state(model)
    x, y = layout.from_mozzi(q, v)
    back = layout.to_mozzi(x, y)
    np.testing.assert_allclose(np.sin(0.5 * mz.difference(model, q, back[0])), 0.0, atol=1e-12)
    wanted = pin.rnea(peer, data, x, y, a)
    found = layout.compile(mz.inverse_dynamics)(x, y, a)
    np.testing.assert_allclose(found, wanted, atol=1e-12 * np.abs(wanted).max())
    if name in ("panda", "kinova"):
        pin.computeRNEADerivatives(peer, data, x, y, a)
        by_q, by_v, by_a = layout.compile(mz.inverse_dynamics_derivatives)(x, y, a)
        np.testing.assert_allclose(by_q, data.dtau_dq, atol=1e-11)
        np.testing.assert_allclose(by_v, data.dtau_dv, atol=1e-12)
        M = np.triu(data.M) + np.triu(data.M, 1).T
        np.testing.assert_allclose(by_a, M, atol=1e-12)


@pytest.fixture(scope="module")
def floating():
    """A base with its centre of mass off the origin, and an oblique hinge."""
    body = mz.Inertia(1.2, (0.1, 0.2, -0.3), np.diag([0.3, 0.4, 0.5]))
    build = mz.Builder("floating").add("base", None, mz.Free(), body, joint_name="root")
    return build.add("link", "base", mz.Revolute([0.3, 0.5, 0.8]), body, joint_name="hinge").build()


@pytest.mark.parametrize("name", first(4, NAMES))
def test_laws_of_every_layout(floating, name):
    """Velocities are rates of what they are said to be; power is the same; dynamics inverts."""
    model, (q, v, a), h = floating, state(floating, 1), 1e-5
    tau = np.random.default_rng(2).standard_normal(model.nv)
    layout = mz.layout(name, model, ["hinge", "root"] if name == "newton" else None)
    c = layout.convention
    x, y = layout.from_mozzi(q, v)
    ahead, behind = (mz.integrate(model, q, s * h * v) for s in (1.0, -1.0))
    first = layout.blocks[[b[0].nv for b in layout.blocks].index(6)]
    base = y[first[4]]
    lin, ang = (base[:3], base[3:]) if c.linear_first else (base[3:], base[:3])
    T = [mz.pose(model, s, "base") for s in (behind, q, ahead)]
    point = np.array([0.1, 0.2, -0.3, 1.0]) if c.point == "com" else np.array([0.0, 0.0, 0.0, 1.0])
    moved = (T[2] @ point - T[0] @ point)[:3] / (2.0 * h)
    turned = (T[2] - T[0])[:3, :3] @ T[1][:3, :3].T / (2.0 * h)
    turned = np.array([turned[2, 1], turned[0, 2], turned[1, 0]])
    R = T[1][:3, :3]
    np.testing.assert_allclose(lin, moved if c.linear == "world" else R.T @ moved, atol=1e-8)
    np.testing.assert_allclose(ang, turned if c.angular == "world" else R.T @ turned, atol=1e-8)
    # accelerations are rates of velocities along the motion
    moving = lambda s: mz.integrate(model, q, s * (v + 0.5 * s * a)), lambda s: v + s * a
    path = [layout.from_mozzi(*(f(s) for f in moving))[1] for s in (h, -h)]
    rate = (path[0] - path[1]) / (2.0 * h)
    forces = layout.compile(mz.inverse_dynamics)(x, y, rate)
    own = mz.inverse_dynamics(model, q, v, a)
    assert forces @ y == pytest.approx(own @ v, rel=1e-6)
    np.testing.assert_allclose(layout.compile(mz.forward_dynamics)(x, y, forces), rate, atol=1e-7)
    M, C = layout.compile(mz.mass_matrix)(x), layout.compile(mz.coriolis_matrix)(x, y)
    g = layout.compile(mz.gravity_forces)(x)
    np.testing.assert_allclose(M @ rate + C @ y + g, forces, atol=1e-6)
    np.testing.assert_allclose(C @ y + g, layout.compile(mz.bias_forces)(x, y), atol=1e-12)
    np.testing.assert_allclose(M @ layout.compile(mz.mass_matrix_inverse)(x), np.eye(7), atol=1e-12)
    twist = mz.jacobian(model, q, "link", "body") @ v
    J = layout.compile(mz.jacobian, frame="link", rep="body")
    np.testing.assert_allclose(J(x) @ y, twist, atol=1e-12)
    J_rate = layout.compile(mz.jacobian_rate, frame="link", rep="body")(x, y)
    along = (J(layout.from_mozzi(ahead, v)[0]) - J(layout.from_mozzi(behind, v)[0])) / (2.0 * h)
    np.testing.assert_allclose(J_rate, along, atol=1e-8)
    assert layout.compile(mz.kinetic_energy)(x, y) == pytest.approx(0.5 * y @ M @ y)
    # derivatives, along the velocities of the layout, with y and the forces held
    for function, last in ((mz.inverse_dynamics, rate), (mz.forward_dynamics, tau)):
        f = layout.compile(function)
        found = layout.compile(getattr(mz, f"{function.__name__}_derivatives"))(x, y, last)
        for k, d in enumerate(np.eye(model.nv)):
            step = layout.to_mozzi(x, h * d)[1]
            there = [layout.from_mozzi(mz.integrate(model, q, s * step), v)[0] for s in (1, -1)]
            by_q = (f(there[0], y, last) - f(there[1], y, last)) / (2.0 * h)
            by_v = (f(x, y + h * d, last) - f(x, y - h * d, last)) / (2.0 * h)
            by_last = (f(x, y, last + h * d) - f(x, y, last - h * d)) / (2.0 * h)
            for matrix, column in zip(found, (by_q, by_v, by_last), strict=True):
                np.testing.assert_allclose(matrix[:, k], column, atol=2e-6)


def on_target(target, array):
    layout = mz.layout("mujoco", loaded("panda"))
    q, v, a = state(layout.model)
    x, y = layout.from_mozzi(q, v)
    batch = [array(np.stack([z, z])) for z in (x, y, a)]
    found = layout.compile(mz.inverse_dynamics, target)(*batch)
    np.testing.assert_allclose(np.asarray(found)[1], layout.compile(mz.inverse_dynamics)(x, y, a),
                               atol=1e-11)  # fmt: skip
    back = layout.converter("to_mozzi", target)(*batch[:2])
    np.testing.assert_allclose(np.asarray(back[0])[0], q, atol=1e-14)
    return layout, batch, found


def test_on_jax():
    import jax.numpy as jnp

    layout, batch, _ = on_target("jax", jnp.asarray)
    energy = layout.compile(mz.kinetic_energy, "jax")
    slope = jax.grad(lambda y: energy(batch[0], y).sum())(batch[1])
    momentum = np.asarray(layout.compile(mz.mass_matrix)(np.asarray(batch[0]))) @ np.asarray(
        batch[1]
    )[..., None]
    np.testing.assert_allclose(slope, momentum[..., 0], atol=1e-11)


def test_on_torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    layout, batch, _ = on_target("torch", torch.as_tensor)
    y = batch[1].requires_grad_()
    layout.compile(mz.kinetic_energy, "torch")(batch[0], y).sum().backward()
    M = layout.compile(mz.mass_matrix)(batch[0].numpy())
    np.testing.assert_allclose(y.grad, np.einsum("bij,bj->bi", M, y.detach()), atol=1e-11)


def test_what_does_not_fit_is_refused(floating):
    with pytest.raises(mz.ConfigurationError, match="no layout 'mujoko'; there are 'mujoco'"):
        mz.layout("mujoko", floating)
    with pytest.raises(mz.ConfigurationError, match="no joint 'hing' in 'floating'; has 'hinge'"):
        mz.layout("mujoco", floating, ["root", "hing"])
    with pytest.raises(mz.ConfigurationError, match=r"each once; missing are \['hinge'\]"):
        mz.layout("mujoco", floating, ["root"])
    body = mz.Inertia(1.0, (0.0, 0.0, 0.1), np.eye(3))
    ball = mz.Builder("ball").add("a", None, mz.Spherical(), body, joint_name="ball").build()
    with pytest.raises(mz.ConfigurationError, match="'ball' is spherical, for which no convention"):
        mz.layout("newton", ball)
    assert mz.layout("mujoco", ball).from_mozzi(ball.neutral(), np.zeros(3))[0][0] == 1.0
    with pytest.raises(mz.ConfigurationError, match="no conversion of 'simulate'; there are"):
        mz.layout("mujoco", floating).compile(mz.simulate)
