"""The data loader alone, one worker process: images a second. Prints JSON.
   loader.py cifar|images DATA COUNT"""
import json
import sys
import time

import torch
from torch.utils.data import DataLoader, RandomSampler

from data import Cifar10, augmented, image_folder, train_files

kind, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
torch.set_num_threads(1)
if kind == "cifar":
    dataset = Cifar10(folder, train_files(folder), augmented())
else:
    dataset = image_folder(folder)
loader = DataLoader(dataset, batch_size=64, num_workers=1, sampler=RandomSampler(dataset, num_samples=count, replacement=True))
batches = iter(loader)
next(batches)
began, seen = time.time(), 0
for images, _ in batches:
    seen += len(images)
print(json.dumps({"images_per_second": seen / (time.time() - began)}))
