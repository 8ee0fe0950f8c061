"""Pages for users of other libraries, from the tables whose rows the tests run."""

import sys
from pathlib import Path

from reference import put
from sphinx.application import Sphinx

FOLDER = Path(__file__).parents[1] / "coming_from"
sys.path.insert(0, str(FOLDER))

from tables import TABLES, Table  # noqa: E402


def page(table: Table) -> str:
    cell = lambda text: f"`{text}`".replace("|", "\\|")
    rows = "\n".join(f"| {what} | {cell(a)} | {cell(b)} |" for what, a, b in table.rows)
    return (
        f"# {table.title}\n\n## What differs\n{table.differences}\n"
        f"## Names\n\nEvery row is run with both libraries and compared "
        f"(`tests/test_coming_from.py`), behind this set-up:\n\n"
        f"```python\n{table.setup.strip()}\n```\n\n"
        f"| | {table.title} | mozzi |\n|---|---|---|\n{rows}\n"
    )


def write(app: Sphinx) -> None:
    for name, table in TABLES.items():
        put(FOLDER / f"{name}.md", page(table))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
