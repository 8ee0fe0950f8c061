"""Every public entry point with a mistake: an error that names the argument, the fact, the remedy.

The algorithms are all of them, by table; what is not an algorithm has a row for each mistake.
"""

import inspect
import warnings
from pathlib import Path

import numpy as np
import pytest

import mozzi as mz
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.model.generate import chain, four_bar

ARM = chain(3).with_name("arm")
LOOP = four_bar()
I = mz.Inertia(1.0, (0.0, 0.0, 0.1), np.eye(3))
Z = np.zeros(3)
N2 = np.zeros((2, 3))
N5 = np.zeros((5, 3))
NAN = np.array([0.0, np.nan, 0.0])
BALL = (
    mz.Builder("ball").add("b", None, mz.Free(), I).shape("b", mz.Sphere(0.1), name="s")
).build().with_ground()
REPS = {"source": "body", "target": "spatial"}
ALGORITHMS = [n for n in sorted(mz.__all__) if isinstance(getattr(mz, n), Algorithm)]


def call(name: str, mistake: str) -> None:
    function = getattr(mz, name)
    needs = [k for k, d in function.defaults.items() if d is inspect.Parameter.empty]
    tip = ARM.bodies[-1]
    options = {k: REPS.get(k, (tip,) if k == "frames" else tip) for k in needs}
    arrays = [Z] * len(function.required)
    model = ARM
    match mistake:
        case "shape":
            arrays = [np.zeros(5), *arrays[1:]]
        case "text":
            arrays = ["abc", *arrays[1:]]
        case "model":
            model = "arm"
        case "option":
            options["nonsense"] = 1
        case "missing":
            arrays = arrays[:-1]
        case "dtype":
            arrays = [Z + 1.0j, *arrays[1:]]
    function(model, *arrays, **options)


