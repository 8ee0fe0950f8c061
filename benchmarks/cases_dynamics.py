"""What is measured of the dynamics of trees, as data; see `benchmarks.cases`."""

from __future__ import annotations

#: mozzi beside Pinocchio, ratio at a batch of 4,096 in float64 on one thread.
THROUGHPUT = [
    {"function": "mass_matrix_inverse", "robot": "panda", "peer": "minv", "bar": 8},
    {"function": "coriolis_matrix", "robot": "panda", "peer": "coriolis", "bar": 8},
    {"function": "centroidal_momentum_matrix", "robot": "panda", "peer": "ccrba", "bar": 6},
]

#: One mozzi function beside another on the same robot: time and operations, at most `bar` times.
RELATIVE = [
    {
        "function": "passive_inverse_dynamics",
        "to": "inverse_dynamics",
        "robot": "panda",
        "bar": 1.3,
    },
    {"function": "hybrid_dynamics", "to": "forward_dynamics", "robot": "panda", "bar": 1.1},
    {"function": "hybrid_dynamics", "to": "forward_dynamics", "robot": "talos", "bar": 1.1},
]

#: Time against the number of bodies, rolled: slope of the logarithms, within 0.1 of 1.
SCALING = [
    {"function": "inverse_dynamics", "bodies": (30, 60, 100, 200, 400, 700, 1000), "bar": 0.1},
    {"function": "forward_dynamics", "bodies": (30, 60, 100, 200, 400, 700, 1000), "bar": 0.1},
    {"function": "hybrid_dynamics", "bodies": (30, 60, 100, 200, 400, 700, 1000), "bar": 0.1},
]

#: Additions, multiplications, divisions and negations of unrolled programs; CI pins them.
OPERATIONS = [
    {"function": "inverse_dynamics", "robot": "panda", "bar": 595},
    {"function": "forward_dynamics", "robot": "panda", "bar": 1396},
    {"function": "mass_matrix", "robot": "panda", "bar": 361},
    {"function": "mass_matrix_inverse", "robot": "panda", "bar": 1329},
    {"function": "mass_matrix_rate", "robot": "panda", "bar": 1325},
    {"function": "coriolis_matrix", "robot": "panda", "bar": 1419},
    {"function": "centroidal_momentum_matrix", "robot": "panda", "bar": 628},
    {"function": "passive_inverse_dynamics", "robot": "panda", "bar": 650},
    {"function": "gravity_forces", "robot": "panda", "bar": 105},
]

#: The comparative study: representations of inverse and forward dynamics, on these mechanisms.
STUDY = ("panda", "ur5", "solo12", "talos", "chain7", "chain30", "tree31")
