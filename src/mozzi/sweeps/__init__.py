"""Sweeps over parameters: tables of samples, jobs on anybody's executor, stores that resume."""
