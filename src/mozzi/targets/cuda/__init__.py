"""The CUDA target: a program as a kernel in which every thread takes one sample.

Read `kernel` (what users call) → `source` (the program as CUDA C++) with `math` (what it calls) →
`launch` (registers and threads of a block) → `nvidia` (NVRTC and the driver).
"""

from mozzi.targets.cuda.kernel import build as build
