"""A batch over several processes with PyTorch: each takes its rows, gradients are averaged.

Here two processes on the CPU (gloo); with GPUs the lines are the same with `nccl` and
`device=f"cuda:{rank}"`. Joint damping is found from accelerations, by gradients through forward
dynamics.

`torch.distributed.nn` is imported before there is a group. PyTorch's optimizers import it as well,
and then its default arguments keep the group, whose threads may abort the interpreter as it ends.
"""

import os
import socket

import torch
import torch.distributed as dist
import torch.distributed.nn
from torch.multiprocessing.spawn import spawn

import mozzi as mz
from mozzi.model.generate import chain

PROCESSES, BATCH = 2, 512


def work(rank: int, port: int) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=PROCESSES)
    torch.set_num_threads(1)
    model = chain(4, seed=0)
    kernel = mz.compile(mz.forward_dynamics, model, target="torch", dtype="float64")

    data = torch.randn(3, BATCH, model.nv, generator=torch.manual_seed(0), dtype=torch.float64)
    q, v, tau = data[:, rank::PROCESSES]  # the rows of this process
    true = torch.linspace(0.1, 0.7, model.nv, dtype=torch.float64)
    measured = kernel(q, v, tau - true * v)
    damping = torch.zeros_like(true, requires_grad=True)
    optimizer = torch.optim.Adam([damping], lr=0.05)
    for step in range(200):
        optimizer.zero_grad()
        loss = ((kernel(q, v, tau - damping * v) - measured) ** 2).mean()
        loss.backward()
        assert damping.grad is not None
        dist.all_reduce(damping.grad)
        damping.grad /= PROCESSES
        optimizer.step()
        if rank == 0 and step % 50 == 49:
            print(f"step {step + 1}: loss {float(loss.detach()):.3g}", flush=True)
    assert torch.allclose(damping.detach(), true, atol=0.05)
    if rank == 0:
        print("damping", [round(x, 3) for x in damping.tolist()])
    dist.barrier()  # nobody leaves while others still listen
    dist.destroy_process_group()


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    spawn(work, (free_port(),), PROCESSES)
