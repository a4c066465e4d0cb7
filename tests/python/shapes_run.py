"""Runs of recipes/shapes.toml that are watched while they train."""

import pathlib
import subprocess
import time

from run_helpers import RUNNER, SOURCE, environment

SHAPES = SOURCE / "recipes/shapes.toml"
SMALL = ["dataset.train=256", "dataset.eval=128", "loader.batch_size=32", "train.log_every=1step"]


def start(*arguments, **options):
    return subprocess.Popen([RUNNER, *map(str, arguments)], **{"stderr": subprocess.STDOUT, "stdout": subprocess.PIPE, "text": True,
                            "env": environment(), "start_new_session": True, **options})


def wait_for_steps(folder, process, wanted=3):
    metrics = pathlib.Path(folder) / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if metrics.exists() and metrics.read_text().count("train/loss") >= wanted:
            return
        time.sleep(0.02)
    raise AssertionError("the run did not get going: " + (process.stdout.read() if process.stdout else ""))
