"""The hourglass holds: imports point at the waist (docs/design.md)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mozzi

PACKAGE = Path(mozzi.__file__).parent
MODULE = re.compile(r"mozzi(\.[a-z_]+)+(:\w+)?")  # a string that names a module, or something in it

# What each part may import of mozzi, besides itself.  A part is a folder or a file of the package.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),  # the leaves that all may import
    "types": set(),
    "checked": {"errors"},
    "fingerprint": set(),
    "files": {"errors"},
    "locks": set(),
    "program": {"checked", "errors"},
    "lie": {"checked", "errors", "program.scalar"},
    "model": {"checked", "errors", "lie", "program.scalar"},
    "loaders": {"checked", "errors", "lie", "model"},
    "algorithms": {"checked", "errors", "lie", "model", "program"},
    "targets": {"checked", "errors", "locks", "program"},
    "simulation": {
        "algorithms", "checked", "compiler", "errors", "files", "fingerprint", "lie", "model",
        "program", "targets",
    },
}  # fmt: skip
# These stand outside the hourglass and may see both ends; nothing in the hourglass may see them.
OUTSIDE = {
    "__init__", "__main__", "adapters", "cli", "compiler", "gym", "identification", "sweeps",
    "viz", "walk",
}  # fmt: skip

# The rooms of the algorithms, from the lowest: each may import those before it.
LAYERS = ("recursion", "calls", "kinematics", "constraints", "dynamics", "loops", "contact",
          "derivatives", "derivatives.loops")  # fmt: skip
# The slow twins see all of them; only tests see the twins.
TWINS = "reference"

# The doors: an algorithm that is called with arrays has itself compiled, and one that meets loops
# has what answers for them loaded; a trajectory shows itself; a random configuration of a closed
# mechanism is closed; rows that a user writes are traced; what is shown of a mechanism has its
# kernels made anew.
DOORS = {
    (
        "mozzi.model.interface.constraint_changes",
        "mozzi.algorithms.constraints.rows.velocity_rows.velocity_rows_of",
    ),
    ("mozzi.model.interface.configurations", "mozzi.algorithms.loops.random.random_closed"),
    ("mozzi.algorithms.calls.algorithm", "mozzi.compiler.lazily"),
    ("mozzi.algorithms.calls.algorithm", "mozzi.compiler.looked_at"),
    ("mozzi.algorithms.calls.algorithm", "mozzi.compiler.kernel_of"),
    ("mozzi.algorithms.loops.shown", "mozzi.compiler.forget"),
    *(
        ("mozzi.algorithms.calls.with_loops", f"mozzi.algorithms.{answer}")
        for answer in (
            "loops.actuation", "loops.forces", "loops.rank_warnings", "derivatives.loops.along",
            "derivatives.loops.first", "derivatives.loops.gradient", "derivatives.loops.hybrid",
            "loops.passive", "loops.shares_in_programs", "derivatives.loops.parameters",
            "derivatives.loops.second",
        )
    ),
    ("mozzi.algorithms.calls.with_loops", "mozzi.algorithms.loops.open_loops.tell_open"),
    ("mozzi.simulation.trajectories.trajectory", "mozzi.viz.plot.plot"),
    ("mozzi.simulation.trajectories.trajectory", "mozzi.viz.animate.animate"),
    ("mozzi.simulation.trajectories.trajectory", "mozzi.viz.notebook.trajectory_html"),
    ("mozzi.model.model", "mozzi.viz.notebook.model_html"),
    ("mozzi.simulation.simulate", "mozzi.viz.progress.watched"),
}


def part_of(module: str) -> str:
    """``mozzi.lie.so3`` belongs to ``lie``; ``mozzi`` itself is ``__init__``."""
    return [*module.split("."), "__init__"][1]


def imports(source: str, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    """(line, module) of all imports of mozzi in a source, also those in functions, in type checks
    and in strings.

    ``from a.b import c`` may name a module ``a.b.c`` or something in ``a.b``; it yields ``a.b.c``.
    """
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found = [alias.name for alias in names]
            case ast.ImportFrom(module=base, names=names, level=level):
                anchor = package[: len(package) + 1 - level] if level else []
                found = [".".join([*anchor, *filter(None, [base]), alias.name]) for alias in names]
            case ast.Constant(value=str(name)):
                found = [name.partition(":")[0]] if MODULE.fullmatch(name) else []
            case _:
                continue
        yield from ((node.lineno, name) for name in found if name.split(".")[0] == "mozzi")


def trespasses(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """The imports of a module that pierce the hourglass."""
    own = part_of(module)
    if own in OUTSIDE:
        return []
    allowed = {own, *MAY_IMPORT[own], "types"}
    return [
        f"{module} line {line} imports {name}"
        for line, name in imports(source, module, is_package=is_package)
        if (
            not any(f"{name}.".startswith(f"mozzi.{target}.") for target in allowed)
            or climbs(module, name)
        )
        and (module, name) not in DOORS
    ]


def layer_of(module: str) -> int | None:
    """The layer of a module of the algorithms: the last one that its name fits."""
    fits = [k for k, x in enumerate(LAYERS) if f"{module}.".startswith(f"mozzi.algorithms.{x}.")]
    return fits[-1] if fits else None


def climbs(module: str, name: str) -> bool:
    """Whether an import within the algorithms points upward, or at a twin from outside."""
    twin = f"mozzi.algorithms.{TWINS}."
    if f"{name}.".startswith(twin):
        return not module.startswith(twin)
    own, other = layer_of(module), layer_of(name)
    return own is not None and other is not None and other > own


def modules() -> Iterator[tuple[Path, str, bool]]:
    """(file, dotted name, whether it is a package) of all modules of mozzi."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ["mozzi", *path.relative_to(PACKAGE).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        yield path, ".".join(parts[:-1] if is_package else parts), is_package


