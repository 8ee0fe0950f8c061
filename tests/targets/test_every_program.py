"""What can be called on arrays is a program for every target, or is refused with the reason.

The table is made of the public names: every algorithm, with its options, on a tree, on a closed
mechanism and on one with contacts. A new one is enrolled by its name.
"""

from __future__ import annotations

import ctypes
import inspect
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from algorithms.recursion.test_recorded_programs import ALGORITHMS, mechanism, options

import mozzi as mz
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.algorithms.calls.no_program import NO_PROGRAM
from mozzi.model import Model

SHARED = ("inverse_dynamics", "inverse_dynamics_derivatives", "inverse_dynamics_wrench_derivatives")
#: Further options, on the closed mechanism.
MORE: list[tuple[str, dict[str, Any]]] = [
    *((n, {"actuated": ("crank",)}) for n in SHARED),
    *((n, {"actuated": ("crank", "rocker"), "minimize": "loop_force"}) for n in SHARED),
    *((n, {"actuated": ("crank", "rocker"), "minimize": "torque"}) for n in SHARED),
    ("inverse_dynamics", {"actuated": ("crank",), "tau": True}),
    ("inverse_dynamics_derivatives", {"actuated": ("crank",), "wrenches": True, "tau": True}),
    ("hybrid_dynamics", {"prescribed": ("crank", "rocker"), "minimize": "torque"}),
    ("hybrid_dynamics", {"prescribed": ("crank",), "minimize": "loop_force"}),
    ("hybrid_dynamics_derivatives", {"prescribed": ("crank",), "wrenches": True}),
    ("inverse_dynamics_derivatives",
     {"actuated": ("crank",), "wrenches": True, "wrenches_rep": "spatial"}),
    ("hybrid_dynamics_derivatives",
     {"prescribed": ("crank",), "wrenches": True, "wrenches_rep": "hybrid"}),
    ("hybrid_dynamics_directional",
     {"prescribed": ("crank",), "dq": True, "dwrenches": True, "wrenches_rep": "mixed"}),
    ("inverse_dynamics_regressor", {"actuated": ("crank",), "v_ref": True}),
    ("passive_inverse_dynamics", {"actuated": ("crank", "rocker"), "minimize": "loop_force"}),
    ("joint_wrenches", {"multipliers": True}),
    ("forward_dynamics", {"resistance": True}),
]  # fmt: skip
CASES = [
    *((n, "arm", None) for n in ALGORITHMS),
    *((n, "closed", None) for n in ALGORITHMS),
    *((n, "closed", o) for n, o in MORE),
    *((n, "contact", None) for n in ("contact_gaps", "contact_frames", "contact_inverse_dynamics",
                                     "impact")),
]  # fmt: skip
#: What is refused, and the words that say why.
REFUSED = {
    **{(n, "closed"): (mz.LoopError, "does not honour loops")
       for n in ALGORITHMS if getattr(mz, n).loops == "refuse"},
    ("joint_wrenches", "closed"): (mz.LoopError, "give multipliers="),
}  # fmt: skip


@cache
def model_of(where: str) -> Model:
    if where != "contact":
        return mechanism(where)
    body = mz.Inertia(1.0, (0.1, 0.0, 0.0), np.diag([0.2, 0.3, 0.4]))
    b = mz.Builder("ball").add("ball", None, mz.Free(), body)
    return b.shape("ball", mz.Sphere(0.5), name="round").build().with_ground()


@cache
def state(where: str) -> dict[str, np.ndarray]:
    """A motion that keeps loops closed, by the names of its arrays."""
    model, rng = model_of(where), np.random.default_rng(5)
    q = model.random_configuration(rng)
    v, tau = rng.normal(size=(2, model.nv))
    if where == "closed":
        q = mz.assemble(model, [0.3, 0.5, 1.5, -0.6])
        v = mz.consistent_velocities(model, q, v)
    if where == "contact":
        q[2] = 0.4
    a = mz.forward_dynamics(model, q, v, tau)
    known = {"q": q, "q0": q, "q1": q, "v": v, "a": a, "tau": tau}
    if where != "closed":
        return known
    ref = mz.consistent_velocities(model, q, rng.normal(size=model.nv))
    rate = mz.consistent_accelerations(model, q, v, rng.normal(size=model.nv), v_ref=ref)
    return known | {"v_ref": ref, "a_ref": rate}


