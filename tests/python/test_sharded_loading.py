"""Sharded parameters (strategy = "zero3"), as real processes: the weights that they begin with."""

import sys

try:
    from safetensors.numpy import load_file
except ImportError:
    print("skipped: safetensors is not installed; scripts/setup.sh --tests does it")
    sys.exit(77)

from run_helpers import main, run

RECIPE = """
[dataset]
name = "synthetic"
train = 16
eval = 8
[loader]
batch_size = 4
[optimizer]
name = "sgd"
momentum = 0.0
weight_decay = 0.0
lr = 1e-60      # too small to change a weight
[train]
max_steps = 1
[eval]
every = "never"
[distributed]
batch = "global"
"""


def parameters(file):
    return {name: tensor for name, tensor in load_file(file).items() if "running_" not in name and "num_batches" not in name}


def same_bits(one, other):
    one, other = parameters(one), parameters(other)
    assert one.keys() == other.keys() and len(one) > 3
    for name in one:
        assert one[name].tobytes() == other[name].tobytes(), name


def ranks_begin_with_the_weights_of_a_single_process(folder):
    (folder / "recipe.toml").write_text(RECIPE)
    models = {"mlp": ['model={name="mlp", hidden=[256, 256]}', "dataset.shape=[256]"],  # large enough for the temporary file
              "resnet18": ['model={name="resnet18", stem="cifar"}', "dataset.shape=[3, 8, 8]", "loader.batch_size=6"]}
    for name, model in models.items():
        run(folder / "recipe.toml", *model, f"run.dir={folder}/{name}")
        ranks = folder / f"{name}-ranks"
        run("launch", "-n", 3, folder / "recipe.toml", *model, "distributed.strategy=zero3", "distributed.unit_size=1MiB",
            f"run.dir={ranks}")
        same_bits(folder / name / "model.safetensors", ranks / "model.safetensors")


if __name__ == "__main__":
    main([ranks_begin_with_the_weights_of_a_single_process])
