"""Writes the peer's model for `model.name = "exported"`.
   export.py MODEL cifar|text|images FILE"""
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from export_model import export_model
from models import model_for

name, kind, file = sys.argv[1:]
torch.manual_seed(0)
example = torch.zeros(2, 64, dtype=torch.int64) if kind == "text" else torch.zeros(2, 3, *(2 * [64 if kind == "images" else 32]))
export_model(model_for(name, kind), example, file)
print("{}")
