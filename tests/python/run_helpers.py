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


def wait_until(condition, process, seconds=300):
    """Waits for something that the process will do; fails if it ends first."""
    deadline = time.monotonic() + seconds
    while not condition():
        ended = process.poll() is not None
        assert condition() or not ended, ("it ended before that", process.communicate())  # true just before the end is fine
        assert time.monotonic() < deadline, "that did not happen in time"
        time.sleep(0.01)


def records(folder):
    lines = (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def series(folder, name):
    return [record[name] for record in records(folder) if name in record]


def main(cases):
    """Runs every function, each in a folder of its own, and says which failed."""
    failed = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            try:
                case(pathlib.Path(folder))
                print(f"ok {time.monotonic() - began:6.1f} s  {case.__name__}", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAILED  {case.__name__}: {type(error).__name__}: {error}", flush=True)
                print(getattr(error, "stdout", None) or "", getattr(error, "stderr", None) or "", flush=True)  # of a process that failed
    sys.exit(1 if failed else 0)
