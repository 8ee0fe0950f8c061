"""The site. One command builds it; warnings are errors:

    python3 -m venv .venv && .venv/bin/pip install ".[docs]" \
        && .venv/bin/sphinx-build -W --keep-going docs docs/_build/html
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import mozzi  # noqa: E402

project = "mozzi"
author = "The mozzi developers"
copyright = "2026, the mozzi developers"
version = release = mozzi.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "formulas",
    "reference",
    "coming_from",
    "measured",
    "prompts",
    "needs",
]
exclude_patterns = ["_build", "images", "examples", "**/.ipynb_checkpoints"]

# -- pages --------------------------------------------------------------------------------------

html_theme = "furo"
html_title = "mozzi"
html_static_path = ["_static"]
html_css_files = ["mozzi.css"]
html_theme_options = {"navigation_with_keys": True}
templates_path: list[str] = []
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3
html_math_renderer = "mathml"  # the browser's own: nothing is fetched from anywhere
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- what is run --------------------------------------------------------------------------------

nb_execution_mode = os.environ.get("MOZZI_DOCS_EXECUTE", "cache")
nb_execution_cache_path = str(HERE / "_build" / ".notebooks")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_render_markdown_format = "myst"

# -- reference ----------------------------------------------------------------------------------

default_role = "py:obj"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = False  # signatures say more than the sources: options of calls
named = ("Array", "ArrayLike", "Feedback", "Forces", "Prescribed", "TimeLaw", "Sampled", "Values")
autodoc_type_aliases = {name: name for name in named}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
python_maximum_signature_line_length = 88

# Names of other projects are linked where the builder is on the network.
if os.environ.get("READTHEDOCS") or os.environ.get("MOZZI_DOCS_LINK"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
    }
