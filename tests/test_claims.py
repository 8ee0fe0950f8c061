"""What the README claims of speed is what the kept results say."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
if not RESULTS.is_dir():
    pytest.skip("the results are in a checkout only", allow_module_level=True)

ROWS = re.findall(
    r"^\| (.+?) \| ([\d,]+) \| ([\d,]+) \| (\d+) \|$", (ROOT / "README.md").read_text("utf-8"), re.M
)
ROBOTS = {
    "panda": "panda", "talos with free base": "talos", "chain of 300 bodies": "chain300",
    "panda held at its hand (3 rows)": "panda", "solo12 on four feet (12 rows)": "solo12",
}  # fmt: skip


def measured() -> list[tuple[str, str, float, float]]:
    """(function, robot, ns of mozzi, ns of the peer), of all kept results."""
    found = []
    for path in sorted(RESULTS.glob("*.json")):
        data = json.loads(path.read_text("utf-8"))
        for x in data.get("throughput", []):
            if x.get("peer_ns"):
                found.append((x["function"], x["robot"], x["ns"], x["peer_ns"]))
        for x in data.get("beside", []):
            found.append(("loops", x["robot"], x["ns"], x["pinocchio_ns"]["cpp"]))
    return found


def test_there_is_a_table():
    assert len(ROWS) >= 8


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_was_measured(row):
    what, ours, theirs, ratio = row
    name, robot = what.split(", ", 1)
    function = name.replace("derivatives of ", "").replace(" ", "_")
    function += "_derivatives" if name.startswith("derivatives") else ""
    if "rows)" in robot:
        function = "loops"
    near = [
        (a, b) for f, r, a, b in measured() if f == function and r == ROBOTS[robot]
        and abs(a - float(ours.replace(",", ""))) <= 0.05 * a
    ]  # fmt: skip
    assert near, f"no kept result has {what} at {ours} ns"
    a, b = near[0]
    assert abs(b - float(theirs.replace(",", ""))) <= 0.05 * b
    assert abs(b / a - float(ratio)) <= 0.06 * b / a


ALONE = re.compile(r"no other (library|package|code)|the only (library|package)|nobody else", re.I)


def test_nothing_is_claimed_to_be_unique():
    """README and pages claim what is there, and name the nearest peer (docs/peers.md)."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    found = {
        f"{page.relative_to(ROOT)}: {line.strip()[:80]}"
        for page in pages
        for line in page.read_text("utf-8").splitlines()
        if ALONE.search(line) and "No sentence here" not in line
    }
    assert not found
    peers = (ROOT / "docs" / "peers.md").read_text("utf-8")
    for name in ("skidy", "thunder_dynamics", "spatial_v2_extended", "trep", "Dojo", "Simbody"):
        assert name in peers
