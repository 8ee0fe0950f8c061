"""Programs that are not notebooks, run when the site is built, with what they print below them.

A block {needs} cuda is a cell where there is a GPU; elsewhere it is shown with what it printed on
the machine where it ran (`benchmarks/pages.py`), which is named. `{run} FILE` shows a file that
is run; what it printed is kept beside the notebooks' cache, by the text of the file.
"""

import re
import sys
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.directives.code import LiteralInclude
from sphinx.errors import ExtensionError

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import pages  # noqa: E402

import mozzi  # noqa: E402


def blocks(app: Sphinx, docname: str, source: list[str]) -> None:
    """Cells, where they can run; else code, what it printed, and where."""
    found = pages.BLOCK.findall(source[0])
    if not found:
        return
    if all(pages.available(need) for needs, _ in found for need in needs.split()):
        source[0] = pages.BLOCK.sub(r"```{code-cell}\n:tags: [remove-stderr]\n\2```", source[0])
        return
    try:
        kept = pages.shown(f"{docname}.md", [code for _, code in found])
    except KeyError as error:
        raise ExtensionError(error.args[0]) from error
    told = iter(kept["blocks"])

    def made(block: re.Match[str]) -> str:
        output = next(told)["output"].rstrip("\n")
        printed = f"```{{code-block}} text\n:class: printed\n\n{output}\n```\n" if output else ""
        return f"```python\n{block[2]}```\n{printed}\n*{pages.where(kept)}*\n"

    source[0] = pages.BLOCK.sub(made, source[0])


class Program(LiteralInclude):
    """A file of docs/examples, and what it prints."""

    option_spec: ClassVar = LiteralInclude.option_spec | {"needs": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        self.options.setdefault("language", "python")
        need = self.options.pop("needs", None)
        path = Path(self.env.relfn2path(self.arguments[0])[1])
        code = path.read_text(encoding="utf-8")
        shown = super().run()
        note: list[nodes.Node] = []
        if need is None or pages.available(need):
            printed = self.printed(code)
        else:
            kept = pages.shown(f"examples/{path.name}", [code])
            printed = kept["blocks"][0]["output"]
            note = [nodes.paragraph("", "", nodes.emphasis("", pages.where(kept).replace("`", "")))]
        output = nodes.literal_block(printed, printed, language="text", classes=["printed"])
        return [*shown, output, *note]

    def printed(self, code: str) -> str:
        """From the cache, or by running it."""
        folder = Path(self.env.srcdir) / "_build" / ".programs"
        file = folder / f"{pages.digest(code + mozzi.__version__)}.txt"
        if not file.exists():
            folder.mkdir(parents=True, exist_ok=True)
            file.write_text(pages.printed(code), encoding="utf-8")
        return file.read_text(encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("run", Program)
    app.connect("source-read", blocks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
