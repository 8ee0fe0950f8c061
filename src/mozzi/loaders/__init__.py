"""Mechanisms from files: URDF, MJCF, SDF."""

from mozzi.loaders.geometry import Mesh, Shape
from mozzi.loaders.load import load, load_geometry
from mozzi.loaders.report import Report, inspect

__all__ = ["Mesh", "Report", "Shape", "inspect", "load", "load_geometry"]
