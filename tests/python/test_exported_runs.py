"""Whole runs of an exported model: every precision, accumulation, ranks, resuming, predictions, text, and the way back to Python."""

import json
import sys

try:
    import torch
    from safetensors.torch import load_file, save_file
except ImportError:
    print("skipped: torch is not installed; scripts/setup.sh --tests does it")
    sys.exit(77)

from torch import nn

from exported_helpers import export_model
from run_helpers import main, run, series
from test_training_parity import BATCH, ResNet18, SimpleCnn, pytorch

torch.set_num_threads(1)


def exported(folder, model=None, example=None, **options):
    model = model or SimpleCnn()
    export_model(model, example if example is not None else torch.zeros(2, 3, 32, 32), folder / "m.pt2", **options)
    return model


def data(folder, count):
    inputs, targets = torch.randn(count, 3, 32, 32), torch.randint(0, 10, (count,))
    save_file({"input": inputs, "target": targets}, folder / "data.safetensors")
    return inputs, targets


def settings(folder, name="run"):
    return [f'model={{name="exported", file="{folder}/m.pt2"}}', f"dataset.train={folder}/data.safetensors", f"dataset.eval={folder}/data.safetensors",
            "dataset.classes=10", f"loader.batch_size={BATCH}", f"run.dir={folder}/{name}"]


SGD = ["optimizer=sgd", "optimizer.lr=0.01", "optimizer.momentum=0.9"]


def trains_like_pytorch(make_model, precision, accumulation, loss_tolerance, steps=6):
    def case(folder):
        torch.manual_seed(3)
        model = exported(folder, make_model())
        inputs, targets = data(folder, steps * accumulation * BATCH - 3)
        run("tests/python/parity.toml", *settings(folder), *SGD, f"precision={precision}", f"train.max_steps={steps}", f"train.accumulation_steps={accumulation}")
        expected = pytorch(model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), inputs, targets, accumulation, None, precision, steps)
        losses = series(folder / "run", "train/loss")
        assert len(losses) == steps, losses
        for ours, theirs in zip(losses, expected):
            assert abs(ours - theirs) <= loss_tolerance * max(1, abs(theirs)), (losses, expected)
        assert load_file(folder / "run/model.safetensors").keys() == model.state_dict().keys()

    case.__name__ = f"trains_{make_model.__name__}_like_pytorch_in_{precision}_accumulation_{accumulation}"
    return case


def ranks_train_like_one_process(folder):
    torch.manual_seed(3)
    exported(folder)
    data(folder, 6 * BATCH)
    recipe = ["tests/python/parity.toml", *SGD, "train.max_steps=6"]
    run(*recipe, *settings(folder))
    expected = series(folder / "run", "train/loss")
    for strategy in ("ddp", "zero1", "zero2", "zero3"):
        run("launch", "-n", 2, *recipe, *settings(folder, strategy), f"distributed.strategy={strategy}", "distributed.batch=global")
        losses = series(folder / strategy, "train/loss")
        assert len(losses) == 6 and all(abs(a - b) <= 1e-5 for a, b in zip(losses, expected)), (strategy, losses, expected)
        one, other = load_file(folder / "run/model.safetensors"), load_file(folder / strategy / "model.safetensors")
        assert all(torch.allclose(one[name], other[name], atol=1e-5) for name in one) and one.keys() == other.keys(), strategy


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.drop, self.head = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.3), nn.Linear(4, 10)

    def forward(self, x):
        return self.head(self.drop(torch.relu(self.norm(self.conv(x))).mean((2, 3))))


def resumes_bit_for_bit(folder):
    torch.manual_seed(3)
    exported(folder, Dropped())
    data(folder, 40)
    recipe = ["tests/python/parity.toml", *SGD, "checkpoint.every=4step", "loader.shuffle=true"]
    run(*recipe, *settings(folder, "whole"), "train.max_steps=12")
    run(*recipe, *settings(folder, "parts"), "train.max_steps=4")
    run("resume", folder / "parts", "train.max_steps=12")
    whole, parts = load_file(folder / "whole/model.safetensors"), load_file(folder / "parts/model.safetensors")
    assert whole.keys() == parts.keys() == Dropped().state_dict().keys()
    for name in whole:
        assert whole[name].numpy().tobytes() == parts[name].numpy().tobytes(), name
    assert series(folder / "whole", "train/loss") == series(folder / "parts", "train/loss")


def goes_back_to_python(folder):
    torch.manual_seed(3)
    exported(folder, Dropped())
    inputs, _ = data(folder, 40)
    run("tests/python/parity.toml", *SGD, *settings(folder), "train.max_steps=8")
    run("export", folder / "run", "-o", folder / "trained.pt2")
    weights = load_file(folder / "run/model.safetensors")
    reference = Dropped().eval()
    reference.load_state_dict(weights)
    program = torch.export.load(folder / "trained.pt2")
    for name, tensor in program.state_dict.items():
        assert torch.equal(tensor, weights[name]), name
    with torch.no_grad():
        assert torch.equal(program.module()(inputs), reference(inputs))
    # The written file is a model to train, too: its initial weights are the trained ones.
    (folder / "trained.pt2").rename(folder / "m.pt2")
    run("tests/python/parity.toml", *settings(folder, "again"), "optimizer=sgd", "optimizer.lr=1e-60", "train.max_steps=1")
    again = load_file(folder / "again/model.safetensors")
    assert all(torch.equal(again[name], weights[name]) for name, _ in reference.named_parameters())


