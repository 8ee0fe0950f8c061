"""`python -m benchmarks.pages`: programs of the site that need what most builders have not, run
where it is, and kept with what they print.

Blocks of a page that are marked `{needs} cuda` (torch, jax; or several) are one program; so is a
file of docs/examples that a page shows as `{run}` with `:needs:`. The build runs them where it
can, and else shows what was kept: the text must be that which ran, or the build fails.

    python -m benchmarks.pages --pack out/pages                # where example-robot-data is
    PYTHONPATH=src:out/pages python -m benchmarks.pages        # where there is a GPU
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from contextlib import redirect_stdout
from importlib import metadata
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ROBOTS = ("panda.urdf",)
BLOCK = re.compile(r"^```\{needs\} ([\w ]+)\n(.*?)^```[ ]*$", re.M | re.S)
SHOWN = re.compile(r"^```\{run\} (\S+)\n((?::[^\n]*\n)*)```", re.M)
KIND = "pages"
PACKED = "mozzi-commit.txt"  # of what travels to a machine without the repository


class Block(TypedDict):
    """What ran, and what it printed."""

    sha256: str
    output: str


class Kept(TypedDict):
    """The program of a page: where and when it ran."""

    machine: str
    date: str
    commit: str
    blocks: list[Block]


def available(need: str) -> bool:
    """Whether a program with this need can run here."""
    if importlib.util.find_spec({"cuda": "cupy"}.get(need, need)) is None:
        return False
    if need != "cuda":
        return True
    import cupy

    return bool(cupy.cuda.is_available())


def digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()


def programs() -> dict[str, tuple[set[str], list[str]]]:
    """What each needs, and its blocks: by the page, or by the file of an example."""
    found: dict[str, tuple[set[str], list[str]]] = {}
    made = {"_build", "api"}
    for page in sorted(p for p in DOCS.rglob("*.md") if not made & set(p.relative_to(DOCS).parts)):
        text = page.read_text(encoding="utf-8")
        if blocks := BLOCK.findall(text):
            name = page.relative_to(DOCS).as_posix()
            needs = {word for words, _ in blocks for word in words.split()}
            found[name] = needs, [code for _, code in blocks]
        for file, options in SHOWN.findall(text):
            if need := re.search(r"^:needs: (\w+)$", options, re.M):
                path = (page.parent / file).resolve()
                code = path.read_text(encoding="utf-8")
                found[path.relative_to(DOCS.resolve()).as_posix()] = {need[1]}, [code]
    return found


def newest() -> dict[str, Kept]:
    """What is kept, by page."""
    files = sorted((ROOT / "benchmarks" / "results").glob(f"????-??-??-{KIND}.json"))
    return json.loads(files[-1].read_text(encoding="utf-8")) if files else {}


def shown(name: str, blocks: list[str]) -> Kept:
    """What a program printed where it ran, which must have been this one."""
    kept = newest().get(name)
    if kept is None or [x["sha256"] for x in kept["blocks"]] != [digest(x) for x in blocks]:
        raise KeyError(
            f"{name}: what is kept is of another text, or nothing is; run `python -m "
            f"benchmarks.pages {name}` where there is what it needs"
        )
    return kept


def where(kept: Kept) -> str:
    """The line below a block that did not run here."""
    return (
        f"Ran on {kept['machine']}, {kept['date'][:10]}, commit {kept['commit'][:7]} "
        "(`python -m benchmarks.pages`). This site was built where it cannot run."
    )


def run(blocks: list[str]) -> list[Block]:
    """The blocks of a page, one after the other, in an empty folder."""
    names: dict[str, object] = {"__name__": "__main__"}
    found: list[Block] = []
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for k, code in enumerate(blocks):
                told = io.StringIO()
                with redirect_stdout(told):
                    exec(compile(code, f"block {k + 1}", "exec"), names)
                found.append({"sha256": digest(code), "output": told.getvalue()})
        finally:
            os.chdir(here)
    return found


def run_file(code: str) -> list[Block]:
    """An example, as a process."""
    return [{"sha256": digest(code), "output": printed(code)}]


def printed(code: str) -> str:
    """What a program prints, which runs in an empty folder; its errors are ours."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(code, encoding="utf-8")
        there = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        env = os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": there.rstrip(os.pathsep)}
        command = [sys.executable, str(path)]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(done.args)} ended with {done.returncode}: {done.stderr}")
        return done.stdout.replace(folder + os.sep, "")


def machine(needs: set[str]) -> tuple[str, str, str]:
    """The device, the date, and the commit."""
    from benchmarks.__main__ import machine as of

    told = of()
    device = str(told["cpu"])
    if "cuda" in needs:
        import cupy

        device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    packed = [p for folder in sys.path if (p := Path(folder) / PACKED).is_file()]
    commit = packed[0].read_text().strip() if packed else str(told["commit"])
    return f"an {device}", str(told["date"]), commit


def pack(folder: Path) -> None:
    """The robots of the programs, as a part of the package example-robot-data, and the commit."""
    from benchmarks.__main__ import machine as of

    folder.mkdir(parents=True, exist_ok=True)
    (folder / PACKED).write_text(of()["commit"] + "\n")
    files = metadata.files("example-robot-data") or []
    for file in files:
        if file.name in ("METADATA", "RECORD") or file.name in ROBOTS:
            target = folder / str(file)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), target)


def main() -> int:
    parser = argparse.ArgumentParser(description="run the programs of pages that need a device")
    parser.add_argument("only", nargs="*", help="names of pages or examples; all that can run here")
    parser.add_argument("--pack", type=Path, help="write the robots that they load to a folder")
    options = parser.parse_args()
    if options.pack:
        pack(options.pack)
        return 0
    from benchmarks.__main__ import save

    every = programs()
    if wrong := [name for name in options.only if name not in every]:
        parser.error(f"no program {', '.join(wrong)}; there are {', '.join(every)}")
    kept, ran, failed = newest(), 0, 0
    for name in options.only or every:
        needs, blocks = every[name]
        if missing := [need for need in needs if not available(need)]:
            print(f"== {name} was left out: {', '.join(sorted(missing))} is not here", flush=True)
            continue
        try:
            found = run_file(blocks[0]) if name.endswith(".py") else run(blocks)
        except Exception:
            traceback.print_exc()
            failed += 1
            continue
        ran += 1
        device, date, commit = machine(needs)
        kept[name] = {"machine": device, "date": date, "commit": commit, "blocks": found}
        print(f"== {name}\n" + "--\n".join(x["output"] for x in found), flush=True)
    if ran:
        print(save(KIND, dict(kept)))
    return failed


if __name__ == "__main__":
    sys.exit(main())
