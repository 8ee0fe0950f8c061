"""`python -m benchmarks.study NAME`: regenerate a page of docs/study from what mozzi does now.

A study is a module with `page() -> str`, named in STUDIES.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGES = HERE.parent / "docs" / "study"
STUDIES = {"kinematics": "benchmarks.study_kinematics"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*STUDIES, []], help="all, if none is named")
    parser.add_argument("--check", action="store_true", help="fail where a page is out of date")
    options = parser.parse_args()
    stale = []
    for name in options.names or STUDIES:
        text, path = importlib.import_module(STUDIES[name]).page(), PAGES / f"{name}.md"
        if options.check and (not path.exists() or path.read_text() != text):
            stale.append(name)
        elif not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            print("wrote", path.relative_to(HERE.parent))
    if stale:
        print("out of date:", ", ".join(stale))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