def evaluates_like_python(folder):
    torch.manual_seed(3)
    exported(folder, Dropped())
    inputs, targets = data(folder, 42)
    run("tests/python/parity.toml", *SGD, *settings(folder), "train.max_steps=6")
    reference = Dropped().eval()
    reference.load_state_dict(load_file(folder / "run/model.safetensors"))
    with torch.no_grad():
        expected = nn.functional.cross_entropy(reference(inputs), targets).item()
    for words in ([], ["--offload"]):
        told = json.loads(run("eval", folder / "run", "--json", *words).stdout)
        assert abs(told["metrics"]["eval/loss"] - expected) < 1e-6, (words, told, expected)


def checks_before_anything_is_read(folder):
    exported(folder)
    data(folder, 8)
    done = run("check", "--deep", "tests/python/parity.toml", *settings(folder), "dataset.classes=7", check=False)
    assert done.returncode == 2 and "has 10 outputs, but the dataset has 7 classes" in done.stderr, done.stderr
    run("check", "--deep", "tests/python/parity.toml", *settings(folder))
    found = run("estimate", "tests/python/parity.toml", *settings(folder)).stdout
    parameters = sum(parameter.numel() for parameter in SimpleCnn().parameters())
    assert f"{parameters:,}" in found or str(parameters) in found, found


class Letters(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, 0.1, batch_first=True)
        self.head = nn.Linear(16, 40)

    def forward(self, tokens):
        size = tokens.shape[1]
        later = torch.ones(size, size, dtype=torch.bool, device=tokens.device).triu(1)
        return self.head(self.layer(self.embed(tokens), src_mask=later))


LETTERS = """
[model]
name = "exported"
file = "letters.pt2"
[dataset]
name = "text"
file = "letters.txt"
length = 16
[loss]
name = "lm_cross_entropy"
[loader]
batch_size = 4
[optimizer]
name = "adamw"
lr = 0.01
[train]
max_steps = 4
"""


class TiedLetters(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layer = nn.Embedding(40, 16), nn.Linear(16, 16)
        self.head = nn.Linear(16, 40, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(torch.tanh(self.layer(self.embed(tokens))))


def tied_weights_stay_tied_on_ranks(folder):
    torch.manual_seed(3)
    (folder / "letters.txt").write_text("the quick brown fox jumps over the lazy dog. " * 40)
    (folder / "recipe.toml").write_text(LETTERS)
    model = TiedLetters()
    export_model(model, torch.zeros(2, 16, dtype=torch.int64), folder / "letters.pt2")
    recipe = [folder / "recipe.toml", "train.log_every=1step"]
    run(*recipe, f"run.dir={folder}/one")
    for strategy in ("ddp", "zero3"):
        run("launch", "-n", 2, *recipe, f"distributed.strategy={strategy}", "distributed.batch=global", f"run.dir={folder}/{strategy}")
        losses, expected = series(folder / strategy, "train/loss"), series(folder / "one", "train/loss")
        assert len(losses) == 4 and all(abs(a - b) < 1e-5 for a, b in zip(losses, expected)), (strategy, losses, expected)
        weights = load_file(folder / strategy / "model.safetensors")
        assert weights.keys() == model.state_dict().keys() and torch.equal(weights["head.weight"], weights["embed.weight"])
    # Files of weights often have a tied weight under one of its names only.
    save_file({name: tensor.clone() for name, tensor in weights.items() if name != "head.weight"}, folder / "one_name.safetensors")
    run(*recipe, f"run.dir={folder}/again", f"model.weights={folder}/one_name.safetensors", "optimizer.lr=1e-60", "train.max_steps=1")
    assert torch.equal(load_file(folder / "again/model.safetensors")["head.weight"], weights["embed.weight"])


def samples_text(folder):
    torch.manual_seed(3)
    (folder / "letters.txt").write_text("the quick brown fox jumps over the lazy dog. " * 40)
    time = {"tokens": {1: torch.export.Dim("time", max=32)}}
    (folder / "recipe.toml").write_text(LETTERS)
    texts = []
    for name, dynamic in (("fixed", None), ("varying", time)):
        torch.manual_seed(3)
        export_model(Letters(), torch.zeros(2, 16, dtype=torch.int64), folder / "letters.pt2", dynamic=dynamic)
        run(folder / "recipe.toml", f"run.dir={folder}/{name}")
        texts.append(run("sample", folder / name, "--prompt", "the q", "--tokens", "8", "--temperature", "0").stdout)
    assert texts[0] == texts[1] and len(texts[0]) > 8, texts


if __name__ == "__main__":
    main([trains_like_pytorch(SimpleCnn, "fp32", 1, 1e-5), trains_like_pytorch(SimpleCnn, "fp32", 3, 1e-5), trains_like_pytorch(ResNet18, "fp32", 3, 1e-5, 3),
          trains_like_pytorch(SimpleCnn, "bf16", 1, 3e-2), trains_like_pytorch(SimpleCnn, "fp16", 3, 1e-2), ranks_train_like_one_process, resumes_bit_for_bit,
          goes_back_to_python, evaluates_like_python, checks_before_anything_is_read, tied_weights_stay_tied_on_ranks, samples_text])
