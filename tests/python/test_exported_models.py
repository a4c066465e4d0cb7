"""Models written by torch.export, trained here: losses and outputs are those of eager PyTorch."""

import json
import shutil
import unittest
import zipfile

import torch
from torch import nn

from exported_helpers import ExportedCase, export_model


class Convolutional(nn.Module):
    """Batch norm, dropout, a shared layer, a buffer that Python does not save, a constant made in forward."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(8, 10)
        self.register_buffer("scale", torch.full((1, 8, 1, 1), 0.5), persistent=False)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x))) * self.scale
        x = self.norm(x) + torch.tensor(0.25)
        return self.head(self.drop(x.mean((2, 3))))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embed = nn.Embedding(97, 16)
        self.layers = kind(16, 16, 2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(16, 97)

    def forward(self, x):
        return self.head(self.layers(self.embed(x))[0])


class Tied(nn.Module):
    """Embedding and head share their weights; two outputs; rotary-like numbers under no_grad; an index operation."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(97, 16)
        self.block = nn.TransformerEncoderLayer(16, 4, 32, 0.1, batch_first=True)
        self.head = nn.Linear(16, 97, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x):
        with torch.no_grad():
            turn = torch.arange(x.shape[1], device=x.device)[None, :, None] / 24
        hidden = self.block(self.embed(x) + turn)
        return {"logits": self.head(hidden), "hidden": hidden[:, [0, -1]]}


