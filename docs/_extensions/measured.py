"""What was measured, from the newest files of benchmarks/results, when the site is built.

{measured}`{cpu[throughput][inverse_dynamics panda][ns]:.0f} ns` is a number in a sentence, and
{operations}`forward_dynamics panda` counts a program. What stands between `<!-- begin NAME -->` and
`<!-- end NAME -->` is that table, made anew, and so are the pages and pictures of the studies.
"""

import json
import re
import sys
import warnings
from pathlib import Path

from docutils import nodes
from reference import put
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import gpu_report, kept, study_dynamics, study_kinematics  # noqa: E402

Role = tuple[list[nodes.Node], list[nodes.system_message]]


def measured(name: str, raw: str, text: str, line: int, inliner: object, *_: object) -> Role:
    """A number of a sentence. One that no kept result has breaks the build."""
    return [nodes.Text(kept.fill(text))], []


def operations(name: str, raw: str, text: str, line: int, inliner: object, *_: object) -> Role:
    """How many operations a function takes, of a robot."""
    function, robot = text.split()
    return [nodes.Text(f"{kept.operations(function, robot):,}")], []


def tables(app: Sphinx, docname: str, source: list[str]) -> None:
    """The tables of a page, from the newest results."""

    def made(found: re.Match[str]) -> str:
        make = gpu_report.TABLES.get(found[2])
        table = make(kept.newest("gpu")) if make else kept.table(found[2])
        return f"{found[1]}\n{table}\n{found[3]}"

    source[0] = re.sub(
        r"(<!-- begin (\w+) -->).*?(<!-- end \2 -->)", made, source[0], flags=re.DOTALL
    )


def studies(app: Sphinx) -> None:
    """Pages and pictures that consist of results."""
    result = json.loads(json.dumps(kept.newest("study-dynamics")))
    study_dynamics.plots(result)
    put(study_dynamics.FOLDER / "dynamics.md", study_dynamics.page(result))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the files of robots say and models leave out
        put(study_dynamics.FOLDER / "kinematics.md", study_kinematics.page())
    gpu_report.plot(kept.newest("gpu"), Path(app.srcdir) / "images" / "gpu_throughput.svg")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("measured", measured)
    app.add_role("operations", operations)
    app.connect("builder-inited", studies)
    app.connect("source-read", tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
