"""Exports models and trains them twice, here and in eager PyTorch, on the same batch with the same seeds."""

import copy
import pathlib
import sys
import time

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from model_tool import ModelCase

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from export_model import export_model  # noqa: E402

STEPS, LR = 10, 1e-3


def loss_of(output, target):
    if target is None:
        return output.square().mean()
    if target.is_floating_point():
        return F.mse_loss(output, target)
    if output.dim() != 3:
        return F.cross_entropy(output, target)
    return F.cross_entropy(output.reshape(-1, output.shape[-1]), target.reshape(-1))


def only_tensor(output, name=None):
    if isinstance(output, torch.Tensor):
        return output
    if isinstance(output, (tuple, list)):
        return output[int(name or 0)]
    return output[name] if isinstance(output, dict) else getattr(output, name)


def eager(model, arguments, target, output=None, steps=STEPS, lr=LR):
    """The losses, the seconds of each step, and the output of the trained model in evaluation mode."""
    model.train()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=0.9)
    losses, seconds = [], []
    for step in range(steps):
        began = time.perf_counter()
        torch.manual_seed(100 + step)
        optimizer.zero_grad()
        loss = loss_of(only_tensor(model(**arguments), output), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - began)
    model.eval()
    with torch.no_grad():
        return losses, seconds, only_tensor(model(**arguments), output)


def largest_gap(ours, theirs):
    return max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(ours, theirs, strict=True))


class ExportedCase(ModelCase):
    """`extra` are further tensors of the batch by the names of their fields; the other argument is the batch's input."""

    def write(self, model, arguments, file="m.pt2", **options):
        path = self.folder / file
        export_model(model, dict(arguments), path, **options)
        return path

    def train_here(self, path, data, arguments, target, main="x", steps=STEPS, lr=LR, **settings):
        tensors = {"input" if name == main else "extra/" + name: tensor for name, tensor in arguments.items()}
        if target is not None:
            tensors["target"] = target
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, self.folder / "in.safetensors")
        return self.run_tool({"name": "exported", "file": str(path)} | settings, data, input=str(self.folder / "in.safetensors"),
                             steps=steps, lr=lr, threads=1)

    def data_of(self, main, target, classes=0, vocabulary=0):
        return {"input_shape": list(main.shape[1:]), "classes": classes, "vocabulary": vocabulary,
                "target_shape": list(target.shape[1:]) if target is not None else []}

    def compare(self, model, arguments, target, main="x", classes=0, vocabulary=0, output=None, steps=STEPS, lr=LR,
                tolerance=1e-5, evaluation=1e-6, path=None, **options):
        """Returns the largest gap of the losses, and the seconds of a step here and there."""
        path = path or self.write(model, arguments, **options)
        reference = copy.deepcopy(model)
        settings = {"output": output} if output else {}
        out = self.train_here(path, self.data_of(arguments[main], target, classes, vocabulary), arguments, target, main, steps, lr, **settings)
        losses, seconds, evaluated = eager(reference, arguments, target, output, steps, lr)
        self.assert_same_names(out, reference)
        gap = largest_gap(out["losses"].tolist(), losses)
        self.assertLessEqual(gap, tolerance, (out["losses"].tolist(), losses))
        scale = max(1.0, evaluated.abs().max().item())
        self.assertLessEqual((out["output"] - evaluated).abs().max().item() / scale, max(evaluation, 10 * gap), "evaluation")
        return gap, out["seconds"].median().item(), sorted(seconds)[len(seconds) // 2]

    def assert_same_names(self, out, model):
        ours = {name.removeprefix("after/") for name in out if name.startswith("after/")}
        self.assertEqual(ours, set(model.state_dict()))
