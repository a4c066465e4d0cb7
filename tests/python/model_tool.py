"""What the tests that hold models against Python's share: the program that passes a batch through one."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import torch
from safetensors.torch import load_file

ROOT = Path(__file__).resolve().parents[2]
TOOL = Path(os.environ.get("RUNNER_BINARY_DIR", ROOT / "build" / "release")) / "bin" / "model_pass"
TOLERANCE = 1e-5


class ModelCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        torch.set_num_threads(1)

    def run_tool(self, model, data, **request):
        """`data` is what the dataset would say of itself, `request` the rest of what model_pass takes."""
        request |= {"model": model, "data": data, "output": str(self.folder / "out.safetensors")}
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

    def assert_same_tensors(self, out, prefix, theirs, tolerance=TOLERANCE):
        ours = {name.removeprefix(prefix): tensor for name, tensor in out.items() if name.startswith(prefix)}
        self.assertEqual(set(ours), set(theirs))
        for name, tensor in theirs.items():
            self.assert_close(ours[name], tensor, prefix + name, tolerance)

    def assert_same_state(self, out, prefix, model, tolerance=TOLERANCE):
        self.assert_same_tensors(out, prefix, model.state_dict(), tolerance)

    def assert_same_gradients(self, out, model, tolerance=TOLERANCE):
        gradients = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
        self.assertEqual({name for name in out if name.startswith("grad/")}, {"grad/" + name for name in gradients})
        for name, gradient in gradients.items():
            self.assert_close(out["grad/" + name], gradient, "gradient of " + name, tolerance)
