"""Programs with prompts (`>>>`) are run when the site is built: what they answer is what the page
shows, or the build fails.
"""

import doctest

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def answers(app: Sphinx, docname: str, source: list[str]) -> None:
    """Run the prompts of a page, as one program."""
    if docname.startswith("api/") or "\n>>> " not in source[0]:
        return
    text = source[0].replace("```", "")
    program = doctest.DocTestParser().get_doctest(text, {}, docname, docname, 0)
    told: list[str] = []
    if doctest.DocTestRunner(optionflags=OPTIONS).run(program, out=told.append).failed:
        raise ExtensionError(f"{docname}: {''.join(told)}")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", answers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
