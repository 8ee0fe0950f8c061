"""Where programs run. A target is a folder that reads top-down, or one file, with a `build`.

`interpret` is the definition, and what all others are tested against; `cpu`, `cuda`, `c`, `jax`,
`torch` and `sympy` are the others. They share `unique_names` and `listing` (readable text),
`arguments` (what is wrong with arrays), `derivatives` (kernels of derivatives) and `disk_cache`.
"""
