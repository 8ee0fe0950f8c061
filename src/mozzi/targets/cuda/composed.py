# pyright: basic
# (CuPy is not typed)
"""Large results as several launches: threads that compute numbers, and blocks that make rows.

    ∂a/∂q = −M⁻¹ ∂τ/∂q    ∂a/∂v = −M⁻¹ ∂τ/∂v    ∂a/∂τ = M⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ

A program of a thousand results keeps many of them until their neighbours are there, and those of a
humanoid's forward derivatives have 100,000 operations with thousands of live values. Here programs
write to tiles (`tiles`), the factors L and D⁻¹ and the derivatives of inverse dynamics at that
acceleration, and a last kernel multiplies and writes rows (`finishing`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from math import prod
from typing import Any, cast

import numpy as np

from mozzi.program.packing import Packing
from mozzi.program.program import Buffer, Program
from mozzi.program.schedule import live_values
from mozzi.targets.cuda.columns import Factors, Result
from mozzi.targets.cuda.finishing import Finishing
from mozzi.targets.cuda.here import cupy_here
from mozzi.targets.cuda.kernel import CudaKernel
from mozzi.targets.cuda.launch import WARP
from mozzi.targets.cuda.launches import Launch, Launches
from mozzi.targets.cuda.limb_source import LimbSource, few_of
from mozzi.targets.cuda.nvidia import Function, machine_code, most_shared
from mozzi.targets.cuda.slices import NUMBER_BYTES
from mozzi.targets.cuda.tiles import SAMPLES, TileSource, fewest_live, places_of

__all__ = ["ComposedKernel", "composes"]

COMPOSED_NUMBERS = 300  # of results, from which on these are written by a kernel of their own
LIVE_VALUES = 300  # of a program, from which on parts, or tiles, are taken
ROWS_BYTES = 100 * 1024  # of the largest result of a tile, at most
KEPT_VALUES = 440  # live at once, in registers and shared memory of eight warps: of more, parts
COLUMNS = 64  # of a matrix whose columns have all their entries in registers, at most


def composes(program: Program, dtype: str) -> bool:
    """Whether a program's results are so many that launches of their own are better for them: it
    has parts (a note of it) with straight-line programs, or many live values itself.
    """
    size, numbers = np.dtype(dtype).itemsize, sum(y.size for y in program.outputs)
    largest = max(map(prod, _dense(program)), default=0)
    if numbers < COMPOSED_NUMBERS or largest * SAMPLES * size > ROWS_BYTES:
        return False
    parts = _parts(program) if _factored(program) else ()
    if not parts and (program.rolled or size > NUMBER_BYTES):
        return False
    if any(part.rolled for part in parts) or not all(y.size for y in program.outputs):
        return False
    if parts and _dense(program)[0][-1] > COLUMNS:
        return False
    return program.rolled or live_values(program) > LIVE_VALUES


def _dense(program: Program) -> list[tuple[int, ...]]:
    """The shapes of results that are not packed."""
    packings = _packings(program)
    return [x.places.shape for x in packings] or [y.shape for y in program.outputs]


def _packings(program: Program) -> tuple[Packing, ...]:
    return cast("tuple[Packing, ...]", program.notes.get("packings", ()))


def _parts(program: Program) -> tuple[Program, ...]:
    parts = cast("Callable[[], tuple[Program, ...]] | None", program.notes.get("parts"))
    return () if parts is None else parts()


def _factored(program: Program) -> bool:
    """Whether the first of the parts has factors of M⁻¹; else they have the results, one after the
    other.
    """
    return sum(len(part.outputs) for part in _parts(program)) > len(program.outputs)


class ComposedKernel(CudaKernel):
    """Programs to tiles, then rows, one after the other on one stream. source, flops: of all of
    them.
    """

    def __init__(self, program: Program, dtype: str):
        super().__init__(program, dtype)
        self.factored = _factored(program)
        parts = _parts(program) or (program,)
        if not self.factored and (
            self.packings or live_values(fewest_live(program)) <= KEPT_VALUES
        ):  # fmt: skip
            parts = (program,)
        self.parts: tuple[Program, ...] = parts
        self.places = [places_of(part) for part in self.parts]
        self._compiled: dict[tuple[bool, int], Launches] = {}
        self._bytes = tuple(self.dtype.itemsize * len(x) for x in self.places)  # of a sample
        self.flops = sum(part.flops for part in self.parts) + self._product_flops()

    def __reduce__(self) -> tuple[object, ...]:
        return ComposedKernel, (self.program, self.dtype.name)

    def _product_flops(self) -> int:
        """Of the columns of M⁻¹ and of what it multiplies."""
        if not self.factored:
            return 0
        L, D = (
            sum(x.op != "const" or x.value != 0 for x in _values(self.parts[0], k)) for k in (0, 1)
        )
        return (4 * L + 2 * D) * sum(shape[-1] for shape in _dense(self.program))

    def _sources(self, packed: bool, numbers: int = 0, most: int | None = None) -> list[TileSource]:
        sources: list[TileSource] = []
        for part in self.parts:
            taken = {}
            if len(part.inputs) > len(self.inputs):
                by = self.parts[len(sources) - 1]  # the acceleration, behind what else there is
                a = _values(by, len(by.outputs) - 1)
                taken = {len(self.inputs): (a, self.places[len(sources) - 1])}
            sources.append(TileSource(part, self.dtype.name, packed, numbers, taken, most))
        return sources

    def sheets(self, tiles: Sequence[Any], k: int) -> Sequence[Any]:
        """Those of the parts' tiles that part k takes: its own, and before it those of the part
        before where the acceleration is in these.
        """
        return tiles[k - (len(self.parts[k].inputs) > len(self.inputs)) : k + 1]

    @cached_property
    def finishing(self) -> Finishing:
        """The kernel that makes rows."""
        first = self.parts[0]
        if not self.factored:
            results = [
                Result(y.size, _values(part, k), places, tiles)
                for tiles, (part, places) in enumerate(zip(self.parts, self.places, strict=True))
                for k, y in enumerate(part.outputs)
            ]
            return Finishing(results, None, len(self.parts), self.dtype.name)
        n = _dense(self.program)[0][-1]
        kept = [tuple(map(int, x.first)) for x in self.packings] or [()] * len(self.outputs)
        factors = Factors(_values(first, 0), _values(first, 1), self.places[0], n)
        last = len(self.parts) - 1
        results = [
            Result(n * n, _values(self.parts[last], k), self.places[last], last, -1.0, kept[k])
            for k in range(len(self.outputs) - 1)
        ]
        results.append(Result(n * n, times=1.0, kept=kept[-1]))
        return Finishing(results, factors, len(self.parts), self.dtype.name)

    @property
    def source(self) -> str:
        return "\n".join([*(x.text for x in self._sources(packed=False)), self.finishing.text])

    def report(self) -> dict[str, float]:
        """Of the part that keeps most in memory, as of any kernel."""
        reports = [vars(x.function.report()) for x in self.launches().launches]
        return max(reports, key=lambda x: x["local_bytes"] + x["shared_bytes"])

    def launches(self, packed: bool = True, numbers: int = 0) -> Launches:
        """The parts, and rows of their tiles."""
        if (packed, numbers) in self._compiled:
            return self._compiled[packed, numbers]
        cupy = cupy_here()
        sources = self._sources(packed, numbers, most_shared(cupy.cuda.Device().id))
        inputs, arrays = len(self.inputs), len(self.inputs) + len(self.outputs)
        strided = lambda first, stop: (
            x for k in range(first, stop)
            for x in (1 + k, 1 + arrays + len(sources) + 2 * k, 2 + arrays + len(sources) + 2 * k)
        )  # fmt: skip
        tiles = range(1 + arrays, 1 + arrays + len(sources))
        given = range(1, 1 + inputs) if packed else strided(0, inputs)
        first = (0, *given)
        found: list[Launch] = []
        for k, x in enumerate(sources):
            code = partial(machine_code, cupy, x.text)
            function = Function(cupy, code, x.shared, WARP, fill=x.near > 0)
            if numbers:
                function.words = self._words(numbers) + "q" * len(self.sheets(tiles, k))
            if self.dtype.itemsize == NUMBER_BYTES:
                shared = most_shared(function.device)
                own = partial(
                    LimbSource, x.program, self.dtype.name, packed, numbers, x.taken, shared
                )
                words = partial(getattr, function, "words")
                function.few = few_of(own, x.program, shared, words)
            found.append(Launch(function, (*first, *self.sheets(tiles, k))))
        rows = self.finishing
        code = partial(machine_code, cupy, rows.text)
        last = Function(cupy, code, rows.shared, rows.threads, samples=SAMPLES, fill=True)
        found.append(Launch(last, (0, *tiles, *strided(inputs, arrays))))
        sizes = tuple(x.size for x in (*self.inputs, *self.outputs))
        made = Launches(tuple(found), sizes, self.dtype.itemsize, self._bytes)
        self._compiled[packed, numbers] = made
        return made

    @cached_property
    def by_columns(self) -> bool:
        """Results of parts are written by rows, whole lines at once."""
        return bool(self.packings) and self.parts[0] is self.program

    def _run(
        self, numbers: int, n: int, stream: int, words: Sequence[float], columns: bool = False
    ) -> None:
        if columns:  # what would go to tiles is the result
            super()._run(numbers, n, stream, words, columns)
        else:
            self.launches(True, numbers).run(n, words[1:], stream, None, numbers)

    def start(
        self, n: int, places: Sequence[int], stream: int,
        strides: Sequence[tuple[int, int]] | None = None,
    ) -> None:  # fmt: skip
        if n:
            self.launches(strides is None).run(n, places, stream, strides)


def _values(part: Program, k: int):
    values = part.outputs[k].values
    assert not isinstance(values, Buffer)
    return values
