"""The API reference: a page for each group of the table of public names, from the docstrings; the
equations that a name stands for, what tests hold them, and what it costs, counted here.
"""

import inspect
import re
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.inspect import TypeAliasForwardRef

import mozzi
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.compiler import program_of
from mozzi.model import generate

PAPERS = Path(__file__).parents[1] / "papers.md"
TESTS = Path(__file__).parents[2] / "tests"


def groups() -> dict[str, list[str]]:
    """The public names, by the comments of the table in mozzi/__init__.py."""
    text = Path(mozzi.__file__).read_text(encoding="utf-8")
    table = text[text.index("_HOME") : text.index("\n}", text.index("_HOME"))]
    found: dict[str, list[str]] = {}
    for line in table.splitlines()[1:]:
        if heading := re.fullmatch(r"    # (.+)", line):
            found[heading[1]] = []
        elif name := re.match(r'    "(\w+)":', line):
            found[list(found)[-1]].append(name[1])
    return found


def page_of(title: str) -> str:
    """The file of a group."""
    return re.sub(r"\W+", "_", title)


@cache
def laws() -> dict[str, list[str]]:
    """Of each public name the rows of the page of the papers: equations, and a test of them."""
    found: dict[str, list[str]] = {}
    paper = ""
    for line in PAPERS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            paper = line[3:].split(":")[0].strip()
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 4 and "`" in cells[2]:
            for name in dict.fromkeys(x.split(".")[0] for x in re.findall(r"`([\w.]+)", cells[2])):
                law = f"{paper}, {cells[0]}: {cells[1]} ({cells[3].split(', ')[0]})"
                found.setdefault(name, []).append(law)
    return found


@cache
def tested() -> dict[str, list[str]]:
    """Of each public name the two files of tests that name it most."""
    count: dict[str, Counter[str]] = {}
    for file in TESTS.rglob("test_*.py"):
        if file.parent != TESTS or file.name in ("test_mistakes.py", "test_errors.py"):
            text = file.read_text(encoding="utf-8")
            for name in re.findall(r"\b(?:mz\.|mozzi\.)?([A-Za-z]\w+)", text):
                if name in mozzi.__all__:
                    where = file.relative_to(TESTS.parent).as_posix()
                    count.setdefault(name, Counter())[where] += 1
    return {name: [file for file, _ in found.most_common(2)] for name, found in count.items()}


OPTIONS = {"frame": "tip", "frames": ["tip"], "source": "body", "target": "hybrid"}


@cache
def models() -> dict[str, mozzi.Model]:
    """What operations are counted on, by the word for it."""
    arm = generate.chain(7, seed=1)
    feet = generate.quadruped()
    return {
        "an arm of seven hinges in general position": arm.with_frame("tip", arm.bodies[-1]),
        "a four-bar linkage": generate.four_bar().with_frame("tip", -1),
        "a quadruped": feet.with_frame("tip", feet.bodies[-1]),
    }


def cost(name: str) -> str:
    """What an algorithm takes, counted on the first mechanism that it is for."""
    thing = getattr(mozzi, name)
    if inspect.isclass(thing) and issubclass(thing, mozzi.Joint) and thing is not mozzi.Joint:
        return _joint(thing)
    if not isinstance(thing, Algorithm):
        return ""
    options = {key: x for key, x in OPTIONS.items() if key in thing.defaults}
    loops = name.startswith(("loop", "projected"))
    contact = "contact" in name or name == "impact"
    what = list(models())[1 if loops else 2 if contact else 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = program_of(thing, models()[what], rolled=False, options=options)
    parts = ", ".join(f"{n:,} {kind}" for kind, n in sorted(program.operations.items()) if n)
    return f"{program.flops:,} operations for {what} ({parts})" if parts else f"none for {what}"


def _joint(kind: type[mozzi.Joint]) -> str:
    """Inverse and forward dynamics of one body on a joint."""
    joint = kind.examples()[0].with_frames()
    if not joint.nv:
        return "nothing: bodies that are fixed to each other are merged"
    J = [[0.4, 0.01, 0.02], [0.01, 0.5, 0.03], [0.02, 0.03, 0.6]]
    body = mozzi.Inertia(1.3, (0.1, 0.2, 0.3), J)
    model = mozzi.Builder("body").add("body", None, joint, body).build()
    inverse, forward = (
        program_of(f, model).flops for f in (mozzi.inverse_dynamics, mozzi.forward_dynamics)
    )
    return f"{inverse} operations for inverse, {forward} for forward dynamics of one body on it"


def entry(name: str) -> str:
    """The directive that documents a name, what it obeys and costs, and where its source is."""
    thing = getattr(mozzi, name)
    kind = "class" if inspect.isclass(thing) else "function"
    if not callable(thing):
        kind = "data"
    members = "\n   :members:\n   :inherited-members: tuple, BaseException, ImportError"
    members = members if kind == "class" else ""
    home = mozzi._HOME[name].replace(".", "/")
    if (Path(mozzi.__file__).parents[1] / f"{home}.py").exists():
        home += ".py"
    if inspect.isclass(thing) or inspect.isfunction(thing):
        home = "mozzi" + (inspect.getsourcefile(inspect.unwrap(thing)) or "").rpartition("mozzi")[2]
    lines = [f"- **Equations**: {law}" for law in laws().get(name, [])[:6]]
    if counted := cost(name):
        lines.append(f"- **Counted**: {counted}.")
    if files := tested().get(name):
        lines.append(f"- **Tests**: {', '.join(f'`{file}`' for file in files)}")
    lines.append(f"- **Source**: `{home}`")
    told = "\n".join(lines)
    return f"```{{eval-rst}}\n.. auto{kind}:: mozzi.{name}{members}\n```\n\n{told}\n\n"


def write(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages = []
    for title, names in groups().items():
        page = page_of(title)
        pages.append(page)
        listed = " · ".join(f"{{py:obj}}`~mozzi.{name}`" for name in sorted(names, key=str.lower))
        body = "".join(entry(name) for name in sorted(names, key=str.lower))
        put(folder / f"{page}.md", f"# {title[0].upper()}{title[1:]}\n\n{listed}\n\n{body}")
    toc = "\n".join(pages)
    put(
        folder / "index.md",
        "# API reference\n\nEvery public name, from its docstring: what it computes and by which "
        "law, arguments and results with their shapes, an example that was run when this page was "
        "built, what it costs. Below each stand the equations of the papers that it is, with a "
        "test that holds them, the operations that its program takes, counted when this page was "
        "built, the tests that use it most, and its source.\n\nShapes are told as (B, nq): B is "
        "any number of batch axes, nq and nv the "
        "numbers of coordinates and of velocities, nb that of bodies, d the depth of the tree."
        f"\n\n```{{toctree}}\n:maxdepth: 1\n\n{toc}\n```\n",
    )


def put(path: Path, text: str) -> None:
    """Write where it differs, so that only that is built again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def tidy(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Bars, stars and underscores of docstrings are themselves, outside of code."""
    code = False
    for k, line in enumerate(lines):
        if line.lstrip().startswith(">>>"):
            code = True
        elif not line.strip():
            code = False
        if not code and ":: " not in line:
            parts = re.split(r"(``[^`]+``|`[^`]+`|:\w+:`[^`]+`)", line)
            marks = r"(?<!\\)([|*])|(?<=\w)(_)(?!\w)"
            parts[::2] = [re.sub(marks, r"\\\1\2", part) for part in parts[::2]]
            lines[k] = "".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    TypeAliasForwardRef.__repr__ = lambda self: self.name  # names of types as they are written
    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", tidy, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
