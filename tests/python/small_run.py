"""A run of a few seconds for the tests of checkpoints and signals, started in the background."""

import pathlib
import subprocess

from run_helpers import RUNNER, environment

RECIPE = """
[model]
name = "mlp"
hidden = [32, 32]
[dataset]
name = "synthetic"
shape = [16]
train = 400
eval = 40
[loader]
batch_size = 8
[optimizer]
name = "adamw"
lr = 0.01
[train]
max_steps = 60
log_every = "5step"
[eval]
every = "20step"
[checkpoint]
every = "10step"
"""


def write_recipe(folder, text=RECIPE):
    path = folder / "recipe.toml"
    path.write_text(text)
    return path


def start(*words):
    return subprocess.Popen([RUNNER, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment())


def handles(process, number, how="SigCgt"):
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(how)).split()[1], 16) >> (number - 1) & 1


def keeps(process, number):
    """Whether the process handles the signal, or will once its libraries are loaded."""
    return handles(process, number, "SigBlk") or handles(process, number)


def endless(folder):
    """A run that continues until somebody ends it."""
    recipe = write_recipe(folder, RECIPE.replace("max_steps = 60", "max_steps = 100000000"))
    return start(recipe, f"run.dir={folder}/run")
