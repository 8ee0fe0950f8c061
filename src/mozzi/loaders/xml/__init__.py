"""Strict XML, and the words that each format knows."""
