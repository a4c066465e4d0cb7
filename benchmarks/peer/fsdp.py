"""An mlp with PyTorch's FSDP2 (fully_shard, what Accelerate's FSDP plugin wraps), on CPUs over Gloo. Accelerate itself leaves its plugin
out on CPUs and uses DistributedDataParallel, without a word. Started by torchrun; prints losses and step time.
   fsdp.py WEIGHTS DATA BATCH STEPS LR"""
import json
import sys
import time

import torch
import torch.distributed as dist
from safetensors.torch import load_file
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

weights, data = load_file(sys.argv[1]), load_file(sys.argv[2])
batch, steps, lr = int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (ranks,))

layers = []
for i in range(1, len(weights) // 2 + 1):
    outputs, inputs = weights[f"fc{i}.weight"].shape
    layer = torch.nn.Linear(inputs, outputs)
    layer.load_state_dict({"weight": weights[f"fc{i}.weight"], "bias": weights[f"fc{i}.bias"]})
    layers += [layer, torch.nn.ReLU()]
del weights
model = torch.nn.Sequential(*layers[:-1])
for layer in model:
    if isinstance(layer, torch.nn.Linear):
        fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)

losses, half = [], 0.0
share = batch // ranks
for step in range(steps):
    if step == steps // 2:
        half = time.perf_counter()
    first = step * batch + rank * share
    loss = torch.nn.functional.cross_entropy(model(data["input"][first:first + share]), data["target"][first:first + share])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    losses.append(mean.item() / ranks)
if rank == 0:
    print(json.dumps({"losses": losses, "step_seconds": (time.perf_counter() - half) / (steps - steps // 2)}))
dist.destroy_process_group()
