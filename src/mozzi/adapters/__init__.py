"""Beside other libraries: their states, their functions, their environments."""
