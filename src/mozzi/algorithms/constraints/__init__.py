"""Rows that joints of loops, rods and couplings put on a tree: what they are, how they travel
inward, what counts as rank, and the multipliers that satisfy them.
"""
