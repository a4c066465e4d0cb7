"""Writes a PyTorch module as a file that a recipe trains with `model.name = "exported"`: one program for training and one for
evaluation, for batches of any size, with one copy of the weights. Needs torch 2.9 or newer and nothing else.

    from export_model import export_model
    export_model(timm.create_model("resnet18", num_classes=10), torch.zeros(2, 3, 32, 32), "resnet18.pt2")

The example is a batch of at least two examples: a tensor, several in a tuple, or a dictionary by the names of forward's arguments.
Further sizes that may vary: dynamic={"x": {1: torch.export.Dim("time", max=64)}}.
"""

import inspect
import io
import json
import zipfile

import torch
from torch.export.pt2_archive import PT2ArchiveWriter
from torch.export.pt2_archive._package import package_pt2


def export_model(module, example, file, dynamic=None):
    example = (example,) if isinstance(example, torch.Tensor) else example
    named = example if isinstance(example, dict) else dict(zip(inspect.signature(module.forward).parameters, example))
    if any(tensor.dim() == 0 or len(tensor) < 2 for tensor in named.values()):
        raise ValueError("the example must be a batch of at least two examples: torch.export takes a single one for a fixed size")
    shapes = {name: {0: torch.export.Dim("batch")} | (dynamic or {}).get(name, {}) for name in named}
    arguments, keywords = ((), example) if isinstance(example, dict) else (tuple(example), {})
    mode, programs = module.training, {}
    for name, training in (("train", True), ("model", False)):  # torch.export.load looks for "model"
        module.train(training)
        programs[name] = torch.export.export(module, arguments, keywords, dynamic_shapes=shapes, strict=False)
    module.train(mode)
    both = io.BytesIO()
    package_pt2(both, exported_programs=programs)
    write_weights_once(both, str(file))


def write_weights_once(archive, file):
    """Both programs have their own copy of the weights: the second one is left out, and its list names the first."""
    with zipfile.ZipFile(archive) as source, PT2ArchiveWriter(file) as target:
        entries = {entry.split("/", 1)[1]: entry for entry in source.namelist()}
        read = lambda entry: source.read(entries[entry])
        weights = {name: json.loads(read(f"data/weights/{name}_weights_config.json"))["config"] for name in ("train", "model")}
        copies = set()
        for name, weight in weights["model"].items():
            first = weights["train"].get(name)
            if first and read("data/weights/" + first["path_name"]) == read("data/weights/" + weight["path_name"]):
                copies.add("data/weights/" + weight["path_name"])
                weight["path_name"] = first["path_name"]
        for entry in entries:
            if entry == "data/weights/model_weights_config.json":
                target.write_string(entry, json.dumps({"config": weights["model"]}))
            elif entry not in copies and not entry.startswith((".data/", "byteorder", "archive_")):
                target.write_bytes(entry, read(entry))
