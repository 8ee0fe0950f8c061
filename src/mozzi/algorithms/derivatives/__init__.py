"""Derivatives of dynamics: first and second, along directions, by parameters and by time."""
