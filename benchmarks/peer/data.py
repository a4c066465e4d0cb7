"""CIFAR-10 and text as a PyTorch user reads them: one sample at a time, through torchvision's transforms."""
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

import torchvision_import  # noqa: F401, before torchvision
from torchvision import datasets, transforms

IMAGE_SIDE = 64  # of images from JPEG files
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


class Cifar10(Dataset):
    """What torchvision.datasets.CIFAR10 does, for the binary files: an array in memory, a PIL image a sample."""

    def __init__(self, folder, files, transform, limit=None):
        rows = np.concatenate([np.fromfile(Path(folder) / name, np.uint8).reshape(-1, 3073) for name in files])[:limit]
        self.labels = rows[:, 0].astype(np.int64)
        self.images = np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(Image.fromarray(self.images[index])), int(self.labels[index])


def train_files(folder):
    return sorted(path.name for path in Path(folder).glob("data_batch_*.bin"))


def plain():
    return transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, DEVIATION)])


def augmented():
    return transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), plain()])


def image_folder(folder):
    return datasets.ImageFolder(
        Path(folder) / "train",
        transforms.Compose([transforms.RandomResizedCrop(IMAGE_SIDE), transforms.RandomHorizontalFlip(), plain()]))


class Text(Dataset):
    def __init__(self, file, context=64):
        characters = Path(file).read_text()
        codes = {character: code for code, character in enumerate(sorted(set(characters)))}
        self.tokens = torch.tensor([codes[character] for character in characters])
        self.context = context

    def __len__(self):
        return (len(self.tokens) - 1) // self.context

    def __getitem__(self, index):
        at = torch.randint(len(self.tokens) - self.context - 1, ()).item()
        return self.tokens[at : at + self.context], self.tokens[at + 1 : at + self.context + 1]


def dataset_for(kind, data):
    if kind == "text":
        return Text(data)
    return image_folder(data) if kind == "images" else Cifar10(data, train_files(data), plain())
