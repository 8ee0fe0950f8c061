"""Calls with options, found again by their form: the same answers and the same refusals."""

from __future__ import annotations

import numpy as np
import pytest
from support.mechanics import loaded_tree, state

import mozzi as mz
from mozzi.algorithms.calls.forms import form_of
from mozzi.model.generate import bennett, chain

PARAMETERS = [("q", True), ("wrenches", True), ("rep", False)]
ARRAYS = ("q", "wrenches")


def key(*args, **options):
    form = form_of(PARAMETERS, ARRAYS, args, options)
    return None if form is None else form.key


def test_a_form_has_no_numbers_of_arrays_and_tells_all_else_apart():
    q, W = np.zeros(2), np.zeros((2, 6))
    assert key(q, W) == key(q + 1, W[:1]) and key(q, W) != key(q, None) != key(q)
    assert key(q, rep="body") != key(q, rep="mixed") != key(q, None, "mixed")
    assert key(q, wrenches=W, rep="body") != key(q, rep="body", wrenches=W)
    different = [True, 1, False, 0, None, "1", "", ["1"], ("1",), [], ()]
    assert len({key(q, rep=x) for x in different}) == len(different)
    for other in (1.0, np.float64(1.0), [1], [True], {"a"}, {"a": 1}, np.zeros(2), [["a"]]):
        assert key(q, rep=other) is None
    for other in ([0.0, 0.0], "q", 1.0, np.ma.zeros(2), np.float64(0.0)):
        assert key(other) is None and key(q, wrenches=other) is None
    assert key(q, W, "body", 1) is None


def test_the_second_call_is_the_first():
    """With numbers of its own: positions, names and orders as they come."""
    model = loaded_tree(4, 1)
    q, v, a, _ = state(model, 1)
    W, U = np.random.default_rng(0).normal(size=(2, model.nb, 6))
    for _ in range(3):
        first = mz.inverse_dynamics(model, q, v, a, W)
        others = mz.inverse_dynamics(model, q, v, a, U)
        assert np.abs(first - others).max() > 1e-3
        np.testing.assert_array_equal(mz.inverse_dynamics(model, q, v, a, wrenches=W), first)
        np.testing.assert_array_equal(mz.inverse_dynamics(model, a=a, wrenches=W, v=v, q=q), first)
        np.testing.assert_array_equal(mz.inverse_dynamics(model, q, v, a, W.tolist()), first)
        spatial = mz.inverse_dynamics(model, q, v, a, W, wrenches_rep="spatial")
        assert np.abs(spatial - first).max() > 1e-3
        plain = mz.inverse_dynamics(model, q, v, a, None)
        np.testing.assert_array_equal(plain, mz.inverse_dynamics(model, q, v, a))
        acting = mz.inverse_dynamics(model, q, v, a, resistance=True)
        np.testing.assert_array_equal(mz.inverse_dynamics(model, q, v, a, resistance=False), plain)
        assert np.abs(acting - plain).max() > 1e-6
        for frame in model.bodies:
            J = mz.jacobian(model, q, frame)
            np.testing.assert_array_equal(mz.jacobian(model, q=q, frame=frame, rep="body"), J)
            assert J.shape == (6, model.nv)


def test_what_was_refused_is_refused():
    """After a call that was right."""
    model, q = chain(3), np.zeros(3)
    for _ in range(2):
        mz.inverse_dynamics(model, q, q, q, resistance=True)
        mz.hybrid_dynamics(model, q, q, q, q, prescribed=[model.joint_names[0]])
        mz.jacobian(model, q, model.bodies[0])
        with pytest.raises(mz.KindError, match="resistance"):
            mz.inverse_dynamics(model, q, q, q, resistance=1)
        with pytest.raises(mz.ShapeError, match="nv = 3"):
            mz.inverse_dynamics(model, q, np.zeros(4), q, resistance=True)
        with pytest.raises(mz.KindError, match="frame"):
            mz.jacobian(model, q, 0.5)
        with pytest.raises(mz.ConfigurationError, match="nan"):
            mz.inverse_dynamics(model, q, np.full(3, np.nan), q, resistance=True)
        with pytest.raises(mz.ModelError, match="no joint 'x'"):
            mz.hybrid_dynamics(model, q, q, q, q, prescribed=["x"])
        with pytest.raises(TypeError, match="inverse_dynamics"):
            mz.inverse_dynamics(model, q, q, q, resistence=True)
        with pytest.raises(mz.KindError):
            mz.inverse_dynamics(model, q, q, np.array(["a", "b", "c"]), resistance=True)


def test_options_are_of_their_call():
    """A list that changes between calls is another list."""
    model, q = chain(3), np.zeros(3)
    prescribed = [model.joint_names[0]]
    one, _ = mz.hybrid_dynamics(model, q, q, q, q, prescribed=prescribed)
    prescribed.append(model.joint_names[1])
    two, _ = mz.hybrid_dynamics(model, q, q, q, q, prescribed=prescribed)
    assert np.count_nonzero(one) == 1 and np.count_nonzero(two) == 2


def test_a_list_that_changes_after_its_call_changes_no_other_call():
    """Calls are remembered with the words of their lists, not with the lists."""
    model, still, a = bennett().model(), np.zeros(3), np.ones(3)
    q, (one, two, _) = model.random_configuration(0), model.joint_names
    W = np.zeros((3, 6))

    def calls(names):
        yield mz.hybrid_dynamics(model, q, still, a, a, prescribed=names)[0]
        yield mz.hybrid_dynamics(model, q, still, a, a, prescribed=names, wrenches=W)[0]
        yield mz.inverse_dynamics(model, q, still, still, actuated=names)

    names = [one]
    first = list(calls(names))
    names[:] = [two]
    for x, same, other in zip(first, calls([one]), calls(names), strict=True):
        np.testing.assert_array_equal(same, x)
        assert np.abs(other - x).max() > 1e-3


def test_with_loops_they_look_each_time():
    """Singular and open configurations are told in second calls as well."""
    model, W, still = bennett().model(), np.zeros((3, 6)), np.zeros(3)
    q = model.random_configuration(0)
    for _ in range(2):
        regular = mz.forward_dynamics(model, q, still, still, W)
        by_name = mz.forward_dynamics(model, q, still, still, wrenches=W)
        np.testing.assert_array_equal(regular, by_name)
        with pytest.warns(mz.OpenLoopWarning):
            mz.forward_dynamics(model, q + 0.3 * np.eye(3)[0], still, still, W)
        held = [model.joint_names[0]]
        _, a = mz.hybrid_dynamics(model, q, still, still, still, prescribed=held)
        np.testing.assert_allclose(a, 0.0, atol=1e-12)
        with pytest.raises(mz.KindError):
            mz.forward_dynamics(model, q, still, still, np.full((3, 6), "a"))
        for wrenches in (None, W):
            with pytest.raises(mz.ConfigurationError, match="no representation 'bdy'"):
                mz.forward_dynamics(model, q, still, still, wrenches, wrenches_rep="bdy")
