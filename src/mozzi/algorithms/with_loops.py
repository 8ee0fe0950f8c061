"""What answers for models with loops: imported once, when the first such model is met.

The algorithms of the tree stand below these modules and do not know them; here they register
themselves with the algorithms that they answer for (`Algorithm.with_loops`). Where a call meets a
model with loops, `Algorithm.__call__` (recursion/algorithm.py) asks them.
"""

from mozzi.algorithms.derivatives.loops import along, first, gradient, parameters, second
from mozzi.algorithms.loops import actuation, forces, rank_warnings

__all__ = [
    "actuation", "along", "first", "forces", "gradient", "parameters", "rank_warnings", "second",
]  # fmt: skip
