"""Mechanisms from files: URDF, MJCF, SDF."""

from mozzi.loaders.load import load
from mozzi.loaders.report import Report, inspect

__all__ = ["Report", "inspect", "load"]
