"""``python -m tests.fuzz --minutes 5``: grow files, break some, let the peers judge.

Every case has a seed of its own, printed with what it found; ``--seed`` runs one again. Files of
findings are kept in tests/fuzz/found, where the tests read them for ever.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from fuzz.grow import Part, grown, written
from fuzz.judge import Finding, judge

FOUND = Path(__file__).parent / "found"
KINDS = {"urdf": ".urdf", "sdf": ".sdf", "mjcf": ".xml"}
WORDS = (
    "nan", "-inf", "1e999", "-1", "0", "", "0 0 0", "1 2", "1_0", "0x1", "1e308", "-1e308",
    "1e-320", "1e154", "1e-310", "world", "__model__", "true", "l0", "l1", "j1", "b0", "fixed",
    "ball", "\u0661", "1,5", "1e16", "&#x85;", "1e", "+1", ".5", "5.", "-0", " 1 ",
)  # fmt: skip


def broken(root: Part, rng: random.Random) -> None:
    """Something done to a file that is still XML."""
    for _ in range(rng.randint(1, 3)):
        parts = root.walk()
        part = rng.choice(parts)
        kind = rng.randrange(9)
        if kind == 0 and part.attributes:
            part.attributes[rng.choice([*part.attributes])] = rng.choice(WORDS)
        elif kind == 1 and part.text:
            part.text = rng.choice(WORDS)
        elif kind == 2 and part.children:
            part.children.remove(rng.choice(part.children))
        elif kind == 3 and part.attributes:
            del part.attributes[rng.choice([*part.attributes])]
        elif kind == 4 and part.attributes:  # a word misspelt
            word = rng.choice([*part.attributes])
            part.attributes[word[:-1] + rng.choice("aeszt")] = part.attributes.pop(word)
        elif kind == 5:
            part.tag = rng.choice([part.tag[:-1], part.tag + "s", rng.choice(parts).tag]) or "x"
        elif kind == 6 and part is not root:
            others = [x for x in parts if x is not root and part not in x.walk()]
            part.children.append(rng.choice(others or [Part("x")]))
        elif kind == 7 and part.children:
            rng.shuffle(part.children)
        elif part.attributes and (others := [x for x in parts if x.attributes]):
            other = rng.choice(others)
            value = rng.choice([*other.attributes.values()])
            part.attributes[rng.choice([*part.attributes])] = value


def case(seed: int, kind: str, folder: Path) -> str:
    """One file; what became of it."""
    rng = random.Random(f"{kind} {seed}")
    root, right = grown(kind, rng), True
    if rng.random() < 0.6:
        broken(root, rng)
        right = False
    path = folder / f"{kind}_{seed}{KINDS[kind]}"
    path.write_text(f'<?xml version="1.0"?>\n{written(root)}', encoding="utf-8")
    found = judge(path, kind, right)
    path.unlink()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, help="run this case only")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--format", choices=[*KINDS], action="append")
    given = parser.parse_args()
    kinds, counts = given.format or [*KINDS], Counter[str]()
    end, seed, findings = time.monotonic() + 60.0 * given.minutes, given.start, 0
    with tempfile.TemporaryDirectory() as folder:
        while given.seed is not None or time.monotonic() < end:
            for kind in kinds:
                try:
                    counts[f"{kind} {case(given.seed or seed, kind, Path(folder))}"] += 1
                except Finding as finding:
                    findings += 1
                    counts[f"{kind} FOUND"] += 1
                    name = f"{kind}_{given.seed or seed}{KINDS[kind]}"
                    FOUND.mkdir(exist_ok=True)
                    (FOUND / name).write_bytes((Path(folder) / name).read_bytes())
                    print(f"{name} (--format {kind} --seed {given.seed or seed}): {finding}")
            seed += 1
            if given.seed is not None:
                break
    told = ", ".join(f"{n} {k}" for k, n in sorted(counts.items()))
    print(f"seeds {given.start} to {seed - 1}: {told}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
