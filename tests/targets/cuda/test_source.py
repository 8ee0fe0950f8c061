"""The CUDA target without a GPU: its text compiles for one, and means what the interpreter does."""

import ctypes
import re
import shutil
import subprocess

import mpmath
import numpy as np
import pytest
from program.rolled import ROLLED, arguments
from support.cases import first
from support.contact_models import ball
from targets.cuda.shim import COMPILER, SHIM, Shim, build

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.errors import ExtraMissingError
from mozzi.model.generate import chain, four_bar, n_four_bar, tree
from mozzi.program.meaning import interpret
from mozzi.program.passes import prune
from mozzi.program.program import Address, Buffer, Input, load, loop, store, trace
from mozzi.simulation.kernels import advance_kernel
from mozzi.simulation.methods import DormandPrince, GeneralizedAlpha
from mozzi.simulation.methods.dormand_prince import attempt_kernel
from mozzi.simulation.place import Place
from mozzi.simulation.system import System
from mozzi.targets.cuda.launch import Report, choose
from mozzi.targets.cuda.math import CALM, PRELUDE
from mozzi.targets.cuda.source import CudaSource

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")
NVCC = shutil.which("nvcc")
DTYPES = ("float64", "float32")
KINDS = [("float64", False), ("float32", True)]
FUNCTIONS = [
    mz.forward_kinematics, mz.twists, mz.inverse_dynamics, mz.forward_dynamics, mz.mass_matrix,
    mz.mass_matrix_inverse, mz.coriolis_matrix, mz.kinetic_energy, mz.momentum,
    mz.inverse_dynamics_derivatives, mz.forward_dynamics_derivatives,
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "rolled"), KINDS)
@pytest.mark.parametrize("function", first(5, FUNCTIONS), ids=lambda f: f.__name__)
def test_the_text_compiles_for_a_gpu(tmp_path, function, dtype, rolled):
    program = program_of(function, tree(5, seed=1), rolled=rolled)
    compiles(tmp_path, CudaSource(program, dtype, packed=rolled).text)


@pytest.mark.parametrize("dtype", DTYPES)
def test_loops_and_simulations_compile_for_a_gpu(tmp_path, dtype):
    model, place = four_bar(), Place("cuda", dtype)
    system = System(model)
    for kernel in (
        mz.compile(mz.forward_dynamics, model, target="cuda", dtype=dtype),
        advance_kernel(GeneralizedAlpha(), system, {}, place),
        attempt_kernel(DormandPrince(), system, {}, place),
    ):
        compiles(tmp_path, kernel.source)


def compiles(tmp_path, text):
    """To PTX, by nvcc, or by the NVRTC that comes with CuPy, which needs no GPU."""
    if NVCC is not None:
        (tmp_path / "kernel.cu").write_text(text)
        words = [NVCC, "-std=c++17", "-arch=sm_90", "-ptx", "kernel.cu", "-o", "kernel.ptx"]
        run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert ".entry kernel" in (tmp_path / "kernel.ptx").read_text()
        return
    nvrtc = pytest.importorskip(
        "cupy_backends.cuda.libs.nvrtc", reason="neither nvcc nor CuPy's NVRTC on this machine"
    )
    program = nvrtc.createProgram(text, "kernel.cu", (), ())
    nvrtc.compileProgram(program, ("--std=c++17", "--gpu-architecture=compute_90"))
    assert ".entry kernel" in nvrtc.getPTX(program).decode()


def inputs_of(model, names, n=37):
    from mozzi.algorithms.calls.arguments import shape_of

    rng = np.random.default_rng(0)
    return [
        model.random_configuration(rng, batch=(n,))
        if name == "q"
        else rng.normal(size=(n, *shape_of(name, model)))
        for name in names
    ]


@needs_compiler
@pytest.mark.parametrize(
    ("dtype", "rolled", "packed"),
    [("float64", False, True), ("float32", True, False), ("float64", True, True)],
)
@pytest.mark.parametrize("function", first(3, FUNCTIONS[::2]), ids=lambda f: f.__name__)
def test_the_text_means_what_the_interpreter_does(tmp_path, function, dtype, rolled, packed):
    model = tree(5, seed=1)
    program = program_of(function, model, rolled=rolled)
    args = inputs_of(model, function.required)
    exact = mz.compile(function, model, target="interpret")(*args)
    found = Shim(tmp_path, program, dtype, packed)(*args)
    for y, x in zip(found, exact if isinstance(exact, tuple) else (exact,), strict=True):
        error = np.max(np.abs(y - x)) / np.max(np.abs(x))
        assert error < (1e-12 if dtype == "float64" else 1e-4)


