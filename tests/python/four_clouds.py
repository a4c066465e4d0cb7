"""Four classes of points, which a small model learns at once."""

import numpy
from safetensors.numpy import save_file


def recipe(folder, text):
    path = folder / "recipe.toml"
    path.write_text(text)
    return path


def four_clouds(folder, more=""):
    """Four classes of points, in files that are ordered by class, as files often are; the loss falls from the first step on."""
    labels = numpy.repeat(numpy.arange(4), 100)
    numbers = numpy.random.default_rng(1)
    inputs = (numpy.eye(4)[labels] * 5 + numbers.normal(size=(400, 4))).astype("float32")
    save_file({"input": inputs, "target": labels}, folder / "data.safetensors")
    return recipe(folder, f"""
[model]
name = "mlp"
hidden = [16]
[dataset]
name = "tensors"
train = "{folder}/data.safetensors"
eval = "{folder}/data.safetensors"
{more}
[optimizer]
name = "adam"
lr = 0.02
[train]
epochs = 20
[eval]
metric = ["loss", "accuracy", "confusion_matrix"]
""")
