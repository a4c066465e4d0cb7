"""Every model against the same one in plain PyTorch: names, initial weights, outputs, gradients, buffers."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "parity"))
import model_references as references  # noqa: E402

TOOL = Path(os.environ.get("RUNNER_BINARY_DIR", ROOT / "build" / "release")) / "bin" / "model_pass"
DATA = Path(os.environ.get("RUNNER_TEST_DATA", "/nowhere")) / "resnet20-cifar10"
TOLERANCE = 1e-5

BASIC, BOTTLENECK = references.BasicBlock, references.Bottleneck
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
    ({"name": "resnet101"}, [3, 64, 64], 5, lambda: references.ResNet(BOTTLENECK, [3, 4, 23, 3], 3, 5)),
    ({"name": "resnet20"}, [3, 32, 32], 10, lambda: references.CifarResNet(3, 3, 10)),
    ({"name": "resnet32"}, [3, 32, 32], 10, lambda: references.CifarResNet(5, 3, 10)),
    ({"name": "resnet44"}, [3, 32, 32], 10, lambda: references.CifarResNet(7, 3, 10)),
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


class Parity(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        torch.set_num_threads(1)

    def run_tool(self, model, shape, classes, **request):
        request |= {"model": model, "data": {"input_shape": shape, "classes": classes}, "output": str(self.folder / "out.safetensors")}
        (self.folder / "request.json").write_text(json.dumps(request))
        done = subprocess.run([TOOL, self.folder / "request.json"], capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return load_file(self.folder / "out.safetensors")

    def assert_close(self, ours, theirs, what, tolerance=TOLERANCE):
        self.assertEqual(ours.shape, theirs.shape, what)
        self.assertEqual(ours.dtype, theirs.dtype, what)
        if ours.numel() == 0:
            return
        scale = max(1.0, theirs.abs().max().item())
        self.assertLessEqual((ours - theirs).abs().max().item(), tolerance * scale, what)

    def assert_same_state(self, out, prefix, model, tolerance=TOLERANCE):
        ours = {name.removeprefix(prefix): tensor for name, tensor in out.items() if name.startswith(prefix)}
        theirs = model.state_dict()
        self.assertEqual(set(ours), set(theirs))
        for name, tensor in theirs.items():
            self.assert_close(ours[name], tensor, prefix + name, tolerance)

    def compare_pass(self, settings, shape, classes, reference, train):
        randomise(reference)
        save_file(reference.state_dict(), self.folder / "weights.safetensors")
        generator = torch.Generator().manual_seed(2)
        x = torch.randn([4, *shape], generator=generator)
        grad = torch.randn([4, classes], generator=generator)
        save_file({"input": x, "grad_output": grad}, self.folder / "in.safetensors")
        out = self.run_tool(
            settings | {"weights": str(self.folder / "weights.safetensors")}, shape, classes, train=train, input=str(self.folder / "in.safetensors")
        )
        self.assert_same_state(out, "initial/", reference, 0.0)
        reference.train(train)
        output = reference(x)
        output.backward(grad)
        self.assert_close(out["output"], output.detach(), "output")
        gradients = {name: parameter.grad for name, parameter in reference.named_parameters()}
        self.assertEqual({name for name in out if name.startswith("grad/")}, {"grad/" + name for name in gradients})
        for name, gradient in gradients.items():
            self.assert_close(out["grad/" + name], gradient, "gradient of " + name)
        self.assert_same_state(out, "after/", reference)

    def test_initial_weights_of_a_seed_are_those_of_python(self):
        for settings, shape, classes, make in CASES:
            with self.subTest(**settings):
                out = self.run_tool(settings, shape, classes, seed=5)
                torch.manual_seed(5)
                self.assert_same_state(out, "initial/", make(), 1e-6)

    def test_outputs_gradients_and_statistics(self):
        for settings, shape, classes, make in CASES:
            with self.subTest(**settings):
                self.compare_pass(settings, shape, classes, make(), train=True)
                if settings["name"] in ("resnet18", "resnet20"):
                    self.compare_pass(settings, shape, classes, make(), train=False)

    def test_torchscript(self):
        model = Scripted()
        torch.jit.save(torch.jit.script(model), self.folder / "scripted.pt")
        settings = {"name": "torchscript", "file": str(self.folder / "scripted.pt")}
        self.assert_same_state(self.run_tool(settings, [3, 8, 8], 10), "initial/", model, 0.0)
        self.compare_pass(settings, [3, 8, 8], 10, model, train=True)

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
                    self.run_tool({"name": "torchscript", "file": str(self.folder / file)}, shape, classes)

    @unittest.skipUnless(DATA.is_dir(), "needs resnet20-cifar10 in RUNNER_TEST_DATA")
    def test_trained_resnet20(self):
        saved = torch.load(DATA / "resnet20-12fca82f.th", map_location="cpu", weights_only=True)
        reference = references.CifarResNet(3, 3, 10)
        reference.load_state_dict({name.removeprefix("module."): tensor for name, tensor in saved["state_dict"].items()})
        reference.eval()
        x = torch.randn(8, 3, 32, 32, generator=torch.Generator().manual_seed(3))
        save_file({"input": x}, self.folder / "in.safetensors")
        for file in ("resnet20-12fca82f.th", "resnet20.safetensors"):
            out = self.run_tool({"name": "resnet20", "weights": str(DATA / file)}, [3, 32, 32], 10, input=str(self.folder / "in.safetensors"))
            self.assert_same_state(out, "initial/", reference, 0.0)
            with torch.no_grad():
                self.assert_close(out["output"], reference(x), file)


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # TorchScript is deprecated in Python
