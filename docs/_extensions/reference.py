"""The API reference: a page for each group of the table of public names, from the docstrings."""

import inspect
import re
from pathlib import Path

from sphinx.application import Sphinx

import mozzi


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


def entry(name: str) -> str:
    """The directive that documents a name, and where its source is."""
    thing = getattr(mozzi, name)
    kind = "class" if inspect.isclass(thing) else "function"
    if not callable(thing):
        kind = "data"
    members = "\n   :members:\n   :inherited-members: tuple" if kind == "class" else ""
    home = mozzi._HOME[name]
    return (
        f"```{{eval-rst}}\n.. auto{kind}:: mozzi.{name}{members}\n```\n\n"
        f"Source: `{home.replace('.', '/')}`\n\n"
    )


def write(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages = []
    for title, names in groups().items():
        page = re.sub(r"\W+", "_", title)
        pages.append(page)
        listed = " · ".join(f"{{py:obj}}`~mozzi.{name}`" for name in sorted(names, key=str.lower))
        body = "".join(entry(name) for name in sorted(names, key=str.lower))
        put(folder / f"{page}.md", f"# {title[0].upper()}{title[1:]}\n\n{listed}\n\n{body}")
    toc = "\n".join(pages)
    put(
        folder / "index.md",
        "# API reference\n\nEvery public name, from its docstring. Shapes are told as (B, nq): B "
        "is any number of batch axes, nq and nv the numbers of coordinates and of velocities, nb "
        "that of bodies."
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
    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", tidy, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
