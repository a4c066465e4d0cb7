"""PyTorch's powerSGD_hook on two Gloo ranks: the gradients of three updates and the first Q of each matrix, written to powersgd.txt."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powersgd

import reference

RANK, UPDATES, RANKS = 2, 3, 2
SHAPES = {"matrix": (12, 10), "kernel": (6, 2, 4, 3), "bias": (12,)}
PLAIN = 2  # PyTorch insists on some updates without compression


class Leaves(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name, shape in SHAPES.items():
            self.register_parameter(name, torch.nn.Parameter(torch.zeros(shape)))

    def forward(self, gradients):
        return sum((parameter * gradients[name]).sum() for name, parameter in self.named_parameters())


def gradients(rank, update):
    """Of full rank: compression has something to leave out."""
    return {name: reference.wave(torch.Size(shape).numel(), 1.0 + 3.1 * rank + 0.9 * update + 2.0 * index, shape).exp()
            for index, (name, shape) in enumerate(SHAPES.items())}


def one_rank(rank, folder, answers):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    first = {}
    orthogonalize = powersgd._orthogonalize

    def recorded(matrices, epsilon=0):
        orthogonalize(matrices, epsilon)
        first.setdefault(tuple(matrices.shape), matrices.clone())  # Q comes first

    powersgd._orthogonalize = recorded
    model = torch.nn.parallel.DistributedDataParallel(Leaves())
    state = powersgd.PowerSGDState(None, matrix_approximation_rank=RANK, start_powerSGD_iter=PLAIN)
    model.register_comm_hook(state, powersgd.powerSGD_hook)
    lines = []
    for update in range(-PLAIN, UPDATES):
        model.zero_grad()
        model(gradients(rank, max(update, 0))).backward()
        if update >= 0:
            lines += [(f"{name}.{update}", parameter.grad.flatten().tolist()) for name, parameter in model.module.named_parameters()]
    lines += [("matrix.q", first[(1, 10, RANK)].flatten().tolist()), ("kernel.q", first[(1, 24, RANK)].flatten().tolist())]
    if rank == 0:
        answers.put(lines)
    dist.destroy_process_group()


def lines():
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    context = mp.get_context("spawn")
    answers = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        ranks = [context.Process(target=one_rank, args=(rank, folder, answers)) for rank in range(RANKS)]
        for process in ranks:
            process.start()
        found = answers.get(timeout=120)
        for process in ranks:
            process.join()
    return found


if __name__ == "__main__":
    reference.main("powersgd.txt", lines, 9)
