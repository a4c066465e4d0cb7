"""Trackers on disks that are full or cannot be written: small file systems of the test's own. All file trackers at once, and metrics.jsonl."""

import subprocess
import sys

from run_helpers import RUNNER, SKIPPED, environment, main, records

TRACKERS = ["csv", "tensorboard", "wandb", "swanlab", "comet"]
RECIPE = """[model]
name = "mlp"
[dataset]
name = "synthetic"
[optimizer]
name = "sgd"
lr = 0.01
[train]
max_steps = 400
log_every = "1step"
[run]
threads = 1
"""


def with_disk(options, mount_point, *words):
    """Runs the program where a file system of its own is mounted there, seen by nobody else."""
    script = 'mount -t tmpfs -o "$0" tmpfs "$1" && shift && exec "$@"'
    return subprocess.run(["unshare", "-m", "sh", "-c", script, options, str(mount_point), RUNNER, *map(str, words)], capture_output=True,
                          text=True, env=environment(), timeout=300)


def recipe(folder):
    (folder / "r.toml").write_text(RECIPE)
    (folder / "disk").mkdir()
    listed = ",".join(f'{{name="{name}",logging_dir="{folder}/disk/{name}"}}' for name in TRACKERS)
    return [folder / "r.toml", f"tracker=[{listed}]"]


def all_are_switched_off_and_the_run_goes_on(folder, options, reason):
    done = with_disk(options, folder / "disk", *recipe(folder), f"run.dir={folder / 'run'}")
    assert done.returncode == 0, done.stderr
    assert len([r for r in records(folder / "run") if "train/loss" in r]) == 400
    log = (folder / "run/log.txt").read_text()
    for name in TRACKERS:
        assert f'Tracker "{name}" failed' in log, (name, log)
    assert reason in log, log


def test_a_folder_that_cannot_be_written(folder):
    all_are_switched_off_and_the_run_goes_on(folder, "ro", "Read-only file system")


def test_a_full_disk_for_the_trackers(folder):
    all_are_switched_off_and_the_run_goes_on(folder, "size=16k", "No space left on device")


def test_a_full_disk_for_the_run_ends_it_with_the_reason(folder):
    (folder / "r.toml").write_text(RECIPE)
    (folder / "disk").mkdir()
    done = with_disk("size=48k", folder / "disk", folder / "r.toml", f"run.dir={folder / 'disk/run'}")
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert "No space left on device" in done.stderr, done.stderr


if __name__ == "__main__":
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        print("skipped: a file system of its own needs root")
        sys.exit(SKIPPED)
    main([test_a_folder_that_cannot_be_written, test_a_full_disk_for_the_trackers, test_a_full_disk_for_the_run_ends_it_with_the_reason])
