"""Arrays of configurations that are none, and NaN and infinity in all others, are refused, by joint
and sample; kernels do not look.
"""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import mozzi as mz
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.algorithms.calls.arguments import ARRAYS
from mozzi.algorithms.calls.guard import HYBRID, configurations, finite, unchecked
from mozzi.errors import ConfigurationError
from mozzi.lie import Inertia
from mozzi.model import Builder, Composite, Free, Prismatic, Revolute, Spherical
from mozzi.model.generate import chain


def body(mass: float) -> Inertia:
    return Inertia(mass, (0.1, -0.2, 0.3), np.diag([0.2, 0.3, 0.4]))


def mechanism(closed: bool = False):
    """Free base, a composite with a quaternion in its middle, angles before and after."""
    builder = (
        Builder("beast")
        .add("base", None, Free(), body(3.0))
        .add("arm", "base", Revolute((1, 2, 0)), body(1.0), placement=(0.1, 0.2, 0.3))
        .add("ball", "arm", Composite(Prismatic("x"), Spherical()), body(1.5), joint_name="socket")
        .add("tip", "ball", Revolute("y"), body(0.5), placement=(0, 0, 0.4))
    )
    if closed:
        builder.coupling("gear", {"arm": 1.0, "tip": -2.0})
    return builder.build()


MODEL, CLOSED = mechanism(), mechanism(closed=True)
SOCKET = MODEL.q_slices["socket"].start + 1  # where its quaternion starts


def arguments(model, function: Algorithm, batch: tuple[int, ...], rng) -> dict[str, np.ndarray]:
    """Arrays that an algorithm takes, all of them valid."""
    sizes: dict[int | str, int] = {"q": model.nq, "v": model.nv, "b": model.nb, "f": 1, "p": 1}
    sizes["m"] = model.row_count
    order = function.defaults.get("order", 0)
    sizes |= {"o": order, "w": order - 1}
    found = {}
    for name in function.required:
        shape = tuple(sizes.get(n, n) for n in ARRAYS[name][0])
        good = name in configurations([name])
        found[name] = (
            model.random_configuration(rng, batch) if good else rng.normal(size=(*batch, *shape))
        )
    return found


ALGORITHMS = sorted(
    name
    for name in mz.__all__
    if isinstance(x := getattr(mz, name), Algorithm)
    and configurations(x.required)
    and all(d is not x.signature.empty for d in x.defaults.values())
)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_refuses_what_is_no_configuration(name):
    """Single calls and batches, quaternions of a wrong length, zero, NaN and infinity."""
    function, rng = getattr(mz, name), np.random.default_rng(3)
    for batch, sample in (((), ()), ((3, 7), (2, 4))):
        good = arguments(MODEL, function, batch, rng)
        function(MODEL, **good)
        function(MODEL, *good.values())
        place = f"sample {list(sample)}" if sample else ""
        for argument in configurations(tuple(good)):
            for k, value, fact in (
                (slice(SOCKET, SOCKET + 4), lambda x: 2.0 * x, "'socket'.*length 2"),
                (slice(SOCKET, SOCKET + 4), lambda x: (1.0 + 2e-6) * x, "'socket'.*length 1.00000"),
                (slice(3, 7), lambda x: 0.0 * x, "'base'.*length 0"),
                (slice(SOCKET + 1, SOCKET + 2), lambda x: x * np.nan, "'socket.*not finite"),
                (slice(7, 8), lambda x: x * 0 + np.inf, "'arm.*not finite"),
                (slice(7, 8), lambda x: x * 0 - np.inf, "'arm.*not finite"),
            ):
                bad = {n: x.copy() for n, x in good.items()}
                at = (*sample, k)
                bad[argument][at] = value(bad[argument][at])
                with pytest.raises(ConfigurationError, match=f"{name}: {argument}: .*{fact}") as e:
                    function(MODEL, *bad.values())
                assert place in str(e.value)


FINITE = sorted(
    name
    for name in mz.__all__
    if isinstance(x := getattr(mz, name), Algorithm)
    and set(finite(x.required)) - set(configurations(x.required))
    and all(d is not x.signature.empty for d in x.defaults.values())
)
NAMES = {"v": MODEL.v_names[-1], "b": "tip"}


