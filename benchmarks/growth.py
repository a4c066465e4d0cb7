"""What grows with the number of examples, trackers and metrics, and what must not."""
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from contenders import runner_once

SYNTHETIC = ["model=mlp", "dataset=synthetic", "~dataset.transform"]
EXAMPLES = (10**3, 10**5, 10**7)


def row(overrides, rounds, steps=400):
    found = []
    for _ in range(rounds):
        done, step = runner_once("images.toml", overrides, 1, steps)
        first, _ = runner_once("images.toml", overrides, 1, 1)
        found.append({"step": step, "first": first.seconds, "memory": done.megabytes, "private": done.private})
    return {key: [one[key] for one in found] for key in found[0]}


def mapped_file(folder, examples):
    """Images of 16 bytes: many examples, little computing."""
    noise = np.random.default_rng(0)
    save_file({"input": noise.integers(0, 256, (examples, 1, 4, 4), np.uint8),
               "target": noise.integers(0, 10, examples, np.uint8)}, folder / "data.safetensors")
    return folder / "data.safetensors"


def mapped(examples, rounds):
    with tempfile.TemporaryDirectory() as scratch:
        file = mapped_file(Path(scratch), examples)
        (Path(scratch) / "small").mkdir()
        small = mapped_file(Path(scratch) / "small", 100)
        return row(["model=mlp", "dataset=tensors", "~dataset.transform", f"dataset.train={file}", f"dataset.eval={small}"], rounds)


def trackers(count, rounds):
    listed = ",".join(f'{{name="csv",file="t{i}.csv"}}' for i in range(count))
    return row([*SYNTHETIC, f"tracker=[{listed}]"], rounds)


def metrics(count, rounds):
    listed = ",".join(f'{{name="top_k",k={k + 1}}}' for k in range(count))
    return row([*SYNTHETIC, "dataset.classes=100", "dataset.eval=1000", 'eval.every="1000ep"', f"eval.metric=[{listed}]"], rounds)


def measure(rounds):
    return {**{f"{count:,} synthetic examples": row([*SYNTHETIC, f"dataset.train={count}"], rounds) for count in EXAMPLES},
            **{f"{count:,} examples in a mapped file": mapped(count, rounds) for count in EXAMPLES},
            **{f"{count} trackers": trackers(count, rounds) for count in (1, 8)},
            **{f"{count} metrics": metrics(count, rounds) for count in (1, 64)}}
