"""XLA's handler of CUDA kernels, without a GPU: its interface, launches and memory are Python's."""

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mozzi as mz
from mozzi.compiler import program_of
from mozzi.model.generate import chain
from mozzi.targets.cuda import launches as cuda_launches
from mozzi.targets.cuda.launches import Launch, Launches
from mozzi.targets.jax import cuda_handler, frame

jax = pytest.importorskip("jax")
word, number, long = ctypes.c_void_p, ctypes.c_uint, ctypes.c_int64
LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, word, *(number,) * 7, word, ctypes.POINTER(ctypes.POINTER(long)), word
)
ASK = ctypes.CFUNCTYPE(word, ctypes.POINTER(long))
STREAM, REFUSED = 77, 4321


def function(handle: int, **others: Any) -> Any:
    """What a handler asks of a function."""
    plain = {"block": 128, "shared": 0, "slices": 1, "samples": 0, "least": 0, "few": None}
    return SimpleNamespace(handle=handle, **plain | others)


class Called:
    """A handler that is called as XLA calls it; notes launches, memory and errors.

    codes: what launches answer, one after the other; memory: whether there is any.
    """

    def __init__(self, sequence: Launches, inputs: int, codes: Any = (), memory: bool = True):
        self.seen: list[tuple[int, tuple[int, ...], list[int]]] = []
        self.held: dict[int, Any] = {}
        self.asked: list[int] = []
        self.codes = list(codes)
        self.takes = {x.function.handle: len(x.takes) for x in sequence.launches}

        @LAUNCH
        def launch(handle, *rest):
            assert rest[7] == STREAM and not rest[9]
            values = [rest[8][k][0] for k in range(self.takes[handle])]
            self.seen.append((handle, rest[:7], values))
            return self.codes.pop(0) if self.codes else 0

        @ASK
        def stream(ask):
            assert ask[0] == 32 and ask[1] == 0 and ask[2] == 55
            ask[3] = STREAM

        @ASK
        def allocate(ask):
            assert ask[0] == 48 and ask[2] == 55 and ask[4] == cuda_handler.ALIGNED
            if not memory:
                return REFUSED
            made = ctypes.create_string_buffer(max(1, ask[3]))
            ask[5] = ctypes.addressof(made)
            self.held[ask[5]] = made
            self.asked.append(ask[3])

        @ASK
        def free(ask):
            assert ask[0] == 40 and ask[2] == 55 and ask[3] == self.asked[-1]
            del self.held[ask[4]]

        @ASK
        def failed(ask):
            assert b"launch of a CUDA kernel failed" in ctypes.string_at(ask[2])
            return REFUSED + 1

        self.kept = launch, stream, allocate, free, failed
        self.api = (long * 24)()
        for place, f in ((frame.STREAM, stream), (frame.ALLOCATE, allocate), (frame.FREE, free),
                         (frame.ERROR, failed)):  # fmt: skip
            self.api[place // 8] = ctypes.cast(f, word).value or 0
        at = ctypes.cast(launch, word).value or 0
        capsule, self.code = frame.loaded(cuda_handler.handler_text(inputs, sequence, at))
        assert capsule is not None
        self.handler = ctypes.CFUNCTYPE(word, word)(self.code.address("handler"))
        self.inputs = inputs

    def __call__(self, *arrays: np.ndarray) -> int | None:
        buffers, lists = [], []
        for x in arrays:
            dims = (long * x.ndim)(*x.shape)
            buffer = (long * 6)(48, 0, 0, x.ctypes.data, x.ndim, ctypes.addressof(dims))
            buffers.append((buffer, dims))
        for side in (buffers[: self.inputs], buffers[self.inputs :]):
            lists.append((long * max(1, len(side)))(*(ctypes.addressof(b) for b, _ in side)))
        call = (long * 20)()
        call[frame.API // 8], call[frame.CONTEXT // 8] = ctypes.addressof(self.api), 55
        call[frame.ARGUMENTS // 8] = ctypes.addressof(lists[0])
        call[frame.RESULTS // 8] = ctypes.addressof(lists[1])
        return self.handler(ctypes.addressof(call))


@pytest.mark.parametrize("batch", [(300,), (2, 5), (), (0,)])
def test_one_launch_has_all_arrays(batch):
    """The number of samples and the addresses; threads, blocks and shared memory as told."""
    one = Launch(function(1234, block=128, shared=4, slices=3), (0, 1, 2, 3))
    called = Called(Launches((one,), (3, 3, 2), 8), inputs=2)
    arrays = [np.zeros((*batch, k)) for k in (3, 3, 2)]
    assert called(*arrays) is None
    n = int(np.prod(batch))
    shape = ((n + 127) // 128 * 3, 1, 1, 128, 1, 1, 512)
    expected = [(1234, shape, [n, *(x.ctypes.data for x in arrays)])]
    assert called.seen == (expected if n else []) and not called.asked


def test_several_launches_share_tiles_portion_after_portion(monkeypatch):
    """As Python's own: the same values for the same launches; memory is given back."""
    monkeypatch.setattr(cuda_launches, "PORTION_BYTES", 1)
    monkeypatch.setattr(cuda_launches, "PADDED", 64)
    first = Launch(function(1, block=32, shared=16, least=50), (0, 1, 3))
    second = Launch(function(2, block=64, samples=8), (0, 3, 4, 2, 7, 8))
    sequence = Launches((first, second), (5, 7), 4, (12, 20))
    called = Called(sequence, inputs=1)
    x, y = np.zeros((150, 5), "float32"), np.zeros((150, 7), "float32")
    assert called(x, y) is None
    assert called.asked == [64 * 32] and not called.held
    memory = called.seen[0][2][2]
    for k, many in enumerate((64, 64, 22)):
        one, two = called.seen[2 * k : 2 * k + 2]
        blocks = -(-many // 32)
        assert one == (1, (blocks, 1, 1, 32, 1, 1, 512), [many, x[64 * k :].ctypes.data, memory])
        place = y[64 * k :].ctypes.data
        values = [many, memory, memory + 64 * 12, place, 7, 1]
        assert two == (2, (-(-many // 8), 1, 1, 64, 1, 1, 0), values)


def test_few_samples_are_spread_over_blocks_of_a_warp():
    one = Launch(function(1, block=192, shared=8, least=400), (0,))
    called = Called(Launches((one,), (1,), 8), 1)
    for n, block in ((399, 32), (400, 192)):
        assert called(np.zeros((n, 1))) is None
        assert called.seen[-1][1] == (-(-n // block), 1, 1, block, 1, 1, 8 * block)


def test_errors_are_told_and_memory_is_given_back():
    both = tuple(Launch(function(k), (0, 2)) for k in (1, 2))
    sequence = Launches(both, (1,), 8, (8,))
    called = Called(sequence, 1, codes=[0, 700])
    assert called(np.zeros((5, 1))) == REFUSED + 1
    assert len(called.seen) == 2 and called.asked and not called.held
    none = Called(sequence, 1, memory=False)
    assert none(np.zeros((5, 1))) == REFUSED and not none.seen


def test_xla_calls_it():
    """With XLA's own frame, on the CPU, where the stream is not asked for."""
    from mozzi.targets.derivatives import find, register
    from mozzi.targets.jax import ffi

    model = chain(3, seed=3)
    jax.config.update("jax_enable_x64", True)
    key = register(program_of(mz.inverse_dynamics, model), "float64")
    cpu = find(key).cpu

    @LAUNCH
    def launch(handle, *rest):
        n = rest[8][0][0]
        at = lambda k: ctypes.cast(rest[8][k][0], ctypes.POINTER(ctypes.c_double))
        views = [np.ctypeslib.as_array(at(k), (n, 3)) for k in range(1, 5)]
        views[3][:] = cpu(*views[:3])
        return 0

    one = Launches((Launch(function(1), tuple(range(5))),), (3, 3, 3, 3), 8)
    text = cuda_handler.handler_text(3, one, ctypes.cast(launch, word).value or 0)
    text = text.replace("call ptr %get(ptr %ask)", "inttoptr i64 0 to ptr")
    capsule, code = frame.loaded(text)
    jax.ffi.register_ffi_target("mozzi_test", capsule, platform="cpu")
    args = [np.random.default_rng(k).normal(size=(4, 3, 3)) for k in range(3)]
    found = jax.jit(lambda *x: ffi.call(key, x, "cpu", target="mozzi_test"))(*args)[0]
    np.testing.assert_allclose(found, mz.inverse_dynamics(model, *args), rtol=1e-12)
    assert code is not None
