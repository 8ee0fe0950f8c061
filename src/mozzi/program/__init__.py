"""Programs: traced scalars, statements, passes, differentiation, and what a program means."""
