# pyright: basic
# (llvmlite and ctypes' tables are not typed)
"""CPU kernels inside jit: the handler that runs the kernel of one program on XLA's buffers.

Large batches are cut into pieces that XLA's threads take, one after the other, until none is left.
The calling thread takes pieces, too, and waits in the end only for those that others have begun:
it never depends on a thread that XLA has not to spare. Whoever comes late finds no piece, and the
last one to leave frees the list.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from mozzi.targets.cpu import jit
from mozzi.targets.cpu.batch_loop import TABLE
from mozzi.targets.cpu.calls.threads import cell
from mozzi.targets.cpu.kernel import SLICE_NS, THREADED_NS
from mozzi.targets.derivatives import Evaluation
from mozzi.targets.jax.frame import (
    ARGUMENTS,
    CONTEXT,
    DATA,
    DESTROY,
    RESULTS,
    SAMPLES,
    SCHEDULE,
    THREADS,
    describe,
    failure,
    field,
    loaded,
)

__all__ = ["handler", "handler_text", "possible"]

# The list of pieces, in words: next piece, pieces done, who still looks at it, samples in all and
# in a piece, pieces; then the arrays, then their strides.
NEXT, DONE, USERS, ALL, PIECE, PIECES, ARRAYS = range(7)
PER_THREAD = 4  # pieces


@dataclass(frozen=True)
class Called:
    """What a handler calls: a kernel's loop with its table of functions, and when on threads.

    threads: where the number of threads stands; threaded, piece: the samples from which on a call
    is cut, and of a piece, at least.
    """

    loop: int
    table: int
    alloc: int
    free: int
    threads: int
    threaded: int
    piece: int
    lanes: int
    item: int
    x86: bool


def possible(found: Evaluation) -> bool:
    """Whether a program has a CPU kernel of arrays: some have no arguments, or no results."""
    return any(x.size for x in found.inputs) and any(y.size for y in found.outputs)


def handler(found: Evaluation) -> tuple[object, object]:
    """The handler of a program, and what it needs to live."""
    kernel = found.cpu
    own = (ctypes.c_void_p * len(TABLE))(*kernel.table)
    alloc, free = (own[TABLE.index(name)] or 0 for name in ("alloc", "free"))
    called = Called(
        kernel.loop, ctypes.addressof(own), alloc, free, ctypes.addressof(cell()),
        int(THREADED_NS / kernel.cost) + 1, int(SLICE_NS / kernel.cost) + 1,
        kernel.entry.lanes, kernel.dtype.itemsize, jit.is_x86(),
    )  # fmt: skip
    shapes = [x.shape for x in found.inputs], [y.shape for y in found.outputs]
    capsule, code = loaded(handler_text(*shapes, called, kernel.name))
    for name in ("ensure", "no_memory", "release"):  # there is no Python to tell of it
        own[TABLE.index(name)] = code.address(name)
    return capsule, (kernel, own, code)


def _word(name: str, base: str, k: int) -> str:
    """IR of %name, the place of a word behind %base."""
    return f"  %{name} = getelementptr i64, ptr %{base}, i64 {k}\n"


def _strides(shape: Sequence[int], item: int) -> list[int]:
    found, step = list[int](), item
    for n in reversed(shape):
        found.insert(0, step)
        step *= n
    return found


def handler_text(
    inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]],
    called: Called,
    name: str,
) -> str:
    """LLVM IR of the handler of a program with these shapes of arguments and results.

    A buffer with one sample where there are several is the same for all of them.
    """
    size = lambda shape: called.item * prod(shape)
    operands = [
        *(("arguments", k, s) for k, s in enumerate(inputs) if size(s)),
        *(("results", k, s) for k, s in enumerate(outputs) if size(s)),
    ]
    count = len(operands)
    first = next(k for k, (side, _, _) in enumerate(operands) if side == "results")
    core = [n for _, _, shape in operands for n in _strides(shape, called.item)]
    words = ARRAYS + 2 * count + len(core)
    steps = ARRAYS + count
    buffers = "".join(
        field(f"b{k}", side, 8 * n)
        + field(f"d{k}", f"b{k}", DATA)
        + f"  %n{k} = call i64 @samples(ptr %b{k})\n"
        for k, (side, n, _) in enumerate(operands)
    )
    places = "".join(
        _word(f"a{k}", "state", ARRAYS + k)
        + f"  store ptr %d{k}, ptr %a{k}\n"
        + f"  %same{k} = icmp eq i64 %n{k}, 1\n"
        + f"  %s{k} = select i1 %same{k}, i64 0, i64 {size(shape)}\n"
        + _word(f"t{k}", "state", steps + k)
        + f"  store i64 %s{k}, ptr %t{k}\n"
        for k, (_, _, shape) in enumerate(operands)
    ) + "".join(
        _word(f"c{k}", "state", steps + count + k) + f"  store i64 {n}, ptr %c{k}\n"
        for k, n in enumerate(core)
    )
    message, fail = failure(f"mozzi: {name}: no memory for the kernel's own values")
    return f"""{message}@failures = private global i64 0
