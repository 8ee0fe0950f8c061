"""The JAX target: a program as a JAX function, with its derivatives.

Read `kernel` (what users call) → `xla` (the program as XLA operations) → `ffi` (machine code of the
CPU and CUDA targets, called by XLA).
"""

from mozzi.targets.jax.kernel import build as build
