"""Every model against the same one in plain PyTorch: names, initial weights, outputs, gradients, buffers."""

import os
import sys
import unittest
from pathlib import Path

import torch
from model_tool import ROOT, ModelCase
from safetensors.torch import save_file
from torch import nn

sys.path.insert(0, str(ROOT / "tests" / "parity"))
import model_references as references  # noqa: E402

DATA = Path(os.environ.get("RUNNER_TEST_DATA", "/nowhere")) / "resnet20-cifar10"

BASIC, BOTTLENECK = references.BasicBlock, references.Bottleneck
VIT = {"name": "vit", "patch": 4, "layers": 2, "heads": 2, "width": 16, "hidden": 24}
# settings, input shape, classes, the same in Python
CASES = [
    ({"name": "mlp", "hidden": [20, 15], "activation": activation}, [3, 4, 5], 7, lambda a=activation: references.Mlp(60, [20, 15], 7, a))
    for activation in ("relu", "gelu", "silu", "tanh", "sigmoid")
] + [
    ({"name": "mlp", "hidden": []}, [9], 4, lambda: references.Mlp(9, [], 4)),
    ({"name": "simple_cnn"}, [3, 32, 32], 10, lambda: references.SimpleCnn(3, 32, 10)),
    ({"name": "simple_cnn"}, [1, 28, 28], 10, lambda: references.SimpleCnn(1, 28, 10)),
    ({"name": "resnet18"}, [3, 64, 64], 10, lambda: references.ResNet(BASIC, [2, 2, 2, 2], 3, 10)),
    ({"name": "resnet18", "stem": "cifar"}, [3, 32, 32], 10, lambda: references.ResNet(BASIC, [2, 2, 2, 2], 3, 10, "cifar")),
    ({"name": "resnet34", "zero_init_residual": True}, [3, 64, 64], 5, lambda: references.ResNet(BASIC, [3, 4, 6, 3], 3, 5, zero_init_residual=True)),
    ({"name": "resnet50", "zero_init_residual": True, "stem": "cifar"}, [1, 16, 16], 5, lambda: references.ResNet(BOTTLENECK, [3, 4, 6, 3], 1, 5, "cifar", True)),
    ({"name": "resnet20"}, [3, 32, 32], 10, lambda: references.CifarResNet(3, 3, 10)),
    ({"name": "resnet32"}, [3, 32, 32], 10, lambda: references.CifarResNet(5, 3, 10)),
    ({"name": "wide_resnet", "depth": 10, "widen": 2}, [3, 32, 32], 10, lambda: references.WideResNet(10, 2, 3, 10)),
    ({"name": "mobilenet_v2", "width": 0.35, "dropout": 0.0}, [3, 64, 64], 10, lambda: references.MobileNetV2(3, 10, 0.35, dropout=0.0)),
    ({"name": "mobilenet_v2", "stem": "cifar", "dropout": 0.0}, [3, 32, 32], 10, lambda: references.MobileNetV2(3, 10, stem="cifar", dropout=0.0)),
    (VIT, [3, 16, 16], 10, lambda: references.VisionTransformer(3, 16, 4, 2, 2, 16, 24, 10)),
    ({"name": "resnet56"}, [1, 31, 31], 10, lambda: references.CifarResNet(9, 1, 10)),
]


