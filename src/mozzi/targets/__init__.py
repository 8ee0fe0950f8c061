"""Where programs run. A target is a folder that reads top-down, or one file."""
