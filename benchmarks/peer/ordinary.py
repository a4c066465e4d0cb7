"""The script Accelerate's documentation shows: model, optimizer, data loader, prepare, loop. Prints JSON.
   ordinary.py MODEL BATCH STEPS DATA"""
import json
import sys
import time

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from data import Cifar10, Text, plain, train_files
from models import MODELS, loss_for, optimizer_for


def main(name, batch, steps, data):
    torch.manual_seed(0)
    warm_up = min(5, steps)
    accelerator = Accelerator(cpu=True)
    model = MODELS[name]()
    optimizer = optimizer_for(name, model.parameters())
    loss_function = loss_for(name)
    dataset = Text(data) if name == "gpt" else Cifar10(data, train_files(data), plain())
    loader = DataLoader(dataset, batch_size=batch, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    done, began, first_step = 0, 0, 0
    model.train()
    while done < steps + warm_up:
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = loss_function(model(inputs), targets)
            accelerator.backward(loss)
            optimizer.step()
            done += 1
            if done == 1:
                first_step = time.time()
            if done == warm_up:
                began = time.time()
            if done == steps + warm_up:
                break
    print(json.dumps({"first_step_at": first_step, "step_seconds": (time.time() - began) / steps}))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
