"""Kills runs at random moments and takes each up again with the same command, until it is done. The weights and every
record must then be those of a run that nobody disturbed, bit for bit.

    tests/campaigns/kill.py [--kills 200] [--seed 0] [--binary build/release/bin/runner]

Prints how many processes were killed and where in their life; exit code 1 where anything differs.
"""

import argparse
import collections
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
RECIPE = """
[model]
name = "resnet20"
[dataset]
name = "shapes"
train = 64
eval = 16
[[dataset.transform]]
name = "random_crop"
padding = 2
[loader]
batch_size = 8
[optimizer]
name = "adamw"
lr = 0.01
[scheduler]
name = "cosine"
[train]
max_steps = 40
accumulation_steps = 2
log_every = "3step"
[eval]
every = "7step"
[[eval.metric]]
name = "loss"
[[eval.metric]]
name = "accuracy"
[checkpoint]
every = "2step"
keep = 2
best = { metric = "eval/accuracy" }
[[hook]]
name = "ema"
[[tracker]]
name = "csv"
[[tracker]]
name = "tensorboard"
"""


def command(binary, recipe, folder):
    return [binary, str(recipe), f"run.dir={folder}", "run.threads=1"]


def files_of(folder):
    """What must be the same: hashes of the weights, and the records without times."""
    found = {}
    for name in ("model.safetensors", "ema.safetensors", "best.safetensors",
                 "checkpoints/latest/model.safetensors", "checkpoints/latest/optimizer.safetensors"):
        found[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    records = []
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        record.pop("time")
        records.append(record)
    found["metrics.jsonl"] = records
    found["metrics.csv"] = [",".join(c for i, c in enumerate(row.split(",")) if i != 2)
                            for row in (folder / "metrics.csv").read_text().splitlines()]
    return found


def events_of(folder):
    """The scalars that TensorBoard's own reader shows, where it is installed."""
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError:
        return None
    events = EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def phase_of(folder):
    if not (folder / "recipe.toml").exists():
        return "starting"
    checkpoints = folder / "checkpoints"
    if checkpoints.exists() and any(p.name.startswith(".unfinished") for p in checkpoints.iterdir()):
        return "saving"
    if checkpoints.exists() and any(p.name.startswith(".removed") for p in checkpoints.iterdir()):
        return "pruning"
    return "training"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--binary", default=os.environ.get("RUNNER_BINARY", str(SOURCE / "build/release/bin/runner")))
    options = parser.parse_args()
    chance = random.Random(options.seed)
    kills, runs, phases = 0, 0, collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        recipe = scratch / "recipe.toml"
        recipe.write_text(RECIPE)
        whole = scratch / "whole"
        began = time.monotonic()
        subprocess.run(command(options.binary, recipe, whole), check=True, capture_output=True)
        length = time.monotonic() - began
        expected, expected_events = files_of(whole), events_of(whole)
        while kills < options.kills:
            runs += 1
            folder = scratch / f"run{runs}"
            while True:
                process = subprocess.Popen(command(options.binary, recipe, folder), stdout=subprocess.DEVNULL,
                                           stderr=subprocess.PIPE)
                # Half of them early, so that starting and resuming are met as often as training.
                moment = chance.uniform(0, length * chance.choice([0.3, 1.2]))
                try:
                    _, errors = process.communicate(timeout=moment)
                except subprocess.TimeoutExpired:
                    phases[phase_of(folder)] += 1
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    kills += 1
                    continue
                if process.returncode != 0:
                    print(f"run {runs} failed with {process.returncode}:\n{errors.decode()}")
                    return 1
                break
            if files_of(folder) != expected or events_of(folder) != expected_events:
                print(f"run {runs} differs (seed {options.seed}): {folder}")
                for name, value in files_of(folder).items():
                    if value != expected[name]:
                        print(f"  {name}\n    {value}\n    {expected[name]}"[:2000])
                return 1
    print(f"{kills} processes killed in {runs} runs (seed {options.seed}); while {dict(phases)}; every run ended with "
          "the same weights and records")
    return 0


if __name__ == "__main__":
    sys.exit(main())
