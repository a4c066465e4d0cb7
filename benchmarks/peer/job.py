"""A whole short job as Accelerate's documentation puts it together: 5 epochs of simple_cnn on 10,000 images, evaluated after
each with gather_for_metrics, tracked in TensorBoard, the model saved.
   job.py DATA FOLDER"""
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from data import Cifar10, plain, train_files
from models import SimpleCnn, loss_for, optimizer_for

data, folder = sys.argv[1:]
torch.manual_seed(0)
accelerator = Accelerator(cpu=True, log_with="tensorboard", project_dir=folder)
accelerator.init_trackers("job", config={"lr": 1e-3})
model = SimpleCnn()
optimizer = optimizer_for("simple_cnn", model.parameters())
loss_function = loss_for("simple_cnn")
train = DataLoader(Cifar10(data, train_files(data), plain(), limit=10000), batch_size=64, shuffle=True)
evaluation = DataLoader(Cifar10(data, ["test_batch.bin"], plain()), batch_size=64)
model, optimizer, train, evaluation = accelerator.prepare(model, optimizer, train, evaluation)

step = 0
for epoch in range(5):
    model.train()
    for inputs, targets in train:
        optimizer.zero_grad()
        loss = loss_function(model(inputs), targets)
        accelerator.backward(loss)
        optimizer.step()
        step += 1
        if step % 50 == 0:
            accelerator.log({"train/loss": loss.item()}, step=step)
    model.eval()
    right = count = 0
    for inputs, targets in evaluation:
        with torch.no_grad():
            predicted = model(inputs).argmax(dim=-1)
        predicted, targets = accelerator.gather_for_metrics((predicted, targets))
        right += (predicted == targets).sum().item()
        count += len(targets)
    accelerator.log({"eval/accuracy": right / count}, step=step)
accelerator.save_model(model, folder)
accelerator.end_training()
