"""A small main program that checks the C function of a kernel against reference values."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from mozzi.program.program import Program
from mozzi.targets.c.words import RESERVED, TYPES, number
from mozzi.targets.interpret import InterpretedKernel
from mozzi.targets.unique_names import Names

__all__ = ["main_program"]

TEST = """\
/* Compares NAME with reference values; the exit code is 0 where all agree, else 1. */
#include <math.h>
#include <stdio.h>

#include "NAME.h"

enum { SAMPLES = COUNT };

ARRAYS
static int check(const char *what, int sample, int size, const REAL *got, const REAL *wanted)
{
    double scale = 1.0;
    int wrong = 0;
    for (int n = 0; n < size; ++n) {
        scale = fmax(scale, fabs((double)wanted[n]));
    }
    for (int n = 0; n < size; ++n) {
        if (!(fabs((double)got[n] - (double)wanted[n]) <= TOLERANCE * scale)) {
            printf("sample %d: %s[%d] is %.9g, expected %.9g\\n",
                   sample, what, n, (double)got[n], (double)wanted[n]);
            wrong = 1;
        }
    }
    return wrong;
}

int main(void)
{
    int wrong = 0;
    for (int sample = 0; sample < SAMPLES; ++sample) {
        NAME(ARGUMENTS);
CHECKS
    }
    printf("NAME: %d samples, %s\\n", SAMPLES, wrong ? "FAILED" : "all agree");
    return wrong ? 1 : 0;
}
"""


def main_program(
    program: Program,
    name: str,
    dtype: str,
    samples: Sequence[Sequence[ArrayLike]],
    tolerance: float,
) -> str:
    """A main program that compares the C function of a program with the interpreter."""
    if not samples:
        raise ValueError("a test program needs at least one sample")
    kernel = InterpretedKernel(program)
    arguments = [[np.asarray(a, dtype).astype(float) for a in sample] for sample in samples]
    results = [kernel(*sample) for sample in arguments]
    results = [[r] for r in results] if program.single else results
    real = TYPES[dtype]
    local = ("check", "what", "sample", "size", "got", "wanted", "scale", "wrong", "n", "SAMPLES")
    names = Names({*RESERVED, *local, name})
    arrays, call, checks = list[str](), list[str](), list[str]()

    def table(table: str, rows: list[np.ndarray]) -> None:
        arrays.append(f"static const {real} {table}[SAMPLES][{max(rows[0].size, 1)}] = {{")
        for row in rows:
            if not np.isfinite(row).all():
                raise ValueError(f"{table} is not finite at a sample: {row}")
            words = ", ".join(number(x, real) for x in row.ravel()) or "0"
            arrays.append(textwrap.indent(textwrap.fill(f"{{{words}}},", 92), "    "))
        arrays.extend(["};", ""])

    for n, x in enumerate(program.inputs):
        given = names.new(x.name)
        table(given, [sample[n] for sample in arguments])
        call.append(f"{given}[sample]")
    for n, x in enumerate(program.outputs):
        result, expected = names.new(x.name), names.new(f"expected_{x.name}")
        table(expected, [np.asarray(result[n]) for result in results])
        arrays += [f"static {real} {result}[{max(x.size, 1)}];", ""]
        call.append(result)
        where = f"sample, {x.size}, {result}, {expected}[sample]"
        checks.append(f'        wrong |= check("{result}", {where});')
    words = {
        "NAME": name, "COUNT": str(len(samples)), "REAL": real,
        "TOLERANCE": repr(tolerance), "ARGUMENTS": ", ".join(call), "CHECKS": "\n".join(checks),
        "ARRAYS": "\n".join(arrays),
    }  # fmt: skip
    return re.sub(r"\b[A-Z]+\b", lambda word: words.get(word[0], word[0]), TEST)
