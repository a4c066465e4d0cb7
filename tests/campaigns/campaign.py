"""What the campaigns share: options, progress, and what a run leaves that must not differ."""

import argparse
import hashlib
import json
import os
import random
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/python"))  # its helpers


class Campaign:
    """Options, chance and a clock; counts what is done to runs and says so each time."""

    def __init__(self, description, kills, add_options=lambda parser: None):
        parser = argparse.ArgumentParser(description=description.strip().splitlines()[0])
        parser.add_argument("--kills", type=int, default=kills)
        parser.add_argument("--minutes", type=float, default=float("inf"), help="start no further run after so long")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--binary", default=os.environ.get("RUNNER_BINARY", str(SOURCE / "build/release/bin/runner")))
        add_options(parser)
        options = self.options = parser.parse_args()
        self.wanted, self.seed, self.binary = options.kills, options.seed, options.binary
        self.seconds = 60 * options.minutes
        self.chance = random.Random(options.seed)
        self.kills, self.runs, self.began = 0, 0, time.monotonic()

    def unfinished(self):
        return self.kills < self.wanted and time.monotonic() - self.began < self.seconds

    def killed(self, what):
        self.kills += 1
        self.say(f"{self.kills} of {self.wanted}, run {self.runs}: {what}")

    def say(self, text):
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", flush=True)


def hashes_of(folder, names):
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def records_of(folder):
    """The records of a run, without what no two runs have in common."""
    records = []
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        record.pop("time")
        records.append(record)
    return records


def same(found, expected, where):
    """Whether both are the same; says what is not."""
    for name, value in found.items():
        if value != expected[name]:
            print(f"{where} differs in {name}\n    {value}\n    {expected[name]}"[:2000])
    return found == expected
