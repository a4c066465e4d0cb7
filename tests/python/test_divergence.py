"""Runs whose numbers are no longer finite: they end, say why, and keep no such weights."""

import numpy
import torch
from safetensors.numpy import load_file, save_file

from four_clouds import four_clouds
from run_helpers import SHAPES, main, run, series

SMALL = ["dataset.train=256", "dataset.eval=64", "loader.batch_size=32", "train.log_every=1step"]


def a_diverged_run_fails_and_keeps_finite_weights(folder):
    done = run(SHAPES, *SMALL, "train.epochs=2", "optimizer.lr=1e10", f"run.dir={folder}/run", check=False)
    assert done.returncode == 1, done
    said = done.stdout + done.stderr
    assert "the run has diverged" in said and "in step" in said, said
    weights = load_file(folder / "run/model.safetensors")
    assert all(numpy.isfinite(tensor).all() for tensor in weights.values())
    assert len(series(folder / "run", "train/loss")) < 16, "it went on"
    done = run(SHAPES, *SMALL, "train.epochs=1", "optimizer.lr=1e10", 'train.on_divergence="continue"', f"run.dir={folder}/on")
    assert "training continues" in done.stdout + done.stderr
    assert len(series(folder / "on", "train/loss")) == 8


class Masked(torch.nn.Module):
    """As of an attention that looks back only: infinity belongs to it."""
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 4)
        self.register_buffer("mask", torch.full((4, 4), -torch.inf).triu(1))

    def forward(self, x):
        seen = torch.softmax(x.unsqueeze(2) * x.unsqueeze(1) + self.mask, -1)
        return self.head((seen @ x.unsqueeze(2)).squeeze(2))


class EndlessSlope(torch.nn.Module):
    """The loss is finite, its gradient is not: the slope of a root at zero, times zero."""
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 4)
        self.root = torch.nn.Parameter(torch.zeros(4))

    def forward(self, x):
        return self.head(x) + torch.sqrt(self.root * self.root)


def scripted(folder, module):
    torch.manual_seed(0)
    torch.jit.script(module).save(str(folder / "module.pt"))
    return ["model=torchscript", f"model.file={folder}/module.pt", "train.epochs=2", "train.log_every=1step", f"run.dir={folder}/run"]


def infinity_in_a_mask_is_no_divergence(folder):
    run(four_clouds(folder), *scripted(folder, Masked()))
    assert numpy.isinf(load_file(folder / "run/model.safetensors")["mask"]).sum() == 6


def gradients_that_are_never_finite_end_the_run_and_reach_no_checkpoint(folder):
    path = four_clouds(folder)
    settings = scripted(folder, EndlessSlope())
    done = run(path, *settings, "checkpoint.every=1step", "eval.every=1step", 'checkpoint.best={metric="eval/accuracy"}', check=False)
    assert done.returncode == 1 and "the weights are no longer finite numbers: the run has diverged" in done.stdout + done.stderr, done
    assert not list((folder / "run").glob("checkpoints/step-*")) and not list((folder / "run").glob("**/*.safetensors"))
    done = run(path, *settings[:-1], "precision=fp16", f"run.dir={folder}/half", check=False)
    assert done.returncode == 1 and "100 updates in a row were skipped" in done.stdout + done.stderr, done
    # Nor does it last for ever where the user wants to continue.
    done = run(path, *settings[:-1], "precision=fp16", "train.on_divergence=continue", f"run.dir={folder}/endless", check=False)
    assert done.returncode == 1 and "1000 updates in a row were skipped" in " ".join((done.stdout + done.stderr).split()), done


def examples_that_are_not_finite_are_named_not_the_learning_rate(folder):
    path = four_clouds(folder)
    data = load_file(folder / "data.safetensors")
    data["input"][7, 2] = numpy.nan
    save_file(data, folder / "bad.safetensors")
    done = run(path, f"dataset.train={folder}/bad.safetensors", "loader.batch_size=400", f"run.dir={folder}/train", check=False)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1 and "in step 1, because inputs of its batch are not finite numbers: correct the data" in said, said
    done = run(path, f"dataset.eval={folder}/bad.safetensors", "eval.metric=[\"accuracy\"]", "loader.batch_size=100", "train.epochs=1", f"run.dir={folder}/eval")
    assert "not numbers (NaN) in 1 of 4 batches of the validation set" in " ".join(done.stderr.split()), done.stderr


if __name__ == "__main__":
    main([a_diverged_run_fails_and_keeps_finite_weights, infinity_in_a_mask_is_no_divergence,
          gradients_that_are_never_finite_end_the_run_and_reach_no_checkpoint,
          examples_that_are_not_finite_are_named_not_the_learning_rate])
