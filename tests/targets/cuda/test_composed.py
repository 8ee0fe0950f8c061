"""Large results as several launches: programs to tiles, and blocks that make rows of them."""

import ctypes

import numpy as np
import pytest
from targets.cuda.shim import COMPILER, SHIM, build
from targets.cuda.test_source import inputs_of

import mozzi as mz
from mozzi.algorithms.derivatives import parts
from mozzi.algorithms.derivatives.parts import lean, parts_of
from mozzi.compiler import program_of
from mozzi.model.generate import chain, four_bar, n_four_bar, tree
from mozzi.program.program import Input
from mozzi.program.schedule import live_values
from mozzi.targets.cpu.build import build as cpu
from mozzi.targets.cuda import composed, tiles
from mozzi.targets.cuda.composed import ComposedKernel
from mozzi.targets.cuda.kernel import CudaKernel
from mozzi.targets.cuda.tiles import SAMPLES

BLOCKS = """
#define __align__(n) __attribute__((aligned(n)))
struct alignas(16) float4 { float x, y, z, w; };
template <class A> static void __stcs(A* to, A x) { *to = x; }
static void __syncthreads() { pthread_barrier_wait(&barrier); }
"""
LOOP = """
T shared[{words}]; alignas(16) T rows[{words}];
extern "C" void all(long long n, long long const* words) {{
  for (long long block = 0; block * {samples} < n; ++block) {{
    pthread_barrier_init(&barrier, 0, {threads});
    std::vector<std::thread> threads;
    for (int k = 0; k < {threads}; ++k)
      threads.emplace_back([=] {{
        blockIdx.x = block; threadIdx.x = k; blockDim.x = {threads};
        gridDim.x = (n + {samples} - 1) / {samples}; kernel({arguments});
      }});
    for (auto& t : threads) t.join();
    pthread_barrier_destroy(&barrier);
  }}
}}
"""


@pytest.fixture
def all_composed(monkeypatch):
    """Small programs are large ones."""
    monkeypatch.setattr(composed, "COMPOSED_NUMBERS", 0)
    monkeypatch.setattr(composed, "LIVE_VALUES", 0)
    monkeypatch.setattr(composed, "NUMBER_BYTES", 8)
    monkeypatch.setattr(composed, "KEPT_VALUES", 0)


def launched(folder, text, threads, shared, samples, parameters, n, words):
    """A kernel of one of the sources, on the CPU, block after block."""
    names = ["n"]
    for k, kind in enumerate(parameters):
        names.append(f"(T*)words[{k}]" if kind == "p" else f"words[{k}]")
    loop = LOOP.format(words=threads * max(1, shared), samples=samples, threads=threads,
                       arguments=", ".join(names))  # fmt: skip
    library = build(folder, SHIM + BLOCKS + text + loop)
    library.all(ctypes.c_longlong(n), (ctypes.c_longlong * len(words))(*words))


