"""A batch over several devices with JAX, here CPU devices that XLA makes.

The JAX target computes sample by sample, so a batch is split by telling JAX where its rows lie. The
same lines run on the GPUs of a machine, and on clusters after `jax.distributed.initialize()`.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import mozzi as mz
from mozzi.model.generate import chain

model = chain(3, seed=0)
kernel = mz.compile(mz.inverse_dynamics, model, target="jax", dtype="float32")

devices = jax.make_mesh((len(jax.devices()),), ("batch",))
rows = NamedSharding(devices, PartitionSpec("batch"))

rng = np.random.default_rng(0)
q, v, a = rng.normal(size=(3, 4096, model.nv)).astype(np.float32)
there = [jax.device_put(x, rows) for x in (q, v, a)]

# The compiler splits the call along the batch, and no device speaks to another.
tau = kernel(*there)
print("split over", len(tau.sharding.device_set), "devices:", tau.sharding.spec)
assert "all-gather" not in (jax.jit(kernel).lower(*there).compile().as_text() or "")

# The same by hand: a device takes its rows.
each = jax.jit(
    jax.shard_map(kernel, mesh=devices, in_specs=PartitionSpec("batch"),
                  out_specs=PartitionSpec("batch"), check_vma=False)
)  # fmt: skip
np.testing.assert_allclose(each(*there), tau, atol=1e-4)

# Gradients of a loss over the whole batch: JAX adds the shares of the devices.
loss = jax.jit(jax.grad(lambda q: (kernel(q, *there[1:]) ** 2).mean()))
print("gradient over", len(loss(there[0]).sharding.device_set), "devices")

exact = mz.inverse_dynamics(model, *(x.astype(float) for x in (q, v, a)))
print("largest error against float64:", float(np.max(np.abs(tau - exact)) / np.max(np.abs(exact))))
