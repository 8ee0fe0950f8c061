"""`help` of every public function: all arguments, shapes of arguments and results, and an example
that runs.
"""

import doctest
import functools
import inspect
import math
import pydoc
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.example_files import write

import mozzi as mz
from mozzi.algorithms.calls.algorithm import Algorithm
from mozzi.algorithms.calls.documentation import sections

FUNCTIONS = {
    name: value
    for name in mz.__all__
    if callable(value := getattr(mz, name)) and not inspect.isclass(value)
}
ALGORITHMS = {name: f for name, f in FUNCTIONS.items() if isinstance(f, Algorithm)}

@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory):
    """A folder with the files of the examples, whose models (and kernels) all examples share."""
    folder = tmp_path_factory.mktemp("files")
    write(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(mz, "load", functools.cache(FUNCTIONS["load"]))
        yield folder


def blocks(function: Callable[..., Any]) -> dict[str, str]:
    return sections(inspect.getdoc(function) or "")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_shows_the_signature_and_every_argument(name: str):
    function = FUNCTIONS[name]
    text = pydoc.plain(pydoc.render_doc(function))
    assert f"{name}(" in text, "no signature"
    found = blocks(function)
    assert found[""] and found.keys() >= {"Args", "Returns", "Example"}, sorted(found)
    args = inspect.cleandoc(found["Args"])
    told = [n for line in args.splitlines() for n in heads(line)]
    assert told == list(inspect.signature(function).parameters), told
    assert len(found["Example"].splitlines()) <= 8


def leaves_resistance_out(function: Callable[..., Any]) -> bool:
    option = inspect.signature(function).parameters.get("resistance")
    return option is not None and option.default is False


@pytest.mark.parametrize(
    "name", [n for n, f in FUNCTIONS.items() if leaves_resistance_out(f)] + ["directional"]
)
def test_what_states_the_rigid_equations_says_so(name: str):
    assert "rigid" in (inspect.getdoc(FUNCTIONS[name]) or "")


def heads(line: str) -> list[str]:
    """The arguments that a line of a block introduces."""
    found = re.match(r"(\w+(?:, \w+)*)(?: \([^)]*\))?(?:, optional)?: \S", line)
    return found[1].split(", ") if found else []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_runs(name: str, place):
    example = blocks(FUNCTIONS[name])["Example"]
    names = {"mz": mz, "np": np}
    test = doctest.DocTestParser().get_doctest(example, names, name, None, 0)
    assert test.examples
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


OPTIONS: dict[str, Any] = {
    "frame": "tool", "frames": ["tool"], "source": "body", "target": "hybrid",
}  # fmt: skip


@pytest.mark.parametrize("name", ALGORITHMS)
def test_shapes_are_those_that_help_tells(name: str, place):
    """Of arguments and results, with a batch axis; rows of loops and points of contact have their
    own models.
    """
    function = ALGORITHMS[name]
    doc = blocks(function)
    loops = "(B, m" in doc["Returns"] or name == "loop_rank"
    model = mz.load("four_bar.sdf" if loops else "arm.urdf")
    if "contact" in name or name == "impact":
        model = mz.load("ball.urdf", base="free").with_ground()
    sizes = {"nq": model.nq, "nv": model.nv, "nb": model.nb, "m": model.row_count, "k": 1}
    order = function.defaults.get("order", 0)
    sizes |= {"N": order, "N−1": order - 1, "N+1": order + 1}

    def shape(text: str) -> tuple[int, ...]:
        """(B, 6 nb, nv) as numbers."""
        return tuple(
            math.prod(sizes.get(word, 0) or int(word) for word in axis.split())
            for axis in re.sub(r"N ([−+]) 1", r"N\g<1>1", text).split(", ")[1:]
        )

    found = dict(re.findall(r"^ *(\w+) (\(B[^)]*\))", doc["Args"], re.MULTILINE))
    batch = model.neutral() + np.zeros((2, 1))
    arrays = {
        n: batch if n.startswith("q") else np.zeros((2, *shape(found[n][1:-1])))
        for n in function.required
    }
    options = {n: x for n, x in OPTIONS.items() if n in function.defaults}
    results = function(model, **arrays, **options)
    told = re.findall(r"^(?:\w+ )?\((B[^)]*)\): ", inspect.cleandoc(doc["Returns"]), re.MULTILINE)
    several = results if isinstance(results, tuple) else (results,)
    assert [np.shape(x) for x in several] == [(2, *shape(text)) for text in told]
    assert len(told) == str(function.__signature__.return_annotation).count("Array")


CLASSES = {name: value for name in mz.__all__ if inspect.isclass(value := getattr(mz, name))}


@pytest.mark.parametrize("name", CLASSES)
def test_classes_and_their_methods_tell_what_they_take(name: str):
    """Every public class, property and method has a docstring; that of a method names each of its
    arguments.
    """
    cls = CLASSES[name]
    assert (cls.__doc__ or "").strip()
    wrong: list[str] = []
    own = [vars(base) for base in cls.__mro__ if base.__module__.startswith("mozzi.")]
    for word, value in (item for part in own for item in part.items()):
        function = getattr(value, "__func__", value)  # of class methods
        if word.startswith("_") or not (callable(function) or isinstance(value, property)):
            continue
        text = inspect.getdoc(getattr(cls, word)) or ""
        if not text:
            wrong.append(f"{word} has no docstring")
        if inspect.isfunction(function):
            taken = [x for x in inspect.signature(function).parameters if x not in ("self", "cls")]
            wrong += [f"{word}: {x}" for x in taken if not re.search(rf"\b{x}\b", text)]
    assert not wrong, wrong


METHODS = {  # each once, where it is defined
    f"{base.__qualname__}.{word}": getattr(CLASSES[name], word)
    for name in sorted(CLASSES)
    for base in CLASSES[name].__mro__
    for word, value in vars(base).items()
    if base.__module__.startswith("mozzi.") and not word.startswith("_")
    if callable(function := getattr(value, "__func__", value)) and not inspect.isclass(function)
}
WITHOUT = {  # what the loaders, the tracer and the library itself call
    "Content.content", "Collected.replace_joint", "Collected.replace_couplings", "Mesh.file",
    "VelocityRows.matrix", "Law.sample", "Layout.configuration_there", "Layout.rates_there",
    "Layout.velocity_map", "Layout.velocity_map_rate", "Layout.inverse_map",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted((CLASSES.keys() | METHODS.keys()) - WITHOUT))
def test_the_example_of_a_class_and_of_a_method_runs(name: str, place):
    example = blocks((CLASSES | METHODS)[name])["Example"]
    test = doctest.DocTestParser().get_doctest(example, {"mz": mz, "np": np}, name, None, 0)
    assert test.examples
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


COST = re.compile(r"Cost: |O\(|operations")


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - ALGORITHMS.keys()))
def test_a_function_tells_its_cost(name: str):
    """Of algorithms the reference counts the operations of their programs."""
    assert COST.search(blocks(FUNCTIONS[name])[""]), "say what it costs: Cost: O(…), …"