def on_the_cpu(folder, kernel, args, columns=False):
    """What the launches of a composed kernel make of arguments (n, …)."""
    n, dtype = len(args[0]), kernel.dtype
    padded = -(-n // 256) * 256
    laid = (lambda x: np.asfortranarray(x)) if columns else np.ascontiguousarray
    arrays = [laid(x.reshape(n, -1).astype(dtype)) for x in args]
    results = [laid(np.full((n, y.size), np.nan, dtype)) for y in kernel.outputs]
    words = lambda x: [x.ctypes.data, *(s // x.itemsize for s in x.strides)]
    sheets = [np.full(padded * len(places), np.nan, dtype) for places in kernel.places]
    for k, source in enumerate(kernel._sources(packed=not columns)):
        given = [w for x in arrays for w in (words(x) if columns else words(x)[:1])]
        taken = kernel.sheets(sheets, k)
        kinds = ("pii" if columns else "p") * len(arrays) + "p" * len(taken)
        given += [x.ctypes.data for x in taken]
        threads = getattr(source, "threads", 32)
        launched(folder, source.text, threads, source.shared, 32, kinds, n, given)
    last = kernel.finishing
    given = [x.ctypes.data for x in sheets] + [w for x in results for w in words(x)]
    kinds = "p" * len(sheets) + "pii" * len(results)
    launched(folder, last.text, last.threads, last.shared, SAMPLES, kinds, n, given)
    return [y.reshape(n, *s.shape) for y, s in zip(results, kernel.outputs, strict=True)]


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")
@pytest.mark.parametrize(
    ("function", "dtype", "columns"),
    [
        (mz.mass_matrix_inverse, "float32", False),
        pytest.param(
            mz.inverse_dynamics_derivatives, "float64", True, marks=pytest.mark.slow
        ),
        (mz.inverse_dynamics_derivatives, "float32", False),
        pytest.param(
            mz.forward_dynamics_derivatives, "float64", False, marks=pytest.mark.slow
        ),
        (mz.forward_dynamics_derivatives, "float32", True),
    ],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_launches_make_the_results(tmp_path, all_composed, monkeypatch, function, dtype, columns):
    """With rows one after the other or columns, a last tile that is not full, few registers."""
    monkeypatch.setattr(tiles, "REGISTERS", 40)
    monkeypatch.setattr(tiles, "KEPT_BYTES", 0)
    monkeypatch.setattr(tiles, "SHARED_BYTES", 30 * 4 * 256)
    split = function is mz.forward_dynamics_derivatives and dtype == "float32"
    monkeypatch.setattr(parts, "KEPT_VALUES", 0 if split else 440)
    model = tree(7, seed=5)
    kernel = mz.compile(function, model, target="cuda", dtype=dtype)
    assert isinstance(kernel, ComposedKernel)
    assert len(kernel.parts) == (3 if split else 1 if function is mz.mass_matrix_inverse else 2)
    args = inputs_of(model, function.required, 19)
    exact = mz.compile(function, model)(*args)
    found = on_the_cpu(tmp_path, kernel, args, columns)
    tolerance = 1e-10 if dtype == "float64" else 1e-4
    for y, x in zip(found, exact if isinstance(exact, tuple) else (exact,), strict=True):
        np.testing.assert_allclose(y, x, rtol=0, atol=tolerance * np.max(np.abs(x)))


@pytest.mark.parametrize("options", [{}, {"wrenches": True}, {"resistance": True}], ids=str)
def test_the_parts_make_the_derivatives(options):
    """With external wrenches, damping and springs, too."""
    model = tree(7, seed=5)
    function = mz.forward_dynamics_derivatives
    names = (*function.required, *(["wrenches"] if "wrenches" in options else []))
    args = inputs_of(model, names, 5)
    program = program_of(function, model, options=options)
    assert [x.name for x in program.inputs] == list(names)
    found = parts_of(function, model, program.inputs, options)
    forward, changes = (cpu(lambda part=part: part, "float64") for part in found)
    L, D, a = forward(*args)
    N = np.linalg.inv(L + np.eye(model.nv))
    m = N @ D @ N.transpose(0, 2, 1)
    others = dict(zip(names, args)) | {n: x for n, x in options.items() if n != "wrenches"}
    dq, dv, dtau = function(model, **others)
    for y, x in zip((*(-m @ y for y in changes(*args, a)), m), (dq, dv, dtau), strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-9, atol=1e-9 * np.max(np.abs(x)))


def test_only_large_programs_take_parts(all_composed, monkeypatch):
    """Small ones are one program, mechanisms with loops have no parts, M⁻¹ of deep trees is that
    of articulated bodies, and loops that are asked for stay.
    """
    compiled = lambda function, model, **o: mz.compile(
        function, model, target="cuda", dtype="float32", **o
    )
    derivatives = mz.forward_dynamics_derivatives
    kernel = compiled(derivatives, tree(6, seed=2))
    assert type(kernel) is ComposedKernel
    assert kernel.source.count('extern "C" __global__') == 3
    assert parts_of(derivatives, four_bar(), (Input("q", (3,)),), {}) == ()
    deep = chain(17, seed=1)
    assert parts_of(mz.mass_matrix_inverse, deep, (Input("q", (17,)),), {}) == ()
    masses = compiled(derivatives, tree(6, seed=2), parameters=["body_1.mass"])
    assert masses.parts == (masses.program,)  # its parts would not know of other masses
    monkeypatch.undo()
    assert type(compiled(derivatives, tree(5, seed=1))) is CudaKernel
    large = tree(21, seed=1)
    assert type(compiled(derivatives, large)) is ComposedKernel
    assert type(compiled(derivatives, large, rolled=True)) is CudaKernel


@pytest.mark.parametrize("options", [{}, {"wrenches": True}, {"resistance": True}], ids=str)
def test_forward_dynamics_from_rest(options):
    """The same accelerations, of clearly fewer live values, where these are many."""
    model = tree(24, seed=3)
    function = mz.forward_dynamics
    names = (*function.required, *(["wrenches"] if "wrenches" in options else []))
    args = inputs_of(model, names, 5)
    program = program_of(function, model, rolled=False, options=options)
    other = lean(program, function, model, options)
    assert live_values(other) < 0.9 * live_values(program)
    others = dict(zip(names, args)) | {n: x for n, x in options.items() if n != "wrenches"}
    found, exact = cpu(lambda: other, "float64")(*args), function(model, **others)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10 * np.max(np.abs(exact)))


def test_forward_dynamics_stays_where_registers_suffice():
    """Of small robots, of mechanisms with loops, and where numbers of the model are arguments."""
    function = mz.forward_dynamics
    for model, parameters in ((tree(7, seed=3), ()), (n_four_bar(20), ()),
                              (tree(24, seed=3), ("body_1.mass",))):  # fmt: skip
        program = program_of(function, model, rolled=False, parameters=parameters)
        assert lean(program, function, model, {}) is program
