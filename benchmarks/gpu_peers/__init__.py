"""Libraries that others wrote for dynamics on GPUs, beside mozzi on the same robots and states.

A module for each: frax and MJX (JAX), MuJoCo Warp, bard (PyTorch), GRiD and CusADi (CUDA C++ that
they generate). `python -m benchmarks.gpu_peers` runs those that are found.
"""
