"""Kills runs at random moments and takes each up again with the same command, until it is done. The weights and every
record must then be those of a run that nobody disturbed, bit for bit.

    tests/campaigns/kill.py [--kills 200] [--minutes 15] [--seed 0] [--binary build/release/bin/runner]

Prints each kill and where in the life of a run it was; exit code 1 where anything differs. Some kills wait for the moment
at which a checkpoint is being removed, which is too short to be met by chance.
"""

import collections
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from campaign import Campaign, hashes_of, records_of, same

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
every = "1step"
keep = 1
best = { metric = "eval/accuracy", keep = 2 }
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
    best = sorted(str(path.relative_to(folder)) for path in (folder / "best").iterdir())
    found = hashes_of(folder, (*best, "model.safetensors", "ema.safetensors", "best.safetensors",
                               "checkpoints/latest/model.safetensors", "checkpoints/latest/optimizer.safetensors"))
    found["metrics.jsonl"] = records_of(folder)
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


def times_resumed(folder):
    log = folder / "log.txt"
    return log.read_text().count("resumed from") if log.exists() else 0


def left_in(checkpoints, prefix):
    """Whether a name in the folder of the checkpoints begins like this."""
    try:
        return any(name.startswith(prefix) for name in os.listdir(checkpoints))
    except FileNotFoundError:
        return False


def phase_of(folder, resumed_before):
    """Where in its life the process was that has been killed, by what it left; the run had been resumed so often when it started."""
    if not (folder / "recipe.toml").exists() or not (folder / "metrics.jsonl").exists():
        return "starting"
    checkpoints = folder / "checkpoints"
    # What the one before it left is cleared only when the run is resumed.
    if (checkpoints / "latest").exists() and resumed_before is not None and times_resumed(folder) == resumed_before:
        return "resuming"
    if left_in(checkpoints, ".removed-"):
        return "pruning"
    if left_in(checkpoints, ".unfinished-"):
        return "saving"
    return "training"


def wait_for_removal(process, folder, longest):
    """Until the process removes a checkpoint; at most so many seconds, or until it ends."""
    deadline, checkpoints = time.monotonic() + longest, folder / "checkpoints"
    # What an earlier process left does not count.
    while left_in(checkpoints, ".removed-") and process.poll() is None and time.monotonic() < deadline:
        pass
    while not left_in(checkpoints, ".removed-") and process.poll() is None and time.monotonic() < deadline:
        pass


def main():
    campaign, phases = Campaign(__doc__, kills=200), collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        recipe = scratch / "recipe.toml"
        recipe.write_text(RECIPE)
        whole = scratch / "whole"
        began = time.monotonic()
        subprocess.run(command(campaign.binary, recipe, whole), check=True, capture_output=True)
        length = time.monotonic() - began
        expected, expected_events = files_of(whole), events_of(whole)
        while campaign.unfinished():
            campaign.runs += 1
            folder = scratch / f"run{campaign.runs}"
            while True:
                resumed_before = times_resumed(folder) if (folder / "checkpoints/latest").exists() else None
                process = subprocess.Popen(command(campaign.binary, recipe, folder), stdout=subprocess.DEVNULL,
                                           stderr=subprocess.PIPE)
                # Half of them early, so that starting and resuming are met as often as training.
                moment, began = campaign.chance.uniform(0, length * campaign.chance.choice([0.3, 1.2])), time.monotonic()
                if campaign.chance.random() < 0.25:
                    wait_for_removal(process, folder, longest=length)
                    moment = 0
                try:
                    _, errors = process.communicate(timeout=moment)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    phase = phase_of(folder, resumed_before)
                    phases[phase] += 1
                    campaign.killed(f"while {phase}, after {time.monotonic() - began:.2f} s")
                    continue
                if process.returncode != 0:
                    print(f"run {campaign.runs} failed with {process.returncode}:\n{errors.decode()}")
                    return 1
                break
            if not same(files_of(folder), expected, folder) or events_of(folder) != expected_events:
                print(f"run {campaign.runs} differs (seed {campaign.seed})")
                return 1
            campaign.say(f"run {campaign.runs} ended with the same weights and records")
    print(f"{campaign.kills} processes killed in {campaign.runs} runs (seed {campaign.seed}); while {dict(phases)}; every "
          "run ended with the same weights and records")
    return 0


if __name__ == "__main__":
    sys.exit(main())