class StochasticDepth(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        if self.training:
            return self.two(x + self.one(x) * torch.bernoulli(torch.full((x.shape[0], 1), 0.7)))
        return self.two(x + 0.7 * self.one(x))


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(97, 16), nn.Linear(16, 3)

    def forward(self, tokens, mask):
        weight = mask.to(torch.float32)[:, :, None]
        return self.head((self.embed(tokens) * weight).sum(1) / weight.sum(1).clamp(min=1))


class InPlace(nn.Module):
    """Writes into its input and into a buffer of its own."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x):
        x.mul_(2)
        if self.training:
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return self.layer(x - self.mean)


def images(examples=4):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(examples, 3, 8, 8, generator=generator), torch.randint(0, 10, (examples,), generator=generator)


def tokens():
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 97, (4, 24), generator=generator), torch.randint(0, 97, (4, 24), generator=generator)


class Training(ExportedCase):
    def setUp(self):
        super().setUp()
        torch.manual_seed(0)

    def test_convolutional(self):
        x, target = images()
        self.compare(Convolutional(), {"x": x}, target, classes=10)

    def test_recurrent(self):
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            with self.subTest(kind=kind.__name__):
                x, target = tokens()
                self.compare(Recurrent(kind), {"x": x}, target, vocabulary=97, classes=97)

    def test_tied_weights_and_several_outputs(self):
        x, target = tokens()
        self.compare(Tied(), {"x": x}, target, vocabulary=97, classes=97, output="logits")

    def test_random_paths_need_two_programs(self):
        x, target = torch.randn(8, 6), torch.randint(0, 3, (8,))
        self.compare(StochasticDepth(), {"x": x}, target, classes=3)
        with self.assertRaisesRegex(AssertionError, 'draws random numbers with "aten::bernoulli" at .*export_model.py'):
            self.one_program(StochasticDepth(), x, target, 3)

    def test_one_program(self):
        x, target = images()
        self.one_program(Convolutional(), x, target, 10)

    def one_program(self, model, x, target, classes):
        path = self.folder / "one.pt2"
        program = torch.export.export(model.train(), (x,), dynamic_shapes=({0: torch.export.Dim("batch")},), strict=False)
        torch.export.save(program, path)
        self.compare(model, {"x": x}, target, classes=classes, path=path)

    def test_mask(self):
        x, target = torch.randint(0, 97, (4, 12)), torch.randint(0, 3, (4,))
        mask = torch.arange(12)[None] < torch.tensor([12, 3, 7, 1])[:, None]
        self.compare(Masked(), {"tokens": x, "mask": mask}, target, main="tokens", classes=3, vocabulary=97)

    def test_writes_in_place(self):
        x, target = torch.randn(4, 6), torch.randint(0, 3, (4,))
        path = self.write(InPlace(), {"x": x.clone()})
        out = self.train_here(path, self.data_of(x, target, 3), {"x": x}, target)
        model = InPlace()
        model.load_state_dict({name.removeprefix("initial/"): tensor for name, tensor in out.items() if name.startswith("initial/")})
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        for loss in out["losses"].tolist():
            optimizer.zero_grad()
            value = nn.functional.cross_entropy(model(x.clone()), target)
            value.backward()
            optimizer.step()
            self.assertAlmostEqual(loss, value.item(), 6)
        self.assert_close(out["after/mean"], model.mean, "mean", 1e-6)


class Refusals(ExportedCase):
    """What cannot be trained is refused before anything runs, in a sentence that says what to do."""

    def refused(self, path, reason, data=None, **settings):
        data = data or {"input_shape": [3, 8, 8], "classes": 10}
        with self.assertRaisesRegex(AssertionError, reason):
            self.run_tool({"name": "exported", "file": str(path)} | settings, data)

    def exported(self, model, arguments, name="m.pt2", dynamic=True, **options):
        shapes = tuple({0: torch.export.Dim("batch")} for _ in arguments) if dynamic else None
        torch.export.save(torch.export.export(model, arguments, dynamic_shapes=shapes, strict=False, **options), self.folder / name)
        return self.folder / name

    def test_data_that_does_not_fit(self):
        path = self.exported(Convolutional(), (torch.zeros(2, 3, 8, 8),))
        self.run_tool({"name": "exported", "file": str(path)}, {"input_shape": [3, 8, 8], "classes": 10})
        self.refused(path, "has 10 outputs, but the dataset has 7 classes", {"input_shape": [3, 8, 8], "classes": 7})
        self.refused(path, r'takes "x" as Float \[s\d+, 3, 8, 8\], but the dataset\'s examples are Float \[1, 8, 8\]', {"input_shape": [1, 8, 8], "classes": 10})
        self.refused(path, "examples are Long", {"input_shape": [8], "classes": 10, "vocabulary": 9})

    def test_fixed_batch(self):
        path = self.exported(Convolutional(), (torch.zeros(4, 3, 8, 8),), dynamic=False)
        self.refused(path, r'exported for batches of exactly 4 examples, .*dynamic_shapes={"x": {0: torch.export.Dim\("batch"\)}}')

    def test_evaluation_mode(self):
        path = self.exported(Convolutional().eval(), (torch.zeros(2, 3, 8, 8),))
        self.refused(path, r"exported in evaluation mode, .* call model.train\(\) before torch.export.export")

    def test_output_must_be_named(self):
        path = self.exported(Tied(), (torch.zeros(2, 24, dtype=torch.int64),))
        data = {"input_shape": [24], "classes": 97, "vocabulary": 97}
        self.refused(path, r'returns several tensors \(logits, hidden\): say which the loss takes, as in output = "logits"', data)
        self.refused(path, 'returns no "logit"; what it returns: logits, hidden', data, output="logit")
        for output in ("logits", "0"):
            self.run_tool({"name": "exported", "file": str(path), "output": output}, data)

    def test_control_flow_and_custom_operators(self):
        class Branch(nn.Module):
            def forward(self, x):
                return torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, (x,))

        self.refused(self.exported(Branch(), (torch.zeros(2, 3),)), 'has the control flow "cond" at ', {"input_shape": [3]})
        library = torch.library.Library("runner_test", "FRAGMENT")
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")

        class Custom(nn.Module):
            def forward(self, x):
                return torch.ops.runner_test.twice(x)

        self.refused(self.exported(Custom(), (torch.zeros(2, 3),)), 'calls the operator "runner_test::twice" at twice .*test_exported_models.py, line', {"input_shape": [3]})

    def edited(self, change, name="edited.pt2"):
        """A copy of a good file whose program is changed."""
        source = self.exported(Convolutional(), (torch.zeros(2, 3, 8, 8),))
        with zipfile.ZipFile(source) as old, zipfile.ZipFile(self.folder / name, "w", zipfile.ZIP_STORED) as new:
            for entry in old.namelist():
                content = old.read(entry)
                if entry.endswith("models/model.json"):
                    program = json.loads(content)
                    change(program)
                    content = json.dumps(program)
                new.writestr(entry, content)
        return self.folder / name

    def test_future_schema(self):
        def future(program):
            program["schema_version"] = {"major": 9, "minor": 0}

        self.refused(self.edited(future), r"has version 9 of the format of torch.export, written by torch 2.*reads version 8")

    def test_operators_with_effects(self):
        def node_of(program, target):
            return next(node for node in program["graph_module"]["graph"]["nodes"] if node["target"].endswith(target))

        for target in ("aten.from_file.default", "aten.set_.source_Tensor", "aten.resize_.default", "aten._print.default", "aten.record_stream.default"):
            def change(program):
                node_of(program, "relu.default")["target"] = "torch.ops." + target

            self.refused(self.edited(change), f'calls the operator "aten::{target.split(".")[1]}" at relu .*more than compute')
        for target in ("os.system", "builtins.exec", "torch.load"):
            def change(program):
                node_of(program, "relu.default")["target"] = target

            self.refused(self.edited(change), f'calls "{target}", which is not an operator')

    def test_order_and_names(self):
        def nodes(program):
            return program["graph_module"]["graph"]["nodes"]

        self.refused(self.edited(lambda program: nodes(program).reverse()), "before it is computed")
        self.refused(self.edited(lambda program: nodes(program).append(nodes(program)[0])), "defines .* twice")
        self.refused(self.edited(lambda program: nodes(program).extend([nodes(program)[-1]] * 1_000_000)), "values|nodes|bytes")
        self.refused(self.edited(lambda program: program.pop("graph_module")), "damaged")

    def test_files_that_are_cut_or_changed(self):
        source = self.exported(Convolutional(), (torch.zeros(2, 3, 8, 8),))
        content = source.read_bytes()
        for size in (0, 3, 100, len(content) // 2, len(content) - 1):
            (self.folder / "cut.pt2").write_bytes(content[:size])
            self.refused(self.folder / "cut.pt2", "cut.pt2")
        (self.folder / "flipped.pt2").write_bytes(content[:80] + bytes([content[80] ^ 1]) + content[81:])
        self.refused(self.folder / "flipped.pt2", "the checksum differs|damaged")

    def test_lies_about_sizes(self):
        source = self.exported(Convolutional(), (torch.zeros(2, 3, 8, 8),))
        for key, value in (("sizes", [{"as_int": 1 << 40}] * 4), ("sizes", [{"as_int": -1}] * 4), ("strides", [{"as_int": 1 << 62}] * 4),
                           ("storage_offset", {"as_int": 1 << 50}), ("dtype", 99), ("sizes", [])):
            with zipfile.ZipFile(source) as old, zipfile.ZipFile(self.folder / "lie.pt2", "w") as new:
                for entry in old.namelist():
                    content = old.read(entry)
                    if entry.endswith("model_weights_config.json"):
                        config = json.loads(content)
                        config["config"]["conv.weight"]["tensor_meta"][key] = value
                        content = json.dumps(config)
                    new.writestr(entry, content)
            self.refused(self.folder / "lie.pt2", "damaged|number type 99|makes no sense|larger than its data")


if __name__ == "__main__":
    unittest.main()
