"""Parameters of a model as arrays, on every target: the kernel at other numbers is the kernel of
the model that has them.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from support.mechanics import agree

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import chain, random_tree
from mozzi.model.parameters.named import nominal_numbers

MODEL = random_tree(4, seed=7, joints=[mz.Revolute, mz.Prismatic, mz.Spherical])
MODEL = MODEL.with_dynamics(MODEL.joint_names[0], damping=0.3)
B, J = MODEL.bodies, MODEL.joint_names
NAMES = [
    f"{B[0]}.mass", f"{B[3]}.com.x", f"{B[3]}.mass", f"{B[2]}.density", f"{J[0]}.damping",
    f"{J[1]}.armature", f"{J[1]}.placement.z", f"{J[2]}.rx", "gravity.x",
]  # fmt: skip
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def function(q, v, tau):
    return mz.forward_dynamics(MODEL, q, v, tau, resistance=True)


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    arrays = [MODEL.random_configuration(rng, 3), *rng.normal(size=(2, 3, MODEL.nv))]
    P = nominal_numbers(MODEL, NAMES) + 0.1 * rng.random((3, len(NAMES)))
    models = [MODEL.with_parameters(dict(zip(NAMES, p))) for p in P]
    expected = [
        mz.forward_dynamics(m, *(x[k] for x in arrays), resistance=True)
        for k, m in enumerate(models)
    ]
    return arrays, P, np.array(expected)


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_kernels_of_algorithms_and_of_functions(target, samples):
    arrays, P, expected = samples
    for f, options in ((mz.forward_dynamics, {"resistance": True}), (function, None)):
        kernel = mz.compile(f, MODEL, target, parameters=NAMES, options=options)
        agree(kernel(*arrays, P), expected, 1e-11)
    agree(kernel(*(x[0] for x in arrays), P[0]), expected[0], 1e-11)


def test_a_kernel_on_the_disk_is_of_these_names(samples):
    """Another order of names is another kernel; the model as it is is another one as well."""
    arrays, P, expected = samples
    for _ in range(2):
        kernel = mz.compile(
            mz.forward_dynamics, MODEL, parameters=NAMES[::-1], options={"resistance": True}
        )
        agree(kernel(*arrays, P[:, ::-1]), expected, 1e-11)


def test_jax_and_its_derivatives():
    jax = pytest.importorskip("jax")
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    try:
        arm, rng = chain(3, seed=2), np.random.default_rng(0)
        first, last = arm.bodies[0], arm.bodies[2]
        names = [f"{first}.mass", f"{last}.com.x", f"{arm.joint_names[1]}.placement.z"]
        arrays = [arm.random_configuration(rng), *rng.normal(size=(2, arm.nv))]
        p = nominal_numbers(arm, names) + 0.1
        kernel = mz.compile(mz.inverse_dynamics, arm, "jax", parameters=names)
        other = arm.with_parameters(dict(zip(names, p)))
        agree(kernel(*arrays, p), mz.inverse_dynamics(other, *arrays), 1e-11)
        found = jax.jacrev(lambda p: kernel(*arrays, p))(p)
        exact = mz.sensitivity(mz.inverse_dynamics, arm, names)(*arrays, parameters=p)
        agree(found, exact, 1e-9)
    finally:
        jax.config.update("jax_enable_x64", before)


def test_torch_and_its_derivatives(samples):
    torch = pytest.importorskip("torch")
    arrays, P, expected = samples
    kernel = mz.compile(
        mz.forward_dynamics, MODEL, "torch", parameters=NAMES, options={"resistance": True}
    )
    p = torch.tensor(P[0], requires_grad=True)
    out = kernel(*(torch.tensor(x[0]) for x in arrays), p)
    agree(out.detach().numpy(), expected[0], 1e-11)
    out.sum().backward()
    exact = mz.sensitivity(mz.forward_dynamics, MODEL, NAMES, resistance=True)
    agree(p.grad, exact(*(x[0] for x in arrays), parameters=P[0]).sum(0), 1e-9)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
def test_c(samples, tmp_path):
    arrays, P, expected = samples
    code = mz.compile(function, MODEL, "c", parameters=NAMES, name="moved")
    assert "parameters" in code.header
    (tmp_path / "moved.c").write_text(code.source)
    (tmp_path / "moved.h").write_text(code.header)
    words = [str(COMPILER), "-O1", "-shared", "-fPIC", "moved.c", "-lm", "-o", "moved.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    run = ctypes.CDLL(str(tmp_path / "moved.so")).moved
    run.restype = None
    out = np.empty(MODEL.nv)
    given = [np.ascontiguousarray(x[1]) for x in (*arrays, P)]
    run(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*given, out)))
    agree(out, expected[1], 1e-11)


def test_cuda_has_the_numbers_as_an_argument():
    """Its text is made from the same program; a test on a GPU is among the marked ones."""
    kernel = mz.compile(function, MODEL, "cuda", parameters=NAMES)
    assert "x3[" in kernel.source and kernel.program.inputs[3].name == "parameters"


@pytest.mark.gpu
def test_cuda(samples):
    arrays, P, expected = samples
    found = mz.compile(function, MODEL, "cuda", parameters=NAMES)(*arrays, P)
    agree(found.get(), expected, 1e-11)


def test_derivatives_of_the_dynamics_with_other_numbers(samples):
    arrays, P, _ = samples
    kernel = mz.compile(mz.forward_dynamics_derivatives, MODEL, parameters=NAMES)
    models = [MODEL.with_parameters(dict(zip(NAMES, p))) for p in P]
    for k, model in enumerate(models):
        exact = mz.forward_dynamics_derivatives(model, *(x[k] for x in arrays))
        for a, b in zip(kernel(*arrays, P), exact):
            agree(a[k], b, 1e-10)


def test_twenty_parameters_of_an_arm_cost_little():
    """At most half as many operations again as of the model with constants."""
    with pytest.warns(mz.LeftOutWarning):
        panda = mz.load("panda")
    bodies, joints = panda.bodies, panda.joint_names
    sets = [
        [f"{b}.{x}" for b in bodies[:5] for x in ("mass", "com.x", "com.y", "com.z")],
        [f"{b}.mass" for b in bodies[:7]] + [f"{j}.damping" for j in joints[:7]]
        + [f"{j}.placement.z" for j in joints[:6]],
    ]  # fmt: skip
    for f in (mz.inverse_dynamics, mz.forward_dynamics):
        plain = program_of(f, panda, options={"resistance": True}).flops
        for names in sets:
            varied = program_of(f, panda, options={"resistance": True}, parameters=names).flops
            assert len(names) == 20 and varied <= 1.5 * plain


ROLLED = [
    mz.inverse_dynamics, mz.forward_dynamics, mz.mass_matrix, mz.forward_kinematics,
    mz.forward_dynamics_derivatives,
]  # fmt: skip


@pytest.mark.parametrize("f", ROLLED, ids=lambda f: f.name)
def test_loops_over_bodies_read_the_numbers_that_vary(f):
    """A rolled program is the straight-line one; its tables are filled when it runs."""
    rng = np.random.default_rng(1)
    arrays = {"q": MODEL.random_configuration(rng, 3)}
    arrays |= {n: rng.normal(size=(3, MODEL.nv)) for n in ("v", "a", "tau")}
    given = [arrays[n] for n in f.required]
    P = nominal_numbers(MODEL, NAMES) + 0.1 * rng.random((3, len(NAMES)))
    assert program_of(f, MODEL, parameters=NAMES, rolled=True).rolled
    rolled, straight = (
        mz.compile(f, MODEL, parameters=NAMES, rolled=x)(*given, P) for x in (True, False)
    )
    for x, y in zip(*((z if isinstance(z, tuple) else (z,)) for z in (rolled, straight))):
        agree(x, y, 1e-12)


@pytest.mark.parametrize("name", ["gradient", "derivatives", "hessian"])
def test_derivatives_of_closures_read_them_in_programs_with_loops(name: str):
    """What is differentiated is straight-line code there, too: it was refused."""
    tree = chain(4, [mz.Revolute, mz.Universal], seed=3)
    q, v, tau, c = np.random.default_rng(0).normal(size=(4, tree.nv))
    at = mz.pose(tree, q, frame=tree.bodies[-1])
    model = tree.with_loop("tip", None, tree.bodies[-1], mz.Spherical(), at)
    names = [f"{tree.bodies[1]}.mass", f"{tree.joint_names[2]}.x"]
    P = nominal_numbers(model, names) + np.array([0.1, 0.0])
    f = getattr(mz, f"forward_dynamics_{name}")
    given = dict(zip(f.required, (q, v, tau, c)))
    found = mz.compile(f, model, "interpret", parameters=names, rolled=True)(*given.values(), P)
    own = mz.compile(f, model.with_parameters(dict(zip(names, P))), "interpret", rolled=False)
    for x, y in zip(found, own(*given.values()), strict=True):
        agree(x, y, 1e-8)


def test_a_long_chain_whose_numbers_vary():
    """Of 120 bodies, traced with loops by itself."""
    long = chain(120, seed=2)
    names = [f"{long.bodies[k]}.density" for k in (0, 50, 119)]
    kernel = mz.compile(mz.inverse_dynamics, long, parameters=names)
    q, v, a = np.random.default_rng(0).normal(size=(3, 120)) * 0.1
    wanted = mz.inverse_dynamics(long.with_parameters(dict(zip(names, (0.7, 1.3, 2.0)))), q, v, a)
    agree(kernel(q, v, a, np.array([0.7, 1.3, 2.0])), wanted, 1e-11)


def test_what_is_refused():
    other = MODEL.with_gravity((0, 0, 0))
    with pytest.raises(mz.ConfigurationError, match="also calls for model"):
        mz.compile(lambda q: mz.mass_matrix(other, q), MODEL, parameters=NAMES[:1])
    with pytest.raises(mz.ModelError, match="no body 'elbow'"):
        mz.compile(mz.mass_matrix, MODEL, parameters=["elbow.mass"])
