"""`explain` tells the walk of a call as it is."""

import numpy as np
import pytest

import mozzi as mz
from mozzi.model.generate import chain, four_bar
from mozzi.walk import walk_of


def test_what_it_says_is_what_a_call_does(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MOZZI_CACHE", "1")
    monkeypatch.setenv("MOZZI_CACHE_DIR", str(tmp_path))
    model = chain(3)
    before = walk_of(model, mz.forward_dynamics)
    assert before.facts["disk cache"].startswith("does not hold")
    mz.forward_dynamics(model, *np.zeros((3, 3)))
    assert walk_of(model, mz.forward_dynamics).facts["disk cache"].startswith("holds this kernel")
    kernel = mz.compile(mz.forward_dynamics, model)
    assert before.facts["operations"].startswith(f"{kernel.flops:,}: ")
    assert before.facts["machine code"].startswith(f"{len(kernel.entry.code):,} bytes")
    assert list(before.seconds) == ["trace", "schedule", "LLVM IR", "machine code", "load"]
    assert min(before.seconds.values()) > 0.0
    mz.explain(model, mz.pose, frame=model.bodies[-1])
    said = capsys.readouterr().out
    assert said.startswith(f"pose of {model.name}: (q) -> (")
    assert "nv = 3" in said and "straight-line code: 3 bodies" in said


def test_reasons():
    assert "loops over bodies: rolled=True" in str(walk_of(chain(3), mz.mass_matrix, rolled=True))
    assert "loops over bodies: 42 bodies" in walk_of(chain(42), mz.gravity_forces).facts["program"]
    closed = walk_of(four_bar(), mz.forward_dynamics).facts
    assert "loops are honoured body by body" in closed["program"]
    assert closed["loops"].startswith("5 rows of closure")
    with pytest.raises(TypeError, match="explain: load is no algorithm"):
        walk_of(chain(3), mz.load)


def test_what_is_no_model_is_named():
    with pytest.raises(TypeError, match="3 is no model"):
        mz.explain(3, mz.forward_dynamics)  # pyright: ignore[reportArgumentType]
