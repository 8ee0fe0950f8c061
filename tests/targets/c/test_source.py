"""The C target: it compiles without a warning, and computes what the interpreter does."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from program.recipes import CHOOSING, SMOOTH, Recipe, Unclear, points, recipes, with_bounds
from program.rolled import ROLLED, arguments, powers

from mozzi.program.meaning import interpret
from mozzi.program.node import OPERATIONS
from mozzi.program.program import Input, Program, trace
from mozzi.program.scalar import cos, maximum, minimum, select, sin, sqrt
from mozzi.targets.c.source import CSource, build
from mozzi.targets.c.words import SPELL_C
from mozzi.targets.interpret import InterpretedKernel

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
STRICT = (
    "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wfloat-conversion", "-Wshadow",
    "-Werror",
)  # fmt: skip
DTYPES = ("float64", "float32")


def cc(folder: Path, *words: str) -> None:
    run = subprocess.run([str(COMPILER), *words], cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def write(folder: Path, code: CSource) -> None:
    (folder / f"{code.name}.c").write_text(code.source)
    (folder / f"{code.name}.h").write_text(code.header)


def check(folder: Path, code: CSource, samples, *flags: str) -> subprocess.CompletedProcess:
    """Write, compile and run the test program."""
    write(folder, code)
    (folder / "main.c").write_text(code.test_program(samples))
    cc(folder, *STRICT, *flags, "main.c", f"{code.name}.c", "-lm", "-o", "main")
    return subprocess.run([str(folder / "main")], capture_output=True, text=True)


def shaped(program: Program, seed: int) -> list[np.ndarray]:
    pairs = zip(arguments(program, seed), program.inputs, strict=True)
    return [x.reshape(i.shape) for x, i in pairs]


class Library:
    """The function of a program, compiled and loaded."""

    def __init__(self, folder: Path, code: CSource):
        write(folder, code)
        library = f"library{len(list(folder.iterdir()))}.so"  # a loaded one must not change
        cc(folder, *STRICT, "-O1", "-shared", "-fPIC", f"{code.name}.c", "-lm", "-o", library)
        self.function = getattr(ctypes.CDLL(str(folder / library)), code.name)
        self.function.restype = None
        self.code = code

    def __call__(self, *args) -> list[np.ndarray]:
        dtype = self.code.dtype
        arrays = [np.ascontiguousarray(a, dtype) for a in args]
        results = [np.full(x.shape, np.nan, dtype) for x in self.code.program.outputs]
        self.function(*(a.ctypes.data_as(ctypes.c_void_p) for a in (*arrays, *results)))
        return results


def example() -> Program:
    def function(q, v, unused):
        c, s = cos(q[0]), sin(q[0])
        c.name, s.name = "c_elbow", "s_elbow"
        slow = v[1] - 3.0
        V = v[0] * s - slow * c
        V.name, V.origin = "V_elbow_wz", "example (37) elbow"
        return np.array([[V, 2.0 * V], [minimum(V, c * s), 0.25]]), select(V < 0.0, -V, V)

    return trace(function, [Input("q", (2,)), Input("v", (2,)), Input("unused", (0,))], "example")


def test_every_operation_has_a_spelling():
    assert SPELL_C.keys() == OPERATIONS.keys()


def test_it_reads_like_written_by_hand():
    source = build(example).source
    assert source[source.index("void") :] == (
        "void example(\n"
        "    const double q[2],\n"
        "    const double v[2],\n"
        "    const double *unused,\n"
        "    double out0[4],\n"
        "    double out1[1])\n"
        "{\n"
        "    (void)unused;\n"
        "    const double c_elbow = cos(q[0]);\n"
        "    const double s_elbow = sin(q[0]);\n"
        "    const double V_elbow_wz = v[0] * s_elbow - c_elbow * (v[1] - 3.0);"
        " /* example (37) elbow */\n"
        "    const double t1 = c_elbow * s_elbow;\n"
        "    out0[0] = V_elbow_wz;\n"
        "    out0[1] = 2.0 * V_elbow_wz;\n"
        "    out0[2] = V_elbow_wz <= t1 ? V_elbow_wz : t1;\n"
        "    out0[3] = 0.25;\n"
        "    out1[0] = V_elbow_wz < 0.0 ? -V_elbow_wz : V_elbow_wz;\n"
        "}\n"
    )


def test_the_signature_is_documented():
    code = build(example, "float32")
    for text in (code.header, code.source):
        assert "input  q: 2 numbers\n" in text
        assert "output out0: 2 x 2 numbers\n" in text
        assert "outputs must not overlap inputs" in text
    assert "float out1[1]);" in code.header
    assert code.operations["multiplications"] == 4
    assert code.flops == 7


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("optimise", ["-O0", "-O2"])
def test_straight_line(tmp_path: Path, dtype: str, optimise: str):
    code = build(example, dtype)
    samples = [shaped(code.program, seed) for seed in range(5)]
    run = check(tmp_path, code, samples, optimise)
    assert (run.returncode, run.stdout) == (0, "example: 5 samples, all agree\n")


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROLLED)
def test_rolled(tmp_path: Path, name: str, dtype: str):
    code = build(lambda: ROLLED[name]().program, dtype)
    assert "for (int " in code.source
    samples = [shaped(code.program, seed) for seed in range(5)]
    run = check(tmp_path, code, samples, "-O1")
    assert run.returncode == 0, run.stdout


@needs_compiler
def test_the_test_program_fails_where_results_differ(tmp_path: Path):
    code = build(example)
    write(tmp_path, code)
    (tmp_path / "main.c").write_text(code.test_program([shaped(code.program, 0)]))
    wrong = code.source.replace("0.25", "0.26")
    (tmp_path / "example.c").write_text(wrong)
    cc(tmp_path, *STRICT, "main.c", "example.c", "-lm", "-o", "main")
    run = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True)
    assert run.returncode == 1
    assert "sample 0: out0[3] is 0.26, expected 0.25" in run.stdout
    assert "FAILED" in run.stdout


@needs_compiler
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_exact_operations_agree_bit_for_bit(tmp_path: Path, data):
    """+ − × ÷, roots and choices have one right result; C and the interpreter both give it."""
    kinds = ("add", "sub", "mul", "div", "sqrt", "neg", *CHOOSING)
    recipe: Recipe = data.draw(recipes(kinds))
    x = data.draw(st.lists(points(recipe), min_size=5, max_size=5))
    try:
        program = recipe.program()
    except (ZeroDivisionError, ValueError, OverflowError):  # among constants
        assume(False)
    library = Library(tmp_path, build(lambda: program))
    for point, truth in zip(x, InterpretedKernel(program)(x), strict=True):
        np.testing.assert_array_equal(library(point)[0], truth)


@needs_compiler
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_all_operations_agree_to_rounding(tmp_path: Path, data):
    recipe: Recipe = data.draw(recipes(SMOOTH + CHOOSING))
    x = data.draw(points(recipe))
    try:
        truth, bounds = with_bounds(recipe, x)
    except Unclear:
        assume(False)
    value = Library(tmp_path, build(recipe.program))(x)[0]
    assert all(abs(value - np.array(truth, float)) <= 8 * np.array(bounds) + 1e-15)


@needs_compiler
def test_steps_given_at_run_time(tmp_path: Path):
    code = build(powers)
    assert "k < (int)count[0]" in code.source
    assert Library(tmp_path, code)(1.5, 7.0)[0] == 1.5**7


@needs_compiler
def test_conditions_are_numbers_where_numbers_go(tmp_path: Path):
    """A comparison that is a result, a factor, or a condition of another choice."""

    def function(x):
        below = x[0] < x[1]
        return np.array([below, below * x[0], select(below * 2.0, x[0], 7.0), minimum(below, 0.5)])

    for dtype in DTYPES:
        library = Library(tmp_path, build(lambda: trace(function, [Input("x", (2,))], "f"), dtype))
        np.testing.assert_array_equal(library([1.0, 2.0])[0], [1.0, 1.0, 1.0, 0.5])


@needs_compiler
def test_parentheses(tmp_path: Path):
    """Sums and products in every grouping keep it: rounding shows the difference."""

    def function(x):
        a, b, c, d = x
        return np.array(
            [
                a - (b - c), a - (b + c), a + (b + c), (a + b) - (c - d), a * (b * c), a / (b * c),
                a / (b / c), (a / b) * c, -(a + b) * c, -(a * b), a * (b + c) / d, sqrt(a + b) * c,
                select(a < b, select(c < d, a, b), c) * d, maximum(a + b, c - d) - (a - d),
            ]
        )  # fmt: skip

    x = [0.1, 0.7, 1.3, 2.9]
    program = trace(function, [Input("x", (4,))], "f")
    value = Library(tmp_path, build(lambda: program))(x)[0]
    np.testing.assert_array_equal(value, interpret(program, [x])[0])


@needs_compiler
def test_awkward_numbers(tmp_path: Path):
    def function(x):
        return np.array(
            [
                minimum(x, np.inf), maximum(x, -np.inf), x + 1e-320, x * 1e300, x - 0.1, x + -0.1,
                0.1 - x, 1e16 + x, x * (1 / 3), -7.25,
            ]
        )  # fmt: skip

    program = trace(function, [Input("x", ())], "f")
    for dtype in DTYPES:
        value = Library(tmp_path, build(lambda: program, dtype))(1e-3)[0]
        truth = np.array(interpret(program, [[float(np.dtype(dtype).type(1e-3))]])[0])
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(value, truth.astype(dtype), rtol=2 * np.finfo(dtype).eps)


@needs_compiler
def test_words_of_c_as_names(tmp_path: Path):
    """Whatever things are called, the names in C are valid, different, and not its own."""

    def function(int_, sin_, n):
        y = sin(int_[0]) + sin_[0] * n[0]
        y.name = "for"
        z = y * y
        z.name = "left arm/é"
        w = z + y
        w.name = "left arm/é"
        z.origin = "*/ surprise (é)"
        return w, z

    inputs = [Input(name, (1,)) for name in ("int", "sin", "n")]
    code = build(lambda: trace(function, inputs, "dóuble */"))
    assert code.source.isascii()
    write(tmp_path, code)
    cc(tmp_path, *STRICT, "-c", f"{code.name}.c")


@needs_compiler
def test_empty_and_repeated(tmp_path: Path):
    """No inputs at all; the same value, and the same buffer, as two results."""
    code = build(lambda: trace(lambda: (np.zeros((0, 3)), np.ones(2)), [], "nothing"))
    assert code.test_program([[]])
    assert check(tmp_path, code, [[]]).returncode == 0
    rolled = ROLLED["chain"]().program
    rolled.outputs = (*rolled.outputs, rolled.outputs[0])
    renamed = [type(x)(f"out{n}", x.shape, x.values) for n, x in enumerate(rolled.outputs)]
    rolled.outputs = tuple(renamed)
    code = build(lambda: rolled)
    assert check(tmp_path, code, [shaped(rolled, 0)]).returncode == 0


@needs_compiler
@pytest.mark.parametrize("make", [example, lambda: ROLLED["chain"]().program])
@pytest.mark.parametrize("dtype", DTYPES)
def test_freestanding(tmp_path: Path, make, dtype: str):
    """Without a hosted C library the source compiles, and it calls functions of <math.h> only."""
    code = build(make, dtype)
    write(tmp_path, code)
    cc(tmp_path, *STRICT, "-ffreestanding", "-O2", "-c", f"{code.name}.c", "-o", "f.o")
    if not shutil.which("nm"):
        pytest.skip("no nm on this machine")
    listed = subprocess.run(["nm", "-u", "f.o"], cwd=tmp_path, capture_output=True, text=True)
    needed = {word.strip("_f") for word in re.findall(r"\w+$", listed.stdout, re.M)}
    assert needed <= {"sin", "cos", "sqrt", "atan2", "memset"}
    assert not re.search(r"alloc|stdlib|stdio", code.source)


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler on this machine")
def test_the_header_is_c_plus_plus_too(tmp_path: Path):
    code = build(example)
    write(tmp_path, code)
    (tmp_path / "use.cpp").write_text('#include "example.h"\n#include "example.h"\n')
    command = ["c++", "-Wall", "-Wextra", "-Werror", "-c", "use.cpp"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_samples_must_be_finite():
    code = build(lambda: trace(lambda x: 1.0 / x, [Input("x", ())], "inverse"))
    with pytest.raises(ValueError, match="expected_out is not finite at a sample"):
        code.test_program([[0.0]])
    with pytest.raises(ValueError, match="at least one sample"):
        code.test_program([])


def test_lines_are_readable():
    for make in (example, *(lambda r=r: r().program for r in ROLLED.values())):
        for text in (build(make).source, build(make).header):
            assert max(map(len, text.splitlines())) <= 110
            assert text.isascii()


def test_values_name_the_algorithm_they_come_from():
    """Also where the pass that computes them is a function of its own."""
    import mozzi as mz
    from mozzi.model import generate

    source = mz.compile(mz.inverse_dynamics, generate.chain(3), target="c").source
    assert "inverse_dynamics K37 body_2" in source
    assert "/* body" not in source


@pytest.mark.parametrize(
    ("function", "tags"),
    [
        ("forward_dynamics", {"w": "K37", "n": "K41", "B": "K50", "P": "K49", "u": "K45",
                               "D": "K45", "A": "K41", "a": "K45"}),
        ("inverse_dynamics", {"w": "K37", "F": "K42"}),
        ("mass_matrix", {"F": "MD81", "I": "MD81"}),
        ("coriolis_matrix", {"V": "K37", "B": "P37", "G": "P37"}),
    ],
)  # fmt: skip
def test_letters_carry_the_equations_that_define_them(function, tags):
    """The first line of each letter and body says which equation of which paper it is."""
    import mozzi as mz
    from mozzi.model import generate

    source = mz.compile(getattr(mz, function), generate.chain(3), target="c").source
    said = rf"const double ([A-Za-z]+)_.*/\* {function} (?:([A-Z]+\d+) )?body"
    found = re.findall(said, source)
    for letter, tag in tags.items():
        assert {t for x, t in found if x == letter} == {tag}


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("float32"), "float32"])
def test_precision_may_be_named_as_numpy_names_it(dtype):
    import mozzi as mz
    from mozzi.model import generate

    code = mz.compile(mz.gravity_forces, generate.chain(2), target="c", dtype=dtype)
    assert code.dtype == "float32"
    assert repr(code).startswith("<CSource gravity_forces float32, ")
