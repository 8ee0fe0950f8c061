"""What a notebook shows: cells that are run by a kernel of Jupyter, and what comes out of them."""

import json
import os
import re
from html import unescape
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pytest

import mozzi as mz
from mozzi.model import generate

CELLS = [
    "import numpy as np, mozzi as mz\n"
    "from mozzi.model import generate\narm = generate.chain(3)\narm",
    "motion = mz.simulate(arm, arm.neutral(), np.ones(3), 0.5, 1e-2, progress=True)\nmotion",
    "motion.plot()",
    "figure = motion.plot()",
    "many = mz.simulate(arm, np.zeros((6, 3)), np.ones(3), 0.1, 1e-2)\nmany",
]


@pytest.fixture(scope="module")
def outputs():
    """What the cells show, by their numbers."""
    source = str(Path(mz.__file__).parents[1])
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    environment = os.environ | {"PYTHONPATH": source, "MPLBACKEND": ""}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute(env=environment)
    return [cell["outputs"] for cell in notebook.cells]


def html_of(outputs):
    return [x["data"]["text/html"] for x in outputs if "text/html" in x.get("data", {})]


def test_a_model_shows_its_tree(outputs):
    (text,) = html_of(outputs[0])
    for body in generate.chain(3):
        assert re.search(rf"{body.name}</td><td[^>]*>{body.joint_name}</td>", text)
    assert "mass / kg" in text and "nv 3" in text


def test_a_trajectory_plays_inside_the_notebook(outputs):
    """The frame holds the page that animate writes, with all its frames."""
    page = unescape(re.search(r'srcdoc="(.*?)" style', html_of(outputs[1])[-1], re.S)[1])
    scenes = json.loads(re.search(r"\[\{\"title\".*\}\]", page)[0])
    assert scenes[0]["frames"] == 16 and scenes[0]["bodies"] == 3 and scenes[0]["play"]
    several = unescape(re.search(r'srcdoc="(.*?)" style', html_of(outputs[4])[-1], re.S)[1])
    assert json.loads(re.search(r"\[\{\"title\".*\}\]", several)[0])[0]["bodies"] == 4 * 3


def test_the_bar_of_a_simulation_ends_full(outputs):
    bar = html_of(outputs[1])[0]
    assert 'value="1.0000"' in bar and "100 %" in bar


@pytest.mark.parametrize("cell", [2, 3])
def test_a_plot_is_shown_once(outputs, cell):
    """As the value of a cell, and where it is given a name."""
    pictures = [x for x in outputs[cell] if "image/png" in x.get("data", {})]
    assert len(pictures) == 1


def test_without_a_notebook_bars_and_pages_are_the_same_functions(capsys):
    arm = generate.chain(3)
    motion = mz.simulate(arm, arm.neutral(), np.ones(3), 0.05, 1e-2, progress=True)
    assert capsys.readouterr().out == ""
    motion.model = None
    assert "Trajectory" in motion._repr_html_()