@needs_compiler
@pytest.mark.parametrize("block", [32, 64, 256])
def test_blocks_of_any_size_write_the_same_rows(tmp_path, block):
    """Long rows of results go through shared memory, which is as large as a block needs."""
    model = tree(5, seed=1)
    (q,) = inputs_of(model, ("q",), 300)
    program = program_of(mz.mass_matrix, model)
    shim = Shim(tmp_path, program, "float64", True, block)
    source = CudaSource(program, "float64", True, 3)
    assert "__launch_bounds__(128, 3)" in source.text and source.shared == 33 * 8
    np.testing.assert_allclose(shim(q)[0], mz.mass_matrix(model, q), rtol=1e-12, atol=1e-14)


class Compiled:
    """Code that takes so many registers; with fewer it keeps so many bytes each in memory."""

    def __init__(self, resident, registers, local, each):
        fewer = min(registers, 65536 // (128 * resident) // 8 * 8) if resident else registers
        self.resident, self.registers = resident, fewer
        self.local = local + each * (registers - fewer)

    def report(self, block):
        blocks = 65536 // (block * self.registers)
        return Report(block, blocks, block * blocks / 2048, self.registers, self.local, 0)


@pytest.mark.parametrize(
    ("registers", "local", "each", "large", "made", "taken", "block"),
    [
        (64, 32, 4, False, [0], 0, 128),  # enough threads
        (116, 32, 0, False, [0, 5], 5, 128),  # more of them at no cost, now enough
        (240, 32, 0, False, [0, 3], 3, 64),  # more of them at no cost, still few
        (220, 40, 4, False, [0, 3], 0, 64),  # more of them would spill
        (255, 1600, 3, False, [0, 3], 3, 128),  # spills anyway, but works in memory
        (255, 1600, 3, True, [0], 0, 128),  # compiled once
    ],
)
def test_the_launch_follows_the_report(registers, local, each, large, made, taken, block):
    found = []

    def make(resident):
        found.append(Compiled(resident, registers, local, each))
        return found[-1]

    code, threads = choose(make, large)
    assert (code.resident, threads) == (taken, block)
    assert [x.resident for x in found] == made


@pytest.mark.parametrize("large", [True, False])
def test_a_compiler_that_takes_few_registers_is_told_to_take_more(large):
    """32 registers and 15 kB of memory is what ptxas makes of some programs if left alone."""
    codes = {0: Compiled(0, 32, 15000, 0), 1: Compiled(0, 255, 5000, 0)}
    assert choose(codes.__getitem__, large) == (codes[1], 128)


def test_arguments_are_read_before_the_first_branch_where_registers_suffice():
    """No load passes the branch at a sine: rows of five four-bars waited for each by itself."""
    text = CudaSource(program_of(mz.forward_dynamics, n_four_bar(5)), "float32").text
    lines = text[text.index("void evaluate(") :].splitlines()
    read = [n for n, line in enumerate(lines) if re.match(r"  T v\d+ = in\d\(", line)]
    assert len(read) == 33
    assert max(read) < min(n for n, line in enumerate(lines) if "sincos(" in line)


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
def test_loops_of_any_rank(tmp_path, dtype):
    """Three of the five rows of a four-bar depend on the others, in either precision."""
    model = four_bar()
    rng = np.random.default_rng(0)
    q = mz.assemble(model, np.array([0.7, 0.3, 0.4]) + 0.05 * rng.normal(size=(9, 3)))
    v = mz.consistent_velocities(model, q, rng.normal(size=(9, 3)))
    tau = rng.normal(size=(9, 3))
    program = mz.compile(mz.forward_dynamics, model, target="cuda", dtype=dtype).program
    found = Shim(tmp_path, program, dtype)(q, v, tau)[0]
    exact = mz.forward_dynamics(model, q, v, tau)
    assert np.max(np.abs(found - exact)) < (1e-10 if dtype == "float64" else 1e-3)


@needs_compiler
@pytest.mark.parametrize("name", ROLLED)
def test_every_construct_of_rolled_programs(tmp_path, name):
    program = ROLLED[name]().program
    numbers = arguments(program, 3)
    exact = interpret(program, [list(x) for x in numbers])
    rows = [np.stack([x, x]).reshape(2, *i.shape) for x, i in zip(numbers, program.inputs)]
    found = Shim(tmp_path, program, "float64")(*rows)
    for y, x in zip(found, exact, strict=True):
        np.testing.assert_allclose(y.reshape(2, -1)[1], np.array(x, float), rtol=1e-13, atol=1e-13)


@needs_compiler
def test_memory_that_is_two_results(tmp_path):
    """A function that returns the same array twice, of a program with loops."""
    model = chain(3)

    def twice(q, v, tau):
        a = mz.forward_dynamics(model, q, v, tau)
        return a, a

    program = program_of(twice, model, inputs=dict.fromkeys(("q", "v", "tau"), (3,)), rolled=True)
    given = np.random.default_rng(0).normal(size=(3, 5, 3))
    for y in Shim(tmp_path, program, "float64")(*given):
        assert y == pytest.approx(mz.forward_dynamics(model, *given), rel=1e-12)


@needs_compiler
def test_memory_that_ends_a_loop_is_a_result(tmp_path):
    """Read by nothing but the loop's condition: the last turn is that which stores zero."""

    def function(x):
        going = Buffer("going", 1, "scratch")
        store(going, None, 0, 0, 1.0)
        for _, k in loop(0, 4, going=Address(going, None, 0, 0)):
            store(going, None, 0, 0, load(Buffer("x", 4, "input", position=0), k, 1, 0))
        return load(going, None, 0, 0)

    program = prune(trace(function, [Input("x", (4,))]))
    x = np.array([[3.0, 2.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]])
    assert Shim(tmp_path, program, "float64")(x)[0].ravel().tolist() == [0.0, 4.0]


@needs_compiler
def test_any_strides_are_read_in_place(tmp_path):
    """(n, N) arrays, every other row, and one row for all samples."""
    model = chain(3, seed=1)
    q, v, a = inputs_of(model, ("q", "v", "a"))
    kernel = Shim(tmp_path, program_of(mz.inverse_dynamics, model), "float64")
    exact = mz.inverse_dynamics(model, q, v, a)
    columns = [np.ascontiguousarray(x.T).T for x in (q, v, a)]
    np.testing.assert_allclose(kernel(*columns)[0], exact, rtol=1e-12)
    np.testing.assert_allclose(kernel(q[::2], v[::2], a[::2])[0], exact[::2], rtol=1e-12)
    shared = kernel(q, np.broadcast_to(v[0], v.shape), a)[0]
    np.testing.assert_allclose(shared, mz.inverse_dynamics(model, q, v[0], a), rtol=1e-12)


@needs_compiler
def test_many_steps_with_records_in_one_launch(tmp_path):
    model = chain(3, seed=1)
    law = lambda t, q, v: -2.0 * q - v
    q, v = inputs_of(model, ("q", "v"), 5)
    motion = mz.simulate(model, q, v, 0.03, 1e-3, torque=law, record_every=10)
    program = mz.stepper(model, torque=law, records=3, target="cuda").program
    text = CudaSource(program, "float64").text
    assert "_record" not in text  # written where the results go, not kept
    ones = np.ones(5)
    found = Shim(tmp_path, program, "float64")(q, v, 0 * ones, 1e-3 * ones, 10 * ones)
    np.testing.assert_allclose(found[0], motion.q[:, 1:], rtol=1e-12)
    np.testing.assert_allclose(found[1], motion.v[:, 1:], rtol=1e-12)


@needs_compiler
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 2e-4)])
def test_threads_end_the_iterations_of_contact_by_themselves(tmp_path, dtype, tolerance):
    model = ball(friction=0.3, restitution=0.4)
    rng = np.random.default_rng(0)
    q, v = np.tile(model.neutral(), (32, 1)), 2.0 * rng.normal(size=(32, 6))
    q[:, 2] += 0.02 * rng.random(32)
    program = mz.stepper(model, target="cuda", dtype=dtype).program
    assert "!= 0; k" in CudaSource(program, dtype).text
    given = (q, v, *(np.full(32, x) for x in (0.0, 1e-3, 30.0)))
    kernel = Shim(tmp_path, program, dtype)
    found, one = kernel(*given), kernel(*(x[5:6] for x in given))
    for a, b in zip(found, mz.stepper(model)(q, v, 0.0, 1e-3, 30), strict=True):
        np.testing.assert_allclose(a, b, atol=tolerance)
    np.testing.assert_array_equal(one[1][0], found[1][5])  # in any company


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ["fast_sincos", CALM])
def test_sine_and_cosine_within_two_ulps(tmp_path, function, dtype):
    """Against 60 digits: small, ordinary, near multiples of π/2, at the edge, huge. In float32 that
    of large programs has NaN for what is beyond its reach.
    """
    T = {"float64": "double", "float32": "float"}[dtype]
    loop = f"""
void sincos_all(long long n, T const* x, T* s, T* c) {{
  for (long long k = 0; k < n; ++k) {function}(x[k], s + k, c + k);
}}"""
    library = build(tmp_path, f'{SHIM}typedef {T} T;{PRELUDE[T]}extern "C" {loop}')
    rng = np.random.default_rng(0)
    edge = 48000.0 if T == "float" else 100000.0
    turns = np.arange(1, 400) * (np.pi / 2)
    x = np.concatenate([
        rng.uniform(-np.pi, np.pi, 800), rng.uniform(-edge, edge, 800),
        turns, np.nextafter(turns, 0), 10.0 ** rng.uniform(-30, 0, 200),
        edge * (1 + rng.uniform(-1e-3, 1e-3, 100)),
        10.0 ** rng.uniform(5, 30, 200), [0.0, -0.0, 1e5, 1e22],
    ]).astype(dtype)  # fmt: skip
    s, c = np.empty_like(x), np.empty_like(x)
    place = lambda a: a.ctypes.data_as(ctypes.c_void_p)
    library.sincos_all(ctypes.c_longlong(len(x)), place(x), place(s), place(c))
    if function == CALM and dtype == "float32":
        beyond = np.abs(x) >= 1e15
        assert beyond.any() and np.isnan(s[beyond]).all() and np.isnan(c[beyond]).all()
        x, s, c = x[~beyond], s[~beyond], c[~beyond]
    with mpmath.workdps(60):
        for found, exact in ((s, mpmath.sin), (c, mpmath.cos)):
            for value, y in zip(x, found, strict=True):
                truth = exact(mpmath.mpf(float(value)))
                ulp = float(np.spacing(np.abs(np.dtype(dtype).type(float(truth)))))
                assert abs(truth - float(y)) <= 2 * ulp, (value, y)


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
def test_square_roots_of_large_programs(tmp_path, dtype):
    """Within two ulps, of zero and infinity too; NaN where there is none."""
    T = {"float64": "double", "float32": "float"}[dtype]
    loop = "void roots(long long n, T const* x, T* y) { while (n--) y[n] = calm_sqrt(x[n]); }"
    library = build(tmp_path, f'{SHIM}typedef {T} T;{PRELUDE[T]}extern "C" {loop}')
    small = float(np.finfo(dtype).smallest_subnormal)
    x = 10.0 ** np.random.default_rng(0).uniform(-37, 37, 500)
    x = np.array([*x, 0.0, 1.0, 2.0, 4.0, 3 * small, np.inf, -1.0, np.nan], dtype)
    y = np.empty_like(x)
    place = lambda a: a.ctypes.data_as(ctypes.c_void_p)
    library.roots(ctypes.c_longlong(len(x)), place(x), place(y))
    with np.errstate(invalid="ignore"):
        exact = np.sqrt(x)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(exact))
    finite = np.isfinite(exact)
    assert np.all(y[~finite & ~np.isnan(exact)] == np.inf)
    assert np.all(np.abs(y[finite] - exact[finite]) <= 2 * np.spacing(exact[finite]))


def test_numbers_beyond_float_are_infinite(tmp_path):
    from mozzi.program.program import Input, trace
    from mozzi.program.scalar import minimum

    program = trace(lambda x: minimum(x, 1e300), [Input("x", ())], "cap")
    assert "INFINITY" in CudaSource(program, "float32").text


def test_without_a_gpu_the_source_is_there_and_a_call_says_what_is_missing():
    kernel = mz.compile(mz.inverse_dynamics, chain(2, seed=1), target="cuda")
    assert "__global__" in kernel.source
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine has a GPU")
    with pytest.raises(ExtraMissingError, match=r"CuPy|GPU"):
        kernel(*(np.zeros((3, 2)),) * 3)
