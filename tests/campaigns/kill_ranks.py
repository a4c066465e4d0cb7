"""Kills and freezes ranks of elastic runs at random moments. The launcher restarts those that are left, and the weights and
records must in the end be those of one rank that nobody disturbed: bit for bit, or to rounding with --strategy zero3.

    tests/campaigns/kill_ranks.py [--strategy reproducible|zero3] [--kills 50] [--seed 0] [--binary build/release/bin/runner]

Prints each kill, and how long the runs took to resume; exit code 1 where anything differs.
"""

import collections
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from campaign import Campaign, hashes_of, records_of, same
from launch_helpers import ranks_of

RANKS, PER_RUN = 4, 6
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
[train]
max_steps = 40
log_every = "3step"
[eval]
every = "10step"
[[eval.metric]]
name = "loss"
[checkpoint]
every = "2step"
keep = 2
[distributed]
batch = "global"
timeout = "6s"
"""
SETTINGS = {
    "reproducible": ["distributed.reproducible=true"],
    # Without batch norm, whose statistics depend on the number of ranks.
    "zero3": ["model=simple_cnn", "optimizer=sgd", "optimizer.lr=0.02", "distributed.strategy=zero3", "distributed.unit_size=20kB"],
}
TOLERANCE = 1e-3  # of weights and records that are summed in another order


def files_of(folder):
    return {**hashes_of(folder, ["model.safetensors", "checkpoints/latest/optimizer.safetensors"]),
            "metrics.jsonl": records_of(folder)}


def numbers_of(folder):
    """The weights, and the numbers of the records, each list by name."""
    data = (folder / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    numbers = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            numbers[name] = list(memoryview(data)[start + first:start + last].cast("f"))
    for record in records_of(folder):
        for key in ("train/loss", "eval/loss"):
            if key in record:
                numbers[f"{key} at step {record['step']}"] = [record[key]]
    return numbers


def close(found, expected, where):
    """Whether both are the same but for rounding; says what is not."""
    different = [name for name in expected if name not in found or len(found[name]) != len(expected[name]) or
                 any(abs(a - b) > TOLERANCE * (1 + abs(b)) for a, b in zip(found[name], expected[name]))]
    print("".join(f"{where} differs in {name}\n" for name in different), end="")
    return not different and found.keys() == expected.keys()


def disturb(campaign, launcher, folder, length, done):
    """Waits for a random moment of a run of that length and kills or freezes a random rank that runs. False where the run has
    ended."""
    deadline = time.monotonic() + campaign.chance.uniform(0, length * campaign.chance.choice([0.1, 0.8]))
    while time.monotonic() < deadline:
        if launcher.poll() is not None:
            return False
        time.sleep(0.05)
    name = campaign.chance.choice(["SIGKILL", "SIGKILL", "SIGSTOP"])
    ranks = ranks_of(launcher)
    if not ranks:
        return launcher.poll() is None
    rank = campaign.chance.choice(sorted(ranks))
    try:
        os.kill(ranks[rank], getattr(signal, name))
    except ProcessLookupError:
        return True
    done[name] += 1
    records = folder / "metrics.jsonl"
    at = records_of(folder)[-1]["step"] if records.exists() and records.stat().st_size else "the start"
    campaign.killed(f"{name} to rank {rank} of {len(ranks)}, last record at {at}")
    return True


def main():
    campaign = Campaign(__doc__, 50, lambda parser: parser.add_argument("--strategy", choices=SETTINGS, default="reproducible"))
    done, recoveries, settings = collections.Counter(), [], SETTINGS[campaign.options.strategy]
    exact = campaign.options.strategy == "reproducible"
    outcome, equal = (files_of, same) if exact else (numbers_of, close)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        recipe = scratch / "recipe.toml"
        recipe.write_text(RECIPE)
        quiet = scratch / "quiet"
        began = time.monotonic()
        subprocess.run([campaign.binary, recipe, *settings, f"run.dir={quiet}"], check=True, capture_output=True)
        length = time.monotonic() - began
        expected = outcome(quiet)
        while campaign.unfinished():
            campaign.runs += 1
            folder, fewest = scratch / f"run{campaign.runs}", campaign.chance.choice([1, 2, 4])
            output = scratch / f"run{campaign.runs}.txt"
            with output.open("w") as text:
                launcher = subprocess.Popen([campaign.binary, "launch", "--elastic", f"{fewest}:{RANKS}", "--max-restarts", "1000",
                                             recipe, *settings, f"run.dir={folder}"], stdout=text, stderr=text)
            before = campaign.kills
            while campaign.unfinished() and campaign.kills - before < PER_RUN and disturb(campaign, launcher, folder, length, done):
                pass
            code, said = launcher.wait(), output.read_text()
            if code != 0:
                print(f"run {campaign.runs} failed with {code} (seed {campaign.seed}):\n{said[-5000:]}")
                return 1
            if not equal(outcome(folder), expected, f"run {campaign.runs} (seed {campaign.seed})"):
                return 1
            recoveries += [float(seconds) for seconds in re.findall(r"training resumed ([\d.]+) s after", said)]
            campaign.say(f"run {campaign.runs}, with {fewest} ranks at least, ended with the same weights and records{'' if exact else ', to rounding'}")
    took = f"; back in training after {statistics.median(recoveries)} s (median)" if recoveries else ""
    print(f"{campaign.kills} ranks killed or frozen in {campaign.runs} runs of {RANKS} (seed {campaign.seed}), {dict(done)}; every "
          f"run ended with the weights and records of a quiet one{took}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
