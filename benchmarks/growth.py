"""What grows with the number of samples, trackers and metrics, and what must not."""
from contenders import runner_once

SYNTHETIC = ["model=mlp", "dataset=synthetic", "~dataset.transform"]


def row(overrides, rounds, steps=400):
    found = []
    for _ in range(rounds):
        done, step = runner_once("images.toml", SYNTHETIC + overrides, 1, steps)
        first, _ = runner_once("images.toml", SYNTHETIC + overrides, 1, 1)
        found.append({"step": step, "first": first.seconds, "memory": done.megabytes})
    return {key: [one[key] for one in found] for key in found[0]}


def measure(rounds):
    samples = {f"{count:,} samples": row([f"dataset.train={count}"], rounds) for count in (10**3, 10**5, 10**7)}
    trackers = {f"{count} trackers": row(["tracker=[" + ",".join(f'{{name="csv",file="t{i}.csv"}}' for i in range(count)) + "]"],
                                         rounds) for count in (1, 8)}
    metrics = {f"{count} metrics": row(["dataset.classes=100", "dataset.eval=1000", 'eval.every="1000ep"',
                                        "eval.metric=[" + ",".join(f'{{name="top_k",k={k + 1}}}' for k in range(count)) + "]"],
                                       rounds) for count in (1, 64)}
    return {**samples, **trackers, **metrics}
