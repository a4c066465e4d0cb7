"""What other strategies cost, against ddp: simple_cnn, a batch of 128 shared out among two ranks with a core each."""
from contenders import runner_once

STEPS, RANKS = 120, 2
CONTENDERS = {
    "ddp": [],
    "reproducible": ["distributed.reproducible=true"],
    "zero1": ["distributed.strategy=zero1"],
    "zero2": ["distributed.strategy=zero2"],
    "zero3": ["distributed.strategy=zero3"],
    "local_sgd, an average every 8 updates": ["distributed.strategy=local_sgd"],
    "ddp, fp16": ["distributed.compression=fp16"],
    "ddp, bf16": ["distributed.compression=bf16"],
    "ddp, powersgd": ["distributed.compression=powersgd"],
}


def measure(data, rounds):
    """Takes turns within each round, so that what disturbs the machine disturbs all."""
    found = {name: [] for name in CONTENDERS}
    for round_ in range(rounds):
        names = list(CONTENDERS)
        for name in names[round_ % len(names):] + names[: round_ % len(names)]:
            overrides = ["model=simple_cnn", "loader.batch_size=128", "distributed.batch=global", f"dataset.dir={data.cifar}",
                         *CONTENDERS[name]]
            found[name].append(runner_once("images.toml", overrides, RANKS, STEPS, ranks=RANKS)[1])
    return found