def arrays(function: Algorithm, where: str, chosen: dict[str, Any]) -> dict[str, np.ndarray]:
    from mozzi.algorithms.calls.arguments import shape_of

    model, rng = model_of(where), np.random.default_rng(6)
    sizes = function.defaults | {n: x for n, x in chosen.items() if n not in function.arrays}
    taken = [n for n in function.arrays if n in function.required or chosen.get(n) is True]
    out = {}
    for n in taken:
        new = rng.normal(size=shape_of(n, model, sizes))
        out[n] = state(where).get(n, np.abs(new) if n in ("weights", "damping") else new)
    if where == "closed":  # directions that keep the loops closed, and forces of passive joints
        A = mz.loop_jacobian(model, out["q"]) if "q" in out else np.zeros((1, model.nv))
        for n in {"dq", "dv", "da"} & set(out):
            out[n] = out[n] - np.linalg.pinv(A) @ A @ out[n]
    return out


@cache
def called(name: str, where: str, k: int) -> tuple[Any, dict[str, Any], dict[str, np.ndarray]]:
    """What a call on arrays gives, the options of `compile`, and the arrays."""
    function, model = getattr(mz, name), model_of(where)
    chosen = options(function, model) if CASES[k][2] is None else dict(CASES[k][2])
    given = arrays(function, where, chosen)
    others = {n: x for n, x in chosen.items() if n not in function.arrays}
    return function(model, **given, **others), chosen, given


def compare(found: Any, wanted: Any, name: str, tolerance: float = 1e-8) -> None:
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for x, y in pairs:
        y = np.asarray(y)
        assert np.all(np.isfinite(y)), name
        np.testing.assert_allclose(
            np.asarray(x).reshape(y.shape), y, atol=tolerance * (1 + np.abs(y).max(initial=0)),
            rtol=0, err_msg=name,
        )  # fmt: skip


def each(target: Any, every: bool = True):
    """(name, kernel, what arrays give, arrays) of all that compiles; checks refusals. Not every
    one: what answers for loops and contacts.
    """
    for k, (name, where, more) in enumerate(CASES):
        function, model = getattr(mz, name), model_of(where)
        if not every and (where == "arm" or (more is None and function.loops == "tree")):
            continue
        if more is None and (name, where) in REFUSED:
            error, words = REFUSED[name, where]
            with pytest.raises(error, match=words):
                mz.compile(function, model, target, options=options(function, model))
            with pytest.raises(error, match=words):  # on arrays, too: it is no matter of programs
                called(name, where, k)
            continue
        wanted, chosen, given = called(name, where, k)
        yield name, mz.compile(function, model, target, options=chosen), wanted, given


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_kernels_agree_with_calls(every: bool):
    for name, kernel, wanted, given in each("cpu", every):
        compare(kernel(*given.values()), wanted, name)


@pytest.mark.slow
def test_the_interpreter_agrees_with_calls():
    for name, kernel, wanted, given in each("interpret"):
        compare(kernel(*given.values()), wanted, name)


@pytest.mark.slow
def test_jax_agrees_with_calls():
    jax = pytest.importorskip("jax", reason="JAX is not installed, so its target was not tested")
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    try:
        for name, kernel, wanted, given in each("jax"):
            compare(kernel(*given.values()), wanted, name)
    finally:
        jax.config.update("jax_enable_x64", before)


@pytest.mark.slow
def test_c_agrees_with_calls(tmp_path: Path):
    """One library of all sources; each function under a name of its own."""
    cc = shutil.which("cc") or shutil.which("gcc")
    if cc is None:
        pytest.skip("no C compiler on this machine")
    for k, (name, code, wanted, given) in enumerate(each("c")):
        path = tmp_path / f"f{k}.so"
        (tmp_path / f"{code.name}.h").write_text(code.header)
        (tmp_path / "f.c").write_text(code.source)
        words = [cc, "-O0", "-shared", "-fPIC", "f.c", "-lm", "-o", str(path)]
        subprocess.run(words, cwd=tmp_path, check=True)
        results = [np.full(x.shape, np.nan) for x in code.program.outputs]
        at = [np.ascontiguousarray(x, dtype=float) for x in given.values()]
        run = getattr(ctypes.CDLL(str(path)), code.name)
        run(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*at, *results)))
        compare(tuple(results) if isinstance(wanted, tuple) else results[0], wanted, name)


