"""Programs with prompts (`>>>`) are run when the site is built: what they answer is what the page
shows, or the build fails. So are the examples of the docstrings, for the reference.
"""

import doctest
import functools
import importlib.util
import inspect
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from reference import groups, page_of
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import mozzi

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FILES = Path(__file__).parents[2] / "tests" / "support" / "example_files.py"


def answers(app: Sphinx, docname: str, source: list[str]) -> None:
    """Run the prompts of a page, as one program, or the examples of a page of the reference."""
    if docname.startswith("api/"):
        for title, names in groups().items():
            if docname == f"api/{page_of(title)}":
                examples(names)
    elif "\n>>> " in source[0]:
        run(docname, source[0].replace("```", ""), {})


def run(name: str, text: str, names: dict[str, object]) -> None:
    program = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    told: list[str] = []
    if doctest.DocTestRunner(optionflags=OPTIONS).run(program, out=told.append).failed:
        raise ExtensionError(f"{name}: {''.join(told)}")


def examples(names: list[str]) -> None:
    """Each by itself, beside the files that they load."""
    with files(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            run(name, inspect.getdoc(getattr(mozzi, name)) or "", {"mz": mozzi, "np": np})


@contextmanager
def files() -> Iterator[None]:
    """In a folder with the files of the examples, whose models all examples share."""
    spec = importlib.util.spec_from_file_location("example_files", FILES)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    here, load = os.getcwd(), mozzi.load
    with tempfile.TemporaryDirectory() as folder:
        module.write(Path(folder))
        os.chdir(folder)
        mozzi.load = functools.cache(load)
        try:
            yield
        finally:
            mozzi.load = load
            os.chdir(here)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", answers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