@pytest.mark.parametrize("name", FINITE)
def test_every_other_array_is_finite(name):
    """Velocities, forces, wrenches: NaN and infinity are told with their place; limits may be
    infinite.
    """
    function, rng = getattr(mz, name), np.random.default_rng(4)
    for batch, sample in (((), ()), ((2, 9), (1, 8))):
        good = arguments(MODEL, function, batch, rng)
        unread = {"a"} if name in HYBRID else set()  # nothing is prescribed
        for argument in set(finite([*good])) - {*configurations([*good]), *unread}:
            axes = ARRAYS[argument][0]
            of = next((NAMES[x] for x in axes if x in NAMES), "")
            for value in (np.nan, np.inf, -np.inf):
                bad = {n: x.copy() for n, x in good.items()}
                bad[argument].reshape(*batch, -1)[(*sample, -1)] = value
                with pytest.raises(ConfigurationError) as e:
                    function(MODEL, *bad.values())
                told = str(e.value)
                assert told.startswith(f"{name}: {argument}") and f"is {value}" in told
                assert of in told and (f"sample {list(sample)}" in told) == bool(sample)


WITH_LOOPS = {
    "forward_dynamics": ("q", "v", "tau", "wrenches"),
    "inverse_dynamics": ("q", "v", "a", "wrenches"),
    "forward_dynamics_derivatives": ("q", "v", "tau"),
    "inverse_dynamics_derivatives": ("q", "v", "a"),
    "forward_dynamics_wrench_derivatives": ("q",),
    "loop_forces": ("q", "v", "tau"),
    "linearize": ("q", "v", "tau"),
}


@pytest.mark.parametrize("name", WITH_LOOPS)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_with_loops_every_array_is_finite(name, batch):
    function, rng = getattr(mz, name), np.random.default_rng(6)
    model = CLOSED
    q = model.random_configuration(rng, batch)
    v = mz.consistent_velocities(model, q, rng.normal(size=(*batch, model.nv)))
    shapes = {"wrenches": (*batch, model.nb, 6)}
    good = {n: rng.normal(size=shapes.get(n, (*batch, model.nv))) for n in WITH_LOOPS[name]}
    good |= {"q": q} | ({"v": v} if "v" in good else {})
    options = {"dt": 0.01, "method": "semi_implicit"} if name == "linearize" else {}
    function(model, **good, **options)
    for argument in good:
        bad = {n: x.copy() for n, x in good.items()}
        bad[argument][..., -1] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ConfigurationError, match=f"{name}: {argument}"):
                function(model, **bad, **options)


def test_a_false_alarm_is_no_error():
    """Numbers whose products are not finite are finite."""
    q, v = MODEL.neutral(), np.full(MODEL.nv, 1e200)
    with np.errstate(all="ignore"):
        mz.kinetic_energy(MODEL, q, v)
        assert np.isfinite(mz.mass_matrix(MODEL, q)).all()


def test_what_rounding_does_passes():
    """Off by less than 1e-6: the same law as check_configuration has, from both sides."""
    q = MODEL.random_configuration(1)
    for factor in (1 + 0.99e-6, 1 - 0.99e-6, np.float32(1)):
        x = q.copy()
        x[3:7] *= factor
        MODEL.check_configuration(x)
        mz.mass_matrix(MODEL, x)
    mz.mass_matrix(MODEL, q.astype(np.float32))
    q[3:7] *= 1 + 1.01e-6
    with pytest.raises(ConfigurationError):
        mz.mass_matrix(MODEL, q)


@pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 9, 64, 5000])
def test_every_sample_is_looked_at(count):
    """Whole and broken vectors, slices of threads, broadcast and strided arrays."""
    rng = np.random.default_rng(count)
    v = rng.normal(size=(count, MODEL.nv))
    q = MODEL.random_configuration(rng, count)
    mz.inverse_dynamics(MODEL, q, v, v)
    for sample in {0, count // 2, count - 1}:
        wide = np.zeros((count, 2 * MODEL.nq))[:, ::2]
        wide[:] = q
        wide[sample, 9] = np.nan
        for x in (wide, np.ascontiguousarray(wide)):
            with pytest.raises(ConfigurationError, match=rf"sample \[{sample}\]"):
                mz.inverse_dynamics(MODEL, x, v, v)
    one = q[0].copy()
    one[3:7] *= -1.1
    with pytest.raises(ConfigurationError, match=r"length 1\.1"):
        mz.inverse_dynamics(MODEL, one, v, v)


def test_with_loops_it_is_the_same():
    q = CLOSED.random_configuration(2, 5)
    v = mz.consistent_velocities(CLOSED, q, np.ones((5, CLOSED.nv)))
    for name in ("forward_dynamics", "inverse_dynamics", "forward_dynamics_derivatives"):
        getattr(mz, name)(CLOSED, q, v, v)
        bad = q.copy()
        bad[3, 3:7] *= 1.5
        with pytest.raises(ConfigurationError, match=rf"{name}: q: .*1.5 in sample \[3\]"):
            getattr(mz, name)(CLOSED, bad, v, v)


def test_it_can_be_switched_off():
    q = MODEL.random_configuration(3)
    q[3:7] *= 2.0
    try:
        mz.set_checks(False)
        assert np.isfinite(mz.mass_matrix(MODEL, q)).all()
        assert np.isnan(mz.mass_matrix(MODEL, q * np.nan)).any()
    finally:
        mz.set_checks(True)
    with pytest.raises(ConfigurationError):
        mz.mass_matrix(MODEL, q)


def test_trust_is_for_one_thread():
    q = MODEL.random_configuration(3)
    q[3:7] *= 2.0
    found: list[Exception] = []

    def other() -> None:
        try:
            mz.mass_matrix(MODEL, q)
        except ConfigurationError as error:
            found.append(error)

    with unchecked():
        mz.mass_matrix(MODEL, q)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(found) == 1


def test_kernels_do_not_look():
    q = MODEL.random_configuration(4)
    q[3:7] *= 2.0
    kernel = mz.compile(mz.mass_matrix, MODEL)
    assert kernel(q).shape == (MODEL.nv, MODEL.nv)
    mz.set_checks(False)
    try:
        np.testing.assert_array_equal(kernel(q), mz.mass_matrix(MODEL, q))
    finally:
        mz.set_checks(True)


def test_a_right_call_gives_the_same_numbers():
    """To the last bit, watched or not."""
    rng = np.random.default_rng(5)
    q, v = MODEL.random_configuration(rng, 37), rng.normal(size=(37, MODEL.nv))
    kernel = mz.compile(mz.forward_dynamics, MODEL)
    np.testing.assert_array_equal(mz.forward_dynamics(MODEL, q, v, v), kernel(q, v, v))


def test_a_diverged_motion_still_has_its_energy():
    """NaN behind the last finite record is what a trajectory holds, and no mistake of its owner."""
    model = Builder().add("a", None, Free(), body(1.0)).build()
    q, v = model.neutral(), np.array([[1.0, 0, 0, 0, 0, 0], [1e30, 1e30, 0, 0, 0, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = mz.simulate(model, q, v, 1.0, 0.01)
        assert motion.diverged
        assert np.isfinite(motion.energy()[0]).all()


@pytest.mark.parametrize("where", [0, 7, 8, 150, 295, 299])
@pytest.mark.parametrize("argument", [0, 1, 2])
def test_many_numbers_are_looked_at_in_a_loop(where: int, argument: int):
    """Every one of them, of every sample."""
    model = chain(300)
    q, v, a = np.zeros((3, 3, 300))
    mz.inverse_dynamics(model, q, v, a)
    (q, v, a)[argument][2, where] = np.inf if where % 2 else np.nan
    with pytest.raises(mz.ConfigurationError, match=r"in sample \[2\]"):
        mz.inverse_dynamics(model, q, v, a)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "name", ["kinetic_energy", "integrate", "difference", "inverse_dynamics", "forward_dynamics",
             "mass_matrix", "pose"]
)  # fmt: skip
def test_every_number_is_looked_at(name, dtype):
    """NaN and infinity at every place of every argument, whether it or a result is looked at."""
    function = getattr(mz, name)
    options = {"frame": "tip"} if name == "pose" else {}
    given = arguments(MODEL, function, (9,), np.random.default_rng(3))
    given = {k: x.astype(dtype) for k, x in given.items()}
    function(MODEL, **given, **options)
    for argument, x in given.items():
        for place in np.ndindex(*x.shape[1:]):
            for bad in (np.nan, np.inf, -np.inf):
                wrong = x.copy()
                wrong[(5, *place)] = bad
                with pytest.raises(ConfigurationError, match=f"{argument}"):
                    function(MODEL, **given | {argument: wrong}, **options)


@pytest.mark.parametrize("name", ["integrate", "mass_matrix"])  # by a short body, by the loop
@pytest.mark.parametrize("place", [3, SOCKET])
def test_every_quaternion_has_length_1_within_1e_6(name, place):
    """To both sides; several that are nearly off are no mistake."""
    function = getattr(mz, name)
    given = arguments(MODEL, function, (9,), np.random.default_rng(3))
    near = given["q"].copy()
    for quaternion in (3, SOCKET):
        near[:, quaternion : quaternion + 4] *= 1.0 + 0.9e-6
    function(MODEL, **{**given, "q": near})
    for length in (1.0 - 1.1e-6, 1.0 + 1.1e-6, 0.0, 2.0):
        for sample in (0, 7, 8):
            wrong = given["q"].copy()
            wrong[sample, place : place + 4] *= length
            with pytest.raises(ConfigurationError, match=rf"in sample \[{sample}\]"):
                function(MODEL, **{**given, "q": wrong})
