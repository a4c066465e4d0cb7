"""Runs of recipes/shapes.toml that are watched while they train."""

import subprocess

from run_helpers import RUNNER, environment

SMALL = ["dataset.train=256", "dataset.eval=128", "loader.batch_size=32", "train.log_every=1step"]


def start(*arguments, **options):
    return subprocess.Popen([RUNNER, *map(str, arguments)], **{"stderr": subprocess.STDOUT, "stdout": subprocess.PIPE, "text": True,
                            "env": environment(), "start_new_session": True, **options})
