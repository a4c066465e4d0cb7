"""The script Accelerate's documentation shows: model, optimizer, data loader, prepare, loop. Prints JSON.
   ordinary.py MODEL BATCH STEPS cifar|text|images DATA"""
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from data import dataset_for
from models import loss_for, model_for, optimizer_for
from stopwatch import Stopwatch


def main(name, batch, steps, kind, data):
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True)
    model = model_for(name, kind)
    optimizer = optimizer_for(name, model.parameters())
    loss_function = loss_for(name)
    loader = DataLoader(dataset_for(kind, data), batch_size=batch, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    watch = Stopwatch(steps)
    model.train()
    while True:
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = loss_function(model(inputs), targets)
            accelerator.backward(loss)
            optimizer.step()
            if watch.step():
                return watch.tell()


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
