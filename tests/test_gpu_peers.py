"""What other libraries are given on a GPU is the same mechanism, and of several runs that is kept
which did not fail.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("benchmarks are in a checkout only", allow_module_level=True)
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from benchmarks.gpu_peers.__main__ import joined  # noqa: E402
from benchmarks.gpu_peers.case import FUNCTIONS, OWN, Case, error  # noqa: E402
from benchmarks.gpu_peers.report import spread  # noqa: E402
from benchmarks.gpu_peers.robots import robot, urdf  # noqa: E402


def flying_chain() -> mz.Model:
    """Oblique axes on a free base."""
    inertia = mz.Inertia(2.0, (0.1, -0.2, 0.3), np.diag([0.5, 0.6, 0.7]))
    b = mz.Builder().add("base", None, mz.Free(), inertia)
    for k, parent in enumerate(("base", "link0", "base")):
        place = mz.SE3.translation(0.3, 0.1 * k, -0.2)
        b = b.add(f"link{k}", parent, mz.Revolute(axis=(0.6, 0.0, 0.8)), inertia, placement=place)
    return b.build()


@pytest.mark.parametrize("model", [chain(5, seed=1), flying_chain()], ids=["fixed", "free"])
def test_the_urdf_for_peers_is_the_same_mechanism(model: mz.Model, tmp_path: Path):
    """Mass matrix and inverse dynamics agree to rounding."""
    path = tmp_path / "robot.urdf"
    path.write_text(urdf(model))
    free = isinstance(model.body(0).joint, mz.Free)
    read = mz.load(path, base="free" if free else "fixed")
    assert read.joint_names[int(free) :] == model.joint_names[int(free) :]
    q = model.random_configuration(0, batch=20)
    v, a = np.random.default_rng(0).normal(size=(2, 20, model.nv))
    np.testing.assert_allclose(mz.mass_matrix(read, q), mz.mass_matrix(model, q), atol=1e-12)
    own, theirs = (mz.inverse_dynamics(x, q, v, a) for x in (model, read))
    np.testing.assert_allclose(theirs, own, atol=1e-11)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_case_is_the_same_in_every_layout_of_a_fixed_base(function: str):
    """Layouts differ on free bases alone."""
    one = robot("chain", chain(3, seed=2))
    exact = [Case(one, function, layout).exact() for layout in (OWN, "mujoco", "pinocchio")]
    assert error(exact[1], exact[0]) < 1e-12 and error(exact[2], exact[0]) < 1e-12
    assert error([2 * x for x in exact[0]], exact[0]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="results have shape"):
        error([x[1:] for x in exact[0]], exact[0])


def test_of_several_runs_what_did_not_fail_is_kept(tmp_path: Path):
    def run(name: str, rates: list[float | None]) -> Path:
        rows: list[dict[str, Any]] = []
        for batch, rate in enumerate(rates):
            found = {"failed": "no"} if rate is None else {"per_second": rate}
            for who, more in (("grid", found), ("mozzi", {"per_second": 5.0 + (rate or 0.0)})):
                rows.append({"who": who, "robot": "r", "function": "f", "batch": batch, **more})
        peers = {"grid": {"version": "1", "rows": rows}}
        path = tmp_path / name
        absent = {"warp": "no package warp"}
        path.write_text(json.dumps({"gpu": "g", "absent": absent, "peers": peers}))
        return path

    result = joined([run("a", [1.0, 2.0, None]), run("b", [None, 3.0])])
    rates = [x.get("per_second") for x in result["peers"]["grid"]["rows"][::2]]
    assert rates == [1.0, 3.0, None]
    assert result["absent"]["warp"] == "no package warp"
    assert result["absent"]["frax"] == "not asked for"
    ranges = {x["batch"]: (x["slowest"], x["fastest"], x["runs"]) for x in spread(result["peers"])}
    assert ranges == {0: (6.0, 6.0, 1), 1: (8.0, 8.0, 1), 2: (5.0, 5.0, 1)}
