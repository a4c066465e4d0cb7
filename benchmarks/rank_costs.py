"""What strategies and compressions cost beside time: memory of a rank and bytes that it sends, measured and as `runner estimate` says.
An mlp with adamw on two ranks: 4.5 million parameters for bytes; 51 million for memory, in tensors so large that the C library gives
the memory of those that are freed back."""
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from contenders import RUNNER

RANKS = 2
RECIPE = """
model = {name = "mlp", hidden = [1024, 1024, 1024, 1024, 1024]}
dataset = {name = "synthetic", shape = [256], train = 64, eval = 8}
loader = {batch_size = 4, workers = 0}
optimizer = {name = "adamw", lr = 0.001}
train = {max_steps = 1}
eval = {every = "never"}
checkpoint = {every = "never"}
"""
IN_BUCKETS = "distributed.bucket_size=1MiB"
STRATEGIES = {**{name: [f"distributed.strategy={name}", IN_BUCKETS] for name in ("ddp", "zero1", "zero2")},
              "zero3": ["distributed.strategy=zero3", "distributed.unit_size=1MiB"],
              "zero3, bf16": ["distributed.strategy=zero3", "distributed.unit_size=1MiB", "precision=bf16"],
              "zero3, on disk": ["distributed.strategy=zero3", "distributed.unit_size=1MiB", "distributed.offload=disk"]}
LARGE = ["model.hidden=[4096, 4096, 4096, 4096]"]
COMPRESSIONS = {f"ddp, {name}": [f"distributed.compression={name}", IN_BUCKETS] for name in ("fp16", "bf16", "powersgd")}
IN_A_NETWORK_OF_ITS_OWN = ["unshare", "-n", "sh", "-c", 'ip link set lo up && "$@" >&2 && cat /proc/net/dev', "sh"]


def start(recipe, folder, steps, settings, before=(), output=subprocess.DEVNULL):
    command = [*before, RUNNER, "launch", "-n", RANKS, recipe, f"run.dir={folder}", f"train.max_steps={steps}", *settings]
    return subprocess.Popen(list(map(str, command)), stdout=output, stderr=subprocess.DEVNULL, text=True,
                            env=dict(os.environ, OMP_NUM_THREADS="1"))


def private_bytes(process):
    """Of the ranks that this process has started: memory that is neither a library's nor a mapped file's."""
    for entry in Path("/proc").glob("[0-9]*/status"):
        try:
            status = entry.read_text()
        except OSError:
            continue
        memory = re.search(r"^RssAnon:\s+(\d+)", status, re.M)  # a process that has just ended has none
        if memory and re.search(rf"^PPid:\t{process.pid}$", status, re.M):
            yield 1024 * int(memory[1])


def most_memory(recipe, settings):
    """The most that any rank had between the first step and the last; when it saves the model, rank 0 has all of it."""
    steps = 20
    with tempfile.TemporaryDirectory() as scratch:
        metrics = Path(scratch) / "run/metrics.jsonl"
        process, most = start(recipe, metrics.parent, steps, [*settings, *LARGE, "train.log_every=1step"]), 0
        while process.poll() is None:
            now = list(private_bytes(process))
            reached = re.findall(r'"step": ?(\d+)', metrics.read_text()) if metrics.exists() else []
            if reached and int(reached[-1]) < steps:  # asked last: it was so when memory was looked at
                most = max([most, *now])
            time.sleep(0.01)
        assert process.returncode == 0 and most > 0, settings
        return most


def sent_bytes(recipe, settings):
    """By each rank in a step, headers of the network included; None where there are no network namespaces."""
    def in_all(steps):
        with tempfile.TemporaryDirectory() as scratch:
            process = start(recipe, Path(scratch) / "run", steps, settings, IN_A_NETWORK_OF_ITS_OWN, subprocess.PIPE)
            output = process.communicate()[0]
            assert process.returncode == 0, settings
            return int(re.search(r"lo:(.*)", output)[1].split()[8])
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        return None
    return (in_all(13) - in_all(3)) / 10 / RANKS


def estimate(recipe, settings):
    done = subprocess.run([RUNNER, "estimate", recipe, *settings, "--ranks", str(RANKS), "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measure(rounds):
    with tempfile.TemporaryDirectory() as scratch:
        recipe = Path(scratch) / "recipe.toml"
        recipe.write_text(RECIPE)
        found = {"memory": {}, "sent": {}}
        for name, settings in STRATEGIES.items():
            found["memory"][name] = {"measured": [most_memory(recipe, settings) for _ in range(rounds)],
                                     "estimated": estimate(recipe, [*settings, *LARGE])["memory_bytes"]}
        for name, settings in {**STRATEGIES, **COMPRESSIONS}.items():
            bytes_ = [sent_bytes(recipe, settings) for _ in range(rounds)]
            found["sent"][name] = {"measured": bytes_, "estimated": estimate(recipe, settings)["sent_bytes"]}
        return found
