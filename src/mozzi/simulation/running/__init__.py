"""A simulation while it runs: its records, kernels and steps."""
