"""The same weights and data for up to 20 update steps, here and in PyTorch: the losses and the final weights agree."""

import itertools
import os

os.environ["OMP_NUM_THREADS"] = "1"
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from run_helpers import main, run, series

torch.set_num_threads(1)
STEPS, BATCH = 20, 4
THOROUGH = os.environ.get("RUNNER_THOROUGH") == "1"


class SimpleCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 8 * 8, 256)
        self.fc2 = nn.Linear(256, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        return torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))) + shortcut)


class ResNet18(nn.Module):
    """torchvision's names; the stem for small images."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(64)
        for number, (inputs, outputs) in enumerate([(64, 64), (64, 128), (128, 256), (256, 512)], 1):
            stride = 1 if number == 1 else 2
            setattr(self, f"layer{number}", nn.Sequential(Block(inputs, outputs, stride), Block(outputs, outputs, 1)))
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def pytorch(model, optimizer, inputs, targets, accumulation, clip, precision, steps):
    """The loop that PyTorch's documentation shows; the mean over a whole window."""
    losses, scaler = [], torch.amp.GradScaler("cpu", enabled=precision == "fp16")
    cast = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision)
    batches = [slice(i, i + BATCH) for i in range(0, len(inputs), BATCH)]
    for step in range(steps):
        window = batches[step * accumulation : (step + 1) * accumulation]
        count = sum(len(targets[batch]) for batch in window)
        total = 0.0
        for batch in window:
            with torch.autocast("cpu", cast or torch.bfloat16, enabled=cast is not None):
                loss = nn.functional.cross_entropy(model(inputs[batch]), targets[batch], reduction="sum") / count
            scaler.scale(loss).backward()
            total += loss.item()
        losses.append(total)
        scaler.unscale_(optimizer)
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return losses


def compare(folder, name, make_model, make_optimizer, settings, accumulation, clip, precision="fp32",
            loss_tolerance=1e-5, weight_tolerance=1e-5, steps=STEPS):
    torch.manual_seed(3)
    model = make_model()
    samples = steps * accumulation * BATCH - 3  # the last micro-batch is short, and so is its window's count
    inputs, targets = torch.randn(samples, 3, 32, 32), torch.randint(0, 10, (samples,))
    save_file({"input": inputs, "target": targets}, folder / "data.safetensors")
    save_file(model.state_dict(), folder / "initial.safetensors")
    run("tests/python/parity.toml", f"model={name}", *settings, f"precision={precision}",
        f"model.weights={folder}/initial.safetensors", f"dataset.train={folder}/data.safetensors",
        f"dataset.eval={folder}/data.safetensors", f"loader.batch_size={BATCH}", f"train.max_steps={steps}",
        f"train.accumulation_steps={accumulation}", f"run.dir={folder}/run", *([f"train.clip_norm={clip}"] if clip else []))
    expected = pytorch(model, make_optimizer(model.parameters()), inputs, targets, accumulation, clip, precision, steps)
    losses = series(folder / "run", "train/loss")
    assert len(losses) == steps, losses
    for step, (ours, theirs) in enumerate(zip(losses, expected)):
        assert abs(ours - theirs) <= loss_tolerance * max(1, abs(theirs)), f"step {step}: {ours} here, {theirs} in PyTorch"
    weights = load_file(folder / "run" / "model.safetensors")
    assert weights.keys() == model.state_dict().keys()
    for key, theirs in model.state_dict().items():
        if theirs.is_floating_point():
            error = ((weights[key] - theirs).norm() / theirs.norm().clamp_min(1e-3)).item()
            assert error <= weight_tolerance, f"{key}: off by {error}"
        else:
            assert torch.equal(weights[key], theirs), key


def case(name, *arguments, **options):
    def run_case(folder):
        compare(folder, *arguments, **options)

    run_case.__name__ = name
    return run_case


CNN = ("simple_cnn", SimpleCnn, lambda p: torch.optim.Adam(p, 1e-3), ["optimizer=adam", "optimizer.lr=0.001"])
RESNET = ("resnet18", ResNet18, lambda p: torch.optim.SGD(p, 0.01, momentum=0.9),
          ["model.stem=cifar", "optimizer=sgd", "optimizer.lr=0.01", "optimizer.momentum=0.9"])

CASES = [case(f"{kind[0]}, accumulation {accumulation}, clip {clip}", *kind, accumulation, clip)
         for kind, accumulation, clip in itertools.product([CNN], [1, 4], [None, 0.5])]
CASES += [case("resnet18, plain", *RESNET, 1, None, weight_tolerance=1e-4),
          case("resnet18, accumulation 4, clip 0.5", *RESNET, 4, 0.5, weight_tolerance=1e-4, steps=STEPS if THOROUGH else 5)]
CASES += [case("simple_cnn, bf16", *CNN, 1, None, precision="bf16", loss_tolerance=3e-2, weight_tolerance=5e-2),
          case("simple_cnn, fp16", *CNN, 1, None, precision="fp16", loss_tolerance=1e-2, weight_tolerance=2e-2)]

if __name__ == "__main__":
    main(CASES)
