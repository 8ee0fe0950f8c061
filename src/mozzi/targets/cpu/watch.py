"""Look at what callers promise (`promises`), in LLVM IR: count an alarm where it is not kept.

Products of numbers, two by two, have a finite sum where they are finite; it is taken over all
samples of a call and tested once, in the end. The squares of a unit quaternion add up to 1. That is
one fused operation for two numbers. A short body looks itself, at values that are in registers; for
a longer one the loop around it does, at what is in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from mozzi.targets.cpu.promises import Promises

__all__ = ["Watch"]

UNIT = 2e-6  # how far the squared length of a unit quaternion may be from 1
LONG_RUN = 256  # arguments in a row that are looked at in a loop: long blocks take LLVM long
CHAIN = 16  # products that are added one after the other: more are added in four sums

#: From a slot of the structure of arrays to the value that is in it, where that has a name.
Held: TypeAlias = Callable[[int], str | None]


def nothing(_: int) -> str | None:
    """No value has a name: all are in memory."""
    return None


class Watch:
    """IR for vectors of W numbers of type T. The structure of arrays is at the pointer %memory, the
    sum over all samples at %sum.
    """

    def __init__(self, T: str, W: int, promises: Promises):
        self.T, self.W, self.V = T, W, f"<{W} x {T}>"
        self.vector = W * (8 if T == "double" else 4)
        self.promises = promises
        self.multiply_add = f"@llvm.fmuladd.v{W}f{64 if T == 'double' else 32}"
        self.count = 0

    @property
    def head(self) -> list[str]:
        """What is declared outside functions."""
        V = self.V
        some = self.promises.finite or self.promises.units
        return [f"declare {V} {self.multiply_add}({V}, {V}, {V})"] if some else []

    def units(self, alarms: str, held: Held = nothing) -> list[str]:
        """Whether quaternions of W samples have length 1. alarms: the counter, or null where nobody
        is to look; held: the value of a slot that has a name.
        """
        if not self.promises.units:
            return []
        V, off = self.V, ""
        self.code, self.held = self._where(alarms, "unit", "units"), held
        for unit in self.promises.units:
            length = self._number(-1.0)
            for x in [self._take(unit + k) for k in range(4)]:
                length = self._fma(x, x, length)
            square = f"fmul {V} {length}, {length}"
            off = self._fma(length, length, off) if off else self._new(square)
        bad = self._new(f"fcmp ugt {V} {off}, {self._number(UNIT**2)}")
        return [*self.code, *self._alarm(bad, alarms, "unit", "units")]

    def finite(self, alarms: str, held: Held = nothing) -> list[str]:
        """What is finite in W samples, added to the sum."""
        if not self.promises.finite:
            return []
        self.code, self.held = self._where(alarms, "finite", "added"), held
        self._sum()
        return [*self.code, "  br label %added", "added:"]

    def summed(self, alarms: str) -> list[str]:
        """Of all samples: whether their sum is finite."""
        if not self.promises.finite:
            return []
        V = self.V
        return [
            *self._where(alarms, "summed", "tested"),
            f"  %all = load {V}, ptr %sum",
            f"  %nought = fsub {V} %all, %all",
            f"  %not.finite = fcmp une {V} %nought, zeroinitializer",
            *self._alarm("%not.finite", alarms, "sum", "tested"),
        ]

    @staticmethod
    def _where(alarms: str, here: str, then: str) -> list[str]:
        """Look only where there is a counter."""
        return [
            f"  %{here}.on = icmp ne ptr {alarms}, null",
            f"  br i1 %{here}.on, label %{here}, label %{then}",
            f"{here}:",
        ]

    def _sum(self) -> None:
        """x y is finite where both are (or a false alarm)."""
        V, zero, slots = self.V, "zeroinitializer", list(self.promises.finite)
        sums = [self._new(f"load {V}, ptr %sum"), *[zero] * (3 if len(slots) > 2 * CHAIN else 0)]
        at = "finite"
        for first, count in _long_runs(slots):
            slots = [k for k in slots if not first <= k < first + count]
            sums, at = self._summed_run(first, count, sums, at)
        for k, (x, y) in enumerate(zip(slots[::2], [*slots[1::2], *slots[-1:]])):
            n = k % len(sums)
            sums[n] = self._fma(self._take(x), self._take(y), sums[n])
        while len(sums) > 1:
            a, b, *sums = sums
            sums.append(a if b == zero else self._new(f"fadd {V} {a}, {b}"))
        self.code.append(f"  store {V} {sums[0]}, ptr %sum")

    def _summed_run(
        self, first: int, count: int, sums: Sequence[str], before: str
    ) -> tuple[list[str], str]:
        """The same of so many slots in a row, eight at a time, in a loop; what it is called."""
        V, name, code = self.V, f"run{first}", self.code
        code += [
            f"  br label %{name}", f"{name}:",
            f"  %{name}.k = phi i64 [{first}, %{before}], [%{name}.next, %{name}]",
        ]  # fmt: skip
        code += [
            f"  %{name}.s{j} = phi {V} [{x}, %{before}], [%{name}.t{j}, %{name}]"
            for j, x in enumerate(sums)
        ]
        for j in range(4):
            for i, slot in enumerate((2 * j, 2 * j + 1)):
                x = f"%{name}.{j}.{i}"
                code += [
                    f"  {x}.k = add i64 %{name}.k, {slot}",
                    f"  {x}.p = getelementptr {V}, ptr %memory, i64 {x}.k",
                    f"  {x} = load {V}, ptr {x}.p, align {self.vector}",
                ]
            x, y, s = f"%{name}.{j}.0", f"%{name}.{j}.1", f"%{name}.s{j}"
            code.append(f"  %{name}.t{j} = call {V} {self.multiply_add}({V} {x}, {V} {y}, {V} {s})")
        code += [
            f"  %{name}.next = add i64 %{name}.k, 8",
            f"  %{name}.more = icmp slt i64 %{name}.next, {first + count}",
            f"  br i1 %{name}.more, label %{name}, label %{name}.end", f"{name}.end:",
        ]  # fmt: skip
        return [f"%{name}.t{j}" for j in range(4)], f"{name}.end"

    def _alarm(self, some: str, alarms: str, name: str, then: str) -> list[str]:
        """Count an alarm where a vector of truths has one, and go on."""
        return [
            f"  %{name}.bits = bitcast <{self.W} x i1> {some} to i{self.W}",
            f"  %{name}.wrong = icmp ne i{self.W} %{name}.bits, 0",
            f"  br i1 %{name}.wrong, label %{name}.alarm, label %{then}",
            f"{name}.alarm:",
            f"  %{name}.count = atomicrmw add ptr {alarms}, i64 1 monotonic",
            f"  br label %{then}",
            f"{then}:",
        ]

    def _new(self, text: str) -> str:
        self.count += 1
        self.code.append(f"  %c{self.count} = {text}")
        return f"%c{self.count}"

    def _number(self, x: float) -> str:
        value = f"{self.T} {x:.17e}" if self.T == "double" else f"float {_single(x)}"
        return f"<{', '.join([value] * self.W)}>"

    def _take(self, slot: int) -> str:
        name = self.held(slot)
        if name is None:
            p = self._new(f"getelementptr i8, ptr %memory, i64 {slot * self.vector}")
            name = self._new(f"load {self.V}, ptr {p}, align {self.vector}")
        return name

    def _fma(self, a: str, b: str, c: str) -> str:
        V = self.V
        return self._new(f"call {V} {self.multiply_add}({V} {a}, {V} {b}, {V} {c})")


def _long_runs(slots: Sequence[int]) -> list[tuple[int, int]]:
    """(first, how many) of many slots in a row, eighths of them whole."""
    found, first = list[tuple[int, int]](), 0
    for k in range(1, len(slots) + 1):
        if k == len(slots) or slots[k] != slots[k - 1] + 1:
            if k - first >= LONG_RUN:
                found.append((slots[first], (k - first) // 8 * 8))
            first = k
    return found


def _single(x: float) -> str:
    """A number of single precision, as LLVM wants it written."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(np.float32(x))))[0]:016X}"