def test_every_part_has_a_rule():
    """A new folder or file of the package says here on which side of the waist it stands."""
    parts = {part_of(module) for _, module, _ in modules()}
    assert parts - OUTSIDE <= MAY_IMPORT.keys()


def test_imports_point_at_the_waist():
    found = [
        trespass
        for path, module, is_package in modules()
        for trespass in trespasses(path.read_text(encoding="utf-8"), module, is_package=is_package)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("mozzi.program.trace", "from mozzi.model import Model"),
        ("mozzi.program.trace", "import mozzi"),
        ("mozzi.targets.cpu.ir", "import mozzi.lie.se3 as se3"),
        ("mozzi.targets.cpu.ir", "from ...algorithms import recursion"),
        ("mozzi.targets.cpu.ir", "from ... import algorithms"),
        ("mozzi.lie.so3", "from mozzi.program import node"),
        ("mozzi.lie.so3", "def f():\n    from mozzi.program.trace import trace"),
        ("mozzi.model.joint", "from mozzi.loaders import load"),
        ("mozzi.loaders.urdf.urdf", "from mozzi import Model"),
        ("mozzi.algorithms.dynamics.energy", "from mozzi.targets.cpu.build import build"),
        ("mozzi.algorithms.dynamics.energy", "PLACE = 'mozzi.compiler:run'"),
        ("mozzi.algorithms.kinematics.poses", "from mozzi.algorithms.dynamics import energy"),
        ("mozzi.algorithms.dynamics.energy", "PLACE = 'mozzi.algorithms.loops.forces:f'"),
        ("mozzi.algorithms.loops.forces", "from mozzi.algorithms.derivatives.first import f"),
        ("mozzi.algorithms.derivatives.time", "import mozzi.algorithms.derivatives.loops.first"),
        ("mozzi.algorithms.dynamics.energy", "from mozzi.algorithms.reference import dynamics"),
    ],
)
def test_a_piercing_import_is_seen(module: str, line: str):
    assert trespasses(line, module)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("mozzi.program.trace", "from .node import Node"),
        ("mozzi.lie.so3", "from mozzi.program.scalar import sqrt"),
        ("mozzi.lie.so3", "from mozzi.program import scalar"),
        ("mozzi.model.joint", "from mozzi.lie import SE3"),
        ("mozzi.algorithms.dynamics.energy", "from mozzi.program.trace import trace"),
        ("mozzi.algorithms.dynamics.energy", "from mozzi.algorithms.kinematics import poses"),
        ("mozzi.algorithms.derivatives.loops.first", "from mozzi.algorithms.loops import forces"),
        ("mozzi.algorithms.reference.loops", "from mozzi.algorithms.loops import forces"),
        ("mozzi.cli.info", "from mozzi.loaders import load"),
    ],
)
def test_an_import_towards_the_waist_is_allowed(module: str, line: str):
    assert not trespasses(line, module)


def test_the_map_knows_every_room_and_names_files_that_are_there():
    """docs/design.md: a line for each folder; the walk of a file to machine code names paths."""
    text = (Path(__file__).parents[1] / "docs" / "design.md").read_text(encoding="utf-8")
    rooms = text[text.index("## The rooms") : text.index("## From a file")]
    walk = text[text.index("## From a file") : text.index("## Scalars")]
    listed: set[str] = set()
    for line in re.findall(r"^\| (`.*?) \|", rooms, re.MULTILINE):
        for word in re.findall(r"`([\w./…]+)/`", line):
            first = re.search(r"`([\w./]+)/`", line)
            base = first[1] if first else ""
            beside = f"{base.rpartition('/')[0]}/{word}" if "/" in base else f"{base}/{word}"
            inside = f"{base}/{word.removeprefix('…/')}"
            listed |= {word, beside, f"{base.partition('/')[0]}/{word}", inside}
    there = {
        path.parent.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("__init__.py")
    } - {".", "algorithms", "targets"}  # fmt: skip
    assert there <= listed, sorted(there - listed)
    for path in re.findall(r"`([\w/]+\.py)`", walk):
        assert (PACKAGE / path).exists(), path
