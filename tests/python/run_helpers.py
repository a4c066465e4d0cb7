"""What the tests of whole runs share: starting the program as a user would, and reading what it leaves."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

RUNNER = os.environ.get("RUNNER_BINARY", "build/release/bin/runner")
SOURCE = pathlib.Path(os.environ.get("RUNNER_SOURCE_DIR", "."))
SHAPES = SOURCE / "recipes/shapes.toml"
DATA = os.environ.get("RUNNER_TEST_DATA")
SKIPPED = 77
SANITIZED = "RUNNER_SANITIZED" in os.environ  # everything takes many times as long, and more memory
THOROUGH = os.environ.get("RUNNER_THOROUGH") == "1"  # the long variants as well


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RUNNER_")}
    return {**kept, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", **more}


def run(*arguments, check=True, **options):
    done = subprocess.run([RUNNER, *map(str, arguments)], capture_output=True, text=True, env=environment(),
                          timeout=500, **options)
    if check and done.returncode != 0:
        sys.exit(f"runner {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def wait_until(condition, process=None, seconds=300):
    """Waits for a condition and returns its value. Fails if it takes too long, or if the process that should bring it about ends first."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        ended = process is not None and process.poll() is not None
        if (ended or time.monotonic() > deadline) and not condition():  # it may have happened just before the end
            if process is not None:
                process.kill()
            raise AssertionError("the process ended first" if ended else "it took too long", process and process.communicate())
        time.sleep(0.02)
    return value


def wait_for_steps(folder, process, wanted=3):
    metrics = pathlib.Path(folder) / "metrics.jsonl"
    wait_until(lambda: metrics.exists() and metrics.read_text().count("train/loss") >= wanted, process)


def records(folder):
    lines = (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def series(folder, name):
    return [record[name] for record in records(folder) if name in record]


class Skip(Exception):
    """Raised by a case that cannot run here, with the reason."""


def main(cases):
    """Runs every function, each in a folder of its own, and says which failed and which were skipped, and why."""
    failed = skipped = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            try:
                case(pathlib.Path(folder))
                print(f"ok {time.monotonic() - began:6.1f} s  {case.__name__}", flush=True)
            except Skip as reason:
                skipped += 1
                print(f"SKIPPED  {case.__name__}: {reason}", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAILED  {case.__name__}: {type(error).__name__}: {error}", flush=True)
                print(getattr(error, "stdout", None) or "", getattr(error, "stderr", None) or "", flush=True)  # of a process that failed
    sys.exit(1 if failed else SKIPPED if skipped == len(cases) else 0)