@pytest.mark.slow
def test_cuda_source_is_generated():
    """There is no GPU here: the source is, of every program."""
    from mozzi.compiler import program_of
    from mozzi.targets.cuda.source import CudaSource

    for name, where, more in CASES:
        function, model = getattr(mz, name), model_of(where)
        if more is None and (name, where) in REFUSED:
            continue
        chosen = options(function, model) if more is None else more
        program = program_of(function, model, options=chosen)
        assert "__global__" in CudaSource(program, "float64").text


def test_sensitivities_are_programs():
    """Also of what actuators bear; their kernels take the parameters behind the other arrays."""
    x, model = state("closed"), model_of("closed")
    for function, given, how in (
        (mz.gravity_forces, ("q",), {}),
        (mz.inverse_dynamics, ("q", "v", "a"), {"actuated": ("crank",)}),
    ):
        changes = mz.sensitivity(function, model, ["rocker.mass", "crank.com.x"], **how)
        arguments = [x[n] for n in given]
        for target in ("cpu", "interpret"):
            kernel = mz.compile(changes, model, target)
            compare(kernel(*arguments, changes.nominal), changes(*arguments), function.name)
    with pytest.raises(mz.ConfigurationError, match=r"of 'closed'; give that model, not 'arm'"):
        mz.compile(changes, model_of("arm"))


def test_other_functions_say_why_they_are_no_programs():
    """Every public function is an algorithm, is in the table of reasons, or takes arrays only."""
    functions = {
        n for n in mz.__all__ if inspect.isfunction(getattr(mz, n)) and n not in ALGORITHMS
    }
    of_arrays = {
        "array", "clip", "from_log_cholesky", "maximum", "minimum", "newton_euler",
        "newton_euler_in_frame", "sign", "solve",
        "to_log_cholesky", "where",
    }  # fmt: skip
    assert set(NO_PROGRAM) <= functions - of_arrays
    for name in functions - of_arrays - set(NO_PROGRAM):
        with pytest.raises(mz.ConfigurationError, match="is no algorithm, and takes the model"):
            mz.compile(getattr(mz, name), model_of("arm"))
    for name, (reason, _) in NO_PROGRAM.items():
        with pytest.raises(mz.ConfigurationError) as told:
            mz.compile(getattr(mz, name), model_of("arm"))
        assert f"{name} is no program: {reason}" in str(told.value)


def test_what_is_compiled_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch):
    """`compile` and the call share the kernel, whether defaults are said or not."""
    from mozzi.targets.cpu.assembler import Assembler

    model, made = mechanism("arm").with_gravity((0.0, 0.0, -1.23)), []
    real = Assembler.code
    monkeypatch.setattr(Assembler, "code", lambda self: made.append(1) or real(self))
    monkeypatch.setattr("mozzi.targets.disk_cache.lookup", lambda *a: None)
    kernel = mz.compile(mz.forward_dynamics, model)
    x = np.zeros(model.nv)
    assert np.array_equal(mz.forward_dynamics(model, x, x, x), kernel(x, x, x))
    assert mz.compile(mz.forward_dynamics, model, options={"resistance": False}) is kernel
    assert len(made) == 1


def test_torques_that_are_no_answer_are_no_numbers():
    """A program cannot raise: where too few actuators are, or the motion opens the loops."""
    x, model = state("closed"), model_of("closed")
    how = {"actuated": ("crank",)}
    kernel = mz.compile(mz.inverse_dynamics, model, options=how)
    opening = x["a"] + np.array([0.0, 0.1, 0.0, 0.0])
    assert np.isfinite(kernel(x["q"], x["v"], x["a"])).all()
    assert not np.isfinite(kernel(x["q"], x["v"], opening)[0])
    none = mz.compile(mz.inverse_dynamics, model.without_loop("pin"), options=how)
    assert not np.isfinite(none(x["q"], x["v"], x["a"])[0])
