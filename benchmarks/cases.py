"""What is measured, as data.

A case compares one mozzi function with its counterpart in Pinocchio on one robot: `bar` is the
ratio that must be reached at a batch of 4,096 in float64 on one thread.
"""

from __future__ import annotations

THROUGHPUT = [
    {"function": "inverse_dynamics", "robot": "panda", "peer": "rnea", "bar": 10},
    {"function": "forward_dynamics", "robot": "panda", "peer": "aba", "bar": 10},
    {"function": "mass_matrix", "robot": "panda", "peer": "crba", "bar": 6},
    {"function": "body_jacobians", "robot": "panda", "peer": "jacobians", "bar": 6},
    {"function": "body_jacobians", "robot": "talos", "peer": "jacobians", "bar": 8},
    {"function": "mass_matrix", "robot": "talos", "peer": "crba", "bar": 10},
    {"function": "mass_matrix_inverse", "robot": "talos", "peer": "minv", "bar": 10},
    {"function": "inverse_dynamics", "robot": "solo12", "peer": "rnea", "bar": 7},
    {"function": "forward_dynamics", "robot": "solo12", "peer": "aba", "bar": 7},
    {"function": "inverse_dynamics", "robot": "talos", "peer": "rnea", "bar": 5},
    {"function": "forward_dynamics", "robot": "talos", "peer": "aba", "bar": 5},
    {"function": "forward_dynamics", "robot": "chain300", "peer": "aba", "bar": 2, "batch": 256},
    {"function": "forward_dynamics", "robot": "chain1000", "peer": None, "bar": 2, "batch": 256},
]

#: Additions, multiplications, divisions and negations of unrolled programs; CI pins them.
OPERATIONS = [
    {"function": "inverse_dynamics", "robot": "panda", "bar": 830},
    {"function": "forward_dynamics", "robot": "panda", "bar": 1640},
    {"function": "forward_kinematics", "robot": "panda", "bar": 140},
    {"function": "body_jacobians", "robot": "panda", "bar": 190},
    {"function": "inverse_dynamics", "robot": "ur5", "bar": 440},
    {"function": "forward_dynamics", "robot": "ur5", "bar": 890},
]

#: Seconds to trace and compile, without and with a warm disk cache.
COMPILE = [
    {"function": "inverse_dynamics", "robot": "panda", "bar": 0.4},
    {"function": "forward_dynamics", "robot": "panda", "bar": 0.6},
    {"function": "forward_dynamics", "robot": "talos", "bar": 6.0},
    {"function": "forward_dynamics", "robot": "chain1000", "bar": 3.0},
]