define i32 @ensure() {{
  %before = atomicrmw add ptr @failures, i64 1 seq_cst
  ret i32 0
}}
define ptr @no_memory() {{
  ret ptr null
}}
define void @release(i32 %state) {{
  ret void
}}
{SAMPLES}{_work(count, steps, called)}define ptr @handler(ptr %frame) {{
start:
  %own = alloca [{words} x i64]
  %error = alloca [4 x i64]
  %ask = alloca [5 x i64]
  %number = alloca i64
{describe("look")}look:
  %before = load atomic i64, ptr @failures seq_cst, align 8
{field("arguments", "frame", ARGUMENTS)}{field("results", "frame", RESULTS)}
{field("context", "frame", CONTEXT)}{buffers}  %empty = icmp eq i64 %n{first}, 0
  br i1 %empty, label %done, label %size
size:
  %large = icmp sgt i64 %n{first}, {called.threaded}
  br i1 %large, label %ask.threads, label %alone
ask.threads:
{_word("ask.1", "ask", 1)}{_word("ask.2", "ask", 2)}{_word("ask.3", "ask", 3)}
  store i64 32, ptr %ask
  store ptr null, ptr %ask.1
  store ptr %context, ptr %ask.2
  store ptr %number, ptr %ask.3
{field("get", "api", THREADS)}  %refused = call ptr %get(ptr %ask)
  %told = icmp eq ptr %refused, null
  br i1 %told, label %threads, label %drop
drop:
  call void @destroy(ptr %api, ptr %refused)
  br label %alone
threads:
  %there = load i64, ptr %number
  %cell = inttoptr i64 {called.threads} to ptr
  %wanted = load i64, ptr %cell
  %workers = call i64 @llvm.smin.i64(i64 %there, i64 %wanted)
  %some = icmp sgt i64 %workers, 1
  br i1 %some, label %memory, label %alone
memory:
  %alloc = inttoptr i64 {called.alloc} to ptr
  %list = call ptr %alloc(i64 {8 * words})
  %got = icmp ne ptr %list, null
  br i1 %got, label %cut, label %alone
cut:
  %shares = mul i64 %workers, {PER_THREAD}
  %equal = udiv i64 %n{first}, %shares
  %most = call i64 @llvm.smax.i64(i64 %equal, i64 {called.piece})
  %most.up = add i64 %most, {called.lanes - 1}
  %vectors = udiv i64 %most.up, {called.lanes}
  %piece.cut = mul i64 %vectors, {called.lanes}
  br label %fill
alone:
  br label %fill
fill:
  %state = phi ptr [%own, %alone], [%list, %cut]
  %piece = phi i64 [%n{first}, %alone], [%piece.cut, %cut]
  %threads.all = phi i64 [1, %alone], [%workers, %cut]
  %up = add i64 %n{first}, %piece
  %up.1 = sub i64 %up, 1
  %pieces = udiv i64 %up.1, %piece
  %users = call i64 @llvm.smin.i64(i64 %pieces, i64 %threads.all)
  %helpers = sub i64 %users, 1
{_word("w.next", "state", NEXT)}{_word("w.done", "state", DONE)}{_word("w.users", "state", USERS)}
{_word("w.all", "state", ALL)}{_word("w.piece", "state", PIECE)}{_word("w.pieces", "state", PIECES)}
  store i64 0, ptr %w.next
  store i64 0, ptr %w.done
  store i64 %users, ptr %w.users
  store i64 %n{first}, ptr %w.all
  store i64 %piece, ptr %w.piece
  store i64 %pieces, ptr %w.pieces
{places}{_word("h.1", "ask", 1)}{_word("h.2", "ask", 2)}{_word("h.3", "ask", 3)}
{_word("h.4", "ask", 4)}  store i64 40, ptr %ask
  store ptr null, ptr %h.1
  store ptr %context, ptr %h.2
  store ptr @task, ptr %h.3
  store ptr %state, ptr %h.4
  br label %helper
helper:
  %h = phi i64 [0, %fill], [%h1, %sent]
  %more = icmp slt i64 %h, %helpers
  br i1 %more, label %send, label %run
send:
{field("schedule", "api", SCHEDULE)}  %unsent = call ptr %schedule(ptr %ask)
  %h1 = add i64 %h, 1
  %ok = icmp eq ptr %unsent, null
  br i1 %ok, label %sent, label %fewer
fewer:
  call void @destroy(ptr %api, ptr %unsent)
  call void @leave(ptr %state)
  br label %sent
sent:
  br label %helper
run:
  call void @work(ptr %state)
  br label %wait
wait:
  %now = load atomic i64, ptr %w.done acquire, align 8
  %all.done = icmp eq i64 %now, %pieces
  br i1 %all.done, label %finish, label %pause
pause:
{"  call void @llvm.x86.sse2.pause()" if called.x86 else ""}
  br label %wait
finish:
  %shared = icmp ne ptr %state, %own
  br i1 %shared, label %last, label %check
last:
  call void @leave(ptr %state)
  br label %check
check:
  %after = load atomic i64, ptr @failures seq_cst, align 8
  %good = icmp eq i64 %before, %after
  br i1 %good, label %done, label %failed
failed:
{fail}done:
  ret ptr null
}}
"""


def _work(count: int, steps: int, called: Called) -> str:
    """@task (what XLA's threads run), @work (pieces until there are none), @leave, @destroy."""
    arrays = "".join(
        _word(f"a{k}", "state", ARRAYS + k)
        + f"  %d{k} = load ptr, ptr %a{k}\n"
        + _word(f"t{k}", "state", steps + k)
        + f"  %s{k} = load i64, ptr %t{k}\n"
        + f"  %o{k} = mul i64 %from, %s{k}\n"
        + f"  %x{k} = getelementptr i8, ptr %d{k}, i64 %o{k}\n"
        + _word(f"y{k}", "arrays", k)
        + f"  store ptr %x{k}, ptr %y{k}\n"
        for k in range(count)
    )
    return f"""define private void @task(ptr %state) {{
  call void @work(ptr %state)
  call void @leave(ptr %state)
  ret void
}}
define private void @leave(ptr %state) {{
start:
{_word("users", "state", USERS)}  %before = atomicrmw sub ptr %users, i64 1 seq_cst
  %last = icmp eq i64 %before, 1
  br i1 %last, label %free, label %done
free:
  %f = inttoptr i64 {called.free} to ptr
  call void %f(ptr %state)
  ret void
done:
  ret void
}}
define private void @destroy(ptr %api, ptr %problem) {{
  %args = alloca [3 x i64]
{_word("args.1", "args", 1)}{_word("args.2", "args", 2)}  store i64 24, ptr %args
  store ptr null, ptr %args.1
  store ptr %problem, ptr %args.2
{field("f", "api", DESTROY)}  call void %f(ptr %args)
  ret void
}}
define private void @work(ptr %state) {{
start:
  %arrays = alloca [{count} x ptr]
  %n = alloca i64
{_word("next", "state", NEXT)}{_word("done", "state", DONE)}{_word("w.all", "state", ALL)}
{_word("w.piece", "state", PIECE)}{_word("w.pieces", "state", PIECES)}{_word("t", "state", steps)}
  %all = load i64, ptr %w.all
  %piece = load i64, ptr %w.piece
  %pieces = load i64, ptr %w.pieces
  br label %take
take:
  %k = atomicrmw add ptr %next, i64 1 seq_cst
  %is.one = icmp slt i64 %k, %pieces
  br i1 %is.one, label %run, label %out
run:
  %from = mul i64 %k, %piece
  %left = sub i64 %all, %from
  %here = call i64 @llvm.smin.i64(i64 %left, i64 %piece)
  store i64 %here, ptr %n
{arrays}  %loop = inttoptr i64 {called.loop} to ptr
  %table = inttoptr i64 {called.table} to ptr
  call void %loop(ptr %arrays, ptr %n, ptr %t, ptr %table)
  %before = atomicrmw add ptr %done, i64 1 release
  br label %take
out:
  ret void
}}
"""
