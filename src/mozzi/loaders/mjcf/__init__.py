"""MuJoCo's format."""
