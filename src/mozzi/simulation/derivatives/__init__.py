"""Derivatives of steps and rollouts, and linearisation."""
