"""Accelerate with what an expert would add: the data as tensors in memory, channels_last, a fused optimizer,
torch.compile where asked for. Prints JSON.
   best.py MODEL BATCH STEPS DATA [--compile]"""
import json
import sys
import time

import torch
from accelerate import Accelerator

from data import DEVIATION, MEAN, Cifar10, Text, plain, train_files
from models import MODELS, loss_for, optimizer_for


def batches(name, batch, data):
    """Whole batches by indexing, so that no sample is ever a tensor of its own."""
    if name == "gpt":
        text = Text(data)
        offsets = torch.arange(text.context)
        while True:
            at = torch.randint(len(text.tokens) - text.context - 1, (batch, 1)) + offsets
            yield text.tokens[at], text.tokens[at + 1]
    cifar = Cifar10(data, train_files(data), plain())
    images = torch.from_numpy(cifar.images).permute(0, 3, 1, 2).float().div_(255)
    images = images.sub_(torch.tensor(MEAN).view(3, 1, 1)).div_(torch.tensor(DEVIATION).view(3, 1, 1))
    if name != "mlp":
        images = images.contiguous(memory_format=torch.channels_last)
    labels = torch.from_numpy(cifar.labels)
    while True:
        order = torch.randperm(len(labels))
        for chosen in order.split(batch):
            if len(chosen) == batch:
                yield images[chosen], labels[chosen]


def main(name, batch, steps, data, compiled):
    torch.manual_seed(0)
    warm_up = min(5, steps)
    accelerator = Accelerator(cpu=True)
    model = MODELS[name]()
    if name not in ("mlp", "gpt"):
        model = model.to(memory_format=torch.channels_last)
    optimizer = optimizer_for(name, model.parameters(), fused=True)
    loss_function = loss_for(name)
    model, optimizer = accelerator.prepare(torch.compile(model) if compiled else model, optimizer)
    model.train()
    began, first_step = 0, 0
    for done, (inputs, targets) in enumerate(batches(name, batch, data), start=1):
        optimizer.zero_grad()
        loss = loss_function(model(inputs), targets)
        accelerator.backward(loss)
        optimizer.step()
        if done == 1:
            first_step = time.time()
        if done == warm_up:
            began = time.time()
        if done == steps + warm_up:
            break
    print(json.dumps({"first_step_at": first_step, "step_seconds": (time.time() - began) / steps}))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], "--compile" in sys.argv)
