"""Models that no rank has memory for (strategy = "zero3"), as real processes: how they are initialised, loaded and resumed."""

import subprocess
import sys

try:
    from safetensors.numpy import load_file
except ImportError:
    print("skipped: safetensors is not installed; scripts/setup.sh --tests does it")
    sys.exit(77)

from run_helpers import RUNNER, environment, main, run

MEGABYTE = 1 << 20

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


def limited(limit, *arguments):
    """The program, every process of it with so many bytes of data."""
    words = ["prlimit", f"--data={limit}", RUNNER, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=500)


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


def memory_of_a_rank_is_bounded_from_the_start(folder):
    (folder / "recipe.toml").write_text(RECIPE)
    width, layers, ranks = 2560, 9, 4  # 26 MB a layer, frozen, so that there are hardly any gradients
    model_bytes = layers * width * width * 4

    def training(strategy, hidden, *more):
        return ["launch", "-n", ranks, folder / "recipe.toml", f'model={{name="mlp", hidden={hidden}, freeze=["fc?.*"]}}',
                f"dataset.shape=[{width}]", "loader.batch_size=4", "run.threads=1", f"distributed.strategy={strategy}", *more]

    low, high = 0, 512 * MEGABYTE  # what the program needs without a model
    while high - low > 16 * MEGABYTE:
        middle = (low + high) // 2
        done = limited(middle, *training("zero3", [8] * layers, f"run.dir={folder}/small-{middle}"))
        low, high = (low, middle) if done.returncode == 0 else (middle, high)
    limit = high + model_bytes * 9 // 10  # a quarter of the model, and six units
    large = [width] * layers
    done = limited(limit, *training("ddp", large, f"run.dir={folder}/ddp"))
    assert done.returncode != 0 and "memory" in done.stderr, done.stderr

    def works(*more):
        done = limited(limit, *training("zero3", large, *more))
        assert done.returncode == 0, done.stderr
        return done.stderr

    works(f"run.dir={folder}/fresh", "checkpoint.every=1step", "checkpoint.async=false")
    weights = folder / "fresh/model.safetensors"
    works(f"run.dir={folder}/loaded", f"model.weights={weights}", "checkpoint.every=never")
    same_bits(weights, folder / "loaded/model.safetensors")
    said = works(f"run.dir={folder}/fresh", "checkpoint.every=1step", "checkpoint.async=false", "train.max_steps=2")
    assert "at step 1" in said, said
    same_bits(weights, folder / "loaded/model.safetensors")


if __name__ == "__main__":
    main([ranks_begin_with_the_weights_of_a_single_process, memory_of_a_rank_is_bounded_from_the_start])
