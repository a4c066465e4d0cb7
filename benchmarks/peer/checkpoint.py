"""Saves and loads a model of so many bytes the way each library does, and prints seconds; saving includes a flush to the disk, because a
checkpoint that is not there after a power cut is none.
   checkpoint.py torch|safetensors|accelerate FOLDER BYTES"""
import json
import os
import sys
import time
from pathlib import Path

import torch

how, folder, size = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
LAYERS, WIDTH = 64, 1024


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        rows = size // LAYERS // WIDTH // 4
        self.layers = torch.nn.ParameterList(torch.nn.Parameter(torch.rand(rows, WIDTH), requires_grad=False) for _ in range(LAYERS))


def flushed(path):
    for file in [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]:
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def seconds(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


model = Model()
if how == "torch":
    path = folder / "model.pt"
    save = lambda: torch.save(model.state_dict(), path)
    load = lambda: model.load_state_dict(torch.load(path, weights_only=True))
elif how == "safetensors":
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    save = lambda: save_file(model.state_dict(), path)
    load = lambda: model.load_state_dict(load_file(path))
else:
    from accelerate import Accelerator

    path = folder / "state"
    accelerator = Accelerator(cpu=True)
    model = accelerator.prepare(model)
    save = lambda: accelerator.save_state(str(path))
    load = lambda: accelerator.load_state(str(path))
print(json.dumps({"save": seconds(lambda: (save(), flushed(path))), "load": seconds(load)}))
