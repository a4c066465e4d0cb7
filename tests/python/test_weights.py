"""Files of weights, exchanged with Python both ways: safetensors with its own package, torch.save with torch."""

import argparse
import collections
import os
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

import numpy
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
TOOL = Path(os.environ.get("RUNNER_BINARY_DIR", ROOT / "build" / "release")) / "bin" / "weights_dump"

TYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
    torch.bool, torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32, torch.uint64, torch.complex64,
]  # fmt: skip


def samples():
    torch.manual_seed(0)
    tensors = {str(type).removeprefix("torch."): (torch.rand(3, 5) * 2).to(type) for type in TYPES}
    return tensors | {"scalar": torch.tensor(2.5), "empty": torch.zeros(0, 7), 'é "q"\n': torch.ones(2)}


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2))


class Attack:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


class Weights(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def dump(self, path):
        return subprocess.run([TOOL, path, self.folder / "dump.safetensors"], capture_output=True, text=True)

    def assert_same(self, path, expected):
        done = self.dump(path)
        self.assertEqual(done.returncode, 0, done.stderr)
        read = load_file(self.folder / "dump.safetensors")
        self.assertEqual(set(read), set(expected))
        for name, tensor in expected.items():
            tensor = tensor.detach().contiguous()
            self.assertEqual((read[name].dtype, read[name].shape), (tensor.dtype, tensor.shape), name)
            same = read[name].reshape(-1).view(torch.uint8).equal(tensor.reshape(-1).view(torch.uint8))
            self.assertTrue(same, name)
        return done.stdout.strip().split(";")

    def assert_refused(self, path, reason):
        done = self.dump(path)
        self.assertEqual(done.returncode, 1)
        self.assertIn(reason, done.stderr)
        self.assertIn(str(path), done.stderr)

    def test_safetensors_both_ways(self):
        path = self.folder / "python.safetensors"
        save_file(samples(), path, metadata={"format": "pt"})
        self.assert_same(path, samples())
        # Ours is the same file, byte for byte, and its metadata is there for Python to read.
        self.assertEqual((self.folder / "dump.safetensors").read_bytes(), path.read_bytes())
        with safe_open(self.folder / "dump.safetensors", "pt") as file:
            self.assertEqual(file.metadata(), {"format": "pt"})

    def test_safetensors_of_a_model_without_metadata(self):
        save_file(model().state_dict(), self.folder / "a")
        self.assert_same(self.folder / "a", model().state_dict())
        model().load_state_dict(load_file(self.folder / "dump.safetensors"))

    def test_torch_save_in_every_layout_and_protocol(self):
        for zipped in (True, False):
            for protocol in (2, 4, 5):
                with self.subTest(zip=zipped, protocol=protocol):
                    path = self.folder / "a.pt"
                    torch.save(samples(), path, _use_new_zipfile_serialization=zipped, pickle_protocol=protocol)
                    self.assertEqual(self.assert_same(path, samples())[0], "zip" if zipped else "old layout")

    def test_state_dicts_where_scripts_put_them(self):
        state = model().state_dict()
        optimizer = torch.optim.Adam(model().parameters())
        for zipped, (file, found) in zip((True, False) * 4, (
            (state, ""),
            ({"state_dict": state, "epoch": 3, "best": torch.tensor(0.5)}, "state_dict"),
            ({"epoch": 3, "model": state, "optimizer": optimizer.state_dict(), "args": {"lr": 0.1, "betas": (0.9, 0.99)}}, "model"),
            ({"model_state_dict": state, "ema_state_dict": state}, "model_state_dict"),
            ({"checkpoint": {"net": state, "type": torch.float32, "size": torch.Size([1, 2]), "device": torch.device("cpu")}}, "checkpoint.net"),
            ({"anything": dict(state), "text": "x", "bytes": b"\x00\xff", "big": 2**100, "set": {1, 2}, "none": None}, "anything"),
            (collections.OrderedDict(module=collections.OrderedDict(state)), "module"),
        )):
            with self.subTest(found=found, zip=zipped):
                torch.save(file, self.folder / "a.pt", _use_new_zipfile_serialization=zipped)
                self.assertEqual(self.assert_same(self.folder / "a.pt", state)[1], found)

    def test_parameters_views_and_shared_storages(self):
        base = torch.arange(24.0)
        tensors = {
            "transposed": base.view(4, 6).t(),
            "every third": base[::3],
            "tail": base[20:],
            "expanded": base[:2].unsqueeze(1).expand(2, 5),
            "parameter": nn.Parameter(base[3:5]),
            "channels_last": torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last),
            "bfloat16": torch.rand(7).to(torch.bfloat16)[2:],
        }
        for zipped in (True, False):
            torch.save(tensors, self.folder / "a.pt", _use_new_zipfile_serialization=zipped)
            self.assert_same(self.folder / "a.pt", tensors)

    def test_values_that_are_no_tensors_are_reported(self):
        torch.save({"a": torch.ones(1), "epoch": 3}, self.folder / "a.pt")
        self.assertEqual(self.assert_same(self.folder / "a.pt", {"a": torch.ones(1)})[2], "epoch,")

    def test_zip_without_checksums(self):
        torch.serialization.set_crc32_options(False)
        self.addCleanup(torch.serialization.set_crc32_options, True)
        torch.save(samples(), self.folder / "a.pt")
        self.assert_same(self.folder / "a.pt", samples())

    def rezip(self, compression=zipfile.ZIP_STORED):
        torch.save(samples(), self.folder / "a.pt")
        with zipfile.ZipFile(self.folder / "a.pt") as old, zipfile.ZipFile(self.folder / "b.pt", "w", compression) as new:
            for entry in old.infolist():
                with new.open(zipfile.ZipInfo(entry.filename), "w", force_zip64=True) if compression == zipfile.ZIP_STORED else new.open(entry.filename, "w") as out:
                    out.write(old.read(entry))
        return self.folder / "b.pt"

    def test_zip64(self):
        limits = zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT
        zipfile.ZIP64_LIMIT = zipfile.ZIP_FILECOUNT_LIMIT = 0
        try:
            path = self.rezip()
        finally:
            zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = limits
        self.assertIn(b"PK\x06\x06", path.read_bytes())
        self.assert_same(path, samples())

    def test_compressed_zip_is_refused(self):
        self.assert_refused(self.rezip(zipfile.ZIP_DEFLATED), "compressed")

    def test_code_is_refused_by_name_and_not_run(self):
        mark = self.folder / "attacked"
        class_name = f"{nn.Linear.__module__}.Linear"
        for content, name in (
            ({"weight": torch.ones(1), "x": Attack(mark)}, "posix.system"),
            (Attack(mark), "posix.system"),
            ({"state_dict": model().state_dict(), "args": argparse.Namespace(lr=1)}, "argparse.Namespace"),
            ({"state_dict": model().state_dict(), "best": numpy.float64(0.5)}, "numpy"),
            (nn.Linear(2, 2), class_name),
            ({"a": torch.ones(2, 2).to_sparse()}, "torch._utils._rebuild_sparse_tensor"),
            (collections.defaultdict(list, a=torch.ones(1)), "collections.defaultdict"),
        ):
            for zipped, protocol in ((True, 2), (False, 4)):
                with self.subTest(name=name, zip=zipped, protocol=protocol):
                    torch.save(content, self.folder / "a.pt", _use_new_zipfile_serialization=zipped, pickle_protocol=protocol)
                    self.assert_refused(self.folder / "a.pt", "the file asks for " + name)
        self.assertFalse(mark.exists())

    def test_files_without_weights(self):
        for content, reason in (
            ({}, "contains no weights"),
            ([torch.ones(1)], "contains no weights"),
            (torch.ones(1), "contains no weights"),
            ({"epoch": 3}, "contains no weights"),
            ({"one": {"a": torch.ones(1)}, "other": {"a": torch.ones(1)}}, 'several sets of weights ("one" and "other")'),
            ({"a": torch.ones(1), 3: torch.ones(1)}, "a tensor whose key is not a string"),
        ):
            torch.save(content, self.folder / "a.pt")
            self.assert_refused(self.folder / "a.pt", reason)
        torch.jit.save(torch.jit.script(nn.Linear(2, 2)), self.folder / "a.pt")
        self.assert_refused(self.folder / "a.pt", 'model.name = "torchscript"')
        with zipfile.ZipFile(self.folder / "a.pt", "w") as archive:
            archive.writestr("hello.txt", "hello")
        self.assert_refused(self.folder / "a.pt", "torch.save did not write it")


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # TorchScript is deprecated in Python
