"""`import mozzi` is quick and light, and every public name is where the table says."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import mozzi

TABLE: dict[str, str] = mozzi._HOME


def python(code: str) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def imported_by(code: str) -> set[str]:
    """The packages outside the standard library that running the code imports."""
    before = "import sys; before = set(sys.modules)"
    loaded = python(f"{before}\n{code}\nprint(*set(sys.modules) - before)")
    packages = {name.partition(".")[0] for name in loaded.split()}
    return packages - set(sys.stdlib_module_names) - {"mozzi"}


def test_import_takes_less_than_20_milliseconds():
    code = "from time import process_time as t; a = t(); import mozzi; print(t() - a)"
    assert min(float(python(code)) for _ in range(5)) < 0.02


def test_import_brings_no_dependency():
    assert imported_by("import mozzi") == set()


def test_the_upper_half_needs_neither_llvmlite_nor_an_extra():
    """Models can be made and read where nothing will be compiled."""
    upper = ("mozzi.errors", "mozzi.lie", "mozzi.model", "mozzi.loaders")
    names = [name for name, home in TABLE.items() if home.startswith(upper)]
    assert imported_by(f"import mozzi\nfor name in {names}: getattr(mozzi, name)") <= {"numpy"}


@pytest.mark.parametrize("name", TABLE)
def test_every_public_name_resolves(name: str):
    value = getattr(mozzi, name)
    assert value is getattr(importlib.import_module(TABLE[name]), name)
    assert not isinstance(value, ModuleType)
    assert name in dir(mozzi)
    assert name in mozzi.__all__


def test_type_checkers_see_what_the_sources_say():
    """``__init__.pyi`` is made from the table and the signatures: python tests/typing/stub.py"""
    folder = Path(__file__).parent / "typing"
    made = subprocess.run([sys.executable, folder / "stub.py", "--check"], check=False)
    assert made.returncode == 0, "run: python tests/typing/stub.py"


def test_dir_is_the_public_names():
    assert dir(mozzi) == sorted(mozzi.__all__) == sorted(TABLE)


def test_unknown_name():
    with pytest.raises(AttributeError, match="'mozzi' has no attribute 'inverse_dynamicz'"):
        mozzi.inverse_dynamicz  # noqa: B018


def test_no_module_has_the_name_of_a_public_function():
    """``import mozzi.x`` would hide ``mozzi.x``."""
    folder = Path(mozzi.__file__).parent
    assert not {path.stem for path in folder.iterdir()} & set(TABLE)
