"""Accelerate with what an expert would add: the data as tensors in memory or loader workers, channels_last, a fused
optimizer, torch.compile where asked for. Prints JSON.
   best.py MODEL BATCH STEPS cifar|text|images DATA [--compile]"""
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from data import DEVIATION, MEAN, dataset_for
from models import loss_for, model_for, optimizer_for
from stopwatch import Stopwatch


def text_batches(text, batch):
    offsets = torch.arange(text.context)
    while True:
        at = torch.randint(len(text.tokens) - text.context - 1, (batch, 1)) + offsets
        yield text.tokens[at], text.tokens[at + 1]


def image_batches(cifar, batch, channels_last):
    images = torch.from_numpy(cifar.images).permute(0, 3, 1, 2).float().div_(255)
    images = images.sub_(torch.tensor(MEAN).view(3, 1, 1)).div_(torch.tensor(DEVIATION).view(3, 1, 1))
    images = images.contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)
    labels = torch.from_numpy(cifar.labels)
    while True:
        for chosen in torch.randperm(len(labels)).split(batch):
            if len(chosen) == batch:
                yield images[chosen], labels[chosen]


def decoded_batches(folder, batch):
    spare = torch.get_num_threads() - 1  # a worker that shares its core with training makes both slower
    loader = DataLoader(folder, batch_size=batch, shuffle=True, num_workers=spare, persistent_workers=spare > 0)
    while True:
        for images, labels in loader:
            yield images.contiguous(memory_format=torch.channels_last), labels


def batches(kind, dataset, batch, channels_last):
    if kind == "text":
        return text_batches(dataset, batch)
    return decoded_batches(dataset, batch) if kind == "images" else image_batches(dataset, batch, channels_last)


def main(name, batch, steps, kind, data, compiled):
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True)
    model = model_for(name, kind)
    channels_last = name not in ("mlp", "gpt")
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = optimizer_for(name, model.parameters(), fused=True)
    loss_function = loss_for(name)
    model, optimizer = accelerator.prepare(torch.compile(model) if compiled else model, optimizer)
    watch = Stopwatch(steps)
    model.train()
    for inputs, targets in batches(kind, dataset_for(kind, data), batch, channels_last):
        optimizer.zero_grad()
        loss = loss_function(model(inputs), targets)
        accelerator.backward(loss)
        optimizer.step()
        if watch.step():
            return watch.tell()


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5], "--compile" in sys.argv)
