"""`python -m benchmarks.experiments`: single experiments that pages tell of.

What code generation would be without one of its parts (each in a process of its own), what calls
cost beside what they compute, how contact is solved from cold starts,
how near sines are. What only counts operations
(`counts`) is made whenever the site is built, and not kept.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from benchmarks.__main__ import machine, save
from benchmarks.experiments import calls, contact, generation, ulps
from benchmarks.kept import newest

PARTS = {
    "generation": generation.run, "calls": calls.run, "contact": contact.run, "ulps": ulps.run
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments", description=__doc__)
    parser.add_argument("--only", default="", help="parts with this in their name; others stay")
    options = parser.parse_args()
    result: dict[str, Any] = {
        "machine": machine(), "command": "python -m benchmarks.experiments", "tables": {},
        "cpu": {},
    }  # fmt: skip
    if options.only:
        result = newest("experiments") | {"machine": result["machine"]}
    for part, run in PARTS.items():
        if options.only not in part:
            continue
        found = run()
        result["tables"] |= found.pop("tables")
        result["cpu"] |= found.pop("derived")
        result |= found
        print(part, result, flush=True)
    print("saved", save("experiments", result).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
