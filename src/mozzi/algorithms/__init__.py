"""The papers: recursions over bodies, on spatial quantities.

Rooms in layers, each of which imports those before it: recursion, calls, kinematics, constraints,
dynamics, loops, contact, derivatives, derivatives.loops. reference/ holds the slow twins that tests
compare with.
"""
