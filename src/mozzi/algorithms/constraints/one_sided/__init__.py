"""Limits, dry friction, ropes and contact: impulses and velocities in their sets."""
