"""What plugins cost: from `runner plugin new` to a trained model without a compiler cache, and `check` with ten plugins.
    python3 benchmarks/plugins.py
"""
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

RUNNER = Path(__file__).parents[1] / "build/release/bin/runner"
ENVIRONMENT = {**os.environ, "CCACHE_DISABLE": "1"}


def seconds(*words, cwd):
    start = time.monotonic()
    subprocess.run([RUNNER, *words], cwd=cwd, env=ENVIRONMENT, check=True, capture_output=True)
    return time.monotonic() - start


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steps = {
            "plugin new": ["plugin", "new", "my_model"],
            "plugin build": ["plugin", "build", "my_model"],
            "train": ["my_model/my_model.toml"],
        }
        times = {step: seconds(*words, cwd=folder) for step, words in steps.items()}
        print(f"from nothing to a trained model: {sum(times.values()):.1f} s, {processor_seconds():.1f} s of a processor's time;",
              {step: round(time, 1) for step, time in times.items()})

        library = (folder / "my_model/libmy_model.so").read_bytes()
        (folder / "ten").mkdir()
        for number in range(10):  # ten files, each with a component of another name
            (folder / f"ten/lib{number}.so").write_bytes(library.replace(b"my_model\0", b"m%d_model\0" % number))
        check = ["check", "my_model/my_model.toml", "--plugin", "my_model/libmy_model.so"]
        rounds = [(seconds(*check, cwd=folder), seconds(*check, "--plugin", "ten", cwd=folder)) for _ in range(9)]
        one, eleven = (sorted(times)[len(times) // 2] for times in zip(*rounds))
        print(f"check with one plugin: {1000 * one:.0f} ms, with ten more: {1000 * eleven:.0f} ms (medians of {len(rounds)})")


if __name__ == "__main__":
    main()
