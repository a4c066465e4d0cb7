"""Runs the runner and Accelerate alternately on the same machine and work, and writes a table with ratios.

Times are medians over rounds; the contenders take turns within each round, so that what disturbs the machine disturbs all.
"""
import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

import checkpoints
import growth
import rank_costs
import rank_strategies
import ranks
import report
import sharding
import trackers
from contenders import CONTENDERS, HERE, LOADER, RUNNER, Work, jemalloc, run
from data import Data


WORKS = [
    Work("mlp", "mlp", 64, 500, ["model.hidden=[128]"]),
    Work("simple_cnn", "simple_cnn", 64, 150),
    Work("resnet18, batch 16", "resnet18", 16, 6,
         ["model.stem=cifar", "optimizer=sgd", "optimizer.lr=0.1", "optimizer.momentum=0.9", "optimizer.weight_decay=5e-4"]),
    Work("resnet18, batch 128", "resnet18", 128, 1,
         ["model.stem=cifar", "optimizer=sgd", "optimizer.lr=0.1", "optimizer.momentum=0.9", "optimizer.weight_decay=5e-4"]),
    Work("gpt", "gpt", 12, 100, recipe="text.toml", data="text"),
    Work("image_folder", "simple_cnn", 64, 15, recipe="folder.toml", data="images"),
]


def steps(work, data, cores, rounds, skip):
    runs = {name: [] for name in CONTENDERS if name not in skip}
    for round_ in range(rounds):
        names = list(runs)
        for name in names[round_ % len(names):] + names[: round_ % len(names)]:
            if (found := CONTENDERS[name](work, data, cores)) is None:
                continue
            runs[name].append(found)
            print(f"  {work.name}, {cores} core(s), round {round_ + 1}: {name}: "
                  f"{runs[name][-1]['step'] * 1000:.2f} ms", file=sys.stderr)
    return {name: {key: [one[key] for one in many] for key in many[0]} for name, many in runs.items() if many}


def job(data, rounds):
    found = {"runner": [], "Accelerate, ordinary": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as scratch:
            done = run([RUNNER, HERE / "recipes/job.toml", f"run.dir={scratch}/run", "run.threads=1",
                        f"dataset.dir={data.cifar}"], 1, 1)
            found["runner"].append({"seconds": done.seconds, "memory": done.megabytes})
            done = run([sys.executable, HERE / "peer/job.py", data.cifar, scratch], 1, 1)
            found["Accelerate, ordinary"].append({"seconds": done.seconds, "memory": done.megabytes})
    return found


def loaders(data, rounds):
    """On two cores: the worker has one, whoever asks it has the other."""
    found = {}
    for kind, folder, count in (("cifar", data.cifar, (200000, 12000)), ("images", data.images, (4000, 1500))):
        rates = {"runner": [], "Accelerate, ordinary": []}
        for _ in range(rounds):
            tell = lambda done: json.loads(done.output)["images_per_second"]
            rates["runner"].append(tell(run([LOADER, kind, folder, count[0]], 2, 1)))
            rates["Accelerate, ordinary"].append(tell(run([sys.executable, HERE / "peer/loader.py", kind, folder, count[1]], 2, 1)))
        found[kind] = rates
    return found


def machine():
    info = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def main():
    names = [work.name.split(",")[0] for work in WORKS] + ["job", "loader", "growth", "trackers", "strategies", "rank_costs",
                                                           "sharding", "checkpoints", "large_model", "resuming", "goodput", "ranks"]
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("names", nargs="*", metavar="name", help=f"some of: {', '.join(dict.fromkeys(names))}")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--minutes", type=float, default=10, help="of goodput: how long the run is killed again and again")
    arguments.add_argument("--cores", type=int, nargs="*", default=[1, 2])
    arguments.add_argument("--skip", nargs="*", default=[], choices=list(CONTENDERS), help="contenders to leave out")
    arguments.add_argument("--out", type=Path, default=HERE.parent / "build/benchmarks")
    options = arguments.parse_args()
    if unknown := set(options.names) - set(names):
        arguments.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(dict.fromkeys(names))}")
    wanted = lambda name: not options.names or name in options.names

    with tempfile.TemporaryDirectory() as scratch:
        data = Data(scratch)
        result = {"machine": machine(), "data": data.describe(), "rounds": options.rounds, "steps": {},
                  "jemalloc": jemalloc()}
        for work in WORKS:
            if wanted(work.name.split(",")[0]):
                for cores in options.cores:
                    result["steps"][f"{work.name}, {cores} core" + ("s" if cores > 1 else "")] = steps(
                        work, data, cores, options.rounds, options.skip)
        if wanted("job"):
            result["job"] = job(data, options.rounds)
        if wanted("loader"):
            result["loader"] = loaders(data, options.rounds)
        if wanted("growth"):
            result["growth"] = growth.measure(options.rounds)
        if wanted("trackers"):
            result["trackers"] = trackers.measure(data, options.rounds)
        if wanted("strategies"):
            result["strategies"] = rank_strategies.measure(data, options.rounds)
        if wanted("rank_costs"):
            result["rank_costs"] = rank_costs.measure(options.rounds)
        if wanted("sharding"):
            result["sharding"] = sharding.measure(options.rounds)
        if wanted("checkpoints"):
            result["checkpoints"] = checkpoints.while_training(data, options.rounds)
        if wanted("large_model"):
            result["large_model"] = checkpoints.large_model(options.rounds)
        if wanted("resuming"):
            result["resuming"] = checkpoints.resuming(options.rounds)
        if wanted("goodput"):
            result["goodput"] = checkpoints.goodput(data, options.minutes)
        if wanted("ranks"):
            on_ranks = [work for work in WORKS if work.name in ("mlp", "simple_cnn", "resnet18, batch 16", "gpt")]
            result["ranks"] = ranks.measure(on_ranks, data, options.rounds)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "benchmarks.json").write_text(json.dumps(result, indent=1))
    text = report.markdown(result)
    (options.out / "benchmarks.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
