"""URDF, and the SRDF beside it."""
