"""Joints: what they do, in their canonical frames; products of them; joints from screws."""
