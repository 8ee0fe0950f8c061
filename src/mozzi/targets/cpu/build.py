"""Build a kernel: schedule the program, write its LLVM IR, compile it, keep it on disk."""

from __future__ import annotations

import gc
import hashlib
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import DTypeLike

from mozzi.locks import Aside
from mozzi.program.executed import executed
from mozzi.program.node import Region
from mozzi.program.program import Program, flops_of
from mozzi.program.reroll import rerolled
from mozzi.program.schedule import CALLS, schedule
from mozzi.targets import disk_cache
from mozzi.targets.cpu import jit
from mozzi.targets.cpu.assembler import SEPARATOR, Assembler
from mozzi.targets.cpu.batch_loop import batch_loop, named_shapes, operands_of
from mozzi.targets.cpu.ir import Body
from mozzi.targets.cpu.kernel import CpuKernel, Results
from mozzi.targets.disk_cache import Entry

__all__ = ["build", "compile_cpu", "entry_of", "module_text", "ordered", "place_of"]


LARGE = 1 << 20  # bytes of a program, packed, that leaves much memory behind


def build(
    make: Callable[[], Program],
    dtype: DTypeLike = "float64",
    key: str | None = None,
    lanes: int | None = None,
    keep: bool = False,
) -> CpuKernel[Results]:
    """The kernel of the program that `make` traces; it is not called where the disk cache has the
    key. The program is taken apart then, unless it shall be kept.
    """
    dtype = np.dtype(dtype).name
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype {dtype!r}: the CPU target computes in float64 or float32")
    W = lanes or jit.lanes(dtype)
    widths = (2, 4, 8) if dtype == "float64" else (4, 8, 16)
    if W not in widths:
        raise ValueError(f"{W} lanes of {dtype}; vectors hold {', '.join(map(str, widths))}")
    found = None if key is None else disk_cache.lookup(place_of(key, dtype, W))
    if found is None:
        shared = Aside(lambda: jit.runtime(dtype, W))  # meanwhile, where there is none yet
        found = _entry(make, dtype, key, W, keep)
        shared.result()
        if len(found.packed) > LARGE:
            gc.collect()  # what else tracing has left
            jit.give_back()
    return CpuKernel(found)


def _entry(
    make: Callable[[], Program], dtype: str, key: str | None, W: int, keep: bool
) -> Entry:
    program = make()
    compiled = ordered(program)
    assembler = Assembler()
    try:
        source = module_text(compiled, dtype, W, assembler.add if key is not None else None)
    except BaseException:
        assembler.abandon()
        raise
    name = place_of(key or hashlib.sha256(source.encode()).hexdigest(), dtype, W)
    found = disk_cache.lookup(name) if key is None else None

    def assembled() -> Entry:
        code = jit.assemble(source) if key is None else assembler.code()
        done = replace(entry, code=code)
        disk_cache.store(name, done)
        return done

    entry = entry_of(program, dtype, W, source)
    if found is not None:
        return replace(entry, code=found.code)
    rest = Aside(assembled)  # after Ctrl-C it is still kept for the next time
    if not keep:
        compiled.forget()  # while LLVM is at work
        program.forget()
    return rest.result()


def ordered(program: Program) -> Program:
    """The statements as they are compiled: loops for what repeats itself, unless it shall be
    straight-line code; in a good order.
    """
    return schedule(program if program.notes.get("straight") else rerolled(program))


def compile_cpu(
    program: Program,
    dtype: DTypeLike = "float64",
    *,
    key: str | None = None,
    lanes: int | None = None,
) -> CpuKernel[Results]:
    """The kernel of a program on this machine's CPU.

    key: names the program in the disk cache; without one its LLVM IR does. lanes: samples in a
    vector.
    """
    return build(lambda: program, dtype, key, lanes, keep=True)


def module_text(
    program: Program, dtype: str, W: int, done: Callable[[str], None] | None = None
) -> str:
    """The LLVM IR of a program; `done` is called with each of its modules when it is written."""
    T = "double" if dtype == "float64" else "float"
    modules: list[str] = []

    def written(text: str) -> None:
        modules.append(text)
        if done is not None:
            done(text)

    body = Body(program, T, W, written)
    taken, _ = operands_of(named_shapes(program.inputs), ())
    loop = batch_loop(
        T, W, taken, body.results, body.scratch, jit.is_x86(), body.watch, body.looks
    )
    written("\n".join([*body.lines, loop, ""]))
    return SEPARATOR.join(modules)


def _work(region: Region) -> float:
    """Statements of one evaluation, a call of a function as twenty."""
    return float(sum(n * (20 if op in CALLS else 1) for op, n in executed(region).items()))


def place_of(key: str, dtype: str, W: int) -> str:
    """Where the disk cache has the kernel under this key, for this machine."""
    return repr((key, (dtype, W, *jit.host(), sys.modules["mozzi"].__version__)))


def entry_of(program: Program, dtype: str, W: int, source: str, code: bytes = b"") -> Entry:
    """A compiled program, as it is kept."""
    count = program.operations
    return Entry(
        program.name, dtype, W,
        named_shapes(program.inputs), named_shapes(program.outputs),
        program.single, count, flops_of(count), _work(program.region),
        code, _compressed(source),
    )  # fmt: skip


def _compressed(source: str, step: int = 1 << 20) -> bytes:
    """The text in few bytes, piece by piece: it is long where mechanisms are large."""
    press = zlib.compressobj(1)
    parts = [press.compress(source[k : k + step].encode()) for k in range(0, len(source), step)]
    return b"".join([*parts, press.flush()])