@pytest.mark.parametrize("mistake", ["shape", "text", "model", "option", "missing", "dtype"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms(name: str, mistake: str):
    """Wrong shape, type, model, option, kind of numbers, or nothing where something is needed."""
    python_s_own = mistake in ("option", "missing")  # a call that does not fit the signature
    with pytest.raises(TypeError if python_s_own else mz.MozziError) as error:
        call(name, mistake)
    text = str(error.value)
    named = {
        "shape": "has shape (5,)", "text": "'abc'", "model": "arm", "option": "nonsense",
        "missing": getattr(mz, name).required[-1], "dtype": "complex128",
    }[mistake]  # fmt: skip
    assert named in text or name in text or (mistake == "dtype" and "j" in text)
    if mistake == "shape":
        assert "nq = 3" in text or "last axes" in text


def build() -> mz.Builder:
    return mz.Builder("b").add("a", None, mz.Revolute("z"), I)


def simulated(**options) -> object:
    given = {"q0": Z, "v0": Z, "duration": 0.01, "dt": 0.005} | options
    return mz.simulate(ARM, **given)


JOINED = (
    mz.Builder("j").add("a", None, mz.Revolute("z"), I, joint_name="hinge")
    .frame("tip", "a", (0, 0, 1)).frame("mark", None, (1, 0, 0)).build()
)  # fmt: skip
NOWHERE = Path("/nowhere/robot.urdf")
ROWS = {
    # joints
    "axis of no length": (lambda: mz.Revolute((0, 0, 0)), "no direction; give a non-zero axis"),
    "axis by a wrong name": (lambda: mz.Revolute("w"), "axis 'w' is unknown; give one of"),
    "axis of two numbers": (lambda: mz.Prismatic((0, 1)), "2 numbers where 3 are needed"),
    "axis of text": (lambda: mz.Prismatic(("a", 0, 1)), "is not 3 numbers; give 3 finite"),
    "a pitch that is none": (lambda: mz.Screw("z", pitch="x"), "pitch: 'x' is not a number"),
    "axes that are parallel": (lambda: mz.Universal("z", "z"), "are not perpendicular"),
    "unknown coordinates": (lambda: mz.Spherical("euler"), "'euler'"),
    "a product of none": (lambda: mz.Composite(), "Composite"),
    "a product of words": (lambda: mz.Composite("z"), "'z'"),
    "a placement that mirrors": (
        lambda: mz.Revolute().between((np.diag([1, 1, -1.0]), Z)), "mirrors"),
    "a placement of two numbers": (lambda: mz.Revolute().between([1, 2]), "give a 3×3 matrix"),
    # inertias
    "a negative mass": (lambda: mz.Inertia(-1, Z, np.eye(3)), "mass -1; give a number of kg"),
    "a mass that is no number": (lambda: mz.Inertia(np.nan, Z, np.eye(3)), "mass nan; give"),
    "a mass of text": (lambda: mz.Inertia("1", Z, np.eye(3)), "mass is '1'; give a number"),
    "a centre of two numbers": (lambda: mz.Inertia(1, (0, 1), np.eye(3)), "has 3 numbers; 2 were"),
    "nine parameters": (lambda: mz.Inertia.from_parameters(np.ones(9)), "has 10 numbers; 9 were"),
    # builders
    "a name that is none": (
        lambda: mz.Builder().add(3, None, mz.Revolute()), "name is 3; give a word"),
    "an empty name": (lambda: mz.Builder().add("", None, mz.Revolute()), "give a non-empty string"),
    "a name twice": (lambda: build().add("a", None, mz.Revolute()), "a body has this name"),
    "a joint twice": (
        lambda: build().add("c", None, mz.Revolute(), joint_name="a"), "give another joint_name"),
    "a parent that is none": (lambda: build().add("c", "x", mz.Revolute()).build(), "'x' is unkno"),
    "a parent by number": (
        lambda: build().add("c", 0, mz.Revolute()), "parent is 0; give a word or None"),
    "a joint of text": (lambda: build().add("c", None, "hinge"), "'hinge' is no joint; give one"),
    "no joint": (lambda: build().add("c"), "neither joint nor screw; give one"),
    "a wrong rep": (lambda: build().add("c", None, mz.Revolute(), rep="world"), "rep 'world'; cho"),
    "unknown joint data": (
        lambda: build().add("c", None, mz.Revolute(), colour=1), "no joint data 'colour'; there"),
    "reversed limits": (
        lambda: build().add("c", None, mz.Revolute(), limits=(1, -1)), "reversed, lower 1"),
    "one limit": (lambda: build().add("c", None, mz.Revolute(), limits=3), "give (lower, upper)"),
    "negative damping": (
        lambda: build().add("c", None, mz.Revolute(), damping=-1), "damping -1.0 is negative"),
    "damping that is not finite": (
        lambda: build().add("c", None, mz.Revolute(), damping=np.nan), "not finite; give a finite"),
    "an inertia of a wrong shape": (
        lambda: build().add("c", None, mz.Revolute(), np.ones(4)), "give an Inertia, a 6×6 matrix"),
    "an unphysical inertia": (
        lambda: build().add("c", None, mz.Revolute(), mz.Inertia(
            1, Z, np.diag([1, 1, 9.0]))).build(), "body 'c': principal moments"),
    "a frame on nobody": (lambda: build().frame("f", "x").build(), "'x' is unknown"),
    "a loop on one body": (
        lambda: build().loop("l", "a", "a", mz.Revolute()), "both ends are on 'a'; connect two"),
    "a loop of text": (lambda: build().loop("l", "a", None, "pin"), "'pin' is no joint"),
    "a loop on nobody": (
        lambda: build().loop("l", "a", "x", mz.Revolute()).build(), "body 'x' is unknown; name a"),
    "a rod of no length": (
        lambda: build().distance("r", "a", None, length=0), "give a positive one"),
    "a spring that pushes": (
        lambda: build().spring("s", "a", None, stiffness=-1), "stiffness -1; give 0 or more"),
    "a coupling of nothing": (lambda: build().coupling("c", {}), "no joint has a coefficient"),
    "a coupling of nobody": (
        lambda: build().coupling("c", {"x": 1.0}).build(), "joint 'x' is unknown or fixed"),
    "a coupling of text": (lambda: build().coupling("c", {"a": "x"}), "'x' is not a number"),
    "gravity of two numbers": (lambda: mz.Builder("b", gravity=(0, 1)), "gravity: 2 numbers where"),
    "a shape that is none": (lambda: build().shape("a", 3), "3 is no geometry; give one such as"),
    "a role that is none": (
        lambda: build().shape("a", mz.Sphere(1), role="x"), "role 'x'; choose 'visual'"),
    "a colour that is none": (
        lambda: build().shape("a", mz.Sphere(1), color="red"), "color 'red'; give (r, g, b)"),
    "a shape on nobody": (lambda: build().shape("x", mz.Sphere(1)).build(), "body 'x' is unknown"),
    "an actuator on nobody": (lambda: build().actuator("m", "x").build(), "joint 'x' is unknown"),
    "an actuator twice": (
        lambda: build().actuator("m", "a").actuator("m", "a"), "an actuator has this name"),
    "a reversed control range": (
        lambda: build().actuator("m", "a", control=(1, 0)), "is reversed; give (lower, upper)"),
    "a state of nobody": (
        lambda: build().configuration("s", {"x": 0}).build(), "joint 'x' is unknown"),
    "a state of two numbers": (
        lambda: build().configuration("s", {"a": [0, 1]}).build(), "has 1 coordinates; 2 are"),
    # geometries
    "a ball of no radius": (lambda: mz.Sphere(0), "radius 0; give a positive length"),
    "a box of two edges": (lambda: mz.Box((1, 2)), "2 numbers where 3 are needed"),
    "a cylinder of text": (lambda: mz.Cylinder("a", 1), "radius: 'a' is not a number"),
    "a capsule inside out": (lambda: mz.Capsule(1, -1), "length -1; give a positive length"),
    "an ellipsoid of one radius": (lambda: mz.Ellipsoid(1), "is not 3 numbers"),
    "a mesh of nothing": (lambda: mz.Mesh(None), "path None; give the path of a mesh file"),
    "a flat mesh": (lambda: mz.Mesh("a.stl", 0), "flattens it; give non-zero numbers"),
    "a mesh that is not there": (lambda: mz.Mesh("/nowhere/a.stl").file(), "does not exist; check"),
    "heights in a row": (lambda: mz.HeightField([1, 2], (1, 1)), "give a 2-D array"),
    "heights of text": (lambda: mz.HeightField([["a"]], (1, 1)), "are no numbers; give a 2-D"),
    # models
    "a body that is not there": (lambda: ARM.body("x"), "no body 'x'; it has"),
    "a body by a wrong number": (lambda: ARM.body(7), "no body 7; its bodies are 0 to 2"),
    "a joint that is not there": (lambda: ARM.joint("x"), "no joint 'x'; it has"),
    "a frame that is not there": (lambda: ARM.frame("x"), "no frame 'x'; it has"),
    "a shape that is not there": (lambda: ARM.shape("x"), "no shape 'x'; it has"),
    "a loop that is not there": (lambda: ARM.without_loop("x"), "no loop 'x'; it has none"),
    "a coupling that is not there": (lambda: ARM.without_coupling("x"), "no coupling 'x'"),
    "a spring that is not there": (lambda: ARM.without_spring("x"), "no spring 'x'"),
    "a shape to take away": (lambda: ARM.without_shape("x"), "no shape 'x'"),
    "a body to take away": (lambda: ARM.without_body("x"), "no body 'x'"),
    "gravity of text": (lambda: ARM.with_gravity("down"), "gravity"),
    "joint data of nobody": (lambda: ARM.with_dynamics("x", damping=1), "no joint 'x'"),
    "an inertia of nobody": (lambda: ARM.with_inertia("x", I), "no body 'x'"),
    "locking nobody": (lambda: ARM.lock("x"), "no joint 'x'"),
    "locking at two numbers": (lambda: ARM.lock(ARM.joint_names[0], [0, 1]), "q has shape (2,)"),
    "a configuration too long": (lambda: ARM.check_configuration(np.zeros(5)), "nq = 3"),
    "a configuration of NaN": (lambda: ARM.check_configuration([0, 0, np.nan]), "is not finite"),
    "a zero quaternion": (
        lambda: mz.Builder().add("a", None, mz.Free(), I).build().normalize(np.zeros(7)),
        "a zero quaternion is no rotation; give a non-zero one"),
    "random without an end": (
        lambda: LOOP.with_dynamics(LOOP.joint_names[0], limits=(9, 9.1)).with_dynamics(
            LOOP.joint_names[2], limits=(-9.1, -9)).with_dynamics(
            LOOP.joint_names[1], limits=(50, 50.1)).random_configuration(0),
        "could be closed within the limits; call mozzi.assemble"),
    "limits that exclude every closed configuration": (
        lambda: LOOP.with_dynamics(LOOP.joint_names[0], limits=(2.5, 2.6)).with_dynamics(
            LOOP.joint_names[1], limits=(2.5, 2.6)).random_configuration(0),
        "joints are outside: 'crank' at 0.533 (limits 2.5 to 2.6)"),
    # files
    "a file that is not there": (lambda: mz.load(NOWHERE), "does not exist; check the path"),
    "a robot that is not there": (lambda: mz.load("nobody's robot"), "nobody's robot"),
    "a wrong base": (lambda: mz.load(__file__, base="loose"), ""),
    "a file that is no robot": (lambda: mz.load(__file__), "is not well-formed XML"),
    "roots that are not there": (
        lambda: mz.load(__file__, roots="/nowhere"), "is not a folder; give existing folders"),
    # kinematics and loops
    "no targets": (lambda: mz.inverse_kinematics(ARM, {}), "no targets; give {frame: pose}"),
    "a target of nobody": (lambda: mz.inverse_kinematics(ARM, {"x": np.eye(4)}), "no frame 'x'"),
    "a target of a wrong shape": (
        lambda: mz.inverse_kinematics(ARM, {"body_2": np.eye(2)}), "give (…, 4, 4) or (…, 3)"),
    "a target of NaN": (
        lambda: mz.inverse_kinematics(ARM, {"body_2": Z * np.nan}), "is not finite; give numbers"),
    "an open loop": (
        lambda: mz.simulate(LOOP, [0.5, 0.5, 2.0], Z, 0.01, 0.01), "is open by"),
    "holding nobody": (lambda: mz.assemble(LOOP, Z, hold=["x"]), "'x'"),
    "assembling the wrong size": (lambda: mz.assemble(LOOP, np.zeros(2)), "nq = 3"),
    # simulation
    "q0 too long": (lambda: simulated(q0=np.zeros(4)), "nq = 3"),
    "v0 too short": (lambda: simulated(v0=np.zeros(2)), "nv = 3"),
    "q0 of text": (
        lambda: simulated(q0="home"), "q0 is 'home'; give an array of real numbers (q0 (B, nq)"),
    "a negative duration": (lambda: simulated(duration=-1.0), "duration"),
    "a step of nothing": (lambda: simulated(dt=0.0), "dt"),
    "a step of text": (lambda: simulated(dt="fast"), "dt"),
    "a method that is none": (lambda: simulated(method="euler"), "'euler'"),
    "a torque of a wrong shape": (lambda: simulated(torque=np.zeros(2)), "torque has shape (2,)"),
    "a torque of text": (lambda: simulated(torque="hold"), "torque"),
    "a torque of NaN": (lambda: simulated(torque=Z * np.nan), "not finite"),
    "wrenches of a wrong shape": (lambda: simulated(wrenches=np.zeros((2, 6))), "wrenches"),
    "limits that are none": (lambda: simulated(limits="soft"), "'soft'"),
    "a target that is none": (lambda: simulated(target="abacus"), "'abacus'"),
    "an option that is none": (lambda: simulated(magic=1), "magic"),
    "records of nothing": (lambda: simulated(record_every=0), "record_every"),
    "three moments for an inertia": (
        lambda: mz.Inertia(1.0, (0, 0, 0), (1, 2, 2)), "has shape (3,); give a symmetric 3×3"),
    "controls of nobody": (lambda: mz.actuate(ARM, [1.0]), "has no actuators; give a torque"),
    "a picture of a wrong kind": (lambda: simulated().animate("x.mp4"), "as .html or .gif"),
    "a file of a wrong kind": (lambda: simulated().save("x.xls"), "save as .npz or .csv"),
    "fields that are none": (lambda: simulated().save("x.npz", ["speed"]), "no field 'speed'"),
    "a sample of one motion": (lambda: simulated()[0], "it has no samples to choose"),
    "a trajectory that is none": (lambda: mz.Trajectory.load(__file__), "give a .npz or .csv file"),
    "forces of a wrong shape": (
        lambda: mz.contact_wrenches(BALL, BALL.neutral(), np.zeros((2, 3))), "1 contact points"),
    "forces of text": (
        lambda: mz.contact_wrenches(BALL, BALL.neutral(), "up"), "forces is 'up'; give"),
    "multipliers of a wrong shape": (
        lambda: mz.loop_wrenches(LOOP, Z, np.zeros(2)), "multipliers has shape (2,)"),
    "a reflection as target": (
        lambda: mz.inverse_kinematics(ARM, {ARM.bodies[-1]: np.diag([-1.0, 1, 1, 1])}),
        "R is a reflection; give a rotation"),
    "targets of two batches": (
        lambda: mz.inverse_kinematics(ARM, {ARM.bodies[-1]: N2, ARM.bodies[0]: N5}),
        "batch axes do not broadcast"),
    "a start of another batch": (
        lambda: mz.inverse_kinematics(ARM, {ARM.bodies[-1]: N2}, N5),
        "batch axes do not broadcast: q0 (5,), targets (2,)"),
    "a step backward": (
        lambda: mz.linearize(ARM, Z, Z, Z, dt=-0.1), "linearize: dt -0.1 is not positive"),
    "a rollout backward": (
        lambda: mz.rollout(ARM, Z, Z, N5, -0.1), "rollout: dt -0.1 is not positive"),
    "a gradient of no time": (
        lambda: mz.rollout_gradient(ARM, N5, N5, N5[1:], 0.0, N5, N5), "dt 0 is not positive"),
    "a rollout from nowhere": (
        lambda: mz.rollout(ARM, NAN, Z, N5, 0.1), "rollout: q0: model 'arm': q[1]"),
    "a rollout at no speed": (
        lambda: mz.rollout(ARM, Z, NAN, N5, 0.1), "rollout: v0[1] of 'joint_1' is nan"),
    "a rollout without rotation": (
        lambda: mz.rollout(BALL, np.zeros(7), np.zeros(6), np.zeros((2, 6)), 0.1),
        "quaternion of length 0"),
    "samples backward": (lambda: mz.Rollout(ARM, 1.0, -0.1), "Rollout: dt -0.1 is not positive"),
    "samples from elsewhere": (
        lambda: mz.Rollout(ARM, 1.0, 0.1, q0=[0.0]), "Rollout: q0 has shape (1,); give 3 numbers"),
    "samples from nowhere": (
        lambda: mz.Rollout(ARM, 1.0, 0.1, v0=NAN), "Rollout: v0[1] of 'joint_1' is nan"),
    "a regressor of another model": (
        lambda: mz.base_parameters(ARM).regressor(N2), "BaseParameters.regressor: Y has shape"),
    "parameters of another model": (
        lambda: mz.base_parameters(ARM).values(chain(2)), "give a model with the 30 of these"),
    "a slice of no joint": (lambda: ARM.q_slices["joint"], "no joint 'joint'; it has 'joint_0'"),
    "a builder without a name": (lambda: mz.Builder(None), "Builder: name is None"),
    "a law of NaN": (
        lambda: mz.simulate(ARM, Z, Z, 0.1, 0.01, torque=lambda t, q, v: NAN, trace=False),
        "the law returned numbers that are not finite at t = 0 s"),
    "velocities of a wrong shape": (
        lambda: mz.consistent_velocities(LOOP, Z, np.zeros(2)), "four_bar has nv = 3"),
    "ground under nothing": (lambda: ARM.with_ground(), "no collision shape that moves; add one"),
    "ground under nobody": (lambda: BALL.with_ground("x"), "no shape 'x'; it has"),
    "friction that pulls": (lambda: BALL.with_ground(friction=-1), "friction -1; give 0 or more"),
    "a contact with nothing": (lambda: BALL.with_contact("c", "s", "x"), "no shape 'x'; it has"),
    "a wheel of no radius": (lambda: mz.Disc(-1), "radius -1; give a positive length"),
    "a tyre of no radius": (lambda: mz.Torus(0, 1), "radius 0; give a positive length"),
    "a screw of no pitch": (lambda: mz.PlanarScrew("x"), "no pitch; give pitch="),
    "a sliding axis of no name": (lambda: mz.Cylindrical("w"), "axis 'w' is unknown"),
    "an axis of no direction": (lambda: mz.Schoenflies((0, 0, 0)), "has no direction; give a"),
    "a plane of no name": (lambda: mz.Planar("q"), "axis 'q' is unknown"),
    "a twist of two numbers": (lambda: mz.Twist.unflatten([1, 2]), "give six numbers, angular"),
    "a wrench of five numbers": (lambda: mz.Wrench.unflatten(np.ones(5)), "give six numbers"),
    "an inertia of five rows": (
        lambda: mz.newton_euler(np.eye(5), np.zeros(6), np.zeros(6)), "does not end in (6, 6)"),
    "forces of the wrong length, projected": (
        lambda: mz.projected_forward_dynamics(ARM, Z, Z, np.zeros(4)), "tau has shape (4,)"),
    "targets that are no mapping": (
        lambda: mz.inverse_kinematics(ARM, "hand"), "; give a dict (targets: by frame, a pose"),
    "accelerations that are no numbers": (
        lambda: mz.consistent_accelerations(LOOP, Z, Z, "a"), "give an array of real numbers"),
    "a path that is none": (lambda: mz.load(7), "; give a"),
    "a log that is none": (lambda: mz.read_log(7), "; give a"),
    "a grid of nothing named": (lambda: mz.grid([1.0]), "; give a dict (columns: numbers by name)"),
    "what cannot be compiled": (
        lambda: mz.compile(7, ARM), "; give a function (function: an algorithm"),
    "forces that are no numbers": (
        lambda: mz.rollout(ARM, Z, Z, "a", 0.1), "tau is 'a'; give an array of real"),
    "a closed form of words": (
        lambda: mz.closed_form(ARM, "a"), "q is 'a'; give an array of real numbers"),
    "numbers of a cholesky factor": (
        lambda: mz.from_log_cholesky("a"), "theta is 'a'; give an array of real numbers"),
    "two states of a closed form": (
        lambda: mz.closed_form(ARM, Z, Z, momenta=np.zeros((3, 6))), "give one of them"),
    "a choice where there is one answer": (
        lambda: mz.hybrid_dynamics(ARM, Z, Z, Z, Z, minimize="torque"),
        "minimize= are for models with loops, and 'arm' has none"),
    "weights where there is one answer": (
        lambda: mz.inverse_dynamics(ARM, Z, Z, Z, weighting=np.ones(3)),
        "weighting= are for models with loops, and 'arm' has none"),
    "a recursion that is none": (
        lambda: mz.directional(mz.mass_matrix, ARM), "there is one for mz.inverse_dynamics"),
    "nine numbers without bounds": (
        lambda: mz.from_log_cholesky(np.zeros(9)), "shape (9,); give ten numbers"),
    "a body of text": (
        lambda: mz.to_log_cholesky("x"),
        "give an array of real numbers or an Inertia (parameters (B, 10)"),
    "a body of no volume": (
        lambda: mz.to_log_cholesky(mz.Inertia(0, Z, np.zeros((3, 3)))), "give a positive mass"),
    "a law that is none": (lambda: mz.Law("x"), "give a function (function: τ = function(t, q, v)"),
    "systems that are none": (lambda: mz.ClosedSystem("arm"), "give {name: (model, frames)}"),
    "a method of steps that is none": (lambda: mz.stepper(ARM, "euler"), "'euler'"),
    "a start of a wrong shape": (
        lambda: mz.Simulation(ARM, np.zeros(2), Z, 1.0, 0.1), "give nq = 3 numbers"),
    "a state of a wrong shape": (
        lambda: mz.state_space(ARM, np.zeros(2), Z), "arm has nq = 3"),
    "a layout of nobody": (lambda: mz.layout("gazebo", ARM), "no layout 'gazebo'; there are"),
    # sweeps
    "an interval upside down": (lambda: mz.Uniform(2, 1), "give low ≤ high"),
    "an interval of text": (lambda: mz.Uniform("a", 1), "'a' is no number"),
    "powers of nothing": (lambda: mz.LogUniform(0, 1), "give 0 < low ≤ high"),
    "a negative deviation": (lambda: mz.Normal(0, -1), "give deviation ≥ 0"),
    "a choice of nothing": (lambda: mz.Choice([]), "give some numbers"),
    "a grid of nothing": (lambda: mz.grid({"x": []}), "'x' has no numbers; give one or more"),
    "a sweep of nothing": (
        lambda: mz.sweep("arm", {"x": [1.0]}), "give a function (run: takes a chunk"),
    "a pair for a range": (
        lambda: mz.sweep(lambda chunk: chunk, {"x": (1, 2)}, samples=9),
        "a range to draw from: mz.Uniform(low, high)"),
    # names of others, and of something else
    "a frame of Pinocchio": (
        lambda: mz.jacobian(ARM, Z, ARM.bodies[0], "LOCAL_WORLD_ALIGNED"), "is 'hybrid')"),
    "a joint for a body": (lambda: JOINED.body("hinge"), "but a joint, which moves 'a'"),
    "a frame for a body": (lambda: JOINED.body("tip"), "but a frame, on 'a'"),
    "a frame of the world for a body": (lambda: JOINED.body("mark"), "but a frame, on the world"),
    "rows of several lengths": (
        lambda: mz.mass_matrix(ARM, [[1, 2, 3], [4]]), "q is [[1, 2, 3], [4]]; give an array"),
    "a law without v": (
        lambda: simulated(torque=lambda t, q: q), "takes (t, q); give a function of (t, q, v)"),
    "a law without v, in Python": (
        lambda: simulated(torque=lambda t, q: q, trace=False), "give a function of (t, q, v)"),
    "an event of other things first": (
        lambda: simulated(method="dopri5", events=[lambda q, v, t: v[..., 0]]),
        "an event takes (q, v, t); give a function of (t, q, v)"),
    "an event of q alone": (
        lambda: simulated(method="dopri5", events=[lambda q: q[..., 0]]), "an event takes (q); gi"),
    "a wrench for no body in particular": (
        lambda: simulated(wrenches=np.ones(6)), "wrenches have shape (6,); give (3, 6)"),
    "one torque for all joints": (
        lambda: simulated(torque=[1.0]), "torque has shape (1,); give (3,) for a constant"),
    "a torque that is a number": (
        lambda: simulated(torque=1.0), "torque has shape (); give (3,) for a constant"),
    "a law of other things first": (
        lambda: simulated(torque=lambda q, v, t: -v), "takes (q, v, t); give a function of (t, q"),
    "a law of the model first": (
        lambda: simulated(torque=lambda model, t, q, v: -v), "takes (model, t, q, v); give a fun"),
    "a law whose state comes last": (
        lambda: simulated(torque=mz.Law(lambda t, q, v, h, x: (-v, x), {"y": 0.0})),
        "give a function of (t, q, v, x, h)"),
    "a drive that takes q": (
        lambda: simulated(prescribed={ARM.joint_names[0]: lambda t, q: q}), "a function of (t)"),
    # programs
    "compiling without a frame": (
        lambda: mz.compile(mz.pose, ARM), "pose needs 'frame'; give it: options={'frame': …}"),
    "what to compile, in full": (
        lambda: mz.compile("pose", ARM), "any function of arrays that calls algorithms"),
    "compiling for nowhere": (lambda: mz.compile(mz.mass_matrix, ARM, "abacus"), "'abacus'"),
    "compiling in quarters": (
        lambda: mz.compile(mz.mass_matrix, ARM, dtype="float8"), "float8"),
    "compiling a function that has no names for its arrays": (
        lambda: mz.compile(lambda *x: x[0], ARM), "*x has no names, which tell shapes"),
    "compiling a function of unknown arrays": (
        lambda: mz.compile(lambda m, q: q, ARM), "the model is the argument called 'model'"),
    "compiling a dict": (
        lambda: mz.compile(lambda q: {"q": q}, ARM), "gives a dict, which is no array of numbers"),
    "compiling nothing": (lambda: mz.compile(lambda q: None, ARM), "give an array, or a tuple"),
    "compiling around a sensitivity": (
        lambda: mz.compile(lambda q: mz.sensitivity(mz.mass_matrix, ARM, ["gravity.z"])(q), ARM),
        "compile it by itself: mz.compile(mz.sensitivity(…), model)"),
    "an array among the options": (
        lambda: mz.compile(mz.inverse_dynamics, ARM, options={"wrenches": np.ones((3, 6))}),
        "wrenches is an array, which every call gives: 'wrenches': True"),
    "an argument among the options": (
        lambda: mz.compile(mz.mass_matrix, ARM, options={"q": Z}), "q is an array, which every"),
    "a shape for no argument": (
        lambda: mz.compile(lambda q: q, ARM, inputs={"k": (3,)}), "'k', which is no argument"),
    "a shape that is a number": (
        lambda: mz.compile(lambda x: x, ARM, inputs={"x": 3}), "is 3; give a shape, such as (3,)"),
    "a shape of an algorithm's argument": (
        lambda: mz.compile(mz.mass_matrix, ARM, inputs={"q": (5,)}), "mass_matrix has its shapes"),
    "no threads": (lambda: mz.set_num_threads(0), "0"),
}  # fmt: skip


@pytest.mark.parametrize("what", ROWS)
def test_other_entry_points(what: str):
    make, words = ROWS[what]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((mz.MozziError, TypeError, ValueError)) as error:
            make()
    text = str(error.value)
    assert words in text and len(text) > 10
    assert isinstance(error.value, mz.MozziError) or type(error.value) is TypeError


def test_the_table_is_long_enough():
    assert 6 * len(ALGORITHMS) + len(ROWS) + len(NO_MODEL) >= 150 and len(ROWS) >= 140


NO_MODEL = {
    "simulate": lambda x: mz.simulate(x, Z, Z, 0.01, 0.01),
    "stepper": mz.stepper,
    "rollout": lambda x: mz.rollout(x, Z, Z, np.zeros((2, 3)), 0.1),
    "rollout_gradient": lambda x: mz.rollout_gradient(x, Z, Z, np.zeros((2, 3)), 0.1, Z, Z),
    "modes": lambda x: mz.modes(x, Z, Z),
    "allowed_deviations": lambda x: mz.allowed_deviations(x, Z, Z),
    "state_space": lambda x: mz.state_space(x, Z, Z),
    "assemble": lambda x: mz.assemble(x, Z),
    "consistent_velocities": lambda x: mz.consistent_velocities(x, Z, Z),
    "consistent_accelerations": lambda x: mz.consistent_accelerations(x, Z, Z, Z),
    "inverse_kinematics": lambda x: mz.inverse_kinematics(x, {"a": Z}),
    "loop_rows": mz.loop_rows,
    "loop_wrenches": lambda x: mz.loop_wrenches(x, Z, Z),
    "contact_points": mz.contact_points,
    "contact_wrenches": lambda x: mz.contact_wrenches(x, Z, Z),
    "system_jacobian_factors": lambda x: mz.system_jacobian_factors(x, Z),
    "operators": lambda x: mz.operators(x, Z),
    "actuate": lambda x: mz.actuate(x, Z),
    "Rollout": lambda x: mz.Rollout(x, 0.1, 0.01),
    "layout": lambda x: mz.layout("mujoco", x),
    "casadi_function": lambda x: mz.casadi_function(mz.forward_dynamics, x),
    "base_parameters": mz.base_parameters,
    "explain": lambda x: mz.explain(x, mz.forward_dynamics),
    "close_to": lambda x: mz.Builder().build().close_to(x),
}


@pytest.mark.parametrize("name", NO_MODEL)
def test_what_is_no_model_is_named(name):
    with pytest.raises(mz.KindError, match=f"{name}: 'arm' is no model"):
        NO_MODEL[name]("arm")


def test_switches_and_files_of_the_wrong_kind(tmp_path):
    with pytest.raises(TypeError, match="give True or False"):
        mz.set_checks("no")  # type: ignore[arg-type]
    with pytest.raises(mz.ConfigurationError, match="there is no such file"):
        mz.read_log(tmp_path / "none.csv")


WORKED_BY_HAND = {  # functions on arrays that are no programs: name, and calls of (q, v)
    "consistent_velocities": mz.consistent_velocities,
    "consistent_accelerations": lambda m, q, v: mz.consistent_accelerations(m, q, q * 0.0, v),
    "projected_forward_dynamics": lambda m, q, v: mz.projected_forward_dynamics(m, q, q * 0.0, v),
    "operators": mz.operators,
}


@pytest.mark.parametrize("name", WORKED_BY_HAND)
def test_functions_that_are_no_programs_look_at_their_arrays_too(name):
    """Batches that do not broadcast, and NaN in a vector: refused by name, as programs do."""
    function = WORKED_BY_HAND[name]
    with pytest.raises(mz.ConfigurationError, match=f"^{name}: batch axes do not broadcast"):
        function(ARM, N2, N5)
    with pytest.raises(mz.ConfigurationError, match=rf"^{name}: \w+\[1\] of .* is nan"):
        function(ARM, Z, NAN)


@pytest.mark.parametrize("q", [np.zeros(5), NAN, np.full(3, np.inf), []])
def test_factors_of_the_system_jacobian_are_of_a_configuration(q):
    with pytest.raises(mz.ConfigurationError, match=r"^system_jacobian_factors: q"):
        mz.system_jacobian_factors(ARM, q)


def test_deviations_are_of_one_state_of_numbers():
    with pytest.raises(mz.ConfigurationError, match=r"^allowed_deviations: v\[1\]"):
        mz.allowed_deviations(ARM, Z, NAN)
    with pytest.raises(mz.ConfigurationError, match=r"^allowed_deviations of model 'arm'"):
        mz.allowed_deviations(ARM, N2, N2)


def test_hybrid_dynamics_looks_at_what_it_reads():
    """a where it is prescribed, tau elsewhere; what is not read may be anything."""
    held = [ARM.joint_names[1]]
    a, tau = np.array([np.nan, 1.0, np.nan]), np.array([1.0, np.nan, 1.0])
    functions = mz.hybrid_dynamics, mz.hybrid_dynamics_derivatives
    for function in functions:
        assert all(np.isfinite(x).all() for x in np.ravel(function(ARM, Z, Z, tau, a, held)))
        with pytest.raises(mz.ConfigurationError, match=r"a\[1\] of 'joint_1' is nan"):
            function(ARM, Z, Z, tau, a * np.nan, prescribed=held)
        with pytest.raises(mz.ConfigurationError, match=r"tau\[0\] of .* is inf in sample \[1\]"):
            function(ARM, Z, Z, [tau, tau * np.inf], a, held)
