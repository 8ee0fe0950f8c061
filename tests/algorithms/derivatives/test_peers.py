"""Pinocchio's derivatives, on robots of example-robot-data, fixed and floating."""

import numpy as np
import pytest
from algorithms.dynamics.test_peers import both, names, order, theirs_q
from support.mechanics import agree, value

import mozzi as mz

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.filterwarnings("ignore::mozzi.errors.UnphysicalWarning")


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("name", names)
def test_first_order(name, base):
    """Inverse and forward dynamics: 1e-9 relative to the largest entry."""
    model, peer, q_map, v_map = both(name, base)
    data = peer.createData()
    rng = np.random.default_rng(len(name))
    q, v, a, tau = model.random_configuration(rng), *rng.normal(size=(3, model.nv))
    P = order(peer, v_map)
    qp, vp, ap, tp = theirs_q(peer, q_map, q), v[P], a[P], tau[P]
    peer.armature = np.array([x for body in model for x in body.dynamics.armature])[P]
    ours = value(mz.inverse_dynamics_derivatives, model, q, v, a)
    theirs = pin.computeRNEADerivatives(peer, data, qp, vp, ap)
    for x, y in zip(ours[:2], theirs[:2]):
        agree(x[np.ix_(P, P)], y, 1e-9)
    M = np.triu(theirs[2]) + np.triu(theirs[2], 1).T
    agree(ours[2][np.ix_(P, P)], M, 1e-9)
    ours = value(mz.forward_dynamics_derivatives, model, q, v, tau)
    theirs = pin.computeABADerivatives(peer, data, qp, vp, tp)
    for x, y in zip(ours[:2], theirs[:2]):
        agree(x[np.ix_(P, P)], y, 1e-9)
    Minv = np.triu(theirs[2]) + np.triu(theirs[2], 1).T
    agree(ours[2][np.ix_(P, P)], Minv, 1e-9)
