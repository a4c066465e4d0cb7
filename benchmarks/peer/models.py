"""The models of the comparison in PyTorch: the structure the runner's models of the same names have."""
import math

import torch
import torch.nn.functional as F
import torchvision_import  # noqa: F401, before torchvision
import torchvision
from torch import nn

from data import IMAGE_SIDE


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(3072, 128), nn.ReLU(), nn.Linear(128, 10))


class SimpleCnn(nn.Module):
    def __init__(self, side=32):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * (side // 4) ** 2, 256)
        self.fc2 = nn.Linear(256, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def resnet18():
    model = torchvision.models.resnet18(num_classes=10)
    model.conv1 = nn.Conv2d(3, 64, 3, padding=1)
    model.maxpool = nn.Identity()
    return model


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width, bias=False)
        self.c_attn = nn.Linear(width, 3 * width, bias=False)
        self.c_proj = nn.Linear(width, width, bias=False)
        self.ln_2 = nn.LayerNorm(width, bias=False)
        self.c_fc = nn.Linear(width, 4 * width, bias=False)
        self.mlp_proj = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        split = lambda t: t.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        q, k, v = self.c_attn(self.ln_1(x)).split(width, dim=2)
        y = F.scaled_dot_product_attention(split(q), split(k), split(v), is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, vocabulary=65, context=64, layers=4, heads=4, width=128):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                scale = math.sqrt(2 * layers) if name.endswith("proj.weight") else 1
                nn.init.normal_(parameter, std=0.02 / scale)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def model_for(name, kind):
    if kind == "images":
        return SimpleCnn(IMAGE_SIDE)
    return {"mlp": mlp, "simple_cnn": SimpleCnn, "resnet18": resnet18, "gpt": Gpt}[name]()


def optimizer_for(name, parameters, **more):
    if name == "resnet18":
        return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=5e-4, **more)
    if name == "gpt":
        return torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.1, **more)
    return torch.optim.Adam(parameters, lr=1e-3, **more)


def loss_for(name):
    if name == "gpt":
        return lambda output, target: F.cross_entropy(output.flatten(0, 1), target.flatten())
    return nn.CrossEntropyLoss()
