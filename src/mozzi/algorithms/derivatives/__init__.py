"""Derivatives of dynamics: first and second, along directions, with respect to parameters and time."""
