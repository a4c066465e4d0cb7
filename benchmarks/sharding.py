"""Sharded parameters against PyTorch's FSDP2: the same mlp of 12.9 million parameters, from the same weights and with the same batches, on
two ranks with a core each over Gloo. Losses have to agree; step time and memory are compared.

    benchmarks/sharding.py [rounds]
"""
import json
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from contenders import HERE, RUNNER
from rank_costs import private_bytes

RANKS, WIDTH, LAYERS, BATCH, STEPS, LR = 2, 1024, 12, 16, 40, 0.00001
RECIPE = """
model = {{name = "mlp", hidden = {hidden}, weights = "weights.safetensors"}}
dataset = {{name = "tensors", train = "data.safetensors", eval = "data.safetensors"}}
loader = {{batch_size = {batch}, shuffle = false, workers = 0}}
optimizer = {{name = "adamw", lr = {lr}, weight_decay = 0.0}}
train = {{max_steps = {steps}, log_every = "1step"}}
eval = {{every = "never"}}
checkpoint = {{every = "never"}}
run = {{threads = 1}}
distributed = {{strategy = "zero3", batch = "global", unit_size = "4200KiB"}}
"""


def prepare(folder):
    import torch
    from safetensors.torch import save_file
    torch.manual_seed(0)
    weights, sizes = {}, [WIDTH] * LAYERS + [10]
    for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:]), 1):
        weights[f"fc{i}.weight"] = torch.randn(outputs, inputs) * (2 / inputs) ** 0.5
        weights[f"fc{i}.bias"] = torch.zeros(outputs)
    save_file(weights, folder / "weights.safetensors")
    save_file({"input": torch.randn(BATCH * STEPS, WIDTH), "target": torch.randint(0, 10, (BATCH * STEPS,))},
              folder / "data.safetensors")
    (folder / "recipe.toml").write_text(RECIPE.format(hidden=sizes[1:-1], batch=BATCH, lr=LR, steps=STEPS))


def watched(command):
    """What it prints, and the most memory of its own that any of its processes had."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    most, ended = [0], threading.Event()

    def watch():
        while not ended.wait(0.02):
            most[0] = max([most[0], *private_bytes(process)])

    watcher = threading.Thread(target=watch)
    watcher.start()
    output = process.communicate()[0]
    ended.set(), watcher.join()
    assert process.returncode == 0, command
    return output, most[0]


def ours(folder):
    with tempfile.TemporaryDirectory() as scratch:
        _, memory = watched([RUNNER, "launch", "-n", RANKS, folder / "recipe.toml", f"run.dir={scratch}/run"])
        records = [json.loads(line) for line in Path(scratch, "run/metrics.jsonl").read_text().splitlines()]
    losses = {record["step"]: record["train/loss"] for record in records if "train/loss" in record}
    times = {record["step"]: record["time"] for record in records if "train/loss" in record}
    half = STEPS // 2
    return {"losses": [losses[step] for step in sorted(losses)], "step": (times[STEPS] - times[half]) / (STEPS - half),
            "memory": memory}


def fsdp(folder):
    torchrun = Path(sys.executable).with_name("torchrun")
    output, memory = watched([torchrun, "--standalone", f"--nproc-per-node={RANKS}", HERE / "peer/fsdp.py",
                              folder / "weights.safetensors", folder / "data.safetensors", BATCH, STEPS, LR])
    told = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    return {"losses": told["losses"], "step": told["step_seconds"], "memory": memory}


def measure(rounds):
    found = {"runner, zero3": [], "PyTorch, FSDP2": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        prepare(folder)
        for _ in range(rounds):
            for name, run in zip(found, (ours, fsdp)):
                found[name].append(run(folder))
    for one, other in zip(*(run["losses"] for run in (found["runner, zero3"][0], found["PyTorch, FSDP2"][0]))):
        assert abs(one - other) <= 1e-3 * abs(other) + 1e-6, f"losses differ: {one} and {other}"
    return {name: {what: [run[what] for run in runs] for what in ("step", "memory")} for name, runs in found.items()}


if __name__ == "__main__":
    for name, row in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3).items():
        print(f"{name}: {1000 * statistics.median(row['step']):.1f} ms a step, {statistics.median(row['memory']) / 1e6:.0f} MB")
