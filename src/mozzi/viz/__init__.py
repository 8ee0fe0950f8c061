"""Plots, pages and the viewer."""
