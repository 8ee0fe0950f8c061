"""The site: what needs no build. `.ci/run` builds it, and every notebook in it is run."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

import mozzi

DOCS = Path(__file__).parents[1] / "docs"
if not DOCS.is_dir():
    pytest.skip("the site is in a checkout only", allow_module_level=True)


MADE = {"_build", "api", "coming_from"}  # when the site is built


def pages() -> list[Path]:
    return [p for p in DOCS.rglob("*.md") if not MADE & set(p.relative_to(DOCS).parts)]


def test_every_public_name_is_in_the_reference(monkeypatch):
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    import reference

    listed = [name for names in reference.groups().values() for name in names]
    assert sorted(listed) == sorted(mozzi._HOME)
    assert all(f"mozzi.{name}" in reference.entry(name) for name in listed)
    sys.modules.pop("reference")


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(DOCS)))
def test_a_page_names_only_what_there_is(page: Path):
    """Public names that a page points at exist, and so do the pages it links."""
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"\{py:obj\}`~mozzi\.(\w+)`", text) + re.findall(r"\bmz\.(\w+)", text):
        assert hasattr(mozzi, name), f"{page.name} names mz.{name}"
    for target in re.findall(r"\]\(([^)#:]+\.md)", text):
        assert (page.parent / target).exists(), f"{page.name} links {target}"


def test_sources_that_are_named_are_there():
    """A page names files of the repository as they are called today, by the end of their path."""
    root = DOCS.parent
    folders = (root / x for x in ("src", "tests", "docs", "benchmarks"))
    there = {f"/{p.relative_to(root).as_posix()}" for x in folders for p in x.rglob("*.py")}
    around = [root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    for page in [*pages(), *around]:
        for name in re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.py)`", page.read_text("utf-8")):
            assert any(x.endswith(f"/{name}") for x in there), f"{page.name} names {name}"


def test_comments_name_what_there_is():
    """A name between backticks in a source is one that its code uses, or a file of it."""
    paths = list(Path(mozzi.__file__).parent.rglob("*.py"))
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    known = {path.stem for path in paths} | {"in_k", "out_k"}  # and arguments of CUDA
    for text in texts.values():
        known.update(re.findall(r"\w+", re.sub(r"`[^`\n]+`", "", text)))
    for path, text in texts.items():
        for name in re.findall(r"(?<!`)`([A-Za-z_]\w*)`(?!`)", text):
            assert name in known, f"{path.name} names {name}"


def test_every_extra_is_on_the_page_that_installs():
    """And what cells import that is not the core's is brought by the extra docs."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    page = (DOCS / "start" / "install.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in extras)
    own = next(x for x in extras["docs"] if x.startswith("mozzi["))[6:-1].split(",")
    brought = [*extras["docs"], *(x for name in own for x in extras[name])]
    names = {re.split(r"[\[>=]", x)[0].replace("-", "_").lower() for x in brought}
    names |= {"mozzi", "numpy", "ipython", "dask", *sys.stdlib_module_names}
    for path in pages():
        for cell in re.findall(r"^```\{code-cell\}\n(.*?)^```", path.read_text(), re.M | re.S):
            for module in re.findall(r"^\s*(?:import|from) (\w+)", cell, re.M):
                assert module.lower() in names | {"benchmarks"} or f'find_spec("{module}")' in cell
