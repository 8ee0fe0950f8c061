"""Kernels of the CPU target against the interpreter, and as citizens of NumPy."""

import ctypes
import mmap
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from program.rolled import ROLLED, powers
from targets.cpu.machines import MACHINES, older
from targets.kernels import DTYPES, WIDTHS, arguments, check, random_program

import mozzi as mz
from mozzi.model import generate
from mozzi.program.program import Buffer, Input, load, loop, store, trace
from mozzi.program.scalar import maximum, minimum, select, sqrt
from mozzi.targets.cpu.build import compile_cpu, module_text

# -- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_compute_what_the_interpreter_computes(seed, dtype):
    program = random_program(seed)
    check(compile_cpu(program, dtype), program, arguments(program, (21,), dtype, seed))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROLLED)
def test_rolled_programs_compute_what_the_interpreter_computes(name, dtype):
    program = ROLLED[name]().program
    check(compile_cpu(program, dtype), program, arguments(program, (21,), dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_of_steps_given_at_run_time(dtype):
    x = np.linspace(0.5, 1.5, 19).astype(dtype)
    kernel = compile_cpu(powers(), dtype)
    for count in (0, 1, 7):
        np.testing.assert_allclose(kernel(x, np.array(count, dtype)), x**count, rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_operations_are_those_of_numpy_bit_by_bit(dtype):
    def function(a, b):
        return (
            a + b, a - b, a * b, a / b, -a, sqrt(a * a), minimum(a, b), maximum(a, b),
            select(a < b, a, b), select(a <= b, b, a),
        )  # fmt: skip

    kernel = compile_cpu(trace(function, [Input("a", ()), Input("b", ())]), dtype)
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-310, 3e38]
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        a = np.array([*special, *rng.normal(size=20)]).astype(dtype)
        a, b = (x.ravel() for x in np.meshgrid(a, a))
        want = (
            a + b, a - b, a * b, a / b, -a, np.sqrt(a * a), np.where(a <= b, a, b),
            np.where(a >= b, a, b), np.where(a < b, a, b), np.where(a <= b, b, a),
        )  # fmt: skip
        found = kernel(a, b)
    for x, y in zip(found, want, strict=True):
        np.testing.assert_array_equal(x, y)
        sure = ~np.isnan(y)
        np.testing.assert_array_equal(np.signbit(x[sure]), np.signbit(y[sure]))


def test_conditions_may_be_chosen_and_counted():
    def function(a, b, c):
        either = select(a < b, b < c, a < c)
        return select(either, 1.0, -1.0), either * 2.0, either, select(a, b, c)

    program = trace(function, [Input(n, ()) for n in "abc"])
    args = list(np.random.default_rng(0).normal(size=(3, 50)).round())
    check(compile_cpu(program), program, args)


@pytest.mark.parametrize(
    ("dtype", "lanes"), [(t, n) for t, widths in WIDTHS.items() for n in widths]
)
def test_vectors_of_other_widths(dtype, lanes):
    program = random_program(5)
    kernel = compile_cpu(program, dtype, lanes=lanes)
    for size in (1, lanes - 1, lanes, 2 * lanes + 1):
        check(kernel, program, arguments(program, (size,), dtype))
    with pytest.raises(ValueError, match="vectors hold"):
        compile_cpu(program, dtype, lanes=3)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_older_machines(machine, dtype, monkeypatch):
    """The code for machines with less than this one, on this one."""
    older(machine, monkeypatch)
    program = random_program(6)
    kernel = compile_cpu(program, dtype)
    assert kernel.entry.lanes == MACHINES[machine][1] // kernel.dtype.itemsize
    check(kernel, program, arguments(program, (21,), dtype))


# -- batches -----------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=DTYPES)
def case(request):
    program = random_program(7)
    return compile_cpu(program, request.param), program


def test_every_batch_size_and_bitwise_the_same_everywhere(case):
    """A sample's result does not depend on the batch it sits in, nor on its place there."""
    kernel, program = case
    W = kernel.entry.lanes
    args = arguments(program, (1000,), kernel.dtype.name)
    alone = [np.stack(x) for x in zip(*(kernel(*(a[k] for a in args)) for k in range(1000)))]
    for size in (0, 1, W - 1, W, W + 1, 3 * W + 5, 1000):
        for start in (0, 3):
            found = kernel(*(a[start : start + size] for a in args))
            for x, y in zip(found, alone, strict=True):
                np.testing.assert_array_equal(x, y[start : start + size])


def test_bad_lanes_leave_the_others_alone(case):
    kernel, program = case
    args = arguments(program, (64,), kernel.dtype.name)
    want = kernel(*args)
    args[0] = args[0].copy()
    args[0][5::8] = np.nan
    args[0][7::8] = 1e30  # the slow path of sin and cos
    keep = np.delete(np.arange(64), np.r_[np.arange(5, 64, 8), np.arange(7, 64, 8)])
    with np.errstate(all="ignore"):
        found = kernel(*args)
    for x, y in zip(found, want, strict=True):
        np.testing.assert_array_equal(x[keep], y[keep])


@pytest.mark.parametrize(
    "batches",
    [((), (4,), ()), ((4,), (1,), (4,)), ((3, 1), (4,), ()), ((2, 3, 4), (3, 1), (4,)),
     ((0,), (), ()), ((5, 0), (1,), (5, 1)), ((1, 1), (), (1,)), ((40, 1), (1, 30), ())],
    ids=str,
)  # fmt: skip
def test_leading_axes_broadcast(case, batches):
    kernel, program = case
    rng = np.random.default_rng(1)
    args = [
        rng.uniform(-2, 2, batch + x.shape).astype(kernel.dtype)
        for batch, x in zip(batches, program.inputs, strict=True)
    ]
    shape = np.broadcast_shapes(*batches)
    full = [
        np.broadcast_to(a, shape + x.shape).copy()
        for a, x in zip(args, program.inputs, strict=True)
    ]
    for x, y in zip(kernel(*args), kernel(*full), strict=True):
        np.testing.assert_array_equal(x, y)
        assert np.shape(x)[: len(shape)] == shape


def test_any_strides(case):
    kernel, program = case
    plain = arguments(program, (53,), kernel.dtype.name)
    want = kernel(*plain)

    def sparse(a):
        wide = np.full(tuple(2 * n for n in a.shape), np.nan, a.dtype)
        wide[tuple(slice(None, None, 2) for _ in a.shape)] = a
        return wide[tuple(slice(None, None, 2) for _ in a.shape)]

    def misaligned(a):
        raw = np.empty(a.nbytes + 1, np.uint8)
        view = raw[1:].view(a.dtype).reshape(a.shape)
        view[...] = a
        return view

    def record(a):
        fields = np.zeros(len(a), [("before", "i1"), ("a", a.dtype, a.shape[1:])])
        fields["a"] = a
        return fields["a"]

    def read_only(a):
        a = a.copy()
        a.flags.writeable = False
        return a

    ways = {
        "sparse": sparse, "fortran": np.asfortranarray, "misaligned": misaligned, "record": record,
        "read-only": read_only, "swapped": lambda a: a.astype(a.dtype.newbyteorder()),
        "core reversed": lambda a: a[..., ::-1].copy()[..., ::-1] if a.ndim > 1 else a,
    }  # fmt: skip
    for name, way in ways.items():
        for x, y in zip(kernel(*map(way, plain)), want, strict=True):
            np.testing.assert_array_equal(x, y, err_msg=name)
    for x, y in zip(kernel(*(a[::-1] for a in plain)), want, strict=True):
        np.testing.assert_array_equal(x, y[::-1])
    for x, y in zip(kernel(*(way(a)[3] for a in plain for way in [sparse])), want, strict=True):
        np.testing.assert_array_equal(x, y[3])


def test_results_go_where_out_says(case):
    kernel, program = case
    args = arguments(program, (29,), kernel.dtype.name)
    want = kernel(*args)
    places = [np.full((29, 2, *x.shape), 7.0, kernel.dtype) for x in program.outputs]
    outs = tuple(x[:, 1] for x in places)
    found = kernel(*args, out=outs)
    for x, y, z, place in zip(found, outs, want, places, strict=True):
        assert x is y
        np.testing.assert_array_equal(y, z)
        assert np.all(place[:, 0] == 7.0)
    for ways in (lambda x: np.asfortranarray(x), lambda x: np.empty(x.shape, x.dtype)[::-1]):
        outs = tuple(ways(np.empty_like(x)) for x in want)
        for x, y in zip(kernel(*args, out=outs), want, strict=True):
            np.testing.assert_array_equal(x, y)


def test_results_may_replace_arguments():
    kernel = compile_cpu(trace(lambda x: x[::-1] * 2.0, [Input("x", (3,))]))
    x = np.arange(60.0).reshape(20, 3)
    want = x[:, ::-1] * 2
    assert kernel(x, out=x) is x
    np.testing.assert_array_equal(x, want)
    y = np.arange(63.0)
    one, two = y[:60].reshape(20, 3), y[3:].reshape(20, 3)
    want = one[:, ::-1] * 2
    np.testing.assert_array_equal(kernel(one, out=two), want)


@pytest.mark.skipif(sys.platform != "linux", reason="guard pages by mprotect")
@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_outside_is_touched(dtype):
    """Arrays that end where memory ends: a read or write behind them would end the process."""
    kernel = compile_cpu(
        trace(lambda x, s: (x * s, s + 1.0), [Input("x", (7,)), Input("s", ())]), dtype
    )
    libc = ctypes.CDLL(None, use_errno=True)
    page = mmap.PAGESIZE

    def guarded(shape):
        size = int(np.prod(shape)) * kernel.dtype.itemsize
        pages = -(-size // page) + 2
        memory = mmap.mmap(-1, pages * page)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for edge in (base, base + (pages - 1) * page):
            assert libc.mprotect(ctypes.c_void_p(edge), page, 0) == 0
        end = (pages - 1) * page
        back = np.frombuffer(memory, kernel.dtype, int(np.prod(shape)), end - size).reshape(shape)
        front = np.frombuffer(memory, kernel.dtype, int(np.prod(shape)), page).reshape(shape)
        return back, front

    for n in (1, 2, 7, 8, 9, 15, 16, 17, 33):
        for side in (0, 1):
            x, s = guarded((n, 7))[side], guarded((n,))[side]
            outs = guarded((n, 7))[side], guarded((n,))[side]
            x[...], s[...] = np.arange(7 * n).reshape(n, 7), 2.0
            kernel(x, s, out=outs)
            np.testing.assert_array_equal(outs[0], 2 * x)
            kernel(x[:, ::-1], s, out=outs)
            np.testing.assert_array_equal(outs[0], 2 * x[:, ::-1])


# -- a citizen of NumPy ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kernel():
    return compile_cpu(
        trace(lambda q, v: (q + v, q[0] * v[0]), [Input("q", (3,)), Input("v", (3,))])
    )


def test_it_is_a_generalised_ufunc(kernel):
    assert isinstance(kernel.ufunc, np.ufunc)
    assert kernel.ufunc.signature == "(3),(3)->(3),()"
    assert kernel.ufunc.types == ["dd->dd"]
    assert kernel.operations == {"additions": 3, "multiplications": 1}
    assert kernel.flops == 4
    assert [x.name for x in kernel.inputs] == ["q", "v"]
    assert [x.shape for x in kernel.outputs] == [(3,), ()]
    assert "define" in kernel.source and "kernel" in kernel.assembly
    assert "CpuKernel" in repr(kernel)


def test_errors_of_shape_are_those_of_numpy(kernel):
    for q, v in [
        (np.zeros(4), np.zeros(3)), (np.zeros((5, 3)), np.zeros((4, 3))),
        (np.zeros(3), 1.0), (np.zeros((200000, 4)), np.zeros((200000, 3))),
        (np.zeros((300000, 3)), np.zeros((200000, 3))),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=r"has shape|broadcast"):
            kernel(q, v)
    with pytest.raises(ValueError):
        kernel(np.zeros((5, 3)), np.zeros(3), out=(np.zeros((4, 3)), np.zeros(5)))
    with pytest.raises(TypeError):
        kernel(np.zeros(3))
    with pytest.raises(TypeError):
        kernel(np.zeros(3), np.zeros(3, complex))
    with pytest.raises(ValueError, match="float64 or float32"):
        compile_cpu(trace(lambda x: x, [Input("x", ())]), "float16")
    read_only = np.zeros((2, 3))
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        kernel(np.zeros((2, 3)), np.zeros(3), out=(read_only, np.zeros(2)))


def test_arrays_that_cannot_take_results_are_named(kernel):
    q, v, fits = np.zeros((5, 3)), np.zeros(3), (np.zeros((5, 3)), np.zeros(5))
    frozen = np.zeros((5, 3))
    frozen.flags.writeable = False
    for out, kind, words in (
        ((frozen, None), mz.ConfigurationError, r"out\[0\] is read-only; .* np.empty\(\(5, 3\)\)"),
        ((np.zeros((4, 3)), None), mz.ShapeError, r"out\[0\] has shape \(4, 3\); .* \(5, 3\)"),
        ((None, np.zeros(4)), mz.ShapeError, r"out\[1\] has shape \(4,\); .* \(5,\)"),
        ((None, np.zeros(())), mz.ShapeError, r"out\[1\] has shape \(\); .* \(5,\)"),
        ((np.zeros((5, 2)), None), mz.ShapeError, r"out\[0\] has shape \(5, 2\)"),
        (fits[:1], mz.ConfigurationError, "out is for 1 of 2 results; give a tuple"),
        (fits[0], mz.ConfigurationError, "out is for 1 of 2 results; give a tuple"),
        ((None, "here"), mz.KindError, "out is 'here'"),
        ((None, np.zeros(5, int)), mz.KindError, r"the type of out\[1\] is 'int64'; give float64"),
    ):
        with pytest.raises(kind, match=words):
            kernel(q, v, out=out)
    for given, back in zip(fits, kernel(q, v, out=fits), strict=True):
        assert back is given
    wide = np.full((2, 5, 3), np.nan)  # NumPy's rule: a larger batch takes the results again
    np.testing.assert_array_equal(kernel(q, v, out=(wide, None))[0][1], kernel(q, v)[0])


def test_what_it_takes(kernel):
    want = np.array([5.0, 7.0, 9.0])
    q, v = [1, 2, 3], (4.0, 5.0, 6.0)
    np.testing.assert_array_equal(kernel(q, v)[0], want)
    for dtype in ("float32", "int64", "uint8", "bool"):
        array = np.ones(3, dtype)
        np.testing.assert_array_equal(kernel(array, v)[0], np.add(v, 1))
    single = compile_cpu(trace(lambda x: x * 2.0, [Input("x", (3,))]), "float32")
    for x in ([1, 2, 3], np.arange(3.0), np.arange(3), np.arange(3, dtype="float32")):
        assert single(x).dtype == np.float32
        np.testing.assert_array_equal(single(x), np.multiply(x, 2))
    assert type(kernel(np.zeros(3), np.zeros(3))[1]) is np.float64
    assert isinstance(compile_cpu(trace(lambda x: (x,), [Input("x", (2,))]))(np.zeros(2)), tuple)
    outs = np.zeros(3), np.zeros(())
    found = kernel(np.ones(3), np.ones(3), *outs)
    assert found[0] is outs[0] and outs[0][1] == 2.0

    class Array(np.ndarray):
        pass

    np.testing.assert_array_equal(kernel(np.ones(3).view(Array), np.ones(3))[0], 2.0)


def test_python_numbers_are_taken_as_they_are():
    """Where an argument has no axes: floats and integers, beside arrays and batches."""
    shapes = [Input("x", (3,)), Input("a", ()), Input("b", ())]
    kernel = compile_cpu(trace(lambda x, a, b: (a * x + b, a - b), shapes), "float64")
    x = np.array([1.0, 2.0, 4.0])
    for a, b in ((0.5, -3.0), (2, -1), (-1, 2**60), (True, np.float64(0.1)), (10**15, np.int8(3))):
        for given in (x, np.tile(x, (5, 1))):
            found = kernel(given, a, b)
            np.testing.assert_array_equal(found[0], float(a) * given + float(b))
            np.testing.assert_array_equal(found[1], np.full(given.shape[:-1], float(a) - float(b)))
    for bad in (10**400, None, "1", 1j):
        with pytest.raises((TypeError, ValueError)):
            kernel(x, 1.0, bad)
    single = compile_cpu(trace(lambda x, a: a * x, shapes[:2]), "float32")
    np.testing.assert_array_equal(single(x.astype("f4"), 3), 3 * x)


def test_flags_of_values_that_are_not_chosen_warn_nobody():
    """Both sides of a select are computed; infinities and NaN are values."""
    kernel = compile_cpu(trace(lambda x: select(x < 0.5, 1.0 / x, sqrt(x)), [Input("x", ())]))
    x = np.array([0.0, 0.25, 4.0, -1.0, np.inf, np.nan])
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(kernel(x), [np.inf, 4, 2, -1, np.inf, np.nan])
        assert kernel(x[0]) == np.inf
        with pytest.raises(FloatingPointError):
            np.divide(1.0, x)  # NumPy's own flags still work


def test_arguments_and_results_without_elements():
    inputs = [Input("q", (0,)), Input("v", (2,))]
    kernel = compile_cpu(trace(lambda q, v: (q, v * 2.0), inputs))
    q, v = kernel(np.zeros((4, 1, 0)), np.ones((3, 2)))
    assert q.shape == (4, 3, 0) and v.shape == (4, 3, 2) and np.all(v == 2.0)
    with pytest.raises(ValueError, match="q has shape"):
        kernel(np.zeros((4, 1)), np.ones((4, 2)))
    with pytest.raises(TypeError, match="takes the arrays"):
        kernel(np.zeros((4, 0)))
    constant = compile_cpu(trace(lambda q: (q, np.array([1.0, 2.0])), inputs[:1]))
    np.testing.assert_array_equal(constant(np.zeros((3, 0)))[1], [[1.0, 2.0]] * 3)
    np.testing.assert_array_equal(
        compile_cpu(trace(lambda: np.array([1.0, 2.0]), []))(), [1.0, 2.0]
    )


def test_the_gil_is_released():
    """Python goes on in this thread while another one is inside a kernel."""

    def function(x):
        total = Buffer("total", 1, "scratch")
        for _ in loop(0, 20000):
            store(total, None, 0, 0, load(total, None, 0, 0) * 0.5 + x)
        return load(total, None, 0, 0)

    kernel = compile_cpu(trace(function, [Input("x", ())]))
    x = np.ones(8000)
    start = time.perf_counter()
    kernel.ufunc(x)
    alone = time.perf_counter() - start
    worker = threading.Thread(target=kernel.ufunc, args=(x,))
    worker.start()
    longest, last = 0.0, time.perf_counter()
    while worker.is_alive():
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    assert longest < 0.7 * alone


def test_no_memory_is_leaked_per_call(kernel):
    import tracemalloc

    q = np.ones((5, 3))
    one = np.ones(3)
    kernel(q, q), kernel(one, one)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(2000):
        kernel(q, q)
        kernel(one, one)
        kernel([1, 2, 3], one)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000


def test_references_survive_many_calls(kernel):
    one, dtype = np.ones(3), np.dtype("float64")
    before = sys.getrefcount(one), sys.getrefcount(dtype)
    results = [kernel(one, one) for _ in range(100)]
    assert sys.getrefcount(one) == before[0]
    del results
    assert abs(sys.getrefcount(dtype) - before[1]) < 5


def test_a_ufunc_outlives_its_kernel():
    import gc

    ufunc = compile_cpu(trace(lambda x: x * 3.0, [Input("x", (3,))])).ufunc
    call = compile_cpu(trace(lambda x: x * 5.0, [Input("x", (3,))])).__call__
    gc.collect()
    np.testing.assert_array_equal(ufunc(np.ones((4, 3))), 3.0)
    np.testing.assert_array_equal(call(np.ones(3)), 5.0)
    np.testing.assert_array_equal(call(np.ones((2, 3))), 5.0)


def test_llvm_is_loaded_only_when_a_kernel_is_made():
    code = "import sys, mozzi.targets.cpu.kernel; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_llvmlite_is_named():
    code = (
        "import sys; sys.modules['llvmlite'] = sys.modules['llvmlite.binding'] = None\n"
        "from mozzi.errors import ExtraMissingError\n"
        "from mozzi.program.program import Input, trace\n"
        "from mozzi.targets.cpu.build import compile_cpu\n"
        "try: compile_cpu(trace(lambda x: x, [Input('x', ())]))\n"
        "except ExtraMissingError as error: sys.exit('pip install llvmlite' not in str(error))\n"
        "sys.exit(3)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_text_of_a_program_is_deterministic():
    texts = {module_text(random_program(3), "float64", 8) for _ in range(2)}
    assert len(texts) == 1


def test_a_kernel_tells_what_its_ufunc_tells():
    kernel = compile_cpu(trace(lambda q, v: q * v, [Input("q", (3,)), Input("v", (3,))], "product"))
    assert (kernel.signature, kernel.nin, kernel.nout) == ("(3),(3)->(3)", 2, 1)
    assert kernel.types == kernel.ufunc.types
    with pytest.raises(AttributeError, match="reduce"):
        _ = kernel.reduce


@pytest.mark.parametrize("count", [0, 1, 2, 4, 6])
def test_a_wrong_number_of_arguments_is_told_with_their_names(count: int):
    """The model is none of them, although algorithms take it."""
    model = generate.chain(3)
    kernel = mz.compile(mz.inverse_dynamics, model)
    with pytest.raises(TypeError, match=rf"the arrays \(q, v, a\) by position, and {count} were"):
        kernel(*[model, *[np.zeros(3)] * 5][:count])
