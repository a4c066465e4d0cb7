"""Two ranks of one core each: against two processes of Accelerate, against a loop with LibTorch's own Reducer, and against one rank
with the same batch, which tells how well training scales."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from contenders import HERE, RUNNER, run, step_seconds

BARE_RANKS = HERE.parent / "build/release/bin/benchmark_bare_ranks"
RANKS = 2


def ours(work, data, ranks):
    """The time between two records, as rank 0 wrote them."""
    half = max(1, work.steps)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        start = [RUNNER, "launch", "-n", ranks] if ranks > 1 else [RUNNER]
        run([*start, HERE / "recipes" / work.recipe, f"run.dir={folder}", "run.threads=1", f"train.max_steps={2 * half}",
             f"train.log_every={half}step", "checkpoint.every=never", f"model={work.model}", f"loader.batch_size={work.batch}", *data.overrides(work),
             *work.overrides], ranks, 1)
        return step_seconds(folder, half, 2 * half)


def accelerate(work, data):
    torchrun = Path(sys.executable).with_name("torchrun")
    done = run([torchrun, "--standalone", f"--nproc-per-node={RANKS}", HERE / "peer/ordinary.py", work.model, work.batch,
                work.steps, work.data, data.of(work)], RANKS, 1)
    # Not by line: two processes that print at once may share one.
    told = [json.loads(each)["step_seconds"] for each in re.findall(r"\{[^{}]*\}", done.output)]
    return max(told)  # both print


def bare(work, data):
    with tempfile.TemporaryDirectory() as scratch:
        command = lambda rank: list(map(str, [BARE_RANKS, work.model, work.batch, work.steps, data.of(work), rank, RANKS,
                                              Path(scratch) / "meet"]))
        others = [subprocess.Popen(command(rank)) for rank in range(1, RANKS)]
        told = json.loads(run(command(0), RANKS, 1).output)
        for other in others:
            other.wait()
        return told["step_seconds"]


def measure(works, data, rounds):
    found = {}
    for work in works:
        rows = {"runner, 2 ranks": [], "Accelerate, 2 processes": [], "bare loop with Reducer, 2 ranks": [], "runner, 1 rank": []}
        contenders = dict(zip(rows, (lambda: ours(work, data, RANKS), lambda: accelerate(work, data), lambda: bare(work, data),
                                     lambda: ours(work, data, 1))))
        for round_ in range(rounds):
            for name, step in contenders.items():
                rows[name].append(step())
                print(f"  {work.name}, round {round_ + 1}: {name}: {rows[name][-1] * 1000:.2f} ms", file=sys.stderr)
        found[work.name] = rows
    return found
