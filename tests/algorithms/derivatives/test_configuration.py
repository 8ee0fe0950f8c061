"""How q ⊕ dv moves, and the same run backwards."""

import numpy as np
import pytest
from support.mechanics import agree, value

import mozzi as mz
from mozzi.algorithms.derivatives import configuration
from mozzi.algorithms.recursion.containers import joint_configuration, joint_vector
from mozzi.algorithms.recursion.mechanism import mechanism
from mozzi.model.joints.joint import example_joints

JOINTS = {n: j for n, j in example_joints().items() if j.nv}


@pytest.mark.parametrize("label", JOINTS)
def test_covectors_are_pulled_by_the_transposes(label):
    """Of q ⊕ dv and of δ̇, for every joint, in every kind of coordinates."""
    inertia = mz.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3))
    model = mz.Builder("one").add("b", None, JOINTS[label], inertia).build()
    rng = np.random.default_rng(2)
    q, (dv, v, p) = model.random_configuration(rng), rng.normal(size=(3, model.nv))
    view = mechanism(model, rolled=False)
    given = {"q": joint_configuration(view, "q", q)}
    given |= {n: joint_vector(view, n, x) for n, x in (("dv", dv), ("v", v), ("p", p))}
    for name, arguments in (("integrate", ("q", "dv")), ("increment_rates", ("dv", "v"))):
        arrays = [{"q": q, "dv": dv, "v": v}[n] for n in arguments]
        matrices = value(getattr(configuration, f"{name}_derivatives"), model, *arrays)
        pull = getattr(configuration, f"pull_{name}")
        for found, matrix in zip(pull(view, *map(given.get, (*arguments, "p"))), matrices):
            agree(found.array(), matrix.T @ p, 1e-12)
        step = 1e-6  # and the matrices are derivatives
        if name == "integrate":
            ends = [value(mz.integrate, model, q, dv + s * step * v) for s in (1, -1)]
            middle = value(mz.integrate, model, q, dv)
            moved = [value(mz.difference, model, middle, x) for x in ends]
            agree((moved[0] - moved[1]) / (2 * step), matrices[1] @ v, 1e-8)
