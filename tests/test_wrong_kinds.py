"""A thing of a wrong kind for every argument of every public entry point.

What comes back is an answer, or an error that somebody wrote: one of the library's, or a TypeError
that the library raises, never one that a line of the library ran into.
"""

import inspect
import linecache
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

import mozzi as mz
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.algorithms.calls.arguments import shape_of
from mozzi.model.generate import chain, four_bar

PACKAGE = str(Path(mz.__file__).parent)
ARM, LOOP = chain(3).with_name("arm"), four_bar()
TIP, Z, EYE = ARM.bodies[-1], np.zeros(3), mz.SE3.identity()
BALL = (
    mz.Builder("ball").add("b", None, mz.Free(), mz.Inertia(1.0, Z, np.eye(3)))
    .shape("b", mz.Sphere(0.1), name="s").shape(None, mz.Plane(), name="floor").build()
)  # fmt: skip
URDF = """<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">
<parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
DRIVEN = mz.Builder("d").add("a", None, mz.Revolute(), np.eye(6)).actuator("m", "a").build()
STILL = mz.gravity_forces(ARM, Z)
RUN = mz.simulate(ARM, Z, Z, 0.02, 0.01)
FORM = mz.closed_form(ARM, Z, Z)
LAYOUT = mz.layout("mujoco", ARM)
PAIR = mz.ClosedSystem({"a": (ARM, [TIP]), "b": (ARM, [TIP])})
TWO = {"a": Z, "b": Z}
WRONG = {
    "thing": object(), "word": "no such word", "None": None, "shape": np.zeros((2, 9)),
    "complex": np.full(3, 1.0j), "NaN": float("nan"), "list": [None], "dict": {"no such key": 1},
    "number": -3.5, "class": int,
}  # fmt: skip
Good = tuple[Callable[..., object], Mapping[str, object]]


def algorithms(model: mz.Model = ARM) -> Iterator[tuple[str, Good]]:
    """Every algorithm, with an arm that stands still."""
    TIP = model.bodies[-1]
    q = {"q": mz.assemble(model, np.full(model.nq, 0.3))} if model.closures else {}
    options = {"source": "body", "target": "spatial", "frames": (TIP,)}
    for name in sorted(mz.__all__):
        function = getattr(mz, name)
        if not isinstance(function, Algorithm) or (q and function.loops == "refuse"):
            continue
        needs = [k for k, d in function.defaults.items() if d is inspect.Parameter.empty]
        sizes = {"order": function.defaults.get("order", 0), "frames": (TIP,)}
        taken = *function.required, *(["multipliers"] if q and name == "joint_wrenches" else [])
        arrays = {k: np.zeros(shape_of(k, model, sizes)) for k in taken}
        good = {"model": model, **arrays, **(q if "q" in arrays else {})}
        yield name, (function, good | {k: options.get(k, TIP) for k in needs})


def functions(folder: Path) -> Iterator[tuple[str, Good]]:
    """Functions that are no algorithms."""
    m, state = {"model": ARM}, {"model": ARM, "q": Z, "v": Z}
    start = {"model": ARM, "q0": Z, "v0": Z}
    yield "actuate", (mz.actuate, {"model": DRIVEN, "controls": [0.0]})
    yield "allowed_deviations", (mz.allowed_deviations, state)
    yield "array", (mz.array, {"values": Z})
    yield "assemble", (mz.assemble, {"model": LOOP, "q": Z})
    yield "base_parameters", (mz.base_parameters, m)
    yield "clip", (mz.clip, {"x": 1.0, "low": 0.0, "high": 1.0})
    yield "closed_form", (mz.closed_form, state)
    yield "compile", (mz.compile, {"function": mz.kinetic_energy, **m})
    yield "consistent_accelerations", (mz.consistent_accelerations, {**state, "a": Z})
    yield "consistent_velocities", (mz.consistent_velocities, state)
    yield "contact_points", (mz.contact_points, m)
    yield "contact_wrenches", (mz.contact_wrenches, {
        "model": BALL, "q": BALL.neutral(), "forces": np.zeros((0, 3))})
    yield "explain", (mz.explain, {**m, "function": mz.kinetic_energy})
    yield "from_log_cholesky", (mz.from_log_cholesky, {"theta": np.zeros(10)})
    yield "grid", (mz.grid, {"columns": {"x": [1.0]}})
    yield "inverse_kinematics", (mz.inverse_kinematics, {
        **m, "targets": {TIP: EYE}, "restarts": 0, "iterations": 1})
    yield "layout", (mz.layout, {"name": "mujoco", **m})
    (folder / "robot.urdf").write_text(URDF, encoding="utf-8")
    yield "load", (mz.load, {"path": folder / "robot.urdf", "physical": False})
    yield "loop_rows", (mz.loop_rows, m)
    yield "loop_wrenches", (mz.loop_wrenches, {
        "model": LOOP, "q": Z, "multipliers": np.zeros(5)})
    yield "maximum", (mz.maximum, {"a": 1.0, "b": 1.0})
    yield "minimum", (mz.minimum, {"a": 1.0, "b": 1.0})
    yield "modes", (mz.modes, {"model": ARM, "q": Z, "v": Z, "tau": STILL})
    body = {"inertia": mz.Inertia(1.0, Z, np.eye(3)), "twist": np.zeros(6),
            "twist_rate": np.zeros(6)}  # fmt: skip
    yield "newton_euler", (mz.newton_euler, body)
    yield "newton_euler_in_frame", (mz.newton_euler_in_frame, {
        **body, "frame_twist": np.zeros(6), "pose": EYE})
    yield "operators", (mz.operators, state)
    yield "projected_forward_dynamics", (mz.projected_forward_dynamics, {**state, "tau": Z})
    (folder / "log.csv").write_text("t,q\n0,0\n1,0\n", encoding="utf-8")
    yield "read_log", (mz.read_log, {"path": folder / "log.csv"})
    yield "rollout", (mz.rollout, {**start, "tau": np.zeros((2, 3)), "dt": 0.01})
    rows = {"q": np.zeros((3, 3)), "v": np.zeros((3, 3))}
    yield "rollout_gradient", (mz.rollout_gradient, {
        **m, **rows, "tau": np.zeros((2, 3)), "dt": 0.01, "dq": np.zeros((3, 3)),
        "dv": np.zeros((3, 3))})
    yield "sensitivity", (mz.sensitivity, {
        "function": mz.kinetic_energy, **m, "parameters": f"{TIP}.mass"})
    yield "set_checks", (mz.set_checks, {"on": True})
    yield "set_num_threads", (mz.set_num_threads, {"number": None})
    yield "sign", (mz.sign, {"x": 1.0})
    yield "simulate", (mz.simulate, {**start, "duration": 0.02, "dt": 0.01})
    yield "solve", (mz.solve, {"A": np.eye(3), "b": Z})
    yield "state_space", (mz.state_space, {"model": ARM, "q": Z, "library": "scipy"})
    yield "stepper", (mz.stepper, m)
    yield "sweep", (mz.sweep, {"run": lambda chunk: {"y": chunk["x"]}, "parameters": {"x": [1.0]}})
    yield "system_jacobian_factors", (mz.system_jacobian_factors, {"model": ARM, "q": Z})
    yield "to_log_cholesky", (mz.to_log_cholesky, {
        "parameters": mz.Inertia(1.0, Z, np.eye(3))})
    yield "where", (mz.where, {"condition": True, "a": 1.0, "b": 2.0})


def made() -> Iterator[tuple[str, Good]]:
    """Classes of which callers make things."""
    yield "Inertia", (mz.Inertia, {"mass": 1.0, "com": Z, "inertia_at_com": np.eye(3)})
    for name in ("from_array", "from_matrix", "from_pseudo"):
        given = np.eye(4) if name == "from_pseudo" else np.eye(6)
        key = "array" if name == "from_array" else "matrix"
        yield f"Inertia.{name}", (getattr(mz.Inertia, name), {key: given})
    yield "Inertia.from_parameters", (mz.Inertia.from_parameters, {"parameters": np.ones(10)})
    yield "SE3.from_matrix", (mz.SE3.from_matrix, {"matrix": np.eye(4)})
    yield "SE3.from_array", (mz.SE3.from_array, {"array": np.eye(4)})
    yield "Rotation.from_array", (mz.Rotation.from_array, {"array": np.eye(3)})
    for six in (mz.Twist, mz.Wrench, mz.Momentum):
        yield f"{six.__name__}.from_array", (six.from_array, {"array": np.zeros(6)})
        yield f"{six.__name__}.screw", (six.screw, {"axis": (0, 0, 1)})
    yield "Screws.from_array", (mz.Screws.from_array, {"array": np.zeros((6, 2))})
    for name in ("Revolute", "Prismatic", "Cylindrical", "Planar", "Universal", "Schoenflies",
                 "Translation2", "Translation3", "Spherical", "Free", "Fixed"):  # fmt: skip
        yield name, (getattr(mz, name), {})
    for name in ("Screw", "PlanarScrew"):
        yield name, (getattr(mz, name), {"pitch": 0.1})
    yield "Joint.between", (mz.Revolute().between, {})
    yield "Joint.with_frames", (mz.Revolute().with_frames, {})
    yield "Sphere", (mz.Sphere, {"radius": 1.0})
    yield "Disc", (mz.Disc, {"radius": 1.0})
    yield "Torus", (mz.Torus, {"radius": 1.0, "tube": 0.1})
    yield "Box", (mz.Box, {"size": (1, 1, 1)})
    yield "Ellipsoid", (mz.Ellipsoid, {"radii": (1, 1, 1)})
    yield "Cylinder", (mz.Cylinder, {"radius": 1.0, "length": 1.0})
    yield "Capsule", (mz.Capsule, {"radius": 1.0, "length": 1.0})
    yield "Mesh", (mz.Mesh, {"path": "a.stl"})
    yield "HeightField", (mz.HeightField, {"heights": np.zeros((2, 2)), "extent": (1, 1)})
    for name in ("Uniform", "LogUniform"):
        yield name, (getattr(mz, name), {"low": 1.0, "high": 2.0})
    yield "Normal", (mz.Normal, {"mean": 0.0, "deviation": 1.0})
    yield "Choice", (mz.Choice, {"values": (1.0,)})
    yield "Law", (mz.Law, {"function": lambda t, q, v: 0.0 * v})
    start = {"model": ARM, "q0": Z, "v0": Z, "duration": 0.02, "dt": 0.01}
    yield "Simulation", (mz.Simulation, start)
    yield "Rollout", (mz.Rollout, {"model": ARM, "duration": 0.02, "dt": 0.01})
    yield "Evaluation", (mz.Evaluation, {"function": mz.kinetic_energy, "model": ARM})
    yield "ClosedSystem", (mz.ClosedSystem, {"systems": {"a": (ARM, [TIP])}})


def of_builders() -> Iterator[tuple[str, Good]]:
    """What a builder takes."""
    def fresh(method: str) -> Callable[..., object]:
        builder = mz.Builder("b").add("a", None, mz.Revolute()).add("c", "a", mz.Revolute())
        return getattr(builder, method)

    def door(method: str) -> Callable[..., object]:
        def call(**given: object) -> object:
            result = fresh(method)(**given)
            return result.build(physical=False) if isinstance(result, mz.Builder) else result

        call.__signature__ = inspect.signature(fresh(method))  # type: ignore[attr-defined]
        return call

    pair = {"name": "x", "body_a": "a", "body_b": "c"}
    yield "Builder", (mz.Builder, {})
    yield "Builder.of", (mz.Builder.of, {"model": ARM})
    for method, good in {
        "actuator": {"name": "m", "joint": "a"},
        "add": {"name": "d", "parent": "a", "joint": mz.Revolute()},
        "build": {"physical": False},
        "configuration": {"name": "s", "joints": {"a": 0.0}},
        "coupling": {"name": "x", "terms": {"a": 1.0, "c": -1.0}},
        "distance": pair,
        "frame": {"name": "f", "body": "a"},
        "loop": {**pair, "joint": mz.Revolute()},
        "replace_couplings": {"couplings": ()},
        "replace_joint": {"body": "a", "joint": mz.Revolute()},
        "shape": {"body": "a", "geometry": mz.Sphere(1.0)},
        "spring": {**pair, "stiffness": 1.0},
    }.items():
        yield f"Builder.{method}", (door(method), dict(good))


def of_models(folder: Path) -> Iterator[tuple[str, Good]]:
    """What models, motions, layouts and systems take."""
    body, joint = ARM.bodies[0], ARM.joint_names[0]
    pair = {"name": "x", "body_a": body, "body_b": TIP}
    shapes = {"name": "x", "shape_a": "s", "shape_b": "floor"}
    for method, good in {
        "body": {"body": body}, "children": {}, "index": {"body": body}, "subtree": {"body": body},
        "check_configuration": {"q": Z}, "close_to": {"other": ARM}, "frame": {"name": TIP},
        "joint": {"joint": joint}, "joint_index": {"joint": joint},
        "lock": {"joints": joint}, "normalize": {"q": Z}, "random_configuration": {},
        "singular_joints": {}, "with_body": {"name": "x", "parent": body, "joint": mz.Revolute()},
        "with_cone": pair, "with_coupling": {"name": "x", "terms": {joint: 1.0}},
        "with_distance": pair, "with_dynamics": {"joint": joint},
        "with_frame": {"name": "f", "body": body}, "with_gravity": {"gravity": Z},
        "with_inertia": {"body": body, "inertia": np.ones(10)},
        "with_loop": {**pair, "joint": mz.Revolute()}, "with_name": {"name": "x"},
        "with_parameters": {"numbers": {f"{body}.mass": 1.0}}, "with_rope": pair,
        "with_shape": {"body": body, "geometry": mz.Sphere(1.0)}, "with_spring": pair,
        "with_velocity_rows": {"name": "x", "function": lambda model, q: np.zeros((1, 3))},
        "without_body": {"name": TIP},
    }.items():  # fmt: skip
        yield f"Model.{method}", (getattr(ARM, method), dict(good))
    yield "Model.shape", (BALL.shape, {"name": "s"})
    yield "Model.with_ground", (BALL.with_ground, {})
    yield "Model.with_contact", (BALL.with_contact, dict(shapes))
    yield "Model.with_rolling", (BALL.with_rolling, dict(shapes))
    for method, full in {
        "contact": BALL.with_contact("x", "s", "floor"),
        "rolling": BALL.with_rolling("x", "s", "floor"),
        "shape": ARM.with_shape(TIP, mz.Sphere(1.0), name="x"),
        "spring": ARM.with_spring("x", body, TIP),
        "loop": ARM.with_loop("x", body, TIP, mz.Revolute()),
        "coupling": ARM.with_coupling("x", {joint: 1.0}),
        "velocity_rows": ARM.with_velocity_rows("x", lambda model, q: np.zeros((1, 3))),
    }.items():
        yield f"Model.without_{method}", (getattr(full, f"without_{method}"), {"name": "x"})
    yield "Trajectory.load", (mz.Trajectory.load, {"path": RUN.save(folder / "kept.npz")})
    yield "Trajectory.save", (RUN.save, {"path": folder / "run.npz"})
    yield "Trajectory.plot", (RUN.plot, {"path": folder / "run.png"})
    yield "Trajectory.animate", (RUN.animate, {"path": folder / "run.html"})
    yield "Layout.to_mozzi", (LAYOUT.to_mozzi, {"q": Z, "v": Z})
    yield "Layout.from_mozzi", (LAYOUT.from_mozzi, {"q": Z, "v": Z})
    yield "Layout.compile", (LAYOUT.compile, {"function": mz.kinetic_energy})
    yield "Layout.converter", (LAYOUT.converter, {"which": "to_mozzi"})
    tau = {"tau": Z}
    for method, good in {
        "C_skew": {}, "accelerations": tau, "euler_jourdain": {"a": Z}, "lagrange": {"a": Z},
        "momentum_form": tau, "twist_rates": {"a": Z}, "velocity_form": tau,
        "rates_of_momenta": {"momenta": np.zeros(18)},
        "rates_of_twists": {"twists": np.zeros(18)},
    }.items():
        yield f"ClosedForm.{method}", (getattr(FORM, method), dict(good))
    both = {"q": TWO, "v": TWO}
    for method, good in {
        "accelerations": both, "assemble": {"q": TWO}, "check_closed": {"q": TWO},
        "attach": {"name": "x", "a": ("a", TIP), "b": ("b", TIP)},
        "consistent_velocities": both, "distributed_accelerations": both, "energy": both,
        "forward_dynamics": both, "hybrid_dynamics": {**both, "tau": TWO, "a": TWO},
        "inverse_dynamics": {**both, "a": TWO}, "loop_forces": both, "residual": {"q": TWO},
        "simulate": {"q0": TWO, "v0": TWO, "duration": 0.01, "dt": 0.01},
        "with_system": {"name": "c", "model": ARM, "frames": [TIP]},
        "without_system": {"name": "a"},
        "parts": {"array": np.zeros(6)},
    }.items():
        yield f"ClosedSystem.{method}", (getattr(PAIR, method), dict(good))


def bare(error: BaseException) -> str:
    """Where an error came about that nobody wrote; nothing for one that somebody wrote."""
    if isinstance(error, mz.MozziError):
        return ""
    found = [
        (frame.filename, frame.lineno or 0)
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(PACKAGE)
    ]
    file, line = found[-1]
    written = type(error) is TypeError and "raise" in linecache.getline(file, line)
    return "" if written else f"{Path(file).relative_to(PACKAGE)}:{line}"


#: Fields of a loader's, which nobody else gives.
LOADERS = {("Mesh", "uri"), ("Mesh", "fault")}
#: Where anything may be given: what runs jobs.
ANYTHING = {("sweep", "executor")}
GROUPS: dict[str, Callable[..., Iterator[tuple[str, Good]]]] = {
    "algorithms": algorithms, "functions": functions, "classes": made, "builders": of_builders,
    "methods": of_models, "algorithms with loops": lambda: algorithms(LOOP),
}  # fmt: skip


@pytest.mark.parametrize(
    "group",
    [pytest.param(k, marks=[pytest.mark.slow] * k.startswith("algorithms")) for k in GROUPS],
)
def test_wrong_kinds(group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    """Every argument of every entry point, with ten things of other kinds."""
    monkeypatch.chdir(tmp_path)
    faults: list[str] = []
    tried = 0
    make = GROUPS[group]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (function, good) in make(tmp_path) if group in FOLDER else make():
            function(**good)
            for p in inspect.signature(function).parameters.values():
                if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
                    continue
                for kind, wrong in WRONG.items():
                    tried += 1
                    try:
                        function(**{**good, p.name: wrong})
                    except Exception as error:
                        text, place = str(error), bare(error)
                        if place or len(text) < 15 or not (";" in text or ":" in text):
                            faults.append(f"{name}: {p.name} = {kind}: {error!r:.150} {place}")
                    else:
                        if kind == "thing" and (name, p.name) not in LOADERS | ANYTHING:
                            faults.append(f"{name}: {p.name} = {kind} was taken")
    mz.set_checks(True)
    mz.set_num_threads(None)
    assert not faults, "\n".join(faults)
    assert tried > 150


def test_a_word_is_refused_where_loops_are_watched():
    """The call that warns of lost rank looks at its arguments once: it called itself for ever."""
    q = mz.assemble(LOOP, np.full(LOOP.nq, 0.3))
    for wrong in ("a", 0.0, None):
        with pytest.raises((mz.ShapeError, mz.KindError), match="tau"):
            mz.forward_dynamics(LOOP, q, np.zeros(LOOP.nv), wrong)


def test_options_that_are_arrays_are_taken_as_lists():
    """Programs are found by their options; those of passive_inverse_dynamics were not hashed."""
    q = mz.assemble(LOOP, np.full(LOOP.nq, 0.3))
    for weights in ([1.0, 2.0, 3.0], np.array([1.0, 2.0, 3.0])):
        tau = mz.passive_inverse_dynamics(LOOP, q, Z, Z, Z, LOOP.joint_names, "torque", weights)
        assert tau == pytest.approx([-3.667, 2.856, 0.117], abs=1e-2)


FOLDER = {"functions", "methods"}
NOT_CALLED = {  # what algorithms and functions return, what the library makes of a model, errors
    "Actuator", "Assembly", "BaseParameters", "Body", "ClosedForm", "Composite", "Contact",
    "Coupling", "Distance", "Interrupted", "InverseKinematicsResult", "Joint", "JointDynamics",
    "Layout", "Log", "Loop", "LoopWrench", "Model", "Modes", "Momentum", "Plane", "Rolling",
    "Rotation", "SE3", "ScrewAxis", "Screws", "Sensitivity", "Shape", "Spring", "Trajectory",
    "Twist", "VelocityRows", "Wrench", "casadi_function", "directional",
}  # fmt: skip


@pytest.mark.parametrize("used_up", [iter, lambda x: (e for e in x), lambda x: map(str, x)])
def test_names_that_are_used_up_by_a_look_are_refused(used_up):
    """A generator would be empty after the first: nothing would be held, in silence."""
    q = LOOP.random_configuration(0)
    first, z = LOOP.joint_names[0], np.zeros(LOOP.nv)
    for call in (
        lambda: mz.hybrid_dynamics(ARM, Z, Z, Z, Z, prescribed=used_up(["joint_0"])),
        lambda: mz.hybrid_dynamics(LOOP, q, z, z, z, prescribed=used_up([first])),
        lambda: mz.inverse_dynamics(LOOP, q, z, z, actuated=used_up([first])),
        lambda: mz.assemble(LOOP, q, hold=used_up([first])),
        lambda: mz.consistent_velocities(LOOP, q, z, hold=used_up([first])),
        lambda: mz.operational_admittance(ARM, Z, frames=used_up([TIP])),
        lambda: mz.sensitivity(mz.gravity_forces, ARM, used_up(["body_0.mass"])),
        lambda: ARM.lock(used_up(["joint_0"]), Z),
    ):
        with pytest.raises(mz.KindError, match=r"names|None"):
            call()


@pytest.mark.parametrize(
    "taken", [deque, lambda x: dict.fromkeys(x).keys(), lambda x: {1: x[0]}.values()]
)
def test_other_lists_of_names_are_lists(taken):
    one = np.eye(3)[0]
    wanted = mz.hybrid_dynamics(ARM, Z, Z, Z, one, prescribed=["joint_0"])[0]
    size = len(ARM.cache)
    found = mz.hybrid_dynamics(ARM, Z, Z, Z, one, prescribed=taken(["joint_0"]))[0]
    np.testing.assert_array_equal(found, wanted)
    assert len(ARM.cache) == size  # the same program


def test_every_public_name_is_called(tmp_path: Path):
    """A new public name has a good call in the tables above, or is one that nobody calls."""
    there = {
        name.split(".")[0]
        for group, make in GROUPS.items()
        for name, _ in (make(tmp_path) if group in FOLDER else make())
    }
    problems = {n for n in mz.__all__ if n.endswith(("Error", "Warning"))}
    assert set(mz.__all__) - there - problems <= NOT_CALLED