class Scripted(nn.Module):
    """What TorchScript modules may do: normalise, drop, and assign a new tensor to a buffer."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Linear(8, 10)
        self.drop = nn.Dropout(0.9)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.calls = self.calls + 1
        else:
            x = self.drop(x)
        return self.head(self.features(x).mean([2, 3]))


def images(shape, classes):
    return {"input_shape": shape, "classes": classes}


def randomise(model):
    """Weights, and statistics, as after some training: nothing at the value it begins with."""
    generator = torch.Generator().manual_seed(1)
    for name, tensor in model.state_dict().items():
        if name.endswith("running_var"):
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
        elif tensor.is_floating_point():
            tensor.add_(torch.randn(tensor.shape, generator=generator), alpha=0.05)
        else:
            tensor.fill_(3)


class Parity(ModelCase):
    def compare_pass(self, settings, data, batch, reference, train=True):
        """`batch`: what the batch holds, by name, in the order in which the reference takes it."""
        randomise(reference)
        save_file(reference.state_dict(), self.folder / "weights.safetensors")
        reference.train(train)
        before = {name: tensor.clone() for name, tensor in reference.state_dict().items()}
        output = reference(*batch.values())
        gradient = torch.randn(output.shape, generator=torch.Generator().manual_seed(2))
        output.backward(gradient)
        save_file(batch | {"grad_output": gradient}, self.folder / "in.safetensors")
        weights = {"weights": str(self.folder / "weights.safetensors")}
        out = self.run_tool(settings | weights, data, train=train, input=str(self.folder / "in.safetensors"))
        self.assert_same_tensors(out, "initial/", before, 0.0)
        self.assert_close(out["output"], output.detach(), "output")
        self.assert_same_gradients(out, reference)
        self.assert_same_state(out, "after/", reference)

    def compare_image_pass(self, settings, shape, classes, reference, train=True):
        x = torch.randn([4, *shape], generator=torch.Generator().manual_seed(2))
        self.compare_pass(settings, images(shape, classes), {"input": x}, reference, train)

    def test_initial_weights_of_a_seed_are_those_of_python(self):
        for settings, shape, classes, make in CASES:
            if settings["name"] == "vit":
                continue  # begins with a truncated normal distribution, which LibTorch does not have
            with self.subTest(**settings):
                out = self.run_tool(settings, images(shape, classes), seed=5)
                torch.manual_seed(5)
                self.assert_same_state(out, "initial/", make(), 1e-6)

    def test_outputs_gradients_and_statistics(self):
        for settings, shape, classes, make in CASES:
            with self.subTest(**settings):
                self.compare_image_pass(settings, shape, classes, make())
                if settings["name"] in ("resnet18", "resnet20"):
                    self.compare_image_pass(settings, shape, classes, make(), train=False)

    def test_tables(self):
        settings = {"name": "tabular", "hidden": [7], "embedding": 3, "batch_norm": True}
        data = {"input_shape": [4], "classes": 2, "categories": [3, 20]}
        batch = {"input": torch.randn(5, 4), "extra/categories": torch.tensor([[0, 5], [1, 19], [2, 0], [0, 6], [0, 5]])}
        self.compare_pass(settings, data, batch, references.Tabular(4, [3, 20], [3, 3], 7, 2))

    def test_recurrent(self):
        settings = {"name": "lstm", "width": 8, "hidden": 6, "layers": 2}
        tokens = torch.randint(0, 11, (4, 9))
        mask = torch.arange(9)[None] < torch.tensor([[9], [1], [4], [7]])
        data = {"input_shape": [9], "vocabulary": 11, "classes": 3}
        self.compare_pass(settings, data, {"input": tokens}, references.Lstm(11, 8, 6, 2, False, 3, False))
        both = references.Lstm(11, 8, 6, 2, True, 3, False)
        self.compare_pass(settings | {"bidirectional": True}, data, {"input": tokens, "extra/mask": mask}, both)
        self.compare_pass(settings | {"predict": "token"}, data, {"input": tokens}, references.Lstm(11, 8, 6, 2, False, 11, True))

    def test_encoder_decoder(self):
        settings = {"name": "transformer", "layers": 2, "decoder_layers": 1, "heads": 2, "width": 8, "hidden": 12, "dropout": 0.0, "start": 3}
        data = {"input_shape": [9], "target_shape": [5], "vocabulary": 11}
        reference = references.EncoderDecoder(11, 8, 2, 2, 1, 12, start=3)
        batch = {"input": torch.randint(0, 11, (4, 9)), "target": torch.randint(0, 11, (4, 5))}
        for checkpoint in (False, True):
            reference.zero_grad()
            self.compare_pass(settings | {"checkpoint_activations": checkpoint}, data, batch, reference)

    def test_torchscript(self):
        model = Scripted()
        torch.jit.save(torch.jit.script(model), self.folder / "scripted.pt")
        settings = {"name": "torchscript", "file": str(self.folder / "scripted.pt")}
        self.assert_same_state(self.run_tool(settings, images([3, 8, 8], 10)), "initial/", model, 0.0)
        self.compare_image_pass(settings, [3, 8, 8], 10, model)

    def test_torchscript_that_does_not_fit(self):
        torch.jit.save(torch.jit.script(Scripted()), self.folder / "scripted.pt")
        torch.jit.save(torch.jit.freeze(torch.jit.script(Scripted().eval())), self.folder / "frozen.pt")
        torch.save(Scripted().state_dict(), self.folder / "weights.pt")
        (self.folder / "text.pt").write_text("hello")
        for file, shape, classes, reason in (
            ("scripted.pt", [3, 8, 8], 7, "has 10 outputs, but the dataset has 7 classes"),
            ("scripted.pt", [1, 8, 8], 10, "cannot take the dataset's examples"),
            ("frozen.pt", [3, 8, 8], 10, "no parameters to train"),
            ("weights.pt", [3, 8, 8], 10, "not a module written by torch.jit.save"),
            ("text.pt", [3, 8, 8], 10, "not a module written by torch.jit.save"),
            ("none.pt", [3, 8, 8], 10, "none.pt"),
        ):
            with self.subTest(file=file):
                with self.assertRaisesRegex(AssertionError, reason):
                    self.run_tool({"name": "torchscript", "file": str(self.folder / file)}, images(shape, classes))

    @unittest.skipUnless(DATA.is_dir(), "needs resnet20-cifar10 in RUNNER_TEST_DATA")
    def test_trained_resnet20(self):
        saved = torch.load(DATA / "resnet20-12fca82f.th", map_location="cpu", weights_only=True)
        reference = references.CifarResNet(3, 3, 10)
        reference.load_state_dict({name.removeprefix("module."): tensor for name, tensor in saved["state_dict"].items()})
        reference.eval()
        x = torch.randn(8, 3, 32, 32, generator=torch.Generator().manual_seed(3))
        save_file({"input": x}, self.folder / "in.safetensors")
        for file in ("resnet20-12fca82f.th", "resnet20.safetensors"):
            out = self.run_tool({"name": "resnet20", "weights": str(DATA / file)}, images([3, 32, 32], 10), input=str(self.folder / "in.safetensors"))
            self.assert_same_state(out, "initial/", reference, 0.0)
            with torch.no_grad():
                self.assert_close(out["output"], reference(x), file)


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # TorchScript is deprecated in Python
