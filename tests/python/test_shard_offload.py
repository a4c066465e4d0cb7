"""Shards on disk (distributed.offload = "disk"), as real processes: less private memory, the same bits, nothing left."""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from run_helpers import RUNNER, Skip, environment, main, run

RANKS, STEPS = 2, 30
RECIPE = """
model = {name = "mlp", hidden = [2048, 2048, 2048]}
dataset = {name = "synthetic", shape = [256], train = 64, eval = 8}
loader = {batch_size = 4, workers = 0}
optimizer = {name = "adamw", lr = 0.001}
train = {max_steps = 16, log_every = "1step"}
eval = {every = "never"}
run = {threads = 1}
distributed = {strategy = "zero3", unit_size = "2MiB"}
"""


def start(folder, name, *more):
    command = [RUNNER, "launch", "-n", RANKS, folder / "recipe.toml", f"run.dir={folder}/{name}", *more]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment())


def ranks_of(process):
    for entry in Path("/proc").glob("[0-9]*/status"):
        try:
            status = entry.read_text()
        except OSError:
            continue  # it has just ended
        if re.search(rf"^PPid:\t{process.pid}$", status, re.M):
            yield int(entry.parent.name), status


def private_bytes(process):
    """Memory of each rank that is neither a library's nor a mapped file's."""
    for _, status in ranks_of(process):
        if memory := re.search(r"^RssAnon:\s+(\d+)", status, re.M):
            yield 1024 * int(memory[1])


def steps_done(metrics):
    return len(re.findall(r'"train/loss"', metrics.read_text())) if metrics.exists() else 0


def usual_memory(folder, name, *more):
    """Of a rank, between the first step and the last, in tensors so large that the C library gives the memory of those that are freed back."""
    process = start(folder, name, "model.hidden=[4096, 4096]", f"train.max_steps={STEPS}", "checkpoint.every=never",
                    "checkpoint.at_end=false", *more)
    seen = []
    while process.poll() is None:
        now = list(private_bytes(process))
        if 0 < steps_done(folder / name / "metrics.jsonl") < STEPS:  # asked last: it was so when memory was looked at
            seen += now
        time.sleep(0.005)
    assert process.returncode == 0 and seen, process.stderr.read()
    return statistics.median(seen)


def private_memory_is_less_by_shard_and_state(folder):
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "files").mkdir()
    on_disk = ["distributed.offload=disk", f"distributed.offload_dir={folder}/files"]
    memory = usual_memory(folder, "memory")
    less = memory - usual_memory(folder, "disk", *on_disk)
    offloaded = json.loads(run("estimate", folder / "recipe.toml", "model.hidden=[4096, 4096]", *on_disk, "--ranks", RANKS, "--json").stdout)["offloaded_bytes"]
    print(f"{memory / 1e6:.1f} MB of private memory, {less / 1e6:.1f} MB less on disk, {offloaded / 1e6:.1f} MB by the estimate")
    assert 0.8 * offloaded < less < 1.2 * offloaded, (less, offloaded)
    assert (folder / "memory/model.safetensors").read_bytes() == (folder / "disk/model.safetensors").read_bytes()


def checkpoints_continue_with_the_same_bits_and_nothing_is_left_after_a_kill(folder):
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "files").mkdir()
    on_disk = ["distributed.offload=disk", f"distributed.offload_dir={folder}/files", "checkpoint.every=5step"]
    run("launch", "-n", RANKS, folder / "recipe.toml", f"run.dir={folder}/whole")
    process = start(folder, "killed", *on_disk)
    while steps_done(folder / "killed/metrics.jsonl") < 7:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    os.kill(next(ranks_of(process))[0], signal.SIGKILL)
    process.communicate()
    assert process.returncode != 0
    assert not list((folder / "files").iterdir())
    run("launch", "-n", RANKS, folder / "recipe.toml", f"run.dir={folder}/killed", *on_disk)
    assert (folder / "whole/model.safetensors").read_bytes() == (folder / "killed/model.safetensors").read_bytes()


def a_folder_in_memory_is_refused(folder):
    (folder / "recipe.toml").write_text(RECIPE)
    types = {line.split()[1]: line.split()[2] for line in Path("/proc/mounts").read_text().splitlines()}
    if types.get("/dev/shm") != "tmpfs":
        raise Skip("/dev/shm is not a tmpfs")
    done = run("launch", "-n", RANKS, folder / "recipe.toml", f"run.dir={folder}/run", "distributed.offload=disk",
               "distributed.offload_dir=/dev/shm", check=False)
    assert done.returncode != 0 and "/dev/shm is a file system in memory" in done.stderr, done.stderr


if __name__ == "__main__":
    chosen = set(sys.argv[1:])
    cases = [private_memory_is_less_by_shard_and_state, checkpoints_continue_with_the_same_bits_and_nothing_is_left_after_a_kill,
             a_folder_in_memory_is_refused]
    main([case for case in cases if not chosen or case.__name__ in chosen])
